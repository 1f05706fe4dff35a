package flags

import "github.com/bunting-flags/bunting/flags/wire"

// This file implements the order of decisions inside one flag (§3.3).

// flag evaluates the flag at index i and writes the result to d, which must be zero. It
// records the result for the flags that depend on this one.
func (e *evaluation) flag(i int32, d *Decision) {
	f := &e.set.flags[i]
	d.Key, d.ID, d.Version, d.HasExperiment, d.Kind = f.key(), f.id, f.version, f.has(bitExperiment), f.kind
	e.missing, e.failure = nil, NoReason
	e.trace.beginFlag(f)
	e.decide(f, d)
	if d.Failed() {
		e.failed = true
	}
	if f.has(bitDependedOn) {
		e.remember(f, &e.states[i], d)
	}
	e.trace.endFlag(d)
}

// remember stores the result of a flag for the flags that depend on it.
func (e *evaluation) remember(f *compiledFlag, s *flagState, d *Decision) {
	s.epoch, s.variant, s.value = e.epoch, d.Variant, valueOff
	switch {
	case d.Undecided != nil:
		s.value, s.missing = valueUnknown, d.Undecided
	case d.Failed() && !f.has(bitUnknown):
		s.value = valueNone
	case d.Enabled:
		s.value = valueOn
	}
}

// decide evaluates f, in the order of §3.3: faults, missing dependencies, pins, continuity,
// early access, the holdout, and then the conditions. Plain flags take a shortcut with the
// same result.
func (e *evaluation) decide(f *compiledFlag, d *Decision) {
	d.Reason.Condition = NoCondition
	switch {
	case f.failure != NoReason:
		d.Reason.Code = f.failure
	case f.has(bitMissingDependency):
		if e.subject.Partial && !f.has(bitSurelyMissing) {
			e.missing = f.absent
			e.setUndecided(d)
			return
		}
		d.Reason.Code = MissingDependency
	case f.has(bitPinned) && e.decidePin(f, d):
	case f.has(bitContinuity) && e.subject.Stored != nil && e.subject.Stored.OverridesFailure != NoReason:
		d.Reason.Code = HashKeyOverrideError // for every such flag, whatever its rollout (§8.6)
	case f.has(bitPlain) && e.plain && e.trace == nil:
		if a, ok := f.decidePlain(e.subject, &e.sha1, e); ok {
			a.write(f, e.subject, &e.sha1, d)
			return
		}
		e.conditions(f, d)
	case e.decideEnrollment(f, d):
	case e.isHoldoutCookieless(f):
		d.Reason.Code = CookielessIdentity
	case e.decideHoldout(f, d):
	default:
		e.conditions(f, d)
	}
}

// decideEnrollment evaluates early access (§3.4). It returns false if the enrollment property
// is missing; otherwise the property decides the flag.
func (e *evaluation) decideEnrollment(f *compiledFlag, d *Decision) bool {
	if f.enrollment < 0 {
		return false
	}
	fact := e.fact(f.enrollment)
	e.trace.enrollment(f.enrollment, fact)
	switch fact.state {
	case factMissing:
		return false
	case factUnknown:
		e.recordUnknown(e.unknownOf(f.enrollment, fact))
		e.setUndecided(d)
		return true
	}
	d.Enabled = fact.value == true || fact.value == "true"
	d.Reason = Reason{Code: SuperConditionValue, Condition: 0}
	d.Payload = f.payload // even if not enabled
	return true
}

// isHoldoutCookieless reports whether the holdout needs the bucket of a visitor without
// cookies, who has no id of their own.
func (e *evaluation) isHoldoutCookieless(f *compiledFlag) bool {
	h := f.holdout
	return h != nil && !h.everyone && h.share > 0 && !f.has(bitGrouped) && e.holdoutIdentifier(f) == wire.CookielessID
}

// decideHoldout evaluates the holdout (§3.5). It returns true if the subject is in the
// holdout, which decides the flag.
func (e *evaluation) decideHoldout(f *compiledFlag, d *Decision) bool {
	h := f.holdout
	if h == nil || !h.everyone && h.share <= 0 {
		return false
	}
	in := h.everyone || e.bucketForHoldout(f) <= h.share
	e.trace.holdout(h)
	if !in {
		return false
	}
	d.Enabled, d.Variant, d.Payload = true, h.variant, h.payload
	d.Reason = Reason{Code: HoldoutConditionValue, Condition: NoCondition}
	return true
}

// bucketForHoldout returns the bucket of the flag's subject for holdouts. All holdouts share
// it, so it is cached for the last identifier.
func (e *evaluation) bucketForHoldout(f *compiledFlag) float64 {
	id := e.holdoutIdentifier(f)
	if !e.holdoutKnown || e.holdoutID != id {
		e.holdoutID, e.holdoutBucket, e.holdoutKnown = id, e.sha1.sum(holdoutPrefix, id, ""), true
	}
	return e.holdoutBucket
}

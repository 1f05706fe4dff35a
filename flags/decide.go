package flags

import "github.com/bunting-flags/bunting/flags/wire"

// This file is the order of decisions inside one flag (§3.3), top to bottom.

// flag decides one flag.
func (e *evaluation) flag(i int32, d *Decision) {
	f := &e.set.flags[i]
	d.Key, d.ID, d.Version, d.HasExperiment, d.Kind = f.key(), f.id, f.version, f.is(bitExperiment), f.kind
	e.missing, e.failure = nil, NoReason
	e.trace.beginFlag(f)
	e.decide(f, d)
	if d.Failed() {
		e.failed = true
	}
	if f.is(bitDependedOn) {
		e.remember(f, &e.states[i], d)
	}
	e.trace.endFlag(d)
}

// remember keeps what flags that depend on this one see.
func (e *evaluation) remember(f *compiledFlag, s *flagState, d *Decision) {
	s.epoch, s.variant, s.value = e.epoch, d.Variant, valueOff
	switch {
	case d.Undecided != nil:
		s.value, s.missing = valueUnknown, d.Undecided
	case d.Failed() && !f.is(bitUnknown):
		s.value = valueNone
	case d.Enabled:
		s.value = valueOn
	}
}

func (e *evaluation) decide(f *compiledFlag, d *Decision) {
	d.Reason.Condition = NoCondition
	switch {
	case f.failure != NoReason:
		d.Reason.Code = f.failure
	case f.is(bitMissingDependency):
		if e.subject.Partial && !f.is(bitSurelyMissing) {
			e.missing = f.absent
			e.undecided(d)
			return
		}
		d.Reason.Code = MissingDependency
	case f.is(bitPinned) && e.pinned(f, d):
	case f.is(bitContinuity) && e.subject.Stored != nil && e.subject.Stored.OverridesFailure != NoReason:
		d.Reason.Code = HashKeyOverrideError // each of them, whatever its rollout (§8.6)
	case f.is(bitPlain) && e.plain && e.trace == nil:
		if a, ok := f.decidePlain(e.subject, &e.sha1, e); ok {
			a.write(f, e.subject, &e.sha1, d)
			return
		}
		e.conditions(f, d)
	case e.enrolled(f, d):
	case e.nobodyHeldOut(f):
		d.Reason.Code = CookielessIdentity
	case e.heldOut(f, d):
	default:
		e.conditions(f, d)
	}
}

// enrolled is early access (§3.4): the property decides when it is there.
func (e *evaluation) enrolled(f *compiledFlag, d *Decision) bool {
	if f.enrollment < 0 {
		return false
	}
	fact := e.fact(f.enrollment)
	e.trace.enrollment(f.enrollment, fact)
	switch fact.state {
	case factMissing:
		return false
	case factUnknown:
		e.unknownFact(e.unknownOf(f.enrollment, fact))
		e.undecided(d)
		return true
	}
	d.Enabled = fact.value == true || fact.value == "true"
	d.Reason = Reason{Code: SuperConditionValue, Condition: 0}
	d.Payload = f.payload // also when not enabled
	return true
}

// nobodyHeldOut reports whether the holdout asks for the bucket of a visitor without an id.
func (e *evaluation) nobodyHeldOut(f *compiledFlag) bool {
	h := f.holdout
	return h != nil && !h.everyone && h.share > 0 && !f.is(bitGrouped) && e.holdoutIdentifier(f) == wire.CookielessID
}

// heldOut is the holdout (§3.5).
func (e *evaluation) heldOut(f *compiledFlag, d *Decision) bool {
	h := f.holdout
	if h == nil || !h.everyone && h.share <= 0 {
		return false
	}
	in := h.everyone || e.holdoutPlace(f) <= h.share
	e.trace.holdout(h)
	if !in {
		return false
	}
	d.Enabled, d.Variant, d.Payload = true, h.variant, h.payload
	d.Reason = Reason{Code: HoldoutConditionValue, Condition: NoCondition}
	return true
}

// holdoutPlace is the bucket of the flag's subject for holdouts, which all share.
func (e *evaluation) holdoutPlace(f *compiledFlag) float64 {
	id := e.holdoutIdentifier(f)
	if !e.holdoutKnown || e.holdoutID != id {
		e.holdoutID, e.holdoutBucket, e.holdoutKnown = id, e.sha1.sum(holdoutPrefix, id, ""), true
	}
	return e.holdoutBucket
}

// undecided answers a flag that hangs on an unknown fact: as not decided for a
// partial subject or a value without a form in JSON, as failed when a store could
// not be read.
func (e *evaluation) undecided(d *Decision) {
	*d = Decision{Key: d.Key, ID: d.ID, Version: d.Version, HasExperiment: d.HasExperiment, Kind: d.Kind, Reason: Reason{Condition: NoCondition}}
	if stored := e.subject.Stored; !e.subject.Partial && stored != nil && stored.Failure != NoReason && (e.missing == nil || e.missing.Problem == "") {
		d.Reason.Code = stored.Failure
		return
	}
	d.Undecided = e.missing
}

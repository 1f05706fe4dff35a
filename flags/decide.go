package flags

// This file is the order of decisions inside one flag (§3.3), top to bottom.

// flag decides one flag.
func (e *evaluation) flag(i int32, d *Decision) {
	f := &e.set.flags[i]
	d.Key, d.ID, d.Version, d.HasExperiment, d.Kind = f.key(), f.id, f.version, f.is(bitExperiment), f.kind
	e.missing, e.failure = nil, NoReason
	if t := e.trace; t != nil {
		t.beginFlag(f)
	}
	e.decide(f, d)
	if d.Failed() {
		e.failed = true
	}
	if f.is(bitDependedOn) {
		e.remember(f, &e.states[i], d)
	}
	if t := e.trace; t != nil {
		t.endFlag(d)
	}
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
	case f.is(bitContinuity) && e.subject.Stored != nil && e.subject.Stored.OverridesFailure != NoReason:
		d.Reason.Code = HashKeyOverrideError // each of them, whatever its rollout (§8.6)
	case e.enrolled(f, d) || e.heldOut(f, d):
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
	if t := e.trace; t != nil {
		t.enrollment(e, f.enrollment, fact)
	}
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

// heldOut is the holdout (§3.5).
func (e *evaluation) heldOut(f *compiledFlag, d *Decision) bool {
	h := f.holdout
	if h == nil || !h.everyone && h.share <= 0 {
		return false
	}
	if !h.everyone {
		id := e.holdoutIdentifier(f)
		if !e.holdoutKnown || e.holdoutID != id {
			e.holdoutID, e.holdoutBucket, e.holdoutKnown = id, e.sha1.sum(holdoutPrefix, id, ""), true
		}
		if t := e.trace; t != nil {
			t.holdout(id, e.holdoutBucket, h)
		}
		if e.holdoutBucket > h.share {
			return false
		}
	} else if t := e.trace; t != nil {
		t.holdout("", 0, h)
	}
	d.Enabled, d.Variant, d.Payload = true, h.variant, h.payload
	d.Reason = Reason{Code: HoldoutConditionValue, Condition: NoCondition}
	return true
}

// outcome gathers what the conditions say. The best reason wins, of equals the
// later (§3.8); candidates are answers of conditions that may or may not match.
type outcome struct {
	reason    Reason
	score     int8
	skipped   bool // a group condition had no group
	candidate bool
	clash     bool
	on        bool
	variant   int32
	missing   *Undecided
	open      *Undecided // what the reason hangs on, whatever the answer
}

// opens notes an unknown fact that decides which condition it was.
func (o *outcome) opens(missing *Undecided) {
	if o.open == nil {
		o.open = missing
	}
}

func (o *outcome) consider(code ReasonCode, condition int, note reasonNote) {
	if score := reasonText[code].score; score >= o.score {
		o.reason, o.score = Reason{condition, code, note}, score
	}
}

// maybe notes an answer that holds only if unknown facts are as they must be.
func (o *outcome) maybe(on bool, variant int32, missing *Undecided) {
	if !o.candidate {
		o.candidate, o.on, o.variant, o.missing = true, on, variant, missing
	} else if o.on != on || o.variant != variant {
		o.clash = true
	}
}

// settled reports whether an answer holds whatever the unknown facts are.
func (o *outcome) settled(on bool, variant int32) bool {
	return !o.candidate || !o.clash && o.on == on && o.variant == variant
}

// conditions tries the conditions in their order (§3.6).
func (e *evaluation) conditions(f *compiledFlag, d *Decision) {
	o := outcome{reason: Reason{NoCondition, NoGroupType, noteNone}, score: reasonText[NoGroupType].score}
	b := bucketing{e: e, f: f}
	for i := range f.conditions {
		cond := &f.conditions[i]
		e.missing, e.mayFail = nil, false
		if t := e.trace; t != nil {
			t.beginCondition(i, cond)
		}
		if !b.resolve(cond) {
			o.skipped = true
			if t := e.trace; t != nil {
				t.noGroup()
			}
			o.consider(NoGroupType, i, noteNone)
			continue
		}
		e.behavioural = false
		met := e.filters(cond)
		if t := e.trace; t != nil {
			t.met(met, e.failure, e.mayFail)
		}
		if e.failure != NoReason {
			if o.candidate { // an unknown condition before may have decided
				e.missing = o.missing
				e.undecided(d)
				return
			}
			d.Reason.Code = e.failure
			return
		}
		if e.mayFail { // a failure is like no answer that a later condition gives
			o.maybe(false, noVariant, e.missing)
			o.clash = true
		}
		if met == unknown {
			o.opens(e.missing)
		}
		if met == no {
			note := noteNone
			if e.behavioural {
				note = noteBehavioural
			}
			o.consider(NoConditionMatch, i, note)
			continue
		}
		if b.deviceless && (!cond.all || f.variantHashed(cond)) {
			// Properties match, but the bucket would matter (§2.5).
			if t := e.trace; t != nil {
				t.noDevice()
			}
			o.consider(OutOfRolloutBound, i, noteNone)
			continue
		}
		in := b.inRollout(cond)
		if in == no {
			o.consider(OutOfRolloutBound, i, noteNone)
			if f.is(bitEarlyExit) {
				if met == yes {
					break
				}
				o.maybe(false, noVariant, e.missing)
			}
			continue
		}
		variant, known := b.variant(cond)
		if met == unknown || in == unknown || !known {
			o.opens(e.missing)
			o.maybe(true, variant, e.missing)
			if !known {
				o.clash = true
			}
			if in == unknown && f.is(bitEarlyExit) {
				o.maybe(false, noVariant, e.missing)
			}
			if met == unknown || in == unknown {
				continue
			}
		}
		if !o.settled(true, variant) {
			e.missing = o.missing
			e.undecided(d)
			return
		}
		d.Enabled = true
		d.Reason = Reason{Code: ConditionMatch, Condition: i, note: f.matched(cond, i)}
		d.Payload = f.payload
		if variant >= 0 {
			v := &f.variants[variant]
			d.Variant, d.Payload = v.key, v.payload
		}
		e.reasonOpen(&o, d)
		return
	}
	if !o.settled(false, noVariant) {
		e.missing = o.missing
		e.undecided(d)
		return
	}
	if o.skipped && o.reason.Code == NoConditionMatch && o.reason.note == noteNone {
		o.reason.note = noteGroupsNotEvaluated
	}
	d.Reason = o.reason
	e.reasonOpen(&o, d)
}

// reasonOpen takes back a reason that hangs on an unknown fact. Where a store has
// failed, the one that was found stays.
func (e *evaluation) reasonOpen(o *outcome, d *Decision) {
	if o.open != nil && e.subject.Partial {
		d.Reason, d.ReasonOpen = Reason{Condition: NoCondition}, o.open
	}
}

// matched says how a condition came to its answer: by a bucket, the same for
// everybody, or (no note) by its requirements.
func (f *compiledFlag) matched(cond *compiledCondition, i int) reasonNote {
	switch {
	case !cond.all || f.variantHashed(cond):
		return noteSplit
	case i == 0 && len(cond.filters) == 0 && !cond.grouped && f.enrollment < 0 && f.holdout == nil:
		return noteStatic
	}
	return noteNone
}

// why is what a flag hangs on that depends on an unknown one: the value that has no
// form in JSON, wherever that is, or the flag.
func (s *flagState) why(key string) *Undecided {
	if s.missing.Problem != "" {
		return s.missing
	}
	return &Undecided{Fact: "flag", Name: key}
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

// filters checks the requirements of a condition: flags and properties in their
// order, cohorts last, up to the first that fails.
func (e *evaluation) filters(cond *compiledCondition) verdict {
	result := yes
	for i := range cond.filters {
		f := &cond.filters[i]
		var v verdict
		switch f.kind {
		case filterProperty:
			v = e.property(f)
		case filterFlag:
			v = e.dependency(f)
		case filterCohort:
			v = e.cohorts(cond.filters[i:])
			if result == unknown && e.failure != NoReason {
				e.failure, e.mayFail, v = NoReason, true, unknown // may not be reached
			}
			if v == no {
				return no
			}
			if v == unknown {
				result = unknown
			}
			return result
		default:
			v = no
			if t := e.trace; t != nil {
				t.filter(e, f, nil, invalid)
			}
		}
		if v != yes && v != unknown {
			if t := e.trace; t != nil {
				t.skip(cond.filters[i+1:])
			}
			return no
		}
		if v == unknown {
			result = unknown
		}
	}
	return result
}

// property compares one property.
func (e *evaluation) property(f *filter) verdict {
	fact := e.fact(f.target)
	v := no
	switch fact.state {
	case factUnknown:
		v = e.unknownFact(e.unknownOf(f.target, fact))
	case factMissing:
		v = is(f.missing)
	default:
		v = f.matcher.match(fact, e)
		if f.negated {
			v = v.not()
		}
	}
	if t := e.trace; t != nil {
		t.filter(e, f, fact, v)
	}
	return v
}

// dependency compares the value of another flag (§6). A flag that is not
// evaluated, because it is inactive or filtered out, is false.
func (e *evaluation) dependency(f *filter) verdict {
	v := no
	if f.target >= 0 {
		s := &e.states[f.target]
		value, variant := s.value, s.variant
		if s.epoch != e.epoch {
			value, variant = valueOff, ""
		}
		switch {
		case value == valueUnknown:
			v = e.unknownFact(s.why(e.set.flags[f.target].key()))
		case value == valueNone:
		case f.wantOn:
			v = is(value == valueOn)
		case f.wantOff:
			v = is(value == valueOff)
		default:
			v = is(variant != "" && variant == f.want)
		}
	}
	if t := e.trace; t != nil {
		t.filter(e, f, nil, v)
	}
	return v
}

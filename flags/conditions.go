package flags

import "github.com/bunting-flags/bunting/flags/wire"

// This file searches for the condition that decides a flag (§3.6), with one function for each
// step.

// conditions tries the conditions in order. For each it checks the group, the requirements,
// the device and the rollout, and then selects the variant. The first condition that passes
// decides the flag.
func (e *evaluation) conditions(f *compiledFlag, d *Decision) {
	var s search
	s.e, s.f = e, f
	s.person.id, s.person.readable = e.distinct, true // the usual case
	if f.bits&(bitDevice|bitContinuity) != 0 || e.subject.Stored != nil {
		s.person = e.personIdentifier(f)
	}
	s.reason, s.score = Reason{NoCondition, NoGroupType, noteNone}, reasonText[NoGroupType].score
	for i := range f.conditions {
		cond := &f.conditions[i]
		e.missing, e.mayFail, e.behavioural = nil, false, false
		e.trace.beginCondition(i, cond)
		if !s.resolve(cond) {
			s.considerNoGroup(i)
			continue
		}
		met := e.requirements(cond)
		e.trace.met(met)
		if e.failure != NoReason {
			s.fail(d)
			return
		}
		s.addUncertain(met)
		if met == no {
			s.considerUnmet(i)
			continue
		}
		if s.isBucketCookieless(cond) {
			if s.considerNoIdentity(met, d) {
				return
			}
			continue
		}
		if s.deviceless && (!cond.all || f.hasHashedVariant(cond)) {
			s.considerNoDevice(i)
			continue
		}
		in := s.inRollout(cond)
		if in == no {
			if s.considerOutside(i, met) {
				break
			}
			continue
		}
		if s.considerMatch(i, cond, met, in, d) {
			return
		}
	}
	s.finishUnmatched(d)
}

// search is the state of the search in one flag: the identifier that is hashed, and the
// outcome of the conditions tried so far.
type search struct {
	bucketing
	outcome
}

// considerNoGroup handles a condition about a group that the request does not name.
func (s *search) considerNoGroup(i int) {
	s.skipped = true
	s.e.trace.noGroup()
	s.consider(NoGroupType, i, noteNone)
}

// fail handles a condition that cannot be evaluated. The flag fails, unless an earlier
// condition may match for unknown facts: then the flag is undecided.
func (s *search) fail(d *Decision) {
	if s.candidate {
		s.finishUndecided(d)
		return
	}
	d.Reason.Code = s.e.failure
}

// addUncertain records the unknown facts that the requirements depend on. A possible failure
// clashes with every answer of a later condition.
func (s *search) addUncertain(met verdict) {
	if s.e.mayFail {
		s.addCandidate(false, noVariant, s.e.missing)
		s.clash = true
	}
	if met == unknown {
		s.addOpen(s.e.missing)
	}
}

// considerUnmet handles a condition with requirements that the subject does not meet.
func (s *search) considerUnmet(i int) {
	note := noteNone
	if s.e.behavioural {
		note = noteBehavioural
	}
	s.consider(NoConditionMatch, i, note)
}

// considerNoDevice handles a condition that matches but needs a bucket, while the flag is
// bucketed by device and the request has no device id (§2.5).
func (s *search) considerNoDevice(i int) {
	s.e.trace.noBucket(OutOfRolloutBound, "bucketed by device, and the request names no device")
	s.consider(OutOfRolloutBound, i, noteNone)
}

// isBucketCookieless reports whether a condition needs the bucket of a visitor without
// cookies. Such a visitor has no id: all of them send the same placeholder.
func (s *search) isBucketCookieless(cond *compiledCondition) bool {
	if s.id != wire.CookielessID || cond.grouped {
		return false
	}
	inRollout := cond.all || cond.share >= 1
	return !inRollout && cond.share > 0 || inRollout && s.f.hasHashedVariant(cond)
}

// considerNoIdentity handles a condition that such a visitor would match but for the bucket:
// it fails the flag. It returns true if the condition is reached with certainty, which ends
// the search.
func (s *search) considerNoIdentity(met verdict, d *Decision) bool {
	s.e.trace.noBucket(CookielessIdentity, "bucketed by an id, and a visitor without cookies has none")
	if met != yes {
		s.addCandidate(false, noVariant, s.e.missing)
		s.clash = true
		return false
	}
	s.e.failure = CookielessIdentity
	s.fail(d)
	return true
}

// considerOutside handles a condition if its rollout does not include the subject. It returns
// true if no further condition is tried (early exit).
func (s *search) considerOutside(i int, met verdict) bool {
	s.consider(OutOfRolloutBound, i, noteNone)
	if !s.f.has(bitEarlyExit) || met == yes {
		return s.f.has(bitEarlyExit)
	}
	s.addCandidate(false, noVariant, s.e.missing)
	return false
}

// considerMatch handles a condition that matches, or may match for unknown facts. It returns
// true if the search is over, with d decided or undecided.
func (s *search) considerMatch(i int, cond *compiledCondition, met, in verdict, d *Decision) bool {
	variant, hasBucket := s.f.matchVariant(cond), true
	if variant == hashedVariant {
		variant, hasBucket = s.hashVariant()
	}
	matched := met == yes && in == yes
	if !matched || !hasBucket {
		s.addOpen(s.e.missing)
		s.addCandidate(true, variant, s.e.missing)
		s.clash = s.clash || !hasBucket
	}
	if in == unknown && s.f.has(bitEarlyExit) {
		s.addCandidate(false, noVariant, s.e.missing)
	}
	if !matched {
		return false
	}
	if !s.isSettled(true, variant) {
		s.finishUndecided(d)
		return true
	}
	d.Reason = Reason{Code: ConditionMatch, Condition: i, note: s.f.matchNote(cond, i)}
	s.f.enable(d, variant)
	s.openReason(d)
	return true
}

// enable turns the flag on in d, with a variant and its payload, or with the payload of
// "true" if variant is negative.
func (f *compiledFlag) enable(d *Decision, variant int32) {
	d.Enabled, d.Payload = true, f.payload
	if variant >= 0 {
		v := &f.variants[variant]
		d.Variant, d.Payload = v.key, v.payload
	}
}

// finishUnmatched decides a flag that no condition has decided.
func (s *search) finishUnmatched(d *Decision) {
	if !s.isSettled(false, noVariant) {
		s.finishUndecided(d)
		return
	}
	if s.skipped && s.reason.Code == NoConditionMatch && s.reason.note == noteNone {
		s.reason.note = noteGroupsNotEvaluated
	}
	d.Reason = s.reason
	s.openReason(d)
}

// finishUndecided marks the flag as undecided because of the first unknown fact.
func (s *search) finishUndecided(d *Decision) {
	s.e.missing = s.missing
	s.e.setUndecided(d)
}

// openReason removes a reason that depends on an unknown fact and names the fact instead. If
// the fact is unknown because a store failed, the reason remains.
func (s *search) openReason(d *Decision) {
	if s.open != nil && s.e.subject.Partial {
		d.Reason, d.ReasonOpen = Reason{Condition: NoCondition}, s.open
	}
}

// matchNote classifies a match: decided by a bucket, the same for everybody, or (no note)
// decided by requirements.
func (f *compiledFlag) matchNote(cond *compiledCondition, i int) reasonNote {
	switch {
	case !cond.all || f.hasHashedVariant(cond):
		return noteSplit
	case i == 0 && len(cond.filters) == 0 && !cond.grouped && f.enrollment < 0 && f.holdout == nil && !f.has(bitPinned):
		return noteStatic
	}
	return noteNone
}

// outcome collects the results of the conditions. The reason with the highest score wins, of
// equal ones the later (§3.8). A candidate is the answer of a condition that matches only for
// some values of the unknown facts.
type outcome struct {
	reason  Reason
	score   int8
	skipped bool // a group condition had no group
	// candidate is set if there is a candidate; its answer is on and choice. clash is set if
	// candidates differ: then no answer is certain.
	candidate bool
	clash     bool
	on        bool
	choice    int32
	missing   *Undecided
	open      *Undecided // the unknown fact that the reason depends on, whatever the answer
}

// addOpen records an unknown fact that the deciding condition depends on. The first one
// counts.
func (o *outcome) addOpen(missing *Undecided) {
	if o.open == nil {
		o.open = missing
	}
}

// consider replaces the reason if code has at least the same score.
func (o *outcome) consider(code ReasonCode, condition int, note reasonNote) {
	if score := reasonText[code].score; score >= o.score {
		o.reason, o.score = Reason{condition, code, note}, score
	}
}

// addCandidate records an answer that is right only for some values of the unknown facts.
func (o *outcome) addCandidate(on bool, variant int32, missing *Undecided) {
	if !o.candidate {
		o.candidate, o.on, o.choice, o.missing = true, on, variant, missing
	} else if o.on != on || o.choice != variant {
		o.clash = true
	}
}

// isSettled reports whether an answer is right whatever the unknown facts are.
func (o *outcome) isSettled(on bool, variant int32) bool {
	return !o.candidate || !o.clash && o.on == on && o.choice == variant
}

// setUndecided writes a result that depends on an unknown fact to d: undecided if the subject
// is partial or a value has no form in JSON, failed if a store could not be read.
func (e *evaluation) setUndecided(d *Decision) {
	*d = Decision{Key: d.Key, ID: d.ID, Version: d.Version, HasExperiment: d.HasExperiment, Kind: d.Kind, Reason: Reason{Condition: NoCondition}}
	if stored := e.subject.Stored; !e.subject.Partial && stored != nil && stored.Failure != NoReason && (e.missing == nil || e.missing.Problem == "") {
		d.Reason.Code = stored.Failure
		return
	}
	d.Undecided = e.missing
}

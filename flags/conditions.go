package flags

import "github.com/bunting-flags/bunting/flags/wire"

// This file is the search for the condition that decides (§3.6), a step a function.

// conditions tries the conditions in their order. Of each: its group, its
// requirements, the device, the rollout, the variant.
func (e *evaluation) conditions(f *compiledFlag, d *Decision) {
	var s search
	s.e, s.f = e, f
	s.person.id, s.person.readable = e.distinct, true // nearly always
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

// search is where the search stands: whom the flag is about, and what the conditions
// up to here have found.
type search struct {
	bucketing
	outcome
}

// considerNoGroup is a condition about a group that the request does not name.
func (s *search) considerNoGroup(i int) {
	s.skipped = true
	s.e.trace.noGroup()
	s.consider(NoGroupType, i, noteNone)
}

// fail is a condition that cannot be evaluated, unless an uncertain one before it
// has decided.
func (s *search) fail(d *Decision) {
	if s.candidate {
		s.finishUndecided(d)
		return
	}
	d.Reason.Code = s.e.failure
}

// addUncertain notes what the requirements leave open. A failure is like no answer that
// a later condition gives.
func (s *search) addUncertain(met verdict) {
	if s.e.mayFail {
		s.addCandidate(false, noVariant, s.e.missing)
		s.clash = true
	}
	if met == unknown {
		s.addOpen(s.e.missing)
	}
}

// considerUnmet is a condition whose requirements do not hold.
func (s *search) considerUnmet(i int) {
	note := noteNone
	if s.e.behavioural {
		note = noteBehavioural
	}
	s.consider(NoConditionMatch, i, note)
}

// considerNoDevice is a condition that matches but for a bucket, which nobody has who
// names no device (§2.5).
func (s *search) considerNoDevice(i int) {
	s.e.trace.noBucket(OutOfRolloutBound, "bucketed by device, and the request names no device")
	s.consider(OutOfRolloutBound, i, noteNone)
}

// isBucketCookieless reports whether a condition asks for the bucket of a visitor without
// cookies, who has no id: the one that is sent is that of all of them.
func (s *search) isBucketCookieless(cond *compiledCondition) bool {
	if s.id != wire.CookielessID || cond.grouped {
		return false
	}
	inRollout := cond.all || cond.share >= 1
	return !inRollout && cond.share > 0 || inRollout && s.f.hasHashedVariant(cond)
}

// considerNoIdentity is a condition that such a visitor matches but for the bucket: the flag
// fails there. It reports whether the condition is reached for certain.
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

// considerOutside is a condition with a rollout that the subject is not in. It reports whether
// it is the last one that is tried (early exit).
func (s *search) considerOutside(i int, met verdict) bool {
	s.consider(OutOfRolloutBound, i, noteNone)
	if !s.f.has(bitEarlyExit) || met == yes {
		return s.f.has(bitEarlyExit)
	}
	s.addCandidate(false, noVariant, s.e.missing)
	return false
}

// considerMatch is a condition that matches, or does so for all that is known. It reports
// whether the flag is decided.
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

// enable answers with a variant and its payload, or with those of true.
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

// finishUndecided is an answer that hangs on the first unknown fact.
func (s *search) finishUndecided(d *Decision) {
	s.e.missing = s.missing
	s.e.setUndecided(d)
}

// openReason takes back a reason that hangs on an unknown fact. Where a store has
// failed, the one that was found stays.
func (s *search) openReason(d *Decision) {
	if s.open != nil && s.e.subject.Partial {
		d.Reason, d.ReasonOpen = Reason{Condition: NoCondition}, s.open
	}
}

// matchNote says how a condition came to its answer: by a bucket, the same for
// everybody, or (no note) by its requirements.
func (f *compiledFlag) matchNote(cond *compiledCondition, i int) reasonNote {
	switch {
	case !cond.all || f.hasHashedVariant(cond):
		return noteSplit
	case i == 0 && len(cond.filters) == 0 && !cond.grouped && f.enrollment < 0 && f.holdout == nil && !f.has(bitPinned):
		return noteStatic
	}
	return noteNone
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
	choice    int32
	missing   *Undecided
	open      *Undecided // what the reason hangs on, whatever the answer
}

// addOpen notes an unknown fact that decides which condition it was.
func (o *outcome) addOpen(missing *Undecided) {
	if o.open == nil {
		o.open = missing
	}
}

func (o *outcome) consider(code ReasonCode, condition int, note reasonNote) {
	if score := reasonText[code].score; score >= o.score {
		o.reason, o.score = Reason{condition, code, note}, score
	}
}

// addCandidate notes an answer that holds only if unknown facts are as they must be.
func (o *outcome) addCandidate(on bool, variant int32, missing *Undecided) {
	if !o.candidate {
		o.candidate, o.on, o.choice, o.missing = true, on, variant, missing
	} else if o.on != on || o.choice != variant {
		o.clash = true
	}
}

// isSettled reports whether an answer holds whatever the unknown facts are.
func (o *outcome) isSettled(on bool, variant int32) bool {
	return !o.candidate || !o.clash && o.on == on && o.choice == variant
}

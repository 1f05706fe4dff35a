package flags

import (
	"slices"

	"github.com/bunting-flags/bunting/flags/internal/values"
)

// This file is a fast path. Most flags only compare a few properties of a person and use one
// bucket, so that most steps of [evaluation.conditions] do not apply. In addition, most
// subjects contain these properties, so that a single flag can be evaluated from them without
// memory for facts. All other cases take the general path, which has the same results.

// markPlain marks the flags that the fast path can evaluate.
func (c *compiler) markPlain() {
	for _, i := range c.set.order {
		if c.reused[i] { // already marked
			continue
		}
		f := &c.set.flags[i]
		f.bits &^= bitPlain | bitDirect
		if c.isPlain(f) {
			f.bits |= bitPlain
			if c.isDirect(f) {
				f.bits |= bitDirect
			}
		}
	}
}

// isPlain reports whether decidePlain can evaluate a flag: only conditions about the person
// decide it, with filters on properties only.
func (c *compiler) isPlain(f *compiledFlag) bool {
	const unusual = bitContinuity | bitDevice | bitMurmur3 | bitMissingDependency | bitPinned
	heldOut := f.holdout != nil && (f.holdout.everyone || f.holdout.share > 0)
	if f.bits&unusual != 0 || f.failure != NoReason || f.enrollment >= 0 || heldOut {
		return false
	}
	return !slices.ContainsFunc(f.conditions, func(cond compiledCondition) bool {
		return cond.grouped || slices.ContainsFunc(cond.filters, func(p filter) bool { return p.kind != filterProperty })
	})
}

// isDirect reports whether all filters of a plain flag can be compared directly with
// properties of the request.
func (c *compiler) isDirect(f *compiledFlag) bool {
	for i := range f.conditions {
		for _, p := range f.conditions[i].filters {
			if s := &c.set.slots[p.target]; p.direct == nil || s.kind != slotPerson || s.distinct || s.initial != "" {
				return false
			}
		}
	}
	return true
}

// isDirect reports whether the subject consists of the request's properties only.
func (sub *Subject) isDirect() bool {
	return sub.Stored == nil && sub.Located == nil && sub.hasShortID()
}

// plainAnswer is the result of a plain flag.
type plainAnswer struct {
	condition int32
	code      ReasonCode
	on        bool
}

// setUnmet records a condition with requirements that the subject does not meet. A rollout is
// a better reason (§3.8).
func (a *plainAnswer) setUnmet(i int) {
	if a.code != OutOfRolloutBound {
		a.condition, a.code = int32(i), NoConditionMatch
	}
}

// decidePlain evaluates a plain flag. It returns false if the general path is needed. If e is
// nil, the flag and the subject must be direct.
func (f *compiledFlag) decidePlain(sub *Subject, h *shortHash, e *evaluation) (a plainAnswer, ok bool) {
	a = plainAnswer{NoCondition, NoGroupType, false}
	bucket := -1.0
	for i := range f.conditions {
		cond := &f.conditions[i]
		met := unknown
		if e == nil {
			met = cond.matchDirect(sub)
		} else {
			met = e.requirements(cond)
		}
		if met == unknown {
			return a, false
		}
		if met != yes {
			a.setUnmet(i)
			continue
		}
		if !cond.all && cond.share < 1 {
			if bucket < 0 && cond.share > 0 {
				bucket = h.bucket(f.prefix, sub.DistinctID, "")
			}
			// Only a bucket of exactly 0 would be in at a share of 0: one in 2^60.
			if cond.share <= 0 || bucket > cond.share {
				a.condition, a.code = int32(i), OutOfRolloutBound
				if f.has(bitEarlyExit) {
					return a, true
				}
				continue
			}
		}
		return plainAnswer{int32(i), ConditionMatch, true}, true
	}
	return a, true
}

// matchDirect checks the requirements of a condition of a direct flag. It returns unknown if
// the general path is needed.
func (c *compiledCondition) matchDirect(sub *Subject) verdict {
	for i := range c.filters {
		f := &c.filters[i]
		v := unknown
		switch value := sub.Person[f.name].(type) {
		case string:
			if validText(value) {
				v = f.direct.matchText(value)
			}
		case bool:
			v = f.direct.matchText(boolText(value))
		case int:
			v = f.direct.matchNumber(float64(value))
		case int64:
			v = f.direct.matchNumber(float64(value))
		case float64:
			if values.IsFinite(value) {
				v = f.direct.matchNumber(value)
			}
		case nil:
			if _, null := sub.Person[f.name]; !null && !sub.Partial {
				if !f.missing {
					return no
				}
				continue
			}
		}
		if v == unknown {
			return unknown
		}
		if f.negated {
			v = v.not()
		}
		if v != yes {
			return no
		}
	}
	return yes
}

func boolText(b bool) string {
	if b {
		return "true"
	}
	return "false"
}

// write writes the result to d, and selects the variant.
func (a *plainAnswer) write(f *compiledFlag, sub *Subject, h *shortHash, d *Decision) {
	i := int(a.condition)
	d.Reason = Reason{Condition: i, Code: a.code}
	if !a.on {
		return
	}
	cond := &f.conditions[i]
	d.Reason.note = f.matchNote(cond, i)
	variant := f.matchVariant(cond)
	if variant == hashedVariant {
		variant = f.variantAt(h.bucket(f.prefix, sub.DistinctID, variantSalt))
	}
	f.enable(d, variant)
}

// decideDirect evaluates one flag of a set directly into d. It returns false if the general
// path is needed.
func (d *Decisions) decideDirect(s *Set, i int32, sub *Subject) bool {
	f := &s.flags[i]
	if !f.has(bitDirect) || !sub.isDirect() {
		return false
	}
	a, ok := f.decidePlain(sub, &d.work.sha1, nil)
	if !ok {
		return false
	}
	d.List, d.Errors = append(d.List[:0], Decision{Key: f.key(), HasExperiment: f.has(bitExperiment), Kind: f.kind, ID: f.id, Version: f.version}), s.cyclic
	a.write(f, sub, &d.work.sha1, &d.List[0])
	return true
}

// isOn reports whether a flag is on if that can be evaluated directly. ok is false if the
// general path is needed or the flag is not evaluated.
func (s *Set) isOn(key string, sub *Subject) (on, ok bool) {
	if sub == nil || !sub.isDirect() {
		return false, false
	}
	i, found := s.byKey[key]
	if !found {
		return false, false
	}
	f := &s.flags[i]
	if f.bits&(bitDirect|bitOrdered) != bitDirect|bitOrdered || f.kind == ConfigKind {
		return false, false
	}
	a, ok := f.decidePlain(sub, nil, nil)
	return a.on, ok
}

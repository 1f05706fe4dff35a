package convert

import (
	"slices"

	"github.com/bunting-flags/bunting/flags"
)

// outcome is the value of a user: off, on, or a variant.
type outcome struct {
	off     bool
	variant string // empty: on without a variant
}

var (
	off = outcome{off: true}
	on  = outcome{}
)

// share assigns an outcome to a part of the users, in per cent.
type share struct {
	percent float64
	outcome outcome
}

// rule assigns outcomes to users who meet a formula. If the shares do not sum up to 100, later
// rules apply to the rest. The zero formula is true for all users.
type rule struct {
	src    *node
	name   string // name of a cohort, if one is needed
	when   formula
	shares []share
}

// everyone returns a share of 100 per cent.
func everyone(o outcome) []share { return []share{{100, o}} }

// rules converts a list of rules, of which the first matching one applies, into the conditions of
// f. Users who match none are off. A rule with the outcome off becomes a negated requirement of the
// later conditions. Shares other than 0 and 100 are refused without [Options].Rebucket.
func (b *builder) rules(f *flags.Flag, list []rule) {
	outside := always // is true for users who match no earlier rule with the outcome off
	size := 0
	for i := range list {
		r := &list[i]
		shares := b.shares(r)
		if isFalse(&r.when) || len(shares) == 0 {
			continue
		}
		when := allOf(outside, r.when)
		if size += when.leaves(); size > maxLeaves {
			r.src.refuse("is too large together with the rules before it: more than %d requirements", maxLeaves)
		}
		total, served := 0.0, 0
		for _, s := range shares {
			total += s.percent
			if !s.outcome.off {
				served++
			}
		}
		if served > 0 {
			b.addConditions(f, r, when, shares[:served])
		}
		if served < len(shares) {
			outside = allOf(outside, not(r.when))
		}
		if isTrue(&r.when) && total >= 100 || isFalse(&outside) {
			return // no users remain for the later rules
		}
	}
}

// addConditions adds the conditions under which users get shares of a rule.
func (b *builder) addConditions(f *flags.Flag, r *rule, when formula, shares []share) {
	conditions := b.conditions(r.src, r.name, when)
	upTo := 0.0
	for _, s := range shares {
		upTo = min(upTo+s.percent, 100)
		for _, c := range conditions {
			percent := upTo
			c.Variant, c.Rollout = s.outcome.variant, &percent
			f.Conditions = append(f.Conditions, c)
		}
		if len(f.Conditions) > maxConditions {
			r.src.refuse("needs more than %d conditions", maxConditions)
		}
	}
}

// shares returns the positive shares of a rule, those with the outcome off last.
func (b *builder) shares(r *rule) []share {
	out := slices.DeleteFunc(slices.Clone(r.shares), func(s share) bool { return s.percent <= 0 })
	if len(out) == 0 || len(out) == 1 && out[0].percent >= 100 {
		return out
	}
	same := true
	total := 0.0
	for _, s := range out {
		same = same && s.outcome == out[0].outcome
		total += s.percent
	}
	if same && total >= 100 {
		return everyone(out[0].outcome)
	}
	b.rebucket(r.src)
	slices.SortStableFunc(out, func(a, b share) int {
		switch {
		case a.outcome.off == b.outcome.off:
			return 0
		case a.outcome.off:
			return 1
		}
		return -1
	})
	return out
}

const (
	hashReason     = "depends on the source's hash: the same share here would be other people (--rebucket converts it so)"
	rebucketReason = "converted with equal shares, but other people get them"
)

// rebucket refuses a part that depends on the source's hash, or notes it if Rebucket is set.
func (b *builder) rebucket(src *node) {
	if !b.options.Rebucket {
		src.refuse(hashReason)
	}
	b.note(src, rebucketReason)
}

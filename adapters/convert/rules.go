package convert

import (
	"encoding/json"
	"slices"

	"github.com/bunting-flags/bunting/flags"
)

// outcome is what a user gets: off, on, or a variant.
type outcome struct {
	off     bool
	variant string // empty: on without a variant
}

var (
	off = outcome{off: true}
	on  = outcome{}
)

// share gives an outcome to a part of the users, in per cent.
type share struct {
	percent float64
	outcome outcome
}

// rule gives outcomes to those of whom a formula holds. Shares that do not come
// to 100 leave the rest to the rules that follow; a nil formula's zero value is
// everybody.
type rule struct {
	at     *node
	name   string // of the cohort that may be needed
	when   formula
	shares []share
}

// everyone gives all of them one outcome.
func everyone(o outcome) []share { return []share{{100, o}} }

// rules says a list of rules, of which the first that applies decides, as the
// conditions of f. Who meets none is off. A rule that gives off becomes a
// requirement of those behind it. Shares other than 0 and 100 are refused
// without [Options].Rebucket.
func (b *builder) rules(f *flags.Flag, list []rule) {
	outside := always // who has met no rule that gives off
	size := 0
	for i := range list {
		r := &list[i]
		shares := b.shares(r)
		if isFalse(&r.when) || len(shares) == 0 {
			continue
		}
		when := allOf(outside, r.when)
		if size += when.leaves(); size > maxLeaves {
			r.at.refuse("is too large with the rules before: more than %d requirements", maxLeaves)
		}
		upTo, offShare := 0.0, false
		var conditions []flags.Condition
		made := false
		for _, s := range shares {
			if s.outcome.off {
				offShare = true
				continue
			}
			if !made {
				conditions, made = b.conditions(r.at, r.name, when), true
			}
			upTo = min(upTo+s.percent, 100)
			for _, c := range conditions {
				c.Variant = s.outcome.variant
				percent := upTo
				c.Rollout = &percent
				f.Conditions = append(f.Conditions, c)
			}
			if len(f.Conditions) > maxConditions {
				r.at.refuse("needs more than %d conditions", maxConditions)
			}
		}
		if offShare {
			outside = allOf(outside, not(r.when))
		}
		total := 0.0
		for _, s := range shares {
			total += s.percent
		}
		if isTrue(&r.when) && total >= 100 || isFalse(&outside) {
			return // nobody is left for the rules behind
		}
	}
}

// shares are those of a rule that anybody gets, the ones that give off last.
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
	b.rebucket(r.at)
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

// rebucket refuses what depends on the source's hash, or notes it.
func (b *builder) rebucket(at *node) {
	if !b.options.Rebucket {
		at.refuse(hashReason)
	}
	b.note(at, rebucketReason)
}

// variants declares the variants of f with their values as payloads. All
// conditions name one, so their shares decide nothing.
func (f *variantSet) declare(to *flags.Flag) {
	for i, v := range f.order {
		rollout := 0.0
		if i == 0 {
			rollout = 100
		}
		to.Variants = append(to.Variants, flags.Variant{Key: v, Rollout: rollout})
		if to.Payloads == nil {
			to.Payloads = map[string]json.RawMessage{}
		}
		to.Payloads[v] = f.payload[v]
	}
}

// variantSet are the values of a flag by name.
type variantSet struct {
	order   []string
	payload map[string]json.RawMessage
	boolean bool // all values are booleans: they are on and off
	value   map[string]bool
}

// newVariants reads values by name: booleans alone are on and off, others are
// variants.
func newVariants(values []*node) *variantSet {
	v := &variantSet{payload: map[string]json.RawMessage{}, value: map[string]bool{}, boolean: true}
	for _, n := range values {
		b, ok := n.value.(bool)
		v.boolean = v.boolean && ok
		v.value[n.name] = b
		v.order = append(v.order, n.name)
		// Texts of JSON, as PostHog's clients expect payloads (§1.2).
		v.payload[n.name] = encode(string(n.json()))
	}
	if !v.boolean {
		for _, n := range values {
			checkVariant(n)
		}
	}
	return v
}

// checkVariant refuses names that a variant cannot have (§1.5).
func checkVariant(n *node) {
	ok := n.name != "" && len(n.name) <= maxKey
	for _, r := range n.name {
		ok = ok && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' || r == '.' || r == '/')
	}
	if !ok {
		n.refuse("cannot be the key of a variant: those have letters, digits, _ . / and -, at most %d", maxKey)
	}
}

// outcome is that of a value, by name.
func (v *variantSet) outcome(at *node, name string) outcome {
	if _, ok := v.payload[name]; !ok {
		at.refuse("there is no value of the name %q", short(name))
	}
	switch {
	case !v.boolean:
		return outcome{variant: name}
	case v.value[name]:
		return on
	}
	return off
}

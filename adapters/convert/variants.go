package convert

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/wire"
)

// declare gives a flag the variants with their values as payloads. All conditions
// name one, so their shares decide nothing. On and off are none.
func (v *variantSet) declare(to *flags.Flag) {
	if v.boolean {
		return
	}
	for i, name := range v.order {
		rollout := 0.0
		if i == 0 {
			rollout = 100
		}
		to.Variants = append(to.Variants, flags.Variant{Key: name, Rollout: rollout})
		if p := v.payload[name]; p != nil {
			if to.Payloads == nil {
				to.Payloads = map[string]json.RawMessage{}
			}
			to.Payloads[name] = p
		}
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
		v.payload[n.name] = wire.MustEncode(string(n.json()))
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

// outcomeIs is that another flag has an outcome.
func outcomeIs(key string, o outcome) formula {
	switch {
	case o.off:
		return flagIs(key, false)
	case o.variant == "":
		return flagIs(key, true)
	}
	return flagIs(key, o.variant)
}

// outcomes are all that a flag can have.
func (v *variantSet) outcomes() []outcome {
	if v.boolean {
		return []outcome{on, off}
	}
	out := make([]outcome, len(v.order))
	for i, name := range v.order {
		out[i] = outcome{variant: name}
	}
	return out
}

// nameValues gives each value the name of its variant: its own text where that
// can be the key of one, else value-1 and so on. Equal values have one name.
func nameValues(values []*node) []*node {
	if len(values) > maxConditions {
		values[0].parent.refuse("has more than %d values", maxConditions)
	}
	texts, taken := map[string]*node{}, map[string]bool{}
	out := make([]*node, len(values))
	for i, v := range values {
		text := string(v.json())
		if same := texts[text]; same != nil {
			out[i] = same
			continue
		}
		name, isText := v.value.(string)
		if !isText {
			name = text
		}
		named := &node{value: v.value, parent: v.parent, name: name}
		if refused(func() { checkVariant(named) }) != nil || taken[name] {
			named.name = "value-" + strconv.Itoa(i+1)
			for n := 2; taken[named.name]; n++ {
				named.name = "value-" + strconv.Itoa(i+1) + "." + strconv.Itoa(n)
			}
		}
		taken[named.name], texts[text] = true, named
		out[i] = named
	}
	return out
}

// distinct are the values of several names, each once.
func distinct(names []*node) []*node {
	var out []*node
	for _, n := range names {
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

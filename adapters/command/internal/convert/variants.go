package convert

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/wire"
)

// declare adds the variants to a flag, with their values as payloads. All conditions set a variant,
// so the variants' own shares have no effect. On and off are not variants. A flag whose variants
// have values is a remote configuration flag: OpenFeature's clients get the value instead of the
// variant's name.
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
			to.RemoteConfig = !v.named
		}
	}
}

// variantSet contains the values of a flag by the key of their variant.
type variantSet struct {
	order   []string
	payload map[string]json.RawMessage
	boolean bool // all values are booleans: they are on and off
	named   bool // the value is the variant's name, with an additional payload
	value   map[string]bool
	keys    map[string]string // of the variants, by the name in the source
}

// newVariants reads values by name: if all are booleans they are on and off, else they are
// variants.
func (b *builder) newVariants(values []*node) *variantSet {
	v := &variantSet{payload: map[string]json.RawMessage{}, value: map[string]bool{}, boolean: true}
	var names []string
	for _, n := range values {
		_, ok := n.value.(bool)
		v.boolean = v.boolean && ok
		names = append(names, n.name)
	}
	v.keys = variantKeys(names)
	for _, n := range values {
		key := v.keys[n.name]
		v.value[key], _ = n.value.(bool)
		v.order = append(v.order, key)
		// JSON in a string, as PostHog's clients expect payloads (§1.2).
		v.payload[key] = wire.MustEncode(string(n.json()))
		if !v.boolean {
			b.noteVariant(n, n.name, key)
		}
	}
	return v
}

// variantKeys returns the key of each named variant: the name itself if it is a valid key, else
// value-1 and so on, by its index in the list.
func variantKeys(names []string) map[string]string {
	keys, usedKeys := map[string]string{}, map[string]bool{}
	for _, name := range names {
		if isVariant(name) {
			keys[name], usedKeys[name] = name, true
		}
	}
	for i, name := range names {
		if _, ok := keys[name]; !ok {
			keys[name] = unusedValue(i, usedKeys)
			usedKeys[keys[name]] = true
		}
	}
	return keys
}

// unusedValue returns an unused key for a value whose name is not a valid key.
func unusedValue(i int, used map[string]bool) string {
	key := "value-" + strconv.Itoa(i+1)
	for n := 2; used[key]; n++ {
		key = "value-" + strconv.Itoa(i+1) + "." + strconv.Itoa(n)
	}
	return key
}

// noteVariant notes that a variant is renamed.
func (b *builder) noteVariant(src *node, name, key string) {
	if name != key {
		b.note(src, fmt.Sprintf("the variant %q is renamed to %q: keys of variants have letters, digits, _ . / and -; its value is the same", short(name), key))
	}
}

// isVariant reports whether a name can be the key of a variant (§1.5).
func isVariant(name string) bool {
	ok := name != "" && len(name) <= maxKey
	for _, r := range name {
		ok = ok && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' || r == '.' || r == '/')
	}
	return ok
}

// checkVariant refuses a name that is not a valid key of a variant.
func checkVariant(n *node) {
	if !isVariant(n.name) {
		n.refuse("cannot be the key of a variant: those have letters, digits, _ . / and -, at most %d", maxKey)
	}
}

// outcome returns the outcome of a value, by name.
func (v *variantSet) outcome(src *node, name string) outcome {
	key, ok := v.keys[name]
	if !ok {
		src.refuse("there is no value with the name %q", short(name))
	}
	switch {
	case !v.boolean:
		return outcome{variant: key}
	case v.value[key]:
		return on
	}
	return off
}

// nameOf returns the name of a variation. Without quotes, YAML decodes names such as True or 1 as a
// boolean or a number, but GO Feature Flag uses their text.
func (v *variantSet) nameOf(at *node) string {
	var names []string
	switch value := at.value.(type) {
	case bool:
		for name := range v.keys {
			if strings.EqualFold(name, strconv.FormatBool(value)) {
				names = append(names, name)
			}
		}
	case json.Number:
		names = append(names, value.String())
	}
	if len(names) == 1 {
		return names[0]
	}
	return at.text()
}

// outcomeIs returns the condition that another flag has an outcome.
func outcomeIs(key string, o outcome) formula {
	switch {
	case o.off:
		return flagIs(key, false)
	case o.variant == "":
		return flagIs(key, true)
	}
	return flagIs(key, o.variant)
}

// outcomes returns all possible outcomes of a flag.
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

// nameValues assigns each value the name of its variant: its own text if that is a valid key, else
// value-1 and so on. Equal values have the same name.
func nameValues(values []*node) []*node {
	if len(values) > maxConditions {
		values[0].parent.refuse("has more than %d values", maxConditions)
	}
	texts, usedNames := map[string]*node{}, map[string]bool{}
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
		if !isVariant(name) || usedNames[name] {
			named.name = unusedValue(i, usedNames)
		}
		usedNames[named.name], texts[text] = true, named
		out[i] = named
	}
	return out
}

// distinct returns the names without duplicates.
func distinct(names []*node) []*node {
	var out []*node
	for _, n := range names {
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

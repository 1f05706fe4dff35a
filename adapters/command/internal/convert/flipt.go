package convert

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/wire"
)

// readFlipt reads a Flipt features file, or an export of one namespace, in the format versions 1.0
// to 1.6. The entity id becomes the distinct id, and the context, whose values are all strings,
// becomes person properties. The value is the variant that Flipt returns, also for a flag that is
// not enabled; without a variant the flag is off.
func readFlipt(b *builder, doc *node) error {
	if doc.object() == nil || !doc.has("flags") && !doc.has("segments") {
		doc.refuse(`is not a Flipt export: it has no "flags"`)
	}
	namespace := doc.get("namespace")
	if _, isObject := namespace.value.(map[string]any); isObject {
		namespace = namespace.get("key")
	}
	if want := b.options.Environment; want != "" && want != cmp.Or(namespace.textOr(), "default") {
		return nil
	}
	r := &fliptReader{b: b, segments: map[string]*node{}}
	for _, s := range doc.get("segments").items() {
		r.segments[s.get("key").text()] = s
	}
	for _, f := range doc.get("flags").items() {
		f.object()
		b.flag(f.get("key").text(), f, func(to *flags.Flag) { r.flag(f, to) })
	}
	return nil
}

type fliptReader struct {
	b        *builder
	segments map[string]*node
	size     int // number of constraints read for the flag
}

func (r *fliptReader) flag(n *node, to *flags.Flag) {
	n.onlyMembers("key", "name", "type", "description", "enabled", "metadata", "variants", "rules", "rollouts")
	r.size = 0
	to.Name = n.get("name").textOr()
	r.b.notCarried(n, "description", "metadata")
	switch kind := n.get("type"); cmp.Or(kind.textOr(), "VARIANT_FLAG_TYPE") {
	case "BOOLEAN_FLAG_TYPE":
		r.boolean(n, to)
	case "VARIANT_FLAG_TYPE":
		r.variant(n, to)
	default:
		kind.refuse("is an unknown type of flag")
	}
}

// boolean converts a boolean flag: its rollouts are evaluated first, whether it is enabled or not,
// and then its enabled state is the value.
func (r *fliptReader) boolean(n *node, to *flags.Flag) {
	var list []rule
	outcomes := map[bool]outcome{true: on, false: off}
	for _, src := range n.get("rollouts").items() {
		src.onlyMembers("description", "segment", "threshold")
		if t := src.get("threshold"); t.value != nil {
			t.onlyMembers("percentage", "value")
			list = append(list, rule{src: t, shares: []share{{t.get("percentage").numberOr(0), outcomes[t.get("value").boolOr(false)]}}})
			continue
		}
		s := src.get("segment")
		if s.value == nil {
			src.refuse("has neither segment nor threshold")
		}
		list = append(list, rule{src: s, name: src.path(), when: r.segmentRule(s), shares: everyone(outcomes[s.get("value").boolOr(false)])})
	}
	list = append(list, rule{src: n, shares: everyone(outcomes[n.get("enabled").boolOr(false)])})
	r.b.rules(to, list)
}

// variant converts a flag with variants. Rules are evaluated only if the flag is enabled; otherwise
// all users get the default variant, or the flag is off.
func (r *fliptReader) variant(n *node, to *flags.Flag) {
	set := &variantSet{payload: map[string]json.RawMessage{}, keys: map[string]string{}, named: true} // Flipt's clients get the key
	fallback := off
	for _, v := range n.get("variants").items() {
		v.onlyMembers("key", "name", "description", "attachment", "default")
		r.b.notCarried(v, "name", "description")
		key := v.get("key")
		checkVariant(&node{name: key.text(), parent: v})
		if _, twice := set.payload[key.text()]; twice {
			key.refuse("there are two variants with this key")
		}
		set.order, set.keys[key.text()] = append(set.order, key.text()), key.text()
		set.payload[key.text()] = nil
		if a := v.get("attachment"); a.value != nil {
			set.payload[key.text()] = wire.MustEncode(string(a.json()))
		}
		if v.get("default").boolOr(false) {
			fallback = outcome{variant: key.text()}
		}
	}
	var list []rule
	enabled := n.get("enabled").boolOr(false)
	if enabled && fallback.off && len(set.order) > 0 && !givesVariants(n) {
		r.b.note(n.get("variants"), "are not converted: no rule gives one")
		set.order = nil
	}
	if enabled {
		for _, src := range n.get("rules").items() {
			src.onlyMembers("segment", "segments", "operator", "rank", "distributions")
			if src.has("segments") || src.has("operator") {
				src.refuse("has an older format: export it with Flipt 1.x or 2.x")
			}
			list = append(list, rule{src: src, name: src.path(), when: r.segmentRule(src.get("segment")), shares: r.distribution(src.get("distributions"), set, fallback)})
		}
	}
	r.b.rules(to, append(list, rule{src: n, shares: everyone(fallback)}))
	set.declare(to)
}

// givesVariants reports whether a flag has no rules, or has a rule that assigns a variant to some
// users.
func givesVariants(n *node) bool {
	rules := n.get("rules").items()
	return len(rules) == 0 || slices.ContainsFunc(rules, func(src *node) bool {
		return slices.ContainsFunc(src.get("distributions").items(), func(d *node) bool { return d.get("rollout").numberOr(0) > 0 })
	})
}

// distribution returns the shares of a rule, which Flipt scales to 100 per cent.
func (r *fliptReader) distribution(n *node, set *variantSet, fallback outcome) []share {
	var out []share
	total := 0.0
	for _, d := range n.items() {
		d.onlyMembers("variant", "rollout")
		o := set.outcome(d.get("variant"), d.get("variant").text())
		if percent := d.get("rollout").numberOr(0); percent > 0 {
			out = append(out, share{percent, o})
			total += percent
		}
	}
	if len(out) == 0 {
		if fallback.off && len(set.order) > 0 {
			n.refuse("there is no distribution: the rule matches without a variant, which a flag with variants cannot do here")
		}
		if fallback.off {
			return everyone(on)
		}
		return everyone(fallback)
	}
	for i := range out {
		out[i].percent = out[i].percent / total * 100
	}
	return out
}

// segmentRule converts a key of a segment, a list of keys, or an object with keys and the operator
// that joins them.
func (r *fliptReader) segmentRule(n *node) formula {
	var keys []*node
	join, all := anyOf, false
	switch n.value.(type) {
	case string:
		keys = []*node{n}
	case []any:
		keys = n.items()
	case map[string]any:
		n.onlyMembers("key", "keys", "operator", "value")
		keys = n.get("keys").items()
		if len(keys) == 0 && n.get("key").textOr() != "" {
			keys = []*node{n.get("key")}
		}
		switch op := n.get("operator"); cmp.Or(op.textOr(), "OR_SEGMENT_OPERATOR") {
		case "OR_SEGMENT_OPERATOR":
		case "AND_SEGMENT_OPERATOR":
			join, all = allOf, true
		default:
			op.refuse("must be OR_SEGMENT_OPERATOR or AND_SEGMENT_OPERATOR")
		}
	default:
		n.want("the key of a segment")
	}
	if len(keys) == 0 && !all {
		return never
	}
	return join(mapFormulas(keys, r.segment)...)
}

// segment returns the condition of the segment with a key.
func (r *fliptReader) segment(key *node) formula {
	n := r.segments[key.text()]
	if n == nil {
		key.refuse("there is no segment %q", short(key.text()))
	}
	n.onlyMembers("key", "name", "description", "constraints", "match_type")
	parts := mapFormulas(n.get("constraints").items(), r.constraint)
	switch match := n.get("match_type"); cmp.Or(match.textOr(), "ALL_MATCH_TYPE") {
	case "ALL_MATCH_TYPE":
		return allOf(parts...)
	case "ANY_MATCH_TYPE":
		if len(parts) == 0 {
			return always
		}
		return anyOf(parts...)
	default:
		match.refuse("must be ALL_MATCH_TYPE or ANY_MATCH_TYPE")
		return never
	}
}

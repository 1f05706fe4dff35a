package convert

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/flags"
)

// readGoFeatureFlag reads a configuration file of GO Feature Flag: an object of flags by key.
func readGoFeatureFlag(b *builder, doc *node) error {
	if doc.value == nil {
		doc.refuse("must be an object of flags by key, not null")
	}
	for _, n := range doc.members() {
		b.flag(n.name, n, func(f *flags.Flag) { b.goFeatureFlag(f, n) })
	}
	return nil
}

// oldFlag are members of flags in the format that GO Feature Flag used before version 1.
var oldFlag = []string{"rule", "percentage", "true", "false", "default"}

// goFeatureFlag converts one flag: first its schedule is applied, then each targeting rule and the
// default rule become rules.
func (b *builder) goFeatureFlag(f *flags.Flag, n *node) {
	n.object()
	if n.value == nil {
		n.want("an object")
	}
	if !n.has("variations") && slices.ContainsFunc(oldFlag, n.has) {
		n.refuse("has GO Feature Flag's format of before version 1 (%s): convert it to variations, targeting and defaultRule", strings.Join(oldFlag, ", "))
	}
	n = b.applySchedule(n)
	b.top = n // positions refer to the flag after its schedule was applied
	over := b.experimentation(n.get("experimentation"))
	if v := n.get("bucketingKey"); v.textOr() != "" {
		v.refuse("answers users without this attribute with the caller's default, which cannot be expressed here")
	}
	b.noteIgnored(n, "variations", "targeting", "defaultRule", "disable", "bucketingKey", "scheduledRollout", "experimentation")
	values := n.get("variations").members()
	sameTypes(n.get("variations"), values)
	v := b.newVariants(values)
	f.Active = !n.get("disable").boolOr(false) && !over
	var list []rule
	for i, r := range n.get("targeting").items() {
		if r.get("disable").boolOr(false) {
			b.note(r, "is disabled, and not converted")
			continue
		}
		q := r.get("query")
		list = append(list, rule{src: r, name: "rule " + strconv.Itoa(i+1), when: b.goQuery(q), shares: b.goShares(r, v)})
		b.noteIgnored(r, "query", "variation", "percentage", "progressiveRollout", "disable")
	}
	r := n.get("defaultRule")
	if r.object(); r.value == nil {
		r.refuse("is missing")
	}
	b.noteIgnored(r, "query", "variation", "percentage", "progressiveRollout", "disable")
	list = append(list, rule{src: r, name: "default", shares: b.goShares(r, v)})
	b.rules(f, list)
	v.declare(f)
}

// sameTypes refuses values of different types, and an empty list.
func sameTypes(src *node, values []*node) {
	if len(values) == 0 {
		src.refuse("there must be at least one value")
	}
	for _, n := range values {
		if n.value == nil {
			n.refuse("has no value")
		}
		if reflect.TypeOf(n.value) != reflect.TypeOf(values[0].value) {
			n.refuse("is of another type than %q", values[0].name)
		}
	}
}

// goQuery converts a query, which is either JSONLogic or in the query language. An empty query
// matches all users.
func (b *builder) goQuery(q *node) formula {
	lines := strings.Split(q.text(), "\n")
	for i := range lines {
		lines[i] = strings.TrimLeft(lines[i], " ")
	}
	text := strings.Join(lines, "")
	if text == "" {
		return always
	}
	if v, err := flags.DecodeJSON([]byte(text)); err == nil {
		if _, ok := v.(map[string]any); ok {
			if depthOf(v) > maxDepth {
				q.refuse("is nested deeper than %d levels", maxDepth)
			}
			l := &logic{b: b, src: q, id: []string{"key", "targetingKey"}, flag: map[string]bool{"anonymous": true}}
			return l.truth(&node{value: v})
		}
	}
	return parseQuery(b, q, text)
}

// goShares returns the shares of a rule; percentages are relative to their sum.
func (b *builder) goShares(r *node, v *variantSet) []share {
	if p := r.get("progressiveRollout"); p.value != nil {
		return b.finalShares(p, v)
	}
	p := r.get("percentage")
	if empty(p.value) {
		src := r.get("variation")
		return everyone(v.outcome(src, v.nameOf(src)))
	}
	sum := 0.0
	for _, m := range p.members() {
		if m.number() < 0 {
			m.refuse("must not be negative")
		}
		sum += m.number()
	}
	if sum == 0 {
		p.refuse("must not sum up to 0")
	}
	var out []share
	for _, m := range p.members() {
		out = append(out, share{m.number() / sum * 100, v.outcome(m, m.name)})
	}
	return out
}

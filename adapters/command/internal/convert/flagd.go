package convert

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/wire"
)

// readFlagd reads flagd's definitions: flags by key, or a list of flags.
func readFlagd(b *builder, doc *node) error {
	doc.object()
	list := doc.get("flags")
	if list.value == nil {
		list.refuse("is missing: definitions of flagd have flags by key")
	}
	refs := map[string]*node{}
	for _, e := range doc.get("$evaluators").members() {
		refs[e.name] = e
	}
	if _, isList := list.value.([]any); isList {
		for _, n := range list.items() {
			n.object()
			key := n.get("key").text()
			b.flag(key, n, func(f *flags.Flag) { b.flagd(f, n, refs) })
		}
		return nil
	}
	for _, n := range list.members() {
		b.flag(n.name, n, func(f *flags.Flag) { b.flagd(f, n, refs) })
	}
	return nil
}

// flagd converts one flag. A flag without targeting and without a default variant becomes inactive,
// since flagd then returns the caller's default.
func (b *builder) flagd(f *flags.Flag, n *node, refs map[string]*node) {
	if n.value == nil {
		n.want("an object")
	}
	b.noteIgnored(n, "key", "state", "variants", "defaultVariant", "targeting", "$schema")
	f.Active = n.get("state").textOr() != "DISABLED"
	variants := n.get("variants")
	values := variants.members()
	sameTypes(variants, values)
	v := b.newVariants(values)
	t := &targeting{logic: logic{b: b, src: n.get("targeting"), id: []string{"targetingKey"}, key: f.Key, refs: refs, flagd: true}, variants: v}
	if d := n.get("defaultVariant"); !empty(d.value) {
		o := v.outcome(d, d.text())
		t.fallback = &o
	}
	if src := n.get("targeting"); !empty(src.value) {
		t.decide(src, always)
	} else if t.fallback == nil {
		f.Active = false
		b.note(n, "has no default variant: users get the caller's default, here too while the flag is inactive")
	} else {
		t.add(n.get("defaultVariant"), always, everyone(*t.fallback))
	}
	b.rules(f, t.rules)
	v.declare(f)
}

// targeting converts the results of a JSONLogic expression into rules.
type targeting struct {
	logic
	variants *variantSet
	fallback *outcome // nil: the caller's default
	rules    []rule
}

func (t *targeting) add(src *node, when formula, shares []share) {
	if len(t.rules) >= maxConditions {
		src.refuse("needs more than %d conditions", maxConditions)
	}
	t.rules = append(t.rules, rule{src: src, name: "rule " + strconv.Itoa(len(t.rules)+1), when: when, shares: shares})
}

// decide adds the rules for users for whom when is true. Each of them gets a value, so that rules
// that are added later apply to other users.
func (t *targeting) decide(n *node, when formula) {
	op, args, ok := t.operation(n)
	if !ok {
		t.add(n, when, everyone(t.answer(n, t.resolve(n).value)))
		return
	}
	switch {
	case op == "if" || op == "?:":
		i := 0
		for ; i+1 < len(args); i += 2 {
			t.decide(args[i+1], allOf(when, t.truth(args[i])))
		}
		if i < len(args) {
			t.decide(args[i], when)
		} else {
			t.add(n, when, everyone(t.answer(n, nil)))
		}
	case op == "fractional":
		t.add(n, when, t.fractional(n, args))
	case t.boolean(n):
		t.add(n, allOf(when, t.truth(n)), everyone(t.answer(n, true)))
		t.add(n, when, everyone(t.answer(n, false)))
	default:
		t.refuse(n, "answers with the value of %s, which cannot be expressed here", short(op))
	}
}

// boolean reports whether an expression always evaluates to true or false.
func (t *targeting) boolean(n *node) bool {
	op, args, ok := t.operation(n)
	if !ok {
		_, is := t.resolve(n).value.(bool)
		return is
	}
	if op == "and" || op == "or" {
		return len(args) > 0 && !slices.ContainsFunc(args, func(a *node) bool { return !t.boolean(a) })
	}
	own := op == "starts_with" || op == "ends_with" || op == "sem_ver" // these evaluate to null for operands that are not strings
	return !own && slices.Contains(comparisons, op)
}

// answer returns the outcome of a result: v is the name of a variant, or nil for the default.
func (t *targeting) answer(n *node, v any) outcome {
	if v == nil {
		if t.fallback == nil {
			t.refuse(n, "answers some users with the caller's default, which cannot be expressed here")
		}
		return *t.fallback
	}
	name := strings.ReplaceAll(string(wire.MustEncode(v)), `"`, "")
	if _, ok := t.variants.keys[name]; !ok {
		t.refuse(n, "answers with %s, which is not a variant: flagd reports an error", kindOf(v))
	}
	return t.variants.outcome(n, name)
}

// fractional returns the shares of weighted results, which flagd selects by a hash of the user's
// key.
func (t *targeting) fractional(n *node, args []*node) []share {
	if len(args) > 0 {
		if _, isList := args[0].value.([]any); !isList {
			if t.b.options.Rebucket {
				t.b.note(t.src, "is split by the distinct id, not by the given attribute or text")
			} else {
				t.refuse(n, "%s", hashReason)
			}
			args = args[1:]
		}
	}
	all, sum := t.weights(n, args)
	if sum == 0 {
		return everyone(t.answer(n, nil))
	}
	var out []share
	for _, w := range all {
		out = append(out, share{w.weight / sum * 100, t.answer(w.src, w.src.value)})
	}
	return out
}

// weighted is an argument of fractional with its weight.
type weighted struct {
	src    *node
	weight float64
}

// weights returns the arguments of fractional, and the sum of their weights.
func (l *logic) weights(n *node, args []*node) (all []weighted, sum float64) {
	for _, a := range args {
		parts, ok := a.value.([]any)
		if !ok || len(parts) == 0 || len(parts) > 2 {
			l.refuse(a, "must be a variant and its weight")
		}
		items := a.items()
		if _, _, computed := l.operation(items[0]); computed {
			l.refuse(items[0], "computes a variant, which cannot be expressed here")
		}
		w := 1.0
		if len(items) == 2 && items[1].value != nil {
			num, ok := items[1].value.(json.Number)
			if !ok {
				l.refuse(items[1], "must be a number")
			}
			if w = l.double(items[1], num); w != float64(int64(w)) {
				l.refuse(items[1], "must be a whole number")
			}
		}
		all = append(all, weighted{items[0], max(w, 0)})
		sum += max(w, 0)
	}
	if sum > 1<<31-1 {
		l.refuse(n, "has weights whose sum is too large")
	}
	return all, sum
}

// someFraction returns when fractional is truthy. If every variant is truthy, the hash has no
// influence.
func (l *logic) someFraction(n *node, args []*node) formula {
	combined := always
	if len(args) > 0 {
		if _, isList := args[0].value.([]any); !isList {
			combined, args = l.isText(args[0]), args[1:]
		}
	}
	all, sum := l.weights(n, args)
	if sum == 0 {
		return never
	}
	truths := map[bool]bool{}
	for _, w := range all {
		if w.weight > 0 {
			truths[isTruthyConstant(w.src.value)] = true
		}
	}
	if len(truths) > 1 {
		l.refuse(n, "is true for a share of the users, which depends on the source's hash and cannot be expressed in a condition")
	}
	if truths[false] {
		return never
	}
	return combined
}

// isText is true if fractional has a value to hash: a string, or no value, for which the user's key
// is used. For a number, a boolean or a list its result is null.
func (l *logic) isText(n *node) formula {
	if op, args, ok := l.operation(n); ok && op == "cat" {
		for _, a := range args {
			l.operand(a) // the concatenation is a string for operands of any type
		}
		return always
	}
	o := l.operand(n)
	if o.attribute == nil {
		_, isText := o.constant.(string)
		return constant(isText || o.constant == nil)
	}
	if !o.attribute.isKey() {
		o.attribute.noteText()
	}
	return always
}

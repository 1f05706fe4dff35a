package convert

import (
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/flags"
)

// ldREST ends the reason why responses of the REST API are refused.
const ldREST = "which has no segments: give the data of an SDK or of the relay, or a file of ldcli"

// readLaunchDarkly reads the data that LaunchDarkly's server-side SDKs and its relay store:
// {"flags": {}, "flagValues": {}, "segments": {}}. Only contexts of the kind user are converted:
// the key becomes the distinct id, and attributes become person properties.
func readLaunchDarkly(b *builder, doc *node) error {
	if data := doc.get("data"); doc.has("path") && data.has("flags") { // the envelope of a stream
		doc = data
	}
	if list := doc.get("items"); list.value != nil && !doc.has("flags") {
		list.refuse("is a list of the REST API, " + ldREST)
	}
	if !doc.has("flags") && doc.has("variations") && doc.has("key") {
		doc.refuse("is one flag of the REST API, " + ldREST)
	}
	if doc.object() == nil || !doc.has("flags") && !doc.has("flagValues") && !doc.has("segments") {
		doc.refuse(`is not flag data of LaunchDarkly: it has no "flags"`)
	}
	r := &ldReader{b: b, flags: doc.get("flags"), segments: doc.get("segments")}
	for _, f := range r.flags.members() {
		if f.get("deleted").boolOr(false) {
			b.omissions = append(b.omissions, Omission{Flag: f.name, Reason: "is deleted", IsFlagOmitted: true})
			continue
		}
		b.flag(f.name, f, func(to *flags.Flag) { r.flag(f, to) })
	}
	for _, v := range doc.get("flagValues").members() {
		b.flag(v.name, v, func(to *flags.Flag) {
			set := b.newVariants(nameValues([]*node{v}))
			b.rules(to, []rule{{src: v, shares: everyone(set.outcome(v, set.order[0]))}})
			set.declare(to)
		})
	}
	return nil
}

type ldReader struct {
	b               *builder
	flags, segments *node
	openSegments    []string // segments that are being read, to detect cycles
	size            int      // number of clauses read for the flag
}

// ldFlag contains the variations of a flag.
type ldFlag struct {
	src   *node
	names []*node // by index
	set   *variantSet
}

func (b *builder) readVariations(n *node) *ldFlag {
	names := nameValues(n.get("variations").items())
	return &ldFlag{n, names, b.newVariants(distinct(names))}
}

// outcome returns the outcome of a variation, by index.
func (f *ldFlag) outcome(n *node) outcome {
	i := n.number()
	if i < 0 || i >= float64(len(f.names)) || i != float64(int(i)) {
		n.refuse("there is no variation with this number: users would get the caller's default")
	}
	return f.set.outcome(n, f.names[int(i)].name)
}

// flag converts one flag. Users who do not meet a prerequisite get the off variation, as do all
// users if the flag is not on.
func (r *ldReader) flag(n *node, to *flags.Flag) {
	n.onlyMembers("key", "on", "prerequisites", "targets", "contextTargets", "rules", "fallthrough", "offVariation", "variations",
		"clientSideAvailability", "clientSide", "salt", "sel", "trackEvents", "trackEventsFallthrough", "debugEventsUntilDate", "version",
		"deleted", "samplingRatio", "excludeFromSummaries", "migration")
	r.size = 0
	f := r.b.readVariations(n)
	on := n.get("on").boolOr(false)
	if n.get("migration").value != nil {
		n.get("migration").refuse("is a migration flag")
	}
	passes, fallen := always, []formula(nil)
	if on {
		passes, fallen, on = r.prerequisites(n)
	}
	unmet := off
	if src := n.get("offVariation"); src.value != nil {
		unmet = f.outcome(src)
	} else if !on || len(fallen) > 0 {
		if len(fallen) > 0 {
			src.refuse("is absent: users who do not meet a prerequisite would get the caller's default")
		}
		to.Active = false // all users get the caller's default
	}
	var list []rule
	switch {
	case !on:
		list = []rule{{src: n.get("offVariation"), shares: everyone(unmet)}}
	case unmet.off:
		list = r.rules(n, f)
		for i := range list {
			list[i].when = allOf(passes, list[i].when)
		}
	default:
		list = append([]rule{{src: n.get("prerequisites"), name: "prerequisites", when: anyOf(fallen...), shares: everyone(unmet)}}, r.rules(n, f)...)
	}
	if to.Active {
		r.b.rules(to, list)
	}
	f.set.declare(to)
}

// prerequisites returns the condition on other flags, and the conditions under which each
// prerequisite fails. If on is false, the condition is never true.
func (r *ldReader) prerequisites(n *node) (passes formula, fallen []formula, on bool) {
	r.checkAcyclic(n, []string{n.name}, map[string]bool{})
	passes = always
	if len(n.get("prerequisites").items()) > maxConditions {
		n.get("prerequisites").refuse("lists more than %d flags", maxConditions)
	}
	for _, p := range n.get("prerequisites").items() {
		p.onlyMembers("key", "variation")
		prerequisite := r.flags.get(p.get("key").text())
		if prerequisite.value == nil || prerequisite.get("deleted").boolOr(false) || !prerequisite.get("on").boolOr(false) {
			return never, nil, false
		}
		target := r.b.readVariations(prerequisite)
		want := target.outcome(p.get("variation"))
		isMet, others := never, []formula{}
		for _, o := range target.set.outcomes() {
			is := outcomeIs(prerequisite.name, o)
			if o == want {
				isMet = is
			} else {
				others = append(others, is)
			}
		}
		passes, fallen = allOf(passes, isMet), append(fallen, others...)
	}
	return passes, fallen, true
}

// checkAcyclic refuses cycles. Flags in checked are known to lead to none.
func (r *ldReader) checkAcyclic(n *node, path []string, checked map[string]bool) {
	for _, p := range n.get("prerequisites").items() {
		key := p.get("key").text()
		switch prerequisite := r.flags.get(key); {
		case slices.Contains(path, key):
			p.refuse("is a circle of prerequisites: users would get the caller's default")
		case len(path) >= maxDepth:
			p.refuse("prerequisites are nested deeper than %d levels", maxDepth)
		case !checked[key] && prerequisite.get("on").boolOr(false):
			r.checkAcyclic(prerequisite, append(slices.Clone(path), key), checked)
			checked[key] = true
		}
	}
}

// rules returns the targets, the rules and the fallthrough, in this order.
func (r *ldReader) rules(n *node, f *ldFlag) []rule {
	var list []rule
	add := func(src *node, keys *node, variation *node) {
		list = append(list, rule{src: src, name: src.pathFrom(n), when: r.b.userKey(src).in(keys.items(), false), shares: everyone(f.outcome(variation))})
	}
	targets := n.get("targets").items()
	contextTargets := n.get("contextTargets").items()
	if len(contextTargets) == 0 {
		for _, t := range targets {
			add(t, t.get("values"), t.get("variation"))
		}
	}
	for _, t := range contextTargets {
		isUser := t.get("contextKind").textOr() == "" || t.get("contextKind").text() == "user"
		switch empty := len(t.get("values").items()) == 0; {
		case !isUser && !empty:
			onlyUsers(t)
		case !empty:
			add(t, t.get("values"), t.get("variation"))
		case isUser: // its keys are in targets
			i := slices.IndexFunc(targets, func(old *node) bool { return old.get("variation").number() == t.get("variation").number() })
			if i >= 0 {
				add(targets[i], targets[i].get("values"), t.get("variation"))
			}
		}
	}
	for _, src := range n.get("rules").items() {
		src.onlyMembers("id", "ref", "description", "variation", "rollout", "clauses", "trackEvents")
		list = append(list, rule{src: src, name: src.pathFrom(n), when: r.clauses(src), shares: r.serve(src, f)})
	}
	return append(list, rule{src: n.get("fallthrough"), shares: r.serve(n.get("fallthrough"), f)})
}

func onlyUsers(src *node) {
	if kind := src.get("contextKind").textOr(); kind != "" && kind != "user" {
		src.get("contextKind").refuse("is %q: only contexts of the kind user are converted", short(kind))
	}
}

// serve returns the shares of a rule: one variation, or weights that sum up to 100,000.
func (r *ldReader) serve(n *node, f *ldFlag) []share {
	if v := n.get("variation"); v.value != nil {
		return everyone(f.outcome(v))
	}
	rollout := n.get("rollout")
	rollout.onlyMembers("kind", "contextKind", "variations", "bucketBy", "seed")
	var out []share
	total := 0.0
	for _, v := range rollout.get("variations").items() {
		o, weight := f.outcome(v.get("variation")), v.get("weight").numberOr(0)
		if weight < 0 {
			v.get("weight").refuse("must not be negative")
		}
		total += weight
		out = append(out, share{weight / 1000, o})
	}
	if len(out) == 0 {
		n.refuse("serves no variation: users would get the caller's default")
	}
	// The last variation gets the remainder to 100 per cent.
	if total < 100_000 {
		out[len(out)-1].percent += 100 - total/1000
	}
	if slices.ContainsFunc(out, func(s share) bool { return s.percent >= 100 }) {
		return out
	}
	onlyUsers(rollout)
	if bucketBy := rollout.get("bucketBy").textOr(); bucketBy != "" && bucketBy != "key" && r.b.options.Rebucket {
		r.b.note(rollout.get("bucketBy"), "bucketed by the distinct id here")
	}
	return out
}

func (r *ldReader) clauses(n *node) formula {
	return allOf(mapFormulas(n.get("clauses").items(), r.clause)...)
}

// clause converts one clause of a rule, or a reference to segments.
func (r *ldReader) clause(c *node) formula {
	c.onlyMembers("contextKind", "attribute", "op", "values", "negate")
	if r.size++; r.size > maxLeaves {
		c.refuse("is too large with its segments: more than %d clauses", maxLeaves)
	}
	negate, values := c.get("negate").boolOr(false), c.get("values").items()
	maybe := func(f formula) formula {
		if negate {
			return not(f)
		}
		return f
	}
	op := c.get("op").text()
	if op == "segmentMatch" {
		var parts []formula
		for _, v := range values {
			if key, isText := v.value.(string); isText && r.segments.get(key).value != nil {
				parts = append(parts, r.segment(v, r.segments.get(key)))
			}
		}
		return maybe(anyOf(parts...))
	}
	onlyUsers(c)
	test := ldOperators[op]
	if test == nil {
		c.get("op").refuse("%q is an unknown operator", short(op))
	}
	name := ldAttribute(c)
	switch name {
	case "kind":
		c.refuse("tests the kind of a context: only contexts of the kind user are converted")
	case "key":
		return maybe(test(r.b.userKey(c), values))
	case "anonymous": // false if it is missing
		if op != "in" {
			return maybe(never)
		}
		isTrue, parts := r.b.attribute(c, name).matches(`\Atrue\z`), never
		for _, v := range values {
			switch v.value {
			case true:
				parts = anyOf(parts, isTrue)
			case false:
				parts = anyOf(parts, not(isTrue))
			}
		}
		return maybe(parts)
	}
	a := r.b.attribute(c, name)
	if !negate {
		return test(a, values)
	}
	return allOf(a.isSet(), not(test(a, values))) // a missing attribute never matches
}

// ldAttribute returns the name of an attribute. With a context kind the name is a reference, in
// which / separates nested members.
func ldAttribute(c *node) string {
	src := c.get("attribute")
	name := src.text()
	if !c.has("contextKind") || !strings.HasPrefix(name, "/") {
		if name == "" {
			src.refuse("is empty: users would get the caller's default")
		}
		return name
	}
	name = name[1:]
	if name == "" || strings.Contains(name, "/") {
		src.refuse("reads a member of an attribute: properties have no members here")
	}
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
}

// segment returns the condition of a segment: the included users, and those who match a rule and
// are not excluded.
func (r *ldReader) segment(src, n *node) formula {
	n.onlyMembers("key", "included", "excluded", "includedContexts", "excludedContexts", "salt", "rules", "unbounded", "unboundedContextKind",
		"version", "generation", "deleted")
	switch {
	case n.get("deleted").boolOr(false):
		return never
	case slices.Contains(r.openSegments, n.name):
		src.refuse("is a circle of segments: users would get the caller's default")
	case len(r.openSegments) >= maxDepth/2:
		src.refuse("segments are nested deeper than %d levels", maxDepth/2)
	case n.get("unbounded").boolOr(false):
		src.refuse("the segment %q is a big segment, whose members are stored elsewhere", short(n.name))
	case len(n.get("includedContexts").items())+len(n.get("excludedContexts").items()) > 0:
		src.refuse("the segment %q lists contexts of other kinds: only contexts of the kind user are converted", short(n.name))
	}
	r.openSegments = append(r.openSegments, n.name)
	var parts []formula
	for _, rule := range n.get("rules").items() {
		rule.onlyMembers("id", "clauses", "weight", "bucketBy", "rolloutContextKind")
		if w := rule.get("weight"); w.value != nil && w.number() < 100_000 {
			if w.number() > 0 {
				w.refuse("the segment %q contains a share of the users, which depends on the source's hash and cannot be expressed in a condition", short(n.name))
			}
			continue // matches no user
		}
		if kind := rule.get("rolloutContextKind"); kind.textOr() != "" && kind.text() != "user" {
			kind.refuse("is %q: only contexts of the kind user are converted", short(kind.text()))
		}
		parts = append(parts, r.clauses(rule))
	}
	r.openSegments = r.openSegments[:len(r.openSegments)-1]
	key := r.b.userKey(src)
	return anyOf(key.in(n.get("included").items(), false), allOf(not(key.in(n.get("excluded").items(), false)), anyOf(parts...)))
}

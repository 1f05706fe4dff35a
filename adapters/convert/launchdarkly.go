package convert

import (
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/flags"
)

// ldREST ends why answers of the REST API are not read.
const ldREST = "which has no targeting by segments: give the data of an SDK or of the relay, or a file of ldcli"

// readLaunchDarkly reads the data that LaunchDarkly's server-side SDKs and its
// relay hold: {"flags": {}, "flagValues": {}, "segments": {}}. Only contexts of
// the kind user are converted: the key is the distinct id, attributes are person
// properties.
func readLaunchDarkly(b *builder, doc *node) error {
	if data := doc.at("data"); doc.has("path") && data.has("flags") { // as a stream puts it
		doc = data
	}
	if list := doc.at("items"); list.value != nil && !doc.has("flags") {
		list.refuse("is a list of the REST API, " + ldREST)
	}
	if !doc.has("flags") && doc.has("variations") && doc.has("key") {
		doc.refuse("is one flag of the REST API, " + ldREST)
	}
	if doc.object() == nil || !doc.has("flags") && !doc.has("flagValues") && !doc.has("segments") {
		doc.refuse(`is no flag data of LaunchDarkly: there are no "flags"`)
	}
	r := &ldReader{b: b, flags: doc.at("flags"), segments: doc.at("segments")}
	for _, f := range r.flags.members() {
		if f.at("deleted").boolOr(false) {
			b.left = append(b.left, Left{Flag: f.name, Reason: "is deleted", Whole: true})
			continue
		}
		b.flag(f.name, f, func(to *flags.Flag) { r.flag(f, to) })
	}
	for _, v := range doc.at("flagValues").members() {
		b.flag(v.name, v, func(to *flags.Flag) {
			set := b.newVariants(nameValues([]*node{v}))
			b.rules(to, []rule{{at: v, shares: everyone(set.outcome(v, set.order[0]))}})
			set.declare(to)
		})
	}
	return nil
}

type ldReader struct {
	b               *builder
	flags, segments *node
	inside          []string // segments that are being read
	size            int      // clauses of the flag that were read
}

// ldFlag are the variations of a flag.
type ldFlag struct {
	at    *node
	names []*node // by index
	set   *variantSet
}

func (b *builder) readVariations(n *node) *ldFlag {
	names := nameValues(n.at("variations").items())
	return &ldFlag{n, names, b.newVariants(distinct(names))}
}

// outcome is that of a variation, by number.
func (f *ldFlag) outcome(n *node) outcome {
	i := n.number()
	if i < 0 || i >= float64(len(f.names)) || i != float64(int(i)) {
		n.refuse("there is no variation of this number: users would get their own default")
	}
	return f.set.outcome(n, f.names[int(i)].name)
}

func (r *ldReader) flag(n *node, to *flags.Flag) {
	n.onlyMembers("key", "on", "prerequisites", "targets", "contextTargets", "rules", "fallthrough", "offVariation", "variations",
		"clientSideAvailability", "clientSide", "salt", "sel", "trackEvents", "trackEventsFallthrough", "debugEventsUntilDate", "version",
		"deleted", "samplingRatio", "excludeFromSummaries", "migration")
	r.size = 0
	f := r.b.readVariations(n)
	on := n.at("on").boolOr(false)
	if n.at("migration").value != nil {
		n.at("migration").refuse("is a migration flag")
	}
	passes, fallen := always, []formula(nil)
	if on {
		passes, fallen, on = r.prerequisites(n)
	}
	unmet := off
	if at := n.at("offVariation"); at.value != nil {
		unmet = f.outcome(at)
	} else if !on || len(fallen) > 0 {
		if len(fallen) > 0 {
			at.refuse("is absent: users who miss a prerequisite would get their own default")
		}
		to.Active = false // everybody has the caller's default
	}
	var list []rule
	switch {
	case !on:
		list = []rule{{at: n.at("offVariation"), shares: everyone(unmet)}}
	case unmet.off:
		list = r.rules(n, f)
		for i := range list {
			list[i].when = allOf(passes, list[i].when)
		}
	default:
		list = append([]rule{{at: n.at("prerequisites"), name: "prerequisites", when: anyOf(fallen...), shares: everyone(unmet)}}, r.rules(n, f)...)
	}
	if to.Active {
		r.b.rules(to, list)
	}
	f.set.declare(to)
}

// prerequisites are what must hold of other flags, and the ways in which it can
// fail. Not on: it never holds.
func (r *ldReader) prerequisites(n *node) (passes formula, fallen []formula, on bool) {
	r.acyclic(n, []string{n.name}, map[string]bool{})
	passes = always
	if len(n.at("prerequisites").items()) > maxConditions {
		n.at("prerequisites").refuse("lists more than %d flags", maxConditions)
	}
	for _, p := range n.at("prerequisites").items() {
		p.onlyMembers("key", "variation")
		other := r.flags.at(p.at("key").text())
		if other.value == nil || other.at("deleted").boolOr(false) || !other.at("on").boolOr(false) {
			return never, nil, false
		}
		target := r.b.readVariations(other)
		wanted := target.outcome(p.at("variation"))
		met, others := never, []formula{}
		for _, o := range target.set.outcomes() {
			is := outcomeIs(other.name, o)
			if o == wanted {
				met = is
			} else {
				others = append(others, is)
			}
		}
		passes, fallen = allOf(passes, met), append(fallen, others...)
	}
	return passes, fallen, true
}

// acyclic refuses circles. Flags in done lead to none.
func (r *ldReader) acyclic(n *node, path []string, done map[string]bool) {
	for _, p := range n.at("prerequisites").items() {
		key := p.at("key").text()
		switch other := r.flags.at(key); {
		case slices.Contains(path, key):
			p.refuse("is a circle of prerequisites: users would get their own default")
		case len(path) >= maxDepth:
			p.refuse("prerequisites are nested deeper than %d levels", maxDepth)
		case !done[key] && other.at("on").boolOr(false):
			r.acyclic(other, append(slices.Clone(path), key), done)
			done[key] = true
		}
	}
}

// rules are the targets, the rules and the fallthrough, in this order.
func (r *ldReader) rules(n *node, f *ldFlag) []rule {
	var list []rule
	add := func(at *node, keys *node, variation *node) {
		list = append(list, rule{at: at, name: at.pathFrom(n), when: r.b.userKey(at).in(keys.items(), false), shares: everyone(f.outcome(variation))})
	}
	targets := n.at("targets").items()
	contextTargets := n.at("contextTargets").items()
	if len(contextTargets) == 0 {
		for _, t := range targets {
			add(t, t.at("values"), t.at("variation"))
		}
	}
	for _, t := range contextTargets {
		isUser := t.at("contextKind").textOr() == "" || t.at("contextKind").text() == "user"
		switch empty := len(t.at("values").items()) == 0; {
		case !isUser && !empty:
			onlyUsers(t)
		case !empty:
			add(t, t.at("values"), t.at("variation"))
		case isUser: // the keys stand in targets
			i := slices.IndexFunc(targets, func(old *node) bool { return old.at("variation").number() == t.at("variation").number() })
			if i >= 0 {
				add(targets[i], targets[i].at("values"), t.at("variation"))
			}
		}
	}
	for _, at := range n.at("rules").items() {
		at.onlyMembers("id", "ref", "description", "variation", "rollout", "clauses", "trackEvents")
		list = append(list, rule{at: at, name: at.pathFrom(n), when: r.clauses(at), shares: r.serve(at, f)})
	}
	return append(list, rule{at: n.at("fallthrough"), shares: r.serve(n.at("fallthrough"), f)})
}

func onlyUsers(at *node) {
	if kind := at.at("contextKind").textOr(); kind != "" && kind != "user" {
		at.at("contextKind").refuse("is %q: only contexts of the kind user are converted", short(kind))
	}
}

// serve are the shares of a rule: one variation, or weights of 100,000.
func (r *ldReader) serve(n *node, f *ldFlag) []share {
	if v := n.at("variation"); v.value != nil {
		return everyone(f.outcome(v))
	}
	rollout := n.at("rollout")
	rollout.onlyMembers("kind", "contextKind", "variations", "bucketBy", "seed")
	var out []share
	total := 0.0
	for _, v := range rollout.at("variations").items() {
		o, weight := f.outcome(v.at("variation")), v.at("weight").numberOr(0)
		if weight < 0 {
			v.at("weight").refuse("must not be negative")
		}
		total += weight
		out = append(out, share{weight / 1000, o})
	}
	if len(out) == 0 {
		n.refuse("serves no variation: users would get their own default")
	}
	// What is missing to 100 per cent goes to the last.
	if total < 100_000 {
		out[len(out)-1].percent += 100 - total/1000
	}
	if slices.ContainsFunc(out, func(s share) bool { return s.percent >= 100 }) {
		return out
	}
	onlyUsers(rollout)
	if by := rollout.at("bucketBy").textOr(); by != "" && by != "key" && r.b.options.Rebucket {
		r.b.note(rollout.at("bucketBy"), "bucketed by the distinct id here")
	}
	return out
}

func (r *ldReader) clauses(n *node) formula {
	return allOf(each(n.at("clauses").items(), r.clause)...)
}

func (r *ldReader) clause(c *node) formula {
	c.onlyMembers("contextKind", "attribute", "op", "values", "negate")
	if r.size++; r.size > maxLeaves {
		c.refuse("is too large with its segments: more than %d clauses", maxLeaves)
	}
	negate, values := c.at("negate").boolOr(false), c.at("values").items()
	maybe := func(f formula) formula {
		if negate {
			return not(f)
		}
		return f
	}
	op := c.at("op").text()
	if op == "segmentMatch" {
		var of []formula
		for _, v := range values {
			if key, isText := v.value.(string); isText && r.segments.at(key).value != nil {
				of = append(of, r.segment(v, r.segments.at(key)))
			}
		}
		return maybe(anyOf(of...))
	}
	onlyUsers(c)
	test := ldOperators[op]
	if test == nil {
		c.at("op").refuse("%q is no operator that is known here", short(op))
	}
	name := ldAttribute(c)
	switch name {
	case "kind":
		c.refuse("asks for the kind of a context: only those of the kind user are converted")
	case "key":
		return maybe(test(r.b.userKey(c), values))
	case "anonymous": // false when it is not there
		if op != "in" {
			return maybe(never)
		}
		isTrue, of := r.b.attribute(c, name).matches(`\Atrue\z`), never
		for _, v := range values {
			switch v.value {
			case true:
				of = anyOf(of, isTrue)
			case false:
				of = anyOf(of, not(isTrue))
			}
		}
		return maybe(of)
	}
	a := r.b.attribute(c, name)
	if !negate {
		return test(a, values)
	}
	return allOf(a.set(), not(test(a, values))) // a missing attribute never matches
}

// ldAttribute is the name of an attribute: with a context kind it is a
// reference, where / leads inwards.
func ldAttribute(c *node) string {
	at := c.at("attribute")
	name := at.text()
	if !c.has("contextKind") || !strings.HasPrefix(name, "/") {
		if name == "" {
			at.refuse("is empty: users would get their own default")
		}
		return name
	}
	name = name[1:]
	if name == "" || strings.Contains(name, "/") {
		at.refuse("leads into an attribute, and properties have no members here")
	}
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
}

// segment is who is in a segment: those included, then those neither excluded nor
// missed by all of its rules.
func (r *ldReader) segment(at, n *node) formula {
	n.onlyMembers("key", "included", "excluded", "includedContexts", "excludedContexts", "salt", "rules", "unbounded", "unboundedContextKind",
		"version", "generation", "deleted")
	switch {
	case n.at("deleted").boolOr(false):
		return never
	case slices.Contains(r.inside, n.name):
		at.refuse("is a circle of segments: users would get their own default")
	case len(r.inside) >= maxDepth/2:
		at.refuse("segments are nested deeper than %d levels", maxDepth/2)
	case n.at("unbounded").boolOr(false):
		at.refuse("the segment %q is a big segment, whose members are kept elsewhere", short(n.name))
	case len(n.at("includedContexts").items())+len(n.at("excludedContexts").items()) > 0:
		at.refuse("the segment %q lists contexts of other kinds: only those of the kind user are converted", short(n.name))
	}
	r.inside = append(r.inside, n.name)
	var of []formula
	for _, rule := range n.at("rules").items() {
		rule.onlyMembers("id", "clauses", "weight", "bucketBy", "rolloutContextKind")
		if w := rule.at("weight"); w.value != nil && w.number() < 100_000 {
			if w.number() > 0 {
				w.refuse("the segment %q takes a share of the users, which depends on the source's hash and cannot be said in a condition", short(n.name))
			}
			continue // nobody
		}
		if kind := rule.at("rolloutContextKind"); kind.textOr() != "" && kind.text() != "user" {
			kind.refuse("is %q: only contexts of the kind user are converted", short(kind.text()))
		}
		of = append(of, r.clauses(rule))
	}
	r.inside = r.inside[:len(r.inside)-1]
	key := r.b.userKey(at)
	return anyOf(key.in(n.at("included").items(), false), allOf(not(key.in(n.at("excluded").items(), false)), anyOf(of...)))
}

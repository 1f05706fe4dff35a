package convert

import (
	"math"
	"reflect"
	"slices"

	"github.com/bunting-flags/bunting/flags"
)

// readGrowthBook reads the payload that GrowthBook's SDKs load: {"features": {}, "savedGroups":
// {}}, or only the features. The attribute id is the distinct id, and other attributes are person
// properties. Null, for which callers use their default, is off.
func readGrowthBook(b *builder, doc *node) error {
	if enc := doc.get("encryptedFeatures"); enc.textOr() != "" {
		enc.refuse("the features are encrypted: give the decrypted payload")
	}
	const advice = "whose rules have another form: give the payload of an SDK connection, GET /api/features/CLIENT_KEY"
	features := doc.get("features")
	if _, isList := features.value.([]any); isList {
		features.refuse("is a list of the REST API, " + advice)
	}
	if one := doc.get("feature"); one.has("environments") {
		one.refuse("is one feature of the REST API, " + advice)
	}
	if features.value == nil {
		if doc.has("features") || len(doc.object()) == 0 {
			doc.refuse(`is not a payload of GrowthBook: it has no "features"`)
		}
		features = doc
	}
	r := &gbReader{b: b, features: features, groups: doc.get("savedGroups"), read: map[string]*gbFeature{}}
	for _, f := range features.members() {
		b.flag(f.name, f, func(to *flags.Flag) { r.feature(f, to) })
	}
	return nil
}

type gbReader struct {
	b                *builder
	features, groups *node
	read             map[string]*gbFeature
}

// gbFeature contains the possible values of a feature.
type gbFeature struct {
	values []*node // named by their variants; null is excluded
	set    *variantSet
	// null: some users may get the value null.
	null bool
}

// values returns the possible values of a feature: its default, the values that rules force, and
// those of experiments.
func (r *gbReader) values(n *node) *gbFeature {
	if cached := r.read[n.name]; cached != nil {
		return cached
	}
	f := &gbFeature{}
	var all []*node
	add := func(v *node) {
		if v.value == nil {
			f.null = true
			return
		}
		all = append(all, v)
	}
	add(n.get("defaultValue"))
	for _, rule := range n.get("rules").items() {
		switch {
		case rule.has("force"):
			add(rule.get("force"))
		default:
			for _, v := range rule.get("variations").items() {
				add(v)
			}
		}
		for _, p := range rule.get("parentConditions").items() {
			f.null = f.null || p.get("gate").boolOr(false)
		}
	}
	f.values = nameValues(all)
	f.set = r.b.newVariants(distinct(f.values))
	r.read[n.name] = f
	return f
}

// outcome returns the outcome of a value.
func (f *gbFeature) outcome(b *builder, v *node) outcome {
	if v.value == nil {
		b.note(v, "is null, which is off here")
		return off
	}
	text := string(v.json())
	for _, n := range f.values {
		if string(n.json()) == text {
			return f.set.outcome(v, n.name)
		}
	}
	panic("a value that was not collected")
}

// feature converts one feature. A gate, which is a prerequisite that stops the evaluation, also
// applies to all rules after its own.
func (r *gbReader) feature(n *node, to *flags.Flag) {
	n.onlyMembers("defaultValue", "rules", "id", "description", "dateUpdated", "dateCreated", "valueType", "tags", "project", "owner", "archived")
	r.checkAcyclic(n, []string{n.name}, map[string]bool{})
	f := r.values(n)
	rules := n.get("rules").items()
	if n.get("defaultValue").value == nil && len(rules) == 0 {
		to.Active = false // all users get the caller's default
		return
	}
	var list []rule
	open := always // is true for users that no gate stopped
	for _, src := range rules {
		passes, gate := r.parents(src)
		if gate {
			open = allOf(open, passes)
		}
		next, ok := r.rule(n, src, f)
		if !ok {
			continue
		}
		next.when = allOf(open, passes, next.when)
		list = append(list, next)
	}
	list = append(list, rule{src: n.get("defaultValue"), name: "default", when: open, shares: everyone(f.outcome(r.b, n.get("defaultValue")))})
	r.b.rules(to, list)
	f.set.declare(to)
}

// parents converts the prerequisites of a rule. If gate is set, users who do not meet them are off,
// and no later rule applies.
func (r *gbReader) parents(src *node) (passes formula, gate bool) {
	passes = always
	for i, p := range src.get("parentConditions").items() {
		p.onlyMembers("id", "condition", "gate")
		isGate := p.get("gate").boolOr(false)
		if i > 0 && isGate != gate {
			p.refuse("has both blocking and other prerequisites in one rule")
		}
		if gate = isGate; gate {
			r.b.note(p.get("gate"), "is null for users without the prerequisite, which is off here")
		}
		parent := r.features.get(p.get("id").text())
		if parent.value == nil {
			p.get("id").refuse("there is no feature %q", short(p.get("id").text()))
		}
		passes = allOf(passes, r.parent(p.get("condition"), parent))
	}
	return passes, gate
}

// parent converts a condition on the value of another feature into the set of matching values.
func (r *gbReader) parent(c, feature *node) formula {
	if len(c.object()) != 1 || !c.has("value") {
		c.refuse(`tests more than the value of a feature`)
	}
	f := r.values(feature)
	isMet := never
	for _, v := range distinct(f.values) {
		if holds(c.get("value"), v) {
			isMet = anyOf(isMet, outcomeIs(feature.name, f.set.outcome(c, v.name)))
		}
	}
	if !f.null {
		return isMet
	}
	isFalse := func(v *node) bool { return v.value == false }
	nullHolds := holds(c.get("value"), &node{})
	switch i := slices.IndexFunc(f.values, isFalse); {
	case i < 0 || !f.set.boolean:
		if nullHolds {
			return anyOf(isMet, flagIs(feature.name, false))
		}
	case holds(c.get("value"), f.values[i]) != nullHolds:
		c.refuse("distinguishes null and false of the feature %q, which are both off here", short(feature.name))
	}
	return isMet
}

// holds evaluates a condition on a constant. It supports comparison with scalars.
func holds(c, v *node) bool {
	obj, isObject := c.value.(map[string]any)
	if !isObject {
		return equalScalars(c, v)
	}
	for op := range obj {
		arg, ok := c.get(op), false
		switch op {
		case "$eq":
			ok = equalScalars(arg, v)
		case "$ne":
			ok = !equalScalars(arg, v)
		case "$in", "$nin":
			ok = slices.ContainsFunc(arg.items(), func(a *node) bool { return equalScalars(a, v) }) == (op == "$in")
		case "$exists":
			ok = (v.value != nil) == isTruthy(arg)
		default:
			arg.refuse("is an unknown comparison with a feature's values")
		}
		if !ok {
			return false
		}
	}
	return true
}

func equalScalars(a, b *node) bool {
	for _, n := range []*node{a, b} {
		switch n.value.(type) {
		case map[string]any, []any:
			a.refuse("compares lists or objects")
		}
	}
	return reflect.TypeOf(a.value) == reflect.TypeOf(b.value) && string(canonical(a)) == string(canonical(b))
}

// checkAcyclic refuses cycles. Features in checked are known to lead to none.
func (r *gbReader) checkAcyclic(n *node, path []string, checked map[string]bool) {
	for _, rule := range n.get("rules").items() {
		for _, p := range rule.get("parentConditions").items() {
			key := p.get("id").text()
			switch {
			case slices.Contains(path, key):
				p.refuse("is a circle of prerequisites")
			case len(path) >= maxDepth:
				p.refuse("prerequisites are nested deeper than %d levels", maxDepth)
			}
			if !checked[key] {
				r.checkAcyclic(r.features.get(key), append(slices.Clone(path), key), checked)
				checked[key] = true
			}
		}
	}
}

// gbRule are the members of a rule. Those that evaluation does not use are only for tracking and
// for sticky buckets.
var gbRule = []string{
	"id", "condition", "parentConditions", "coverage", "force", "variations", "key", "weights", "namespace", "hashAttribute",
	"fallbackAttribute", "disableStickyBucketing", "hashVersion", "bucketVersion", "minBucketVersion", "range", "ranges", "meta", "filters",
	"seed", "name", "phase", "tracks",
}

// rule converts a rule. It returns false if the rule applies to no user.
func (r *gbReader) rule(n, src *node, f *gbFeature) (rule, bool) {
	src.onlyMembers(gbRule...)
	out := rule{src: src, name: src.pathFrom(n), when: r.condition(src.get("condition"))}
	in := r.includedShare(src)
	if src.has("force") {
		o := f.outcome(r.b, src.get("force"))
		coverage, width := src.get("coverage"), src.get("range")
		switch {
		case width.value != nil:
			out.shares = []share{{r.width(width) * in * 100, o}}
		case coverage.value != nil:
			out.shares = []share{{coverage.number() * in * 100, o}}
		case src.get("filters").value != nil:
			out.shares = []share{{in * 100, o}}
		default:
			out.shares = everyone(o)
			return out, true
		}
		out.when = allOf(r.hasHashValue(src), out.when)
		return out, true
	}
	variations := src.get("variations").items()
	if len(variations) < 2 {
		return out, false // an experiment with one variation includes no users
	}
	for _, m := range src.get("meta").items() {
		if m.get("passthrough").boolOr(false) {
			m.get("passthrough").refuse("continues with the next rules, although the experiment counts the exposure")
		}
	}
	out.when = allOf(r.hasHashValue(src), out.when)
	for i, w := range r.weights(src, len(variations)) {
		out.shares = append(out.shares, share{w * in * 100, f.outcome(r.b, variations[i])})
	}
	return out, true
}

// includedShare returns the share of users that the filters of a rule include, or without filters
// the namespace of an experiment. Each has its own hash.
func (r *gbReader) includedShare(src *node) float64 {
	filters, namespace := src.get("filters"), src.get("namespace")
	if filters.value != nil {
		part := 1.0
		for _, f := range filters.items() {
			f.onlyMembers("seed", "attribute", "hashVersion", "ranges")
			if hashAttribute := f.get("attribute").textOr(); hashAttribute != "" && hashAttribute != "id" {
				f.get("attribute").refuse("hashes the attribute %q: only the id can be hashed here", short(hashAttribute))
			}
			width := 0.0
			for _, w := range f.get("ranges").items() {
				width += r.width(w)
			}
			part *= min(width, 1)
		}
		return part
	}
	if namespace.value == nil || src.has("force") {
		return 1
	}
	bounds := namespace.items()
	if len(bounds) != 3 {
		namespace.want("a list of a name and two numbers")
	}
	part := max(min(bounds[2].number(), 1)-max(bounds[1].number(), 0), 0)
	if part < 1 && r.b.options.Rebucket {
		r.b.note(namespace, "is not converted: the same people may be in several experiments of a namespace")
	}
	return part
}

// hasHashValue is true if there is a value to hash; other users do not match the rule. It refuses
// attributes other than the id, which cannot be hashed here.
func (r *gbReader) hasHashValue(src *node) formula {
	if hashAttribute := src.get("hashAttribute").textOr(); hashAttribute != "" && hashAttribute != "id" {
		src.get("hashAttribute").refuse("hashes the attribute %q: only the id can be hashed here", short(hashAttribute))
	}
	if v := src.get("hashVersion"); v.value != nil && v.number() != 1 && v.number() != 2 {
		v.refuse("is an unknown version of the hash: no user would match the rule")
	}
	return r.b.userKey(src).isNonEmpty()
}

// width returns the width of a range; 1 is all users.
func (r *gbReader) width(n *node) float64 {
	ends := n.items()
	if len(ends) != 2 {
		n.want("a list of two numbers")
	}
	return max(min(ends[1].number(), 1)-max(ends[0].number(), 0), 0)
}

// weights returns the share of all users that each variation of an experiment gets, from 0 to 1.
func (r *gbReader) weights(src *node, count int) []float64 {
	out := make([]float64, count)
	if ranges := src.get("ranges").items(); len(ranges) > 0 {
		for i := range min(count, len(ranges)) {
			out[i] = r.width(ranges[i])
		}
		return out
	}
	coverage := max(min(src.get("coverage").numberOr(1), 1), 0)
	weights, sum := src.get("weights").items(), 0.0
	for i, w := range weights {
		if i < count {
			out[i] = w.number()
		}
		sum += w.number()
	}
	if len(weights) != count || math.Abs(sum-1) > 0.01 {
		for i := range out {
			out[i] = 1 / float64(count) // as GrowthBook does with an invalid number of weights
		}
	}
	for i := range out {
		out[i] *= coverage
	}
	return out
}

package convert

import (
	"cmp"
	"encoding/json"
	"math"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/wire"
)

// carriedStrategy are the members of a strategy that affect the value, or that may be lost without
// a note (ids and positions).
var carriedStrategy = []string{
	"name", "strategyName", "parameters", "constraints", "segments", "variants", "disabled", "sortOrder", "id", "featureName", "environment",
	"projectId", "featureEnvironment",
}

// strategy appends the rules of one strategy. Variants of the strategy replace those of the
// feature.
func (u *unleash) strategy(list []rule, s *node, needs formula, feature *unleashVariants, all *variantSet) []rule {
	s.object()
	u.b.noteIgnored(s, carriedStrategy...)
	conditions := append(mapFormulas(s.get("constraints").items(), u.constraint), mapFormulas(s.get("segments").items(), u.segment)...)
	conditions = append(conditions, mapFormulas(u.linked(s), u.segment)...)
	when := allOf(needs, allOf(conditions...))
	kind := s.get("name")
	if kind.value == nil {
		kind = s.get("strategyName")
	}
	users, percent := u.targetUsers(s, kind)
	own := u.variants(s.get("variants"))
	if own.total == 0 {
		own = feature
	} else {
		own.addTo(all)
	}
	return u.result(list, s, allOf(when, users), own, percent)
}

var commas = lazy(`\s*,\s*`)

// targetUsers returns the condition of a strategy, and the share of matching users in per cent.
func (u *unleash) targetUsers(s, kind *node) (formula, float64) {
	p := s.get("parameters")
	switch name := kind.text(); name {
	case "default":
		return always, 100
	case "userWithId":
		ids := p.get("userIds").textOr()
		if ids == "" {
			return never, 100
		}
		return u.b.userKey(s).oneOf(commas().Split(ids, -1)), 100
	case "flexibleRollout":
		return u.sticky(p, "rollout", cmp.Or(p.get("stickiness").textOr(), "default"))
	case "gradualRolloutUserId":
		return u.sticky(p, "percentage", "userId")
	case "gradualRolloutSessionId":
		return u.sticky(p, "percentage", "sessionId")
	case "gradualRolloutRandom":
		return u.sticky(p, "percentage", "random")
	default:
		kind.refuse("uses the strategy %q, which cannot be expressed here", short(name))
		return never, 0
	}
}

// sticky returns a share of the users who have the attribute that is hashed.
func (u *unleash) sticky(p *node, member, stickiness string) (formula, float64) {
	src := p.get(member)
	text, isText := src.value.(string)
	if num, ok := src.value.(json.Number); ok {
		text, isText = string(num), true
	}
	if !isText {
		src.want("a percentage")
	}
	percent := math.Floor(min(max(parseNumber(src, text), 0), 100))
	if percent == 0 {
		return never, 0
	}
	switch stickiness {
	case "default", "random", "userId":
		if percent < 100 && stickiness == "random" && u.b.options.Rebucket {
			u.b.note(src, "gives a new value for every request in Unleash, and the same value for a person here")
		}
		return always, percent
	}
	a := u.field(p, stickiness)
	if percent < 100 && u.b.options.Rebucket {
		u.b.note(src, "is split by the distinct id, not by "+strconv.Quote(short(stickiness)))
	}
	return allOf(a.unary(flags.IsSet), a.compare(flags.IsNot, []any{"", "null"})), percent
}

// field returns the attribute for a field of Unleash's context.
func (u *unleash) field(src *node, name string) attribute {
	switch name {
	case "userId":
		return u.b.userKey(src)
	case "":
		src.refuse("needs the name of an attribute")
	case "currentTime":
		src.refuse("depends on the time, which is not supported here")
	case "environment", "appName":
		u.b.note(src, "uses "+name+", which Unleash's SDKs set themselves: send it as a person property")
	}
	a := u.b.attribute(src, name)
	a.textOnly = true
	return a
}

func (u *unleash) segment(id *node) formula {
	s, ok := u.segments[string(id.json())]
	if !ok || !s.has("constraints") {
		id.refuse("is a segment whose constraints are not in this file; the answer of the client API, /api/client/features, has them")
	}
	return allOf(mapFormulas(s.get("constraints").items(), u.constraint)...)
}

// dependencies returns the condition on the parent features.
func (u *unleash) dependencies(src *node) formula {
	var parts []formula
	for _, d := range src.items() {
		parent := d.get("feature").text()
		t, ok := u.toggles[parent]
		switch {
		case !ok:
			d.refuse("depends on the feature %q, which does not exist", short(parent))
		case !empty(t.dependencies.value):
			d.refuse("depends on a feature that depends on another one, which is always off in Unleash")
		}
		variants := d.get("variants").texts()
		switch {
		case !d.get("enabled").boolOr(true):
			parts = append(parts, flagIs(parent, false))
		case len(variants) == 0:
			parts = append(parts, flagIs(parent, true))
		default:
			parts = append(parts, anyOf(mapFormulas(variants, func(v string) formula { return t.isOn(d, v) })...))
		}
	}
	return allOf(parts...)
}

// isOn is true if a feature is on with a variant; a feature without variants has the variant
// "disabled".
func (t toggle) isOn(src *node, variant string) formula {
	name := t.feature.get("name").text()
	if variant != "disabled" {
		if key, ok := t.keys()[variant]; ok {
			variant = key
		}
		return flagIs(name, variant)
	}
	for _, s := range append(slices.Clone(t.strategies), &node{value: map[string]any{"variants": t.variants.value}}) {
		if len(s.get("variants").items()) > 0 {
			src.refuse("requires that the feature %q is on without a variant, which cannot be expressed here", short(name))
		}
	}
	return flagIs(name, true)
}

// constraint converts one constraint of a strategy or a segment.
func (u *unleash) constraint(c *node) formula {
	c.object()
	c.onlyMembers("contextName", "operator", "values", "value", "inverted", "caseInsensitive")
	name := c.get("contextName").text()
	op := c.get("operator").text()
	read := unleashOperators[op]
	if read == nil {
		c.get("operator").refuse("%s cannot be expressed here", short(op))
	}
	a := u.field(c.get("contextName"), name)
	a.src = c
	f := read(c, a)
	if c.get("inverted").boolOr(false) {
		return not(f)
	}
	return f
}

var unleashOperators = map[string]func(c *node, a attribute) formula{
	"IN":           func(c *node, a attribute) formula { return a.oneOf(cleanValues(c)) },
	"NOT_IN":       func(c *node, a attribute) formula { return not(a.oneOf(cleanValues(c))) },
	"STR_CONTAINS": unleashPart(contains), "STR_STARTS_WITH": unleashPart(startsWith), "STR_ENDS_WITH": unleashPart(endsWith),
	"NUM_EQ": unleashNumber("eq"), "NUM_GT": unleashNumber("gt"), "NUM_GTE": unleashNumber("ge"), "NUM_LT": unleashNumber("lt"), "NUM_LTE": unleashNumber("le"),
	"SEMVER_EQ": unleashVersion("eq"), "SEMVER_GT": unleashVersion("gt"), "SEMVER_GTE": unleashVersion("ge"), "SEMVER_LT": unleashVersion("lt"), "SEMVER_LTE": unleashVersion("le"),
	"REGEX":      unleashPattern,
	"DATE_AFTER": unleashDate, "DATE_BEFORE": unleashDate,
}

func unleashDate(c *node, _ attribute) formula {
	c.refuse("depends on the time of the request, which is not supported here")
	return never
}

// cleanValues returns the values without surrounding white space, and without empty ones.
func cleanValues(c *node) []string {
	var out []string
	for _, v := range c.get("values").texts() {
		if v != "" {
			out = append(out, strings.TrimSpace(v))
		}
	}
	return out
}

func unleashPart(p part) func(*node, attribute) formula {
	return func(c *node, a attribute) formula {
		has := a.has
		if c.get("caseInsensitive").boolOr(false) {
			has = a.hasFold
		}
		return anyOf(mapFormulas(cleanValues(c), func(v string) formula { return has(p, v) })...)
	}
}

// valueText returns the value of a constraint, which may be a string or a number, as text.
func valueText(c *node) string {
	if num, ok := c.get("value").value.(json.Number); ok {
		return string(num)
	}
	return c.get("value").text()
}

// unleashNumber compares numbers as JavaScript does: a blank text is 0.
func unleashNumber(op string) func(*node, attribute) formula {
	return func(c *node, a attribute) formula {
		n := parseNumber(c.get("value"), valueText(c))
		if n == 0 && op == "eq" || op != "eq" && orders[op].holds(0, n) {
			return anyOf(a.number(op, n), a.isBlank())
		}
		return a.number(op, n)
	}
}

func unleashVersion(op string) func(*node, attribute) formula {
	return func(c *node, a attribute) formula {
		a.src = c.get("value")
		return a.compareStrict(op, valueText(c))
	}
}

// unleashPattern converts a regular expression in RE2's syntax. Go's parser, which uses the same
// syntax, prints it in a form that is also valid in Rust's syntax.
func unleashPattern(c *node, a attribute) formula {
	src := c.get("value")
	mode := syntax.Perl
	if c.get("caseInsensitive").boolOr(false) {
		mode |= syntax.FoldCase
	}
	tree, err := syntax.Parse(valueText(c), mode)
	if err != nil {
		src.refuse("is a pattern that cannot be read: %s", short(err.Error()))
	}
	if hasWordBoundary(tree) {
		src.refuse("is a pattern with \\b or \\B, which treat other letters as words here")
	}
	expr := tree.String()
	if len(expr) > longestPattern {
		src.refuse("is a pattern that is too long, more than %d bytes", longestPattern)
	}
	f := a.matches(expr)
	if compiled, err := regexp.Compile(expr); a.isKey() || err == nil && !compiled.MatchString("null") {
		return f
	}
	return allOf(f, a.compare(flags.IsNot, "null"))
}

// unleashVariants are weighted variants of a feature or a strategy.
type unleashVariants struct {
	src   *node
	list  []unleashVariant
	total float64
}

type unleashVariant struct {
	src     *node
	name    string
	weight  float64
	payload json.RawMessage
}

// keys returns the variant keys of a feature, by the names of its variants.
func (t toggle) keys() map[string]string {
	var names []string
	for _, v := range t.variants.items() {
		names = append(names, v.get("name").text())
	}
	for _, s := range t.strategies {
		for _, v := range s.get("variants").items() {
			names = append(names, v.get("name").text())
		}
	}
	return variantKeys(names)
}

// variants reads weighted variants and the sum of their weights.
func (u *unleash) variants(src *node) *unleashVariants {
	out := &unleashVariants{src: src}
	for _, n := range src.items() {
		n.object()
		u.b.noteIgnored(n, "name", "weight", "weightType", "stickiness", "payload", "overrides")
		name := n.get("name").text()
		v := unleashVariant{src: n, name: u.keys[name], weight: n.get("weight").number()}
		if v.weight < 0 {
			n.get("weight").refuse("must not be negative")
		}
		u.b.noteVariant(n, name, v.name)
		if v.payload = u.payload(n.get("payload")); v.payload == nil && v.name != name {
			v.payload = wire.MustEncode(string(wire.MustEncode(name))) // only its name is known
		}
		out.total += v.weight
		out.list = append(out.list, v)
	}
	return out
}

// payload returns a variant's payload as JSON in a string (§1.2).
func (u *unleash) payload(p *node) json.RawMessage {
	if p.object() == nil {
		return nil
	}
	value := p.get("value").text()
	switch kind := p.get("type").textOr(); kind {
	case "json", "number":
		if !json.Valid([]byte(value)) {
			p.refuse("is not valid %s, although its type says so", kind)
		}
		return wire.MustEncode(value)
	}
	return wire.MustEncode(string(wire.MustEncode(value)))
}

// addTo adds the variants to those that the flag declares, without duplicates.
func (v *unleashVariants) addTo(all *variantSet) {
	for _, o := range v.list {
		old, there := all.payload[o.name]
		switch {
		case !there:
			all.order = append(all.order, o.name)
		case string(old) != string(o.payload):
			o.src.refuse("is a variant %q with another payload than the one before", short(o.name))
		}
		all.payload[o.name] = o.payload
	}
}

// result adds the rules for users who meet when, of whom percent are on: first for users with a
// variant of their own, then all by weight. If the sum of the weights is zero, no variants are
// used. For a disabled feature, only the condition of its users is added.
func (u *unleash) result(list []rule, src *node, when formula, v *unleashVariants, percent float64) []rule {
	if u.disabled {
		return append(list, rule{src: src, name: "strategy", when: when, shares: everyone(on)})
	}
	if v.total == 0 {
		if len(v.list) > 0 {
			u.b.note(v.src, "have weights that sum up to 0, so no user gets one")
		}
		return append(list, rule{src: src, name: "strategy", when: when, shares: []share{{percent, on}}})
	}
	for _, o := range v.list {
		for _, override := range o.src.get("overrides").items() {
			own := u.field(override, override.get("contextName").text()).oneOf(override.get("values").texts())
			list = append(list, rule{src: override, name: "override", when: allOf(when, own), shares: []share{{percent, outcome{variant: o.name}}}})
		}
	}
	var shares []share
	for _, o := range v.list {
		if o.weight > 0 {
			shares = append(shares, share{o.weight / v.total * percent, outcome{variant: o.name}})
		}
	}
	return append(list, rule{src: src, name: "strategy", when: when, shares: shares})
}

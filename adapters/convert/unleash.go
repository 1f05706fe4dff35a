package convert

import (
	"encoding/json"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/flags"
)

// Unleash: an environment's export, or what its client API serves. Rules are
// those of its Node SDK. Attributes are always text there.

// toggle is a feature with what belongs to it, from either document.
type toggle struct {
	feature      *node
	enabled      bool
	strategies   []*node
	variants     *node
	dependencies *node
}

type unleash struct {
	b        *builder
	toggles  map[string]toggle
	segments map[string]*node
}

func readUnleash(b *builder, doc *node) error {
	doc.object()
	features := doc.at("features")
	if features.value == nil {
		features.refuse("is missing: Unleash's documents have a list of features")
	}
	u := &unleash{b: b, toggles: map[string]toggle{}, segments: map[string]*node{}}
	for _, s := range doc.at("segments").items() {
		s.object()
		u.segments[string(s.at("id").json())] = s
	}
	var order []string
	add := func(n *node, t toggle) {
		name := n.at("name").text()
		if _, twice := u.toggles[name]; twice {
			b.flag(name, n, func(*flags.Flag) { n.refuse("a feature with this name is there twice: the first counts") })
			return
		}
		u.toggles[name] = t
		order = append(order, name)
	}
	if doc.has("featureEnvironments") {
		u.export(doc, add)
	} else {
		for _, n := range features.items() {
			n.object()
			t := toggle{feature: n, variants: n.at("variants"), dependencies: n.at("dependencies")}
			r := refused(func() { t.enabled, t.strategies = n.at("enabled").boolOr(false), n.at("strategies").items() })
			if r != nil {
				b.flag(n.at("name").text(), n, func(*flags.Flag) { panic(r) })
				continue
			}
			add(n, t)
		}
	}
	for _, name := range order {
		t := u.toggles[name]
		b.flag(name, t.feature, func(f *flags.Flag) { u.read(f, t) })
	}
	return nil
}

// export puts the parts of an export together, for one environment.
func (u *unleash) export(doc *node, add func(*node, toggle)) {
	environments := map[string]bool{}
	for _, e := range doc.at("featureEnvironments").items() {
		environments[e.at("environment").textOr()] = true
	}
	chosen := u.b.options.Environment
	names := slices.Sorted(maps.Keys(environments))
	if chosen == "" && len(names) > 1 {
		doc.at("featureEnvironments").refuse("has several environments, choose one with --environment: %s", strings.Join(names, ", "))
	}
	if chosen != "" && len(names) > 0 && !environments[chosen] {
		doc.at("featureEnvironments").refuse("has no environment %q, only: %s", short(chosen), strings.Join(names, ", "))
	}
	of := func(list, member string) map[string][]*node {
		out := map[string][]*node{}
		for _, n := range doc.at(list).items() {
			n.object()
			if e := n.at("environment"); e.value == nil || chosen == "" || e.textOr() == chosen {
				out[n.at(member).textOr()] = append(out[n.at(member).textOr()], n)
			}
		}
		return out
	}
	states, strategies := of("featureEnvironments", "featureName"), of("featureStrategies", "featureName")
	dependencies := of("dependencies", "feature")
	for _, n := range doc.at("features").items() {
		n.object()
		name := n.at("name").textOr()
		t := toggle{feature: n, variants: n.at("variants"), dependencies: &node{}, strategies: strategies[name]}
		slices.SortStableFunc(t.strategies, func(a, b *node) int {
			return int(a.at("sortOrder").numberOr(0) - b.at("sortOrder").numberOr(0))
		})
		for _, s := range states[name] {
			t.enabled = s.at("enabled").boolOr(false)
			if v := s.at("variants"); !empty(v.value) {
				t.variants = v
			}
		}
		for _, d := range dependencies[name] {
			t.dependencies = d.at("dependencies")
		}
		add(n, t)
	}
}

func (u *unleash) read(f *flags.Flag, t toggle) {
	n := t.feature
	if a := n.at("archived"); a.boolOr(false) || !empty(n.at("archivedAt").value) {
		a.refuse("is archived")
	}
	f.Name = n.at("description").textOr()
	f.Active = t.enabled
	u.b.carryOnly(n, "name", "description", "enabled", "strategies", "variants", "dependencies", "archived", "archivedAt")
	v := u.variants(t.variants)
	needs := u.dependencies(t.dependencies)
	var list []rule
	var kept []*node
	for _, s := range t.strategies {
		if s.at("disabled").boolOr(false) {
			u.b.note(s, "is disabled, and not carried")
			continue
		}
		kept = append(kept, s)
	}
	if len(kept) == 0 && len(t.strategies) > 0 {
		n.at("strategies").refuse("are all disabled, which Unleash's server decides on its own")
	}
	if len(kept) == 0 {
		list = u.result(list, n, needs, v, 100)
	}
	for _, s := range kept {
		list = u.strategy(list, s, needs, v)
	}
	u.b.rules(f, list)
	v.declareUsed(f)
}

// carriedStrategy are the members of a strategy that decide, or that nobody
// misses (ids and positions).
var carriedStrategy = []string{
	"name", "strategyName", "parameters", "constraints", "segments", "variants", "disabled", "sortOrder", "id", "featureName", "environment",
	"projectId", "featureEnvironment",
}

func (u *unleash) strategy(list []rule, s *node, needs formula, feature *unleashVariants) []rule {
	s.object()
	u.b.carryOnly(s, carriedStrategy...)
	when := needs
	for _, c := range s.at("constraints").items() {
		when = allOf(when, u.constraint(c))
	}
	for _, id := range s.at("segments").items() {
		when = allOf(when, u.segment(id))
	}
	kind := s.at("name")
	if kind.value == nil {
		kind = s.at("strategyName")
	}
	who, percent := u.who(s, kind)
	own := u.variants(s.at("variants"))
	if own.total == 0 {
		own = feature
	} else {
		feature.also(own)
	}
	return u.result(list, s, allOf(when, who), own, percent)
}

// who is whom a strategy is for, and what share of them in per cent.
func (u *unleash) who(s, kind *node) (formula, float64) {
	p := s.at("parameters")
	switch name := kind.text(); name {
	case "default":
		return always, 100
	case "userWithId":
		ids := p.at("userIds").textOr()
		if ids == "" {
			return never, 100
		}
		return textIn(distinctID, regexp.MustCompile(`\s*,\s*`).Split(ids, -1)), 100
	case "flexibleRollout":
		return u.sticky(p, "rollout", orText(p.at("stickiness").textOr(), "default"))
	case "gradualRolloutUserId":
		return u.sticky(p, "percentage", "userId")
	case "gradualRolloutSessionId":
		return u.sticky(p, "percentage", "sessionId")
	case "gradualRolloutRandom":
		return u.sticky(p, "percentage", "random")
	default:
		kind.refuse("uses the strategy %q, which cannot be said here", short(name))
		return never, 0
	}
}

func orText(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// sticky is a share of those who have what it is counted by.
func (u *unleash) sticky(p *node, member, stickiness string) (formula, float64) {
	at := p.at(member)
	text, isText := at.value.(string)
	if num, ok := at.value.(json.Number); ok {
		text, isText = string(num), true
	}
	if !isText {
		at.want("a percentage")
	}
	percent := math.Floor(min(max(parseNumber(at, text), 0), 100))
	if percent == 0 {
		return never, 0
	}
	switch stickiness {
	case "default", "random", "userId":
		if percent < 100 && stickiness == "random" && u.b.options.Rebucket {
			u.b.note(at, "is another answer at every request there, and the same for a person here")
		}
		return always, percent
	}
	key := u.field(p, stickiness)
	if percent < 100 && u.b.options.Rebucket {
		u.b.note(at, "is split by the distinct id, not by "+strconv.Quote(short(stickiness)))
	}
	return allOf(isSet(key), person(key, flags.IsNot, []any{"", "null"})), percent
}

// field is the property of a field of Unleash's context.
func (u *unleash) field(at *node, name string) string {
	switch name {
	case "userId":
		return distinctID
	case "currentTime":
		at.refuse("asks for the time, which definitions here do not")
	case "environment", "appName":
		u.b.note(at, "asks for "+name+", which Unleash's SDKs know by themselves: send it as a person property")
	}
	return propertyName(at, name)
}

func (u *unleash) segment(id *node) formula {
	s, ok := u.segments[string(id.json())]
	if !ok || !s.has("constraints") {
		id.refuse("is a segment whose constraints are not in this file; the answer of the client API, /api/client/features, has them")
	}
	var of []formula
	for _, c := range s.at("constraints").items() {
		of = append(of, u.constraint(c))
	}
	return allOf(of...)
}

func (u *unleash) dependencies(at *node) formula {
	var of []formula
	for _, d := range at.items() {
		parent := d.at("feature").text()
		t, ok := u.toggles[parent]
		switch {
		case !ok:
			d.refuse("depends on the feature %q, which is not there", short(parent))
		case !empty(t.dependencies.value):
			d.refuse("depends on a feature that depends on another, which is always off there")
		}
		wanted := d.at("variants").texts()
		switch {
		case !d.at("enabled").boolOr(true):
			of = append(of, flagIs(parent, false))
		case len(wanted) == 0:
			of = append(of, flagIs(parent, true))
		default:
			var anyVariant []formula
			for _, v := range wanted {
				anyVariant = append(anyVariant, flagIs(parent, v))
			}
			of = append(of, anyOf(anyVariant...))
		}
	}
	return allOf(of...)
}

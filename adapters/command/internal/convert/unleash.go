package convert

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/flags"
)

// Unleash's definitions are an environment's export, or a response of its client API. Rules have
// the semantics of its Node SDK, in which attributes are always strings.

// toggle is a feature with its parts, from either kind of document.
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
	disabled bool               // the current feature is disabled
	keys     map[string]string  // keys of the current feature's variants
	links    map[string][]*node // ids of segments by the id of a strategy, in exports of the state
}

// holdsRules names the documents to use instead of one without strategies.
const holdsRules = "give the export of an environment (Export in the list of flags, POST /api/admin/features-batch/export), " +
	"or the answer of the client API, GET /api/client/features"

// readUnleash reads an export or a response of the client API. All features are collected first,
// since a feature may depend on a later one.
func readUnleash(b *builder, doc *node) error {
	doc.object()
	features := doc.get("features")
	if features.value == nil {
		features.refuse("is missing, which every document of Unleash has: " + holdsRules)
	}
	u := &unleash{b: b, toggles: map[string]toggle{}, segments: map[string]*node{}, links: map[string][]*node{}}
	for _, s := range doc.get("segments").items() {
		s.object()
		u.segments[string(s.get("id").json())] = s
	}
	var order []string
	add := func(n *node, t toggle) {
		name := n.get("name").text()
		if _, twice := u.toggles[name]; twice {
			b.flag(name, n, func(*flags.Flag) { n.refuse("there are two features with this name: the first one is used") })
			return
		}
		u.toggles[name] = t
		order = append(order, name)
	}
	if doc.has("featureEnvironments") {
		u.export(doc, add)
	} else {
		u.isServed(features, string(doc.get("version").json()) == "1", add)
	}
	for _, name := range order {
		t := u.toggles[name]
		b.flag(name, t.feature, func(f *flags.Flag) { u.read(f, t) })
	}
	return nil
}

// isServed reads features in the format of the client API, which contain their strategies. If first
// is set, for the first version of the state's export, a feature may omit both its strategies and
// its enabled state.
func (u *unleash) isServed(features *node, first bool, add func(*node, toggle)) {
	for _, n := range features.items() {
		n.object()
		if n.has("environments") && !n.has("strategies") {
			features.refuse("is a list of the admin API, which has no strategies: " + holdsRules)
		}
		t := toggle{feature: n, variants: n.get("variants"), dependencies: n.get("dependencies")}
		r := catchRefusal(func() {
			t.enabled, t.strategies = n.get("enabled").boolOr(false), n.get("strategies").items()
			if n.get("strategies").value == nil && (t.enabled || !first && !n.has("enabled")) {
				n.get("strategies").refuse("is missing: " + holdsRules)
			}
		})
		if r != nil {
			u.b.flag(n.get("name").text(), n, func(*flags.Flag) { panic(r) })
			continue
		}
		add(n, t)
	}
}

// export combines the parts of an export, for one environment.
func (u *unleash) export(doc *node, add func(*node, toggle)) {
	environments := map[string]bool{}
	for _, e := range doc.get("featureEnvironments").items() {
		environments[e.get("environment").textOr()] = true
	}
	environment := u.b.options.Environment
	names := slices.Sorted(maps.Keys(environments))
	if environment == "" && len(names) > 1 {
		doc.get("featureEnvironments").refuse("has several environments, choose one with --environment: %s", strings.Join(names, ", "))
	}
	if environment != "" && len(names) > 0 && !environments[environment] {
		doc.get("featureEnvironments").refuse("has no environment %q, only: %s", short(environment), strings.Join(names, ", "))
	}
	byMember := func(list, member string) map[string][]*node {
		out := map[string][]*node{}
		for _, n := range doc.get(list).items() {
			n.object()
			if e := n.get("environment"); e.value == nil || environment == "" || e.textOr() == environment {
				out[n.get(member).textOr()] = append(out[n.get(member).textOr()], n)
			}
		}
		return out
	}
	u.link(doc)
	states, strategies := byMember("featureEnvironments", "featureName"), byMember("featureStrategies", "featureName")
	dependencies := byMember("dependencies", "feature")
	for _, n := range doc.get("features").items() {
		n.object()
		name := n.get("name").textOr()
		t := toggle{feature: n, variants: n.get("variants"), dependencies: &node{}, strategies: strategies[name]}
		slices.SortStableFunc(t.strategies, func(a, b *node) int {
			return int(a.get("sortOrder").numberOr(0) - b.get("sortOrder").numberOr(0))
		})
		for _, s := range states[name] {
			t.enabled = s.get("enabled").boolOr(false)
			if v := s.get("variants"); !empty(v.value) {
				t.variants = v
			}
		}
		for _, d := range dependencies[name] {
			t.dependencies = d.get("dependencies")
		}
		add(n, t)
	}
}

// link reads the segments of strategies, if the export has a separate list of them. Exports of the
// state contain that list for archived features too, but not their strategies.
func (u *unleash) link(doc *node) {
	for _, l := range doc.get("featureStrategySegments").items() {
		l.object()
		strategy := l.get("featureStrategyId").text()
		u.links[strategy] = append(u.links[strategy], l.get("segmentId"))
	}
}

// linked returns the segments of a strategy in the separate list of an export.
func (u *unleash) linked(s *node) []*node {
	if len(u.links) == 0 {
		return nil
	}
	if s.get("id").value == nil {
		s.refuse("has no id, which featureStrategySegments refer to")
	}
	return u.links[s.get("id").text()]
}

func (u *unleash) read(f *flags.Flag, t toggle) {
	n := t.feature
	if a := n.get("archived"); a.boolOr(false) || !empty(n.get("archivedAt").value) {
		a.refuse("is archived")
	}
	f.Name = n.get("description").textOr()
	u.b.noteIgnored(n, "name", "description", "enabled", "strategies", "variants", "dependencies", "archived", "archivedAt")
	if u.disabled = !t.enabled; u.disabled {
		u.addDisabled(f, t)
		return
	}
	u.rules(f, t)
}

// addDisabled adds a flag whose value is false. An inactive flag would have no value for
// OpenFeature, whose clients would then use their default. Strategies are converted where possible,
// for when the flag is enabled.
func (u *unleash) addDisabled(f *flags.Flag, t toggle) {
	notes := slices.Clone(u.b.notes)
	r := catchRefusal(func() { u.rules(f, t) })
	if r != nil {
		u.b.dropCohorts()
		u.b.notes, f.Conditions = notes, nil
		u.b.note(t.feature, "is disabled: it is off for everyone, and its strategies are not converted: "+r.Error())
		return
	}
	for i := range f.Conditions {
		zero := 0.0
		f.Conditions[i].Rollout = &zero
	}
	u.b.note(t.feature, "is disabled: it is off for everyone; its strategies are converted with a rollout of 0 %, its variants are not")
}

// rules converts the strategies of a feature, each of which may turn it on. A feature without
// strategies is on for all users.
func (u *unleash) rules(f *flags.Flag, t toggle) {
	n := t.feature
	u.keys = t.keys()
	v, all := u.variants(t.variants), &variantSet{payload: map[string]json.RawMessage{}}
	v.addTo(all)
	needs := u.dependencies(t.dependencies)
	var list []rule
	var enabled []*node
	for _, s := range t.strategies {
		if s.get("disabled").boolOr(false) {
			u.b.note(s, "is disabled, and not converted")
			continue
		}
		enabled = append(enabled, s)
	}
	if len(enabled) == 0 && len(t.strategies) > 0 {
		n.get("strategies").refuse("are all disabled, which Unleash's server handles itself")
	}
	if len(enabled) == 0 {
		list = u.result(list, n, needs, v, 100)
	}
	for _, s := range enabled {
		list = u.strategy(list, s, needs, v, all)
	}
	u.b.rules(f, list)
	if !u.disabled {
		all.declare(f)
	}
}

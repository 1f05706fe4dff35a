package insights

import (
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/flags/wire"
)

// measure is the math of a series (§2.4.2): what is computed from its events.
type measure struct {
	name string
	// fold is how numbers are aggregated: one of folds.
	fold string
	// basis is what is aggregated: events, values, actors, sessions, perActor, first,
	// firstMatching, window or hogql.
	basis string
	// days is the length of a window.
	days     int
	property string
	// kind is math_property_type.
	kind string
	// multiplier is math_multiplier, by which values are multiplied.
	multiplier float64
	// group is the group type whose groups are counted, -1 for persons.
	group int
	// aggregate is the expression of the math hogql.
	aggregate *expression
	// named is the expression for the actor that the math hogql has in stickiness.
	named func(*binder) getter
}

// folds are the functions that aggregate numbers.
var folds = []string{"sum", "avg", "min", "max", "median", "p75", "p90", "p95", "p99"}

// quantiles are the folds that need all numbers, with their quantile.
var quantiles = map[string]float64{"median": 0.5, "p75": 0.75, "p90": 0.9, "p95": 0.95, "p99": 0.99}

// actorMaths are the maths that count distinct persons, groups or sessions.
var actorMaths = map[string]measure{
	"dau":                           {basis: "actors"},
	"weekly_active":                 {basis: "window", days: 7},
	"monthly_active":                {basis: "window", days: 30},
	"unique_session":                {basis: "sessions"},
	"unique_group":                  {basis: "actors"},
	"first_time_for_user":           {basis: "first"},
	"first_matching_event_for_user": {basis: "firstMatching"},
}

// readMeasure parses the math of a node.
func readMeasure(n node, p *Project) measure {
	name := n.get("math").text("total")
	m := measure{name: name, multiplier: n.get("math_multiplier").number(1), group: -1}
	m.property = n.get("math_property").text("")
	m.kind = n.get("math_property_type").choice("event_properties", "event_properties", "person_properties", "session_properties")
	if name == "" {
		name = "total"
	}
	per, perActor := strings.CutSuffix(name, "_count_per_actor")
	switch preset, ok := actorMaths[name]; {
	case name == "total":
		m.basis = "events"
	case ok:
		m.basis, m.days = preset.basis, preset.days
		if index := n.get("math_group_type_index"); !index.isAbsent() {
			m.group = int(index.intInRange(0, maxGroupTypes-1, 0))
		} else if name == "unique_group" {
			index.fail(required, "unique_group needs math_group_type_index.")
		}
	case slices.Contains(folds, name):
		m.basis, m.fold = "values", name
		if m.property == "" {
			n.get("math_property").fail(required, "The math %q needs math_property.", name)
		}
	case perActor && per != "sum" && slices.Contains(folds, per):
		m.basis, m.fold = "perActor", per
	case name == "hogql":
		m.basis, m.aggregate = "hogql", readExpression(n.get("math_hogql"), p, true)
	default:
		n.get("math").fail(invalidChoice, "The math %q is not supported.", wire.Shorten(name, 100))
	}
	return m
}

// isCountedOnce reports whether a cumulative display counts each actor only in its first bucket.
func (m *measure) isCountedOnce() bool { return m.basis == "actors" }

// measuredSeries is a series and what is computed from its events.
type measuredSeries struct {
	entity
	math measure
}

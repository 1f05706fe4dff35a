package trends

import (
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/filter"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/flags/wire"
)

// Measure is the math of a series (§2.4.2): what is computed from its events.
type Measure struct {
	Name string
	// fold is how numbers are aggregated: one of folds.
	fold string
	// Basis is what is aggregated: events, values, actors, sessions, perActor, first,
	// firstMatching, window or hogql.
	Basis string
	// days is the length of a window.
	days     int
	property string
	// kind is math_property_type.
	kind string
	// multiplier is math_multiplier, by which values are multiplied.
	multiplier float64
	// Group is the group type whose groups are counted, -1 for persons.
	Group int
	// aggregate is the expression of the math hogql.
	aggregate *filter.Expression
	// Named is the expression for the actor that the math hogql has in stickiness.
	Named func(*scan.Binder) scan.Getter
}

// folds are the functions that aggregate numbers.
var folds = []string{"sum", "avg", "min", "max", "median", "p75", "p90", "p95", "p99"}

// quantiles are the folds that need all numbers, with their quantile.
var quantiles = map[string]float64{"median": 0.5, "p75": 0.75, "p90": 0.9, "p95": 0.95, "p99": 0.99}

// actorMaths are the maths that count distinct persons, groups or sessions.
var actorMaths = map[string]Measure{
	"dau":                           {Basis: "actors"},
	"weekly_active":                 {Basis: "window", days: 7},
	"monthly_active":                {Basis: "window", days: 30},
	"unique_session":                {Basis: "sessions"},
	"unique_group":                  {Basis: "actors"},
	"first_time_for_user":           {Basis: "first"},
	"first_matching_event_for_user": {Basis: "firstMatching"},
}

// ReadMeasure parses the math of a node.
func ReadMeasure(n document.Node, p *port.Project) Measure {
	name := n.Get("math").Text("total")
	m := Measure{Name: name, multiplier: n.Get("math_multiplier").Number(1), Group: -1}
	m.property = n.Get("math_property").Text("")
	m.kind = n.Get("math_property_type").Choice("event_properties", "event_properties", "person_properties", "session_properties")
	if name == "" {
		name = "total"
	}
	per, perActor := strings.CutSuffix(name, "_count_per_actor")
	switch preset, ok := actorMaths[name]; {
	case name == "total":
		m.Basis = "events"
	case ok:
		m.Basis, m.days = preset.Basis, preset.days
		if index := n.Get("math_group_type_index"); !index.IsAbsent() {
			m.Group = int(index.IntInRange(0, scan.MaxGroupTypes-1, 0))
		} else if name == "unique_group" {
			index.Fail(document.Required, "unique_group needs math_group_type_index.")
		}
	case slices.Contains(folds, name):
		m.Basis, m.fold = "values", name
		if m.property == "" {
			n.Get("math_property").Fail(document.Required, "The math %q needs math_property.", name)
		}
	case perActor && per != "sum" && slices.Contains(folds, per):
		m.Basis, m.fold = "perActor", per
	case name == "hogql":
		m.Basis, m.aggregate = "hogql", filter.ReadExpression(n.Get("math_hogql"), p, true)
	default:
		n.Get("math").Fail(document.InvalidChoice, "The math %q is not supported.", wire.Shorten(name, 100))
	}
	return m
}

// isCountedOnce reports whether a cumulative display counts each actor only in its first bucket.
func (m *Measure) isCountedOnce() bool { return m.Basis == "actors" }

// Series is a series and what is computed from its events.
type Series struct {
	filter.Entity
	Math Measure
}

package funnels

import (
	"bytes"
	"slices"
	"time"

	"github.com/bunting-flags/bunting/capture/insights/internal/breakdown"
	"github.com/bunting-flags/bunting/capture/insights/internal/calendar"
	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/filter"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// Kinds are the kinds of queries about funnels.
var Kinds = []scan.Kind{
	{Name: "FunnelsQuery", Parse: parseFunnel},
}

// Limits of funnels (§5.4).
const (
	maxSteps      = 20
	maxExclusions = 10
	maxFunnelBins = 90
)

// funnelQuery is a FunnelsQuery (§2.5). Times are in microseconds and steps are counted from 0.
type funnelQuery struct {
	// steps are the series of the query; maths are their maths, in the same order.
	steps      []filter.Entity
	maths      []string
	exclusions []funnelExclusion
	conditions filter.AllOf
	dates      calendar.Range
	interval   calendar.Interval
	groupType  int
	// actor is the value of funnelAggregateByHogQL, which replaces the person or group; nil: not
	// used.
	actor func(*scan.Binder) scan.Getter

	// viz is funnelVizType and order is funnelOrderType.
	viz, order string
	// window is the maximum time from the first step to any other, in microseconds.
	window int64
	// from and to are the steps between which conversions are measured for time_to_convert and
	// trends.
	from, to int
	// bins is the number of bins of time_to_convert; 0: depends on the number of conversions.
	bins        int
	split       breakdown.Split
	attribution attribution
	// step is the step of the attribution stepTouch.
	step int
}

// funnelExclusion is an event that must not occur between two steps.
type funnelExclusion struct {
	filter.Entity
	exclusion
}

// windowUnits are the units of a funnel's window. They have a fixed length, regardless of the
// calendar; a month has 31 days.
var windowUnits = map[string]time.Duration{
	"second": time.Second, "minute": time.Minute, "hour": time.Hour,
	"day": 24 * time.Hour, "week": 7 * 24 * time.Hour, "month": 31 * 24 * time.Hour,
}

// attributions are the values of breakdownAttributionType.
var attributions = map[string]attribution{"first_touch": firstTouch, "last_touch": lastTouch, "all_events": allEvents, "step": stepTouch}

// Values of funnelVizType and funnelOrderType. The defaults, which need no constant, are "steps"
// and "ordered".
const (
	timeToConvert  = "time_to_convert"
	TrendsView     = "trends"
	unorderedSteps = "unordered"
	strictSteps    = "strict"
)

// parseFunnel parses a FunnelsQuery.
func parseFunnel(n document.Node, p *port.Project) scan.Plan { return readFunnel(n, p) }

// readFunnel is parseFunnel with the concrete type, which the actors of funnels need.
func readFunnel(n document.Node, p *port.Project) *funnelQuery {
	q := &funnelQuery{
		conditions: filter.ReadAll(n, p),
		dates:      calendar.ReadRange(n.Get("dateRange")),
		interval:   calendar.ReadInterval(n, calendar.Minute, calendar.Hour, calendar.Day, calendar.Week, calendar.Month),
		groupType:  scan.ReadGroupType(n),
		steps:      filter.ReadEntities(n.Get("series"), p, maxSteps),
		split:      breakdown.ReadSplit(n.Get("breakdownFilter").Object(), p, 3, "event", "person", "group", "cohort", "hogql", "event_metadata"),
	}
	for i := range q.steps {
		q.maths = append(q.maths, q.steps[i].Node.Get("math").Text("total"))
	}
	q.readOptions(n.Get("funnelsFilter").Object(), p)
	// Only trends have buckets; the period of other funnels is cut to days.
	if q.viz != TrendsView {
		q.interval = calendar.Day
	}
	// The specification ignores the breakdown of time_to_convert (§2.5.4).
	if q.viz == timeToConvert {
		q.split = breakdown.Split{}
	}
	return q
}

// readOptions parses the members of funnelsFilter. The steps must be parsed already.
func (q *funnelQuery) readOptions(n document.Node, p *port.Project) {
	q.viz = n.Get("funnelVizType").Choice("steps", "steps", timeToConvert, TrendsView)
	q.order = n.Get("funnelOrderType").Choice("ordered", "ordered", strictSteps, unorderedSteps)
	unit := n.Get("funnelWindowIntervalUnit").Choice("day", "second", "minute", "hour", "day", "week", "month")
	q.window = n.Get("funnelWindowInterval").IntInRange(1, 100_000, 14) * windowUnits[unit].Microseconds()
	q.attribution = attributions[n.Get("breakdownAttributionType").Choice("first_touch", "first_touch", "last_touch", "all_events", "step")]
	q.step = int(n.Get("breakdownAttributionValue").IntInRange(0, maxSteps, 0))
	if bins := n.Get("binCount"); !bins.IsAbsent() {
		q.bins = int(max(1, min(maxFunnelBins, bins.Number(1))))
	}
	last := int64(len(q.steps) - 1)
	q.from, q.to = q.stepOf(n.Get("funnelFromStep"), 0), q.stepOf(n.Get("funnelToStep"), last)
	if q.from >= q.to && len(q.steps) > 1 {
		n.Get("funnelToStep").Fail(document.InvalidInput, "funnelFromStep must be before funnelToStep.")
	}
	if q.viz != "steps" && len(q.steps) < 2 {
		n.Get("funnelVizType").Fail(document.InvalidInput, "A funnel of this kind needs two steps.")
	}
	if expression := n.Get("funnelAggregateByHogQL"); expression.Text("") != "" {
		q.actor = filter.ReadValue(expression, p)
	}
	if q.attribution == stepTouch && (q.step > int(last) || q.step > 0 && q.order == unorderedSteps) {
		n.Get("breakdownAttributionValue").Fail(document.InvalidInput, "There is no such step, or in any order another than the first.")
	}
	for _, x := range n.Get("exclusions").List(maxExclusions) {
		q.exclude(x.Object(), p)
	}
}

// stepOf returns the index of a step, or fallback if it is absent.
func (q *funnelQuery) stepOf(n document.Node, fallback int64) int {
	if n.IsAbsent() {
		return int(fallback)
	}
	return int(n.IntInRange(0, int64(len(q.steps)-1), fallback))
}

// exclude parses one exclusion and validates its steps.
func (q *funnelQuery) exclude(n document.Node, p *port.Project) {
	x := funnelExclusion{filter.ReadEntity(n, p), exclusion{int(n.Get("funnelFromStep").IntInRange(0, 1<<20, 0)), int(n.Get("funnelToStep").IntInRange(0, 1<<20, 0))}}
	last := len(q.steps) - 1
	switch {
	case x.from >= x.exclusion.to:
		n.Get("funnelToStep").Fail(document.InvalidInput, "Exclusion: funnelFromStep must be before funnelToStep.")
		return
	case x.exclusion.to > last:
		n.Get("funnelToStep").Fail(document.InvalidInput, "Exclusion: the funnel has no step %d.", x.exclusion.to)
		return
	case q.order == unorderedSteps && (x.from != 0 || x.exclusion.to != last):
		n.Fail(document.InvalidInput, "Exclusion: in a funnel of any order it must span all steps.")
	}
	// An exclusion that equals a step between its bounds would make the step unreachable.
	for i := x.from; i <= x.exclusion.to; i++ {
		if x.sameAs(&q.steps[i]) {
			n.Fail(document.InvalidInput, "Exclusion: it is the same event or action as step %d, which could then never be completed.", i+1)
		}
	}
	q.exclusions = append(q.exclusions, x)
}

// sameAs reports whether an exclusion matches the events of a step: it is about the same event or
// action, and has no filters or the same ones.
func (x *funnelExclusion) sameAs(step *filter.Entity) bool {
	if x.Kind() != step.Kind() || x.ID() != step.ID() {
		return false
	}
	return len(x.Node.Get("properties").List(filter.MaxFilters)) == 0 || slices.EqualFunc(
		[]document.Node{x.Node.Get("properties"), x.Node.Get("fixedProperties")},
		[]document.Node{step.Node.Get("properties"), step.Node.Get("fixedProperties")},
		func(a, b document.Node) bool { return bytes.Equal(a.Raw(), b.Raw()) })
}

package funnels

import (
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/capture/insights/internal/breakdown"
	"github.com/bunting-flags/bunting/capture/insights/internal/calendar"
	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
)

var _ scan.ActorsPlan = (*funnelQuery)(nil)

// ActorFinder finds the actors that reached a step of a funnel, or that left before it. For trends
// it finds the actors that entered in a bucket and converted, or did not (§2.9.3).
func (q *funnelQuery) ActorFinder(n document.Node) scan.ActorFinder {
	if q.actor != nil {
		n.Get("source").Fail(document.NotSupported, "The actors of a funnel with funnelAggregateByHogQL are not people.")
	}
	parse := q.reachedStep
	if q.viz == TrendsView {
		parse = q.enteredIn
	}
	find := parse(n)
	texts, anyValue := breakdown.ReadValue(n.Get("funnelStepBreakdown"))
	return func(r *scan.Run) (*scan.ActorSet, error) {
		f, err := q.read(r)
		if err != nil {
			return nil, err
		}
		matches, err := f.matchValue(texts, anyValue)
		if err != nil {
			return nil, err
		}
		out := &scan.ActorSet{GroupType: q.groupType}
		// last prevents an actor with several breakdown values from being added again.
		last := -1
		err = find(f, func(actor, value uint32) error {
			if int(actor) == last || !matches(value) {
				return nil
			}
			last = int(actor)
			out.Members = append(out.Members, f.actors.Member(r, actor))
			return r.Reserve(scan.MemberSize)
		})
		out.Sort()
		return out, err
	}
}

// actorIterator calls yield with the number and breakdown value of each selected actor. The calls
// for one actor are consecutive.
type actorIterator func(f *funnelRun, yield func(actor, value uint32) error) error

// reachedStep parses Step. A positive step selects the actors that reached it, counted from
// 1; a negative step -k those that reached step k-1 but not step k.
func (q *funnelQuery) reachedStep(n document.Node) actorIterator {
	stepNode := n.Get("funnelStep")
	step := int(stepNode.IntInRange(-maxSteps, maxSteps, 0))
	if step == 0 || step == -1 || max(step, -step) > len(q.steps) {
		stepNode.Fail(document.InvalidInput, "funnelStep must be a step from 1 to %d, or from -2 on for those who left before a step.", len(q.steps))
	}
	return func(f *funnelRun, yield func(actor, value uint32) error) error {
		return f.eachReached(func(actor, value uint32, times []int64) error {
			// Step -k: the actor reached exactly k-1 steps.
			if step > 0 && len(times) >= step || step < 0 && len(times) == -step-1 {
				return yield(actor, value)
			}
			return nil
		})
	}
}

// enteredIn parses the bucket of a funnel over time, and whether to select the actors that did not
// convert.
func (q *funnelQuery) enteredIn(n document.Node) actorIterator {
	start := n.Get("funnelTrendsEntrancePeriodStart")
	if start.IsAbsent() {
		start.Fail(document.Required, "Actors of a funnel over time need the start of a period.")
	}
	when := calendar.ReadDate(start, false)
	dropped := n.Get("funnelTrendsDropOff").Boolean()
	return func(f *funnelRun, yield func(actor, value uint32) error) error {
		target := f.period.Find(f.Calendar().Resolve(when, f.Now).UnixMicro())
		return f.eachEntrance(func(actor, value uint32, bucket, reached int) error {
			// An actor enters only by reaching the first of the two steps.
			if bucket == target && reached > f.from && reached > f.to != dropped {
				return yield(actor, value)
			}
			return nil
		})
	}
}

// matchValue returns a function that reports whether the number of a breakdown value is selected by
// texts. The value "Other" selects all values that the result does not list, so the funnel is
// computed to find these.
func (f *funnelRun) matchValue(texts []string, anyValue bool) (func(value uint32) bool, error) {
	switch {
	case anyValue || !f.isGrouped():
		return func(uint32) bool { return true }, nil
	case f.split.IsByCohort():
		return f.inCohort(texts), nil
	case !slices.Contains(texts, "Other"):
		return func(value uint32) bool { return slices.Equal(f.values.List(value), texts) }, nil
	}
	sums, err := f.stepSums()
	if err != nil {
		return nil, err
	}
	top, _ := sums.Ranked(moreConverted, (*funnelTally).merge)
	listed := map[uint32]bool{}
	for _, g := range top {
		listed[g.Value] = true
	}
	return func(value uint32) bool { return !listed[value] }, nil
}

// inCohort returns a function that reports whether a set of cohorts contains the cohort with an id.
func (f *funnelRun) inCohort(id []string) func(set uint32) bool {
	i := f.split.Cohort(id)
	return func(set uint32) bool { return i >= 0 && f.values.InSet(set, i) }
}

// Options returns the breakdown values of a funnel, by which its actors can be selected.
func (q *funnelQuery) Options(r *scan.Run) (map[string]any, error) {
	// Without a breakdown there are no values to select.
	if q.split.Kind == "" {
		return map[string]any{"breakdown": nil}, nil
	}
	f, err := q.read(r)
	if err != nil {
		return nil, err
	}
	sums, err := f.stepSums()
	if err != nil {
		return nil, err
	}
	list := []scan.Option{}
	top, rest := sums.Ranked(moreConverted, (*funnelTally).merge)
	for _, g := range top {
		name, id := f.label(g.Value, false)
		list = append(list, f.option(name, id))
	}
	if rest != nil {
		list = append(list, scan.Option{Label: "Other (i.e. all remaining values)", Value: "Other"})
	}
	return map[string]any{"breakdown": list}, nil
}

// option returns the option for a breakdown value. name is a string or a list of strings, as
// returned by label.
func (f *funnelRun) option(name, id any) scan.Option {
	texts, ok := name.([]string)
	if !ok {
		return scan.Option{Label: name.(string), Value: id}
	}
	if slices.Equal(texts, []string{""}) {
		return scan.Option{Label: "None (i.e. no value)", Value: id}
	}
	return scan.Option{Label: strings.Join(texts, "::"), Value: id}
}

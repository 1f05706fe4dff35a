package insights

import (
	"slices"
	"strings"
)

// crowd finds who reached a step of a funnel, or left before it; of trends who entered
// in a bucket and converted, or did not (§2.9.3).
func (q *funnelQuery) crowd(n node) crowdFinder {
	if q.actor != nil {
		n.get("source").fail(notSupported, "The actors of a funnel with funnelAggregateByHogQL are not people.")
	}
	within := q.reachedStep
	if q.viz == funnelTrends {
		within = q.enteredIn
	}
	find := within(n)
	texts, every := valueAsGiven(n.get("funnelStepBreakdown"))
	return func(r *run) (*crowd, error) {
		f, err := q.read(r)
		if err != nil {
			return nil, err
		}
		chosen, err := f.chosen(texts, every)
		if err != nil {
			return nil, err
		}
		out := &crowd{groupType: q.groupType}
		last := -1
		err = find(f, func(actor, value uint32) error {
			if int(actor) == last || !chosen(value) {
				return nil
			}
			last = int(actor)
			out.members = append(out.members, f.actors.member(r, actor))
			return r.reserve(memberSize)
		})
		out.sort()
		return out, err
	}
}

// found gives actors by their numbers, those of one actor one after the other.
type found func(f *funnelRun, see func(actor, value uint32) error) error

func (q *funnelQuery) reachedStep(n node) found {
	given := n.get("funnelStep")
	step := int(given.whole(-maxSteps, maxSteps, 0))
	if step == 0 || step == -1 || max(step, -step) > len(q.steps) {
		given.fail(invalidInput, "funnelStep must be a step from 1 to %d, or from -2 on for those who left before a step.", len(q.steps))
	}
	return func(f *funnelRun, see func(actor, value uint32) error) error {
		return f.eachReached(func(actor, value uint32, times []int64) error {
			if step > 0 && len(times) >= step || step < 0 && len(times) == -step-1 {
				return see(actor, value)
			}
			return nil
		})
	}
}

func (q *funnelQuery) enteredIn(n node) found {
	start := n.get("funnelTrendsEntrancePeriodStart")
	if start.absent() {
		start.fail(required, "Actors of a funnel over time need the start of a period.")
	}
	when := start.date(false)
	left := n.get("funnelTrendsDropOff").boolean()
	return func(f *funnelRun, see func(actor, value uint32) error) error {
		wanted := f.period.find(f.calendar().resolve(when, f.now).UnixMicro())
		return f.eachEntrance(func(actor, value uint32, bucket, reached int) error {
			if bucket == wanted && reached > f.from && reached > f.to != left {
				return see(actor, value)
			}
			return nil
		})
	}
}

// chosen says which breakdown values are meant.
func (f *funnelRun) chosen(texts []string, every bool) (func(value uint32) bool, error) {
	switch {
	case every || !f.grouping():
		return func(uint32) bool { return true }, nil
	case f.split.byCohort():
		return f.inCohort(texts), nil
	case !slices.Contains(texts, "Other"):
		return func(value uint32) bool { return slices.Equal(f.values.list(value), texts) }, nil
	}
	sums, err := f.stepSums()
	if err != nil {
		return nil, err
	}
	kept, _ := sums.ranked(moreConverted, (*funnelTally).merge)
	shown := map[uint32]bool{}
	for _, g := range kept {
		shown[g.value] = true
	}
	return func(value uint32) bool { return !shown[value] }, nil
}

// inCohort says which sets of cohorts have the one with an id.
func (f *funnelRun) inCohort(id []string) func(set uint32) bool {
	i := f.split.cohort(id)
	return func(set uint32) bool { return i >= 0 && f.values.inSet(set, i) }
}

// options of a funnel are its breakdown values.
func (q *funnelQuery) options(r *run) (map[string]any, error) {
	if q.split.kind == "" {
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
	list := []option{}
	kept, rest := sums.ranked(moreConverted, (*funnelTally).merge)
	for _, g := range kept {
		name, id := f.label(g.value, false)
		list = append(list, f.option(name, id))
	}
	if rest != nil {
		list = append(list, option{"Other (i.e. all remaining values)", "Other"})
	}
	return map[string]any{"breakdown": list}, nil
}

// option names a breakdown value.
func (f *funnelRun) option(name, id any) option {
	texts, ok := name.([]string)
	if !ok {
		return option{name.(string), id}
	}
	if slices.Equal(texts, []string{""}) {
		return option{"None (i.e. no value)", id}
	}
	return option{strings.Join(texts, "::"), id}
}

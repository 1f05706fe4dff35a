package insights

import (
	"slices"
	"strings"
)

// actorFinder finds who reached a step of a funnel, or left before it; of trends who entered
// in a bucket and converted, or did not (§2.9.3).
func (q *funnelQuery) actorFinder(n node) actorFinder {
	if q.actor != nil {
		n.get("source").fail(notSupported, "The actors of a funnel with funnelAggregateByHogQL are not people.")
	}
	parse := q.reachedStep
	if q.viz == funnelTrends {
		parse = q.enteredIn
	}
	find := parse(n)
	texts, anyValue := parseBreakdownValue(n.get("funnelStepBreakdown"))
	return func(r *run) (*actorSet, error) {
		f, err := q.read(r)
		if err != nil {
			return nil, err
		}
		matches, err := f.matchValue(texts, anyValue)
		if err != nil {
			return nil, err
		}
		out := &actorSet{groupType: q.groupType}
		last := -1
		err = find(f, func(actor, value uint32) error {
			if int(actor) == last || !matches(value) {
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

// actorIterator gives actors by their numbers, those of one actor one after the other.
type actorIterator func(f *funnelRun, yield func(actor, value uint32) error) error

func (q *funnelQuery) reachedStep(n node) actorIterator {
	stepNode := n.get("funnelStep")
	step := int(stepNode.intInRange(-maxSteps, maxSteps, 0))
	if step == 0 || step == -1 || max(step, -step) > len(q.steps) {
		stepNode.fail(invalidInput, "funnelStep must be a step from 1 to %d, or from -2 on for those who left before a step.", len(q.steps))
	}
	return func(f *funnelRun, yield func(actor, value uint32) error) error {
		return f.eachReached(func(actor, value uint32, times []int64) error {
			if step > 0 && len(times) >= step || step < 0 && len(times) == -step-1 {
				return yield(actor, value)
			}
			return nil
		})
	}
}

func (q *funnelQuery) enteredIn(n node) actorIterator {
	start := n.get("funnelTrendsEntrancePeriodStart")
	if start.isAbsent() {
		start.fail(required, "Actors of a funnel over time need the start of a period.")
	}
	when := start.date(false)
	dropped := n.get("funnelTrendsDropOff").boolean()
	return func(f *funnelRun, yield func(actor, value uint32) error) error {
		target := f.period.find(f.calendar().resolve(when, f.now).UnixMicro())
		return f.eachEntrance(func(actor, value uint32, bucket, reached int) error {
			if bucket == target && reached > f.from && reached > f.to != dropped {
				return yield(actor, value)
			}
			return nil
		})
	}
}

// matchValue says which breakdown values are meant.
func (f *funnelRun) matchValue(texts []string, anyValue bool) (func(value uint32) bool, error) {
	switch {
	case anyValue || !f.isGrouped():
		return func(uint32) bool { return true }, nil
	case f.split.isByCohort():
		return f.inCohort(texts), nil
	case !slices.Contains(texts, "Other"):
		return func(value uint32) bool { return slices.Equal(f.values.list(value), texts) }, nil
	}
	sums, err := f.stepSums()
	if err != nil {
		return nil, err
	}
	top, _ := sums.ranked(moreConverted, (*funnelTally).merge)
	listed := map[uint32]bool{}
	for _, g := range top {
		listed[g.value] = true
	}
	return func(value uint32) bool { return !listed[value] }, nil
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
	top, rest := sums.ranked(moreConverted, (*funnelTally).merge)
	for _, g := range top {
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

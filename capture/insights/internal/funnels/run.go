package funnels

import (
	"math"

	"github.com/bunting-flags/bunting/capture/insights/internal/breakdown"
	"github.com/bunting-flags/bunting/capture/insights/internal/filter"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// funnelRun is one run of a funnel: the events of the actors that can be a step or an exclusion.
type funnelRun struct {
	*funnelQuery
	*scan.Run
	// period is the range of the funnel, with buckets for trends.
	period *scan.Period
	// actors numbers the actors, and values the breakdown values.
	actors *scan.ActorNumbers
	values *breakdown.Numberer
	// acts are the events by actor.
	acts *scan.Chains[occurrence]

	// exclusions are those of the query, without their entities.
	exclusions []exclusion
}

// read scans the events of the funnel's range and collects those that can matter, by actor.
func (q *funnelQuery) read(r *scan.Run) (*funnelRun, error) {
	period, err := r.PeriodOf(q.dates, scan.Bucketing{Unit: q.interval, Single: q.viz != TrendsView})
	if err != nil {
		return nil, err
	}
	f := &funnelRun{funnelQuery: q, Run: r, period: period, acts: scan.NewChains[occurrence](occurrenceSize, r.Reserve)}
	for _, x := range q.exclusions {
		f.exclusions = append(f.exclusions, x.exclusion)
	}
	s := port.Scan{From: period.From.UnixMicro(), To: period.To.UnixMicro(), Columns: port.IDs}
	b := &scan.Binder{Run: r, From: s.From, To: s.To}
	// Bind everything before the scan, since binding determines which columns are needed.
	marks := f.marks(b)
	f.actors = f.bindActors(b)
	holds := q.conditions.Bind(b)
	f.values = breakdown.NewNumberer(b, &q.split)
	firsts, err := f.firsts(b)
	if err != nil {
		return nil, err
	}
	s.Names = filter.EventNames(marks...)
	// In a strict funnel any other event between two steps breaks the attempt, so all events are
	// needed.
	strict := q.order == strictSteps
	if strict {
		s.Names = nil
	}
	return f, b.ScanBound(s, func(row *scan.Row) error {
		match := uint32(0)
		for i, m := range marks {
			if m.Matches(row) {
				match |= q.bit(i)
			}
		}
		if match == 0 && !strict || !holds(row) {
			return nil
		}
		actor, ok := f.actors.Number(row)
		if !ok {
			return nil
		}
		for _, first := range firsts {
			match = first.clearUnlessFirst(match, actor, row)
		}
		if match == 0 && !strict {
			return nil
		}
		return f.acts.Add(actor, occurrence{time: row.Batch.Time[row.Index], id: row.Batch.ID[row.Index], match: match, value: f.values.Number(row)})
	})
}

// bit returns the bit of a mark in occurrence.match. The marks are the steps, followed by the
// exclusions.
func (q *funnelQuery) bit(mark int) uint32 {
	if mark < len(q.steps) {
		return 1 << mark
	}
	return 1 << (firstExclusion + mark - len(q.steps))
}

// marks binds the steps and the exclusions, in the order of bit.
func (q *funnelQuery) marks(b *scan.Binder) []*filter.Matcher {
	var out []*filter.Matcher
	for i := range q.steps {
		out = append(out, q.steps[i].Bind(b))
	}
	for i := range q.exclusions {
		out = append(out, q.exclusions[i].Bind(b))
	}
	return out
}

// bindActors returns the actors of the funnel for a scan.
func (q *funnelQuery) bindActors(b *scan.Binder) *scan.ActorNumbers {
	if q.actor != nil {
		return b.ActorsBy(q.actor(b))
	}
	return b.Actors(q.groupType)
}

// firstEvents has the first event of each actor, over all time, that matches a step with a
// first-time math.
type firstEvents struct {
	// step is the bit of the step.
	step uint32
	// at is by actor; actors without such an event have the maximum time.
	at []stamp
}

// stamp is a position in the order of events: the time, and for equal times the order of recording.
type stamp struct{ time, id int64 }

// before reports whether s is earlier than o.
func (s stamp) before(o stamp) bool { return s.time < o.time || s.time == o.time && s.id < o.id }

// clearUnlessFirst clears the bit of the step, unless the event is the first of its actor.
func (f *firstEvents) clearUnlessFirst(match, actor uint32, r *scan.Row) uint32 {
	if int(actor) < len(f.at) && f.at[actor] == (stamp{r.Batch.Time[r.Index], r.Batch.ID[r.Index]}) {
		return match
	}
	return match &^ f.step
}

// firsts scans the events before the end of the range for steps that count only the first event of
// an actor. The math first_time_for_user ignores the filters of the step.
func (f *funnelRun) firsts(b *scan.Binder) ([]*firstEvents, error) {
	var out []*firstEvents
	for i := range f.steps {
		step := f.steps[i].BindName
		switch f.maths[i] {
		case "first_time_for_user":
		case "first_time_for_user_with_filters":
			step = f.steps[i].Bind
		default:
			continue
		}
		history := &scan.Binder{Run: f.Run, From: math.MinInt64, To: b.To}
		found := &firstEvents{step: 1 << i}
		m := step(history)
		number := f.numberIn(history)
		err := history.ScanBound(port.Scan{From: math.MinInt64, To: b.To, Names: filter.EventNames(m), Columns: port.IDs}, func(r *scan.Row) error {
			if !m.Matches(r) {
				return nil
			}
			actor, ok := number(r)
			if !ok {
				return nil
			}
			return found.see(actor, stamp{r.Batch.Time[r.Index], r.Batch.ID[r.Index]}, f.Reserve)
		})
		if err != nil {
			return nil, err
		}
		out = append(out, found)
	}
	return out, nil
}

// numberIn returns the number function for the actors in another scan. Each scan numbers groups on
// its own, so the numbers are mapped by their keys.
func (f *funnelRun) numberIn(b *scan.Binder) func(*scan.Row) (uint32, bool) {
	a := f.bindActors(b)
	if a.Keys == nil {
		return a.Number
	}
	return func(r *scan.Row) (uint32, bool) {
		n, ok := a.Number(r)
		if !ok {
			return 0, false
		}
		n, err := f.actors.Keys.Number(a.Keys.All[n])
		b.SetErr(err)
		return n, true
	}
}

// see keeps order if it is earlier than the first event of the actor so far.
func (f *firstEvents) see(actor uint32, order stamp, reserve func(int64) error) error {
	if before := len(f.at); int(actor) >= before {
		var err error
		if f.at, err = scan.Grow(f.at, actor, 16, reserve); err != nil {
			return err
		}
		for i := before; i < len(f.at); i++ {
			f.at[i] = stamp{math.MaxInt64, 0}
		}
	}
	if order.before(f.at[actor]) {
		f.at[actor] = order
	}
	return nil
}

// walker returns a new walker for the order of the steps.
func (f *funnelRun) walker() walker {
	if f.order == unorderedSteps {
		return newUnorderedWalker(len(f.steps), f.window)
	}
	return newAttempts(len(f.steps), f.window, f.order == strictSteps, f.exclusions)
}

// each calls yield for each actor and breakdown value with the events that count for this value, in
// chronological order. For a breakdown by cohorts, each actor has a single value, which is a set of
// cohorts.
func (f *funnelRun) each(yield func(actor, value uint32, events []occurrence) error) error {
	// Events are copied while they are sorted and attributed; at most twice the longest list is in
	// use at a time.
	parts := 2 * occurrenceSize * f.acts.Longest()
	defer func() { _ = f.Reserve(-parts) }()
	if err := f.Reserve(parts); err != nil {
		return err
	}
	// Without a breakdown, and for cohorts, all events of an actor have the same value.
	v := &attributor{attribution: f.attribution, step: f.step, anyOrder: f.order == unorderedSteps}
	if f.split.Kind == "" || f.split.IsByCohort() {
		v.attribution = firstTouch
	}
	return f.acts.Each(func(actor uint32, events []occurrence) error {
		if err := f.CheckContext(actor); err != nil {
			return err
		}
		events = sortOccurrences(events)
		if f.split.IsByCohort() {
			return yield(actor, events[0].value, events)
		}
		return v.each(events, func(value uint32, events []occurrence) error { return yield(actor, value, events) })
	})
}

// eachReached calls yield for each actor that reached at least the first step, with the times of
// the steps that it reached. times is valid only during the call.
func (f *funnelRun) eachReached(yield func(actor, value uint32, times []int64) error) error {
	w := f.walker()
	return f.each(func(actor, value uint32, events []occurrence) error {
		if _, times := w.walk(events); len(times) > 0 {
			return yield(actor, value, times)
		}
		return nil
	})
}

// eachEntrance calls yield for each bucket in which an actor began an attempt, with the number of
// steps that the furthest attempt reached.
func (f *funnelRun) eachEntrance(yield func(actor, value uint32, bucket, reached int) error) error {
	n := &entrances{starts: f.period.Starts, end: f.period.End, window: f.window, anyOrder: f.order == unorderedSteps, walker: f.walker()}
	return f.each(func(actor, value uint32, events []occurrence) error {
		return n.each(events, func(bucket, reached int) error { return yield(actor, value, bucket, reached) })
	})
}

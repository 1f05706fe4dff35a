package trials

import (
	"cmp"
	"math/bits"
	"slices"
	"time"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights/internal/calendar"
	"github.com/bunting-flags/bunting/capture/insights/internal/filter"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// milestone is an event of an entity that matters for a funnel or retention metric. In what, bit 0
// means that the event is an exposure or a start event; the other bits mean steps of a funnel, or
// bit 1 a completion event.
type milestone struct {
	at, id int64
	what   uint32
	// session is the number of the session plus one; 0: no session.
	session uint32
	// uuid is the UUID of the event, which the sessions of funnel steps contain.
	uuid capture.UUID
}

// milestoneSize is the approximate size of a milestone in bytes.
const milestoneSize = 40

// compareMilestones orders by time. At the same time, exposures come first, then lower steps.
func compareMilestones(a, b milestone) int {
	return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(bits.TrailingZeros32(a.what), bits.TrailingZeros32(b.what)), cmp.Compare(a.id, b.id))
}

// funnelMeasurer is the measurer of a funnel that begins with the exposure (experiments.md §1.9).
type funnelMeasurer struct {
	*metric
	f *experimentRun
	// before is the time that the covariate covers, as in sideSums.
	before int64
	steps  []*filter.Matcher
	acts   *scan.Chains[milestone]
	// earlier is, by entity, whether the last step occurred before the exposure: the covariate.
	earlier  []bool
	session  func(*scan.Row) (uint32, bool)
	sessions *scan.Interner
	// furthest is, by entity, the event of the furthest step that it reached.
	furthest []milestone
}

// bind binds the steps. A strict funnel needs all events, since any event between two steps resets
// it.
func (w *funnelMeasurer) bind(f *experimentRun) []*filter.Matcher {
	w.f = f
	for i := range w.series {
		w.steps = append(w.steps, w.series[i].Bind(f.b))
	}
	w.acts = scan.NewChains[milestone](milestoneSize, f.Reserve)
	w.sessions = f.b.NewInterner(f.b.EventProperty("$session_id"))
	w.session = w.sessions.Number
	f.b.Needs.Columns |= port.UUIDs
	if w.order == strictOrder {
		return []*filter.Matcher{{}}
	}
	return append([]*filter.Matcher{f.matcher}, w.steps...)
}

// see records an event of an exposed entity, or before the exposure its covariate.
func (w *funnelMeasurer) see(r *scan.Row, actor uint32, e *exposedEntity) (err error) {
	f, at := w.f, r.Batch.Time[r.Index]
	last := w.steps[len(w.steps)-1]
	// Before the exposure only the covariate of ordered funnels matters.
	if at < e.first {
		if at >= e.first-w.before && w.order == "ordered" && last.Matches(r) {
			if w.earlier, err = scan.Grow(w.earlier, actor, 1, f.Reserve); err == nil {
				w.earlier[actor] = true
			}
		}
		return err
	}
	if at > f.to+w.window {
		return nil
	}
	a := milestone{at: at, id: r.Batch.ID[r.Index], uuid: r.Batch.UUID[r.Index]}
	if f.exposure.activation == nil && at <= f.to && f.matcher.Matches(r) && f.variant(r) >= 0 {
		a.what = 1
	}
	for i, step := range w.steps {
		if step.Matches(r) {
			a.what |= 2 << i
		}
	}
	if a.what == 0 && w.order != strictOrder {
		return nil
	}
	if n, ok := w.session(r); ok {
		a.session = n + 1
	}
	return w.acts.Add(actor, a)
}

// maxGap returns the window of the funnel in microseconds; it is maxWindow for a funnel without a
// window.
func (w *funnelMeasurer) maxGap() int64 { return cmp.Or(w.window, maxWindow) }

// finish walks the events of each entity and sets its figures.
func (w *funnelMeasurer) finish(f *experimentRun, out []figures) error {
	if err := f.Reserve(milestoneSize * int64(len(out))); err != nil {
		return err
	}
	w.furthest = make([]milestone, len(out))
	for actor := range out {
		m := &out[actor]
		m.before = boolToFloat(actor < len(w.earlier) && w.earlier[actor])
		m.excluded = f.Matured && w.window > 0 && f.entities[actor].first+w.window > f.now
	}
	return w.acts.Each(func(actor uint32, acts []milestone) error {
		if err := f.CheckContext(actor); err != nil {
			return err
		}
		// After an activation the exposure is at the time of the activation.
		if f.exposure.activation != nil {
			acts = append(acts, milestone{at: f.entities[actor].first, what: 1})
		}
		slices.SortFunc(acts, compareMilestones)
		m := &out[actor]
		if w.order == anyOrder {
			m.reached, w.furthest[actor] = w.reachUnordered(acts)
		} else {
			m.reached, w.furthest[actor] = w.reachOrdered(acts)
		}
		m.value = boolToFloat(int(m.reached) == len(w.steps))
		return nil
	})
}

// reachOrdered returns how many steps an entity reached in their order, within the window after an
// exposure, and the event of the furthest step.
func (w *funnelMeasurer) reachOrdered(acts []milestone) (reached uint8, furthest milestone) {
	var entered [maxFunnelSteps + 1]int64 // by step: the time of the exposure that led there, 0: not reached
	window := w.maxGap()
	for _, a := range acts {
		if a.what == 0 { // in a strict funnel an event that is no step resets it
			clear(entered[:])
		}
		// From the last step to the first, so that an event counts for one step only.
		for k := len(w.steps); k > 0; k-- {
			if a.what>>k&1 == 0 || entered[k-1] == 0 || a.at-entered[k-1] > window {
				continue
			}
			entered[k] = max(entered[k], entered[k-1])
			if uint8(k) > reached {
				reached, furthest = uint8(k), a
			}
		}
		if a.what&1 != 0 {
			entered[0] = a.at
		}
	}
	return reached, furthest
}

// reachUnordered returns the largest number of different steps within a window, in any order, and
// the event that completed them. It slides the window over the events.
func (w *funnelMeasurer) reachUnordered(acts []milestone) (reached uint8, furthest milestone) {
	var times [maxFunnelSteps + 1]int // by step: the number of events in the window that match it
	begin, window, distinct := 0, w.maxGap(), uint8(0)
	// count adds an event to the window (delta 1) or removes it (delta -1).
	count := func(a milestone, delta int) {
		for k := 1; k <= len(w.steps); k++ {
			if a.what>>k&1 == 0 {
				continue
			}
			before := times[k]
			if times[k] += delta; before == 0 {
				distinct++
			} else if times[k] == 0 {
				distinct--
			}
		}
	}
	for _, a := range acts {
		count(a, 1)
		for a.at-acts[begin].at > window {
			count(acts[begin], -1)
			begin++
		}
		if distinct > reached {
			reached, furthest = distinct, a
		}
	}
	return reached, furthest
}

// returnMeasurer is the measurer of a retention metric (experiments.md §1.11).
type returnMeasurer struct {
	*metric
	f *experimentRun
	// begins matches start events; nil if the exposure is the start.
	begins, completes *filter.Matcher
	acts              *scan.Chains[milestone]
}

// bind binds the start and completion events.
func (c *returnMeasurer) bind(f *experimentRun) []*filter.Matcher {
	c.f, c.acts = f, scan.NewChains[milestone](milestoneSize, f.Reserve)
	c.completes = c.completion.Bind(f.b)
	if c.fromExposure {
		return []*filter.Matcher{c.completes}
	}
	c.begins = c.start.Bind(f.b)
	return []*filter.Matcher{c.begins, c.completes}
}

// see records start and completion events after the exposure.
func (c *returnMeasurer) see(r *scan.Row, actor uint32, e *exposedEntity) error {
	if what := c.whatIs(r, e); what != 0 {
		return c.acts.Add(actor, milestone{at: r.Batch.Time[r.Index], id: r.Batch.ID[r.Index], what: what})
	}
	return nil
}

// whatIs returns the meaning of an event as that of milestone.what, 0 if the event does not count.
func (c *returnMeasurer) whatIs(r *scan.Row, e *exposedEntity) (what uint32) {
	at := r.Batch.Time[r.Index]
	if at < e.first {
		return 0
	}
	if c.begins != nil && at <= c.f.to+c.window && (c.window == 0 || at <= e.first+c.window) && c.begins.Matches(r) {
		what = 1
	}
	if c.completes.Matches(r) {
		what |= 2
	}
	return what
}

// finish determines the start of each entity and whether it returned. Entities without a start
// event do not count.
func (c *returnMeasurer) finish(f *experimentRun, out []figures) error {
	for actor := range out {
		out[actor].excluded = !c.fromExposure
		out[actor].below = 1
		if c.fromExposure {
			c.judge(f, &out[actor], milestone{at: f.entities[actor].first, id: f.entities[actor].id}, nil)
		}
	}
	return c.acts.Each(func(actor uint32, acts []milestone) error {
		if err := f.CheckContext(actor); err != nil {
			return err
		}
		slices.SortFunc(acts, func(a, b milestone) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.id, b.id)) })
		begin := milestone{at: f.entities[actor].first, id: f.entities[actor].id}
		if !c.fromExposure {
			starts := func(a milestone) bool { return a.what&1 != 0 }
			// Use the first start event, or the last if latest is set.
			i := slices.IndexFunc(acts, starts)
			if i < 0 {
				return nil
			}
			for k := len(acts) - 1; c.latest && k > i; k-- {
				if starts(acts[k]) {
					i = k
				}
			}
			begin = acts[i]
		}
		out[actor].excluded = false
		c.judge(f, &out[actor], begin, acts)
		return nil
	})
}

// judge sets whether an entity that started at begin has a completion event in the window, and
// whether the window is still open.
func (c *returnMeasurer) judge(f *experimentRun, m *figures, begin milestone, acts []milestone) {
	m.excluded = c.isOpen(f, begin.at)
	m.value = boolToFloat(slices.ContainsFunc(acts, func(a milestone) bool { return c.isReturn(f.Run, begin, a) }))
}

// isOpen reports whether an entity does not count because the window after its start is not over.
func (c *returnMeasurer) isOpen(f *experimentRun, begin int64) bool {
	return f.Matured && begin+c.end*metricUnits[c.unit] > f.now
}

// isReturn reports whether an event completes what began with another event.
func (c *returnMeasurer) isReturn(r *scan.Run, begin, a milestone) bool {
	if a.what&2 == 0 || a.id == begin.id || a.at < begin.at {
		return false
	}
	since, unit := c.since(r.Calendar(), begin.at, a.at), metricUnits[c.unit]
	return c.begin*unit <= since && since <= c.end*unit
}

// since returns the time between two instants in microseconds. For days and hours it is the
// difference on the local clock, in whole units, whatever their real length is.
func (c *returnMeasurer) since(cal calendar.Calendar, from, to int64) int64 {
	begin, end := time.UnixMicro(from), time.UnixMicro(to)
	switch calendar.Interval(c.unit) {
	case calendar.Day:
		const day = 24 * time.Hour
		return cal.Clock(end).Truncate(day).Sub(cal.Clock(begin).Truncate(day)).Microseconds()
	case calendar.Hour:
		return cal.StartOf(calendar.Hour, end).Sub(cal.StartOf(calendar.Hour, begin)).Microseconds()
	}
	return to - from
}

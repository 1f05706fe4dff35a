package trials

import (
	"slices"

	"github.com/bunting-flags/bunting/capture/insights/internal/filter"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
)

// dailySums is the continuous measurer of a mean or ratio.
type dailySums struct {
	sideSums
	moments moments
}

// see records an event for each side that it matches.
func (c *dailySums) see(r *scan.Row, actor uint32, e *exposedEntity) error {
	at := r.Batch.Time[r.Index]
	if at < e.first || at >= c.f.to+c.window || c.window > 0 && at >= e.first+c.window {
		return nil
	}
	for i, s := range c.sides {
		if !s.m.Matches(r) {
			continue
		}
		if err := c.moments.add(moment{at: at, value: s.valueOf(r), actor: actor, what: uint32(i)}, c.f.Reserve); err != nil {
			return err
		}
	}
	return nil
}

func (c *dailySums) lookback() int64 { return c.before }

func (c *dailySums) seeEarly(r *scan.Row, actor uint32, e *exposedEntity) error {
	if r.Batch.Time[r.Index] < e.first-c.before {
		return nil
	}
	for _, s := range c.sides {
		if !s.m.Matches(r) {
			continue
		}
		if err := s.earlier.add(s.math, actor, s.valueOf(r), c.f.Reserve); err != nil {
			return err
		}
	}
	return nil
}

func (c *dailySums) fold(end int64, _ []moment) error {
	for _, m := range c.moments.take(end, false) {
		s := c.sides[m.what]
		if err := s.after.add(s.math, m.actor, m.value, c.f.Reserve); err != nil {
			return err
		}
	}
	return nil
}

func (c *dailySums) save(count int) (any, int64) {
	out, bytes := make([]amounts, len(c.sides)), int64(0)
	for i, s := range c.sides {
		var events, sums, extremes int64
		out[i].events, events = copyFirst(s.after.events, count, 4)
		out[i].sums, sums = copyFirst(s.after.sums, count, 16)
		out[i].extremes, extremes = copyFirst(s.after.extremes, count, 8)
		bytes += events + sums + extremes
	}
	return out, bytes
}

func (c *dailySums) load(state any) {
	for i, a := range state.([]amounts) {
		c.sides[i].after = amounts{slices.Clone(a.events), slices.Clone(a.sums), slices.Clone(a.extremes)}
	}
}

func (c *dailySums) isIntegral() bool {
	return !slices.ContainsFunc(c.sides, func(s *side) bool { return s.value != nil })
}

// dailyFunnel is the continuous measurer of an ordered or unordered funnel. Instead of the events of
// an entity it has, by step, the time of the exposure that led there, or for an unordered funnel the
// time at which the step last occurred.
type dailyFunnel struct {
	*metric
	f       *experimentRun
	steps   []*filter.Matcher
	moments moments
	// before and earlier are like in funnelMeasurer.
	before  int64
	earlier []bool
	// merged is memory for the events of a day with the exposures.
	merged []moment
	funnelState
}

// funnelState is the state of a funnel. times has an element for the exposure and one for each step,
// by entity.
type funnelState struct {
	times   []int64
	reached []uint8
}

func (w *dailyFunnel) bind(f *experimentRun) []*filter.Matcher {
	w.f = f
	for i := range w.series {
		w.steps = append(w.steps, w.series[i].Bind(f.b))
	}
	return w.steps
}

func (w *dailyFunnel) see(r *scan.Row, actor uint32, e *exposedEntity) error {
	at := r.Batch.Time[r.Index]
	if at < e.first || at > w.f.to+w.window {
		return nil
	}
	a := moment{at: at, id: r.Batch.ID[r.Index], actor: actor}
	for i, step := range w.steps {
		if step.Matches(r) {
			a.what |= 2 << i
		}
	}
	if a.what == 0 {
		return nil
	}
	return w.moments.add(a, w.f.Reserve)
}

func (w *dailyFunnel) lookback() int64 { return w.before }

func (w *dailyFunnel) seeEarly(r *scan.Row, actor uint32, e *exposedEntity) (err error) {
	if r.Batch.Time[r.Index] < e.first-w.before || !w.steps[len(w.steps)-1].Matches(r) {
		return nil
	}
	if w.earlier, err = scan.Grow(w.earlier, actor, 1, w.f.Reserve); err == nil {
		w.earlier[actor] = true
	}
	return err
}

func (w *dailyFunnel) fold(end int64, exposures []moment) (err error) {
	list := w.moments.take(end, true)
	if w.order != anyOrder && len(exposures) > 0 {
		if more := len(list) + len(exposures) - cap(w.merged); more > 0 {
			if err := w.f.Reserve(momentSize * int64(more)); err != nil {
				return err
			}
			w.merged = make([]moment, 0, len(list)+len(exposures))
		}
		w.merged = append(append(w.merged[:0], list...), exposures...)
		list = w.merged
		slices.SortFunc(list, compareMoments)
	}
	length := len(w.steps) + 1
	for i := range list {
		a := &list[i]
		if w.reached, err = scan.Grow(w.reached, a.actor, 1, w.f.Reserve); err != nil {
			return err
		}
		first := int(a.actor) * length
		if w.times, err = scan.Grow(w.times, uint32(first+length-1), 8, w.f.Reserve); err != nil {
			return err
		}
		if times := w.times[first : first+length]; w.order == anyOrder {
			w.reached[a.actor] = max(w.reached[a.actor], w.occur(times, a))
		} else {
			w.reached[a.actor] = max(w.reached[a.actor], w.enter(times, a))
		}
	}
	return nil
}

// maxGap returns the window of the funnel in microseconds, see funnelMeasurer.
func (w *dailyFunnel) maxGap() int64 { return (&funnelMeasurer{metric: w.metric}).maxGap() }

// enter continues the paths of an entity by an event, as funnelMeasurer.reachOrdered does, and returns
// the step that it leads to.
func (w *dailyFunnel) enter(times []int64, a *moment) (reached uint8) {
	window := w.maxGap()
	for k := len(w.steps); k > 0; k-- {
		if a.what>>k&1 == 0 || times[k-1] == 0 || a.at-times[k-1] > window {
			continue
		}
		times[k] = max(times[k], times[k-1])
		reached = max(reached, uint8(k))
	}
	if a.what&1 != 0 {
		times[0] = a.at
	}
	return reached
}

// occur records the steps that an event matches, and returns how many different steps are in the
// window that ends with it.
func (w *dailyFunnel) occur(times []int64, a *moment) (distinct uint8) {
	window := w.maxGap()
	for k := 1; k <= len(w.steps); k++ {
		if a.what>>k&1 != 0 {
			times[k] = a.at
		}
		if times[k] != 0 && a.at-times[k] <= window {
			distinct++
		}
	}
	return distinct
}

func (w *dailyFunnel) finish(f *experimentRun, out []figures) error {
	for actor := range out {
		m := &out[actor]
		if actor < len(w.reached) {
			m.reached = w.reached[actor]
		}
		m.value = boolToFloat(int(m.reached) == len(w.steps))
		m.before = boolToFloat(actor < len(w.earlier) && w.earlier[actor])
		m.excluded = f.Matured && w.window > 0 && f.entities[actor].first+w.window > f.now
	}
	return nil
}

func (w *dailyFunnel) save(count int) (any, int64) {
	times, bytes := copyFirst(w.times, count*(len(w.steps)+1), 8)
	reached, more := copyFirst(w.reached, count, 1)
	return funnelState{times, reached}, bytes + more
}

func (w *dailyFunnel) load(state any) {
	s := state.(funnelState)
	w.funnelState = funnelState{slices.Clone(s.times), slices.Clone(s.reached)}
}

func (w *dailyFunnel) isIntegral() bool { return true }

// dailyReturns is the continuous measurer of a retention metric.
type dailyReturns struct {
	returnMeasurer
	moments moments
	returnState
}

// returnState is the state of a retention metric by entity: the start event (with
// time 0 if it does not exist), and whether a completion event follows it in the window.
type returnState struct {
	starts []startEvent
	done   []bool
}

// startEvent is the time and id of an event.
type startEvent struct{ at, id int64 }

func (c *dailyReturns) see(r *scan.Row, actor uint32, e *exposedEntity) error {
	at := r.Batch.Time[r.Index]
	if what := c.whatIs(r, e); what != 0 {
		return c.moments.add(moment{at: at, id: r.Batch.ID[r.Index], actor: actor, what: what}, c.f.Reserve)
	}
	return nil
}

func (c *dailyReturns) lookback() int64 { return 0 }

func (c *dailyReturns) seeEarly(*scan.Row, uint32, *exposedEntity) error { return nil }

func (c *dailyReturns) fold(end int64, _ []moment) (err error) {
	list := c.moments.take(end, true)
	for len(list) > 0 {
		// Events at the same time: the starts first, since completions may be at the time of the start.
		n := 1
		for n < len(list) && list[n].at == list[0].at {
			n++
		}
		for i := range list[:n] {
			a := &list[i]
			if c.done, err = scan.Grow(c.done, a.actor, 1, c.f.Reserve); err != nil {
				return err
			}
			if c.starts, err = scan.Grow(c.starts, a.actor, 16, c.f.Reserve); err != nil {
				return err
			}
			if begin := &c.starts[a.actor]; a.what&1 != 0 && c.startsAt(begin, a) {
				*begin, c.done[a.actor] = startEvent{a.at, a.id}, false
			}
		}
		for i := range list[:n] {
			c.complete(&list[i])
		}
		list = list[n:]
	}
	return nil
}

// startsAt reports whether a start event replaces another one: the first of all, or the last, and
// among those at the same time the one that was recorded first or last.
func (c *dailyReturns) startsAt(begin *startEvent, a *moment) bool {
	switch {
	case begin.at == 0:
		return true
	case c.latest:
		return a.at > begin.at || a.id > begin.id
	default:
		return a.at == begin.at && a.id < begin.id
	}
}

// complete marks the entity of a completion event as returned if the event is in its window.
func (c *dailyReturns) complete(a *moment) {
	begin := c.starts[a.actor]
	if c.fromExposure {
		e := &c.f.entities[a.actor]
		begin = startEvent{e.first, e.id}
	}
	if a.what&2 == 0 || c.done[a.actor] || begin.at == 0 {
		return
	}
	c.done[a.actor] = c.isReturn(c.f.Run, milestone{at: begin.at, id: begin.id}, milestone{at: a.at, id: a.id, what: a.what})
}

func (c *dailyReturns) finish(f *experimentRun, out []figures) error {
	for actor := range out {
		m, begin := &out[actor], startEvent{}
		switch {
		case c.fromExposure:
			begin.at = f.entities[actor].first
		case actor < len(c.starts):
			begin = c.starts[actor]
		}
		m.below, m.excluded = 1, begin.at == 0 || c.isOpen(f, begin.at)
		m.value = boolToFloat(actor < len(c.done) && c.done[actor])
	}
	return nil
}

func (c *dailyReturns) save(count int) (any, int64) {
	starts, bytes := copyFirst(c.starts, count, 16)
	done, more := copyFirst(c.done, count, 1)
	return returnState{starts, done}, bytes + more
}

func (c *dailyReturns) load(state any) {
	s := state.(returnState)
	c.returnState = returnState{slices.Clone(s.starts), slices.Clone(s.done)}
}

func (c *dailyReturns) isIntegral() bool { return true }

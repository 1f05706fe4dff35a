package trials

import (
	"math"
	"slices"

	"github.com/bunting-flags/bunting/capture/insights/internal/filter"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
)

// dailySums is the continuous measurer of a mean or ratio.
type dailySums struct {
	sideSums
	moments moments
	// distinct are the objects that each side has counted; nil for a side that counts all events.
	distinct []*distinctObjects
}

// bind binds the sides, and those that count distinct objects.
func (c *dailySums) bind(f *experimentRun) []*filter.Matcher {
	out := c.sideSums.bind(f)
	c.distinct = make([]*distinctObjects, len(c.sides))
	for i, s := range c.sides {
		c.distinct[i] = s.bindDistinct(f)
	}
	return out
}

// see records an event for each side that it matches.
func (c *dailySums) see(r *scan.Row, actor uint32, sides []int) error {
	at := r.Batch.Time[r.Index]
	if at >= c.f.to+c.window {
		return nil
	}
	for _, i := range sides {
		s := c.sides[i]
		if !s.m.MatchesConditions(r) {
			continue
		}
		a := moment{at: at, actor: actor, what: uint32(i)}
		if d := c.distinct[i]; d == nil {
			a.bits = math.Float64bits(s.valueOf(r))
		} else if object, ok := d.object(r); ok {
			a.setObject(object)
		} else {
			continue
		}
		if err := c.moments.add(a, c.f.Reserve); err != nil {
			return err
		}
	}
	return nil
}

func (c *dailySums) recorded() *moments { return &c.moments }

func (c *dailySums) admits(e *exposedEntity, a *moment) bool {
	return c.window == 0 || a.at < e.first+c.window
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
		if err := s.see(c.f, r, actor, true); err != nil {
			return err
		}
	}
	return nil
}

func (c *dailySums) fold(end int64, _ []moment) error {
	list := c.moments.take(end)
	for i := range list {
		m := &list[i]
		s, value := c.sides[m.what], 1.0
		if d := c.distinct[m.what]; d == nil {
			value = math.Float64frombits(m.bits)
		} else if isNew, err := d.add(m.actor, m.object()); err != nil {
			return err
		} else if !isNew {
			continue
		}
		if err := s.after.add(s.math, m.actor, value, c.f.Reserve); err != nil {
			return err
		}
	}
	return nil
}

// sideState is the state of a side.
type sideState struct {
	amounts
	// counted are the objects that the side has counted.
	counted []countedObject
}

func (c *dailySums) save(count int) (any, int64) {
	out, bytes := make([]sideState, len(c.sides)), int64(0)
	for i, s := range c.sides {
		var size int64
		out[i].events, size = copyFirst(s.after.events, count, 4)
		bytes += size
		to := [...]*[]float64{&out[i].sums, &out[i].lost, &out[i].extremes}
		for k, list := range [...][]float64{s.after.sums, s.after.lost, s.after.extremes} {
			*to[k], size = copyFirst(list, count, 8)
			bytes += size
		}
		if d := c.distinct[i]; d != nil {
			out[i].counted = slices.Clip(d.counted)
			bytes += countedSize * int64(len(d.counted))
		}
	}
	return out, bytes
}

func (c *dailySums) load(state any) error {
	for i, a := range state.([]sideState) {
		c.sides[i].after = amounts{slices.Clone(a.events), slices.Clone(a.sums), slices.Clone(a.lost), slices.Clone(a.extremes)}
		if d := c.distinct[i]; d != nil {
			if err := d.load(a.counted); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *dailySums) isIntegral() bool {
	return !slices.ContainsFunc(c.sides, func(s *side) bool { return s.value != nil })
}

// dailyReturns is the continuous measurer of a retention metric.
type dailyReturns struct {
	returnMeasurer
	moments moments
	order   actorOrder
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

// see records start and completion events. The matcher of completions is the last one.
func (c *dailyReturns) see(r *scan.Row, actor uint32, matchers []int) error {
	at, what := r.Batch.Time[r.Index], uint32(0)
	for _, i := range matchers {
		switch {
		case c.begins != nil && i == 0:
			if at <= c.f.to+c.window && c.begins.MatchesConditions(r) {
				what |= 1
			}
		case c.completes.MatchesConditions(r):
			what |= 2
		}
	}
	if what == 0 {
		return nil
	}
	return c.moments.add(moment{at: at, id: r.Batch.ID[r.Index], actor: actor, what: what}, c.f.Reserve)
}

func (c *dailyReturns) recorded() *moments { return &c.moments }

func (c *dailyReturns) admits(e *exposedEntity, a *moment) bool {
	if c.window > 0 && a.at > e.first+c.window {
		a.what &^= 1
	}
	return a.what != 0
}

func (c *dailyReturns) lookback() int64 { return 0 }

func (c *dailyReturns) seeEarly(*scan.Row, uint32, *exposedEntity) error { return nil }

func (c *dailyReturns) fold(end int64, _ []moment) error {
	list, err := c.order.sort(c.f.Reserve, c.moments.take(end))
	if err != nil {
		return err
	}
	for len(list) > 0 {
		// Events of an entity at the same time: the starts first, since completions may be at the time of
		// the start.
		n, actor := 1, list[0].actor
		for n < len(list) && list[n].actor == actor && list[n].at == list[0].at {
			n++
		}
		if c.done, err = scan.Grow(c.done, actor, 1, c.f.Reserve); err != nil {
			return err
		}
		if !c.fromExposure {
			if c.starts, err = scan.Grow(c.starts, actor, 16, c.f.Reserve); err != nil {
				return err
			}
			for i := range list[:n] {
				a := &list[i]
				if begin := &c.starts[actor]; a.what&1 != 0 && c.startsAt(begin, a) {
					*begin, c.done[actor] = startEvent{a.at, a.id}, false
				}
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
	var begin startEvent
	if c.fromExposure {
		e := &c.f.entities[a.actor]
		begin = startEvent{e.first, e.id}
	} else {
		begin = c.starts[a.actor]
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

func (c *dailyReturns) load(state any) error {
	s := state.(returnState)
	c.returnState = returnState{slices.Clone(s.starts), slices.Clone(s.done)}
	return nil
}

func (c *dailyReturns) isIntegral() bool { return true }

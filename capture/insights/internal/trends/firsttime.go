package trends

import (
	"github.com/bunting-flags/bunting/capture/insights/internal/filter"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// firstTime is the tally of first-time maths: it counts persons or groups in the bucket of their
// first event. Because that event may be before the range, it scans all time.
type firstTime struct {
	c      *counting
	person func(*scan.Row) (uint32, bool)
	// matching uses the first event that passes the filters; otherwise an actor counts only if the
	// first event of all passes them.
	matching bool
	// base matches the events without the filters.
	base   *filter.Matcher
	firsts map[uint32]*firstEvent
}

// firstEvent is the first event of an actor found so far.
type firstEvent struct {
	at, id int64
	// values are the numbers of its breakdown values.
	values []int
	// counts is true if the event passes the filters and is in the range.
	counts bool
}

// firstTime returns a tally of first-time math and extends the scan to all time.
func (m *Measure) firstTime(b *scan.Binder, c *counting) tally {
	c.from = 0
	b.Needs.Columns |= port.IDs
	return &firstTime{c: c, base: c.series.BindName(b), person: b.Actor(m.Group), matching: m.Basis == "firstMatching", firsts: map[uint32]*firstEvent{}}
}

// seeFirst keeps the event if it is earlier than the first event of its actor so far. Events with
// the same time are ordered by id.
func (t *firstTime) seeFirst(w *scan.Row, passes func() bool) error {
	who, ok := t.person(w)
	if !ok || !t.base.MatchesConditions(w) || t.c.measuring && w.Batch.Time[w.Index] < t.c.since {
		return nil
	}
	if t.c.measuring {
		if passes() {
			t.c.measure(w)
		}
		return nil
	}
	// Avoid evaluating the conditions for an event that is not the first.
	at, id := w.Batch.Time[w.Index], w.Batch.ID[w.Index]
	f := t.firsts[who]
	if f != nil && (at > f.at || at == f.at && id > f.id) {
		return nil
	}
	pass := passes()
	if t.matching && !pass {
		return nil
	}
	if f == nil {
		if err := t.c.Reserve(96); err != nil {
			return err
		}
		f = &firstEvent{}
		t.firsts[who] = f
	}
	f.at, f.id, f.counts, f.values = at, id, pass && at >= t.c.since, f.values[:0]
	if !f.counts {
		return nil
	}
	return t.c.eachValue(w, func(value int) error {
		room := cap(f.values)
		f.values = append(f.values, value)
		return t.c.Reserve(8 * int64(cap(f.values)-room))
	})
}

// add is not used: counting.see calls seeFirst instead.
func (t *firstTime) add(*scan.Row, int, int) error { return nil }

// points counts each actor in the bucket of the first event, for each breakdown value of that
// event.
func (t *firstTime) points(n int) ([][]float64, error) {
	out := scan.Rows(n, t.c.buckets(), func(int) float64 { return 0 })
	for _, f := range t.firsts {
		bucket := 0
		if t.c.display != total {
			bucket = t.c.period.Find(f.at)
		}
		if !f.counts || bucket < 0 {
			continue
		}
		for _, value := range f.values {
			out[value][bucket]++
		}
	}
	return out, nil
}

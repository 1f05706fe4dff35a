package trends

import (
	"slices"
	"time"

	"github.com/bunting-flags/bunting/capture/insights/internal/calendar"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// distinctCounts is the tally of distinct actors. An actor counts at most once in each bucket
// of a breakdown value.
type distinctCounts struct {
	c *counting
	// actor returns the number of an event's actor, and false if there is no actor.
	actor func(*scan.Row) (uint32, bool)
	seen  scan.Set
	// arePersons is true if the actors are persons with the numbers of batches.
	arePersons bool
	// cumulative counts each actor only in its first bucket, and adds the buckets up.
	cumulative bool
}

// newDistinctCounts returns a tally that counts the actors that the function actor returns.
func newDistinctCounts(c *counting, actor func(*scan.Row) (uint32, bool)) distinctCounts {
	return distinctCounts{c: c, actor: actor, seen: scan.Set{Reserve: c.Reserve}}
}

// add records the actor of an event in a bucket.
func (t *distinctCounts) add(w *scan.Row, value, bucket int) error {
	actor, ok := t.actor(w)
	if !ok || bucket < 0 {
		return nil
	}
	return t.seen.Put(scan.Cell{Value: uint32(value), Bucket: uint32(bucket), Actor: actor})
}

func (t *distinctCounts) addsBatches() bool { return t.arePersons }

func (t *distinctCounts) addAll(b *port.Batch, from, to, bucket int) error {
	if bucket < 0 {
		return nil
	}
	for _, person := range b.Person[from:to] {
		if err := t.seen.Put(scan.Cell{Bucket: uint32(bucket), Actor: person}); err != nil {
			return err
		}
	}
	return nil
}

func (t *distinctCounts) addRows(b *port.Batch, rows []int32, bucket int) error {
	if bucket < 0 {
		return nil
	}
	for _, i := range rows {
		if err := t.seen.Put(scan.Cell{Bucket: uint32(bucket), Actor: b.Person[i]}); err != nil {
			return err
		}
	}
	return nil
}

// points returns the number of distinct actors for each value and bucket.
func (t *distinctCounts) points(n int) ([][]float64, error) {
	out := scan.Rows(n, t.c.buckets(), func(int) float64 { return 0 })
	if t.cumulative {
		if err := t.c.Reserve(40 * int64(t.seen.Len)); err != nil {
			return nil, err
		}
		// first is the first bucket of each actor of a value.
		first := map[scan.Cell]uint32{}
		t.seen.Each(func(c scan.Cell) {
			who := scan.Cell{Value: c.Value, Actor: c.Actor}
			if at, ok := first[who]; !ok || c.Bucket < at {
				first[who] = c.Bucket
			}
		})
		for who, bucket := range first {
			out[who.Value][bucket]++
		}
		for _, points := range out {
			sumUp(points)
		}
		return out, nil
	}
	t.seen.EachCount(func(value, bucket uint32, actors int) { out[value][bucket] += float64(actors) })
	return out, nil
}

// durations is the tally of session durations: it aggregates the durations of the sessions that
// have an event in a bucket. Each session counts at most once in a bucket.
type durations struct {
	distinctCounts
	// sessions are by session id; id is the session id of an event.
	sessions map[string]*scan.Session
	id       scan.Getter
	m        *Measure
	// length has the duration of each session by its number, after the multiplier of the measure.
	length []float64
}

// add records the session of an event. The actors of the embedded tally are session ids.
func (t *durations) add(w *scan.Row, value, bucket int) error {
	number, ok := t.actor(w)
	s := t.sessions[t.id(w)]
	if !ok || s == nil {
		return nil
	}
	var err error
	if t.length, err = scan.Grow(t.length, number, 8, t.c.Reserve); err != nil {
		return err
	}
	t.length[number] = float64(s.Seconds()) * t.m.multiplier
	return t.distinctCounts.add(w, value, bucket)
}

// points aggregates the durations for each value and bucket.
func (t *durations) points(n int) ([][]float64, error) {
	buckets := t.c.buckets()
	cells, keep, err := t.c.folds(n, t.m.fold, t.seen.Len)
	if err != nil {
		return nil, err
	}
	t.seen.Each(func(c scan.Cell) { cells[int(c.Value)*buckets+int(c.Bucket)].put(t.length[c.Actor], keep) })
	return scan.Rows(n, buckets, func(at int) float64 { return cells[at].result(t.m.fold) }), nil
}

// window is the tally of weekly and monthly active actors. A bucket counts the actors with an event
// in the days that end with the first day of the bucket. If buckets are hours or minutes, the
// window is the same time span and ends with the bucket.
type window struct {
	// The buckets of the embedded cells are units, which are days, hours or minutes.
	distinctCounts
	units *calendar.Buckets
	// first and last are, by bucket, the first and last unit of its window.
	first, last []int
}

// window returns the tally of weekly_active and monthly_active. If the interval is as long as the
// window, or the result is a single number, no sliding window is needed, and it is a tally of
// distinct actors in the whole range.
func (m *Measure) window(b *scan.Binder, c *counting) tally {
	p := c.period
	actors := newDistinctCounts(c, b.Actor(m.Group))
	short := p.Interval == calendar.Hour || p.Interval == calendar.Minute
	if p.Len() == 0 || c.display != total && (p.Interval == calendar.Month || p.Interval == calendar.Week && m.days == 7) {
		return &actors
	}
	cal := c.Calendar()
	if c.display == total {
		// The result is one number: the window ends with the last day of the range.
		last := cal.StartOf(calendar.Day, p.To)
		c.from = cal.Local(cal.Clock(last).AddDate(0, 0, 1-m.days)).UnixMicro()
		return &actors
	}
	// The scan begins one window before the first bucket.
	from, unit := cal.Local(cal.Clock(p.Start(0)).AddDate(0, 0, 1-m.days)), calendar.Day
	if short {
		unit = p.Interval
		from = p.Start(0).Add(-time.Duration(m.days)*24*time.Hour + map[calendar.Interval]time.Duration{calendar.Hour: time.Hour, calendar.Minute: time.Minute}[unit])
	}
	units, err := cal.UnitsBetween(unit, from, p.To)
	if err != nil {
		b.Err = err
		return &actors
	}
	t := &window{distinctCounts: actors, units: units}
	length := m.days
	if short {
		length = units.Len() - p.Len() + 1
	}
	for i := range p.Len() {
		at := units.Find(p.Starts[i])
		t.last = append(t.last, at)
		t.first = append(t.first, max(0, at-length+1))
	}
	c.from = from.UnixMicro()
	return t
}

// add records the actor of an event in the unit of the event. The bucket is not used.
func (t *window) add(w *scan.Row, value, _ int) error {
	return t.distinctCounts.add(w, value, t.units.Find(w.Batch.Time[w.Index]))
}

// points counts an actor once in each bucket whose window contains a unit with one of the
// actor's events.
func (t *window) points(n int) ([][]float64, error) {
	if err := t.c.Reserve(12 * int64(t.seen.Len)); err != nil {
		return nil, err
	}
	all := t.seen.Sorted()
	out := scan.Rows(n, len(t.last), func(int) float64 { return 0 })
	// The cells of an actor are sorted by unit. Buckets below covered already count the actor.
	covered := 0
	for i, c := range all {
		if i == 0 || c.Value != all[i-1].Value || c.Actor != all[i-1].Actor {
			covered = 0
		}
		// Find the buckets whose window contains the unit: first <= unit <= last. Both lists
		// ascend.
		from, _ := slices.BinarySearch(t.last, int(c.Bucket))
		for k := max(from, covered); k < len(t.last) && t.first[k] <= int(c.Bucket); k++ {
			out[c.Value][k]++
			covered = k + 1
		}
	}
	return out, nil
}

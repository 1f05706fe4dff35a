package insights

import (
	"cmp"
	"slices"
	"strconv"
	"time"
)

// actor gives the number of who did an event: the person, or the group of a type;
// false for an event without that group.
func (b *binder) actor(groupType int) func(*row) (uint32, bool) {
	if groupType >= 0 {
		if b.groupsOf[groupType] == nil {
			b.groupsOf[groupType] = b.newInterner(b.eventProperty("$group_" + strconv.Itoa(groupType)))
		}
		return b.groupsOf[groupType].number
	}
	person := b.people()
	return func(r *row) (uint32, bool) { return person(r), true }
}

// bindInterned numbers the texts of a value; missing and empty ones have none.
func (b *binder) bindInterned(value getter) func(*row) (uint32, bool) {
	return b.newInterner(value).number
}

// interner numbers the texts of a value.
type interner struct {
	*stringTable
	value getter
}

func (b *binder) newInterner(value getter) *interner {
	return &interner{newStringTable(b.reserve), value}
}

func (in *interner) number(r *row) (uint32, bool) {
	text, _ := textOf(in.value(r))
	if text == "" {
		return 0, false
	}
	n, _ := in.stringTable.number(text) // what it spends is looked at after the batch
	return n, true
}

// set holds cells, in an open table: an entry's bucket is one more than the cell's,
// 0 is free.
type set struct {
	table   []cell
	n       int
	reserve func(int64) error
}

// put adds a cell, once.
func (s *set) put(c cell) error {
	if 4*(s.n+1) > 3*len(s.table) {
		if err := s.grow(); err != nil {
			return err
		}
	}
	c.bucket++
	i := s.find(c)
	if s.table[i].bucket != 0 {
		return nil
	}
	s.table[i] = c
	s.n++
	return nil
}

// find is the place of an entry, or the free one that it would take.
func (s *set) find(c cell) uint64 {
	mask := uint64(len(s.table) - 1)
	h := (uint64(c.actor)<<32 | uint64(c.bucket)<<12 ^ uint64(c.value)) * 0x9E3779B97F4A7C15
	i := (h ^ h>>29) & mask
	for s.table[i].bucket != 0 && s.table[i] != c {
		i = (i + 1) & mask
	}
	return i
}

func (s *set) grow() error {
	size := max(1024, 2*len(s.table))
	if err := s.reserve(12 * int64(size-len(s.table))); err != nil {
		return err
	}
	old := s.table
	s.table = make([]cell, size)
	for _, c := range old {
		if c.bucket != 0 {
			s.table[s.find(c)] = c
		}
	}
	return nil
}

// each gives all cells, in no order.
func (s *set) each(visit func(cell)) {
	for _, c := range s.table {
		if c.bucket != 0 {
			c.bucket--
			visit(c)
		}
	}
}

// sorted are all cells by value, actor and bucket.
func (s *set) sorted() []cell {
	all := make([]cell, 0, s.n)
	s.each(func(c cell) { all = append(all, c) })
	slices.SortFunc(all, func(a, b cell) int {
		return cmp.Or(cmp.Compare(a.value, b.value), cmp.Compare(a.actor, b.actor), cmp.Compare(a.bucket, b.bucket))
	})
	return all
}

// distinctCounts counts actors, each once in a bucket of a value; once: in the first one
// alone.
type distinctCounts struct {
	c          *counting
	actor      func(*row) (uint32, bool)
	seen       set
	cumulative bool
}

func newDistinctCounts(c *counting, actor func(*row) (uint32, bool)) distinctCounts {
	return distinctCounts{c: c, actor: actor, seen: set{reserve: c.reserve}}
}

func (t *distinctCounts) add(w *row, value, bucket int) error {
	actor, ok := t.actor(w)
	if !ok || bucket < 0 {
		return nil
	}
	return t.seen.put(cell{uint32(value), uint32(bucket), actor})
}

func (t *distinctCounts) points(n int) ([][]float64, error) {
	out := makeRows(n, t.c.buckets(), func(int) float64 { return 0 })
	if t.cumulative {
		if err := t.c.reserve(40 * int64(t.seen.n)); err != nil {
			return nil, err
		}
		first := map[cell]uint32{}
		t.seen.each(func(c cell) {
			who := cell{value: c.value, actor: c.actor}
			if at, ok := first[who]; !ok || c.bucket < at {
				first[who] = c.bucket
			}
		})
		for who, bucket := range first {
			out[who.value][bucket]++
		}
		for _, points := range out {
			sumUp(points)
		}
		return out, nil
	}
	t.seen.each(func(c cell) { out[c.value][c.bucket]++ })
	return out, nil
}

// durations folds the durations of the sessions that have an event in a bucket.
type durations struct {
	distinctCounts
	sessions map[string]*session
	id       getter
	m        *measure
	length   []float64 // by number
}

func (t *durations) add(w *row, value, bucket int) error {
	number, ok := t.actor(w)
	s := t.sessions[t.id(w)]
	if !ok || s == nil {
		return nil
	}
	var err error
	if t.length, err = growTo(t.length, number, 8, t.c.reserve); err != nil {
		return err
	}
	t.length[number] = float64(s.seconds()) * t.m.multiplier
	return t.distinctCounts.add(w, value, bucket)
}

func (t *durations) points(n int) ([][]float64, error) {
	buckets := t.c.buckets()
	cells, keep, err := t.c.folds(n, t.m.fold, t.seen.n)
	if err != nil {
		return nil, err
	}
	t.seen.each(func(c cell) { cells[int(c.value)*buckets+int(c.bucket)].put(t.length[c.actor], keep) })
	return makeRows(n, buckets, func(at int) float64 { return cells[at].result(t.m.fold) }), nil
}

// window counts actors that were there in the days that end with a bucket's first
// day; for hours and minutes in as many hours that end with the bucket.
type window struct {
	distinctCounts // buckets are units
	units          *buckets
	// first and last are the units of each bucket's window.
	first, last []int
}

// window makes the tally of weekly_active and monthly_active. Where the interval is
// as long as the window, or there is one number, it is the number of distinct actors
// of a stretch of time.
func (m *measure) window(b *binder, c *counting) tally {
	p := c.period
	actors := newDistinctCounts(c, b.actor(m.group))
	short := p.interval == hour || p.interval == minute
	if p.len() == 0 || c.display != total && (p.interval == month || p.interval == week && m.days == 7) {
		return &actors
	}
	cal := c.calendar()
	if c.display == total {
		last := cal.startOf(day, p.to)
		c.from = cal.local(cal.clock(last).AddDate(0, 0, 1-m.days)).UnixMicro()
		return &actors
	}
	from, unit := cal.local(cal.clock(p.start(0)).AddDate(0, 0, 1-m.days)), day
	if short {
		unit = p.interval
		from = p.start(0).Add(-time.Duration(m.days)*24*time.Hour + map[interval]time.Duration{hour: time.Hour, minute: time.Minute}[unit])
	}
	units, err := cal.unitsBetween(unit, from, p.to)
	if err != nil {
		b.err = err
		return &actors
	}
	t := &window{distinctCounts: actors, units: units}
	length := m.days
	if short {
		length = units.len() - p.len() + 1
	}
	for i := range p.len() {
		at := units.find(p.starts[i])
		t.last = append(t.last, at)
		t.first = append(t.first, max(0, at-length+1))
	}
	c.from = from.UnixMicro()
	return t
}

// maxUnits bounds what windows are made of: 30 days of minutes before the buckets.
const maxUnits = 60_000

// unitsBetween are buckets of a window.
func (c calendar) unitsBetween(i interval, from, to time.Time) (*buckets, error) {
	b := &buckets{calendar: c, interval: i}
	start := c.startOf(i, from)
	for !start.After(to) {
		if len(b.starts) == maxUnits {
			return nil, newError(tooLarge, "", "The windows of this series have more than %d units: ask for a shorter time or a longer interval.", maxUnits)
		}
		b.starts = append(b.starts, start.UnixMicro())
		start = c.next(i, start)
	}
	b.end = start.UnixMicro()
	return b, nil
}

func (t *window) add(w *row, value, _ int) error {
	return t.distinctCounts.add(w, value, t.units.find(w.b.Time[w.i]))
}

// points adds an actor to each bucket whose window holds one of its units, once.
func (t *window) points(n int) ([][]float64, error) {
	if err := t.c.reserve(12 * int64(t.seen.n)); err != nil {
		return nil, err
	}
	all := t.seen.sorted()
	out := makeRows(n, len(t.last), func(int) float64 { return 0 })
	covered := 0 // buckets below are done for the present actor
	for i, c := range all {
		if i == 0 || c.value != all[i-1].value || c.actor != all[i-1].actor {
			covered = 0
		}
		// Buckets whose window holds the unit: first <= unit <= last. Both ascend.
		from, _ := slices.BinarySearch(t.last, int(c.bucket))
		for k := max(from, covered); k < len(t.last) && t.first[k] <= int(c.bucket); k++ {
			out[c.value][k]++
			covered = k + 1
		}
	}
	return out, nil
}

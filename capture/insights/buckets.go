package insights

import (
	"fmt"
	"sort"
	"time"
)

// interval is the length of buckets.
type interval string

const (
	minute interval = "minute"
	hour   interval = "hour"
	day    interval = "day"
	week   interval = "week"
	month  interval = "month"

	quarter interval = "quarter" // of dates alone
	year    interval = "year"
)

// edgeUnits are the intervals that units of relative dates can be cut to.
var edgeUnits = map[byte]interval{'h': hour, 'd': day, 'w': week, 'm': month, 'q': quarter, 'y': year}

// maxBuckets bounds the buckets of a series (§5.4).
const maxBuckets = 10_000

// startOf is the start of the interval that holds an instant. Hours and minutes
// follow the local clock's offset, so that a local day may have 23 or 25 hours.
func (c calendar) startOf(i interval, t time.Time) time.Time {
	w := c.clock(t)
	offset := w.Sub(t)
	y, m, d := w.Date()
	switch i {
	case minute:
		return w.Truncate(time.Minute).Add(-offset)
	case hour:
		return w.Truncate(time.Hour).Add(-offset)
	case week:
		d -= (int(w.Weekday()) - int(c.weekStart) + 7) % 7
	case month:
		d = 1
	case quarter:
		m, d = m-(m-1)%3, 1
	case year:
		m, d = 1, 1
	}
	return c.local(time.Date(y, m, d, 0, 0, 0, 0, time.UTC))
}

// next is the start of the interval after the one that begins at start.
func (c calendar) next(i interval, start time.Time) time.Time {
	switch i {
	case minute:
		return start.Add(time.Minute)
	case hour:
		if next := c.startOf(hour, start.Add(time.Hour)); next.After(start) {
			return next
		}
		return start.Add(time.Hour)
	}
	w := c.clock(start)
	y, m, d := w.Date()
	switch i {
	case day:
		d++
	case week:
		d += 7
	case month:
		m++
	case quarter:
		m += 3
	case year:
		y++
	}
	return c.local(time.Date(y, m, d, 0, 0, 0, 0, time.UTC))
}

// endOf is the last microsecond of the interval that holds an instant.
func (c calendar) endOf(i interval, t time.Time) time.Time {
	return c.next(i, c.startOf(i, t)).Add(-time.Microsecond)
}

// buckets are intervals that follow one another.
type buckets struct {
	calendar
	interval interval
	// starts are in microseconds since 1970; end is where the last one ends.
	starts []int64
	end    int64
	last   int // where an event was found last
}

// bucketsBetween are the intervals from the one that holds from to the one that
// holds to; none when from is after to.
func (c calendar) bucketsBetween(i interval, from, to time.Time) (*buckets, error) {
	b := &buckets{calendar: c, interval: i}
	if from.After(to) {
		return b, nil
	}
	start := c.startOf(i, from)
	for !start.After(to) {
		if len(b.starts) == maxBuckets {
			return nil, newError(tooLarge, "", "A series may have %d buckets: ask for a shorter time or a longer interval.", maxBuckets)
		}
		b.starts = append(b.starts, start.UnixMicro())
		start = c.next(i, start)
	}
	b.end = start.UnixMicro()
	return b, nil
}

// oneBucket holds the intervals from the one that holds from to the one that holds
// to; none when from is after to.
func (c calendar) oneBucket(i interval, from, to time.Time) *buckets {
	b := &buckets{calendar: c, interval: i}
	if !from.After(to) {
		b.starts, b.end = []int64{c.startOf(i, from).UnixMicro()}, c.endOf(i, to).UnixMicro()+1
	}
	return b
}

func (b *buckets) len() int { return len(b.starts) }

// find is the bucket that holds a time, -1 for none. Events come in order of time
// mostly: the bucket of the one before is looked at first.
func (b *buckets) find(micros int64) int {
	if len(b.starts) == 0 || micros < b.starts[0] || micros >= b.end {
		return -1
	}
	if i := b.last; micros >= b.starts[i] && (i+1 == len(b.starts) && micros < b.end || i+1 < len(b.starts) && micros < b.starts[i+1]) {
		return i
	}
	b.last = sort.Search(len(b.starts), func(i int) bool { return b.starts[i] > micros }) - 1
	return b.last
}

// start is the beginning of a bucket in the project's zone.
func (b *buckets) start(i int) time.Time { return time.UnixMicro(b.starts[i]).In(b.zone) }

// endAt is where a bucket ends and the next one begins.
func (b *buckets) endAt(i int) int64 {
	if i+1 < len(b.starts) {
		return b.starts[i+1]
	}
	return b.end
}

// days are the starts as texts of the local clock (§2.4.6).
func (b *buckets) days() []string {
	layout := "2006-01-02"
	if b.interval == hour || b.interval == minute {
		layout = "2006-01-02 15:04:05"
	}
	return b.format(func(t time.Time) string { return t.Format(layout) })
}

// instants are the starts as ISO 8601 with the zone's offset.
func (b *buckets) instants() []string {
	return b.format(func(t time.Time) string { return t.Format(time.RFC3339) })
}

// labels are the names of the buckets (§3.1.5) inside a range.
func (b *buckets) labels(from, to time.Time) []string {
	switch b.interval {
	case minute, hour:
		return b.format(func(t time.Time) string { return t.Format("2-Jan 15:04") })
	case month:
		return b.format(func(t time.Time) string { return t.Format("Jan 2006") })
	case week:
		return b.format(func(t time.Time) string { return b.weekLabel(t, from.In(b.zone), to.In(b.zone)) })
	}
	return b.format(func(t time.Time) string { return t.Format("2-Jan-2006") })
}

// weekLabel names the days of a week that lie in the range.
func (b *buckets) weekLabel(start, from, to time.Time) string {
	first, last := start, b.endOf(week, start).In(b.zone)
	if first.Before(from) {
		first = from
	}
	if last.After(to) {
		last = to
	}
	switch {
	case first.Year() != last.Year():
		return first.Format("2-Jan-2006") + " – " + last.Format("2-Jan-2006")
	case first.Month() != last.Month():
		return first.Format("2-Jan") + " – " + last.Format("2-Jan")
	case first.Day() != last.Day():
		return fmt.Sprintf("%d–%s", first.Day(), last.Format("2 Jan"))
	}
	return first.Format("2-Jan-2006")
}

func (b *buckets) format(text func(time.Time) string) []string {
	out := make([]string, len(b.starts))
	for i := range out {
		out[i] = text(b.start(i))
	}
	return out
}

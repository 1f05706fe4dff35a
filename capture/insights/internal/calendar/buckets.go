package calendar

import (
	"fmt"
	"sort"
	"time"

	"github.com/bunting-flags/bunting/capture/insights/internal/document"
)

// Interval is the length of the buckets of a series.
type Interval string

// Series may be divided into any interval of the first group.
const (
	Minute Interval = "minute"
	Hour   Interval = "hour"
	Day    Interval = "day"
	Week   Interval = "week"
	Month  Interval = "month"

	quarter Interval = "quarter" // quarter and year occur only in dates, not as bucket length
	year    Interval = "year"
)

// EdgeUnits maps the unit of a relative date to the interval at which Start and End cut it.
var EdgeUnits = map[byte]Interval{'h': Hour, 'd': Day, 'w': Week, 'm': Month, 'q': quarter, 'y': year}

// MaxBuckets is the maximum number of buckets of a series (§5.4).
const MaxBuckets = 10_000

// StartOf returns the start of the interval that contains t. Hours and minutes follow the UTC
// offset of the local clock, so a local day may have 23 or 25 hours.
func (c Calendar) StartOf(i Interval, t time.Time) time.Time {
	w := c.Clock(t)
	// offset is the UTC offset in effect at t.
	offset := w.Sub(t)
	y, m, d := w.Date()
	switch i {
	case Minute:
		return w.Truncate(time.Minute).Add(-offset)
	case Hour:
		return w.Truncate(time.Hour).Add(-offset)
	case Week:
		d -= (int(w.Weekday()) - int(c.WeekStart) + 7) % 7
	case Month:
		d = 1
	case quarter:
		m, d = m-(m-1)%3, 1
	case year:
		m, d = 1, 1
	}
	return c.Local(time.Date(y, m, d, 0, 0, 0, 0, time.UTC))
}

// Next returns the start of the interval after the one that begins at start.
func (c Calendar) Next(i Interval, start time.Time) time.Time {
	switch i {
	case Minute:
		return start.Add(time.Minute)
	case Hour:
		// When clocks go back, the start of the hour after start may be start itself.
		if next := c.StartOf(Hour, start.Add(time.Hour)); next.After(start) {
			return next
		}
		return start.Add(time.Hour)
	}
	// Longer intervals follow the local calendar. time.Date normalizes days and months beyond their
	// range.
	w := c.Clock(start)
	y, m, d := w.Date()
	switch i {
	case Day:
		d++
	case Week:
		d += 7
	case Month:
		m++
	case quarter:
		m += 3
	case year:
		y++
	}
	return c.Local(time.Date(y, m, d, 0, 0, 0, 0, time.UTC))
}

// EndOf returns the last microsecond of the interval that contains t.
func (c Calendar) EndOf(i Interval, t time.Time) time.Time {
	return c.Next(i, c.StartOf(i, t)).Add(-time.Microsecond)
}

// Buckets are consecutive intervals of the same kind.
type Buckets struct {
	Calendar
	Interval Interval
	// Starts are in microseconds since 1970, as is end, the end of the last bucket (exclusive).
	Starts []int64
	End    int64
	last   int // the bucket of the latest find, with which the next one begins
}

// BucketsBetween returns the intervals from the one that contains from to the one that contains to.
// The result is empty if from is after to; more than MaxBuckets are an error.
func (c Calendar) BucketsBetween(i Interval, from, to time.Time) (*Buckets, error) {
	b := &Buckets{Calendar: c, Interval: i}
	if from.After(to) {
		return b, nil
	}
	start := c.StartOf(i, from)
	for !start.After(to) {
		if len(b.Starts) == MaxBuckets {
			return nil, document.NewFault(document.TooLarge, "", "A series may have at most %d buckets: choose a shorter period or a longer interval.", MaxBuckets)
		}
		b.Starts = append(b.Starts, start.UnixMicro())
		start = c.Next(i, start)
	}
	b.End = start.UnixMicro()
	return b, nil
}

// OneBucket returns a single bucket, from the start of the interval that contains from to the end
// of the one that contains to. The result is empty if from is after to.
func (c Calendar) OneBucket(i Interval, from, to time.Time) *Buckets {
	b := &Buckets{Calendar: c, Interval: i}
	if !from.After(to) {
		b.Starts, b.End = []int64{c.StartOf(i, from).UnixMicro()}, c.EndOf(i, to).UnixMicro()+1
	}
	return b
}

// Len returns the number of buckets.
func (b *Buckets) Len() int { return len(b.Starts) }

// Find returns the bucket that contains a time, in microseconds since 1970, or -1 if no bucket
// does. Events mostly arrive in the order of time, so find tries the bucket of the previous call
// first. It is not safe for concurrent use.
func (b *Buckets) Find(micros int64) int {
	if len(b.Starts) == 0 || micros < b.Starts[0] || micros >= b.End {
		return -1
	}
	if i := b.last; micros >= b.Starts[i] && (i+1 == len(b.Starts) && micros < b.End || i+1 < len(b.Starts) && micros < b.Starts[i+1]) {
		return i
	}
	b.last = sort.Search(len(b.Starts), func(i int) bool { return b.Starts[i] > micros }) - 1
	return b.last
}

// FindRun is Find for the first of some times, at least one. It also returns the number of times from the first one
// on that are in the same bucket, or in none.
func (b *Buckets) FindRun(micros []int64) (bucket, n int) {
	bucket = b.Find(micros[0])
	if bucket < 0 {
		for n = 1; n < len(micros) && b.Find(micros[n]) < 0; n++ {
		}
		return bucket, n
	}
	start, end := b.Starts[bucket], b.EndAt(bucket)
	for n = 1; n < len(micros) && micros[n] >= start && micros[n] < end; n++ {
	}
	return bucket, n
}

// Start returns the start of a bucket in the project's time zone.
func (b *Buckets) Start(i int) time.Time { return time.UnixMicro(b.Starts[i]).In(b.Zone) }

// EndAt returns the end of a bucket, which is the start of the next one.
func (b *Buckets) EndAt(i int) int64 {
	if i+1 < len(b.Starts) {
		return b.Starts[i+1]
	}
	return b.End
}

// Days returns the starts of the buckets in local time, with the time of day only for hours and
// minutes (§2.4.6).
func (b *Buckets) Days() []string {
	layout := "2006-01-02"
	if b.Interval == Hour || b.Interval == Minute {
		layout = "2006-01-02 15:04:05"
	}
	return b.format(func(t time.Time) string { return t.Format(layout) })
}

// Instants returns the starts of the buckets as ISO 8601 with the zone's offset.
func (b *Buckets) Instants() []string {
	return b.format(func(t time.Time) string { return t.Format(time.RFC3339) })
}

// Labels returns the labels of the buckets (§3.1.5). from and to are the range of the query, to
// which the labels of weeks are clipped.
func (b *Buckets) Labels(from, to time.Time) []string {
	switch b.Interval {
	case Minute, Hour:
		return b.format(func(t time.Time) string { return t.Format("2-Jan 15:04") })
	case Month:
		return b.format(func(t time.Time) string { return t.Format("Jan 2006") })
	case Week:
		return b.format(func(t time.Time) string { return b.weekLabel(t, from.In(b.Zone), to.In(b.Zone)) })
	}
	return b.format(func(t time.Time) string { return t.Format("2-Jan-2006") })
}

// weekLabel returns the label of a week: its first and last day within the range.
func (b *Buckets) weekLabel(start, from, to time.Time) string {
	first, last := start, b.EndOf(Week, start).In(b.Zone)
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

// format returns the starts of the buckets, each formatted by text.
func (b *Buckets) format(text func(time.Time) string) []string {
	out := make([]string, len(b.Starts))
	for i := range out {
		out[i] = text(b.Start(i))
	}
	return out
}

package calendar

import (
	"time"

	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/hogql"
)

// Calendar converts between instants and local time: it has the project's time zone and first day
// of the week.
type Calendar struct {
	Zone      *time.Location
	WeekStart time.Weekday
}

// Clock returns the local time at an instant, as a time in UTC.
func (c Calendar) Clock(t time.Time) time.Time { return hogql.Clock(t, c.Zone) }

// Local returns the first instant at which the local clock shows the time w.
func (c Calendar) Local(w time.Time) time.Time { return hogql.Local(w, c.Zone) }

// maxUnits limits the units of windows. It has room for the 30 days of minutes before the first
// bucket (43,200).
const maxUnits = 60_000

// UnitsBetween is like BucketsBetween with the limit maxUnits instead of MaxBuckets.
func (c Calendar) UnitsBetween(i Interval, from, to time.Time) (*Buckets, error) {
	b := &Buckets{Calendar: c, Interval: i}
	start := c.StartOf(i, from)
	for !start.After(to) {
		if len(b.Starts) == maxUnits {
			return nil, document.NewFault(document.TooLarge, "", "The windows of this series have more than %d units: choose a shorter period or a longer interval.", maxUnits)
		}
		b.Starts = append(b.Starts, start.UnixMicro())
		start = c.Next(i, start)
	}
	b.End = start.UnixMicro()
	return b, nil
}

// SubtractIntervals returns the start of the interval n intervals before the one that begins at
// start.
func (c Calendar) SubtractIntervals(i Interval, start time.Time, n int) time.Time {
	w := c.Clock(start)
	switch i {
	case Day:
		return c.Local(w.AddDate(0, 0, -n))
	case Week:
		return c.Local(w.AddDate(0, 0, -7*n))
	case Month:
		return c.Local(w.AddDate(0, -n, 0))
	}
	return c.StartOf(i, start.Add(-time.Duration(n)*time.Hour))
}

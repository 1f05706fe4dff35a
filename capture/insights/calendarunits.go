package insights

import "time"

// maxUnits limits the units of windows. It has room for the 30 days of minutes before the first
// bucket (43,200).
const maxUnits = 60_000

// unitsBetween is like bucketsBetween with the limit maxUnits instead of maxBuckets.
func (c calendar) unitsBetween(i interval, from, to time.Time) (*buckets, error) {
	b := &buckets{calendar: c, interval: i}
	start := c.startOf(i, from)
	for !start.After(to) {
		if len(b.starts) == maxUnits {
			return nil, newError(tooLarge, "", "The windows of this series have more than %d units: choose a shorter period or a longer interval.", maxUnits)
		}
		b.starts = append(b.starts, start.UnixMicro())
		start = c.next(i, start)
	}
	b.end = start.UnixMicro()
	return b, nil
}

// subtractIntervals returns the start of the interval n intervals before the one that begins at
// start.
func (c calendar) subtractIntervals(i interval, start time.Time, n int) time.Time {
	w := c.clock(start)
	switch i {
	case day:
		return c.local(w.AddDate(0, 0, -n))
	case week:
		return c.local(w.AddDate(0, 0, -7*n))
	case month:
		return c.local(w.AddDate(0, -n, 0))
	}
	return c.startOf(i, start.Add(-time.Duration(n)*time.Hour))
}

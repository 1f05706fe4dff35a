package management

import "time"

// AddMonths is the time n months after t, n may be negative, at the same time of day by the
// clock of t's zone. A day that the month lacks is its last day: a month after 31 October is
// 30 November.
func AddMonths(t time.Time, n int) time.Time {
	year, month, day := t.Date()
	last := time.Date(year, month+time.Month(n)+1, 0, 0, 0, 0, 0, time.UTC)
	return time.Date(last.Year(), last.Month(), min(day, last.Day()), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), t.Location())
}

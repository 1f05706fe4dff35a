package management

import "time"

// AddMonths returns the time n months after t at the same time of day in t's location; n may be
// negative. If the month is too short, it is the last day of that month: one month after 31 October
// is 30 November.
func AddMonths(t time.Time, n int) time.Time {
	year, month, day := t.Date()
	last := time.Date(year, month+time.Month(n)+1, 0, 0, 0, 0, 0, time.UTC)
	return time.Date(last.Year(), last.Month(), min(day, last.Day()), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), t.Location())
}

package dashboards

import "time"

// nextCheck returns the time of the first check after now (§9.3): in the next hour, tomorrow at
// 1:00, next Monday at 3:00, or on the 1st of the next month at 4:00, in local time. The minute is
// the one at which the alert was created, which distributes the checks of many alerts. The result
// is always after now, even on days on which the clocks change.
func (a *storedAlert) nextCheck(now time.Time, zone *time.Location) time.Time {
	now = now.In(zone)
	minute := a.Created.In(zone).Minute()
	year, month, day := now.Date()
	var next time.Time
	switch a.Interval {
	case "hourly": // hours are added as durations, since a local day may have 23 or 25
		begun := time.Duration(now.Minute())*time.Minute + time.Duration(now.Second())*time.Second + time.Duration(now.Nanosecond())
		next = now.Add(time.Hour - begun + time.Duration(minute)*time.Minute)
	case "weekly":
		next = time.Date(year, month, day+daysToMonday(now), 3, minute, 0, 0, zone)
	case "monthly":
		next = time.Date(year, month+1, 1, 4, minute, 0, 0, zone)
	default:
		for ; !next.After(now); day++ { // a time zone may have skipped a day
			next = time.Date(year, month, day+1, 1, minute, 0, 0, zone)
		}
	}
	return a.afterWeekend(next)
}

// daysToMonday returns the number of days until the next Monday, which is 7 if t is a Monday.
func daysToMonday(t time.Time) int { return (7+int(time.Monday)-int(t.Weekday())+6)%7 + 1 }

// afterWeekend returns t, or the following Monday if t is on a weekend and the alert skips
// weekends. An hourly alert continues on Monday at 0:00, the others at their usual time. t must be
// in local time.
func (a *storedAlert) afterWeekend(t time.Time) time.Time {
	weekend := t.Weekday() == time.Saturday || t.Weekday() == time.Sunday
	if a.SkipWeekend == nil || !*a.SkipWeekend || !weekend {
		return t
	}
	year, month, day := t.Date()
	// The weekend ends at 0:00, which is the first check of an hourly alert after it.
	hour := t.Hour()
	if a.Interval == "hourly" {
		hour = 0
	}
	return time.Date(year, month, day+daysToMonday(t), hour, t.Minute(), 0, 0, t.Location())
}

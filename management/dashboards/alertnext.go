package dashboards

import "time"

// nextCheck is when an alert is checked after now: in an hour, tomorrow at 1, on Monday
// at 3, on the 1st at 4, local time, at the minute at which it was made, so that
// alerts spread (§9.3). It is always after now, whatever clocks do on that day.
func (a *storedAlert) nextCheck(now time.Time, zone *time.Location) time.Time {
	now = now.In(zone)
	minute := a.Created.In(zone).Minute()
	year, month, day := now.Date()
	var next time.Time
	switch a.Interval {
	case "hourly": // hours are absolute: a day may have 23 or 25
		begun := time.Duration(now.Minute())*time.Minute + time.Duration(now.Second())*time.Second + time.Duration(now.Nanosecond())
		next = now.Add(time.Hour - begun + time.Duration(minute)*time.Minute)
	case "weekly":
		next = time.Date(year, month, day+daysToMonday(now), 3, minute, 0, 0, zone)
	case "monthly":
		next = time.Date(year, month+1, 1, 4, minute, 0, 0, zone)
	default:
		for ; !next.After(now); day++ { // a zone may have left a day out
			next = time.Date(year, month, day+1, 1, minute, 0, 0, zone)
		}
	}
	return a.afterWeekend(next)
}

// daysToMonday is how many days there are until the next Monday, 7 on one.
func daysToMonday(t time.Time) int { return (7+int(time.Monday)-int(t.Weekday())+6)%7 + 1 }

// afterWeekend puts a check of a weekend off to Monday where the alert says so. at is
// local.
func (a *storedAlert) afterWeekend(t time.Time) time.Time {
	weekend := t.Weekday() == time.Saturday || t.Weekday() == time.Sunday
	if a.SkipWeekend == nil || !*a.SkipWeekend || !weekend {
		return t
	}
	year, month, day := t.Date()
	hour := t.Hour()
	if a.Interval == "hourly" {
		hour = 0
	}
	return time.Date(year, month, day+daysToMonday(t), hour, t.Minute(), 0, 0, t.Location())
}

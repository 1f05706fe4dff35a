package batchexports

import (
	"strings"
	"time"
)

// The intervals of exports (§4.3.1).
const (
	every5Minutes  = "every 5 minutes"
	every15Minutes = "every 15 minutes"
	everyHour      = "hour"
	everyDay       = "day"
	everyWeek      = "week"
)

// exportIntervals are the choices, and how long the even ones are: those begin at
// multiples since 1970. Days and weeks begin by the clock of a zone.
var exportIntervals = []string{everyHour, everyDay, everyWeek, every5Minutes, every15Minutes}

var evenIntervals = map[string]time.Duration{
	every5Minutes: 5 * time.Minute, every15Minutes: 15 * time.Minute, everyHour: time.Hour,
}

// schedule cuts time into intervals. Two intervals of a day or week differ in
// length where the zone changes its clocks.
type schedule struct {
	interval string
	zone     *time.Location
	day      int // of the week at which weeks begin, 0 is Sunday
	hour     int // at which days and weeks begin
}

// schedule is the one of an export. A zone that is not known counts as UTC: what
// is stored was checked.
func (e *exportRecord) schedule() schedule {
	s := schedule{interval: e.Interval, zone: time.UTC}
	if zone, err := loadZone(e.Timezone); err == nil {
		s.zone = zone
	}
	if e.OffsetDay != nil {
		s.day = int(*e.OffsetDay)
	}
	if e.OffsetHour != nil {
		s.hour = int(*e.OffsetHour)
	}
	return s
}

// loadZone finds a zone by its IANA name; empty is UTC.
func loadZone(name string) (*time.Location, error) {
	if name == "" || strings.EqualFold(name, "local") {
		return time.UTC, nil
	}
	return time.LoadLocation(name)
}

// floor is the beginning of the interval that holds a time.
func (s schedule) floor(t time.Time) time.Time {
	if even := evenIntervals[s.interval]; even > 0 {
		micros := even.Microseconds()
		n := t.UnixMicro()
		return time.UnixMicro(n - ((n%micros)+micros)%micros).UTC()
	}
	local := t.In(s.zone)
	for back := 0; ; back++ {
		day := local.Day() - back
		begin := time.Date(local.Year(), local.Month(), day, s.hour, 0, 0, 0, s.zone)
		if begin.After(t) || s.interval == everyWeek && int(begin.Weekday()) != s.day {
			continue
		}
		return begin.UTC()
	}
}

// next is the first beginning of an interval after a time, which is the end of
// the interval that holds it.
func (s schedule) next(t time.Time) time.Time {
	if even := evenIntervals[s.interval]; even > 0 {
		return s.floor(t).Add(even)
	}
	local := t.In(s.zone)
	for ahead := 0; ; ahead++ {
		begin := time.Date(local.Year(), local.Month(), local.Day()+ahead, s.hour, 0, 0, 0, s.zone)
		if !begin.After(t) || s.interval == everyWeek && int(begin.Weekday()) != s.day {
			continue
		}
		return begin.UTC()
	}
}

// count is how many intervals there are from one time to another, at most limit.
func (s schedule) count(from, to time.Time, limit int) (n int) {
	for from.Before(to) && n < limit {
		from = s.next(from)
		n++
	}
	return n
}

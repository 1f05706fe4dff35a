package batchexports

import (
	"errors"
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

// exportIntervals are the intervals that an export may have. evenIntervals are the lengths of those
// that begin at multiples since 1970. Days and weeks begin by the local time of a time zone.
var exportIntervals = []string{everyHour, everyDay, everyWeek, every5Minutes, every15Minutes}

var evenIntervals = map[string]time.Duration{
	every5Minutes: 5 * time.Minute, every15Minutes: 15 * time.Minute, everyHour: time.Hour,
}

// schedule divides time into intervals. Days and weeks differ in length if the clocks change.
type schedule struct {
	// interval is one of exportIntervals.
	interval string
	zone     *time.Location
	// day is the day of the week at which weeks begin, where 0 is Sunday. hour is the hour at which
	// days and weeks begin.
	day  int
	hour int
}

// schedule returns the schedule of an export. An unknown time zone counts as UTC; it was validated
// when it was stored.
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

// loadZone returns the time zone with an IANA name. An empty name is UTC.
func loadZone(name string) (*time.Location, error) {
	switch {
	case name == "":
		return time.UTC, nil
	case strings.EqualFold(name, "local"): // time.LoadLocation returns the zone of the machine for it
		return nil, errors.New("no name of a time zone")
	}
	return time.LoadLocation(name)
}

// floor returns the beginning of the interval that contains a time.
func (s schedule) floor(t time.Time) time.Time {
	if even := evenIntervals[s.interval]; even > 0 {
		micros := even.Microseconds()
		n := t.UnixMicro()
		return time.UnixMicro(n - ((n%micros)+micros)%micros).UTC()
	}
	local := t.In(s.zone)
	// The day may begin later than t, and a week up to seven days earlier.
	for back := 0; ; back++ {
		day := local.Day() - back
		begin := time.Date(local.Year(), local.Month(), day, s.hour, 0, 0, 0, s.zone)
		if begin.After(t) || s.interval == everyWeek && int(begin.Weekday()) != s.day {
			continue
		}
		return begin.UTC()
	}
}

// next returns the end of the interval that contains a time, which is the beginning of the next
// one.
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

// count returns the number of intervals between two times, at most limit.
func (s schedule) count(from, to time.Time, limit int) (n int) {
	for from.Before(to) && n < limit {
		from = s.next(from)
		n++
	}
	return n
}

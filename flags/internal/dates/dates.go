// Package dates parses absolute and relative dates in text form (§4.7).
package dates

import (
	"math"
	"strings"
	"time"
)

// Operand is the prepared filter value of a date operator (§4.7).
type Operand struct {
	kind  operandKind
	fixed time.Time // dateFixed
	back  StepBack  // dateRelative
	text  string    // dateFromNow: parsed again at every evaluation
}

// operandKind is the way in which an operand determines its instant.
type operandKind uint8

const (
	dateFixed    operandKind = iota
	dateRelative             // a distance before now
	dateFromNow              // the missing year, day or time is taken from now
)

// Compile prepares a filter value; a nil zone is UTC. It reports false for a text that is never a
// date, at no value of now.
func Compile(text string, zone *time.Location) (Operand, bool) {
	if back, ok := ParseStepBack(text); ok {
		return Operand{kind: dateRelative, back: back}, true
	}
	t, found := parseAbsolute(text, zone, nil)
	switch found {
	case dateGood:
		return Operand{kind: dateFixed, fixed: t}, true
	case dateNeedsNow:
		return Operand{kind: dateFromNow, text: text}, true
	}
	return Operand{}, false
}

// At returns the instant that the operand denotes at now. It reports false if there is none, for
// example a wall clock time that the change to summer time skips.
func (d Operand) At(now time.Time, zone *time.Location) (time.Time, bool) {
	switch d.kind {
	case dateRelative:
		return d.back.before(now, zone)
	case dateFromNow:
		t, found := parseAbsolute(d.text, zone, &now)
		return t, found == dateGood
	}
	return d.fixed, true
}

// Read parses the text of a property at now, with the same rules as [Compile] and [Operand.At] for
// a filter value; a nil zone is UTC. It reports false if the text is not a date.
func Read(text string, now time.Time, zone *time.Location) (time.Time, bool) {
	if back, ok := ParseStepBack(text); ok {
		return back.before(now, zone)
	}
	t, found := parseAbsolute(text, zone, &now)
	return t, found == dateGood
}

// Epoch converts seconds since 1970 to an instant. Negative fractions are cut off to the whole
// second below, and NaN is 1970 itself, as in the service.
func Epoch(f float64) (time.Time, bool) {
	if math.IsNaN(f) {
		f = 0
	}
	floor := math.Floor(f)
	if math.Abs(floor) > 1e15 { // far outside of the calendar, and safe to convert
		return time.Time{}, false
	}
	nano := int64(max(0, math.Round(math.Mod(f, 1)*1e9)))
	sec := int64(floor)
	if nano == 1e9 && (sec%60+60)%60 != 59 {
		return time.Time{}, false // a full extra second exists only as a leap second
	}
	return wallClock{sec: sec, nano: nano}.inZone(nil)
}

// parseResult is the outcome of parsing a text.
type parseResult uint8

const (
	dateBad parseResult = iota
	dateGood
	dateNeedsNow // only returned if now is nil
)

// parseAbsolute tries RFC 3339, then the layouts that use the project's zone, then the general
// formats.
func parseAbsolute(text string, zone *time.Location, now *time.Time) (time.Time, parseResult) {
	if t, ok := parseRFC3339(text); ok {
		return t, dateGood
	}
	for _, layout := range zonedLayouts {
		if f, ok := layout.read(text); ok {
			return resultOf(f.wall().inZone(zone))
		}
	}
	return parseGeneral(text, now)
}

// resultOf converts the results of a parser that does not need now.
func resultOf(t time.Time, ok bool) (time.Time, parseResult) {
	if ok {
		return t, dateGood
	}
	return time.Time{}, dateBad
}

// wallClock is the time of a clock without its zone: seconds of the calendar since
// 1970-01-01T00:00:00, and nanoseconds, up to 2e9 in a leap second.
type wallClock struct {
	sec, nano int64
}

// The range of the service's calendar; instants beyond it match no condition.
var (
	firstInstant = time.Date(-262143, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	lastInstant  = time.Date(262142, 12, 31, 23, 59, 59, 0, time.UTC).Unix()
)

// maxOffset is an upper bound of the difference between any zone and UTC, in seconds.
const maxOffset = 48 * 3600

// inZone returns the instant at which clocks of the zone show w: the earlier one if there are two,
// none if w is in a gap. A nil zone is UTC.
func (w wallClock) inZone(zone *time.Location) (time.Time, bool) {
	if zone == nil || zone == time.UTC {
		return w.atOffset(0)
	}
	// The loop visits the periods of constant offset around w, in order, and returns the first one
	// in which clocks show w.
	for at := w.sec - maxOffset; ; {
		t := time.Unix(at, 0).In(zone)
		_, offset := t.Zone()
		start, end := t.ZoneBounds()
		sec := w.sec - int64(offset)
		if (start.IsZero() || sec >= start.Unix()) && (end.IsZero() || sec < end.Unix()) {
			return w.atOffset(int64(offset))
		}
		// Later periods cannot contain w.
		if end.IsZero() || end.Unix() > w.sec+maxOffset {
			return time.Time{}, false
		}
		at = end.Unix()
	}
}

// atOffset returns the instant at which clocks that are offset seconds ahead of UTC show w. A leap
// second, which time.Time does not represent, becomes the last nanosecond before the next second:
// it remains before that second and equal to itself.
func (w wallClock) atOffset(offset int64) (time.Time, bool) {
	sec := w.sec - offset
	if sec < firstInstant || sec > lastInstant {
		return time.Time{}, false
	}
	return time.Unix(sec, min(w.nano, 999_999_999)).UTC(), true
}

// wallAt returns the time that clocks of the zone show at t.
func wallAt(t time.Time, zone *time.Location) wallClock {
	offset := 0
	if zone != nil {
		_, offset = t.In(zone).Zone()
	}
	return wallClock{sec: t.Unix() + int64(offset), nano: int64(t.Nanosecond())}
}

// StepBack is a relative date: Count units before now.
type StepBack struct {
	Count int
	Unit  byte // h, d, w, m (months), y
}

// ParseStepBack parses an optional minus, digits and a unit. A number of 10000 or more is not a
// relative date.
func ParseStepBack(s string) (StepBack, bool) {
	if s != "" && s[0] == '-' {
		s = s[1:]
	}
	n := digits(s)
	if n == 0 || n != len(s)-1 {
		return StepBack{}, false
	}
	count := 0
	for _, c := range []byte(s[:n]) {
		if count = count*10 + int(c-'0'); count >= 10_000 {
			return StepBack{}, false
		}
	}
	switch unit := s[n]; unit {
	case 'h', 'd', 'w', 'm', 'y':
		return StepBack{Count: count, Unit: unit}, true
	}
	return StepBack{}, false
}

// before subtracts b from now on the wall clock of the zone and converts the result to an instant.
func (b StepBack) before(now time.Time, zone *time.Location) (time.Time, bool) {
	w := wallAt(now, zone)
	switch b.Unit {
	case 'h':
		// Hours and days are also subtracted on the wall clock, so a day may have 23 or 25 hours.
		w.sec -= int64(b.Count) * 3600
	case 'd':
		w.sec -= int64(b.Count) * 86400
	case 'w':
		w.sec -= int64(b.Count) * 7 * 86400
	case 'm':
		w = w.monthsBack(b.Count)
	case 'y':
		w = w.yearsBack(b.Count)
	}
	return w.inZone(zone)
}

// monthsBack steps one month at a time and limits the day to the length of each month on the way:
// two months before 31 March is 29 January in a leap year. A day up to 28 exists in every month, so
// the rest is one step.
func (w wallClock) monthsBack(n int) wallClock {
	year, month, day := w.date()
	for ; n > 0 && day > 28; n-- {
		if month--; month == 0 {
			year, month = year-1, 12
		}
		day = min(day, daysIn(year, month))
	}
	// The result may be before the year 0, so the division must round down.
	months := year*12 + month - 1 - n
	year = int(math.Floor(float64(months) / 12))
	return w.withDate(year, months-year*12+1, day)
}

// yearsBack subtracts n years. 29 February becomes the 28th in the first step and remains the 28th.
func (w wallClock) yearsBack(n int) wallClock {
	year, month, day := w.date()
	if n > 0 && month == 2 {
		day = min(day, 28)
	}
	return w.withDate(year-n, month, day)
}

// date returns the calendar date of w.
func (w wallClock) date() (year, month, day int) {
	y, m, d := time.Unix(w.sec, 0).UTC().Date()
	return y, int(m), d
}

// withDate returns w with another date and the same time of day.
func (w wallClock) withDate(year, month, day int) wallClock {
	return wallClock{sec: dateSeconds(year, month, day) + w.timeOfDay(), nano: w.nano}
}

// timeOfDay returns the number of seconds since midnight.
func (w wallClock) timeOfDay() int64 { return ((w.sec % 86400) + 86400) % 86400 }

// dateSeconds returns the midnight of a date in seconds since 1970.
func dateSeconds(year, month, day int) int64 {
	return time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC).Unix()
}

// daysIn returns the number of days of a month, 1 to 12.
func daysIn(year, month int) int {
	switch month {
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

// digits returns the number of ASCII digits at the beginning of s.
func digits(s string) int {
	n := 0
	// The subtraction wraps around for bytes below '0'.
	for n < len(s) && s[n]-'0' <= 9 {
		n++
	}
	return n
}

// hasPrefixFold reports whether s begins with lowered, ignoring the case of ASCII letters.
func hasPrefixFold(s, lowered string) bool {
	return len(s) >= len(lowered) && strings.EqualFold(s[:len(lowered)], lowered)
}

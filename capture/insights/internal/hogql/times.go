package hogql

import (
	"strings"
	"time"
)

// These are durations in microseconds.
const (
	second = int64(time.Second / time.Microsecond)
	minute = 60 * second
	hour   = 60 * minute
	day    = 24 * hour
)

// These are the indexes of units, see units in parsecalls.go.
const (
	unitSecond = iota
	unitMinute
	unitHour
	unitDay
	unitWeek
	unitMonth
	unitQuarter
	unitYear
)

// ParseTime parses the absolute formats of a date (§3.1.1), and returns it in microseconds
// since 1970. Without an offset the date is local time in zone.
func ParseTime(s string, zone *time.Location) (int64, bool) {
	t, local, ok := ParseDate(s)
	if ok && local {
		t = Local(t, zone)
	}
	return t.UnixMicro(), ok
}

// ParseDate parses the absolute formats of a date (§3.1.1). If local is true, the date has no
// offset, and t is the local time as if it were UTC; otherwise t is the instant. Years must
// be from 1970 to 2100.
//
// The formats are a date such as 2020-01-31, optionally followed by T or a space and a time
// such as 13:04, 13:04:05 or 13:04:05.678, optionally followed by an offset. Month, day and
// hour may have a single digit.
func ParseDate(s string) (t time.Time, local, ok bool) {
	r := digits{rest: s}
	year, month, dayOf := r.number(4, 4), r.after('-', 1, 2), r.after('-', 1, 2)
	var clock [3]int
	var micros int
	offset, hasOffset := 0, false
	if !r.bad && r.rest != "" {
		if !r.sign('T') && !r.sign(' ') {
			return t, false, false
		}
		clock[0], clock[1] = r.number(1, 2), r.after(':', 2, 2)
		if r.sign(':') {
			clock[2] = r.number(2, 2)
			micros = r.fraction()
		}
		offset, hasOffset = r.offset()
	}
	// All parts must be in range, and there must be no text after them.
	if r.bad || r.rest != "" || year < 1970 || year > 2100 || month < 1 || month > 12 || clock[0] > 23 || clock[1] > 59 || clock[2] > 59 {
		return t, false, false
	}
	if dayOf < 1 || dayOf > daysIn(year, time.Month(month)) {
		return t, false, false
	}
	t = time.Date(year, time.Month(month), dayOf, clock[0], clock[1], clock[2], micros*1000, time.UTC)
	return t.Add(-time.Duration(offset) * time.Minute), !hasOffset, true
}

// digits parses the parts of a date. After an error, bad is true.
//
// Its methods consume the text from the left. They need not be checked individually: it is
// sufficient to check bad at the end.
type digits struct {
	rest string
	bad  bool
}

// sign skips a character, and reports whether it was there.
func (r *digits) sign(c byte) bool {
	if r.rest == "" || r.rest[0] != c {
		return false
	}
	r.rest = r.rest[1:]
	return true
}

// number parses an integer with at least low and at most high digits.
func (r *digits) number(low, high int) int {
	n, i := 0, 0
	for i < len(r.rest) && i < high && r.rest[i] >= '0' && r.rest[i] <= '9' {
		n = n*10 + int(r.rest[i]-'0')
		i++
	}
	r.bad = r.bad || i < low
	r.rest = r.rest[i:]
	return n
}

// after parses an integer that must follow a character.
func (r *digits) after(c byte, low, high int) int {
	if !r.sign(c) {
		r.bad = true
	}
	return r.number(low, high)
}

// fraction parses up to nine digits of a second, and returns microseconds.
func (r *digits) fraction() int {
	if !r.sign('.') {
		return 0
	}
	before := len(r.rest)
	n := r.number(1, 6)
	for i := before - len(r.rest); i < 6; i++ {
		n *= 10
	}
	r.number(0, 3)
	return n
}

// offset parses Z, +02:00, +0200 or +02, and returns minutes.
func (r *digits) offset() (int, bool) {
	if r.rest == "" {
		return 0, false
	}
	if r.sign('Z') {
		return 0, true
	}
	negative := r.sign('-')
	if !negative && !r.sign('+') {
		r.bad = true
	}
	n := r.number(2, 2) * 60
	if r.sign(':') || r.rest != "" {
		n += r.number(2, 2)
	}
	if negative {
		n = -n
	}
	return n, true
}

// daysIn returns the number of days of a month.
func daysIn(year int, month time.Month) int {
	return time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

// Clock returns the local time in a zone at an instant, as a time in UTC.
func Clock(t time.Time, zone *time.Location) time.Time {
	_, offset := t.In(zone).Zone()
	return t.UTC().Add(time.Duration(offset) * time.Second)
}

// Local returns the first instant at which the local time in a zone is w. If the clock skips
// that time, it returns the first instant after the gap.
func Local(w time.Time, zone *time.Location) time.Time {
	if w = w.UTC(); zone == time.UTC {
		return w
	}
	// The offset changes at most once within these two days. With the greater offset the
	// local time is reached first.
	_, before := w.Add(-24 * time.Hour).In(zone).Zone()
	_, after := w.Add(24 * time.Hour).In(zone).Zone()
	early := w.Add(-time.Duration(max(before, after)) * time.Second)
	late := w.Add(-time.Duration(min(before, after)) * time.Second)
	switch {
	case Clock(early, zone).Equal(w):
		return early
	case Clock(late, zone).Equal(w):
		return late
	}
	// The clock skips the time: the gap ends where the new offset begins.
	start, _ := late.In(zone).ZoneBounds()
	return start.UTC()
}

// AddMonths moves a time by months without changing the time of day. If the month does not
// have the day, the result is its last day.
func AddMonths(t time.Time, n int) time.Time {
	y, m, d := t.Date()
	y, m, _ = time.Date(y, m+time.Month(n), 1, 0, 0, 0, 0, time.UTC).Date()
	return time.Date(y, m, min(d, daysIn(y, m)), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), t.Location())
}

// dayNumber returns the number of days from 1970 to a date.
func dayNumber(t time.Time) int64 {
	y, m, d := t.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix() / 86400
}

// dateTime returns midnight in UTC of a number of days since 1970.
func dateTime(days int64) time.Time { return time.Unix(days*86400, 0).UTC() }

// midnight returns the instant at which a date begins in the project's zone.
func (e *env) midnight(days int64) int64 { return midnightIn(days, e.zone) }

// midnightIn returns the instant at which a date begins in a zone.
func midnightIn(days int64, zone *time.Location) int64 {
	return Local(dateTime(days), zone).UnixMicro()
}

// local returns a time in its zone, or a date.
func (e *env) local(v Value) time.Time {
	if v.kind == Date {
		return dateTime(v.n)
	}
	return time.UnixMicro(v.n).In(e.zoneOf(v))
}

// zoneOf returns the zone of a time, which is the project's by default.
func (e *env) zoneOf(v Value) *time.Location {
	if v.s != "" && v.kind == Time {
		if z := e.zones[v.s]; z != nil {
			return z
		}
	}
	return e.zone
}

// addPeriod moves a time or date by n units. Seconds, minutes and hours are absolute; longer
// units change the date but not the time of day (§2.9.7).
func (e *env) addPeriod(v Value, n int64, unit int) Value {
	// A larger number would overflow the computation.
	if n > 1e9 || n < -1e9 {
		return Value{}
	}
	if unit <= unitHour {
		if v.kind == Date {
			v = TimeOf(e.midnight(v.n))
		}
		v.n += n * [...]int64{second, minute, hour}[unit]
		return v
	}
	t := e.local(v)
	months := [...]int64{unitMonth: 1, unitQuarter: 3, unitYear: 12}
	switch unit {
	case unitDay:
		t = t.AddDate(0, 0, int(n))
	case unitWeek:
		t = t.AddDate(0, 0, int(7*n))
	default:
		t = AddMonths(t, int(n*months[unit]))
	}
	if v.kind == Date {
		v.n = dayNumber(t)
	} else {
		v.n = t.UnixMicro()
	}
	return v
}

// span is the interval that contains an instant: its value, its beginning, and its exclusive
// end.
type span struct {
	from, to int64
	value    Value
}

// bucket truncates a time to n units in its zone. The result is a time for days and shorter
// units, and a date for longer ones.
//
// Multiples of days, months and quarters are counted from 1970, those of weeks from the
// weekStart on or before 1970-01-01, and those of years from year 0.
func (e *env) bucket(v Value, unit int, n int64, weekStart time.Weekday) span {
	zone := e.zoneOf(v)
	t := e.local(v)
	if v.kind == Date {
		zone = e.zone
		v = TimeOf(e.midnight(v.n))
	}
	if unit <= unitHour {
		return e.clockBucket(v, t, unit, n)
	}
	days := dayNumber(t)
	// first and next are the days on which this interval and the next one begin.
	var first, next int64
	y, m, _ := t.Date()
	month := func(count int64) int64 { // for a number of months since year 0
		return dayNumber(time.Date(0, time.Month(count+1), 1, 0, 0, 0, 0, time.UTC))
	}
	switch unit {
	case unitDay:
		first = floorTo(days, n)
		next = first + n
	case unitWeek:
		shift := int64((4 - int(weekStart) + 7) % 7) // 1970 began on a Thursday
		first = floorTo(days+shift, 7*n) - shift
		next = first + 7*n
	default:
		size := n * [...]int64{unitMonth: 1, unitQuarter: 3, unitYear: 12}[unit]
		since := int64(y)*12 + int64(m) - 1
		// Months and quarters are counted from 1970, years from year 0.
		if unit != unitYear {
			since = floorTo(since-1970*12, size) + 1970*12
		} else {
			since = floorTo(since, size)
		}
		first, next = month(since), month(since+size)
	}
	b := span{from: midnightIn(first, zone), to: midnightIn(next, zone)}
	b.value = Value{kind: Date, n: first}
	if unit == unitDay {
		b.value = Value{kind: Time, n: b.from, s: v.s}
	}
	return b
}

// clockBucket truncates to hours, minutes and seconds. A single hour, minute or second is
// that of the clock, so that a repeated hour counts as two hours; multiples are counted from
// midnight.
//
// If the offset of the zone changes within the interval, the span is empty, so that start
// does not use it for other times.
func (e *env) clockBucket(v Value, t time.Time, unit int, n int64) span {
	size := n * [...]int64{second, minute, hour}[unit]
	within := (int64(t.Minute())*60+int64(t.Second()))*second + int64(t.Nanosecond()/1000)
	// Multiples that do not divide an hour are counted from midnight.
	if size > hour || hour%size != 0 {
		within += int64(t.Hour()) * hour
	}
	from := v.n - within%size
	to := from + size
	if start, end := t.ZoneBounds(); !end.IsZero() && end.UnixMicro() < to || !start.IsZero() && start.UnixMicro() > from {
		from, to = v.n, v.n // the offset changes within the interval, so it cannot be used for other times
		return span{from: from, to: to, value: Value{kind: Time, n: v.n - within%size, s: v.s}}
	}
	return span{from: from, to: to, value: Value{kind: Time, n: from, s: v.s}}
}

// floorTo rounds n down to a multiple of size.
func floorTo(n, size int64) int64 {
	r := n % size
	if r < 0 {
		r += size
	}
	return n - r
}

// borders returns the number of beginnings of a unit between two times, for dateDiff.
//
// It is negative if b is earlier than a. Weeks begin on Monday.
func (e *env) borders(unit int, a, b Value) int64 {
	if unit <= unitHour {
		size := [...]int64{second, minute, hour}[unit]
		return (e.bucket(b, unit, 1, 0).value.n - e.bucket(a, unit, 1, 0).value.n) / size
	}
	index := func(v Value) int64 {
		t := e.local(v)
		y, m, _ := t.Date()
		switch unit {
		case unitDay:
			return dayNumber(t)
		case unitWeek:
			// 1970 began on a Thursday, so that three more days count weeks from Monday.
			return floorTo(dayNumber(t)+3, 7) / 7
		case unitMonth:
			return int64(y)*12 + int64(m)
		case unitQuarter:
			return int64(y)*4 + int64(m-1)/3
		}
		return int64(y)
	}
	return index(b) - index(a)
}

// loadZone returns the zone with a name. Zones are cached.
func (e *env) loadZone(name string) (*time.Location, bool) {
	if z := e.zones[name]; z != nil {
		return z, true
	}
	if name == "" || strings.EqualFold(name, "local") {
		return nil, false
	}
	z, err := time.LoadLocation(name)
	if err != nil {
		return nil, false
	}
	e.zones[name] = z
	return z, true
}

package calendar

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/hogql"
)

// dateForm is the form in which a query specifies a date (§3.1.1).
type dateForm uint8

// The forms of dates.
const (
	NoDate   dateForm = iota // absent
	instant                  // with an offset
	Wall                     // in local time of the project's zone
	Relative                 // an amount of time before now
	AllTime                  // "all"
)

// Date is a date of a query. It is resolved to an instant when the query runs.
type Date struct {
	Form dateForm
	// at is the instant; for a local time it is the instant at which a clock in UTC shows that
	// time.
	at time.Time
	// A relative date is count units before now, then cut to the start or end of the unit.
	Count int
	Unit  byte
	Edge  string // "", "Start" or "End"
}

// relativeDate matches a relative date: a number, a unit, and optionally Start or End.
var relativeDate = regexp.MustCompile(`^-?(\d{0,5})([sMhdwmqy])(Start|End)?$`)

// edges are the units for which Start and End are allowed.
const edges = "hdwmqy"

// dateWords are the dates with names. Days are cut to their start; at the end of a range lastDate
// cuts them to their end.
var dateWords = map[string]Date{
	"now":       {Form: Relative, Unit: 's'},
	"today":     {Form: Relative, Unit: 'd', Edge: "Start"},
	"yesterday": {Form: Relative, Count: 1, Unit: 'd', Edge: "Start"},
}

// ParseDate parses a date and reports whether it is valid. The word "all" is valid only if all is
// true.
func ParseDate(text string, all bool) (Date, bool) {
	if all && text == "all" {
		return Date{Form: AllTime}, true
	}
	if d, ok := dateWords[text]; ok {
		return d, true
	}
	if m := relativeDate.FindStringSubmatch(text); m != nil {
		d := Date{Form: Relative, Unit: m[2][0], Edge: m[3]}
		d.Count, _ = strconv.Atoi("0" + m[1])
		return d, d.Edge == "" || strings.Contains(edges, m[2])
	}
	return parseAbsolute(text)
}

// parseAbsolute parses a calendar date, with or without a time and an offset.
func parseAbsolute(text string) (Date, bool) {
	t, local, ok := hogql.ParseDate(text)
	if !ok {
		t, local, ok = parseISO(text)
	}
	if local {
		return Date{Form: Wall, at: t}, ok
	}
	return Date{Form: instant, at: t}, ok
}

// isoDate matches the forms of ISO 8601 besides the usual one: without separators, only a year or a
// month, weeks, days of the year, only hours, a comma before the fraction.
var isoDate = regexp.MustCompile(`^(\d{4})(?:-?(\d\d)(?:-?(\d\d))?|-?W(\d\d)(?:-?([1-7]))?|-?(\d{3}))?(?:[T ](\d\d)(?::?(\d\d)(?::?(\d\d)(?:[.,](\d{1,9}))?)?)?(Z|[+-]\d\d(?::?\d\d)?)?)?$`)

// parseISO converts such a date to the usual form and parses it; the year must be between 1970 and
// 2100. local is true if there is no offset.
func parseISO(text string) (t time.Time, local, ok bool) {
	m := isoDate.FindStringSubmatch(text)
	if m == nil {
		return t, false, false
	}
	part := func(i, fallback int) int {
		if m[i] == "" {
			return fallback
		}
		n, _ := strconv.Atoi(m[i])
		return n
	}
	year := part(1, 0)
	day := time.Date(year, time.Month(part(2, 1)), part(3, 1), 0, 0, 0, 0, time.UTC)
	switch {
	case m[4] != "":
		// January 4 is always in week 1, and weeks begin on Monday.
		fourth := time.Date(year, 1, 4, 0, 0, 0, 0, time.UTC)
		day = fourth.AddDate(0, 0, 7*(part(4, 1)-1)+part(5, 1)-1-(int(fourth.Weekday())+6)%7)
		if y, w := day.ISOWeek(); y != year || w != part(4, 1) {
			return t, false, false
		}
	case m[6] != "":
		if day = time.Date(year, 1, part(6, 1), 0, 0, 0, 0, time.UTC); day.Year() != year || part(6, 1) == 0 {
			return t, false, false
		}
	case day.Month() != time.Month(part(2, 1)) || part(2, 1) == 0 || part(3, 1) == 0: // the day does not exist
		return t, false, false
	}
	clock := ""
	if m[7] != "" {
		clock = fmt.Sprintf("T%02d:%02d:%02d", part(7, 0), part(8, 0), part(9, 0))
		if m[10] != "" {
			clock += "." + m[10][:min(6, len(m[10]))]
		}
		clock += m[11]
	}
	return hogql.ParseDate(day.Format(time.DateOnly) + clock)
}

// ReadDate returns the node as a date; an absent or empty one has the form NoDate. all is as in
// ParseDate.
func ReadDate(n document.Node, all bool) Date {
	text := n.Text("")
	if n.IsAbsent() || n.HasFailed() || text == "" {
		return Date{}
	}
	d, ok := ParseDate(text, all)
	if !ok {
		n.Fail(document.InvalidInput, "%s is not a date: use one such as 2026-01-31, 2026-01-31T10:00:00Z, -7d, mStart, today, yesterday or now, between 1970 and 2100.", document.Describe(text))
	}
	return d
}

// ReadLastDate is like date for the end of a range: today and yesterday mean the end of the day.
func ReadLastDate(n document.Node) Date {
	d := ReadDate(n, false)
	if text, _ := n.Value.(string); d.Edge != "" && dateWords[text].Edge != "" {
		d.Edge = "End"
	}
	return d
}

// Resolve returns the instant of a date whose form is neither NoDate nor AllTime.
func (c Calendar) Resolve(d Date, now time.Time) time.Time {
	switch d.Form {
	case instant:
		return d.at
	case Wall:
		return c.Local(d.at)
	}
	t := c.subtract(now, d)
	switch d.Edge {
	case "Start":
		return c.StartOf(EdgeUnits[d.Unit], t)
	case "End":
		start := c.StartOf(EdgeUnits[d.Unit], t)
		return c.Next(EdgeUnits[d.Unit], start).Add(-time.Microsecond)
	}
	return t
}

// subtract goes back from an instant by a relative date. Months and years are calendar units, with
// the day clamped to the length of the month; days and weeks preserve the local time of day;
// shorter units are exact durations.
func (c Calendar) subtract(t time.Time, d Date) time.Time {
	n := d.Count
	switch d.Unit {
	case 's':
		return t.Add(-time.Duration(n) * time.Second)
	case 'M':
		return t.Add(-time.Duration(n) * time.Minute)
	case 'h':
		return t.Add(-time.Duration(n) * time.Hour)
	}
	return c.Local(SubtractOnCalendar(c.Clock(t), d))
}

// SubtractOnCalendar subtracts a relative date from a local time. Units shorter than a day are
// subtracted as durations.
func SubtractOnCalendar(w time.Time, d Date) time.Time {
	n := d.Count
	switch d.Unit {
	case 'd':
		return w.AddDate(0, 0, -n)
	case 'w':
		return w.AddDate(0, 0, -7*n)
	case 'q':
		if d.Edge != "" { // a calendar quarter; without an edge a quarter is 13 weeks
			return hogql.AddMonths(w, -3*n)
		}
		return w.AddDate(0, 0, -91*n)
	case 'm':
		return hogql.AddMonths(w, -n)
	case 'y':
		return hogql.AddMonths(w, -12*n)
	}
	return w.Add(-time.Duration(n) * map[byte]time.Duration{'s': time.Second, 'M': time.Minute, 'h': time.Hour}[d.Unit])
}

// ReadRelativeDate returns a relative date; one with the form NoDate if the node is absent.
func ReadRelativeDate(n document.Node) Date {
	d := ReadDate(n, false)
	if d.Form != NoDate && d.Form != Relative {
		n.Fail(document.InvalidInput, "%s is not a relative date such as -1m.", document.Describe(n.Value))
	}
	return d
}

// ReadInstant returns a time in the format of RFC 3339, which is required.
func ReadInstant(n document.Node) time.Time {
	at, err := time.Parse(time.RFC3339Nano, n.Text(""))
	if err != nil || at.Year() < 1970 || at.Year() > 9999 {
		n.Fail(document.InvalidInput, "Expected a time like 2025-03-01T12:00:00Z.")
	}
	return at
}

// ReadOptionalInstant returns an instant in the format of RFC 3339, the zero time if it is absent or
// empty.
func ReadOptionalInstant(n document.Node) time.Time {
	text := n.Text("")
	if text == "" {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		n.Fail(document.InvalidInput, "Expected a time such as 2026-01-02T15:04:05Z, not %s.", document.Describe(text))
	}
	return at
}

// Range is the Range of a query.
type Range struct {
	From, To Date
	// Explicit is explicitDate: the dates are not rounded to whole intervals.
	Explicit bool
}

// ReadRange parses a Range; without one, all its dates are absent.
func ReadRange(n document.Node) Range {
	object := n.Object()
	return Range{From: ReadDate(object.Get("date_from"), true), To: ReadLastDate(object.Get("date_to")), Explicit: object.Get("explicitDate").Boolean()}
}

// ReadInterval parses the member interval: one of the allowed intervals, by default day.
func ReadInterval(n document.Node, allowed ...Interval) Interval {
	names := make([]string, len(allowed))
	for i, name := range allowed {
		names[i] = string(name)
	}
	return Interval(n.Get("interval").Choice(string(Day), names...))
}

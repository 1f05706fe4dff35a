package insights

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
	noDate   dateForm = iota // absent
	instant                  // with an offset
	wall                     // in local time of the project's zone
	relative                 // an amount of time before now
	allTime                  // "all"
)

// date is a date of a query. It is resolved to an instant when the query runs.
type date struct {
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
var dateWords = map[string]date{
	"now":       {Form: relative, Unit: 's'},
	"today":     {Form: relative, Unit: 'd', Edge: "Start"},
	"yesterday": {Form: relative, Count: 1, Unit: 'd', Edge: "Start"},
}

// parseDate parses a date and reports whether it is valid. The word "all" is valid only if all is
// true.
func parseDate(text string, all bool) (date, bool) {
	if all && text == "all" {
		return date{Form: allTime}, true
	}
	if d, ok := dateWords[text]; ok {
		return d, true
	}
	if m := relativeDate.FindStringSubmatch(text); m != nil {
		d := date{Form: relative, Unit: m[2][0], Edge: m[3]}
		d.Count, _ = strconv.Atoi("0" + m[1])
		return d, d.Edge == "" || strings.Contains(edges, m[2])
	}
	return parseAbsolute(text)
}

// parseAbsolute parses a calendar date, with or without a time and an offset.
func parseAbsolute(text string) (date, bool) {
	t, local, ok := hogql.ParseDate(text)
	if !ok {
		t, local, ok = parseISO(text)
	}
	if local {
		return date{Form: wall, at: t}, ok
	}
	return date{Form: instant, at: t}, ok
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

// readDate returns the node as a date; an absent or empty one has the form noDate. all is as in
// parseDate.
func readDate(n document.Node, all bool) date {
	text := n.Text("")
	if n.IsAbsent() || n.HasFailed() || text == "" {
		return date{}
	}
	d, ok := parseDate(text, all)
	if !ok {
		n.Fail(document.InvalidInput, "%s is not a date: use one such as 2026-01-31, 2026-01-31T10:00:00Z, -7d, mStart, today, yesterday or now, between 1970 and 2100.", document.Describe(text))
	}
	return d
}

// readLastDate is like date for the end of a range: today and yesterday mean the end of the day.
func readLastDate(n document.Node) date {
	d := readDate(n, false)
	if text, _ := n.Value.(string); d.Edge != "" && dateWords[text].Edge != "" {
		d.Edge = "End"
	}
	return d
}

// Resolve returns the instant of a date whose form is neither noDate nor allTime.
func (c calendar) Resolve(d date, now time.Time) time.Time {
	switch d.Form {
	case instant:
		return d.at
	case wall:
		return c.Local(d.at)
	}
	t := c.subtract(now, d)
	switch d.Edge {
	case "Start":
		return c.StartOf(edgeUnits[d.Unit], t)
	case "End":
		start := c.StartOf(edgeUnits[d.Unit], t)
		return c.Next(edgeUnits[d.Unit], start).Add(-time.Microsecond)
	}
	return t
}

// subtract goes back from an instant by a relative date. Months and years are calendar units, with
// the day clamped to the length of the month; days and weeks preserve the local time of day;
// shorter units are exact durations.
func (c calendar) subtract(t time.Time, d date) time.Time {
	n := d.Count
	switch d.Unit {
	case 's':
		return t.Add(-time.Duration(n) * time.Second)
	case 'M':
		return t.Add(-time.Duration(n) * time.Minute)
	case 'h':
		return t.Add(-time.Duration(n) * time.Hour)
	}
	return c.Local(subtractOnCalendar(c.Clock(t), d))
}

// subtractOnCalendar subtracts a relative date from a local time. Units shorter than a day are
// subtracted as durations.
func subtractOnCalendar(w time.Time, d date) time.Time {
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

// readRelativeDate returns a relative date; one with the form noDate if the node is absent.
func readRelativeDate(n document.Node) date {
	d := readDate(n, false)
	if d.Form != noDate && d.Form != relative {
		n.Fail(document.InvalidInput, "%s is not a relative date such as -1m.", document.Describe(n.Value))
	}
	return d
}

// readInstant returns a time in the format of RFC 3339, which is required.
func readInstant(n document.Node) time.Time {
	at, err := time.Parse(time.RFC3339Nano, n.Text(""))
	if err != nil || at.Year() < 1970 || at.Year() > 9999 {
		n.Fail(document.InvalidInput, "Expected a time like 2025-03-01T12:00:00Z.")
	}
	return at
}

// readOptionalInstant returns an instant in the format of RFC 3339, the zero time if it is absent or
// empty.
func readOptionalInstant(n document.Node) time.Time {
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

// dateRange is the dateRange of a query.
type dateRange struct {
	From, To date
	// Explicit is explicitDate: the dates are not rounded to whole intervals.
	Explicit bool
}

// readDateRange parses a dateRange; without one, all its dates are absent.
func readDateRange(n document.Node) dateRange {
	object := n.Object()
	return dateRange{From: readDate(object.Get("date_from"), true), To: readLastDate(object.Get("date_to")), Explicit: object.Get("explicitDate").Boolean()}
}

// readInterval parses the member interval: one of the allowed intervals, by default day.
func readInterval(n document.Node, allowed ...interval) interval {
	names := make([]string, len(allowed))
	for i, name := range allowed {
		names[i] = string(name)
	}
	return interval(n.Get("interval").Choice(string(day), names...))
}

package insights

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/capture/insights/internal/hogql"
)

// dateForm is how a date of a query is given (§3.1.1).
type dateForm uint8

const (
	noDate   dateForm = iota // absent
	instant                  // with an offset
	wall                     // local time of the project's zone
	relative                 // so much before now
	allTime                  // "all"
)

// date is a date of a query, to be resolved when it runs.
type date struct {
	form dateForm
	// at is the instant; of a wall clock's time what it would be in UTC.
	at time.Time
	// count units before now, then cut to the unit's start or end.
	count int
	unit  byte
	edge  string // "", "Start" or "End"
}

var relativeDate = regexp.MustCompile(`^-?(\d{0,5})([sMhdwmqy])(Start|End)?$`)

// edges are the units whose start or end can be asked for.
const edges = "hdwmqy"

// dateWords are dates by name. Days begin where a range begins, and end where it ends.
var dateWords = map[string]date{
	"now":       {form: relative, unit: 's'},
	"today":     {form: relative, unit: 'd', edge: "Start"},
	"yesterday": {form: relative, count: 1, unit: 'd', edge: "Start"},
}

// parseDate reads a date; all says whether "all" is one.
func parseDate(text string, all bool) (date, bool) {
	if all && text == "all" {
		return date{form: allTime}, true
	}
	if d, ok := dateWords[text]; ok {
		return d, true
	}
	if m := relativeDate.FindStringSubmatch(text); m != nil {
		d := date{form: relative, unit: m[2][0], edge: m[3]}
		d.count, _ = strconv.Atoi("0" + m[1])
		return d, d.edge == "" || strings.Contains(edges, m[2])
	}
	return parseAbsolute(text)
}

// parseAbsolute reads a calendar date, with or without a time and an offset.
func parseAbsolute(text string) (date, bool) {
	t, local, ok := hogql.ParseDate(text)
	if !ok {
		t, local, ok = parseISO(text)
	}
	if local {
		return date{form: wall, at: t}, ok
	}
	return date{form: instant, at: t}, ok
}

// isoDate is what ISO 8601 allows beside the usual form: no separators, a year or a month
// alone, a week, a day of the year, hours alone, a comma before the fraction.
var isoDate = regexp.MustCompile(`^(\d{4})(?:-?(\d\d)(?:-?(\d\d))?|-?W(\d\d)(?:-?([1-7]))?|-?(\d{3}))?(?:[T ](\d\d)(?::?(\d\d)(?::?(\d\d)(?:[.,](\d{1,9}))?)?)?(Z|[+-]\d\d(?::?\d\d)?)?)?$`)

// parseISO brings such a date into the usual form, between 1970 and 2100; local is without
// an offset.
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
		// The fourth of January is in the first week, which begins on a Monday.
		fourth := time.Date(year, 1, 4, 0, 0, 0, 0, time.UTC)
		day = fourth.AddDate(0, 0, 7*(part(4, 1)-1)+part(5, 1)-1-(int(fourth.Weekday())+6)%7)
		if y, w := day.ISOWeek(); y != year || w != part(4, 1) {
			return t, false, false
		}
	case m[6] != "":
		if day = time.Date(year, 1, part(6, 1), 0, 0, 0, 0, time.UTC); day.Year() != year || part(6, 1) == 0 {
			return t, false, false
		}
	case day.Month() != time.Month(part(2, 1)) || part(2, 1) == 0 || part(3, 1) == 0: // there is no such day
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

// date reads the node as a date or nothing.
func (n node) date(all bool) date {
	text := n.text("")
	if n.isAbsent() || n.hasFailed() || text == "" {
		return date{}
	}
	d, ok := parseDate(text, all)
	if !ok {
		n.fail(invalidInput, "%s is no date: want one such as 2026-01-31, 2026-01-31T10:00:00Z, -7d, mStart, today, yesterday or now, between 1970 and 2100.", describe(text))
	}
	return d
}

// lastDate is date of the end of a range.
func (n node) lastDate() date {
	d := n.date(false)
	if text, _ := n.value.(string); d.edge != "" && dateWords[text].edge != "" {
		d.edge = "End"
	}
	return d
}

// calendar is a project's clock: its zone and its week.
type calendar struct {
	zone      *time.Location
	weekStart time.Weekday
}

// resolve gives the instant of a date that is neither absent nor "all".
func (c calendar) resolve(d date, now time.Time) time.Time {
	switch d.form {
	case instant:
		return d.at
	case wall:
		return c.local(d.at)
	}
	t := c.subtract(now, d)
	switch d.edge {
	case "Start":
		return c.startOf(edgeUnits[d.unit], t)
	case "End":
		start := c.startOf(edgeUnits[d.unit], t)
		return c.next(edgeUnits[d.unit], start).Add(-time.Microsecond)
	}
	return t
}

// subtract goes back from an instant: months and years move the calendar and clamp the
// day, days and weeks keep the local clock, what is shorter is absolute.
func (c calendar) subtract(t time.Time, d date) time.Time {
	n := d.count
	switch d.unit {
	case 's':
		return t.Add(-time.Duration(n) * time.Second)
	case 'M':
		return t.Add(-time.Duration(n) * time.Minute)
	case 'h':
		return t.Add(-time.Duration(n) * time.Hour)
	}
	return c.local(subtractOnCalendar(c.clock(t), d))
}

// subtractOnCalendar is back for units of a day and longer, on a wall clock.
func subtractOnCalendar(w time.Time, d date) time.Time {
	n := d.count
	switch d.unit {
	case 'd':
		return w.AddDate(0, 0, -n)
	case 'w':
		return w.AddDate(0, 0, -7*n)
	case 'q':
		if d.edge != "" { // a calendar quarter, where the bare unit has 13 weeks
			return hogql.AddMonths(w, -3*n)
		}
		return w.AddDate(0, 0, -91*n)
	case 'm':
		return hogql.AddMonths(w, -n)
	case 'y':
		return hogql.AddMonths(w, -12*n)
	}
	return w.Add(-time.Duration(n) * map[byte]time.Duration{'s': time.Second, 'M': time.Minute, 'h': time.Hour}[d.unit])
}

// clock is what the clock of the project's zone shows.
func (c calendar) clock(t time.Time) time.Time { return hogql.Clock(t, c.zone) }

// local is the first instant at which that clock shows a time.
func (c calendar) local(w time.Time) time.Time { return hogql.Local(w, c.zone) }

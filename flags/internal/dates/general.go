package dates

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// zonedLayouts are the layouts that use the project's zone, in the order of §4.7.
var zonedLayouts = compileLayouts("%Y-%m-%d", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M")

// generalForm is one of the general formats: the shape that a text must have, and the layouts that
// are tried in turn. Times are UTC unless the text has an offset or a zone; missing parts are taken
// from now.
type generalForm struct {
	shape   *regexp.Regexp // has a group if the text ends with a zone
	fill    fillFrom
	edit    func(text string, now time.Time) string // adapts the text to the layouts
	layouts []dateLayout
}

// fillFrom is the part of the instant that is taken from now.
type fillFrom uint8

const (
	// The text has a date and a time.
	fillNothing fillFrom = iota
	// The text has only a date: the time of day is taken from now.
	fillTime
	// The text has only a time of day: the date is taken from now.
	fillDate
	fillText // edit inserts it into the text
	// Both fillText and fillTime.
	fillTextAndTime
)

// generalForms are tried in this order; a text that has a shape but fits none of its layouts is
// tried with the next one. Formats that an earlier step of §4.7 always accepts, or always refuses,
// are left out. The white space of these patterns is that of Unicode, and `+-:` is a range that
// includes digits, points and slashes too.
var generalForms = sync.OnceValue(func() []generalForm {
	// form replaces the abbreviations in a shape: {hm} and {Hm} are hours with two digits and with
	// one or two, {ap} is am or pm.
	form := func(shape string, fill fillFrom, edit func(string, time.Time) string, layouts ...string) generalForm {
		shape = strings.NewReplacer(
			`\s`, `[\t-\r\x{85}\p{Z}]`, `{ap}`, `(?:am|pm|AM|PM)?`, `{date}`, `[0-9]{4}-[0-9]{2}-[0-9]{2}`,
			`{hm}`, `[0-9]{2}:[0-9]{2}(?::[0-9]{2})?`, `{Hm}`, `[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?`,
			`{frac}`, `(?:\.[0-9]{1,9})?`, `{zone}`, `[+-:a-zA-Z0-9]{3,6}`, `{month}`, `[a-zA-Z]{3,9}`,
		).Replace(shape)
		return generalForm{regexp.MustCompile(shape), fill, edit, compileLayouts(layouts...)}
	}
	// These functions bring a text into the form of the layouts: they remove commas, the points of
	// abbreviations and the word "at", or insert the current year or day.
	commas := func(s string, _ time.Time) string {
		return strings.ReplaceAll(strings.ReplaceAll(s, ", ", " "), ". ", " ")
	}
	commaBlank := func(s string, _ time.Time) string { return strings.ReplaceAll(s, ", ", " ") }
	commasAndAt := func(s string, _ time.Time) string {
		return strings.ReplaceAll(strings.ReplaceAll(s, ",", ""), "at", "")
	}
	thisYear := func(s string, now time.Time) string { return strconv.Itoa(now.Year()) + " " + s }
	thisDay := func(s string, now time.Time) string { return s + "." + strconv.Itoa(now.Day()) }

	return []generalForm{
		form(`^{date}\s+{hm}{frac}[+-:0-9]{3,6}$`, fillNothing, nil,
			"%Y-%m-%d %H:%M:%S%z", "%Y-%m-%d %H:%M:%S%.f%z", "%Y-%m-%d %H:%M%z"),
		form(`^{date}\s+{hm}{frac}\s*{ap}$`, fillNothing, nil,
			"%Y-%m-%d %I:%M:%S %P", "%Y-%m-%d %I:%M %P"),
		form(`^{date}\s+{hm}{frac}(\s*{zone})$`, fillNothing, nil,
			"%Y-%m-%d %H:%M:%S %Z", "%Y-%m-%d %H:%M %Z", "%Y-%m-%d %H:%M:%S%.f %Z"),
		form(`^{date}(\s*{zone})$`, fillTime, nil, "%Y-%m-%d %Z"),
		form(`^{Hm}\s*{ap}$`, fillDate, nil,
			"%H:%M:%S", "%H:%M", "%I:%M:%S %P", "%I:%M %P"),
		form(`^{Hm}\s*{ap}(\s+{zone})$`, fillDate, nil,
			"%H:%M:%S %Z", "%H:%M %Z", "%I:%M:%S %P %Z", "%I:%M %P %Z"),
		form(`^[0-9]{4}-{month}-[0-9]{2}$`, fillTime, nil, "%Y-%b-%d"),
		form(`^[a-zA-Z]{3}\s+[0-9]{1,2}\s*(?:at)?\s+{Hm}\s*{ap}$`, fillText, thisYear,
			"%Y %b %d at %I:%M %P", "%Y %b %d %H:%M:%S"),
		form(`^{month}\.?\s+[0-9]{1,2},\s+[0-9]{2,4},?\s+{Hm}\s*{ap}$`, fillNothing, commas,
			"%B %d %Y %H:%M:%S", "%B %d %Y %H:%M", "%B %d %Y %I:%M:%S %P", "%B %d %Y %I:%M %P"),
		form(`^{month}\s+[0-9]{1,2},?\s+[0-9]{4}\s*,?(?:at)?\s+{hm}\s*{ap}(\s+{zone})$`, fillNothing, commasAndAt,
			"%B %d %Y %H:%M:%S %Z", "%B %d %Y %H:%M %Z", "%B %d %Y %I:%M:%S %P %Z", "%B %d %Y %I:%M %P %Z"),
		form(`^{month}\.?\s+[0-9]{1,2},\s+[0-9]{2,4}$`, fillTime, commas,
			"%B %d %y", "%B %d %Y"),
		form(`^[0-9]{1,2}\s+{month}\s+[0-9]{2,4},?\s+{Hm}{frac}$`, fillNothing, commaBlank,
			"%d %B %Y %H:%M:%S", "%d %B %Y %H:%M", "%d %B %Y %H:%M:%S%.f"),
		form(`^[0-9]{1,2}\s+{month}\s+[0-9]{2,4}$`, fillTime, nil,
			"%d %B %y", "%d %B %Y"),
		form(`^[0-9]{1,2}/[0-9]{1,2}/[0-9]{2,4}\s+{Hm}{frac}\s*{ap}$`, fillNothing, nil,
			"%m/%d/%y %H:%M:%S", "%m/%d/%y %H:%M", "%m/%d/%y %H:%M:%S%.f", "%m/%d/%y %I:%M:%S %P", "%m/%d/%y %I:%M %P",
			"%m/%d/%Y %H:%M:%S", "%m/%d/%Y %H:%M", "%m/%d/%Y %H:%M:%S%.f", "%m/%d/%Y %I:%M:%S %P", "%m/%d/%Y %I:%M %P"),
		form(`^[0-9]{1,2}/[0-9]{1,2}/[0-9]{2,4}$`, fillTime, nil,
			"%m/%d/%y", "%m/%d/%Y"),
		form(`^[0-9]{4}/[0-9]{1,2}/[0-9]{1,2}\s+{Hm}{frac}\s*{ap}$`, fillNothing, nil,
			"%Y/%m/%d %H:%M:%S", "%Y/%m/%d %H:%M", "%Y/%m/%d %H:%M:%S%.f", "%Y/%m/%d %I:%M:%S %P", "%Y/%m/%d %I:%M %P"),
		form(`^[0-9]{4}/[0-9]{1,2}/[0-9]{1,2}$`, fillTime, nil, "%Y/%m/%d"),
		form(`[0-9]{1,4}.[0-9]{1,4}[0-9]{1,4}`, fillTime, nil,
			"%m.%d.%y", "%m.%d.%Y", "%Y.%m.%d"),
		// A year and a month, such as 2014.02.
		form(`[0-9]{1,4}.[0-9]{1,4}[0-9]{1,4}`, fillTextAndTime, thisDay, "%Y.%m.%d"),
		// The format of MySQL's log. Like the two before, this shape may match a part of the text.
		form(`[0-9]{6}\s+[0-9]{2}:[0-9]{2}:[0-9]{2}`, fillNothing, nil, "%y%m%d %H:%M:%S"),
		// Chinese dates.
		form(`^[0-9]{4}年[0-9]{2}月[0-9]{2}日[0-9]{2}时[0-9]{2}分[0-9]{2}秒$`, fillNothing, nil, "%Y年%m月%d日%H时%M分%S秒"),
		form(`^[0-9]{4}年[0-9]{2}月[0-9]{2}日$`, fillTime, nil, "%Y年%m月%d日"),
	}
})

// anyTime is used if now is unknown: a text that is a date at some time is also a date in a leap
// year on the first of the month.
var anyTime = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// maxDateText is the maximum length, in bytes, of a text that is matched with the general formats:
// a property may have a megabyte, and some formats match all of it.
const maxDateText = 1024

// parseGeneral is the best-effort parser, the last step of §4.7. If now is nil, the result reports
// whether the text needs it.
func parseGeneral(text string, now *time.Time) (time.Time, parseResult) {
	if t, ok := parseTimestamp(text); ok {
		return t, dateGood
	}
	if t, ok := parseRFC2822(text); ok {
		return t, dateGood
	}
	if len(text) > maxDateText {
		return time.Time{}, dateBad
	}
	// Dates are parsed even without now, to find out whether the text can be one.
	clock := anyTime
	if now != nil {
		clock = now.UTC()
	}
	for _, form := range generalForms() {
		groups := form.shape.FindStringSubmatchIndex(text)
		if groups == nil {
			continue
		}
		offset := int64(0)
		// The shape has a group for the zone.
		if len(groups) == 4 {
			var ok bool
			if offset, ok = zoneOffset(strings.TrimSpace(text[groups[2]:groups[3]])); !ok {
				return time.Time{}, dateBad
			}
		}
		if t, ok := form.read(text, offset, clock); ok {
			// The text is a date at anyTime, but its instant depends on now.
			if form.fill != fillNothing && now == nil {
				return time.Time{}, dateNeedsNow
			}
			return t, dateGood
		}
	}
	return time.Time{}, dateBad
}

// read tries the layouts and fills in missing parts, on a clock that is offset seconds ahead of
// UTC.
func (form generalForm) read(text string, offset int64, now time.Time) (time.Time, bool) {
	if form.edit != nil {
		text = form.edit(text, now)
	}
	for _, layout := range form.layouts {
		f, ok := layout.read(text)
		if !ok {
			continue
		}
		// Missing parts are those of a clock in the zone of the text.
		w, current := f.wall(), wallAt(now, nil)
		current.sec += offset
		switch form.fill {
		case fillTime, fillTextAndTime:
			w = wallClock{sec: w.sec + current.timeOfDay(), nano: current.nano}
		case fillDate:
			w.sec += current.sec - current.timeOfDay()
		}
		return w.atOffset(offset + f.offset)
	}
	return time.Time{}, false
}

// parseTimestamp parses a number since 1970 with a unit that depends on its length: 10 digits are
// seconds, 13 milliseconds, 19 nanoseconds. It is only for filter values, since a property that is
// a number is in seconds.
func parseTimestamp(s string) (time.Time, bool) {
	if len(s) != 10 && len(s) != 13 && len(s) != 19 || digits(s) != len(s) {
		return time.Time{}, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return time.Time{}, false
	}
	switch len(s) {
	case 10:
		return time.Unix(n, 0).UTC(), true
	case 13:
		return time.UnixMilli(n).UTC(), true
	}
	return time.Unix(0, n).UTC(), true
}

// namedOffsets are the zone names of RFC 2822, in hours ahead of UTC.
var namedOffsets = map[string]int64{
	"ut": 0, "gmt": 0, "edt": -4, "est": -5, "cdt": -5, "cst": -6, "mdt": -6, "mst": -7, "pdt": -7, "pst": -8,
}

// zoneOffset parses the zone at the end of a general format. Any unknown name is UTC, and text
// after the minutes of an offset is ignored.
func zoneOffset(s string) (int64, bool) {
	style := offsetStyle{gap: noGap}
	if strings.Contains(s, ":") {
		style.gap = trimColons
	} else if n := letters(s); n > 0 {
		return namedOffsets[strings.ToLower(s[:n])] * 3600, true
	}
	offset, _, ok := readOffset(s, style)
	return offset, ok && offset > -86400 && offset < 86400
}

// letters returns the number of ASCII letters at the beginning of s.
func letters(s string) int {
	n := 0
	for n < len(s) && s[n]|0x20-'a' < 26 {
		n++
	}
	return n
}

// parseRFC2822 parses dates of mail, such as "Wed, 02 Jun 2021 06:31:39 GMT". The weekday and the
// seconds are optional.
func parseRFC2822(s string) (time.Time, bool) {
	r := mailReader{s: trimSpace(s)}
	f := dateFields{weekday: r.weekday()}
	r.s = trimSpace(r.s)
	f.day = r.number(1, 2)
	r.space()
	r.month(&f.month)
	r.space()
	f.year = r.year()
	r.space()
	f.hour = r.number(2, 2)
	r.s = trimSpace(r.s)
	r.colon()
	r.s = trimSpace(r.s)
	f.minute = r.number(2, 2)
	if after, found := strings.CutPrefix(trimSpace(r.s), ":"); found {
		r.s = after
		f.second = r.number(2, 2)
	}
	r.space()
	f.offset = r.zone()
	// Comments may follow the zone.
	for r.comment() {
	}
	if r.bad || r.s != "" || f.day < 1 || f.hour > 23 || f.minute > 59 || f.second > 60 || !f.valid() {
		return time.Time{}, false
	}
	return f.instant()
}

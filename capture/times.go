package capture

import (
	"math"
	"strconv"
	"strings"
	"time"
)

const (
	// futureLimit is the greatest difference by which an event's time may be later than now
	// (§5).
	futureLimit = 23 * time.Hour
	// secondsBelow separates numbers of seconds from numbers of milliseconds: as seconds it
	// is in the year 5138, as milliseconds in March 1973.
	secondsBelow = 100_000_000_000
	// maxMillis bounds milliseconds, so that sums of microseconds cannot overflow. It is
	// about 285,000 years.
	maxMillis = 1 << 53
	// ignoredSentAtYear is the last year for which a query's send time is ignored.
	ignoredSentAtYear = 2020
)

// eventTime returns the time of an item (§5), in UTC and microseconds. If the item has a
// timestamp that is needed but cannot be parsed, understood is false and the time is now.
// sentAt is zero if it is unknown.
func eventTime(it *Item, now, sentAt time.Time, ignoreSentAt bool) (t time.Time, understood bool) {
	now = now.UTC().Truncate(time.Microsecond)
	t, understood = now, true
	switch {
	case it.HasOffset:
		t = time.UnixMicro(now.UnixMicro() - clampMillis(it.Offset)*1000)
	case it.Timestamp != "":
		var at time.Time
		if at, understood = parseTime(it.Timestamp); !understood {
			return now, false
		}
		t = at
		if !sentAt.IsZero() && !ignoreSentAt {
			// Sub is not used, because a Duration is limited to 292 years.
			t = time.Unix(at.Unix()-(sentAt.Unix()-now.Unix()), int64(at.Nanosecond()-sentAt.Nanosecond()+now.Nanosecond()))
		}
	}
	t = t.UTC().Truncate(time.Microsecond)
	if t.After(now.Add(futureLimit)) {
		return now, understood
	}
	if year := t.Year(); year < 0 || year > 9999 {
		t = time.Unix(0, 0).UTC()
	}
	return t, understood
}

// clampMillis limits ms to maxMillis in both directions.
func clampMillis(ms int64) int64 { return min(max(ms, -maxMillis), maxMillis) }

// querySentAt parses the send time in a URL's query (§1.5), which is an integer number of
// milliseconds since 1970. It returns the zero time for values that are ignored: other
// strings, years up to 2020, which result from seconds, and years after 9999.
func querySentAt(ms string) time.Time {
	n, err := strconv.ParseInt(ms, 10, 64)
	if err != nil {
		return time.Time{}
	}
	t := time.UnixMilli(n).UTC()
	if t.Year() <= ignoredSentAtYear || t.Year() > 9999 {
		return time.Time{}
	}
	return t
}

// parseTime parses a time in any of the formats of §5. The result is in UTC.
func parseTime(text string) (time.Time, bool) {
	if w, ok := parseISOTime(text); ok {
		return w.time, true
	}
	text = strings.TrimSpace(text)
	if w, ok := parseISOTime(text); ok {
		return w.time, true
	}
	if t, ok := parseNumber(text); ok {
		return t, true
	}
	return parseMail(text)
}

// parseRFC3339 parses only RFC 3339, as protocol v1 requires (§6.3).
func parseRFC3339(text string) (time.Time, bool) {
	w, ok := parseISOTime(text)
	return w.time, ok && w.separator == '-' && w.zone == fullZone
}

// parsedTime is a time that was written with the year first.
type parsedTime struct {
	time      time.Time
	separator byte // between year, month and day
	zone      zoneForm
}

// zoneForm is the format of a time zone.
type zoneForm uint8

const (
	noZone zoneForm = iota
	// shortZone is the format +02 or +0200, fullZone Z or +02:00.
	shortZone
	fullZone
)

// parseISOTime parses RFC 3339 and similar formats: with slashes between year, month and day,
// with a space instead of the T, without a time of day, without a zone (UTC), or with a short
// zone.
func parseISOTime(s string) (w parsedTime, ok bool) {
	if len(s) < 10 || s[4] != '-' && s[4] != '/' || s[7] != s[4] {
		return w, false
	}
	w.separator = s[4]
	year, ok1 := digits(s[0:4])
	month, ok2 := digits(s[5:7])
	day, ok3 := digits(s[8:10])
	if !ok1 || !ok2 || !ok3 || month < 1 || month > 12 || day < 1 || day > 28 && time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC).Day() != day {
		return w, false
	}
	if len(s) == 10 {
		w.time = time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
		return w, true
	}
	if len(s) < 19 || s[10] != 'T' && s[10] != 't' && s[10] != ' ' || s[13] != ':' || s[16] != ':' {
		return w, false
	}
	hour, ok1 := digits(s[11:13])
	minute, ok2 := digits(s[14:16])
	second, ok3 := digits(s[17:19])
	// A second of 60 is a leap second. It is treated as the first second of the next minute.
	if !ok1 || !ok2 || !ok3 || hour > 23 || minute > 59 || second > 60 {
		return w, false
	}
	nanos, rest, ok := fraction(s[19:])
	if !ok {
		return w, false
	}
	offset, zone, ok := parseZone(rest)
	if !ok {
		return w, false
	}
	w.zone = zone
	w.time = time.Date(year, time.Month(month), day, hour, minute, second-offset, nanos, time.UTC)
	return w, true
}

// digits parses a number of at most 9 digits.
func digits(s string) (n int, ok bool) {
	for i := 0; i < len(s); i++ {
		c := s[i] - '0'
		if c > 9 {
			return 0, false
		}
		n = n*10 + int(c)
	}
	return n, true
}

// fraction parses the fraction of a second at the beginning of s, if there is one. Digits
// after the ninth are ignored.
func fraction(s string) (nanos int, rest string, ok bool) {
	if s == "" || s[0] != '.' {
		return 0, s, true
	}
	scale, i := 100_000_000, 1
	for ; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
		nanos += int(s[i]-'0') * scale
		scale /= 10
	}
	return nanos, s[i:], i > 1
}

// parseZone parses a zone, in seconds east of UTC.
func parseZone(s string) (seconds int, form zoneForm, ok bool) {
	if s == "" {
		return 0, noZone, true
	}
	if s == "Z" || s == "z" {
		return 0, fullZone, true
	}
	if s[0] != '+' && s[0] != '-' {
		return 0, noZone, false
	}
	hours, minutes := "", "00"
	switch {
	case len(s) == 6 && s[3] == ':':
		hours, minutes, form = s[1:3], s[4:6], fullZone
	case len(s) == 5:
		hours, minutes, form = s[1:3], s[3:5], shortZone
	case len(s) == 3:
		hours, form = s[1:3], shortZone
	default:
		return 0, noZone, false
	}
	h, ok1 := digits(hours)
	m, ok2 := digits(minutes)
	seconds = h*3600 + m*60
	if s[0] == '-' {
		seconds = -seconds
	}
	return seconds, form, ok1 && ok2 && h < 24 && m < 60
}

// parseNumber parses seconds or milliseconds since 1970. The size of the number determines
// the unit.
func parseNumber(text string) (time.Time, bool) {
	if text == "" || strings.Trim(text, "0123456789+-.eE") != "" {
		return time.Time{}, false
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		if n > -secondsBelow && n < secondsBelow {
			return time.Unix(n, 0).UTC(), true
		}
		return time.UnixMilli(clampMillis(n)).UTC(), true
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return time.Time{}, false
	}
	if math.Abs(f) < secondsBelow {
		return time.UnixMicro(int64(math.Round(f * 1e6))).UTC(), true
	}
	f = min(max(f, -maxMillis), maxMillis)
	return time.UnixMicro(int64(math.Round(f * 1e3))).UTC(), true
}

// mailZones are the names of zones in RFC 2822, section 4.3. They are replaced because
// time.Parse would look up other names in the local time zone.
var mailZones = map[string]string{
	"GMT": "+0000", "UT": "+0000", "UTC": "+0000", "Z": "+0000",
	"EST": "-0500", "EDT": "-0400", "CST": "-0600", "CDT": "-0500",
	"MST": "-0700", "MDT": "-0600", "PST": "-0800", "PDT": "-0700",
}

// parseMail parses the format of RFC 2822. The day of the week and the seconds are optional.
func parseMail(text string) (time.Time, bool) {
	if len(text) < len("2 Jan 2006 15:04 Z") || len(text) > 64 {
		return time.Time{}, false
	}
	if i := strings.LastIndexByte(text, ' '); i >= 0 {
		if zone, ok := mailZones[text[i+1:]]; ok {
			text = text[:i+1] + zone
		}
	}
	for _, layout := range [...]string{
		"Mon, 2 Jan 2006 15:04:05 -0700", "2 Jan 2006 15:04:05 -0700",
		"Mon, 2 Jan 2006 15:04 -0700", "2 Jan 2006 15:04 -0700",
	} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}

package dates

import (
	"math"
	"strings"
	"time"
	"unicode"
)

// dateLayout is a compiled layout in the notation of strftime, as far as §4.7 needs it:
//
//	%Y year, up to four digits or signed   %y two digits: 70...99 are 19xx
//	%m %d %H %M %S one or two digits       %I %P hours of a half day and am or pm
//	%b %B month name, short or also long   %.f optional fraction of a second
//	%z offset, also Z and without minutes  %Z a name that is skipped
//
// White space in the layout matches any amount of white space, including no white space; numbers
// may have white space before them.
type dateLayout struct {
	items []layoutItem
}

// layoutItem is one element of a layout.
type layoutItem struct {
	verb byte   // the letter; '.' for the fraction, ' ' for white space, 0 for literal text
	text string // literal text
}

// compileLayout splits a layout into verbs, white space and literal text.
func compileLayout(s string) dateLayout {
	var l dateLayout
	for s != "" {
		switch {
		case strings.HasPrefix(s, "%.f"):
			l.items, s = append(l.items, layoutItem{verb: '.'}), s[3:]
		case s[0] == '%':
			l.items, s = append(l.items, layoutItem{verb: s[1]}), s[2:]
		case s[0] == ' ':
			l.items, s = append(l.items, layoutItem{verb: ' '}), s[1:]
		default:
			n := strings.IndexAny(s, "% ")
			if n < 0 {
				n = len(s)
			}
			l.items, s = append(l.items, layoutItem{text: s[:n]}), s[n:]
		}
	}
	return l
}

// compileLayouts compiles several layouts.
func compileLayouts(texts ...string) []dateLayout {
	layouts := make([]dateLayout, len(texts))
	for i, s := range texts {
		layouts[i] = compileLayout(s)
	}
	return layouts
}

// dateFields are the parts that a layout parsed. Parts that the layout does not contain are zero,
// or for the date 1970-01-01.
type dateFields struct {
	year, month, day     int
	hour, minute, second int
	nano                 int64
	afternoon            bool
	offset               int64 // seconds ahead of UTC
	weekday              int   // 1 is Monday; 0 if there is no weekday
}

// read parses the whole of s.
func (l dateLayout) read(s string) (dateFields, bool) {
	f := dateFields{year: 1970, month: 1, day: 1}
	for _, item := range l.items {
		var ok bool
		if s, ok = item.read(s, &f); !ok {
			return f, false
		}
	}
	return f, s == "" && f.valid()
}

// numericVerbs are the unsigned numbers: the maximum number of digits, and the range.
var numericVerbs = [128]struct{ width, low, high int }{
	'y': {2, 0, 99}, 'm': {2, 1, 12}, 'd': {2, 1, 31}, 'H': {2, 0, 23}, 'I': {2, 1, 12}, 'M': {2, 0, 59}, 'S': {2, 0, 60},
}

// read parses the beginning of s as the item, stores its value in f and returns the rest of s.
func (item layoutItem) read(s string, f *dateFields) (rest string, ok bool) {
	switch item.verb {
	case 0:
		return strings.CutPrefix(s, item.text)
	case ' ':
		return trimSpace(s), true
	case 'Y':
		f.year, s, ok = readYear(trimSpace(s))
		return s, ok
	case 'b', 'B':
		f.month, s, ok = readMonth(s, item.verb == 'B')
		return s, ok
	case 'P':
		if len(s) < 2 || s[1]|0x20 != 'm' || s[0]|0x20 != 'a' && s[0]|0x20 != 'p' {
			return s, false
		}
		f.afternoon = s[0]|0x20 == 'p'
		return s[2:], true
	case '.':
		// The fraction is optional.
		if s == "" || s[0] != '.' {
			return s, true
		}
		f.nano, s, ok = readFraction(s[1:])
		return s, ok
	case 'z':
		f.offset, s, ok = readOffset(trimSpace(s), offsetStyle{zulu: true, minus: true, short: true, gap: trimColons})
		return s, ok
	case 'Z':
		return strings.TrimLeftFunc(s, func(r rune) bool { return !unicode.IsSpace(r) }), true
	}
	// The other verbs are unsigned numbers.
	verb := numericVerbs[item.verb]
	n, rest, ok := readDigits(trimSpace(s), 1, verb.width)
	if !ok || n < verb.low || n > verb.high {
		return s, false
	}
	switch item.verb {
	case 'y':
		f.year = 1900 + n
		if n < 70 {
			f.year += 100
		}
	case 'm':
		f.month = n
	case 'd':
		f.day = n
	case 'H':
		f.hour = n
	case 'I':
		f.hour = n % 12
	case 'M':
		f.minute = n
	case 'S':
		f.second = n
	}
	return rest, true
}

// valid checks the constraints between fields: the length of the month, the weekday, the size of
// the offset.
func (f dateFields) valid() bool {
	// The years of the service's calendar.
	if f.year < -262143 || f.year > 262142 || f.day > daysIn(f.year, f.month) {
		return false
	}
	if f.offset <= -86400 || f.offset >= 86400 {
		return false
	}
	return f.weekday == 0 || int(time.Unix(dateSeconds(f.year, f.month, f.day), 0).UTC().Weekday()) == f.weekday%7
}

// wall returns the time of the fields. Second 60 is a leap second.
func (f dateFields) wall() wallClock {
	w := wallClock{sec: dateSeconds(f.year, f.month, f.day), nano: f.nano}
	hour, second := f.hour, f.second
	if f.afternoon {
		hour += 12
	}
	if second == 60 {
		second = 59
		w.nano += 1e9
	}
	w.sec += int64(hour*3600 + f.minute*60 + second)
	return w
}

// instant applies the offset that was parsed.
func (f dateFields) instant() (time.Time, bool) { return f.wall().atOffset(f.offset) }

// parseRFC3339 parses the strict format: the "T" may be lower case or a space, the fraction has any
// number of digits of which nine count, the seconds may be 60, the offset is Z or ±hh:mm below 24
// hours.
func parseRFC3339(s string) (time.Time, bool) {
	const shape = "dddd-dd-ddTdd:dd:dd"
	if len(s) < len(shape)+1 {
		return time.Time{}, false
	}
	for i := range len(shape) {
		c := s[i]
		switch shape[i] {
		case 'd':
			if c-'0' > 9 {
				return time.Time{}, false
			}
		case 'T':
			if c|0x20 != 't' && c != ' ' {
				return time.Time{}, false
			}
		default:
			if c != shape[i] {
				return time.Time{}, false
			}
		}
	}
	two := func(i int) int { return int(s[i]-'0')*10 + int(s[i+1]-'0') }
	f := dateFields{
		year: two(0)*100 + two(2), month: two(5), day: two(8),
		hour: two(11), minute: two(14), second: two(17),
	}
	if f.month < 1 || f.month > 12 || f.day < 1 || f.hour > 23 || f.minute > 59 || f.second > 60 {
		return time.Time{}, false
	}
	rest := s[len(shape):]
	var ok bool
	if rest[0] == '.' {
		if f.nano, rest, ok = readFraction(rest[1:]); !ok {
			return time.Time{}, false
		}
	}
	if f.offset, rest, ok = readOffset(rest, offsetStyle{zulu: true, minus: true, gap: cutColon}); !ok || rest != "" || !f.valid() {
		return time.Time{}, false
	}
	return f.instant()
}

// readDigits reads low to high digits; it refuses a number above the largest int32.
func readDigits(s string, low, high int) (n int, rest string, ok bool) {
	i := 0
	for ; i < len(s) && i < high && s[i]-'0' <= 9; i++ {
		if n = n*10 + int(s[i]-'0'); n > math.MaxInt32 {
			return 0, s, false
		}
	}
	return n, s[i:], i >= low
}

// readYear reads up to four digits, or any number of digits after a sign.
func readYear(s string) (year int, rest string, ok bool) {
	switch {
	case s == "":
		return 0, s, false
	case s[0] == '-':
		year, rest, ok = readDigits(s[1:], 1, len(s))
		return -year, rest, ok
	case s[0] == '+':
		return readDigits(s[1:], 1, len(s))
	}
	return readDigits(s, 1, 4)
}

// readFraction reads the digits after the point as nanoseconds; it skips digits after the ninth.
func readFraction(s string) (nano int64, rest string, ok bool) {
	count := digits(s)
	n, _, ok := readDigits(s, 1, 9)
	nano = int64(n)
	for range 9 - min(count, 9) {
		nano *= 10
	}
	return nano, s[count:], ok
}

// monthNames are the English names in lower case; their first three letters are the short names.
var monthNames = [12]string{
	"january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december",
}

// readMonth reads the first three letters of a month, and if long is true also the rest of the
// name, if present.
func readMonth(s string, long bool) (month int, rest string, ok bool) {
	for i, name := range monthNames {
		if !hasPrefixFold(s, name[:3]) {
			continue
		}
		if long && hasPrefixFold(s, name) {
			return i + 1, s[len(name):], true
		}
		return i + 1, s[3:], true
	}
	return 0, s, false
}

// offsetStyle describes the offsets that readOffset accepts.
type offsetStyle struct {
	zulu  bool                        // accepts Z
	minus bool                        // accepts U+2212 as the sign
	short bool                        // accepts an offset without minutes
	gap   func(string) (string, bool) // skips the separator between hours and minutes
}

// These are the separators of offsetStyle: none, a colon, and any number of colons and white space.
func noGap(s string) (string, bool)    { return s, true }
func cutColon(s string) (string, bool) { return strings.CutPrefix(s, ":") }
func trimColons(s string) (string, bool) {
	return strings.TrimLeftFunc(s, func(r rune) bool { return r == ':' || unicode.IsSpace(r) }), true
}

// readOffset reads a sign, two digits of hours and two of minutes, and returns seconds ahead of
// UTC.
func readOffset(s string, style offsetStyle) (offset int64, rest string, ok bool) {
	sign := int64(1)
	switch {
	case s == "":
		return 0, s, false
	case style.zulu && s[0]|0x20 == 'z':
		return 0, s[1:], true
	case s[0] == '+':
		s = s[1:]
	case s[0] == '-':
		s, sign = s[1:], -1
	case style.minus && strings.HasPrefix(s, "−"):
		s, sign = s[len("−"):], -1
	default:
		return 0, s, false
	}
	hours, s, ok := readDigits(s, 2, 2)
	if !ok {
		return 0, s, false
	}
	if s, ok = style.gap(s); !ok {
		return 0, s, false
	}
	minutes := 0
	if s != "" || !style.short {
		if minutes, s, ok = readDigits(s, 2, 2); !ok || minutes > 59 {
			return 0, s, false
		}
	}
	return sign * int64(hours*3600+minutes*60), s, true
}

// trimSpace removes white space at the beginning of s.
func trimSpace(s string) string { return strings.TrimLeftFunc(s, unicode.IsSpace) }

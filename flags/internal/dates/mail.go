package dates

import "strings"

// mailReader reads the parts of an RFC 2822 date one after another; bad remains set after the first
// failure.
type mailReader struct {
	s   string
	bad bool
}

// weekdayNames are the short names in lower case, from Monday on.
var weekdayNames = [7]string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"}

// weekday reads a short name and its comma; Monday is 1, and 0 means that there is no weekday.
func (r *mailReader) weekday() int {
	for i, name := range weekdayNames {
		if hasPrefixFold(r.s, name) {
			after, found := strings.CutPrefix(r.s[3:], ",")
			r.s, r.bad = after, r.bad || !found
			return i + 1
		}
	}
	return 0
}

// number reads a number of low to high digits.
func (r *mailReader) number(low, high int) int {
	n, rest, ok := readDigits(r.s, low, high)
	r.s, r.bad = rest, r.bad || !ok
	return n
}

// month reads a short name. If there is none, it sets bad and stores 1, so that later calculations
// with the month are valid.
func (r *mailReader) month(month *int) {
	m, rest, ok := readMonth(r.s, false)
	*month = max(m, 1)
	r.s, r.bad = rest, r.bad || !ok
}

// year reads two or more digits: two digits below 50 are 20xx, other numbers of two and three
// digits are added to 1900.
func (r *mailReader) year() int {
	before := len(r.s)
	year := r.number(2, before)
	switch before - len(r.s) {
	case 2:
		if year < 50 {
			return 2000 + year
		}
		return 1900 + year
	case 3:
		return 1900 + year
	}
	return year
}

// space reads one or more white space characters.
func (r *mailReader) space() {
	rest := trimSpace(r.s)
	r.bad = r.bad || len(rest) == len(r.s)
	r.s = rest
}

// colon reads a colon.
func (r *mailReader) colon() {
	rest, found := strings.CutPrefix(r.s, ":")
	r.s, r.bad = rest, r.bad || !found
}

// zone reads ±hhmm, a named zone, or one letter: Z and all other letters except J are UTC.
func (r *mailReader) zone() int64 {
	n := letters(r.s)
	if n == 0 {
		offset, rest, ok := readOffset(r.s, offsetStyle{gap: noGap})
		r.s, r.bad = rest, r.bad || !ok
		return offset
	}
	name := strings.ToLower(r.s[:n])
	r.s = r.s[n:]
	// In RFC 2822 single letters are military zones, which are treated as UTC; J is not one.
	hours, named := namedOffsets[name]
	r.bad = r.bad || !named && (n != 1 || name == "j")
	return hours * 3600
}

// comment skips white space and one comment in parentheses, which may contain nested comments and
// escaped bytes. If there is no comment, it skips no text and returns false.
func (r *mailReader) comment() bool {
	s := trimSpace(r.s)
	if s == "" || s[0] != '(' {
		return false
	}
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				r.s = s[i+1:]
				return true
			}
		}
	}
	return false
}

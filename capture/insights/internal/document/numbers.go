package document

import (
	"strconv"
	"strings"
)

// IsMissing reports whether a property has no value: it is absent or null.
func IsMissing(raw string) bool { return raw == "" || raw == "null" }

// NumberOf returns a property as a number (§3.2.2), and false if it is not one: it must be a JSON
// number, or a string that consists of a decimal number.
func NumberOf(raw string) (float64, bool) {
	if IsMissing(raw) {
		return 0, false
	}
	if raw[0] == '"' {
		raw = raw[1 : len(raw)-1]
	}
	if !isDecimal(raw) {
		return 0, false
	}
	f, err := strconv.ParseFloat(raw, 64)
	return f, err == nil
}

// afterDigits returns a text without the decimal digits that it begins with.
func afterDigits(s string) string {
	i := 0
	for i < len(s) && '0' <= s[i] && s[i] <= '9' {
		i++
	}
	return s[i:]
}

// isDecimal reports whether s is a decimal number: an optional sign, digits with an optional point,
// and an optional exponent.
func isDecimal(s string) bool {
	if s != "" && (s[0] == '-' || s[0] == '+') {
		s = s[1:]
	}
	rest := afterDigits(s)
	digits := len(s) - len(rest)
	if strings.HasPrefix(rest, ".") {
		after := afterDigits(rest[1:])
		digits += len(rest) - 1 - len(after)
		rest = after
	}
	if digits == 0 {
		return false
	}
	if rest != "" && (rest[0] == 'e' || rest[0] == 'E') {
		rest = rest[1:]
		if rest != "" && (rest[0] == '-' || rest[0] == '+') {
			rest = rest[1:]
		}
		return rest != "" && strings.Trim(rest, "0123456789") == ""
	}
	return rest == ""
}

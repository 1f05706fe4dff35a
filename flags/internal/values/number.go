package values

import (
	"math"
	"strconv"
)

// Number is num() of §4.5: a JSON number, or a string that is a number as a whole. It returns
// false for all other values.
func Number(v any) (float64, bool) {
	switch x := v.(type) {
	case float64:
		return x, IsFinite(x)
	case int64:
		return float64(x), true
	case string:
		return ParseNumber(x)
	case Decimal:
		return float64(x), true
	case uint64:
		return float64(x), true
	case nil, bool, []any, map[string]any, Unsupported, NoForm:
		return 0, false
	}
	return Number(Normalize(v)) // a Go type that is not canonical
}

// ParseNumber parses a decimal float: a sign, digits with an optional point, and an exponent;
// or inf, infinity or nan in any case. White space, hexadecimal digits and underscores are
// not allowed. A number out of range becomes infinite or zero (§4.5).
func ParseNumber(s string) (float64, bool) {
	rest := s
	if rest != "" && (rest[0] == '+' || rest[0] == '-') {
		rest = rest[1:]
	}
	if rest == "" {
		return 0, false
	}
	if rest[0] > '9' { // neither a digit nor a point
		switch {
		case EqualLower(rest, "nan"):
			return math.NaN(), true
		case EqualLower(rest, "inf"), EqualLower(rest, "infinity"):
			if s[0] == '-' {
				return math.Inf(-1), true
			}
			return math.Inf(1), true
		}
		return 0, false
	}
	intDigits := digits(rest)
	rest = rest[intDigits:]
	part := 0
	if rest != "" && rest[0] == '.' {
		part = digits(rest[1:])
		rest = rest[1+part:]
	}
	if intDigits+part == 0 || rest != "" && !isExponent(rest) {
		return 0, false
	}
	f, _ := strconv.ParseFloat(s, 64) // the syntax is valid; out of range, the result is infinity or zero as required
	return f, true
}

// isJSONNumber reports whether s is a number in the grammar of RFC 8259.
func isJSONNumber(s string) bool {
	if s != "" && s[0] == '-' {
		s = s[1:]
	}
	n := digits(s)
	if n == 0 || n > 1 && s[0] == '0' {
		return false
	}
	s = s[n:]
	if s != "" && s[0] == '.' {
		if n = digits(s[1:]); n == 0 {
			return false
		}
		s = s[1+n:]
	}
	return s == "" || isExponent(s)
}

// digits returns the number of ASCII digits at the start of s.
func digits(s string) int {
	n := 0
	for n < len(s) && s[n]-'0' <= 9 {
		n++
	}
	return n
}

// isExponent reports whether s is e or E, an optional sign and at least one digit.
func isExponent(s string) bool {
	if s == "" || s[0]|0x20 != 'e' {
		return false
	}
	s = s[1:]
	if s != "" && (s[0] == '+' || s[0] == '-') {
		s = s[1:]
	}
	return s != "" && digits(s) == len(s)
}

// ParseInteger parses an integer. It accepts 3 and 3.0.
func ParseInteger(num string) (int64, bool) {
	if i, err := strconv.ParseInt(num, 10, 64); err == nil {
		return i, true
	}
	f, err := strconv.ParseFloat(num, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int64(f), true
}

package flags

import (
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
)

// maxDepth bounds the nesting of lists and objects that are read as property values.
const maxDepth = 128

// normalize turns any Go value into the form that JSON decoders give: nil, bool, string, int64,
// uint64 (only above the int64 range), finite float64, pointed, []any, map[string]any. A value that
// already has that form is returned as it is, without allocation; any other means what encoding/json
// makes of it (decision 32). What has no such meaning becomes a noForm. A json.Number is read as the
// flags service reads that literal: integers that fit stay integers, "-0" and everything else is a
// float. Of a value that is nested beyond maxDepth, what is too deep becomes unsupported.
func normalize(v any) any {
	if canonical(v, maxDepth) {
		return v
	}
	return convert(v)
}

func canonical(v any, depth int) bool {
	switch x := v.(type) {
	case nil, bool, int64, pointed:
		return true
	case string:
		return utf8.ValidString(x)
	case float64:
		return finite(x)
	case uint64:
		return x > math.MaxInt64
	case []any:
		if depth == 0 || x == nil {
			return false
		}
		for _, e := range x {
			if !canonical(e, depth-1) {
				return false
			}
		}
		return true
	case map[string]any:
		if depth == 0 || x == nil {
			return false
		}
		for k, e := range x {
			if !utf8.ValidString(k) || !canonical(e, depth-1) {
				return false
			}
		}
		return true
	}
	return false
}

// unsupported stands for a JSON value that is nested too deeply, or a number out of range. It has no
// text and equals nothing.
type unsupported struct{}

// pointed is a whole number that JSON wrote with a point or an exponent: its text is "5.0", where
// that of a float64, which encoding/json writes as 5, is "5".
type pointed float64

func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

// appendText appends the text form of v (§4.2): a string as it is, everything else as compact JSON
// with sorted keys. It reports false, and leaves dst as it was, for a type that normalize does not
// accept and for nesting beyond maxDepth.
func appendText(dst []byte, v any) ([]byte, bool) {
	if s, ok := v.(string); ok {
		return append(dst, s...), true
	}
	out, ok := appendJSON(dst, v, maxDepth)
	if !ok {
		return dst, false
	}
	return out, true
}

func appendJSON(dst []byte, v any, depth int) ([]byte, bool) {
	switch x := v.(type) {
	case nil:
		return append(dst, "null"...), true
	case bool:
		return strconv.AppendBool(dst, x), true
	case string:
		return appendQuoted(dst, x), true
	case int64:
		return strconv.AppendInt(dst, x, 10), true
	case int:
		return strconv.AppendInt(dst, int64(x), 10), true
	case uint64:
		return strconv.AppendUint(dst, x, 10), true
	case float64:
		if !finite(x) {
			return dst, false
		}
		return appendGoFloat(dst, x), true
	case pointed:
		return appendFloat(dst, float64(x)), true
	case []any:
		return appendList(dst, x, depth)
	case map[string]any:
		return appendObject(dst, x, depth)
	}
	if other := normalize(v); canonical(other, depth) {
		return appendJSON(dst, other, depth)
	}
	return dst, false
}

func appendList(dst []byte, list []any, depth int) ([]byte, bool) {
	if depth == 0 {
		return dst, false
	}
	dst = append(dst, '[')
	for i, e := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		var ok bool
		if dst, ok = appendJSON(dst, e, depth-1); !ok {
			return dst, false
		}
	}
	return append(dst, ']'), true
}

func appendObject(dst []byte, object map[string]any, depth int) ([]byte, bool) {
	if depth == 0 {
		return dst, false
	}
	var room [16]string
	keys := room[:0]
	for k := range object {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	dst = append(dst, '{')
	for i, k := range keys {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendQuoted(dst, k), ':')
		var ok bool
		if dst, ok = appendJSON(dst, object[k], depth-1); !ok {
			return dst, false
		}
	}
	return append(dst, '}'), true
}

// appendQuoted writes a JSON string with the fewest escapes: quote, backslash and the control
// characters below blank.
func appendQuoted(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[start:i]...)
		start = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\t':
			dst = append(dst, '\\', 't')
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\f':
			dst = append(dst, '\\', 'f')
		case '\r':
			dst = append(dst, '\\', 'r')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(append(dst, s[start:]...), '"')
}

// appendGoFloat writes the text of what encoding/json makes of f, which is finite.
func appendGoFloat(dst []byte, f float64) []byte {
	if out, ok := appendWhole(dst, f); ok {
		return out
	}
	return appendFloat(dst, f)
}

// appendWhole writes f as encoding/json does when that is an integer of 64 bits.
func appendWhole(dst []byte, f float64) ([]byte, bool) {
	switch size := math.Abs(f); {
	case f != math.Trunc(f) || size >= 1e21 || f == 0 && math.Signbit(f):
		return dst, false
	case size < exactInt:
		return strconv.AppendInt(dst, int64(f), 10), true
	}
	var room [32]byte
	digits := strconv.AppendFloat(room[:0], f, 'f', -1, 64)
	if !isInteger(digits) {
		return dst, false
	}
	return append(dst, digits...), true
}

// exactInt is where float64 stops to hold every integer.
const exactInt = 1 << 53

// isInteger reports whether digits are an int64 or a uint64.
func isInteger(digits []byte) bool {
	if _, err := strconv.ParseInt(string(digits), 10, 64); err == nil {
		return true
	}
	_, err := strconv.ParseUint(string(digits), 10, 64)
	return err == nil
}

// appendFloat writes the shortest digits that read back as f: plain with at least one digit after
// the point while the decimal point stands within -5...16 places of the first digit, else with a
// bare exponent (1e16, 1.5e-7). f is finite.
func appendFloat(dst []byte, f float64) []byte {
	var room [32]byte
	text := strconv.AppendFloat(room[:0], f, 'e', -1, 64) // [-]d[.ddd]e±dd
	if text[0] == '-' {
		dst = append(dst, '-')
		text = text[1:]
	}
	e := slices.Index(text, 'e')
	exp := 0
	for _, c := range text[e+2:] {
		exp = exp*10 + int(c-'0')
	}
	if text[e+1] == '-' {
		exp = -exp
	}
	mantissa := text[:e]
	if e > 1 { // close the gap of the point
		copy(mantissa[1:], mantissa[2:])
		mantissa = mantissa[:e-1]
	}
	switch point := exp + 1; { // digits before the point
	case point > 16 || point <= -5:
		dst = append(dst, mantissa[0])
		if len(mantissa) > 1 {
			dst = append(append(dst, '.'), mantissa[1:]...)
		}
		return strconv.AppendInt(append(dst, 'e'), int64(exp), 10)
	case point <= 0:
		dst = append(dst, "0.00000"[:2-point]...)
		return append(dst, mantissa...)
	case point >= len(mantissa):
		dst = append(dst, mantissa...)
		for range point - len(mantissa) {
			dst = append(dst, '0')
		}
		return append(dst, ".0"...)
	default:
		dst = append(append(dst, mantissa[:point]...), '.')
		return append(dst, mantissa[point:]...)
	}
}

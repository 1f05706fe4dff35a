package flags

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
)

// maxDepth bounds the nesting of lists and objects that are read as property values.
const maxDepth = 128

// normalize turns any accepted Go value into the form the JSON decoder gives: nil, bool, string,
// int64, uint64 (only above the int64 range), finite float64, []any, map[string]any. A value that
// already has that form is returned as it is, without allocation. NaN and the infinities become
// nil, as in JSON. A float32 becomes the number that its shortest decimal form names. A json.Number
// is read as the flags service reads that literal: integers that fit stay integers, "-0" and
// everything else is a float. A value of any other type, or nested beyond maxDepth, becomes
// unsupported.
func normalize(v any) any {
	if canonical(v, maxDepth) {
		return v
	}
	return convert(v, maxDepth)
}

func canonical(v any, depth int) bool {
	switch x := v.(type) {
	case nil, bool, string, int64:
		return true
	case float64:
		return finite(x)
	case uint64:
		return x > math.MaxInt64
	case []any:
		if depth == 0 {
			return false
		}
		for _, e := range x {
			if !canonical(e, depth-1) {
				return false
			}
		}
		return true
	case map[string]any:
		if depth == 0 {
			return false
		}
		for _, e := range x {
			if !canonical(e, depth-1) {
				return false
			}
		}
		return true
	}
	return false
}

func convert(v any, depth int) any {
	switch x := v.(type) {
	case int:
		return int64(x)
	case int8:
		return int64(x)
	case int16:
		return int64(x)
	case int32:
		return int64(x)
	case uint:
		return fromUint(uint64(x))
	case uint8:
		return int64(x)
	case uint16:
		return int64(x)
	case uint32:
		return int64(x)
	case uint64:
		return fromUint(x)
	case float64:
		if !finite(x) {
			return nil
		}
	case float32:
		if !finite(float64(x)) {
			return nil
		}
		return widen(x)
	case json.Number:
		if n, ok := literal(string(x)); ok {
			return n
		}
		return unsupported{}
	case []string:
		list := make([]any, len(x))
		for i, e := range x {
			list[i] = e
		}
		return list
	case []any:
		if depth == 0 {
			return unsupported{}
		}
		list := make([]any, len(x))
		for i, e := range x {
			list[i] = convert(e, depth-1)
		}
		return list
	case map[string]any:
		if depth == 0 {
			return unsupported{}
		}
		object := make(map[string]any, len(x))
		for k, e := range x {
			object[k] = convert(e, depth-1)
		}
		return object
	case nil, bool, string, int64:
	default:
		return unsupported{}
	}
	return v
}

// unsupported stands for a value that JSON has not, or that is nested too deeply. It has no text
// and equals nothing.
type unsupported struct{}

func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

func fromUint(u uint64) any {
	if u <= math.MaxInt64 {
		return int64(u)
	}
	return u
}

// widen gives the float64 that a float32 becomes on its way through JSON text: 1.1, not
// 1.10000002384.
func widen(f float32) float64 {
	var buf [32]byte
	wide, err := strconv.ParseFloat(string(strconv.AppendFloat(buf[:0], float64(f), 'g', -1, 32)), 64)
	if err != nil {
		return float64(f)
	}
	return wide
}

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
		return appendFloat(dst, x), true
	case []any:
		return appendList(dst, x, depth)
	case map[string]any:
		return appendObject(dst, x, depth)
	}
	scalar := convert(v, 1)
	if !canonical(scalar, 1) {
		return dst, false
	}
	return appendJSON(dst, scalar, depth)
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

// appendFloat writes the shortest digits that read back as f: plain with at least one digit after
// the point while the decimal point stands within -5...16 places of the first digit, else with a
// bare exponent (1e16, 1.5e-7). Not a number and the infinities are null, as they are in JSON.
func appendFloat(dst []byte, f float64) []byte {
	if !finite(f) {
		return append(dst, "null"...)
	}
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

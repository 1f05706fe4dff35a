package flags

import (
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/bunting-flags/bunting/flags/wire"
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
	if isCanonical(v, maxDepth) {
		return v
	}
	return convert(v)
}

func isCanonical(v any, depth int) bool {
	switch x := v.(type) {
	case nil, bool, int64, decimalFloat:
		return true
	case string:
		return utf8.ValidString(x)
	case float64:
		return isFinite(x)
	case uint64:
		return x > math.MaxInt64
	case []any:
		if depth == 0 || x == nil {
			return false
		}
		for _, e := range x {
			if !isCanonical(e, depth-1) {
				return false
			}
		}
		return true
	case map[string]any:
		if depth == 0 || x == nil {
			return false
		}
		for k, e := range x {
			if !utf8.ValidString(k) || !isCanonical(e, depth-1) {
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

// decimalFloat is a whole number that JSON wrote with a point or an exponent: its text is "5.0", where
// that of a float64, which encoding/json writes as 5, is "5".
type decimalFloat float64

func isFinite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

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
		return wire.AppendQuoted(dst, x), true
	case int64:
		return strconv.AppendInt(dst, x, 10), true
	case int:
		return strconv.AppendInt(dst, int64(x), 10), true
	case uint64:
		return strconv.AppendUint(dst, x, 10), true
	case float64:
		if !isFinite(x) {
			return dst, false
		}
		return appendGoFloat(dst, x), true
	case decimalFloat:
		return wire.AppendFloat(dst, float64(x)), true
	case []any:
		return appendList(dst, x, depth)
	case map[string]any:
		return appendObject(dst, x, depth)
	}
	if other := normalize(v); isCanonical(other, depth) {
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
		dst = append(wire.AppendQuoted(dst, k), ':')
		var ok bool
		if dst, ok = appendJSON(dst, object[k], depth-1); !ok {
			return dst, false
		}
	}
	return append(dst, '}'), true
}

// appendGoFloat writes the text of what encoding/json makes of f, which is finite.
func appendGoFloat(dst []byte, f float64) []byte {
	if out, ok := wire.AppendInteger(dst, f); ok {
		return out
	}
	return wire.AppendFloat(dst, f)
}

// exactInt is where float64 stops to hold every integer.
const exactInt = 1 << 53

func quote(s string) string { return strconv.Quote(wire.Shorten(s, 100)) }

package values

import (
	"maps"
	"math"
	"slices"
	"sort"
	"strconv"
	"unicode/utf8"

	"github.com/bunting-flags/bunting/flags/wire"
)

// Normalize converts any Go value to the types of decoded JSON: nil, bool, string, int64,
// uint64 (only above the range of int64), finite float64, Decimal, []any and
// map[string]any. A value of these types is returned unchanged, without allocation; values of
// other types are converted in the way of encoding/json (decision 32). A value that has no
// form in JSON becomes a NoForm. A json.Number is read as the flags service reads that
// literal: integers that fit remain integers; "-0" and all other numbers are floats. Parts of
// a value that are nested deeper than MaxDepth become unsupported.
func Normalize(v any) any {
	if isCanonical(v, MaxDepth) {
		return v
	}
	return convert(v)
}

// isCanonical reports whether a value has the form that normalize returns.
func isCanonical(v any, depth int) bool {
	switch x := v.(type) {
	case nil, bool, int64, Decimal:
		return true
	case string:
		return utf8.ValidString(x)
	case float64:
		return IsFinite(x)
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

// Text appends the text form of v (§4.2): a string as it is, all other values as
// compact JSON with sorted keys. It returns dst unchanged and false for a type that normalize
// does not accept and for nesting beyond MaxDepth.
func Text(dst []byte, v any) ([]byte, bool) {
	if s, ok := v.(string); ok {
		return append(dst, s...), true
	}
	out, ok := appendJSON(dst, v, MaxDepth)
	if !ok {
		return dst, false
	}
	return out, true
}

// appendJSON appends a value as JSON, nested at most depth levels.
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
		if !IsFinite(x) {
			return dst, false
		}
		return appendGoFloat(dst, x), true
	case Decimal:
		return wire.AppendFloat(dst, float64(x)), true
	case []any:
		return appendList(dst, x, depth)
	case map[string]any:
		return appendObject(dst, x, depth)
	}
	if other := Normalize(v); isCanonical(other, depth) {
		return appendJSON(dst, other, depth)
	}
	return dst, false
}

// appendList appends a list as JSON.
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

// appendObject appends an object as JSON, with its keys sorted.
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

// appendGoFloat appends the text form of a finite f that encoding/json has written.
func appendGoFloat(dst []byte, f float64) []byte {
	if out, ok := wire.AppendInteger(dst, f); ok {
		return out
	}
	return wire.AppendFloat(dst, f)
}

// Quote returns a string in quotes for messages, shortened if it is long.
func Quote(s string) string { return strconv.Quote(wire.Shorten(s, 100)) }

// MaxID limits distinct ids: an id of at most MaxID bytes is used unchanged, a longer one is
// cut to its first MaxID Unicode scalars (§2.4).
const MaxID = 200

// TruncateID cuts a distinct id of more than 200 bytes to its first 200 Unicode
// scalars (§2.4).
func TruncateID(id string) string {
	if len(id) <= MaxID {
		return id
	}
	n := 0
	for i := range id {
		if n == MaxID {
			return id[:i]
		}
		n++
	}
	return id
}

// SortedKeys returns the keys of a map in their order.
func SortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

// CloneMap returns a copy of a map with room for one more element.
func CloneMap(m map[string]any) map[string]any {
	out := make(map[string]any, len(m)+1)
	maps.Copy(out, m)
	return out
}

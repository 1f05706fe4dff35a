package hogql

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/capture/jsontext"
)

// Kind is the kind of a value.
type Kind uint8

// These are the kinds of values.
const (
	Null   Kind = iota
	Bool        // true or false
	Int         // 64 bits
	Float       // 64 bits, including infinities and NaN
	Text        // UTF-8
	Time        // microseconds since 1970
	Date        // days since 1970
	UUID        // as text
	List        // of values
	Tuple       // of values
	Object      // JSON text that is returned unchanged
	period      // an interval: n times a unit
)

// Value is a value of one of the kinds. The zero value is null. Values must be compared with
// the functions of this package, not with ==.
//
// A Value is small enough to be passed by value. Numbers and times need no allocation;
// strings are usually substrings of the stored row, see clone.
type Value struct {
	kind Kind
	// json reports whether the value is a property. Properties are compared in a different
	// way (§2.9.7).
	json bool
	unit int8 // of a period
	// n is the value of a boolean, an integer, a time, a date or a period, or the bits of a
	// float.
	n int64
	// s is the string of a Text, a UUID or an Object; the zone of a time, if it is not the
	// project's; or the digits of a number that is returned exactly as it was stored.
	s string
	// seq has the elements of a list or tuple.
	seq *sequence
}

// sequence has the values of a list or tuple, and their approximate size in bytes. The size
// is stored because a list may be contained in another one many times.
type sequence struct {
	all   []Value
	bytes int64
}

// BoolOf returns a boolean.
func BoolOf(b bool) Value {
	if b {
		return Value{kind: Bool, n: 1}
	}
	return Value{kind: Bool}
}

// IntOf returns an integer.
func IntOf(n int64) Value { return Value{kind: Int, n: n} }

// FloatOf returns a float.
func FloatOf(f float64) Value { return Value{kind: Float, n: int64(math.Float64bits(f))} }

// TextOf returns a string.
func TextOf(s string) Value { return Value{kind: Text, s: s} }

// TimeOf returns an instant in microseconds since 1970.
func TimeOf(micros int64) Value { return Value{kind: Time, n: micros} }

// UUIDOf returns a UUID. s must be in lower case.
func UUIDOf(s string) Value { return Value{kind: UUID, s: s} }

// ListOf returns a list. It retains all.
func ListOf(all []Value) Value {
	seq := &sequence{all: all}
	for _, v := range all {
		seq.bytes += v.size()
	}
	return Value{kind: List, seq: seq}
}

// ObjectOf returns JSON text that is returned unchanged in results.
func ObjectOf(text string) Value { return Value{kind: Object, s: text} }

// Property returns the value of a property from its JSON text. Lists and objects are strings
// of compact JSON. An empty or invalid text is null.
//
// The kind of a property is that of its JSON value, so it may differ from row to row.
func Property(raw string) Value {
	if raw == "" {
		return Value{}
	}
	switch c := raw[0]; {
	case c == '"':
		// A string without escapes is a substring of the row, without a copy.
		if body := raw[1 : len(raw)-1]; len(raw) >= 2 && strings.IndexByte(body, '\\') < 0 {
			return Value{kind: Text, json: true, s: body}
		}
		return Value{kind: Text, json: true, s: jsontext.Unquote(raw)}
	case c == '{' || c == '[':
		return Value{kind: Text, json: true, s: Compact(raw)}
	case raw == "true" || raw == "false":
		v := BoolOf(raw == "true")
		v.json = true
		return v
	}
	v := parseNum(raw)
	v.json = v.kind != Null
	if v.kind == Float && !strings.ContainsAny(raw, ".eE") {
		v.s = raw // an integer of more than 64 bits is returned unchanged
	}
	return v
}

// Compact removes the white space from JSON text.
func Compact(raw string) string {
	if !strings.ContainsAny(raw, " \n\r\t") {
		return raw
	}
	out := make([]byte, 0, len(raw))
	quoted := false
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		switch {
		case c == '\\' && quoted && i+1 < len(raw):
			out = append(out, c)
			i++
			c = raw[i]
		case c == '"':
			quoted = !quoted
		case !quoted && (c == ' ' || c == '\n' || c == '\r' || c == '\t'):
			continue
		}
		out = append(out, c)
	}
	return string(out)
}

// Kind returns the kind of the value.
func (v Value) Kind() Kind { return v.kind }

// IsNull reports whether the value is null.
func (v Value) IsNull() bool { return v.kind == Null }

// Int returns the value of an integer, a boolean as 1 or 0, the microseconds of a time, or
// the days of a date.
func (v Value) Int() int64 { return v.n }

// Text returns the content of a string, a UUID or JSON text.
func (v Value) Text() string { return v.s }

// List returns the values of a list or tuple. The caller must not modify them.
func (v Value) List() []Value {
	if v.seq == nil {
		return nil
	}
	return v.seq.all
}

// float returns the value of a float, an integer or a boolean.
func (v Value) float() float64 {
	if v.kind == Float {
		return math.Float64frombits(uint64(v.n))
	}
	return float64(v.n)
}

// isNumber reports whether the value is an integer or a float.
func (v Value) isNumber() bool { return v.kind == Int || v.kind == Float }

// plain returns the value without the mark of a property.
func (v Value) plain() Value { return Value{kind: v.kind, unit: v.unit, n: v.n, s: v.s, seq: v.seq} }

// clone returns a copy that does not share strings with the original.
//
// It must be used for values that are retained after the row has been processed, because the
// memory of a row may be reused.
func (v Value) clone() Value {
	if v.s == "" && v.seq == nil {
		return v
	}
	copied := Value{kind: v.kind, json: v.json, unit: v.unit, n: v.n, s: strings.Clone(v.s)}
	if v.seq != nil {
		all := make([]Value, len(v.seq.all))
		for i, e := range v.seq.all {
			all[i] = e.clone()
		}
		copied.seq = &sequence{all: all, bytes: v.seq.bytes}
	}
	return copied
}

// valueSize is the approximate size of a value without its string or list, in bytes.
const valueSize = 40

// size returns the approximate memory size of a value, in bytes.
func (v Value) size() int64 {
	n := int64(valueSize + len(v.s))
	if v.seq != nil {
		n += 40 + v.seq.bytes
	}
	return n
}

// Num returns the value as a number (§3.2.2). It returns false if the value is not a number.
func (v Value) Num() (float64, bool) {
	n := v.num()
	return n.float(), n.kind != Null
}

// num converts a value to a number, or to null. A string must be a number as a whole. A
// boolean is 1 or 0, unless it is a property.
func (v Value) num() Value {
	switch v.kind {
	case Int, Float:
		return v.plain()
	case Bool:
		if !v.json {
			return IntOf(v.n)
		}
	case Text:
		return parseNum(v.s)
	}
	return Value{}
}

// parseNum parses a decimal number without white space. It returns null if s is not a number.
func parseNum(s string) Value {
	digits, integer := 0, true
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			digits++
		// A sign is permitted at the beginning and after the exponent's letter.
		case (c == '+' || c == '-') && i == 0:
		case c == '.' || digits > 0 && (c == 'e' || c == 'E'), (c == '+' || c == '-') && s[i-1]|0x20 == 'e':
			integer = false
		default:
			return Value{}
		}
	}
	if digits == 0 {
		return Value{}
	}
	// An integer that does not fit into 64 bits becomes a float.
	if integer {
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			return IntOf(n)
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return Value{}
	}
	return FloatOf(f)
}

// truth returns the value as a condition. If it is null, defined is false.
//
// Numbers are true unless they are 0. Strings are false, except for a property that is the
// string "true".
func (v Value) truth() (holds, defined bool) {
	switch v.kind {
	case Null:
		return false, false
	case Float:
		return v.float() != 0, true
	case Text:
		return v.json && v.s == "true", true
	}
	return v.n != 0, true
}

// IsTrue reports whether the value is true as a condition. Null is not.
func (v Value) IsTrue() bool {
	ok, _ := v.truth()
	return ok
}

// ValueOf converts decoded JSON to a value, for placeholders. Numbers may be json.Number,
// float64, int64 or uint64. It returns false if x contains an object.
func ValueOf(x any) (Value, bool) {
	switch x := x.(type) {
	case nil:
		return Value{}, true
	case bool:
		return BoolOf(x), true
	case string:
		return TextOf(x), true
	case float64:
		return FloatOf(x), true
	case int64:
		return IntOf(x), true
	case uint64:
		return FloatOf(float64(x)), true
	case json.Number:
		v := parseNum(x.String())
		return v, v.kind != Null
	case []any:
		all := make([]Value, len(x))
		for i, e := range x {
			v, ok := ValueOf(e)
			if !ok {
				return Value{}, false
			}
			all[i] = v
		}
		return ListOf(all), true
	}
	return Value{}, false
}

// boolInt returns the value of a comparison, 1 or 0.
func boolInt(b bool) Value {
	if b {
		return Value{kind: Int, n: 1}
	}
	return Value{kind: Int}
}

// negate returns -v. The least integer becomes a float.
func negate(v Value) Value {
	switch {
	case v.kind == Float:
		return FloatOf(-v.float())
	case v.n == math.MinInt64:
		return FloatOf(-float64(v.n))
	}
	return IntOf(-v.n)
}

// truncateToInt removes the fraction of a number. The result is null if it does not fit into
// 64 bits.
func truncateToInt(v Value) Value {
	if v.kind != Float {
		return v
	}
	f := math.Trunc(v.float())
	if math.IsNaN(f) || math.Abs(f) >= 1<<63 {
		return Value{}
	}
	return IntOf(int64(f))
}

// toInt converts a number without a fraction to an integer, and other numbers to null.
func toInt(v Value) Value {
	if v.kind == Float && v.float() != math.Trunc(v.float()) {
		return Value{}
	}
	return truncateToInt(v)
}

package hogql

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/flags/wire"
)

// Kind is what a value is.
type Kind uint8

// The kinds of values.
const (
	Null   Kind = iota
	Bool        // true or false
	Int         // 64 bits
	Float       // 64 bits, also infinite and no number
	Text        // UTF-8
	Time        // microseconds since 1970
	Date        // days since 1970
	UUID        // its text
	List        // of values
	Tuple       // of values
	Object      // JSON text that is put out as it stands
	period      // an interval: n times a unit
)

// Value is one of the kinds. The zero value is null. Values are compared by the
// functions of this package, never by ==.
type Value struct {
	kind Kind
	// json: it is a property, which compares in its own way (§2.9.7).
	json bool
	unit int8 // of a period
	n    int64
	// s is a text, a UUID, JSON, the zone of a time when it is not the project's, or the
	// digits of a number that is shown as it came.
	s   string
	seq *sequence
}

// sequence are the values of a list or tuple, and about how many bytes they take: a
// list may stand in another many times.
type sequence struct {
	all   []Value
	bytes int64
}

// BoolOf is a boolean.
func BoolOf(b bool) Value {
	if b {
		return Value{kind: Bool, n: 1}
	}
	return Value{kind: Bool}
}

// IntOf is an integer.
func IntOf(n int64) Value { return Value{kind: Int, n: n} }

// FloatOf is a float.
func FloatOf(f float64) Value { return Value{kind: Float, n: int64(math.Float64bits(f))} }

// TextOf is a text.
func TextOf(s string) Value { return Value{kind: Text, s: s} }

// TimeOf is an instant in microseconds since 1970.
func TimeOf(micros int64) Value { return Value{kind: Time, n: micros} }

// UUIDOf is a UUID by its text in small letters.
func UUIDOf(s string) Value { return Value{kind: UUID, s: s} }

// ListOf is a list.
func ListOf(all []Value) Value {
	seq := &sequence{all: all}
	for _, v := range all {
		seq.bytes += v.size()
	}
	return Value{kind: List, seq: seq}
}

// ObjectOf is JSON that is put out as it stands.
func ObjectOf(text string) Value { return Value{kind: Object, s: text} }

// Property is a property by its JSON: what the JSON has, and of a list or object its
// compact text. No text, and what is no JSON, is null.
func Property(raw string) Value {
	if raw == "" {
		return Value{}
	}
	switch c := raw[0]; {
	case c == '"':
		if body := raw[1 : len(raw)-1]; len(raw) >= 2 && strings.IndexByte(body, '\\') < 0 {
			return Value{kind: Text, json: true, s: body}
		}
		return Value{kind: Text, json: true, s: wire.Unquote(raw)}
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
		v.s = raw // an integer of more than 64 bits is shown as it is
	}
	return v
}

// Compact takes the white space out of a JSON text.
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

// Kind is the kind of a value.
func (v Value) Kind() Kind { return v.kind }

// IsNull reports whether there is no value.
func (v Value) IsNull() bool { return v.kind == Null }

// Int is the integer, the boolean as 1 or 0, the microseconds or the days.
func (v Value) Int() int64 { return v.n }

// Text is the text of a text, a UUID or JSON.
func (v Value) Text() string { return v.s }

// List are the values of a list or tuple.
func (v Value) List() []Value {
	if v.seq == nil {
		return nil
	}
	return v.seq.all
}

func (v Value) float() float64 {
	if v.kind == Float {
		return math.Float64frombits(uint64(v.n))
	}
	return float64(v.n)
}

func (v Value) isNumber() bool { return v.kind == Int || v.kind == Float }

// plain is the value as it is when it is no property.
func (v Value) plain() Value { return Value{kind: v.kind, unit: v.unit, n: v.n, s: v.s, seq: v.seq} }

// clone is the value with texts of its own.
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

// valueSize is about the bytes of a value beside its text or list.
const valueSize = 40

// size is about how many bytes a kept value takes.
func (v Value) size() int64 {
	n := int64(valueSize + len(v.s))
	if v.seq != nil {
		n += 40 + v.seq.bytes
	}
	return n
}

// Num is the number that the value is (§3.2.2), false for none.
func (v Value) Num() (float64, bool) {
	n := v.num()
	return n.float(), n.kind != Null
}

// num of a property is a number, or a text that is wholly one; booleans are 1 and 0
// unless they are properties.
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

// parseNum reads a decimal number without blanks.
func parseNum(s string) Value {
	digits, integer := 0, true
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			digits++
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

// truth is what a value means as a condition: null is not known.
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

// IsTrue reports whether a condition is met; null is not.
func (v Value) IsTrue() bool {
	ok, _ := v.truth()
	return ok
}

// ValueOf is the value of decoded JSON, as placeholders have it: numbers as
// json.Number or of Go, lists of values; false for objects.
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

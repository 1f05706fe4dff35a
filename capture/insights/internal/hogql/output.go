package hogql

import (
	"math"
	"strconv"
	"time"

	"github.com/bunting-flags/bunting/flags/wire"
)

// AppendFloat appends the shortest decimal form of a number. Integers have no decimal point,
// and numbers from 1e21 on and below 1e-6 have an exponent (§3.2.2).
func AppendFloat(dst []byte, f float64) []byte {
	// Negative zero is written as 0.
	if size := math.Abs(f); size == 0 {
		return append(dst, '0')
	} else if size >= 1e-6 && size < 1e21 {
		return strconv.AppendFloat(dst, f, 'f', -1, 64)
	}
	dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
	if n := len(dst); n >= 4 && dst[n-2] == '0' && (dst[n-3] == '-' || dst[n-3] == '+') { // e-07
		dst = append(dst[:n-2], dst[n-1])
	}
	return dst
}

// appendText appends text(v) of §3.2.2. For other kinds of values it appends the result of
// toString.
func (e *env) appendText(dst []byte, v Value) []byte {
	switch v.kind {
	case Bool:
		return strconv.AppendBool(dst, v.n != 0)
	case Int:
		return strconv.AppendInt(dst, v.n, 10)
	case Float:
		if v.s != "" {
			return append(dst, v.s...)
		}
		return AppendFloat(dst, v.float())
	case Time:
		t := e.local(v)
		layout := "2006-01-02 15:04:05"
		if t.Nanosecond() != 0 {
			layout += ".000000"
		}
		return t.AppendFormat(dst, layout)
	case Date:
		return dateTime(v.n).AppendFormat(dst, time.DateOnly)
	case List, Tuple:
		return e.appendJSON(dst, v)
	}
	return append(dst, v.s...)
}

// text returns what appendText appends.
func (e *env) text(v Value) string {
	if v.kind == Text || v.kind == UUID || v.kind == Object {
		return v.s
	}
	return string(e.appendText(nil, v))
}

// appendJSON appends a value in the form of results (§2.9.7). Infinite and undefined numbers
// are null.
//
// Times are written in their zone, with microseconds only if they are not 0.
func (e *env) appendJSON(dst []byte, v Value) []byte {
	switch v.kind {
	case Null:
		return append(dst, "null"...)
	case Float:
		if f := v.float(); math.IsNaN(f) || math.IsInf(f, 0) {
			return append(dst, "null"...)
		}
		return e.appendText(dst, v)
	case Text, UUID:
		return wire.AppendQuoted(dst, v.s)
	case Object:
		return append(dst, v.s...)
	case Time:
		t := e.local(v)
		layout := "2006-01-02T15:04:05Z07:00"
		if t.Nanosecond() != 0 {
			layout = "2006-01-02T15:04:05.000000Z07:00"
		}
		dst = append(dst, '"')
		return append(t.AppendFormat(dst, layout), '"')
	case Date, period:
		dst = append(dst, '"')
		return append(e.appendText(dst, v), '"')
	case List, Tuple:
		dst = append(dst, '[')
		for i, x := range v.List() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = e.appendJSON(dst, x)
		}
		return append(dst, ']')
	}
	return e.appendText(dst, v)
}

// Type is the type of an expression, as far as it can be determined before the execution.
//
// The type of an expression determines the names in "types" of the result, and which
// arguments are valid. The type of a property is only known for each value.
type Type struct {
	kind     Kind
	json     bool // a property: null, boolean, number or string
	boolean  bool // an Int that is 1 or 0
	unsigned bool
	any      bool // unknown before the execution
	nullable bool
	clock    bool   // a period of hours or shorter units
	zone     string // of a time, if it is not the project's
	elem     *Type
}

// These are the types of fields and results.
var (
	TextType     = Type{kind: Text}
	IntType      = Type{kind: Int}
	BoolType     = Type{kind: Bool}
	TimeType     = Type{kind: Time}
	UUIDType     = Type{kind: UUID}
	PropertyType = Type{kind: Text, json: true, nullable: true}
	ObjectType   = Type{kind: Object}
	countType    = Type{kind: Int, unsigned: true}
	testType     = Type{kind: Int, boolean: true}
	floatType    = Type{kind: Float}
	dateType     = Type{kind: Date}
	nullType     = Type{kind: Null, nullable: true}
	anyType      = Type{kind: Text, any: true, nullable: true}
)

// Nullable returns the type with null added.
func (t Type) Nullable() Type {
	t.nullable = true
	return t
}

// ListOf returns the type of lists of t.
func (t Type) ListOf() Type { return Type{kind: List, elem: &t} }

// name returns the name of the type in the member "types" of results (§2.9.7).
func (t Type) name(zone string) string {
	name := "String"
	switch t.kind {
	case Null:
		return "Nullable(String)"
	case Bool:
		name = "UInt8"
	case Int:
		name = "Int64"
		if t.boolean {
			name = "UInt8"
		} else if t.unsigned {
			name = "UInt64"
		}
	case Float:
		name = "Float64"
	case Time:
		if t.zone != "" {
			zone = t.zone
		}
		name = "DateTime64(6, '" + zone + "')"
	case Date:
		name = "Date"
	case UUID:
		name = "UUID"
	case List:
		return "Array(" + t.elem.name(zone) + ")"
	case Tuple:
		return "Array(String)"
	}
	if t.nullable {
		return "Nullable(" + name + ")"
	}
	return name
}

// common returns a type for the values of both types.
//
// If there is no such type, it returns a type whose values are only known at run time.
func common(a, b Type) Type {
	nullable := a.nullable || b.nullable
	switch {
	case a.kind == Null:
		b.nullable = true
		return b
	case b.kind == Null:
		a.nullable = true
		return a
	// Types of the same kind remain, without the properties that only one of them has.
	case a.json && b.json, a.kind == b.kind && !a.any && !b.any && !a.json && !b.json:
		a.nullable = nullable
		a.boolean = a.boolean && b.boolean
		a.unsigned = a.unsigned && b.unsigned
		return a
	// Integers remain integers; all other combinations of numbers become floats.
	case a.isNumber() && b.isNumber():
		t := floatType
		if a.kind != Float && b.kind != Float {
			t = IntType
		}
		t.nullable = nullable
		return t
	}
	return Type{kind: Text, any: true, nullable: nullable}
}

// isNumber reports whether all values are numbers or booleans.
func (t Type) isNumber() bool {
	return !t.any && !t.json && (t.kind == Int || t.kind == Float || t.kind == Bool)
}

// String returns the name of the type for error messages.
func (t Type) String() string {
	if t.any || t.json {
		return "a property"
	}
	return t.plain().name("UTC")
}

// plain returns the type without null.
func (t Type) plain() Type {
	t.nullable = false
	return t
}

// elemOf returns the type of the elements of a list.
func elemOf(t Type) Type {
	if t.kind == List && t.elem != nil {
		return *t.elem
	}
	return anyType
}

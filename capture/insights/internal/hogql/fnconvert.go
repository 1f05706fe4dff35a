package hogql

import (
	"fmt"
	"strings"

	"github.com/bunting-flags/bunting/flags/wire"
)

// convertFunctions are the conversions, including CAST (§2.9.8).
var convertFunctions = []function{
	{name: "toFloat", args: "a", result: constantType(floatType), nullable: true, one: func(_ *site, v Value) Value { return toFloat(v) }},
	{name: "toDecimal", args: "ai?", result: constantType(floatType), nullable: true, all: func(_ *site, args []Value) Value { return toFloat(args[0]) }},
	{name: "toInt", args: "a", result: constantType(IntType), nullable: true, one: func(_ *site, v Value) Value {
		number := asNumber(v)
		if v.kind == Text && number.kind == Float { // strings such as 1e3 and 2.0 are not integers
			return Value{}
		}
		return toInt(number)
	}},
	{name: "toString", args: "a", result: constantType(TextType), one: func(s *site, v Value) Value { return TextOf(s.env.text(v)) }},
	{name: "toBool", args: "a", result: constantType(BoolType), nullable: true, one: func(_ *site, v Value) Value {
		switch v.kind {
		case Bool, Int, Float:
			return BoolOf(v.IsTrue())
		case Text:
			switch strings.ToLower(v.s) {
			case "true", "1":
				return BoolOf(true)
			case "false", "0":
				return BoolOf(false)
			}
		}
		return Value{}
	}},
	{name: "toUUID", args: "s", result: constantType(UUIDType), nullable: true, one: func(_ *site, v Value) Value {
		if _, ok := wire.ParseUUID(v.s); !ok {
			return Value{}
		}
		return UUIDOf(strings.ToLower(v.s))
	}},
	{name: "$cast", args: "aa", special: cast},
}

// asNumber converts a value to a number. Unlike Value.num it also converts boolean
// properties, to 1 or 0, and times and dates.
//
// A time becomes seconds since 1970, rounded down, and a date becomes days.
func asNumber(v Value) Value {
	switch v.kind {
	case Bool:
		return IntOf(v.n)
	case Time:
		return IntOf(floorTo(v.n, second) / second)
	case Date:
		return IntOf(v.n)
	}
	return v.num()
}

// toFloat converts a value to a float, or to null.
func toFloat(v Value) Value {
	v = asNumber(v)
	if v.kind == Null {
		return v
	}
	return FloatOf(v.float())
}

// casts maps the types of CAST to conversion functions.
var casts = map[string]string{
	"string": "toString", "text": "toString", "varchar": "toString",
	"int": "toInt", "integer": "toInt", "bigint": "toInt", "int8": "toInt", "int16": "toInt", "int32": "toInt", "int64": "toInt",
	"uint8": "toInt", "uint16": "toInt", "uint32": "toInt", "uint64": "toInt",
	"float": "toFloat", "float32": "toFloat", "float64": "toFloat", "double": "toFloat", "decimal": "toFloat",
	"bool": "toBool", "boolean": "toBool", "uuid": "toUUID", "date": "toDate", "datetime": "toDateTime", "timestamp": "toDateTime",
}

// cast compiles CAST(x AS type), which is a call of $cast with the name of the type as a
// literal.
//
// The type determines the conversion function, which is then compiled with the first
// argument.
func cast(c *compiler, n *node) compiled {
	to := n.args[1]
	f := functions[casts[strings.ToLower(to.value.s)]]
	if f == nil {
		return c.fail(to.fault(TypeError, "Unknown type "+to.word(), ": there are String, Int, Float, Bool, Date, DateTime and UUID"))
	}
	inner := *n
	inner.args = n.args[:1]
	if f.special != nil {
		return f.special(c, &inner)
	}
	return c.compileCall(&inner, f, c.compileAll(inner.args))
}

// constantText returns the value of an argument that must be a constant string.
func (c *compiler) constantText(n *node, i int) (string, bool) {
	x := c.compile(n.args[i])
	if c.err != nil {
		return "", false
	}
	if !x.constant || x.value.kind != Text {
		c.fail(n.args[i].fault(TypeError, fmt.Sprintf("%s expects a text in quotes, not %s", n.what(), n.args[i].word()), ""))
		return "", false
	}
	return x.value.s, true
}

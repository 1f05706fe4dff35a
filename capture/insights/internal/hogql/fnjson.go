package hogql

import "strings"

// jsonFunctions are the functions for JSON text (§2.9.8).
var jsonFunctions = []function{
	{name: "JSONExtractString", args: "sa*", result: constantType(TextType), all: extractJSON(func(s *site, v Value, raw string) Value {
		if v.kind == Null || raw[0] == '{' || raw[0] == '[' {
			return TextOf("")
		}
		return TextOf(s.env.text(v))
	})},
	{name: "JSONExtractInt", args: "sa*", result: constantType(IntType), all: extractJSON(func(_ *site, v Value, _ string) Value {
		n := truncateToInt(v.num())
		return IntOf(n.n)
	})},
	{name: "JSONExtractFloat", args: "sa*", result: constantType(floatType), all: extractJSON(func(_ *site, v Value, _ string) Value {
		f, ok := v.Num()
		if !ok {
			f = 0
		}
		return FloatOf(f)
	})},
	{name: "JSONExtractBool", args: "sa*", result: constantType(testType), all: extractJSON(func(_ *site, v Value, _ string) Value {
		return boolInt(v.kind == Bool && v.n != 0)
	})},
	{name: "JSONExtractRaw", args: "sa*", result: constantType(TextType), all: extractJSON(func(_ *site, _ Value, raw string) Value {
		return TextOf(Compact(raw))
	})},
	{name: "JSONExtractArrayRaw", args: "sa*", result: constantType(TextType.ListOf()), all: extractJSON(func(s *site, _ Value, raw string) Value {
		var all []Value
		elements(raw, func(_, element string) bool {
			all = append(all, TextOf(Compact(element)))
			return s.fits(valueSize * len(all))
		})
		if raw == "" || raw[0] != '[' {
			return ListOf(nil)
		}
		return s.list(all)
	})},
	{name: "JSONHas", args: "sa+", result: constantType(testType), all: extractJSON(func(_ *site, _ Value, raw string) Value { return boolInt(raw != "") })},
	{name: "JSONLength", args: "sa*", result: constantType(countType), all: extractJSON(func(_ *site, _ Value, raw string) Value {
		n := int64(0)
		elements(raw, func(_, _ string) bool {
			n++
			return true
		})
		return IntOf(n)
	})},
}

// extractJSON returns a function that finds the part of a JSON text below a path of names and
// positions, and calls convert with it. raw is "" if there is no such part or the text is
// invalid.
//
// v is the part as a property.
func extractJSON(convert func(s *site, v Value, raw string) Value) func(*site, []Value) Value {
	return func(s *site, args []Value) Value {
		raw := strings.TrimSpace(args[0].s)
		if !isValidJSON(raw) {
			raw = ""
		}
		for _, k := range args[1:] {
			raw = jsonElement(raw, k)
		}
		return convert(s, Property(raw), raw)
	}
}

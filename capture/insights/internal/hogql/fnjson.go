package hogql

import (
	"math"
	"strings"

	"github.com/bunting-flags/bunting/capture/jsontext"
)

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

// isValidJSON reports whether a string is one JSON value.
func isValidJSON(raw string) bool {
	r := jsontext.Reader{Src: raw, Spans: true}
	return r.Skip() && r.End()
}

// jsonElement returns the JSON text of a member, selected by its name or its position.
// Positions begin at 1; negative ones count from the end. It returns "" if there is no such
// member.
//
// If a name occurs several times, the last member is returned.
func jsonElement(raw string, k Value) (found string) {
	if raw == "" {
		return ""
	}
	if k.kind == Text {
		if raw[0] == '{' {
			elements(raw, func(name, element string) bool {
				if name == k.s {
					found = element
				}
				return true
			})
		}
		return found
	}
	at := toInt(k.num())
	if at.kind == Null || at.n == 0 {
		return ""
	}
	// A negative position is converted by counting the members first.
	if at.n < 0 {
		elements(raw, func(_, _ string) bool {
			at.n++
			return true
		})
		at.n++
	}
	elements(raw, func(_, element string) bool {
		if at.n--; at.n == 0 {
			found = element
		}
		return at.n > 0
	})
	return found
}

// elements calls each with the members of a JSON object or list, until it returns false. name
// is "" for elements of a list.
func elements(raw string, each func(name, element string) bool) {
	if raw == "" {
		return
	}
	r := jsontext.Reader{Src: raw, Spans: true}
	switch raw[0] {
	case '{':
		r.Object(func(key string) bool {
			element, ok := r.Raw()
			return ok && each(key, element)
		})
	case '[':
		r.List(func() bool {
			element, ok := r.Raw()
			return ok && each("", element)
		})
	}
}

// member returns the member of a JSON object as a property, or null.
func member(v Value, name string) Value {
	if v.kind != Text && v.kind != Object || len(v.s) == 0 || v.s[0] != '{' {
		return Value{}
	}
	return Property(jsonElement(v.s, TextOf(name)))
}

// PropertyAt returns the value below the given names in a JSON value, as a property. It is
// null if there is no such value.
func PropertyAt(raw string, names []string) Value {
	for _, name := range names {
		raw = jsonElement(raw, TextOf(name))
	}
	return Property(raw)
}

// listOfJSON returns the elements of a JSON list as a list of properties. It returns null for
// any other text.
func (s *site) listOfJSON(raw string) Value {
	if raw == "" || raw[0] != '[' || len(raw) > math.MaxInt32 || !isValidJSON(raw) {
		return Value{}
	}
	var all []Value
	elements(raw, func(_, element string) bool {
		all = append(all, Property(element))
		return s.fits(valueSize * len(all))
	})
	return s.list(all)
}

package hogql

import (
	"math"
	"strings"

	"github.com/bunting-flags/bunting/flags/wire"
)

var jsonFunctions = []function{
	{name: "JSONExtractString", args: "sa*", result: gives(TextType), all: extracting(func(s *site, v Value, raw string) Value {
		if v.kind == Null || raw[0] == '{' || raw[0] == '[' {
			return TextOf("")
		}
		return TextOf(s.env.text(v))
	})},
	{name: "JSONExtractInt", args: "sa*", result: gives(IntType), all: extracting(func(_ *site, v Value, _ string) Value {
		n := toWhole(v.num())
		return IntOf(n.n)
	})},
	{name: "JSONExtractFloat", args: "sa*", result: gives(floatType), all: extracting(func(_ *site, v Value, _ string) Value {
		f, ok := v.Num()
		if !ok {
			f = 0
		}
		return FloatOf(f)
	})},
	{name: "JSONExtractBool", args: "sa*", result: gives(testType), all: extracting(func(_ *site, v Value, _ string) Value {
		return test(v.kind == Bool && v.n != 0)
	})},
	{name: "JSONExtractRaw", args: "sa*", result: gives(TextType), all: extracting(func(_ *site, _ Value, raw string) Value {
		return TextOf(Compact(raw))
	})},
	{name: "JSONExtractArrayRaw", args: "sa*", result: gives(TextType.ListOf()), all: extracting(func(s *site, _ Value, raw string) Value {
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
	{name: "JSONHas", args: "sa+", result: gives(testType), all: extracting(func(_ *site, _ Value, raw string) Value { return test(raw != "") })},
	{name: "JSONLength", args: "sa*", result: gives(countType), all: extracting(func(_ *site, _ Value, raw string) Value {
		n := int64(0)
		elements(raw, func(_, _ string) bool {
			n++
			return true
		})
		return IntOf(n)
	})},
}

// extracting finds what stands in a JSON text below names and positions; raw is ""
// where there is nothing.
func extracting(give func(s *site, v Value, raw string) Value) func(*site, []Value) Value {
	return func(s *site, args []Value) Value {
		raw := strings.TrimSpace(args[0].s)
		if !wellFormed(raw) {
			raw = ""
		}
		for _, k := range args[1:] {
			raw = below(raw, k)
		}
		return give(s, Property(raw), raw)
	}
}

// wellFormed reports whether a text is one JSON value.
func wellFormed(raw string) bool {
	r := wire.Reader{Src: raw, Spans: true}
	return r.Skip() && r.End()
}

// below is the JSON of a member by its name or by its place, from 1, from the end when
// negative; "" for none.
func below(raw string, k Value) (found string) {
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

// elements gives the members of a JSON object or list.
func elements(raw string, each func(name, element string) bool) {
	if raw == "" {
		return
	}
	r := wire.Reader{Src: raw, Spans: true}
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

// member is the property with a name in a JSON text.
func member(v Value, name string) Value {
	if v.kind != Text && v.kind != Object || len(v.s) == 0 || v.s[0] != '{' {
		return Value{}
	}
	return Property(below(v.s, TextOf(name)))
}

// PropertyAt is what stands below names in a JSON value, as a property.
func PropertyAt(raw string, names []string) Value {
	for _, name := range names {
		raw = below(raw, TextOf(name))
	}
	return Property(raw)
}

// listOfJSON are the properties in a JSON list; null for any other text.
func (s *site) listOfJSON(raw string) Value {
	if raw == "" || raw[0] != '[' || len(raw) > math.MaxInt32 || !wellFormed(raw) {
		return Value{}
	}
	var all []Value
	elements(raw, func(_, element string) bool {
		all = append(all, Property(element))
		return s.fits(valueSize * len(all))
	})
	return s.list(all)
}

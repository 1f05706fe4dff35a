package hogql

import (
	"math"

	"github.com/bunting-flags/bunting/capture/jsontext"
)

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

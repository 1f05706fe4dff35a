package convert

import (
	"encoding/json"
	"strconv"
	"strings"
)

// condition converts GrowthBook's condition on attributes, which has the syntax of MongoDB queries.
func (r *gbReader) condition(n *node) formula {
	var parts []formula
	for _, m := range n.members() {
		switch m.name {
		case "$and":
			parts = append(parts, allOf(r.each(m)...))
		case "$or", "$nor":
			f := anyOf(r.each(m)...)
			if len(m.items()) == 0 {
				f = always
			}
			if m.name == "$nor" {
				f = not(f)
			}
			parts = append(parts, f)
		case "$not":
			parts = append(parts, not(r.required(m)))
		default:
			if strings.HasPrefix(m.name, "$") {
				m.refuse("%q is an unknown operator", short(m.name))
			}
			parts = append(parts, r.test(r.attribute(m), m))
		}
	}
	return allOf(parts...)
}

func (r *gbReader) each(n *node) []formula {
	if n.value == nil {
		n.want("a list")
	}
	return mapFormulas(n.items(), r.required)
}

// required is condition for a condition that must be present.
func (r *gbReader) required(n *node) formula {
	if n.value == nil {
		n.want("an object")
	}
	return r.condition(n)
}

func (r *gbReader) attribute(n *node) attribute {
	if n.name == "id" {
		return r.b.userKey(n)
	}
	if strings.Contains(n.name, ".") {
		n.refuse("reads a member of an attribute: properties have no members here")
	}
	return r.b.attribute(n, n.name)
}

// test converts a value, or an object of operators that must all hold.
func (r *gbReader) test(a attribute, n *node) formula {
	obj, isObject := n.value.(map[string]any)
	for name := range obj {
		isObject = isObject && strings.HasPrefix(name, "$")
	}
	if !isObject {
		return r.equal(a, n)
	}
	return allOf(mapFormulas(n.members(), func(m *node) formula {
		test := gbOperators[m.name]
		if test == nil {
			m.refuse("%q is an unknown operator", short(m.name))
		}
		return test(r, a, m)
	})...)
}

// equal is true for the same scalar; null equals a missing attribute.
func (r *gbReader) equal(a attribute, n *node) formula {
	switch n.value.(type) {
	case nil:
		return not(a.isSet())
	case []any, map[string]any:
		n.refuse("compares with a list or an object")
	}
	a.lists = false
	return a.in([]*node{n}, false)
}

// gbOperators is the table of operators. Only $lt and the other orders require that the attribute
// exists: a missing attribute is null, and unequal to other values.
var gbOperators map[string]func(r *gbReader, a attribute, n *node) formula

func init() { // in init, since it refers to itself through $not
	gbOperators = map[string]func(r *gbReader, a attribute, n *node) formula{
		"$eq":         (*gbReader).equal,
		"$ne":         func(r *gbReader, a attribute, n *node) formula { return not(r.equal(a, n)) },
		"$lt":         gbNumber("lt"),
		"$lte":        gbNumber("le"),
		"$gt":         gbNumber("gt"),
		"$gte":        gbNumber("ge"),
		"$in":         func(r *gbReader, a attribute, n *node) formula { return r.in(a, n, false) },
		"$nin":        func(r *gbReader, a attribute, n *node) formula { return not(r.in(a, n, false)) },
		"$ini":        func(r *gbReader, a attribute, n *node) formula { return r.in(a, n, true) },
		"$nini":       func(r *gbReader, a attribute, n *node) formula { return not(r.in(a, n, true)) },
		"$inGroup":    func(r *gbReader, a attribute, n *node) formula { return r.group(a, n) },
		"$notInGroup": func(r *gbReader, a attribute, n *node) formula { return not(r.group(a, n)) },
		"$regex":      func(r *gbReader, a attribute, n *node) formula { return gbPattern(a, n, "") },
		"$regexi":     func(r *gbReader, a attribute, n *node) formula { return gbPattern(a, n, "(?i)") },
		"$exists": func(r *gbReader, a attribute, n *node) formula {
			if isTruthy(n) {
				return a.isSet()
			}
			return not(a.isSet())
		},
		"$not": func(r *gbReader, a attribute, n *node) formula { return not(r.test(a, n)) },
		"$veq": gbVersion("eq"), "$vgt": gbVersion("gt"), "$vgte": gbVersion("ge"), "$vlt": gbVersion("lt"), "$vlte": gbVersion("le"),
		"$vne": func(r *gbReader, a attribute, n *node) formula { return not(gbVersion("eq")(r, a, n)) },
	}
}

// isTruthy reports whether a constant is truthy. Lists and objects are, even if they are empty.
func isTruthy(n *node) bool {
	switch n.value.(type) {
	case []any, map[string]any:
		return true
	}
	return isTruthyConstant(n.value)
}

func canonical(n *node) []byte {
	if _, ok := n.value.(json.Number); ok {
		return strconv.AppendFloat(nil, n.number(), 'g', -1, 64)
	}
	return n.json()
}

func gbNumber(op string) func(*gbReader, attribute, *node) formula {
	return func(_ *gbReader, a attribute, n *node) formula {
		if _, ok := n.value.(json.Number); !ok {
			n.refuse("compares the order of texts, which cannot be expressed here")
		}
		return a.ordered(op, n.number())
	}
}

func (r *gbReader) in(a attribute, n *node, fold bool) formula {
	if _, isList := n.value.([]any); !isList {
		n.want("a list")
	}
	f := a.in(n.items(), fold)
	for _, v := range n.items() {
		if v.value == nil {
			f = anyOf(f, not(a.isSet()))
		}
	}
	return f
}

// group converts a reference to a saved group, which is a list of values. A missing group is empty.
func (r *gbReader) group(a attribute, n *node) formula {
	list := r.groups.get(n.text())
	if list.value == nil && !r.groups.has(n.text()) {
		return never
	}
	if _, isList := list.value.([]any); !isList {
		n.refuse("the saved group %q is not a list of values", short(n.text()))
	}
	a.src = n
	return r.in(a, list, false)
}

func gbPattern(a attribute, n *node, prefix string) formula {
	a.src = n
	return a.pattern(n, prefix+n.text())
}

// gbVersions matches the versions that GrowthBook orders in the same way as our operators.
const gbVersions = `^v?(?:0|[1-9][0-9]{0,4})(?:\.(?:0|[1-9][0-9]{0,4})){2}(?:-(?:0|[1-9][0-9]{0,4}|[A-Za-z]+)(?:\.(?:0|[1-9][0-9]{0,4}|[A-Za-z]+))*)?(?:\+[0-9A-Za-z.-]*[0-9A-Za-z])?$`

func gbVersion(op string) func(*gbReader, attribute, *node) formula {
	return func(_ *gbReader, a attribute, n *node) formula {
		text := strings.TrimPrefix(n.text(), "v")
		if strings.Count(strings.FieldsFunc(text+" ", func(r rune) bool { return r == '-' || r == '+' })[0], ".") != 2 {
			n.refuse("is not a version of the form 1.2.3")
		}
		f := a.compareLoose(op, text, gbVersions)
		a.src = n
		a.note("attribute %q: versions of another form than 1.2.3 or 1.2.3-beta.1 never match here")
		return f
	}
}

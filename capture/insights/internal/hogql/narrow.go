package hogql

import (
	"math"
	"slices"
)

// bounds are conditions that all rows of the result must meet. The caller may use them to
// read fewer rows.
type bounds struct {
	from, to int64
	names    []string // if nil, all names
	filtered bool
}

// newBounds returns bounds that all rows meet.
func newBounds() bounds { return bounds{from: math.MinInt64, to: math.MaxInt64} }

// narrow restricts the bounds by a condition and, if the condition is an AND, by its
// operands.
func (c *compiler) narrow(f *bounds, n *node) {
	if n.op == opPlaceholder && len(n.path) == 1 && n.path[0] == "filters" {
		f.filtered = true
	}
	if n.op != opCall || c.err != nil {
		return
	}
	// All operands of AND must be true, so each one restricts the bounds.
	if n.name == "and" {
		for _, a := range n.args {
			c.narrow(f, a)
		}
		return
	}
	if len(n.args) < 2 || c.scope == nil {
		return
	}
	name := n.name
	operand, values := n.args[0], n.args[1:]
	// The operands of a comparison may be reversed.
	if mirrored := map[string]string{"less": "greater", "lessOrEquals": "greaterOrEquals", "greater": "less", "greaterOrEquals": "lessOrEquals", "equals": "equals"}[name]; mirrored != "" && !c.isField(operand, c.scope.Time, c.scope.Name) {
		name, operand, values = mirrored, values[0], []*node{operand}
	}
	switch {
	case c.isField(operand, c.scope.Time):
		c.narrowTime(f, name, values)
	case c.isField(operand, c.scope.Name):
		c.narrowNames(f, name, values[0])
	}
}

// isField reports whether a node is a field with one of the names, and not an alias.
func (c *compiler) isField(n *node, names ...string) bool {
	if n.op != opPath {
		return false
	}
	if a := c.aliases[n.path[0]]; a != nil && (a.node.op != opPath || !slices.Equal(c.stripTable(a.node.path), c.stripTable(n.path))) {
		return false
	}
	path := c.stripTable(n.path)
	return len(path) == 1 && path[0] != "" && slices.Contains(names, path[0])
}

// narrowTime restricts the range by a comparison of the time with constants. Other
// comparisons are ignored.
func (c *compiler) narrowTime(f *bounds, name string, values []*node) {
	var at []int64
	s := c.site(values[0])
	for _, v := range values {
		x := c.compile(v)
		// Only constants restrict the bounds.
		if !x.constant || c.err != nil || x.value.kind == Null {
			return
		}
		t, ok := int64(0), false
		switch {
		case isMoment(x.value):
			t, ok = s.moment(x.value)
		case x.value.kind == Text:
			t, ok = ParseTime(x.value.s, c.env.zone)
		}
		if !ok {
			return
		}
		at = append(at, t)
	}
	// The bounds are inclusive, so they may contain rows that do not meet the condition.
	// WHERE excludes these rows.
	switch name {
	case "greater", "greaterOrEquals":
		f.from = max(f.from, at[0])
	case "less", "lessOrEquals":
		f.to = min(f.to, at[0])
	case "equals":
		f.from, f.to = max(f.from, at[0]), min(f.to, at[0])
	case "$between":
		f.from, f.to = max(f.from, at[0]), min(f.to, at[1])
	}
}

// narrowNames restricts the names by a comparison with constants.
func (c *compiler) narrowNames(f *bounds, name string, value *node) {
	if name != "equals" && name != "in" {
		return
	}
	x := c.compile(value)
	if !x.constant || c.err != nil {
		return
	}
	all := x.value.List()
	if name == "equals" {
		all = []Value{x.value}
	}
	names := []string{}
	for _, v := range all {
		// The comparison = NULL is true for rows without a name, so it does not restrict the
		// names.
		if v.kind == Null && name == "equals" {
			return
		}
		names = append(names, c.env.text(v))
	}
	// There was another condition on the name, so only names in both lists remain.
	if f.names != nil {
		names = slices.DeleteFunc(names, func(n string) bool { return !slices.Contains(f.names, n) })
	}
	f.names = names
}

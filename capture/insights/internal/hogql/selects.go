package hogql

import (
	"fmt"
	"slices"
)

// Compile compiles a statement. scope may be nil if the statement has no table. The error is
// an [*Error].
//
// The fields of the row are resolved with scope.Resolve and collected in scope.Fields. If the
// statement has no table, no fields are available.
func (s *Statement) Compile(scope *Scope, c Context) (*Query, error) {
	k := newCompiler(scope, c)
	if s.Table == "" {
		k.scope = nil
	}
	k.tables = []string{s.Table, s.alias}
	q := &Query{env: k.env, statement: s, byKey: map[string]*group{}}
	// All clauses may use the aliases of items. If two items have the same alias, the first
	// one counts.
	items := k.expand(s)
	for _, item := range items {
		if item.alias != "" && k.aliases[item.alias] == nil {
			k.aliases[item.alias] = &alias{node: item.expr}
		}
		q.columns = append(q.columns, item.Column)
	}
	parts := k.parts(s, items)
	// The keys of the groups are compiled first, because the other clauses may refer to them.
	if parts.isGrouped {
		k.compileGroups(q, parts)
	}
	// WHERE applies to rows, so that aggregates are not available in it.
	k.where = "WHERE"
	rowMode := k.groups
	k.groups = nil
	q.where = k.conditions(k.firstExpr(s), parts.where)
	q.bounds = newBounds()
	for _, n := range parts.where {
		k.narrow(&q.bounds, n)
	}
	k.groups = rowMode
	// HAVING, the items and ORDER BY apply to groups, if there are any.
	k.where = "a query without groups"
	q.having = k.conditions(k.firstExpr(s), parts.having)
	for _, item := range items {
		q.items = append(q.items, k.item(item))
	}
	q.order = k.compileAll(parts.order)
	if err := k.firstError(); err != nil {
		return nil, err
	}
	if !parts.isGrouped { // HAVING without groups is an ordinary condition
		q.where, q.having = append(q.where, q.having...), nil
	} else {
		k.env.results = make([]Value, len(k.groups.types))
	}
	q.terms = s.order
	q.limit, q.offset = s.Limit, min(s.Offset, 1<<40)
	if q.limit < 0 {
		q.limit = DefaultLimit
	}
	q.limit = min(q.limit, MaxLimit)
	// One more row shows whether there are rows after the last one.
	q.rows.limit = q.limit + q.offset + 1
	return q, nil
}

// firstExpr returns the node for errors of conditions.
func (c *compiler) firstExpr(s *Statement) *node { return s.items[0].expr }

// item compiles a selected expression. If it has an alias, the compiled form is shared with
// the alias.
func (c *compiler) item(item Item) compiled {
	if a := c.aliases[item.alias]; item.alias != "" && a != nil && a.node == item.expr {
		return c.alias(a)
	}
	return c.compile(item.expr)
}

// expand replaces * by the fields that it represents.
func (c *compiler) expand(s *Statement) []Item {
	var items []Item
	for _, item := range s.items {
		star := item.expr
		switch {
		case star.op != opStar:
			items = append(items, item)
		case c.scope == nil:
			c.fail(star.fault(SyntaxError, `Unexpected "*"`, ": expected an expression, there is no FROM"))
			return s.items
		case s.split: // one column
			field := *star
			field.op, field.path = opPath, []string{"*"}
			items = append(items, Item{expr: &field, Column: item.Column})
		default:
			for _, name := range c.scope.Star {
				field := *star
				field.op, field.path = opPath, []string{name}
				items = append(items, Item{expr: &field, Column: name})
			}
		}
	}
	return items
}

// parts are the expressions of a statement by the stage in which they are evaluated.
//
// where and the keys in group are evaluated for rows, having and order for groups. Without
// groups, all of them are evaluated for rows.
type parts struct {
	isGrouped                   bool
	where, group, having, order []*node
}

// parts determines whether the query has groups, and sorts its conditions into those for rows
// and those for groups.
func (c *compiler) parts(s *Statement, items []Item) parts {
	p := parts{where: s.where, having: s.having}
	// A query has groups if it has GROUP BY or an aggregate in any clause after WHERE.
	aggregated := len(s.having) > 0 && slices.ContainsFunc(s.having, c.hasAggregate)
	for _, item := range items {
		aggregated = aggregated || c.hasAggregate(item.expr)
	}
	for _, o := range s.order {
		n := c.position(o.expr, items, "ORDER BY")
		p.order = append(p.order, n)
		aggregated = aggregated || c.hasAggregate(n)
	}
	for _, n := range s.group {
		p.group = append(p.group, c.position(n, items, "GROUP BY"))
	}
	p.isGrouped = aggregated || len(s.group) > 0
	if !s.split {
		return p
	}
	// The parts were parsed separately, so the aggregates determine the stage of each
	// condition.
	p.where, p.having = nil, nil
	for _, n := range s.where {
		if c.hasAggregate(n) {
			p.having = append(p.having, n)
			p.isGrouped = true
		} else {
			p.where = append(p.where, n)
		}
	}
	if p.isGrouped {
		for _, item := range items {
			if !c.hasAggregate(item.expr) {
				p.group = append(p.group, item.expr)
			}
		}
	}
	return p
}

// position returns the selected expression that an integer in ORDER BY or GROUP BY
// represents. Other expressions are returned unchanged.
func (c *compiler) position(n *node, items []Item, where string) *node {
	if n.op != opLiteral || n.value.kind != Int {
		return n
	}
	if n.value.n < 1 || n.value.n > int64(len(items)) {
		c.fail(n.fault(TypeError, fmt.Sprintf("Position %s of %s is no column", n.word(), where), ""))
		return n
	}
	return items[n.value.n-1].expr
}

// compileGroups compiles the keys of the groups.
func (c *compiler) compileGroups(q *Query, p parts) {
	g := &groups{keys: map[int]int{}}
	c.where = "GROUP BY"
	for _, n := range p.group {
		x := c.compile(n)
		// Constant keys do not divide groups, and equal keys share a slot.
		if id := c.ident(n); !x.constant {
			if _, exists := g.keys[id]; !exists {
				g.keys[id] = len(g.types)
				g.types = append(g.types, x.typ)
				q.keys = append(q.keys, x)
			}
		}
	}
	q.groups, c.groups = g, g
}

package hogql

import (
	"slices"
	"strconv"
)

// Statement is a parsed SELECT.
type Statement struct {
	// Table is "events", "persons" or "groups". It is empty without FROM.
	Table string
	// Limit is -1 if there is no LIMIT.
	Limit, Offset int
	// NewestFirst orders rows that are equal in ORDER BY from the last recorded to the first.
	// Otherwise the earliest is first.
	NewestFirst bool

	distinct bool
	alias    string // of the table
	items    []Item
	where    []*node // combined by AND; may contain aggregates if split
	group    []*node
	having   []*node
	order    []Order
	// split reports whether conditions with an aggregate apply after grouping, and selected
	// expressions without an aggregate are the keys of the groups.
	split bool
}

// Item is a selected expression.
type Item struct {
	expr  *node
	alias string
	// Column is its name in the result.
	Column string
}

// Field returns the name of the selected field. It returns "" if the expression is not a
// field.
func (i Item) Field() string {
	if i.expr.op != opPath || len(i.expr.path) != 1 {
		return ""
	}
	return i.expr.path[0]
}

// Order is a term of ORDER BY.
type Order struct {
	expr       *node
	descending bool
	nullsFirst bool
}

// Expr is a parsed expression.
type Expr struct{ root *node }

// Select returns a statement of parts that were parsed separately (§2.9.1). If an item
// contains an aggregate, the items without one are the keys of the groups, and conditions
// with an aggregate apply after grouping.
func Select(table string, items []Item, where []*Expr, order []Order, limit, offset int) *Statement {
	s := &Statement{Table: table, items: items, order: order, Limit: limit, Offset: offset, split: true}
	for _, w := range where {
		s.where = append(s.where, w.root)
	}
	return s
}

// ParseSelect parses a query. The error is an [*Error].
func ParseSelect(text string) (*Statement, error) {
	p := newParser(text)
	s := p.statement()
	if p.err != nil {
		return nil, p.err
	}
	return s, nil
}

// ParseExpr parses a single expression. The error is an [*Error].
func ParseExpr(text string) (*Expr, error) {
	return parseAll(text, func(p *parser) *Expr { return &Expr{root: p.expr()} })
}

// ParseItem parses an expression that may have an alias, as a column of a SELECT. Item.Column
// is the text.
func ParseItem(text string) (Item, error) {
	return parseAll(text, func(p *parser) Item {
		item := p.item()
		item.Column = text
		return item
	})
}

// ParseOrder parses a term of ORDER BY.
func ParseOrder(text string) (Order, error) {
	return parseAll(text, (*parser).orderTerm)
}

func parseAll[T any](text string, read func(*parser) T) (T, error) {
	p := newParser(text)
	v := read(p)
	if p.peek().kind != tokEnd {
		p.unexpected("the end")
	}
	if p.err != nil {
		var zero T
		return zero, p.err
	}
	return v, nil
}

func (p *parser) statement() *Statement {
	s := &Statement{Limit: -1}
	if t := p.peek(); t.kind == tokName && slices.Contains(statements, t.text) {
		p.rejectUnsupported(0)
	}
	p.expect("SELECT")
	s.distinct = p.accept("DISTINCT")
	s.items = list(p, (*parser).item)
	if p.accept("FROM") {
		p.table(s)
	}
	one := func(word string, to *[]*node) {
		if p.accept(word) {
			*to = append(*to, p.expr())
		}
	}
	one("PREWHERE", &s.where)
	one("WHERE", &s.where)
	if p.accept("GROUP") {
		p.expect("BY")
		s.group = list(p, (*parser).expr)
	}
	one("HAVING", &s.having)
	if p.accept("ORDER") {
		p.expect("BY")
		s.order = list(p, (*parser).orderTerm)
	}
	p.limits(s)
	p.accept(";")
	if p.peek().kind != tokEnd {
		p.unexpected("the end of the query")
	}
	return s
}

func (p *parser) item() Item {
	start := p.peek().start
	if t := p.peek(); t.is("*") {
		p.pos++
		return Item{expr: &node{op: opStar, src: p.source, start: t.start, end: t.end}, Column: "*"}
	}
	e := p.expr()
	item := Item{expr: e, alias: p.alias()}
	switch {
	case item.alias != "":
		item.Column = item.alias
	case e.op == opPath:
		item.Column = e.path[len(e.path)-1]
	case p.err == nil:
		item.Column = p.word(start, p.prevEnd())
	}
	return item
}

// alias parses an optional alias, [["AS"] name].
func (p *parser) alias() string {
	t := p.peek()
	switch {
	case t.is("AS"):
		p.pos++
		return p.name()
	case p.joins() > 0:
		p.rejectUnsupported(p.joins())
	case t.kind == tokQuoted && t.text != "", t.kind == tokName && !isReserved(t.text):
		return p.name()
	}
	return ""
}

// joins returns the number of words before the word JOIN, if the current token begins a join,
// or 0.
func (p *parser) joins() int {
	kinds := []string{"LEFT", "RIGHT", "INNER", "FULL", "CROSS", "OUTER", "ANY", "ALL", "ASOF", "SEMI", "ANTI", "GLOBAL", "ARRAY", "PASTE"}
	for n := range 4 {
		t := p.peekAt(n)
		if t.is("JOIN") {
			return n
		}
		if t.kind != tokName || !slices.Contains(kinds, t.text) {
			break
		}
	}
	return 0
}

// tables are the tables of FROM.
var tables = []string{"events", "persons", "groups"}

func (p *parser) table(s *Statement) {
	t := p.peek()
	switch {
	case t.is("(") && p.peekAt(1).is("SELECT"):
		p.pos++
		p.rejectUnsupported(0)
	case t.kind == tokName && isReserved(t.text):
		p.unexpected("a table")
	}
	s.Table = p.name()
	if p.err == nil && (p.is(".") || p.is("(")) {
		for p.accept(".") {
			p.name()
		}
		s.Table = p.word(t.start, p.prevEnd())
	}
	if p.err == nil && !slices.Contains(tables, s.Table) {
		p.fail(p.fault(UnknownTable, t.start, p.prevEnd(), "Unknown table "+quoted(s.Table), ": there are events, persons and groups"))
	}
	s.alias = p.alias()
	if n := p.joins(); n > 0 {
		p.rejectUnsupported(n)
	}
}

func (p *parser) orderTerm() Order {
	o := Order{expr: p.expr()}
	if !p.accept("ASC") {
		o.descending = p.accept("DESC")
	}
	if p.accept("NULLS") {
		o.nullsFirst = p.accept("FIRST")
		if !o.nullsFirst {
			p.expect("LAST")
		}
	}
	return o
}

// limits parses ["LIMIT" int ["," int | "OFFSET" int]] ["OFFSET" int].
func (p *parser) limits(s *Statement) {
	if p.accept("LIMIT") {
		s.Limit = p.integer()
		if p.accept(",") {
			s.Offset, s.Limit = s.Limit, p.integer()
		}
	}
	if p.accept("OFFSET") {
		s.Offset = p.integer()
	}
	if s.Limit >= 0 && p.is("BY") {
		p.rejectUnsupported(0)
	}
}

func (p *parser) integer() int {
	t := p.peek()
	n, err := strconv.Atoi(t.text)
	if t.kind != tokNumber || err != nil {
		p.unexpected("a whole number")
		return 0
	}
	p.pos++
	return n
}

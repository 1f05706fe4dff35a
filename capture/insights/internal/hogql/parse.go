package hogql

import (
	"fmt"
	"slices"
	"strconv"
)

// Statement is a SELECT.
type Statement struct {
	// Table is "events", "persons" or "groups"; empty without FROM.
	Table string
	// Limit is -1 without one.
	Limit, Offset int
	// NewestFirst puts rows that are equal for ORDER BY in the order in which they were
	// recorded, the last first. Otherwise the earliest are first.
	NewestFirst bool

	distinct bool
	alias    string // of the table
	items    []Item
	where    []*node // AND-ed; with aggregates only where whereHaving
	group    []*node
	having   []*node
	order    []Order
	// split: conditions with an aggregate apply after grouping, and what is selected
	// without one are the groups.
	split bool
}

// Item is an expression that is selected.
type Item struct {
	expr  *node
	alias string
	// Column is its name in the answer.
	Column string
}

// HasAggregate reports whether there is an aggregate in the expression.
func (i Item) HasAggregate() bool { return newCompiler(nil, Context{}).hasAggregate(i.expr) }

// Field is the name of the field that is selected, "" for any other expression.
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

// Expr is an expression that stands alone.
type Expr struct{ root *node }

// Select makes a statement of parts that were read one by one (§2.9.1): with an
// aggregate among the items the others are the groups, and conditions with an
// aggregate apply after grouping.
func Select(table string, items []Item, where []*Expr, order []Order, limit, offset int) *Statement {
	s := &Statement{Table: table, items: items, order: order, Limit: limit, Offset: offset, split: true}
	for _, w := range where {
		s.where = append(s.where, w.root)
	}
	return s
}

// ParseSelect reads a query. The error is an [*Error].
func ParseSelect(text string) (*Statement, error) {
	p := newParser(text)
	s := p.statement()
	if p.err != nil {
		return nil, p.err
	}
	return s, nil
}

// ParseExpr reads an expression that stands alone. The error is an [*Error].
func ParseExpr(text string) (*Expr, error) {
	return parseAll(text, func(p *parser) *Expr { return &Expr{root: p.expr()} })
}

// ParseItem reads an expression that may have an alias: a column of a select. Its
// column is the text as it is given.
func ParseItem(text string) (Item, error) {
	return parseAll(text, func(p *parser) Item {
		item := p.item()
		item.Column = text
		return item
	})
}

// ParseOrder reads a term of ORDER BY.
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

type parser struct {
	*source
	pos   int
	depth int
	err   *Error
}

func newParser(text string) *parser { return &parser{source: lex(text)} }

func (p *parser) peek() token { return p.tokens[min(p.pos, len(p.tokens)-1)] }

func (p *parser) peekAt(n int) token { return p.tokens[min(p.pos+n, len(p.tokens)-1)] }

// prevEnd is where the last token that was read ends.
func (p *parser) prevEnd() int {
	if p.pos == 0 {
		return 0
	}
	return p.tokens[p.pos-1].end
}

// fail keeps the first error and goes to the end, where all loops end.
func (p *parser) fail(err *Error) {
	if p.err == nil {
		p.err = err
		p.tokens = append(p.tokens[:len(p.tokens):len(p.tokens)], token{kind: tokEnd, start: len(p.source.text), end: len(p.source.text)})
	}
	p.pos = len(p.tokens) - 1
}

// unexpected refuses the present token.
func (p *parser) unexpected(expected string) {
	t := p.peek()
	word := p.source.text[t.start:t.end]
	switch {
	case t.kind == tokBad:
		p.fail(t.err)
	case t.kind == tokEnd:
		p.fail(p.fault(SyntaxError, t.start, t.end, "Unexpected end of query", ": expected "+expected))
	case t.kind == tokName && slices.Contains(unsupportedWords, t.text):
		p.rejectUnsupported(0)
	default:
		p.fail(p.fault(SyntaxError, t.start, t.end, "Unexpected "+quoted(word), ": expected "+expected))
	}
}

// rejectUnsupported says that the words from the present one to the n-th behind it are outside
// the grammar.
func (p *parser) rejectUnsupported(n int) {
	start, end := p.peek().start, p.peekAt(n).end
	p.fail(p.fault(NotSupported, start, end, quoted(p.word(start, end))+" is not supported", ""))
}

// unsupportedWords are words of SQL that the grammar has no place for.
var unsupportedWords = []string{
	"SELECT", "WITH", "JOIN", "UNION", "INTERSECT", "EXCEPT", "OVER", "WINDOW", "SAMPLE", "FINAL", "QUALIFY", "ROLLUP", "CUBE", "TOTALS",
	"USING", "SETTINGS", "FORMAT", "INTO", "FETCH",
}

// statements are the first words of others than SELECT.
var statements = []string{
	"ALTER", "ATTACH", "CALL", "CHECK", "CREATE", "DELETE", "DESC", "DESCRIBE", "DETACH", "DROP", "EXCHANGE", "EXPLAIN", "FROM", "GRANT", "INSERT", "KILL",
	"OPTIMIZE", "RENAME", "REPLACE", "REVOKE", "SET", "SHOW", "SYSTEM", "TRUNCATE", "UPDATE", "USE", "VALUES", "WATCH", "WITH",
}

// reserved are words that are no names unless they are quoted.
var reserved = []string{
	"SELECT", "DISTINCT", "FROM", "PREWHERE", "WHERE", "GROUP", "BY", "HAVING", "ORDER", "LIMIT", "OFFSET", "AS", "AND", "OR", "NOT", "IN", "IS", "LIKE", "ILIKE",
	"BETWEEN", "CASE", "WHEN", "THEN", "ELSE", "END", "ASC", "DESC", "NULLS", "DIV", "MOD", "ON", "TRUE", "FALSE", "NULL", "INTERVAL",
}

func isReserved(word string) bool {
	return slices.Contains(reserved, word) || slices.Contains(unsupportedWords, word)
}

// accept steps over a keyword or a sign that stands here.
func (p *parser) accept(word string) bool {
	if !p.is(word) {
		return false
	}
	p.pos++
	return true
}

func (p *parser) is(word string) bool { return p.peek().is(word) }

func (t token) is(word string) bool {
	return (t.kind == tokName || t.kind == tokSign) && t.text == word
}

func (p *parser) expect(word string) {
	if !p.accept(word) {
		p.unexpected(word)
	}
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

func list[T any](p *parser, read func(*parser) T) []T {
	all := []T{read(p)}
	for p.accept(",") {
		all = append(all, read(p))
	}
	return all
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

// alias reads [["AS"] name].
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

// joins is how many words stand before the JOIN of which the present word is part.
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

// name reads any name, which behind a point or AS may be a keyword.
func (p *parser) name() string {
	t := p.peek()
	switch {
	case t.kind == tokQuoted && t.text != "":
		p.pos++
		return t.text
	case t.kind == tokName:
		p.pos++
		return p.source.text[t.start:t.end]
	}
	p.unexpected("a name")
	return ""
}

// tables are those of FROM.
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

// limits reads ["LIMIT" int ["," int | "OFFSET" int]] ["OFFSET" int].
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

// enter counts nesting.
func (p *parser) enter() {
	if p.depth++; p.depth > maxNesting {
		t := p.peek()
		p.fail(p.fault(TooLarge, t.start, t.end, fmt.Sprintf("Expressions may be %d deep: a deeper one", maxNesting), ""))
	}
}

package hogql

import (
	"fmt"
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

// HasAggregate reports whether the expression contains an aggregate.
func (i Item) HasAggregate() bool { return newCompiler(nil, Context{}).hasAggregate(i.expr) }

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

// parser is a recursive descent parser. After an error it is at the end of the tokens, so
// that its methods need not check for errors.
type parser struct {
	*source
	pos   int
	depth int
	err   *Error
}

func newParser(text string) *parser { return &parser{source: lex(text)} }

// peek returns the current token, and peekAt the n-th after it.
func (p *parser) peek() token { return p.tokens[min(p.pos, len(p.tokens)-1)] }

func (p *parser) peekAt(n int) token { return p.tokens[min(p.pos+n, len(p.tokens)-1)] }

// prevEnd returns the end of the last token that was read.
func (p *parser) prevEnd() int {
	if p.pos == 0 {
		return 0
	}
	return p.tokens[p.pos-1].end
}

// fail stores the first error and moves to the end of the tokens, so that all loops
// terminate.
func (p *parser) fail(err *Error) {
	if p.err == nil {
		p.err = err
		p.tokens = append(p.tokens[:len(p.tokens):len(p.tokens)], token{kind: tokEnd, start: len(p.source.text), end: len(p.source.text)})
	}
	p.pos = len(p.tokens) - 1
}

// unexpected fails because of the current token.
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

// rejectUnsupported fails because the tokens from the current one to the n-th after it are
// SQL that is not supported.
func (p *parser) rejectUnsupported(n int) {
	start, end := p.peek().start, p.peekAt(n).end
	p.fail(p.fault(NotSupported, start, end, quoted(p.word(start, end))+" is not supported", ""))
}

// unsupportedWords are keywords of SQL that are not part of the grammar.
var unsupportedWords = []string{
	"SELECT", "WITH", "JOIN", "UNION", "INTERSECT", "EXCEPT", "OVER", "WINDOW", "SAMPLE", "FINAL", "QUALIFY", "ROLLUP", "CUBE", "TOTALS",
	"USING", "SETTINGS", "FORMAT", "INTO", "FETCH",
}

// statements are the first words of statements other than SELECT.
var statements = []string{
	"ALTER", "ATTACH", "CALL", "CHECK", "CREATE", "DELETE", "DESC", "DESCRIBE", "DETACH", "DROP", "EXCHANGE", "EXPLAIN", "FROM", "GRANT", "INSERT", "KILL",
	"OPTIMIZE", "RENAME", "REPLACE", "REVOKE", "SET", "SHOW", "SYSTEM", "TRUNCATE", "UPDATE", "USE", "VALUES", "WATCH", "WITH",
}

// reserved are words that cannot be names unless they are quoted.
var reserved = []string{
	"SELECT", "DISTINCT", "FROM", "PREWHERE", "WHERE", "GROUP", "BY", "HAVING", "ORDER", "LIMIT", "OFFSET", "AS", "AND", "OR", "NOT", "IN", "IS", "LIKE", "ILIKE",
	"BETWEEN", "CASE", "WHEN", "THEN", "ELSE", "END", "ASC", "DESC", "NULLS", "DIV", "MOD", "ON", "TRUE", "FALSE", "NULL", "INTERVAL",
}

func isReserved(word string) bool {
	return slices.Contains(reserved, word) || slices.Contains(unsupportedWords, word)
}

// accept skips the current token if it is the given keyword or sign.
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

// expect skips the current token, or fails if it is not the given keyword or sign.
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

// list parses one or more elements separated by commas.
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

// name parses any name. After a dot or AS it may be a keyword.
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

// enter increments the nesting depth, which is limited.
func (p *parser) enter() {
	if p.depth++; p.depth > maxNesting {
		t := p.peek()
		p.fail(p.fault(TooLarge, t.start, t.end, fmt.Sprintf("Expressions may be %d deep: a deeper one", maxNesting), ""))
	}
}

package hogql

import (
	"fmt"
	"slices"
)

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

// list parses one or more elements separated by commas.
func list[T any](p *parser, read func(*parser) T) []T {
	all := []T{read(p)}
	for p.accept(",") {
		all = append(all, read(p))
	}
	return all
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

// enter increments the nesting depth, which is limited.
func (p *parser) enter() {
	if p.depth++; p.depth > maxNesting {
		t := p.peek()
		p.fail(p.fault(TooLarge, t.start, t.end, fmt.Sprintf("Expressions may be %d deep: a deeper one", maxNesting), ""))
	}
}

// node returns a new node from start to the end of the last token.
func (p *parser) node(op op, start int) *node {
	return &node{op: op, src: p.source, start: start, end: p.prevEnd()}
}

// call returns a call node from start to the end of the last token.
func (p *parser) call(name string, start int, args ...*node) *node {
	n := p.node(opCall, start)
	n.name, n.args = name, args
	return n
}

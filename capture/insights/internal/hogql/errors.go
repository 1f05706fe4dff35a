package hogql

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Codes of errors (§1.7).
const (
	SyntaxError     = "syntax_error"
	UnknownField    = "unknown_field"
	UnknownFunction = "unknown_function"
	UnknownTable    = "unknown_table"
	NotSupported    = "not_supported"
	TypeError       = "type_error"
	TooLarge        = "query_too_large"
	InvalidInput    = "invalid_input" // of cohorts
)

// Unsupported is an error of Scope.Cohort: there is such a cohort, of a kind that is
// not supported.
type Unsupported string

func (u Unsupported) Error() string { return string(u) }

// Error says what is wrong with a text and where.
type Error struct {
	Code string
	// Text is for people; it has the word in double quotes and the place.
	Text string
	// Line and Column are from 1, in characters.
	Line, Column int
	// Start and End are offsets in characters.
	Start, End int
	// In is the text that has them.
	In string
}

func (e *Error) Error() string { return e.Text }

// source is a text that nodes are parts of.
type source struct {
	text   string
	tokens []token
}

// fault makes an error of the bytes from start to end. head is what is wrong, tail
// what stands behind the place.
func (s *source) fault(code string, start, end int, head, tail string) *Error {
	start = min(start, len(s.text))
	end = max(start, min(end, len(s.text)))
	before := s.text[:start]
	e := &Error{In: s.text, Code: code, Line: 1 + strings.Count(before, "\n")}
	e.Column = 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
	e.Start = utf8.RuneCountInString(before)
	e.End = e.Start + utf8.RuneCountInString(s.text[start:end])
	e.Text = fmt.Sprintf("%s at line %d, column %d%s", head, e.Line, e.Column, tail)
	return e
}

// quoted is a word in double quotes, cut where it is long.
func quoted(word string) string {
	if utf8.RuneCountInString(word) > 100 {
		word = string([]rune(word)[:100]) + "…"
	}
	return `"` + word + `"`
}

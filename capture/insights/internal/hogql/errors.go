package hogql

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// These are the codes of errors (§1.7).
const (
	SyntaxError     = "syntax_error"
	UnknownField    = "unknown_field"
	UnknownFunction = "unknown_function"
	UnknownTable    = "unknown_table"
	NotSupported    = "not_supported"
	TypeError       = "type_error"
	TooLarge        = "query_too_large"
	InvalidInput    = "invalid_input" // returned by Scope.Cohort
)

// Unsupported is an error of Scope.Cohort: the cohort exists but is of a kind that is not
// supported.
type Unsupported string

func (u Unsupported) Error() string { return string(u) }

// Error is an error in the text of a query, with its position.
type Error struct {
	Code string
	// Text is the message for people. It contains the erroneous part in double quotes, and
	// the position.
	Text string
	// Line and Column are counted from 1, in characters.
	Line, Column int
	// Start and End are offsets in characters.
	Start, End int
	// In is the text with the error.
	In string
}

func (e *Error) Error() string { return e.Text }

// source is a text and its tokens. Nodes refer to it.
type source struct {
	text   string
	tokens []token
}

// fault returns an error about the bytes from start to end. The message is head, the position
// and tail.
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

// quoted returns a word in double quotes, truncated to 100 characters.
func quoted(word string) string {
	if utf8.RuneCountInString(word) > 100 {
		word = string([]rune(word)[:100]) + "…"
	}
	return `"` + word + `"`
}

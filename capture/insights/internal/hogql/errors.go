package hogql

import "unicode/utf8"

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

// quoted returns a word in double quotes, truncated to 100 characters.
func quoted(word string) string {
	if utf8.RuneCountInString(word) > 100 {
		word = string([]rune(word)[:100]) + "…"
	}
	return `"` + word + `"`
}

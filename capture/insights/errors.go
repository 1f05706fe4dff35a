package insights

import "fmt"

// Error says why a query has no answer (§1.7). All but timeouts are the question's
// fault.
type Error struct {
	// Code is one of the codes of §1.7, such as "invalid_input".
	Code string
	// Attr is the place in the query with double underscores, such as
	// "query__series__0__math"; empty where no place is to blame.
	Attr string
	// Detail is for people.
	Detail string
	// Line and Column are the place inside a text of HogQL, from 1; 0 for none.
	// Start and End are the same as offsets in characters.
	Line, Column, Start, End int
}

func (e *Error) Error() string {
	if e.Attr == "" {
		return "insights: " + e.Detail
	}
	return "insights: " + e.Attr + ": " + e.Detail
}

// Codes of errors (§1.7).
const (
	invalidInput  = "invalid_input"
	invalidChoice = "invalid_choice"
	required      = "required"
	notSupported  = "not_supported"
	tooLarge      = "query_too_large"
)

func newError(code, attr, format string, args ...any) *Error {
	return &Error{Code: code, Attr: attr, Detail: fmt.Sprintf(format, args...)}
}

package problem

import (
	"strings"
	"unicode/utf8"
)

// Body is the error of a request body that cannot be used: the status and detail of the
// response (§9.11), and the invalid member, if any.
type Body struct {
	Status int
	Detail string
	Attr   string
	// Cause is the error of the response if reading failed for another reason.
	Cause error
}

func (e *Body) Error() string { return e.Detail }

// DecodeFailure returns the message of §9.11 with a cause.
func DecodeFailure(cause string) string {
	return "Failed to decode request: " + cause + ". Please check your request format and try again."
}

// OrCause returns the cause if there is one, and e otherwise.
func (e *Body) OrCause() error {
	if e.Cause != nil {
		return e.Cause
	}
	return e
}

// LineOf returns the line and column of a byte offset in text, in characters and counted from 1.
func LineOf[T string | []byte](text T, offset int) (line, column int) {
	before := string(text[:min(max(offset, 0), len(text))])
	return 1 + strings.Count(before, "\n"), 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
}

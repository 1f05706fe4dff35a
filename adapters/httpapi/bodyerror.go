package httpapi

import (
	"strings"
	"unicode/utf8"
)

// bodyError is the error of a request body that cannot be used: the status and detail of the
// response (§9.11), and the invalid member, if any.
type bodyError struct {
	Status int
	Detail string
	Attr   string
	// cause is the error of the response if reading failed for another reason.
	cause error
}

func (e *bodyError) Error() string { return e.Detail }

// decodeFailure returns the message of §9.11 with a cause.
func decodeFailure(cause string) string {
	return "Failed to decode request: " + cause + ". Please check your request format and try again."
}

// orCause returns the cause if there is one, and e otherwise.
func (e *bodyError) orCause() error {
	if e.cause != nil {
		return e.cause
	}
	return e
}

// lineOf returns the line and column of a byte offset in text, in characters and counted from 1.
func lineOf[T string | []byte](text T, offset int) (line, column int) {
	before := string(text[:min(max(offset, 0), len(text))])
	return 1 + strings.Count(before, "\n"), 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
}

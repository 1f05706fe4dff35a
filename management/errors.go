package management

import (
	"errors"
	"fmt"
)

// Kind is what became of a request that is refused.
type Kind int

// The kinds of errors, each a row of §2.2.
const (
	Invalid         Kind = iota // what was sent cannot be used
	Unauthenticated             // there is no valid key
	Forbidden                   // the key or its user may not
	NotFound                    // there is no such thing, or none that may be seen
	Conflict                    // it has been changed meanwhile, or is kept elsewhere
	Unavailable                 // not now
	TooMany                     // not until some of what runs is done
)

// Error is what a caller is told. Code is a word for programs, Field the place in
// what was sent, with two underscores between levels, empty for none.
type Error struct {
	Kind    Kind
	Code    string
	Message string
	Field   string
}

func (e *Error) Error() string {
	if e.Field != "" {
		return e.Field + ": " + e.Message
	}
	return e.Message
}

// ErrDuplicate is returned by Tx.Put when another record has the same Unique text.
var ErrDuplicate = errors.New("management: the unique text of the record is another one's")

// The codes of §2.2 that say more than the kind does.
const (
	CodeInvalid       = "invalid_input"
	CodeRequired      = "required"
	CodeNull          = "null"
	codeBlank         = "blank"
	CodeMaxLength     = "max_length"
	codeInvalidChoice = "invalid_choice"
	CodeDoesNotExist  = "does_not_exist"
	CodeUnique        = "unique"
	codeNotAList      = "not_a_list"
	CodeNotADict      = "not_a_dict"
	CodeMinValue      = "min_value"
	codeMaxValue      = "max_value"
)

// Fault is an invalid field. Field may be empty.
func Fault(field, format string, args ...any) *Error {
	return CodedFault(CodeInvalid, field, format, args...)
}

// CodedFault is an invalid field with a code of its own.
func CodedFault(code, field, format string, args ...any) *Error {
	return &Error{Kind: Invalid, Code: code, Field: field, Message: fmt.Sprintf(format, args...)}
}

// Denied is a refusal of something that the caller may not do.
func Denied(format string, args ...any) *Error {
	return &Error{Kind: Forbidden, Code: "permission_denied", Message: fmt.Sprintf(format, args...)}
}

// Missing is a thing that is not there.
func Missing(format string, args ...any) *Error {
	return &Error{Kind: NotFound, Code: "not_found", Message: fmt.Sprintf(format, args...)}
}

// Clash is a change that does not fit what has become of the thing.
func Clash(format string, args ...any) *Error {
	return &Error{Kind: Conflict, Code: "conflict", Message: fmt.Sprintf(format, args...)}
}

// Messages that stand in several places.
const (
	msgNotFound     = "Not found."
	MsgNoPermission = "You do not have permission to perform this action."
	MsgLevel        = "Your organization access level is insufficient."
)

// ErrNotFound is an unknown record below a known place.
func ErrNotFound() *Error { return Missing(msgNotFound) }

// ErrNoObject is a number in a body that names nothing.
func ErrNoObject(field string, id any) error {
	return CodedFault(CodeDoesNotExist, field, "Invalid pk %q - object does not exist.", fmt.Sprint(id))
}

package management

import (
	"errors"
	"fmt"
)

// Kind classifies errors; adapters map it to a status of their protocol.
type Kind int

// The kinds of errors, each a row of §2.2.
const (
	Invalid         Kind = iota // the request has an invalid value
	Unauthenticated             // there is no valid key
	Forbidden                   // the key or its user lacks a permission
	NotFound                    // the object does not exist or is not visible to the caller
	Conflict                    // the object has changed since, or is managed elsewhere
	Unavailable                 // not possible at present
	TooMany                     // not possible until other work of the caller has finished
)

// Error is an error that the caller receives. Code is for programs. Field is the path of the
// invalid value in the request with two underscores between levels; it is empty for errors that
// concern no field.
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

// ErrDuplicate is returned by Tx.Put if another record of the kind has the same Unique string.
var ErrDuplicate = errors.New("management: the unique text of the record is used by another record")

// The codes of §2.2 that are more specific than the kind of the error.
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

// Fault returns an error for an invalid field. field may be empty.
func Fault(field, format string, args ...any) *Error {
	return CodedFault(CodeInvalid, field, format, args...)
}

// CodedFault is like Fault with a code other than CodeInvalid.
func CodedFault(code, field, format string, args ...any) *Error {
	return &Error{Kind: Invalid, Code: code, Field: field, Message: fmt.Sprintf(format, args...)}
}

// Denied returns an error for an action that the caller may not perform.
func Denied(format string, args ...any) *Error {
	return &Error{Kind: Forbidden, Code: "permission_denied", Message: fmt.Sprintf(format, args...)}
}

// Missing returns an error for an object that does not exist.
func Missing(format string, args ...any) *Error {
	return &Error{Kind: NotFound, Code: "not_found", Message: fmt.Sprintf(format, args...)}
}

// Clash returns an error for a change that conflicts with the object's current state.
func Clash(format string, args ...any) *Error {
	return &Error{Kind: Conflict, Code: "conflict", Message: fmt.Sprintf(format, args...)}
}

// Messages that several functions use.
const (
	msgNotFound     = "Not found."
	MsgNoPermission = "You do not have permission to perform this action."
	MsgLevel        = "Your organization access level is insufficient."
)

// ErrNotFound returns the error for an object that a path names and that does not exist.
func ErrNotFound() *Error { return Missing(msgNotFound) }

// ErrNoObject returns the error for an id in a field that refers to no object.
func ErrNoObject(field string, id any) error {
	return CodedFault(CodeDoesNotExist, field, "Invalid pk %q - object does not exist.", fmt.Sprint(id))
}

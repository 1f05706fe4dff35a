// Package jsontext reads JSON of clients and of stores: a [Reader] parses a text from front to back,
// strictly or as JSON5, into values or into spans of the text. It bounds the depth and the members
// of a text, and a [Fault] has the position and the path of an error.
//
// reader.go has the Reader with objects and lists, text.go strings, number.go numbers, lenient.go
// what JSON5 adds, and fault.go the messages. [Unquote] decodes a string that was read as a span.
//
// Package flags/wire writes JSON, and has the parts that this package shares with the scanner of
// definitions (flags/internal/tape), which accepts what encoding/json accepts, without these bounds.
package jsontext

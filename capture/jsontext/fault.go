package jsontext

import (
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/flags/wire"
)

// Fault describes an error in a JSON text and its position.
type Fault struct {
	Text   string   // the JSON text; empty if the fault is not in a text
	Offset int      // in Text, in bytes, from 0
	What   string   // the message, such as "expected a value"
	Path   []string // names and indexes of the enclosing members, innermost first
	Err    error    // if not nil, the error to return: the text itself has no fault
	Bound  bool     // the text exceeds a limit, which applies to strict and lenient reading alike
}

// Error implements error. The message has the position but not the path, see [Fault.Where].
func (f *Fault) Error() string {
	if f.Err != nil {
		return f.Err.Error()
	}
	return f.What + " at byte " + strconv.Itoa(f.Offset)
}

// Unwrap returns Err.
func (f *Fault) Unwrap() error { return f.Err }

// Where returns the path of the member at fault, such as "person_properties.tags.0". It has at most
// the eight outermost names, and is empty at the top level.
func (f *Fault) Where() string {
	var b strings.Builder
	for i := len(f.Path) - 1; i >= 0; i-- {
		if len(f.Path)-i > 8 {
			b.WriteString("…")
			break
		}
		b.WriteString(wire.Shorten(f.Path[i], 64))
		if i > 0 {
			b.WriteByte('.')
		}
	}
	return b.String()
}

// faultText has two messages for one fault: for readers of values, and for readers with Spans set.
type faultText [2]string

// The faults whose messages differ between the two kinds of readers.
var (
	tooDeep     = faultText{"nested deeper than " + strconv.Itoa(maxDepth) + " levels", "nested too deep"}
	noName      = faultText{"expected a name in double quotes", "expected a name in quotes"}
	noColon     = faultText{"expected ':'", "expected a colon"}
	objectNext  = faultText{"expected ',' or '}'", "expected a comma or the end of the object"}
	listNext    = faultText{"expected ',' or ']'", "expected a comma or the end of the list"}
	objectComma = faultText{"comma before the closing bracket", noName[1]}
	listComma   = faultText{"comma before the closing bracket", "expected a value"}
	noFourHex   = faultText{"expected four hexadecimal digits", "unknown escape sequence"}
	moreText    = faultText{"text after the end of the value", "unexpected text after the value"}
)

// failText records a fault with the message for the kind of reader.
func (r *Reader) failText(w faultText) bool {
	if r.Spans {
		return r.Fail(w[1])
	}
	return r.Fail(w[0])
}

// Fail records a fault at the current position, unless there is one already. It returns false.
func (r *Reader) Fail(problem string) bool {
	if r.Fault == nil {
		r.Fault = &Fault{Text: r.Src, Offset: r.Pos, What: problem}
	}
	return false
}

// failBound records that a limit is exceeded. It returns false.
func (r *Reader) failBound(problem string) bool {
	r.Fail(problem)
	r.Fault.Bound = true
	return false
}

// FailIn adds the name of the enclosing member to the path of the fault. It returns false.
func (r *Reader) FailIn(name string) bool {
	if r.Fault != nil {
		r.Fault.Path = append(r.Fault.Path, name)
	}
	return false
}

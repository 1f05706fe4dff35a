package wire

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Fault says what is wrong with a JSON text and where.
type Fault struct {
	Text   string   // in which it is; empty: nowhere
	Offset int      // in bytes, from 0
	What   string   // such as "expected a value"
	Path   []string // names and indexes, innermost first
	Err    error    // is answered instead: nothing is wrong with the text
	Bound  bool     // the text is over a bound, in whatever way it is read
}

func (f *Fault) Error() string {
	if f.Err != nil {
		return f.Err.Error()
	}
	return f.What + " at byte " + strconv.Itoa(f.Offset)
}

// Unwrap is Err.
func (f *Fault) Unwrap() error { return f.Err }

// Where names the member at fault, such as "person_properties.tags.0": at most
// the outer eight names. It is empty at the top level.
func (f *Fault) Where() string {
	var b strings.Builder
	for i := len(f.Path) - 1; i >= 0; i-- {
		if len(f.Path)-i > 8 {
			b.WriteString("…")
			break
		}
		b.WriteString(Shorten(f.Path[i], 64))
		if i > 0 {
			b.WriteByte('.')
		}
	}
	return b.String()
}

// Shorten cuts a text for people to so many bytes, between two characters, and says
// so with an ellipsis.
func Shorten(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + "…"
}

// faultText are the two texts of a fault: for those who read values, and for those of Spans.
type faultText [2]string

var (
	tooDeep     = faultText{"nested deeper than " + strconv.Itoa(MaxDepth) + " levels", "nested too deep"}
	noName      = faultText{"expected a name in double quotes", "expected a name in quotes"}
	noColon     = faultText{"expected ':'", "expected a colon"}
	objectNext  = faultText{"expected ',' or '}'", "expected a comma or the end of the object"}
	listNext    = faultText{"expected ',' or ']'", "expected a comma or the end of the list"}
	objectComma = faultText{"comma before the closing bracket", noName[1]}
	listComma   = faultText{"comma before the closing bracket", "expected a value"}
	noFourHex   = faultText{"expected four hexadecimal digits", "unknown escape sequence"}
	moreText    = faultText{"text after the end of the value", "unexpected text after the value"}
)

func (r *Reader) failText(w faultText) bool {
	if r.Spans {
		return r.Fail(w[1])
	}
	return r.Fail(w[0])
}

// Fail records the first fault, at the present position.
func (r *Reader) Fail(problem string) bool {
	if r.Fault == nil {
		r.Fault = &Fault{Text: r.Src, Offset: r.Pos, What: problem}
	}
	return false
}

// failBound records that a bound is passed.
func (r *Reader) failBound(problem string) bool {
	r.Fail(problem)
	r.Fault.Bound = true
	return false
}

// FailIn adds the name of the enclosing member to the fault.
func (r *Reader) FailIn(name string) bool {
	if r.Fault != nil {
		r.Fault.Path = append(r.Fault.Path, name)
	}
	return false
}

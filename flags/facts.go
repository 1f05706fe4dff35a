package flags

import (
	"time"
	"unicode/utf8"
	"unsafe"

	"github.com/bunting-flags/bunting/flags/internal/values"
)

// verdict is the result of a check.
type verdict uint8

const (
	no verdict = iota
	yes
	unknown // depends on an unknown fact (partial subjects)
	invalid // not comparable: does not match, even if negated
)

// verdictOf converts a boolean.
func verdictOf(b bool) verdict {
	if b {
		return yes
	}
	return no
}

// not inverts yes and no. Unknown and invalid remain.
func (v verdict) not() verdict {
	switch v {
	case yes:
		return no
	case no:
		return yes
	}
	return v
}

var verdicts = [...]string{"no", "yes", "unknown", "invalid"}

func (v verdict) String() string { return verdicts[v] }

// minVerdict returns the conjunction of two verdicts: no before unknown before yes.
func minVerdict(a, b verdict) verdict {
	if a == no || b == no {
		return no
	}
	if a == unknown || b == unknown {
		return unknown
	}
	return yes
}

// fact is the value of a slot, valid for the evaluation with its epoch.
type fact struct {
	epoch   uint32
	state   factState
	source  ValueSource
	numeric uint8 // 0 not tried, 1 number is valid, 2 the value is no number
	textual uint8 // likewise for text
	value   any
	text    string
	number  float64
}

// factState distinguishes present, missing and unknown facts. Facts are unknown if the
// subject is partial or a store failed.
type factState uint8

const (
	factMissing factState = iota
	factPresent
	factUnknown
)

// reader converts facts to strings and numbers. It caches the results and owns their memory.
type reader struct {
	at       time.Time      // time of the evaluation
	zone     *time.Location // the project's zone
	arena    []byte         // text forms of facts that are not strings
	input    []byte         // scratch memory for hash input and lower-cased text
	timedOut bool           // a search exceeded its limits, for the trace
}

// text returns the text form of a fact (§4.2), and false for a value without one.
func (r *reader) text(f *fact) (string, bool) {
	if f.textual == 0 {
		f.textual = 2
		from := len(r.arena)
		if arena, ok := values.Text(r.arena, f.value); ok {
			r.arena = arena
			// These bytes are not modified before the next evaluation, which invalidates all
			// facts first.
			f.text, f.textual = unsafe.String(unsafe.SliceData(arena[from:]), len(arena)-from), 1
		}
	}
	return f.text, f.textual == 1
}

// number returns the number that a fact is or contains as text (§4.3), and false for other
// values.
func (r *reader) number(f *fact) (float64, bool) {
	if f.numeric == 0 {
		f.numeric = 2
		if n, ok := values.Number(f.value); ok {
			f.number, f.numeric = n, 1
		}
	}
	return f.number, f.numeric == 1
}

// validText is utf8.ValidString with a fast path for short ASCII strings, which most are.
func validText(s string) bool {
	const high = 0x8080808080808080
	n := len(s)
	switch {
	case n > 32:
		return utf8.ValidString(s)
	case n >= 8:
		all := word(s[n-8:])
		for i := 0; i+8 < n; i += 8 {
			all |= word(s[i:])
		}
		return all&high == 0 || utf8.ValidString(s)
	}
	var all byte
	for i := range n {
		all |= s[i]
	}
	return all < utf8.RuneSelf || utf8.ValidString(s)
}

// word returns the first eight bytes of s as an integer. The compiler turns this into one
// load.
func word(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

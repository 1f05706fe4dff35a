package flags

import (
	"time"
	"unicode/utf8"
	"unsafe"
)

// fact is the value found for a slot, valid for one evaluation.
type fact struct {
	epoch   uint32
	state   factState
	source  ValueSource
	numeric uint8 // 0 not tried, 1 a number, 2 none
	textual uint8 // likewise for text
	value   any
	text    string
	number  float64
}

type factState uint8

const (
	factMissing factState = iota
	factPresent
	factUnknown
)

// reader reads facts as texts and numbers, each once, in memory that it keeps.
type reader struct {
	at       time.Time      // of the evaluation
	zone     *time.Location // the project's
	arena    []byte         // texts of facts that are not text
	input    []byte         // hash input and lower-cased text, used and forgotten
	timedOut bool           // a search ran into its limits, as a trace tells
}

// text is the text form of a fact (§4.2), false for what has none.
func (r *reader) text(f *fact) (string, bool) {
	if f.textual == 0 {
		f.textual = 2
		from := len(r.arena)
		if arena, ok := appendText(r.arena, f.value); ok {
			r.arena = arena
			// The bytes stay as they are until the next evaluation, which forgets
			// every fact first.
			f.text, f.textual = unsafe.String(unsafe.SliceData(arena[from:]), len(arena)-from), 1
		}
	}
	return f.text, f.textual == 1
}

func (r *reader) number(f *fact) (float64, bool) {
	if f.numeric == 0 {
		f.numeric = 2
		if n, ok := number(f.value); ok {
			f.number, f.numeric = n, 1
		}
	}
	return f.number, f.numeric == 1
}

// validText is utf8.ValidString, in place for the short texts that most are.
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

// word are the first eight bytes of a text, which the compiler reads at once.
func word(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

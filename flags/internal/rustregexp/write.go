package rustregexp

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxWritten is the maximum length of the text for an engine, in bytes.
const maxWritten = 8 << 20

// writer writes a tree in the syntax of an engine. write and set are the functions for the nodes
// and sets that differ between the engines. Text that is written after a limit is exceeded is
// dropped, so functions need not check for errors; text reports the error at the end.
type writer struct {
	out strings.Builder
	// out is the text so far.
	full  bool // a limit is exceeded, further text is dropped
	write func(w *writer, n *node)
	set   func(w *writer, set runeSet)
	refs  map[int]bool // groups that must be captured
	ascii bool         // for ASCII text only: other runes may be omitted
	// squared is the sum, over all classes, of the squared number of ranges.
	squared int
}

// errTooBig is returned for patterns above the limits of size.
var errTooBig = errors.New("pattern: too big once compiled")

// text writes a tree and returns the result.
func (w *writer) text(n *node) (string, error) {
	w.node(n)
	if w.full {
		return "", errTooBig
	}
	return w.out.String(), nil
}

// put writes the parts, or drops them if the text becomes too long.
func (w *writer) put(parts ...string) {
	for _, part := range parts {
		if w.out.Len()+len(part) > maxWritten {
			w.full = true
			return
		}
		w.out.WriteString(part)
	}
}

// node writes the constructs that both engines share and calls write for the others.
func (w *writer) node(n *node) {
	if w.full {
		return
	}
	switch n.op {
	case opEmpty, opKeep:
	case opSet:
		w.set(w, n.set)
	case opConcat:
		for _, sub := range n.subs {
			// An alternation has the lowest precedence and needs a group in a sequence.
			if sub.op == opAlternate {
				w.wrap("(?:", sub)
			} else {
				w.node(sub)
			}
		}
	case opAlternate:
		for i, sub := range n.subs {
			if i > 0 {
				w.put("|")
			}
			w.node(sub)
		}
	case opTextStart, opContinue:
		w.put(`\A`)
	case opTextEnd:
		w.put(`\z`)
	case opLineStart:
		w.put(`(?m:^)`)
	case opLineEnd:
		w.put(`(?m:$)`)
	default:
		w.write(w, n)
	}
}

// wrap writes a node in a group that begins with open.
func (w *writer) wrap(open string, n *node) {
	w.put(open)
	w.node(n)
	w.put(")")
}

// atom writes a node so that a quantifier applies to all of it.
func (w *writer) atom(n *node) {
	if n.op == opSet {
		w.node(n)
		return
	}
	w.wrap("(?:", n)
}

// counts writes a quantifier.
func (w *writer) counts(lo, hi int) {
	switch {
	case lo == 0 && hi == 1:
		w.put("?")
	case lo == 0 && hi == unlimited:
		w.put("*")
	case lo == 1 && hi == unlimited:
		w.put("+")
	case hi == unlimited:
		w.put("{", strconv.Itoa(lo), ",}")
	case lo == hi:
		w.put("{", strconv.Itoa(lo), "}")
	default:
		w.put("{", strconv.Itoa(lo), ",", strconv.Itoa(hi), "}")
	}
}

// withoutSurrogateGap returns the ranges of a set without the gap at the surrogates, which do not occur in valid
// text.
func withoutSurrogateGap(set runeSet) runeSet {
	for i := 1; i < len(set); i++ {
		// At most one pair of ranges is next to the surrogates.
		if set[i-1].hi == firstSurrogate-1 && set[i].lo == lastSurrogate+1 {
			out := append(runeSet{}, set[:i]...)
			out[i-1].hi = set[i].hi
			return append(out, set[i+1:]...)
		}
	}
	return set
}

// rune writes a literal. Beyond ASCII every rune is literal in both engines.
func (w *writer) rune(r rune) {
	switch {
	case r >= utf8.RuneSelf:
		w.put(string(r))
	case '0' <= r && r <= '9', 'A' <= r && r <= 'Z', 'a' <= r && r <= 'z':
		w.put(alphanumerics[r-'0' : r-'0'+1])
	default:
		w.put(fmt.Sprintf(`\x%02X`, r)) // both engines support this form
	}
}

// alphanumerics are the characters from '0' to 'z'. Slices of it avoid allocating a string for one
// character.
const alphanumerics = "0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz"

// class writes a set: a single rune, or a bracket class of ranges.
func (w *writer) class(set runeSet) {
	if len(set) == 1 && set[0].lo == set[0].hi {
		w.rune(set[0].lo)
		return
	}
	w.put("[")
	for _, r := range withoutSurrogateGap(set) {
		w.rune(r.lo)
		if r.hi > r.lo {
			w.put("-")
			w.rune(r.hi)
		}
	}
	w.put("]")
}

// newLinearWriter returns a writer for package regexp, without captures and lazy repetitions: they
// do not affect whether there is a match.
func newLinearWriter(ascii bool) *writer {
	return &writer{write: writeLinear, set: writeLinearSet, ascii: ascii}
}

// writeLinear writes the nodes that differ between the engines in the syntax of package regexp.
// Groups need no captures, and the other nodes do not occur in patterns for package regexp.
func writeLinear(w *writer, n *node) {
	switch n.op {
	case opGroup:
		w.wrap("(?:", n.subs[0])
	case opRepeat:
		w.linearRepeat(n)
	case opBoundary:
		w.put(`\b`)
	case opNotBoundary:
		w.put(`\B`)
	}
}

// linearRepeat writes a repetition. Counts above the maximum of package regexp are split into
// several repetitions.
func (w *writer) linearRepeat(n *node) {
	sub := n.subs[0]
	step := maxLinearCount / sub.counted
	if most := max(n.lo, n.hi); most <= step || most <= 1 {
		w.atom(sub)
		w.counts(n.lo, n.hi)
		return
	}
	// pieces writes times repetitions in parts of at most step; each part is optional if optional
	// is true.
	pieces := func(times int, optional bool) {
		for ; times > 0 && !w.full; times -= step {
			hi := min(times, step)
			lo := hi
			if optional {
				lo = 0
			}
			w.atom(sub)
			w.counts(lo, hi)
		}
	}
	// First the required repetitions, then a star or the optional ones.
	pieces(n.lo, false)
	if n.hi == unlimited {
		w.atom(sub)
		w.put("*")
		return
	}
	pieces(n.hi-n.lo, true)
}

// writeLinearSet writes a set in the syntax of package regexp, in a short form if there is one.
func writeLinearSet(w *writer, set runeSet) {
	if w.ascii {
		set = set.intersect(runeSet{{0, 0x7F}})
	}
	switch {
	case len(set) == 0:
		w.put(`[^\x{0}-\x{10FFFF}]`) // matches no rune
	case set.equal(anySet):
		w.put(`(?s:.)`)
	case set.equal(notNewline):
		w.put(`(?-s:.)`)
	default:
		w.class(set)
	}
}

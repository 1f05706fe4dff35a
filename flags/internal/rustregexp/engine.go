package rustregexp

import (
	"fmt"
	"strconv"
	"time"

	"github.com/dlclark/regexp2/v2"
)

// Limits of the backtracking engine. fancy_regex allows 10,000 backtracking steps; regexp2 can only
// be limited by time and by the size of its stack. The time is that of one of two attempts, see
// backtrack.
const (
	timeLimit           = 10 * time.Millisecond
	clockPeriod         = 2 * time.Millisecond
	maxBacktrackStack   = 1 << 18 // integers, 2 MiB for each running match
	maxBacktrackingText = 1 << 20 // bytes
)

// maxSquaredRanges limits the sum, over the classes that the engine compiles, of the squared number
// of ranges: for each range of a class it sorts the previous ranges, which takes some 5 ns per
// range.
const maxSquaredRanges = 1 << 24

// The period is shorter than regexp2's default of 100 ms, because a deadline is rounded up by one
// period. The clock's goroutine runs from the first backtracking match until a second after the
// last.
func init() { regexp2.SetTimeoutCheckPeriod(clockPeriod) }

// compileEngine compiles a tree with regexp2, version 2 of the module: the maintained version, and
// the one with a stack limit. It uses the default mode, and only the constructs that writeEngine
// writes: classes are lists of ranges, the end of the text is \z.
func compileEngine(tree *node, refs map[int]bool) (*regexp2.Regexp, error) {
	w := &writer{write: writeEngine, set: writeEngineSet, refs: refs}
	text, err := w.text(tree)
	if err != nil {
		return nil, err
	}
	re, err := regexp2.Compile(text, regexp2.OptionMaxBacktrackingStackSize(maxBacktrackStack))
	if err != nil {
		return nil, fmt.Errorf("pattern: %w", err)
	}
	re.MatchTimeout = timeLimit
	return re, nil
}

// engineWord is \w in regexp2's syntax, written with categories because that is shorter than
// ranges. It equals wordSet: the only runes that are Alphabetic and in none of these categories are
// the circled and squared letters.
const engineWord = `\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\u200C\u200DⒶ-ⓩ🄰-🅉🅐-🅩🅰-🆉`

// engineAssertions are the assertions that regexp2 lacks, expressed by the characters on the left
// and on the right.
var engineAssertions = map[nodeOp]string{
	opBoundary:      `(?:` + afterWord + notBeforeWord + `|` + notAfterWord + beforeWord + `)`,
	opNotBoundary:   `(?:` + afterWord + beforeWord + `|` + notAfterWord + notBeforeWord + `)`,
	opWordStart:     notAfterWord + beforeWord,
	opWordEnd:       afterWord + notBeforeWord,
	opHalfStart:     notAfterWord,
	opHalfEnd:       notBeforeWord,
	opLineStartCRLF: `(?:\A|(?<=\n)|(?<=\r)(?!\n))`,
	opLineEndCRLF:   `(?:\z|(?=\r)|(?<!\r)(?=\n))`,
}

// These are the characters on the right and on the left, as look-around: a word character, or
// another character or an end of the text.
const (
	beforeWord    = `(?=[` + engineWord + `])`
	notBeforeWord = `(?![` + engineWord + `])`
	afterWord     = `(?<=[` + engineWord + `])`
	notAfterWord  = `(?<![` + engineWord + `])`
)

// writeEngine writes the nodes that differ between the engines in regexp2's syntax. Only groups
// with a back-reference are captured, under their number as name.
func writeEngine(w *writer, n *node) {
	group := strconv.Itoa(n.group)
	switch n.op {
	case opGroup:
		if w.refs[n.group] {
			w.wrap("(?<"+group+">", n.subs[0])
		} else {
			w.wrap("(?:", n.subs[0])
		}
	case opRepeat:
		w.atom(n.subs[0])
		w.counts(n.lo, n.hi)
		if n.lazy {
			w.put("?")
		}
	case opAtomic:
		w.wrap("(?>", n.subs[0])
	case opLook:
		open := "(?"
		if n.behind {
			open += "<"
		}
		if n.negated {
			open += "!"
		} else {
			open += "="
		}
		w.wrap(open, n.subs[0])
	case opBackref:
		if n.fold {
			w.put(`(?i:\k<`, group, `>)`)
		} else {
			w.put(`\k<`, group, `>`)
		}
	case opExists:
		// As an assertion: the condition with an empty branch, or one that never matches.
		w.put("(?(", group, ")|(?!))")
	case opCondition:
		w.engineCondition(n)
	default:
		w.put(engineAssertions[n.op])
	}
}

// engineCondition writes a condition. In Rust's syntax, unlike regexp2's own, an expression as
// condition consumes the text that it matches, and is not backtracked into.
func (w *writer) engineCondition(n *node) {
	cond, yes, no := n.subs[0], n.subs[1], n.subs[2]
	// A group as condition has the same meaning in both syntaxes.
	if cond.op == opExists {
		w.put("(?(", strconv.Itoa(cond.group), ")")
		w.wrap("(?:", yes)
		w.put("|")
		w.wrap("(?:", no)
		w.put(")")
		return
	}
	// (?:(?>cond)(?:yes)|(?!cond)(?:no))
	w.put("(?:")
	w.wrap("(?>", cond)
	w.wrap("(?:", yes)
	w.put("|")
	w.wrap("(?!", cond)
	w.wrap("(?:", no)
	w.put(")")
}

// writeEngineSet writes a set in regexp2's syntax, in a short form if there is one.
func writeEngineSet(w *writer, set runeSet) {
	switch {
	case len(set) == 0:
		w.put(`(?!)`)
	case set.equal(anySet):
		w.put(`[\s\S]`)
	case set.equal(notNewline):
		w.put(`[^\n]`)
	case set.equal(wordSet()):
		w.put("[", engineWord, "]")
	case set.equal(notWordSet()):
		w.put("[^", engineWord, "]")
	default:
		if w.squared += len(set) * len(set); w.squared > maxSquaredRanges {
			w.full = true
			return
		}
		w.class(set)
	}
}

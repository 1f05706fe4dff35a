package rustregexp

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/dlclark/regexp2/v2"
)

// maxLength is the maximum length of a pattern, in bytes.
const maxLength = 16 << 10

// Result is the outcome of a search.
type Result uint8

// The results of a search.
const (
	Miss    Result = iota // not in the text
	Hit                   // in the text
	Timeout               // undecided within the limits; not a match, for regex and not_regex alike
)

// Pattern is a compiled filter value of the operators regex and not_regex: Rust syntax, as the
// crate fancy_regex reads it (§4.5 "Regex engine"). It is safe for concurrent use.
//
// Patterns run on package regexp, in time linear in the text and without allocating. Constructs
// that it does not support (look-around, back-references, atomic groups, conditions, one-sided word
// boundaries) run on a backtracking engine with limits. \b runs on package regexp for text in
// ASCII, for which both meanings agree, and on the backtracking engine for other text.
type Pattern struct {
	// plain is the text of a literal pattern, which has neither linear nor engine.
	plain      string
	start, end bool // plain must be at the start, at the end of the text
	// linear is nil if only the backtracking engine can match the pattern; engine is nil if it is
	// not needed.
	linear    *linear
	asciiOnly bool // linear is correct for ASCII text only
	engine    *regexp2.Regexp
}

// timedOutPatterns is the result of Timeouts.
var timedOutPatterns atomic.Uint64

// Timeouts returns the number of searches in this process that ended with Timeout.
func Timeouts() uint64 { return timedOutPatterns.Load() }

// Compile compiles a pattern. An error describes the problem and its byte offset in the pattern:
// invalid syntax, a pattern above 16 KiB or not in UTF-8, groups nested more than 63 deep, a
// compiled size above about 10 MiB (the limits of fancy_regex, except for the length), a program of
// package regexp above 10,000 instructions, sets of runes that take more than 2^20 steps to compute
// (maxSetWork), or too many or too large classes for the backtracking engine (maxSquaredRanges). So
// no pattern takes much longer than a tenth of a second to compile.
func Compile(rust string) (*Pattern, error) {
	if len(rust) > maxLength {
		return nil, fmt.Errorf("pattern: %d bytes are more than %d", len(rust), maxLength)
	}
	if !utf8.ValidString(rust) {
		return nil, fmt.Errorf("pattern: not valid UTF-8")
	}
	tree, refs, err := parse(rust)
	if err != nil {
		return nil, err
	}
	// This step comes before the analysis: without its look-ahead a pattern may not need
	// backtracking.
	tree = withoutTrailingLook(tree)
	analysis := &analyzer{refs: refs, groups: make(map[int]nodeFacts)}
	facts, err := analysis.node(tree)
	if err != nil {
		return nil, err
	}
	if facts.size > maxSize {
		return nil, errTooBig
	}
	// A literal pattern needs no program: Find uses package strings.
	if text, start, end, ok := plainText(tree); ok {
		return &Pattern{plain: text, start: start, end: end}, nil
	}
	// A pattern with \b needs both engines, since Find chooses between them by text.
	p := &Pattern{asciiOnly: analysis.boundary}
	if !analysis.backtrack {
		if p.linear, err = compileLinear(tree, p.asciiOnly); err != nil {
			return nil, err
		}
	}
	if analysis.backtrack || analysis.boundary {
		if p.engine, err = compileEngine(tree, refs); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// linear is a program of package regexp. It is compiled at the first search, since most patterns of
// a project are never used in a process.
type linear struct {
	text    string
	longest int // maximum length of the text that is searched, in bytes
	once    sync.Once
	program *regexp.Regexp
}

// compileLinear checks that the program compiles and is within the limits.
func compileLinear(tree *node, ascii bool) (*linear, error) {
	text, err := newLinearWriter(ascii).text(tree)
	if err != nil {
		return nil, err
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil { // regexp.Compile fails for no other reason
		return nil, fmt.Errorf("pattern: %w", err)
	}
	size := instructions(parsed)
	// Package regexp itself allows far larger programs.
	if size > maxProgram {
		return nil, fmt.Errorf("pattern: it takes %d instructions, more than %d: repeat less", size, maxProgram)
	}
	return &linear{text: text, longest: min(maxLinearText, maxSteps/size)}, nil
}

// find searches text, unless it is too long for the program.
func (l *linear) find(text string) Result {
	if len(text) > l.longest {
		timedOutPatterns.Add(1)
		return Timeout
	}
	l.once.Do(func() { l.program = regexp.MustCompile(l.text) })
	return resultOf(l.program.MatchString(text))
}

// Find searches for the pattern anywhere in text, which must be valid UTF-8.
func (p *Pattern) Find(text string) Result {
	switch {
	// Programs come first, because they are faster and have no time limit.
	case p.linear != nil && (!p.asciiOnly || isASCII(text)):
		return p.linear.find(text)
	case p.engine != nil:
		return p.backtrack(text)
	case p.start && p.end:
		return resultOf(text == p.plain)
	case p.start:
		return resultOf(strings.HasPrefix(text, p.plain))
	case p.end:
		return resultOf(strings.HasSuffix(text, p.plain))
	}
	return resultOf(strings.Contains(text, p.plain))
}

// backtrack searches with the backtracking engine, which only fails if it runs out of time or
// stack. It can also run out of time because the machine is too busy to run this goroutine, or the
// engine's clock: a second attempt keeps load from changing the result.
func (p *Pattern) backtrack(text string) Result {
	if len(text) <= maxBacktrackingText {
		// A second attempt cannot help if the stack is exhausted, since that does not depend on
		// load.
		for range 2 {
			found, err := p.engine.MatchString(text)
			if err == nil {
				return resultOf(found)
			}
			if errors.Is(err, regexp2.ErrBacktrackingStackLimit) {
				break
			}
		}
	}
	timedOutPatterns.Add(1)
	return Timeout
}

// resultOf converts the result of a matcher.
func resultOf(found bool) Result {
	if found {
		return Hit
	}
	return Miss
}

// isASCII reports whether text has only ASCII characters.
func isASCII(text string) bool {
	for i := 0; i < len(text); i++ {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

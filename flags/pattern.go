package flags

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"github.com/dlclark/regexp2/v2"
)

// maxPatternLength is the longest pattern that is compiled, in bytes.
const maxPatternLength = 16 << 10

// patternResult is the outcome of looking for a pattern.
type patternResult uint8

const (
	patternMiss    patternResult = iota // not in the text
	patternHit                          // in the text
	patternTimeout                      // undecided within the limits; counts as no match for regex and not_regex alike
)

// pattern is a compiled filter value of the operators regex and not_regex: Rust syntax, as the crate
// fancy_regex reads it (§4.5 "Regex engine"). It is safe for concurrent use.
//
// Patterns run on package regexp, in time linear in the text and without allocating. What that
// cannot do (look-around, back-references, atomic groups, conditions, one-sided word boundaries)
// runs on a backtracking engine with limits. \b runs on the first for text in ASCII, where
// its two meanings agree, and on the second for other text.
type pattern struct {
	plain      string
	start, end bool // plain must stand at the start, at the end of the text
	linear     *regexp.Regexp
	asciiOnly  bool // linear is right for text in ASCII only
	engine     *regexp2.Regexp
}

var timedOutPatterns atomic.Uint64

// patternTimeouts returns how many searches of this process ended as patternTimeout.
func patternTimeouts() uint64 { return timedOutPatterns.Load() }

// compilePattern prepares a pattern. An error says what is wrong and at which byte of the pattern:
// bad syntax, a pattern above 16 KiB or not in UTF-8, groups nested more than 63 deep, or a compiled
// size above about 10 MiB (the limits of fancy_regex, but for the length).
func compilePattern(rust string) (*pattern, error) {
	if len(rust) > maxPatternLength {
		return nil, fmt.Errorf("pattern: %d bytes are more than %d", len(rust), maxPatternLength)
	}
	if !utf8.ValidString(rust) {
		return nil, fmt.Errorf("pattern: not valid UTF-8")
	}
	tree, refs, err := parsePattern(rust)
	if err != nil {
		return nil, err
	}
	tree = withoutTrailingLook(tree)
	analysis := &patternAnalysis{refs: refs, groups: make(map[int]patternFacts)}
	facts, err := analysis.node(tree)
	if err != nil {
		return nil, err
	}
	if facts.size > maxPatternSize {
		return nil, errPatternTooBig
	}
	if text, start, end, ok := plainText(tree); ok {
		return &pattern{plain: text, start: start, end: end}, nil
	}
	p := &pattern{asciiOnly: analysis.boundary}
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

func compileLinear(tree *patternNode, ascii bool) (*regexp.Regexp, error) {
	text, err := newLinearWriter(ascii).text(tree)
	if err != nil {
		return nil, err
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("pattern: %w", err)
	}
	return re, nil
}

// find looks for the pattern anywhere in text, which must be valid UTF-8.
func (p *pattern) find(text string) patternResult {
	switch {
	case p.linear != nil && (!p.asciiOnly || isASCII(text)):
		return hitIf(p.linear.MatchString(text))
	case p.engine != nil:
		return p.backtrack(text)
	case p.start && p.end:
		return hitIf(text == p.plain)
	case p.start:
		return hitIf(strings.HasPrefix(text, p.plain))
	case p.end:
		return hitIf(strings.HasSuffix(text, p.plain))
	}
	return hitIf(strings.Contains(text, p.plain))
}

// backtrack searches with the backtracking engine, whose only errors are that its time or its stack
// ran out. Time also runs out when the machine is too busy to run this goroutine, or the engine's
// clock, for so long: so that load does not change an answer, a search gets a second chance.
func (p *pattern) backtrack(text string) patternResult {
	if len(text) <= maxBacktrackingText {
		for range 2 {
			found, err := p.engine.MatchString(text)
			if err == nil {
				return hitIf(found)
			}
			if errors.Is(err, regexp2.ErrBacktrackingStackLimit) {
				break
			}
		}
	}
	timedOutPatterns.Add(1)
	return patternTimeout
}

func hitIf(found bool) patternResult {
	if found {
		return patternHit
	}
	return patternMiss
}

func isASCII(text string) bool {
	for i := 0; i < len(text); i++ {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

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

// maxLength is the longest pattern that is compiled, in bytes.
const maxLength = 16 << 10

// Result is the outcome of looking for a pattern.
type Result uint8

// The results of looking for a pattern.
const (
	Miss    Result = iota // not in the text
	Hit                   // in the text
	Timeout               // undecided within the limits; counts as no match for regex and not_regex alike
)

// Pattern is a compiled filter value of the operators regex and not_regex: Rust syntax, as the
// crate fancy_regex reads it (§4.5 "Regex engine"). It is safe for concurrent use.
//
// Patterns run on package regexp, in time linear in the text and without allocating. What that
// cannot do (look-around, back-references, atomic groups, conditions, one-sided word boundaries)
// runs on a backtracking engine with limits. \b runs on the first for text in ASCII, where
// its two meanings agree, and on the second for other text.
type Pattern struct {
	plain      string
	start, end bool // plain must stand at the start, at the end of the text
	linear     *linear
	asciiOnly  bool // linear is right for text in ASCII only
	engine     *regexp2.Regexp
}

var timedOutPatterns atomic.Uint64

// Timeouts returns how many searches of this process ended as Timeout.
func Timeouts() uint64 { return timedOutPatterns.Load() }

// Compile prepares a pattern. An error says what is wrong and at which byte of the pattern: bad
// syntax, a pattern above 16 KiB or not in UTF-8, groups nested more than 63 deep, a compiled
// size above about 10 MiB (the limits of fancy_regex, but for the length), a program of package
// regexp above 10,000 instructions, sets of runes that take more than 2^20 steps to compute
// (maxSetWork), or more or larger classes than the backtracking engine compiles soon
// (maxSquaredRanges). So no pattern takes much longer than a tenth of a second to compile.
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
	tree = withoutTrailingLook(tree)
	analysis := &analyzer{refs: refs, groups: make(map[int]nodeFacts)}
	facts, err := analysis.node(tree)
	if err != nil {
		return nil, err
	}
	if facts.size > maxSize {
		return nil, errTooBig
	}
	if text, start, end, ok := plainText(tree); ok {
		return &Pattern{plain: text, start: start, end: end}, nil
	}
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

// linear is a program of package regexp, which is made when it is first asked for: most
// patterns of a project are never met in a process.
type linear struct {
	text    string
	longest int // bytes of text that it looks at
	once    sync.Once
	program *regexp.Regexp
}

// compileLinear makes sure that there is a program.
func compileLinear(tree *node, ascii bool) (*linear, error) {
	text, err := newLinearWriter(ascii).text(tree)
	if err != nil {
		return nil, err
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil { // the only way in which regexp.Compile fails
		return nil, fmt.Errorf("pattern: %w", err)
	}
	size := instructions(parsed)
	if size > maxProgram {
		return nil, fmt.Errorf("pattern: it takes %d instructions, more than %d: repeat less", size, maxProgram)
	}
	return &linear{text: text, longest: min(maxLinearText, maxSteps/size)}, nil
}

func (l *linear) find(text string) Result {
	if len(text) > l.longest {
		timedOutPatterns.Add(1)
		return Timeout
	}
	l.once.Do(func() { l.program = regexp.MustCompile(l.text) })
	return resultOf(l.program.MatchString(text))
}

// Find looks for the pattern anywhere in text, which must be valid UTF-8.
func (p *Pattern) Find(text string) Result {
	switch {
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

// backtrack searches with the backtracking engine, whose only errors are that its time or its stack
// ran out. Time also runs out when the machine is too busy to run this goroutine, or the engine's
// clock, for so long: so that load does not change an answer, a search gets a second chance.
func (p *Pattern) backtrack(text string) Result {
	if len(text) <= maxBacktrackingText {
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

func resultOf(found bool) Result {
	if found {
		return Hit
	}
	return Miss
}

func isASCII(text string) bool {
	for i := 0; i < len(text); i++ {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// Package boundedre compiles the regular expressions of queries, actions and projects (RE2
// syntax) and bounds the work of one search.
//
// The running time of package regexp is proportional to the length of the text times the number
// of instructions of the program, and a search cannot be cancelled: x{1000} runs for 46 seconds
// on a text of 8 MB. Callers check Fits before each search and decide how to handle a text that
// is too long.
package boundedre

import (
	"regexp"
	"regexp/syntax"
)

// maxSteps is the maximum work of one search, in instructions times bytes of text. A search with
// that many steps runs for about three seconds.
const maxSteps = 1 << 29

// Pattern is a compiled regular expression. It is safe for concurrent use.
type Pattern struct {
	*regexp.Regexp
	longest int // bytes of text
}

// Compile parses a regular expression in RE2 syntax. The errors are the same as of regexp.Compile.
func Compile(text string) (*Pattern, error) {
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, err
	}
	return &Pattern{re, maxSteps / len(program.Inst)}, nil
}

// Fits reports whether a text is short enough to be searched within the bound.
func (p *Pattern) Fits(text string) bool { return len(text) <= p.longest }

// MatchString reports whether the text has a match. It is false for a text that does not fit.
func (p *Pattern) MatchString(text string) bool { return p.Fits(text) && p.Regexp.MatchString(text) }

// FindAllSubmatches returns the indexes of at most n matches and their groups, as
// FindAllStringSubmatchIndex does. The text must fit. Each match may need a search to the end of
// the text, so all of them together may run much longer than one. Therefore the first attempt
// is limited to few matches and each further one to eight times as many, and mayContinue is called
// before each further attempt. If it returns false, ok is false.
func (p *Pattern) FindAllSubmatches(text string, n int, mayContinue func() bool) (found [][]int, ok bool) {
	for attempt := max(1, p.longest/firstAttempt/(len(text)+1)); ; attempt *= 8 {
		attempt = min(attempt, n)
		found = p.FindAllStringSubmatchIndex(text, attempt)
		if len(found) < attempt || attempt == n {
			return found, true
		}
		if !mayContinue() {
			return nil, false
		}
	}
}

// firstAttempt is the divisor of maxSteps for the first attempt of FindAllSubmatches, which always
// includes one match.
const firstAttempt = 64

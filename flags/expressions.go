package flags

import (
	"strings"

	"github.com/bunting-flags/bunting/flags/internal/rustregexp"
)

// compileRegex compiles a regular expression (decision 8).
func compileRegex(p *preparation, v any) (matcher, string) {
	text, ok := appendText(nil, v)
	if !ok {
		return nil, tooDeep
	}
	pattern, err := p.pattern(string(text))
	if err != nil {
		return nil, "bad regular expression: " + strings.TrimPrefix(err.Error(), "pattern: ")
	}
	return regexMatcher{pattern, string(text)}, ""
}

// regexMatcher matches a text in which the pattern is found. A search that exceeds its limits
// is invalid.
type regexMatcher struct {
	*rustregexp.Pattern
	source string
}

func (m regexMatcher) match(f *fact, r *reader) verdict {
	text, ok := r.text(f)
	if !ok {
		return no
	}
	switch m.Find(text) {
	case rustregexp.Hit:
		return yes
	case rustregexp.Timeout:
		r.timedOut = true
		return invalid
	}
	return no
}

func (m regexMatcher) operand(*reader) any { return m.source }

// anyRegexMatcher matches if any of several regular expressions is found.
type anyRegexMatcher []regexMatcher

// compileAnyRegex compiles a list of regular expressions. One faulty pattern is a problem of
// the list.
func compileAnyRegex(p *preparation, list []any) (matcher, string) {
	all := make(anyRegexMatcher, len(list))
	for i, item := range list {
		m, problem := compileRegex(p, item)
		if problem != "" {
			return nil, problem
		}
		all[i] = m.(regexMatcher)
	}
	return all, ""
}

func (m anyRegexMatcher) match(f *fact, r *reader) verdict {
	result := no
	for i := range m {
		switch v := m[i].match(f, r); v {
		case yes:
			return yes
		case invalid:
			result = invalid
		}
	}
	return result
}

func (m anyRegexMatcher) operand(*reader) any {
	sources := make([]any, len(m))
	for i := range m {
		sources[i] = m[i].source
	}
	return sources
}

package flags

import (
	"strings"

	"github.com/bunting-flags/bunting/flags/internal/rustregexp"
)

// expression compiles a regular expression (decision 8).
func expression(p *preparation, v any) (matcher, string) {
	text, ok := appendText(nil, v)
	if !ok {
		return nil, tooDeep
	}
	pattern, err := p.pattern(string(text))
	if err != nil {
		return nil, "bad regular expression: " + strings.TrimPrefix(err.Error(), "pattern: ")
	}
	return matches{pattern, string(text)}, ""
}

type matches struct {
	*rustregexp.Pattern
	source string
}

func (m matches) match(f *fact, r *reader) verdict {
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

func (m matches) operand(*reader) any { return m.source }

// anyMatches is a list of regular expressions, of which one has to be found.
type anyMatches []matches

func anyExpression(p *preparation, list []any) (matcher, string) {
	all := make(anyMatches, len(list))
	for i, item := range list {
		m, problem := expression(p, item)
		if problem != "" {
			return nil, problem
		}
		all[i] = m.(matches)
	}
	return all, ""
}

func (m anyMatches) match(f *fact, r *reader) verdict {
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

func (m anyMatches) operand(*reader) any {
	sources := make([]any, len(m))
	for i := range m {
		sources[i] = m[i].source
	}
	return sources
}

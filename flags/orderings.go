package flags

import (
	"cmp"
	"math"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/flags/internal/dates"
	"github.com/bunting-flags/bunting/flags/internal/rustregexp"
	"github.com/bunting-flags/bunting/flags/internal/semver"
	"github.com/bunting-flags/bunting/flags/internal/values"
)

// This file implements the operators that compare by an order: numbers, dates and versions.

// signs is the set of comparison results (-1, 0, 1) that match.
type signs uint8

// signsOf returns the set of the given comparison results.
func signsOf(list []int) signs {
	var s signs
	for _, sign := range list {
		s |= 1 << (sign + 1)
	}
	return s
}

// has returns yes if the set contains the comparison result.
func (s signs) has(sign int) verdict { return verdictOf(s&(1<<(sign+1)) != 0) }

const notNumber = "the value must be a number"

// compareNumber compiles operators that compare with one number (§4.5). The arguments are the
// results that match.
func compareNumber(want ...int) func(*preparation, any) (matcher, string) {
	return func(_ *preparation, v any) (matcher, string) {
		n, ok := values.Number(v)
		if !ok {
			return nil, notNumber
		}
		return numberMatcher{n, signsOf(want)}, ""
	}
}

// numberMatcher compares numbers. A property that is not a number is invalid.
type numberMatcher struct {
	than float64
	want signs
}

func (m numberMatcher) match(f *fact, r *reader) verdict {
	x, ok := r.number(f)
	if !ok {
		return invalid
	}
	return m.matchNumber(x)
}

func (m numberMatcher) matchText(s string) verdict {
	x, ok := values.ParseNumber(s)
	if !ok {
		return invalid
	}
	return m.matchNumber(x)
}

func (m numberMatcher) matchNumber(x float64) verdict {
	switch {
	case x < m.than:
		return m.want.has(-1)
	case x > m.than:
		return m.want.has(1)
	case x == m.than:
		return m.want.has(0)
	}
	return no // NaN is not ordered
}

func (m numberMatcher) operand(*reader) any { return m.than }

// compileBetween compiles between and not_between. A value that is not a number is outside every
// range, so that not_between matches it. NaN matches neither (§4.5).
func compileBetween(outside bool) func(*preparation, any) (matcher, string) {
	return func(_ *preparation, v any) (matcher, string) {
		const want = "the value must be [low, high], two numbers in this order"
		list, _ := v.([]any)
		if len(list) != 2 {
			return nil, want
		}
		low, okLow := values.Number(list[0])
		high, okHigh := values.Number(list[1])
		if !okLow || !okHigh || !(low <= high) {
			return nil, want
		}
		return numberRangeMatcher{low, high, outside}, ""
	}
}

// numberRangeMatcher checks whether a number is inside, or outside, a range with both bounds
// included.
type numberRangeMatcher struct {
	low, high float64
	outside   bool
}

func (m numberRangeMatcher) match(f *fact, r *reader) verdict {
	x, ok := r.number(f)
	if !ok {
		return verdictOf(m.outside)
	}
	return m.matchNumber(x)
}

func (m numberRangeMatcher) matchText(s string) verdict {
	x, ok := values.ParseNumber(s)
	if !ok {
		return verdictOf(m.outside)
	}
	return m.matchNumber(x)
}

func (m numberRangeMatcher) matchNumber(x float64) verdict {
	if math.IsNaN(x) {
		return invalid
	}
	return verdictOf((m.low <= x && x <= m.high) != m.outside)
}

func (m numberRangeMatcher) operand(*reader) any { return []any{m.low, m.high} }

// compareDate compiles operators that compare with a date (§4.7). Relative dates are resolved
// at each evaluation, since they depend on its time.
func compareDate(want int) func(*preparation, any) (matcher, string) {
	return func(p *preparation, v any) (matcher, string) {
		const problem = "the value must be a date such as 2024-05-31, 2024-05-31T10:00:00Z or -7d"
		text, ok := v.(string)
		if !ok {
			return nil, problem
		}
		operand, ok := dates.Compile(strings.Clone(text), p.zone) // the operand retains the string
		if !ok {
			return nil, problem
		}
		return &dateMatcher{operand, want}, ""
	}
}

// dateMatcher compares two points in time. A property that is not a date is invalid.
type dateMatcher struct {
	than dates.Operand
	want int
}

func (m *dateMatcher) match(f *fact, r *reader) verdict {
	x, ok := dateOf(r, f.value)
	if !ok {
		return invalid
	}
	than, ok := m.than.At(r.at, r.zone)
	if !ok {
		return invalid
	}
	return verdictOf(x.Compare(than) == m.want)
}

func (m *dateMatcher) operand(r *reader) any {
	if at, ok := m.than.At(r.at, r.zone); ok {
		return at.UTC().Format(time.RFC3339Nano)
	}
	return nil
}

// dateOf returns the time that a property represents. A number, or a string that contains
// one, is the number of seconds since 1970 and may have a fraction; other strings are parsed
// like operands. Other values are not dates (§4.7).
func dateOf(r *reader, v any) (time.Time, bool) {
	if f, ok := values.Number(v); ok {
		return dates.Epoch(f)
	}
	text, ok := v.(string)
	if !ok {
		return time.Time{}, false
	}
	return dates.Read(text, r.at, r.zone)
}

const notVersion = "the value must be a version such as 1.2.3"

// compareSemver compiles operators that compare with one version (§4.8).
func compareSemver(want ...int) func(*preparation, any) (matcher, string) {
	return func(_ *preparation, v any) (matcher, string) {
		text, _ := values.Text(nil, v)
		than, ok := semver.Parse(string(text))
		if !ok {
			return nil, notVersion
		}
		return &versionMatcher{than, signsOf(want), string(text)}, ""
	}
}

// versionMatcher compares versions. A property that is not a version is invalid.
type versionMatcher struct {
	than semver.Version
	want signs
	text string
}

func (m *versionMatcher) match(f *fact, r *reader) verdict {
	x, ok := r.version(f)
	if !ok {
		return invalid
	}
	return m.want.has(cmp.Compare(semver.Compare(x, m.than), 0))
}

func (m *versionMatcher) operand(*reader) any { return m.text }

// semverRange compiles operators with a range of versions as operand (§4.8).
func semverRange(parse func(string) (semver.Range, bool)) func(*preparation, any) (matcher, string) {
	return func(_ *preparation, v any) (matcher, string) {
		text, _ := values.Text(nil, v)
		r, ok := parse(string(text))
		if !ok {
			return nil, notVersion + " or, for semver_wildcard, 1.2.*"
		}
		return &versionRangeMatcher{r, string(text)}, ""
	}
}

// versionRangeMatcher checks whether a version is in a range.
type versionRangeMatcher struct {
	semver.Range
	text string
}

func (m *versionRangeMatcher) match(f *fact, r *reader) verdict {
	x, ok := r.version(f)
	if !ok {
		return invalid
	}
	return verdictOf(m.Contains(x))
}

func (m *versionRangeMatcher) operand(*reader) any { return m.text }

// version parses the text form of a fact as a version.
func (r *reader) version(f *fact) (semver.Version, bool) {
	text, ok := r.text(f)
	if !ok {
		return semver.Version{}, false
	}
	return semver.Parse(text)
}

// compileRegex compiles a regular expression (decision 8).
func compileRegex(p *preparation, v any) (matcher, string) {
	text, ok := values.Text(nil, v)
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

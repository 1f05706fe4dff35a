package flags

import (
	"strconv"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/flags/internal/values"
	"github.com/bunting-flags/bunting/flags/wire"
)

// Filter is a prepared comparison of one property, for purposes other than flags: events,
// exports, rules. It compares like the requirements of flags, with two additions, which
// filters of cohorts share. A list with an operator on text, such as icontains, matches if
// any of its elements does, and with the negated operator if no element does. For operators
// that compare with a single value, a list of one element means that element.
//
// A Filter contains memory for its comparisons and must not be used concurrently. The zero
// Filter never matches.
type Filter struct {
	op       *operator
	matcher  matcher
	direct   directMatcher // the matcher, if it implements directMatcher
	dated    bool          // the matcher needs the value itself, not its text
	elements bool
	reader   reader
	fact     fact
}

// FilterSettings are the settings of a [Filter] besides its property.
type FilterSettings struct {
	// Zone is the project's time zone. If nil, it is UTC.
	Zone *time.Location
	// PropertyMatchingVersion is the project's, see [Definitions].
	PropertyMatchingVersion int
	// Elements compares each element of a property that is a list, the first 1,000 of them.
	// The filter holds if one element matches; with a negative operator, all elements must
	// match.
	Elements bool
	// With Verbatim, exact and is_not are case-sensitive. Strings are equal if they are
	// identical, and numbers are compared by value if one side is a JSON number.
	Verbatim bool
}

// maxElements is the number of elements of a list that a [Filter] compares.
const maxElements = 1000

// ComparesElements reports whether an event's property is a list and filters compare each of
// its elements: the properties of exceptions, of which an event may have several.
func ComparesElements(key string) bool {
	switch key {
	case "$exception_types", "$exception_values", "$exception_sources", "$exception_functions":
		return true
	}
	return false
}

// NewFilter returns a Filter with the operator and value of p; its type and key are ignored.
// A comparison that can never match is a *[DefinitionError] with the faulty member, operator
// or value, as Path.
func NewFilter(p Property, s FilterSettings) (*Filter, error) {
	op := operators[p.Operator.orDefault(PersonProperty)]
	if op == nil {
		return nil, &DefinitionError{Path: nOperator.String(), Problem: "unknown operator " + values.Quote(string(p.Operator))}
	}
	never := func(member name, problem string) error {
		return &DefinitionError{Path: member.String(), Problem: string(op.name) + " never matches here: " + problem}
	}
	if member, problem := p.unfitReason(op); problem != "" {
		return nil, never(member, problem)
	}
	prepare := newPreparation(s.Zone, s.PropertyMatchingVersion)
	m, problem := prepare.prepare(op, p.Value, true)
	switch {
	case problem != "":
		return nil, never(nValue, problem)
	case s.Verbatim && (op.name == Exact || op.name == IsNot):
		m = newVerbatimMatcher(values.Normalize(p.Value))
	}
	f := &Filter{op: op, matcher: m, elements: s.Elements, reader: reader{zone: prepare.zone}}
	f.direct, _ = m.(directMatcher)
	_, f.dated = m.(*dateMatcher)
	return f, nil
}

// Holds reports whether the filter matches a value, which may be any that encoding/json
// decodes. exists is false if the property is missing. Relative dates are relative to now.
func (f *Filter) Holds(value any, exists bool, now time.Time) bool {
	f.reader.timedOut = false
	switch {
	case f.op == nil:
		return false
	case !exists:
		return f.op.missing
	}
	value = values.Normalize(value)
	list, isList := value.([]any)
	if !isList || !f.elements {
		return f.holds(fact{state: factPresent, value: value}, now)
	}
	for _, element := range list[:min(len(list), maxElements)] {
		if f.holds(fact{state: factPresent, value: element}, now) != f.op.isNegative() {
			return !f.op.isNegative()
		}
	}
	return f.op.isNegative()
}

// HoldsOfPerson is Holds for a property of a person. If an initial property such as
// $initial_browser is missing, the current one replaces it, as in flags (§8.2).
func (f *Filter) HoldsOfPerson(properties Properties, key string, at time.Time) bool {
	value, there := properties[key]
	if !there {
		if current, ok := initialOf[key]; ok {
			value, there = properties[current]
		}
	}
	return f.Holds(value, there, at)
}

// HoldsJSON is Holds for a value encoded as JSON without surrounding white space. The empty
// string means that the property is missing. Most strings and numbers are compared without
// decoding.
func (f *Filter) HoldsJSON(raw string, now time.Time) bool {
	f.reader.timedOut = false
	switch {
	case f.op == nil:
		return false
	case raw == "":
		return f.op.missing
	case raw[0] == '"' && !f.dated && strings.IndexByte(raw, '\\') < 0:
		text := raw[1 : len(raw)-1]
		if f.direct != nil {
			return f.verdict(f.direct.matchText(text))
		}
		return f.holds(fact{state: factPresent, text: text, textual: 1}, now)
	}
	if f.direct != nil && (raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9') {
		if n, err := strconv.ParseFloat(raw, 64); err == nil {
			if v := f.direct.matchNumber(n); v != unknown {
				return f.verdict(v)
			}
		}
	}
	return f.Holds(wire.Value([]byte(raw)), true, now)
}

// holds compares one value that is not a list to be split.
func (f *Filter) holds(input fact, now time.Time) bool {
	f.reader.at, f.reader.arena, f.fact = now, f.reader.arena[:0], input
	if text, ok := input.value.(string); ok {
		f.fact.text, f.fact.textual = text, 1
	}
	return f.verdict(f.matcher.match(&f.fact, &f.reader))
}

// verdict applies the operator's negation and reports whether the filter matches.
func (f *Filter) verdict(v verdict) bool {
	if f.op.negated {
		v = v.not()
	}
	return v == yes
}

// TimedOut reports whether the last comparison was aborted because the search for a regular
// expression exceeded its limits. Such a comparison does not match.
func (f *Filter) TimedOut() bool { return f.reader.timedOut }

// unfitReason describes why the operator can never match this property, whatever the compared
// value is, and returns the faulty member. The problem is empty if it can match.
func (p *Property) unfitReason(op *operator) (member name, problem string) {
	switch {
	case op.only != "":
		return nOperator, "the operator is for " + string(op.only) + " filters"
	case !p.hasValue() && !op.valueless:
		return nValue, "there is no value to compare with"
	}
	return nValue, ""
}

// neverMatches describes why a requirement of a cohort can never match any person, and
// returns the faulty member. The problem is empty if a person may match, and for requirements
// about flags, which cohorts do not support (§5.5).
func (p *Property) neverMatches() (member name, problem string) {
	op := operators[p.Operator.orDefault(p.Type)]
	switch inCohort := op.name == In || op.name == NotIn; {
	case p.Type == CohortProperty && !inCohort:
		return nOperator, "cohorts support only in and not_in"
	case p.Type == CohortProperty, p.Type == FlagProperty:
		return nValue, ""
	}
	if member, problem = p.unfitReason(op); problem == "" && op.strict {
		_, problem = newPreparation(nil, 1).prepare(op, p.Value, true)
	}
	return member, problem
}

// verbatimMatcher compares strings exactly, and numbers by value if one side is a JSON
// number.
type verbatimMatcher struct {
	texts   map[string]bool
	numbers map[float64]bool // JSON numbers
	written map[float64]bool // strings that contain a number
}

func newVerbatimMatcher(v any) *verbatimMatcher {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	m := &verbatimMatcher{texts: map[string]bool{}, numbers: map[float64]bool{}, written: map[float64]bool{}}
	for _, v := range list {
		text, ok := values.Text(nil, v)
		if !ok {
			continue
		}
		m.texts[string(text)] = true
		n, numeric := values.Number(v)
		if _, isText := v.(string); numeric && isText {
			m.written[n] = true
		} else if numeric {
			m.numbers[n] = true
		}
	}
	return m
}

func (m *verbatimMatcher) match(f *fact, r *reader) verdict {
	if _, isText := f.value.(string); !isText && f.value != nil {
		if n, ok := r.number(f); ok && (m.numbers[n] || m.written[n]) {
			return yes
		}
	}
	text, ok := r.text(f)
	if !ok {
		return no
	}
	return m.matchText(text)
}

func (m *verbatimMatcher) matchText(s string) verdict {
	if m.texts[s] || len(m.numbers) == 0 {
		return verdictOf(m.texts[s])
	}
	n, ok := values.ParseNumber(s)
	return verdictOf(ok && m.numbers[n])
}

func (m *verbatimMatcher) matchNumber(n float64) verdict {
	if m.numbers[n] || m.written[n] {
		return yes
	}
	return unknown
}

func (m *verbatimMatcher) operand(*reader) any { return nil }

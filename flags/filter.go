package flags

import (
	"strconv"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/flags/wire"
)

// Filter is a comparison of one property, made ready, for whoever asks about something else
// than a flag: events, exports, rules. It compares as flags do, with these additions: a list
// with an operator that compares texts, such as icontains, means any of its elements, and
// none of them with the operator's opposite; where an operator takes one value, a list of
// one element is that element. So do filters of cohorts.
//
// A Filter keeps memory for a comparison and is for one goroutine at a time. The zero Filter
// holds of nothing.
type Filter struct {
	op       *operator
	matcher  matcher
	direct   directMatcher // the matcher when it is one
	dated    bool          // the matcher looks at the value as it is
	elements bool
	reader   reader
	fact     fact
}

// FilterSettings are what a [Filter] is made with beside its property.
type FilterSettings struct {
	// Zone is the project's time zone; nil: UTC.
	Zone *time.Location
	// PropertyMatchingVersion is the project's, see [Definitions].
	PropertyMatchingVersion int
	// Elements: of a property that is a list each element is compared, the first 1,000 of
	// them. It is enough that one matches; negative operators have to hold of all.
	Elements bool
	// Verbatim: exact and is_not heed case. Texts are equal as they are, and numbers by
	// their value where one of the two is a JSON number.
	Verbatim bool
}

// maxElements is how many elements of a list a [Filter] compares.
const maxElements = 1000

// ComparesElements reports whether an event's property is a list whose elements stand for
// themselves in filters: what was thrown, of which there may be several at once.
func ComparesElements(key string) bool {
	switch key {
	case "$exception_types", "$exception_values", "$exception_sources", "$exception_functions":
		return true
	}
	return false
}

// NewFilter makes a Filter of a property's operator and value; its type and key are not
// looked at. What can never match is a *[DefinitionError] whose Path is the member at fault:
// operator or value.
func NewFilter(p Property, s FilterSettings) (*Filter, error) {
	op := operators[p.Operator.orDefault(PersonProperty)]
	if op == nil {
		return nil, &DefinitionError{Path: nOperator.String(), Problem: "unknown operator " + quote(string(p.Operator))}
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
		m = newVerbatimMatcher(normalize(p.Value))
	}
	f := &Filter{op: op, matcher: m, elements: s.Elements, reader: reader{zone: prepare.zone}}
	f.direct, _ = m.(directMatcher)
	_, f.dated = m.(*dateMatcher)
	return f, nil
}

// Holds reports whether the filter holds of a value, any that encoding/json gives; there is
// false for a property that is missing.
func (f *Filter) Holds(value any, exists bool, now time.Time) bool {
	f.reader.timedOut = false
	switch {
	case f.op == nil:
		return false
	case !exists:
		return f.op.missing
	}
	value = normalize(value)
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

// HoldsOfPerson is Holds of a property of a person. Where one such as $initial_browser is
// missing, the present one stands in for it, as in flags (§8.2).
func (f *Filter) HoldsOfPerson(properties Properties, key string, at time.Time) bool {
	value, there := properties[key]
	if !there {
		if current, ok := initialOf[key]; ok {
			value, there = properties[current]
		}
	}
	return f.Holds(value, there, at)
}

// HoldsJSON is Holds of a value that is well-formed JSON without blanks around it; the empty
// text is a property that is missing.
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

func (f *Filter) holds(input fact, now time.Time) bool {
	f.reader.at, f.reader.arena, f.fact = now, f.reader.arena[:0], input
	if text, ok := input.value.(string); ok {
		f.fact.text, f.fact.textual = text, 1
	}
	return f.verdict(f.matcher.match(&f.fact, &f.reader))
}

func (f *Filter) verdict(v verdict) bool {
	if f.op.negated {
		v = v.not()
	}
	return v == yes
}

// TimedOut reports whether the last comparison was given up, since the search for a regular
// expression ran into its limits: it does not hold then.
func (f *Filter) TimedOut() bool { return f.reader.timedOut }

// unfitReason says why an operator can never match this property, whatever is compared, and which
// member is at fault; empty where it can.
func (p *Property) unfitReason(op *operator) (member name, problem string) {
	switch {
	case op.only != "":
		return nOperator, "the operator is for " + string(op.only) + " filters"
	case !p.hasValue() && !op.valueless:
		return nValue, "there is no value to compare with"
	}
	return nValue, ""
}

// neverMatches says why a requirement of a cohort can match nobody, whatever is known of
// them, and which member is at fault. It is empty where somebody may match, and of a
// requirement about a flag, which cohorts do not support (§5.5).
func (p *Property) neverMatches() (member name, problem string) {
	op := operators[p.Operator.orDefault(p.Type)]
	switch inCohort := op.name == In || op.name == NotIn; {
	case p.Type == CohortProperty && !inCohort:
		return nOperator, "for a cohort there are in and not_in"
	case p.Type == CohortProperty, p.Type == FlagProperty:
		return nValue, ""
	}
	if member, problem = p.unfitReason(op); problem == "" && op.strict {
		_, problem = newPreparation(nil, 1).prepare(op, p.Value, true)
	}
	return member, problem
}

// verbatimMatcher compares texts as they are, and numbers by their value where one side is a JSON
// number.
type verbatimMatcher struct {
	texts   map[string]bool
	numbers map[float64]bool // JSON numbers
	written map[float64]bool // texts that are numbers
}

func newVerbatimMatcher(v any) *verbatimMatcher {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	m := &verbatimMatcher{texts: map[string]bool{}, numbers: map[float64]bool{}, written: map[float64]bool{}}
	for _, v := range list {
		text, ok := appendText(nil, v)
		if !ok {
			continue
		}
		m.texts[string(text)] = true
		n, numeric := number(v)
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
	n, ok := parseNumber(s)
	return verdictOf(ok && m.numbers[n])
}

func (m *verbatimMatcher) matchNumber(n float64) verdict {
	if m.numbers[n] || m.written[n] {
		return yes
	}
	return unknown
}

func (m *verbatimMatcher) operand(*reader) any { return nil }

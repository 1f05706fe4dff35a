package flags

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bunting-flags/bunting/flags/rustregexp"
)

// The operators of §4.5 and the two that only cohorts and flags know.
const (
	Exact              Operator = "exact"
	IsNot              Operator = "is_not"
	IContains          Operator = "icontains"
	NotIContains       Operator = "not_icontains"
	IContainsMulti     Operator = "icontains_multi"
	NotIContainsMulti  Operator = "not_icontains_multi"
	StartsWith         Operator = "starts_with"
	NotStartsWith      Operator = "not_starts_with"
	EndsWith           Operator = "ends_with"
	NotEndsWith        Operator = "not_ends_with"
	Regex              Operator = "regex"
	NotRegex           Operator = "not_regex"
	GreaterThan        Operator = "gt"
	GreaterOrEqual     Operator = "gte"
	LessThan           Operator = "lt"
	LessOrEqual        Operator = "lte"
	Between            Operator = "between"
	NotBetween         Operator = "not_between"
	IsSet              Operator = "is_set"
	IsNotSet           Operator = "is_not_set"
	IsDateExact        Operator = "is_date_exact"
	IsDateBefore       Operator = "is_date_before"
	IsDateAfter        Operator = "is_date_after"
	SemverEqual        Operator = "semver_eq"
	SemverNotEqual     Operator = "semver_neq"
	SemverGreater      Operator = "semver_gt"
	SemverGreaterEqual Operator = "semver_gte"
	SemverLess         Operator = "semver_lt"
	SemverLessEqual    Operator = "semver_lte"
	SemverTilde        Operator = "semver_tilde"
	SemverCaret        Operator = "semver_caret"
	SemverWildcard     Operator = "semver_wildcard"
	In                 Operator = "in"
	NotIn              Operator = "not_in"
	FlagEvaluatesTo    Operator = "flag_evaluates_to"
)

// operator is a row of the table below.
type operator struct {
	name Operator
	// help is one line for people.
	help string
	// compile prepares the filter's value. Without a matcher the filter never
	// matches, and problem says why.
	compile func(c *compiler, v any) (m matcher, problem string)
	// negated turns a match round. What is invalid stays no match (§4.4).
	negated bool
	// missing is the answer for a property that is not there.
	missing bool
	// missingNeedsValue: a bad filter value is no match even then.
	missingNeedsValue bool
	// valueless operators do not look at the filter's value.
	valueless bool
	// only restricts the operator to one type of property; elsewhere it never
	// matches.
	only PropertyType
}

// operatorTable is every operator there is. Add one here: a row, and a file of
// cases in testdata/operators.
var operatorTable = []operator{
	{name: Exact, help: "equals the text, ignoring case, or one of a list", compile: exactly},
	{name: IsNot, help: "is none of them", compile: exactly, negated: true, missing: true},
	{name: IContains, help: "contains the text, ignoring ASCII case", compile: text(containsFold)},
	{name: NotIContains, help: "does not contain it", compile: text(containsFold), negated: true, missing: true},
	{name: IContainsMulti, help: "contains one of a list", compile: anyText(containsFold)},
	{name: NotIContainsMulti, help: "contains none of a list", compile: anyText(containsFold), negated: true, missing: true},
	{name: StartsWith, help: "starts with the text, ignoring ASCII case", compile: text(hasPrefixFold)},
	{name: NotStartsWith, help: "does not start with it", compile: text(hasPrefixFold), negated: true, missing: true},
	{name: EndsWith, help: "ends with the text, ignoring ASCII case", compile: text(hasSuffixFold)},
	{name: NotEndsWith, help: "does not end with it", compile: text(hasSuffixFold), negated: true, missing: true},
	{name: Regex, help: "the regular expression is found in the text", compile: expression},
	{name: NotRegex, help: "the regular expression is not found", compile: expression, negated: true, missing: true},
	{name: GreaterThan, help: "is a number greater than", compile: compareNumber(1)},
	{name: GreaterOrEqual, help: "is a number at least", compile: compareNumber(0, 1)},
	{name: LessThan, help: "is a number less than", compile: compareNumber(-1)},
	{name: LessOrEqual, help: "is a number at most", compile: compareNumber(-1, 0)},
	{name: Between, help: "is a number in [low, high]", compile: between(false)},
	{name: NotBetween, help: "is not a number in [low, high]", compile: between(true), missing: true, missingNeedsValue: true},
	{name: IsSet, help: "the property is there, null included", compile: present(yes), valueless: true},
	{name: IsNotSet, help: "the property is not there", compile: present(no), missing: true, valueless: true},
	{name: IsDateExact, help: "is the same instant", compile: compareDate(0)},
	{name: IsDateBefore, help: "is earlier", compile: compareDate(-1)},
	{name: IsDateAfter, help: "is later", compile: compareDate(1)},
	{name: SemverEqual, help: "is the same version, build metadata included", compile: compareSemver(0)},
	{name: SemverNotEqual, help: "is another version", compile: compareSemver(-1, 1)},
	{name: SemverGreater, help: "is a later version", compile: compareSemver(1)},
	{name: SemverGreaterEqual, help: "is the version or a later one", compile: compareSemver(0, 1)},
	{name: SemverLess, help: "is an earlier version", compile: compareSemver(-1)},
	{name: SemverLessEqual, help: "is the version or an earlier one", compile: compareSemver(-1, 0)},
	{name: SemverTilde, help: "has the same minor version and is not earlier", compile: semverRange(parseTilde)},
	{name: SemverCaret, help: "is compatible and not earlier", compile: semverRange(parseCaret)},
	{name: SemverWildcard, help: "fits a pattern such as 1.2.*", compile: semverRange(parseWildcard)},
	{name: In, help: "is in the cohort", only: CohortProperty},
	{name: NotIn, help: "is not in the cohort", only: CohortProperty},
	{name: FlagEvaluatesTo, help: "the other flag has this value", only: FlagProperty},
}

var operators = func() map[Operator]*operator {
	m := make(map[Operator]*operator, len(operatorTable)+2)
	for i := range operatorTable {
		m[operatorTable[i].name] = &operatorTable[i]
	}
	m["min"], m["max"] = m[GreaterOrEqual], m[LessOrEqual] // aliases of §1.4
	return m
}()

// OperatorInfo describes an operator to people and programs.
type OperatorInfo struct {
	Name Operator
	Help string
	// Missing is the answer for a property that is not there.
	Missing bool
	// Only is the one property type that has the operator, empty for all.
	Only PropertyType
}

// Operators lists every operator in the order of the table.
func Operators() []OperatorInfo {
	all := make([]OperatorInfo, len(operatorTable))
	for i, op := range operatorTable {
		all[i] = OperatorInfo{op.name, op.help, op.missing, op.only}
	}
	return all
}

func (o Operator) orDefault(t PropertyType) Operator {
	if o != "" {
		return o
	}
	if t == CohortProperty {
		return In
	}
	return Exact
}

// verdict is what a comparison says.
type verdict uint8

const (
	no verdict = iota
	yes
	unknown // a fact is not known (partial subjects)
	invalid // cannot be compared: no match, also when negated
)

func is(b bool) verdict {
	if b {
		return yes
	}
	return no
}

func (v verdict) not() verdict {
	switch v {
	case yes:
		return no
	case no:
		return yes
	}
	return v
}

var verdicts = [...]string{"no", "yes", "unknown", "invalid"}

func (v verdict) String() string { return verdicts[v] }

// matcher compares a property that is there with a prepared filter value.
type matcher interface {
	match(f *fact, e *evaluation) verdict
}

type always verdict

func (m always) match(*fact, *evaluation) verdict { return verdict(m) }

func present(v verdict) func(*compiler, any) (matcher, string) {
	return func(*compiler, any) (matcher, string) { return always(v), "" }
}

// exactly compiles exact and is_not (§4.6).
func exactly(c *compiler, v any) (matcher, string) {
	list, isList := v.([]any)
	if boolean := booleanLike(v); boolean && (c.matchingVersion != 2 || isList && len(list) == 0) {
		return isTruthy(truthy(v)), ""
	}
	if !isList {
		return c.equalText(v)
	}
	if len(list) == 1 {
		return c.equalText(list[0])
	}
	set := make([]string, 0, len(list))
	for _, item := range list {
		text, ok := appendText(nil, item)
		if ok {
			set = append(set, string(appendLower(nil, string(text))))
		}
	}
	if len(set) > 8 {
		m := &oneOfMany{set: make(map[string]struct{}, len(set))}
		for _, s := range set {
			m.set[s] = struct{}{}
			m.starts[startOf(s)] = true
		}
		return m, ""
	}
	return oneOf(set), ""
}

func (c *compiler) equalText(v any) (matcher, string) {
	text, ok := appendText(nil, v)
	if !ok {
		return nil, "the value is nested too deeply"
	}
	return equalTo(appendLower(nil, string(text))), ""
}

// booleanLike is rule 1 of §4.6: a boolean, "true" or "false" in any case, or
// an array of nothing else, the empty one included.
func booleanLike(v any) bool {
	switch v := v.(type) {
	case bool:
		return true
	case string:
		return equalLower(v, "true") || equalLower(v, "false")
	case []any:
		return !slices.ContainsFunc(v, func(item any) bool { return !booleanLike(item) })
	}
	return false
}

func truthy(v any) bool {
	switch v := v.(type) {
	case bool:
		return v
	case string:
		return equalLower(v, "true")
	case []any:
		return !slices.ContainsFunc(v, func(item any) bool { return !truthy(item) })
	}
	return false
}

type isTruthy bool

func (m isTruthy) match(f *fact, _ *evaluation) verdict { return is(truthy(f.value) == bool(m)) }

type equalTo string

func (m equalTo) match(f *fact, e *evaluation) verdict {
	text, ok := e.text(f)
	return is(ok && equalLower(text, string(m)))
}

type oneOf []string

func (m oneOf) match(f *fact, e *evaluation) verdict {
	text, ok := e.text(f)
	if ok {
		for _, s := range m {
			if equalLower(text, s) {
				return yes
			}
		}
	}
	return no
}

// oneOfMany is a long list. Most texts that are not in it are known by their
// first byte.
type oneOfMany struct {
	set    map[string]struct{}
	starts [utf8.RuneSelf + 1]bool
}

// startOf is the first byte of a lowered text when that is ASCII; all other
// texts, the empty one included, share a place.
func startOf(lowered string) byte {
	if lowered == "" || lowered[0] >= utf8.RuneSelf {
		return utf8.RuneSelf
	}
	return lowered[0]
}

func (m *oneOfMany) match(f *fact, e *evaluation) verdict {
	text, ok := e.text(f)
	if !ok {
		return no
	}
	if text != "" && text[0] < utf8.RuneSelf && !m.starts[asciiFold[text[0]]] {
		return no
	}
	e.input = appendLower(e.input[:0], text)
	_, found := m.set[string(e.input)]
	return is(found)
}

// foldTest is one of containsFold, hasPrefixFold and hasSuffixFold.
type foldTest func(text, lowered string) bool

func text(test foldTest) func(*compiler, any) (matcher, string) {
	return func(_ *compiler, v any) (matcher, string) {
		text, ok := appendText(nil, v)
		if !ok {
			return nil, "the value is nested too deeply"
		}
		return folded{test, asciiLower(string(text))}, ""
	}
}

func anyText(test foldTest) func(*compiler, any) (matcher, string) {
	return func(c *compiler, v any) (matcher, string) {
		list, ok := v.([]any)
		if !ok {
			return text(test)(c, v)
		}
		m := anyFolded{test: test}
		for _, item := range list {
			if text, ok := appendText(nil, item); ok {
				m.lowered = append(m.lowered, asciiLower(string(text)))
			}
		}
		return m, ""
	}
}

type folded struct {
	test    foldTest
	lowered string
}

func (m folded) match(f *fact, e *evaluation) verdict {
	text, ok := e.text(f)
	return is(ok && m.test(text, m.lowered))
}

type anyFolded struct {
	test    foldTest
	lowered []string
}

func (m anyFolded) match(f *fact, e *evaluation) verdict {
	text, ok := e.text(f)
	return is(ok && slices.ContainsFunc(m.lowered, func(s string) bool { return m.test(text, s) }))
}

// expression compiles a regular expression (decision 8).
func expression(c *compiler, v any) (matcher, string) {
	text, ok := appendText(nil, v)
	if !ok {
		return nil, "the value is nested too deeply"
	}
	p, err := c.pattern(string(text))
	if err != nil {
		return nil, "bad regular expression: " + strings.TrimPrefix(err.Error(), "pattern: ")
	}
	return matches{p, string(text)}, ""
}

type matches struct {
	*rustregexp.Pattern
	source string
}

func (m matches) match(f *fact, e *evaluation) verdict {
	text, ok := e.text(f)
	if !ok {
		return no
	}
	switch m.Find(text) {
	case rustregexp.Hit:
		return yes
	case rustregexp.Timeout:
		if e.trace != nil {
			e.trace.timedOut()
		}
		return invalid
	}
	return no
}

package flags

import "github.com/bunting-flags/bunting/flags/internal/semver"

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

// operator is a row of the table below: everything that is known of it.
type operator struct {
	name Operator
	// alias is an older name of it.
	alias Operator
	// help is one line for people.
	help string
	// operand is the form of the values that the management API takes.
	operand Operand
	// opposite matches exactly when this one does not, missing properties included.
	opposite Operator
	// missing is the answer for a property that is not there.
	missing bool
	// missingNeedsValue: a bad filter value is no match even then.
	missingNeedsValue bool
	// only restricts the operator to one type of property; elsewhere it never
	// matches.
	only PropertyType
	// compile prepares the filter's value. Without a matcher the filter never
	// matches, and problem says why.
	compile func(p *preparation, v any) (m matcher, problem string)
	// any is compile of a list outside of flags, where any of its elements is meant; nil:
	// there a list of one element is that element, unless lists are the operator's own.
	any func(p *preparation, list []any) (m matcher, problem string)
	// negated turns a match round. What is invalid stays no match (§4.4).
	negated bool
	// valueless operators do not look at the filter's value.
	valueless bool
	// strict operators can never match with some values: they have to be looked at
	// before anything depends on them.
	strict bool
	// sdks is how SDKs that decide locally read it; zero: they do not know it (§11).
	sdks operatorFamily
}

// OperatorInfo describes an operator to people and programs.
type OperatorInfo struct {
	Name Operator
	// Alias is an older name of it, empty for most.
	Alias Operator
	Help  string
	// Operand is the form of the value to compare with.
	Operand Operand
	// Opposite matches exactly when this one does not, also where the property is
	// missing. Empty: no operator does.
	Opposite Operator
	// Missing is the answer for a property that is not there.
	Missing bool
	// Negative: outside of flags, where each element of a list is compared, it has to hold
	// of all of them. The others hold when one does.
	Negative bool
	// Only is the one property type that has the operator, empty for all.
	Only PropertyType
}

// Operand is the form in which the management API takes a value to compare with.
// Evaluation is less strict: a number does for a text, one value for a list.
type Operand uint8

// The forms of a value.
const (
	AnyOperand    Operand = iota // any JSON value, or none
	TextOperand                  // a text, even of a number that is compared by size
	ScalarOperand                // a text, a number or a boolean
	ListOperand                  // an array
	DateOperand                  // a date as a text, absolute or relative
)

// operatorFamily groups the operators that SDKs know.
type operatorFamily uint8

const (
	equality operatorFamily = 1 << iota
	textual
	expressions
	ordering
	dating
	versions
	presence
	unknownFamily
)

// operatorTable is every operator there is. Add one here: a row, and a file of
// cases in testdata/operators.
var operatorTable = []operator{
	{name: Exact, help: "equals the text, ignoring case, or one of a list", opposite: IsNot, compile: compileExact, sdks: equality},
	{name: IsNot, help: "is none of them", opposite: Exact, missing: true, compile: compileExact, negated: true, sdks: equality},
	{name: IContains, help: "contains the text, ignoring ASCII case", operand: TextOperand, opposite: NotIContains, compile: text(containsFold), any: anyOf(containsFold), sdks: textual},
	{name: NotIContains, help: "does not contain it", operand: TextOperand, opposite: IContains, missing: true, compile: text(containsFold), any: anyOf(containsFold), negated: true, sdks: textual},
	{name: IContainsMulti, help: "contains one of a list", operand: ListOperand, opposite: NotIContainsMulti, compile: anyText(containsFold)},
	{name: NotIContainsMulti, help: "contains none of a list", operand: ListOperand, opposite: IContainsMulti, missing: true, compile: anyText(containsFold), negated: true},
	{name: StartsWith, help: "starts with the text, ignoring ASCII case", operand: ScalarOperand, opposite: NotStartsWith, compile: text(hasPrefixFold), any: anyOf(hasPrefixFold), sdks: textual},
	{name: NotStartsWith, help: "does not start with it", operand: ScalarOperand, opposite: StartsWith, missing: true, compile: text(hasPrefixFold), any: anyOf(hasPrefixFold), negated: true, sdks: textual},
	{name: EndsWith, help: "ends with the text, ignoring ASCII case", operand: ScalarOperand, opposite: NotEndsWith, compile: text(hasSuffixFold), any: anyOf(hasSuffixFold), sdks: textual},
	{name: NotEndsWith, help: "does not end with it", operand: ScalarOperand, opposite: EndsWith, missing: true, compile: text(hasSuffixFold), any: anyOf(hasSuffixFold), negated: true, sdks: textual},
	{name: Regex, help: "the regular expression is found in the text", operand: TextOperand, opposite: NotRegex, compile: compileRegex, any: compileAnyRegex, sdks: expressions, strict: true},
	{name: NotRegex, help: "the regular expression is not found", operand: TextOperand, opposite: Regex, missing: true, compile: compileRegex, any: compileAnyRegex, negated: true, sdks: expressions, strict: true},
	{name: GreaterThan, help: "is a number greater than", operand: TextOperand, compile: compareNumber(1), sdks: ordering, strict: true},
	{name: GreaterOrEqual, alias: "min", help: "is a number at least", operand: TextOperand, compile: compareNumber(0, 1), sdks: ordering, strict: true},
	{name: LessThan, help: "is a number less than", operand: TextOperand, compile: compareNumber(-1), sdks: ordering, strict: true},
	{name: LessOrEqual, alias: "max", help: "is a number at most", operand: TextOperand, compile: compareNumber(-1, 0), sdks: ordering, strict: true},
	{name: Between, help: "is a number in [low, high]", compile: between(false), strict: true},
	{name: NotBetween, help: "is not a number in [low, high]", missing: true, compile: between(true), missingNeedsValue: true, strict: true},
	{name: IsSet, help: "the property is there, null included", opposite: IsNotSet, compile: present(yes), valueless: true, sdks: presence},
	{name: IsNotSet, help: "the property is not there", opposite: IsSet, missing: true, compile: present(no), valueless: true, sdks: presence},
	{name: IsDateExact, help: "is the same instant", operand: DateOperand, compile: compareDate(0), strict: true},
	{name: IsDateBefore, help: "is earlier", operand: DateOperand, compile: compareDate(-1), sdks: dating, strict: true},
	{name: IsDateAfter, help: "is later", operand: DateOperand, compile: compareDate(1), sdks: dating, strict: true},
	{name: SemverEqual, help: "is the same version, build metadata included", compile: compareSemver(0), sdks: versions, strict: true},
	{name: SemverNotEqual, help: "is another version", compile: compareSemver(-1, 1), sdks: versions, strict: true},
	{name: SemverGreater, help: "is a later version", compile: compareSemver(1), sdks: versions, strict: true},
	{name: SemverGreaterEqual, help: "is the version or a later one", compile: compareSemver(0, 1), sdks: versions, strict: true},
	{name: SemverLess, help: "is an earlier version", compile: compareSemver(-1), sdks: versions, strict: true},
	{name: SemverLessEqual, help: "is the version or an earlier one", compile: compareSemver(-1, 0), sdks: versions, strict: true},
	{name: SemverTilde, help: "has the same minor version and is not earlier", compile: semverRange(semver.Tilde), sdks: versions, strict: true},
	{name: SemverCaret, help: "is compatible and not earlier", compile: semverRange(semver.Caret), sdks: versions, strict: true},
	{name: SemverWildcard, help: "fits a pattern such as 1.2.*", compile: semverRange(semver.Wildcard), sdks: versions, strict: true},
	{name: In, help: "is in the cohort", opposite: NotIn, only: CohortProperty},
	{name: NotIn, help: "is not in the cohort", opposite: In, only: CohortProperty},
	{name: FlagEvaluatesTo, help: "the other flag has this value", only: FlagProperty},
}

var operators = func() map[Operator]*operator {
	m := make(map[Operator]*operator, len(operatorTable)+2)
	for i := range operatorTable {
		op := &operatorTable[i]
		m[op.name] = op
		if op.alias != "" { // §1.4
			m[op.alias] = op
		}
	}
	return m
}()

// Operators lists every operator in the order of the table.
func Operators() []OperatorInfo {
	all := make([]OperatorInfo, len(operatorTable))
	for i := range operatorTable {
		all[i] = operatorTable[i].info()
	}
	return all
}

func (o *operator) info() OperatorInfo {
	return OperatorInfo{o.name, o.alias, o.help, o.operand, o.opposite, o.missing, o.isNegative(), o.only}
}

// isNegative reports whether it says of a value what it is not.
func (o *operator) isNegative() bool { return o.missing || o.name == SemverNotEqual }

// Info describes the operator with this name or alias, false when there is none.
func (o Operator) Info() (OperatorInfo, bool) {
	op := operators[o]
	if op == nil {
		return OperatorInfo{}, false
	}
	return op.info(), true
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

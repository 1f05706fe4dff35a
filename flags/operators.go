package flags

import (
	"github.com/bunting-flags/bunting/flags/internal/semver"
	"github.com/bunting-flags/bunting/flags/internal/values"
)

// The operators of §4.5, and the three that are only valid for cohorts and flags.
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

// operator is a row of the table of operators.
type operator struct {
	name Operator
	// alias is an older name.
	alias Operator
	// help is a description in one line.
	help string
	// operand is the form of the values that the management API accepts.
	operand Operand
	// opposite is the operator that matches if and only if this one does not, including for
	// missing properties.
	opposite Operator
	// missing is the result for a missing property.
	missing bool
	// missingNeedsValue means that with an invalid operand, missing properties do not match.
	missingNeedsValue bool
	// only restricts the operator to one type of property. For other types it never matches.
	only PropertyType
	// compile prepares the operand. If m is nil, the filter never matches a present property
	// and problem describes why.
	compile func(p *preparation, v any) (m matcher, problem string)
	// any compiles a list outside of flags, where any of its elements may match. If nil, a
	// list of one element means that element there, unless the operator compares with lists
	// itself.
	any func(p *preparation, list []any) (m matcher, problem string)
	// negated inverts the result. Invalid comparisons still do not match (§4.4).
	negated bool
	// valueless operators ignore the operand.
	valueless bool
	// strict operators can never match for some operands, which must be checked before a
	// cohort depends on them.
	strict bool
}

// OperatorInfo describes an operator, for people and programs.
type OperatorInfo struct {
	Name Operator
	// Alias is an older name of the operator, empty for most.
	Alias Operator
	// Help describes the operator in one line.
	Help string
	// Operand is the form of the operand.
	Operand Operand
	// Opposite is the operator that matches if and only if this one does not, including for
	// missing properties. It is empty if there is no such operator.
	Opposite Operator
	// Missing is the result for a missing property.
	Missing bool
	// Negative means that outside of flags, where each element of a list is compared, all
	// elements must match. For other operators one element is enough.
	Negative bool
	// Only is the only property type that the operator supports, empty for all.
	Only PropertyType
}

// Operand is the form of operands that the management API accepts. Evaluation is less strict:
// it accepts a number instead of a string, or a single value instead of a list.
type Operand uint8

// The forms of operands.
const (
	AnyOperand    Operand = iota // any JSON value, or no value
	TextOperand                  // a string, even for numbers that are compared by size
	ScalarOperand                // a string, a number or a boolean
	ListOperand                  // an array
	DateOperand                  // a date as a string, absolute or relative
)

// operatorTable lists all operators. To add one, add a row here and a file of cases in
// testdata/operators.
var operatorTable = []operator{
	{name: Exact, help: "equals the text, ignoring case, or one of a list", opposite: IsNot, compile: compileExact},
	{name: IsNot, help: "equals none of them", opposite: Exact, missing: true, compile: compileExact, negated: true},
	{name: IContains, help: "contains the text, ignoring ASCII case", operand: TextOperand, opposite: NotIContains, compile: compileText(values.ContainsFold), any: compileAnyOf(values.ContainsFold)},
	{name: NotIContains, help: "does not contain it", operand: TextOperand, opposite: IContains, missing: true, compile: compileText(values.ContainsFold), any: compileAnyOf(values.ContainsFold), negated: true},
	{name: IContainsMulti, help: "contains one of a list", operand: ListOperand, opposite: NotIContainsMulti, compile: compileAnyText(values.ContainsFold)},
	{name: NotIContainsMulti, help: "contains none of a list", operand: ListOperand, opposite: IContainsMulti, missing: true, compile: compileAnyText(values.ContainsFold), negated: true},
	{name: StartsWith, help: "starts with the text, ignoring ASCII case", operand: ScalarOperand, opposite: NotStartsWith, compile: compileText(values.HasPrefixFold), any: compileAnyOf(values.HasPrefixFold)},
	{name: NotStartsWith, help: "does not start with it", operand: ScalarOperand, opposite: StartsWith, missing: true, compile: compileText(values.HasPrefixFold), any: compileAnyOf(values.HasPrefixFold), negated: true},
	{name: EndsWith, help: "ends with the text, ignoring ASCII case", operand: ScalarOperand, opposite: NotEndsWith, compile: compileText(values.HasSuffixFold), any: compileAnyOf(values.HasSuffixFold)},
	{name: NotEndsWith, help: "does not end with it", operand: ScalarOperand, opposite: EndsWith, missing: true, compile: compileText(values.HasSuffixFold), any: compileAnyOf(values.HasSuffixFold), negated: true},
	{name: Regex, help: "the regular expression is found in the text", operand: TextOperand, opposite: NotRegex, compile: compileRegex, any: compileAnyRegex, strict: true},
	{name: NotRegex, help: "the regular expression is not found", operand: TextOperand, opposite: Regex, missing: true, compile: compileRegex, any: compileAnyRegex, negated: true, strict: true},
	{name: GreaterThan, help: "is a number greater than", operand: TextOperand, compile: compareNumber(1), strict: true},
	{name: GreaterOrEqual, alias: "min", help: "is a number at least", operand: TextOperand, compile: compareNumber(0, 1), strict: true},
	{name: LessThan, help: "is a number less than", operand: TextOperand, compile: compareNumber(-1), strict: true},
	{name: LessOrEqual, alias: "max", help: "is a number at most", operand: TextOperand, compile: compareNumber(-1, 0), strict: true},
	{name: Between, help: "is a number in [low, high]", compile: compileBetween(false), strict: true},
	{name: NotBetween, help: "is not a number in [low, high]", missing: true, compile: compileBetween(true), missingNeedsValue: true, strict: true},
	{name: IsSet, help: "the property is there, null included", opposite: IsNotSet, compile: compilePresence(yes), valueless: true},
	{name: IsNotSet, help: "the property is not there", opposite: IsSet, missing: true, compile: compilePresence(no), valueless: true},
	{name: IsDateExact, help: "is the same instant", operand: DateOperand, compile: compareDate(0), strict: true},
	{name: IsDateBefore, help: "is earlier", operand: DateOperand, compile: compareDate(-1), strict: true},
	{name: IsDateAfter, help: "is later", operand: DateOperand, compile: compareDate(1), strict: true},
	{name: SemverEqual, help: "is the same version, build metadata included", compile: compareSemver(0), strict: true},
	{name: SemverNotEqual, help: "is another version", compile: compareSemver(-1, 1), strict: true},
	{name: SemverGreater, help: "is a later version", compile: compareSemver(1), strict: true},
	{name: SemverGreaterEqual, help: "is the version or a later one", compile: compareSemver(0, 1), strict: true},
	{name: SemverLess, help: "is an earlier version", compile: compareSemver(-1), strict: true},
	{name: SemverLessEqual, help: "is the version or an earlier one", compile: compareSemver(-1, 0), strict: true},
	{name: SemverTilde, help: "has the same minor version and is not earlier", compile: semverRange(semver.Tilde), strict: true},
	{name: SemverCaret, help: "is compatible and not earlier", compile: semverRange(semver.Caret), strict: true},
	{name: SemverWildcard, help: "fits a pattern such as 1.2.*", compile: semverRange(semver.Wildcard), strict: true},
	{name: In, help: "is in the cohort", opposite: NotIn, only: CohortProperty},
	{name: NotIn, help: "is not in the cohort", opposite: In, only: CohortProperty},
	{name: FlagEvaluatesTo, help: "the other flag has this value", only: FlagProperty},
}

// operators indexes the table by name and alias.
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

// Operators returns all operators in the order of the table.
func Operators() []OperatorInfo {
	all := make([]OperatorInfo, len(operatorTable))
	for i := range operatorTable {
		all[i] = operatorTable[i].info()
	}
	return all
}

// info returns the exported description.
func (o *operator) info() OperatorInfo {
	return OperatorInfo{o.name, o.alias, o.help, o.operand, o.opposite, o.missing, o.isNegative(), o.only}
}

// isNegative reports whether the operator excludes values.
func (o *operator) isNegative() bool { return o.missing || o.name == SemverNotEqual }

// Info returns the description of the operator with this name or alias. It returns false if
// there is no such operator.
func (o Operator) Info() (OperatorInfo, bool) {
	op := operators[o]
	if op == nil {
		return OperatorInfo{}, false
	}
	return op.info(), true
}

// orDefault returns the operator, or the default of the property type if it is empty (§1.4).
func (o Operator) orDefault(t PropertyType) Operator {
	if o != "" {
		return o
	}
	if t == CohortProperty {
		return In
	}
	return Exact
}

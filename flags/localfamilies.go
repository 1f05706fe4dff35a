package flags

// operatorFamily groups operators by how SDKs implement them.
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

// families are the operators that SDKs with local evaluation support (§11), without aliases.
var families = map[Operator]operatorFamily{
	Exact: equality, IsNot: equality,
	IContains: textual, NotIContains: textual, StartsWith: textual, NotStartsWith: textual, EndsWith: textual, NotEndsWith: textual,
	Regex: expressions, NotRegex: expressions,
	GreaterThan: ordering, GreaterOrEqual: ordering, LessThan: ordering, LessOrEqual: ordering,
	IsDateBefore: dating, IsDateAfter: dating,
	SemverEqual: versions, SemverNotEqual: versions, SemverGreater: versions, SemverGreaterEqual: versions, SemverLess: versions, SemverLessEqual: versions, SemverTilde: versions, SemverCaret: versions, SemverWildcard: versions,
	IsSet: presence, IsNotSet: presence,
}

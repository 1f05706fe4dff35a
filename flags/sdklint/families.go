package sdklint

import "github.com/bunting-flags/bunting/flags"

// family groups operators by how SDKs implement them.
type family uint8

const (
	equality family = 1 << iota
	textual
	expressions
	ordering
	dating
	versions
	presence
	unknownFamily
)

// families are the operators that SDKs with local evaluation support (§11), without aliases.
var families = map[flags.Operator]family{
	flags.Exact: equality, flags.IsNot: equality,
	flags.IContains: textual, flags.NotIContains: textual, flags.StartsWith: textual, flags.NotStartsWith: textual, flags.EndsWith: textual, flags.NotEndsWith: textual,
	flags.Regex: expressions, flags.NotRegex: expressions,
	flags.GreaterThan: ordering, flags.GreaterOrEqual: ordering, flags.LessThan: ordering, flags.LessOrEqual: ordering,
	flags.IsDateBefore: dating, flags.IsDateAfter: dating,
	flags.SemverEqual: versions, flags.SemverNotEqual: versions, flags.SemverGreater: versions, flags.SemverGreaterEqual: versions, flags.SemverLess: versions, flags.SemverLessEqual: versions, flags.SemverTilde: versions, flags.SemverCaret: versions, flags.SemverWildcard: versions,
	flags.IsSet: presence, flags.IsNotSet: presence,
}

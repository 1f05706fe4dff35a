package hogql

// op is the kind of a node.
type op uint8

// These are the kinds of nodes.
const (
	opLiteral     op = iota
	opPath           // a field or an alias, and names below it
	opCall           // a function or an aggregate
	opStar           // in count(*) and SELECT *
	opLambda         // path has the parameters
	opPlaceholder    // path has the names in the braces
	opCohort         // args[0] IN COHORT name
)

// node is an expression. Operators, lists, CASE, CAST and similar syntax are calls of
// functions.
//
// A node refers to the part of the text that it was parsed from, so that errors have a
// position and columns without an alias have a name.
type node struct {
	// op determines which of the following fields are used.
	op         op
	src        *source
	start, end int // offsets in src, in bytes
	// name is the name of a function, an aggregate or a cohort.
	name string
	// path are the names of a path or placeholder, or the parameters of a lambda.
	path []string
	// value is the value of a literal.
	value Value
	// args are the arguments of a call, the body of a lambda or the operand of IN COHORT.
	args   []*node
	params []*node // the 0.9 in quantile(0.9)(x)
	// distinct reports whether the arguments of an aggregate are preceded by DISTINCT.
	distinct bool
}

// fault returns an error at the position of the node.
func (n *node) fault(code, head, tail string) *Error {
	return n.src.fault(code, n.start, n.end, head, tail)
}

// word returns the text of the node in quotes.
func (n *node) word() string { return quoted(n.src.word(n.start, n.end)) }

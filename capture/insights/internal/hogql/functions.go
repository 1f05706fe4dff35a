package hogql

import "strings"

// functions is the table by name. It is filled by init, because entries refer to functions
// that use the table.
var functions = map[string]*function{}

// caseInsensitiveFunctions are the functions whose names are not case-sensitive (§2.9.8).
var caseInsensitiveFunctions = []string{"coalesce", "if", "concat", "lower", "upper", "round", "now", "and", "or", "not", "in", "like", "ilike"}

// init fills the table. Functions that are not case-sensitive are also entered in upper case,
// which findFunction tries after the exact name.
func init() {
	for _, rows := range [][]function{logicFunctions, mathFunctions, convertFunctions, textFunctions, urlFunctions, jsonFunctions, listFunctions, timeFunctions} {
		for i := range rows {
			functions[rows[i].name] = &rows[i]
		}
	}
	for _, name := range caseInsensitiveFunctions {
		functions[strings.ToUpper(name)] = functions[name]
	}
}

// findFunction returns the function with a name, or nil.
func findFunction(name string) *function {
	if f := functions[name]; f != nil {
		return f
	}
	if f := functions[strings.ToUpper(name)]; f != nil && !strings.HasPrefix(name, "$") {
		return f
	}
	return nil
}

// call compiles the call of an aggregate or a function.
func (c *compiler) call(n *node) compiled {
	if a, conditional := findAggregate(n.name); a != nil {
		return c.aggregate(n, a, conditional)
	}
	f := findFunction(n.name)
	switch {
	case f == nil:
		return c.fail(n.src.fault(UnknownFunction, n.start, n.start+len(n.name), "Unknown function "+quoted(n.name), ""))
	case n.params != nil:
		return c.fail(n.fault(SyntaxError, "Function "+quoted(n.name)+" has one pair of parentheses", ""))
	case n.distinct:
		return c.fail(n.fault(SyntaxError, `Unexpected "DISTINCT" in `+quoted(n.name), ": expected an aggregate"))
	}
	for _, a := range n.args {
		if a.op == opStar {
			return c.fail(a.fault(SyntaxError, `Unexpected "*"`, ": expected an expression"))
		}
	}
	if !c.checkCount(n, f.args) {
		return constant(Value{}, nullType)
	}
	if f.special != nil {
		return f.special(c, n)
	}
	return c.compileCall(n, f, c.compileAll(n.args))
}

package convert

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/flags"
)

// JSONLogic is converted with the semantics of diegoholiveira/jsonlogic. It is the language of
// flagd's targeting, and one of GO Feature Flag's two query languages.

type logic struct {
	b   *builder
	src *node // the position of notes
	// id are the names of the user's key.
	id []string
	// flag are attributes that are always booleans, and false if they are not sent.
	flag map[string]bool
	// key, if not empty, is the flag's key, which flagd's rules may read.
	key string
	// refs are flagd's $evaluators.
	refs map[string]*node
	// flagd enables the operators that only flagd has.
	flagd bool
}

// refuse adds the position inside a rule that is a separate document.
func (l *logic) refuse(n *node, format string, args ...any) {
	if top := n.top(); top != l.src.top() {
		if path := n.path(); path != "" {
			format = path + ": " + format
		}
		l.src.refuse(format, args...)
	}
	n.refuse(format, args...)
}

func (n *node) top() *node {
	for n.parent != nil {
		n = n.parent
	}
	return n
}

// operation returns the single operator of an object and its arguments.
func (l *logic) operation(n *node) (op string, args []*node, ok bool) {
	n = l.resolve(n)
	obj, isObject := n.value.(map[string]any)
	if !isObject {
		return "", nil, false
	}
	if len(obj) != 1 {
		l.refuse(n, "must have one operator, and has %d members", len(obj))
	}
	for name := range obj {
		op = name
	}
	arg := n.get(op)
	if _, isList := arg.value.([]any); isList {
		return op, arg.items(), true
	}
	return op, []*node{arg}, true
}

// resolve follows a reference to a shared evaluator.
func (l *logic) resolve(n *node) *node {
	if obj, ok := n.value.(map[string]any); ok && len(obj) == 1 && n.has("$ref") && l.flagd {
		target, ok := l.refs[n.get("$ref").textOr()]
		if !ok {
			l.refuse(n, "uses the evaluator %q, which does not exist", short(n.get("$ref").textOr()))
		}
		if hasRef(target.value) {
			l.refuse(n, "uses an evaluator that uses another one, which flagd resolves only by chance")
		}
		return target
	}
	return n
}

func hasRef(v any) bool {
	switch v := v.(type) {
	case []any:
		return slices.ContainsFunc(v, hasRef)
	case map[string]any:
		for name, e := range v {
			if name == "$ref" || hasRef(e) {
				return true
			}
		}
	}
	return false
}

// operand is a constant, or an attribute.
type operand struct {
	constant  any
	attribute *attribute
}

// operand converts an expression that must be a constant or a var without a default.
func (l *logic) operand(n *node) operand {
	op, args, ok := l.operation(n)
	if !ok {
		return operand{constant: l.resolve(n).value}
	}
	if op != "var" {
		l.refuse(n, "uses %s where only an attribute or a constant is supported here", op)
	}
	if len(args) == 0 || len(args) > 1 && args[1].value != nil {
		l.refuse(n, "is an attribute with a default, which cannot be expressed here")
	}
	name, ok := args[0].value.(string)
	switch {
	case !ok || name == "":
		l.refuse(n, "must be the name of an attribute")
	case l.key != "" && name == "$flagd.flagKey":
		return operand{constant: l.key}
	case l.key != "" && name == "$flagd.timestamp":
		l.refuse(n, "depends on the time, which is not supported here")
	case strings.Contains(name, "."):
		l.refuse(n, "reads a member of an attribute: properties have no members here")
	}
	a := l.b.userKey(l.src)
	if !slices.Contains(l.id, name) {
		a = l.b.attribute(l.src, name)
		a.boolean = l.flag[name]
	}
	return operand{attribute: &a}
}

// isTruthyConstant reports whether a constant is truthy in JSONLogic, where empty lists and objects
// are not.
func isTruthyConstant(v any) bool {
	switch v := v.(type) {
	case bool:
		return v
	case json.Number:
		f, err := v.Float64()
		return err == nil && f != 0
	case string:
		return v != ""
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0
	}
	return false
}

func constant(holds bool) formula {
	if holds {
		return always
	}
	return never
}

// comparisons are operators that evaluate to true or false.
var comparisons = []string{"==", "!=", "===", "!==", "<", "<=", ">", ">=", "in", "!", "!!", "starts_with", "ends_with", "sem_ver"}

// truth is true if an expression is truthy.
func (l *logic) truth(n *node) formula {
	op, args, ok := l.operation(n)
	if !ok {
		v := l.resolve(n).value
		if list, isList := v.([]any); isList && depthOf(list) > 1 {
			l.refuse(n, "is a list of expressions")
		}
		return constant(isTruthyConstant(v))
	}
	switch op {
	case "and", "or":
		return l.junction(n, op, args)
	case "!", "!!":
		if len(args) == 0 {
			l.refuse(n, "needs an expression")
		}
		f := l.truth(args[0])
		if op == "!" {
			return not(f)
		}
		return f
	case "if", "?:":
		return l.choice(n, args)
	case "==", "===":
		return l.equal(n, op, args)
	case "!=", "!==":
		return not(l.equal(n, "="+op[1:], args))
	case "<", "<=", ">", ">=":
		return l.ordered(n, logicOrders[op], args)
	case "in":
		return l.in(n, args)
	case "var":
		return l.set(l.operand(n))
	}
	if l.flagd {
		switch op {
		case "starts_with":
			return l.part(n, startsWith, args)
		case "ends_with":
			return l.part(n, endsWith, args)
		case "sem_ver":
			return l.semVer(n, args)
		case "fractional":
			return l.someFraction(n, args)
		}
	}
	l.refuse(n, "uses the operator %q, which cannot be expressed here", short(op))
	return never
}

func (l *logic) junction(n *node, op string, args []*node) formula {
	if _, isList := l.resolve(n).get(op).value.([]any); !isList {
		l.refuse(n, "needs a list of expressions")
	}
	parts := mapFormulas(args, l.truth)
	if op == "and" && len(parts) > 0 {
		return allOf(parts...)
	}
	return anyOf(parts...) // an empty list is falsy
}

// choice converts an if with any number of branches, or the ternary operator, whose result is used
// as a condition.
func (l *logic) choice(n *node, args []*node) formula {
	if _, isList := l.resolve(n).get("if").value.([]any); !isList && !l.resolve(n).has("?:") {
		l.refuse(n, "needs a list of expressions")
	}
	var parts []formula
	before := always
	i := 0
	for ; i+1 < len(args); i += 2 {
		when := l.truth(args[i])
		parts = append(parts, allOf(before, when, l.truth(args[i+1])))
		before = allOf(before, not(when))
	}
	if i < len(args) {
		parts = append(parts, allOf(before, l.truth(args[i])))
	}
	f := anyOf(parts...)
	if f.leaves() > maxLeaves { // each nested if doubles the size
		l.refuse(n, "is too large: more than %d requirements", maxLeaves)
	}
	return f
}

// set is true if the value of an operand is truthy.
func (l *logic) set(o operand) formula {
	a := o.attribute
	switch {
	case a == nil:
		return constant(isTruthyConstant(o.constant))
	case a.boolean:
		return a.isTrue()
	case a.isKey():
		return a.compare(flags.IsNot, "")
	}
	a.noteText()
	return allOf(a.unary(flags.IsSet), a.compare(flags.NotRegex, `^(?:null|false|-?0(?:\.0)?|\[\]|\{\})?$`))
}

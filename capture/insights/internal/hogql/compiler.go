package hogql

// compiled is an expression that can be evaluated.
type compiled struct {
	eval func(*Row) Value
	typ  Type
	// constant reports whether the value is always the same. In that case it is value.
	constant bool
	value    Value
}

// constant returns the compiled form of a constant.
func constant(v Value, t Type) compiled {
	t.nullable = t.nullable || v.kind == Null
	return compiled{eval: func(*Row) Value { return v }, typ: t, constant: true, value: v}
}

// typeOf returns the type of a constant.
func typeOf(v Value) Type {
	switch v.kind {
	case Null:
		return nullType
	case List, Tuple:
		t := nullType
		for i, e := range v.List() {
			if i == 0 {
				t = typeOf(e)
			} else {
				t = common(t, typeOf(e))
			}
		}
		return Type{kind: v.kind, elem: &t}
	}
	return Type{kind: v.kind, json: v.json}
}

// compiler compiles nodes to closures.
type compiler struct {
	scope *Scope
	env   *env
	err   *Error
	// tables are the names that may precede a field as a qualifier.
	tables  []string
	aliases map[string]*alias
	params  []param // the parameters of the enclosing lambdas
	// groups is not nil where aggregates are permitted. Fields are then only permitted if
	// they are grouped.
	groups *groups
	// where describes the clause that is compiled, for the error if it contains an aggregate.
	where string

	// idents and identOf are the numbers of expressions by key and by node; see ident.
	idents        map[string]int
	identOf       map[*node]int
	aggregates    map[*node]bool // see hasAggregate
	constantBytes int64          // memory of constants in bytes, see reserveConstant
}

// param is a parameter of a lambda. slot is its index in env.locals.
type param struct {
	name string
	slot int
	typ  Type
}

// alias is a name for an expression. The expression is compiled separately for rows and for
// groups, and is evaluated once for each row or group.
type alias struct {
	node *node
	// busy is true while the expression is compiled. A reference to the alias in its own
	// expression is then a field.
	busy bool
	// done and result are indexed by 0 for rows and 1 for groups.
	done   [2]bool
	result [2]compiled
	ident  int // see compiler.ident; 0 if not computed yet
}

// newCompiler returns a compiler for expressions over the rows of a scope, which may be nil.
func newCompiler(scope *Scope, c Context) *compiler {
	return &compiler{scope: scope, env: newEnv(c), aliases: map[string]*alias{}, idents: map[string]int{}, identOf: map[*node]int{}, aggregates: map[*node]bool{}}
}

// fail stores the first error, and returns a placeholder so that callers need not check for
// errors.
func (c *compiler) fail(err *Error) compiled {
	if c.err == nil {
		c.err = err
	}
	return constant(Value{}, nullType)
}

// site returns the site of a call, with space for its arguments.
func (c *compiler) site(n *node) *site {
	return &site{env: c.env, node: n, args: make([]Value, len(n.args))}
}

// reserveConstant reserves the memory of a constant, in bytes. The total is limited to the same
// size as that of the values of one row.
func (c *compiler) reserveConstant(n *node, bytes int64) {
	if c.constantBytes += bytes; c.constantBytes > maxRowBytes {
		c.fail(n.fault(TooLarge, "Constants are above 64 MiB with "+n.word(), ""))
	}
	c.env.reserveLater(bytes)
}

// firstError returns the first error, which may be one of the evaluation of a constant
// expression.
func (c *compiler) firstError() error {
	if c.err != nil {
		return c.err
	}
	return c.env.err
}

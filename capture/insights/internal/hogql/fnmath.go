package hogql

import (
	"math"
	"math/bits"
)

// mathFunctions are the arithmetic functions (§2.9.8).
var mathFunctions = []function{
	{name: "plus", args: "aa", special: func(c *compiler, n *node) compiled { return c.sum(n, plusFunction) }},
	{name: "minus", args: "aa", special: func(c *compiler, n *node) compiled { return c.sum(n, minusFunction) }},
	{name: "multiply", args: "nn", result: numberLikeAll, two: func(_ *site, a, b Value) Value {
		if a.kind == Int && b.kind == Int {
			// A product of integers that overflows becomes a float.
			if p := a.n * b.n; fitsProduct(a.n, b.n) {
				return IntOf(p)
			}
		}
		return FloatOf(a.float() * b.float())
	}},
	{name: "divide", args: "nn", result: constantType(floatType), two: func(_ *site, a, b Value) Value { return FloatOf(a.float() / b.float()) }},
	{name: "modulo", args: "nn", result: numberLikeAll, two: func(s *site, a, b Value) Value {
		if a.kind == Float || b.kind == Float {
			return FloatOf(math.Mod(a.float(), b.float()))
		}
		return s.integerOp(a, b, func(x, y int64) int64 { return x % y })
	}},
	{name: "intDiv", args: "nn", result: constantType(IntType), two: func(s *site, a, b Value) Value {
		a, b = truncateToInt(a), truncateToInt(b)
		if a.kind == Int && a.n == math.MinInt64 && b.kind == Int && b.n == -1 {
			return negate(a) // 2^63 does not fit into 64 bits
		}
		return s.integerOp(a, b, func(x, y int64) int64 { return x / y })
	}},
	{name: "negate", args: "n", result: numberLikeAll, one: func(_ *site, v Value) Value { return negate(v) }},
	{name: "abs", args: "n", result: numberLikeAll, one: func(_ *site, v Value) Value {
		if v.kind == Int && v.n >= 0 || v.kind == Float && v.float() >= 0 {
			return v
		}
		return negate(v)
	}},
	{name: "sign", args: "n", result: constantType(IntType), one: func(_ *site, v Value) Value { return IntOf(int64(compareNumbers(v, IntOf(0)))) }},
	{name: "sqrt", args: "n", result: constantType(floatType), one: float(math.Sqrt)},
	{name: "exp", args: "n", result: constantType(floatType), one: float(math.Exp)},
	{name: "log", args: "n", result: constantType(floatType), one: float(math.Log)},
	{name: "log2", args: "n", result: constantType(floatType), one: float(math.Log2)},
	{name: "log10", args: "n", result: constantType(floatType), one: float(math.Log10)},
	{name: "pow", args: "nn", result: constantType(floatType), two: power},
	{name: "power", args: "nn", result: constantType(floatType), two: power},
	{name: "greatest", args: "a+", result: likeAll, acceptsNulls: true, all: func(_ *site, args []Value) Value { return extreme(args, 1) }},
	{name: "least", args: "a+", result: likeAll, acceptsNulls: true, all: func(_ *site, args []Value) Value { return extreme(args, -1) }},
	{name: "round", args: "ni?", result: likeNumber, all: roundFunction(math.RoundToEven)},
	{name: "floor", args: "ni?", result: likeNumber, all: roundFunction(math.Floor)},
	{name: "ceil", args: "ni?", result: likeNumber, all: roundFunction(math.Ceil)},
	{name: "truncate", args: "ni?", result: likeNumber, all: roundFunction(math.Trunc)},
}

// likeNumber returns the type of the first argument as a number.
func likeNumber(args []Type) Type { return numberLikeAll(args[:1]) }

// float adapts a function of package math.
func float(f func(float64) float64) func(*site, Value) Value {
	return func(_ *site, v Value) Value { return FloatOf(f(v.float())) }
}

// power implements pow.
func power(_ *site, a, b Value) Value { return FloatOf(math.Pow(a.float(), b.float())) }

// integerOp applies f to two integers. Division by zero is an error of the query.
func (s *site) integerOp(a, b Value, f func(x, y int64) int64) Value {
	switch {
	case a.kind == Null || b.kind == Null:
		return Value{}
	case b.n == 0:
		s.fail(TypeError, "Division by zero in "+s.node.word())
		return Value{}
	}
	return IntOf(f(a.n, b.n))
}

// fitsProduct reports whether the product of two integers fits into 64 bits.
func fitsProduct(a, b int64) bool {
	if a == math.MinInt64 || b == math.MinInt64 {
		return false
	}
	high, low := bits.Mul64(uint64(max(a, -a)), uint64(max(b, -b)))
	return high == 0 && low <= math.MaxInt64
}

// add returns a + b. Integers that overflow become a float.
func add(a, b Value) Value {
	if a.kind == Int && b.kind == Int {
		if sum := a.n + b.n; (sum > a.n) == (b.n > 0) {
			return IntOf(sum)
		}
	}
	return FloatOf(a.float() + b.float())
}

// These are the implementations of + and -, selected by sum.
var (
	plusFunction  = &function{args: "nn", result: numberLikeAll, two: func(_ *site, a, b Value) Value { return add(a, b) }}
	minusFunction = &function{args: "nn", result: numberLikeAll, two: func(_ *site, a, b Value) Value { return add(a, negate(b)) }}
	// for a time and an interval
	laterFunction   = &function{args: "tp", result: likeMoment, two: func(s *site, a, b Value) Value { return s.env.addPeriod(a, b.n, int(b.unit)) }}
	earlierFunction = &function{args: "tp", result: likeMoment, two: func(s *site, a, b Value) Value { return s.env.addPeriod(a, -b.n, int(b.unit)) }}
)

// sum compiles + and - of numbers, and of a time and an interval.
func (c *compiler) sum(n *node, f *function) compiled {
	args := c.compileAll(n.args)
	period := func(i int) bool { return args[i].typ.kind == period }
	switch {
	case period(1) && f == minusFunction:
		f = earlierFunction
	case period(1):
		f = laterFunction
	case period(0) && f == plusFunction:
		// The time must be the first argument.
		swapped := *n
		swapped.args = []*node{n.args[1], n.args[0]}
		return c.compileCall(&swapped, laterFunction, []compiled{args[1], args[0]})
	}
	return c.compileCall(n, f, args)
}

// extreme returns the greatest value if sign is 1, or the least if it is -1. Null values are
// ignored.
func extreme(args []Value, sign int) Value {
	var best Value
	for _, v := range args {
		if v.kind != Null && (best.kind == Null || order(v, best)*sign > 0) {
			best = v
		}
	}
	return best
}

// roundFunction rounds to n digits after the decimal point, or before it if n is negative.
func roundFunction(round func(float64) float64) func(*site, []Value) Value {
	return func(_ *site, args []Value) Value {
		digits := int64(0)
		if len(args) == 2 {
			digits = args[1].n
		}
		v := args[0]
		if v.kind == Int && digits >= 0 {
			return v
		}
		// The power of ten would otherwise overflow.
		digits = max(min(digits, 400), -400)
		scale := math.Pow(10, math.Abs(float64(digits)))
		f := v.float()
		var x float64
		if digits < 0 {
			x = round(f/scale) * scale
		} else {
			x = round(f*scale) / scale
		}
		if math.IsNaN(x) || math.IsInf(x, 0) { // more digits than a float has
			x = f
			if digits < 0 {
				x = 0
			}
		}
		if v.kind == Int {
			return truncateToInt(FloatOf(x))
		}
		return FloatOf(x)
	}
}

package hogql

import "testing"

// Arithmetic of §2.9.7: / is always a float, DIV truncates, % has the sign of the dividend.
// Where 64 bits do not suffice, the result is the float that is nearest.
func TestMath_Operators(t *testing.T) {
	checkExpressions(t, Context{}, []expressionRow{
		{"/ of integers is a float", "7 / 2", "3.5"},
		{"/ without a remainder", "6 / 2", "3"},
		{"DIV truncates toward zero, negative dividend", "-7 DIV 2", "-3"},
		{"DIV truncates toward zero, negative divisor", "7 DIV -2", "-3"},
		{"DIV of both negative", "-7 DIV -2", "3"},
		{"DIV truncates fractions first", "7.9 DIV 2", "3"},
		{"% has the sign of a negative dividend", "-7 % 3", "-1"},
		{"% has the sign of a positive dividend", "7 % -3", "1"},
		{"% of fractions", "7.5 % 2", "1.5"},
		{"% of a fraction by zero is no number", "7.5 % 0", "null"},
		{"division by zero is infinite, which JSON lacks", "1 / 0", "null"},
		{"zero divided by zero is no number", "0 / 0", "null"},
		{"infinite is still a number", "1 / 0 > 1000", "1"},
		{"a sum of integers at the bound", "9223372036854775806 + 1", "9223372036854775807"},
		{"one above", "9223372036854775807 + 1 > 9223372036854775807", "0"}, // 2^63 is also the float of 2^63 - 1
		{"a sum above 64 bits is a float", "9223372036854775807 + 9223372036854775807", "18446744073709552000"},
		{"a difference at the bound", "-9223372036854775807 - 1", "-9223372036854775808"},
		{"a difference below 64 bits is a float", "-9223372036854775807 - 9223372036854775807", "-18446744073709552000"},
		{"a product that fits", "3037000499 * 3037000499", "9223372030926249001"},
		{"a product that does not", "3037000500 * 3037000500", "9223372037000250000"},
		{"a negative product that fits", "-3037000499 * 3037000499", "-9223372030926249001"},
		{"a product with zero", "0 * -9223372036854775807", "0"},
		{"the least integer by -1 is a float", "intDiv(-9223372036854775807 - 1, -1)", "9223372036854776000"},
		{"its remainder is zero", "modulo(-9223372036854775807 - 1, -1)", "0"},
		{"the absolute value of the least integer is a float", "abs(-9223372036854775807 - 1)", "9223372036854776000"},
		{"negating the least integer", "negate(-9223372036854775807 - 1)", "9223372036854776000"},
		{"booleans count as 1 and 0", "true + true - false", "2"},
		{"a comparison counts as 1", "(1 = 1) + 1", "2"},
	})
	checkRejected(t, Context{}, []rejectedRow{
		{"DIV by zero", "7 DIV 0", TypeError, `Division by zero in "7 DIV 0" at line 1, column 8`, "7 DIV 0"},
		{"% by zero", "1 + 7 % 0", TypeError, `Division by zero in "7 % 0" at line 1, column 12`, "7 % 0"},
		{"MOD by zero for a row", "event = 'buy' ? 1 : 7 MOD (length(event) - 4)", TypeError, `Division by zero in "7 MOD (length(event) - 4)"`, "7 MOD (length(event) - 4)"},
		{"a text in a sum", "1 + 'a'", TypeError, `Function "plus" expects a number, not String: "'a'" at line 1, column 12`, "'a'"},
		{"a list in a product", "[1] * 2", TypeError, `Function "multiply" expects a number, not Array(Int64): "[1]"`, "[1]"},
		{"a time in a product", "now() * 2", TypeError, `Function "multiply" expects a number, not DateTime64(6, 'UTC'): "now()"`, "now()"},
		{"the sign of a text", "-event", TypeError, `Function "negate" expects a number, not String: "event"`, "event"},
		{"two times", "now() - now()", TypeError, `Function "minus" expects a number`, "now()"},
	})
}

// A property in arithmetic is its number, or null (§2.9.7, num of §3.2.2).
func TestMath_Properties(t *testing.T) {
	checkProperties(t, Context{}, map[string]string{"n": "1.5", "text": `"20"`, "word": `"pen"`, "yes": "true", "none": "null", "spaced": `" 1"`, "hex": `"0x1"`, "exp": `"1e2"`, "plus": `"+3"`, "list": "[1]", "inf": `"inf"`, "empty": `""`}, []expressionRow{
		{"a number", "properties.n + 1", "2.5"},
		{"a text that is a number", "properties.text + 1", "21"},
		{"a text with an exponent", "properties.exp * 2", "200"},
		{"a text with a sign", "properties.plus * 2", "6"},
		{"a text that is none", "properties.word + 1", "null"},
		{"a blank before the digits", "properties.spaced + 1", "null"},
		{"hexadecimal", "properties.hex + 1", "null"},
		{"infinity", "properties.inf + 1", "null"},
		{"the empty text", "properties.empty + 1", "null"},
		{"a boolean is no number", "properties.yes + 1", "null"},
		{"a list is no number", "properties.list + 1", "null"},
		{"null", "properties.none + 1", "null"},
		{"missing", "properties.missing * 2", "null"},
		{"the sign of a property", "-properties.text", "-20"},
		{"a function of a property", "sqrt(properties.exp)", "10"},
		{"greatest leaves out what is null", "greatest(properties.none, properties.n, 1)", "1.5"},
		{"least of a number and a text: numbers precede texts", "least(properties.word, properties.n)", "1.5"},
		{"greatest of a number and a text", "greatest(properties.n, properties.word)", `"pen"`},
	})
}

// Rounding of §2.9.8: half to even, and n digits that may be negative.
func TestMath_Rounding(t *testing.T) {
	checkExpressions(t, Context{}, []expressionRow{
		{"half to even, down", "round(4.5)", "4"},
		{"half to even, up", "round(5.5)", "6"},
		{"half to even, negative", "round(-3.5)", "-4"},
		{"half of nothing has no sign", "round(-0.5)", "0"},
		{"more than half", "round(4.51)", "5"},
		{"with digits, half to even down", "round(0.125, 2)", "0.12"},
		{"with digits, half to even up", "round(0.375, 2)", "0.38"},
		{"tens, half to even down", "round(25, -1)", "20"},
		{"tens, half to even up", "round(35, -1)", "40"},
		{"tens, half of ten", "round(5, -1)", "0"},
		{"digits of an integer do nothing", "round(1234567, 3)", "1234567"},
		{"more digits than there are", "round(1.5, 400)", "1.5"},
		{"more zeros than there are", "round(1.5, -400)", "0"},
		{"floor of a negative number", "floor(-1.1)", "-2"},
		{"floor with digits", "floor(1.29, 1)", "1.2"},
		{"floor with tens", "floor(129, -1)", "120"},
		{"floor of a negative number with tens", "floor(-121, -1)", "-130"},
		{"ceil of a negative number", "ceil(-1.9)", "-1"},
		{"ceil with digits", "ceil(1.21, 1)", "1.3"},
		{"ceil with tens", "ceil(121, -1)", "130"},
		{"truncate of a positive number", "truncate(1.9)", "1"},
		{"truncate of a negative number", "truncate(-1.9)", "-1"},
		{"truncate with tens", "truncate(-129, -1)", "-120"},
		{"infinite stays infinite", "round(1 / 0)", "null"},
		{"the name in any case", "ROUND(2.5)", "2"},
	})
	checkRejected(t, Context{}, []rejectedRow{
		{"only round is not case-sensitive", "Floor(2.5)", UnknownFunction, `Unknown function "Floor" at line 1, column 8`, "Floor"},
		{"digits that are a text", "round(1.5, 'a')", TypeError, `Function "round" expects a whole number, not String: "'a'"`, "'a'"},
		{"three arguments", "round(1, 2, 3)", TypeError, `Function "round" takes 1 to 2 arguments, not 3 at line 1, column 8`, "round(1, 2, 3)"},
		{"no argument", "round()", TypeError, `Function "round" takes 1 to 2 arguments, not 0`, "round()"},
	})
}

// The functions of one or two numbers in §2.9.8.
func TestMath_Functions(t *testing.T) {
	checkExpressions(t, Context{}, []expressionRow{
		{"abs of a negative integer", "abs(-2)", "2"},
		{"abs of a negative fraction", "abs(-2.5)", "2.5"},
		{"abs of zero", "abs(0)", "0"},
		{"sign of a negative number", "sign(-0.1)", "-1"},
		{"sign of a positive number", "sign(7)", "1"},
		{"sign of zero", "sign(0.0)", "0"},
		{"sqrt", "sqrt(2.25)", "1.5"},
		{"sqrt of a negative number", "sqrt(-1)", "null"},
		{"exp", "exp(1)", "2.718281828459045"},
		{"log is the natural one", "log(exp(2))", "2"},
		{"log of zero", "log(0)", "null"},
		{"log2", "log2(0.25)", "-2"},
		{"log10", "log10(0.001)", "-3"},
		{"pow with a fraction", "pow(4, 0.5)", "2"},
		{"pow with a negative exponent", "pow(2, -2)", "0.25"},
		{"pow to zero", "pow(0, 0)", "1"},
		{"power is pow", "power(3, 3)", "27"},
		{"greatest of integers and fractions", "greatest(1, 2.5, 2)", "2.5"},
		{"greatest of texts, by bytes", "greatest('Z', 'a')", `"a"`},
		{"greatest of nothing but null", "greatest(NULL, NULL)", "null"},
		{"least of one", "least(3)", "3"},
		{"greatest of dates", "greatest(toDate('2020-01-01'), toDate('2020-01-02'))", `"2020-01-02"`},
		{"greatest of lists, element by element", "greatest([1, 3], [1, 2, 9])", "[1,3]"},
		{"a list is less than one that it begins", "least([1], [1, 0])", "[1]"},
		{"the names of operators", "plus(1, minus(5, multiply(2, divide(3, 2))))", "3"},
		{"modulo by name", "modulo(9, 4)", "1"},
	})
	checkRejected(t, Context{}, []rejectedRow{
		{"one argument too few", "pow(2)", TypeError, `Function "pow" takes 2 arguments, not 1 at line 1, column 8`, "pow(2)"},
		{"one argument too many", "abs(1, 2)", TypeError, `Function "abs" takes 1 arguments, not 2`, "abs(1, 2)"},
		{"at least one argument", "greatest()", TypeError, `Function "greatest" takes 1 or more arguments, not 0`, "greatest()"},
		{"parameters", "abs(1)(2)", SyntaxError, `Function "abs" has one pair of parentheses at line 1, column 8`, "abs(1)(2)"},
		{"DISTINCT", "abs(DISTINCT 1)", SyntaxError, `Unexpected "DISTINCT" in "abs" at line 1, column 8: expected an aggregate`, "abs(DISTINCT 1)"},
	})
}

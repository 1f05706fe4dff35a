package hogql

import (
	"strings"
	"testing"
)

// Elements of lists and tuples in §2.9.8: positions count from 1, and from the end when they
// are negative. An element that does not exist is 0, "" or null, as the type says.
func TestList_Elements(t *testing.T) {
	checkExpressions(t, Context{}, []expressionRow{
		{"the first", "[5, 6, 7][1]", "5"},
		{"the last from the end", "[5, 6, 7][-1]", "7"},
		{"the first from the end", "[5, 6, 7][-3]", "5"},
		{"after the last: 0", "[5, 6, 7][4]", "0"},
		{"before the first: 0", "[5, 6, 7][-4]", "0"},
		{"position 0", "[5, 6, 7][0]", "0"},
		{"of strings: empty", "['a'][2]", `""`},
		{"of lists: null", "[[1]][2]", "null"},
		{"of values that may be null: null", "[1, NULL][3]", "null"},
		{"a null element", "[1, NULL][2]", "null"},
		{"of no elements: null", "[][1]", "null"},
		{"of dates: null", "[toDate('2020-01-01')][2]", "null"},
		{"a null position", "[1][NULL]", "null"},
		{"the function", "arrayElement(['a', 'b'], -2)", `"a"`},
		{"a member of a tuple", "(1, 'x').2", `"x"`},
		{"the function of tuples", "tupleElement((1, 'x'), 1)", "1"},
		{"beyond a tuple", "tupleElement((1, 'x'), 3)", "null"},
		{"has", "has([1, 2], 2)", "1"},
		{"has not", "has([1, 2], 3)", "0"},
		{"has null", "has([1, NULL], NULL)", "1"},
		{"has no null", "has([1], NULL)", "0"},
		{"has in a null list", "has(NULL, 1)", "0"},
		{"indexOf is the first one", "indexOf(['a', 'b', 'b'], 'b')", "2"},
		{"indexOf of a missing one", "indexOf(['a'], 'b')", "0"},
		{"indexOf of null", "indexOf([1, NULL], NULL)", "2"},
		{"a list in a list", "has([[1], [2]], [2])", "1"},
	})
	checkRejected(t, Context{}, []rejectedRow{
		{"an element of a number", "1[1]", TypeError, `Function "arrayElement" expects a list, not Int64: "1" at line 1, column 8`, "1"},
		{"a position that is a list", "[1][[1]]", TypeError, `Function "arrayElement" expects a whole number, not Array(Int64): "[1]"`, "[1]"},
		{"has of a number", "has(1, 1)", TypeError, `Function "has" expects a list, not Int64: "1"`, "1"},
		{"a function that multiplies rows", "arrayJoin([1])", UnknownFunction, `Unknown function "arrayJoin" at line 1, column 8`, "arrayJoin"},
	})
}

// Functions of whole lists in §2.9.8.
func TestList_Functions(t *testing.T) {
	checkExpressions(t, Context{}, []expressionRow{
		{"arrayStringConcat", "arrayStringConcat(['a', 'b', 'c'], ', ')", `"a, b, c"`},
		{"without a separator", "arrayStringConcat(['a', 'b'])", `"ab"`},
		{"of numbers and null", "arrayStringConcat([1, NULL, 2.5], '-')", `"1--2.5"`},
		{"of no elements", "arrayStringConcat([], '-')", `""`},
		{"arraySort", "arraySort([3, 1, 2])", "[1,2,3]"},
		{"nulls last", "arraySort([NULL, 2, 1])", "[1,2,null]"},
		{"of strings, by bytes", "arraySort(['b', 'B', 'a'])", `["B","a","b"]`},
		{"arrayReverseSort", "arrayReverseSort([3, 1, 2])", "[3,2,1]"},
		{"nulls last there, too", "arrayReverseSort([1, NULL, 2])", "[2,1,null]"},
		{"by a lambda", "arraySort(x -> -x, [1, 3, 2])", "[3,2,1]"},
		{"by a lambda, in reverse", "arrayReverseSort(x -> length(x), ['a', 'ccc', 'bb'])", `["ccc","bb","a"]`},
		{"equal elements stay in their order", "arraySort(x -> 1, [3, 1, 2])", "[3,1,2]"},
		{"arrayDistinct keeps the first", "arrayDistinct([2, 1, 2, 3, 1])", "[2,1,3]"},
		{"arrayConcat", "arrayConcat([1], [], [2, 3])", "[1,2,3]"},
		{"arraySlice from a position", "arraySlice([1, 2, 3, 4], 3)", "[3,4]"},
		{"with a length", "arraySlice([1, 2, 3, 4], 2, 2)", "[2,3]"},
		{"with a length beyond the end", "arraySlice([1, 2, 3], 2, 10)", "[2,3]"},
		{"from the end", "arraySlice([1, 2, 3, 4], -3, 2)", "[2,3]"},
		{"from before the beginning", "arraySlice([1, 2, 3], -5, 2)", "[1,2]"},
		{"without the last ones", "arraySlice([1, 2, 3, 4], 2, -1)", "[2,3]"},
		{"without more than there is", "arraySlice([1, 2], 1, -3)", "[]"},
		{"after the last", "arraySlice([1, 2], 3)", "[]"},
		{"no length", "arraySlice([1, 2], 1, 0)", "[]"},
		{"arraySum", "arraySum([1, 2, 3])", "6"},
		{"arraySum of fractions", "arraySum([0.5, 2])", "2.5"},
		{"arraySum without nulls", "arraySum([1, NULL, 2])", "3"},
		{"arraySum of no elements", "arraySum([])", "0"},
		{"arrayAvg", "arrayAvg([1, 2])", "1.5"},
		{"arrayAvg of no elements", "arrayAvg([])", "null"},
		{"arrayMin", "arrayMin([3, 1, 2])", "1"},
		{"arrayMax of strings", "arrayMax(['a', 'c', 'b'])", `"c"`},
		{"arrayMax without nulls", "arrayMax([NULL, 1])", "1"},
		{"arrayMin of no elements", "arrayMin([])", "null"},
		{"range", "range(4)", "[0,1,2,3]"},
		{"range from", "range(2, 5)", "[2,3,4]"},
		{"range with a step", "range(1, 8, 3)", "[1,4,7]"},
		{"range does not contain its end", "range(1, 7, 3)", "[1,4]"},
		{"range downwards", "range(5, 0, -2)", "[5,3,1]"},
		{"range of nothing", "range(3, 3)", "[]"},
		{"range in the wrong direction", "range(1, 5, -1)", "[]"},
		{"array", "array(1, 'a')", `[1,"a"]`},
		{"tuple", "tuple(1)", "[1]"},
		{"as many numbers as the message permits", "length(range(1000000))", "1000000"},
	})
	checkRejected(t, Context{}, []rejectedRow{
		{"one number more", "length(range(1000001))", TooLarge, `Function "range" makes at most 1000000 numbers at line 1, column 15`, "range(1000001)"},
		{"no step", "range(1, 5, 0)", TooLarge, `Function "range" makes at most 1000000 numbers`, "range(1, 5, 0)"},
		{"range of the greatest integers", "range(-9223372036854775807, 9223372036854775807)", TooLarge, `Function "range" makes at most 1000000 numbers`, "range(-9223372036854775807, 9223372036854775807)"},
		{"a sum of a string", "arraySum('1')", TypeError, `Function "arraySum" expects a list, not String: "'1'"`, "'1'"},
		{"a text as a list", "arrayConcat([1], 'a')", TypeError, `Function "arrayConcat" expects a list, not String: "'a'"`, "'a'"},
	})
}

// Lambdas of §2.9.6 in the functions of lists of §2.9.8.
func TestList_Lambdas(t *testing.T) {
	checkExpressions(t, Context{}, []expressionRow{
		{"arrayMap", "arrayMap(x -> x * x, [1, 2, 3])", "[1,4,9]"},
		{"arrayMap to another type", "arrayMap(x -> toString(x), [1, 2])", `["1","2"]`},
		{"arrayMap over nothing", "arrayMap(x -> x + 1, [])", "[]"},
		{"arrayMap over null", "arrayMap(x -> x + 1, NULL)", "null"},
		{"arrayMap of null elements", "arrayMap(x -> x + 1, [1, NULL])", "[2,null]"},
		{"over two lists", "arrayMap((x, y) -> concat(x, y), ['a', 'b'], ['c', 'd'])", `["ac","bd"]`},
		{"arrayFilter", "arrayFilter(x -> x % 2 = 1, [1, 2, 3])", "[1,3]"},
		{"a null condition leaves out", "arrayFilter(x -> NULL, [1, 2])", "[]"},
		{"arrayFilter by another list", "arrayFilter((x, keep) -> keep, ['a', 'b', 'c'], [1, 0, 1])", `["a","c"]`},
		{"arrayExists", "arrayExists(x -> x > 2, [1, 3])", "1"},
		{"arrayExists over nothing", "arrayExists(x -> 1, [])", "0"},
		{"arrayAll", "arrayAll(x -> x > 0, [1, 3])", "1"},
		{"arrayAll with one exception", "arrayAll(x -> x > 1, [1, 3])", "0"},
		{"arrayAll over nothing", "arrayAll(x -> 0, [])", "1"},
		{"arrayCount", "arrayCount(x -> x > 1, [1, 2, 3])", "2"},
		{"arrayCount without a lambda", "arrayCount([1, 0, 5, NULL])", "2"},
		{"a lambda in a lambda sees both names", "arrayMap(x -> arraySum(arrayMap(y -> x * y, [1, 2])), [1, 10])", "[3,30]"},
		{"a name of a lambda hides an alias", "arrayMap(x -> x + 1, [1]) AS y", "[2]"},
		{"a member of an element", "arrayMap(x -> x.1, [(1, 'a'), (2, 'b')])", "[1,2]"},
	})
	checkAnswer(t, "SELECT 5 AS x, arrayMap(x -> x + 1, [1]), arrayMap(y -> x + y, [1])", Context{}, nil, "[[5,[2],[6]]]")
	checkAnswer(t, "SELECT arrayMap(x -> concat(x, distinct_id), ['1', '2']) FROM events ORDER BY timestamp LIMIT 1, 2", Context{}, fixtureH, `[[["1a","2a"]],[["1b","2b"]]]`)
	checkRejected(t, Context{}, []rejectedRow{
		{"something else than a lambda", "arrayMap(1, [1])", TypeError, `Function "arrayMap" expects a lambda such as x -> x > 1, not "1" at line 1, column 17`, "1"},
		{"more names than lists", "arrayMap((x, y) -> x, [1])", TypeError, `A lambda over 1 lists has as many names: "(x, y) -> x"`, "(x, y) -> x"},
		{"fewer names than lists", "arrayMap(x -> x, [1], [2])", TypeError, `A lambda over 2 lists has as many names: "x -> x"`, "x -> x"},
		{"lists of different lengths", "arrayMap((x, y) -> x, [1], [1, 2])", TypeError, `Lists have different lengths in "arrayMap((x, y) -> x, [1], [1, 2])"`, "arrayMap((x, y) -> x, [1], [1, 2])"},
		{"a list that is none", "arrayFilter(x -> x, 'a')", TypeError, `Function "arrayFilter" expects a list, not String: "'a'"`, "'a'"},
		{"the name outside of the lambda", "arrayMap(x -> x, [1]), x", UnknownField, `Unknown field "x" at line 1, column 31`, "x"},
		{"an aggregate in a lambda of a row", "event, arrayMap(x -> count(), [1])", TypeError, `Field "event" is neither grouped`, "event"},
	})
}

// Lists of properties are JSON texts, which the functions of lists read (§2.9.7).
func TestList_Properties(t *testing.T) {
	properties := map[string]string{"tags": `["x","y",3,null]`, "n": "[1, 2.5]", "text": `"[1,2]"`, "word": `"x"`, "object": `{"a":1}`, "broken": `"[1,"`}
	checkProperties(t, Context{}, properties, []expressionRow{
		{"an element", "arrayElement(properties.tags, 1)", `"x"`},
		{"its number", "arrayElement(properties.tags, 3)", "3"},
		{"a null element", "arrayElement(properties.tags, 4)", "null"},
		{"beyond it: null, for the type is only known at run time", "arrayElement(properties.tags, 5)", "null"},
		{"has", "has(properties.tags, 'y')", "1"},
		{"has a number", "has(properties.tags, 3)", "1"},
		{"has not", "has(properties.tags, 'z')", "0"},
		{"length of the text, not the list", "length(properties.n)", "7"},
		{"arraySum", "arraySum(properties.n)", "3.5"},
		{"arrayMap", "arrayMap(x -> x * 2, properties.n)", "[2,5]"},
		{"arrayStringConcat", "arrayStringConcat(properties.tags, '+')", `"x+y+3+"`},
		{"a text that is a JSON list", "arraySum(properties.text)", "3"},
		{"a word is no list", "arraySum(properties.word)", "null"},
		{"an object is no list", "arraySum(properties.object)", "null"},
		{"half a list is no list", "arraySum(properties.broken)", "null"},
		{"missing is no list", "arrayMap(x -> x, properties.none)", "null"},
	})
}

// The values of one row are at most 64 MiB, however a query creates them (§5.4).
func TestList_Bounds(t *testing.T) {
	checkRejected(t, Context{}, []rejectedRow{
		{"a list of lists", "length(arrayMap(x -> range(1000), range(2000)))", TooLarge, `Texts and lists of one row are above 64 MiB with "arrayMap(x -> range(1000), range(2000))"`, "arrayMap(x -> range(1000), range(2000))"},
		{"lists that are joined", "length(arrayConcat(" + strings.Repeat("range(400000), ", 4) + "range(400000)))", TooLarge, `Constants are above 64 MiB`, "range(400000)"},
	})
}

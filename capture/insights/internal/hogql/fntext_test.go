package hogql

import "testing"

// Lengths and cases of §2.9.8: length counts bytes, all positions count characters, and the
// case mapping is that of Unicode.
func TestText_Characters(t *testing.T) {
	checkExpressions(t, Context{}, []expressionRow{
		{"length counts bytes", "length('aé😀')", "7"},
		{"lengthUTF8 counts characters", "lengthUTF8('aé😀')", "3"},
		{"length of a list", "length([1, 2, 3])", "3"},
		{"length of a tuple", "length((1, 'a'))", "2"},
		{"length of a number is that of its text", "length(12.50)", "4"},
		{"empty of a text", "empty('')", "1"},
		{"a blank is not empty", "empty(' ')", "0"},
		{"notEmpty of a list", "notEmpty([])", "0"},
		{"lower beyond ASCII", "lower('ÄÖÜ ÇΣ')", `"äöü çσ"`},
		{"upper beyond ASCII", "upper('äöü ß')", `"ÄÖÜ ß"`},
		{"the names with UTF8", "concat(lowerUTF8('Ж'), upperUTF8('ж'))", `"жЖ"`},
		{"reverse counts characters", "reverse('aé😀')", `"😀éa"`},
		{"trim cuts blanks only", `trim(' \t a \n ')`, `"\t a \n"`},
		{"trimLeft", "trimLeft('  a ')", `"a "`},
		{"trimRight", "trimRight(' a  ')", `" a"`},
		{"the names in any case", "Lower('A')", `"a"`},
	})
	checkRejected(t, Context{}, []rejectedRow{
		{"lengthUTF8 is case-sensitive", "lengthutf8('a')", UnknownFunction, `Unknown function "lengthutf8"`, "lengthutf8"},
		{"a number is no text", "lower(1)", TypeError, `Function "lower" expects a text, not Int64: "1" at line 1, column 14`, "1"},
		{"a list is no text", "trim(['a'])", TypeError, `Function "trim" expects a text, not Array(String): "['a']"`, "['a']"},
	})
}

// Parts of strings in §2.9.8: positions count from 1, and from the end when they are negative.
func TestText_Parts(t *testing.T) {
	checkExpressions(t, Context{}, []expressionRow{
		{"from the first character", "substring('hello', 1)", `"hello"`},
		{"from the last character", "substring('hello', 5)", `"o"`},
		{"after the last character", "substring('hello', 6)", `""`},
		{"from 0", "substring('hello', 0)", `""`},
		{"a length", "substring('hello', 2, 3)", `"ell"`},
		{"a length beyond the end", "substring('hello', 4, 10)", `"lo"`},
		{"no length", "substring('hello', 2, 0)", `""`},
		{"a negative length", "substring('hello', 2, -1)", `""`},
		{"from the end", "substring('hello', -2)", `"lo"`},
		{"from the end with a length", "substring('hello', -4, 2)", `"el"`},
		{"from before the beginning", "substring('hello', -7)", `"hello"`},
		{"a length that begins before the beginning", "substring('hello', -7, 3)", `"h"`},
		{"characters, not bytes", "substring('äöü', 2, 1)", `"ö"`},
		{"characters from the end", "substring('aäö😀', -2)", `"ö😀"`},
		{"left", "left('äöü', 2)", `"äö"`},
		{"left of more than there is", "left('ab', 5)", `"ab"`},
		{"left of nothing", "left('ab', 0)", `""`},
		{"left without the last n", "left('äöü', -1)", `"äö"`},
		{"left without more than there is", "left('ab', -3)", `""`},
		{"right", "right('äöü', 2)", `"öü"`},
		{"right of more than there is", "right('ab', 5)", `"ab"`},
		{"right of nothing", "right('ab', 0)", `""`},
		{"right without the first n", "right('äöü', -1)", `"öü"`},
		{"right without more than there is", "right('ab', -3)", `""`},
		{"position counts characters", "position('äöü', 'ü')", "3"},
		{"the first one", "position('abab', 'b')", "2"},
		{"none", "position('abc', 'd')", "0"},
		{"another case is none", "position('abc', 'B')", "0"},
		{"ignoring the case", "positionCaseInsensitive('äÖü', 'ö')", "2"},
		{"the empty text is at the beginning", "position('abc', '')", "1"},
		{"startsWith", "startsWith('abc', 'ab')", "1"},
		{"startsWith is case-sensitive", "startsWith('abc', 'AB')", "0"},
		{"everything starts with the empty text", "startsWith('', '')", "1"},
		{"endsWith", "endsWith('abc', 'bc')", "1"},
		{"endsWith of a longer text", "endsWith('bc', 'abc')", "0"},
	})
	checkRejected(t, Context{}, []rejectedRow{
		{"a position that is a text", "substring('a', '1')", TypeError, `Function "substring" expects a whole number, not String: "'1'"`, "'1'"},
		{"left without a number", "left('a')", TypeError, `Function "left" takes 2 arguments, not 1`, "left('a')"},
	})
}

// concat, replace and split of §2.9.8.
func TestText_Combined(t *testing.T) {
	checkExpressions(t, Context{}, []expressionRow{
		{"null is the empty text", "concat('a', NULL, 'b')", `"ab"`},
		{"nothing but null", "concat(NULL)", `""`},
		{"|| with null", "NULL || 'a'", `"a"`},
		{"numbers are their text", "concat(1, '-', 2.50)", `"1-2.5"`},
		{"booleans are their text", "concat(true, false)", `"truefalse"`},
		{"comparisons are 1 and 0", "concat(1 = 1, 1 = 2)", `"10"`},
		{"a time", "concat(toDateTime('2020-01-02 03:04:05'), '')", `"2020-01-02 03:04:05"`},
		{"a list is its JSON", "concat([1, 2], '')", `"[1,2]"`},
		{"the name in any case", "CONCAT('a', 'b')", `"ab"`},
		{"replaceOne replaces the first", "replaceOne('aXbX', 'X', '-')", `"a-bX"`},
		{"replaceAll replaces all", "replaceAll('aXbX', 'X', '-')", `"a-b-"`},
		{"replace is replaceAll", "replace('aXbX', 'X', '--')", `"a--b--"`},
		{"by the empty text", "replaceAll('aXbX', 'X', '')", `"ab"`},
		{"the empty text is not replaced", "replaceAll('ab', '', '-')", `"ab"`},
		{"what is replaced is not searched again", "replaceAll('aaa', 'a', 'aa')", `"aaaaaa"`},
		{"a pattern has no meaning in it", "replaceAll('a.b', '.', '-')", `"a-b"`},
		{"a replacement's backslash has none", `replaceAll('ab', 'a', '\\0')`, `"\\0b"`},
		{"splitByChar", "splitByChar(',', 'a,b,,c')", `["a","b","","c"]`},
		{"separators at the ends", "splitByChar(',', ',a,')", `["","a",""]`},
		{"no separator", "splitByChar(',', 'abc')", `["abc"]`},
		{"splitByString", "splitByString('ab', '1ab2ab3')", `["1","2","3"]`},
		{"by the empty text: characters", "splitByString('', 'aé')", `["a","é"]`},
		{"any of the texts, ignoring the case", "multiSearchAnyCaseInsensitive('Hello World', ['foo', 'WORLD'])", "1"},
		{"none of them", "multiSearchAnyCaseInsensitive('Hello', ['foo', 'bar'])", "0"},
		{"no texts", "multiSearchAnyCaseInsensitive('Hello', [])", "0"},
	})
	checkRejected(t, Context{}, []rejectedRow{
		{"concat of nothing", "concat()", TypeError, `Function "concat" takes 1 or more arguments, not 0`, "concat()"},
		{"a search in something else than a list", "multiSearchAnyCaseInsensitive('a', 'a')", TypeError, `Function "multiSearchAnyCaseInsensitive" expects a list, not String: "'a'"`, "'a'"},
	})
}

// A function of text over a property uses its text of §3.2.2, whatever the JSON value is.
func TestText_Properties(t *testing.T) {
	checkProperties(t, Context{}, map[string]string{"word": `"Pen"`, "n": "10.0", "yes": "true", "none": "null", "list": `["a", 1]`, "object": `{"a": {"b": 1}}`, "escaped": `"a\"\u00e9\ud83d\ude00"`, "half": `"\ud83d"`}, []expressionRow{
		{"a text", "lower(properties.word)", `"pen"`},
		{"a number", "concat(properties.n, '')", `"10"`},
		{"its length", "length(properties.n)", "2"},
		{"a boolean", "upper(properties.yes)", `"TRUE"`},
		{"null", "lower(properties.none)", "null"},
		{"missing", "substring(properties.missing, 1)", "null"},
		{"null in concat", "concat('a', properties.none)", `"a"`},
		{"a list without white space", "concat(properties.list, '')", `"[\"a\",1]"`},
		{"an object without white space", "concat(properties.object, '')", `"{\"a\":{\"b\":1}}"`},
		{"escapes are decoded", "properties.escaped", `"a\"é😀"`},
		{"its length in characters", "lengthUTF8(properties.escaped)", "4"},
		{"half a surrogate is one replacement character", "lengthUTF8(properties.half)", "1"},
	})
}

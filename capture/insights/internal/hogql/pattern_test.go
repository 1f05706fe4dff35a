package hogql

import (
	"strings"
	"testing"
)

// LIKE of §2.9.8: % is any text, _ is one character, and a backslash makes them plain.
func TestPattern_Like(t *testing.T) {
	checkExpressions(t, Context{}, []expressionRow{
		{"the whole text", "'abc' LIKE 'abc'", "1"},
		{"not a part of it", "'abc' LIKE 'b'", "0"},
		{"% at the end", "'abc' LIKE 'a%'", "1"},
		{"% at the beginning", "'abc' LIKE '%c'", "1"},
		{"% in the middle", "'abc' LIKE 'a%c'", "1"},
		{"% is also nothing", "'ac' LIKE 'a%c'", "1"},
		{"% goes back", "'abcabd' LIKE 'a%abd'", "1"},
		{"% goes back twice", "'aXbYbZ' LIKE '%X%bZ'", "1"},
		{"what follows % is missing", "'abc' LIKE '%d'", "0"},
		{"% alone matches nothing", "'' LIKE '%'", "1"},
		{"several %", "'a' LIKE '%%%'", "1"},
		{"the empty pattern", "'a' LIKE ''", "0"},
		{"both empty", "'' LIKE ''", "1"},
		{"_ is one character", "'abc' LIKE 'a_c'", "1"},
		{"_ is not nothing", "'ac' LIKE 'a_c'", "0"},
		{"_ is a character of several bytes", "'é' LIKE '_'", "1"},
		{"_ is not half of one", "'é' LIKE '__'", "0"},
		{"% goes back by characters", "'éa' LIKE '%_a'", "1"},
		{"an escaped %", `'50%' LIKE '50\%'`, "1"},
		{"an escaped % is no wildcard", `'50 of 100' LIKE '50\%'`, "0"},
		{"an escaped _ is no wildcard", `'axb' LIKE 'a\_b'`, "0"},
		{"an escaped backslash", `'a\\b' LIKE 'a\\\\b'`, "1"},
		{"a line break", `'a\nb' LIKE 'a%b'`, "1"},
		{"signs of other patterns are plain", "'a.c' LIKE 'a.c'", "1"},
		{"a dot matches only a dot", "'abc' LIKE 'a.c'", "0"},
		{"LIKE is case-sensitive", "'ABC' LIKE 'abc'", "0"},
		{"ILIKE is not", "'ABC' ILIKE 'aB_'", "1"},
		{"ILIKE beyond ASCII", "'ÄÖ' ILIKE 'äö'", "1"},
		{"NOT LIKE", "'abc' NOT LIKE 'a%'", "0"},
		{"NOT ILIKE", "'ABC' NOT ILIKE 'x%'", "1"},
		{"a null text", "NULL LIKE '%'", "0"},
		{"a null pattern", "'a' LIKE NULL", "0"},
		{"NOT LIKE null", "'a' NOT LIKE NULL", "1"},
		{"NOT ILIKE of null", "NULL NOT ILIKE '%'", "1"},
		{"the function of the operator", "notLike('abc', 'b%')", "1"},
	})
	// A pattern of many % takes steps of about the product of the lengths.
	long := strings.Repeat("a", 2000)
	checkExpressions(t, Context{}, []expressionRow{{"many wildcards", "'" + long + "' LIKE '" + strings.Repeat("%a", 500) + "%b'", "0"}})
}

// Regular expressions of §2.9.8 are RE2; a dot also matches a line break.
func TestPattern_Regexp(t *testing.T) {
	checkExpressions(t, Context{}, []expressionRow{
		{"anywhere in the text", "match('foobar', 'o+b')", "1"},
		{"anchored", "match('foobar', '^o')", "0"},
		{"the end of the text, not of a line", `match('a\nb', 'a$')`, "0"},
		{"lines by a flag", `match('a\nb', '(?m)a$')`, "1"},
		{"a dot matches a line break", `'a\nb' =~ 'a.b'`, "1"},
		{"case-sensitive", "'ABC' =~ 'abc'", "0"},
		{"=~* ignores the case", "'ABC' =~* 'abc'", "1"},
		{"!~", "'ABC' !~ 'abc'", "1"},
		{"!~*", "'ABC' !~* 'abc'", "0"},
		{"!~ of null", "NULL !~ 'a'", "1"},
		{"!~* of a null pattern", "'a' !~* NULL", "1"},
		{"=~ of null", "NULL =~ 'a'", "0"},
		{"match of null is false", "match(NULL, 'a')", "0"},
		{"classes of Unicode", "match('é', '^\\p{L}$')", "1"},
		{"\\d is not doubled", `match('a1', '\d')`, "1"},
		{"the empty pattern", "match('a', '')", "1"},
		{"extract without groups", "extract('a12b', '[0-9]+')", `"12"`},
		{"extract the first of two groups", "extract('k=v', '(.)=(.)')", `"k"`},
		{"extract a group without a match", "extract('b', '(a)?b')", `""`},
		{"extract nothing", "extract('abc', '[0-9]')", `""`},
		{"extract of null", "extract(NULL, 'a')", "null"},
		{"replaceRegexpOne", "replaceRegexpOne('a1b2', '[0-9]', '#')", `"a#b2"`},
		{"replaceRegexpAll", "replaceRegexpAll('a1b2', '[0-9]', '#')", `"a#b#"`},
		{"the whole match", `replaceRegexpAll('ab', '[ab]', '<\\0>')`, `"<a><b>"`},
		{"groups", `replaceRegexpOne('ab', '(a)(b)', '\\2\\1')`, `"ba"`},
		{"a group that is followed by a digit", `replaceRegexpOne('ab', '(a)b', '\\10')`, `"a0"`},
		{"a group that the pattern lacks is empty", `replaceRegexpOne('ab', 'a', '<\\3>')`, `"<>b"`},
		{"an escaped backslash", `replaceRegexpOne('ab', 'a', '\\\\1')`, `"\\1b"`},
		{"a dollar sign is plain", "replaceRegexpOne('ab', '(a)', '$1')", `"$1b"`},
		{"empty matches", "replaceRegexpAll('abc', 'x*', '-')", `"-a-b-c-"`},
		{"a match of nothing is replaced once", "replaceRegexpOne('abc', 'x*', '-')", `"-abc"`},
		{"nothing matches", "replaceRegexpAll('abc', 'x', '-')", `"abc"`},
		{"replace of null", "replaceRegexpAll(NULL, 'x', '-')", "null"},
	})
	pattern := func(n int) string { return "match('a', '" + strings.Repeat("é", n) + "')" }
	checkExpressions(t, Context{}, []expressionRow{{"a pattern of 1,000 characters (§5.4)", pattern(1000), "0"}})
	checkRejected(t, Context{}, []rejectedRow{
		{"a pattern of 1,001 characters", "match('a', '" + strings.Repeat("é", 1001) + "')", TooLarge, "A pattern may have 1000 characters: it is longer at line 1, column 19", "'" + strings.Repeat("é", 1001) + "'"},
		{"a pattern that RE2 refuses", "match('a', '(')", TypeError, `Pattern "(" is no regular expression at line 1, column 19`, "'('"},
		{"look-ahead is none of RE2", "'a' =~ 'a(?=b)'", TypeError, `Pattern "a(?=b)" is no regular expression`, "'a(?=b)'"},
		{"a back-reference is none", `extract('a', '(a)\\1')`, TypeError, `Pattern "(a)\1" is no regular expression`, `'(a)\\1'`},
		{"a pattern that only a row shows", "match('a', concat(event, '('))", TypeError, `Pattern "buy(" is no regular expression at line 1, column 8`, "match('a', concat(event, '('))"},
		{"a number as a pattern", "match('a', 1)", TypeError, `Function "match" expects a text, not Int64: "1"`, "1"},
		{"a replacement that is a number", "replaceRegexpOne('a', 'a', 1)", TypeError, `Function "replaceRegexpOne" expects a text, not Int64: "1"`, "1"},
	})
}

// A pattern of a field is compiled again whenever it changes.
func TestPattern_OfField(t *testing.T) {
	checkAnswer(t, "SELECT distinct_id, 'abc' LIKE concat('%', distinct_id, '%'), 'abc' ILIKE concat('%', upper(distinct_id)), match('abc', concat('^', distinct_id)), replaceRegexpOne('abc', distinct_id, '-') FROM events ORDER BY timestamp LIMIT 1, 5", Context{}, fixtureH,
		`[["a",1,0,1,"-bc"],["b",1,0,0,"a-c"],["b",1,0,0,"a-c"],["c",1,1,0,"ab-"],["a",1,0,1,"-bc"]]`)
}

package hogql

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

// Numbers of the grammar in §2.9.6. Integers of more than 64 bits are floats (§1.4).
func TestLex_Numbers(t *testing.T) {
	checkExpressions(t, Context{}, []expressionRow{
		{"an integer", "12", "12"},
		{"leading zeros are decimal", "007", "7"},
		{"a fraction", "1.25", "1.25"},
		{"a fraction of zero is no fraction in the result", "10.0", "10"},
		{"an exponent", "1e3", "1000"},
		{"an exponent in upper case with a plus sign", "1E+3", "1000"},
		{"a negative exponent", "25e-1", "2.5"},
		{"a fraction and an exponent", "1.5e2", "150"},
		{"the greatest integer", "9223372036854775807", "9223372036854775807"},
		{"one more is a float, in its shortest form", "9223372036854775808", "9223372036854776000"},
		{"the sign belongs to the literal", "-12", "-12"},
		{"a blank after the sign", "- 12", "-12"},
		{"zero has no sign", "-0.0", "0"},
		{"from 1e21 on there is an exponent (§3.2.2)", "1e21", "1e+21"},
		{"below 1e21 there is none", "1e20", "100000000000000000000"},
		{"1e-6 has no exponent", "0.000001", "0.000001"},
		{"below 1e-6 there is one", "0.00000099", "9.9e-7"},
	})
	checkRejected(t, Context{}, []rejectedRow{
		{"a number that is too large for a float", "1e400", SyntaxError, `Unexpected "1e400" at line 1, column 8: expected a number that fits 64 bits`, "1e400"},
		{"a dot without digits before it", ".5", SyntaxError, `Unexpected "."`, "."},
	})
}

// Strings of §2.9.6: a quote is doubled or escaped, and an unknown escape is not changed.
func TestLex_Strings(t *testing.T) {
	checkExpressions(t, Context{}, []expressionRow{
		{"empty", "''", `""`},
		{"a doubled quote", "'it''s'", `"it's"`},
		{"only a quote", "''''", `"'"`},
		{"an escaped quote", `'it\'s'`, `"it's"`},
		{"a line break", `'a\nb'`, `"a\nb"`},
		{"a line break as it is", "'a\nb'", `"a\nb"`},
		{"a tab", `'\t'`, `"\t"`},
		{"a backslash", `'\\'`, `"\\"`},
		{"a backslash before the last quote's escape", `'\\\''`, `"\\'"`},
		{"a hexadecimal character", `'\x41\x7a'`, `"Az"`},
		{"a hexadecimal character above ASCII is a character, not a byte", `'\xe9'`, `"é"`},
		{"half a hexadecimal escape stays", `'\x4'`, `"\\x4"`},
		{"a hexadecimal escape of no digits stays", `'\xzz'`, `"\\xzz"`},
		{"the escape of a pattern stays", `'\d\w'`, `"\\d\\w"`},
		{"a dash comment in a string is text", "'a -- b'", `"a -- b"`},
		{"a star comment in a string is text", "'a /* b'", `"a /* b"`},
		{"characters outside the basic plane", "'😀'", `"😀"`},
		{"length counts the bytes of the string, not of its literal", `length('a\'b')`, "3"},
	})
	checkRejected(t, Context{}, []rejectedRow{
		{"no closing quote", "'abc", SyntaxError, `Unexpected "'" at line 1, column 8: expected a closing quote behind it`, "'"},
		{"the closing quote is escaped", `'abc\'`, SyntaxError, `Unexpected "'" at line 1, column 8`, "'"},
		{"the closing quote is doubled", "1, 'abc''", SyntaxError, `Unexpected "'" at line 1, column 11`, "'"},
		{"a backslash at the end", `'abc\`, SyntaxError, `Unexpected "'" at line 1, column 8`, "'"},
	})
}

// Whatever bytes a string has, the result is valid JSON.
func TestLex_InvalidUTF8(t *testing.T) {
	for _, literal := range []string{"'a\xffb'", "'\xc3'", "'\xed\xa0\x80'", "'\xf4\x90\x80\x80'", "'\\\xff'"} {
		_, got, err := runQuery(t, "SELECT "+literal, Context{}, nil)
		if err != nil || !json.Valid([]byte(got)) || !utf8.ValidString(got) {
			t.Errorf("%q: got %q, %v, want valid JSON", literal, got, err)
		}
	}
	for _, query := range []string{"SELECT \xff", "SELECT a\xc3", "SELECT 1 \xed\xa0\x80"} {
		_, err := ParseSelect(query)
		if err == nil || !utf8.ValidString(err.Error()) {
			t.Errorf("%q: got %v, want an error in valid UTF-8", query, err)
		}
	}
}

// Names of §2.9.6 are letters, digits, _ and $, or any characters in quotes.
func TestLex_Names(t *testing.T) {
	for _, c := range []struct{ of, item, column string }{
		{"letters and digits", "1 AS ab2", "ab2"},
		{"an underscore first", "1 AS _a", "_a"},
		{"a dollar sign first", "1 AS $a", "$a"},
		{"letters beyond ASCII", "1 AS größe", "größe"},
		{"backquotes", "1 AS `a b`", "a b"},
		{"double quotes", `1 AS "a b"`, "a b"},
		{"a doubled backquote", "1 AS `a``b`", "a`b"},
		{"a doubled double quote", `1 AS "a""b"`, `a"b`},
		{"the other quote needs no doubling", "1 AS `a\"b`", `a"b`},
		{"the case of a name stays", "1 AS Total", "Total"},
		{"without AS", "1 total", "total"},
		{"a keyword in quotes without AS", "1 `limit`", "limit"},
		{"a keyword after AS", "1 AS limit", "limit"},
		{"backslashes in quotes are plain", "1 AS `a\\b`", `a\b`},
	} {
		result, _, err := runQuery(t, "SELECT "+c.item, Context{}, nil)
		if err != nil {
			t.Errorf("%s: %v", c.of, err)
		} else if result.Columns[0] != c.column {
			t.Errorf("%s: column %q, want %q", c.of, result.Columns[0], c.column)
		}
	}
	checkRejected(t, Context{}, []rejectedRow{
		{"an empty name in quotes", "1 AS ``", SyntaxError, "Unexpected \"``\" at line 1, column 13: expected a name", "``"},
		{"an empty name as an expression", "``", SyntaxError, "Unexpected \"``\"", "``"},
		{"no closing backquote", "`abc", SyntaxError, "Unexpected \"`\" at line 1, column 8: expected a closing quote behind it", "`"},
		{"no closing double quote", `"abc""`, SyntaxError, `Unexpected """`, `"`},
		{"a digit first is a number", "1 AS 2a", SyntaxError, `Unexpected "2"`, "2"},
		{"a sign that is none", "1 # 2", SyntaxError, `Unexpected "#" at line 1, column 10: expected a name, a value or an operator`, "#"},
		{"a sign beyond ASCII is named whole", "1 × 2", SyntaxError, `Unexpected "×"`, "×"},
		{"a single exclamation mark", "1 ! 2", SyntaxError, `Unexpected "!"`, "!"},
		{"a single bar", "1 | 2", SyntaxError, `Unexpected "|"`, "|"},
	})
}

// Comments of §2.9.6 may stand wherever white space may.
func TestLex_Comments(t *testing.T) {
	checkExpressions(t, Context{}, []expressionRow{
		{"to the end of the line", "1 -- 2\n+ 2", "3"},
		{"to the end of the query", "1 -- 2", "1"},
		{"without a blank", "1--2", "1"},
		{"between stars", "1 /* 2 */ + 2", "3"},
		{"over lines", "1 /* 2\n3 */ + 2", "3"},
		{"empty", "1/**/+/**/2", "3"},
		{"stars and slashes inside", "1 /* ** / * / **/ + 2", "3"},
		{"a slash directly after the opening", "1 /*/ 5 */ + 2", "3"},
		{"they do not nest", "1 /* /* */ + 2", "3"},
		{"a quote in a comment opens no string", "1 /* ' */ + 2 -- '", "3"},
		{"dashes in a comment", "1 /* -- */ + 2", "3"},
	})
	checkRejected(t, Context{}, []rejectedRow{
		{"never closed", "1 /* 2", SyntaxError, `Unexpected "/*" at line 1, column 10: expected */ behind it`, "/*"},
		{"the opening is not its own closing", "1 /*/", SyntaxError, `Unexpected "/*"`, "/*"},
	})
}

// The bounds of §5.4: 64 KiB of text, 10,000 tokens, and 50 levels.
func TestLex_Bounds(t *testing.T) {
	pad := func(n int) string { return "SELECT 1" + strings.Repeat(" ", n-len("SELECT 1")) }
	for _, c := range []struct {
		of, query, code string
	}{
		{"a text of 64 KiB", pad(64 << 10), ""},
		{"one byte more", pad(64<<10 + 1), TooLarge},
		{"10,000 tokens", "SELECT 1" + strings.Repeat("+1", 4_999), ""}, // SELECT, 1, and 9,998
		{"two more", "SELECT 1" + strings.Repeat("+1", 5_000), TooLarge},
		{"comments are no tokens", "SELECT 1" + strings.Repeat("/**/", 10_000), ""},
		{"50 levels: the item, and 49 pairs of parentheses", "SELECT " + strings.Repeat("(", 49) + "1" + strings.Repeat(")", 49), ""},
		{"51 levels", "SELECT " + strings.Repeat("(", 50) + "1" + strings.Repeat(")", 50), TooLarge},
		{"51 levels of lists", "SELECT " + strings.Repeat("[", 50) + "1" + strings.Repeat("]", 50), TooLarge},
		{"51 levels of calls", "SELECT " + strings.Repeat("abs(", 50) + "1" + strings.Repeat(")", 50), TooLarge},
		{"51 levels of indexes", "SELECT " + strings.Repeat("[1][", 50) + "1" + strings.Repeat("]", 50), TooLarge},
		{"51 levels of ternaries", "SELECT " + strings.Repeat("1 ? ", 50) + "1" + strings.Repeat(" : 2", 50), TooLarge},
		{"51 levels of CASE", "SELECT " + strings.Repeat("CASE WHEN 1 THEN ", 50) + "1" + strings.Repeat(" END", 50), TooLarge},
		{"levels that are closed do not count", "SELECT " + strings.Repeat("(((1))) + ", 100) + "1", ""},
	} {
		_, err := ParseSelect(c.query)
		var e *Error
		code := ""
		if errors.As(err, &e) {
			code = e.Code
		}
		if code != c.code {
			t.Errorf("%s: got %.200v, want %q", c.of, err, c.code)
		}
	}
	_, err := ParseSelect("SELECT 1" + strings.Repeat("+1", 5_000))
	var e *Error
	if !errors.As(err, &e) || e.Start != 8+9_998 || e.End != e.Start+1 {
		t.Errorf("the place is %+v, want the token after the last permitted one", err)
	}
}

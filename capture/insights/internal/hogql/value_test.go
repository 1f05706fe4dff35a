package hogql

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
)

// A property is the value of its JSON; lists and objects are their compact JSON (§2.9.7).
func TestValue_Property(t *testing.T) {
	for _, c := range []struct {
		raw  string
		kind Kind
		text string
	}{
		{"", Null, ""}, {"null", Null, ""}, {"true", Bool, "true"}, {"false", Bool, "false"}, {"0", Int, "0"}, {"-7", Int, "-7"}, {"1.50", Float, "1.5"}, {"10.0", Float, "10"}, {"1e3", Float, "1000"}, {"-0.0", Float, "0"},
		{"9223372036854775807", Int, "9223372036854775807"}, {"9223372036854775808", Float, "9223372036854775808"}, {"123456789012345678901234567890", Float, "123456789012345678901234567890"},
		{"1e21", Float, "1e+21"}, {"0.0000001", Float, "1e-7"}, {`"text"`, Text, "text"}, {`""`, Text, ""}, {`"a\nb"`, Text, "a\nb"}, {`"\u00e9\ud83d\ude00"`, Text, "é😀"}, {`"\""`, Text, `"`}, {`"12"`, Text, "12"},
		{`[1, 2]`, Text, "[1,2]"}, {`{"a" : [ 1 , "b c" ] }`, Text, `{"a":[1,"b c"]}`}, {`{"a\" ": 1}`, Text, `{"a\" ":1}`}, {"[\n\t1\r\n]", Text, "[1]"}, {`"a  b"`, Text, "a  b"}, {"nonsense", Null, ""},
	} {
		p := Program{env: newEnv(Context{})}
		v := Property(c.raw)
		text, ok := p.Text(v)
		if v.Kind() != c.kind || text != c.text || ok != (c.kind != Null) {
			t.Errorf("%s: kind %d, %q, %t, want kind %d, %q", c.raw, v.Kind(), text, ok, c.kind, c.text)
		}
	}
}

// num of §3.2.2: a JSON number, or a text that is a decimal number as a whole.
func TestValue_Num(t *testing.T) {
	for raw, want := range map[string]float64{
		"5": 5, "-2.5": -2.5, `"5"`: 5, `"+5"`: 5, `"-2.5e2"`: -250, `".5"`: 0.5, `"5."`: 5, `"007"`: 7, "1e3": 1000, `"9223372036854775808"`: 9223372036854775808,
		`""`: math.NaN(), `" 5"`: math.NaN(), `"5 "`: math.NaN(), `"0x10"`: math.NaN(), `"inf"`: math.NaN(), `"nan"`: math.NaN(), `"1e"`: math.NaN(), `"e1"`: math.NaN(), `"+"`: math.NaN(), `"1,5"`: math.NaN(), `"1_0"`: math.NaN(),
		`"--1"`: math.NaN(), `"1.2.3"`: math.NaN(), `"1e2e3"`: math.NaN(), `"1e+"`: math.NaN(), `"٣"`: math.NaN(), "true": math.NaN(), "null": math.NaN(), "[1]": math.NaN(), `{"a":1}`: math.NaN(), "": math.NaN(),
	} {
		got, ok := Property(raw).Num()
		if ok == math.IsNaN(want) || ok && got != want {
			t.Errorf("%s: got %v, %t, want %v", raw, got, ok, want)
		}
	}
}

// Numbers are written in the shortest decimal form (§3.2.2).
func TestValue_AppendFloat(t *testing.T) {
	for want, f := range map[string]float64{
		"0": math.Copysign(0, -1), "10": 10.0, "0.1": 0.1, "-2.5": -2.5, "1e+21": 1e21, "100000000000000000000": 1e20, "1.5e+300": 1.5e300, "0.000001": 1e-6, "9.99e-7": 9.99e-7, "-1e-7": -1e-7, "1e-10": 1e-10, "1e-100": 1e-100,
		"999999999999999900000": 9.999999999999999e20, "5e-324": math.SmallestNonzeroFloat64, "1.7976931348623157e+308": math.MaxFloat64,
	} {
		if got := string(AppendFloat([]byte("="), f)); got != "="+want {
			t.Errorf("%v: got %s, want =%s", f, got, want)
		}
	}
}

// Values of placeholders are decoded JSON without objects (§2.9.5).
func TestValue_OfPlaceholder(t *testing.T) {
	for _, c := range []struct {
		of   string
		x    any
		want string
	}{
		{"null", nil, "null"}, {"a boolean", true, "true"}, {"a text", "a'b", `"a'b"`}, {"a float", 1.5, "1.5"}, {"a float without a fraction", 2.0, "2"}, {"an integer", int64(-3), "-3"}, {"a number as written", json.Number("12345678901234567"), "12345678901234567"},
		{"a fraction as written", json.Number("0.10"), "0.1"}, {"an unsigned integer", uint64(7), "7"}, {"a list", []any{"a", 1.0, nil}, `["a",1,null]`}, {"a list of lists", []any{[]any{true}}, "[[true]]"}, {"an empty list", []any{}, "[]"},
	} {
		checkAnswer(t, "SELECT {v}", Context{Values: map[string]any{"v": c.x}}, nil, "[["+c.want+"]]")
	}
	for of, x := range map[string]any{"an object": map[string]any{}, "an object in a list": []any{1.0, map[string]any{"a": 1.0}}, "a number that is none": json.Number("abc"), "another type": struct{}{}} {
		if v, ok := ValueOf(x); ok {
			t.Errorf("%s: got kind %d, want no value", of, v.Kind())
		}
	}
	// A text is a value, whatever its characters are.
	checkAnswer(t, "SELECT count() FROM events WHERE event = {v}", Context{Values: map[string]any{"v": "buy' OR 1 = 1 --"}}, fixtureH, "[[0]]")
}

// Comparisons of a property (§2.9.7): with a number by num, with a boolean or a text by text,
// and two properties as numbers only if both are JSON numbers.
func TestValue_Comparisons(t *testing.T) {
	checkProperties(t, Context{}, map[string]string{"n": "10", "f": "10.0", "text": `"10"`, "nine": `"9"`, "word": `"pen"`, "yes": "true", "yestext": `"true"`, "none": "null", "empty": `""`, "list": "[1,2]", "when": `"2020-01-10T12:00:00Z"`, "day": `"2020-01-10"`}, []expressionRow{
		{"number with number", "properties.n = 10", "1"},
		{"number with fraction", "properties.f = 10", "1"},
		{"numeric text with number", "properties.text = 10", "1"},
		{"numeric text is less than a number", "properties.nine < 10", "1"},
		{"numeric text with text: by bytes", "properties.nine < '10'", "0"},
		{"number with text: by its text", "properties.f = '10'", "1"},
		{"number with another text of that number", "properties.f = '10.0'", "0"},
		{"word with number is false", "properties.word > 1", "0"},
		{"word is not less, either", "properties.word <= 1", "0"},
		{"word is different from a number", "properties.word != 1", "1"},
		{"boolean with true", "properties.yes = true", "1"},
		{"boolean with false", "properties.yes = false", "0"},
		{"the text true with true", "properties.yestext = true", "1"},
		{"boolean with text", "properties.yes = 'true'", "1"},
		{"a number is not true", "properties.n = true", "0"},
		{"boolean with number is false", "properties.yes = 1", "0"},
		{"two JSON numbers", "properties.n = properties.f", "1"},
		{"a number and a text: by text", "properties.n = properties.text", "1"},
		{"order of a number and a text: by text", "properties.n < properties.nine", "1"},
		{"boolean and text", "properties.yes = properties.yestext", "1"},
		{"the empty text is not null", "properties.empty = ''", "1"},
		{"null is not the empty text", "properties.none = ''", "0"},
		{"null with null", "properties.none = properties.missing", "1"},
		{"null with a value", "properties.none != properties.n", "1"},
		{"null is not less", "properties.none < properties.n", "0"},
		{"IN numbers", "properties.text IN (9, 10)", "1"},
		{"IN texts", "properties.n IN ('9', '10')", "1"},
		{"IN a mixed list", "properties.yes IN (1, 'true')", "1"},
		{"NOT IN", "properties.word NOT IN ('a', 'b')", "1"},
		{"null IN a list with null", "properties.none IN (NULL, 1)", "0"},
		{"null NOT IN a list with null", "properties.none NOT IN (NULL, 1)", "1"},
		{"IN nine texts and more", "properties.word IN ('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'pen')", "1"},
		{"IN nine numbers and more", "properties.text IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)", "1"},
		{"IN nine numbers and more, missing", "properties.word IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)", "0"},
		{"a number IN nine texts and more", "properties.f IN ('1', '2', '3', '4', '5', '6', '7', '8', '9', '10')", "1"},
		{"null NOT IN nine and more", "properties.none NOT IN ('1', '2', '3', '4', '5', '6', '7', '8', '9', '10')", "1"},
		{"BETWEEN numbers", "properties.text BETWEEN 9 AND 11", "1"},
		{"BETWEEN contains its ends", "properties.n BETWEEN 10 AND 10", "1"},
		{"word BETWEEN numbers", "properties.word BETWEEN 1 AND 9", "0"},
		{"word NOT BETWEEN numbers", "properties.word NOT BETWEEN 1 AND 9", "1"},
		{"a list with its JSON", "properties.list = '[1,2]'", "1"},
		{"a property with a time", "properties.when > toDateTime('2020-01-10T11:00:00Z')", "1"},
		{"a time with a property that is none", "timestamp > properties.word", "0"},
		{"a time with a property", "timestamp = properties.when - INTERVAL 2 hour", "1"},
		{"a date with a property", "toDate(timestamp) = properties.day", "1"},
		{"as a condition, the text true holds", "properties.yestext ? 1 : 0", "1"},
		{"another text does not", "properties.word ? 1 : 0", "0"},
		{"a number other than 0 does", "properties.n ? 1 : 0", "1"},
		{"null does not", "properties.none ? 1 : 0", "0"},
	})
	checkExpressions(t, Context{}, []expressionRow{
		{"texts by bytes", "'Z' < 'a'", "1"},
		{"a text that begins alike is less", "'ab' < 'abc'", "1"},
		{"numbers of both kinds", "1 < 1.5", "1"},
		{"integers exactly, where floats are equal", "9007199254740993 > 9007199254740992", "1"},
		{"a list that begins alike is less", "[1] < [1, 0]", "1"},
		{"lists element by element", "[1, 3] < [2]", "1"},
		{"lists with nulls", "[1, NULL] = [1, NULL]", "1"},
		{"a null element is equal to null only", "[NULL] = [1]", "0"},
		{"tuples with lists", "(1, 2) = [1, 2]", "1"},
		{"a date with a text", "toDate('2020-01-02') > '2020-01-01'", "1"},
		{"a text with a time", "'2020-01-01' < toDateTime('2020-01-01 00:00:01')", "1"},
		{"a date IN texts", "toDate('2020-01-02') IN ('2020-01-01', '2020-01-02')", "1"},
		{"a date IN nine texts and more", "toDate('2020-01-02') IN ('2020-01-03', '2020-01-04', '2020-01-05', '2020-01-06', '2020-01-07', '2020-01-08', '2020-01-09', '2020-01-10', '2020-01-02T00:00:00')", "1"},
		{"a time BETWEEN texts", "toDateTime('2020-01-02 00:00:00') BETWEEN '2020-01-01' AND '2020-01-02'", "1"},
		{"AND with null and true", "NULL AND 1", "null"},
		{"AND with null and false", "NULL AND 0", "0"},
		{"OR with null and true", "NULL OR 1", "1"},
		{"OR with null and false", "NULL OR 0", "null"},
		{"x = null is IS NULL", "1 = NULL", "0"},
		{"x != null is IS NOT NULL", "1 != NULL", "1"},
	})
	checkRejected(t, Context{}, []rejectedRow{
		{"a text with a number", "event = 1", TypeError, ``, "event = 1"},
		{"a list with a number", "[1] = 1", TypeError, `Int64 cannot be compared with Array(Int64): "[1] = 1"`, "[1] = 1"},
		{"a time with a number", "timestamp > 5", TypeError, ``, "timestamp > 5"},
		{"a time with a text that is none", "timestamp IN ('2020-01-01', 'soon')", TypeError, `Text "'soon'" is no date at line 1, column 36`, "'soon'"},
		{"a time with a text of a row", "timestamp > concat(event, '')", TypeError, `Text "buy" is no date: it was compared with a time`, "timestamp > concat(event, '')"},
		{"a text in a list of numbers", "1 IN ('a')", TypeError, `Int64 cannot be compared with String: "1 IN ('a')"`, "1 IN ('a')"},
		{"a condition that is a text", "event AND 1", TypeError, `Function "and" expects a condition, not String: "event" at line 1, column 8`, "event"},
		{"NOT of a text", "NOT event", TypeError, `Function "not" expects a condition, not String: "event"`, "event"},
		{"a ternary of a time", "timestamp ? 1 : 2", TypeError, `Function "if" expects a condition, not DateTime64(6, 'UTC'): "timestamp"`, "timestamp"},
		{"multiIf of an even number", "multiIf(1, 2, 3, 4)", TypeError, `Function "multiIf" takes an odd number of arguments, not 4`, "multiIf(1, 2, 3, 4)"},
		{"an operator with three operands", "equals(1, 2, 3)", TypeError, `Function "equals" takes 2 arguments, not 3`, "equals(1, 2, 3)"},
		{"a long name is cut", strings.Repeat("x", 101), UnknownField, `Unknown field "` + strings.Repeat("x", 100) + `…" at line 1, column 8`, strings.Repeat("x", 101)},
	})
}

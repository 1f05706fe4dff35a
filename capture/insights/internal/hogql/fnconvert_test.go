package hogql

import "testing"

// Conversions of §2.9.8: a text must be such a value as a whole, otherwise the result is null.
func TestConvert_Numbers(t *testing.T) {
	checkExpressions(t, Context{}, []expressionRow{
		{"toFloat of a text", "toFloat('1.5')", "1.5"},
		{"toFloat of a text with an exponent", "toFloat('-2.5e-1')", "-0.25"},
		{"toFloat of a part of a text", "toFloat('1.5x')", "null"},
		{"toFloat of the empty text", "toFloat('')", "null"},
		{"toFloat of a blank", "toFloat('1 ')", "null"},
		{"toFloat of two points", "toFloat('1.2.3')", "null"},
		{"toFloat of a sign", "toFloat('-')", "null"},
		{"toFloat of a sign inside", "toFloat('1-2')", "null"},
		{"toFloat of an exponent without digits", "toFloat('1e')", "null"},
		{"toFloat of only an exponent", "toFloat('e5')", "null"},
		{"toFloat of not a number", "toFloat('nan')", "null"},
		{"toFloat of digits with an underscore", "toFloat('1_000')", "null"},
		{"toFloat of a number above all floats", "toFloat('1e999')", "null"},
		{"toFloat of a point first", "toFloat('.5')", "0.5"},
		{"toFloat of a point last", "toFloat('5.')", "5"},
		{"toFloat of a boolean", "toFloat(true)", "1"},
		{"toFloat of a date: days", "toFloat(toDate('1970-01-11'))", "10"},
		{"toFloat of a time: seconds", "toFloat(toDateTime('1970-01-01 00:01:00'))", "60"},
		{"toFloat of a list", "toFloat([1])", "null"},
		{"toDecimal", "toDecimal('2.5', 2)", "2.5"},
		{"toInt of a text", "toInt('-12')", "-12"},
		{"toInt of a fraction in a text", "toInt('1.5')", "null"},
		{"toInt of a text that is a float", "toInt('2.0')", "null"},
		{"toInt of a text with an exponent", "toInt('1e3')", "null"},
		{"toInt of a fraction", "toInt(1.9)", "null"},
		{"toInt of a float without one", "toInt(-2.0)", "-2"},
		{"toInt of false", "toInt(false)", "0"},
		{"toInt at the bound", "toInt('9223372036854775807')", "9223372036854775807"},
		{"toInt one above", "toInt('9223372036854775808')", "null"},
		{"toInt of a float above 64 bits", "toInt(1e19)", "null"},
		{"toInt of infinity", "toInt(1 / 0)", "null"},
		{"toInt of null", "toInt(NULL)", "null"},
		{"toInt of a time before 1970 rounds down", "toInt(toDateTime('1970-01-01 00:00:00') - INTERVAL 1 second)", "-1"},
	})
	checkProperties(t, Context{}, map[string]string{"n": "2.5", "whole": "2.0", "text": `"7"`, "yes": "true", "none": "null"}, []expressionRow{
		{"toFloat of a property", "toFloat(properties.n)", "2.5"},
		{"toInt of a property with a fraction", "toInt(properties.n)", "null"},
		{"toInt of a property without one", "toInt(properties.whole)", "2"},
		{"toInt of a text property", "toInt(properties.text)", "7"},
		{"toFloat of a boolean property", "toFloat(properties.yes)", "1"},
		{"toFloat of a null property", "toFloat(properties.none)", "null"},
	})
}

func TestConvert_Texts(t *testing.T) {
	checkExpressions(t, Context{}, []expressionRow{
		{"a float without a fraction", "toString(10.0)", `"10"`},
		{"a float", "toString(-1.5)", `"-1.5"`},
		{"1e21", "toString(1e21)", `"1e+21"`},
		{"just below 1e-6", "toString(0.00000012)", `"1.2e-7"`},
		{"a sum that floats cannot represent", "toString(0.1 + 0.2)", `"0.30000000000000004"`},
		{"true", "toString(true)", `"true"`},
		{"a comparison", "toString(1 = 1)", `"1"`},
		{"a time", "toString(toDateTime('2020-01-02 03:04:05'))", `"2020-01-02 03:04:05"`},
		{"a time with microseconds", "toString(toDateTime('2020-01-02 03:04:05.000007'))", `"2020-01-02 03:04:05.000007"`},
		{"a date", "toString(toDate('2020-01-02'))", `"2020-01-02"`},
		{"a list", "toString(['a', 'b'])", `"[\"a\",\"b\"]"`},
		{"null", "toString(NULL)", "null"},
		{"a time in another zone", "toString(toTimeZone(toDateTime('2020-01-02 03:04:05'), 'Asia/Tokyo'))", `"2020-01-02 12:04:05"`},
		{"toBool of texts", "[toBool('TRUE'), toBool('1'), toBool('False'), toBool('0')]", "[true,true,false,false]"},
		{"toBool of another text", "toBool('yes')", "null"},
		{"toBool of a number", "toBool(2.5)", "true"},
		{"toBool of zero", "toBool(0.0)", "false"},
		{"toBool of a list", "toBool([1])", "null"},
		{"toUUID in upper case", "toUUID('0191F0A2-5B1C-7D3E-8F40-1A2B3C4D5E6F')", `"0191f0a2-5b1c-7d3e-8f40-1a2b3c4d5e6f"`},
		{"toUUID of another text", "toUUID('0191f0a2-5b1c-7d3e-8f40-1a2b3c4d5e6')", "null"},
		{"a UUID compares with a text", "toUUID('0191F0A2-5B1C-7D3E-8F40-1A2B3C4D5E6F') = '0191f0a2-5b1c-7d3e-8f40-1a2b3c4d5e6f'", "1"},
	})
}

// CAST(x AS type) is the conversion function of the type.
func TestConvert_Cast(t *testing.T) {
	checkExpressions(t, Context{}, []expressionRow{
		{"String", "CAST(1.0 AS String)", `"1"`},
		{"Text", "CAST(true AS Text)", `"true"`},
		{"Int64", "CAST('7' AS Int64)", "7"},
		{"UInt8", "CAST('x' AS UInt8)", "null"},
		{"Integer", "CAST(2.0 AS Integer)", "2"},
		{"Float64", "CAST('1.5' AS Float64)", "1.5"},
		{"Double", "CAST('1e1' AS Double)", "10"},
		{"Boolean", "CAST('true' AS Boolean)", "true"},
		{"UUID", "CAST('x' AS UUID)", "null"},
		{"Date", "CAST('2020-01-02 03:04:05' AS Date)", `"2020-01-02"`},
		{"DateTime", "CAST('2020-01-02' AS DateTime)", `"2020-01-02T00:00:00Z"`},
		{"Timestamp", "CAST(60 AS Timestamp)", `"1970-01-01T00:01:00Z"`},
	})
	checkRejected(t, Context{}, []rejectedRow{
		{"a type with parameters", "CAST(1 AS Array(String))", SyntaxError, `Unexpected "("`, "("},
		{"an unknown type", "CAST(1 AS Point)", TypeError, `Unknown type "Point" at line 1, column 18: there are String, Int, Float, Bool, Date, DateTime and UUID`, "Point"},
		{"the function by the name of its implementation", "`$cast`(1, 'String')", SyntaxError, `Unexpected "("`, "("},
	})
}

// Functions of null in §2.9.8: the result is null unless the table states otherwise.
func TestConvert_Null(t *testing.T) {
	for _, call := range []string{
		"abs(NULL)", "sign(NULL)", "sqrt(NULL)", "round(NULL)", "round(1.5, NULL)", "pow(2, NULL)", "1 + NULL", "NULL - 1", "2 * NULL", "1 / NULL", "NULL % 2", "NULL DIV 2", "-NULL",
		"lower(NULL)", "length(NULL)", "lengthUTF8(NULL)", "reverse(NULL)", "trim(NULL)", "empty(NULL)", "notEmpty(NULL)", "substring(NULL, 1)", "substring('a', NULL)", "left(NULL, 1)", "right('a', NULL)",
		"position(NULL, 'a')", "position('a', NULL)", "startsWith(NULL, 'a')", "endsWith('a', NULL)", "replaceAll(NULL, 'a', 'b')", "replaceAll('a', NULL, 'b')", "replaceAll('a', 'a', NULL)",
		"splitByChar(',', NULL)", "splitByString(NULL, 'a')", "extract(NULL, 'a')", "replaceRegexpAll('a', 'a', NULL)", "domain(NULL)", "path(NULL)", "protocol(NULL)", "cutQueryString(NULL)", "extractURLParameter(NULL, 'a')",
		"JSONExtractString(NULL, 'a')", "JSONHas(NULL, 'a')", "JSONLength(NULL)", "JSONExtractInt('[1]', NULL)", "toFloat(NULL)", "toInt(NULL)", "toString(NULL)", "toBool(NULL)", "toUUID(NULL)",
		"toDate(NULL)", "toDateTime(NULL)", "toDateTime(NULL, 'UTC')", "toUnixTimestamp(NULL)", "fromUnixTimestamp(NULL)", "toStartOfDay(NULL)", "toStartOfWeek(NULL)", "toStartOfWeek(now(), NULL)", "toYear(NULL)", "toHour(NULL)",
		"dateDiff('day', NULL, now())", "dateDiff('day', now(), NULL)", "dateAdd('day', NULL, now())", "dateAdd('day', 1, NULL)", "formatDateTime(NULL, '%Y')", "formatDateTime(now(), NULL)", "now() + INTERVAL NULL day", "addDays(NULL, 1)",
		"arraySum(NULL)", "arraySort(NULL)", "arrayDistinct(NULL)", "arrayConcat([1], NULL)", "arraySlice(NULL, 1)", "arrayStringConcat(NULL)", "arrayMap(x -> x, NULL)", "range(NULL)", "[1][NULL]", "nullIf(NULL, 1)", "coalesce(NULL, NULL)", "greatest(NULL)", "least(NULL, NULL)",
	} {
		checkAnswer(t, "SELECT "+call, Context{}, nil, "[[null]]")
		checkAnswer(t, "SELECT isNull("+call+"), ifNull("+call+", 'x')", Context{}, nil, `[[1,"x"]]`)
	}
	for call, want := range map[string]string{
		"concat(NULL)": `""`, "isNull(NULL)": "1", "isNotNull(NULL)": "0", "array(NULL)": "[null]", "has([1], NULL)": "0", "indexOf([1], NULL)": "0", "greatest(1, NULL)": "1", "coalesce(NULL, 2)": "2",
		"ifNull(NULL, 3)": "3", "if(NULL, 1, 2)": "2", "multiIf(NULL, 1, NULL, 2, 3)": "3", "nullIf(1, NULL)": "1", "equals(NULL, NULL)": "1", "notEquals(NULL, 1)": "1", "less(NULL, 1)": "0", "in(NULL, [1])": "0", "notIn(NULL, [1])": "1",
		"like(NULL, 'a')": "0", "notLike(NULL, 'a')": "1", "match(NULL, 'a')": "0", "not(NULL)": "null", "and(NULL, 0)": "0", "and(NULL, 1)": "null", "or(NULL, 1)": "1", "or(NULL, 0)": "null", "tuple(NULL, 1)": "[null,1]",
	} {
		checkAnswer(t, "SELECT "+call, Context{}, nil, "[["+want+"]]")
	}
}

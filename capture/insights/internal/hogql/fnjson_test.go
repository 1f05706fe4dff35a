package hogql

import "testing"

// JSON functions of §2.9.8 take a JSON text and names or positions from 1. What is missing or
// of another type is "", 0, false or [].
func TestJSON_Extract(t *testing.T) {
	checkExpressions(t, Context{}, []expressionRow{
		{"a text", `JSONExtractString('{"a":"x"}', 'a')`, `"x"`},
		{"an escaped text", `JSONExtractString('{"a":"\u00e9\\n"}', 'a')`, `"é\n"`},
		{"the text of a number", `JSONExtractString('{"a":1.50}', 'a')`, `"1.5"`},
		{"null is another type", `JSONExtractString('{"a":null}', 'a')`, `""`},
		{"an object is another type", `JSONExtractString('{"a":{}}', 'a')`, `""`},
		{"a list is another type", `JSONExtractString('{"a":[1]}', 'a')`, `""`},
		{"missing", `JSONExtractString('{"a":1}', 'b')`, `""`},
		{"names are case-sensitive", `JSONExtractString('{"a":"x"}', 'A')`, `""`},
		{"below a text there is nothing", `JSONExtractString('{"a":"x"}', 'a', 'b')`, `""`},
		{"without names, the whole", `JSONExtractString('"x"')`, `"x"`},
		{"an integer", `JSONExtractInt('{"a":12}', 'a')`, "12"},
		{"a fraction is truncated", `JSONExtractInt('{"a":-1.9}', 'a')`, "-1"},
		{"an integer in a text", `JSONExtractInt('{"a":"12"}', 'a')`, "12"},
		{"a word", `JSONExtractInt('{"a":"x"}', 'a')`, "0"},
		{"a boolean is no integer", `JSONExtractInt('{"a":true}', 'a')`, "0"},
		{"a float", `JSONExtractFloat('{"a":1.5}', 'a')`, "1.5"},
		{"a float in a text", `JSONExtractFloat('{"a":"1e2"}', 'a')`, "100"},
		{"a list is no float", `JSONExtractFloat('[[1]]', 1)`, "0"},
		{"true", `JSONExtractBool('{"a":true}', 'a')`, "1"},
		{"false", `JSONExtractBool('{"a":false}', 'a')`, "0"},
		{"a text is no boolean", `JSONExtractBool('{"a":"true"}', 'a')`, "0"},
		{"a number is no boolean", `JSONExtractBool('{"a":1}', 'a')`, "0"},
		{"the JSON of an object, without white space", `JSONExtractRaw('{"a": {"b": [1, "x y"]}}', 'a')`, `"{\"b\":[1,\"x y\"]}"`},
		{"the JSON of a text has quotes", `JSONExtractRaw('{"a":"x"}', 'a')`, `"\"x\""`},
		{"the JSON of null", `JSONExtractRaw('{"a":null}', 'a')`, `"null"`},
		{"the JSON of nothing", `JSONExtractRaw('{}', 'a')`, `""`},
		{"the elements of a list", `JSONExtractArrayRaw('[1, "x", {"a": 2}]')`, `["1","\"x\"","{\"a\":2}"]`},
		{"an object has no elements", `JSONExtractArrayRaw('{"a":1}')`, "[]"},
		{"nothing has none", `JSONExtractArrayRaw('{"a":1}', 'b')`, "[]"},
		{"a null member is there", `JSONHas('{"a":null}', 'a')`, "1"},
		{"a member that is not", `JSONHas('{"a":1}', 'b')`, "0"},
		{"an element that is there", `JSONHas('[1,2]', 2)`, "1"},
		{"an element that is not", `JSONHas('[1,2]', 3)`, "0"},
		{"the length of a list", `JSONLength('[1,[2,3]]')`, "2"},
		{"the length of an object", `JSONLength('{"a":1,"b":{}}')`, "2"},
		{"the length of a member", `JSONLength('{"a":[1,2,3]}', 'a')`, "3"},
		{"the length of a text", `JSONLength('"abc"')`, "0"},
		{"no JSON", `JSONExtractRaw('{"a":1', 'a')`, `""`},
		{"text after the JSON", `JSONHas('{"a":1} x', 'a')`, "0"},
		{"white space around the JSON", `JSONHas(' {"a":1}\n', 'a')`, "1"},
		{"the last of two members with one name", `JSONExtractInt('{"a":1,"a":2}', 'a')`, "2"},
	})
}

// Positions of §2.9.8 count from 1, and from the end if they are negative; they count the
// members of objects, too.
func TestJSON_Positions(t *testing.T) {
	checkExpressions(t, Context{}, []expressionRow{
		{"the first", `JSONExtractInt('[5,6,7]', 1)`, "5"},
		{"the last", `JSONExtractInt('[5,6,7]', 3)`, "7"},
		{"after the last", `JSONExtractInt('[5,6,7]', 4)`, "0"},
		{"there is no 0", `JSONExtractInt('[5,6,7]', 0)`, "0"},
		{"the last from the end", `JSONExtractInt('[5,6,7]', -1)`, "7"},
		{"the first from the end", `JSONExtractInt('[5,6,7]', -3)`, "5"},
		{"before the first", `JSONExtractInt('[5,6,7]', -4)`, "0"},
		{"the value of the second member", `JSONExtractInt('{"a":5,"b":6}', 2)`, "6"},
		{"the value of the last member", `JSONExtractInt('{"a":5,"b":6}', -1)`, "6"},
		{"a name in a list is nothing", `JSONExtractInt('[5]', 'a')`, "0"},
		{"names and positions mixed", `JSONExtractInt('{"a":[1,{"b":[2,3]}]}', 'a', 2, 'b', -1)`, "3"},
		{"a position that is a fraction is nothing", `JSONExtractInt('[5,6]', 1.5)`, "0"},
		{"a position of a row", `JSONExtractInt('[5,6]', length('ab'))`, "6"},
	})
}

// JSON functions over properties, and paths below a property (§2.9.6).
func TestJSON_Properties(t *testing.T) {
	properties := map[string]string{"plan": `{"name": "pro", "seats": [1, 2], "a b": {"c": "deep"}, "none": null}`, "text": `"{\"a\":1}"`, "list": `["x", "y"]`, "n": "5"}
	checkProperties(t, Context{}, properties, []expressionRow{
		{"from all properties", "JSONExtractString(properties, 'plan', 'name')", `"pro"`},
		{"a name that is missing on the way", "JSONExtractString(properties, 'none', 'name')", `""`},
		{"from a property", "JSONExtractInt(properties.plan, 'seats', 2)", "2"},
		{"from a text that is JSON", "JSONExtractInt(properties.text, 'a')", "1"},
		{"from a property that is missing", "JSONExtractString(properties.none, 'a')", "null"},
		{"has all properties", "JSONHas(properties, 'n')", "1"},
	})
	checkAnswer(t, "SELECT properties.plan AS p, p.name, p.`a b`.c, p['name'], p.none, p.missing.deeper FROM events", Context{}, []event{{"view", "a", "2020-01-10T10:00:00Z", map[string]string{"plan": properties["plan"]}}},
		`[["{\"name\":\"pro\",\"seats\":[1,2],\"a b\":{\"c\":\"deep\"},\"none\":null}","pro","deep","pro",null,null]]`)
	checkRejected(t, Context{}, []rejectedRow{
		{"a member of a number", "1 AS a, a.b", TypeError, `There is no "b" in Int64: "a.b" at line 1, column 16`, "a.b"},
		{"a member of a list", "[1] AS a, a.b", TypeError, `There is no "b" in Array(Int64): "a.b"`, "a.b"},
		{"a member of a time", "timestamp AS a, a.b", TypeError, `There is no "b" in DateTime64(6, 'UTC'): "a.b"`, "a.b"},
		{"no names", "JSONHas('{}')", TypeError, `Function "JSONHas" takes 2 or more arguments, not 1`, "JSONHas('{}')"},
	})
}

// PropertyAt is the value below names in a JSON value, null where a name is missing.
func TestJSON_PropertyAt(t *testing.T) {
	const raw = `{"a":{"b":[1,2],"c":"x","d":null,"e":false},"a b":1}`
	for _, c := range []struct {
		of    string
		names []string
		kind  Kind
		text  string
	}{
		{"a text", []string{"a", "c"}, Text, "x"},
		{"a list is its JSON", []string{"a", "b"}, Text, "[1,2]"},
		{"null", []string{"a", "d"}, Null, ""},
		{"missing", []string{"a", "x"}, Null, ""},
		{"missing on the way", []string{"x", "c"}, Null, ""},
		{"below a text", []string{"a", "c", "x"}, Null, ""},
		{"a boolean", []string{"a", "e"}, Bool, ""},
		{"a number", []string{"a b"}, Int, ""},
	} {
		if v := PropertyAt(raw, c.names); v.Kind() != c.kind || v.Text() != c.text {
			t.Errorf("%s: kind %d, %q, want kind %d, %q", c.of, v.Kind(), v.Text(), c.kind, c.text)
		}
	}
}

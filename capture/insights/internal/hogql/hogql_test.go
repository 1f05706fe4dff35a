package hogql

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// testNow is the time that now() returns in tests.
var testNow = time.Date(2020, 2, 29, 13, 4, 5, 678_000_000, time.UTC)

// event is a row of the table of the tests: its name, its distinct id, its time and its
// properties.
type event struct {
	name, id, time string
	properties     map[string]string // JSON text by name
}

// fixtureH is the fixture H of insights_vectors.json.
var fixtureH = []event{
	{"buy", "a", "2020-01-10T10:00:00Z", map[string]string{"amount": "10", "item": `"pen"`, "tags": `["x","y"]`}},
	{"buy", "a", "2020-01-10T12:30:00Z", map[string]string{"amount": `"20"`, "item": `"Pen"`}},
	{"buy", "b", "2020-01-11T23:30:00Z", map[string]string{"amount": "5.5", "item": "null"}},
	{"view", "b", "2020-01-12T00:30:00Z", map[string]string{"url": `"https://www.site.com/a/b?c=1"`}},
	{"view", "c", "2020-01-12T08:00:00Z", map[string]string{"url": `"https://site.com/"`}},
	{"view", "a", "2020-01-13T09:15:45Z", map[string]string{"url": `""`}},
}

func testScope() *Scope {
	return &Scope{
		Resolve: func(path []string) (Type, bool) {
			switch path[0] {
			case "event", "distinct_id":
				return TextType, len(path) == 1
			case "person_id", "uuid":
				return UUIDType, len(path) == 1
			case "timestamp":
				return TimeType, len(path) == 1
			case "properties":
				return PropertyType, true
			}
			return Type{}, false
		},
		Star:    []string{"event", "distinct_id", "timestamp"},
		Filters: true,
		Cohort: func(path []string, cohort string) error {
			if path[0] != "person_id" {
				return errors.New("only people are in cohorts")
			}
			return nil
		},
	}
}

// rowOf sets the slots of a scope from an event.
func rowOf(t testing.TB, s *Scope, e event, id int) *Row {
	at, err := time.Parse(time.RFC3339Nano, e.time)
	if err != nil {
		t.Fatal(err)
	}
	r := &Row{Time: at.UnixMicro(), ID: int64(id)}
	for _, f := range s.Fields() {
		var v Value
		switch {
		case f.Filters:
			v = BoolOf(e.name == "buy")
		case f.Cohort != "":
			v = BoolOf(e.id == f.Cohort)
		case f.Path[0] == "event":
			v = TextOf(e.name)
		case f.Path[0] == "distinct_id":
			v = TextOf(e.id)
		case f.Path[0] == "person_id":
			v = UUIDOf("00000000-0000-0000-0000-00000000000" + e.id)
		case f.Path[0] == "timestamp":
			v = TimeOf(r.Time)
		case len(f.Path) == 1:
			properties := map[string]json.RawMessage{}
			for name, value := range e.properties {
				properties[name] = json.RawMessage(value)
			}
			raw, err := json.Marshal(properties)
			if err != nil {
				t.Fatal(err)
			}
			v = TextOf(string(raw))
		default:
			v = Property(e.properties[strings.Join(f.Path[1:], ".")])
		}
		r.Fields = append(r.Fields, v)
	}
	return r
}

// runQuery runs a query over events and returns its rows as JSON.
func runQuery(t testing.TB, query string, c Context, events []event) (*Result, string, error) {
	statement, err := ParseSelect(query)
	if err != nil {
		return nil, "", err
	}
	if c.Now.IsZero() {
		c.Now = testNow
	}
	scope := testScope()
	q, err := statement.Compile(scope, c)
	if err != nil {
		return nil, "", err
	}
	for i, e := range events {
		if err := q.Add(rowOf(t, scope, e, i+1)); err != nil {
			return nil, "", err
		}
	}
	result, err := q.Result()
	if err != nil {
		return nil, "", err
	}
	out := []byte{'['}
	for i, row := range result.Rows {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, '[')
		for k, v := range row {
			if k > 0 {
				out = append(out, ',')
			}
			out = q.AppendJSON(out, v)
		}
		out = append(out, ']')
	}
	return result, string(append(out, ']')), nil
}

// checkAnswer compares the result of a query over events with JSON.
func checkAnswer(t *testing.T, query string, c Context, events []event, want string) *Result {
	t.Helper()
	result, got, err := runQuery(t, query, c, events)
	if err != nil {
		t.Errorf("%s: %v", query, err)
		return nil
	}
	if got != want {
		t.Errorf("%s:\n got %s\nwant %s", query, got, want)
	}
	return result
}

// The cases hogql-* of insights_vectors.json that only use the table of events.
func TestSelect_Vectors(t *testing.T) {
	for _, c := range []struct{ name, query, want string }{
		{"hogql-01", "SELECT event, count() FROM events GROUP BY event ORDER BY count() DESC, event ASC", `[["buy",3],["view",3]]`},
		{"hogql-01", "select toStartOfDay(timestamp) as day, count(distinct person_id) as users from events group by day order by day",
			`[["2020-01-10T00:00:00Z",1],["2020-01-11T00:00:00Z",1],["2020-01-12T00:00:00Z",2],["2020-01-13T00:00:00Z",1]]`},
		{"hogql-03", "SELECT countIf(properties.item = 'pen'), countIf(properties.item != 'pen'), countIf(properties.item IS NULL), countIf(properties.item IS NOT NULL), countIf(properties.item ILIKE 'PEN'), countIf(properties.item NOT ILIKE 'pen') FROM events",
			`[[1,5,4,2,2,4]]`},
		{"hogql-03", "SELECT countIf(properties.item IN ('pen', 'Pen')), countIf(properties.item NOT IN ('pen', 'Pen')), countIf(properties.amount > 6), countIf(not properties.item = 'pen'), countIf(properties.url = ''), countIf(properties.item = null), countIf(properties.item != null) FROM events",
			`[[2,4,2,5,1,4,2]]`},
		{"hogql-07", "SELECT distinct_id FROM events ORDER BY timestamp LIMIT 2 OFFSET 1", `[["a"],["b"]]`},
		{"hogql-07", "SELECT DISTINCT distinct_id FROM events ORDER BY distinct_id DESC", `[["c"],["b"],["a"]]`},
		{"hogql-07", "SELECT distinct_id, count() AS n FROM events GROUP BY distinct_id HAVING n >= 2 ORDER BY n DESC", `[["a",3],["b",2]]`},
		{"hogql-07", "SELECT count() FROM events", `[[6]]`},
	} {
		t.Run(c.name, func(t *testing.T) { checkAnswer(t, c.query, Context{}, fixtureH, c.want) })
	}
	result := checkAnswer(t, "SELECT event, count() FROM events GROUP BY event ORDER BY count() DESC, event ASC", Context{}, fixtureH, `[["buy",3],["view",3]]`)
	if diff := cmp.Diff([]string{"event", "count()"}, result.Columns); diff != "" {
		t.Error(diff)
	}
	if result.More || result.Limit != 100 || result.Offset != 0 {
		t.Errorf("more %t, limit %d, offset %d", result.More, result.Limit, result.Offset)
	}
	weeks := []event{{"x", "a", "2020-01-12T12:00:00Z", nil}, {"x", "a", "2020-01-13T12:00:00Z", nil}}
	checkAnswer(t, "SELECT toStartOfWeek(timestamp) AS w, count() FROM events GROUP BY w ORDER BY w", Context{WeekStart: time.Monday}, weeks, `[["2020-01-06",1],["2020-01-13",1]]`) // hogql-15
}

// The case hogql-05: values that ClickHouse 26.7 computed.
func TestSelect_VectorsOfFunctions(t *testing.T) {
	for query, want := range map[string]string{
		"SELECT concat('a', NULL, 'b'), ifNull(NULL, 1), nullIf(1, 1), if(1 > 2, 'x', 'y'), multiIf(1 = 2, 'a', 2 = 2, 'b', 'c'), coalesce(NULL, 'z'), lower('AbC'), upper('ab'), length('hello'), substring('hello', 2, 3), replaceAll('aXbX', 'X', '-')":                                             `[["ab",1,null,"y","b","z","abc","AB",5,"ell","a-b-"]]`,
		"SELECT round(2.5), round(3.5), round(-2.5), round(1234.567, 1), floor(-1.5), ceil(-1.5), intDiv(-7, 2), -7 % 2, 7 / 2, abs(-2), sqrt(16), pow(2, 10), greatest(1, 3, 2), least(3, 1, 2), 1 / 0":                                                                                               `[[2,4,-2,1234.6,-2,-1,-3,-1,3.5,2,4,1024,3,1,null]]`,
		"SELECT splitByChar(',', 'a,,b'), arrayStringConcat(['a', 'b'], '-'), has([1, 2], 2), indexOf(['a', 'b'], 'b'), position('hello', 'l'), position('hello', 'z'), trim('  a '), startsWith('abc', 'ab'), match('abc', 'b+'), extract('foo123bar', '[0-9]+'), replaceRegexpAll('aXbX', 'X', '-')": `[[["a","","b"],"a-b",1,2,3,0,"a",1,1,"123","a-b-"]]`,
		"SELECT toFloat('1e3'), toFloat('abc'), toInt('7'), toInt('1.5'), toString(1.5), toString(10.0), JSONExtractString('{\"a\":\"x\"}', 'a'), JSONExtractInt('{\"b\":1}', 'b'), JSONExtractRaw('{\"c\":{\"d\":2}}', 'c'), arraySort([3, 1, 2]), [1, 2, 3][2], length([1, 2])":                      `[[1000,null,7,null,"1.5","10","x",1,"{\"d\":2}",[1,2,3],2,2]]`,
	} {
		checkAnswer(t, query, Context{}, nil, want)
	}
}

// The case hogql-13, with the syntax in the last paragraph of §2.9.8 and the codes of §1.7.
func TestParse_Rejected(t *testing.T) {
	for _, c := range []struct{ query, code, text string }{
		{"SELECT event FROM events GROUP event", SyntaxError, `Unexpected "event" at line 1, column 32: expected BY`},
		{"SELECT frobnicate(event) FROM events", UnknownFunction, `Unknown function "frobnicate" at line 1, column 8`},
		{"SELECT x FROM nowhere", UnknownTable, `Unknown table "nowhere" at line 1, column 15: there are events, persons and groups`},
		{"SELECT nosuchfield FROM events", UnknownField, `Unknown field "nosuchfield" at line 1, column 8`},
		{"SELECT 1 UNION ALL SELECT 2", NotSupported, `"UNION" is not supported at line 1, column 10`},
		{"SELECT 1 FROM events JOIN persons ON 1 = 1", NotSupported, `"JOIN" is not supported at line 1, column 22`},
		{"WITH x AS (SELECT 1) SELECT * FROM x", NotSupported, `"WITH" is not supported at line 1, column 1`},
		{"DELETE FROM events", NotSupported, `"DELETE" is not supported at line 1, column 1`},
		{"SELECT row_number() OVER () FROM events", NotSupported, `"OVER" is not supported at line 1, column 21`},
		{"SELECT event, count() FROM events", TypeError, `Field "event" is neither grouped nor inside an aggregate at line 1, column 8`},
		{"SELECT\n  'ä', é.b +\n", SyntaxError, `Unexpected end of query at line 3, column 1: expected an expression`},
		{"SELECT 'ä', 'b", SyntaxError, `Unexpected "'" at line 1, column 13: expected a closing quote behind it`},
		{"SELECT 1; SELECT 2", NotSupported, `"SELECT" is not supported at line 1, column 11`},
		{"SELECT (SELECT 1)", NotSupported, `"SELECT" is not supported at line 1, column 9`},
		{"SELECT 1 FROM (SELECT 1)", NotSupported, `"SELECT" is not supported at line 1, column 16`},
		{"SELECT 1 FROM events LEFT JOIN persons", NotSupported, `"LEFT JOIN" is not supported at line 1, column 22`},
		{"SELECT 1 FROM events ARRAY JOIN [1]", NotSupported, `"ARRAY JOIN" is not supported at line 1, column 22`},
		{"SELECT 1 FROM events FINAL", NotSupported, `"FINAL" is not supported at line 1, column 22`},
		{"SELECT 1 FROM events SAMPLE 0.1", NotSupported, `"SAMPLE" is not supported at line 1, column 22`},
		{"SELECT event FROM events LIMIT 1 BY event", NotSupported, `"BY" is not supported at line 1, column 34`},
		{"SELECT count() FROM events GROUP BY ROLLUP(event)", NotSupported, `"ROLLUP" is not supported at line 1, column 37`},
		{"SELECT count() FROM events GROUP BY event WITH TOTALS", NotSupported, `"WITH" is not supported at line 1, column 43`},
		{"SELECT 1 EXCEPT SELECT 2", NotSupported, `"EXCEPT" is not supported at line 1, column 10`},
		{"SELECT {x}", UnknownField, `Placeholder "x" has no value at line 1, column 8`},
		{"SELECT sleep(1)", UnknownFunction, `Unknown function "sleep" at line 1, column 8`},
		{"SELECT Round(1.5), LENGTH('a')", UnknownFunction, `Unknown function "LENGTH" at line 1, column 20`},
		{"SELECT intDiv(1, 0)", TypeError, `Division by zero in "intDiv(1, 0)" at line 1, column 8`},
		{"SELECT event FROM events WHERE timestamp > 'soon'", TypeError, `Text "'soon'" is no date at line 1, column 44`},
		{"SELECT event FROM events WHERE count() > 1", TypeError, `Aggregate "count" may not stand in WHERE at line 1, column 32`},
		{"SELECT sum(count()) FROM events", TypeError, `Aggregate "count" may not stand in an aggregate at line 1, column 12`},
	} {
		_, _, err := runQuery(t, c.query, Context{}, fixtureH)
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%s: got %v, want an error with a place", c.query, err)
			continue
		}
		if e.Code != c.code || e.Text != c.text {
			t.Errorf("%s:\n got %s %s\nwant %s %s", c.query, e.Code, e.Text, c.code, c.text)
		}
	}
}

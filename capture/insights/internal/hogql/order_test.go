package hogql

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// ORDER BY of §2.9.7: numbers before strings, nulls last in both directions unless NULLS
// FIRST. Equal rows are in the order of time, then of recording (§3.4).
func TestOrder_Terms(t *testing.T) {
	mixed := []event{}
	for i, v := range []string{`"b"`, "10", "null", `"10"`, "9", "true", `"B"`, "2.5", `""`, "-1"} {
		mixed = append(mixed, event{"x", fmt.Sprint(i), "2020-01-01T00:00:00Z", map[string]string{"v": v}})
	}
	for _, c := range []struct{ of, order, want string }{
		{"ascending", "properties.v", `[[-1],[2.5],[9],[10],[""],["10"],["B"],["b"],[true],[null]]`},
		{"ASC is the default", "properties.v ASC", `[[-1],[2.5],[9],[10],[""],["10"],["B"],["b"],[true],[null]]`},
		{"descending, nulls last", "properties.v DESC", `[[true],["b"],["B"],["10"],[""],[10],[9],[2.5],[-1],[null]]`},
		{"nulls first", "properties.v NULLS FIRST LIMIT 3", `[[null],[-1],[2.5]]`},
		{"nulls first, descending", "properties.v DESC NULLS FIRST LIMIT 2", `[[null],[true]]`},
		{"nulls last", "properties.v DESC NULLS LAST LIMIT 1", `[[true]]`},
		{"by an expression", "toFloat(properties.v), properties.v LIMIT 6", `[[-1],[true],[2.5],[9],[10],["10"]]`},
		{"by a position", "1 DESC LIMIT 1", `[[true]]`},
		{"two terms", "isNull(properties.v) DESC, properties.v DESC LIMIT 2", `[[null],[true]]`},
		{"a constant orders nothing: the order of recording", "'x' LIMIT 3", `[["b"],[10],[null]]`},
		{"an offset", "properties.v LIMIT 2 OFFSET 3", `[[10],[""]]`},
		{"an offset behind the last row", "properties.v LIMIT 2 OFFSET 10", `[]`},
		{"an offset of all but one", "properties.v LIMIT 2 OFFSET 9", `[[null]]`},
		{"OFFSET before n", "properties.v LIMIT 8, 1", `[[true]]`},
	} {
		for _, from := range []int{0, 3, 7} { // the order in which rows are read has no influence
			rows := append(append([]event{}, mixed[from:]...), mixed[:from]...)
			query := "SELECT properties.v FROM events ORDER BY " + c.order
			if from > 0 && strings.Contains(c.order, "'x'") {
				continue // the test numbers rows in the order in which it adds them
			}
			checkAnswer(t, query, Context{}, rows, c.want)
		}
	}
}

// Without ORDER BY, and among equal rows, the earlier row is first; with NewestFirst it is
// the row that was recorded last (§2.9.1).
func TestOrder_Ties(t *testing.T) {
	rows := []event{
		{"x", "noon", "2020-01-01T12:00:00Z", nil}, {"x", "early", "2020-01-01T08:00:00Z", nil}, {"x", "noon again", "2020-01-01T12:00:00Z", nil}, {"y", "late", "2020-01-01T20:00:00Z", nil},
	}
	checkAnswer(t, "SELECT distinct_id FROM events", Context{}, rows, `[["early"],["noon"],["noon again"],["late"]]`)
	checkAnswer(t, "SELECT distinct_id FROM events ORDER BY event DESC", Context{}, rows, `[["late"],["early"],["noon"],["noon again"]]`)
	checkAnswer(t, "SELECT event, count() AS n FROM events GROUP BY event ORDER BY n > 0", Context{}, rows, `[["x",3],["y",1]]`)
	statement, err := ParseSelect("SELECT distinct_id FROM events ORDER BY event")
	if err != nil {
		t.Fatal(err)
	}
	statement.NewestFirst = true
	if got, want := statementRows(t, statement, rows), `["noon again"]["early"]["noon"]["late"]`; got != want {
		t.Errorf("newest first: got %s, want %s", got, want)
	}
}

// statementRows runs a statement over events and returns its rows as JSON.
func statementRows(t *testing.T, s *Statement, events []event) string {
	t.Helper()
	scope := testScope()
	q, err := s.Compile(scope, Context{Now: testNow})
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range events {
		if err := q.Add(rowOf(t, scope, e, i+1)); err != nil {
			t.Fatal(err)
		}
	}
	result, err := q.Result()
	if err != nil {
		t.Fatal(err)
	}
	out := []byte{}
	for _, row := range result.Rows {
		out = append(out, '[')
		for i, v := range row {
			if i > 0 {
				out = append(out, ',')
			}
			out = q.AppendJSON(out, v)
		}
		out = append(out, ']')
	}
	return string(out)
}

// A statement of parts (§2.9.1): with an aggregate in select, the other columns are the
// groups, and conditions with an aggregate apply after grouping.
func TestSelect_OfParts(t *testing.T) {
	for _, c := range []struct {
		of            string
		items, where  []string
		order         []string
		limit, offset int
		want          string
	}{
		{"no aggregate", []string{"distinct_id"}, nil, nil, 2, 0, `["a"]["a"]`},
		{"an offset", []string{"distinct_id"}, nil, nil, 2, 4, `["c"]["a"]`},
		{"conditions are combined by AND", []string{"distinct_id"}, []string{"event = 'view'", "distinct_id != 'b'"}, nil, 9, 0, `["c"]["a"]`},
		{"an order", []string{"distinct_id"}, nil, []string{"distinct_id DESC", "timestamp DESC"}, 3, 0, `["c"]["b"]["b"]`},
		{"an aggregate groups by the other columns", []string{"event", "count()"}, nil, []string{"event DESC"}, 9, 0, `["view",3]["buy",3]`},
		{"two columns of groups", []string{"count()", "event", "distinct_id"}, nil, []string{"count() DESC", "event", "distinct_id"}, 2, 0, `[2,"buy","a"][1,"buy","b"]`},
		{"a condition with an aggregate is one on groups", []string{"distinct_id", "count()"}, []string{"count() > 1", "event = 'buy'"}, nil, 9, 0, `["a",2]`},
		{"an aggregate only in the condition", []string{"distinct_id"}, []string{"count() > 1"}, []string{"distinct_id"}, 9, 0, `["a"]["b"]`},
		{"an aggregate only in the order", []string{"distinct_id"}, nil, []string{"count() DESC", "distinct_id"}, 9, 0, `["a"]["b"]["c"]`},
		{"an aggregate inside of an expression", []string{"event", "count() * 10"}, nil, []string{"event"}, 1, 0, `["buy",30]`},
		{"an alias with an aggregate in the condition", []string{"distinct_id", "count() AS n"}, []string{"n = 2"}, nil, 9, 0, `["b",2]`},
	} {
		statement := Select("events", parseItems(t, c.items), parseAllOf(t, c.where, ParseExpr), parseAllOf(t, c.order, ParseOrder), c.limit, c.offset)
		if got := statementRows(t, statement, fixtureH); got != c.want {
			t.Errorf("%s: got %s, want %s", c.of, got, c.want)
		}
	}
	// There is one more row than the limit, also when the limit was requested.
	statement := Select("events", parseItems(t, []string{"event"}), nil, nil, 6, 0)
	for limit, more := range map[int]bool{5: true, 6: false} {
		statement.Limit = limit
		q, err := statement.Compile(testScope(), Context{})
		if err != nil {
			t.Fatal(err)
		}
		for range 6 {
			if err := q.Add(&Row{Fields: []Value{TextOf("x")}}); err != nil {
				t.Fatal(err)
			}
		}
		if result, err := q.Result(); err != nil || result.More != more || len(result.Rows) != limit {
			t.Errorf("limit %d: %+v, %v, want more %t", limit, result, err, more)
		}
	}
}

func parseItems(t *testing.T, texts []string) []Item { return parseAllOf(t, texts, ParseItem) }

func parseAllOf[T any](t *testing.T, texts []string, parse func(string) (T, error)) []T {
	t.Helper()
	var all []T
	for _, text := range texts {
		x, err := parse(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, x)
	}
	return all
}

// Items keep their text as the column (§2.9.1), and report their field and aggregates.
func TestSelect_Items(t *testing.T) {
	for _, c := range []struct {
		text, field string
		aggregate   bool
	}{
		{"event", "event", false}, {"properties.a", "", false}, {"count()", "", true}, {"1 + sum(properties.a)", "", true}, {"lower(event) -- Title", "", false},
		{"`person`", "person", false}, {"if(uniqIf(event, 1), 1, 2) AS x", "", true}, {"*", "", false}, {"arrayMap(x -> x, groupArray(event))", "", true},
	} {
		item, err := ParseItem(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if item.Column != c.text || item.Field() != c.field || item.HasAggregate() != c.aggregate {
			t.Errorf("%s: column %q, field %q, aggregate %t, want %q, %t", c.text, item.Column, item.Field(), item.HasAggregate(), c.field, c.aggregate)
		}
	}
	for text, want := range map[string]string{
		"": "Unexpected end of query at line 1, column 1: expected an expression", "event DESC": `Unexpected "DESC" at line 1, column 7: expected the end`, "a, b": `Unexpected "," at line 1, column 2: expected the end`,
		"a b c": `Unexpected "c" at line 1, column 5: expected the end`, "count(": `Unexpected end of query at line 1, column 7: expected an expression`,
	} {
		var e *Error
		if _, err := ParseItem(text); !errors.As(err, &e) || e.Text != want || e.In != text {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
	for text, want := range map[string]string{"event UP": `Unexpected "UP" at line 1, column 7: expected the end`, "event NULLS": "Unexpected end of query at line 1, column 12: expected LAST", "DESC": `Unexpected "DESC" at line 1, column 1: expected an expression`} {
		if _, err := ParseOrder(text); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

package sqlquery

import (
	"errors"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/flags/wire"
)

// hogqlOf returns a HogQLQuery with more members.
func hogqlOf(query, members string) string {
	return `{"kind": "HogQLQuery", "query": ` + string(wire.MustEncode(query)) + members + `}`
}

// Filters take effect where {filters} stands; date_from is inclusive, date_to exclusive (§2.9.5).
func TestHogQL_Filters(t *testing.T) {
	t.Parallel()
	const numbers = "SELECT properties.n FROM events WHERE {filters} ORDER BY properties.n"
	filters := func(query, members string) string { return hogqlOf(query, `, "filters": {`+members+`}`) }
	dates := func(from, to string) string {
		return filters(numbers, `"dateRange": {"date_from": `+from+`, "date_to": `+to+`}`)
	}
	checkRows(t, []rowsRow{
		{"no filters", hogqlOf(numbers, ""), "[[1],[2],[3],[4],[5],[6],[7]]"},
		{"empty filters", filters(numbers, ""), "[[1],[2],[3],[4],[5],[6],[7]]"},
		{"date_from is inclusive", dates(`"2020-01-21T12:00:00.000001Z"`, "null"), "[[3],[4],[5],[6],[7]]"},
		{"one microsecond later", dates(`"2020-01-21T12:00:00.000002Z"`, "null"), "[[4],[5],[6],[7]]"},
		{"date_to is exclusive", dates("null", `"2020-01-22T11:00:00Z"`), "[[1],[2],[3]]"},
		{"one microsecond later", dates("null", `"2020-01-22T11:00:00.000001Z"`), "[[1],[2],[3],[4],[5]]"},
		{"a date is its midnight, not the end of the day", dates(`"2020-01-21"`, `"2020-01-22"`), "[[2],[3]]"},
		{"a relative date is not rounded", dates(`"-24h"`, "null"), "[[2],[3],[4],[5],[6],[7]]"},
		{"all time", dates(`"all"`, "null"), "[[1],[2],[3],[4],[5],[6],[7]]"},
		{"the end before the start", dates(`"2020-01-22"`, `"2020-01-21"`), "[]"},
		{"properties", filters(numbers, `"properties": [{"key": "page", "value": "/a"}]`), "[[1],[4],[7]]"},
		{"test accounts", filters(numbers, `"filterTestAccounts": true`), "[[2],[4],[5],[6]]"},
		{"all of them", filters(numbers, `"properties": [{"key": "page", "value": "/a"}], "filterTestAccounts": true, "dateRange": {"date_from": "2020-01-22"}`), "[[4]]"},
		{"without the placeholder they have no effect", filters("SELECT count() FROM events", `"properties": [{"key": "page", "value": "/a"}], "dateRange": {"date_from": "2020-01-22"}`), "[[7]]"},
		{"as one of two alternatives", filters("SELECT properties.n FROM events WHERE {filters} OR event = 'buy' ORDER BY properties.n", `"dateRange": {"date_from": "2020-01-22T12:00:05Z"}`), "[[3],[6],[7]]"},
		{"negated", filters("SELECT properties.n FROM events WHERE NOT {filters} ORDER BY properties.n", `"properties": [{"key": "page", "value": "/a"}]`), "[[2],[3],[5],[6]]"},
		{"in an aggregate", filters("SELECT countIf({filters}), count() FROM events", `"properties": [{"key": "page", "value": "/b"}]`), "[[2,7]]"},
		{"of persons", filters("SELECT properties.name FROM persons WHERE {filters}", `"properties": [{"type": "person", "key": "plan", "value": "pro"}]`), `[["Bob"]]`},
		{"of groups", filters("SELECT key FROM groups WHERE {filters}", `"properties": [{"type": "group", "group_type_index": 0, "key": "size", "value": 5, "operator": "gt"}]`), `[["acme"]]`},
		{"of groups of another type", filters("SELECT key FROM groups WHERE {filters}", `"properties": [{"type": "group", "group_type_index": 1, "key": "size", "value": 5, "operator": "gt"}]`), `[]`},
	})
}

// Placeholders and variables (§2.9.5) are values, not text.
func TestHogQL_Values(t *testing.T) {
	t.Parallel()
	const named = "SELECT properties.n FROM events WHERE event = {name} ORDER BY properties.n"
	checkRows(t, []rowsRow{
		{"a text", hogqlOf(named, `, "values": {"name": "buy"}`), "[[3],[6]]"},
		{"a text that looks like HogQL", hogqlOf(named, `, "values": {"name": "buy' OR 1 = 1 --"}`), "[]"},
		{"a number", hogqlOf("SELECT {x} + 1", `, "values": {"x": 41}`), "[[42]]"},
		{"a boolean", hogqlOf("SELECT {x} AND true", `, "values": {"x": false}`), "[[0]]"},
		{"null", hogqlOf("SELECT {x} IS NULL", `, "values": {"x": null}`), "[[1]]"},
		{"a list", hogqlOf("SELECT count() FROM events WHERE event IN {x}", `, "values": {"x": ["buy", "leave"]}`), "[[2]]"},
		{"a variable", hogqlOf("SELECT {variables.goal}", `, "variables": {"7": {"code_name": "goal", "value": "buy"}}`), `[["buy"]]`},
		{"a variable that is null", hogqlOf("SELECT {variables.goal} IS NULL", `, "variables": {"7": {"code_name": "goal", "value": "buy", "isNull": true}}`), `[[1]]`},
		{"isNull false", hogqlOf("SELECT {variables.goal} IS NULL", `, "variables": {"7": {"code_name": "goal", "value": "buy", "isNull": false}}`), `[[0]]`},
		{"two variables", hogqlOf("SELECT {variables.a} - {variables.b}", `, "variables": {"x": {"code_name": "b", "value": 2}, "y": {"code_name": "a", "value": 5}}`), `[[3]]`},
	})
}

// Rows of persons and groups, and pages: without LIMIT 100 rows, with one no more (§2.9.5).
func TestHogQL_Answer(t *testing.T) {
	t.Parallel()
	checkRows(t, []rowsRow{
		{"persons", hogqlOf("SELECT properties.email, distinct_ids, created_at FROM persons ORDER BY created_at", ""), `[["ann@x.io",["ann"],"2020-01-20T10:00:00Z"],[null,["bob"],"2020-01-21T12:00:00Z"],[null,["cy"],"2020-01-22T11:00:00Z"]]`},
		{"groups of all types", hogqlOf("SELECT index, key, properties.size, created_at FROM groups ORDER BY key DESC", ""), `[[0,"beta",2,"2020-01-06T00:00:00Z"],[0,"acme",7,"2020-01-05T00:00:00Z"]]`},
		{"columns of the person of an event", hogqlOf("SELECT person.properties.plan, count() FROM events GROUP BY person.properties.plan ORDER BY 2", ""), `[["pro",3],[null,4]]`},
		{"names that no event can have", hogqlOf("SELECT count() FROM events WHERE event = 'buy' AND event = 'view'", ""), "[[0]]"},
		{"without a table", hogqlOf("SELECT 1 + 1, 'a'", ""), `[[2,"a"]]`},
	})
	s := rowsSuite()
	many := "SELECT arrayExists(x -> x = 1, [1]) FROM events"
	for _, c := range []struct {
		of, query     string
		rows          int
		more          bool
		limit, offset int
	}{
		{"without LIMIT", many, 7, false, 100, 0},
		{"LIMIT: never more", many + " LIMIT 2", 2, false, 2, 0},
		{"OFFSET without LIMIT", many + " OFFSET 5", 2, false, 100, 5},
		{"LIMIT and OFFSET", many + " LIMIT 3 OFFSET 6", 1, false, 3, 6},
		{"50,000 rows", many + " LIMIT 50000", 7, false, 50000, 0},
	} {
		got, err := s.Run(t, visits(), hogqlOf(c.query, ""), port.Options{})
		if err != nil {
			t.Errorf("%s: %v", c.of, err)
			continue
		}
		rows := strings.Count(string(wire.MustEncode(got.Results)), "[") - 1
		if rows != c.rows || *got.HasMore != c.more || *got.Limit != c.limit || *got.Offset != c.offset || got.HogQL != c.query {
			t.Errorf("%s: got %d rows, hasMore %v, limit %d, offset %d of %q", c.of, rows, *got.HasMore, *got.Limit, *got.Offset, got.HogQL)
		}
	}
	got, err := s.Run(t, visits(), hogqlOf("SELECT event AS name, properties.$browser, 1  +\n 1 FROM events GROUP BY name, properties.$browser", ""), port.Options{})
	if err != nil {
		t.Fatal(err)
	}
	// §2.9.7: columns are the alias, or the last part of a field, or the expression with blanks
	// normalized; types are pairs.
	if columns := string(wire.MustEncode(got.Columns)); columns != `["name","$browser","1 + 1"]` {
		t.Errorf("columns %s", columns)
	}
	if types := string(wire.MustEncode(got.Types)); !strings.HasPrefix(types, `[["name","String"],["$browser",`) || !strings.HasSuffix(types, `["1 + 1","Int64"]]`) {
		t.Errorf("types %s", types)
	}
}

// A row counts against the memory of the query, and a result has at most 32 MiB (§5.4).
func TestHogQL_Bounds(t *testing.T) {
	t.Parallel()
	s := rowsSuite()
	// A text of 1,000 · 5,000 bytes; seven rows of it are 33.4 MiB, six are 28.6.
	long := "SELECT replaceAll('" + strings.Repeat("a", 1000) + "', 'a', '" + strings.Repeat("b", 5000) + "') FROM events LIMIT "
	for limit, code := range map[string]string{"6": "", "7": document.TooLarge} {
		_, err := s.Run(t, visits(), hogqlOf(long+limit, ""), port.Options{Memory: 2 << 30})
		if got := codeOf(err); got != code {
			t.Errorf("LIMIT %s: got %v, want code %q", limit, err, code)
		}
	}
	_, err := s.Run(t, visits(), hogqlOf("SELECT groupArray(properties.n), groupArray(range(1000)) FROM events", ""), port.Options{Memory: 50_000})
	if got := codeOf(err); got != document.TooLarge {
		t.Errorf("a query of little memory: got %v", err)
	}
}

// codeOf returns the code of an error of a query, "" for nil.
func codeOf(err error) string {
	var fault *port.Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &fault):
		return fault.Code
	}
	return err.Error()
}

// HogQLMetadata reports an error of the text as its result, with the offsets of its word in
// characters.
func TestHogQL_Metadata(t *testing.T) {
	t.Parallel()
	s := rowsSuite()
	for _, c := range []struct{ of, query, members, errors string }{
		{"a valid query", "SELECT count() FROM events", "", `[]`},
		{"the language", "SELECT 1", `, "language": "hogQL"`, `[]`},
		{"an unknown function", "SELECT frob(1)", "", `[{"start":7,"end":11,"message":"Unknown function \"frob\" at line 1, column 8"}]`},
		{"characters, not bytes", "SELECT 'ä', frob(1)", "", `[{"start":12,"end":16,"message":"Unknown function \"frob\" at line 1, column 13"}]`},
		{"an unknown field of the second line", "SELECT\nfrob FROM events", "", `[{"start":7,"end":11,"message":"Unknown field \"frob\" at line 2, column 1"}]`},
		{"a placeholder with a value", "SELECT {x}", `, "values": {"x": 1}`, `[]`},
	} {
		got, err := s.Run(t, visits(), strings.Replace(hogqlOf(c.query, c.members), "HogQLQuery", "HogQLMetadata", 1), port.Options{})
		if err != nil {
			t.Errorf("%s: %v", c.of, err)
			continue
		}
		found, valid := string(wire.MustEncode(got.Extra["errors"])), got.Extra["isValid"]
		if found != c.errors || valid != (c.errors == "[]") || string(wire.MustEncode(got.Extra["warnings"])) != "[]" || string(wire.MustEncode(got.Extra["notices"])) != "[]" {
			t.Errorf("%s: got %v %s, want %s", c.of, valid, found, c.errors)
		}
	}
}

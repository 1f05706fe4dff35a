package hogql

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The rules of §2.9.6 and §2.9.7 for SELECT, over the fixture H. Each result was derived by
// hand from its six events.
func TestSelect_Rows(t *testing.T) {
	for _, c := range []struct{ of, query, want string }{
		{"alias without AS, in GROUP BY and ORDER BY", "SELECT event e, count() c FROM events GROUP BY e ORDER BY c DESC, e DESC", `[["view",3],["buy",3]]`},
		{"positions are columns", "SELECT distinct_id, count() FROM events GROUP BY 1 ORDER BY 2 DESC, 1", `[["a",3],["b",2],["c",1]]`},
		{"an alias in WHERE", "SELECT toFloat(properties.amount) AS amount FROM events WHERE amount > 6 ORDER BY amount", `[[10],[20]]`},
		{"an alias wins over a field, except inside its own expression", "SELECT upper(event) AS event FROM events WHERE event = 'BUY' LIMIT 1", `[["BUY"]]`},
		{"expressions of groups", "SELECT upper(event), COUNT( ) FROM events GROUP BY upper( event ) ORDER BY upper(event)", `[["BUY",3],["VIEW",3]]`},
		{"what is worked out of groups and aggregates", "SELECT concat(event, '!'), count() * 2 + 1, max(timestamp) - INTERVAL 1 hour FROM events GROUP BY event ORDER BY event", `[["buy!",7,"2020-01-11T22:30:00Z"],["view!",7,"2020-01-13T08:15:45Z"]]`},
		{"HAVING without the aggregate in select", "SELECT distinct_id FROM events GROUP BY distinct_id HAVING count() = 2", `[["b"]]`},
		{"an aggregate over no rows is one row", "SELECT count(), sum(properties.amount), avg(properties.amount), min(event), groupArray(event), uniq(event) FROM events WHERE event = 'none'", `[[0,null,null,null,[],0]]`},
		{"no rows make no groups", "SELECT event, count() FROM events WHERE event = 'none' GROUP BY event", `[]`},
		{"-If over no rows", "SELECT countIf(event = 'none'), sumIf(properties.amount, event = 'none'), uniqIf(event, event = 'view') FROM events", `[[0,null,1]]`},
		{"sums are of num", "SELECT sum(properties.amount), avg(properties.amount), count(properties.amount), count(DISTINCT event, distinct_id) FROM events", `[[35.5,11.833333333333334,3,5]]`},
		{"min and max compare as ORDER BY: numbers before texts", "SELECT min(properties.amount), max(properties.amount) FROM events", `[[5.5,"20"]]`},
		{"numbers before texts, nulls last in both directions", "SELECT properties.amount FROM events ORDER BY properties.amount, timestamp", `[[5.5],[10],["20"],[null],[null],[null]]`},
		{"descending, nulls last", "SELECT properties.amount FROM events ORDER BY properties.amount DESC LIMIT 4", `[["20"],[10],[5.5],[null]]`},
		{"NULLS FIRST", "SELECT properties.amount FROM events ORDER BY properties.amount DESC NULLS FIRST LIMIT 4", `[[null],[null],[null],["20"]]`},
		{"LIMIT offset, n", "SELECT distinct_id FROM events ORDER BY timestamp LIMIT 1, 2", `[["a"],["b"]]`},
		{"OFFSET alone", "SELECT distinct_id FROM events ORDER BY timestamp OFFSET 4", `[["c"],["a"]]`},
		{"median, quantiles", "SELECT median(properties.amount), quantile(0.25)(properties.amount), quantiles(0, 1)(properties.amount) FROM events", `[[10,7.75,[5.5,20]]]`},
		{"any and groupArray in order of time, without nulls", "SELECT any(properties.item), anyLast(properties.item), groupArray(properties.item), groupUniqArray(distinct_id), groupArray(2)(event) FROM events", `[["pen","Pen",["pen","Pen"],["a","b","c"],["buy","buy"]]]`},
		{"argMax, argMin: rows with a null are left out", "SELECT argMax(distinct_id, properties.amount), argMin(properties.amount, timestamp), argMaxIf(event, timestamp, event = 'buy') FROM events", `[["a",10,"buy"]]`},
		{"spread of 10, 20, 5.5", "SELECT round(varPop(properties.amount), 4), round(varSamp(properties.amount), 4), round(stddevPop(properties.amount), 4), round(stddevSamp(properties.amount), 4) FROM events", `[[36.7222,55.0833,6.0599,7.4218]]`},
		{"property paths", "SELECT properties['item'], properties.`item`, properties.none.below, JSONExtractString(properties, 'item'), JSONExtractString(properties, 'tags', 2) FROM events LIMIT 1", `[["pen","pen",null,"pen","y"]]`},
		{"lists are their JSON", "SELECT properties.tags, JSONExtractArrayRaw(properties.tags), has(properties.tags, 'y'), length(properties.tags) FROM events LIMIT 1", `[["[\"x\",\"y\"]",["\"x\"","\"y\""],1,9]]`},
		{"WHERE and PREWHERE", "SELECT count() FROM events PREWHERE event = 'buy' WHERE distinct_id = 'a'", `[[2]]`},
		{"{filters}", "SELECT count() FROM events WHERE {filters} AND distinct_id = 'b'", `[[1]]`},
		{"IN COHORT", "SELECT count() FROM events WHERE person_id IN COHORT 'a' OR person_id NOT IN COHORT 'a' AND event = 'view'", `[[5]]`},
		{"the table before a field", "SELECT e.event, e.properties.item FROM events AS e WHERE e.distinct_id = 'a' LIMIT 1", `[["buy","pen"]]`},
		{"a property with a number, a boolean, a text", "SELECT countIf(properties.amount = 20), countIf(properties.amount = '20'), countIf(properties.amount > '2'), countIf(properties.amount = true) FROM events", `[[1,1,2,0]]`},
		{"two properties", "SELECT countIf(properties.amount = properties.amount), countIf(properties.item < properties.amount) FROM events", `[[6,0]]`},
		{"DISTINCT of groups", "SELECT DISTINCT count() FROM events GROUP BY event", `[[3]]`},
		{"lambdas see fields", "SELECT arrayFilter(x -> x = distinct_id, ['a', 'b']) FROM events ORDER BY timestamp DESC LIMIT 1", `[[["a"]]]`},
		{"times compare with texts", "SELECT count() FROM events WHERE timestamp >= '2020-01-12' AND timestamp < '2020-01-13T00:00:00Z'", `[[2]]`},
		{"toDate is local", "SELECT toDate(timestamp) AS d, count() FROM events GROUP BY d ORDER BY d LIMIT 2", `[["2020-01-10",2],["2020-01-11",1]]`},
	} {
		t.Run(c.of, func(t *testing.T) { checkAnswer(t, c.query, Context{}, fixtureH, c.want) })
	}
	values := Context{Values: map[string]any{"who": "a", "list": []any{"b", "c"}, "none": nil}, Variables: map[string]any{"least": 6.0}}
	checkAnswer(t, "SELECT count() FROM events WHERE distinct_id = {who} OR distinct_id IN {list}", values, fixtureH, `[[6]]`)
	checkAnswer(t, "SELECT countIf(properties.amount > {variables.least}), countIf(properties.item = {none}) FROM events", values, fixtureH, `[[2,4]]`)
}

// The key of a group is a number only if it is a number in all rows (§2.9.7).
func TestSelect_MixedGroups(t *testing.T) {
	mixed := []event{
		{"x", "a", "2020-01-01T00:00:00Z", map[string]string{"n": "10", "whole": "1", "b": "true"}},
		{"x", "a", "2020-01-01T00:00:01Z", map[string]string{"n": `"10"`, "whole": "1.0", "b": `"true"`}},
	}
	checkAnswer(t, "SELECT properties.n, count() FROM events GROUP BY properties.n", Context{}, mixed, `[["10",2]]`)
	checkAnswer(t, "SELECT properties.whole, count() FROM events GROUP BY properties.whole", Context{}, mixed, `[[1,2]]`)
	checkAnswer(t, "SELECT DISTINCT properties.b FROM events", Context{}, mixed, `[["true"]]`)
	large := []event{{"x", "a", "2020-01-01T00:00:00Z", map[string]string{"n": "12345678901234567891"}}, {"x", "a", "2020-01-01T00:00:01Z", map[string]string{"n": "12345678901234567892"}}}
	checkAnswer(t, "SELECT properties.n, toString(properties.n), count() FROM events GROUP BY properties.n", Context{}, large, `[[12345678901234567891,"12345678901234567891",1],[12345678901234567892,"12345678901234567892",1]]`) // §1.4
	checkAnswer(t, "SELECT uniq(properties.n), count(DISTINCT properties.b) FROM events", Context{}, mixed, `[[1,1]]`)
}

// Columns and types have the names of §2.9.7.
func TestSelect_ColumnsAndTypes(t *testing.T) {
	for _, c := range []struct {
		query          string
		columns, types []string
	}{
		{"SELECT event, properties.$browser, count() AS n, uniq( person_id ) FROM events GROUP BY 1, 2", []string{"event", "$browser", "n", "uniq( person_id )"}, []string{"String", "Nullable(String)", "UInt64", "UInt64"}},
		{"SELECT timestamp, toDate(timestamp), 1, 1.5, 1 = 1, [1, 2], NULL, sum(1) FROM events GROUP BY timestamp", []string{"timestamp", "toDate(timestamp)", "1", "1.5", "1 = 1", "[1, 2]", "NULL", "sum(1)"}, []string{"DateTime64(6, 'UTC')", "Date", "Int64", "Float64", "UInt8", "Array(Int64)", "Nullable(String)", "Nullable(Int64)"}},
		{"SELECT * FROM events", []string{"event", "distinct_id", "timestamp"}, []string{"String", "String", "DateTime64(6, 'UTC')"}},
		{"SELECT person_id, toTimeZone(timestamp, 'Asia/Tokyo'), toFloat(event),\n event  ||  'x' /* c */ FROM events", []string{"person_id", "toTimeZone(timestamp, 'Asia/Tokyo')", "toFloat(event)", "event || 'x'"}, []string{"UUID", "DateTime64(6, 'Asia/Tokyo')", "Nullable(Float64)", "String"}},
	} {
		result, _, err := runQuery(t, c.query, Context{}, nil)
		if err != nil {
			t.Errorf("%s: %v", c.query, err)
			continue
		}
		if diff := cmp.Diff([][]string{c.columns, c.types}, [][]string{result.Columns, result.Types}); diff != "" {
			t.Errorf("%s: -want +got:\n%s", c.query, diff)
		}
	}
}

// Without LIMIT there are 100 rows, and More is set; with LIMIT it is not (§2.9.5).
func TestSelect_Limits(t *testing.T) {
	many := make([]event, 250)
	for i := range many {
		many[i] = fixtureH[i%6]
	}
	for _, c := range []struct {
		query               string
		rows, limit, offset int
		more                bool
	}{
		{"SELECT event FROM events", 100, 100, 0, true},
		{"SELECT event FROM events OFFSET 200", 50, 100, 200, false},
		{"SELECT event FROM events LIMIT 120", 120, 120, 0, false},
		{"SELECT event FROM events LIMIT 0", 0, 0, 0, false},
		{"SELECT event FROM events LIMIT 70000", 250, 50_000, 0, false},
		{"SELECT DISTINCT event FROM events", 2, 100, 0, false},
	} {
		result, _, err := runQuery(t, c.query, Context{}, many)
		if err != nil {
			t.Errorf("%s: %v", c.query, err)
			continue
		}
		if len(result.Rows) != c.rows || result.Limit != c.limit || result.Offset != c.offset || result.More != c.more {
			t.Errorf("%s: %d rows, limit %d, offset %d, more %t; want %+v", c.query, len(result.Rows), result.Limit, result.Offset, result.More, c)
		}
	}
}

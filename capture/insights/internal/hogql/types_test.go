package hogql

import (
	"math"
	"slices"
	"testing"
	"time"
)

// types of §2.9.7 for each kind of expression. A result that may be null is Nullable.
func TestTypes_OfExpressions(t *testing.T) {
	for typ, all := range map[string][]string{
		"String":                         {"'a'", "event", "lower(event)", "concat(properties.a, 'b')", "ifNull(properties.a, 'x')", "formatDateTime(timestamp, '%Y')", "if(1 = 1, 'a', 'b')", "arrayStringConcat([1])", "JSONExtractString(event, 'a')"},
		"Nullable(String)":               {"NULL", "properties.a", "lower(properties.a)", "if(1 = 2, 'a', NULL)", "nullIf(event, 'a')", "toNullable(event)", "assumeNotNull(properties.a)", "coalesce(properties.a, properties.b)", "domain(properties.url)", "['a', NULL][1]"},
		"Int64":                          {"1", "1 + 2", "length(event) * 2", "7 DIV 2", "sign(-1)", "toYear(timestamp)", "dateDiff('day', timestamp, now())", "abs(-1)", "round(7)", "toUnixTimestamp(timestamp)"},
		"Nullable(Int64)":                {"toInt(event)", "1 + NULL DIV 2", "if(1 = 2, 1, NULL)"},
		"UInt64":                         {"length(event)", "lengthUTF8(event)", "position(event, 'a')", "JSONLength(event)", "indexOf([1], 1)"},
		"UInt8":                          {"1 = 1", "event LIKE 'a'", "NOT 1", "isNull(properties.a)", "properties.a > 1", "match(event, 'a')", "true", "1 IN (1)", "startsWith(event, 'a')", "empty(event)"},
		"Float64":                        {"1.5", "1 / 2", "sqrt(4)", "1 + 0.5", "pow(2, 2)", "if(1 = 1, 1, 2.5)"},
		"Nullable(Float64)":              {"toFloat(event)", "properties.a + 1", "-properties.a"},
		"DateTime64(6, 'UTC')":           {"timestamp", "now()", "toStartOfHour(timestamp)", "toStartOfDay(timestamp)", "timestamp + INTERVAL 1 day", "toDate(timestamp) + INTERVAL 1 hour"},
		"DateTime64(6, 'Asia/Tokyo')":    {"toTimeZone(timestamp, 'Asia/Tokyo')", "toStartOfDay(toTimeZone(timestamp, 'Asia/Tokyo'))"},
		"Nullable(DateTime64(6, 'UTC'))": {"toDateTime(event)", "toStartOfDay(properties.a)"},
		"Date":                           {"toDate(timestamp)", "today()", "toStartOfMonth(timestamp)", "toStartOfWeek(timestamp)", "today() + INTERVAL 1 day", "dateTrunc('month', timestamp)"},
		"Nullable(Date)":                 {"toDate(event)"},
		"UUID":                           {"person_id", "uuid"},
		"Nullable(UUID)":                 {"toUUID(event)"},
		"Array(Int64)":                   {"[1, 2]", "range(3)", "arrayMap(x -> x + 1, [1])", "arraySort([2, 1])"},
		"Array(String)":                  {"['a']", "splitByChar(',', event)", "(1, 'a')"},
		"Array(Float64)":                 {"[1, 2.5]"},
		"Array(Array(Int64))":            {"[[1]]"},
	} {
		for _, expr := range all {
			result, _, err := runQuery(t, "SELECT "+expr+" FROM events", Context{}, nil)
			if err != nil {
				t.Errorf("%s: %v", expr, err)
			} else if result.Types[0] != typ {
				t.Errorf("%s: type %s, want %s", expr, result.Types[0], typ)
			}
		}
	}
	for typ, all := range map[string][]string{
		"UInt64":                         {"count()", "uniq(event)", "countIf(1)", "count(DISTINCT event)"},
		"Nullable(Float64)":              {"avg(1)", "median(1)", "sum(properties.a)", "varPop(1)"},
		"Nullable(Int64)":                {"sum(1)"},
		"Nullable(String)":               {"any(event)", "min(event)", "max(properties.a)", "argMax(event, timestamp)"},
		"Array(String)":                  {"groupArray(event)", "groupUniqArray(properties.a)"},
		"Array(Float64)":                 {"quantiles(0.5)(properties.a)"},
		"Nullable(DateTime64(6, 'UTC'))": {"max(timestamp)"},
	} {
		for _, expr := range all {
			result, _, err := runQuery(t, "SELECT "+expr+" FROM events", Context{}, nil)
			if err != nil {
				t.Errorf("%s: %v", expr, err)
			} else if result.Types[0] != typ {
				t.Errorf("%s: type %s, want %s", expr, result.Types[0], typ)
			}
		}
	}
}

// The time zone of a type is that of the project.
func TestTypes_Zone(t *testing.T) {
	result, _, err := runQuery(t, "SELECT now(), [now()]", contextIn(t, "Europe/Berlin"), nil)
	if want := []string{"DateTime64(6, 'Europe/Berlin')", "Array(DateTime64(6, 'Europe/Berlin'))"}; err != nil || !slices.Equal(result.Types, want) {
		t.Errorf("got %v, %v, want %v", result, err, want)
	}
}

// Conditions of WHERE bound the time and the names of rows that have to be read. A bound may
// be too wide, but never too narrow.
func TestNarrow_Bounds(t *testing.T) {
	at := func(d, h int) int64 { return time.Date(2020, 1, d, h, 0, 0, 0, time.UTC).UnixMicro() }
	const low, high = int64(math.MinInt64), int64(math.MaxInt64)
	for _, c := range []struct {
		of, where string
		from, to  int64
		names     []string
		filtered  bool
	}{
		{"no condition on either", "properties.a = 1", low, high, nil, false},
		{"strictly later", "timestamp > '2020-01-02'", at(2, 0), high, nil, false},
		{"strictly earlier", "timestamp < '2020-01-02'", low, at(2, 0), nil, false},
		{"at most", "timestamp <= '2020-01-02 10:00'", low, at(2, 10), nil, false},
		{"the operands reversed", "'2020-01-02' > timestamp", low, at(2, 0), nil, false},
		{"at least, reversed", "'2020-01-02' <= timestamp", at(2, 0), high, nil, false},
		{"equal", "timestamp = '2020-01-02'", at(2, 0), at(2, 0), nil, false},
		{"different", "timestamp != '2020-01-02'", low, high, nil, false},
		{"between", "timestamp BETWEEN '2020-01-02' AND '2020-01-03'", at(2, 0), at(3, 0), nil, false},
		{"not between", "timestamp NOT BETWEEN '2020-01-02' AND '2020-01-03'", low, high, nil, false},
		{"the narrower of two", "timestamp > '2020-01-02' AND timestamp > '2020-01-04'", at(4, 0), high, nil, false},
		{"in any order", "timestamp > '2020-01-04' AND timestamp > '2020-01-02'", at(4, 0), high, nil, false},
		{"nested", "(timestamp > '2020-01-02' AND event = 'a') AND (properties.b = 1 AND timestamp < '2020-01-03')", at(2, 0), at(3, 0), []string{"a"}, false},
		{"the function of the operator", "greaterOrEquals(timestamp, '2020-01-02')", at(2, 0), high, nil, false},
		{"a constant expression", "timestamp >= toDate('2020-01-02') + INTERVAL 1 day", at(3, 0), high, nil, false},
		{"an alternative bounds nothing", "timestamp > '2020-01-02' OR 1 = 1", low, high, nil, false},
		{"a negation bounds nothing", "NOT timestamp > '2020-01-02'", low, high, nil, false},
		{"a condition of a function of the time bounds nothing", "toStartOfDay(timestamp) = '2020-01-02'", low, high, nil, false},
		{"a field bounds nothing", "timestamp > properties.a", low, high, nil, false},
		{"an empty range", "timestamp > '2020-01-04' AND timestamp < '2020-01-02'", at(4, 0), at(2, 0), nil, false},
		{"a name", "event = 'a'", low, high, []string{"a"}, false},
		{"a name reversed", "'a' = event", low, high, []string{"a"}, false},
		{"names", "event IN ('a', 'b')", low, high, []string{"a", "b"}, false},
		{"other names", "event NOT IN ('a', 'b')", low, high, nil, false},
		{"another name", "event != 'a'", low, high, nil, false},
		{"names in both lists", "event IN ('a', 'b') AND event IN ('b', 'c')", low, high, []string{"b"}, false},
		{"no name in both", "event = 'a' AND event = 'b'", low, high, []string{}, false},
		{"a pattern of names", "event LIKE 'a%'", low, high, nil, false},
		{"an alternative of names", "event = 'a' OR event = 'b'", low, high, nil, false},
		{"a null name bounds nothing", "event = NULL", low, high, nil, false},
		{"a name of a placeholder", "event IN {names}", low, high, []string{"x", "y"}, false},
		{"filters", "{filters} AND event = 'a'", low, high, []string{"a"}, true},
		{"an alternative to filters", "{filters} OR event = 'a'", low, high, nil, false},
		{"the table before the field", "e.event = 'a'", low, high, []string{"a"}, false},
	} {
		statement, err := ParseSelect("SELECT event FROM events e WHERE " + c.where)
		if err != nil {
			t.Fatal(err)
		}
		scope := testScope()
		scope.Time, scope.Name = "timestamp", "event"
		q, err := statement.Compile(scope, Context{Now: testNow, Values: map[string]any{"names": []any{"x", "y"}}})
		if err != nil {
			t.Errorf("%s: %v", c.of, err)
			continue
		}
		from, to := q.Range()
		if from != c.from || to != c.to || !slices.Equal(q.Names(), c.names) || (q.Names() == nil) != (c.names == nil) || q.HasFilters() != c.filtered {
			t.Errorf("%s: %d to %d, %q, filters %t, want %d to %d, %q, filters %t", c.of, from, to, q.Names(), q.HasFilters(), c.from, c.to, c.names, c.filtered)
		}
	}
	// An alias with the name of the field is another value, so it bounds nothing.
	statement, err := ParseSelect("SELECT timestamp + INTERVAL 1 day AS timestamp, upper(event) AS event FROM events WHERE timestamp > '2020-01-02' AND event = 'A'")
	if err != nil {
		t.Fatal(err)
	}
	scope := testScope()
	scope.Time, scope.Name = "timestamp", "event"
	q, err := statement.Compile(scope, Context{})
	if err != nil {
		t.Fatal(err)
	}
	if from, to := q.Range(); from != low || to != high || q.Names() != nil {
		t.Errorf("aliases: %d to %d, %q, want no bounds", from, to, q.Names())
	}
}

package hogql

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// operands are values of all kinds that may be compared.
var operands = []string{"properties.amount", "properties.item", "properties.none", "event", "1", "'pen'", "20", "NULL", "true", "5.5", "'x' || 'y'"}

// Comparisons are never null, and each has an opposite (§2.9.7).
func TestLaws_Comparisons(t *testing.T) {
	opposites := [][2]string{{"%s = %s", "%s != %s"}, {"%s LIKE %s", "%s NOT LIKE %s"}, {"%s ILIKE %s", "%s NOT ILIKE %s"}, {"%s =~ %s", "%s !~ %s"}, {"%s IN (%s, 1)", "%s NOT IN (%s, 1)"}, {"%s BETWEEN %s AND 9", "%s NOT BETWEEN %s AND 9"}, {"%s < %s", "NOT %s < %s"}}
	ran := 0
	for _, a := range operands {
		for _, b := range operands {
			for _, o := range opposites {
				one, other := fmt.Sprintf(o[0], a, b), fmt.Sprintf(o[1], a, b)
				result, rows, err := runQuery(t, "SELECT "+one+", "+other+" FROM events", Context{}, fixtureH)
				var e *Error
				if errors.As(err, &e) && e.Code == TypeError {
					continue // such as a string with a number
				}
				if err != nil {
					t.Fatalf("%s: %v", one, err)
				}
				ran++
				for _, r := range result.Rows {
					if r[0].Kind() != Int || r[1].Kind() != Int || r[0].Int()+r[1].Int() != 1 {
						t.Errorf("%s and %s: %s, want opposites", one, other, rows)
					}
				}
			}
		}
	}
	if ran < 300 {
		t.Errorf("%d pairs were compared, want at least 300", ran)
	}
}

// The result does not depend on the order of the rows.
func TestLaws_OrderOfRows(t *testing.T) {
	queries := []string{
		"SELECT event, any(distinct_id), anyLast(distinct_id), groupArray(distinct_id), groupArray(2)(distinct_id), groupUniqArray(event), argMax(distinct_id, event), argMin(distinct_id, event), min(properties.amount), max(properties.amount), median(properties.amount) FROM events GROUP BY event",
		"SELECT distinct_id, event FROM events LIMIT 3",
		"SELECT DISTINCT event FROM events",
		"SELECT DISTINCT distinct_id FROM events ORDER BY timestamp DESC",
		"SELECT distinct_id FROM events ORDER BY event LIMIT 2 OFFSET 1",
		"SELECT properties.amount, count() FROM events GROUP BY properties.amount",
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for _, query := range queries {
		_, want, err := runQuery(t, query, Context{}, fixtureH)
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			if got := runShuffled(t, query, rng.Perm(len(fixtureH))); got != want {
				t.Errorf("%s: in another order %s, want %s", query, got, want)
			}
		}
	}
}

func runShuffled(t *testing.T, query string, order []int) string {
	statement, err := ParseSelect(query)
	if err != nil {
		t.Fatal(err)
	}
	scope := testScope()
	q, err := statement.Compile(scope, Context{})
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range order {
		if err := q.Add(rowOf(t, scope, fixtureH[i], i+1)); err != nil {
			t.Fatal(err)
		}
	}
	result, err := q.Result()
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, row := range result.Rows {
		out := []byte{'['}
		for k, v := range row {
			if k > 0 {
				out = append(out, ',')
			}
			out = q.AppendJSON(out, v)
		}
		rows = append(rows, string(append(out, ']')))
	}
	return "[" + strings.Join(rows, ",") + "]"
}

// Aggregates have the same results as simple sums over the same numbers.
func TestLaws_AggregatesAreSums(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		var events []event
		var numbers []float64
		distinct := map[int]bool{}
		for i := range 1 + rng.IntN(60) {
			e := event{"x", "a", fmt.Sprintf("2020-01-01T00:00:%02dZ", i%60), map[string]string{}}
			switch n := rng.IntN(20); rng.IntN(4) {
			case 0: // no value
			case 1:
				e.properties["n"] = `"text"`
			default:
				e.properties["n"] = fmt.Sprint(n)
				numbers = append(numbers, float64(n))
				distinct[n] = true
			}
			events = append(events, e)
		}
		result, _, err := runQuery(t, "SELECT count(), count(toFloat(properties.n)), sum(properties.n), avg(properties.n), uniq(toFloat(properties.n)), varPop(properties.n), quantile(0.9)(properties.n), sumIf(properties.n, properties.n > 9), max(toFloat(properties.n)) FROM events", Context{}, events)
		if err != nil {
			t.Fatal(err)
		}
		want := naive(numbers, len(events), len(distinct))
		for i, v := range result.Rows[0] {
			got := math.NaN()
			if !v.IsNull() {
				got, _ = v.Num()
			}
			if !(math.Abs(got-want[i]) <= 1e-9) && !(math.IsNaN(got) && math.IsNaN(want[i])) {
				t.Errorf("column %d over %v: got %v, want %v", i+1, numbers, got, want[i])
			}
		}
	}
}

func naive(numbers []float64, rows, distinct int) []float64 {
	nan := math.NaN()
	want := []float64{float64(rows), float64(len(numbers)), nan, nan, float64(distinct), nan, nan, nan, nan}
	if len(numbers) == 0 {
		return want
	}
	sum, high := 0.0, nan
	for _, n := range numbers {
		sum += n
		if n > 9 && math.IsNaN(high) {
			high = n
		} else if n > 9 {
			high += n
		}
	}
	mean := sum / float64(len(numbers))
	squares := 0.0
	for _, n := range numbers {
		squares += (n - mean) * (n - mean)
	}
	sorted := slices.Sorted(slices.Values(numbers))
	at := float64(len(sorted)-1) * 0.9
	low, high2 := sorted[int(at)], sorted[min(int(at)+1, len(sorted)-1)]
	return append(want[:2], sum, mean, float64(distinct), squares/float64(len(numbers)), low+(at-math.Floor(at))*(high2-low), high, sorted[len(sorted)-1])
}

// Exceeding a limit is an error of the query, and does not end the process (§5.4).
func TestLaws_Bounds(t *testing.T) {
	double := func(first, each string) string {
		q := "SELECT " + first + " AS a0"
		for i := range 40 {
			q += fmt.Sprintf(", "+each+" AS a%[2]d", fmt.Sprintf("a%d", i), i+1)
		}
		return q
	}
	full := errors.New("full")
	for name, c := range map[string]struct {
		query string
		code  string
	}{
		"nesting":                   {"SELECT " + strings.Repeat("(", 51) + "1" + strings.Repeat(")", 51), TooLarge},
		"tokens":                    {"SELECT 1" + strings.Repeat("+1", 5000), TooLarge},
		"text":                      {"SELECT '" + strings.Repeat("x", 70_000) + "'", TooLarge},
		"a text doubled 40 times":   {double("'0123456789'", "concat(%[1]s, %[1]s)"), TooLarge},
		"a list doubled 40 times":   {double("[1]", "[%[1]s, %[1]s]"), TooLarge},
		"a number doubled 40 times": {double("1", "%[1]s + %[1]s"), ""},
		"replaced":                  {"SELECT replaceAll(replaceAll('" + strings.Repeat("a", 1000) + "', 'a', '" + strings.Repeat("a", 1000) + "'), 'a', '" + strings.Repeat("a", 1000) + "')", TooLarge},
		"comparisons 45 deep":       {"SELECT count() FROM events WHERE " + strings.Repeat("if(event = 'a', ", 45) + "event = 'b'" + strings.Repeat(", 'x') = 'y'", 45), ""},
		"a range":                   {"SELECT range(100000000)", TooLarge},
		"a pattern of many steps":   {"SELECT match(arrayStringConcat(arrayMap(x -> 'xxxxxxxxxxxxxxxxxxxx', range(400000))), 'x{1000}y')", TooLarge},
		"steps of a replacement":    {"SELECT length(replaceRegexpAll(arrayStringConcat(arrayMap(x -> 'xxxxxxxxxxxxxxxxxxxx', range(400000))), 'x{1000}y', ''))", TooLarge},
		"steps of extract":          {"SELECT extract(arrayStringConcat(arrayMap(x -> 'xxxxxxxxxxxxxxxxxxxx', range(400000))), 'x{1000}y')", TooLarge},
		"a pattern":                 {"SELECT match('a', '" + strings.Repeat("a", 1001) + "')", TooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := runQuery(t, c.query, Context{}, nil)
			var e *Error
			if errors.As(err, &e); c.code == "" && err != nil || c.code != "" && (e == nil || e.Code != c.code) {
				t.Errorf("got %.300v, want %q", err, c.code)
			}
		})
	}
	checkEnded := func(query string, c Context) {
		t.Helper()
		if _, _, err := runQuery(t, query, c, slices.Repeat(fixtureH, 2000)); !errors.Is(err, full) {
			t.Errorf("%s: got %v, want the bound's error", query, err)
		}
	}
	held := int64(0)
	reserve := func(n int64) error {
		if held += n; held > 80<<10 {
			return full
		}
		return nil
	}
	for _, query := range []string{
		"SELECT groupArray(event) FROM events",
		"SELECT median(properties.amount) FROM events",
		"SELECT event FROM events ORDER BY event LIMIT 50000",
	} {
		held = 0
		checkEnded(query, Context{Reserve: reserve})
	}
	held = 0
	if _, _, err := runQuery(t, "SELECT event FROM events ORDER BY timestamp LIMIT 5", Context{Reserve: reserve}, slices.Repeat(fixtureH, 2000)); err != nil {
		t.Errorf("five rows of 12,000: %v, want room for them", err)
	}
	checkEnded("SELECT length(replaceRegexpAll(arrayStringConcat(arrayMap(x -> 'aaaaaaaaaa', range(100000))), 'a(.*b)?', '')) FROM events", Context{Check: func() error { return full }})
	checkEnded("SELECT arrayMap(x -> arraySum(arrayMap(y -> y, range(1000))), range(1000)) FROM events", Context{Check: func() error { return full }})
}

// The bounds that WHERE sets on time and name are available before rows are read.
func TestQuery_Range(t *testing.T) {
	day := func(d int) int64 { return time.Date(2020, 1, d, 0, 0, 0, 0, time.UTC).UnixMicro() }
	for _, c := range []struct {
		where    string
		from, to int64
		names    []string
	}{
		{"timestamp >= '2020-01-02' AND timestamp < '2020-01-05' AND event = 'buy'", day(2), day(5), []string{"buy"}},
		{"timestamp BETWEEN '2020-01-02' AND toDate('2020-01-04')", day(2), day(4), nil},
		{"'2020-01-03' <= timestamp AND event IN ('a', 'b') AND event IN ('b', 'c')", day(3), math.MaxInt64, []string{"b"}},
		{"timestamp > today() - INTERVAL 1 day", time.Date(2020, 2, 28, 0, 0, 0, 0, time.UTC).UnixMicro(), math.MaxInt64, nil},
		{"timestamp >= '2020-01-02' OR event = 'buy'", math.MinInt64, math.MaxInt64, nil},
		{"NOT timestamp >= '2020-01-02' AND NOT event = 'buy' AND event != 'x'", math.MinInt64, math.MaxInt64, nil},
		{"e.timestamp = '2020-01-02'", day(2), day(2), nil},
	} {
		statement, err := ParseSelect("SELECT count() FROM events e WHERE " + c.where)
		if err != nil {
			t.Fatal(err)
		}
		scope := testScope()
		scope.Time, scope.Name = "timestamp", "event"
		q, err := statement.Compile(scope, Context{Now: testNow})
		if err != nil {
			t.Fatal(err)
		}
		from, to := q.Range()
		if from != c.from || to != c.to || !slices.Equal(q.Names(), c.names) {
			t.Errorf("%s: %d to %d, %q, want %d to %d, %q", c.where, from, to, q.Names(), c.from, c.to, c.names)
		}
	}
}

// Items that are evaluated after a batch are the same as if they had been evaluated
// immediately.
func TestQuery_Settle(t *testing.T) {
	query := "SELECT concat(event, distinct_id) FROM events ORDER BY properties.item DESC, timestamp DESC LIMIT 3"
	_, want, err := runQuery(t, query, Context{}, fixtureH)
	if err != nil {
		t.Fatal(err)
	}
	statement, err := ParseSelect(query)
	if err != nil {
		t.Fatal(err)
	}
	scope := testScope()
	q, err := statement.Compile(scope, Context{})
	if err != nil {
		t.Fatal(err)
	}
	for from := 0; from < len(fixtureH); from += 2 {
		row := func(i int) *Row {
			r := rowOf(t, scope, fixtureH[from+i], from+i+1)
			r.Deferred, r.Index = true, i
			return r
		}
		for i := range 2 {
			if err := q.Add(row(i)); err != nil {
				t.Fatal(err)
			}
		}
		if err := q.EvaluateDeferred(row); err != nil {
			t.Fatal(err)
		}
	}
	result, err := q.Result()
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintf("[[%q],[%q],[%q]]", result.Rows[0][0].Text(), result.Rows[1][0].Text(), result.Rows[2][0].Text())
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

package hogql

import (
	"fmt"
	"testing"
)

// benchRows returns rows for the fields of a query, with some names and people and the times
// of a month.
func benchRows(b *testing.B, query string) (*Query, []Row) {
	statement, err := ParseSelect(query)
	if err != nil {
		b.Fatal(err)
	}
	scope := testScope()
	q, err := statement.Compile(scope, Context{Now: testNow})
	if err != nil {
		b.Fatal(err)
	}
	rows := make([]Row, 100_000)
	for i := range rows {
		rows[i] = Row{Time: 1_577_836_800_000_000 + int64(i)*25_000_000, ID: int64(i)}
		for _, f := range scope.Fields() {
			var v Value
			switch f.Path[0] {
			case "event":
				v = TextOf([]string{"$pageview", "$pageleave", "buy"}[i%3])
			case "person_id":
				v = UUIDOf(fmt.Sprintf("00000000-0000-4000-8000-%012x", i%1000))
			case "timestamp":
				v = TimeOf(rows[i].Time)
			case "properties":
				v = Property([]string{`"Chrome"`, `"Firefox"`, "7", "12.5"}[i%4])
			}
			rows[i].Fields = append(rows[i].Fields, v)
		}
	}
	return q, rows
}

// The time is for one row. After the first rows of each group there are no allocations.
func BenchmarkQuery_NoAlloc(b *testing.B) {
	for name, query := range map[string]string{
		"count":      "SELECT count() FROM events WHERE event = '$pageview'",
		"days":       "SELECT toStartOfDay(timestamp) AS day, count() FROM events GROUP BY day",
		"people":     "SELECT toStartOfDay(timestamp) AS day, uniq(person_id) FROM events GROUP BY day",
		"properties": "SELECT properties.$browser AS b, count(), avg(properties.$browser) FROM events GROUP BY b",
		"heap":       "SELECT event, timestamp FROM events ORDER BY timestamp LIMIT 10",
		"case":       "SELECT countIf(event LIKE '$page%' AND toHour(timestamp) BETWEEN 9 AND 17), sum(if(event = 'buy', 1, 0)) FROM events",
	} {
		b.Run(name, func(b *testing.B) {
			q, rows := benchRows(b, query)
			add := func(i int) {
				if err := q.Add(&rows[i%len(rows)]); err != nil {
					b.Fatal(err)
				}
			}
			for i := range rows { // groups, and each person of each day
				add(i)
			}
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				add(i)
			}
			b.StopTimer()
			if n := testing.AllocsPerRun(1000, func() { add(0) }); n != 0 {
				b.Errorf("%v allocations for a row, want none", n)
			}
		})
	}
}

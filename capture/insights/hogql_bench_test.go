package insights

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/capture/insights/port"
)

// BenchmarkHogQL measures HogQL over batches in memory, and the same query as a trend.
func BenchmarkHogQL(b *testing.B) {
	s := benchSource()
	for _, q := range []struct{ name, query string }{
		{"CountByDay", sql("SELECT toStartOfDay(timestamp) AS day, count() FROM events WHERE event = '$pageview' GROUP BY day")},
		{"CountByDay/trend", `{"kind":"TrendsQuery","series":[{"kind":"EventsNode","event":"$pageview"}],` + trendsRange + `}`},
		{"UniqueByDay", sql("SELECT toStartOfDay(timestamp) AS day, uniq(person_id) FROM events WHERE event = '$pageview' GROUP BY day")},
		{"PropertyFilter", sql("SELECT count() FROM events WHERE properties.$browser = 'Chrome'")},
		{"ByProperty", sql("SELECT properties.$browser AS b, sum(properties.amount) FROM events GROUP BY b ORDER BY 2 DESC")},
		{"Newest", sql("SELECT event, properties.$current_url FROM events ORDER BY timestamp DESC LIMIT 100")},
	} {
		b.Run(q.name, func(b *testing.B) {
			p := &port.Project{ID: 1}
			b.ReportAllocs()
			for b.Loop() {
				parsed, err := Parse(json.RawMessage(q.query), p)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := parsed.Run(b.Context(), s, port.Options{Now: time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchEvents, "ns/event")
		})
	}
}

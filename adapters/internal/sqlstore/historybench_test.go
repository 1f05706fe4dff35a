package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// historyEvents is the number of events of BenchmarkHistory unless BUNTING_BENCH_EVENTS is set, in some 60
// full blocks.
const historyEvents = 1_000_000

// fillHistory commits and indexes total events of 100,000 distinct ids in the order of their times. Every
// 20,000th event is of the distinct id "regular", which is in all full blocks, and every 100,000th of the
// distinct id "rare", which is in most segments.
func fillHistory(b *testing.B, s *Store, total int) {
	const size = 1000
	start, random, pages := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), rand.New(rand.NewPCG(1, 2)), benchPages(300)
	for first := 0; first < total; first += size {
		keys, list := make([]capture.EventKey, size), make([]capture.Record, size)
		for i := range list {
			n, id := first+i, fmt.Sprintf("person-%d@example.com", random.IntN(100_000))
			switch {
			case n%20_000 == 0:
				id = "regular"
			case n%100_000 == 50_000:
				id = "rare"
			}
			at := start.Add(time.Duration(n) * time.Second)
			list[i] = capture.Record{
				ProjectID: 1, UUID: benchUUID(n, 4+3*(n%2)), Name: fmt.Sprint("event ", n%7), DistinctID: id, PersonID: capture.PersonID(1, id), PersonCreatedAt: start,
				Properties: pages[n%len(pages)], Timestamp: at, CreatedAt: at, PersonProperties: "{}",
			}
			keys[i] = capture.EventKey{ProjectID: 1, UUID: list[i].UUID, Name: list[i].Name, DistinctID: id}
		}
		err := s.Commit(context.Background(), []int64{1}, func(tx capture.Tx) error {
			if _, err := tx.Claim(keys); err != nil {
				return err
			}
			return tx.Save(&capture.Changes{Events: list})
		})
		for more := err == nil; more; {
			more, err = s.Index(context.Background(), true)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

// Pages of 100 events, and an event by its UUID, in a store with a million events.
func BenchmarkHistory(b *testing.B) {
	s, total := sqliteStores["disk"](b), benchEvents(b, historyEvents)
	fillHistory(b, s, total)
	size := s.Size(context.Background())
	b.Logf("%d bytes an event", (size.Database+size.WAL)/int64(total))
	benchHistory(b, s, total)
}

// BenchmarkHistorySealed is BenchmarkHistory with all events in segments. BUNTING_BENCH_FILE is a file that
// keeps the events for the next run, with the segments beside it.
func BenchmarkHistorySealed(b *testing.B) {
	total := benchEvents(b, historyEvents)
	file, isNew := benchFile(b)
	s := openSegments(b, "sqlite:"+file, file+".segments")
	if isNew {
		fillHistory(b, s, total)
		before := usedCPU(b)
		sealAll(b, s)
		b.Logf("sealing: %.1f µs of CPU an event", float64((usedCPU(b)-before).Microseconds())/float64(total))
	}
	var used, sealed int64
	err := errors.Join(s.db.Read.QueryRow(`SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, pragma_freelist_count, pragma_page_size`).Scan(&used),
		s.db.Read.QueryRow(`SELECT SUM(bytes) FROM event_segments`).Scan(&sealed))
	if err != nil {
		b.Fatal(err)
	}
	b.Logf("%d bytes an event in segments, %d in the database", sealed/int64(total), used/int64(total))
	benchHistory(b, s, total)
}

// benchHistory measures pages and single events of a store filled by fillHistory with total events.
func benchHistory(b *testing.B, s *Store, total int) {
	page := func(q capture.EventQuery, want int) func() (int, int, error) {
		q.Limit, want = 100, min(want, 100)
		return func() (int, int, error) {
			found, err := s.Events(context.Background(), 1, q)
			return len(found), want, err
		}
	}
	scan := func(columns port.Columns) func() (int, int, error) {
		return func() (found, want int, err error) {
			r, err := s.Open(context.Background(), 1)
			if err != nil {
				return 0, 0, err
			}
			err = r.Scan(context.Background(), port.Scan{Columns: columns}, func(b *port.Batch) error { found += b.Len(); return nil })
			return found, total, errors.Join(err, r.Close())
		}
	}
	// Trends of a month with a filter on a property that has a column, and on one that has none.
	question := func(key, value string) func() (int, int, error) {
		q, err := insights.Parse(fmt.Appendf(nil, `{"kind":"TrendsQuery","series":[{"kind":"EventsNode","properties":[{"key":%q,"value":%q}]}],"dateRange":{"date_from":"2026-11-01","date_to":"2026-11-30"}}`, key, value), &port.Project{ID: 1})
		if err != nil {
			b.Fatal(err)
		}
		return func() (int, int, error) {
			result, err := q.Run(context.Background(), spareSource{s}, port.Options{Now: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)})
			if err != nil {
				return 0, total, err
			}
			return int(result.Read), total, nil
		}
	}
	n := 0
	for _, run := range []struct {
		name string
		read func() (found, want int, err error)
	}{
		{"newest", page(capture.EventQuery{}, 100)},
		{"timeline", page(capture.EventQuery{DistinctIDs: []string{"regular"}}, total/20_000)},
		{"timeline-rare", page(capture.EventQuery{DistinctIDs: []string{"rare"}}, total/100_000)},
		{"unknown", page(capture.EventQuery{DistinctIDs: []string{"nobody"}}, 0)},
		{"name", page(capture.EventQuery{Name: "event 3"}, 100)},
		{"uuid", func() (int, int, error) {
			n += 7919
			e, err := s.Event(context.Background(), 1, benchUUID(n%total, 4+3*(n%total%2)))
			if e == nil {
				return 0, 1, err
			}
			return 1, 1, err
		}},
		{"scan-people", scan(port.Names | port.People)},
		{"scan-properties", scan(port.Names | port.Properties)},
		{"filter-frequent", question("$pathname", "/products/7/details")},
		{"filter-rare", question("$current_url", "https://shop.example.com/products/7/details?ref=7")},
	} {
		b.Run(run.name, func(b *testing.B) {
			before := usedCPU(b)
			for b.Loop() {
				if found, want, err := run.read(); err != nil || found != want {
					b.Fatalf("%d events, %v; want %d", found, err, want)
				}
			}
			b.ReportMetric(float64((usedCPU(b)-before).Nanoseconds())/float64(b.N), "CPU-ns/op")
		})
	}
}

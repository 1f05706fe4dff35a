package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// historyEvents is the number of events of BenchmarkHistory, in some 60 full blocks.
const historyEvents = 1_000_000

// fillHistory commits and indexes historyEvents events of 100,000 distinct ids in the order
// of their times. Every 20,000th event is of the distinct id "regular", which is in all full
// blocks.
func fillHistory(b *testing.B, s *Store) {
	const size = 1000
	start, random, pages := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), rand.New(rand.NewPCG(1, 2)), benchPages(300)
	for first := 0; first < historyEvents; first += size {
		keys, list := make([]capture.EventKey, size), make([]capture.Record, size)
		for i := range list {
			n, id := first+i, fmt.Sprintf("person-%d@example.com", random.IntN(100_000))
			if n%20_000 == 0 {
				id = "regular"
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
	s := sqliteStores["disk"](b)
	fillHistory(b, s)
	size := s.Size(context.Background())
	b.Logf("%d bytes an event", (size.Database+size.WAL)/historyEvents)
	benchHistory(b, s)
}

// BenchmarkHistorySealed is BenchmarkHistory with all events in segments.
func BenchmarkHistorySealed(b *testing.B) {
	folder := b.TempDir()
	s := openSegments(b, "sqlite:"+filepath.Join(folder, "store.db"), filepath.Join(folder, "events"))
	fillHistory(b, s)
	before := usedCPU(b)
	sealAll(b, s)
	b.Logf("sealing: %.1f µs of CPU an event", float64((usedCPU(b)-before).Microseconds())/historyEvents)
	var used, sealed int64
	err := errors.Join(s.db.Read.QueryRow(`SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, pragma_freelist_count, pragma_page_size`).Scan(&used),
		s.db.Read.QueryRow(`SELECT SUM(bytes) FROM event_segments`).Scan(&sealed))
	if err != nil {
		b.Fatal(err)
	}
	b.Logf("%d bytes an event in segments, %d in the database", sealed/historyEvents, used/historyEvents)
	benchHistory(b, s)
}

// benchHistory measures pages and single events of a store filled by fillHistory.
func benchHistory(b *testing.B, s *Store) {
	page := func(q capture.EventQuery, want int) func() (int, int, error) {
		q.Limit = 100
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
			return found, historyEvents, errors.Join(err, r.Close())
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
				return 0, historyEvents, err
			}
			return int(result.Read), historyEvents, nil
		}
	}
	n := 0
	for _, run := range []struct {
		name string
		read func() (found, want int, err error)
	}{
		{"newest", page(capture.EventQuery{}, 100)},
		{"timeline", page(capture.EventQuery{DistinctIDs: []string{"regular"}}, historyEvents/20_000)},
		{"unknown", page(capture.EventQuery{DistinctIDs: []string{"nobody"}}, 0)},
		{"name", page(capture.EventQuery{Name: "event 3"}, 100)},
		{"uuid", func() (int, int, error) {
			n += 7919
			e, err := s.Event(context.Background(), 1, benchUUID(n%historyEvents, 4+3*(n%historyEvents%2)))
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

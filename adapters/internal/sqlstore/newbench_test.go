package sqlstore

import (
	"context"
	"testing"

	"github.com/bunting-flags/bunting/adapters/internal/pgtest"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// Reading while there are 2,047 events, each of a commit of its own after which Index is called, as by
// the recorder.
func BenchmarkNew(b *testing.B) {
	for name, open := range map[string]func(testing.TB) *Store{"sqlite": sqliteStores["disk"], "postgres": postgresStore} {
		s, ctx := open(b), context.Background()
		for i := range 2047 {
			err := commitEvents(s, i, 1)
			for range 2 {
				if err == nil {
					_, err = s.Index(ctx, false)
				}
			}
			if err != nil {
				b.Fatal(err)
			}
		}
		page := func(q capture.EventQuery) func() error {
			q.Limit = 100
			return func() error { _, err := s.Events(ctx, 1, q); return err }
		}
		for what, read := range map[string]func() error{
			"newest": page(capture.EventQuery{}), "name": page(capture.EventQuery{Name: "name 1"}), "unknown": page(capture.EventQuery{DistinctIDs: []string{"nobody"}}),
			"question": func() error {
				r, err := s.Open(ctx, 1)
				if err != nil {
					return err
				}
				defer func() { _ = r.Close() }()
				return r.Scan(ctx, port.Scan{Columns: port.Names | port.People}, func(*port.Batch) error { return nil })
			},
		} {
			b.Run(name+"/"+what, func(b *testing.B) {
				before := usedCPU(b)
				for b.Loop() {
					if err := read(); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64((usedCPU(b)-before).Nanoseconds())/float64(b.N), "CPU-ns/op")
			})
		}
	}
}

// Commits of one event, and blocks of them.
func BenchmarkLedger_Commit1(b *testing.B) {
	for name, open := range map[string]func(testing.TB) *Store{
		"sqlite": sqliteStores["disk"], "postgres": func(t testing.TB) *Store { return openStore(t, pgtest.StartPostgres(b, 0, "").Database(b)) },
	} {
		b.Run(name, func(b *testing.B) {
			s, n := open(b), 0
			before := usedCPU(b)
			for b.Loop() {
				err := commitEvents(s, n, 1)
				if err == nil {
					_, err = s.Index(context.Background(), false)
				}
				if err != nil {
					b.Fatal(err)
				}
				n++
			}
			b.ReportMetric(float64((usedCPU(b)-before).Nanoseconds())/float64(n), "CPU-ns/event")
		})
	}
}

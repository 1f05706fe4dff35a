package sqlstore

import (
	"context"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/events"
	"github.com/bunting-flags/bunting/capture"
)

// How long commits of 100 events take while 131,072 events and more are sealed, and before.
func BenchmarkSeal_Commits(b *testing.B) {
	folder, n := b.TempDir(), 0
	s, err := Open(context.Background(), "sqlite:"+filepath.Join(folder, "store.db"), Config{Segments: filepath.Join(folder, "events"), sealing: events.Sealing{RemoveAfter: 1}})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	pages := benchPages(800)
	commit := func(size int) time.Duration {
		keys, list := make([]capture.EventKey, size), make([]capture.Record, size)
		for i := range list {
			id, now := benchUUID(n%5000, 4).String(), time.Now()
			list[i] = capture.Record{
				ProjectID: 1, UUID: benchUUID(n, 7), Name: "event", DistinctID: id, PersonID: capture.PersonID(1, id), PersonCreatedAt: now,
				Properties: pages[n%len(pages)], Timestamp: now, CreatedAt: now, PersonProperties: "{}",
			}
			keys[i] = capture.EventKey{ProjectID: 1, UUID: list[i].UUID, Name: list[i].Name, DistinctID: id}
			n++
		}
		began := time.Now()
		err := s.Commit(context.Background(), []int64{1}, func(tx capture.Tx) error {
			if _, err := tx.Claim(keys); err != nil {
				return err
			}
			return tx.Save(&capture.Changes{Events: list})
		})
		if err != nil {
			b.Fatal(err)
		}
		return time.Since(began)
	}
	var before, during []time.Duration
	for b.Loop() {
		for range 300 { // of which some blocks are not full
			commit(1000)
			for more := true; more; {
				if more, err = s.Index(context.Background(), true); err != nil {
					b.Fatal(err)
				}
			}
		}
		for range 200 {
			before = append(before, commit(100))
		}
		done := make(chan error, 1)
		go func() {
			for more, err := true, error(nil); ; {
				if more, err = s.events.Seal(context.Background()); !more || err != nil {
					done <- err
					return
				}
			}
		}()
		for isDone := false; !isDone; {
			select {
			case err := <-done:
				if err != nil {
					b.Fatal(err)
				}
				isDone = true
			default:
				during = append(during, commit(100))
			}
		}
	}
	for name, list := range map[string][]time.Duration{"before": before, "during": during} {
		slices.Sort(list)
		b.ReportMetric(float64(list[len(list)*99/100].Microseconds())/1000, name+"-p99-ms")
		b.ReportMetric(float64(list[len(list)-1].Microseconds())/1000, name+"-max-ms")
	}
}

package sqlstore

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/bunting-flags/bunting/adapters/internal/pgtest"
	"github.com/bunting-flags/bunting/capture"
)

// The reason why changes of persons are not notified (changes.go): two servers commit
// batches of ten events to eight projects, durably, with and without a notification in
// the transaction.
func BenchmarkServers_Telling(b *testing.B) {
	for name, telling := range map[string]bool{"untold": false, "told": true} {
		b.Run(name, func(b *testing.B) {
			c := pgtest.StartPostgres(b, 0, "-c shared_buffers=256MB -c max_wal_size=4GB")
			address := c.Database(b)
			stores := []*Store{openStore(b, address), openStore(b, address)}
			var projects, commits atomic.Int64
			b.SetParallelism(4)
			b.ResetTimer() // PostgreSQL takes seconds to start
			b.RunParallel(func(pb *testing.PB) {
				project := projects.Add(1)
				s := stores[project%2]
				for n := 0; pb.Next(); n += 10 {
					keys, events := eventsFrom(n, 10)
					for i := range keys {
						keys[i].ProjectID, events[i].ProjectID = project, project
						events[i].Properties = benchProperties
					}
					err := s.Commit(context.Background(), []int64{project}, func(tx capture.Tx) error {
						if _, err := tx.Claim(keys); err != nil {
							return err
						}
						if err := tx.Save(&capture.Changes{Events: events}); err != nil || !telling {
							return err
						}
						return s.notifyServers(context.Background(), tx.(*ledgerTx).SQL, []int64{project})
					})
					if err != nil {
						b.Error(fmt.Errorf("project %d: %w", project, err))
						return
					}
					commits.Add(1)
				}
			})
			b.ReportMetric(float64(commits.Load())/b.Elapsed().Seconds(), "commits/s")
		})
	}
}

package sqlstore

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/capture"
)

// resentBlocks is the number of full blocks of the store of BenchmarkKeys_Resent.
const resentBlocks = 100

// resentEvents are the events first to first+n-1 of BenchmarkKeys_Resent.
func resentEvents(first, n int, pages []string) []capture.Record {
	list, start := make([]capture.Record, n), time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	for i := range list {
		n := first + i
		at, id := start.Add(time.Duration(n)*10*time.Millisecond), fmt.Sprint("person ", n*7919%20_011)
		list[i] = capture.Record{
			ProjectID: 1, UUID: benchUUID(n, 7), Name: fmt.Sprint("event ", n%7), DistinctID: id, PersonID: capture.PersonID(1, id),
			Properties: pages[n%len(pages)], PersonProperties: "{}", Timestamp: at, CreatedAt: at,
		}
	}
	return list
}

// Stored events are sent a second time: the CPU time of one claim by the number of its events, near each
// other or spread over the whole store, with events in segments or not.
func BenchmarkKeys_Resent(b *testing.B) {
	const perBlock = block.MaxEvents / 2
	const all = resentBlocks * perBlock
	ctx, pages := context.Background(), benchPages(400)
	for _, isSealed := range []bool{false, true} {
		folder := b.TempDir()
		s := openSegments(b, "sqlite:"+filepath.Join(folder, "store.db"), filepath.Join(folder, "events"))
		s.events.KeyEvents = 1 << 14
		for n := range resentBlocks {
			list := resentEvents(n*perBlock, perBlock, pages)
			err := s.Commit(ctx, []int64{1}, func(tx capture.Tx) error {
				if _, err := tx.Claim(keysOf(list)); err != nil {
					return err
				}
				return tx.Save(&capture.Changes{Events: list})
			})
			for more := true; more && err == nil; {
				more, err = s.Index(ctx, true)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
		if isSealed {
			sealAll(b, s)
		}
		for _, n := range []int{resentBlocks, 1_000, 20_000, 200_000} {
			for _, step := range []int{1, all / n} {
				b.Run(fmt.Sprintf("sealed=%t/events=%d/step=%d", isSealed, n, step), func(b *testing.B) {
					var list []capture.EventKey
					for i := range n {
						list = append(list, keysOf(resentEvents(i*step, 1, pages))...)
					}
					before := usedCPU(b)
					for b.Loop() {
						err := s.Commit(ctx, []int64{1}, func(tx capture.Tx) error {
							isNew, err := tx.Claim(list)
							if slices.Contains(isNew, true) {
								b.Fatal("a stored event is new")
							}
							return err
						})
						if err != nil {
							b.Fatal(err)
						}
					}
					b.ReportMetric(float64((usedCPU(b)-before).Nanoseconds())/float64(n*b.N), "CPU-ns/event")
				})
			}
		}
	}
}

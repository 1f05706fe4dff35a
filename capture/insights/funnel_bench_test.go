package insights

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/capture/insights/port"
)

const aDay = 24 * int64(3600e6)

const benchRange = `"dateRange": {"date_from": "2026-01-01", "date_to": "2026-01-30"}`

// benchRun runs a query over the events of bench_test.go.
func benchRun(b *testing.B, s *batches, query string) {
	b.Helper()
	q, err := Parse(json.RawMessage(query), &port.Project{ID: 1, WeekStart: time.Monday})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := q.Run(b.Context(), s, port.Options{Now: time.Date(2026, 1, 28, 0, 0, 0, 0, time.UTC)}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFunnel measures three steps within 14 days, with the engine and with a loop written for
// this query.
func BenchmarkFunnel(b *testing.B) {
	s := benchSource()
	b.Run("engine", func(b *testing.B) {
		benchRun(b, s, `{"kind": "FunnelsQuery", `+benchRange+`, "series": [{"kind": "EventsNode", "event": "$pageview"}, {"kind": "EventsNode", "event": "sign up"}, {"kind": "EventsNode", "event": "purchase"}]}`)
	})
	b.Run("by hand", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if counts := funnelByHand(s); counts[2] == 0 {
				b.Fatal(counts)
			}
		}
	})
}

// funnelByHand collects and sorts events, since they may be in any order, and follows the latest
// attempt of each step.
func funnelByHand(s *batches) (counts [3]int) {
	type act struct {
		time, id int64
		step     int
	}
	acts := map[uint32][]act{}
	steps := []string{"$pageview", "sign up", "purchase"}
	for _, b := range s.list {
		for i, name := range b.Name {
			if step := slices.Index(steps, name); step >= 0 {
				acts[b.Person[i]] = append(acts[b.Person[i]], act{b.Time[i], b.ID[i], step})
			}
		}
	}
	for _, list := range acts {
		slices.SortFunc(list, func(a, b act) int { return int(a.time - b.time) })
		starts, best := [3]int64{-1, -1, -1}, -1
		for _, a := range list {
			if a.step == 0 {
				starts[0] = a.time
			} else if before := starts[a.step-1]; before >= 0 && a.time-before <= 14*aDay {
				starts[a.step] = before
			} else {
				continue
			}
			best = max(best, a.step)
		}
		for k := range best + 1 {
			counts[k]++
		}
	}
	return counts
}

// BenchmarkRetention measures weekly retention of page views over the same events.
func BenchmarkRetention(b *testing.B) {
	s := benchSource()
	b.Run("engine", func(b *testing.B) {
		benchRun(b, s, `{"kind": "RetentionQuery", `+benchRange+`, "retentionFilter": {"period": "Week", "totalIntervals": 5}}`)
	})
	b.Run("by hand", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if cells := retentionByHand(s); cells[0][0] == 0 {
				b.Fatal(cells)
			}
		}
	})
}

func retentionByHand(s *batches) (cells [5][5]int) {
	monday := time.Date(2025, 12, 29, 0, 0, 0, 0, time.UTC).UnixMicro()
	weeks := map[uint32]uint8{}
	for _, b := range s.list {
		for i, name := range b.Name {
			if name == "$pageview" {
				weeks[b.Person[i]] |= 1 << ((b.Time[i] - monday) / (7 * aDay))
			}
		}
	}
	for _, set := range weeks {
		for from := range 5 {
			for to := from; to < 5; to++ {
				if set>>from&1 != 0 && set>>to&1 != 0 {
					cells[from][to-from]++
				}
			}
		}
	}
	return cells
}

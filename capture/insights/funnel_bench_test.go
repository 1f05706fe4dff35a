package insights

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// columns is a source of one table of columns, as they are kept in memory: what the
// engine is measured over.
type columns struct {
	*memory
	batches []*Batch
	people  int
}

// actions are what its events are called, five each.
var actions = []string{"signup", "paid", "watched", "$pageview", "left"}

const benchDay = 24 * int64(3600e6)

var benchStart = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()

// newColumns makes events of some people over 28 days, in order of time.
func newColumns(events, people int) *columns {
	random := rand.New(rand.NewPCG(1, 2))
	s := &columns{memory: &memory{}, people: people}
	for i := 0; i < events; i += 4096 {
		b := &Batch{}
		for k := i; k < min(i+4096, events); k++ {
			b.ID = append(b.ID, int64(k+1))
			b.Time = append(b.Time, benchStart+28*benchDay/int64(events)*int64(k))
			b.Name = append(b.Name, actions[random.IntN(len(actions))])
			b.Person = append(b.Person, uint32(random.IntN(people)))
		}
		s.batches = append(s.batches, b)
	}
	return s
}

func (s *columns) Open(context.Context, int64) (Reader, error) {
	return &columnsReader{memoryReader{memory: s.memory}, s}, nil
}

type columnsReader struct {
	memoryReader
	*columns
}

func (s *columnsReader) Close() error { return nil }

func (s *columnsReader) Scan(_ context.Context, _ Scan, yield func(*Batch) error) error {
	for _, b := range s.batches {
		if err := yield(b); err != nil {
			return err
		}
	}
	return nil
}

const benchRange = `"dateRange": {"date_from": "2026-01-01", "date_to": "2026-01-28"}`

func benchQuery(b *testing.B, s *columns, query string) {
	b.Helper()
	q, err := Parse(json.RawMessage(query), &Project{ID: 1, WeekStart: time.Monday})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := q.Run(b.Context(), s, Options{Now: time.Date(2026, 1, 28, 0, 0, 0, 0, time.UTC)}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFunnel is three steps within 14 days over a million events of 100,000
// people; beside it a loop that was written for this one question.
func BenchmarkFunnel(b *testing.B) {
	s := newColumns(1_000_000, 100_000)
	b.Run("engine", func(b *testing.B) {
		benchQuery(b, s, `{"kind": "FunnelsQuery", `+benchRange+`, "series": [{"kind": "EventsNode", "event": "signup"}, {"kind": "EventsNode", "event": "paid"}, {"kind": "EventsNode", "event": "watched"}]}`)
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

// funnelByHand collects and sorts, as events may come in any order, and follows the
// latest attempt of each step.
func funnelByHand(s *columns) (counts [3]int) {
	type act struct {
		time, id int64
		step     int
	}
	acts := map[uint32][]act{}
	for _, b := range s.batches {
		for i, name := range b.Name {
			if step := slices.Index(actions[:3], name); step >= 0 {
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
			} else if before := starts[a.step-1]; before >= 0 && a.time-before <= 14*benchDay {
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

// BenchmarkRetention is weekly retention of page views over the same events.
func BenchmarkRetention(b *testing.B) {
	s := newColumns(1_000_000, 100_000)
	b.Run("engine", func(b *testing.B) {
		benchQuery(b, s, `{"kind": "RetentionQuery", `+benchRange+`, "retentionFilter": {"period": "Week", "totalIntervals": 5}}`)
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

func retentionByHand(s *columns) (cells [5][5]int) {
	monday := benchStart - 3*benchDay // 29 December 2025
	weeks := map[uint32]uint8{}
	for _, b := range s.batches {
		for i, name := range b.Name {
			if name == "$pageview" {
				weeks[b.Person[i]] |= 1 << ((b.Time[i] - monday) / (7 * benchDay))
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

package events

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
)

// Each unit is read and delivered exactly once, whether or not a processor is
// spare.
func TestReadAhead(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	units := make([]unit, 200)
	for i := range units {
		units[i] = unit{int64(i), int64(i)}
	}
	broken := errors.New("broken")
	for _, tt := range []struct {
		name  string
		spare func(n int64) bool // n is the number of the call
		// units whose reading fails, and whose delivery fails
		unread, undelivered int64
	}{
		{"alone", nil, -1, -1},
		{"never to spare", func(int64) bool { return false }, -1, -1},
		{"always to spare", func(int64) bool { return true }, -1, -1},
		{"now and then", func(n int64) bool { return n%3 > 0 }, -1, -1},
		{"a read that fails", func(int64) bool { return true }, 100, -1},
		{"a delivery that fails", func(int64) bool { return true }, -1, 100},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var calls atomic.Int64
			a := &readAhead{units: units, buffers: aheadBuffers, spares: &spareBuffers{}}
			if tt.spare != nil {
				a.spare = func() bool { return tt.spare(calls.Add(1)) }
			}
			a.read = func(_ context.Context, u unit, e *columnBuffer, give func(*columnBuffer) error) error {
				if u.first == tt.unread {
					return broken
				}
				for part := range int64(2) { // in two parts
					e.reset()
					e.time = append(e.time, 2*u.first+part)
					if err := give(e); err != nil {
						return err
					}
				}
				return nil
			}
			var got []int64
			a.deliver = func(_ context.Context, e *columnBuffer) error {
				if e.time[0] == 2*tt.undelivered {
					return broken
				}
				got = append(got, e.time...)
				return nil
			}
			err := a.run(t.Context())
			for i, e := range a.spares.list {
				if i == aheadBuffers+2 || len(e.time) > 0 {
					t.Errorf("%d buffers are spare, and number %d has %d events", len(a.spares.list), i, len(e.time))
				}
			}
			if tt.unread+tt.undelivered > 0 {
				if !errors.Is(err, broken) || len(got) >= 2*len(units) {
					t.Errorf("it ends with %v after %d pieces", err, len(got))
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(got)
			for i, piece := range got {
				if piece != int64(i) {
					t.Fatalf("piece %d is %d", i, piece)
				}
			}
			if len(got) != 2*len(units) {
				t.Errorf("%d pieces, want %d", len(got), 2*len(units))
			}
		})
	}
}

// A panic in the worker fails the query, not the process.
func TestReadAhead_Panics(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	reads := make(chan struct{})
	a := &readAhead{units: []unit{{0, 0}, {1, 1}}, spare: func() bool { return true }, buffers: aheadBuffers, spares: &spareBuffers{}}
	a.read = func(_ context.Context, u unit, _ *columnBuffer, _ func(*columnBuffer) error) error {
		if u.first == 0 { // read by run, which claims the first unit
			<-reads
			return nil
		}
		close(reads)
		panic("a mistake")
	}
	if err := a.run(t.Context()); err == nil || !strings.Contains(err.Error(), "a mistake") {
		t.Errorf("it ends with %v", err)
	}
}

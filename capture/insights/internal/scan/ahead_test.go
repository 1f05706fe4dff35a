package scan

import (
	"context"
	"errors"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/bunting-flags/bunting/capture/insights/port"
)

// scanReader is a reader whose scans call a function.
type scanReader struct {
	port.Reader
	scan func(ctx context.Context, s port.Scan, yield func(*port.Batch) error) error
}

func (r scanReader) Scan(ctx context.Context, s port.Scan, yield func(*port.Batch) error) error {
	return r.scan(ctx, s, yield)
}

// A reader may read at once. It gets memory, and its events are processed, only when the query is ready
// for them.
func TestAhead(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	broken, begun := errors.New("broken"), make(chan struct{}, 1)
	three := func(_ context.Context, s port.Scan, yield func(*port.Batch) error) error {
		begun <- struct{}{}
		if err := s.Reserve(100); err != nil {
			return err
		}
		return yield(&port.Batch{Time: []int64{1, 2, 3}})
	}
	for _, tt := range []struct {
		name string
		scan func(ctx context.Context, s port.Scan, yield func(*port.Batch) error) error
		// see processes an event.
		see  func() error
		want string // a part of the error
		rows int
	}{
		{"three events", three, func() error { return nil }, "", 3},
		{"a query that fails", three, func() error { return broken }, "broken", 1},
		{"a query that panics", three, func() error { panic("a mistake") }, "a mistake", 1},
		{"a reader that fails", func(context.Context, port.Scan, func(*port.Batch) error) error {
			begun <- struct{}{}
			return broken
		}, nil, "broken", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := NewRun(t.Context(), scanReader{scan: tt.scan}, &port.Project{}, port.Options{})
			rows := 0
			ahead := (&Binder{Run: r}).ScanAhead(port.Scan{From: 1, To: 3}, func(*Row) error {
				rows++
				return tt.see()
			})
			<-begun
			if rows > 0 || r.Reserved != aheadBytes || r.Read > 0 {
				t.Errorf("before it is finished: %d rows, %d bytes reserved, %d events read", rows, r.Reserved, r.Read)
			}
			err := ahead.Finish()
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("it ends with %v", err)
			}
			if rows != tt.rows || r.Reserved > 100 {
				t.Errorf("%d rows, want %d; %d bytes are reserved", rows, tt.rows, r.Reserved)
			}
		})
	}
}

// A scan that is not finished ends when it is stopped or when the query is cancelled, and processes no
// events.
func TestAhead_Ends(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	for name, end := range map[string]func(a *Ahead, cancel func()) error{
		"stopped":   func(a *Ahead, _ func()) error { a.Stop(); return a.err },
		"cancelled": func(a *Ahead, cancel func()) error { cancel(); <-a.done; return a.Finish() },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r := NewRun(ctx, scanReader{scan: func(_ context.Context, s port.Scan, yield func(*port.Batch) error) error {
				if err := s.Reserve(100); err != nil {
					return err
				}
				return yield(&port.Batch{Time: []int64{1}})
			}}, &port.Project{}, port.Options{})
			a := (&Binder{Run: r}).ScanAhead(port.Scan{From: 1, To: 3}, func(*Row) error {
				t.Error("an event is processed")
				return nil
			})
			if err := end(a, cancel); !errors.Is(err, context.Canceled) || r.Reserved != 0 {
				t.Errorf("it ends with %v, and %d bytes are reserved", err, r.Reserved)
			}
		})
	}
}

// Without memory for it, a scan reads as little ahead as others.
func TestAhead_Limit(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	r := NewRun(t.Context(), scanReader{scan: func(_ context.Context, s port.Scan, _ func(*port.Batch) error) error {
		if s.Ahead != 0 {
			t.Errorf("it reads %d bytes ahead", s.Ahead)
		}
		return nil
	}}, &port.Project{}, port.Options{Memory: aheadBytes - 1})
	if err := (&Binder{Run: r}).ScanAhead(port.Scan{From: 1, To: 3}, nil).Finish(); err != nil || r.Reserved != 0 {
		t.Errorf("it ends with %v, and %d bytes are reserved", err, r.Reserved)
	}
}

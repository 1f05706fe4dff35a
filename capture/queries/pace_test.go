package queries

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bunting-flags/bunting/capture/insights/port"
)

// pacedReader computes for a millisecond before each of 100 batches.
type pacedReader struct {
	fakeReader
	spare int // number of times that a second processor was available
}

func (r *pacedReader) Open(context.Context, int64) (port.Reader, error) { return r, nil }
func (r *pacedReader) Close() error                                     { return nil }

func (r *pacedReader) Scan(ctx context.Context, s port.Scan, yield func(*port.Batch) error) error {
	for range 100 {
		time.Sleep(time.Millisecond)
		s.Pause(ctx)
		if s.HasSpareCPU() {
			r.spare++
		}
		if err := yield(&port.Batch{Time: []int64{s.From}, Name: []string{"a"}}); err != nil {
			return err
		}
	}
	return nil
}

// A query that computes for 100 ms pauses three times as long if there is constant other
// work, and does not pause if there is no other work; only then it may use a second
// processor. A canceled query does not pause.
func TestPace(t *testing.T) {
	for _, tt := range []struct {
		name  string
		each  time.Duration // between two units of other work; 0 if there is no other work
		takes [2]time.Duration
		spare bool
	}{
		{"nobody else", 0, [2]time.Duration{100 * time.Millisecond, 100 * time.Millisecond}, true},
		{"always somebody", 100 * time.Microsecond, [2]time.Duration{399 * time.Millisecond, 401 * time.Millisecond}, false},
		{"seldom somebody", 50 * time.Millisecond, [2]time.Duration{105 * time.Millisecond, 116 * time.Millisecond}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				r := &pacedReader{fakeReader: fakeReader{&fakeSource{}}}
				work := func() uint64 {
					if tt.each == 0 {
						return 7
					}
					return uint64(time.Since(began) / tt.each)
				}
				d, err := New(Config{Source: r, States: r.fakeSource, NewID: func() string { return "run" }, Work: work})
				if err != nil {
					t.Fatal(err)
				}
				defer d.Close()
				time.Sleep(time.Hour)
				at := time.Now()
				if _, err := d.Execute(t.Context(), request(1, trend, ForceBlocking)); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(at); took < tt.takes[0] || took > tt.takes[1] {
					t.Errorf("it takes %s, want %s", took, tt.takes)
				}
				if spare := tt.spare && runtime.GOMAXPROCS(0) > 1; spare != (r.spare > 0) {
					t.Errorf("%d times there was a processor to spare", r.spare)
				}
			})
		})
	}
}

// A canceled query reads no further batch, even if it is canceled during a pause.
func TestPace_Cancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := uint64(0)
		r := &pacedReader{fakeReader: fakeReader{&fakeSource{}}}
		d, err := New(Config{Source: r, States: r.fakeSource, NewID: func() string { return fmt.Sprint("run ", n) }, Work: func() uint64 { n++; return n }})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 31*time.Millisecond+time.Microsecond)
		defer cancel()
		at := time.Now()
		answer, err := d.Execute(ctx, Request{Project: &port.Project{ID: 1}, Query: json.RawMessage(trend), Mode: ForceBlocking})
		if took := time.Since(at); err == nil || took > 34*time.Millisecond {
			t.Errorf("%v, %v after %s", answer, err, took)
		}
	})
}

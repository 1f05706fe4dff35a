package httpapi

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/iotest"
	"time"
)

// All that is reserved never exceeds the budget, and comes back.
func TestBudget_NeverOver(t *testing.T) {
	b := newBudget(100)
	var all sync.WaitGroup
	for worker := range uint64(8) {
		all.Go(func() {
			random := rand.New(rand.NewPCG(1, worker))
			for range 500 {
				l := b.lease(t.Context())
				for range random.IntN(3) { // twice at most, so that none waits in vain
					if err := l.take(random.Int64N(21)); err != nil {
						t.Error(err)
					}
					if used := b.inUse(); used > 100 {
						t.Errorf("%d of 100 are in use", used)
					}
				}
				l.release()
			}
		})
	}
	all.Wait()
	if used := b.inUse(); used != 0 {
		t.Errorf("%d were not given back", used)
	}
}

// wait waits until n claims stand in a line.
func (b *budget) wait(t *testing.T, line, n int) {
	t.Helper()
	for deadline := time.Now().Add(time.Second); ; time.Sleep(time.Millisecond) {
		b.mu.Lock()
		have := b.lines[line].Len()
		b.mu.Unlock()
		if have == n {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d wait, want %d", have, n)
		}
	}
}

// Those who wait are served in their order; who gives up makes room for those
// behind.
func TestBudget_Order(t *testing.T) {
	b := newBudget(100)
	if !b.acquire(t.Context(), 60, fresh) {
		t.Fatal("no room in an empty budget")
	}
	ctx, giveUp := context.WithCancel(t.Context())
	large, small := make(chan bool, 1), make(chan bool, 1)
	go func() { large <- b.acquire(ctx, 90, fresh) }()
	b.wait(t, fresh, 1)
	go func() { small <- b.acquire(t.Context(), 10, fresh) }()
	b.wait(t, fresh, 2) // there would be room for 10, but it is not their turn
	giveUp()
	if <-large {
		t.Error("90 beside 60 in 100")
	}
	if !<-small {
		t.Error("no room for 10 beside 60 in 100")
	}
	if b.inUse() != 70 || b.refused.Load() != 1 {
		t.Errorf("%d in use, %d refused", b.inUse(), b.refused.Load())
	}
}

// Bodies that have begun go before new ones, and into the last quarter.
func TestBudget_BegunFirst(t *testing.T) {
	b := newBudget(100)
	one, two := b.lease(t.Context()), b.lease(t.Context())
	if one.take(40) != nil || two.take(35) != nil {
		t.Fatal("no room for 75 in 100")
	}
	fresher := make(chan error, 1)
	go func() { fresher <- b.lease(t.Context()).take(10) }()
	b.wait(t, fresh, 1)
	if err := one.take(25); err != nil || b.inUse() != 100 {
		t.Fatal(err, b.inUse())
	}
	more := make(chan error, 1)
	go func() { more <- two.take(30) }()
	b.wait(t, begun, 1)
	one.give(30) // for the one that has begun, though the new one came before it
	if err := <-more; err != nil || b.inUse() != 100 {
		t.Fatal(err, b.inUse())
	}
	two.release()
	if err := <-fresher; err != nil || b.inUse() != 45 {
		t.Fatal(err, b.inUse())
	}
}

// A reservation that is not to be had ends after a while.
func TestBudget_Patience(t *testing.T) {
	b := newBudget(100)
	l := b.lease(t.Context())
	if err := l.take(80); err != nil {
		t.Fatal(err)
	}
	other := b.lease(t.Context())
	start := time.Now()
	if err := other.take(30); err != &problemBusy {
		t.Error(err)
	}
	if took := time.Since(start); took < budgetPatience || took > budgetPatience+5*time.Second {
		t.Errorf("it took %v", took)
	}
	var p *problem
	if err := l.take(21); !errors.As(err, &p) || p.Status != 413 { // nobody's leaving would help
		t.Error(err)
	}
}

// What is read is what there is, whatever the buffers do; the lease holds the
// buffer and nothing else.
func TestBudget_Read(t *testing.T) {
	for size := int64(0); size < 300; size += 7 {
		want := make([]byte, size)
		for i := range want {
			want[i] = byte(i * 31)
		}
		for _, first := range []int64{1, 16, size, size + 1, 1000} {
			for _, expected := range []int64{size, 400} {
				for name, src := range map[string]io.Reader{
					"whole": bytes.NewReader(want), "bytes": iotest.OneByteReader(bytes.NewReader(want)), "with the end": iotest.DataErrReader(bytes.NewReader(want)),
				} {
					l := newBudget(2000).lease(t.Context())
					got, err := l.read(nil, src, first, expected, 400)
					if err != nil || !bytes.Equal(got, want) || l.held != int64(cap(got)) || l.budget.used != l.held {
						t.Fatalf("%d bytes, %d first, %s: %d of %v, %d held", size, first, name, len(got), err, l.held)
					}
				}
			}
		}
		l := newBudget(2000).lease(t.Context())
		_, err := l.read(nil, bytes.NewReader(want), 16, size, size-1)
		var p *problem
		if size > 0 && (!errors.As(err, &p) || p.Status != 413) {
			t.Errorf("%d bytes, one too many: %v", size, err)
		}
		if l.release(); l.budget.used != 0 {
			t.Errorf("%d were not given back", l.budget.used)
		}
	}
}

// A buffer takes what the budget has, when it cannot have twice as much.
func TestBudget_ReadToTheBrim(t *testing.T) {
	l := newBudget(1000).lease(t.Context())
	// 100, 200, 400, then the 600 that are left beside the 400.
	if got, err := l.read(nil, bytes.NewReader(make([]byte, 590)), 100, 10_000, 10_000); err != nil || len(got) != 590 || l.held != 600 {
		t.Errorf("%d bytes, %v, %d held", len(got), err, l.held)
	}
	l.release()
	var p *problem
	if _, err := l.read(nil, bytes.NewReader(make([]byte, 700)), 100, 10_000, 10_000); !errors.As(err, &p) || p.Status != 413 {
		t.Error(err)
	}
}

// In place or not, escapes and base64 come out the same.
func FuzzCaptureText(f *testing.F) {
	for _, text := range []string{"", "eyJhIjoxfQ==", "eyJhIjoxfQ", "a+b%2B%zz%4", "~~~%3D", "data=a&b", "YQ==YQ==", "YQ=\n=", "QUJD\r\n", "   "} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if got, want := string(unescape(bytes.Clone(text))), queryText(string(text)); got != want {
			t.Errorf("unescape %q, want %q", got, want)
		}
		got := undoBase64(bytes.Clone(text))
		if !isBase64(text) {
			if !bytes.Equal(got, text) {
				t.Errorf("%q became %q", text, got)
			}
			return
		}
		if want, ok := decodeBase64As(nil, text, 62); !ok || !bytes.Equal(got, want) {
			t.Errorf("%q: %q, want %q (%v)", text, got, want, ok)
		}
	})
}

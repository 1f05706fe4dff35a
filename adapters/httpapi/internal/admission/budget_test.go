package admission

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/netip"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
)

// newArrival returns a lease for a body that is being received from an address, newArrived one for
// a body that has been received.
func (b *Budget) newArrival(t *testing.T, address string) *Lease {
	return &Lease{Ctx: t.Context(), Budget: b, address: netip.MustParseAddr(address)}
}

func (b *Budget) newArrived(t *testing.T) *Lease {
	return &Lease{Ctx: t.Context(), Budget: b, Arrived: true}
}

const oneAddress, otherAddress = "192.0.2.1", "192.0.2.2"

// The reserved memory never exceeds the budget, no request waits forever, and all memory is
// released.
func TestBudget_NeverOver(t *testing.T) {
	const total = 64 << 20
	b := NewBudget(total, 0)
	var all sync.WaitGroup
	for worker := range uint64(16) {
		all.Go(func() {
			random := rand.New(rand.NewPCG(1, worker))
			for range 300 {
				l := b.newArrival(t, []string{oneAddress, otherAddress}[random.IntN(2)])
				for range random.IntN(4) {
					if err := l.Acquire(random.Int64N(10 << 20 >> random.IntN(8))); err != nil && !errors.Is(err, &Busy) {
						t.Error(err)
					}
					if random.IntN(3) == 0 {
						l.MarkArrived()
					}
					if l.held > 0 && random.IntN(4) == 0 {
						l.Free(random.Int64N(l.held))
					}
					if used := b.InUse(); used > total {
						t.Errorf("%d of %d are in use", used, total)
					}
				}
				l.Release()
			}
		})
	}
	all.Wait()
	b.empty(t)
}

// empty checks that all memory was released.
func (b *Budget) empty(t *testing.T) {
	t.Helper()
	waiting := 0
	for i := range b.lines {
		waiting += b.lines[i].Len()
	}
	if b.common != 0 || b.large != 0 || b.largeBodies.Len() != 0 || len(b.addresses) != 0 || waiting != 0 {
		t.Errorf("left over: %d, %d of them large, %d elders, %d addresses, %d waiting", b.common, b.large, b.largeBodies.Len(), len(b.addresses), waiting)
	}
}

// wait checks that n requests are waiting in a line, after all goroutines of the bubble are blocked.
func (b *Budget) wait(t *testing.T, line, n int) {
	t.Helper()
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	if have := b.lines[line].Len(); have != n {
		t.Fatalf("%d wait, want %d", have, n)
	}
}

// mustAcquire acquires memory without waiting.
func mustAcquire(t *testing.T, l *Lease, n int64) {
	t.Helper()
	if err := l.Acquire(n); err != nil {
		t.Fatal(err)
	}
}

// acquireAsync acquires memory in another goroutine.
func acquireAsync(l *Lease, n int64) <-chan error {
	done := make(chan error, 1)
	go func() { done <- l.Acquire(n) }()
	return done
}

// The numbers below are for a budget of 6,400: a quarter is 1,600, bodies up to 100 are small.
const tinyBudget = 6400

// Large bodies get at most two quarters, so that there is always memory for small bodies, which
// get three, because the last quarter is reserved for the oldest body.
func TestBudget_LaneForSmallBodies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(tinyBudget, 0)
		one, two, three := b.newArrival(t, oneAddress), b.newArrival(t, otherAddress), b.newArrival(t, "192.0.2.3")
		mustAcquire(t, one, 1600)
		mustAcquire(t, two, 1600)
		more := acquireAsync(three, 101)
		b.wait(t, arriveLine, 1)
		var small []*Lease
		for range 16 {
			l := b.newArrival(t, oneAddress)
			mustAcquire(t, l, 100)
			small = append(small, l)
		}
		last := b.newArrival(t, oneAddress)
		lastly := acquireAsync(last, 1)
		b.wait(t, smallLine, 1)
		one.Release() // for the small one, then for the large one
		if err := errors.Join(<-lastly, <-more); err != nil {
			t.Fatal(err)
		}
		for _, l := range append(small, two, three, last) {
			l.Release()
		}
		b.empty(t)
	})
}

// Two half-read bodies that need more memory do not wait for each other: the older one has a
// quarter of its own.
func TestBudget_EldestGetsOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(tinyBudget, 0)
		var all []*Lease
		b.maxServed = 4
		for range 4 { // the first is in its quarter, the others fill two
			l := b.newArrived(t)
			mustAcquire(t, l, 1000)
			all = append(all, l)
		}
		b.wait(t, arrivedLine, 0)
		second := acquireAsync(all[1], 500)
		third := acquireAsync(all[2], 600)
		b.wait(t, arrivedLine, 2)
		mustAcquire(t, all[0], 600)
		all[0].Release() // the second is now the oldest, and its memory is free for the others
		if err := errors.Join(<-second, <-third); err != nil {
			t.Fatal(err)
		}
		for _, l := range all[1:] {
			l.Release()
		}
		b.empty(t)
	})
}

// Of the bodies that have arrived, only the oldest few are processed at a time.
func TestBudget_FewAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(tinyBudget, 0)
		b.maxServed = 2
		one, two, three := b.newArrived(t), b.newArrived(t), b.newArrived(t)
		mustAcquire(t, one, 200)
		mustAcquire(t, two, 200)
		third := acquireAsync(three, 200)
		b.wait(t, arrivedLine, 1)
		mustAcquire(t, b.newArrived(t), 100) // a small one
		two.Release()
		if err := <-third; err != nil {
			t.Fatal(err)
		}
	})
}

// A body that would hold more than a quarter only gets memory that is free and never waits; a
// request that exceeds the budget is too large.
func TestBudget_NoWaitingBodyHoldsMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(tinyBudget, 0)
		one, two := b.newArrived(t), b.newArrival(t, oneAddress)
		mustAcquire(t, one, 1600)
		mustAcquire(t, one, 1600)
		mustAcquire(t, two, 1500)
		start := time.Now()
		if err := two.Acquire(200); !errors.Is(err, &Busy) {
			t.Error(err)
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("it waited for %v", took)
		}
		one.Release()
		mustAcquire(t, two, 200)
		var p *problem.Problem
		if err := two.Acquire(1501); !errors.As(err, &p) || p.Status != 413 {
			t.Error(err)
		}
		two.Release()
		b.empty(t)
	})
}

// The bodies that are being received from one address share a quarter, except the first of them;
// bodies from other addresses do not wait for them, and a received body no longer counts.
func TestBudget_ShareOfAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const total = 64 << 20 // a first chunk of 16 KiB is not counted
		b := NewBudget(total, 0)
		one, two, three := b.newArrival(t, oneAddress), b.newArrival(t, oneAddress), b.newArrival(t, oneAddress)
		mustAcquire(t, one, 10<<20)
		mustAcquire(t, two, 5<<20)
		third := acquireAsync(three, 2<<20)
		b.wait(t, addressLimitLine, 1)
		small := b.newArrival(t, oneAddress)
		mustAcquire(t, small, FirstChunk)
		other := b.newArrival(t, otherAddress)
		mustAcquire(t, other, 2<<20)
		mustAcquire(t, one, 4<<20) // the first may
		one.MarkArrived()
		if err := <-third; err != nil {
			t.Fatal(err)
		}
		fourth := acquireAsync(b.newArrival(t, oneAddress), 10<<20)
		if err := <-fourth; !errors.Is(err, &Busy) {
			t.Error(err)
		}
		for _, l := range []*Lease{one, two, three, small, other} {
			l.Release()
		}
		b.empty(t)
	})
}

// Waiting requests are served in order; a request that gives up makes way for the next.
func TestBudget_Order(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(tinyBudget, 0)
		blocker := b.newArrived(t)
		mustAcquire(t, blocker, 1600)
		arriving := b.newArrival(t, oneAddress)
		mustAcquire(t, arriving, 1600)
		mustAcquire(t, b.newArrival(t, otherAddress), 1000)
		ctx, giveUp := context.WithCancel(t.Context())
		first := b.newArrival(t, "192.0.2.3")
		first.Ctx = ctx
		large := acquireAsync(first, 1500)
		b.wait(t, arriveLine, 1)
		behind := acquireAsync(b.newArrival(t, "192.0.2.4"), 500)
		b.wait(t, arriveLine, 2) // 500 are free, but it is not at the front
		giveUp()
		if err := <-large; !errors.Is(err, &Busy) {
			t.Errorf("%v for 1,500 beside 2,600 of 3,200", err)
		}
		if err := <-behind; err != nil {
			t.Errorf("%v for 500 beside 2,600 of 3,200", err)
		}
		if b.InUse() != 4700 || b.rejections.Load() != 1 {
			t.Errorf("%d in use, %d refused", b.InUse(), b.rejections.Load())
		}
	})
}

// Waiting for memory ends with an error after a while.
func TestBudget_Patience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(tinyBudget, 0)
		mustAcquire(t, b.newArrival(t, oneAddress), 1600)
		mustAcquire(t, b.newArrival(t, otherAddress), 1600)
		start := time.Now()
		if err := b.newArrival(t, "192.0.2.3").Acquire(200); !errors.Is(err, &Busy) {
			t.Error(err)
		}
		if took := time.Since(start); took != budgetWaitTimeout {
			t.Errorf("it took %v", took)
		}
	})
}

// The body is read completely for all buffer sizes; the lease holds only the buffer.
func TestBudget_Read(t *testing.T) {
	for size := int64(0); size < 300; size += 7 {
		want := make([]byte, size)
		for i := range want {
			want[i] = byte(i * 31)
		}
		for _, first := range []int64{1, 16, size, size + 1, 1000} {
			for _, expected := range []int64{0, size, 400} {
				for name, src := range map[string]io.Reader{
					"whole": bytes.NewReader(want), "bytes": iotest.OneByteReader(bytes.NewReader(want)), "with the end": iotest.DataErrReader(bytes.NewReader(want)),
				} {
					l := NewBudget(2000, 0).newArrived(t)
					got, err := l.read(nil, src, first, expected, 400)
					if err != nil || !bytes.Equal(got, want) || l.held != int64(cap(got)) || l.Budget.InUse() != uint64(l.held) {
						t.Fatalf("%d bytes, %d first, %s: %d of %v, %d held", size, first, name, len(got), err, l.held)
					}
				}
			}
		}
		l := NewBudget(2000, 0).newArrived(t)
		_, err := l.read(nil, bytes.NewReader(want), 16, size, size-1)
		var p *problem.Problem
		if size > 0 && (!errors.As(err, &p) || p.Status != 413) {
			t.Errorf("%d bytes, one too many: %v", size, err)
		}
		l.Release()
		l.Budget.empty(t)
	}
}

// A buffer grows to the available memory if it cannot double.
func TestBudget_ReadToTheBrim(t *testing.T) {
	l := NewBudget(1000, 0).newArrived(t)
	// 150, 300, then the 450 that remain of three quarters next to the 300.
	if got, err := l.read(nil, bytes.NewReader(make([]byte, 440)), 150, 0, 10_000); err != nil || len(got) != 440 || l.held != 450 {
		t.Errorf("%d bytes, %v, %d held", len(got), err, l.held)
	}
	l.Release()
	var p *problem.Problem
	if _, err := l.read(nil, bytes.NewReader(make([]byte, 460)), 150, 0, 10_000); !errors.As(err, &p) || p.Status != 413 {
		t.Error(err)
	}
}

// OnFirstChunk is called a single time, for a body longer than the first chunk, before memory for the rest
// is acquired.
func TestBudget_Look(t *testing.T) {
	for size, want := range map[int]int{FirstChunk - 1: 0, 5 * FirstChunk: 1} {
		l := NewBudget(64<<20, 0).newArrived(t)
		looks := 0
		l.OnFirstChunk = func(text []byte) error {
			looks++
			if len(text) != FirstChunk || l.held != FirstChunk {
				t.Errorf("a look at %d bytes, with %d held", len(text), l.held)
			}
			return nil
		}
		if got, err := l.UnpackInto(nil, bytes.NewReader(make([]byte, size)), int64(size), 1<<20); err != nil || len(got) != size || looks != want {
			t.Errorf("%d of %d bytes, %v, %d looks", len(got), size, err, looks)
		}
	}
}

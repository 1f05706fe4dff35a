package httpapi

import (
	"container/list"
	"context"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bunting-flags/bunting/capture"
)

// DefaultBudget is Config.Budget where that is zero: 96 MiB, in bytes
// (decision 14).
const DefaultBudget = 96 << 20

// budgetPatience is how long a body waits for memory before its sender is told
// to come again.
const budgetPatience = 2 * time.Second

// budget is the memory that all capture bodies share, in bytes. Who asks for
// more than is left waits in line. Bodies that have begun go first, and the last
// quarter is theirs alone: were it given to new ones too, all might hold a part
// and wait for the rest.
type budget struct {
	total   int64
	refused atomic.Uint64

	mu    sync.Mutex
	used  int64
	lines [2]list.List // of *claim, the oldest in front: see begun and fresh
}

// The lines of a budget, in the order in which they are served.
const (
	begun = iota
	fresh
)

type claim struct {
	n       int64
	granted chan struct{} // closed when n is reserved
}

func newBudget(total int64) *budget {
	if total <= 0 {
		total = DefaultBudget
	}
	return &budget{total: total}
}

// acquire reserves n bytes. It waits its turn for budgetPatience at most; false
// means that nothing was reserved.
func (b *budget) acquire(ctx context.Context, n int64, line int) bool {
	b.mu.Lock()
	if b.lines[begun].Len() == 0 && (line == begun || b.lines[fresh].Len() == 0) && b.fits(n, line) {
		b.used += n
		b.mu.Unlock()
		return true
	}
	c := &claim{n, make(chan struct{})}
	place := b.lines[line].PushBack(c)
	b.mu.Unlock()

	timer := time.NewTimer(budgetPatience)
	defer timer.Stop()
	select {
	case <-c.granted:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-c.granted: // in the last moment
		return true
	default:
	}
	b.lines[line].Remove(place)
	b.grant() // a smaller claim may have stood behind this one
	b.refused.Add(1)
	return false
}

// release gives n bytes back.
func (b *budget) release(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= n
	b.grant()
}

// fits reports whether n bytes are left for a line. One body may have all of it.
func (b *budget) fits(n int64, line int) bool {
	room := b.total
	if line == fresh {
		room -= b.total / 4
	}
	return b.used == 0 || b.used+n <= room
}

// grant serves those who wait, in their order, as far as the memory goes.
func (b *budget) grant() {
	for line := range b.lines {
		for e := b.lines[line].Front(); e != nil; e = b.lines[line].Front() {
			c := e.Value.(*claim)
			if !b.fits(c.n, line) {
				return
			}
			b.used += c.n
			b.lines[line].Remove(e)
			close(c.granted)
		}
	}
}

// inUse is what is taken, in bytes.
func (b *budget) inUse() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return uint64(b.used)
}

// lease is what one request holds of the budget.
type lease struct {
	ctx    context.Context
	budget *budget
	held   int64
}

func (b *budget) lease(ctx context.Context) *lease { return &lease{ctx: ctx, budget: b} }

// take reserves n bytes more.
func (l *lease) take(n int64) error {
	if l.held+n > l.budget.total {
		return l.tooLarge()
	}
	line := begun
	if l.held == 0 {
		line = fresh
	}
	if !l.budget.acquire(l.ctx, n, line) {
		return &problemBusy
	}
	l.held += n
	return nil
}

func (l *lease) give(n int64) {
	l.held -= n
	l.budget.release(n)
}

func (l *lease) release() { l.give(l.held) }

func (l *lease) tooLarge() error { return payloadTooLarge(l.budget.total) }

// eventMemory is about what an event takes on its way into the store beside its
// text, in bytes.
const eventMemory = 600

// takeRecording reserves what the events of a body take while they are stored,
// beside the body and its items: the texts that are stored, and the events
// themselves, a piece of the submission at a time.
func (l *lease) takeRecording(text, items int) error {
	n := int64(text) + int64(text)/8 + eventMemory*int64(items)
	if items > capture.PieceEvents {
		n = n / int64(items) * capture.PieceEvents
	}
	return l.take(n)
}

// grow moves buf into a new buffer of size bytes, of less where the budget has
// less at all. Both count while they are in memory.
func (l *lease) grow(buf []byte, size int64) ([]byte, error) {
	size = min(size, l.budget.total-l.held)
	old := int64(cap(buf))
	if size <= old {
		return nil, l.tooLarge()
	}
	if err := l.take(size); err != nil {
		return nil, err
	}
	buf = append(make([]byte, 0, size), buf...)
	l.give(old)
	return buf, nil
}

// read appends all of src to buf, whose capacity is part of the lease, until it
// has more than limit bytes, which is an error. first is how many bytes a new
// buffer gets, expected how many are expected in all: the buffer doubles up to
// there, and beyond if it has to.
func (l *lease) read(buf []byte, src io.Reader, first, expected, limit int64) ([]byte, error) {
	for {
		if len(buf) == cap(buf) {
			size := max(2*int64(cap(buf)), first, 1)
			if int64(cap(buf)) <= expected {
				size = min(size, expected+1) // one more, to see the end
			}
			var err error
			if buf, err = l.grow(buf, min(size, limit+1)); err != nil {
				return nil, err
			}
		}
		n, err := src.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		switch {
		case int64(len(buf)) > limit:
			return nil, payloadTooLarge(limit)
		case err == io.EOF:
			return buf, nil
		case err != nil:
			return nil, err
		}
	}
}

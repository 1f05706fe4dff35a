package events

import (
	"slices"
	"strings"
	"sync"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/capture"
)

const (
	// maxPending is the maximum number of pending events, and maxPendingBytes the maximum
	// length of their names and distinct ids. If there are more, Index reads the rows of the
	// events instead.
	maxPending      = 1 << 14
	maxPendingBytes = 4 << 20
)

// pending has the short columns of the events that this process committed last, in the
// order of their ids, so that Index does not read their rows. It is used only if this
// process is the only one that writes.
type pending struct {
	mu     sync.Mutex
	events []pendingEvent
	bytes  int
	// events has all events that are stored with after < id <= upTo.
	after, upTo int64
}

// pendingEvent is an event of a project.
type pendingEvent struct {
	project int64
	block.Event
}

// Committed adds the events of a transaction that was committed and assigned the ids
// with after < id <= upTo.
func (l *Log) Committed(after, upTo int64, changes []*capture.Changes) {
	p := &l.pending
	if !l.db.Dialect.SingleWriter || upTo == 0 {
		return
	}
	n, bytes := 0, 0
	for _, c := range changes {
		n += len(c.Events)
		for i := range c.Events {
			bytes += len(c.Events[i].Name) + len(c.Events[i].DistinctID)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if upTo <= p.upTo { // meanwhile the rows were read, or events were erased
		return
	}
	if after != p.upTo || len(p.events)+n > maxPending || p.bytes+bytes > maxPendingBytes {
		p.restart(upTo)
		return
	}
	// The strings of the events may be parts of large requests, so they are copied.
	var text strings.Builder
	text.Grow(bytes)
	clone := func(s string) string {
		text.WriteString(s)
		return text.String()[text.Len()-len(s):]
	}
	for _, c := range changes {
		for i := range c.Events {
			e := &c.Events[i]
			p.events = append(p.events, pendingEvent{e.ProjectID, block.Event{
				ID: e.ID, Time: database.Micros(e.Timestamp), Arrived: database.Micros(e.CreatedAt), Name: clone(e.Name), DistinctID: clone(e.DistinctID),
				UUID: e.UUID, Person: e.PersonID, PersonCreated: database.Micros(e.PersonCreatedAt), Mode: e.PersonMode, Historical: e.Historical,
			}})
		}
	}
	p.upTo, p.bytes = upTo, p.bytes+bytes
}

// ForgetPending removes all pending events: their rows may have been deleted, or it is
// unknown which are stored, because a transaction that assigned ids has failed.
func (l *Log) ForgetPending() {
	if !l.db.Dialect.SingleWriter {
		return
	}
	l.pending.mu.Lock()
	defer l.pending.mu.Unlock()
	l.pending.restart(l.Last.Load())
}

// restart removes all events. Those with greater ids than upTo will be added.
func (p *pending) restart(upTo int64) {
	clear(p.events) // without the references, the strings can be garbage collected
	p.events, p.bytes, p.after, p.upTo = p.events[:0], 0, upTo, upTo
}

// limit returns the last id, at most upTo, up to which Index can build blocks from
// pending events alone, or upTo if rows must be read.
func (p *pending) limit(mark, upTo int64) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case mark < p.after: // rows first, up to the pending events
		return min(upTo, p.after)
	case mark < p.upTo:
		return min(upTo, p.upTo)
	}
	return upTo
}

// between returns the events with after < id <= upTo. If ok is false, they are not all
// pending.
func (p *pending) between(after, upTo int64) (events []pendingEvent, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if after < p.after || upTo > p.upTo {
		return nil, false
	}
	return slices.Clone(p.events[p.find(after):p.find(upTo)]), true
}

// indexed removes the events up to an id, which are in blocks.
func (p *pending) indexed(upTo int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if upTo <= p.after {
		return
	}
	if upTo >= p.upTo {
		p.restart(upTo)
		return
	}
	n := p.find(upTo)
	for i := range p.events[:n] {
		p.bytes -= len(p.events[i].Name) + len(p.events[i].DistinctID)
	}
	p.events = slices.Delete(p.events, 0, n)
	p.after = upTo
}

// find returns the number of events with ids up to id.
func (p *pending) find(id int64) int {
	n, _ := slices.BinarySearchFunc(p.events, id+1, func(e pendingEvent, id int64) int { return int(e.ID - id) })
	return n
}

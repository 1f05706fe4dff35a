package admission

import (
	"net/http"
	"time"
)

const (
	// minRate is the minimum speed of a request body, in bytes per second. A request is aborted
	// if a span of paceInterval brings less than minRate times paceInterval. This limits how long
	// slow senders can hold memory.
	minRate      = 16 << 10
	paceInterval = 5 * time.Second
	// onePacketLimit is the declared length, in bytes, up to which the first read of a body is
	// not timed, because such a body usually arrives with the headers. A stalled request can hold
	// at most that much memory.
	onePacketLimit = 4 << 10
	// serverTime is the time that the server may spend between reads, for example waiting for
	// memory or for a worker, before it extends the span by that time.
	serverTime = 50 * time.Millisecond
)

// PacedBody reads the body of a request. Reads fail with os.ErrDeadlineExceeded if the body
// arrives too slowly.
type PacedBody struct {
	W http.ResponseWriter
	R *http.Request

	total    int64         // bytes read in all
	since    time.Time     // the start of the current span; zero if no deadline is set
	ends     time.Time     // the deadline of the server's ReadTimeout; zero if there is none
	n        int64         // bytes read in the current span
	lastRead time.Time     // the end of the last read; time from then to the next read is spent by the server
	owed     time.Duration // time spent by the server that has not extended the span yet
}

// Read implements io.Reader.
func (p *PacedBody) Read(buf []byte) (int, error) {
	if declared := p.R.ContentLength; declared < 0 || p.total < declared && (p.total > 0 || declared > onePacketLimit) {
		p.pace() // otherwise the body is complete, or most likely already received
	}
	n, err := p.R.Body.Read(buf)
	p.n += int64(n)
	p.total += int64(n)
	if !p.since.IsZero() {
		p.lastRead = time.Now()
	}
	return n, err
}

// pace starts a new span if the current one has brought enough bytes, and otherwise extends it by
// the time that the server has spent.
func (p *PacedBody) pace() {
	now := time.Now()
	switch {
	case p.since.IsZero():
		if s, _ := p.R.Context().Value(http.ServerContextKey).(*http.Server); s != nil && s.ReadTimeout > 0 {
			p.ends = now.Add(s.ReadTimeout)
		}
	case p.n < minRate*int64(paceInterval/time.Second), now.Sub(p.since) < time.Second:
		if p.owed += now.Sub(p.lastRead); p.owed < serverTime {
			return
		}
		p.since, p.owed = p.since.Add(p.owed), 0
	default:
		p.since, p.n, p.owed = now, 0, 0
	}
	if p.since.IsZero() {
		p.since = now
	}
	until := p.since.Add(paceInterval)
	if !p.ends.IsZero() && p.ends.Before(until) {
		until = p.ends
	}
	p.deadline(until)
}

// Finish removes the deadline of a complete body. Otherwise a deadline that passes later would
// abort the request.
func (p *PacedBody) Finish() {
	if !p.since.IsZero() {
		p.deadline(time.Time{})
	}
}

func (p *PacedBody) deadline(t time.Time) {
	// Response writers without deadlines, as in tests, have no network connection.
	_ = http.NewResponseController(p.W).SetReadDeadline(t)
}

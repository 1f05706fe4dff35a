package httpapi

import (
	"net/http"
	"time"
)

const (
	// minRate is how fast a body has to arrive, in bytes a second, once it has had
	// paceInterval: whoever brings less than minRate times paceInterval in that long is cut
	// off. So slow senders cannot hold memory for long.
	minRate      = 16 << 10
	paceInterval = 5 * time.Second
	// onePacketLimit is the declared length, in bytes, up to which the first read of a
	// body is not timed, as it is there with the headers. Such a body holds no more
	// than that.
	onePacketLimit = 4 << 10
	// serverTime is how long the server may take between reads, for memory that others hold
	// or for its turn, until the sender gets that time back.
	serverTime = 50 * time.Millisecond
)

// pacedBody reads a request's body, and fails when it comes too slowly: with
// os.ErrDeadlineExceeded.
type pacedBody struct {
	w http.ResponseWriter
	r *http.Request

	total    int64         // bytes that have been read
	since    time.Time     // when the present span began; zero: no deadline is set
	ends     time.Time     // the server's own deadline, zero for none
	n        int64         // bytes of the present span
	lastRead time.Time     // when the last read was over: what passes until the next one is the server's own time
	owed     time.Duration // of which the sender has not got back this much
}

// Read implements io.Reader.
func (p *pacedBody) Read(buf []byte) (int, error) {
	if declared := p.r.ContentLength; declared < 0 || p.total < declared && (p.total > 0 || declared > onePacketLimit) {
		p.pace() // else there is no more to come, or most likely all of it is there
	}
	n, err := p.r.Body.Read(buf)
	p.n += int64(n)
	p.total += int64(n)
	if !p.since.IsZero() {
		p.lastRead = time.Now()
	}
	return n, err
}

// pace begins a new span when the present one has brought enough.
func (p *pacedBody) pace() {
	now := time.Now()
	switch {
	case p.since.IsZero():
		if s, _ := p.r.Context().Value(http.ServerContextKey).(*http.Server); s != nil && s.ReadTimeout > 0 {
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

// finish ends the timing of a body that is all there: a deadline that passes later
// would end the request.
func (p *pacedBody) finish() {
	if !p.since.IsZero() {
		p.deadline(time.Time{})
	}
}

func (p *pacedBody) deadline(t time.Time) {
	// A writer that has no deadlines has no network either.
	_ = http.NewResponseController(p.w).SetReadDeadline(t)
}

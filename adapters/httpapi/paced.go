package httpapi

import (
	"net/http"
	"time"
)

const (
	// leastRate is how fast a body has to arrive, in bytes a second, once it has had
	// paceSpan: whoever brings less than leastRate times paceSpan in that long is cut
	// off. So slow senders cannot hold memory for long.
	leastRate = 16 << 10
	paceSpan  = 5 * time.Second
	// inOnePacket is the declared length, in bytes, up to which the first read of a
	// body is not timed, as it is there with the headers. Such a body holds no more
	// than that.
	inOnePacket = 4 << 10
	// ownTime is how long the server may take between reads, for memory that others hold
	// or for its turn, until the sender gets that time back.
	ownTime = 50 * time.Millisecond
)

// pacedBody reads a request's body, and fails when it comes too slowly: with
// os.ErrDeadlineExceeded.
type pacedBody struct {
	w http.ResponseWriter
	r *http.Request

	all   int64         // bytes that have been read
	since time.Time     // when the present span began; zero: no deadline is set
	ends  time.Time     // the server's own deadline, zero for none
	n     int64         // bytes of the present span
	left  time.Time     // when the last read was over: what passes until the next one is the server's own time
	own   time.Duration // of which the sender has not got back this much
}

// Read implements io.Reader.
func (p *pacedBody) Read(buf []byte) (int, error) {
	if declared := p.r.ContentLength; declared < 0 || p.all < declared && (p.all > 0 || declared > inOnePacket) {
		p.pace() // else there is no more to come, or most likely all of it is there
	}
	n, err := p.r.Body.Read(buf)
	p.n += int64(n)
	p.all += int64(n)
	if !p.since.IsZero() {
		p.left = time.Now()
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
	case p.n < leastRate*int64(paceSpan/time.Second), now.Sub(p.since) < time.Second:
		if p.own += now.Sub(p.left); p.own < ownTime {
			return
		}
		p.since, p.own = p.since.Add(p.own), 0
	default:
		p.since, p.n, p.own = now, 0, 0
	}
	if p.since.IsZero() {
		p.since = now
	}
	until := p.since.Add(paceSpan)
	if !p.ends.IsZero() && p.ends.Before(until) {
		until = p.ends
	}
	p.deadline(until)
}

// done ends the timing of a body that is all there: a deadline that passes later
// would end the request.
func (p *pacedBody) done() {
	if !p.since.IsZero() {
		p.deadline(time.Time{})
	}
}

func (p *pacedBody) deadline(at time.Time) {
	// A writer that has no deadlines has no network either.
	_ = http.NewResponseController(p.w).SetReadDeadline(at)
}

package admission

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
)

const (
	// FirstChunk is the number of bytes reserved for a body before its first byte arrives. The rest
	// is reserved as it arrives.
	FirstChunk = 16 << 10
	// A body that is rejected before its end is read and discarded, so that the client receives the
	// status instead of a broken connection (§4.6). drainBytes and drainTime limit how much is read
	// and for how long.
	drainBytes = 64 << 20
	drainTime  = 5 * time.Second
)

// ReadRaw reads the body of the request, at most limit bytes, and reserves memory as the bytes
// arrive.
func (l *Lease) ReadRaw(limit int64) ([]byte, error) {
	w, r := l.Body.W, l.Body.R
	if r.ContentLength > limit {
		Drain(w, r, r.Header.Get("Expect") == "")
		return nil, TooLargeFor(limit)
	}
	first := int64(FirstChunk)
	if r.ContentLength >= 0 {
		first = min(first, r.ContentLength+1)
	}
	raw, err := l.read(nil, &l.Body, first, max(r.ContentLength, 0), limit)
	if err != nil {
		err = ReadProblem(err)
		Drain(w, r, isDrainable(err))
		return nil, err
	}
	l.Body.Finish()
	l.MarkArrived()
	return raw, nil
}

// Drain reads and discards the rest of a body, if enabled is true.
func Drain(w http.ResponseWriter, r *http.Request, enabled bool) {
	if !enabled {
		return
	}
	// Writers without deadlines are not network connections, so the error can be ignored.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(drainTime))
	_, _ = io.CopyN(io.Discard, r.Body, drainBytes)
}

var (
	broken   = problem.Problem{Status: 400, Type: "validation_error", Code: "invalid_payload", Detail: "failed to decode request: the body ended early"}
	timeout  = problem.Problem{Status: 408, Type: "validation_error", Code: "timeout", Detail: "the body was not received in time"}
	tooLarge = problem.Problem{Status: 413, Type: "validation_error", Code: "payload_too_large"}
	// Busy is the error of a body for which no memory became free in time.
	Busy = problem.Problem{Status: 503, Type: "server_error", Code: "server_error", Detail: "too much is under way at the moment, please retry", RetryAfter: 1}
)

// TooLargeFor returns the error of a body of more than limit bytes.
func TooLargeFor(limit int64) *problem.Problem {
	p := tooLarge
	p.Detail = fmt.Sprintf("maximum event size exceeded: the body is larger than %d bytes", limit)
	return &p
}

// ReadProblem converts an error from reading a body to the problem in the response.
func ReadProblem(err error) error {
	var target *problem.Problem
	var outer *http.MaxBytesError // from a MaxBytesReader of an outer router
	var network net.Error
	switch {
	case errors.As(err, &target):
		return err
	case errors.As(err, &outer):
		return TooLargeFor(outer.Limit)
	case errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return &timeout
	}
	return &broken
}

// isDrainable reports whether the rest of the body can still be read from the connection after err.
func isDrainable(err error) bool {
	var target *problem.Problem
	return errors.As(err, &target) && target.Status != timeout.Status && target != &broken
}

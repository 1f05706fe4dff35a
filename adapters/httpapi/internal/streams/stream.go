package streams

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"os"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
)

// This file serves the stream of a project's definitions (decision 5) as server-sent events: GET
// /flags/definitions/stream, with the parameters, checks and statuses of /flags/definitions.
//
//	retry: 1730                    the delay before reconnecting, in ms
//
//	event: definitions             the current definitions, then the definitions after each
//	id: 5f3c0a8e9d1b2c47           change; the id is that of the ETag
//	data: {"flags":[...]}
//
//	:                              keep-alive: no change
//
//	event: closing                 the server ends the stream
//	data: {"code":"shutdown"}      or unauthorized, quota_limited
//
// A client that reconnects with the id as Last-Event-ID receives the definitions only if they
// have changed. Each payload that is sent counts as a download; keep-alives are free. A client
// that reads too slowly skips changes and receives the newest one.

// DefaultMaxStreams is the value of Config.MaxStreams if that is zero.
const DefaultMaxStreams = 20_000

// StreamTiming has the intervals and timeouts of streams.
type StreamTiming struct {
	KeepAlive time.Duration // between comments, and between checks of a key
	Write     time.Duration // a client is dropped if one write takes longer
	Poll      time.Duration // between reads of the definitions; the Decider reads the store once per second
}

var defaultStreamTiming = StreamTiming{KeepAlive: 15 * time.Second, Write: 5 * time.Second, Poll: 500 * time.Millisecond}

// Codes of the event closing.
const (
	closingShutdown     = "shutdown"
	closingUnauthorized = "unauthorized"
	closingQuota        = "quota_limited"
)

// Arrive sets st.state to the hub's state. It is not older than version, so that the client does
// not receive, and pay for, two payloads. If arrive returns an error, it has released the slot.
func (st *stream) Arrive(version string) error {
	if st.hub.state.Load().Version != version {
		st.hub.poll()
	}
	if st.State = st.hub.state.Load(); st.State.end != "" {
		st.Leave()
		return flags.ErrUnknownKey
	}
	return nil
}

// stream is the stream of one client. Only one goroutine uses it.
type stream struct {
	streams      *Streams
	hub          *hub
	key          *streamKey      // nil if the stream needs no secret key
	ended        <-chan struct{} // closed when the key loses access to the project
	address      netip.Addr      // of the client; set only for ChangesStream
	SDK          string
	out          streamWriter
	State        *definitionsState // the state that is sent next or was sent last
	Sent         string            // the version that the client has
	spread       int64             // the spread of the last retry line, in milliseconds
	disconnected <-chan struct{}   // nil if only a failed write detects a disconnected client
}

// streamWriter writes to a client. write returns an error if it cannot write everything in time.
type streamWriter interface {
	write([]byte) error
	close()
}

func streamHeaders(h http.Header) {
	h.Set("Content-Type", frame.EventStream)
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no") // disables buffering in nginx
}

// HeadStream responds to HEAD with the headers of a stream, without opening one.
func HeadStream(w http.ResponseWriter) error {
	streamHeaders(w.Header())
	w.WriteHeader(http.StatusOK)
	return nil
}

// Start sends the headers and runs the stream. If the connection can be hijacked, the stream has
// its own goroutine, and the memory of net/http is freed; otherwise start runs the stream in the
// handler.
func (st *stream) Start(w http.ResponseWriter, r *http.Request) error {
	h := w.Header()
	streamHeaders(h)
	control := http.NewResponseController(w)
	timeout := st.streams.Timing.Write
	if conn, _, err := control.Hijack(); err == nil {
		h.Set("Connection", "close")
		h.Set("Date", time.Now().UTC().Format(http.TimeFormat))
		var head bytes.Buffer
		head.WriteString("HTTP/1.1 200 OK\r\n")
		_ = h.Write(&head) // writing to a Buffer cannot fail
		head.WriteString("\r\n")
		setWriteTimeout(conn, st.streams.Timing.KeepAlive)
		st.out = connWriter{conn, timeout}
		go st.run(head.Bytes())
		return nil
	}
	_ = control.SetReadDeadline(time.Time{}) // the read deadline of the server would end the request
	if err := control.Flush(); err != nil {
		st.Leave()
		return fmt.Errorf("streaming is not possible here: %w", err)
	}
	st.disconnected = r.Context().Done()
	st.out = flushWriter{w, control, timeout}
	st.run(nil)
	return nil
}

// run serves the client until it leaves or the server ends the stream.
func (st *stream) run(head []byte) {
	defer st.Leave()
	defer st.out.close()
	first := st.State.greeting
	if st.State.Version != st.Sent {
		first = st.State.event
	}
	head = append(append(head, st.retry()...), '\n')
	if !st.write(head) || !st.send(first) {
		return
	}
	keepAlive := st.streams.Timing.KeepAlive
	timer := time.NewTimer(keepAlive - rand.N(keepAlive/2)) // random, to spread clients that connected at the same time
	defer timer.Stop()
	for {
		state := st.hub.state.Load()
		if state.end == "" && state.Version != st.Sent && state.spread > 0 {
			if !st.delay(state.spread) { // the client receives the change after it reconnects
				st.closing(closingShutdown)
				return
			}
			state = st.hub.state.Load() // the state may have changed during the delay
		}
		switch {
		case state.end != "":
			st.closing(state.end)
			return
		case state.Version != st.Sent:
			if st.State = state; !st.ChargeDownload(st.streams.Ctx) {
				st.closing(closingQuota)
				return
			}
			if !st.send(state.event) {
				return
			}
			continue // the state may have changed during the write
		}
		select {
		case <-state.next:
		case <-timer.C:
			if !st.keepAlive() {
				return
			}
			timer.Reset(keepAlive)
		case <-st.ended:
			st.closing(closingUnauthorized)
			return
		case <-st.streams.Ctx.Done():
			st.closing(closingShutdown)
			return
		case <-st.disconnected:
			return
		}
	}
}

// delay waits for a random part of the time over which a change is spread. It returns false if
// the server stops or the client disconnects first.
func (st *stream) delay(spread time.Duration) bool {
	timer := time.NewTimer(rand.N(spread))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-st.streams.Ctx.Done():
	case <-st.disconnected:
	}
	return false
}

// ChargeDownload counts the payload of st.state as a download. It returns false if the quota does
// not allow it. Streams of changes are free.
func (st *stream) ChargeDownload(ctx context.Context) bool {
	if st.hub.id.kind == ChangesStream {
		return true
	}
	s := st.streams.server
	if !s.Decider.CountPayload(ctx, st.hub.project.Load()) {
		return false
	}
	s.Usage.Add(st.hub.id.apiKey, frame.UsageFlags, st.key.masked, st.SDK, serving.DefinitionsCost)
	return true
}

// send writes the event of st.state, or the greeting. It returns false if the client cannot be
// reached.
func (st *stream) send(event []byte) bool {
	if !st.write(event) {
		return false
	}
	if st.State.Version != st.Sent {
		st.streams.slotsOf(st.hub.id.kind).events.Add(1)
		st.Sent = st.State.Version
	}
	return true
}

func (st *stream) write(text []byte) bool {
	err := st.out.write(text)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		st.streams.dropped.Add(1)
	}
	return err == nil
}

var keepAliveComment = []byte(":\n\n")

// KeepAlive writes a comment. If the number of clients has grown much since the last retry line,
// it writes a new one.
func (st *stream) keepAlive() bool {
	if st.streams.Spread() >= 2*st.spread {
		return st.write(append(st.retry(), keepAliveComment...))
	}
	return st.write(keepAliveComment)
}

// closing writes the reason why the stream ends.
func (st *stream) closing(code string) {
	if st.hub.id.kind == ChangesStream { // changes streams have no closing event
		st.write(append(st.retry(), '\n'))
		return
	}
	st.write(fmt.Appendf(st.retry(), "event: closing\ndata: {\"code\":%q}\n\n", code)) // the stream ends even if the write fails
}

// retry returns the line with the delay before reconnecting. The delays spread clients that lose
// their server at the same time to about 2,000 per second.
func (st *stream) retry() []byte {
	st.spread = st.streams.Spread()
	return fmt.Appendf(nil, "retry: %d\n", RetryDelay(st.spread).Milliseconds())
}

// RetryDelay returns a random time between one second and spread milliseconds.
func RetryDelay(spread int64) time.Duration {
	return time.Duration(1000+rand.Int64N(spread-1000+1)) * time.Millisecond
}

// connWriter writes to a hijacked connection.
type connWriter struct {
	net.Conn
	timeout time.Duration
}

func (w connWriter) write(text []byte) error {
	if err := w.SetWriteDeadline(time.Now().Add(w.timeout)); err != nil {
		return err
	}
	_, err := w.Write(text)
	return err
}

func (w connWriter) close() { _ = w.Close() } // the stream is over, so an error does not matter

// flushWriter writes through net/http, for HTTP/2 and for middleware that wraps the response
// writer.
type flushWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
}

func (w flushWriter) write(text []byte) error {
	_ = w.control.SetWriteDeadline(time.Now().Add(w.timeout)) // if a middleware hides this method, the server's own deadline applies
	if _, err := w.Write(text); err != nil {
		return err
	}
	return w.control.Flush()
}

func (w flushWriter) close() {}

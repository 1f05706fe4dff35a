package httpapi

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
	"strings"
	"time"

	"github.com/bunting-flags/bunting/flags"
)

// This file is the stream of a project's definitions (decision 5), as server-sent
// events: GET /flags/definitions/stream, with the parameters, checks and statuses
// of /flags/definitions.
//
//	retry: 1730                    how long to wait before coming back, in ms
//
//	event: definitions             the definitions as they are now, then after each
//	id: 5f3c0a8e9d1b2c47           change; the id is that of the ETag
//	data: {"flags":[...]}
//
//	:                              nothing has changed
//
//	event: closing                 the server ends the stream
//	data: {"code":"shutdown"}      or unauthorized, quota_limited
//
// A client that comes back with the id as Last-Event-ID gets the definitions only
// if they have changed meanwhile. Each payload that is sent counts as a download;
// all else is free. A client that reads too slowly for a change gets only the
// newest.

// defaultMaxStreams is Config.MaxStreams where that is zero.
const defaultMaxStreams = 20_000

// streamTiming is how long things take.
type streamTiming struct {
	keepAlive time.Duration // between comments, and between looks at a key
	write     time.Duration // a reader that takes longer for one write is dropped
	poll      time.Duration // between looks at the definitions; the Decider reads them once a second
}

var defaultStreamTiming = streamTiming{keepAlive: 15 * time.Second, write: 5 * time.Second, poll: 500 * time.Millisecond}

// Codes of the event closing.
const (
	closingShutdown     = "shutdown"
	closingUnauthorized = "unauthorized"
	closingQuota        = "quota_limited"
)

// getDefinitionsStream checks in the order of §1.8, as getDefinitions does.
func getDefinitionsStream(s *server, w http.ResponseWriter, r *http.Request) error {
	project, _, err := s.project(r.Context(), parseQuery(r.URL.RawQuery).Token)
	if err != nil {
		return err
	}
	text := bearer(r)
	if err := s.streams.authorize(r.Context(), text, &project); err != nil {
		return s.countUnknownKey(r, err)
	}
	if !s.limits.definitions.allow(s, w, project.APIKey) {
		return &problemRateLimited
	}
	members := wantsMembers(r)
	payload, version, err := s.payload(r.Context(), project.APIKey, members)
	if err != nil {
		return err
	}
	if r.Method == http.MethodHead {
		return headStream(w)
	}
	st, err := s.streams.join(&project, kindOf(members), payload, version, admission{key: text})
	if err != nil {
		return err
	}
	st.sdk = strings.Clone(sdkOf(r)) // a part of the request's memory
	st.sent = r.Header.Get("Last-Event-ID")
	if err := st.arrive(version); err != nil {
		return err
	}
	if st.state.version != st.sent && !st.chargeDownload(r.Context()) {
		st.leave()
		return &problemQuota
	}
	return st.start(w, r)
}

// arrive takes the hub's state, which must not be older than version, so that the
// client does not get and pay two. An error gives the place back.
func (st *stream) arrive(version string) error {
	if st.hub.state.Load().version != version {
		st.hub.poll()
	}
	if st.state = st.hub.state.Load(); st.state.end != "" {
		st.leave()
		return flags.ErrUnknownKey
	}
	return nil
}

// stream is one client.
type stream struct {
	streams      *streams
	hub          *hub
	key          *streamKey      // nil where no secret is needed
	ended        <-chan struct{} // when the key opens the project no more
	address      netip.Addr      // of who listens to changes only
	sdk          string
	out          streamWriter
	state        *definitionsState // the one that is sent next or was sent last
	sent         string            // its version, once it is sent
	spread       int64             // over how many milliseconds retry was chosen last
	disconnected <-chan struct{}   // nil where only a write finds out
}

// streamWriter sends to a client: all of it in time, or an error.
type streamWriter interface {
	write([]byte) error
	close()
}

func streamHeaders(h http.Header) {
	h.Set("Content-Type", eventStream)
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no") // for nginx
}

// headStream answers HEAD: with the headers of a stream, which is not opened.
func headStream(w http.ResponseWriter) error {
	streamHeaders(w.Header())
	w.WriteHeader(http.StatusOK)
	return nil
}

// start sends the head of the answer and runs the stream: on the connection
// itself where it can be had, so that a client costs a goroutine and nothing of
// net/http, else inside the handler.
func (st *stream) start(w http.ResponseWriter, r *http.Request) error {
	h := w.Header()
	streamHeaders(h)
	control := http.NewResponseController(w)
	timeout := st.streams.timing.write
	if conn, _, err := control.Hijack(); err == nil {
		h.Set("Connection", "close")
		h.Set("Date", time.Now().UTC().Format(http.TimeFormat))
		var head bytes.Buffer
		head.WriteString("HTTP/1.1 200 OK\r\n")
		_ = h.Write(&head) // a Buffer takes everything
		head.WriteString("\r\n")
		setWriteTimeout(conn, st.streams.timing.keepAlive)
		st.out = connWriter{conn, timeout}
		go st.run(head.Bytes())
		return nil
	}
	_ = control.SetReadDeadline(time.Time{}) // that of the server would end the request
	if err := control.Flush(); err != nil {
		st.leave()
		return fmt.Errorf("streaming is not possible here: %w", err)
	}
	st.disconnected = r.Context().Done()
	st.out = flushWriter{w, control, timeout}
	st.run(nil)
	return nil
}

// run serves the client until it leaves or the server ends the stream.
func (st *stream) run(head []byte) {
	defer st.leave()
	defer st.out.close()
	first := st.state.greeting
	if st.state.version != st.sent {
		first = st.state.event
	}
	head = append(append(head, st.retry()...), '\n')
	if !st.write(head) || !st.send(first) {
		return
	}
	keepAlive := st.streams.timing.keepAlive
	timer := time.NewTimer(keepAlive - rand.N(keepAlive/2)) // so that clients who came together part
	defer timer.Stop()
	for {
		state := st.hub.state.Load()
		if state.end == "" && state.version != st.sent && state.spread > 0 {
			if !st.delay(state.spread) { // it is told when it comes back
				st.closing(closingShutdown)
				return
			}
			state = st.hub.state.Load() // there may be a newer one by now
		}
		switch {
		case state.end != "":
			st.closing(state.end)
			return
		case state.version != st.sent:
			if st.state = state; !st.chargeDownload(st.streams.ctx) {
				st.closing(closingQuota)
				return
			}
			if !st.send(state.event) {
				return
			}
			continue // there may be a newer one by now
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
		case <-st.streams.ctx.Done():
			st.closing(closingShutdown)
			return
		case <-st.disconnected:
			return
		}
	}
}

// delay waits for some part of the time over which clients are told of a change;
// false when the server ends or the client leaves meanwhile.
func (st *stream) delay(spread time.Duration) bool {
	timer := time.NewTimer(rand.N(spread))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-st.streams.ctx.Done():
	case <-st.disconnected:
	}
	return false
}

// chargeDownload counts the payload of st.state as a download; false when the quota does not
// allow it.
func (st *stream) chargeDownload(ctx context.Context) bool {
	if st.hub.id.kind == changesStream {
		return true
	}
	s := st.streams.server
	if !s.Decider.CountPayload(ctx, st.hub.project.Load()) {
		return false
	}
	s.usage.add(st.hub.id.apiKey, usageFlags, st.key.masked, st.sdk, flags.DefinitionsCost)
	return true
}

// send writes the event of st.state, or a comment where there is none to send.
func (st *stream) send(event []byte) bool {
	if !st.write(event) {
		return false
	}
	if st.state.version != st.sent {
		st.streams.slotsOf(st.hub.id.kind).events.Add(1)
		st.sent = st.state.version
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

// keepAlive says that nothing has changed, and how long to wait before coming
// back where many others have come since that was said.
func (st *stream) keepAlive() bool {
	if st.streams.spread() >= 2*st.spread {
		return st.write(append(st.retry(), keepAliveComment...))
	}
	return st.write(keepAliveComment)
}

// closing tells the client why the stream ends.
func (st *stream) closing(code string) {
	if st.hub.id.kind == changesStream { // all its events are changes
		st.write(append(st.retry(), '\n'))
		return
	}
	st.write(fmt.Appendf(st.retry(), "event: closing\ndata: {\"code\":%q}\n\n", code)) // it ends either way
}

// retry is the line that says how long to wait before coming back. Clients who
// lose their server together come back at no more than about 2,000 a second.
func (st *stream) retry() []byte {
	st.spread = st.streams.spread()
	return fmt.Appendf(nil, "retry: %d\n", retryDelay(st.spread).Milliseconds())
}

// retryDelay chooses a time between one second and spread milliseconds.
func retryDelay(spread int64) time.Duration {
	return time.Duration(1000+rand.Int64N(spread-1000+1)) * time.Millisecond
}

// connWriter writes to a connection that was taken over.
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

func (w connWriter) close() { _ = w.Close() } // the client has gone or is told

// flushWriter writes through net/http, for HTTP/2 and handlers that wrap the
// answer.
type flushWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
}

func (w flushWriter) write(text []byte) error {
	_ = w.control.SetWriteDeadline(time.Now().Add(w.timeout)) // where a wrapper hides it that of the server holds
	if _, err := w.Write(text); err != nil {
		return err
	}
	return w.control.Flush()
}

func (w flushWriter) close() {}

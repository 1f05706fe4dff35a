//go:build linux

package faulttest

import (
	"bytes"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// Clients that are slow, stop in the middle, or disconnect do not cost other clients a response,
// and leave no memory or connections behind.
func TestClients(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := start(t, onSQLite(dir)...)
	idle := s.memory(t, "VmRSS")
	l := newLoad(2)
	stop := l.run(s.url)
	l.awaitOK(t, 20)
	goroutines, address := s.metric(t, "go_goroutines"), strings.TrimPrefix(s.url, "http://")

	odd := newLoad(1) // its batches may or may not be stored, unless they got 200
	var oddMu sync.Mutex
	newBatch := func() *batch {
		oddMu.Lock()
		defer oddMu.Unlock()
		b := odd.clients[0].generator.batch()
		odd.book.add(b)
		return b
	}
	var running sync.WaitGroup
	each := func(n int, do func(conn net.Conn, b *batch, request []byte) error) {
		for range n {
			running.Go(func() {
				conn, err := net.Dial("tcp", address)
				if err != nil {
					t.Error(err)
					return
				}
				defer func() { _ = conn.Close() }()
				_ = conn.SetDeadline(time.Now().Add(patience))
				b := newBatch()
				head := fmt.Sprintf("POST /batch/ HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n", address, len(b.body))
				if err := do(conn, b, append([]byte(head), b.body...)); err != nil {
					t.Error(err)
				}
			})
		}
	}
	each(50, func(conn net.Conn, b *batch, request []byte) error { // slow, but with a response
		for piece := range pieces(request, 20) {
			if _, err := conn.Write(piece); err != nil {
				return err
			}
			time.Sleep(100 * time.Millisecond)
		}
		return odd.answer(conn, b)
	})
	each(200, func(conn net.Conn, _ *batch, request []byte) error { // half a body
		_, err := conn.Write(request[:len(request)/2+100])
		time.Sleep(100 * time.Millisecond)
		return err
	})
	each(200, func(conn net.Conn, _ *batch, request []byte) error { // disconnects before the response
		_, err := conn.Write(request)
		return err
	})
	each(200, func(conn net.Conn, _ *batch, request []byte) error { // a header without a body
		_, err := conn.Write(request[:bytes.Index(request, []byte("\r\n\r\n"))+4])
		time.Sleep(2 * time.Second)
		return err
	})
	each(200, func(conn net.Conn, _ *batch, _ []byte) error { // disconnects without sending
		time.Sleep(2 * time.Second)
		return nil
	})
	running.Wait()
	stop()

	if n := odd.ok.Load(); n != 50 {
		t.Errorf("%d of 50 slow requests were answered 200", n)
	}
	if busy, broken := l.busy.Load(), l.broken.Load(); busy+broken > 0 {
		t.Errorf("beside them %d requests were answered 503 and %d not at all", busy, broken)
	}
	if text := s.log.String(); strings.Contains(text, "ERROR") {
		t.Errorf("clients that go away are no errors of the server: %s", s.log.tail(3))
	}
	eventually(t, "goroutines are as before", func() bool { return s.metric(t, "go_goroutines") <= goroutines+5 })
	if n := s.metric(t, "bunting_capture_body_bytes"); n != 0 {
		t.Errorf("%v bytes of bodies are still reserved", n)
	}
	if grown := s.memory(t, "VmHWM") - idle; grown > mostMemory/2 {
		t.Errorf("the server has grown by %d MB", grown>>20)
	}
	if code := s.stop(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	l.check(t)
	odd.check(t)
	l.book.batches = append(l.book.batches, odd.book.all()...)
	newAudit(l.book).check(t, openFolder(t, dir), people)
}

// pieces splits b into n parts.
func pieces(b []byte, n int) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for i := range n {
			if !yield(b[i*len(b)/n : (i+1)*len(b)/n]) {
				return
			}
		}
	}
}

//go:build linux

package faulttest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// load is a number of clients that send events, each on its own connection, and that resend
// requests that did not get 200, as SDKs do (§14.1). It outlives a server.
type load struct {
	book    *book
	clients []*client
	// pause is how long a client waits after a response.
	pause time.Duration
	// ok and busy count responses of 200 and 503, broken counts requests without a response.
	ok, busy, broken atomic.Int64

	mu    sync.Mutex
	wrong []string // unexpected responses
}

// client is one connection.
type client struct {
	load      *load
	generator *generator
	// unanswered is the batch that must be sent again, and sent are the last few accepted ones.
	unanswered *batch
	sent       []*batch
	http       *http.Client
}

func newLoad(clients int) *load {
	l := &load{book: &book{}, pause: 5 * time.Millisecond}
	for range clients {
		l.clients = append(l.clients, &client{load: l, generator: newGenerator(), http: newHTTPClient()})
	}
	return l
}

func newHTTPClient() *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1}, Timeout: patience}
}

// run sends until stop is called. stop waits until the last request of every client has ended.
func (l *load) run(url string) (stop func()) {
	ending := make(chan struct{})
	var running sync.WaitGroup
	for _, c := range l.clients {
		running.Go(func() {
			defer c.http.CloseIdleConnections()
			for {
				select {
				case <-ending:
					return
				default:
				}
				c.step(url)
				select { // an SDK waits longer
				case <-ending:
				case <-time.After(l.pause):
				}
			}
		})
	}
	return func() {
		close(ending)
		running.Wait()
	}
}

// awaitOK waits until n more requests get 200.
func (l *load) awaitOK(t testing.TB, n int64) {
	t.Helper()
	before := l.ok.Load()
	eventually(t, fmt.Sprintf("%d more requests are answered 200", n), func() bool { return l.ok.Load() >= before+n })
}

// settle resends unanswered batches until all are accepted.
func (l *load) settle(t testing.TB, url string) {
	t.Helper()
	end := time.Now().Add(patience)
	var running sync.WaitGroup
	for _, c := range l.clients {
		running.Go(func() {
			for c.unanswered != nil && time.Now().Before(end) {
				if !c.step(url) {
					time.Sleep(20 * time.Millisecond)
				}
			}
		})
	}
	running.Wait()
	for _, c := range l.clients {
		if c.unanswered != nil {
			t.Fatalf("after %s a client has still no answer of 200", patience)
		}
	}
}

// step sends one batch: an unanswered one, a new one, or sometimes a batch that was accepted long
// ago.
func (c *client) step(url string) (answered bool) {
	b := c.unanswered
	switch {
	case b != nil:
	case len(c.sent) > 4 && c.generator.rand.IntN(20) == 0:
		b = c.sent[c.generator.rand.IntN(len(c.sent))]
	default:
		b = c.generator.batch()
		c.load.book.add(b)
	}
	if !b.isAnswered() {
		c.unanswered = b
	}
	if !c.load.post(c.http, url, b) {
		return false
	}
	if c.unanswered == b {
		c.unanswered = nil
		if c.sent = append(c.sent, b); len(c.sent) > 8 {
			c.sent[0].body = nil // is not sent again
			c.sent = c.sent[1:]
		}
	}
	return true
}

// post sends a batch and reports whether it got 200.
func (l *load) post(client *http.Client, url string, b *batch) bool {
	response, err := client.Post(url+"/batch/", "application/json", bytes.NewReader(b.body))
	if err != nil {
		l.broken.Add(1)
		return false
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		l.broken.Add(1)
		return false
	}
	return l.judge(response, body, b)
}

// answer reads the response to a batch from a bare connection.
func (l *load) answer(conn net.Conn, b *batch) error {
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	l.judge(response, body, b)
	return nil
}

// judge checks a response: 200, or 503 with Retry-After (§13.6). It records all other responses.
func (l *load) judge(r *http.Response, body []byte, b *batch) (ok bool) {
	switch {
	case r.StatusCode == http.StatusOK && string(body) == `{"status":1}`:
		l.ok.Add(1)
		b.mu.Lock()
		b.answered = true
		b.mu.Unlock()
		return true
	case r.StatusCode == http.StatusServiceUnavailable:
		l.busy.Add(1)
		if seconds, err := strconv.Atoi(r.Header.Get("Retry-After")); err != nil || seconds < 1 {
			l.complain("503 without Retry-After in seconds: %q", r.Header.Get("Retry-After"))
		}
		if !bytes.HasPrefix(body, []byte(`{"type":"server_error"`)) {
			l.complain("503 with a body that is no error object: %.200s", body)
		}
	default:
		l.complain("status %d: %.200s", r.StatusCode, body)
	}
	return false
}

func (l *load) complain(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.wrong) < 10 {
		l.wrong = append(l.wrong, fmt.Sprintf(format, args...))
	}
}

// check logs the counts, and fails the test if there was an unexpected response.
func (l *load) check(t testing.TB) {
	t.Helper()
	t.Logf("%d requests answered 200, %d answered 503, %d without an answer", l.ok.Load(), l.busy.Load(), l.broken.Load())
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.wrong {
		t.Errorf("a client got %s", w)
	}
}

//go:build linux

package faulttest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// flagQueries are clients that request flags which need no stored data, always for new users, and
// require the status 200 without evaluation errors.
type flagQueries struct {
	ok, broken atomic.Int64 // broken: no response at all, as from a server that is killed
	ending     chan struct{}
	running    sync.WaitGroup

	mu      sync.Mutex
	wrong   []string
	slowest time.Duration // only logged
}

// askFlags starts the given number of clients.
func askFlags(url string, clients int) *flagQueries {
	a := &flagQueries{ending: make(chan struct{})}
	for n := range clients {
		a.running.Go(func() {
			client := newHTTPClient()
			defer client.CloseIdleConnections()
			for i := 0; ; i++ {
				select {
				case <-a.ending:
					return
				case <-time.After(40 * time.Millisecond):
				}
				a.one(client, url, fmt.Sprintf("user-%d-%d", n, i))
			}
		})
	}
	return a
}

func (a *flagQueries) one(client *http.Client, url, id string) {
	begin := time.Now()
	response, err := client.Post(url+"/flags?v=2", "application/json",
		strings.NewReader(fmt.Sprintf(`{"api_key":%q,"distinct_id":%q,"flag_keys_to_evaluate":["new-onboarding"]}`, apiKey, id)))
	if err != nil {
		a.broken.Add(1)
		return
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		a.broken.Add(1)
		return
	}
	var answer struct {
		Errors bool `json:"errorsWhileComputingFlags"`
		Flags  map[string]struct{ Enabled bool }
	}
	if err := json.Unmarshal(body, &answer); response.StatusCode != http.StatusOK || err != nil || answer.Errors || len(answer.Flags) != 1 {
		a.mu.Lock()
		defer a.mu.Unlock()
		if len(a.wrong) < 10 {
			a.wrong = append(a.wrong, fmt.Sprintf("status %d: %.300s", response.StatusCode, body))
		}
		return
	}
	a.ok.Add(1)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.slowest = max(a.slowest, time.Since(begin))
}

// end stops the clients. unbroken: every request must have got a response.
func (a *flagQueries) end(t testing.TB, unbroken bool) {
	t.Helper()
	close(a.ending)
	a.running.Wait()
	t.Logf("%d requests for flags answered 200, the slowest after %s, %d without an answer", a.ok.Load(), a.slowest, a.broken.Load())
	for _, w := range a.wrong {
		t.Errorf("a request for flags got %s", w)
	}
	if n := a.broken.Load(); n > 0 && unbroken {
		t.Errorf("%d requests for flags got no answer", n)
	}
	if a.ok.Load() == 0 {
		t.Error("nothing was answered: that is no load")
	}
}

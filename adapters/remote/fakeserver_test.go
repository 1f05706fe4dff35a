package remote_test

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"
)

// project is one project behind a server of definitions that implements as much of the protocol
// (§1.8, decision 5) as these tests need; adapters/httpapi/remotetest uses the real server.
type project struct {
	mu   sync.Mutex
	text string
}

func (p *project) set(t testing.TB, text string) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text = text
}

func (p *project) get() (text, version string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text, fmt.Sprintf("%x", sha256.Sum256([]byte(p.text)))[:16]
}

func (p *project) handler(testing.TB) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /flags/definitions", p.guarded(p.answer))
	mux.HandleFunc("GET /flags/definitions/stream", p.guarded(p.stream))
	return mux
}

// guarded rejects requests with another key.
func (p *project) guarded(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("token") != projectKey || r.Header.Get("Authorization") != "Bearer "+secretKey {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = fmt.Fprint(w, `{"detail": "Not a key of this project."}`)
			return
		}
		next(w, r)
	}
}

func (p *project) answer(w http.ResponseWriter, r *http.Request) {
	text, version := p.get()
	etag := `W/"` + version + `"`
	w.Header().Set("ETag", etag)
	if r.Header.Get("If-None-Match") == etag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	_, _ = fmt.Fprint(w, text)
}

func (p *project) stream(w http.ResponseWriter, r *http.Request) {
	last := r.Header.Get("Last-Event-ID")
	writeStream(w, "retry: 1000\n\n:\n\n")
	for r.Context().Err() == nil {
		if text, version := p.get(); version != last {
			writeStream(w, "event: definitions\nid: %s\ndata: %s\n\n", version, text)
			last = version
		}
		time.Sleep(time.Millisecond)
	}
}

package remote_test

import (
	"compress/gzip"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// Definitions are requested with compression; the content and the ETag are the same as without.
func TestSource_CompressedDefinitions(t *testing.T) {
	var p project
	p.set(t, definitions("one"))
	handler := p.handler(t)
	var sent, unchanged atomic.Int64
	net := &network{}
	net.redirect(serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		plain := httptest.NewRecorder()
		handler.ServeHTTP(plain, r)
		if plain.Code == http.StatusNotModified {
			unchanged.Add(1)
		}
		w.Header().Set("ETag", plain.Header().Get("ETag"))
		if plain.Code != http.StatusOK || !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			w.WriteHeader(plain.Code)
			_, _ = w.Write(plain.Body.Bytes())
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = z.Write(plain.Body.Bytes())
		_ = z.Close()
		sent.Add(1)
	})))
	c := config(t, net)
	c.NoStream = true
	s := open(t, c)
	if err := s.WaitForReady(t.Context()); err != nil || keys(s) != "one" || sent.Load() != 1 {
		t.Fatalf("flags %q, %d compressed answers, %v", keys(s), sent.Load(), err)
	}
	waitUntil(t, "polls with the ETag", func() bool { return unchanged.Load() > 2 })
	if sent.Load() != 1 {
		t.Errorf("%d answers with definitions", sent.Load())
	}
}

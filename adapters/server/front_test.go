package server

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// While the server drains, it is not ready, serves all other requests, and closes their
// connections.
func TestFront_Draining(t *testing.T) {
	var f front
	f.set(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "answer") }))
	srv := httptest.NewServer(&f)
	defer srv.Close()
	for _, tt := range []struct {
		draining bool
		path     string
		status   int
		closes   bool
	}{
		{false, "/_readiness", 200, false}, {false, "/flags", 200, false},
		{true, "/_readiness", 503, true}, {true, "/_readiness/", 503, true}, {true, "/ph/_readiness", 503, true}, {true, "/flags", 200, true},
	} {
		f.draining.Store(tt.draining)
		r, err := http.Get(srv.URL + tt.path)
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Body.Close()
		if r.StatusCode != tt.status || r.Close != tt.closes {
			t.Errorf("draining %v, %s: %d, closes %v", tt.draining, tt.path, r.StatusCode, r.Close)
		}
	}
}

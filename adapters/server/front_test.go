package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
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

// poster is a sender of webhooks whose posts have a result.
type poster struct{ err error }

func (p poster) Check(string) error                                            { return nil }
func (p poster) Post(context.Context, string, map[string]string, []byte) error { return p.err }

// A webhook has a client span without its address, and is marked if it fails. Without a
// TracerProvider the sender stays as it is.
func TestPoster_Spans(t *testing.T) {
	recorder := tracetest.NewSpanRecorder()
	for _, err := range []error{nil, errors.New("secret")} {
		p := &parts{Options: &Options{TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))}}
		if got := p.poster(poster{err}).Post(t.Context(), "https://secret.example/secret", nil, nil); !errors.Is(got, err) {
			t.Errorf("%v, want %v", got, err)
		}
	}
	for i, want := range []codes.Code{codes.Unset, codes.Error} {
		s := recorder.Ended()[i]
		if s.Name() != "POST webhook" || s.SpanKind().String() != "client" || s.Status() != (sdktrace.Status{Code: want}) || len(s.Attributes()) > 0 {
			t.Errorf("%s %s %v %v", s.Name(), s.SpanKind(), s.Status(), s.Attributes())
		}
	}
	if _, same := (&parts{Options: &Options{}}).poster(poster{}).(poster); !same {
		t.Error("wrapped without a TracerProvider")
	}
}

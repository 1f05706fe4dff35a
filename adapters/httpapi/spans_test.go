package httpapi_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/bunting-flags/bunting/adapters/httpapi"
)

// traced returns a handler with spans, and the spans that have ended.
func traced(t testing.TB, change func(*httpapi.Config), options ...sdktrace.TracerProviderOption) (http.Handler, *tracetest.SpanRecorder) {
	recorder := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(append(options, sdktrace.WithSpanProcessor(recorder))...)
	h := sharedWorld(t).handler(t, nil, func(c *httpapi.Config) {
		c.TracerProvider = provider
		if change != nil {
			change(c)
		}
	})
	return h, recorder
}

// describe returns a span's name, kind, status and attributes.
func describe(s sdktrace.ReadOnlySpan) string {
	var attributes []string
	for _, a := range s.Attributes() {
		attributes = append(attributes, string(a.Key)+"="+a.Value.String())
	}
	slices.Sort(attributes)
	return fmt.Sprintf("%s: %s %s %s", s.Name(), s.SpanKind(), s.Status().Code, strings.Join(attributes, " "))
}

// Each request has one server span, named by method and route, with the attributes that the semantic
// conventions for HTTP spans require, except those with data of clients (url.path, url.query,
// client.address, user_agent.original). A request without a route is named by its method alone, and
// an unknown method is _OTHER and HTTP; only status 500 and above is an error of a server.
func TestSpans_OfRequests(t *testing.T) {
	h, recorder := traced(t, nil)
	seen := 0
	for _, c := range []struct {
		method, target, body string
		headers              []string
		want                 string
	}{
		{"POST", "/flags?v=2&secret=secret", good, nil,
			"POST /flags: server Unset bunting.project.id=1 http.request.method=POST http.response.status_code=200 http.route=/flags url.scheme=http"},
		{"POST", "/flags", `{"api_key": "phc_secret_123456789", "distinct_id": "secret"}`, []string{"User-Agent", "secret", "X-Request-Id", "secret", "X-Forwarded-For", "203.0.113.7", "Baggage", "user=secret"},
			"POST /flags: server Unset http.request.method=POST http.response.status_code=401 http.route=/flags url.scheme=http"},
		{"POST", "/flags", `{"secret`, nil,
			"POST /flags: server Unset http.request.method=POST http.response.status_code=400 http.route=/flags url.scheme=http"},
		{"GET", "/array/phc_test/config", "", nil,
			"GET /array/{token}/config: server Unset http.request.method=GET http.response.status_code=200 http.route=/array/{token}/config url.scheme=http"},
		{"GET", "/secret/secret", "", nil,
			"GET: server Unset http.request.method=GET http.response.status_code=404 url.scheme=http"},
		{"SECRET", "/flags", "", nil,
			"HTTP /flags: server Unset http.request.method=_OTHER http.response.status_code=405 http.route=/flags url.scheme=http"},
	} {
		ask(h, c.method, c.target, c.body, c.headers...)
		spans := recorder.Ended()
		if len(spans) != seen+1 {
			t.Fatalf("%s %s: %d spans", c.method, c.target, len(spans)-seen)
		}
		if diff := cmp.Diff(c.want, describe(spans[seen])); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", c.method, c.target, diff)
		}
		if len(spans[seen].Events()) > 0 || len(spans[seen].Links()) > 0 || spans[seen].Status().Description != "" {
			t.Errorf("%s %s: %v %v %v", c.method, c.target, spans[seen].Events(), spans[seen].Links(), spans[seen].Status())
		}
		seen++
	}
}

// The project of a request is an attribute if it is known.
func TestSpans_Project(t *testing.T) {
	w := newWorld(t, []byte(`{"projects": [{"id": 7, "api_key": "phc_seven", "flags": []}]}`))
	recorder := tracetest.NewSpanRecorder()
	h := w.handler(t, nil, func(c *httpapi.Config) {
		c.TracerProvider = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))
	})
	ask(h, "POST", "/flags?v=2", `{"token": "phc_seven", "distinct_id": "a"}`)
	ask(h, "POST", "/flags?v=2", `{"token": "phc_eight", "distinct_id": "a"}`)
	for i, want := range []string{"bunting.project.id=7", ""} {
		if got := describe(recorder.Ended()[i]); !strings.Contains(got, want) || want == "" && strings.Contains(got, "project") {
			t.Errorf("%s, want %q in it", got, want)
		}
	}
}

// A panic results in a span with the error type 500, and no text of the panic.
func TestSpans_Panic(t *testing.T) {
	h, recorder := traced(t, func(c *httpapi.Config) {
		c.Metrics = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("secret") })
	})
	ask(h, "GET", "/metrics", "")
	want := "GET /metrics: server Error error.type=500 http.request.method=GET http.response.status_code=500 http.route=/metrics url.scheme=http"
	if got := describe(recorder.Ended()[0]); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

const (
	w3cParent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01" // https://www.w3.org/TR/trace-context/, 3.2.2.5
	w3cTrace  = "4bf92f3577b34da6a3ce929d0e0e4736"
	w3cSpan   = "00f067aa0ba902b7"
)

// The parent of a request's span is the span of a middleware, otherwise the caller's if traceparent
// is valid (W3C Trace Context, 3.2) and the propagator reads it, otherwise there is none. The sampled
// flag counts for a sampler that is based on the parent. tracestate is text of the caller and is not
// recorded.
func TestSpans_Parent(t *testing.T) {
	for _, c := range []struct {
		name, traceparent string
		propagator        propagation.TextMapPropagator
		sampler           sdktrace.Sampler
		parent            string // empty for a root span; "none" if no span is recorded
	}{
		{"none", "", nil, nil, ""},
		{"sampled", w3cParent, nil, nil, w3cSpan},
		{"not sampled", w3cParent[:len(w3cParent)-1] + "0", nil, nil, "none"},
		{"sampler without parents", w3cParent[:len(w3cParent)-1] + "0", nil, sdktrace.AlwaysSample(), w3cSpan},
		{"sampled, by default off", w3cParent, nil, sdktrace.ParentBased(sdktrace.NeverSample()), w3cSpan},
		{"no caller, by default off", "", nil, sdktrace.ParentBased(sdktrace.NeverSample()), "none"},
		{"invalid", strings.Replace(w3cParent, "4bf9", "4BF9", 1), nil, nil, ""},
		{"zero trace", "00-00000000000000000000000000000000-00f067aa0ba902b7-01", nil, nil, ""},
		{"propagator that reads nothing", w3cParent, propagation.NewCompositeTextMapPropagator(), nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var options []sdktrace.TracerProviderOption
			if c.sampler != nil {
				options = append(options, sdktrace.WithSampler(c.sampler))
			}
			h, recorder := traced(t, func(o *httpapi.Config) { o.Propagator = c.propagator }, options...)
			ask(h, "POST", "/flags?v=2", good, "Traceparent", c.traceparent, "Tracestate", "vendor=secret")
			spans := recorder.Ended()
			if c.parent == "none" {
				if len(spans) > 0 {
					t.Errorf("recorded: %s", describe(spans[0]))
				}
				return
			}
			if len(spans) != 1 {
				t.Fatalf("%d spans", len(spans))
			}
			s := spans[0]
			if c.parent == "" && s.Parent().IsValid() || c.parent != "" && (s.Parent().SpanID().String() != c.parent || s.SpanContext().TraceID().String() != w3cTrace || !s.Parent().IsRemote()) {
				t.Errorf("the parent is %s of %s, want %q", s.Parent().SpanID(), s.SpanContext().TraceID(), c.parent)
			}
			if state := s.SpanContext().TraceState().String() + s.Parent().TraceState().String(); state != "" {
				t.Errorf("tracestate %q", state)
			}
		})
	}
	t.Run("middleware", func(t *testing.T) {
		h, recorder := traced(t, nil)
		ctx, outer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder)).Tracer("service").Start(context.Background(), "outer")
		inner := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(w, r.WithContext(ctx)) })
		ask(inner, "POST", "/flags?v=2", good, "Traceparent", w3cParent)
		outer.End()
		spans := recorder.Ended()
		if len(spans) != 2 || spans[0].Parent().SpanID() != spans[1].SpanContext().SpanID() {
			t.Errorf("%d spans; the inner one has the parent %s", len(spans), spans[0].Parent().SpanID())
		}
	})
}

// Log lines of a request are logged in the context of its span, so that a handler can add the ids.
func TestSpans_InTheLog(t *testing.T) {
	var ids []trace.SpanContext
	h, recorder := traced(t, func(c *httpapi.Config) {
		c.LogRequests, c.Logger = httpapi.LogAllRequests, slog.New(spanLog{func(s trace.SpanContext) { ids = append(ids, s) }})
	})
	ask(h, "POST", "/flags?v=2", good)
	if s := recorder.Ended()[0].SpanContext(); len(ids) != 1 || ids[0].TraceID() != s.TraceID() || ids[0].SpanID() != s.SpanID() {
		t.Errorf("logged in %v, the span is %v", ids, s)
	}
}

// spanLog is a slog.Handler that passes on the span in whose context a record is logged.
type spanLog struct{ got func(trace.SpanContext) }

func (l spanLog) Enabled(context.Context, slog.Level) bool { return true }
func (l spanLog) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l spanLog) WithGroup(string) slog.Handler            { return l }
func (l spanLog) Handle(ctx context.Context, _ slog.Record) error {
	l.got(trace.SpanContextFromContext(ctx))
	return nil
}

// The overhead of spans, beside BenchmarkPostFlags10.
func BenchmarkPostFlags10Traced(b *testing.B) {
	for name, sampler := range map[string]sdktrace.Sampler{"sampled": sdktrace.AlwaysSample(), "unsampled": sdktrace.NeverSample()} {
		b.Run(name, func(b *testing.B) {
			benchmarkPostFlags(b, 10, func(c *httpapi.Config) {
				c.TracerProvider = sdktrace.NewTracerProvider(sdktrace.WithSampler(sampler), sdktrace.WithBatcher(tracetest.NewNoopExporter()))
			})
		})
	}
}

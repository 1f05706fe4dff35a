package server_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/bunting-flags/bunting/adapters/server"
)

// attributes returns the attributes of a span as text.
func attributes(s sdktrace.ReadOnlySpan) string {
	var out []string
	for _, a := range s.Attributes() {
		out = append(out, string(a.Key)+"="+a.Value.String())
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// Events and queries have spans below that of their request: the wait until events are durable, and
// the query. A transaction, which several requests share, has a span of its own without a parent. No
// span has a name, value or id of an event.
func TestServer_Spans(t *testing.T) {
	recorder := tracetest.NewSpanRecorder()
	s := open(t, server.Options{APIKey: "phc_secret", TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))})
	if status, body := ask(t, s, "POST", "/batch", "", `{"api_key": "phc_secret", "batch": [{"event": "secret", "distinct_id": "secret", "properties": {"secret": "secret"}}, {"event": "secret", "distinct_id": "secret"}]}`); status != http.StatusOK {
		t.Fatal(status, body)
	}
	if status, body := ask(t, s, "POST", "/api/projects/1/query/", s.OwnerKey(), `{"query": {"kind": "TrendsQuery", "series": [{"kind": "EventsNode", "event": "secret"}]}}`); status != http.StatusOK {
		t.Fatal(status, body)
	}
	found := map[string]sdktrace.ReadOnlySpan{}
	for _, span := range recorder.Ended() {
		found[span.Name()] = span
		if text := span.Name() + attributes(span) + span.Status().Description; strings.Contains(text, "secret") || len(span.Events()) > 0 {
			t.Errorf("%s %v", text, span.Events())
		}
	}
	for _, want := range []struct{ name, parent, attributes string }{
		{"append events", "POST /batch", "bunting.events=2 bunting.project.id=1"},
		{"commit events", "", "bunting.projects=1"},
		{"query TrendsQuery", "POST /api/projects/{project}/query", "bunting.project.id=1 bunting.query.kind=TrendsQuery"},
	} {
		span := found[want.name]
		if span == nil {
			t.Errorf("no span %q among %v", want.name, slices.Collect(maps.Keys(found)))
			continue
		}
		if got := attributes(span); got != want.attributes {
			t.Errorf("%s: %s, want %s", want.name, got, want.attributes)
		}
		if want.parent == "" && span.Parent().IsValid() {
			t.Errorf("%s has a parent", want.name)
		}
		if want.parent != "" && (found[want.parent] == nil || span.Parent().SpanID() != found[want.parent].SpanContext().SpanID()) {
			t.Errorf("the parent of %s is not %s", want.name, want.parent)
		}
	}
}

// Options.Registerer has the metrics of /metrics with the same values, except those of the process,
// until Close. A second server without a label of its own is refused.
func TestServer_Registerer(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	labelled := func(name string) prometheus.Registerer {
		return prometheus.WrapRegistererWith(prometheus.Labels{"server": name}, registry)
	}
	o := server.Options{APIKey: "phc_one", Registerer: labelled("one")}
	s := open(t, o)
	enabledFlags(t, s, "phc_one")
	names := func() (out []string, requests float64) {
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			out = append(out, f.GetName())
			if f.GetName() == "bunting_flags_requests_total" {
				requests = f.GetMetric()[0].GetCounter().GetValue()
			}
		}
		return out, requests
	}
	got, requests := names()
	if requests != 1 {
		t.Errorf("%v requests for flags, want 1", requests)
	}
	_, page := ask(t, s, "GET", "/metrics", "", "")
	for line := range strings.Lines(page) {
		if name, ok := strings.CutPrefix(line, "# TYPE bunting_"); ok {
			if name, _, _ = strings.Cut(name, " "); !slices.Contains(got, "bunting_"+name) {
				t.Errorf("bunting_%s is not registered", name)
			}
		}
	}
	if slices.ContainsFunc(got, func(name string) bool { return !strings.HasPrefix(name, "bunting_") }) {
		t.Errorf("metrics of others: %v", got)
	}
	if _, err := server.Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), "the metrics cannot be registered: duplicate metrics") {
		t.Errorf("a second server: %v", err)
	}
	o.Registerer = labelled("two")
	closeServer(t, open(t, o))
	closeServer(t, s)
	if left, _ := names(); len(left) > 0 {
		t.Errorf("after Close: %v", left)
	}
}

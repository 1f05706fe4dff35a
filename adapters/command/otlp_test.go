package command

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	collectorlogs "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	collectormetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collectortrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	logsproto "go.opentelemetry.io/proto/otlp/logs/v1"
	traceproto "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// collector receives OTLP over HTTP (OTLP specification 1.x, "OTLP/HTTP"): protobuf at the paths /v1/traces,
// /v1/metrics and /v1/logs, perhaps with gzip.
type collector struct {
	*httptest.Server
	mu       sync.Mutex
	requests int
	raw      []byte // all bodies, unpacked
	spans    []*traceproto.Span
	records  []*logsproto.LogRecord
	service  []string                                      // the values of service.name
	metrics  *collectormetrics.ExportMetricsServiceRequest // of the last request
	faults   []string
}

func newCollector(t *testing.T) *collector {
	c := &collector{}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

func (c *collector) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests++
	var in io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		unpacked, err := gzip.NewReader(r.Body)
		if err != nil {
			c.faults = append(c.faults, err.Error())
			return
		}
		in = unpacked
	}
	body, err := io.ReadAll(in)
	if err == nil {
		err = c.add(r.URL.Path, body)
	}
	if err != nil || r.Header.Get("Content-Type") != "application/x-protobuf" || r.Header.Get("Api-Key") != "collector-key" {
		c.faults = append(c.faults, r.URL.Path+" "+r.Header.Get("Content-Type")+" "+r.Header.Get("Api-Key"))
	}
}

func (c *collector) add(path string, body []byte) error {
	c.raw = append(c.raw, body...)
	switch path {
	case "/v1/traces":
		var m collectortrace.ExportTraceServiceRequest
		if err := proto.Unmarshal(body, &m); err != nil {
			return err
		}
		for _, r := range m.GetResourceSpans() {
			for _, s := range r.GetScopeSpans() {
				c.spans = append(c.spans, s.GetSpans()...)
			}
			for _, a := range r.GetResource().GetAttributes() {
				if a.GetKey() == "service.name" {
					c.service = append(c.service, a.GetValue().GetStringValue())
				}
			}
		}
		return nil
	case "/v1/metrics":
		c.metrics = &collectormetrics.ExportMetricsServiceRequest{}
		return proto.Unmarshal(body, c.metrics)
	case "/v1/logs":
		var m collectorlogs.ExportLogsServiceRequest
		if err := proto.Unmarshal(body, &m); err != nil {
			return err
		}
		for _, r := range m.GetResourceLogs() {
			for _, s := range r.GetScopeLogs() {
				c.records = append(c.records, s.GetLogRecords()...)
			}
		}
		return nil
	}
	c.faults = append(c.faults, path)
	return nil
}

// variables sets variables in the process, where the SDK reads them, and returns them for the command.
func variables(t *testing.T, list ...string) []string {
	for _, v := range list {
		name, value, _ := strings.Cut(v, "=")
		t.Setenv(name, value)
	}
	return list
}

// A collector of OpenTelemetry receives the spans, metrics and log records of all kinds of requests,
// in the traces of their callers, at the latest when the server has stopped. They contain no values,
// names, ids, keys, queries or bodies of clients.
func TestServe_OTLP(t *testing.T) {
	c := newCollector(t)
	env := variables(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL, "OTEL_EXPORTER_OTLP_HEADERS=api-key=collector-key", "OTEL_EXPORTER_OTLP_COMPRESSION=gzip", "OTEL_SERVICE_NAME=shop-flags")
	s := serveWith(t, env, time.Minute, "--log-requests", "all", "--backup", t.TempDir())
	project, owner := regexp.MustCompile(`phc_\w+`).FindString(s.stdout.String()), printedKey.FindString(s.stdout.String())
	const trace, parent = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7" // W3C Trace Context, 3.2.2.5
	ask := func(method, path, key, body string, want int) {
		t.Helper()
		r, err := http.NewRequest(method, s.url+strings.ReplaceAll(path, "PROJECT", project), strings.NewReader(strings.ReplaceAll(body, "PROJECT", project)))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("User-Agent", "secret-agent")
		r.Header.Set("X-Forwarded-For", "203.0.113.7")
		r.Header.Set("Referer", "https://secret-page.example")
		r.Header.Set("Baggage", "user=secret-baggage")
		r.Header.Set("Tracestate", "v=secret-state")
		r.Header.Set("Traceparent", "00-"+trace+"-"+parent+"-01")
		if key != "" {
			r.Header.Set("Authorization", "Bearer "+key)
		}
		if code, text := do(t, r); code != want {
			t.Fatalf("%s %s: %d %s", method, path, code, text)
		}
	}
	const wrongKey = "phx_secret_wrong_key_1234567890"
	ask("POST", "/api/projects/1/feature_flags/", owner, `{"key": "secret-flag", "name": "secret-name", "active": true, "filters": {"groups": [{"properties": [{"key": "secret-property", "type": "person", "operator": "exact", "value": "secret-filter"}]}]}}`, 201)
	ask("POST", "/flags?v=2&secret-query=1", "", `{"token": "PROJECT", "distinct_id": "secret-id", "person_properties": {"secret-property": "secret-value"}}`, 200)
	ask("POST", "/flags?v=2", "", `{"token": "phc_secret_unknown", "distinct_id": "secret-id"}`, 401)
	ask("POST", "/flags?v=2", "", `{"secret-body`, 400)
	ask("POST", "/capture/?ip=1&secret-query=1", "", `{"api_key": "PROJECT", "event": "secret-event", "distinct_id": "secret-id", "properties": {"secret-property": "secret-value", "$set": {"email": "secret@example.com"}}}`, 200)
	ask("POST", "/batch/", "", `{"api_key": "PROJECT", "batch": [{"event": "secret-event", "distinct_id": "secret-id", "properties": {"secret-property": "secret-value"}}]}`, 200)
	ask("POST", "/ofrep/v1/evaluate/flags/secret-flag", project, `{"context": {"targetingKey": "secret-id", "secret-property": "secret-value"}}`, 200)
	ask("GET", "/array/PROJECT/config", "", "", 200)
	ask("GET", "/api/projects/1/persons/?search=secret-id&email=secret@example.com", owner, "", 200)
	ask("GET", "/api/projects/1/persons/?distinct_id=secret-id&personal_api_key="+wrongKey, wrongKey, "", 401)
	ask("POST", "/api/projects/1/query/", owner, `{"query": {"kind": "HogQLQuery", "query": "SELECT properties.secret-property FROM events WHERE distinct_id = 'secret-id'"}}`, 400)
	ask("POST", "/api/projects/1/query/", owner, `{"query": {"kind": "TrendsQuery", "series": [{"kind": "EventsNode", "event": "secret-event", "properties": [{"key": "secret-property", "type": "event", "operator": "exact", "value": "secret-value"}]}]}}`, 200)
	ask("GET", "/secret-path/secret-id", "", "", 404)
	s.logged("backup written and checked")
	s.stop()
	s.wait(0)

	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.faults) > 0 || len(c.service) == 0 || c.service[0] != "shop-flags" {
		t.Errorf("faults %q, services %q", c.faults, c.service)
	}
	for _, secret := range []string{"secret", "203.0.113.7", project, owner, "collector-key"} {
		if i := bytes.Index(c.raw, []byte(secret)); i >= 0 {
			t.Errorf("%s was sent: %q", secret, c.raw[max(i-100, 0):min(i+100, len(c.raw))])
		}
	}
	c.checkSpans(t, trace, parent)
	c.checkRecords(t, trace)
	c.checkMetrics(t)
	if strings.Contains(s.stderr.String(), "by OTLP") {
		t.Errorf("log: %s", s.stderr)
	}
}

// checkSpans checks the spans of TestServe_OTLP.
func (c *collector) checkSpans(t *testing.T, trace, parent string) {
	var names []string
	for _, s := range c.spans {
		names = append(names, s.GetName())
		if s.GetKind() == traceproto.Span_SPAN_KIND_SERVER && (hex.EncodeToString(s.GetTraceId()) != trace || hex.EncodeToString(s.GetParentSpanId()) != parent || s.GetTraceState() != "") {
			t.Errorf("%s is in the trace %x below %x", s.GetName(), s.GetTraceId(), s.GetParentSpanId())
		}
	}
	for _, want := range []string{
		"POST /flags", "POST /capture", "POST /batch", "POST /ofrep/v1/evaluate/flags/{key}", "GET /array/{token}/config", "POST /api/projects/{project}/feature_flags", "GET /api/projects/{project}/persons",
		"POST /api/projects/{project}/query", "GET", "append events", "commit events", "query TrendsQuery", "backup",
	} {
		if !slices.Contains(names, want) {
			t.Errorf("no span %q in %q", want, names)
		}
	}
}

// checkRecords checks that the log has the requests, with their trace, and the stop of the server.
func (c *collector) checkRecords(t *testing.T, trace string) {
	bodies := map[string]int{}
	for _, r := range c.records {
		body := r.GetBody().GetStringValue()
		bodies[body]++
		if got := hex.EncodeToString(r.GetTraceId()); body == "request" && got != trace {
			t.Errorf("a request was logged in the trace %q", got)
		}
	}
	if bodies["request"] != 13 || bodies["stopped"] != 1 {
		t.Errorf("records %v, want 13 requests and that the server has stopped", bodies)
	}
}

// checkMetrics checks that a counter of /metrics, a histogram and the metrics of the process were sent.
func (c *collector) checkMetrics(t *testing.T) {
	names := map[string]float64{}
	for _, r := range c.metrics.GetResourceMetrics() {
		for _, s := range r.GetScopeMetrics() {
			for _, m := range s.GetMetrics() {
				names[m.GetName()] += 0
				for _, p := range m.GetSum().GetDataPoints() {
					names[m.GetName()] += p.GetAsDouble()
				}
				for _, p := range m.GetHistogram().GetDataPoints() {
					names[m.GetName()] += float64(p.GetCount())
				}
			}
		}
	}
	if names["bunting_capture_accepted_total"] != 2 || names["bunting_http_request_duration_seconds"] != 13 {
		t.Errorf("%v events, %v requests, want 2 and 13", names["bunting_capture_accepted_total"], names["bunting_http_request_duration_seconds"])
	}
	for _, want := range []string{"bunting_build_info", "go_goroutines", "bunting_flags_requests_total"} {
		if _, sent := names[want]; !sent {
			t.Errorf("no metric %s in %v", want, names)
		}
	}
}

// No connection is opened if the variables disable all signals. A wrong value ends the start with
// the name of the variable.
func TestServe_OTLPOff(t *testing.T) {
	c := newCollector(t)
	for _, off := range [][]string{
		{"OTEL_SDK_DISABLED=true"},
		{"OTEL_TRACES_EXPORTER=none", "OTEL_METRICS_EXPORTER=none", "OTEL_LOGS_EXPORTER=none"},
	} {
		t.Run(off[0], func(t *testing.T) {
			s := serveWith(t, variables(t, append(off, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL)...), time.Minute)
			s.get("/metrics", "")
			s.stop()
			s.wait(0)
		})
	}
	if c.requests > 0 {
		t.Errorf("%d requests to the collector", c.requests)
	}
	call(t, "", []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL, "OTEL_BSP_MAX_QUEUE_SIZE=many"}, "serve", "--data", t.TempDir()).
		Want(t, 2, "", `OTEL_BSP_MAX_QUEUE_SIZE must be a number from 1 to 65536, not "many"`)
}

// A collector that does not answer delays no response and no stop for long: requests are answered
// while it hangs, and the server ends although it still hangs.
func TestServe_OTLPHangs(t *testing.T) {
	hanging := make(chan struct{})
	c := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hanging }))
	defer c.Close()
	defer close(hanging)
	s := serveWith(t, variables(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL, "OTEL_EXPORTER_OTLP_TIMEOUT=100",
		"OTEL_BSP_EXPORT_TIMEOUT=200", "OTEL_BLRP_EXPORT_TIMEOUT=200", "OTEL_METRIC_EXPORT_TIMEOUT=200", "OTEL_BSP_SCHEDULE_DELAY=10", "OTEL_BSP_MAX_QUEUE_SIZE=4"), time.Minute, "--log-requests", "all")
	for range 50 {
		if code, body := s.get("/_liveness", ""); code != http.StatusOK {
			t.Fatal(code, body)
		}
	}
	s.stop()
	s.wait(0)
	if !strings.Contains(s.stderr.String(), "could not be sent by OTLP and are lost") {
		t.Errorf("log: %s", s.stderr)
	}
}

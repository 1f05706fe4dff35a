package otlp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	collectorlogs "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	collectormetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collectortrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
)

// patience is how long a test waits before it fails.
const patience = time.Minute

// set sets variables of the process, which the SDK reads, and returns them for Config.Env.
func set(t *testing.T, variables ...string) map[string]string {
	t.Helper()
	env := map[string]string{}
	for _, v := range variables {
		name, value, _ := strings.Cut(v, "=")
		t.Setenv(name, value)
		env[name] = value
	}
	return env
}

// logger returns a logger and its text.
func logger() (*slog.Logger, func() string) {
	var mu sync.Mutex
	var b bytes.Buffer
	return slog.New(slog.NewTextHandler(locked{&mu, &b}, nil)), func() string {
		mu.Lock()
		defer mu.Unlock()
		return b.String()
	}
}

type locked struct {
	mu *sync.Mutex
	b  *bytes.Buffer
}

func (l locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:1"

// Which signals are sent, by the variables of the specification of OpenTelemetry ("OpenTelemetry
// Environment Variable Specification" and "OpenTelemetry Protocol Exporter"). An empty value is
// the same as no variable. Without an endpoint the other variables are not checked.
func TestEnvironment_Enabled(t *testing.T) {
	for _, c := range []struct{ env, want string }{
		{"", "[]"},
		{"OTEL_SERVICE_NAME=x OTEL_TRACES_EXPORTER=otlp OTEL_EXPORTER_OTLP_HEADERS=a=b OTEL_EXPORTER_OTLP_TIMEOUT=soon", "[]"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=", "[]"},
		{endpoint, "[TRACES METRICS LOGS]"},
		{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=https://collector/v1/metrics", "[METRICS]"},
		{endpoint + " OTEL_SDK_DISABLED=true", "[]"},
		{endpoint + " OTEL_SDK_DISABLED=TRUE OTEL_EXPORTER_OTLP_TIMEOUT=soon", "[]"},
		{endpoint + " OTEL_SDK_DISABLED=false", "[TRACES METRICS LOGS]"},
		{endpoint + " OTEL_TRACES_EXPORTER=none OTEL_METRICS_EXPORTER=otlp", "[METRICS LOGS]"},
		{endpoint + " OTEL_TRACES_EXPORTER=none OTEL_TRACES_SAMPLER=none", "[METRICS LOGS]"},
		{endpoint + " OTEL_TRACES_EXPORTER=none OTEL_METRICS_EXPORTER=none OTEL_LOGS_EXPORTER=none", "[]"},
	} {
		env := environment{}
		for _, v := range strings.Fields(c.env) {
			name, value, _ := strings.Cut(v, "=")
			env[name] = value
		}
		got, err := env.enabled()
		if err != nil || fmt.Sprint(got) != c.want {
			t.Errorf("%s: %v %v, want %s", c.env, got, err, c.want)
		}
		if c.want == "[]" {
			s, err := Open(t.Context(), Config{Env: env})
			if s != nil || err != nil || s.TracerProvider() != nil || s.Propagator() != nil || s.Registerer() != nil || s.LogHandler(slog.DiscardHandler) != slog.DiscardHandler {
				t.Errorf("%s: %v %v is not nothing", c.env, s, err)
			}
			s.Close()
		}
	}
}

// A wrong value is an error that names the variable and describes a correct value. The error repeats
// neither headers nor endpoints with a password.
func TestOpen_WrongVariables(t *testing.T) {
	pem := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(pem, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ variable, want string }{
		{"OTEL_EXPORTER_OTLP_ENDPOINT=localhost:4318", "OTEL_EXPORTER_OTLP_ENDPOINT must be a URL such as http://localhost:4318"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://", "OTEL_EXPORTER_OTLP_ENDPOINT must be a URL"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://me:secret@host", "OTEL_EXPORTER_OTLP_ENDPOINT must not contain a user or a password"},
		{"OTEL_EXPORTER_OTLP_LOGS_ENDPOINT=https://host/?key=secret", "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT must not contain a query"},
		{"OTEL_EXPORTER_OTLP_PROTOCOL=http/json", `OTEL_EXPORTER_OTLP_PROTOCOL must be http/protobuf or grpc, not "http/json"`},
		{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=thrift", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL must be"},
		{"OTEL_EXPORTER_OTLP_HEADERS=secret", "OTEL_EXPORTER_OTLP_HEADERS must be NAME=VALUE"},
		{"OTEL_EXPORTER_OTLP_HEADERS=a=b,c d=secret", "OTEL_EXPORTER_OTLP_HEADERS must be NAME=VALUE"},
		{"OTEL_EXPORTER_OTLP_HEADERS=a=secret%0A", "OTEL_EXPORTER_OTLP_HEADERS must be NAME=VALUE"},
		{"OTEL_EXPORTER_OTLP_HEADERS=host=secret", "OTEL_EXPORTER_OTLP_HEADERS must not set Host"},
		{"OTEL_EXPORTER_OTLP_TIMEOUT=10s", `OTEL_EXPORTER_OTLP_TIMEOUT must be milliseconds from 1 to 3600000 such as 10000, not "10s"`},
		{"OTEL_EXPORTER_OTLP_METRICS_TIMEOUT=0", "OTEL_EXPORTER_OTLP_METRICS_TIMEOUT must be milliseconds"},
		{"OTEL_EXPORTER_OTLP_COMPRESSION=zstd", `OTEL_EXPORTER_OTLP_COMPRESSION must be gzip or none, not "zstd"`},
		{"OTEL_EXPORTER_OTLP_INSECURE=1", "OTEL_EXPORTER_OTLP_INSECURE must be true or false"},
		{"OTEL_EXPORTER_OTLP_CERTIFICATE=/nowhere.pem", "OTEL_EXPORTER_OTLP_CERTIFICATE cannot be used: open /nowhere.pem"},
		{"OTEL_EXPORTER_OTLP_CERTIFICATE=" + pem, "OTEL_EXPORTER_OTLP_CERTIFICATE must name a PEM file"},
		{"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE=" + pem, "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE needs the other one"},
		{"OTEL_EXPORTER_OTLP_CLIENT_KEY=" + pem, "OTEL_EXPORTER_OTLP_CLIENT_KEY needs the other one"},
		{"OTEL_SDK_DISABLED=yes", "OTEL_SDK_DISABLED must be true or false"},
		{"OTEL_TRACES_EXPORTER=zipkin", `OTEL_TRACES_EXPORTER must be otlp or none, not "zipkin"`},
		{"OTEL_CONFIG_FILE=otel.yaml", "OTEL_CONFIG_FILE is not supported"},
		{"OTEL_RESOURCE_ATTRIBUTES=production", `OTEL_RESOURCE_ATTRIBUTES must be NAME=VALUE, several separated by commas, such as deployment.environment.name=production, not "production"`},
		{"OTEL_RESOURCE_ATTRIBUTES=a=%zz", "OTEL_RESOURCE_ATTRIBUTES must be NAME=VALUE"},
		{"OTEL_PROPAGATORS=tracecontext,b3", `OTEL_PROPAGATORS must be tracecontext, baggage or none, not "b3"`},
		{"OTEL_TRACES_SAMPLER=jaeger_remote", "OTEL_TRACES_SAMPLER must be always_on, always_off, traceidratio"},
		{"OTEL_TRACES_SAMPLER=traceidratio OTEL_TRACES_SAMPLER_ARG=5%", `OTEL_TRACES_SAMPLER is traceidratio, so OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1 such as 0.05, not "5%"`},
		{"OTEL_TRACES_SAMPLER=parentbased_traceidratio OTEL_TRACES_SAMPLER_ARG=NaN", "OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1"},
		{"OTEL_BSP_MAX_QUEUE_SIZE=0", `OTEL_BSP_MAX_QUEUE_SIZE must be a number from 1 to 65536, not "0"`},
		{"OTEL_BLRP_MAX_QUEUE_SIZE=1000000", "OTEL_BLRP_MAX_QUEUE_SIZE must be a number from 1 to 65536"},
		{"OTEL_METRIC_EXPORT_INTERVAL=1m", "OTEL_METRIC_EXPORT_INTERVAL must be milliseconds"},
		{"OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE=delta", `OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE must be cumulative, as all metrics of this program are, not "delta"`},
		{"OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION=base2_exponential_bucket_histogram", "OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION must be explicit_bucket_histogram"},
		{"OTEL_SPAN_LINK_COUNT_LIMIT=-1", "OTEL_SPAN_LINK_COUNT_LIMIT must be a number from 0"},
	} {
		env := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:1"}
		for _, v := range strings.Split(c.variable, " OTEL") {
			name, value, _ := strings.Cut(v, "=")
			if !strings.HasPrefix(name, "OTEL") {
				name = "OTEL" + name
			}
			env[name] = value
		}
		s, err := Open(t.Context(), Config{Env: env})
		if s != nil || err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %s", c.variable, err, c.want)
		}
	}
}

// receiver is a collector with the services that OpenTelemetry specifies, over gRPC.
type receiver struct {
	collectortrace.UnimplementedTraceServiceServer
	collectormetrics.UnimplementedMetricsServiceServer
	collectorlogs.UnimplementedLogsServiceServer
	mu   sync.Mutex
	text string // all requests as sent
	keys []string

	metrics *collectormetrics.ExportMetricsServiceRequest // of the last request
	logs    *collectorlogs.ExportLogsServiceRequest
}

func (r *receiver) add(ctx context.Context, m proto.Message) {
	r.mu.Lock()
	defer r.mu.Unlock()
	sent, _ := proto.Marshal(m)
	r.text += string(sent)
	switch m := m.(type) {
	case *collectormetrics.ExportMetricsServiceRequest:
		r.metrics = m
	case *collectorlogs.ExportLogsServiceRequest:
		r.logs = m
	}
	header, _ := metadata.FromIncomingContext(ctx)
	r.keys = append(r.keys, header.Get("api-key")...)
}

type (
	traceService   struct{ *receiver }
	metricsService struct{ *receiver }
	logsService    struct{ *receiver }
)

func (r traceService) Export(ctx context.Context, m *collectortrace.ExportTraceServiceRequest) (*collectortrace.ExportTraceServiceResponse, error) {
	r.add(ctx, m)
	return &collectortrace.ExportTraceServiceResponse{}, nil
}

func (r metricsService) Export(ctx context.Context, m *collectormetrics.ExportMetricsServiceRequest) (*collectormetrics.ExportMetricsServiceResponse, error) {
	r.add(ctx, m)
	return &collectormetrics.ExportMetricsServiceResponse{}, nil
}

func (r logsService) Export(ctx context.Context, m *collectorlogs.ExportLogsServiceRequest) (*collectorlogs.ExportLogsServiceResponse, error) {
	r.add(ctx, m)
	return &collectorlogs.ExportLogsServiceResponse{}, nil
}

// listen listens on a free port until the end of the test.
func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// Over gRPC, a collector receives all three signals with the headers and the resource of the
// variables, at the latest when Close returns. Records have the ids of their span, the level of the
// ordinary log, and no attributes that identify people or have text of requests.
func TestSignals_GRPC(t *testing.T) {
	l, got := listen(t), &receiver{}
	collector := grpc.NewServer()
	collectortrace.RegisterTraceServiceServer(collector, traceService{got})
	collectormetrics.RegisterMetricsServiceServer(collector, metricsService{got})
	collectorlogs.RegisterLogsServiceServer(collector, logsService{got})
	go func() { _ = collector.Serve(l) }()
	defer collector.Stop()
	log, logged := logger()
	s, err := Open(t.Context(), Config{Logger: log, Version: "v1.2.3", Env: set(t,
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://"+l.Addr().String(), "OTEL_EXPORTER_OTLP_PROTOCOL=grpc",
		"OTEL_EXPORTER_OTLP_HEADERS=api-key=a%20b", "OTEL_SERVICE_NAME=flags-of-ours", "OTEL_RESOURCE_ATTRIBUTES=deployment.environment.name=test")})
	if err != nil {
		t.Fatal(err)
	}
	total := prometheus.NewCounter(prometheus.CounterOpts{Name: "ours_total"})
	s.Registerer().MustRegister(total)
	total.Add(41)
	ctx, span := s.TracerProvider().Tracer("test").Start(t.Context(), "our span")
	out := slog.New(s.LogHandler(log.Handler())).With("user", "secret", "project", 7)
	out.InfoContext(ctx, "our record", "ip", "secret", "person", "secret", "path", "secret", "panic", "secret", "stack", "secret", "page", "secret", "message", "secret", "rows", 3, "long", strings.Repeat("x", 2*logLength))
	out.DebugContext(ctx, "too fine")
	span.End()
	s.Close()

	for _, want := range []string{
		"our span", "our record", "ours_total", "go_goroutines", "flags-of-ours", "deployment.environment.name", "v1.2.3", "service.instance.id", "rows", "project",
	} {
		if !strings.Contains(got.text, want) {
			t.Errorf("no %s in %s", want, got.text)
		}
	}
	record := got.logs.GetResourceLogs()[0].GetScopeLogs()[0].GetLogRecords()[0]
	if id := span.SpanContext(); trace.TraceID(record.GetTraceId()) != id.TraceID() || trace.SpanID(record.GetSpanId()) != id.SpanID() {
		t.Errorf("the record is of %x %x, the span is %v", record.GetTraceId(), record.GetSpanId(), id)
	}
	for _, m := range got.metrics.GetResourceMetrics()[0].GetScopeMetrics()[0].GetMetrics() {
		if m.GetName() == "ours_total" && (m.GetSum().GetDataPoints()[0].GetAsDouble() != 41 || !m.GetSum().GetIsMonotonic()) {
			t.Errorf("the counter is %v", m)
		}
	}
	for _, no := range []string{"secret", "too fine", strings.Repeat("x", logLength+1)} {
		if strings.Contains(got.text, no) {
			t.Errorf("%.20s was sent: %s", no, got.text)
		}
	}
	if len(got.keys) != 3 || got.keys[0] != "a b" {
		t.Errorf("headers %q, want one of each signal", got.keys)
	}
	if text := logged(); strings.Contains(text, "could not be sent") || !strings.Contains(text, `msg="our record" user=secret project=7 ip=secret`) {
		t.Errorf("log: %s", text)
	}
}

// An endpoint that accepts connections and never responds does not block the server: it accepts far
// more spans and records than fit into the queues, whose bounds remain, the log reports that signals
// are lost, and Close returns.
func TestSignals_EndpointHangs(t *testing.T) {
	l := listen(t)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			defer func() { _ = c.Close() }() // not before the test ends
		}
	}()
	log, logged := logger()
	s, err := Open(t.Context(), Config{Logger: log, Env: set(t, "OTEL_EXPORTER_OTLP_ENDPOINT=http://"+l.Addr().String(),
		"OTEL_EXPORTER_OTLP_TIMEOUT=50", "OTEL_BSP_EXPORT_TIMEOUT=100", "OTEL_BLRP_EXPORT_TIMEOUT=100", "OTEL_METRIC_EXPORT_INTERVAL=50", "OTEL_METRIC_EXPORT_TIMEOUT=100", "OTEL_BSP_SCHEDULE_DELAY=20", "OTEL_BLRP_SCHEDULE_DELAY=20")})
	if err != nil {
		t.Fatal(err)
	}
	tracer, out := s.TracerProvider().Tracer("test"), slog.New(s.LogHandler(slog.NewTextHandler(&bytes.Buffer{}, nil)))
	const many = 20_000
	for range many {
		_, span := tracer.Start(context.Background(), "span", trace.WithSpanKind(trace.SpanKindServer))
		span.End()
		out.Info("record")
	}
	for what, q := range s.queues {
		if waiting := q.entered.Load(); waiting != many {
			t.Errorf("%d %s entered", waiting, what)
		}
		if q.size != 2048+512 { // the defaults of OTEL_BSP_ and OTEL_BLRP_MAX_QUEUE_SIZE and MAX_EXPORT_BATCH_SIZE
			t.Errorf("%d %s may wait", q.size, what)
		}
	}
	for deadline := time.After(patience); !strings.Contains(logged(), "could not be sent by OTLP"); {
		select {
		case <-deadline:
			t.Fatalf("nothing is logged: %s", logged())
		case <-time.After(10 * time.Millisecond):
		}
	}
	s.Close()
}

// Items that neither left the queue nor fit into it are lost, and each is in one report.
func TestQueue_Lost(t *testing.T) {
	q := environment{"OTEL_BSP_MAX_QUEUE_SIZE": "10", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "20"}.newQueue("OTEL_BSP_")
	for i, step := range []struct {
		entered, left int64
		want          string
	}{
		{20, 0, ""}, // 10 wait, and a batch of 10 is being sent
		{5, 0, "the queue is full: 5 spans were dropped"},
		{0, 0, ""},
		{7, 7, ""},
		{7, 0, "the queue is full: 7 spans were dropped"},
		{0, 20, ""},
	} {
		q.entered.Add(step.entered)
		q.left.Add(step.left)
		err := q.lost("spans")
		if got := fmt.Sprint(err); err != nil && got != step.want || err == nil && step.want != "" || err != nil && !errors.Is(err, errQueueFull) {
			t.Errorf("step %d: %v, want %q", i, err, step.want)
		}
	}
}

// Faults are logged at most every minute, with the number of omitted errors, and shortened: an error may have the
// response of the endpoint.
func TestReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, logged := logger()
		report := reportTo(log)
		for range 3 {
			report(errors.New(strings.Repeat("y", 10_000)))
		}
		if text := logged(); strings.Count(text, "\n") != 1 || !strings.Contains(text, strings.Repeat("y", maxReport)) || len(text) > maxReport+200 {
			t.Errorf("%d bytes: %.300s", len(text), text)
		}
		time.Sleep(reportEvery)
		report(errors.New("again"))
		if text := logged(); strings.Count(text, "\n") != 2 || !strings.HasSuffix(text, "error=again unsaid=2\n") {
			t.Errorf("a minute later: %s", text[strings.Index(text, "\n"):])
		}
	})
}

package otlp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.opentelemetry.io/contrib/bridges/otelslog"
	prometheusbridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploggrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/bunting-flags/bunting/adapters/internal/throttle"
	"github.com/bunting-flags/bunting/capture/ids"
)

// Config configures what is sent.
type Config struct {
	// Env are the variables of the process, by name.
	Env map[string]string
	// Version is the version of the program.
	Version string
	// Logger receives the faults of sending. Its records must not come back as log records to send.
	Logger *slog.Logger
}

// Signals sends the signals of a server. The methods of a nil Signals have no effect.
type Signals struct {
	tracerProvider trace.TracerProvider
	propagator     propagation.TextMapPropagator
	registry       *prometheus.Registry
	logHandler     slog.Handler

	closers []func(context.Context) error // of traces and logs
	metrics func(context.Context) error   // closes the metrics; nil if they are not sent
	queues  map[string]*queue
	report  func(error)
	stop    chan struct{}
	watcher sync.WaitGroup
}

// logLengthLimit is the variable for the maximum length of the value of an attribute of a log record,
// and logLength is the default, in characters.
const (
	logLengthLimit = "OTEL_LOGRECORD_ATTRIBUTE_VALUE_LENGTH_LIMIT"
	logLength      = 4096
)

// scope is the name under which log records are sent.
const scope = "github.com/bunting-flags/bunting"

// Check returns the names of the signals that Open would send, such as traces, or the error of Open for
// a wrong variable. It connects to nothing.
func Check(env map[string]string) (sent []string, err error) {
	enabled, err := environment(env).enabled()
	for _, s := range enabled {
		sent = append(sent, strings.ToLower(string(s)))
	}
	return sent, err
}

// Open starts sending. If no signal is enabled, it returns nil. The error names a variable. It sets
// the handler for errors of OpenTelemetry, which is global, so a process needs one Signals at most.
func Open(ctx context.Context, c Config) (*Signals, error) {
	env := environment(c.Env)
	enabled, err := env.enabled()
	if err != nil || len(enabled) == 0 {
		return nil, err
	}
	s := &Signals{queues: map[string]*queue{}, stop: make(chan struct{}), report: reportTo(c.Logger)}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(s.report))
	about, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(
		semconv.ServiceName("bunting"), semconv.ServiceVersion(c.Version), semconv.ServiceInstanceID(ids.Random())), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	for _, step := range []struct {
		signal signal
		open   func(context.Context, environment, *resource.Resource) error
	}{{traces, s.openTraces}, {metrics, s.openMetrics}, {logs, s.openLogs}} {
		if !slices.Contains(enabled, step.signal) {
			continue
		}
		if err := step.open(ctx, env, about); err != nil {
			s.Close()
			return nil, fmt.Errorf("%s%s: %w", exporterPrefix, step.signal, err)
		}
	}
	s.watcher.Go(s.watch)
	return s, nil
}

// reportEvery is the minimum time between two log lines about lost signals, and maxReport the
// length of an error in one, in bytes: it may have the response of the endpoint.
const (
	reportEvery = time.Minute
	maxReport   = 500
)

// reportTo returns a function that logs errors.
func reportTo(log *slog.Logger) func(error) {
	return throttle.Every(reportEvery, func(err error, unsaid int) {
		text := err.Error()
		log.Warn("traces, metrics or logs could not be sent by OTLP and are lost", "error", text[:min(len(text), maxReport)], "unsaid", unsaid)
	})
}

// watch reports dropped items, until Close.
func (s *Signals) watch() {
	tick := time.NewTicker(reportEvery)
	defer tick.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-tick.C:
			s.reportLost()
		}
	}
}

func (s *Signals) reportLost() {
	for what, q := range s.queues {
		if err := q.lost(what); err != nil {
			s.report(err)
		}
	}
}

func (s *Signals) openTraces(ctx context.Context, env environment, about *resource.Resource) error {
	var exporter sdktrace.SpanExporter
	var err error
	if env.usesGRPC(traces) {
		exporter, err = otlptracegrpc.New(ctx)
	} else {
		exporter, err = otlptracehttp.New(ctx)
	}
	if err != nil {
		return err
	}
	q := env.newQueue("OTEL_BSP_")
	s.queues["spans"] = q
	provider := sdktrace.NewTracerProvider(sdktrace.WithResource(about),
		sdktrace.WithSpanProcessor(countedSpans{sdktrace.NewBatchSpanProcessor(spanExporter{exporter, q}), q}))
	s.tracerProvider, s.propagator = provider, propagation.NewCompositeTextMapPropagator()
	if env.readsTraceparent() {
		s.propagator = propagation.TraceContext{}
	}
	s.closers = append(s.closers, provider.Shutdown)
	return nil
}

// openMetrics sends the metrics in s.registry and the metrics of the runtime and the process, like
// /metrics. The latter are in a separate registry, so that a fault in reading them does not affect
// the former.
func (s *Signals) openMetrics(ctx context.Context, env environment, about *resource.Resource) error {
	var exporter sdkmetric.Exporter
	var err error
	if env.usesGRPC(metrics) {
		exporter, err = otlpmetricgrpc.New(ctx)
	} else {
		exporter, err = otlpmetrichttp.New(ctx)
	}
	if err != nil {
		return err
	}
	s.registry = prometheus.NewRegistry()
	process := prometheus.NewRegistry()
	process.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	producer := prometheusbridge.NewMetricProducer(prometheusbridge.WithGatherer(s.registry), prometheusbridge.WithGatherer(process))
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithResource(about),
		sdkmetric.WithReader(sdkmetric.NewPeriodicReader(exporter, sdkmetric.WithProducer(producer))))
	s.metrics = provider.Shutdown
	return nil
}

func (s *Signals) openLogs(ctx context.Context, env environment, about *resource.Resource) error {
	var exporter sdklog.Exporter
	var err error
	if env.usesGRPC(logs) {
		exporter, err = otlploggrpc.New(ctx)
	} else {
		exporter, err = otlploghttp.New(ctx)
	}
	if err != nil {
		return err
	}
	q := env.newQueue("OTEL_BLRP_")
	s.queues["log records"] = q
	options := []sdklog.LoggerProviderOption{sdklog.WithResource(about),
		sdklog.WithProcessor(countedRecords{sdklog.NewBatchProcessor(recordExporter{exporter, q}), q})}
	if env.get(logLengthLimit) == "" {
		options = append(options, sdklog.WithAttributeValueLengthLimit(logLength))
	}
	provider := sdklog.NewLoggerProvider(options...)
	s.logHandler = otelslog.NewHandler(scope, otelslog.WithLoggerProvider(provider))
	s.closers = append(s.closers, provider.Shutdown)
	return nil
}

// TracerProvider records spans. It is nil if no traces are sent.
func (s *Signals) TracerProvider() trace.TracerProvider {
	if s == nil {
		return nil
	}
	return s.tracerProvider
}

// Propagator reads the headers of a trace. It is nil if no traces are sent.
func (s *Signals) Propagator() propagation.TextMapPropagator {
	if s == nil {
		return nil
	}
	return s.propagator
}

// Registerer is the registry of the metrics to send. It is nil if no metrics are sent.
func (s *Signals) Registerer() prometheus.Registerer {
	if s == nil || s.registry == nil {
		return nil
	}
	return s.registry
}

// LogHandler returns a handler that also sends the records that it passes to ordinary.
func (s *Signals) LogHandler(ordinary slog.Handler) slog.Handler {
	if s == nil || s.logHandler == nil {
		return ordinary
	}
	return bothHandlers{ordinary, s.logHandler}
}

// closeWithin is the maximum duration of CloseMetrics and of Close.
const closeWithin = 3 * time.Second

// CloseMetrics sends the metrics a last time, for at most three seconds. It is called before the
// server unregisters its metrics.
func (s *Signals) CloseMetrics() {
	if s == nil || s.metrics == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	if err := s.metrics(ctx); err != nil && !errors.Is(err, sdkmetric.ErrReaderShutdown) {
		s.report(err)
	}
}

// Close sends the contents of the queues, for at most three seconds, and stops, after CloseMetrics
// if that was not called. It reports errors.
func (s *Signals) Close() {
	if s == nil {
		return
	}
	s.CloseMetrics()
	ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	close(s.stop)
	s.watcher.Wait()
	var all sync.WaitGroup
	for _, closer := range s.closers {
		all.Go(func() {
			if err := closer(ctx); err != nil {
				s.report(err)
			}
		})
	}
	all.Wait()
	s.reportLost()
}

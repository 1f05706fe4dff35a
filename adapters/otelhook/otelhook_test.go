package otelhook_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/bunting-flags/bunting/adapters/otelhook"
	"github.com/bunting-flags/bunting/flags"
)

const definitions = `{"flags": [
	{"id": 1, "key": "on", "active": true, "version": 3, "filters": {"groups": [{}], "payloads": {"true": "{\"secret\": 1}"}}},
	{"id": 2, "key": "color", "active": true, "version": 7, "filters": {"groups": [{"variant": "blue"}], "multivariate": {"variants": [{"key": "blue", "rollout_percentage": 100}]}}},
	{"id": 3, "key": "inactive", "active": false, "version": 2, "filters": {"groups": [{}]}},
	{"id": 4, "key": "limit", "active": true, "version": 1, "filters": {"groups": [{}], "payloads": {"true": "42"}}}
]}`

// records stores the records that a logger of OpenTelemetry's SDK exports.
type records struct{ list []sdklog.Record }

func (r *records) Export(_ context.Context, list []sdklog.Record) error {
	for i := range list {
		r.list = append(r.list, list[i].Clone())
	}
	return nil
}
func (r *records) Shutdown(context.Context) error   { return nil }
func (r *records) ForceFlush(context.Context) error { return nil }

func attributes(list []attribute.KeyValue) map[string]any {
	out := map[string]any{}
	for _, kv := range list {
		out[string(kv.Key)] = kv.Value.AsInterface()
	}
	return out
}

func static(t testing.TB, hook flags.Hook) flags.Reader {
	t.Helper()
	r, err := flags.Static([]byte(definitions))
	if err != nil {
		t.Fatal(err)
	}
	return flags.WithHooks(r, hook)
}

// The attributes are those of the semantic conventions 1.43 ("Semantic conventions for feature
// flags in events"): value if there is no variant, error.type if there is an error, and enumerated
// values in lower case; log records and span events have the same.
func TestHook(t *testing.T) {
	long := strings.Repeat("x", 300)
	broken := flags.NewReader(func(_ context.Context, _ string, _ *flags.Subject, out *flags.Detail) {
		out.Err = errors.New(strings.Repeat("é", 200))
	}, nil)
	for _, tt := range []struct {
		name string
		read func(r flags.Reader, ctx context.Context, sub *flags.Subject)
		want map[string]any
	}{
		{"a boolean", func(r flags.Reader, ctx context.Context, sub *flags.Subject) { r.Bool(ctx, "on", sub, false) },
			map[string]any{"feature_flag.key": "on", "feature_flag.result.value": true, "feature_flag.result.reason": "static", "feature_flag.version": "3"}},
		{"a variant", func(r flags.Reader, ctx context.Context, sub *flags.Subject) { r.String(ctx, "color", sub, "red") },
			map[string]any{"feature_flag.key": "color", "feature_flag.result.variant": "blue", "feature_flag.result.reason": "static", "feature_flag.version": "7"}},
		{"a number", func(r flags.Reader, ctx context.Context, sub *flags.Subject) { r.Number(ctx, "limit", sub, 1) },
			map[string]any{"feature_flag.key": "limit", "feature_flag.result.value": 42.0, "feature_flag.result.reason": "static", "feature_flag.version": "1"}},
		{"JSON is not told", func(r flags.Reader, ctx context.Context, sub *flags.Subject) {
			r.JSON(ctx, "on", sub, json.RawMessage(`"x"`))
		}, map[string]any{"feature_flag.key": "on", "feature_flag.result.reason": "static", "feature_flag.version": "3"}},
		{"not active", func(r flags.Reader, ctx context.Context, sub *flags.Subject) { r.Bool(ctx, "inactive", sub, false) },
			map[string]any{"feature_flag.key": "inactive", "feature_flag.result.value": false, "feature_flag.result.reason": "disabled"}},
		{"unknown", func(r flags.Reader, ctx context.Context, sub *flags.Subject) { r.String(ctx, "nix", sub, "none") },
			map[string]any{"feature_flag.key": "nix", "feature_flag.result.value": "none", "feature_flag.result.reason": "error",
				"error.type": "flag_not_found", "feature_flag.error.message": flags.ErrUnknownFlag.Error()}},
		{"a long fallback", func(r flags.Reader, ctx context.Context, sub *flags.Subject) { r.String(ctx, "on", sub, long) },
			map[string]any{"feature_flag.key": "on", "feature_flag.result.reason": "error", "feature_flag.version": "3",
				"error.type": "type_mismatch", "feature_flag.error.message": flags.ErrWrongKind.Error()}},
		{"a long message", func(r flags.Reader, ctx context.Context, sub *flags.Subject) {
			flags.WithHooks(broken, hookOf(r)).Bool(ctx, "on", sub, false)
		}, map[string]any{"feature_flag.key": "on", "feature_flag.result.value": false, "feature_flag.result.reason": "error",
			"error.type": "general", "feature_flag.error.message": strings.Repeat("é", 126) + "…"}},
	} {
		tt.want["feature_flag.provider.name"], tt.want["feature_flag.context.id"] = "Bunting", "u"
		sub := &flags.Subject{DistinctID: "u"}

		logs := &records{}
		hook := otelhook.New(otelhook.Config{LoggerProvider: sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewSimpleProcessor(logs)))})
		tt.read(reader{static(t, hook), hook}, context.Background(), sub)
		if len(logs.list) != 1 || logs.list[0].EventName() != "feature_flag.evaluation" {
			t.Fatalf("%s: %d records", tt.name, len(logs.list))
		}
		got := map[string]any{}
		logs.list[0].WalkAttributes(func(kv attribute.KeyValue) bool {
			got[string(kv.Key)] = kv.Value.AsInterface()
			return true
		})
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s, the record (-want +got)\n%s", tt.name, diff)
		}

		spans := tracetest.NewInMemoryExporter()
		ctx, span := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)).Tracer("test").Start(context.Background(), "request")
		hook = otelhook.New(otelhook.Config{})
		tt.read(reader{static(t, hook), hook}, ctx, sub)
		span.End()
		events := spans.GetSpans()[0].Events
		if len(events) != 1 || events[0].Name != "feature_flag.evaluation" {
			t.Fatalf("%s: %+v", tt.name, events)
		}
		if diff := cmp.Diff(tt.want, attributes(events[0].Attributes)); diff != "" {
			t.Errorf("%s, the span's event (-want +got)\n%s", tt.name, diff)
		}
	}
}

// reader is a Reader with its hook.
type reader struct {
	flags.Reader
	hook flags.Hook
}

func hookOf(r flags.Reader) flags.Hook { return r.(reader).hook }

// Config can omit the distinct id and set the provider's name. Without a span no event is recorded.
func TestHook_Config(t *testing.T) {
	logs := &records{}
	r := static(t, otelhook.New(otelhook.Config{
		LoggerProvider: sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewSimpleProcessor(logs))), Provider: "flags of the shop", NoContextID: true,
	}))
	r.Bool(context.Background(), "on", &flags.Subject{DistinctID: "u"}, false)
	got := map[string]any{}
	logs.list[0].WalkAttributes(func(kv attribute.KeyValue) bool {
		got[string(kv.Key)] = kv.Value.AsInterface()
		return true
	})
	if _, exists := got["feature_flag.context.id"]; exists || got["feature_flag.provider.name"] != "flags of the shop" {
		t.Error(got)
	}
	if !static(t, otelhook.New(otelhook.Config{})).Bool(context.Background(), "on", &flags.Subject{DistinctID: "u"}, false) {
		t.Error("off")
	}
}

func Example() {
	spans := tracetest.NewInMemoryExporter()
	ctx, span := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)).Tracer("shop").Start(context.Background(), "GET /search")
	reader, err := flags.Static([]byte(`{"flags": [{"id": 1, "key": "search", "active": true, "filters": {"groups": [{}]}}]}`))
	if err != nil {
		panic(err)
	}
	reader = flags.WithHooks(reader, otelhook.New(otelhook.Config{}))
	reader.Bool(ctx, "search", &flags.Subject{DistinctID: "ana"}, false)
	span.End()
	for _, event := range spans.GetSpans()[0].Events {
		fmt.Println(event.Name, event.Attributes[0].Value.AsString(), event.Attributes[2].Value.AsString())
	}
	// Output: feature_flag.evaluation search static
}

// Package otelhook reports each read of a flag to OpenTelemetry, by the semantic conventions for
// feature flags (1.43): an event feature_flag.evaluation with
//
//	feature_flag.key             the key
//	feature_flag.provider.name   Config.Provider
//	feature_flag.context.id      the subject's distinct id, unless Config.NoContextID
//	feature_flag.result.variant  the variant
//	feature_flag.result.value    without a variant, the value, unless it is JSON or longer than 256 bytes
//	feature_flag.result.reason   targeting_match, split, static, default, disabled, unknown, error
//	feature_flag.version         of the flag
//	error.type                   flag_not_found, type_mismatch, provider_not_ready …
//	feature_flag.error.message   at most 256 bytes
//
// The conventions define it as a log record; for services without logs it is an event of their
// span.
//
//	hook := otelhook.New(otelhook.Config{LoggerProvider: global.GetLoggerProvider()})
//	reader = flags.WithHooks(reader, hook) // or remote.Config.Hooks
package otelhook

import (
	"context"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/bunting-flags/bunting/flags"
)

// Config configures the hook. The zero value is valid.
type Config struct {
	// LoggerProvider creates the logger for the events. If nil, they are added to the span in the
	// context, or dropped if there is no span.
	LoggerProvider log.LoggerProvider
	// Provider is the name of the provider, by default Bunting.
	Provider string
	// NoContextID omits the distinct id.
	NoContextID bool
}

const (
	eventName = "feature_flag.evaluation"
	scope     = "github.com/bunting-flags/bunting/adapters/otelhook"
	maxText   = 256 // bytes of a value or message
)

// New returns the hook.
func New(c Config) flags.Hook {
	if c.Provider == "" {
		c.Provider = "Bunting"
	}
	if c.LoggerProvider == nil {
		return flags.Hook{After: func(ctx context.Context, r *flags.Read) {
			if span := trace.SpanFromContext(ctx); span.IsRecording() {
				span.AddEvent(eventName, trace.WithAttributes(c.attributes(r)...))
			}
		}}
	}
	logger := c.LoggerProvider.Logger(scope, log.WithSchemaURL(semconv.SchemaURL))
	return flags.Hook{After: func(ctx context.Context, r *flags.Read) {
		if !logger.Enabled(ctx, log.EnabledParameters{Severity: log.SeverityInfo, EventName: eventName}) {
			return
		}
		var record log.Record
		record.SetEventName(eventName)
		record.SetTimestamp(time.Now())
		record.SetSeverity(log.SeverityInfo)
		record.AddAttributes(c.attributes(r)...)
		logger.Emit(ctx, record)
	}}
}

// attributes returns the attributes of the event for a read.
func (c *Config) attributes(r *flags.Read) []attribute.KeyValue {
	reason, code := r.Detail.OpenFeature()
	list := append(make([]attribute.KeyValue, 0, 8),
		semconv.FeatureFlagKey(r.Key), semconv.FeatureFlagProviderName(c.Provider),
		semconv.FeatureFlagResultReasonKey.String(strings.ToLower(reason)))
	if r.Subject != nil && r.Subject.DistinctID != "" && !c.NoContextID {
		list = append(list, semconv.FeatureFlagContextID(r.Subject.DistinctID))
	}
	if r.Detail.Version != 0 {
		list = append(list, semconv.FeatureFlagVersion(strconv.FormatInt(r.Detail.Version, 10)))
	}
	if code != "" {
		list = append(list, semconv.ErrorTypeKey.String(strings.ToLower(code)))
		if r.Detail.Err != nil {
			list = append(list, semconv.FeatureFlagErrorMessage(shorten(r.Detail.Err.Error())))
		}
	}
	if r.Detail.Variant != "" && r.Detail.Err == nil {
		return append(list, semconv.FeatureFlagResultVariant(r.Detail.Variant))
	}
	switch v := r.Value.(type) {
	case bool:
		list = append(list, semconv.FeatureFlagResultValueKey.Bool(v))
	case float64:
		list = append(list, semconv.FeatureFlagResultValueKey.Float64(v))
	case string:
		if len(v) <= maxText {
			list = append(list, semconv.FeatureFlagResultValueKey.String(v))
		}
	}
	return list
}

// shorten cuts a string to maxText bytes, between characters.
func shorten(s string) string {
	if len(s) <= maxText {
		return s
	}
	return strings.ToValidUTF8(s[:maxText-len("…")], "") + "…"
}

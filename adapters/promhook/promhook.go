// Package promhook counts and times the reads of flags for Prometheus.
//
//	hook, err := promhook.New(promhook.Config{})
//	reader = flags.WithHooks(reader, hook) // or remote.Config.Hooks
//
// The metrics are:
//
//	bunting_flag_reads_total{flag, variant, reason}   reads of flags
//	bunting_flag_read_duration_seconds                a histogram of their durations
//
// flag is the key. variant is the variant, or true or false for flags without variants, and empty if
// there is no decision and the read returned the default. reason is OpenFeature's reason, such as targeting_match,
// split, static, default or disabled, or its error code, such as flag_not_found or type_mismatch.
//
// At most Config.MaxSeries combinations are counted separately. Further ones are counted as
// flag="_other" with the same reason, and so are keys and variants above 200 bytes.
package promhook

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bunting-flags/bunting/flags"
)

// Config configures the hook. The zero value is valid.
type Config struct {
	// Registerer registers the metrics, by default prometheus.DefaultRegisterer.
	Registerer prometheus.Registerer
	// MaxSeries is the maximum number of combinations of flag, variant and reason that are counted
	// separately, by default 1,000.
	MaxSeries int
}

const (
	defaultMaxSeries = 1_000
	maxText          = 200 // bytes of a label
	other            = "_other"
)

// series has the labels of a counter.
type series struct{ flag, variant, reason string }

// counts has the metrics, with the counters by series. It is safe for concurrent use.
type counts struct {
	total    *prometheus.CounterVec
	duration prometheus.Histogram
	limit    int

	mu     sync.RWMutex
	series map[series]prometheus.Counter
}

// New registers the metrics and returns the hook. It fails if they are already registered: one hook
// serves all Readers.
func New(c Config) (flags.Hook, error) {
	if c.Registerer == nil {
		c.Registerer = prometheus.DefaultRegisterer
	}
	if c.MaxSeries <= 0 {
		c.MaxSeries = defaultMaxSeries
	}
	m := &counts{
		total: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "bunting_flag_reads_total", Help: "Reads of feature flags."}, []string{"flag", "variant", "reason"}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "bunting_flag_read_duration_seconds", Help: "Duration of reads of feature flags.",
			Buckets: prometheus.ExponentialBuckets(1e-6, 4, 12), // to 4 seconds: some reads call a server
		}),
		limit: c.MaxSeries, series: map[series]prometheus.Counter{},
	}
	if err := c.Registerer.Register(m.total); err != nil {
		return flags.Hook{}, err
	}
	if err := c.Registerer.Register(m.duration); err != nil {
		c.Registerer.Unregister(m.total)
		return flags.Hook{}, err
	}
	return flags.Hook{Before: before, After: m.after}, nil
}

type startKey struct{}

func before(ctx context.Context, _ *flags.Read) context.Context {
	return context.WithValue(ctx, startKey{}, time.Now())
}

func (m *counts) after(ctx context.Context, r *flags.Read) {
	if start, ok := ctx.Value(startKey{}).(time.Time); ok {
		m.duration.Observe(time.Since(start).Seconds())
	}
	m.counter(labels(r)).Inc()
}

func labels(r *flags.Read) series {
	reason, code := r.Detail.OpenFeature()
	if code != "" {
		return series{r.Key, "", strings.ToLower(code)}
	}
	s := series{r.Key, r.Detail.Variant, strings.ToLower(reason)}
	switch {
	case r.Detail.Err != nil: // the flag is not active
		s.variant = ""
	case s.variant == "" && r.Detail.Enabled:
		s.variant = "true"
	case s.variant == "":
		s.variant = "false"
	}
	return s
}

// counter returns the counter of a series, or the shared one if there are too many.
func (m *counts) counter(s series) prometheus.Counter {
	if len(s.flag) > maxText || len(s.variant) > maxText {
		s = series{flag: other, reason: s.reason}
	}
	m.mu.RLock()
	c := m.series[s]
	m.mu.RUnlock()
	if c != nil {
		return c
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if c = m.series[s]; c != nil {
		return c
	}
	if len(m.series) >= m.limit { // these are limited by the small number of reasons
		return m.total.WithLabelValues(other, "", s.reason)
	}
	c = m.total.WithLabelValues(text(s.flag), text(s.variant), s.reason)
	m.series[s] = c
	return c
}

// text returns a valid label value.
func text(s string) string { return strings.ToValidUTF8(s, "\ufffd") }

// Package metrics exports the counters of Bunting's packages to Prometheus.
//
// The packages count with atomics; this package reads the counters at each scrape, through the
// functions of [Config], and stores nothing. The table of all metrics is in collector.go.
package metrics

import (
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/queries"
	"github.com/bunting-flags/bunting/flags/serving"
)

// Config has the sources of the metrics. If a function is nil, its metrics are omitted.
type Config struct {
	// Flags returns the totals of a Decider.
	Flags func() serving.Stats
	// GeoIP returns the totals of a location database.
	GeoIP func() GeoIP
	// HTTP returns the totals of the HTTP API.
	HTTP func() HTTP
	// Intake and Recorder return the totals of capture.
	Intake   func() capture.IntakeStats
	Recorder func() capture.RecorderStats
	// Stream and Processor return the totals of a stream in front of the database.
	Stream    func() capture.StreamStats
	Processor func() capture.ProcessorStats
	// Shadow returns the totals of comparing with an upstream.
	Shadow func() Shadow
	// Files returns the state of the definitions files.
	Files func() []File
	// Latencies returns the durations of HTTP requests.
	Latencies func() []Latency
	// Jobs returns the totals of background work.
	Jobs func() []Job
	// Storage returns the disk space that the store uses.
	Storage func() Storage
	// Backups returns the state of the backups.
	Backups func() Backups
	// CertificateExpires returns when the certificate of HTTPS expires, zero without one.
	CertificateExpires func() time.Time
	// Rollouts returns the state of guarded rollouts.
	Rollouts func() Rollouts
	// Queries returns the totals of queries over events.
	Queries func() queries.Stats
	// Version is the program's version, for bunting_build_info. If empty, that metric is omitted.
	Version string
}

// GeoIP has the totals of a location database; geoip.Stats converts to it.
type GeoIP struct {
	Lookups, Hits, Unreadable uint64
	Reloads, FailedReloads    uint64
	Remembered                int
	Type                      string
	Built                     time.Time
}

// HTTP has the totals of the HTTP API; httpapi.Stats converts to it.
type HTTP struct {
	Panics, RateLimited             uint64
	ConsoleMistakes                 uint64
	CaptureRequests, CaptureRefused uint64
	BudgetInUse, BudgetRefused      uint64
	FlagsInUse, FlagsRefused        uint64

	Streams, StreamEvents, StreamsDropped                   uint64
	PublicStreams, PublicStreamEvents, PublicStreamsRefused uint64
}

// Shadow has the totals of comparing with an upstream.
type Shadow struct {
	Requests, Compared, Differing, Skipped int64
	EventsLost, UpstreamErrors             int64
}

// File is the state of a definitions file.
type File struct {
	Path string
	// LoadedAt is when the state in use was read.
	LoadedAt time.Time
	// Stale reports whether a newer state of the file could not be used.
	Stale bool
	// Projects, Flags and Faults count those of the state in use.
	Projects, Flags, Faults int
	// Loads and Failures are totals since the start.
	Loads, Failures uint64
}

// Handler serves all metrics, including those of the Go runtime and of the process, from a registry
// of its own.
func Handler(c Config) http.Handler {
	r := prometheus.NewRegistry()
	r.MustRegister(NewCollector(c), collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{Registry: r})
}

// NewCollector returns only the collector, for a registry of the caller's.
func NewCollector(c Config) prometheus.Collector { return collector{c} }

// collector implements prometheus.Collector with the functions of a Config.
type collector struct{ config Config }

// metric is a row of the table: one number that is read from a T.
type metric[T any] struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(*T) float64
}

// row returns a metric whose name has the prefix bunting_.
func row[T any](kind prometheus.ValueType, name, help string, value func(*T) float64, labels ...string) metric[T] {
	return metric[T]{prometheus.NewDesc("bunting_"+name, help, labels, nil), kind, value}
}

const (
	counter = prometheus.CounterValue
	gauge   = prometheus.GaugeValue
)

// The metrics by source, each as a table.
var (
	flagMetrics = []metric[serving.Stats]{
		row(counter, "flags_requests_total", "Requests for which flags were evaluated.", func(s *serving.Stats) float64 { return float64(s.Requests) }),
		row(counter, "flags_decisions_total", "Flags that were evaluated.", func(s *serving.Stats) float64 { return float64(s.Decisions) }),
		row(counter, "flags_quota_limited_total", "Requests answered without evaluation because the quota is used up or the resource is paused.", func(s *serving.Stats) float64 { return float64(s.QuotaLimited) }),
		row(counter, "flags_compilations_total", "Sets of definitions that were compiled.", func(s *serving.Stats) float64 { return float64(s.Compilations) }),
		row(counter, "flags_source_errors_total", "Failed attempts to read definitions.", func(s *serving.Stats) float64 { return float64(s.SourceErrors) }),
		row(counter, "flags_store_errors_total", "Requests whose stored properties could not be read.", func(s *serving.Stats) float64 { return float64(s.StoreErrors) }),
		row(counter, "flags_pattern_timeouts_total", "Regular expressions that ran into a limit of time, text or steps.", func(s *serving.Stats) float64 { return float64(s.PatternTimeouts) }),
	}
	definitionsConfirmed = prometheus.NewDesc("bunting_flags_definitions_confirmed_timestamp_seconds", "When the definitions were last read from the store or confirmed by it; this happens when flags are requested.", nil, nil)

	geoMetrics = []metric[GeoIP]{
		row(counter, "geoip_lookups_total", "Addresses that were looked up.", func(s *GeoIP) float64 { return float64(s.Lookups) }),
		row(counter, "geoip_hits_total", "Lookups answered from memory.", func(s *GeoIP) float64 { return float64(s.Hits) }),
		row(counter, "geoip_unreadable_total", "Lookups that found a damaged record.", func(s *GeoIP) float64 { return float64(s.Unreadable) }),
		row(counter, "geoip_reloads_total", "Replaced databases that were loaded.", func(s *GeoIP) float64 { return float64(s.Reloads) }),
		row(counter, "geoip_reload_failures_total", "Replaced databases that could not be loaded.", func(s *GeoIP) float64 { return float64(s.FailedReloads) }),
		row(gauge, "geoip_remembered_addresses", "Addresses whose location is in memory.", func(s *GeoIP) float64 { return float64(s.Remembered) }),
	}
	geoBuilt    = prometheus.NewDesc("bunting_geoip_built_timestamp_seconds", "When the database was built by its publisher, by type of database.", []string{"type"}, nil)
	httpMetrics = []metric[HTTP]{
		row(counter, "http_panics_total", "Requests answered with 500 because of a panic in the server.", func(s *HTTP) float64 { return float64(s.Panics) }),
		row(counter, "console_mistakes_total", "Errors that pages of the console have reported.", func(s *HTTP) float64 { return float64(s.ConsoleMistakes) }),
		row(gauge, "flags_body_bytes", "Size of the bodies of flag requests that are in memory now: as sent, decompressed and decoded.", func(s *HTTP) float64 { return float64(s.FlagsInUse) }),
		row(counter, "flags_body_refused_total", "Flag requests refused because too many bodies were in memory.", func(s *HTTP) float64 { return float64(s.FlagsRefused) }),
		row(counter, "http_rate_limited_total", "Requests over a rate limit, refused or only logged.", func(s *HTTP) float64 { return float64(s.RateLimited) }),
		row(gauge, "definitions_streams", "Streams of definitions that are open.", func(s *HTTP) float64 { return float64(s.Streams) }),
		row(counter, "definitions_stream_events_total", "Definitions that were sent over streams.", func(s *HTTP) float64 { return float64(s.StreamEvents) }),
		row(counter, "definitions_streams_dropped_total", "Streams, including those of OFREP, that were closed because their client was too slow.", func(s *HTTP) float64 { return float64(s.StreamsDropped) }),
		row(gauge, "ofrep_streams", "Event streams of OFREP that are open.", func(s *HTTP) float64 { return float64(s.PublicStreams) }),
		row(counter, "ofrep_stream_events_total", "Changes that were sent over event streams of OFREP.", func(s *HTTP) float64 { return float64(s.PublicStreamEvents) }),
		row(counter, "ofrep_streams_refused_total", "Event streams of OFREP refused because of the limit in total or per client address.", func(s *HTTP) float64 { return float64(s.PublicStreamsRefused) }),
	}
	intakeMetrics = []metric[capture.IntakeStats]{
		row(counter, "capture_accepted_total", "Events that were durable when their sender was answered.", func(s *capture.IntakeStats) float64 { return float64(s.Accepted) }),
	}
	captureDropped  = prometheus.NewDesc("bunting_capture_dropped_total", "Events of accepted requests that were not stored, by reason.", []string{"reason"}, nil)
	recorderMetrics = []metric[capture.RecorderStats]{
		row(counter, "capture_commits_total", "Transactions that stored events.", func(s *capture.RecorderStats) float64 { return float64(s.Commits) }),
		row(counter, "capture_commit_seconds_total", "Total duration of the transactions that stored events.", func(s *capture.RecorderStats) float64 { return s.CommitTime.Seconds() }),
		row(counter, "capture_commit_failures_total", "Transactions that failed and stored nothing.", func(s *capture.RecorderStats) float64 { return float64(s.Failures) }),
		row(counter, "capture_recorded_total", "Events that were stored.", func(s *capture.RecorderStats) float64 { return float64(s.Events) }),
		row(counter, "capture_duplicates_total", "Duplicates of events that were already stored.", func(s *capture.RecorderStats) float64 { return float64(s.Duplicates) }),
		row(counter, "capture_persons_total", "Persons that were created.", func(s *capture.RecorderStats) float64 { return float64(s.Persons) }),
		row(counter, "capture_merges_total", "Pairs of persons that were merged.", func(s *capture.RecorderStats) float64 { return float64(s.Merges) }),
		row(counter, "capture_merges_refused_total", "Merges of persons that were requested and refused; ingestion warnings list them.", func(s *capture.RecorderStats) float64 { return float64(s.MergesRejected) }),
		row(counter, "capture_refused_total", "Requests refused because too many others were waiting.", func(s *capture.RecorderStats) float64 { return float64(s.Rejected) }),
		row(counter, "capture_late_total", "Requests whose events took too long to store.", func(s *capture.RecorderStats) float64 { return float64(s.TimedOut) }),
		row(gauge, "capture_waiting", "Requests that wait for a transaction.", func(s *capture.RecorderStats) float64 { return float64(s.Waiting) }),
		row(gauge, "capture_remembered_bytes", "Size of the cache of persons.", func(s *capture.RecorderStats) float64 { return float64(s.CacheBytes) }),
	}
	streamMetrics = []metric[capture.StreamStats]{
		row(counter, "capture_stream_appended_total", "Messages that the stream has acknowledged; each holds the events of one or more requests.", func(s *capture.StreamStats) float64 { return float64(s.Appended) }),
		row(counter, "capture_stream_refused_total", "Requests whose events the stream did not accept.", func(s *capture.StreamStats) float64 { return float64(s.Rejected) }),
		row(gauge, "capture_stream_partitions", "Partitions of the stream that this server reads.", func(s *capture.StreamStats) float64 { return float64(s.Partitions) }),
		row(gauge, "capture_stream_waiting", "Messages in these partitions that are not yet recorded.", func(s *capture.StreamStats) float64 { return float64(s.Waiting) }),
		row(gauge, "capture_stream_oldest_seconds", "Age of the oldest message that is read and not yet recorded; 0 if there is none.", func(s *capture.StreamStats) float64 { return s.Oldest.Seconds() }),
		row(counter, "capture_stream_redelivered_total", "Messages that were read again after a failure.", func(s *capture.StreamStats) float64 { return float64(s.Redelivered) }),
		row(gauge, "capture_stream_dead_letters", "Messages that are kept because they could not be recorded; see bunting deadletters.", func(s *capture.StreamStats) float64 { return float64(s.DeadLetters) }),
	}
	processorMetrics = []metric[capture.ProcessorStats]{
		row(counter, "capture_stream_recorded_total", "Messages of the stream that were recorded.", func(s *capture.ProcessorStats) float64 { return float64(s.Messages) }),
		row(counter, "capture_stream_buried_total", "Messages of the stream that became dead letters.", func(s *capture.ProcessorStats) float64 { return float64(s.DeadLetters) }),
		row(counter, "capture_stream_failures_total", "Attempts to read or record messages of the stream that failed.", func(s *capture.ProcessorStats) float64 { return float64(s.Failures) }),
	}
	captureHTTPMetrics = []metric[HTTP]{
		row(counter, "capture_requests_total", "Requests to the capture endpoints.", func(s *HTTP) float64 { return float64(s.CaptureRequests) }),
		row(counter, "capture_requests_refused_total", "Requests to the capture endpoints that were answered with an error.", func(s *HTTP) float64 { return float64(s.CaptureRefused) }),
		row(gauge, "capture_body_bytes", "Size of the bodies that are in memory now: as sent, decompressed and decoded.", func(s *HTTP) float64 { return float64(s.BudgetInUse) }),
		row(counter, "capture_body_refused_total", "Requests refused because too many bodies were in memory.", func(s *HTTP) float64 { return float64(s.BudgetRefused) }),
	}
	fileMetrics = []metric[File]{
		row(gauge, "definitions_loaded_timestamp_seconds", "When the version of the file that is in use was read.", func(f *File) float64 { return seconds(f.LoadedAt) }, "file"),
		row(gauge, "definitions_stale", "1 if a newer version of the file could not be loaded, else 0.", func(f *File) float64 { return boolean(f.Stale) }, "file"),
		row(gauge, "definitions_projects", "Projects in the file.", func(f *File) float64 { return float64(f.Projects) }, "file"),
		row(gauge, "definitions_flags", "Flags in the file.", func(f *File) float64 { return float64(f.Flags) }, "file"),
		row(gauge, "definitions_faults", "Errors in the definitions of the file.", func(f *File) float64 { return float64(f.Faults) }, "file"),
		row(counter, "definitions_loads_total", "Versions of the file that were loaded.", func(f *File) float64 { return float64(f.Loads) }, "file"),
		row(counter, "definitions_load_failures_total", "Versions of the file that could not be loaded.", func(f *File) float64 { return float64(f.Failures) }, "file"),
	}
	shadowMetrics = []metric[Shadow]{
		row(counter, "shadow_requests_total", "Flag requests that could be compared with the upstream's response.", func(s *Shadow) float64 { return float64(s.Requests) }),
		row(counter, "shadow_compared_total", "Requests whose two responses were compared.", func(s *Shadow) float64 { return float64(s.Compared) }),
		row(counter, "shadow_differing_total", "Compared requests with a flag that differs in more than its reason.", func(s *Shadow) float64 { return float64(s.Differing) }),
		row(counter, "shadow_skipped_total", "Requests that were not compared.", func(s *Shadow) float64 { return float64(s.Skipped) }),
		row(counter, "shadow_events_lost_total", "Requests with events that the upstream accepted and this server did not.", func(s *Shadow) float64 { return float64(s.EventsLost) }),
		row(counter, "shadow_upstream_errors_total", "Requests that the upstream did not answer.", func(s *Shadow) float64 { return float64(s.UpstreamErrors) }),
	}
	buildInfo = prometheus.NewDesc("bunting_build_info", "Always 1, by version of the program.", []string{"version"}, nil)
)

// Describe implements prometheus.Collector.
func (c collector) Describe(out chan<- *prometheus.Desc) {
	describe(out, flagMetrics, c.config.Flags != nil)
	if c.config.Flags != nil {
		out <- definitionsConfirmed
	}
	describe(out, geoMetrics, c.config.GeoIP != nil)
	describe(out, httpMetrics, c.config.HTTP != nil)
	describe(out, captureHTTPMetrics, c.config.HTTP != nil && c.config.Intake != nil)
	describe(out, intakeMetrics, c.config.Intake != nil)
	if c.config.Intake != nil {
		out <- captureDropped
	}
	describe(out, recorderMetrics, c.config.Recorder != nil)
	describe(out, streamMetrics, c.config.Stream != nil)
	describe(out, processorMetrics, c.config.Processor != nil)
	describe(out, shadowMetrics, c.config.Shadow != nil)
	describe(out, fileMetrics, c.config.Files != nil)
	c.config.describeServer(out)
	if c.config.GeoIP != nil {
		out <- geoBuilt
	}
	if c.config.Version != "" {
		out <- buildInfo
	}
}

// Collect implements prometheus.Collector.
func (c collector) Collect(out chan<- prometheus.Metric) {
	if c.config.Flags != nil {
		s := c.config.Flags()
		collect(out, flagMetrics, &s)
		if !s.Confirmed.IsZero() {
			out <- number(definitionsConfirmed, gauge, seconds(s.Confirmed))
		}
	}
	if c.config.GeoIP != nil {
		s := c.config.GeoIP()
		collect(out, geoMetrics, &s)
		if !s.Built.IsZero() {
			out <- number(geoBuilt, gauge, seconds(s.Built), s.Type)
		}
	}
	if c.config.HTTP != nil {
		s := c.config.HTTP()
		collect(out, httpMetrics, &s)
		if c.config.Intake != nil {
			collect(out, captureHTTPMetrics, &s)
		}
	}
	if c.config.Intake != nil {
		s := c.config.Intake()
		collect(out, intakeMetrics, &s)
		for reason, n := range s.Dropped {
			out <- number(captureDropped, counter, float64(n), string(reason))
		}
	}
	if c.config.Recorder != nil {
		s := c.config.Recorder()
		collect(out, recorderMetrics, &s)
	}
	if c.config.Stream != nil {
		s := c.config.Stream()
		collect(out, streamMetrics, &s)
	}
	if c.config.Processor != nil {
		s := c.config.Processor()
		collect(out, processorMetrics, &s)
	}
	if c.config.Shadow != nil {
		s := c.config.Shadow()
		collect(out, shadowMetrics, &s)
	}
	if c.config.Files != nil {
		files := c.config.Files()
		for i := range files {
			collect(out, fileMetrics, &files[i], files[i].Path)
		}
	}
	c.config.collectServer(out)
	if c.config.Version != "" {
		out <- number(buildInfo, gauge, 1, c.config.Version)
	}
}

// describe sends the descriptions of the rows if their source is enabled.
func describe[T any](out chan<- *prometheus.Desc, rows []metric[T], enabled bool) {
	for i := range rows {
		if enabled {
			out <- rows[i].desc
		}
	}
}

// collect sends the values of the rows.
func collect[T any](out chan<- prometheus.Metric, rows []metric[T], from *T, labels ...string) {
	for i := range rows {
		out <- number(rows[i].desc, rows[i].kind, rows[i].value(from), labels...)
	}
}

// number returns a metric with one value. It makes label values valid UTF-8, because an invalid
// one, such as the name of a file, would fail the whole scrape.
func number(desc *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string) prometheus.Metric {
	for i := range labels {
		labels[i] = strings.ToValidUTF8(labels[i], "\uFFFD")
	}
	return prometheus.MustNewConstMetric(desc, kind, value, labels...)
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

func boolean(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

var (
	queryOutcomes = prometheus.NewDesc("bunting_query_total", "Queries that were run, by kind and outcome.", []string{"kind", "outcome"}, nil)
	querySeconds  = prometheus.NewDesc("bunting_query_seconds", "Duration of queries, by kind.", []string{"kind"}, nil)
	queryCache    = prometheus.NewDesc("bunting_query_cache_total", "Requested queries, by result of the cache lookup.", []string{"result"}, nil)

	queryMetrics = []metric[queries.Stats]{
		row(counter, "query_rows_read_total", "Events that queries have read.", func(s *queries.Stats) float64 { return float64(s.RowsRead) }),
		row(gauge, "query_running", "Queries that are running.", func(s *queries.Stats) float64 { return float64(s.Running) }),
		row(gauge, "query_waiting", "Queries that wait for their turn.", func(s *queries.Stats) float64 { return float64(s.Waiting) }),
		row(gauge, "query_memory_bytes", "Memory limit of the queries that are running.", func(s *queries.Stats) float64 { return float64(s.MemoryBytes) }),
	}
)

func (c *Config) describeQueries(out chan<- *prometheus.Desc) {
	describe(out, queryMetrics, c.Queries != nil)
	if c.Queries != nil {
		out <- queryOutcomes
		out <- querySeconds
		out <- queryCache
	}
}

func (c *Config) collectQueries(out chan<- prometheus.Metric) {
	if c.Queries == nil {
		return
	}
	s := c.Queries()
	collect(out, queryMetrics, &s)
	for outcome, n := range s.Outcomes {
		out <- number(queryOutcomes, counter, float64(n), outcome.Kind, outcome.Outcome)
	}
	for result, n := range s.Cache {
		out <- number(queryCache, counter, float64(n), result)
	}
	for kind, h := range s.Seconds {
		within := map[float64]uint64{}
		for i, bound := range queries.SecondsBounds {
			within[bound] = h.Within[i]
		}
		out <- prometheus.MustNewConstHistogram(querySeconds, h.Count, h.Sum, within, kind)
	}
}

package metrics

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags/serving"
	"github.com/bunting-flags/bunting/geoip"
)

// The package must not import geoip; this proves that its totals convert.
var _ = GeoIP(geoip.Stats{})

// config returns a different number for each field, so that a row that reads the wrong field is
// detected.
var config = Config{
	HTTP: func() HTTP {
		return HTTP{Panics: 41, RateLimited: 42, ConsoleMistakes: 160, CaptureRequests: 43, CaptureRefused: 44, BudgetInUse: 45, BudgetRefused: 46, FlagsInUse: 151, FlagsRefused: 152, Streams: 47, StreamEvents: 48, StreamsDropped: 49,
			PublicStreams: 91, PublicStreamEvents: 92, PublicStreamsRefused: 93}
	},
	Intake: func() capture.IntakeStats {
		return capture.IntakeStats{Accepted: 51, Dropped: map[capture.DropReason]uint64{capture.MissingEventName: 52, capture.EventsOverQuota: 53}}
	},
	Recorder: func() capture.RecorderStats {
		return capture.RecorderStats{Commits: 61, Failures: 62, Events: 63, Duplicates: 64, Persons: 65, Merges: 66, Rejected: 67, TimedOut: 68, Waiting: 69, CacheBytes: 70, MergesRejected: 94, CommitTime: 161 * time.Second}
	},
	Stream: func() capture.StreamStats {
		return capture.StreamStats{Appended: 81, Rejected: 82, Partitions: 83, Waiting: 84, Oldest: 85500 * time.Millisecond, Redelivered: 86, DeadLetters: 87}
	},
	Processor: func() capture.ProcessorStats {
		return capture.ProcessorStats{Messages: 88, DeadLetters: 89, Failures: 90}
	},
	Flags: func() serving.Stats {
		return serving.Stats{Requests: 1, Decisions: 2, QuotaLimited: 3, Compilations: 4, SourceErrors: 5, StoreErrors: 6, PatternTimeouts: 7, Confirmed: time.UnixMilli(1767225603250)}
	},
	Shadow: func() Shadow {
		return Shadow{Requests: 71, Compared: 72, Differing: 73, Skipped: 74, EventsLost: 75, UpstreamErrors: 76}
	},
	GeoIP: func() GeoIP {
		return GeoIP{Lookups: 11, Hits: 12, Unreadable: 13, Reloads: 14, FailedReloads: 15, Remembered: 16, Type: "GeoLite2-City", Built: time.Unix(1767225600, 0)}
	},
	Files: func() []File {
		return []File{
			{Path: "a.json", LoadedAt: time.UnixMilli(1767225601500), Projects: 21, Flags: 22, Faults: 23, Loads: 24, Failures: 25},
			{Path: `b "quoted".json`, LoadedAt: time.Unix(1767225602, 0), Stale: true, Projects: 31, Flags: 32, Faults: 33, Loads: 34, Failures: 35},
		}
	},
	Latencies: func() []Latency {
		return []Latency{{Route: "/flags", Class: "2xx", Count: 97, Sum: 98500 * time.Millisecond, Within: map[float64]uint64{0.0005: 95, 10: 96}}}
	},
	Jobs: func() []Job {
		return []Job{{Name: "exports", Done: 99, Failed: 100, LastDone: time.Unix(1767225604, 0)}, {Name: "mails", Done: 0, Failed: 101}}
	},
	Storage: func() Storage {
		return Storage{Database: 102, WAL: 103, Segments: 106, SegmentFiles: 112, Unsealed: 113, SegmentsFree: 114, Free: 104}
	},
	CertificateExpires: func() time.Time { return time.Unix(109, 0) },
	Backups:            func() Backups { return Backups{Age: 106 * time.Second, Interval: 107 * time.Second, Bytes: 108} },
	Rollouts: func() Rollouts {
		return Rollouts{
			Evaluations: map[string]uint64{"wait": 170, "failed": 171}, Steps: map[string]uint64{"advance": 172}, Seconds: 173.5, Within: map[float64]uint64{1: 174, 6: 175}, Blind: true,
			Watched: &WatchedRollouts{Live: map[string]int{"holding": 176, "running": 177}, Lag: 178500 * time.Millisecond, Failing: 179, Notices: 180},
		}
	},
	Version: "v1.2.3",
}

// Without the store, its metrics are omitted, not 0.
func TestHandler_RolloutsWithoutStore(t *testing.T) {
	got := scrape(t, Handler(Config{Rollouts: func() Rollouts { return Rollouts{Blind: true} }}))
	if !strings.Contains(got, "\nbunting_rollouts_blind 1\n") || strings.Contains(got, "bunting_rollout_lag") || strings.Contains(got, "bunting_notices") {
		t.Errorf("scrape:\n%s", got)
	}
}

// A metric of the storage with an unknown value is omitted, not 0.
func TestHandler_StorageUnknown(t *testing.T) {
	got := scrape(t, Handler(Config{Storage: func() Storage {
		return Storage{Database: 105, WAL: -1, Segments: -1, SegmentFiles: -1, Unsealed: -1, SegmentsFree: -1, Free: -1}
	}}))
	if !strings.Contains(got, "\nbunting_storage_database_bytes 105\n") || strings.Contains(got, "bunting_storage_wal") || strings.Contains(got, "bunting_storage_free") {
		t.Errorf("scrape:\n%s", got)
	}
}

func scrape(t *testing.T, h http.Handler) string {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

// The golden file was written by hand from the numbers above and Prometheus' text format.
func TestCollector_Golden(t *testing.T) {
	golden, err := os.ReadFile(filepath.Join("testdata", "scrape.txt"))
	if err != nil {
		t.Fatal(err)
	}
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(NewCollector(config))
	got := scrape(t, promhttp.HandlerFor(r, promhttp.HandlerOpts{}))
	if diff := cmp.Diff(string(golden), got); diff != "" {
		t.Errorf("scrape (-want +got):\n%s", diff)
	}
}

// A file name that is not UTF-8 is changed, because labels must be UTF-8.
func TestHandler_NamesThatAreNotUTF8(t *testing.T) {
	got := scrape(t, Handler(Config{
		Files:   func() []File { return []File{{Path: "d\xff.json", Flags: 8}} },
		GeoIP:   func() GeoIP { return GeoIP{Type: "City\xfe", Built: time.Unix(1767225600, 0)} },
		Version: "v1\xff",
	}))
	for _, line := range []string{
		"\nbunting_definitions_flags{file=\"d\uFFFD.json\"} 8\n",
		"\nbunting_geoip_built_timestamp_seconds{type=\"City\uFFFD\"} 1.7672256e+09\n",
		"\nbunting_build_info{version=\"v1\uFFFD\"} 1\n",
	} {
		if !strings.Contains(got, line) {
			t.Errorf("no %q in the scrape", strings.TrimSpace(line))
		}
	}
}

func TestHandler_RuntimeAndProcess(t *testing.T) {
	got := scrape(t, Handler(config))
	for _, name := range []string{"\ngo_goroutines ", "\nprocess_start_time_seconds ", "\nbunting_flags_requests_total 1\n"} {
		if !strings.Contains(got, name) {
			t.Errorf("no %q in the scrape", strings.TrimSpace(name))
		}
	}
}

func TestHandler_LeavesOutWhatIsNotThere(t *testing.T) {
	got := scrape(t, Handler(Config{}))
	if strings.Contains(got, "bunting_") {
		t.Errorf("metrics of ours without anybody to ask:\n%s", got)
	}
}

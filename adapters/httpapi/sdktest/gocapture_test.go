package sdktest

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/posthog/posthog-go"

	"github.com/bunting-flags/bunting/adapters/httpapi/sdktest/internal/served"
)

const (
	definitions = "testdata/capture.json"
	pathV0      = "/batch/"
	pathV1      = "/i/v1/analytics/events"
)

func TestMain(m *testing.M) { served.Main(m, "../../..") }

// recordingLogger records what posthog-go reports to an application: delivered events, dropped
// events, and log messages.
type recordingLogger struct {
	mu       sync.Mutex
	sent     []served.Sent
	failures []string
	log      []string
}

func (h *recordingLogger) Success(m posthog.APIMessage) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sent = append(h.sent, identityOf(m))
}

func (h *recordingLogger) Failure(m posthog.APIMessage, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failures = append(h.failures, fmt.Sprint(identityOf(m), err))
}

func (h *recordingLogger) line(format string, args []any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.log = append(h.log, fmt.Sprintf(format, args...))
}

func (h *recordingLogger) Debugf(string, ...any)             {}
func (h *recordingLogger) Logf(format string, args ...any)   { h.line(format, args) }
func (h *recordingLogger) Warnf(format string, args ...any)  { h.line(format, args) }
func (h *recordingLogger) Errorf(format string, args ...any) { h.line(format, args) }

// outcome returns the events delivered so far and the failures.
func (h *recordingLogger) outcome() (sent []served.Sent, failures []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.sent), slices.Clone(h.failures)
}

// noComplaint checks that no event was dropped and that there are no log messages, which retries
// and refused requests would cause.
func (h *recordingLogger) noComplaint(t *testing.T) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.failures) > 0 || len(h.log) > 0 {
		t.Errorf("posthog-go failed with %q and logged %q", h.failures, h.log)
	}
}

// identityOf returns the identity of a message's event.
func identityOf(m posthog.APIMessage) served.Sent {
	switch m := m.(type) {
	case posthog.CaptureInApi:
		return served.Sent{UUID: m.Uuid, Event: m.Event, DistinctID: m.DistinctId}
	case posthog.IdentifyInApi:
		return served.Sent{UUID: m.Uuid, Event: m.Event, DistinctID: m.DistinctId}
	case posthog.AliasInApi:
		return served.Sent{UUID: m.Uuid, Event: m.Event, DistinctID: m.Properties.DistinctId}
	case posthog.GroupIdentifyInApi:
		return served.Sent{UUID: m.Uuid, Event: m.Event, DistinctID: m.DistinctId}
	case posthog.ExceptionInApi:
		return served.Sent{UUID: m.Uuid, Event: m.Event, DistinctID: m.Properties.DistinctId}
	}
	return served.Sent{Event: fmt.Sprintf("%T", m)}
}

// goSender returns posthog-go with its default configuration, modified by change.
func goSender(t *testing.T, url string, change func(*posthog.Config)) (posthog.Client, *recordingLogger) {
	t.Helper()
	h := &recordingLogger{}
	config := posthog.Config{Endpoint: url, Logger: h, Callback: h, ShutdownTimeout: served.WaitTimeout}
	if change != nil {
		change(&config)
	}
	client, err := posthog.NewWithConfig(served.ProjectKey, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client, h
}

func enqueue(t *testing.T, client posthog.Client, messages ...posthog.Message) {
	t.Helper()
	for _, m := range messages {
		if err := client.Enqueue(m); err != nil {
			t.Fatal(err)
		}
	}
}

// goFlags returns the flags of user_1 without any property from the application.
func goFlags(t *testing.T, client posthog.Client) map[string]any {
	t.Helper()
	all, err := client.GetAllFlags(posthog.FeatureFlagPayloadNoKey{DistinctId: "user_1", Groups: groupKeys})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// goWalk sends the events of the walk and shuts the client down.
func goWalk(t *testing.T, client posthog.Client) {
	t.Helper()
	sameFlags(t, "before all events", flagsUnknown, goFlags(t, client))
	enqueue(t, client,
		posthog.Capture{Uuid: browseUUID, DistinctId: "anon_1", Event: "browse", Timestamp: browseTime, Properties: browseProperties},
		posthog.Capture{Uuid: purchaseUUID, DistinctId: "user_1", Event: "purchase", Timestamp: purchaseTime, Properties: purchaseProperties, Groups: groupKeys})
	if err := client.Flush(); err != nil {
		t.Fatal(err)
	}
	sameFlags(t, "after two events", flagsBefore, goFlags(t, client))
	enqueue(t, client,
		posthog.Identify{DistinctId: "user_1", Properties: identifyProperties},
		posthog.Capture{DistinctId: "user_1", Event: "$set", Properties: values{"$set": setProperties, "$set_once": setOnceProperties}},
		posthog.Capture{DistinctId: "user_1", Event: "$set", Properties: values{"$unset": []string{"old"}}},
		posthog.Alias{DistinctId: "user_1", Alias: "anon_1"},
		posthog.GroupIdentify{Type: "company", Key: "acme", Properties: tierProperties},
		posthog.Capture{DistinctId: "anon_2", Event: "peek", Properties: peekProperties},
		posthog.NewDefaultException(time.Now(), "user_1", "Error", "boom"))
	if err := client.Flush(); err != nil {
		t.Fatal(err)
	}
	sameFlags(t, "after all events", flagsAfter, goFlags(t, client))
	if on, err := client.IsFeatureEnabled(posthog.FeatureFlagPayload{Key: "for-pro", DistinctId: "user_1"}); err != nil || on != true {
		t.Errorf("for-pro: %v, %v", on, err)
	}
	if err := client.Close(); err != nil { // sends the rest
		t.Fatal(err)
	}
}

// §19.2 for posthog-go, with both protocols and in every encoding that it supports.
func TestGo_Capture(t *testing.T) {
	v1 := func(mode posthog.CompressionMode) func(*posthog.Config) {
		return func(c *posthog.Config) { c.CaptureMode, c.Compression = posthog.CaptureModeAnalyticsV1, mode }
	}
	for _, c := range []struct {
		name, path, encoding string
		change               func(*posthog.Config)
	}{
		{"v0", pathV0, "", nil},
		{"v0 gzip", pathV0, "gzip", func(c *posthog.Config) { c.Compression = posthog.CompressionGzip }},
		{"v1", pathV1, "", v1(posthog.CompressionNone)},
		{"v1 gzip", pathV1, "gzip", v1(posthog.CompressionGzip)},
		{"v1 deflate", pathV1, "deflate", v1(posthog.CompressionDeflate)},
		{"v1 brotli", pathV1, "br", v1(posthog.CompressionBrotli)},
		{"v1 zstd", pathV1, "zstd", v1(posthog.CompressionZstd)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := served.New(t, definitions)
			p := served.NewProxy(t, s)
			client, h := goSender(t, p.URL, c.change)
			goWalk(t, client)
			h.noComplaint(t)
			// v0 of posthog-go has no sent_at; v1 has it, in a header with whole seconds.
			tolerance := time.Duration(0)
			if c.path == pathV1 {
				tolerance = maxTransferTime
			}
			checkWalk(t, s, h.sent, tolerance)
			checkRequests(t, p, c.path, c.encoding, 3) // two flushes and the shutdown
			if n := s.Metric("bunting_capture_duplicates_total"); n != 0 {
				t.Errorf("%v events came twice", n)
			}
		})
	}
}

// Flags can use a group type that was created by events (flags §1.7, decision 13): for-gold uses
// the type with the index 0, which is not in the definitions.
func TestGo_NewGroupType(t *testing.T) {
	s := served.New(t, "testdata/grouptype.json")
	client, h := goSender(t, s.URL, nil)
	if got := goFlags(t, client)["for-gold"]; got != false {
		t.Errorf("before the group: %v", got)
	}
	enqueue(t, client, posthog.GroupIdentify{Type: "company", Key: "acme", Properties: tierProperties})
	if err := client.Flush(); err != nil {
		t.Fatal(err)
	}
	served.Eventually(t, "the flag", func() error {
		if got := goFlags(t, client)["for-gold"]; got != true {
			return fmt.Errorf("it is %v", got)
		}
		return nil
	})
	h.noComplaint(t)
}

// A migration preserves times, the historical mark and the order; an event younger than 48 hours is
// an ordinary event with a warning (§13.1, decision 16).
func TestGo_Historical(t *testing.T) {
	for _, mode := range []posthog.CaptureMode{posthog.CaptureModeLegacy, posthog.CaptureModeAnalyticsV1} {
		t.Run(fmt.Sprint("mode ", mode), func(t *testing.T) {
			s := served.New(t, definitions)
			client, h := goSender(t, s.URL, func(c *posthog.Config) { c.HistoricalMigration, c.CaptureMode = true, mode })
			for i := range 3 {
				enqueue(t, client, posthog.Capture{
					DistinctId: "user_1", Event: fmt.Sprint("old ", i), Timestamp: browseTime.AddDate(-i, 0, 0),
					Properties: values{"$set": values{"last": i}},
				})
			}
			enqueue(t, client, posthog.Capture{DistinctId: "user_1", Event: "young"})
			if err := client.Close(); err != nil {
				t.Fatal(err)
			}
			h.noComplaint(t)
			checkHistorical(t, s, h.sent)
		})
	}
}

// checkHistorical checks three events of a migration, each a year before the one sent previously,
// and a young one.
func checkHistorical(t *testing.T, s *served.Server, sent []served.Sent) {
	t.Helper()
	storedOnce(t, s, sent)
	for i := range 3 {
		e := s.EventNamed(fmt.Sprint("old%20", i))
		if apart := e.Timestamp.Sub(browseTime.AddDate(-i, 0, 0)).Abs(); !e.Historical || apart > time.Minute {
			t.Errorf("%s: historical %v, at %v", e.Event, e.Historical, e.Timestamp)
		}
	}
	young := s.EventNamed("young")
	if young.Historical {
		t.Error("the young event is marked as one of a migration")
	}
	want := []served.Warning{{Type: "historical_event_too_young", DistinctID: "user_1", EventUUID: young.UUID, Count: 1}}
	got := s.Warnings()
	for i := range got {
		got[i].Detail = ""
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("warnings (-want +got)\n%s", diff)
	}
	// The last event sent is applied last, although it is the oldest (§13.2).
	if p := s.PersonOf("user_1"); p.Properties["last"] != 2.0 {
		t.Errorf("person %+v", p)
	}
}

// §19.4 for posthog-go: for all faults of the server or of its responses, the SDK's retries result
// in one copy of each event.
func TestGo_Retry(t *testing.T) {
	attempts := 9
	patient := func(mode posthog.CaptureMode) func(*posthog.Config) {
		return func(c *posthog.Config) {
			c.CaptureMode, c.MaxRetries, c.BatchUploadTimeout, c.BatchSize = mode, &attempts, 500*time.Millisecond, 1
			c.RetryAfter = func(int) time.Duration { return 250 * time.Millisecond }
		}
	}
	message := posthog.Capture{
		Uuid: purchaseUUID, DistinctId: "user_1", Event: "purchase", Properties: values{"$set": values{"plan": "pro"}}, Groups: groupKeys,
	}
	want := []served.Sent{{UUID: purchaseUUID, Event: "purchase", DistinctID: "user_1"}}
	for _, mode := range []posthog.CaptureMode{posthog.CaptureModeLegacy, posthog.CaptureModeAnalyticsV1} {
		for _, fault := range faults {
			t.Run(fmt.Sprint(fault.name, " mode ", mode), func(t *testing.T) {
				t.Parallel()
				s := served.New(t, definitions)
				url, heal := fault.begin(t, s)
				client, h := goSender(t, url, patient(mode))
				enqueue(t, client, message)
				heal()
				// Close would give up events that wait for a retry.
				served.Eventually(t, "posthog-go", func() error {
					sent, failures := h.outcome()
					if len(failures) > 0 {
						t.Fatalf("posthog-go gave up %q", failures)
					}
					if !slices.Equal(sent, want) {
						return fmt.Errorf("it says that it sent %v", sent)
					}
					return nil
				})
				if err := client.Close(); err != nil {
					t.Fatal(err)
				}
				fault.check(t, s, want)
			})
		}
	}
}

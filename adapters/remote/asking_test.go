package remote_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/adapters/remote"
	"github.com/bunting-flags/bunting/flags"
)

// fakeServer responds to POST /flags in the process.
type fakeServer struct {
	answer func(n int) (status int, header http.Header, body string, err error)
	times  []time.Time
	bodies []map[string]any
}

func (a *fakeServer) RoundTrip(r *http.Request) (*http.Response, error) {
	var body map[string]any
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if r.Method != http.MethodPost || r.URL.Path != "/flags/" || r.URL.RawQuery != "v=2" {
		return nil, errors.New(r.Method + " " + r.URL.String())
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		return nil, err
	}
	a.times, a.bodies = append(a.times, time.Now()), append(a.bodies, body)
	status, header, text, err := a.answer(len(a.times))
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(text)), Request: r}, nil
}

// runAsking runs a test with a Client that uses AskServer, in a synctest bubble.
func runAsking(t *testing.T, a *fakeServer, change func(*remote.Config), test func(t *testing.T, c *remote.Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		config := remote.Config{
			URL: "http://flags.example.com", ProjectKey: "phc_x", Key: "phs_x", AskServer: true, NoExposures: true, HTTPClient: &http.Client{Transport: a},
		}
		if change != nil {
			change(&config)
		}
		c, err := remote.NewClientOn(config, localSet(t, unknownMembers))
		if err != nil {
			t.Fatal(err)
		}
		test(t, c)
		_ = c.Close(t.Context())
	})
}

const newFlagIsOn = `{"flags": {"new": {"key": "new", "enabled": true}}}`

// POST /flags is retried on 502, 503 and 504 and when the connection is lost, and in no other case
// (contract suite of PostHog's SDKs, retry_behavior).
func TestRemote_AsksAgain(t *testing.T) {
	lost := io.ErrUnexpectedEOF
	for name, tt := range map[string]struct {
		status  int
		err     error
		retries int
		want    int // number of requests; the last of them would succeed
	}{
		"502": {status: 502, want: 3}, "503": {status: 503, want: 3}, "504": {status: 504, want: 3}, "a lost connection": {err: lost, want: 3},
		"never": {status: 503, retries: -1, want: 1}, "five times": {status: 503, retries: 5, want: 6},
		"400": {status: 400, want: 1}, "401": {status: 401, want: 1}, "429": {status: 429, want: 1}, "500": {status: 500, want: 1}, "200 that is no answer": {status: 200, want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			for _, helps := range []bool{false, true} {
				a := &fakeServer{answer: func(n int) (int, http.Header, string, error) {
					if helps && n == tt.want && n > 1 {
						return 200, nil, newFlagIsOn, nil
					}
					return tt.status, nil, "x", tt.err
				}}
				runAsking(t, a, func(c *remote.Config) { c.AskRetries, c.AskTimeout = tt.retries, time.Minute }, func(t *testing.T, c *remote.Client) {
					d, found, err := c.Decide(ctx, "new", &flags.Subject{DistinctID: "u"})
					if want := helps && tt.want > 1; found != want || (err == nil) != want || d.Enabled != want {
						t.Errorf("%+v, %v, %v", d, found, err)
					}
					var status *remote.StatusError
					if err != nil && tt.status >= 300 && (!errors.As(err, &status) || status.Status != tt.status) {
						t.Errorf("%v is no StatusError with %d", err, tt.status)
					}
				})
				if len(a.times) != tt.want {
					t.Errorf("%d requests, want %d", len(a.times), tt.want)
				}
				for i := 1; i < len(a.bodies); i++ {
					if diff := cmp.Diff(a.bodies[0], a.bodies[i]); diff != "" {
						t.Errorf("the question changed\n%s", diff)
					}
				}
			}
		})
	}
}

// The waits double from a tenth of a second, stay within AskTimeout and respect Retry-After.
func TestRemote_AsksAgainInTime(t *testing.T) {
	for name, tt := range map[string]struct {
		timeout time.Duration
		after   string
		least   []time.Duration // minimum of each wait; the maximum is 4/3 of it
	}{
		"doubling":                   {time.Minute, "", []time.Duration{75 * time.Millisecond, 150 * time.Millisecond, 300 * time.Millisecond}},
		"Retry-After":                {time.Minute, "2", []time.Duration{2 * time.Second, 2 * time.Second, 2 * time.Second}},
		"the time would be over":     {120 * time.Millisecond, "", []time.Duration{75 * time.Millisecond}},
		"Retry-After outlasts all":   {time.Second, "30", nil},
		"a Retry-After of a century": {time.Minute, "3153600000", nil},
	} {
		t.Run(name, func(t *testing.T) {
			a := &fakeServer{answer: func(int) (int, http.Header, string, error) {
				return 503, http.Header{"Retry-After": {tt.after}}, "", nil
			}}
			runAsking(t, a, func(c *remote.Config) { c.AskRetries, c.AskTimeout = 3, tt.timeout }, func(t *testing.T, c *remote.Client) {
				if _, err := c.AskAll(ctx, &flags.Subject{DistinctID: "u"}); err == nil {
					t.Error("there is an answer")
				}
			})
			if len(a.times) != len(tt.least)+1 {
				t.Fatalf("%d requests, want %d", len(a.times), len(tt.least)+1)
			}
			for i, least := range tt.least {
				if wait := a.times[i+1].Sub(a.times[i]); wait < least || wait > least*4/3 {
					t.Errorf("wait %d: %v, want %v to %v", i, wait, least, least*4/3)
				}
			}
		})
	}
	a := &fakeServer{answer: func(int) (int, http.Header, string, error) { return 503, nil, "", nil }}
	runAsking(t, a, nil, func(t *testing.T, c *remote.Client) {
		canceled, cancel := context.WithCancel(ctx)
		cancel()
		if _, err := c.AskAll(canceled, &flags.Subject{DistinctID: "u"}); !errors.Is(err, context.Canceled) || len(a.times) > 1 {
			t.Errorf("with a context that has ended: %v, %d requests", err, len(a.times))
		}
	})
}

// Groups and their properties are sent as {} if the subject has no groups; geoip_disable is true
// unless Config.GeoIP is set (the same suite, request_payload).
func TestRemote_Question(t *testing.T) {
	for name, tt := range map[string]struct {
		geoIP bool
		sub   flags.Subject
		want  map[string]any
	}{
		"nothing is known": {false, flags.Subject{DistinctID: "u"}, map[string]any{"groups": map[string]any{}, "group_properties": map[string]any{}, "geoip_disable": true}},
		"located":          {true, flags.Subject{DistinctID: "u"}, map[string]any{"groups": map[string]any{}, "group_properties": map[string]any{}, "geoip_disable": false}},
		"groups": {false, flags.Subject{DistinctID: "u", Groups: map[string]string{"company": "acme"}, GroupProperties: map[string]flags.Properties{"company": {"plan": "enterprise"}, "team": nil}},
			map[string]any{"groups": map[string]any{"company": "acme"}, "group_properties": map[string]any{"company": map[string]any{"plan": "enterprise"}}, "geoip_disable": true}},
	} {
		a := &fakeServer{answer: func(int) (int, http.Header, string, error) { return 200, nil, newFlagIsOn, nil }}
		runAsking(t, a, func(c *remote.Config) { c.GeoIP = tt.geoIP }, func(t *testing.T, c *remote.Client) {
			if d, found, err := c.Decide(ctx, "new", &tt.sub); err != nil || !found || !d.Enabled {
				t.Errorf("%s: %+v, %v, %v", name, d, found, err)
			}
		})
		tt.want["api_key"], tt.want["distinct_id"], tt.want["evaluation_runtime"], tt.want["flag_keys_to_evaluate"] = "phc_x", "u", "all", []any{"new"}
		if diff := cmp.Diff([]map[string]any{tt.want}, a.bodies); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

// A response in the older format is read at v=2 too (flags.md §9.6; the same suite,
// mock_response_value_is_returned_to_caller).
func TestRemote_9_6_OlderShape(t *testing.T) {
	for name, tt := range map[string]struct {
		body string
		want map[string]string
	}{
		"a map":                         {`{"featureFlags": {"a": "variant-a", "b": true, "c": false, "d": null, "e": 5, "f": ""}}`, map[string]string{"a": "variant-a", "b": "true", "c": "false", "d": "false", "e": "false", "f": "false"}},
		"a list":                        {`{"featureFlags": ["a", "b"]}`, map[string]string{"a": "true", "b": "true"}},
		"none":                          {`{"featureFlags": {}}`, map[string]string{}},
		"payloads":                      {`{"featureFlags": {"a": true, "b": "v", "c": false}, "featureFlagPayloads": {"a": "{\"n\": 1}", "b": 5, "c": "1", "d": 2}}`, map[string]string{"a": `true {"n": 1}`, "b": "v 5", "c": "false"}},
		"the newer one goes before":     {`{"featureFlags": {"a": false}, "flags": {"b": {"enabled": true}}}`, map[string]string{"b": "true"}},
		"a newer one that is not there": {`{"flags": null, "featureFlags": {"a": true}}`, map[string]string{"a": "true"}},
	} {
		a := &fakeServer{answer: func(int) (int, http.Header, string, error) { return 200, nil, tt.body, nil }}
		runAsking(t, a, nil, func(t *testing.T, c *remote.Client) {
			answer, err := c.AskAll(ctx, &flags.Subject{DistinctID: "u"})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			got := map[string]string{}
			for i := range answer.Decisions {
				d := &answer.Decisions[i]
				got[d.Key] = strings.TrimSpace(show(*d, true, nil) + " " + string(d.PayloadJSON()))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s (-want +got)\n%s", name, diff)
			}
		})
	}
	for _, body := range []string{`{}`, `{"featureFlags": null}`, `{"featureFlags": 5}`, `{"featureFlags": [5]}`, `{"featureFlags": "a"}`} {
		a := &fakeServer{answer: func(int) (int, http.Header, string, error) { return 200, nil, body, nil }}
		runAsking(t, a, nil, func(t *testing.T, c *remote.Client) {
			if _, err := c.AskAll(ctx, &flags.Subject{DistinctID: "u"}); err == nil {
				t.Errorf("%s is an answer", body)
			}
		})
	}
}

// An event is sent with its Timestamp, in UTC, and its UUID (the same suite,
// non_utc_event_timestamp_is_converted_to_utc).
func TestRemote_TrackEvent(t *testing.T) {
	w := &wire{answer: answerAlways(200)}
	at := time.Date(2025, 1, 2, 8, 34, 5, 678_900_000, time.FixedZone("", 5*3600+1800))
	const uuid = "0191f0a2-5b1c-7d3e-8f40-1a2b3c4d5e6f"
	runTracking(t, w, func(c *remote.Config) { c.GeoIP = true }, func(t *testing.T, c *remote.Client) {
		properties := map[string]any{"n": 1}
		if err := c.TrackEvent(ctx, remote.Event{DistinctID: "u", Name: "e", Properties: properties, Groups: map[string]string{"company": "acme"}, Timestamp: at, UUID: uuid}); err != nil {
			t.Fatal(err)
		}
		if len(properties) != 1 {
			t.Errorf("the caller's properties changed: %v", properties)
		}
		if err := c.TrackEvent(ctx, remote.Event{DistinctID: "u", Name: "now"}); err != nil {
			t.Fatal(err)
		}
		for name, e := range map[string]remote.Event{
			"no id": {Name: "e"}, "no name": {DistinctID: "u"}, "no uuid": {DistinctID: "u", Name: "e", UUID: "5"},
			"a uuid in braces": {DistinctID: "u", Name: "e", UUID: "{" + uuid + "}"}, "a time that no date has": {DistinctID: "u", Name: "e", Timestamp: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)},
		} {
			if err := c.TrackEvent(ctx, e); err == nil {
				t.Errorf("%s is taken", name)
			}
		}
		if s := c.Stats(); s.Dropped["invalid"] != 5 || s.Waiting != 2 {
			t.Errorf("%+v", s)
		}
		now := time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
		if err := c.Flush(ctx); err != nil {
			t.Fatal(err)
		}
		events := w.requests()[0].events
		if e := events[0]; e.UUID != uuid || e.Timestamp != "2025-01-02T03:04:05.678Z" || e.Properties["n"] != 1.0 || e.Properties["$geoip_disable"] != false {
			t.Errorf("%+v", e)
		}
		if e := events[1]; e.UUID == "" || e.UUID == uuid || e.Timestamp != now {
			t.Errorf("%+v", e)
		}
	})
}

package sdktest

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/posthog/posthog-go"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
)

// One flag at a time, value and payload, like most applications.
func TestGo_SingleFlags(t *testing.T) {
	s := serve(t)
	p := s.projects["main"]
	client := goClient(t, s, p, nil)
	for i, subject := range readSubjects(t) {
		if i%40 != 0 {
			continue
		}
		want := decide(p, subject, flags.Selection{}, goPayload)
		for _, f := range p.Definitions.Flags {
			q := posthog.FeatureFlagPayload{
				Key: f.Key, DistinctId: subject.DistinctID, DeviceId: subject.DeviceID, Groups: goGroups(subject, false),
				PersonProperties: posthog.Properties(subject.Person), GroupProperties: goGroupProperties(subject),
			}
			server, answered := want[f.Key]
			result, err := client.GetFeatureFlagResult(q)
			if errors.Is(err, posthog.ErrFlagNotFound) { // without a result, or failed
				if server != off && answered {
					t.Errorf("%s for %s: %v, the server says %v", f.Key, subject.Name, err, server)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			got := answer{Value: result.Enabled}
			if result.Variant != nil {
				got.Value = *result.Variant
			}
			if result.RawPayload != nil {
				got.Payload = *result.RawPayload
			}
			if got != server {
				t.Errorf("%s for %s: %v, the server says %v", f.Key, subject.Name, got, server)
			}
		}
	}
}

// The result contains only the requested flags; the flags that they depend on are evaluated and
// left out.
func TestGo_FlagKeys(t *testing.T) {
	s := serve(t)
	p := s.projects["main"]
	client := goClient(t, s, p, nil)
	keys := []string{"chain-3", "variants", "no-such-flag", "inactive"}
	for _, subject := range readSubjects(t) {
		q := goQuestion(subject, false)
		q.FlagKeys = keys
		e, err := client.EvaluateFlags(q)
		if err != nil {
			t.Fatal(err)
		}
		all := decide(p, subject, flags.Selection{}, goPayload)
		same(t, subject.Name, answers{"chain-3": all["chain-3"], "variants": all["variants"]}, goAnswers(e))
	}
	for _, r := range s.evaluations() {
		var body struct {
			Keys []string `json:"flag_keys_to_evaluate"`
		}
		if err := json.Unmarshal([]byte(r.Body), &body); err != nil || !slices.Equal(body.Keys, keys) {
			t.Fatalf("%v %s", err, r.Body)
		}
	}
}

// forwardingTransport adds the address of the application's user to requests.
type forwardingTransport struct{}

func (forwardingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("X-Forwarded-For", "203.0.113.7")
	return http.DefaultTransport.RoundTrip(r)
}

// The address is located unless the SDK disables it, which is its default (§8.3).
func TestGo_GeoIP(t *testing.T) {
	s := serve(t)
	client := goClient(t, s, s.projects["main"], func(c *posthog.Config) { c.Transport = forwardingTransport{} })
	for _, c := range []struct {
		disable *bool
		person  posthog.Properties
		want    bool
	}{
		{nil, nil, false},
		{posthog.Ptr(true), nil, false},
		{posthog.Ptr(false), nil, true},
		{posthog.Ptr(false), posthog.Properties{"$geoip_country_code": "US"}, false},
		{posthog.Ptr(true), posthog.Properties{"$geoip_country_code": "DE"}, true},
	} {
		e, err := client.EvaluateFlags(posthog.EvaluateFlagsPayload{DistinctId: "u", DisableGeoIP: c.disable, PersonProperties: c.person})
		if err != nil {
			t.Fatal(err)
		}
		if got := e.GetFlag("geo"); got != c.want {
			t.Errorf("disable %v, properties %v: %v", c.disable, c.person, got)
		}
	}
}

// The SDK requests the flags that it cannot evaluate, in a single request; the results then agree.
func TestGo_Fallback(t *testing.T) {
	s := serve(t)
	for _, name := range []string{"main", "murmur"} {
		p := s.projects[name]
		client := goClient(t, s, p, local(p.personalKey()))
		for _, subject := range readSubjects(t) {
			localAnswers, err := client.EvaluateFlags(goQuestion(subject, true))
			if err != nil {
				t.Fatal(err)
			}
			q := goQuestion(subject, false)
			q.Groups = goGroups(subject, true)
			both, err := client.EvaluateFlags(q)
			if err != nil {
				t.Fatal(err)
			}
			checkAnswers(t, p, subject, decide(p, subject, flags.Selection{}, goPayload), goAnswers(localAnswers), goAnswers(both))
		}
	}
	if got, want := len(s.evaluations()), 2*len(readSubjects(t)); got != want {
		t.Errorf("%d requests for flags, want %d", got, want)
	}
}

// Definitions are polled with the ETag: 304 preserves them, a change replaces them, 402 clears them
// (§1.8).
func TestGo_Polling(t *testing.T) {
	s := serve(t)
	p := s.projects["main"]
	client := goClient(t, s, p, func(c *posthog.Config) {
		c.SecretKey, c.DefaultFeatureFlagsPollingInterval = p.SecretKeys[0], 10*time.Millisecond
	})
	value := func() any {
		e, err := client.EvaluateFlags(posthog.EvaluateFlagsPayload{DistinctId: "u", OnlyEvaluateLocally: true})
		if err != nil {
			t.Fatal(err)
		}
		return e.GetFlag("rollout-None")
	}
	if got := value(); got != true {
		t.Fatal(got)
	}
	polling(t, s, p, value)
}

// With an invalid key the client has no definitions, but still has flags.
func TestGo_WrongKeys(t *testing.T) {
	for key, status := range wrongKeys {
		s := serve(t)
		p := s.projects["main"]
		client := goClient(t, s, p, local(key))
		subject := readSubjects(t)[0]
		e, err := client.EvaluateFlags(goQuestion(subject, false))
		if err != nil {
			t.Fatal(err)
		}
		same(t, key, decide(p, subject, flags.Selection{}, goPayload), goAnswers(e))
		if got := s.requestsTo("/flags/definitions"); len(got) != 1 || got[0].Status != status {
			t.Errorf("%s: %+v, want one with status %d", key, got, status)
		}
		if _, err := client.GetRemoteConfigPayload("config"); err == nil {
			t.Errorf("%s: remote config is open to it", key)
		}
	}
}

// posthog-go reads quota_limited, the duplicate of quotaLimited (decision 11).
func TestGo_Quota(t *testing.T) {
	s := serve(t)
	p := s.projects["paused"]
	client := goClient(t, s, p, func(c *posthog.Config) { c.BeforeSend = nil })
	e, err := client.EvaluateFlags(posthog.EvaluateFlagsPayload{DistinctId: "u"})
	if err != nil || len(e.Keys()) != 0 {
		t.Errorf("%v, %v", e.Keys(), err)
	}
	if e.GetFlag("on") != nil {
		t.Error("a value without an evaluation")
	}
	all, err := client.GetAllFlags(posthog.FeatureFlagPayloadNoKey{DistinctId: "u"})
	if err != nil || len(all) != 0 {
		t.Errorf("%v, %v", all, err)
	}
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
	s.limit("strict", 3)
	client = goClient(t, s, s.projects["strict"], nil)
	for i := range 4 {
		e, err := client.EvaluateFlags(posthog.EvaluateFlagsPayload{DistinctId: "u"})
		if err != nil || len(e.Keys()) > 0 != (i < 3) {
			t.Errorf("request %d of 3: %d flags, %v", i+1, len(e.Keys()), err)
		}
	}
	events := calledEvents(t, s)
	if len(events) != 1 || !strings.Contains(describe(events[0]["$feature_flag_error"]), "quota_limited") {
		t.Errorf("%v", events)
	}
}

func TestGo_RemoteConfig(t *testing.T) {
	s := serve(t)
	p := s.projects["main"]
	for _, key := range []string{p.personalKey(), p.SecretKeys[0]} {
		client := goClient(t, s, p, local(key))
		for flag, want := range map[string]string{"config": `{"limit": 10}`, "config-text": `"hello"`} {
			if got, err := client.GetRemoteConfigPayload(flag); err != nil || got != want {
				t.Errorf("%s: %q, %v", flag, got, err)
			}
		}
		for _, flag := range []string{"rollout-100", "no-such-flag"} {
			if got, err := client.GetRemoteConfigPayload(flag); err == nil || !strings.Contains(err.Error(), "404") {
				t.Errorf("%s: %q, %v", flag, got, err)
			}
		}
	}
}

// The SDK sends events for the flags that were used. If the server refuses them (404), flags
// continue to work.
func TestGo_CalledEvents(t *testing.T) {
	s := serve(t)
	p := s.projects["main"]
	for _, change := range []func(*posthog.Config){func(*posthog.Config) {}, local(p.personalKey())} {
		client := goClient(t, s, p, func(c *posthog.Config) { change(c); c.BeforeSend, c.BatchSize = nil, 1 })
		get := func(key, distinctID string) {
			if got, err := client.GetFeatureFlag(posthog.FeatureFlagPayload{Key: key, DistinctId: distinctID}); err != nil || got == false {
				t.Errorf("%s: %v, %v", key, got, err)
			}
		}
		before := len(s.requestsTo("/batch"))
		get("experiment", "u")
		get("rollout-100", "u")
		get("rollout-100", "u") // sent only once
		eventually(t, "events", func() bool { return len(s.requestsTo("/batch")) == before+2 })
		get("rollout-100", "v")
		if err := client.Close(); err != nil {
			t.Fatal(err)
		}
	}
	checkEvents(t, p, calledEvents(t, s), 6)
}

// §4.7 compared with time.AddDate: 31 March minus a month is 29 February for the server and 2 March
// for posthog-go. (The difference depends on the day, so this row of §11 is not in the table of
// known disagreements.)
func TestGo_LocalMonths(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2000, 3, 31, 12, 0, 0, 0, time.UTC)))
		d, err := flags.ParseDefinitions([]byte(`{"flags": [{"id": 1, "key": "m", "active": true, "filters": {"groups": [
			{"properties": [{"key": "since", "type": "person", "operator": "is_date_before", "value": "-1m"}]}]}}]}`))
		if err != nil {
			t.Fatal(err)
		}
		source := serving.StaticSource("phc", flags.Project{ID: 1}, d)
		decider, err := serving.NewDecider(serving.Config{Source: source})
		if err != nil {
			t.Fatal(err)
		}
		keys := &memorySource{projects: map[string]flags.FileProject{"phc": {Project: flags.Project{APIKey: "phc"}, SecretKeys: []string{"phs"}}}}
		handler, err := httpapi.New(httpapi.Config{Decider: decider, Keys: keys})
		if err != nil {
			t.Fatal(err)
		}
		client, err := posthog.NewWithConfig("phc", posthog.Config{SecretKey: "phs", Logger: quietLogger{}, Transport: inProcess{handler}})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = client.Close() }()
		got := map[bool]any{}
		for _, localOnly := range []bool{true, false} {
			q := posthog.EvaluateFlagsPayload{DistinctId: "u", PersonProperties: posthog.Properties{"since": "2000-03-01"}, OnlyEvaluateLocally: localOnly}
			e, err := client.EvaluateFlags(q)
			if err != nil {
				t.Fatal(err)
			}
			got[localOnly] = e.GetFlag("m")
		}
		var server flags.Decisions
		flags.Compile(d).Evaluate(&flags.Subject{DistinctID: "u", Person: flags.Properties{"since": "2000-03-01"}}, time.Now(), &server)
		if diff := cmp.Diff(map[bool]any{true: true, false: true}, got); diff != "" || server.List[0].Enabled {
			t.Errorf("the server says %v; posthog-go (-known +now)\n%s", server.List[0].Enabled, diff)
		}
	})
}

package sdktest

import (
	"net/http"
	"testing"
	"time"

	"github.com/posthog/posthog-go"

	"github.com/bunting-flags/bunting/flags"
)

// quietLogger is a logger without output.
type quietLogger struct{}

func (quietLogger) Debugf(string, ...any) {}
func (quietLogger) Logf(string, ...any)   {}
func (quietLogger) Warnf(string, ...any)  {}
func (quietLogger) Errorf(string, ...any) {}

// goClient returns posthog-go with the setup of an application. Events are dropped unless change
// sets BeforeSend.
func goClient(t testing.TB, s *server, p *project, change func(*posthog.Config)) posthog.Client {
	t.Helper()
	noRetries := 0
	config := posthog.Config{
		Endpoint: s.URL, Logger: quietLogger{}, MaxRetries: &noRetries, ShutdownTimeout: 5 * time.Second,
		FeatureFlagRequestTimeout: 20 * time.Second,
		BeforeSend:                func(posthog.Message) posthog.Message { return nil },
	}
	if change != nil {
		change(&config)
	}
	client, err := posthog.NewWithConfig(p.APIKey, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// local enables local evaluation.
func local(key string) func(*posthog.Config) {
	return func(c *posthog.Config) { c.SecretKey = key }
}

func goGroups(s *subject, text bool) posthog.Groups {
	out := posthog.Groups{}
	for groupType, key := range s.Groups {
		out[groupType] = key
	}
	if text { // a group key that is not a string makes local evaluation panic
		for groupType, key := range s.groupKeys() {
			out[groupType] = key
		}
	}
	return out
}

func goGroupProperties(s *subject) map[string]posthog.Properties {
	out := map[string]posthog.Properties{}
	for groupType, p := range s.GroupProperties {
		out[groupType] = posthog.Properties(p)
	}
	return out
}

func goQuestion(s *subject, local bool) posthog.EvaluateFlagsPayload {
	return posthog.EvaluateFlagsPayload{
		DistinctId: s.DistinctID, DeviceId: s.DeviceID, Groups: goGroups(s, local),
		PersonProperties: posthog.Properties(s.Person), GroupProperties: goGroupProperties(s), OnlyEvaluateLocally: local,
	}
}

func goAnswers(e *posthog.FeatureFlagEvaluations) answers {
	out := answers{}
	for _, key := range e.Keys() {
		out[key] = answer{e.GetFlag(key), e.GetFlagPayload(key)}
	}
	return out
}

// All flags in one request, values and payloads.
func TestGo_Remote(t *testing.T) {
	s := serve(t)
	for _, p := range s.projects {
		if p.Name == "paused" {
			continue
		}
		client := goClient(t, s, p, nil)
		for _, subject := range readSubjects(t) {
			e, err := client.EvaluateFlags(goQuestion(subject, false))
			if err != nil {
				t.Fatal(err)
			}
			same(t, p.Name+" "+subject.Name, decide(p, subject, flags.Selection{}, goPayload), goAnswers(e))
		}
	}
	for _, r := range s.evaluations() {
		if r.Status != http.StatusOK {
			t.Fatalf("%+v", r)
		}
	}
}

func TestGo_Local(t *testing.T) {
	s := serve(t)
	c := newComparison("go", goPayload)
	for _, name := range []string{"main", "strict", "murmur", "odd", "values"} {
		before := c.decided
		p := s.projects[name]
		client := goClient(t, s, p, local(p.personalKey()))
		for _, subject := range readSubjects(t) {
			e, err := client.EvaluateFlags(goQuestion(subject, true))
			if err != nil {
				t.Fatal(err)
			}
			c.subject(t, p, subject, flags.Selection{}, goAnswers(e))
		}
		c.loaded(t, p, before)
	}
	c.finish(t)
	if n := len(s.evaluations()); n > 0 {
		t.Errorf("%d requests for flags, though all was to be decided locally", n)
	}
}

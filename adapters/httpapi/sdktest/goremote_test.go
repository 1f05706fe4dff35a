package sdktest

import (
	"context"
	"errors"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/posthog/posthog-go"

	"github.com/bunting-flags/bunting/adapters/httpapi/sdktest/internal/served"
	"github.com/bunting-flags/bunting/adapters/remote"
	"github.com/bunting-flags/bunting/flags"
)

// remoteClient returns this repository's client for Go services, for comparison with posthog-go.
func remoteClient(t *testing.T, url, projectKey, key string, change func(*remote.Config)) *remote.Client {
	t.Helper()
	config := remote.Config{URL: url, ProjectKey: projectKey, Key: key, NoCopy: true}
	if change != nil {
		change(&config)
	}
	client, err := remote.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), served.WaitTimeout)
		defer cancel()
		_ = client.Close(ctx)
	})
	return client
}

// withoutMember removes the properties that identify the SDK.
func withoutMember(p map[string]any, more ...string) map[string]any {
	p = maps.Clone(p)
	for _, name := range append(more, "$lib", "$lib_version", "$os", "$os_version", "$os_distro", "$go_version") {
		delete(p, name)
	}
	return p
}

// An event of adapters/remote is stored like that of posthog-go, and creates the same person.
func TestGo_RemoteEvents(t *testing.T) {
	type outcome struct{ Event, Person map[string]any }
	stored := func(s *served.Server) outcome {
		served.Eventually(t, "the event", func() error { return hasEvent(s) })
		if warnings := s.Warnings(); len(warnings) > 0 {
			t.Errorf("warnings %v", warnings)
		}
		return outcome{withoutMember(s.EventNamed("purchase").Properties, "$sent_at"), withoutMember(s.PersonOf("user_1").Properties, "$creator_event_uuid")}
	}
	theirs := served.New(t, definitions)
	client, h := goSender(t, theirs.URL, nil)
	enqueue(t, client, posthog.Capture{DistinctId: "user_1", Event: "purchase", Properties: purchaseProperties, Groups: groupKeys})
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
	h.noComplaint(t)

	ours := served.New(t, definitions)
	p := served.NewProxy(t, ours)
	own := remoteClient(t, p.URL, served.ProjectKey, "phs_nobody", nil)
	ctx := context.Background()
	if err := own.Track(ctx, "user_1", "purchase", purchaseProperties, map[string]string{"company": "acme", "team": "blue"}); err != nil {
		t.Fatal(err)
	}
	if err := own.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(stored(theirs), stored(ours)); diff != "" {
		t.Errorf("stored (-posthog-go +remote)\n%s", diff)
	}
	for _, r := range p.Captures() {
		if r.Path != pathV0 || r.Header.Get("Content-Encoding") != "gzip" || r.Status != 200 {
			t.Errorf("%s %v: %d", r.Path, r.Header, r.Status)
		}
	}
}

// adapters/remote sends the same events as posthog-go for the use of a flag, with the same names
// and values, whether the flag is evaluated locally or by the server.
func TestGo_RemoteExposures(t *testing.T) {
	keys := []string{"experiment", "rollout-100", "no-such-flag"}
	for _, here := range []bool{true, false} {
		s := serve(t)
		p := s.projects["main"]
		client := goClient(t, s, p, func(c *posthog.Config) {
			if c.BeforeSend = nil; here {
				c.SecretKey = p.SecretKeys[0]
			}
		})
		for _, key := range keys {
			e, err := client.EvaluateFlags(posthog.EvaluateFlagsPayload{DistinctId: "u", OnlyEvaluateLocally: here, FlagKeys: []string{key}})
			if err != nil {
				t.Fatal(err)
			}
			e.GetFlag(key)
		}
		if err := client.Close(); err != nil {
			t.Fatal(err)
		}
		theirs := calledEvents(t, s)

		// With an invalid key there are no definitions, and the server evaluates the flags.
		key := p.SecretKeys[0]
		if !here {
			key = "phs_nobody"
		}
		own := remoteClient(t, s.URL, p.APIKey, key, func(c *remote.Config) { c.AskServer = !here })
		ctx, cancel := context.WithTimeout(context.Background(), served.WaitTimeout)
		defer cancel()
		if here {
			if err := own.WaitForReady(ctx); err != nil {
				t.Fatal(err)
			}
		}
		for _, key := range keys {
			own.Bool(ctx, key, &flags.Subject{DistinctID: "u"}, false)
		}
		_ = own.Close(ctx)
		ours := calledEvents(t, s)[len(theirs):]
		if len(theirs) != len(keys) || len(ours) != len(keys) {
			t.Fatalf("here %v: %d and %d exposures, want %d", here, len(theirs), len(ours), len(keys))
		}
		for i := range keys {
			// Each response has its own request id. For local evaluations posthog-go sends the time
			// at which the definitions were loaded and a reason of its own. It sends $groups even
			// if there are none.
			differ := []string{"$feature_flag_request_id", "$feature_flag_evaluated_at", "$groups"}
			if here {
				differ = append(differ, "$feature_flag_definitions_loaded_at", "$feature_flag_reason")
			}
			for name, want := range withoutMember(theirs[i], differ...) {
				if got, has := ours[i][name]; !has || !cmp.Equal(want, got) {
					t.Errorf("here %v, %s: %s is %v, posthog-go says %v", here, keys[i], name, got, want)
				}
			}
			for _, name := range differ[:2] {
				_, has := ours[i][name]
				if _, want := theirs[i][name]; want && !has {
					t.Errorf("here %v, %s: %s is not there", here, keys[i], name)
				}
			}
		}
	}
}

func hasEvent(s *served.Server) error {
	if len(s.Events("")) == 0 {
		return errors.New("it is not there")
	}
	return nil
}

// Package provider runs the OpenFeature provider, with a remote client, against the server. It has
// only tests: the provider's module must not depend on the server.
package provider

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/open-feature/go-sdk/openfeature"
	"github.com/open-feature/go-sdk/openfeature/isolated"
	"go.uber.org/goleak"

	"github.com/bunting-flags/bunting/adapters/ofprovider"
	"github.com/bunting-flags/bunting/flags"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const definitions = `{"flags": [
	{"id": 1, "key": "on", "version": 7, "active": true, "filters": {"groups": [{}]}},
	{"id": 2, "key": "pro", "active": true, "filters": {"groups": [{"properties": [{"key": "plan", "type": "person", "operator": "exact", "value": ["pro"]}]}]}},
	{"id": 3, "key": "layout", "active": true, "filters": {"groups": [{"properties": [{"key": "plan", "type": "person", "operator": "exact", "value": ["pro"]}], "variant": "two"}],
		"multivariate": {"variants": [{"key": "one", "rollout_percentage": 100}, {"key": "two", "rollout_percentage": 0}]}}},
	{"id": 9, "key": "paused", "active": false, "filters": {"groups": [{}]}}
]}`

const apiKey = "phc_test"

func parsed(t testing.TB, text string) flags.Definitions {
	t.Helper()
	d, err := flags.ParseDefinitions([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// client returns OpenFeature's SDK with the provider set and ready.
func client(t testing.TB, p *ofprovider.Provider) *openfeature.Client {
	t.Helper()
	api := isolated.NewAPI()
	if err := api.SetProviderAndWait(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = api.Shutdown(context.Background()) })
	return api.NewClient()
}

type members = map[string]any

var (
	anySubject = openfeature.NewEvaluationContext("u", nil)
	pro        = openfeature.NewEvaluationContext("u", members{"plan": "pro"})
)

// outcome is the SDK's result of an evaluation.
type outcome struct {
	Value   any
	Variant string
	Reason  openfeature.Reason
	Code    openfeature.ErrorCode
}

// evaluate evaluates a flag with the type of the default, bool or string.
func evaluate(c *openfeature.Client, flag string, fallback any, ec openfeature.EvaluationContext) (outcome, openfeature.ResolutionDetail) {
	ctx := context.Background()
	if text, ok := fallback.(string); ok {
		got, _ := c.StringValueDetails(ctx, flag, text, ec)
		return outcome{got.Value, got.Variant, got.Reason, got.ErrorCode}, got.ResolutionDetail
	}
	got, _ := c.BooleanValueDetails(ctx, flag, fallback.(bool), ec)
	return outcome{got.Value, got.Variant, got.Reason, got.ErrorCode}, got.ResolutionDetail
}

// listener receives the provider's events.
type listener struct {
	events chan openfeature.EventType
	api    *openfeature.EvaluationAPI
}

func listen(t *testing.T) *listener {
	l := &listener{make(chan openfeature.EventType, 64), isolated.NewAPI()}
	t.Cleanup(func() { _ = l.api.Shutdown(context.Background()) })
	for _, kind := range []openfeature.EventType{openfeature.ProviderReady, openfeature.ProviderConfigChange, openfeature.ProviderStale, openfeature.ProviderError} {
		heard := func(openfeature.EventDetails) { l.events <- kind }
		l.api.AddHandler(kind, &heard)
	}
	return l
}

// switchingSource is a Source that can change.
type switchingSource struct {
	mu      sync.Mutex
	project flags.Project
	defs    flags.Definitions
}

func (s *switchingSource) ProjectByKey(_ context.Context, key string) (flags.Project, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if key != apiKey {
		return flags.Project{}, flags.ErrUnknownKey
	}
	return s.project, nil
}

func (s *switchingSource) Definitions(context.Context, flags.Project) (flags.Definitions, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.defs, nil
}

func (s *switchingSource) set(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

func eventually(t *testing.T, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("waited in vain")
		}
	}
}

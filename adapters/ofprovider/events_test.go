package ofprovider_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/open-feature/go-sdk/openfeature"
	"github.com/open-feature/go-sdk/openfeature/isolated"

	"github.com/bunting-flags/bunting/adapters/ofprovider"
	"github.com/bunting-flags/bunting/flags"
)

// listener receives the provider's events.
type listener struct {
	heard chan openfeature.EventType
	api   *openfeature.EvaluationAPI
}

func listen(t *testing.T) *listener {
	l := &listener{make(chan openfeature.EventType, 64), isolated.NewAPI()}
	t.Cleanup(func() { _ = l.api.Shutdown(context.Background()) })
	for _, kind := range []openfeature.EventType{openfeature.ProviderReady, openfeature.ProviderConfigChange, openfeature.ProviderStale, openfeature.ProviderError} {
		heard := func(openfeature.EventDetails) { l.heard <- kind }
		l.api.AddHandler(kind, &heard)
	}
	return l
}

// wants waits for events in any order, because the SDK calls each handler in a goroutine of its
// own.
func (l *listener) wants(t *testing.T, kinds ...openfeature.EventType) {
	t.Helper()
	missing := map[openfeature.EventType]int{}
	for _, kind := range kinds {
		missing[kind]++
	}
	for range kinds {
		select {
		case got := <-l.heard:
			if missing[got]--; missing[got] < 0 {
				t.Fatalf("%s, want one of %v", got, kinds)
			}
		case <-time.After(time.Minute):
			t.Fatalf("waited in vain for %v", missing)
		}
	}
}

// Requirements 2.4.1, 5.1.1, 5.2, 5.3.5: READY after the initialization, then the events of Watch;
// STALE once, and READY when the definitions are current. Requirement 2.5.1: the shutdown stops
// Watch.
func TestProvider_5_1_1_Watch(t *testing.T) {
	s := partial(t)
	notified := make(chan func(bool, string), 1)
	stopped := 0
	p := ofprovider.NewRemote(ofprovider.Config{Client: s, Watch: func(notify func(bool, string)) func() {
		notified <- notify
		return func() { stopped++ }
	}})
	l := listen(t)
	if err := l.api.SetProviderAndWait(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	notify := <-notified
	l.wants(t, openfeature.ProviderReady)
	notify(false, "new flags")
	l.wants(t, openfeature.ProviderConfigChange)
	notify(true, "no connection")
	notify(true, "no connection")
	l.wants(t, openfeature.ProviderStale)
	notify(false, "")
	l.wants(t, openfeature.ProviderReady, openfeature.ProviderConfigChange)
	p.Shutdown()
	if stopped != 1 || s.flush != 1 {
		t.Errorf("stopped %d times, flushed %d times", stopped, s.flush)
	}
}

// Events that are not read block no caller.
func TestProvider_5_1_1_Bounded(t *testing.T) {
	var notify func(bool, string)
	p := ofprovider.NewRemote(ofprovider.Config{Client: partial(t), Watch: func(f func(bool, string)) func() { notify = f; return nil }})
	if err := p.Init(openfeature.EvaluationContext{}); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		notify(false, "old")
	}
	notify(true, "last")
	var last openfeature.Event
	n := 0
	for ; len(p.EventChannel()) > 0; n++ {
		last = <-p.EventChannel()
	}
	if n != 16 || last.EventType != openfeature.ProviderStale {
		t.Errorf("%d events, the last %+v", n, last)
	}
}

// switching is a Source that can change and fail.
type switching struct {
	mu      sync.Mutex
	project flags.Project
	defs    flags.Definitions
	failure error
}

func (s *switching) ProjectByKey(_ context.Context, key string) (flags.Project, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if key != apiKey {
		return flags.Project{}, flags.ErrUnknownKey
	}
	return s.project, s.failure
}

func (s *switching) Definitions(context.Context, flags.Project) (flags.Definitions, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.defs, s.failure
}

func (s *switching) set(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// With a Decider: ERROR while there are no definitions, READY when there are, CONFIGURATION_CHANGED
// with the first evaluation after a change. Requirement 1.7.7: an unknown API key is fatal.
func TestProvider_5_1_1_Decider(t *testing.T) {
	source := &switching{project: flags.Project{ID: 1, APIKey: apiKey}, defs: parsed(t, definitions), failure: errors.New("no store")}
	d := decider(t, source)
	l := listen(t)
	if err := l.api.SetProviderAndWait(t.Context(), ofprovider.New(d, apiKey)); !errors.Is(err, flags.ErrUnavailable) {
		t.Fatal(err)
	}
	l.wants(t, openfeature.ProviderError)
	c := l.api.NewClient()
	if got, _ := evaluate(c, "on", false, someone); got.Code != "GENERAL" {
		t.Errorf("%+v", got)
	}
	source.set(func() { source.failure = nil })
	eventually(t, func() bool { got, _ := evaluate(c, "on", false, someone); return got.Value == true })
	l.wants(t, openfeature.ProviderReady)
	source.set(func() { source.project.Revision++; source.defs = parsed(t, `{"flags": []}`) })
	d.Renew(1)
	eventually(t, func() bool { got, _ := evaluate(c, "on", false, someone); return got.Code == "FLAG_NOT_FOUND" })
	l.wants(t, openfeature.ProviderConfigChange)

	other := listen(t)
	var fatal *openfeature.ProviderInitError
	if err := other.api.SetProviderAndWait(t.Context(), ofprovider.New(d, "phc_nobody")); !errors.As(err, &fatal) || fatal.ErrorCode != openfeature.ProviderFatalCode {
		t.Errorf("%v", err)
	}
}

// Requirement 2.4.1: an initialization ends with its context; without a client it fails with a
// fatal error.
func TestProvider_2_4_1_Init(t *testing.T) {
	s := partial(t)
	s.ready = context.DeadlineExceeded
	if err := ofprovider.NewRemote(ofprovider.Config{Client: s}).InitWithContext(t.Context(), openfeature.EvaluationContext{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	var fatal *openfeature.ProviderInitError
	if err := ofprovider.NewRemote(ofprovider.Config{}).Init(openfeature.EvaluationContext{}); !errors.As(err, &fatal) {
		t.Error(err)
	}
	if p := ofprovider.NewRemote(ofprovider.Config{}); p.Metadata().Name != "Bunting" || p.Hooks() != nil {
		t.Errorf("%+v", p.Metadata())
	}
}

func eventually(t *testing.T, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("waited in vain")
		}
	}
}

// An evaluation with stale definitions does not make them current.
func TestProvider_5_1_1_StaleAnswers(t *testing.T) {
	var notify func(bool, string)
	p := ofprovider.NewRemote(ofprovider.Config{Client: partial(t), Watch: func(f func(bool, string)) func() { notify = f; return nil }})
	if err := p.Init(openfeature.EvaluationContext{}); err != nil {
		t.Fatal(err)
	}
	notify(true, "no connection")
	if d := p.BooleanEvaluation(t.Context(), "pro", false, openfeature.FlattenedContext{openfeature.TargetingKey: "u", "plan": "pro"}); !d.Value {
		t.Errorf("%+v", d)
	}
	if e := <-p.EventChannel(); e.EventType != openfeature.ProviderStale || e.Message != "no connection" {
		t.Errorf("%+v", e)
	}
	if n := len(p.EventChannel()); n != 0 {
		t.Errorf("%d events of an answer: %+v", n, <-p.EventChannel())
	}
}

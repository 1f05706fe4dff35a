package ofprovider_test

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/open-feature/go-sdk/openfeature"

	"github.com/bunting-flags/bunting/adapters/ofprovider"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
)

// A Provider that is nil, zero, or without a Client or Decider does not panic.
func TestZero(t *testing.T) {
	for name, handle := range map[string]any{"nil": (*ofprovider.Provider)(nil), "zero": &ofprovider.Provider{}, "over no Decider": ofprovider.New(nil, ""), "of nothing": ofprovider.NewRemote(ofprovider.Config{})} {
		v := reflect.ValueOf(handle)
		for i := range v.NumMethod() {
			callZero(t, name+" "+v.Type().Method(i).Name, v.Method(i))
		}
		provider := handle.(*ofprovider.Provider)
		got := provider.BooleanEvaluation(t.Context(), "f", true, openfeature.FlattenedContext{openfeature.TargetingKey: "u"})
		if err := got.ResolutionError.Error(); !got.Value || !strings.Contains(err, flags.ErrNotReady.Error()) {
			t.Errorf("%s: %v, %s", name, got.Value, err)
		}
	}
}

// A nil context works like context.Background in initialization, evaluation, tracking and shutdown.
func TestProvider_NoContext(t *testing.T) {
	var noContext context.Context
	d := decider(t, contextSource{serving.StaticSource(apiKey, flags.Project{ID: 1}, parsed(t, definitions))})
	over := &contextClient{}
	for name, p := range map[string]*ofprovider.Provider{"over a Decider": ofprovider.New(d, apiKey), "over a client": ofprovider.NewRemote(ofprovider.Config{Client: over})} {
		if err := p.InitWithContext(noContext, openfeature.EvaluationContext{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := p.BooleanEvaluation(noContext, "on", false, openfeature.FlattenedContext{openfeature.TargetingKey: "u"}); !got.Value {
			t.Errorf("%s: %+v", name, got)
		}
		p.Track(noContext, "e", openfeature.NewEvaluationContext("u", nil), openfeature.NewTrackingEventDetails(1))
		if err := p.ShutdownWithContext(noContext); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if over.calls != 4 {
		t.Errorf("the client was called %d times, want 4", over.calls)
	}
}

// contextSource and contextClient use the context that is passed to them.
type contextSource struct{ serving.Source }

func (s contextSource) ProjectByKey(ctx context.Context, key string) (flags.Project, error) {
	if err := ctx.Err(); err != nil {
		return flags.Project{}, err
	}
	return s.Source.ProjectByKey(ctx, key)
}

type contextClient struct{ calls int }

func (c *contextClient) Decide(ctx context.Context, key string, _ *flags.Subject) (flags.Decision, bool, error) {
	c.calls++
	return flags.Decision{Key: key, Enabled: true}, true, ctx.Err()
}

func (c *contextClient) WaitForReady(ctx context.Context) error { c.calls++; return ctx.Err() }

func (c *contextClient) Flush(ctx context.Context) error { c.calls++; return ctx.Err() }

func (c *contextClient) Track(ctx context.Context, _, _ string, _ map[string]any, _ map[string]string) error {
	c.calls++
	return ctx.Err()
}

// A visitor without cookies has no bucket (capture.md §13.7).
func TestProvider_WithoutCookies(t *testing.T) {
	d := decider(t, serving.StaticSource(apiKey, flags.Project{ID: 1}, parsed(t, `{"flags":[{"id":1,"key":"half","active":true,"filters":{"groups":[{"rollout_percentage":50}]}}]}`)))
	got := ofprovider.New(d, apiKey).BooleanEvaluation(t.Context(), "half", true, openfeature.FlattenedContext{openfeature.TargetingKey: "$posthog_cookieless"})
	if got.ResolutionDetail().ErrorCode != openfeature.TargetingKeyMissingCode || !got.Value {
		t.Errorf("%+v", got)
	}
}

// callZero calls a function with zero values, with a context that soon ends and with nil.
func callZero(t *testing.T, name string, f reflect.Value) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("%s panics: %v", name, p)
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	for _, ctx := range []reflect.Value{reflect.ValueOf(ctx), reflect.Zero(reflect.TypeFor[context.Context]())} {
		var args []reflect.Value
		for i := range f.Type().NumIn() {
			if in := f.Type().In(i); in == reflect.TypeFor[context.Context]() {
				args = append(args, ctx)
			} else if !f.Type().IsVariadic() || i < f.Type().NumIn()-1 {
				args = append(args, reflect.Zero(in))
			}
		}
		_ = fmt.Sprint(f.Call(args))
	}
}

package remote_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"testing"

	"github.com/bunting-flags/bunting/adapters/remote"
	"github.com/bunting-flags/bunting/flags"
)

// No method of a nil Client, a zero Client or one from New panics for zero values; without New the
// errors and details report that the Client is not ready.
func TestClient_ZeroAndNil(t *testing.T) {
	for name, c := range map[string]*remote.Client{"nil": nil, "zero": {}, "made": offlineClient(t, nil)} {
		v := reflect.ValueOf(c)
		for i := range v.NumMethod() + 1 {
			method := "Close" // the last method
			if i < v.NumMethod() {
				if method = v.Type().Method(i).Name; method == "Close" {
					continue
				}
			}
			for _, out := range callZero(t, name+" "+method, v.MethodByName(method)) {
				switch out := out.Interface().(type) {
				case error:
					if name != "made" && !errors.Is(out, flags.ErrNotReady) {
						t.Errorf("%s %s: %v", name, method, out)
					}
				case flags.Detail:
					if name != "made" && !errors.Is(out.Err, flags.ErrNotReady) {
						t.Errorf("%s %s: %v", name, method, out.Err)
					}
				case func():
					out()
				}
			}
		}
	}
	if v := (*remote.Client)(nil).String(ctx, "x", &flags.Subject{DistinctID: "u"}, "fallback"); v != "fallback" {
		t.Error(v)
	}
}

// A nil context works like context.Background in Flush, reads and Close.
func TestClient_NoContext(t *testing.T) {
	var noContext context.Context
	w := &wire{answer: answerAlways(200)}
	runTracking(t, w, nil, func(t *testing.T, c *remote.Client) {
		track(t, c, 0, 1)
		if err := c.Flush(noContext); err != nil || len(w.requests()) != 1 {
			t.Errorf("Flush: %v, %d requests", err, len(w.requests()))
		}
		track(t, c, 1, 1)
		if err := c.Close(noContext); err != nil || len(w.requests()) != 2 {
			t.Errorf("Close: %v, %d requests", err, len(w.requests()))
		}
		if err := c.Track(ctx, "u", "e", nil, nil); !errors.Is(err, flags.ErrClosed) {
			t.Errorf("Track after Close: %v", err)
		}
	})
	a := &fakeServer{answer: func(int) (int, http.Header, string, error) { return 200, nil, newFlagIsOn, nil }}
	runAsking(t, a, nil, func(t *testing.T, c *remote.Client) {
		sub := &flags.Subject{DistinctID: "u"}
		if !c.Bool(noContext, "new", sub, false) || !c.For(noContext, sub).Bool("new", false) {
			t.Error("not asked")
		}
		var out flags.Decisions
		if err := c.DecideAll(noContext, sub, &out); err != nil {
			t.Error(err)
		}
		if answer, err := c.AskAll(noContext, sub); err != nil || len(answer.Decisions) != 1 {
			t.Errorf("%v, %v", answer, err)
		}
		if _, found, err := c.DecideAndExpose(noContext, "new", sub); err != nil || !found {
			t.Errorf("%v, %v", found, err)
		}
	})
}

// callZero calls a function with zero values, with a nil context and then with a context.
func callZero(t *testing.T, name string, f reflect.Value) []reflect.Value {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("%s panics: %v", name, p)
		}
	}()
	var out []reflect.Value
	takes := reflect.TypeFor[context.Context]()
	for _, ctx := range []reflect.Value{reflect.Zero(takes), reflect.ValueOf(context.Background())} {
		var args []reflect.Value
		has := false
		for i := range f.Type().NumIn() {
			if in := f.Type().In(i); in == takes {
				args, has = append(args, ctx), true
			} else if !f.Type().IsVariadic() || i < f.Type().NumIn()-1 {
				args = append(args, reflect.Zero(in))
			}
		}
		out = f.Call(args)
		_ = fmt.Sprint(out)
		if !has {
			break
		}
	}
	return out
}

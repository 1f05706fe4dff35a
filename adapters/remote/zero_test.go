package remote_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/bunting-flags/bunting/adapters/remote"
	"github.com/bunting-flags/bunting/flags"
)

// No method of a nil Client, of one that New has not made, or of one that it has panics
// for zero values; without New the errors and the details say that nothing is ready.
func TestClient_ZeroAndNil(t *testing.T) {
	for name, c := range map[string]*remote.Client{"nil": nil, "zero": {}, "made": alone(t, nil)} {
		v := reflect.ValueOf(c)
		for i := range v.NumMethod() + 1 {
			method := "Close" // the last
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

// callZero calls a function with zero values, and a context.
func callZero(t *testing.T, name string, f reflect.Value) []reflect.Value {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("%s panics: %v", name, p)
		}
	}()
	var args []reflect.Value
	for i := range f.Type().NumIn() {
		if in := f.Type().In(i); in == reflect.TypeFor[context.Context]() {
			args = append(args, reflect.ValueOf(context.Background()))
		} else if !f.Type().IsVariadic() || i < f.Type().NumIn()-1 {
			args = append(args, reflect.Zero(in))
		}
	}
	out := f.Call(args)
	_ = fmt.Sprint(out)
	return out
}

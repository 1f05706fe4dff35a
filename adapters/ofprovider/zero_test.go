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
)

// A Provider that is nil, zero, or over nothing panics nowhere.
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

// callZero calls a function with zero values, and a context that soon ends.
func callZero(t *testing.T, name string, f reflect.Value) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("%s panics: %v", name, p)
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	var args []reflect.Value
	for i := range f.Type().NumIn() {
		if in := f.Type().In(i); in == reflect.TypeFor[context.Context]() {
			args = append(args, reflect.ValueOf(ctx))
		} else if !f.Type().IsVariadic() || i < f.Type().NumIn()-1 {
			args = append(args, reflect.Zero(in))
		}
	}
	_ = fmt.Sprint(f.Call(args))
}

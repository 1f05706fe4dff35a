package filesource_test

import (
	"context"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/filesource"
)

// A Source that Open did not create does not panic.
func TestZero(t *testing.T) {
	for name, handle := range map[string]any{"nil": (*filesource.Source)(nil), "zero": &filesource.Source{}} {
		v := reflect.ValueOf(handle)
		for i := range v.NumMethod() {
			callZero(t, name+" "+v.Type().Method(i).Name, v.Method(i))
		}
	}
}

// callZero calls a function with zero values and a context that soon ends.
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

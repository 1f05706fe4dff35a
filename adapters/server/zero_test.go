package server_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/server"
	"github.com/bunting-flags/bunting/flags"
)

// A Server that Open has not made, such as the nil that stands beside an error, panics
// nowhere.
func TestZero(t *testing.T) {
	for name, handle := range map[string]any{"nil": (*server.Server)(nil), "zero": &server.Server{}} {
		v := reflect.ValueOf(handle)
		for i := range v.NumMethod() {
			callZero(t, name+" "+v.Type().Method(i).Name, v.Method(i))
		}
	}
	var s *server.Server
	rec := httptest.NewRecorder()
	s.Handler().ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/flags", nil))
	if rec.Code != http.StatusServiceUnavailable {
		t.Error(rec.Code, rec.Body)
	}
	if on, d := s.Reader("phc_x").BoolDetail(t.Context(), "f", &flags.Subject{DistinctID: "u"}, true); !on || !errors.Is(d.Err, flags.ErrNotReady) {
		t.Error(on, d.Err)
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

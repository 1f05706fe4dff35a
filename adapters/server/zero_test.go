package server_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/server"
	"github.com/bunting-flags/bunting/flags"
)

// A Server that Open did not create, such as the nil that is returned with an error, does not
// panic.
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

// A nil context works like context.Background in Open, requests and Close.
func TestServer_NoContext(t *testing.T) {
	var noContext context.Context
	s, err := server.Open(noContext, server.Options{Data: filepath.Join(t.TempDir(), "data"), Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	projects, err := s.Projects(noContext)
	if err != nil || len(projects) != 1 {
		t.Error(projects, err)
	}
	if on, d := s.Reader("").BoolDetail(noContext, "f", &flags.Subject{DistinctID: "u"}, true); !on || !errors.Is(d.Err, flags.ErrUnknownFlag) {
		t.Error(on, d.Err)
	}
	ended := make(chan error)
	go func() { ended <- s.Run(noContext) }()
	if err := s.Close(noContext); err != nil {
		t.Error(err)
	}
	if err := <-ended; err == nil {
		t.Error("Run ended without an error, and nobody has asked it to")
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

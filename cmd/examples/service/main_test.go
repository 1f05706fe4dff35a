package main

import (
	"errors"
	"net/http/httptest"
	"testing"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/flagstest"
)

// What the flags say is served; without flags the service does as it did before it had
// some.
func TestService(t *testing.T) {
	f := flagstest.New(t)
	handler := routes(f.Reader())
	get := func(who string) string {
		r := httptest.NewRequest("GET", "/search", nil)
		if who != "" {
			r.SetBasicAuth(who, "")
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w.Body.String()
	}
	want := func(who, answer string) {
		t.Helper()
		if got := get(who); got != answer+"\n" {
			t.Errorf("%q gets %q, want %q", who, got, answer)
		}
	}
	want("", "who are you?")
	want("ana", "10 results for ana")
	f.Payload("search-results", 50)
	f.ForSubject("bob").Payload("search-results", 5)
	want("ana", "50 results for ana")
	want("bob", "5 results for bob")
	f.Fail("search-results", errors.Join(flags.ErrUnavailable))
	want("ana", "10 results for ana")
	f.Set("search", false)
	want("ana", "the search is closed")
}

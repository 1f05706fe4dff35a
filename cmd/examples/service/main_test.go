package main

import (
	"errors"
	"net/http/httptest"
	"testing"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/flagstest"
)

// The service uses the flags' values for signed-in users and for visitors of a page. Without flags
// it uses its defaults.
func TestService(t *testing.T) {
	f := flagstest.New(t)
	handler := routes(f.Reader())
	want := func(path, user, answer string) {
		t.Helper()
		r := httptest.NewRequest("GET", path, nil)
		switch user {
		case "":
		case "visitor":
			r.Header.Set("Cookie", "ph_phc_demo_posthog=%7B%22distinct_id%22%3A%22visitor%22%7D")
		default:
			r.SetBasicAuth(user, "")
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Body.String() != answer+"\n" {
			t.Errorf("%s of %q is %q, want %q", path, user, w.Body, answer)
		}
	}
	want("/search", "", "10 results")
	want("/search", "ana", "10 results")
	want("/", "", "<script>posthog.init('phc_demo', {bootstrap: {}})</script>")
	f.Payload("search-results", 50)
	f.ForSubject("bob").Payload("search-results", 5)
	f.ForSubject("visitor").Payload("search-results", 7)
	want("/search", "", "10 results")
	want("/search", "ana", "50 results")
	want("/search", "bob", "5 results")
	want("/search", "visitor", "7 results")
	want("/", "bob", `<script>posthog.init('phc_demo', {bootstrap: {"distinctID":"bob","featureFlags":{"search-results":true},"featureFlagPayloads":{"search-results":5}}})</script>`)
	f.Fail("search-results", errors.Join(flags.ErrUnavailable))
	want("/search", "ana", "10 results")
	f.Set("search", false)
	want("/search", "ana", "the search is closed")
}

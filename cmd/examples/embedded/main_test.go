package main

import (
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/bunting-flags/bunting/adapters/server"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The shopkeeper enables a discount with the session of the shop. Customers then get it, and their
// orders can be read back.
func TestEmbedded(t *testing.T) {
	s, err := server.Open(t.Context(), server.Options{APIKey: projectKey, Authenticate: signedIn})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	handler := shop(s)
	for _, step := range []struct {
		method, path, cookie, body string
		status                     int
		says                       string
	}{
		{"GET", "/price?user=ana", "", "", 200, "100"},
		{"POST", "/ph/api/projects/@current/feature_flags/", "", `{"key": "discount", "active": true, "filters": {"groups": [{}]}}`, 401, "not_authenticated"},
		{"POST", "/ph/api/projects/@current/feature_flags/", `session="the shopkeeper's"`, `{"key": "discount", "active": true, "filters": {"groups": [{}]}}`, 201, "discount"},
		{"GET", "/price?user=ana", "", "", 200, "90"},
		{"POST", "/ph/flags?v=2", "", `{"api_key": "phc_shop", "distinct_id": "ana"}`, 200, `"enabled":true`},
		{"POST", "/order?user=ana", "", "", 200, ""},
		{"POST", "/order", "", "", 503, "missing_distinct_id"},
		{"GET", "/ph/api/projects/@current/events/", `session="the shopkeeper's"`, "", 200, `"distinct_id":"ana"`},
	} {
		r := httptest.NewRequest(step.method, step.path, strings.NewReader(step.body))
		r.Header.Set("Cookie", step.cookie)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code != step.status || !strings.Contains(w.Body.String(), step.says) {
			t.Errorf("%s %s: %d %s, want %d %s", step.method, step.path, w.Code, w.Body, step.status, step.says)
		}
	}
}

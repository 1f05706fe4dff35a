package httpapi_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
)

// A partial handler, before the server has started completely, evaluates flags, and responds to all
// other requests with 503, which clients retry, instead of 404 (decision 29).
func TestPartial_Decision_29(t *testing.T) {
	d, err := serving.NewDecider(serving.Config{Source: serving.StaticSource("phc_a", flags.Project{ID: 1}, flags.Definitions{})})
	if err != nil {
		t.Fatal(err)
	}
	h, err := httpapi.New(httpapi.Config{Decider: d, Partial: true, Ready: func(context.Context) error {
		return fmt.Errorf("%w: no database", httpapi.ErrDegraded)
	}})
	if err != nil {
		t.Fatal(err)
	}
	if w := ask(h, "POST", "/flags?v=2", `{"api_key":"phc_a","distinct_id":"u"}`); w.Code != 200 {
		t.Errorf("/flags: %d %s", w.Code, w.Body)
	}
	if w := ask(h, "GET", "/_readiness", ""); w.Code != 200 || w.Body.String() != "degraded: no database\n" {
		t.Errorf("/_readiness: %d %q", w.Code, w.Body)
	}
	for _, path := range []string{"/batch/", "/e/", "/i/v1/analytics/events", "/api/projects/1/feature_flags/", "/metrics", "/anything"} {
		w := ask(h, "POST", path, `{}`)
		checkError(t, w, 503)
		if w.Header().Get("Retry-After") != "1" || !strings.Contains(w.Body.String(), "service_unavailable") {
			t.Errorf("%s: Retry-After %q, %s", path, w.Header().Get("Retry-After"), w.Body)
		}
	}
}

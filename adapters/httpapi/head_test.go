package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/adapters/httpapi"
)

// skippedPaths matches paths whose GET has no end, creates something, or has a random response.
var skippedPaths = regexp.MustCompile(`/stream/?(\?|$)|/ofrep/v1/events|/events/live|duplicate_as_static_cohort|/oidc/|/backup`)

// HEAD requires the authorization of GET, and returns its status and headers (RFC 9110 §9.3.2): on
// every path, with a key, with one of another organization, and without.
func TestHTTP_HeadIsAuthorisedAsGet(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	part := regexp.MustCompile(`\{[^}]*\}`)
	paths := map[string]bool{"/flags/definitions?token=phc_1": true, "/api/projects/1/persons/?token=phc_1": true}
	for route := range httpapi.RoutesForTest() {
		paths[anyPath(route)] = true
	}
	for route, methods := range httpapi.ManagementRoutesForTest() {
		for _, method := range methods {
			if method == http.MethodGet {
				paths[part.ReplaceAllString(route, "1")+"/"] = true
			}
		}
	}
	rejections := 0
	for path := range paths {
		if skippedPaths.MatchString(path) {
			continue
		}
		for name, headers := range map[string][]string{
			"no key": nil, "a key that nobody has": {"Authorization", "Bearer phx_nobody"},
			"the owner's": bearerOf(o.key(t, "owner")), "a stranger's": bearerOf(o.key(t, "foreign")),
		} {
			get, head := ask(o.handler, http.MethodGet, path, "", headers...), ask(o.handler, http.MethodHead, path, "", headers...)
			if head.Code != get.Code {
				t.Errorf("HEAD %s with %s: %d, GET %d", path, name, head.Code, get.Code)
			}
			if diff := cmp.Diff(stableHeaders(get), stableHeaders(head)); diff != "" {
				t.Errorf("HEAD %s with %s: headers (-GET +HEAD)\n%s", path, name, diff)
			}
			if head.Code == http.StatusUnauthorized {
				rejections++
			}
		}
	}
	if rejections < 100 {
		t.Errorf("only %d requests were refused", rejections)
	}
}

// stableHeaders returns the headers that do not differ between two GET requests.
func stableHeaders(w *httptest.ResponseRecorder) http.Header {
	out := w.Header().Clone()
	for name := range out {
		if name == "X-Request-Id" || name == "Content-Length" || name == "Date" || strings.HasPrefix(name, "X-Ratelimit") {
			out.Del(name)
		}
	}
	return out
}

// HEAD has no effect: it does not capture the events that GET would.
func TestHTTP_HeadTakesNoEvent(t *testing.T) {
	l := newLab(t, "{}")
	event := `data=%7B%22event%22%3A%22e%22%2C%22distinct_id%22%3A%22u%22%2C%22api_key%22%3A%22phc_x%22%7D`
	for _, path := range []string{"/e/", "/batch/", "/track/", "/i/v0/ai/batch"} {
		if w := ask(l.handler, http.MethodHead, path+"?"+event, ""); w.Code != 200 {
			t.Errorf("HEAD %s: %d", path, w.Code)
		}
	}
	if got := l.handler.Stats().CaptureRequests; got != 0 {
		t.Errorf("%d requests with events", got)
	}
	if w := ask(l.handler, http.MethodGet, "/e/?"+event, ""); w.Code != 200 || l.handler.Stats().CaptureRequests != 1 {
		t.Errorf("GET: %d %s", w.Code, w.Body)
	}
}

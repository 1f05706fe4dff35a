package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/flags"
)

// quotaFile is an organization with 3 requests per month.
const quotaFile = `{
  "organization": {"id": "o1", "quotas": {"feature_flags": 3}},
  "projects": [
    {"id": 1, "api_key": "phc_a", "secret_api_keys": ["phs_a"], "flags": [
      {"id": 1, "key": "on", "active": true, "filters": {"groups": [{}]}},
      {"id": 2, "key": "survey-targeting-x", "active": true, "filters": {"groups": [{}]}}]},
    {"id": 2, "api_key": "phc_b", "secret_api_keys": ["phs_b"], "flags": [{"id": 1, "key": "on", "active": true, "filters": {"groups": [{}]}}]},
    {"id": 3, "api_key": "phc_surveys", "flags": [
      {"id": 1, "key": "survey-targeting-x", "active": true, "filters": {"groups": [{}]}},
      {"id": 2, "key": "product-tour-targeting-x", "active": true, "filters": {"groups": [{}]}},
      {"id": 3, "key": "off", "active": false, "filters": {"groups": [{}]}}]}
  ]}`

// setLimit changes the organization's limit.
func setLimit(w *world, limit int64) {
	for _, key := range []string{"phc_a", "phc_b", "phc_surveys"} {
		w.change(key, func(p *flags.FileProject) { p.FlagLimit = &limit })
	}
}

func checkQuota(t *testing.T, got flagsAnswer, limited bool) {
	t.Helper()
	want := []string(nil)
	if limited {
		want = []string{"feature_flags"}
	}
	if got.Status != 200 || got.Errors || !slices.Equal(got.QuotaLimited, want) || !slices.Equal(got.Twin, want) || limited != (len(got.Flags) == 0) {
		t.Errorf("limited is not %v: %+v", limited, got)
	}
}

const askA, askB = `{"api_key":"phc_a","distinct_id":"u1"}`, `{"api_key":"phc_b","distinct_id":"u1"}`

// On a single server the limit is exact, over all projects of the organization, and resets with the
// UTC month (decision 11).
func TestFlags_Decision11_LimitIsExact(t *testing.T) {
	w := newWorld(t, []byte(quotaFile))
	h := w.handler(t, nil, nil)
	w.now = time.Date(2026, 7, 31, 23, 59, 59, 0, time.UTC)
	for _, text := range []string{askA, askB, askA} {
		checkQuota(t, decideFlags(t, h, text), false)
	}
	for _, text := range []string{askA, askB, askA} {
		checkQuota(t, decideFlags(t, h, text), true)
	}
	w.advance(time.Second) // August
	for range 3 {
		checkQuota(t, decideFlags(t, h, askB), false)
	}
	checkQuota(t, decideFlags(t, h, askB), true)
	// A new limit applies from the next month at the latest.
	setLimit(w, 5)
	w.advance(31 * 24 * time.Hour)
	for range 5 {
		checkQuota(t, decideFlags(t, h, askA), false)
	}
	checkQuota(t, decideFlags(t, h, askA), true)
}

// Not counted (§10.1): disable_flags, rate limited requests, other methods, errors, and requests
// with only free flags.
func TestFlags_10_1_NotCounted(t *testing.T) {
	w := newWorld(t, []byte(quotaFile))
	h := w.handler(t, nil, nil)
	for range 10 {
		for _, c := range []struct {
			method, path, text string
			status             int
		}{
			{"POST", "/flags?v=2", `{"api_key":"phc_a","disable_flags":true}`, 200},
			{"GET", "/flags?v=2", "", 200},
			{"HEAD", "/flags?v=2", "", 200},
			{"OPTIONS", "/flags?v=2", "", 204},
			{"POST", "/flags?v=2", `{"api_key":"phc_a"}`, 400},
			{"POST", "/flags?v=2", `{"api_key":"phc_a","distinct_id":[]}`, 400},
			{"POST", "/flags?v=2", `{"api_key":"phc_x","distinct_id":"u1"}`, 401},
			{"POST", "/flags?v=2", `{`, 400},
			{"POST", "/flags?v=2", `{"api_key":"phc_surveys","distinct_id":"u1"}`, 200},
			{"POST", "/flags?v=2&only_evaluate_survey_feature_flags=1", askA, 200},
			{"POST", "/flags?v=2", `{"api_key":"phc_a","distinct_id":"u1","flag_keys":[]}`, 200},
			{"GET", "/array/phc_a/config", "", 200},
		} {
			if got := ask(h, c.method, c.path, c.text); got.Code != c.status || strings.Contains(got.Body.String(), "quotaLimited") {
				t.Fatalf("%s %s %s: %d %s", c.method, c.path, c.text, got.Code, got.Body)
			}
		}
	}
	for range 3 {
		checkQuota(t, decideFlags(t, h, askA), false)
	}
	checkQuota(t, decideFlags(t, h, askA), true)
	if got := decideFlags(t, h, `{"api_key":"phc_a","disable_flags":true}`); got.QuotaLimited != nil || got.Status != 200 {
		t.Errorf("disable_flags when spent: %+v", got)
	}
}

func download(h http.Handler, project, etag string) *httptest.ResponseRecorder {
	return ask(h, "GET", "/flags/definitions?token=phc_"+project, "", "Authorization", "Bearer phs_"+project, "If-None-Match", etag)
}

// A download of definitions counts ten and a 304 counts zero. A download that exceeds the rest is
// 402 and leaves the rest for /flags (§10.1).
func TestFlags_10_1_Downloads(t *testing.T) {
	w := newWorld(t, []byte(quotaFile))
	setLimit(w, 23)
	h := w.handler(t, nil, nil)
	first := download(h, "a", "none")
	etag := first.Header().Get("ETag")
	if first.Code != 200 || etag == "" {
		t.Fatal(first.Code, first.Header())
	}
	for range 10 {
		if got := download(h, "a", etag); got.Code != 304 || got.Body.Len() > 0 {
			t.Fatal(got.Code)
		}
	}
	if got := download(h, "b", "none"); got.Code != 200 {
		t.Fatal(got.Code)
	}
	problem := checkError(t, download(h, "a", "none"), 402)
	if problem["type"] != "quota_limited" || problem["code"] != "payment_required" || problem["detail"] != "You have exceeded your feature flag request quota" || problem["attr"] != nil {
		t.Errorf("%v", problem)
	}
	if got := download(h, "a", etag); got.Code != 304 { // row 131
		t.Errorf("a matching ETag when spent: %d", got.Code)
	}
	for range 3 {
		checkQuota(t, decideFlags(t, h, askA), false)
	}
	checkQuota(t, decideFlags(t, h, askA), true)
	w.advance(31 * 24 * time.Hour)
	if got := download(h, "a", "none"); got.Code != 200 {
		t.Errorf("next month: %d", got.Code)
	}
}

// An operator's switch pauses a project immediately, and only that project.
func TestFlags_Decision11_Paused(t *testing.T) {
	w := newWorld(t, []byte(quotaFile))
	setLimit(w, 100)
	h := w.handler(t, nil, nil)
	checkQuota(t, decideFlags(t, h, askA), false)
	w.change("phc_a", func(p *flags.FileProject) { p.QuotaLimited = []string{"events", "feature_flags"} })
	checkQuota(t, decideFlags(t, h, askA), true)
	checkError(t, download(h, "a", "none"), 402)
	checkQuota(t, decideFlags(t, h, askB), false)
	w.change("phc_a", func(p *flags.FileProject) { p.QuotaLimited = []string{"events"} })
	checkQuota(t, decideFlags(t, h, askA), false)
}

// The definitions of a project change with its revision, and so does their ETag.
func TestFlags_1_8_ETagChanges(t *testing.T) {
	w := newWorld(t, []byte(quotaFile))
	setLimit(w, 1000)
	h := w.handler(t, nil, nil)
	before := download(h, "a", "none").Header().Get("ETag")
	w.change("phc_a", func(p *flags.FileProject) { p.Definitions.Flags = p.Definitions.Flags[1:] })
	after := download(h, "a", before)
	if after.Code != 200 || after.Header().Get("ETag") == before {
		t.Errorf("%d %s", after.Code, after.Header().Get("ETag"))
	}
	for _, header := range []string{after.Header().Get("ETag"), strings.TrimPrefix(after.Header().Get("ETag"), "W/"), strings.Trim(after.Header().Get("ETag"), `W/"`), "*", `"x", ` + after.Header().Get("ETag")} {
		if got := download(h, "a", header); got.Code != 304 || got.Header().Get("ETag") != after.Header().Get("ETag") || got.Header().Get("Cache-Control") != "private, must-revalidate" {
			t.Errorf("If-None-Match: %s: %d %v", header, got.Code, got.Header())
		}
	}
	for _, header := range []string{"", `""`, before, "W/", `W/"` + strings.Repeat("0", 16) + `"`} {
		if got := download(h, "a", header); got.Code != 200 {
			t.Errorf("If-None-Match: %s: %d", header, got.Code)
		}
	}
}

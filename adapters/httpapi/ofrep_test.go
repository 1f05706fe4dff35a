package httpapi_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
)

const ofrepBulkPath, ofrepContext = "/ofrep/v1/evaluate/flags", `{"context":{"targetingKey":"u1"}}`

// The members, types and enums of the schemas of OFREP's OpenAPI 0.3.0. DEFAULT is not among its
// reasons; ADR 6 has it.
var (
	ofrepReasons    = []string{"STATIC", "TARGETING_MATCH", "SPLIT", "DISABLED", "UNKNOWN", "DEFAULT"}
	ofrepErrorCodes = []string{"PARSE_ERROR", "TARGETING_KEY_MISSING", "INVALID_CONTEXT", "GENERAL"}
	ofrepTags       = regexp.MustCompile(`^W/"[0-9a-z]+"$`)
)

// checkOFREP checks a response against the schemas evaluationSuccess, evaluationFailure,
// flagNotFound, bulkEvaluationSuccess, bulkEvaluationFailure.
func checkOFREP(t *testing.T, w *httptest.ResponseRecorder) {
	t.Helper()
	if w.Body.Len() == 0 {
		return
	}
	if got, want := w.Header().Get("Content-Length"), fmt.Sprint(w.Body.Len()); got != want {
		t.Errorf("Content-Length %s of %s bytes", got, want)
	}
	var body map[string]any
	decodeJSON(t, w.Body.Bytes(), &body)
	list, isBulk := body["flags"].([]any)
	switch {
	case body["capabilities"] != nil:
	case w.Code >= 400 && body["metadata"] == nil:
		_, text := body["errorDetails"].(string)
		if code, _ := body["errorCode"].(string); !text || !slices.Contains(append([]string{"FLAG_NOT_FOUND"}, ofrepErrorCodes...), code) {
			t.Errorf("no bulkEvaluationFailure or flagNotFound: %s", truncate(w.Body.Bytes()))
		}
	case isBulk:
		for name := range body {
			if name != "flags" && name != "metadata" && name != "eventStreams" {
				t.Errorf("a member %s", name)
			}
		}
		checkEventStreams(t, w.Body.Bytes())
		for _, entry := range list {
			checkOFREPFlag(t, entry)
		}
	default:
		checkOFREPFlag(t, body)
	}
}

// checkEventStreams checks the member eventStreams against the schemas frame.EventStream and
// eventStreamEndpoint.
func checkEventStreams(t *testing.T, answer []byte) {
	t.Helper()
	var body struct {
		EventStreams []struct {
			Type     string
			URL      *string
			Endpoint *struct {
				Origin     *string
				RequestURI string `json:"requestUri"`
			}
			Inactivity *int `json:"inactivityDelaySec"`
		}
	}
	decodeJSON(t, answer, &body)
	for _, s := range body.EventStreams {
		if s.Type != "sse" || (s.URL == nil) == (s.Endpoint == nil) || s.Inactivity != nil && *s.Inactivity < 1 ||
			s.Endpoint != nil && !strings.HasPrefix(s.Endpoint.RequestURI, "/") {
			t.Errorf("no eventStream: %s", answer)
		}
	}
}

func checkOFREPFlag(t *testing.T, entry any) {
	t.Helper()
	e, _ := entry.(map[string]any)
	key, isText := e["key"].(string)
	if !isText || key == "" {
		t.Errorf("no key: %s", textOf(entry))
	}
	_, isFailure := e["errorCode"]
	for name, v := range e {
		text, isText := v.(string)
		ok := true
		switch name {
		case "key":
		case "errorCode":
			ok = slices.Contains(ofrepErrorCodes, text)
		case "errorDetails":
			ok = isFailure && isText
		case "reason":
			ok = !isFailure && slices.Contains(ofrepReasons, text)
		case "variant":
			ok = !isFailure && isText
		case "value":
			_, isList := v.([]any)
			ok = !isFailure && v != nil && !isList
		case "metadata":
			members, isObject := v.(map[string]any)
			ok = isObject
			for _, m := range members {
				switch m.(type) {
				case string, bool, float64:
				default:
					ok = false
				}
			}
		default:
			ok = false
		}
		if !ok {
			t.Errorf("%s: the schema does not allow %s: %s", key, name, textOf(v))
		}
	}
	if _, hasReason := e["reason"]; hasReason == isFailure {
		t.Errorf("%s: want a reason or an error code: %s", key, textOf(entry))
	}
}

func askOFREP(t *testing.T, h http.Handler, path, text string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	w := ask(h, "POST", path, text, append(headers, "X-Api-Key", "phc_test")...)
	checkOFREP(t, w)
	return w
}

// The ETag is stable while the response is, for any subject; 304 has no body.
func TestOFREP_Bulk_ETag(t *testing.T) {
	w := sharedWorld(t)
	h := w.handler(t, nil, nil)
	first := askOFREP(t, h, ofrepBulkPath, ofrepContext)
	tag := first.Header().Get("ETag")
	if first.Code != 200 || !ofrepTags.MatchString(tag) {
		t.Fatal(first.Code, tag)
	}
	for _, sent := range []string{tag, strings.TrimPrefix(tag, "W/"), `"x", ` + tag, "*"} {
		got := askOFREP(t, h, ofrepBulkPath, ofrepContext, "If-None-Match", sent)
		if got.Code != 304 || got.Body.Len() > 0 || got.Header().Get("ETag") != tag {
			t.Errorf("%s: %d %s %v", sent, got.Code, got.Body, got.Header())
		}
	}
	for name, other := range map[string]string{
		"the same person with a property": `{"context":{"targetingKey":"u1","plan":"pro"}}`,
		"another person":                  `{"context":{"targetingKey":"123"}}`,
	} {
		if got := askOFREP(t, h, ofrepBulkPath, other, "If-None-Match", tag); got.Code != 200 || got.Header().Get("ETag") == tag {
			t.Errorf("%s: %d %s", name, got.Code, got.Header().Get("ETag"))
		}
	}
	again := sharedWorld(t).handler(t, nil, nil) // another server
	if got := askOFREP(t, again, ofrepBulkPath, ofrepContext, "If-None-Match", tag); got.Code != 304 {
		t.Errorf("another server: %d", got.Code)
	}
	w.change("phc_test", func(p *flags.FileProject) {
		p.Definitions.Flags = slices.Clone(p.Definitions.Flags)
		p.Definitions.Flags[0].Version++
	})
	if got := askOFREP(t, h, ofrepBulkPath, ofrepContext, "If-None-Match", tag); got.Code != 200 || got.Header().Get("ETag") == tag {
		t.Errorf("after a change: %d %s", got.Code, got.Header().Get("ETag"))
	}
}

// A web page or an unknown client gets the flags for clients, curl those for servers (§9.9).
func TestOFREP_Bulk_Runtime(t *testing.T) {
	h := sharedWorld(t).handler(t, nil, nil)
	for _, c := range []struct {
		headers []string
		runtime string
	}{
		{nil, "clients"},
		{[]string{"User-Agent", "node", "Sec-Fetch-Mode", "cors"}, "clients"},
		{[]string{"User-Agent", "Mozilla/5.0 (X11)", "Origin", Range}, "clients"},
		{[]string{"User-Agent", "curl/8.5.0"}, "servers"},
	} {
		body := askOFREP(t, h, ofrepBulkPath, ofrepContext, c.headers...).Body.String()
		for _, runtime := range []string{"clients", "servers"} {
			if got := strings.Contains(body, `"for-`+runtime+`"`); got != (runtime == c.runtime) {
				t.Errorf("%q: for-%s is there: %v", c.headers, runtime, got)
			}
		}
		if strings.Contains(body, `"off"`) {
			t.Errorf("%q: an inactive flag is listed", c.headers)
		}
	}
}

// An evaluation counts once, also if the response is 304; refused requests do not count (§10.1,
// decision 11).
func TestOFREP_Quota(t *testing.T) {
	w := newWorld(t, []byte(quotaFile))
	h := w.handler(t, nil, nil)
	as := func(path, key, text, tag string) *httptest.ResponseRecorder {
		got := ask(h, "POST", path, text, "Authorization", "Bearer "+key, "If-None-Match", tag)
		checkOFREP(t, got)
		return got
	}
	for range 5 { // not counted
		as(ofrepBulkPath, "phc_a", `{}`, "")
		as(ofrepBulkPath, "phc_nobody", ofrepContext, "")
		as(ofrepBulkPath, "phc_surveys", ofrepContext, "")
		as(ofrepBulkPath+"/survey-targeting-x", "phc_a", ofrepContext, "")
	}
	first := as(ofrepBulkPath, "phc_a", ofrepContext, "")
	for i, got := range []*httptest.ResponseRecorder{
		first, as(ofrepBulkPath, "phc_a", ofrepContext, first.Header().Get("ETag")), as(ofrepBulkPath+"/on", "phc_b", ofrepContext, ""),
	} {
		if want := []int{200, 304, 200}[i]; got.Code != want {
			t.Errorf("request %d: %d, want %d: %s", i+1, got.Code, want, got.Body)
		}
	}
	for _, path := range []string{ofrepBulkPath, ofrepBulkPath + "/on"} {
		if got := as(path, "phc_a", ofrepContext, ""); got.Code != 429 || got.Header().Get("Retry-After") != "3600" {
			t.Errorf("%s over the quota: %d %v", path, got.Code, got.Header())
		}
	}
	w.advance(31 * 24 * time.Hour)
	if got := as(ofrepBulkPath, "phc_a", ofrepContext, ""); got.Code != 200 {
		t.Errorf("next month: %d", got.Code)
	}
}

// The limits of /flags apply, by key and by address, and share its buckets (§10.2).
func TestOFREP_RateLimits(t *testing.T) {
	for name, limits := range map[string]httpapi.RateLimits{
		"by key": {Token: httpapi.Rate{PerSecond: 1e-9, Burst: 3}}, "by address": {IP: httpapi.Rate{PerSecond: 1e-9, Burst: 3}},
	} {
		h := sharedWorld(t).handler(t, nil, func(c *httpapi.Config) { c.RateLimits = limits })
		got := []int{
			askOFREP(t, h, ofrepBulkPath, ofrepContext).Code,
			askOFREP(t, h, ofrepBulkPath+"/plain", ofrepContext).Code,
			ask(h, "POST", "/flags?v=2", `{"api_key":"phc_test","distinct_id":"u1"}`).Code,
		}
		last := askOFREP(t, h, ofrepBulkPath, ofrepContext)
		seconds, err := strconv.Atoi(last.Header().Get("Retry-After"))
		if !slices.Equal(got, []int{200, 200, 200}) || last.Code != 429 || err != nil || seconds < 1 {
			t.Errorf("%s: %d, then %d %v", name, got, last.Code, last.Header())
		}
	}
}

// Addresses are located as for /flags, unless the context disables it (§8.3).
func TestOFREP_GeoIP(t *testing.T) {
	locations := addresses{netip.MustParseAddr("203.0.113.7"): {"$geoip_country_code": "DE"}}
	h := sharedWorld(t).handler(t, func(c *serving.Config) { c.Locator = locations }, nil)
	for text, want := range map[string]string{
		`{"context":{"targetingKey":"u1"}}`:                                `"value":true`,
		`{"context":{"targetingKey":"u1","$geoip_disable":true}}`:          `"value":false`,
		`{"context":{"targetingKey":"u1","$geoip_country_code":"US"}}`:     `"value":false`,
		`{"context":{"targetingKey":"u1","$geoip_disable":"yes, please"}}`: `"errorCode":"INVALID_CONTEXT"`,
	} {
		if got := askOFREP(t, h, ofrepBulkPath+"/in-germany", text, "X-Forwarded-For", "203.0.113.7").Body.String(); !strings.Contains(got, want) {
			t.Errorf("%s: %s", text, got)
		}
	}
}

// A flag that cannot be evaluated because the store fails is a failed entry; if no flag can be
// evaluated, the response is 503 with the time of a retry.
func TestOFREP_Failures(t *testing.T) {
	w := sharedWorld(t)
	h := w.handler(t, func(c *serving.Config) { c.People = noPeople{} }, nil)
	one := askOFREP(t, h, ofrepBulkPath+"/pro-plan", ofrepContext)
	if one.Code != 400 || !strings.Contains(one.Body.String(), `"errorCode":"GENERAL","errorDetails":"Database connection error during evaluation"`) {
		t.Errorf("%d %s", one.Code, one.Body)
	}
	all := askOFREP(t, h, ofrepBulkPath, ofrepContext)
	if all.Code != 200 || !strings.Contains(all.Body.String(), `{"key":"pro-plan","errorCode":"GENERAL"`) ||
		!strings.Contains(all.Body.String(), `{"key":"plain","value":true`) {
		t.Errorf("%d %s", all.Code, all.Body)
	}
	w = sharedWorld(t)
	w.failure = fmt.Errorf("no source")
	if got := askOFREP(t, w.handler(t, nil, nil), ofrepBulkPath, ofrepContext); got.Code != 503 || got.Header().Get("Retry-After") == "" {
		t.Errorf("%d %v %s", got.Code, got.Header(), got.Body)
	}
}

// A flag on a cycle is not evaluated: a single evaluation fails, and the metadata of a bulk
// evaluation report it (§6).
func TestOFREP_Cycle(t *testing.T) {
	w := newWorld(t, []byte(`{"projects": [{"id": 1, "api_key": "phc_test", "flags": [
		{"id": 1, "key": "a", "active": true, "filters": {"groups": [{"properties": [{"key": "2", "type": "flag", "operator": "flag_evaluates_to", "value": true}]}]}},
		{"id": 2, "key": "b", "active": true, "filters": {"groups": [{"properties": [{"key": "1", "type": "flag", "operator": "flag_evaluates_to", "value": true}]}]}},
		{"id": 3, "key": "gone", "active": false, "deleted": true, "filters": {"groups": [{}]}},
		{"id": 4, "key": "paused-client", "active": false, "evaluation_runtime": "client", "filters": {"groups": [{}]}}]}]}`))
	h := w.handler(t, nil, nil)
	if got := askOFREP(t, h, ofrepBulkPath+"/a", ofrepContext); got.Code != 400 || !strings.Contains(got.Body.String(), `"errorCode":"PARSE_ERROR"`) {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	if got := askOFREP(t, h, ofrepBulkPath, ofrepContext).Body.String(); got != `{"flags":[],`+ofrepHint("", "phc_test")+`,"metadata":{"errorsWhileComputingFlags":true}}` {
		t.Error(got)
	}
	for _, key := range []string{"gone", "paused-client"} { // deleted; inactive, and not for servers
		if got := askOFREP(t, h, ofrepBulkPath+"/"+key, ofrepContext); got.Code != 404 {
			t.Errorf("%s: %d %s", key, got.Code, got.Body)
		}
	}
}

package frame

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// requestWith returns a GET request with headers, which may be repeated.
func requestWith(target string, headers ...string) *http.Request {
	r := httptest.NewRequest("GET", target, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

// The key in the Authorization header, after Bearer or Token; the blanks around it do not count
// (spec/management.md §1.2).
func TestBearer(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{
		"": "", "Bearer phx_1": "phx_1", "Bearer   phx_1  ": "phx_1", "  Bearer phx_1": "phx_1", "bearer phx_1": "phx_1", "Token phx_1": "phx_1",
		"Bearer": "", "Bearer ": "", "phx_1": "", "Basic cGh4": "", "Bearerphx_1": "", "Bearer\tphx_1": "", "Bearer a b": "a b",
	} {
		if got := Bearer(requestWith("/", "Authorization", header)); got != want {
			t.Errorf("%q: %q, want %q", header, got, want)
		}
	}
}

// The header has precedence over the query.
func TestKeyOutsideBody(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ target, header, key, location string }{
		"neither":           {"/", "", "", "query string"},
		"the header":        {"/", "Bearer a", "a", "Authorization header"},
		"the query":         {"/?personal_api_key=+b+", "", "b", "query string"},
		"both":              {"/?personal_api_key=b", "Bearer a", "a", "Authorization header"},
		"an unusual scheme": {"/?personal_api_key=b", "Basic a", "b", "query string"},
		"a project's key":   {"/?api_key=b&token=c", "", "", "query string"},
	} {
		if key, location := KeyOutsideBody(requestWith(c.target, "Authorization", c.header)); key != c.key || location != c.location {
			t.Errorf("%s: %q in the %s", name, key, location)
		}
	}
}

// The key for the log: of the body, then of the header, then of the query.
func TestKeySent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ body, target, header, want string }{
		"none":          {"", "/", "", ""},
		"the body":      {"phc_1", "/?token=phc_2", "Bearer phx_3", "phc_1"},
		"the header":    {"", "/?token=phc_2", "Bearer  phx_3 ", "phx_3"},
		"any scheme":    {"", "/", "Basic x", "x"},
		"the token":     {"", "/?api_key=b&token=a&personal_api_key=c", "", "a"},
		"the api_key":   {"", "/?api_key=b&personal_api_key=c", "", "b"},
		"the last name": {"", "/?personal_api_key=c", "", "c"},
		"a bare header": {"", "/?token=a", "phx_3", "a"},
	} {
		if got := keySent(requestWith(c.target, "Authorization", c.header), c.body); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A client that prefers HTML is sent a page: text/html has at least the weight of JSON (RFC 9110
// §12.5.1), of which */* is a part.
func TestPrefersPage(t *testing.T) {
	t.Parallel()
	for accept, want := range map[string]bool{
		"": false, "*/*": false, "application/json": false, "text/html": true, "TEXT/HTML": true, "text/plain": false, "text/*": false,
		"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8": true,
		"application/json, text/html":                                     true,
		"application/json, text/html;q=0.9":                               false,
		"application/json;q=0.5, text/html;q=0.5":                         true,
		"text/html;q=0":                                       false,
		"text/html;q=0.1, */*":                                false,
		"text/html;q=0.1, */*;q=0.05":                         true,
		"text/html;q=0.1, application/json;q=0.2, */*;q=0.05": false,
		"text/html; level=1; q=0.4, application/json; q=0.3":  true,
		"text/html;Q=0.2, application/json;q=0.3":             false,
		"text/html;q=high, application/json;q=0.9":            true,
		"text/html;q=NaN":                                     false,
	} {
		if got := PrefersPage(requestWith("/", "Accept", accept)); got != want {
			t.Errorf("%q: %v", accept, got)
		}
	}
	if !PrefersPage(requestWith("/", "Accept", "application/json;q=0.5", "Accept", "text/html")) {
		t.Error("the second header is not read")
	}
}

// RFC 7240: a preference for a response with a body.
func TestPrefersBody(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]bool{
		"": false, "return=representation": true, "RETURN=representation": true, `return="representation"`: true, "respond-async, return=representation": true,
		"return=representation; foo=bar": true, "return=minimal": false, "return": false, "representation": false, "xreturn=representation": false, "wait=1; return=representation": false,
	} {
		if got := prefersBody(requestWith("/", "Prefer", header)); got != want {
			t.Errorf("%q: %v", header, got)
		}
	}
	if !prefersBody(requestWith("/", "Prefer", "wait=1", "Prefer", "return=representation")) {
		t.Error("the second header is not read")
	}
}

// If-None-Match: weak and strong tags, bare values, lists and the asterisk.
func TestMatchesETag(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]bool{
		"": false, `"v1"`: true, `W/"v1"`: true, "v1": true, "*": true, `"v0", W/"v1"`: true, `  "v1"  `: true,
		`"v10"`: false, `"v"`: false, `w/"v1"`: false, `"v0"`: false, `W/"v1`: true,
	} {
		if got := MatchesETag([]string{header}, "v1"); got != want {
			t.Errorf("%q: %v", header, got)
		}
	}
	if MatchesETag(nil, "v1") || !MatchesETag([]string{`"a"`, `"v1"`}, "v1") {
		t.Error("not all headers are read")
	}
}

// A parameter without a value is set; false, 0 and no are not, in any case.
func TestBoolParameter(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]bool{
		"": false, "x": true, "x=": true, "x=1": true, "x=true": true, "x=yes": true, "x=null": true, "x=off": true, "X=1": false,
		"x=0": false, "x=false": false, "x=FALSE": false, "x=no": false, "x=No": false, "x=false&x=true": false, "x=00": true, "x=+0": true,
	} {
		q, err := url.ParseQuery(query)
		if got := BoolParameter(q, "x"); err != nil || got != want {
			t.Errorf("%q: %v, %v", query, got, err)
		}
	}
}

// The first moment of the year 1 is a time like any other, not null.
func TestInstant_JSON(t *testing.T) {
	t.Parallel()
	for want, at := range map[string]time.Time{
		`"0001-01-01T00:00:00Z"`: {}, `"2026-01-31T09:00:00Z"`: time.Date(2026, 1, 31, 9, 0, 0, 0, time.UTC), `"2026-01-31T08:00:00.123456Z"`: time.Date(2026, 1, 31, 9, 0, 0, 123456789, time.FixedZone("", 3600)),
	} {
		if got, err := Instant(at).MarshalJSON(); err != nil || string(got) != want {
			t.Errorf("%s, %v, want %s", got, err, want)
		}
	}
}

// Ids of requests from clients are written to logs: only letters, digits and -_.:/+=@, at most 128.
func TestRequestID(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]bool{
		"": false, "a": true, "0191f0a2-5b1c-7d3e-8f40-1a2b3c4d5e6f": true, "Root=1-67891233-abc@x/y+z_.:": true,
		"a b": false, "a\n": false, "é": false, "a,b": false, `"a"`: false, "a;b": false, "a%20": false,
		strings.Repeat("a", maxRequestID): true, strings.Repeat("a", maxRequestID+1): false,
	} {
		if got := isRequestID(id); got != want {
			t.Errorf("%q: %v", id, got)
		}
	}
	own := func(id string) func(*http.Request) string { return func(*http.Request) string { return id } }
	for name, c := range map[string]struct {
		sent  []string
		newID func(*http.Request) string
		want  string // "" for a random uuid
	}{
		"the client's":         {[]string{"X-Request-Id", "a"}, own("b"), "a"},
		"the first of two":     {[]string{"X-Request-Id", "a", "X-Request-Id", "b"}, nil, "a"},
		"the service's":        {nil, own("b"), "b"},
		"an invalid one":       {[]string{"X-Request-Id", "a b"}, own("b"), "b"},
		"two that are invalid": {[]string{"X-Request-Id", "a b"}, own("c\n"), ""},
		"neither":              {nil, nil, ""},
	} {
		s := &Server{NewID: c.newID}
		if got := s.nameRequest(requestWith("/", c.sent...)); got != c.want && (c.want != "" || !IsUUID(got)) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// Tokens of public configuration: letters, digits, - and _, at most 200.
func TestConfigToken(t *testing.T) {
	t.Parallel()
	for token, want := range map[string]bool{
		"phc_A-9": true, "": true, "a.b": false, "a/b": false, "é": false, "a b": false, strings.Repeat("a", 200): true, strings.Repeat("a", 201): false,
	} {
		if got := IsConfigToken(token); got != want {
			t.Errorf("%q: %v", token, got)
		}
	}
}

// The SDK of a request is in its User-Agent, before the version. posthog-js in browsers has the
// browser's User-Agent, but its version in the query.
func TestSDKOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ agent, target, want string }{
		{"posthog-python/3.7.0", "/", "posthog-python"}, {"posthog-go/1.2", "/flags?ver=1.2", "posthog-go"}, {"curl/8.5.0", "/", "curl"}, {"posthog-node", "/", "posthog-node"},
		{"Mozilla/5.0", "/flags/?v=2&ver=1.260.0", "posthog-js"}, {"", "/?ver=1", "posthog-js"}, {"Mozilla/5.0", "/flags/?v=2", "other"}, {"", "/", "other"}, {"my-posthog-go/1", "/", "other"},
	} {
		if got := SDKOf(requestWith(c.target, "User-Agent", c.agent)); got != c.want {
			t.Errorf("%q, %s: %s, want %s", c.agent, c.target, got, c.want)
		}
	}
}

// Secret keys are counted by their mask; all public keys as one.
func TestUsageKey(t *testing.T) {
	t.Parallel()
	for token, want := range map[string]string{"phc_abcdefghijklmnop": PublicKey, "": PublicKey, "phx_abcdefghijklmnop": "phx_...mnop", "phs_abcdefghijklmnop": "phs_...mnop", "PHX_abcdefghijklmnop": PublicKey} {
		if got := UsageKey(token); got != want {
			t.Errorf("%q: %q, want %q", token, got, want)
		}
	}
}

// Usage is summed by project, resource, key and SDK until it is read, for at most 4096 of these.
func TestUsageCounter(t *testing.T) {
	t.Parallel()
	var c usageCounter
	if got := c.Take(); len(got) != 0 {
		t.Errorf("at the beginning: %v", got)
	}
	c.Add("t", UsageEvents, "k", "curl", 2)
	c.Add("t", UsageEvents, "k", "curl", 3)
	c.Add("t", UsageEvents, "k", "curl", 0)
	c.Add("t", UsageEvents, "k", "curl", -7)
	if diff := cmp.Diff([]usage{{"t", UsageEvents, "k", "curl", 5}}, c.Take()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := c.Take(); len(got) != 0 {
		t.Errorf("counted twice: %v", got)
	}
	for _, u := range []usage{{"t", "r", "k", "s", 1}, {"u", "r", "k", "s", 1}, {"t", "q", "k", "s", 1}, {"t", "r", "l", "s", 1}, {"t", "r", "k", "x", 1}} {
		c.Add(u.Token, u.Resource, u.Key, u.SDK, 1)
	}
	if got := c.Take(); len(got) != 5 {
		t.Errorf("%d counts of five", len(got))
	}
	buffer := []byte("token")
	c.Add(string(buffer), UsageFlags, "k", "s", 1)
	for i := range maxUsage + 10 {
		c.Add(fmt.Sprint(i), UsageFlags, "k", "s", 1)
	}
	c.Add("token", UsageFlags, "k", "s", 1) // counted, since it is one of the 4096
	total := int64(0)
	got := c.Take()
	for _, u := range got {
		total += u.N
	}
	if len(got) != maxUsage || total != maxUsage+1 {
		t.Errorf("%d counts with the sum %d", len(got), total)
	}
}

// A response time is counted in the first bucket that it does not exceed, and the buckets are
// cumulative, as in Prometheus. Odd statuses count as the nearest class.
func TestLatency_Totals(t *testing.T) {
	t.Parallel()
	s := &Server{}
	route := s.measure("/flags")
	if s.measure("/flags") != route || s.measure("/other") == route {
		t.Error("a route is not counted as one")
	}
	for _, d := range []time.Duration{0, 500 * time.Microsecond, 500*time.Microsecond + 1, time.Second, 10 * time.Second, 10*time.Second + 1} {
		route.add(200, d)
	}
	route.add(404, time.Millisecond)
	route.add(99, 0)
	route.add(600, 0)
	got := map[string]latency{}
	for _, l := range s.LatencyTotals() {
		if l.Route != "/flags" {
			t.Errorf("%s was not requested", l.Route)
		}
		got[l.Class] = l
	}
	ok := got["2xx"]
	within := map[float64]uint64{0.0005: 2, 0.001: 3, 0.5: 3, 1: 4, 5: 4, 10: 5}
	for bound, want := range within {
		if ok.Within[bound] != want {
			t.Errorf("%d within %v s, want %d", ok.Within[bound], bound, want)
		}
	}
	if want := 21*time.Second + time.Millisecond + 2; ok.Count != 6 || ok.Sum != want || len(ok.Within) != len(latencyBounds) {
		t.Errorf("%+v", ok)
	}
	if len(got) != 4 || got["4xx"].Count != 1 || got["4xx"].Within[0.0005] != 0 || got["4xx"].Within[0.001] != 1 || got["1xx"].Count != 1 || got["5xx"].Count != 1 {
		t.Errorf("%+v", got)
	}
}

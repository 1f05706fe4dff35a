package intake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
	"github.com/bunting-flags/bunting/capture"
)

// The query parameters of a capture request (spec/capture.md §1.5). Of duplicate names the first
// counts, and no value is an error.
func TestCaptureQuery(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]captureQuery{
		"":                     {},
		"&&=&x=1&data":         {},
		"data=abc":             {data: "abc"},
		"data=a%2Bb+c":         {data: "a+b c"},
		"data=&data=b":         {}, // the first is empty
		"data=a&data=b":        {data: "a"},
		"%64ata=a":             {data: "a"},
		"Data=a":               {},
		"compression=gzip-js":  {compression: "gzip-js"},
		"compression=%zz":      {compression: "%zz"},
		"_=1700000000000":      {sentAt: "1700000000000"},
		"sent_at=1":            {sentAt: "1"},
		"_=2&sent_at=1":        {sentAt: "1"},
		"sent_at=&_=2":         {sentAt: "2"},
		"beacon=1":             {beacon: true},
		"beacon=true":          {},
		"beacon=0":             {},
		"beacon=0&beacon=1":    {},
		"ip=0&ver=1&v=2&lib=x": {},
		"token=a":              {token: "a"},
		"api_key=b":            {token: "b"},
		"api_key=b&token=a":    {token: "a"},
		"ip=1&_=5&ver=1.2&compression=gzip-js&data=x": {sentAt: "5", compression: "gzip-js", data: "x"},
	} {
		if got := parseCaptureQuery(raw); got != want {
			t.Errorf("%q: %+v, want %+v", raw, got, want)
		}
	}
}

// The names of encodings (§1.5, §2.4); others are ignored.
func TestCodecs(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]codec{
		"gzip": codecGzip, "gzip-js": codecGzip, " GZIP ": codecGzip, "lz64": codecLZ64, "lz-string": codecLZ64, "LZ64": codecLZ64, "base64": codecBase64, "b64": codecBase64,
		"": codecUnknown, "br": codecUnknown, "gzip, br": codecUnknown, "deflate": codecUnknown, "identity": codecUnknown,
	} {
		if got := codecOf(name); got != want {
			t.Errorf("%q: %d, want %d", name, got, want)
		}
	}
}

// A form has the type of forms, and one of four fields at the beginning of its first 128 bytes, or
// in them after an ampersand (§2.3).
func TestForms(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]bool{
		"application/x-www-form-urlencoded": true, "Application/X-WWW-Form-Urlencoded; charset=UTF-8": true, " application/x-www-form-urlencoded ;": true,
		"": false, "text/plain": false, "application/json": false, "multipart/form-data; boundary=x": false, "text/plain; application/x-www-form-urlencoded": false,
	} {
		if got := isForm(kind); got != want {
			t.Errorf("%q: %v", kind, got)
		}
	}
	pad := func(n int) string { return strings.Repeat("x", n) }
	for body, want := range map[string]bool{
		"data=abc": true, "_=1": true, "ip=1&data=x": true, "compression=gzip&data=x": true, "a=1&data=x": true, "a&_=": true, "data=": true,
		"": false, "data": false, "xdata=a": false, `{"a":"data="}`: false, "a=1": false, "Data=a": false, "a=data=": false, "&": false, "a;data=x": false,
		pad(122) + "&data=x": true, pad(123) + "&data=x": false, // of the first, "&data=" ends with the byte 128
		pad(125) + "&_=1": true, pad(126) + "&_=1": false,
	} {
		if got := looksLikeForm([]byte(body)); got != want {
			t.Errorf("%.20q of %d bytes: %v", body, len(body), got)
		}
	}
}

// The headers of protocol v1 that are refused, before the body is read (§6.1).
func TestV1_Headers(t *testing.T) {
	t.Parallel()
	good := map[string]string{
		"Authorization": "Bearer phc_a", "Content-Type": "application/json", "PostHog-Sdk-Info": "go/1.0", "PostHog-Attempt": "1",
		"PostHog-Request-Id": "0191f0a2-5b1c-7d3e-8f40-1a2b3c4d5e6f", "PostHog-Request-Timestamp": "2026-01-02T03:04:05.678Z", "User-Agent": "x",
	}
	for name, c := range map[string]struct {
		header, value string // "" removes the header
		want          string // "" if the request is accepted
	}{
		"all of them":             {"Accept", "x", ""},
		"another case":            {"Authorization", "bearer phc_a", ""},
		"no key":                  {"Authorization", "", "401 missing_api_key"},
		"another scheme":          {"Authorization", "Basic phc_a", "401 missing_api_key"},
		"a personal key":          {"Authorization", "Bearer phx_a", "401 invalid_api_key"},
		"a key that is not ASCII": {"Authorization", "Bearer phc_é", "401 invalid_api_key"},
		"a charset":               {"Content-Type", "application/json; charset=utf-8", ""},
		"in capital letters":      {"Content-Type", "Application/JSON", ""},
		"text":                    {"Content-Type", "text/plain", "415 unsupported_content_type"},
		"no type":                 {"Content-Type", "", "415 unsupported_content_type"},
		"gzip":                    {"Content-Encoding", "GZIP", ""},
		"deflate":                 {"Content-Encoding", "deflate", ""},
		"brotli":                  {"Content-Encoding", "br", ""},
		"zstd":                    {"Content-Encoding", "zstd", ""},
		"identity":                {"Content-Encoding", "identity", ""},
		"compress":                {"Content-Encoding", "compress", "415 unsupported_encoding"},
		"two encodings":           {"Content-Encoding", "gzip, br", "415 unsupported_encoding"},
		"no SDK":                  {"PostHog-Sdk-Info", "", "400 missing_required_headers"},
		"no attempt":              {"PostHog-Attempt", "", "400 missing_required_headers"},
		"no request id":           {"PostHog-Request-Id", "", "400 missing_required_headers"},
		"no timestamp":            {"PostHog-Request-Timestamp", "", "400 missing_required_headers"},
		"blanks":                  {"PostHog-Sdk-Info", " ", "400 missing_required_headers"},
		"attempt 0":               {"PostHog-Attempt", "0", "400 invalid_header_value"},
		"attempt -1":              {"PostHog-Attempt", "-1", "400 invalid_header_value"},
		"attempt 2":               {"PostHog-Attempt", "2", ""},
		"no UUID":                 {"PostHog-Request-Id", "7", "400 invalid_header_value"},
		"no RFC 3339":             {"PostHog-Request-Timestamp", "1767225600", "400 invalid_header_value"},
	} {
		r := httptest.NewRequest("POST", "/i/v1/analytics/events", nil)
		for header, value := range good {
			r.Header.Set(header, value)
		}
		if r.Header.Set(c.header, c.value); c.value == "" {
			r.Header.Del(c.header)
		}
		q, err := checkV1(r)
		got := ""
		var p *problem.Problem
		if errors.As(problemV1(captureProblem(err)), &p) {
			var body errorV1 // the format of §6.2
			if err := json.Unmarshal(p.Body, &body); err != nil || body.Description == "" || body.URI != docsURI {
				t.Errorf("%s: %s, %v", name, p.Body, err)
			}
			got = fmt.Sprintf("%d %s", p.Status, body.Error)
		}
		if !strings.HasPrefix(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%s: %q, %v, want %q", name, got, err, c.want)
		}
		if err == nil && (q.token != "phc_a" || q.unpack == nil || q.headers.Attempt == "") {
			t.Errorf("%s: %+v", name, q)
		}
	}
}

// Errors of package capture in responses (§4.2). A store that is not available, and a client that
// has left, are errors that may be repeated, with their cause for the log.
func TestCaptureProblem(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"a problem":      {fmt.Errorf("x: %w", &problemNoData), "400 no_data"},
		"invalid":        {&capture.Refusal{Kind: capture.Invalid, Code: "c", Detail: "d", Attr: "a"}, "400 c"},
		"a bad key":      {&capture.Refusal{Kind: capture.Unauthorized, Code: "c"}, "401 c"},
		"too large":      {fmt.Errorf("x: %w", &capture.Refusal{Kind: capture.TooLarge, Code: "c"}), "413 c"},
		"an unknown key": {fmt.Errorf("x: %w", capture.ErrUnknownKey), "401 invalid_api_key"},
		"unavailable":    {capture.ErrUnavailable, "503 server_error"},
		"a deadline":     {context.DeadlineExceeded, "503 server_error"},
		"a client's end": {context.Canceled, "503 server_error"},
	} {
		err := captureProblem(c.err)
		var p *problem.Problem
		if !errors.As(err, &p) || fmt.Sprintf("%d %s", p.Status, p.Code) != c.want || p.Status == 503 && !errors.Is(err, c.err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	other := errors.New("x")
	if !errors.Is(captureProblem(other), other) {
		t.Error("another error is changed")
	}
	var p *problem.Problem
	if errors.As(captureProblem(&capture.Refusal{Kind: capture.Invalid, Code: "c", Detail: "d", Attr: "batch[0]"}), &p); p.Detail != "d" || *p.Attr != "batch[0]" {
		t.Errorf("%+v", p)
	}
}

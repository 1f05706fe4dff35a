package httpapi_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/adapters/httpapi"
)

// For any request the response is not 5xx, and for the flags routes it is JSON: an error with its
// four members, or a result.
func FuzzHandler(f *testing.F) {
	for _, cases := range caseFiles(f) {
		for i := range cases {
			r := &cases[i].Request
			f.Add(r.Method, r.Path, r.Headers["Content-Type"], "Authorization", r.Headers["Authorization"], r.body(f))
		}
	}
	for _, r := range recordings(f) {
		f.Add(r.Method, r.URL, r.Headers["content-type"], "Origin", r.Headers["origin"], r.Body)
	}
	f.Add("POST", "/flags?v=2&compression=lz64", "", "X-Forwarded-For", "1.2.3.4", []byte("N4Ig"))
	f.Add("POST", "/flags?v=2", "", "HTTP_X_FORWARDED_FOR", "::1", []byte(good))
	h := sharedWorld(f).handler(f, nil, func(c *httpapi.Config) {
		c.RateLimits = httpapi.RateLimits{IP: httpapi.Rate{PerSecond: 1e9, Burst: 1e9}, Token: httpapi.Rate{PerSecond: 1e9, Burst: 1e9}}
		c.MaxBody = 1 << 20
	})
	f.Fuzz(func(t *testing.T, method, target, contentType, header, v string, text []byte) {
		u, err := url.ParseRequestURI(target)
		if err != nil || method == "" || strings.ContainsAny(method, " \r\n") {
			return // net/http does not accept it
		}
		r := httptest.NewRequest("POST", "/", strings.NewReader(string(text)))
		r.Method, r.URL = method, u
		r.Header.Set("Content-Type", contentType)
		r.Header[http.CanonicalHeaderKey(header)] = []string{v, v}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		w := httptest.NewRecorder()
		h.ServeHTTP(leavingWriter{w, cancel}, r.WithContext(ctx))
		checkAnyAnswer(t, r, w)
	})
}

// leavingWriter is a client that disconnects when a stream begins.
type leavingWriter struct {
	http.ResponseWriter
	leave func()
}

func (w leavingWriter) Flush() { w.leave() }

func checkAnyAnswer(t *testing.T, r *http.Request, w *httptest.ResponseRecorder) {
	if w.Code >= 500 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if strings.Contains(w.Body.String(), `"errorCode":`) && strings.HasPrefix(r.URL.Path, "/ofrep/v1/") {
		checkOFREP(t, w)
		return
	}
	if w.Code >= 400 && r.Method != http.MethodHead {
		checkError(t, w, w.Code)
		return
	}
	path := strings.TrimSuffix(r.URL.Path, "/")
	if path != "/flags" && path != "/decide" || w.Code != http.StatusOK || w.Body.Len() == 0 {
		return
	}
	var answer map[string]json.RawMessage
	decodeJSON(t, w.Body.Bytes(), &answer)
	_, v2 := answer["flags"]
	_, older := answer["featureFlags"]
	if v2 == older || answer["requestId"] == nil || answer["evaluatedAt"] == nil {
		t.Fatalf("%s", w.Body)
	}
}

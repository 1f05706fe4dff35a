package httpapi_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management/organizations"
)

// withSession returns a recording as a browser sends it that also has a cookie of the console.
func (r recording) withSession(token string) recording {
	_, port, _ := strings.Cut(r.Headers["host"], ":")
	cookies := "bunting-" + port + "=" + token
	if own := r.Headers["cookie"]; own != "" {
		cookies = own + "; " + cookies
	}
	r.Headers = maps.Clone(r.Headers)
	r.Headers["cookie"] = cookies
	return r
}

// console.md T32: recorded requests of SDKs from a browser with a session of the console, or with a
// session that has ended, have the same responses and effects as without a cookie.
func TestConsole_T32_RecordedRequestsWithASession(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	raw := strings.Replace(recordedProject, "{", `{"organization": {"id": "0191f0a2-5b1c-7d3e-8f40-1a2b3c4d5e6f", "name": "shop"}, `, 1)
	file, err := flags.ParseFile([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	if err := o.store.ApplyFile(t.Context(), "shop.json", file, []byte(raw)); err != nil {
		t.Fatal(err)
	}
	if err := o.service.Organizations.Adopt(t.Context(), organizations.Adoption{Email: "owner@example.com"}); err != nil {
		t.Fatal(err)
	}
	_, token, _ := strings.Cut(o.ownerSession(t), "=")
	for cookie, status := range map[string]int{token: http.StatusOK, strings.Repeat("A", 43): http.StatusUnauthorized} {
		v := visit{request: "GET /api/users/@me/", host: "127.0.0.1:9467", cookie: "bunting-9467=" + cookie}
		if res, text := o.visits(t, o.Server, v); res.StatusCode != status {
			t.Fatalf("the session %s has %d %s, want %d", cookie, res.StatusCode, text, status)
		}
		for name, r := range recordings(t) {
			r = r.withSession(cookie)
			t.Run(name, func(t *testing.T) { r.check(t, o.Server) })
		}
	}
	scenarios := capturedScenarios(t)
	for name, requests := range captured(t) {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, "{}")
			config := l.config
			config.Management, config.SignIn = o.service, o.config.SignIn
			h, err := httpapi.New(config)
			if err != nil {
				t.Fatal(err)
			}
			l.Server.Close()
			l.Server, l.handler = httptest.NewServer(h), h
			for i := range requests {
				requests[i].recording = requests[i].withSession(token)
			}
			want := scenarios[name]
			want.check(t, l, requests)
		})
	}
}

package exports_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/adapters/internal/exports"
)

// experiments.md §4.11: only https, except for --export-networks. The rules of exports apply to
// addresses.
func TestWebhooks_Check(t *testing.T) {
	closed, open := exports.NewWebhooks(exports.Config{}), exports.NewWebhooks(exports.Config{Allowed: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}})
	for _, tt := range []struct {
		address      string
		closed, open bool
	}{
		{"https://example.com/hook?token=1", true, true},
		{"https://8.8.8.8/", true, true},
		{"http://example.com/", false, true}, // the address is checked at the connection
		{"http://8.8.8.8/", false, false},
		{"http://10.1.2.3:8080/", false, true},
		{"https://10.1.2.3/", false, true},
		{"https://127.0.0.1/", false, false},
		{"https://[::1]/", false, false},
		{"https://169.254.169.254/latest", false, false},
		{"https://user:password@example.com/", false, false},
		{"ftp://example.com/", false, false},
		{"https:///path", false, false},
		{"example.com", false, false},
		{"", false, false},
		{"https://example.com/" + strings.Repeat("a", 1981), false, false}, // of 2,001 bytes
		{"https://example.com/" + strings.Repeat("a", 1980), true, true},
	} {
		for hooks, want := range map[*exports.Webhooks]bool{closed: tt.closed, open: tt.open} {
			if err := hooks.Check(tt.address); err == nil != want {
				t.Errorf("%.60s (with 10.0.0.0/8: %t): %v, want allowed: %t", tt.address, hooks == open, err, want)
			}
		}
	}
}

// experiments.md §4.11: a status of 2xx is success. Redirects are not followed, and private addresses
// are not reached, not even through a name.
func TestWebhooks_Post(t *testing.T) {
	a := newFakeReceiver(t, status(204), status(200), status(302, "Location", "/other"), status(500), status(199+200))
	hooks := exports.NewWebhooks(exports.Config{Allowed: loopback})
	for n, want := range []string{"", "", "the status 302", "the status 500", "the status 399"} {
		err := hooks.Post(t.Context(), a.URL+"/hook", map[string]string{"X-Bunting-Delivery": "7"}, []byte(`{"n":1}`))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("answer %d: %v, want %q", n, err, want)
		}
		if body := <-a.bodies; string(body) != `{"n":1}` {
			t.Errorf("the body is %s", body)
		}
	}
	if n := a.calls.Load(); n != 5 {
		t.Errorf("%d requests, want 5: the redirect was followed", n)
	}
	secure := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a private address is reached") }))
	defer secure.Close()
	byName := strings.Replace(secure.URL, "127.0.0.1", "localhost", 1)
	for _, address := range []string{secure.URL, byName} {
		if err := exports.NewWebhooks(exports.Config{}).Post(t.Context(), address, nil, nil); err == nil || !strings.Contains(err.Error(), "not public") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

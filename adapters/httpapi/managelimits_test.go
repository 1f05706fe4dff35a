package httpapi_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/admission"
)

// spec/management.md §2.6, row 74 of §6: 480 requests per minute and 4,800 per hour for a key, 240
// per minute for reading persons; failed keys are limited by address.
func TestManagement_RateLimits(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	limits := httpapi.DefaultManagementLimits()
	limits.Now = o.now
	s := o.serve(t, func(c *httpapi.Config) { c.ManagementLimits = limits })
	ask := func(caller, path string) (int, http.Header) {
		step := manageStep{As: caller, Request: "GET " + path}
		status, headers, _ := o.sendTo(t, s.URL, &step)
		return status, headers
	}
	repeat := func(n int, caller, path string) {
		t.Helper()
		for i := range n {
			if status, _ := ask(caller, path); status != http.StatusOK {
				t.Fatalf("request %d to %s as %s: %d", i+1, path, caller, status)
			}
		}
	}
	domains := "/api/organizations/" + officeOrg + "/domains/"
	repeat(480, "owner", domains)
	o.clock.Add((20 * time.Second).Microseconds())
	if status, headers := ask("owner", domains); status != http.StatusTooManyRequests || headers.Get("Retry-After") != "40" {
		t.Errorf("request 481: %d, Retry-After %q; want 429 and 40", status, headers.Get("Retry-After"))
	}
	if status, _ := ask("owner organization:read", domains); status != http.StatusOK {
		t.Errorf("another key of the same user: %d", status)
	}
	o.clock.Add((40 * time.Second).Microseconds())
	repeat(480, "owner", domains)

	repeat(240, "admin", "/api/projects/1/persons/")
	if status, _ := ask("admin", "/api/projects/1/persons/"); status != http.StatusTooManyRequests {
		t.Errorf("reading persons 241 times in a minute: %d, want 429", status)
	}
	if status, _ := ask("admin", domains); status != http.StatusOK {
		t.Errorf("what has limits of its own counts for all: %d", status)
	}

	bad := manageStep{As: "none", Headers: map[string]string{"Authorization": "Bearer phx_guess"}, Request: "GET " + domains}
	for i := range 60 {
		if status, _, _ := o.sendTo(t, s.URL, &bad); status != http.StatusUnauthorized {
			t.Fatalf("guess %d: %d", i+1, status)
		}
	}
	if status, headers, _ := o.sendTo(t, s.URL, &bad); status != http.StatusTooManyRequests || headers.Get("Retry-After") == "" {
		t.Errorf("guess 61: %d, want 429", status)
	}
	if status, _ := ask("member", domains); status != http.StatusOK {
		t.Errorf("a valid key behind the address of the guesses: %d", status)
	}
	for i := range 60 * admission.PeerFailures { // a trusted proxy reports a different client each time
		bad.Headers["X-Forwarded-For"] = fmt.Sprintf("198.51.100.%d", i%250)
		if i >= 250 {
			bad.Headers["X-Forwarded-For"] = fmt.Sprintf("2001:db8:%x::1", i)
		}
		if status, _, _ := o.sendTo(t, s.URL, &bad); status != http.StatusUnauthorized {
			t.Fatalf("guess %d of many addresses: %d", i+1, status)
		}
	}
	if status, _, _ := o.sendTo(t, s.URL, &bad); status != http.StatusTooManyRequests {
		t.Errorf("one guess too many behind a proxy: %d, want 429", status)
	}
	delete(bad.Headers, "X-Forwarded-For")
	if status, _ := ask("member", domains); status != http.StatusOK {
		t.Errorf("a valid key behind the proxy of the guesses: %d", status)
	}
	o.clock.Add(time.Minute.Microseconds())
	if status, _, _ := o.sendTo(t, s.URL, &bad); status != http.StatusUnauthorized {
		t.Errorf("a minute later: %d, want 401", status)
	}
}

// Unknown keys are rate limited for definitions and remote configuration too, without blocking
// valid keys.
func TestFlags_1_8_FailedKeys(t *testing.T) {
	h := sharedWorld(t).handler(t, nil, func(c *httpapi.Config) { c.ManagementLimits.Failures = httpapi.Windows{PerMinute: 3} })
	paths := []string{"/flags/definitions?token=phc_test", "/api/projects/1/feature_flags/settings/remote_config", "/flags/definitions/stream?token=phc_test"}
	for _, path := range paths {
		checkError(t, ask(h, "GET", path, "", "Authorization", "Bearer phx_guess"), 401)
	}
	for _, path := range paths {
		if w := ask(h, "GET", path, "", "Authorization", "Bearer phx_guess"); w.Code != 429 || w.Header().Get("Retry-After") == "" {
			t.Errorf("%s with a wrong key once too often: %d", path, w.Code)
		}
	}
	for _, path := range paths[:2] {
		if w := ask(h, "GET", path, "", "Authorization", "Bearer phx_read"); w.Code != 200 {
			t.Errorf("%s with a valid key: %d", path, w.Code)
		}
	}
}

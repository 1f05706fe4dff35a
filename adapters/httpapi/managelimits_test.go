package httpapi_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi"
)

// spec/management.md §2.6, row 74 of §6: 480 requests a minute and 4,800 an hour
// for a key, 240 a minute for reading persons; failed keys by address.
func TestManagement_RateLimits(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	limits := httpapi.DefaultManagementLimits()
	limits.Now = o.now
	s := o.serve(t, func(c *httpapi.Config) { c.ManagementLimits = limits })
	ask := func(who, path string) (int, http.Header) {
		step := manageStep{As: who, Request: "GET " + path}
		status, headers, _ := o.sendTo(t, s.URL, &step)
		return status, headers
	}
	repeat := func(n int, who, path string) {
		t.Helper()
		for i := range n {
			if status, _ := ask(who, path); status != http.StatusOK {
				t.Fatalf("request %d to %s as %s: %d", i+1, path, who, status)
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
	o.clock.Add(time.Minute.Microseconds())
	if status, _, _ := o.sendTo(t, s.URL, &bad); status != http.StatusUnauthorized {
		t.Errorf("a minute later: %d, want 401", status)
	}
}

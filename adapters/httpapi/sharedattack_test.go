package httpapi_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/bunting-flags/bunting/adapters/httpapi"
)

// shareWithPassword creates a dashboard that is shared with a password, and returns the token of
// its link.
func (o *office) shareWithPassword(t *testing.T, password string) string {
	t.Helper()
	id, _ := dig(o.do(t, "POST /api/projects/1/dashboards/", `{"name":"Secret"}`, 201), "id")
	path := "/api/projects/1/dashboards/" + id + "/sharing/"
	token, _ := dig(o.do(t, "PATCH "+path, `{"enabled":true,"password_required":true}`, 200), "access_token")
	o.do(t, "POST "+path+"passwords/", `{"raw_password":"`+password+`"}`, 201)
	return token
}

// guess posts a password from an address and returns the status.
func guess(t *testing.T, url, token, password, from string) int {
	t.Helper()
	r, err := http.NewRequest(http.MethodPost, url+"/shared/"+token, strings.NewReader(`{"password":"`+password+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Forwarded-For", from)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	return res.StatusCode
}

// Many addresses guess the password of a link concurrently. Only a few guesses are checked, and
// neither the visitors of other links nor visitors with access are delayed.
func TestShared_GuessesFromManyAddresses(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	s := o.serve(t, func(c *httpapi.Config) { c.ManagementLimits = httpapi.DefaultManagementLimits() })
	attacked, other := o.shareWithPassword(t, "correct horse"), o.shareWithPassword(t, "battery staple")
	if got := guess(t, s.URL, attacked, "correct horse", "198.51.100.1"); got != http.StatusOK {
		t.Fatal("the right password:", got)
	}
	const attackers = 150
	var mu sync.Mutex
	statuses := map[int]int{}
	var group sync.WaitGroup
	for n := range attackers {
		group.Go(func() {
			got := guess(t, s.URL, attacked, fmt.Sprint("wrong horse ", n), fmt.Sprint("203.0.113.", n))
			mu.Lock()
			defer mu.Unlock()
			statuses[got]++
		})
	}
	if got := guess(t, s.URL, other, "battery staple", "198.51.100.2"); got != http.StatusOK {
		t.Error("a visitor of another link meanwhile:", got)
	}
	if got := guess(t, s.URL, attacked, "correct horse", "198.51.100.3"); got != http.StatusOK {
		t.Error("a visitor with the right password meanwhile:", got)
	}
	group.Wait()
	// 30 per minute and link (DefaultManagementLimits), one of which was the owner's own.
	if statuses[http.StatusUnauthorized] > 29 || statuses[http.StatusUnauthorized] == 0 {
		t.Errorf("%d guesses were looked at: %v", statuses[http.StatusUnauthorized], statuses)
	}
	if n := statuses[http.StatusUnauthorized] + statuses[http.StatusTooManyRequests] + statuses[http.StatusServiceUnavailable]; n != attackers {
		t.Errorf("answers %v", statuses)
	}
	if got := guess(t, s.URL, attacked, "correct horses", "198.51.100.4"); got != http.StatusTooManyRequests {
		t.Error("another wrong guess:", got)
	}
	if got := guess(t, s.URL, "nothing", "correct horse", "203.0.113.1"); got != http.StatusNotFound {
		t.Error("no such link:", got)
	}
}

// A single address that guesses at many links is rate limited too.
func TestShared_GuessesFromOneAddress(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	limits := httpapi.DefaultManagementLimits()
	limits.Guesses.PerMinute = 3
	s := o.serve(t, func(c *httpapi.Config) { c.ManagementLimits = limits })
	var got []int
	for range 4 {
		got = append(got, guess(t, s.URL, o.shareWithPassword(t, "correct horse"), "wrong horse", "203.0.113.1"))
	}
	if want := []int{401, 401, 401, 429}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// If more visitors open links than there are slots, a visitor that waits too long gets an error, as
// JSON or as a page, but only after the check of the password. A slot that becomes free is used.
func TestShared_TooManyAtOnce(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	s := o.serve(t, func(*httpapi.Config) {})
	id, _ := dig(o.do(t, "POST /api/projects/1/dashboards/", `{"name":"Open"}`, 201), "id")
	open, _ := dig(o.do(t, "PATCH /api/projects/1/dashboards/"+id+"/sharing/", `{"enabled":true}`, 200), "access_token")
	closed := o.shareWithPassword(t, "correct horse")
	look := func(accept string) (int, string, http.Header) {
		r, err := http.NewRequest(http.MethodGet, s.URL+"/shared/"+open, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", accept)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return res.StatusCode, string(body), res.Header
	}
	release := httpapi.FillSharedForTest(o.handler)
	var group sync.WaitGroup
	for accept, want := range map[string]string{"application/json": "too_many", "text/html": "Too many dashboards are being viewed at the moment."} {
		for range 20 {
			group.Go(func() {
				status, body, h := look(accept)
				if status != http.StatusServiceUnavailable || h.Get("Retry-After") != "1" || !strings.Contains(body, want) {
					t.Errorf("%s: %d, Retry-After %q, %s", accept, status, h.Get("Retry-After"), body)
				}
			})
		}
	}
	if got := guess(t, s.URL, closed, "wrong horse", "203.0.113.1"); got != http.StatusUnauthorized {
		t.Error("a wrong password:", got)
	}
	group.Wait()
	group.Go(func() {
		if status, body, _ := look("application/json"); status != http.StatusOK {
			t.Error("who waited:", status, body)
		}
	})
	release()
	group.Wait()
}

package httpapi_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/adapters/httpapi"
)

var (
	hiddenSecret = regexp.MustCompile(`<input type="hidden" name="secret" value="([^"]*)">`)
	keyInPage    = regexp.MustCompile(`<code>(phx_[0-9A-Za-z]+)</code>`)
)

// invited creates an invitation and returns its link on the office's own server.
func (o *office) invited(t *testing.T, email string) string {
	t.Helper()
	status, _, body := o.send(t, &manageStep{Request: "POST /api/organizations/{org}/invites/", Body: []byte(`{"target_email": "` + email + `", "first_name": "<Nina>"}`)})
	var in struct {
		URL string `json:"accept_url"`
	}
	if err := json.Unmarshal(body, &in); err != nil || status != http.StatusCreated {
		t.Fatal(status, string(body), err)
	}
	return o.URL + strings.TrimPrefix(in.URL, "https://flags.example.com")
}

// browse sends a request like a browser: a form if form is not nil.
func (o *office) browse(t *testing.T, address, accept string, form url.Values) (int, http.Header, string) {
	t.Helper()
	method, body := http.MethodGet, io.Reader(nil)
	if form != nil {
		method, body = http.MethodPost, strings.NewReader(form.Encode())
	}
	req, err := http.NewRequestWithContext(t.Context(), method, address, body)
	if err != nil {
		t.Fatal(err)
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if accept != "" {
		req.Header.Set("Accept", accept)
	}
	res, err := o.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, res.Header, string(text)
}

const browser = "text/html,application/xhtml+xml,*/*;q=0.8"

// A person follows the link, submits the form, and sees a key only this time (decision 22).
func TestInvitePage(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	link := o.invited(t, "new@example.com")
	path, _, _ := strings.Cut(link, "?")
	for range 2 { // GET accepts no invitation
		status, header, page := o.browse(t, link, browser, nil)
		if status != http.StatusOK || !strings.Contains(page, "new@example.com is invited to the organization Organization A") || !strings.Contains(page, `value="&lt;Nina&gt;"`) {
			t.Fatal(status, page)
		}
		for name, want := range map[string]string{
			"Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff",
		} {
			if got := header.Get(name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
		if policy := header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "frame-ancestors 'none'") {
			t.Errorf("policy %q", policy)
		}
	}
	_, _, page := o.browse(t, link, browser, nil)
	secret := hiddenSecret.FindStringSubmatch(page)
	if secret == nil {
		t.Fatal(page)
	}
	form := url.Values{"secret": {secret[1]}, "first_name": {""}, "role_at_organization": {"data"}}
	if status, _, page := o.browse(t, path, browser, form); status != http.StatusBadRequest || !strings.Contains(page, "This field may not be blank.") || !strings.Contains(page, `<option value="data" selected>`) {
		t.Error(status, page)
	}
	form.Set("first_name", "Nina")
	status, header, page := o.browse(t, path, browser, form)
	key := keyInPage.FindStringSubmatch(page)
	if status != http.StatusCreated || key == nil || header.Get("Cache-Control") != "no-store" {
		t.Fatal(status, page)
	}
	status, _, body := o.send(t, &manageStep{As: "none", Headers: map[string]string{"Authorization": "Bearer " + key[1]}, Request: "GET /api/organizations/@current/invites/"})
	if status != http.StatusOK {
		t.Error(status, string(body))
	}
	for _, form := range []url.Values{nil, form} {
		if status, _, page := o.browse(t, link, browser, form); status != http.StatusBadRequest || !strings.Contains(page, "The provided invite ID is not valid.") || strings.Contains(page, "<form") {
			t.Error(status, page)
		}
	}
}

// A link without its secret shows no form.
func TestInvitePage_NotComplete(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	path, _, _ := strings.Cut(o.invited(t, "new@example.com"), "?")
	for _, address := range []string{path, path + "/", path + "?secret=x"} {
		if status, _, page := o.browse(t, address, browser, nil); status != http.StatusBadRequest || strings.Contains(page, "<form") {
			t.Error(address, status, page)
		}
	}
	if status, _, page := o.browse(t, path, browser, url.Values{"first_name": {"Nina"}}); status != http.StatusBadRequest || strings.Contains(page, "phx_") {
		t.Error(status, page)
	}
}

// A person with an account must enter its key; the link by itself gives no access.
func TestInvitePage_Account(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	link := o.invited(t, "foreign@example.com")
	path, _, _ := strings.Cut(link, "?")
	status, _, page := o.browse(t, link, browser, nil)
	secret := hiddenSecret.FindStringSubmatch(page)
	if status != http.StatusOK || secret == nil || !strings.Contains(page, `name="personal_api_key"`) || strings.Contains(page, `name="first_name"`) {
		t.Fatal(status, page)
	}
	for key, want := range map[string]int{"": http.StatusBadRequest, "phx_wrong": http.StatusUnauthorized, o.key(t, "member"): http.StatusBadRequest} {
		status, _, page := o.browse(t, path, browser, url.Values{"secret": {secret[1]}, "personal_api_key": {key}, "first_name": {"x"}})
		if status != want || !strings.Contains(page, `class="problem"`) {
			t.Errorf("key %q: %d %s", key, status, page)
		}
	}
	status, _, page = o.browse(t, path, browser, url.Values{"secret": {secret[1]}, "personal_api_key": {o.key(t, "foreign")}})
	if status != http.StatusCreated || strings.Contains(page, "phx_") || !strings.Contains(page, "You are a member of Organization A now") {
		t.Error(status, page)
	}
}

// console.md §5.2, Invitation: accepting also creates a session, and the last page links to the
// console; requests from another site or from programs create no session.
func TestInvitePage_Session(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	server := o.serve(t, func(c *httpapi.Config) { c.Console = http.NotFoundHandler() })
	accept := func(email, key string, headers ...string) (*http.Response, string) {
		link := strings.Replace(o.invited(t, email), o.URL, "", 1)
		_, _, page := o.browse(t, o.URL+link, browser, nil)
		secret := hiddenSecret.FindStringSubmatch(page)
		if secret == nil {
			t.Fatal(page)
		}
		path, _, _ := strings.Cut(link, "?")
		form := url.Values{"secret": {secret[1]}, "first_name": {"Nina"}, "personal_api_key": {key}}
		return o.visits(t, server, visit{request: "POST " + path, body: form.Encode(), headers: append([]string{"Content-Type", "application/x-www-form-urlencoded", "Accept", browser}, headers...)})
	}
	res, page := accept("new@example.com", "", "Sec-Fetch-Site", "same-origin")
	if res.StatusCode != http.StatusCreated || len(res.Cookies()) != 1 || !strings.Contains(page, "/console/\">Open the console</a>") {
		t.Fatal(res.StatusCode, res.Cookies(), page)
	}
	cookie := res.Cookies()[0].Name + "=" + res.Cookies()[0].Value
	if res, body := o.visits(t, server, visit{request: "GET /api/session/", cookie: cookie}); res.StatusCode != 200 || !strings.Contains(body, `"method":"invitation"`) || !strings.Contains(body, `"new@example.com"`) {
		t.Error(res.StatusCode, body)
	}
	res, page = accept("foreign@example.com", o.key(t, "foreign"), "Sec-Fetch-Site", "same-origin")
	if res.StatusCode != http.StatusCreated || len(res.Cookies()) != 1 || !strings.Contains(page, "Open the console") {
		t.Error(res.StatusCode, res.Cookies(), page)
	}
	for i, headers := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Origin", "https://evil.example"}, {"Accept", "application/json"}} {
		res, page := accept(fmt.Sprintf("new%d@example.com", i), "", headers...)
		if res.StatusCode != http.StatusCreated || len(res.Cookies()) != 0 || strings.Contains(page, "Open the console") {
			t.Errorf("%q: %d %v %s", headers, res.StatusCode, res.Cookies(), page)
		}
	}
}

// Programs that accept JSON get JSON.
func TestInvitePage_JSON(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	link := o.invited(t, "new@example.com")
	if status, header, body := o.browse(t, link, "application/json", nil); status != http.StatusOK || header.Get("Content-Type") != "application/json" || !strings.Contains(body, `"organization_name":"Organization A"`) {
		t.Error(status, body)
	}
	if status, _, body := o.browse(t, link, "application/json", url.Values{}); status != http.StatusBadRequest || !strings.Contains(body, `"attr":"first_name"`) {
		t.Error(status, body)
	}
	if status, _, body := o.browse(t, link, "application/json", url.Values{"first_name": {"Nina"}}); status != http.StatusCreated || !strings.Contains(body, `"personal_api_key":"phx_`) {
		t.Error(status, body)
	}
}

// Without a site URL the link has the address of the request (decision 22).
func TestInvite_LinkOfTheRequest(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	o.service.Organizations.SiteURL = ""
	link := strings.TrimPrefix(o.invited(t, "new@example.com"), o.URL)
	if !strings.HasPrefix(link, o.URL+"/signup/") {
		t.Errorf("link %q, want one of %s", link, o.URL)
	}
	if status, _, page := o.browse(t, link, browser, nil); status != http.StatusOK {
		t.Error(status, page)
	}
}

package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/rooms"
)

// restrict changes the role of organization A's ordinary members in project 1 to member, of which they are
// administrators by default.
func (o *office) restrict(t *testing.T) {
	t.Helper()
	err := o.store.Management().Write(context.Background(), func(tx rooms.Tx) error {
		p, err := tx.Project(1)
		if err != nil {
			return err
		}
		p.Meta = json.RawMessage(`{"default_access":"member"}`)
		return tx.PutProject(p)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestManagement_RestrictedCases(t *testing.T) {
	eachManageCase(t, "restricted", func(t *testing.T, c *manageCase) {
		o := newOffice(t, "sqlite::memory:")
		o.restrict(t)
		o.walk(t, c.Steps)
	})
}

// do sends a request as the owner and checks its status.
func (o *office) do(t *testing.T, request, body string, status int) []byte {
	t.Helper()
	s := manageStep{Request: request}
	if body != "" {
		s.Body = json.RawMessage(body)
	}
	got, _, answer := o.send(t, &s)
	if got != status {
		t.Fatalf("%s: status %d, want %d: %s", request, got, status, answer)
	}
	return answer
}

// share creates a shared dashboard with a text and an insight and returns its token and path.
func (o *office) share(t *testing.T) (token, path string) {
	t.Helper()
	id, _ := dig(o.do(t, "POST /api/projects/1/dashboards/", `{"name":"<b>Plan</b>","description":"About <i>it</i>"}`, 201), "id")
	path = "/api/projects/1/dashboards/" + id + "/"
	o.do(t, "PATCH "+path, `{"tiles":[{"text":{"body":"<script>alert(1)</script>"}}]}`, 200)
	o.do(t, "POST /api/projects/1/insights/", `{"name":"Visits","description":"Per day","query":{"kind":"</pre>"},"dashboards":[`+id+`]}`, 201)
	token, _ = dig(o.do(t, "PATCH "+path+"sharing/", `{"enabled":true}`, 200), "access_token")
	return token, path
}

// page requests a shared link like a browser.
func (o *office) page(t *testing.T, method, path, form string, status int) (text string, h http.Header) {
	t.Helper()
	s := manageStep{As: "none", Request: method + " " + path, Text: form, Headers: map[string]string{
		"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "Content-Type": "application/x-www-form-urlencoded",
	}}
	got, h, body := o.send(t, &s)
	if got != status || h.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Fatalf("%s: status %d, %s, want %d and HTML", path, got, h.Get("Content-Type"), status)
	}
	return string(body), h
}

func TestShared_Token(t *testing.T) {
	token, _ := newOffice(t, "sqlite::memory:").share(t)
	if !regexp.MustCompile(`^[A-Za-z0-9_-]{30}$`).MatchString(token) {
		t.Errorf("the token %q is not the base64 of 22 bytes", token)
	}
}

// A browser gets a page on which user input is text, not markup.
func TestShared_Page(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	token, path := o.share(t)
	page, h := o.page(t, "GET", "/shared/"+token, "", 200)
	for _, want := range []string{"<h1>&lt;b&gt;Plan&lt;/b&gt;</h1>", "About &lt;i&gt;it&lt;/i&gt;", "&lt;script&gt;alert(1)", "<h2>Visits</h2>", "Per day", "<footer>"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	for _, hidden := range []string{"<script>", "owner@example.com", "kind"} {
		if strings.Contains(page, hidden) {
			t.Errorf("the page has %q", hidden)
		}
	}
	if policy := h.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "frame-ancestors 'none'") {
		t.Errorf("the policy is %q", policy)
	}
	if _, h := o.page(t, "GET", "/embedded/"+token, "", 200); strings.Contains(h.Get("Content-Security-Policy"), "frame-ancestors") {
		t.Error("an embedded page cannot be framed")
	}
	o.do(t, "PATCH "+path+"sharing/", `{"settings":{"noHeader":true,"whitelabel":true,"hideExtraDetails":true,"showInspector":true}}`, 200)
	page, _ = o.page(t, "GET", "/shared/"+token, "", 200)
	for _, absent := range []string{"<h1>", "<footer>", "Per day", "</pre>\"}"} {
		if strings.Contains(page, absent) {
			t.Errorf("the page has %q still", absent)
		}
	}
	if !strings.Contains(page, "&lt;/pre&gt;") {
		t.Error("showInspector shows no query")
	}
}

// A page prompts for the password and accepts it as a form.
func TestShared_PagePassword(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	token, path := o.share(t)
	o.do(t, "PATCH "+path+"sharing/", `{"password_required":true}`, 200)
	o.do(t, "POST "+path+"sharing/passwords/", `{"raw_password":"correct horse"}`, 201)
	page, _ := o.page(t, "GET", "/shared/"+token, "", 401)
	if !strings.Contains(page, `type="password"`) || strings.Contains(page, "Plan") || strings.Contains(page, "alert") {
		t.Errorf("the page is\n%s", page)
	}
	if page, _ = o.page(t, "POST", "/shared/"+token, "password=wrong+horse", 401); !strings.Contains(page, "The password is wrong.") {
		t.Errorf("the page is\n%s", page)
	}
	if page, _ = o.page(t, "POST", "/shared/"+token, "password=correct+horse", 200); !strings.Contains(page, "Plan") {
		t.Errorf("the page is\n%s", page)
	}
	if page, _ = o.page(t, "GET", "/shared/unknown", "", 404); !strings.Contains(page, "not shared") {
		t.Errorf("the page is\n%s", page)
	}
}

func TestShared_Accept(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	token, _ := o.share(t)
	for accept, html := range map[string]bool{
		"": false, "*/*": false, "application/json": false, "text/html": true, "TEXT/HTML;level=1": true, "text/html;q=0": false,
		"application/json, text/html;q=0.9": false, "text/html;q=0.9, application/json;q=0.8": true, "text/html;q=0.5, */*": false, "text/html;q=x": true,
	} {
		_, h, _ := o.send(t, &manageStep{As: "none", Request: "GET /shared/" + token, Headers: map[string]string{"Accept": accept}})
		if got := strings.HasPrefix(h.Get("Content-Type"), "text/html"); got != html {
			t.Errorf("Accept %q: HTML is %v, want %v", accept, got, html)
		}
	}
}

// Too many wrong passwords are rate limited, like wrong keys (decision 25).
func TestShared_Guesses(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	token, path := o.share(t)
	o.do(t, "PATCH "+path+"sharing/", `{"password_required":true}`, 200)
	o.do(t, "POST "+path+"sharing/passwords/", `{}`, 201)
	s := o.serve(t, func(c *httpapi.Config) {
		c.ManagementLimits = httpapi.ManagementLimits{Guesses: httpapi.Windows{PerMinute: 2}, Now: o.now}
	})
	guess := manageStep{As: "none", Request: "POST /shared/" + token, Body: json.RawMessage(`{"password":"a guess"}`)}
	for i, want := range []int{401, 401, 429} {
		if status, _, body := o.sendTo(t, s.URL, &guess); status != want {
			t.Errorf("guess %d: status %d, want %d: %s", i+1, status, want, body)
		}
	}
	o.clock.Add(time.Minute.Microseconds())
	if status, _, _ := o.sendTo(t, s.URL, &guess); status != 401 {
		t.Errorf("a minute later: status %d, want 401", status)
	}
}

// An organization that forbids public sharing has no links, and cannot create any.
func TestShared_OrganizationForbids(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	token, path := o.share(t)
	err := o.store.Management().Write(context.Background(), func(tx rooms.Tx) error {
		org, err := tx.Organization(officeOrg)
		if err != nil {
			return err
		}
		org.Meta = json.RawMessage(`{"no_public_sharing":true}`)
		return tx.PutOrganization(org)
	})
	if err != nil {
		t.Fatal(err)
	}
	forbidden := manageStep{Request: "PATCH " + path + "sharing/", Body: json.RawMessage(`{"enabled":true}`), Status: 403,
		Error: []any{"authentication_error", "permission_denied", "Public sharing is disabled for this organization."}}
	o.step(t, "sharing", &forbidden)
	o.step(t, "link", &manageStep{As: "none", Request: "GET /shared/" + token, Status: 404, Error: []any{"invalid_request", "not_found", "Not found."}})
}

// A dashboard has at most 1000 tiles; deleted tiles are removed first.
func TestDashboards_TileBounds(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	id, _ := dig(o.do(t, "POST /api/projects/1/dashboards/", `{}`, 201), "id")
	path := "/api/projects/1/dashboards/" + id + "/"
	texts := func(n int) string {
		return `{"tiles":[` + strings.TrimSuffix(strings.Repeat(`{"text":{"body":"x"}},`, n), ",") + `]}`
	}
	tooMany := []any{"validation_error", "max_length", "A dashboard has at most 1000 tiles.", "tiles"}
	first, _ := dig(o.do(t, "PATCH "+path, texts(1000), 200), "tiles.0.id")
	o.step(t, "one more", &manageStep{Request: "PATCH " + path, Body: json.RawMessage(texts(1)), Status: 400, Error: tooMany})
	o.do(t, "PATCH "+path, `{"tiles":[{"id":`+first+`,"deleted":true}]}`, 200)
	o.do(t, "PATCH "+path, texts(1), 200)
	o.step(t, "the deleted one is gone", &manageStep{
		Request: "PATCH " + path, Body: json.RawMessage(`{"tiles":[{"id":` + first + `,"deleted":false}]}`), Status: 400,
		Error: []any{"validation_error", "does_not_exist", "Invalid pk \"" + first + "\" - object does not exist.", "tiles__0__id"},
	})
	long := strings.Repeat("x", 4001)
	o.step(t, "a long text", &manageStep{
		Request: "PATCH " + path, Body: json.RawMessage(`{"tiles":[{"id":1,"text":{"body":"` + long + `"}}]}`), Status: 400,
		Error: []any{"validation_error", "max_length", "Text body cannot exceed 4000 characters", "tiles__0__text__body"},
	})
}

// The activity log has the changed fields, without the token of a link.
func TestDashboards_Activity(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	token, path := o.share(t)
	o.do(t, "PATCH "+path, `{"name":"Renamed"}`, 200)
	o.do(t, "PATCH "+path, `{"name":"Renamed"}`, 200)
	o.do(t, "POST "+path+"sharing/refresh/", "", 200)
	c, err := o.service.Authenticate(context.Background(), o.key(t, "owner"), "header")
	if err != nil {
		t.Fatal(err)
	}
	scope, err := o.service.Project(context.Background(), c, "1")
	if err != nil {
		t.Fatal(err)
	}
	log, err := o.service.ActivityLog(context.Background(), scope, management.ActivityQuery{Scopes: []string{"Dashboard"}, Item: "1", Limit: 10, Page: 1})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, a := range log.Results {
		line := a.Activity
		for _, change := range a.Detail.Changes {
			line += " " + change.Field
		}
		got = append(got, line)
	}
	want := []string{"access_token_refreshed", "updated name", "updated sharing_enabled", "updated tiles"}
	if len(got) != len(want)+1 || strings.Join(got[:len(want)], ",") != strings.Join(want, ",") || !strings.HasPrefix(got[len(want)], "created ") {
		t.Errorf("the log is %q, want %q after its creation", got, want)
	}
	if text, _ := json.Marshal(log); bytes.Contains(text, []byte(token)) {
		t.Error("the log tells the token")
	}
}

package httpapi_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/management"
)

// visit is a request of a browser.
type visit struct {
	request, body, cookie string
	host                  string // if it differs from the server's
	headers               []string
}

// visits sends a visit, with v.cookie (name=value), and returns the response and its body.
func (o *office) visits(t *testing.T, server *httptest.Server, v visit) (*http.Response, string) {
	t.Helper()
	method, path, _ := strings.Cut(v.request, " ")
	req, err := http.NewRequest(method, server.URL+path, strings.NewReader(v.body))
	if err != nil {
		t.Fatal(err)
	}
	if req.Host = v.host; v.body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if v.cookie != "" {
		req.Header.Set("Cookie", v.cookie)
	}
	for i := 0; i < len(v.headers); i += 2 {
		req.Header.Set(v.headers[i], v.headers[i+1])
	}
	res, err := server.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.Header.Get("Content-Type") == "text/event-stream" {
		return res, "" // the response has no end
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(body)
}

// newSession returns the cookie of a new session, created with a proof of identity.
func (o *office) newSession(t *testing.T, proof string) string {
	t.Helper()
	res, body := o.visits(t, o.Server, visit{request: "POST /api/session/", body: proof})
	if res.StatusCode != http.StatusCreated || len(res.Cookies()) != 1 {
		t.Fatalf("signing in: %d %s, cookies %v", res.StatusCode, body, res.Cookies())
	}
	return res.Cookies()[0].Name + "=" + res.Cookies()[0].Value
}

// ownerSession returns a session with all rights of the owner, since it was created by a link.
func (o *office) ownerSession(t *testing.T) string {
	t.Helper()
	token, err := o.service.Organizations.Sessions.OwnerLink(t.Context(), "owner@example.com", "", true)
	if err != nil {
		t.Fatal(err)
	}
	return o.newSession(t, `{"link": "`+token+`"}`)
}

func (o *office) wait(d time.Duration) { o.clock.Add(d.Microseconds()) }

// wantResponse sends a visit and checks the status and a part of the response.
func (o *office) wantResponse(t *testing.T, v visit, status int, part string) {
	t.Helper()
	res, body := o.visits(t, o.Server, v)
	if res.StatusCode != status || !strings.Contains(body, part) {
		t.Errorf("%s: %d %s; want %d %q", v.request, res.StatusCode, body, status, part)
	}
}

const ownFlags = "/api/projects/1/feature_flags/"

// console.md §5.1, rows Token, Cookie and New token: 32 bytes, hashed in the store; name and
// attributes of the cookie are exact; a token sent by the client is never adopted.
func TestSession_Cookie(t *testing.T) {
	file := filepath.Join(t.TempDir(), "office.db")
	o := newOffice(t, "sqlite:"+file)
	key := o.key(t, "owner")
	port := o.URL[strings.LastIndexByte(o.URL, ':')+1:]
	res, body := o.visits(t, o.Server, visit{request: "POST /api/session/", body: `{"key": "` + key + `"}`, cookie: "bunting-" + port + "=chosen-by-another"})
	name, rest, _ := strings.Cut(res.Header.Get("Set-Cookie"), "=")
	token, attributes, _ := strings.Cut(rest, "; ")
	if res.StatusCode != 201 || name != "bunting-"+port || attributes != "Path=/; HttpOnly; SameSite=Lax" || len(token) != 43 {
		t.Errorf("%d %s: %s", res.StatusCode, body, res.Header.Get("Set-Cookie"))
	}
	if strings.Contains(body, token) {
		t.Error("the answer has the token in clear")
	}
	o.wantResponse(t, visit{request: "GET /api/session/", cookie: name + "=chosen-by-another"}, 401, "not_authenticated")
	for _, c := range []struct{ host, proto, prefix, want string }{
		{"flags.example.com", "https", "", "__Host-bunting=; Path=/; HttpOnly; Secure; SameSite=Lax"},
		{"flags.example.com", "https", "/ph", "__Host-bunting-ph=; Path=/; HttpOnly; Secure; SameSite=Lax"},
		{"flags.example.com", "https", "/a_b/c", "__Host-bunting-a-b-c=; Path=/; HttpOnly; Secure; SameSite=Lax"},
		{"localhost:8000", "", "", "bunting-8000=; Path=/; HttpOnly; SameSite=Lax"},
		{"[::1]:8001", "", "", "bunting-8001=; Path=/; HttpOnly; SameSite=Lax"},
		{"localhost", "", "/ph", "bunting-80-ph=; Path=/; HttpOnly; SameSite=Lax"},
		{"flags.example.com", "", "", ""}, // plain HTTP to another host: refused
		{"localhost.example.com", "", "", ""},
		{"127.0.0.1.example.com", "", "", ""},
	} {
		res, body := o.visits(t, o.Server, visit{request: "POST /api/session/", body: `{"key": "` + key + `"}`, host: c.host, headers: []string{"X-Forwarded-Proto", c.proto, "X-Forwarded-Prefix", c.prefix}})
		got := res.Header.Get("Set-Cookie")
		if from, to := strings.Index(got, "="), strings.Index(got, ";"); got != "" {
			got = got[:from+1] + got[to:]
		}
		if got != c.want || c.want == "" && (res.StatusCode != 403 || !strings.Contains(body, "https_required")) {
			t.Errorf("%+v: %d %s, cookie %s", c, res.StatusCode, body, got)
		}
	}
	for _, suffix := range []string{"", "-wal"} {
		if stored, err := os.ReadFile(file + suffix); err != nil || strings.Contains(string(stored), token) {
			t.Errorf("%s%s: %v, or the token stands there in clear", file, suffix, err)
		}
	}
}

// console.md §5.1, rows Life and End, and 5.4: a stolen cookie is invalid after sign-out, on any
// server of the database.
func TestSession_Ends(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	other := o.serve(t, func(*httpapi.Config) {})
	whoami := func(cookie string) visit { return visit{request: "GET /api/session/", cookie: cookie} }

	stolen := o.ownerSession(t)
	port := stolen[len("bunting-"):strings.IndexByte(stolen, '=')]
	if res, body := o.visits(t, other, visit{request: "GET /api/session/", cookie: stolen, host: "127.0.0.1:" + port}); res.StatusCode != 200 {
		t.Errorf("the other server: %d %s", res.StatusCode, body)
	}
	res, body := o.visits(t, o.Server, visit{request: "DELETE /api/session/", cookie: stolen})
	if res.StatusCode != 204 || !strings.Contains(res.Header.Get("Set-Cookie"), "Max-Age=0") {
		t.Errorf("signing out: %d %s %s", res.StatusCode, body, res.Header.Get("Set-Cookie"))
	}
	o.wantResponse(t, whoami(stolen), 401, "not_authenticated")
	if res, _ := o.visits(t, other, visit{request: "GET /api/session/", cookie: stolen, host: "127.0.0.1:" + port}); res.StatusCode != 401 {
		t.Error("the other server takes a session that has ended:", res.StatusCode)
	}

	idle := o.ownerSession(t)
	o.wait(12*time.Hour - time.Second)
	o.wantResponse(t, whoami(idle), 200, "owner@example.com") // which counts as use
	o.wait(12*time.Hour - time.Second)
	o.wantResponse(t, whoami(idle), 200, "owner@example.com")
	o.wait(12 * time.Hour)
	o.wantResponse(t, whoami(idle), 401, "")

	old := o.ownerSession(t)
	for range 30 * 3 {
		o.wait(8*time.Hour - time.Second)
		o.wantResponse(t, whoami(old), 200, "")
	}
	o.wait(30 * 3 * time.Second)
	o.wantResponse(t, whoami(old), 401, "")

	again := o.ownerSession(t)
	o.wantResponse(t, visit{request: "POST /api/session/", body: `{"key": "` + o.key(t, "owner") + `"}`, cookie: again}, 201, `"method":"key"`)
	o.wantResponse(t, whoami(again), 401, "") // the cookie that the client sent

	ofKey := o.newSession(t, `{"key": "`+o.key(t, "member")+`"}`)
	o.wantResponse(t, whoami(ofKey), 200, "member@example.com")
	if status, body := o.ask(t, manageStep{As: "member", Request: "POST /api/personal_api_keys/@current/roll/"}); status != 200 {
		t.Fatal(status, string(body))
	}
	o.wantResponse(t, whoami(ofKey), 401, "")
}

// console.md §5.1: a session created with a key has that key's scopes, one created by a link the
// rights of the user.
func TestSession_Rights(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	all := o.ownerSession(t)
	reads := o.newSession(t, `{"key": "`+o.key(t, "owner feature_flag:read projects=1")+`"}`)
	const flag = `{"key": "one", "filters": {"groups": [{}]}}`
	o.wantResponse(t, visit{request: "POST " + ownFlags, body: flag, cookie: reads}, 403, "feature_flag:write")
	o.wantResponse(t, visit{request: "GET " + ownFlags, cookie: reads}, 200, "results")
	o.wantResponse(t, visit{request: "GET /api/projects/2/feature_flags/", cookie: reads}, 403, "requested project: ID 2")
	o.wantResponse(t, visit{request: "POST " + ownFlags, body: flag, cookie: all}, 201, `"key":"one"`)
	o.wantResponse(t, visit{request: "GET /api/projects/3/feature_flags/", cookie: all}, 403, "permission_denied")
	o.wantResponse(t, visit{request: "GET /api/session/", cookie: reads}, 200, `"scopes":["feature_flag:read"],"organization":{"id":"`+officeOrg+`","name":"Organization A","level":15},"projects":[{"id":1,"name":"Project 1","level":15,"timezone":"UTC","organization":"`+officeOrg+`"}],"project":1`)
	o.wantResponse(t, visit{request: "GET /api/session/", cookie: all}, 200, `"mode":"full","version":"test","docs":false`)
	o.wantResponse(t, visit{request: "GET /api/session/", headers: []string{"Authorization", "Bearer " + o.key(t, "member")}}, 200, `"method":"key","scopes":["*"]`)
	// A key takes precedence over a session, in every place in which keys are accepted.
	o.wantResponse(t, visit{request: "GET /api/users/@me/", cookie: all, headers: []string{"Authorization", "Bearer " + o.key(t, "member")}}, 200, "member@example.com")
	o.wantResponse(t, visit{request: "GET /api/users/@me/?personal_api_key=" + o.key(t, "member"), cookie: all}, 200, "member@example.com")
	o.wantResponse(t, visit{request: "PATCH /api/users/@me/", body: `{"personal_api_key": "` + o.key(t, "member") + `"}`, cookie: all}, 200, "member@example.com")

	readOnly := o.serve(t, func(c *httpapi.Config) { c.SignIn = &httpapi.SignIn{ReadOnly: true} })
	host := "127.0.0.1:" + all[len("bunting-"):strings.IndexByte(all, '=')]
	for request, want := range map[string]int{"POST " + ownFlags: 403, "GET " + ownFlags: 200, "GET /api/session/": 200} {
		body := ""
		if strings.HasPrefix(request, "POST") {
			body = flag
		}
		if res, text := o.visits(t, readOnly, visit{request: request, body: body, cookie: all, host: host}); res.StatusCode != want || want == 403 && !strings.Contains(text, `"read_only"`) {
			t.Errorf("read-only, %s: %d %s", request, res.StatusCode, text)
		}
	}
	off := o.serve(t, func(c *httpapi.Config) { c.SignIn = nil })
	for _, request := range []string{"GET /api/session/", "GET /api/session/current/", "GET /api/session/methods/", "GET /api/sessions/"} {
		if res, _ := o.visits(t, off, visit{request: request, cookie: all, host: host}); res.StatusCode != 404 {
			t.Errorf("off, %s: %d", request, res.StatusCode)
		}
	}
	if res, _ := o.visits(t, off, visit{request: "GET " + ownFlags, cookie: all, host: host}); res.StatusCode != 401 {
		t.Errorf("off: %d", res.StatusCode)
	}
}

// console.md §5.1, New proof: it is needed ten minutes after the last one, and replaces the
// session's token.
func TestSession_Proof(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	cookie := o.ownerSession(t)
	const key = `{"label": "x", "scopes": ["feature_flag:read"], "scoped_teams": [], "scoped_organizations": []}`
	making := func(cookie string) visit {
		return visit{request: "POST /api/personal_api_keys/", body: key, cookie: cookie}
	}
	o.wait(management.ProofLife - time.Second)
	o.wantResponse(t, making(cookie), 201, "phx_")
	o.wait(time.Second)
	o.wantResponse(t, making(cookie), 403, `"proof_required"`)
	o.wait(time.Hour)
	for _, v := range []visit{
		making(""), {request: "PATCH /api/personal_api_keys/x/", body: `{"label": "y"}`}, {request: "POST /api/personal_api_keys/x/roll/"},
		{request: "PATCH /api/users/@me/", body: `{"email": "new@example.com"}`}, {request: "DELETE /api/projects/2/"},
		{request: "DELETE /api/organizations/" + officeOrg + "/"}, {request: "PATCH /api/projects/1/rotate_secret_token/"},
	} {
		v.cookie = cookie
		o.wantResponse(t, v, 403, `"proof_required"`)
	}
	proof := func(body string) visit { return visit{request: "POST /api/session/proof/", body: body, cookie: cookie} }
	o.wantResponse(t, proof(`{"key": "`+o.key(t, "member")+`"}`), 403, "another user")
	o.wantResponse(t, proof(`{"key": "`+o.key(t, "owner feature_flag:read")+`"}`), 403, "fewer permissions")
	o.wantResponse(t, proof(`{"key": "phx_wrong"}`), 401, "authentication_failed")
	res, body := o.visits(t, o.Server, proof(`{"key": "`+o.key(t, "owner")+`"}`))
	if res.StatusCode != 201 || len(res.Cookies()) != 1 {
		t.Fatal(res.StatusCode, body)
	}
	o.wantResponse(t, making(res.Cookies()[0].Name+"="+res.Cookies()[0].Value), 201, "phx_")
	o.wantResponse(t, visit{request: "GET /api/session/", cookie: cookie}, 401, "")
	o.wantResponse(t, visit{request: "POST /api/personal_api_keys/", body: key, headers: []string{"Authorization", "Bearer " + o.key(t, "owner")}}, 201, "phx_")
}

// console.md §5.2: a link works once, within thirty minutes, and its user can be read without using
// it.
func TestSession_Link(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	sessions := o.service.Organizations.Sessions
	link := func(again bool) string {
		token, err := sessions.OwnerLink(t.Context(), "owner@example.com", "", again)
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	first, late := link(false), link(false)
	look := func(token string) visit {
		return visit{request: "POST /api/session/link/look/", body: `{"link": "` + token + `"}`}
	}
	o.wantResponse(t, look(first), 200, `{"email":"owner@example.com"}`)
	o.wantResponse(t, look(first), 200, `{"email":"owner@example.com"}`)
	o.newSession(t, `{"link": "`+first+`"}`)
	o.wantResponse(t, look(first), 200, `{"email":null}`)
	o.wantResponse(t, visit{request: "POST /api/session/", body: `{"link": "` + first + `"}`}, 401, "invalid or has expired")
	o.wait(30 * time.Minute)
	o.wantResponse(t, look(late), 200, `{"email":null}`)
	o.wantResponse(t, look("never-made"), 200, `{"email":null}`)
	o.wantResponse(t, visit{request: "POST /api/session/link/look/", body: `{}`}, 400, `"attr":"link"`)
	o.wantResponse(t, visit{request: "POST /api/session/", body: `{"link": "` + late + `"}`}, 401, "invalid or has expired")
	if link(false) != "" || link(true) == "" {
		t.Error("a link only while the owner has never signed in, and when asked for")
	}
	for body, status := range map[string]int{`{}`: 400, `{"link": "a", "key": "b"}`: 400, `{"key": "phc_1"}`: 401, `{"link": 7}`: 401, `[]`: 400} {
		o.wantResponse(t, visit{request: "POST /api/session/", body: body}, status, "")
	}
	o.wantResponse(t, visit{request: "GET /api/session/methods/"}, 200, `{"link":true,"key":true,"mail":false,"passkey":false,"oidc":[],"secure":true}`)
	o.wantResponse(t, visit{request: "GET /api/session/methods/", host: "flags.example.com"}, 200, `"secure":false`)
	limited := o.serve(t, func(c *httpapi.Config) {
		c.ManagementLimits = httpapi.ManagementLimits{SignIns: httpapi.DefaultManagementLimits().SignIns}
	})
	for i := range 11 {
		res, _ := o.visits(t, limited, visit{request: "POST /api/session/", body: `{"key": "phx_guess"}`})
		if want := map[bool]int{true: 401, false: 429}[i < 10]; res.StatusCode != want {
			t.Errorf("guess %d: %d, want %d", i, res.StatusCode, want)
		}
	}
}

// console.md N3: a user sees only their own sessions.
func TestSession_List(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	first, second := o.ownerSession(t), o.ownerSession(t)
	foreign := o.newSession(t, `{"key": "`+o.key(t, "member")+`"}`)
	list := func(cookie string) (out []struct {
		ID, Method, Address string
		Current             bool
	}) {
		t.Helper()
		_, body := o.visits(t, o.Server, visit{request: "GET /api/sessions/", cookie: cookie})
		if err := json.Unmarshal([]byte(body), &struct{ Results any }{&out}); err != nil {
			t.Fatal(body, err)
		}
		return out
	}
	mine := list(second)
	if len(mine) != 2 || mine[0].Current == mine[1].Current || mine[0].Method != "link" || mine[0].Address != "127.0.0.1" {
		t.Errorf("sessions: %+v", mine)
	}
	for _, s := range mine {
		if !s.Current {
			o.wantResponse(t, visit{request: "DELETE /api/sessions/" + s.ID + "/", cookie: foreign}, 404, "not_found")
			o.wantResponse(t, visit{request: "DELETE /api/sessions/" + s.ID + "/", cookie: second}, 204, "")
		}
	}
	o.wantResponse(t, visit{request: "GET /api/session/", cookie: first}, 401, "")
	third := o.ownerSession(t)
	o.wantResponse(t, visit{request: "DELETE /api/sessions/", cookie: third}, 400, "others=true")
	o.wantResponse(t, visit{request: "DELETE /api/sessions/?others=true", cookie: third}, 204, "")
	o.wantResponse(t, visit{request: "GET /api/session/", cookie: second}, 401, "")
	o.wantResponse(t, visit{request: "GET /api/session/", cookie: third}, 200, "")
	o.wantResponse(t, visit{request: "GET /api/session/", cookie: foreign}, 200, "")
}

// console.md N1: a page can ask whether there is a session without a request that fails. A key is
// no session.
func TestSession_CurrentOrNull(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	cookie, ended := o.ownerSession(t), o.ownerSession(t)
	o.wantResponse(t, visit{request: "DELETE /api/session/", cookie: ended}, 204, "")
	name, _, _ := strings.Cut(cookie, "=")
	for what, v := range map[string]visit{
		"no cookie":        {},
		"an ended session": {cookie: ended},
		"an unknown token": {cookie: name + "=" + strings.Repeat("a", 43)},
		"a key":            {headers: []string{"Authorization", "Bearer " + o.key(t, "owner")}},
		"a foreign host":   {cookie: cookie, host: "evil.example"},
	} {
		v.request = "GET /api/session/current/"
		res, body := o.visits(t, o.Server, v)
		if res.StatusCode != 200 || strings.TrimSpace(body) != "null" || res.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %s %v", what, res.StatusCode, body, res.Header)
		}
	}
	_, want := o.visits(t, o.Server, visit{request: "GET /api/session/", cookie: cookie})
	o.wantResponse(t, visit{request: "GET /api/session/current/", cookie: cookie}, 200, want)
	o.makeFlag(t, `{"key": "a"}`)
	for project, want := range map[string]string{"1": `"changes":1,`, "2": `"changes":0,`, "3": `"changes":null,`, "x": `"changes":null,`, "": `"changes":null,`} {
		o.wantResponse(t, visit{request: "GET /api/session/current/?project=" + project, cookie: cookie}, 200, want)
	}
	for who, want := range map[string]string{"owner@example.com": `"email":"owner@example.com"`, "nobody@example.com": "null", "": "null"} {
		own := o.serve(t, func(c *httpapi.Config) {
			c.Authenticate = func(*http.Request) (*management.Caller, error) {
				if who == "" {
					return nil, nil
				}
				return &management.Caller{User: &management.User{Email: who}}, nil
			}
		})
		if res, body := o.visits(t, own, visit{request: "GET /api/session/current/"}); res.StatusCode != 200 || !strings.Contains(body, want) {
			t.Errorf("a service that signs in %q: %d %s", who, res.StatusCode, body)
		}
	}
}

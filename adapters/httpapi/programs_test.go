package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi"
)

// waitingProgram are the codes of a program that waits for authorization.
type waitingProgram struct {
	DeviceCode string `json:"device_code"`
	UserCode   string `json:"user_code"`
	Address    string `json:"verification_uri"`
	Complete   string `json:"verification_uri_complete"`
	ExpiresIn  int    `json:"expires_in"`
	Interval   int    `json:"interval"`
}

func (o *office) program(t *testing.T, body string) (p waitingProgram) {
	t.Helper()
	res, text := o.visits(t, o.Server, visit{request: "POST /api/cli-auth/device-code/", body: body})
	if res.StatusCode != http.StatusOK || json.Unmarshal([]byte(text), &p) != nil {
		t.Fatalf("device-code: %d %s", res.StatusCode, text)
	}
	return p
}

// checkPoll sends a poll and checks the status and the whole body.
func (o *office) checkPoll(t *testing.T, p waitingProgram, status int, want string) {
	t.Helper()
	o.wait(5 * time.Second)
	res, text := o.visits(t, o.Server, visit{request: "POST /api/cli-auth/poll", body: `{"device_code": "` + p.DeviceCode + `"}`})
	if res.StatusCode != status || text != want {
		t.Errorf("poll: %d %s; want %d %s", res.StatusCode, text, status, want)
	}
}

const (
	pollPending = `{"status":"pending"}`
	pollExpired = `{"status":"expired","error":"expired_token","error_description":"Device code expired"}`
)

func authorizationVisit(act string, p waitingProgram, cookie, more string) visit {
	return visit{request: "POST /api/cli-auth/" + act + "/", cookie: cookie, body: `{"user_code": "` + p.UserCode + `"` + more + `}`}
}

// clients.md §14.2, Log-in, in its order.
func TestPrograms_SignIn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "office.db")
	o := newOffice(t, "sqlite:"+file)
	cookie := o.ownerSession(t)
	p := o.program(t, `{"client": "posthog-cli"}`)
	if p.ExpiresIn != 600 || p.Interval != 5 || !regexp.MustCompile(`^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$`).MatchString(p.UserCode) ||
		!strings.HasSuffix(p.Address, "/console/connect") || p.Complete != p.Address+"?code="+p.UserCode || len(p.DeviceCode) != 43 {
		t.Fatalf("%+v", p)
	}
	o.checkPoll(t, p, 202, pollPending)
	o.wantResponse(t, visit{request: "POST /api/cli-auth/poll/", body: `{"device_code": "` + p.DeviceCode + `"}`}, 400, `"error":"slow_down"`)
	o.wantResponse(t, authorizationVisit("look", p, cookie, ""), 200, `"client":"posthog-cli","scopes":["event_definition:read","property_definition:read","error_tracking:write"]`)
	typed := p
	typed.UserCode = strings.ToLower(strings.ReplaceAll(p.UserCode, "-", " "))
	res, text := o.visits(t, o.Server, authorizationVisit("authorize", typed, cookie, `, "project_id": 1`))
	var allowed struct {
		Status, Label string
		Mask          string `json:"mask_value"`
	}
	if err := json.Unmarshal([]byte(text), &allowed); err != nil || res.StatusCode != 200 || allowed.Status != "success" {
		t.Fatal(res.StatusCode, text, err)
	}
	if label := []rune(allowed.Label); len(label) > 40 || !regexp.MustCompile(`^CLI - .+ - \d{4}-\d\d-\d\d \d\d:\d\d$`).MatchString(allowed.Label) {
		t.Errorf("label %q", allowed.Label)
	}
	o.wantResponse(t, authorizationVisit("authorize", p, cookie, `, "project_id": 1`), 400, `"already_authorized"`)
	o.wait(5 * time.Second)
	res, text = o.visits(t, o.Server, visit{request: "POST /api/cli-auth/poll/", body: `{"device_code": "` + p.DeviceCode + `"}`})
	var got map[string]any
	if err := json.Unmarshal([]byte(text), &got); err != nil || res.StatusCode != 200 || len(got) != 5 || got["status"] != "authorized" || got["project_id"] != "1" || got["label"] != allowed.Label ||
		fmt.Sprint(got["scopes"]) != "[event_definition:read property_definition:read error_tracking:write]" {
		t.Fatal(res.StatusCode, text, err)
	}
	key := got["personal_api_key"].(string)
	if allowed.Mask != key[:4]+"..."+key[len(key)-4:] {
		t.Errorf("mask %q of %q", allowed.Mask, key)
	}
	o.checkPoll(t, p, 400, pollExpired) // only once
	bearer := []string{"Authorization", "Bearer " + key}
	o.wantResponse(t, visit{request: "GET /api/projects/1/event_definitions/", headers: bearer}, 200, `"results"`)
	o.wantResponse(t, visit{request: "GET " + ownFlags, headers: bearer}, 403, "permission_denied")
	for _, suffix := range []string{"", "-wal"} {
		raw, err := os.ReadFile(file + suffix)
		if err != nil && suffix == "" {
			t.Fatal(err)
		}
		for _, secret := range []string{p.DeviceCode, p.UserCode, key} {
			if strings.Contains(string(raw), secret) {
				t.Errorf("the store has %s in clear", secret)
			}
		}
	}
}

// clients.md §14.2: each of the errors.
func TestPrograms_Refusals(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	cookie, member := o.ownerSession(t), o.key(t, "member")
	o.wantResponse(t, visit{request: "POST /api/cli-auth/device-code/", body: `{"scopes": ["flags:read"]}`}, 400, `"invalid_scope"`)
	p := o.program(t, `{"scopes": ["feature_flag:read", "feature_flag:read"]}`)
	unknown := waitingProgram{UserCode: "BBBB-BBBB", DeviceCode: "x"}
	o.checkPoll(t, unknown, 400, pollExpired)
	for _, c := range []struct {
		v      visit
		status int
		part   string
	}{
		{authorizationVisit("authorize", unknown, cookie, `, "project_id": 1`), 400, `"invalid_code"`},
		{authorizationVisit("authorize", p, cookie, `, "project_id": 999999`), 400, `"invalid_project"`},
		{authorizationVisit("authorize", p, cookie, `, "project_id": 1, "scopes": ["x"]`), 400, `"invalid_scope"`},
		{authorizationVisit("authorize", p, cookie, ``), 400, `"project_id"`},
		{authorizationVisit("authorize", p, "", `, "project_id": 1`), 401, `"not_authenticated"`},
		{visit{request: "POST /api/cli-auth/authorize/", body: `{"user_code": "` + p.UserCode + `", "project_id": 1}`, headers: []string{"Authorization", "Bearer " + member}}, 403, `"access_denied"`},
	} {
		o.wantResponse(t, c.v, c.status, c.part)
	}
	crossed := authorizationVisit("authorize", p, cookie, `, "project_id": 1`)
	crossed.headers = []string{"Sec-Fetch-Site", "cross-site"}
	o.wantResponse(t, crossed, 403, "another site")
	o.wantResponse(t, authorizationVisit("authorize", p, o.newSession(t, `{"key": "`+o.key(t, "foreign")+`"}`), `, "project_id": 1`), 403, `"access_denied"`)
	o.checkPoll(t, p, 202, pollPending) // the attempts above did not authorize it
	o.wantResponse(t, authorizationVisit("refuse", p, cookie, ""), 204, "")
	o.checkPoll(t, p, 400, `{"status":"denied","error":"access_denied","error_description":"The sign-in was refused"}`)
	o.wantResponse(t, authorizationVisit("authorize", p, cookie, `, "project_id": 1`), 400, `"invalid_code"`)

	o.wait(time.Minute)
	late := o.program(t, "{}")
	o.wait(600 * time.Second)
	o.wantResponse(t, authorizationVisit("authorize", late, cookie, `, "project_id": 1`), 403, `"proof_required"`)
	o.wantResponse(t, authorizationVisit("look", late, cookie, ""), 400, `"invalid_code"`)
	o.checkPoll(t, late, 400, pollExpired)
}

// A key that is not fetched in time is invalid.
func TestPrograms_Unfetched(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	cookie := o.ownerSession(t)
	before := o.keysOf(t, cookie)
	p := o.program(t, "{}")
	o.wantResponse(t, authorizationVisit("authorize", p, cookie, `, "project_id": 1`), 200, `"success"`)
	if n := o.keysOf(t, cookie); n != before+1 {
		t.Fatalf("%d keys, want %d", n, before+1)
	}
	o.wait(600 * time.Second)
	o.checkPoll(t, p, 400, pollExpired)
	if n := o.keysOf(t, cookie); n != before {
		t.Errorf("%d keys, want %d", n, before)
	}
}

func (o *office) keysOf(t *testing.T, cookie string) int {
	t.Helper()
	_, text := o.visits(t, o.Server, visit{request: "GET /api/personal_api_keys/", cookie: cookie})
	var keys []any
	if err := json.Unmarshal([]byte(text), &keys); err != nil {
		t.Fatal(text, err)
	}
	return len(keys)
}

// An address may have thirty codes at a time, and no program reads or gets a cookie.
func TestPrograms_Bounds(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	begin := visit{request: "POST /api/cli-auth/device-code", body: "{}", cookie: o.ownerSession(t)}
	created := 0
	for range 10_000 {
		res, text := o.visits(t, o.Server, begin)
		if len(res.Cookies()) != 0 {
			t.Fatal("a cookie is set")
		}
		if res.StatusCode == http.StatusTooManyRequests {
			break
		}
		if created++; res.StatusCode != 200 || created > 30 {
			t.Fatalf("%d: %d %s", created, res.StatusCode, text)
		}
	}
	o.wait(time.Minute)
	for range 5 {
		for range 10 {
			if res, _ := o.visits(t, o.Server, begin); res.StatusCode == 200 {
				created++
			}
		}
		o.wait(time.Minute)
	}
	if created != 30 {
		t.Errorf("%d codes of one address, want 30", created)
	}
	o.wait(600 * time.Second)
	o.wantResponse(t, begin, 200, "user_code")
}

// Guesses of user codes are rate limited, and so are guesses of device codes.
func TestPrograms_Guesses(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	limited := o.serve(t, func(c *httpapi.Config) {
		c.ManagementLimits = httpapi.DefaultManagementLimits()
		c.ManagementLimits.Now = o.now
	})
	for what, guess := range map[string]visit{
		"user code":   authorizationVisit("look", waitingProgram{UserCode: "BBBB-BBBB"}, o.ownerSession(t), ""),
		"device code": {request: "POST /api/cli-auth/poll/", body: `{"device_code": "x"}`},
	} {
		isLimited := false
		guess.host = strings.TrimPrefix(o.URL, "http://") // the host of the cookie
		for range 100 {
			res, _ := o.visits(t, limited, guess)
			if res.StatusCode != 400 && res.StatusCode != http.StatusTooManyRequests {
				t.Fatal(what, res.StatusCode)
			}
			isLimited = isLimited || res.StatusCode == http.StatusTooManyRequests
		}
		if !isLimited {
			t.Errorf("a hundred guesses of a %s in no time", what)
		}
	}
}

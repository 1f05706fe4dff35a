package httpapi_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/management"
)

// A user that Authenticate returns has the rights of that user, within the limits that Authenticate
// sets, and the details of its errors are not revealed.
func TestHTTP_Authenticate(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	ownerKey := "Bearer " + o.key(t, "owner")
	as := func(email string, key *management.KeyRecord) *management.Caller {
		return &management.Caller{User: &management.User{Email: email}, Key: key}
	}
	answers := map[string]func() (*management.Caller, error){
		"nothing": func() (*management.Caller, error) { return nil, nil },
		"owner":   func() (*management.Caller, error) { return as("OWNER@example.com", nil), nil },
		"uuid": func() (*management.Caller, error) {
			return &management.Caller{User: &management.User{UUID: o.vars["owner"]}}, nil
		},
		"foreign": func() (*management.Caller, error) { return as("foreign@example.com", nil), nil },
		"readonly": func() (*management.Caller, error) {
			return as("owner@example.com", &management.KeyRecord{Scopes: []string{"feature_flag:read"}}), nil
		},
		"useless": func() (*management.Caller, error) {
			return as("owner@example.com", &management.KeyRecord{Scopes: []string{}}), nil
		},
		"project1": func() (*management.Caller, error) {
			return as("owner@example.com", &management.KeyRecord{Projects: []int64{1}}), nil
		},
		"unknown": func() (*management.Caller, error) { return as("nobody@example.com", nil), nil },
		"empty":   func() (*management.Caller, error) { return &management.Caller{}, nil },
		"higher": func() (*management.Caller, error) {
			c := as("member@example.com", nil)
			c.Memberships = []management.Membership{{Organization: officeOrg, Level: management.Owner}}
			return c, nil
		},
		"failure": func() (*management.Caller, error) { return nil, errors.New("ldap://10.0.0.7: secret-reason") },
		"both":    func() (*management.Caller, error) { return as("owner@example.com", nil), errors.New("secret-reason") },
	}
	o.serve(t, func(c *httpapi.Config) {
		c.Authenticate = func(r *http.Request) (*management.Caller, error) { return answers[r.Header.Get("X-Who")]() }
	})
	const flags, second, me = "/api/projects/1/feature_flags/", "/api/projects/2/feature_flags/", "/api/users/@me/"
	const flag = `{"key": "one", "filters": {"groups": [{}]}}`
	for name, tt := range map[string]struct {
		who, method, path, body string
		headers                 []string
		status                  int
		says                    string
	}{
		"nobody":                       {"nothing", "GET", flags, "", nil, 401, "not_authenticated"},
		"a personal key":               {"nothing", "GET", me, "", []string{"Authorization", ownerKey}, 200, "owner@example.com"},
		"a user":                       {"owner", "GET", me, "", nil, 200, "owner@example.com"},
		"by uuid":                      {"uuid", "GET", me, "", nil, 200, "owner@example.com"},
		"over a personal key":          {"foreign", "GET", me, "", []string{"Authorization", ownerKey}, 200, "foreign@example.com"},
		"what users may":               {"owner", "POST", flags, flag, nil, 201, `"key":"one"`},
		"not what others may":          {"foreign", "GET", flags, "", nil, 403, "permission_denied"},
		"a scope":                      {"readonly", "GET", flags, "", nil, 200, "results"},
		"without the scope":            {"readonly", "POST", flags, flag, nil, 403, "permission_denied"},
		"no scopes":                    {"useless", "GET", flags, "", nil, 403, "permission_denied"},
		"a project":                    {"project1", "GET", flags, "", nil, 200, "results"},
		"another project":              {"project1", "GET", second, "", nil, 403, "permission_denied"},
		"no key that opens more":       {"project1", "POST", "/api/personal_api_keys/", `{"label": "x", "scopes": ["*"], "scoped_teams": [], "scoped_organizations": []}`, nil, 403, "permission_denied"},
		"an unknown user":              {"unknown", "GET", me, "", nil, 401, "The sign-in was not accepted."},
		"nobody in particular":         {"empty", "GET", me, "", nil, 401, "The sign-in was not accepted."},
		"no level of the service's":    {"higher", "GET", me, "", nil, 401, "The sign-in was not accepted."},
		"a failure":                    {"failure", "GET", me, "", []string{"Authorization", ownerKey}, 401, "The sign-in was not accepted."},
		"a failure and a user":         {"both", "GET", me, "", nil, 401, "The sign-in was not accepted."},
		"a failure, no such method":    {"failure", "PUT", flags, "", nil, 401, "The sign-in was not accepted."},
		"no such method":               {"owner", "PUT", flags, "", nil, 405, "method_not_allowed"},
		"a page of another site":       {"owner", "POST", flags, flag, []string{"Sec-Fetch-Site", "cross-site"}, 403, "another site"},
		"an older browser":             {"owner", "POST", flags, flag, []string{"Origin", "https://evil.example"}, 403, "another site"},
		"a link of another site":       {"owner", "GET", me, "", []string{"Sec-Fetch-Site", "cross-site"}, 200, "owner@example.com"},
		"another site, a personal key": {"nothing", "POST", flags, `{"key": "two"}`, []string{"Sec-Fetch-Site", "cross-site", "Authorization", ownerKey}, 201, `"key":"two"`},
		"what is public":               {"failure", "GET", "/api/schema/", "", nil, 200, "openapi"},
	} {
		t.Run(name, func(t *testing.T) {
			w := ask(o.handler, tt.method, tt.path, tt.body, append(tt.headers, "X-Who", tt.who, "Content-Type", "application/json")...)
			if text := w.Body.String(); w.Code != tt.status || !strings.Contains(text, tt.says) || strings.Contains(text, "secret-reason") {
				t.Errorf("%d %s, want %d %s", w.Code, text, tt.status, tt.says)
			}
		})
	}
}

// An organization that forbids personal keys for its members (management.md §1.5) accepts users
// that Authenticate returns.
func TestHTTP_AuthenticateWithoutKeys(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	o.api(t, "PATCH", "/api/organizations/"+officeOrg+"/", `{"members_can_use_personal_api_keys": false}`, 200)
	o.serve(t, func(c *httpapi.Config) {
		c.Authenticate = func(r *http.Request) (*management.Caller, error) {
			if r.Header.Get("Cookie") == "" {
				return nil, nil
			}
			return &management.Caller{User: &management.User{Email: "member@example.com"}}, nil
		}
	})
	const flags = "/api/projects/1/feature_flags/"
	if w := ask(o.handler, "GET", flags, "", "Authorization", "Bearer "+o.key(t, "member")); w.Code != 403 {
		t.Errorf("with a personal key: %d %s", w.Code, w.Body)
	}
	if w := ask(o.handler, "GET", flags, "", "Cookie", "session=1"); w.Code != 200 {
		t.Errorf("signed in: %d %s", w.Code, w.Body)
	}
}

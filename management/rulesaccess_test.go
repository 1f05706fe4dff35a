package management_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/records"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/internal/storage"
	"github.com/bunting-flags/bunting/management/rooms"
)

// testKeys are the personal keys of accessRows by their text. ann, bob and eve are members of
// Organization, dan is a member of TheirOrganization, and a third organization has no members.
var testKeys = map[string]management.KeyRecord{
	"phx_ann_0000000000000000": {User: 1, Scopes: []string{"*"}},
	"phx_bob_0000000000000000": {User: 2, Scopes: []string{"*"}},
	"phx_dan_0000000000000000": {User: 4, Scopes: []string{"*"}},
	"phx_eve_0000000000000000": {User: 5, Scopes: []string{"*"}},
	"phx_fay_0000000000000000": {User: 6, Scopes: []string{"*"}},
	"phx_old_0000000000000000": {User: 2, Projects: []int64{ruletest.TheirProject}, Organizations: []string{ruletest.TheirOrganization}},
	"phx_ours_000000000000000": {User: 2, Scopes: []string{"dashboard:read"}, Projects: []int64{ruletest.Project}},
	"phx_other_00000000000000": {User: 2, Scopes: []string{"*"}, Projects: []int64{12}},
	"phx_orgs_000000000000000": {User: 2, Scopes: []string{"*"}, Organizations: []string{ruletest.TheirOrganization}},
	"phx_org_0000000000000000": {User: 2, Scopes: []string{"*"}, Organizations: []string{ruletest.Organization}},
	"phx_nobody_0000000000000": {User: 99, Scopes: []string{"*"}},
	"phs_secret_0000000000000": {Secret: true, Projects: []int64{ruletest.Project}},
}

// emptyOrganization has no members, and deletedProject was deleted.
const (
	emptyOrganization       = "0191f0a2-5b1c-7d3e-8f40-00000000000c"
	deletedProject    int64 = 9
)

// accessCalls returns the calls of the tables. A path begins with a key, named by the word in its
// middle.
func accessCalls(t *testing.T, w *ruletest.World) ruletest.Calls {
	ctx := t.Context()
	err := w.Store.Write(ctx, func(tx rooms.Tx) error {
		failed := errors.Join(
			tx.PutOrganization(&management.OrganizationRecord{ID: emptyOrganization, Name: "Nobody's"}),
			tx.PutProject(&management.ProjectRecord{ID: deletedProject, Organization: ruletest.Organization, APIKey: "phc_gone", Deleted: true}),
		)
		for text, k := range testKeys {
			k.ID, k.Hash = text, management.HashKey(text)
			failed = errors.Join(failed, tx.PutKey(&k))
		}
		return failed
	})
	if err != nil {
		t.Fatal(err)
	}
	caller := func(word string) *management.Caller {
		for text := range testKeys {
			if strings.HasPrefix(text, "phx_"+word+"_") {
				c, err := w.Authenticate(ctx, text, "Authorization header")
				if err != nil {
					t.Fatal(err)
				}
				return c
			}
		}
		t.Fatalf("no key is called %q", word)
		return nil
	}
	view := func(scope callScope, err error) (any, error) {
		if err != nil {
			return nil, err
		}
		out := map[string]any{"level": scope.Level, "organization": scope.Organization.Name, "admin": scope.IsAdmin()}
		if scope.Project != nil {
			out["project"], out["access"] = scope.Project.ID, scope.Access()
		}
		return out, nil
	}
	enter := func(find func(c *management.Caller, ref string) (callScope, error)) func(callScope, string, string) (any, error) {
		return func(_ callScope, path, _ string) (any, error) {
			word, ref, _ := strings.Cut(path, " ")
			return view(find(caller(word), ref))
		}
	}
	return ruletest.Calls{
		"authenticate": func(_ callScope, location, key string) (any, error) {
			c, err := w.Authenticate(ctx, key, location)
			if err != nil {
				return nil, err
			}
			return map[string]any{"user": c.User.FirstName, "memberships": len(c.Memberships)}, nil
		},
		"project":      enter(func(c *management.Caller, ref string) (callScope, error) { return w.Project(ctx, c, ref) }),
		"visible":      enter(func(c *management.Caller, ref string) (callScope, error) { return w.VisibleProject(ctx, c, ref) }),
		"token":        enter(func(c *management.Caller, ref string) (callScope, error) { return w.ProjectByKey(ctx, c, ref) }),
		"organization": enter(func(c *management.Caller, ref string) (callScope, error) { return w.Organization(ctx, c, ref) }),
		"own":          enter(func(c *management.Caller, ref string) (callScope, error) { return w.VisibleOrganization(ctx, c, ref) }),
		"require": func(_ callScope, word, keyScope string) (any, error) {
			return nil, caller(word).Require(keyScope)
		},
		"setting": func(_ callScope, _, meta string) (any, error) { // of Organization
			return nil, w.Store.Write(ctx, func(tx rooms.Tx) error {
				o, err := tx.Organization(ruletest.Organization)
				if err != nil {
					return err
				}
				o.Meta = []byte(meta)
				return tx.PutOrganization(o)
			})
		},
		"choose": func(_ callScope, word, project string) (any, error) { // a user's current project and organization
			u := caller(word).User
			u.Project, u.Organization = 0, ""
			if project == "theirs" {
				u.Project, u.Organization = ruletest.TheirProject, ruletest.TheirOrganization
			} else if project == "ours" {
				u.Project, u.Organization = ruletest.Project, ruletest.Organization
			}
			return nil, w.Store.Write(ctx, func(tx rooms.Tx) error { return records.PutUser(tx, u) })
		},
	}
}

func TestAccess(t *testing.T) {
	runTables(t, accessCalls, map[string][]ruletest.Row{
		"keys": keyRows, "projects": projectRows, "projects of lists": visibleRows, "tokens": tokenRows, "organizations": organizationRows, "own organizations": ownRows,
		"current ones": currentRows, "organizations without keys": noKeyRows, "scopes": scopeRows,
	})
}

var keyRows = rows(
	each("§1.5 a key", "bob", "authenticate Authorization header",
		[2]string{`phx_bob_0000000000000000`, `{"user":"bob","memberships":1}`},
		[2]string{`phx_dan_0000000000000000`, `{"user":"dan"}`},
		[2]string{`phx_wrong`, `401 authentication_failed - Personal API key found in request Authorization header is invalid.`},
		[2]string{``, `401 authentication_failed - Personal API key found in request Authorization header is invalid.`},
		[2]string{`PHX_BOB_0000000000000000`, `401 authentication_failed - Personal API key found in request Authorization header is invalid.`},
		[2]string{`phx_fay_0000000000000000`, `401 authentication_failed - Personal API key found in request Authorization header is invalid.`}, // of an inactive user
		[2]string{`phx_nobody_0000000000000`, `401 authentication_failed - Personal API key found in request Authorization header is invalid.`}, // unknown key
		[2]string{`phs_secret_0000000000000`, `401 authentication_failed - Personal API key found in request Authorization header is invalid.`}, // §1.11
		[2]string{`phc_ours`, `401 authentication_failed - Personal API key found in request Authorization header is invalid. Keys that begin with phc_ are`},
	),
	[]ruletest.Row{
		{"§1.5 its place", "bob", "authenticate body", `wrong`, `401 authentication_failed - Personal API key found in request body is invalid.`},
		{"§1.5 its place", "bob", "authenticate query string", `wrong`, `401 authentication_failed - Personal API key found in request query string is invalid.`},
	},
)

var projectRows = rows(
	[]ruletest.Row{
		{"§1.8 a member", "bob", "project bob 1", ``, `{"project":1,"organization":"Ours","level":1,"access":"member","admin":false}`},
		{"§1.8 an owner", "bob", "project ann 1", ``, `{"project":1,"level":15,"access":"admin","admin":true}`},
		{"§1.8 one who may not", "bob", "project eve 1", ``, `403 permission_denied - You don't have access to the project.`},
		{"§1.5 no member", "bob", "project dan 1", ``, `403 permission_denied - You don't have access to the project.`},
		{"§1.5 no member", "bob", "project bob 2", ``, `403 permission_denied - You don't have access to the project.`},
		{"§1.5 unknown", "bob", "project bob 999999", ``, `404 not_found - Project not found.`},
		{"§1.5 deleted", "bob", "project bob 9", ``, `404 not_found - Project not found.`},
		{"§1.5 scoped to other projects", "bob", "project other 1", ``, `403 permission_denied - API key does not have access to the requested project: ID 1.`},
		{"§6 row 75", "bob", "project ours 2", ``, `403 permission_denied - API key does not have access to the requested project: ID 2.`},
		{"§1.6 scoped to it", "bob", "project ours 1", ``, `{"project":1,"level":1}`},
		{"§1.5 scoped to other organizations", "bob", "project orgs 1", ``, `403 permission_denied - API key does not have access to the requested organization: ID ` + ruletest.Organization + `.`},
		{"§1.6 scoped to its organization", "bob", "project org 1", ``, `{"project":1}`},
		{"§1.6 scoped, but no member", "bob", "project orgs 2", ``, `403 permission_denied - You don't have access to the project.`},
		{"§1.5 legacy keys skip the lists", "bob", "project old 1", ``, `{"project":1}`},
	},
	eachPath("decision 26 positive integers in decimal", "project bob ", `404 not_found - Project not found.`, "abc", "0", "-1", "01", "1.0", "+1", " 1", "1e0", "9223372036854775808", "١"),
)

// eachPath returns a row for each of some names.
func eachPath(clause, call, want string, names ...string) (out []ruletest.Row) {
	for _, name := range names {
		out = append(out, ruletest.Row{clause, "bob", call + name, ``, want})
	}
	return out
}

var visibleRows = []ruletest.Row{
	{"§5.8", "bob", "visible bob 1", ``, `{"project":1,"level":1}`},
	{"§5.8 invisible: 404", "bob", "visible bob 2", ``, `404 not_found - Project not found.`},
	{"§5.8 invisible: 404", "bob", "visible eve 1", ``, `404 not_found - Project not found.`},
	{"§5.8 unknown", "bob", "visible bob 999", ``, `404 not_found - Project not found.`},
	{"§1.6 others give 403", "bob", "visible ours 2", ``, `403 permission_denied - API key does not have access to the requested project: ID 2.`},
	{"§1.6 others give 403", "bob", "visible orgs 1", ``, `403 permission_denied - API key does not have access to the requested organization:`},
}

var tokenRows = []ruletest.Row{
	{"§1.7 a member's", "bob", "token bob phc_ours", ``, `{"project":1}`},
	{"§1.7 not a member's", "bob", "token bob phc_theirs", ``, `403 permission_denied - You don't have access to the project.`},
	{"§1.7 unknown", "bob", "token bob phc_nobody", ``, `401 authentication_failed -`},
	{"§1.7 of one that is deleted", "bob", "token bob phc_gone", ``, `401 authentication_failed -`},
	{"§1.6 scoped", "bob", "token other phc_ours", ``, `403 permission_denied - API key does not have access to the requested project: ID 1.`},
}

const noPermission, onlyProjects = `403 permission_denied - You do not have permission to perform this action.`, `403 permission_denied - API keys with scoped projects are only supported on project-based endpoints.`

var organizationRows = rows(
	[]ruletest.Row{
		{"§1.5 a member", "bob", "organization bob " + ruletest.Organization, ``, `{"organization":"Ours","level":1,"project":"(absent)"}`},
		{"§1.7 in other letters", "bob", "organization bob " + strings.ToUpper(ruletest.Organization), ``, `{"organization":"Ours"}`},
		{"§6 row 13", "bob", "organization bob " + ruletest.TheirOrganization, ``, noPermission},
		{"§1.5 of nobody", "bob", "organization ann " + emptyOrganization, ``, noPermission},
		{"§6 row 14", "bob", "organization bob 0191f0a2-5b1c-7d3e-8f40-0000000000ff", ``, `404 not_found - Organization not found.`},
		{"§6 row 76", "bob", "organization ours " + ruletest.Organization, ``, onlyProjects},
		{"§1.5 even unknown ones", "bob", "organization ours x", ``, onlyProjects},
		{"§1.5 scoped to others", "bob", "organization orgs " + ruletest.Organization, ``, `403 permission_denied - API key does not have access to the requested organization: ID ` + ruletest.Organization + `.`},
		{"§1.6 scoped to it", "bob", "organization org " + ruletest.Organization, ``, `{"organization":"Ours"}`},
		{"§1.5 legacy keys skip the lists", "bob", "organization old " + ruletest.Organization, ``, `{"organization":"Ours"}`},
	},
	eachPath("§1.5 no UUID", "organization bob ", `404 not_found - Organization not found.`, "x", "1", ruletest.Organization+"0", "-"),
)

var ownRows = []ruletest.Row{
	{"§5.9", "bob", "own bob " + ruletest.Organization, ``, `{"organization":"Ours","level":1}`},
	{"§1.5 of another organization: 404", "bob", "own bob " + ruletest.TheirOrganization, ``, `404 not_found - Not found.`},
	{"§1.5 unknown: the same", "bob", "own bob 0191f0a2-5b1c-7d3e-8f40-0000000000ff", ``, `404 not_found - Not found.`},
	{"§1.5 no UUID: the same", "bob", "own bob x", ``, `404 not_found - Not found.`},
	{"§1.6 out of the list: 404", "bob", "own orgs " + ruletest.Organization, ``, `404 not_found - Not found.`},
	{"§1.6 keys of projects", "bob", "own ours " + ruletest.Organization, ``, onlyProjects},
	{"§5.9 @current", "bob", "own bob @current", ``, `{"organization":"Ours"}`},
	{"§5.9 none current", "bob", "own orgs @current", ``, `404 not_found - Current organization not found.`},
}

var currentRows = []ruletest.Row{
	{"§1.7 unset: the first that is reachable", "bob", "project bob @current", ``, `{"project":1}`},
	{"§1.7 unset: the first that is reachable", "bob", "project dan @current", ``, `{"project":2}`},
	{"§1.7 none", "bob", "project eve @current", ``, `404 not_found - Project not found.`},
	{"§1.7 none that the key opens", "bob", "project other @current", ``, `404 not_found - Project not found.`},
	{"§1.7 chosen", "bob", "choose bob", `ours`, `null`},
	{"§1.7 chosen", "bob", "project bob @current", ``, `{"project":1}`},
	{"§1.7 one that cannot be reached is none", "bob", "choose bob", `theirs`, `null`},
	{"§1.7 one that cannot be reached is none", "bob", "project bob @current", ``, `{"project":1}`},
	{"§1.7 the organization", "bob", "organization bob @current", ``, `{"organization":"Ours"}`},
	{"§1.7 the organization", "bob", "organization dan @current", ``, `{"organization":"Theirs"}`},
	{"§1.7 the key opens none", "bob", "organization orgs @current", ``, `404 not_found - Organization not found.`},
	{"§1.7 only that word", "bob", "project bob @Current", ``, `404 not_found - Project not found.`},
}

const noMemberKeys = `403 permission_denied - Organization 'Ours' does not allow using personal API keys. Contact an admin to enable personal API keys for this organization.`

var noKeyRows = []ruletest.Row{
	{"§1.5 members_can_use_personal_api_keys", "bob", "setting", `{"no_member_keys":true}`, `null`},
	{"§1.5 members", "bob", "project bob 1", ``, noMemberKeys},
	{"§1.5 members", "bob", "organization bob " + ruletest.Organization, ``, noMemberKeys},
	{"§1.5 members", "bob", "own bob " + ruletest.Organization, ``, noMemberKeys},
	{"§1.5 members", "bob", "visible bob 1", ``, noMemberKeys},
	{"§1.5 admins are exempt", "bob", "project ann 1", ``, `{"project":1}`},
	{"§1.5 other organizations", "bob", "project dan 2", ``, `{"project":2}`},
	{"§1.5 allowed again", "bob", "setting", `{}`, `null`},
	{"§1.5 allowed again", "bob", "project bob 1", ``, `{"project":1}`},
}

var scopeRows = rows(
	each("§1.4 dashboard:read alone", "bob", "require ours",
		[2]string{`dashboard:read`, `null`},
		[2]string{``, `null`},
		[2]string{`dashboard:write`, `403 permission_denied - API key missing required scope 'dashboard:write'`},
		[2]string{`feature_flag:read`, `403 permission_denied - API key missing required scope 'feature_flag:read'`},
		[2]string{`dashboard_template:read`, `403 permission_denied - API key missing required scope 'dashboard_template:read'`},
		[2]string{`INTERNAL`, `403 permission_denied - API key missing required scope 'INTERNAL'`},
	),
	each("§1.4 all scopes", "bob", "require bob",
		[2]string{`dashboard:write`, `null`},
		[2]string{`INTERNAL`, `null`},
	),
	each("§1.4 null: legacy, full access", "bob", "require old",
		[2]string{`dashboard:write`, `null`},
		[2]string{`INTERNAL`, `null`},
	),
)

// §1.4: a write scope includes read of the same object, and a list without scopes allows no scope.
func TestCaller_Require(t *testing.T) {
	for _, c := range []struct {
		scopes   []string
		keyScope string
		want     bool
	}{
		{[]string{"dashboard:write"}, "dashboard:read", true},
		{[]string{"dashboard:write"}, "dashboard:write", true},
		{[]string{"dashboard:read", "cohort:write"}, "cohort:read", true},
		{[]string{"dashboard:read", "cohort:write"}, "dashboard:write", false},
		{[]string{"dashboard"}, "dashboard:read", false},
		{[]string{"dashboard:*"}, "dashboard:read", false},
		{[]string{"INTERNAL"}, "INTERNAL", false},
		{[]string{}, "user:read", false},
		{[]string{}, "", true},
		{[]string{"*"}, "anything:write", true},
		{nil, "anything:write", true},
	} {
		caller := management.Caller{Key: &management.KeyRecord{Scopes: c.scopes}}
		if err := caller.Require(c.keyScope); (err == nil) != c.want {
			t.Errorf("%v asked for %q: %v, want %v", c.scopes, c.keyScope, err, c.want)
		}
	}
}

// §1.2: last_used_at changes if it is null or older than an hour.
func TestAuthenticate_LastUsed(t *testing.T) {
	w := ruletest.New(t, memstore.New(memstore.ExternalData{}))
	accessCalls(t, w)
	const key = "phx_bob_0000000000000000"
	used := func(after time.Duration) time.Time {
		t.Helper()
		w.Clock = ruletest.Start.Add(after)
		if _, err := w.Authenticate(t.Context(), key, ""); err != nil {
			t.Fatal(err)
		}
		var at time.Time
		err := w.Store.Read(t.Context(), func(tx rooms.Tx) error {
			k, err := tx.Key(management.HashKey(key))
			at = k.LastUsedAt
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	for _, c := range []struct{ after, want time.Duration }{
		{0, 0}, {time.Minute, 0}, {time.Hour, 0}, {time.Hour + time.Second, time.Hour + time.Second}, {2 * time.Hour, time.Hour + time.Second},
	} {
		if got, want := used(c.after), ruletest.Start.Add(c.want); !got.Equal(want) {
			t.Errorf("used after %v: last used at %v, want %v", c.after, got, want)
		}
	}
}

// §1.8: administrators of the organization always have access; then the member's own rule counts,
// then the project's default, and without both everybody has access.
func TestCaller_Access(t *testing.T) {
	rules := management.ProjectMeta{Default: management.MemberAccess, Members: map[string]management.AccessLevel{"out": management.NoAccess, "in": management.AdminAccess}}
	for _, c := range []struct {
		what, user string
		level      management.Level
		meta       management.ProjectMeta
		want       management.AccessLevel
	}{
		{"nobody", "x", 0, management.ProjectMeta{}, management.NoAccess},
		{"a member without rules", "x", management.Member, management.ProjectMeta{}, management.AdminAccess},
		{"a member of a default", "x", management.Member, rules, management.MemberAccess},
		{"a member's own rule, lower", "out", management.Member, rules, management.NoAccess},
		{"a member's own rule, higher", "in", management.Member, rules, management.AdminAccess},
		{"a closed project", "x", management.Member, management.ProjectMeta{Default: management.NoAccess}, management.NoAccess},
		{"an administrator", "out", management.Admin, rules, management.AdminAccess},
		{"an owner", "out", management.Owner, management.ProjectMeta{Default: management.NoAccess}, management.AdminAccess},
		{"nobody with a rule", "in", 0, rules, management.NoAccess},
	} {
		p := management.ProjectRecord{Organization: "o", Meta: storage.Encode(c.meta)}
		caller := management.Caller{User: &management.User{UUID: c.user}, Memberships: []management.Membership{{Organization: "o", Level: c.level}}}
		if got := caller.Access(&p); got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
	caller := management.Caller{User: &management.User{UUID: "x"}, Memberships: []management.Membership{{Level: management.Member}}}
	if got := caller.Access(&management.ProjectRecord{Meta: []byte(`[`)}); got != management.NoAccess {
		t.Errorf("what cannot be read lets in: %s", got)
	}
}

// Admit accepts only active users of this server and limits them by the key of the claim.
func TestService_Admit(t *testing.T) {
	w := ruletest.New(t, memstore.New(memstore.ExternalData{}))
	bob := ruletest.UUID("bob")
	for _, c := range []struct {
		what   string
		claim  management.Caller
		user   string // empty: refused
		scopes string
	}{
		{"by uuid", management.Caller{User: &management.User{UUID: bob}}, "bob", "*"},
		{"by number", management.Caller{User: &management.User{ID: 2}}, "bob", "*"},
		{"by address, in any case", management.Caller{User: &management.User{Email: "BOB@example.com"}}, "bob", "*"},
		{"the first of them", management.Caller{User: &management.User{UUID: bob, ID: 1, Email: "ann@example.com"}}, "bob", "*"},
		{"bounded by a key", management.Caller{User: &management.User{UUID: bob}, Key: &management.KeyRecord{Scopes: []string{"dashboard:read"}}}, "bob", "dashboard:read"},
		{"a key without scopes", management.Caller{User: &management.User{UUID: bob}, Key: &management.KeyRecord{}}, "bob", "*"},
		{"nobody", management.Caller{}, "", ""},
		{"no name", management.Caller{User: &management.User{}}, "", ""},
		{"unknown", management.Caller{User: &management.User{Email: "zoe@example.com"}}, "", ""},
		{"inactive", management.Caller{User: &management.User{UUID: ruletest.UUID("fay")}}, "", ""},
		{"memberships of its own", management.Caller{User: &management.User{UUID: bob}, Memberships: []management.Membership{{Level: management.Owner}}}, "", ""},
	} {
		got, err := w.Admit(t.Context(), &c.claim)
		if c.user == "" {
			var apiErr *management.Error
			if !errors.As(err, &apiErr) || apiErr.Kind != management.Unauthenticated {
				t.Errorf("%s: %v, %v, want a refusal", c.what, got, err)
			}
			continue
		}
		if err != nil || got.User.FirstName != c.user || strings.Join(got.Key.Scopes, " ") != c.scopes || got.Level(ruletest.Organization) != management.Member {
			t.Errorf("%s: %+v, %v", c.what, got, err)
		}
	}
}

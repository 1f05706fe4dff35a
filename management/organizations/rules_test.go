package organizations_test

import (
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/organizations"
)

// What the tables expect is what spec/management.md says in the section that a row
// names.

// listed is a list as the API shows it.
type listed struct {
	Count   int `json:"count"`
	Results any `json:"results"`
}

func shownList[T any](l management.List[T], err error) (any, error) {
	count, results := l.Counted()
	return listed{count, results}, err
}

func roomCalls(t *testing.T, w *ruletest.World) ruletest.Calls {
	ctx, o := t.Context(), w.Organizations
	all := management.Page{Limit: management.DefaultPage}
	body := func(text string) management.Body { return ruletest.Body(t, text) }
	type standing = *management.Standing
	return ruletest.Calls{
		"members": func(st standing, path, _ string) (any, error) {
			return shownList(o.Members.List(ctx, st, organizations.MemberQuery{Page: all, Email: path}))
		},
		"level":   func(st standing, path, b string) (any, error) { return o.Members.Update(ctx, st, path, body(b)) },
		"leave":   func(st standing, path, _ string) (any, error) { return nil, o.Members.Delete(ctx, st, path) },
		"invite":  func(st standing, _, b string) (any, error) { return o.Invites.Create(ctx, st, "", body(b)) },
		"invites": func(st standing, _, _ string) (any, error) { return shownList(o.Invites.List(ctx, st, all)) },
		"domain":  func(st standing, _, b string) (any, error) { return o.Domains.Create(ctx, st, body(b)) },
		"changedomain": func(st standing, path, b string) (any, error) {
			return o.Domains.Update(ctx, st, path, body(b), false)
		},
		"role":  func(st standing, _, b string) (any, error) { return o.CreateRole(ctx, st, body(b)) },
		"join":  func(st standing, path, b string) (any, error) { return o.JoinRole(ctx, st, path, body(b)) },
		"drop":  func(st standing, path, _ string) (any, error) { return nil, o.DeleteRole(ctx, st, path) },
		"roles": func(st standing, _, _ string) (any, error) { return shownList(o.Roles(ctx, st, all)) },
		"organization": func(st standing, _, b string) (any, error) {
			if b == "" {
				return o.Get(ctx, st)
			}
			return o.Update(ctx, st, body(b), false)
		},
		"close": func(st standing, _, _ string) (any, error) { return nil, o.Delete(ctx, st) },
	}
}

func TestOrganizations_Rules(t *testing.T) {
	for name, rows := range map[string][]ruletest.Row{
		"levels": levelRows, "leaving": leavingRows, "invites": inviteRows, "domains": domainRows, "roles": roleRows, "organizations": organizationRows,
	} {
		t.Run(name, func(t *testing.T) {
			w := ruletest.New(t, memstore.New(memstore.Outside{}))
			w.Ask(t, roomCalls(t, w), rows)
		})
	}
}

var uuid = ruletest.UUID

const (
	notAdmin = `403 permission_denied - You can only edit others if you are an admin.`
	above    = `403 permission_denied - You can only edit others with level lower or equal to you.`
	tooLow   = `403 permission_denied - Your organization access level is insufficient.`
	stays    = `400 invalid_input - Cannot leave the organization as its owner!`
)

var levelRows = []ruletest.Row{
	{"§4.6 by a member", "bob", "level " + uuid("cyd"), `{"level":8}`, notAdmin},
	{"§4.6 one above", "gus", "level " + uuid("ann"), `{"level":1}`, above},
	{"§6 row 62", "ann", "level " + uuid("ann"), `{"level":1}`, `403 permission_denied - You can't change your own access level.`},
	{"§6 row 62", "bob", "level " + uuid("bob"), `{"level":1}`, `403 permission_denied - You can't change your own access level.`},
	{"§6 row 64", "gus", "level " + uuid("bob"), `{"level":15}`, `403 permission_denied - You can only make another member owner if you're this organization's owner.`},
	{"§6 row 67", "ann", "level " + uuid("bob"), `{"level":5}`, `400 invalid_choice level`},
	{"§3 email, exact", "bob", "members cyd@example.com", ``, `{"count":1,"results":[{"level":1,"user":{"first_name":"cyd"}}]}`},
	{"§3 email, exact", "bob", "members yd@example.com", ``, `{"count":0,"results":[]}`},
	{"§4.6 empty", "ann", "level " + uuid("bob"), `{}`, `{"level":1}`},
	{"§4.6", "gus", "level " + uuid("bob"), `{"level":8}`, `{"level":8,"user":{"first_name":"bob"}}`},
	{"§4.6 as an administrator", "bob", "level " + uuid("cyd"), `{"level":8}`, `{"level":8}`},
	{"§6 row 63", "ann", "level " + uuid("gus"), `{"level":15}`, `{"level":15}`},
	{"§6 row 63 two owners", "gus", "level " + uuid("ann"), `{"level":8}`, `{"level":8}`},
	{"§4.6 unknown", "gus", "level 0191f0a2-5b1c-7d3e-8f40-99999999ffff", `{"level":1}`, `404 not_found - Not found.`},
	{"§4.6 another organization's", "gus", "level " + uuid("dan"), `{"level":1}`, `404 not_found - Not found.`},
}

var leavingRows = []ruletest.Row{
	{"§6 row 65", "ann", "leave " + uuid("ann"), ``, stays},
	{"§4.6 other, caller 1", "bob", "leave " + uuid("cyd"), ``, notAdmin},
	{"§4.6 other is owner, caller admin", "gus", "leave " + uuid("ann"), ``, above},
	{"§4.6 other, caller 8", "gus", "leave " + uuid("cyd"), ``, `null`},
	{"§4.6 self, level 1", "bob", "leave " + uuid("bob"), ``, `null`},
	{"§4.6 unknown", "ann", "leave " + uuid("bob"), ``, `404 not_found - Not found.`},
	{"§4.6 no UUID", "ann", "leave bob", ``, `404 not_found - Not found.`},
	{"§4.6 self, level 8", "gus", "leave " + uuid("gus"), ``, `null`},
}

var inviteRows = []ruletest.Row{
	{"§6 row 54", "bob", "invite", `{}`, `400 required target_email This field is required.`},
	{"§4.5 no address", "bob", "invite", `{"target_email":"nobody"}`, `400 invalid_input target_email Enter a valid email address.`},
	{"§6 row 55", "bob", "invite", `{"target_email":"A.B@EXAMPLE.com"}`, `{"target_email":"A.B@example.com","first_name":"","level":1,"emailing_attempt_made":false,"is_expired":false,"created_by":{"first_name":"bob"},"private_project_access":[],
		"send_email":"(absent)","combine_pending_invites":"(absent)"}`},
	{"§6 row 56", "bob", "invite", `{"target_email":"ann@example.com"}`, `400 invalid_input - A user with this email address already belongs to the organization.`},
	{"§4.5 first_name", "bob", "invite", `{"target_email":"c@example.com","first_name":"` + strings.Repeat("x", 31) + `"}`, `400 max_length first_name Ensure this field has no more than 30 characters.`},
	{"§4.5 level", "ann", "invite", `{"target_email":"c@example.com","level":5}`, `400 invalid_choice level`},
	{"§4.5 above one's own", "bob", "invite", `{"target_email":"c@example.com","level":8}`, `403 permission_denied - You cannot invite a user with a higher permission level than your own.`},
	{"§6 row 57", "gus", "invite", `{"target_email":"c@example.com","level":15}`, `403 permission_denied - You cannot invite a user with a higher permission level than your own.`},
	{"§4.5 access", "ann", "invite", `{"target_email":"c@example.com","private_project_access":{}}`, `400 invalid_input private_project_access The field must be a list of dictionaries.`},
	{"§4.5 access", "ann", "invite", `{"target_email":"c@example.com","private_project_access":[1]}`, `400 invalid_input private_project_access Each item in the list must be a dictionary.`},
	{"§4.5 access", "ann", "invite", `{"target_email":"c@example.com","private_project_access":[{"id":1}]}`, `400 invalid_input private_project_access Each dictionary must contain "id" and "level" keys.`},
	{"§4.5 access", "ann", "invite", `{"target_email":"c@example.com","private_project_access":[{"id":"1","level":"member"}]}`, `400 invalid_input private_project_access The "id" field must be an integer.`},
	{"§4.5 access", "ann", "invite", `{"target_email":"c@example.com","private_project_access":[{"id":1,"level":"king"}]}`, `400 invalid_input private_project_access The "level" field must be a valid access level.`},
	{"§4.5 access", "ann", "invite", `{"target_email":"c@example.com","private_project_access":[{"id":2,"level":"member"}]}`, `400 invalid_input private_project_access Project does not exist on this organization, or it is private and you do not have access to it.`},
	{"§4.5", "ann", "invite", `{"target_email":"d@example.com","level":8}`, `{"level":8}`},
	{"§6 row 59", "ann", "invite", `{"target_email":"d@example.com","level":1,"combine_pending_invites":true}`, `{"level":8}`},
	{"§6 row 58", "ann", "invite", `{"target_email":"d@example.com"}`, `{"level":1}`},
	{"§6 row 58 the first ones are gone, newest first", "bob", "invites", ``, `{"count":2,"results":[{"target_email":"d@example.com","level":1},{"target_email":"A.B@example.com"}]}`},
}

var domainRows = []ruletest.Row{
	{"§6 row 47", "bob", "domain", `{"domain":"example.com"}`, tooLow},
	{"§6 row 48", "gus", "domain", `{"domain":"Example.com"}`, `400 invalid_input domain Please enter a valid domain or subdomain name.`},
	{"§4.4 domain", "gus", "domain", `{"domain":"example"}`, `400 invalid_input domain Please enter a valid domain or subdomain name.`},
	{"§2.2", "gus", "domain", `{}`, `400 required domain This field is required.`},
	{"§6 row 50", "gus", "domain", `{"domain":"example.com","is_verified":true,"sso_enforcement":"saml","jit_provisioning_enabled":true}`,
		`{"domain":"example.com","is_verified":false,"verified_at":null,"sso_enforcement":"","jit_provisioning_enabled":false,"has_saml":false}`},
	{"§6 row 49", "dan", "domain", `{"domain":"example.com"}`, `400 unique domain domain with this domain already exists.`},
	{"§4.4", "gus", "domain", `{"domain":"a.example.com","saml_entity_id":"x","saml_acs_url":"y","saml_x509_cert":"z"}`, `{"has_saml":true}`},
}

var roleRows = []ruletest.Row{
	{"§5.1.3 write 8", "bob", "role", `{"name":"Support"}`, `403 permission_denied -`},
	{"§5.1.3", "gus", "role", `{"name":"Support"}`, `{"name":"Support","members":[],"is_default":false}`},
	{"§5.1.3 ignoring case", "gus", "role", `{"name":"support"}`, `400 unique name There is already a role with this name.`},
	{"§5.1.3 in the organization", "dan", "role", `{"name":"Theirs"}`, `{"name":"Theirs"}`},
	{"§5.1.3", "gus", "join <Support>", `{"user_uuid":"` + uuid("bob") + `"}`, `{"user":{"first_name":"bob"}}`},
	{"§5.1.3 already", "gus", "join <Support>", `{"user_uuid":"` + uuid("bob") + `"}`, `400 * * User is already part of the role.`},
	{"§5.1.3 unknown", "gus", "join <Support>", `{"user_uuid":"0191f0a2-5b1c-7d3e-8f40-99999999ffff"}`, `400 * * User does not exist.`},
	{"§5.1.3", "gus", "drop <Support>", ``, `null`},
	{"§5.1.3", "gus", "roles", ``, `{"count":0}`},
}

var organizationRows = []ruletest.Row{
	{"§5.9", "bob", "organization", ``, `{"name":"Ours","membership_level":1}`},
	{"§5.9 PATCH 8", "bob", "organization", `{"name":"x"}`, tooLow},
	{"§5.9 PATCH 8", "gus", "organization", `{"name":"Renamed"}`, `{"name":"Renamed","membership_level":8}`},
	{"§5.9 name", "gus", "organization", `{"name":"` + strings.Repeat("x", 65) + `"}`, `400 max_length name Ensure this field has no more than 64 characters.`},
	{"§5.9 read-only", "gus", "organization", `{"membership_level":15,"member_count":99}`, `{"membership_level":8}`},
	{"§4.5 members_can_invite", "gus", "organization", `{"members_can_invite":false}`, `{"members_can_invite":false}`},
	{"§4.5 members_can_invite", "bob", "invite", `{"target_email":"c@example.com"}`, `403 permission_denied - You do not have permission to perform this action.`},
	{"§4.5 members_can_invite", "gus", "invite", `{"target_email":"c@example.com"}`, `{"target_email":"c@example.com"}`},
	{"§5.9 DELETE 15", "gus", "close", ``, tooLow},
}

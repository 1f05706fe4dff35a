package organizations_test

import (
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

// The expected responses are from the section of spec/management.md that a row names; "clients" is
// spec/clients.md, and "decision" is design/decisions.md.

var uuid = ruletest.UUID

const (
	nowhere  = "0191f0a2-5b1c-7d3e-8f40-99999999ffff"
	ours     = ruletest.Organization
	theirs   = ruletest.TheirOrganization
	notFound = `404 not_found - Not found.`
	notAdmin = `403 permission_denied - You can only edit others if you are an admin.`
	above    = `403 permission_denied - You can only edit others with level lower or equal to you.`
	tooLow   = `403 permission_denied - Your organization access level is insufficient.`
	mayNot   = `403 permission_denied - You do not have permission to perform this action.`
	stays    = `400 invalid_input - Cannot leave the organization as its owner!`
)

// chars returns a JSON string of n characters.
func chars(n int) string { return `"` + strings.Repeat("ä", n) + `"` }

func TestMembers_Rules(t *testing.T) {
	runAllTables(t, false, map[string][]ruletest.Row{
		"levels": levelRows, "leaving": leavingRows, "lists": memberListRows, "what goes with a member": formerMemberRows, "inactive": inactiveRows,
	})
}

var levelRows = []ruletest.Row{
	{"§4.6 by a member", "bob", "level " + uuid("cyd"), `{"level":8}`, notAdmin},
	{"§4.6 by a member, downwards", "bob", "level " + uuid("gus"), `{"level":1}`, notAdmin},
	{"§4.6 one above", "gus", "level " + uuid("ann"), `{"level":1}`, above},
	{"§6 row 62", "ann", "level " + uuid("ann"), `{"level":1}`, `403 permission_denied - You can't change your own access level.`},
	{"§6 row 62", "bob", "level " + uuid("bob"), `{"level":1}`, `403 permission_denied - You can't change your own access level.`},
	{"§6 row 62 as @me", "gus", "level @me", `{"level":8}`, `403 permission_denied - You can't change your own access level.`},
	{"§6 row 64", "gus", "level " + uuid("bob"), `{"level":15}`, `403 permission_denied - You can only make another member owner if you're this organization's owner.`},
	{"§6 row 67", "ann", "level " + uuid("bob"), `{"level":5}`, `400 invalid_choice level "5" is not a valid choice.`},
	{"§4.6 level", "ann", "level " + uuid("bob"), `{"level":"admin"}`, `400 invalid_choice level "admin" is not a valid choice.`},
	{"§4.6 level", "ann", "level " + uuid("bob"), `{"level":null}`, `400 null level This field may not be null.`},
	{"§4.6 the caller's rights come before the value", "bob", "level " + uuid("cyd"), `{"level":5}`, notAdmin},
	{"§4.6 empty", "ann", "level " + uuid("bob"), `{}`, `{"level":1}`},
	{"§4.6 read-only", "ann", "level " + uuid("bob"), `{"joined_at":"2020-01-01T00:00:00Z","id":"` + nowhere + `"}`, `{"level":1,"joined_at":"2026-01-02T12:00:00Z","id":"(like) ^0191"}`},
	{"§4.6", "gus", "level " + uuid("bob"), `{"level":8}`, `{"id":"(like) ^[0-9a-f-]{36}$","level":8,"user":{"first_name":"bob","email":"bob@example.com","uuid":"` + uuid("bob") + `"},"is_2fa_enabled":false,"has_social_auth":false,"last_login":null,"updated_at":"2026-01-02T12:00:14Z"}`},
	{"§5.11", "bob", "log organization OrganizationMembership", ``, `{"activity":"updated","user":{"first_name":"gus"},"detail":{"name":"bob@example.com","changes":[{"field":"level","before":1,"after":8}]}}`},
	{"§4.6 as an administrator", "bob", "level " + uuid("cyd"), `{"level":8}`, `{"level":8}`},
	{"§4.6 of the same level", "bob", "level " + uuid("cyd"), `{"level":1}`, `{"level":1}`},
	{"§6 row 63", "ann", "level " + uuid("gus"), `{"level":15}`, `{"level":15}`},
	{"§6 row 63 two owners", "gus", "level " + uuid("ann"), `{"level":8}`, `{"level":8}`},
	{"§4.6 unknown", "gus", "level " + nowhere, `{"level":1}`, notFound},
	{"§4.6 no UUID", "gus", "level 7", `{"level":1}`, notFound},
	{"§4.6 another organization's", "gus", "level " + uuid("dan"), `{"level":1}`, notFound},
	{"§2.2", "gus", "level " + uuid("bob"), `[]`, `400 invalid_input - Invalid data. Expected a dictionary, but got list.`},
}

var leavingRows = []ruletest.Row{
	{"§6 row 65", "ann", "leave " + uuid("ann"), ``, stays},
	{"§6 row 65 as @me", "ann", "leave @me", ``, stays},
	{"§4.6 other, caller 1", "bob", "leave " + uuid("cyd"), ``, notAdmin},
	{"§4.6 other is owner, caller 1", "bob", "leave " + uuid("ann"), ``, notAdmin},
	{"§4.6 other is owner, caller admin", "gus", "leave " + uuid("ann"), ``, above},
	{"§4.6 other, caller 8", "gus", "leave " + uuid("cyd"), ``, `null`},
	{"§5.11", "gus", "log organization OrganizationMembership", ``, `{"activity":"deleted","user":{"first_name":"gus"},"detail":{"name":"cyd@example.com"}}`},
	{"§6 row 66", "bob", "leave @me", ``, `null`},
	{"§4.6 who has left is nobody", "bob", "leave @me", ``, mayNot},
	{"§4.6 unknown", "ann", "leave " + uuid("bob"), ``, notFound},
	{"§4.6 no UUID", "ann", "leave bob", ``, notFound},
	{"§4.6 another organization's", "ann", "leave " + uuid("dan"), ``, notFound},
	{"§4.6 other is owner, caller owner", "ann", "level " + uuid("gus"), `{"level":15}`, `{"level":15}`},
	{"§4.6 other is owner, caller owner", "ann", "leave " + uuid("gus"), ``, stays},
	{"§4.6 demote first", "ann", "level " + uuid("gus"), `{"level":8}`, `{"level":8}`},
	{"§4.6 self, level 8", "gus", "leave " + uuid("gus"), ``, `null`},
}

var memberListRows = []ruletest.Row{
	{"§4.6 who is inactive is hidden", "bob", "members", ``, `{"count":5}`},
	{"§3 email, exact", "bob", "members", `{"Email":"cyd@example.com"}`, `{"count":1,"results":[{"level":1,"user":{"first_name":"cyd"}}]}`},
	{"clients §2.2 ignoring case", "bob", "members", `{"Email":"CYD@Example.com"}`, `{"count":1,"results":[{"user":{"first_name":"cyd"}}]}`},
	{"§3 email, exact", "bob", "members", `{"Email":"yd@example.com"}`, `{"count":0,"results":[]}`},
	{"clients §2.2 search", "bob", "members", `{"Search":"US"}`, `{"count":1,"results":[{"user":{"first_name":"gus"}}]}`},
	{"clients §2.2 search in the address", "bob", "members", `{"Search":"@example"}`, `{"count":5}`},
	{"clients §2.2 search in the last name", "cyd", "changeme", `{"last_name":"Sundberg"}`, `{"last_name":"Sundberg"}`},
	{"clients §2.2 search in the last name", "bob", "members", `{"Search":"sund"}`, `{"count":1,"results":[{"user":{"first_name":"cyd"}}]}`},
	{"clients §2.2 200 characters", "bob", "members", `{"Search":` + chars(200) + `}`, `{"count":0}`},
	{"clients §2.2 201 characters", "bob", "members", `{"Search":` + chars(201) + `}`, `400 max_length search`},
	{"§3 updated_after", "ann", "level " + uuid("cyd"), `{"level":8}`, `{"updated_at":"2026-01-02T12:00:11Z"}`},
	{"§3 updated_after", "bob", "members", `{"UpdatedAfter":"2026-01-02T12:00:10Z"}`, `{"count":1,"results":[{"user":{"first_name":"cyd"}}]}`},
	{"§3 updated_after", "bob", "members", `{"UpdatedAfter":"2026-01-02T12:00:11Z"}`, `{"count":0}`},
	{"§4.5 somebody joins later", "ann", "invite => in", `{"target_email":"zoe@example.com"}`, `{"level":1}`},
	{"§4.5 somebody joins later", "-", "accept <in> <in.accept_url>", `{"first_name":"zoe"}`, `{"first_name":"zoe"}`},
	{"§3 -joined_at", "bob", "members", `{"Latest":true,"Limit":1}`, `{"count":6,"results":[{"user":{"first_name":"zoe"},"joined_at":"2026-01-02T12:00:15Z"}]}`},
	{"§3 joined_at", "bob", "members", `{"Limit":2,"Offset":4}`, `{"count":6,"results":[{"user":{"first_name":"gus"}},{"user":{"first_name":"zoe"}}]}`},
	{"§3 limit 2 of 5 at the end", "bob", "members", `{"Limit":2,"Offset":50}`, `{"count":6,"results":[]}`},
	{"§3 limit of a narrowed list", "bob", "members", `{"Search":"example","Limit":2,"Offset":5}`, `{"count":6,"results":[{"user":{"first_name":"zoe"}}]}`},
}

// §4.6: when a membership ends, the user's current organization and project are reset, and roles
// and rules about projects are deleted (clients §11.3).
var formerMemberRows = []ruletest.Row{
	{"§5.9 another place to go", "bob", "neworganization => other", `{"name":"Other"}`, `{"name":"Other","membership_level":15}`},
	{"§1.9", "bob", "changeme", `{"set_current_organization":"` + ours + `"}`, `{"organization":{"name":"Ours"},"team":{"id":1}}`},
	{"§5.1.3", "gus", "role => support", `{"name":"support"}`, `{"members":[]}`},
	{"§5.1.3", "gus", "join <support>", `{"user_uuid":"` + uuid("bob") + `"}`, `{"user":{"first_name":"bob"}}`},
	{"§5.1.3 a role of another organization", "bob", "otherrole => there", `{"name":"there"}`, `{"members":[{"user":{"first_name":"bob"}}]}`},
	{"§5.9", "bob", "me", ``, `{"organizations":[{"name":"Ours"},{"name":"Other"}]}`},
	{"§4.6", "gus", "leave " + uuid("bob"), ``, `null`},
	{"§4.6 reset to another one", "bob", "me", ``, `{"organization":{"name":"Other"},"team":{"name":"Default project"},"organizations":[{"name":"Other"}]}`},
	{"clients §11.3 the role is without", "gus", "getrole <support>", ``, `{"members":[]}`},
	{"§5.1.3 a role of another organization stays", "bob", "otherrole", ``, `{"members":[{"user":{"first_name":"bob"}}]}`},
	{"§4.6 reset to null", "cyd", "leave @me", ``, `null`},
	{"§4.6 reset to null", "cyd", "me", ``, `{"organization":null,"team":null,"organizations":[]}`},
	{"clients §11.3 the rule of a project", "ann", "leave " + uuid("eve"), ``, `null`},
	{"clients §11.3 the rule of a project", "ann", "invite => in", `{"target_email":"eve@example.com"}`, `{"level":1}`},
	{"clients §11.3 the rule of a project", "eve", "accept <in> <in.accept_url>", ``, `{"first_name":"eve"}`},
	{"clients §11.3 the rule is gone", "eve", "enterproject 1", ``, `{"name":"P"}`},
}

// §4.6: members with an inactive user are hidden.
var inactiveRows = []ruletest.Row{
	{"§4.6 hidden", "ann", "members", `{"Search":"fay"}`, `{"count":0,"results":[]}`},
	{"§4.6 hidden", "ann", "members", `{"Limit":10,"Offset":4}`, `{"count":5,"results":[{"user":{"first_name":"gus"}}]}`},
	{"§4.6 hidden", "ann", "level " + uuid("fay"), `{"level":8}`, notFound},
	{"§4.6 hidden", "ann", "leave " + uuid("fay"), ``, notFound},
	{"§4.6 hidden", "ann", "memberkeys " + uuid("fay"), ``, notFound},
	{"§4.6 active again", "ann", "setuser fay", `{"inactive":false}`, `null`},
	{"§4.6 active again", "ann", "members", `{"Search":"fay"}`, `{"count":1}`},
	{"§4.6 active again", "ann", "level " + uuid("fay"), `{"level":8}`, `{"level":8}`},
}

// Roles follow §5.1.3 and spec/clients.md §12.
func TestRoles_Rules(t *testing.T) {
	runAllTables(t, false, map[string][]ruletest.Row{"roles": roleRows, "memberships": placeRows, "the default": defaultRoleRows})
}

var roleRows = []ruletest.Row{
	{"§5.1.3 write 8", "bob", "role", `{"name":"Support"}`, tooLow},
	{"§5.1.3", "gus", "role => it", `{"name":"Support"}`, `{"id":"(like) ^[0-9a-f-]{36}$","name":"Support","created_at":"2026-01-02T12:00:02Z","created_by":null,"members":[],"is_default":false}`},
	{"§5.1.3 ignoring case", "gus", "role", `{"name":"support"}`, `400 unique name There is already a role with this name.`},
	{"§5.1.3 unique in the organization", "dan", "role => theirs", `{"name":"Support"}`, `{"name":"Support"}`},
	{"§2.2 name", "gus", "role", `{}`, `400 required name This field is required.`},
	{"§2.2 name", "gus", "role", `{"name":"  "}`, `400 blank name This field may not be blank.`},
	{"§5.1.3 read: any member", "bob", "getrole <it>", ``, `{"name":"Support"}`},
	{"§5.1.3 read: any member", "bob", "roles", ``, `{"count":1,"results":[{"id":"<it>"}]}`},
	{"§5.1.3", "gus", "role => second", `{"name":"admins"}`, `{"name":"admins"}`},
	{"§3 by name", "bob", "roles", ``, `{"count":2,"results":[{"name":"admins"},{"name":"Support"}]}`},
	{"§3 limit and offset", "bob", "roles", `{"Limit":1,"Offset":1}`, `{"count":2,"results":[{"name":"Support"}]}`},
	{"§5.1.3 another organization's", "gus", "getrole <theirs>", ``, notFound},
	{"clients §12 PATCH", "bob", "changerole <it>", `{"name":"x"}`, tooLow},
	{"clients §12 PATCH", "gus", "changerole <it>", `{"name":"Help"}`, `{"id":"<it>","name":"Help"}`},
	{"§5.11", "gus", "log organization Role <it>", ``, `{"activity":"updated","user":{"first_name":"gus"},"detail":{"name":"Help","changes":[{"field":"name","before":"Support","after":"Help"}]}}`},
	{"clients §12 PATCH of its own name", "gus", "changerole <it>", `{"name":"HELP"}`, `{"name":"HELP"}`},
	{"§5.1.3 taken", "gus", "changerole <it>", `{"name":"Admins"}`, `400 unique name There is already a role with this name.`},
	{"§2.5 PUT", "gus", "putrole <it>", `{}`, `400 required name This field is required.`},
	{"clients §12 unknown", "gus", "changerole " + nowhere, `{}`, notFound},
	{"clients §12 DELETE", "bob", "droprole <it>", ``, tooLow},
	{"clients §12 DELETE", "gus", "droprole <it>", ``, `null`},
	{"clients §12 DELETE", "gus", "getrole <it>", ``, notFound},
	{"clients §12 DELETE", "gus", "droprole <it>", ``, notFound},
	{"clients §12 no UUID", "gus", "droprole 1", ``, notFound},
}

var placeRows = []ruletest.Row{
	{"§5.1.3", "gus", "role => it", `{"name":"Support"}`, `{"members":[]}`},
	{"§5.1.3", "dan", "role => theirs", `{"name":"Theirs"}`, `{"members":[]}`},
	{"§5.1.3 write 8", "bob", "join <it>", `{"user_uuid":"` + uuid("bob") + `"}`, tooLow},
	{"§5.1.3 POST", "gus", "join <it> => bob", `{"user_uuid":"` + uuid("bob") + `"}`, `{"id":"(like) ^[0-9a-f-]{36}$","role_id":"<it>","user":{"first_name":"bob","uuid":"` + uuid("bob") + `"},"joined_at":"2026-01-02T12:00:04Z","updated_at":"2026-01-02T12:00:04Z"}`},
	{"clients §12 organization_member", "gus", "place <it> <bob>", ``, `{"organization_member":{"level":1,"user":{"uuid":"` + uuid("bob") + `"}}}`},
	{"§5.1.3 already", "gus", "join <it>", `{"user_uuid":"` + uuid("bob") + `"}`, `400 invalid_input - User is already part of the role.`},
	{"§5.1.3 unknown", "gus", "join <it>", `{"user_uuid":"` + nowhere + `"}`, `400 invalid_input - User does not exist.`},
	{"§5.1.3 of another organization", "gus", "join <it>", `{"user_uuid":"` + uuid("dan") + `"}`, `400 invalid_input - User does not exist.`},
	{"§5.1.3 unknown role", "gus", "join " + nowhere, `{"user_uuid":"` + uuid("bob") + `"}`, `400 invalid_input - Role does not exist.`},
	{"§5.1.3 role of another organization", "gus", "join <theirs>", `{"user_uuid":"` + uuid("bob") + `"}`, `400 invalid_input - Role does not exist.`},
	{"§2.2 user_uuid", "gus", "join <it>", `{}`, `400 required user_uuid This field is required.`},
	{"§2.2 user_uuid", "gus", "join <it>", `{"user_uuid":"bob"}`, `400 invalid_input user_uuid Must be a valid UUID.`},
	{"clients §12 GET", "cyd", "place <it> <bob>", ``, `{"id":"<bob>","user":{"first_name":"bob"}}`},
	{"§5.1.3", "gus", "join <it> => cyd", `{"user_uuid":"` + uuid("cyd") + `"}`, `{"user":{"first_name":"cyd"}}`},
	{"clients §12 list", "cyd", "places <it>", ``, `{"count":2,"results":[{"id":"<bob>"},{"id":"<cyd>"}]}`},
	{"§3 limit", "cyd", "places <it>", `{"Limit":1,"Offset":1}`, `{"count":2,"results":[{"id":"<cyd>"}]}`},
	{"clients §12 members of the role", "cyd", "getrole <it>", ``, `{"members":[{"id":"<bob>"},{"id":"<cyd>"}]}`},
	{"clients §12 unknown", "cyd", "place <it> " + nowhere, ``, notFound},
	{"clients §12 unknown", "cyd", "places " + nowhere, ``, notFound},
	{"clients §12 of another organization", "dan", "place <it> <bob>", ``, notFound},
	{"§5.1.3 DELETE", "bob", "quit <it> <bob>", ``, tooLow},
	{"§5.1.3 DELETE", "gus", "quit <it> <bob>", ``, `null`},
	{"§5.1.3 DELETE", "gus", "quit <it> <bob>", ``, notFound},
	{"§5.1.3 a role goes with its memberships", "gus", "droprole <it>", ``, `null`},
	{"§5.1.3 a role goes with its memberships", "gus", "place <it> <cyd>", ``, notFound},
}

var defaultRoleRows = []ruletest.Row{
	{"§5.1.3", "gus", "role => it", `{"name":"Support"}`, `{"is_default":false}`},
	{"§5.9 default_role_id", "gus", "changeorganization", `{"default_role_id":"<it>"}`, `{"default_role_id":"<it>"}`},
	{"§5.1.3 is_default", "bob", "getrole <it>", ``, `{"is_default":true}`},
	{"§5.9 default_role_id: new members", "ann", "invite => in", `{"target_email":"new@example.com"}`, `{"target_email":"new@example.com"}`},
	{"§5.9 default_role_id: new members", "-", "accept <in> <in.accept_url>", `{"first_name":"Nina"}`, `{"first_name":"Nina"}`},
	{"§5.9 default_role_id: new members", "gus", "getrole <it>", ``, `{"members":[{"user":{"first_name":"Nina"}}]}`},
	{"§5.9 unknown", "gus", "changeorganization", `{"default_role_id":"` + nowhere + `"}`, `400 does_not_exist default_role_id Invalid pk "` + nowhere + `" - object does not exist.`},
	{"§5.9 no UUID", "gus", "changeorganization", `{"default_role_id":"x"}`, `400 invalid_input default_role_id Must be a valid UUID.`},
	{"§5.1.3 a role that is gone is no default", "gus", "droprole <it>", ``, `null`},
	{"§5.1.3 a role that is gone is no default", "gus", "organization", ``, `{"default_role_id":null}`},
	{"§5.9 null", "gus", "changeorganization", `{"default_role_id":null}`, `{"default_role_id":null}`},
}

// §4.6: the keys of members.
func TestMembers_Keys(t *testing.T) {
	w := newWorld(t, memstore.ExternalData{}, false)
	all := `,"scopes":["*"],"scoped_teams":[],"scoped_organizations":[]}`
	w.Run(t, w.calls(t), []ruletest.Row{
		{"§4.6 none", "bob", "memberkeys @me", ``, `{"has_keys":false,"has_keys_active_last_week":false,"keys":[]}`},
		{"§1.10", "bob", "newkey => used", `{"label":"used"` + all, `{"label":"used"}`},
		{"§1.10 one that opens another organization", "bob", "neworganization => other", `{"name":"Other"}`, `{"name":"Other"}`},
		{"§1.10 one that opens another organization", "bob", "newkey", `{"label":"there","scopes":["*"],"scoped_teams":[],"scoped_organizations":["<other>"]}`, `{"label":"there"}`},
		{"§1.10 one of the project", "bob", "newkey", `{"label":"P","scopes":["*"],"scoped_teams":[1],"scoped_organizations":[]}`, `{"label":"P"}`},
		{"§4.6 those that open the organization", "bob", "memberkeys @me", ``, `{"has_keys":true,"has_keys_active_last_week":false,"keys":[{"name":"P","last_used_at":null},{"name":"used","last_used_at":null}]}`},
		{"§1.2 used", "-", "whose <used.value>", ``, `{"first_name":"bob"}`},
		{"§4.6 by an administrator", "gus", "memberkeys " + uuid("bob"), ``, `{"has_keys":true,"has_keys_active_last_week":true,"keys":[{"name":"P"},{"name":"used","last_used_at":"2026-01-02T12:00:07Z"}]}`},
		{"§4.6 by another member", "cyd", "memberkeys " + uuid("bob"), ``, tooLow},
		{"§4.6 unknown", "gus", "memberkeys " + nowhere, ``, notFound},
		{"§4.6 of another organization", "gus", "memberkeys " + uuid("dan"), ``, notFound},
		{"§4.6 of before the last week", "gus", "wait " + days(7), ``, `null`},
		{"§4.6 of before the last week", "gus", "memberkeys " + uuid("bob"), ``, `{"has_keys_active_last_week":false}`},
	})
}

// Organizations follow §5.9.
func TestOrganizations_Rules(t *testing.T) {
	runAllTables(t, false, map[string][]ruletest.Row{
		"fields": organizationRows, "switches": switchRows, "making": newOrganizationRows, "slugs": slugRows, "closing": closeRows,
		"places": enterRows, "quotas": quotaRows,
	})
}

var organizationRows = []ruletest.Row{
	{"§5.9", "bob", "organization", ``, `{"id":"` + ours + `","name":"Ours","slug":"ours","logo_media_id":null,"created_at":"2026-01-02T12:00:00Z","updated_at":"2026-01-02T12:00:00Z","membership_level":1,"plugins_access_level":0,
		"is_member_join_email_enabled":true,"metadata":{},"customer_id":null,"enforce_2fa":null,"members_can_invite":true,"members_can_use_personal_api_keys":true,"allow_publicly_shared_resources":true,
		"is_ai_data_processing_approved":null,"default_experiment_stats_method":"bayesian","default_role_id":null}`},
	{"§5.9 PATCH 8", "bob", "changeorganization", `{"name":"x"}`, tooLow},
	{"§5.9 PATCH 8", "gus", "changeorganization", `{"name":"Renamed"}`, `{"name":"Renamed","membership_level":8,"updated_at":"2026-01-02T12:00:03Z","created_at":"2026-01-02T12:00:00Z"}`},
	{"§5.11", "gus", "log organization Organization", ``, `{"activity":"updated","user":{"first_name":"gus"},"detail":{"name":"Renamed","changes":[{"field":"name","before":"Ours","after":"Renamed"}]}}`},
	{"§5.9 name", "gus", "changeorganization", `{"name":` + chars(64) + `}`, `{"name":` + chars(64) + `}`},
	{"§5.9 name", "gus", "changeorganization", `{"name":` + chars(65) + `}`, `400 max_length name Ensure this field has no more than 64 characters.`},
	{"§5.9 name", "gus", "changeorganization", `{"name":""}`, `400 blank name This field may not be blank.`},
	{"§5.9 name", "gus", "changeorganization", `{"name":null}`, `400 null name This field may not be null.`},
	{"§2.5 PUT", "gus", "putorganization", `{"enforce_2fa":true}`, `400 required name This field is required.`},
	{"§2.5 PUT", "gus", "putorganization", `{"name":"Put","enforce_2fa":true}`, `{"name":"Put","enforce_2fa":true}`},
	{"§5.9 read-only", "gus", "changeorganization", `{"membership_level":15,"member_count":99,"slug":"mine","id":"` + nowhere + `","customer_id":"c"}`, `{"membership_level":8,"slug":"ours","id":"` + ours + `","customer_id":null}`},
	{"§5.9 logo_media_id", "gus", "changeorganization", `{"logo_media_id":"` + nowhere + `"}`, `{"logo_media_id":"` + nowhere + `"}`},
	{"§5.9 logo_media_id", "gus", "changeorganization", `{"logo_media_id":"logo"}`, `400 invalid_input logo_media_id Must be a valid UUID.`},
	{"§5.9 default_experiment_stats_method", "gus", "changeorganization", `{"default_experiment_stats_method":"frequentist"}`, `{"default_experiment_stats_method":"frequentist"}`},
	{"§5.9 default_experiment_stats_method", "gus", "changeorganization", `{"default_experiment_stats_method":"tarot"}`, `400 invalid_choice default_experiment_stats_method "tarot" is not a valid choice.`},
	{"§5.9 is_ai_data_processing_approved", "gus", "changeorganization", `{"is_ai_data_processing_approved":true}`, `{"is_ai_data_processing_approved":true}`},
	{"§5.9 is_ai_data_processing_approved", "gus", "changeorganization", `{"is_ai_data_processing_approved":null}`, `{"is_ai_data_processing_approved":null}`},
	{"§5.9 is_member_join_email_enabled", "gus", "changeorganization", `{"is_member_join_email_enabled":false}`, `{"is_member_join_email_enabled":false,"members_can_invite":true}`},
	{"§5.9 teams and projects", "bob", "organization", ``, `{"teams":[{"id":1,"name":"P"}],"projects":[{"id":1,"name":"P"}]}`},
	{"§5.9 those that the caller reaches", "eve", "organization", ``, `{"teams":[],"projects":[]}`},
}

var switchRows = []ruletest.Row{
	{"§1.5 members_can_use_personal_api_keys", "gus", "changeorganization", `{"members_can_use_personal_api_keys":false}`, `{"members_can_use_personal_api_keys":false}`},
	{"§1.5 members_can_use_personal_api_keys", "bob/own", "enter " + ours, ``, `403 permission_denied - Organization 'Ours' does not allow using personal API keys. Contact an admin to enable personal API keys for this organization.`},
	{"§1.5 members_can_use_personal_api_keys", "bob/own", "enterproject 1", ``, `403 permission_denied - Organization 'Ours' does not allow using personal API keys.`},
	{"§1.5 in lists", "bob/own", "organizations", ``, `{"count":0,"results":[]}`},
	{"§1.5 in lists", "bob/own", "everyproject", ``, `{"count":0,"results":[]}`},
	{"§1.5 without a personal key", "bob", "enter " + ours, ``, `{"level":1}`},
	{"§1.5 admins exempt", "gus/own", "enter " + ours, ``, `{"level":8}`},
	{"§1.5 admins exempt", "ann/own", "enterproject 1", ``, `{"name":"P"}`},
	{"§1.5 on again", "gus", "changeorganization", `{"members_can_use_personal_api_keys":true}`, `{"members_can_use_personal_api_keys":true}`},
	{"§1.5 on again", "bob/own", "enter " + ours, ``, `{"name":"Ours"}`},
	{"§2.2", "gus", "changeorganization", `{"members_can_invite":"perhaps"}`, `400 invalid_input members_can_invite Must be a valid boolean.`},
	{"§2.2", "gus", "changeorganization", `{"allow_publicly_shared_resources":null}`, `400 null allow_publicly_shared_resources This field may not be null.`},
	{"§5.9 allow_publicly_shared_resources", "gus", "changeorganization", `{"allow_publicly_shared_resources":"no"}`, `{"allow_publicly_shared_resources":false}`},
}

var newOrganizationRows = []ruletest.Row{
	{"§5.9 POST", "bob", "neworganization => it", `{"name":"Bob's"}`, `{"name":"Bob's","slug":"bob-s","membership_level":15,"member_count":1,"projects":[{"name":"Default project","organization":"(like) ^[0-9a-f-]{36}$","api_token":"(like) ^phc_[0-9A-Za-z]{42,43}$"}]}`},
	{"§5.9 the current one", "bob", "me", ``, `{"organization":{"id":"<it>"},"team":{"name":"Default project"}}`},
	{"§5.9 the current one", "bob", "enter @current", ``, `{"name":"Bob's","level":15}`},
	{"§5.9 several", "bob", "organizations", ``, `{"count":2,"results":[{"name":"Ours","membership_level":1},{"name":"Bob's","membership_level":15}]}`},
	{"§3 limit and offset", "bob", "organizations", `{"Limit":1,"Offset":1}`, `{"count":2,"results":[{"name":"Bob's"}]}`},
	{"§5.9 nobody else is in it", "ann", "enter <it>", ``, mayNot},
	{"§5.9 name", "bob", "neworganization", `{}`, `400 required name This field is required.`},
	{"§5.9 name", "bob", "neworganization", `{"name":` + chars(65) + `}`, `400 max_length name Ensure this field has no more than 64 characters.`},
	{"§5.9 nothing is left of one that was refused", "bob", "organizations", ``, `{"count":2}`},
	{"§5.9 with fields", "bob", "neworganization", `{"name":"With","members_can_invite":false}`, `{"members_can_invite":false}`},
}

var slugRows = []ruletest.Row{
	{"clients §1.5 slug", "bob", "neworganization", `{"name":"  Ærø & Søns, Ltd. "}`, `{"slug":"(like) ^[a-z0-9]+(-[a-z0-9]+)*$"}`},
	{"clients §1.5 slug", "bob", "neworganization", `{"name":"Acme Corp"}`, `{"slug":"acme-corp"}`},
	{"clients §1.5 two do not share one", "bob", "neworganization", `{"name":"ACME corp"}`, `{"slug":"(like) ^acme-corp-[a-z0-9]+$"}`},
	{"clients §1.5 a name of other letters", "bob", "neworganization", `{"name":"株式会社"}`, `{"slug":"(like) ^[a-z0-9-]+$"}`},
	{"clients §1.5 of a long name", "bob", "neworganization", `{"name":"` + strings.Repeat("abcdefg ", 8) + `"}`, `{"slug":"(like) ^[a-z-]{40,48}$"}`},
	{"clients §1.5 it stays when the name changes", "gus", "changeorganization", `{"name":"Other"}`, `{"name":"Other","slug":"ours"}`},
	{"clients §1.5 it stays when the name changes", "gus", "organization", ``, `{"slug":"ours"}`},
}

// §5.9 DELETE: only owners (15) can delete an organization, with its projects, members, roles,
// domains and invitations.
var closeRows = []ruletest.Row{
	{"§5.9 DELETE 15", "gus", "close", ``, tooLow},
	{"§5.9 DELETE 15", "bob", "close", ``, tooLow},
	{"§5.9", "gus", "domain", `{"domain":"example.com"}`, `{"domain":"example.com"}`},
	{"§5.9", "gus", "invite => in", `{"target_email":"dan@example.com"}`, `{"level":1}`},
	{"§5.9", "ann", "rotate => secret", ``, `{"secret_api_token":"(like) ^phs_"}`},
	{"§5.9", "ann", "close", ``, `null`},
	{"§5.9 who was in it is nowhere", "bob", "me", ``, `{"organization":null,"team":null,"organizations":[]}`},
	{"§5.9 it is not there", "ann", "own " + ours, ``, notFound},
	{"§5.9 it is not there", "ann", "enter " + ours, ``, `404 not_found - Organization not found.`},
	{"§5.9 nor are its projects", "ann", "enterproject 1", ``, `404 not_found - Project not found.`},
	{"§5.9 the domain is free", "dan", "domain", `{"domain":"example.com"}`, `{"domain":"example.com"}`},
	{"§5.9 the invitation is gone", "dan", "look <in>", ``, `400 invalid_input - The provided invite ID is not valid.`},
	{"§1.9 now a user may go too", "bob", "dropme", ``, `null`},
}

// §1.5, §1.7: which callers can access an organization that a path names.
var enterRows = []ruletest.Row{
	{"§1.7", "bob", "enter " + ours, ``, `{"name":"Ours","level":1}`},
	{"§1.7 without dashes, in capitals", "bob", "enter " + strings.ToUpper(strings.ReplaceAll(ours, "-", "")), ``, `{"name":"Ours"}`},
	{"§1.7 @current", "gus", "enter @current", ``, `{"name":"Ours","level":8}`},
	{"§6 row 13", "bob", "enter " + theirs, ``, mayNot},
	{"§6 row 14", "bob", "enter " + nowhere, ``, `404 not_found - Organization not found.`},
	{"§1.5 no UUID", "bob", "enter ours", ``, `404 not_found - Organization not found.`},
	{"§1.5 GET of another one", "bob", "own " + theirs, ``, notFound},
	{"§1.5 GET of another one", "bob", "own " + nowhere, ``, notFound},
	{"§5.9 @current", "bob", "own @current", ``, `{"name":"Ours"}`},
	{"§6 row 15", "bob", "enterproject 2", ``, `403 permission_denied - You don't have access to the project.`},
	{"§6 row 16", "bob", "enterproject 999999", ``, `404 not_found - Project not found.`},
	{"§6 row 17", "bob", "enterproject abc", ``, `404 not_found - Project not found.`},
	{"decision 26", "bob", "enterproject 01", ``, `404 not_found - Project not found.`},
	{"decision 26", "bob", "enterproject -1", ``, `404 not_found - Project not found.`},
	{"decision 26", "bob", "enterproject 99999999999999999999", ``, `404 not_found - Project not found.`},
	{"§1.7 @current", "bob", "enterproject @current", ``, `{"name":"P"}`},
	{"§1.8 none", "eve", "enterproject 1", ``, `403 permission_denied - You don't have access to the project.`},
	{"§1.7 @current: none", "eve", "enterproject @current", ``, `404 not_found - Project not found.`},
	{"§4.6 leaving", "bob", "leave @me", ``, `null`},
	{"§5.9 none current", "bob", "own @current", ``, `404 not_found - Current organization not found.`},
	{"§1.7 none", "bob", "enter @current", ``, `404 not_found - Organization not found.`},
}

// Decision 11, spec/capture.md §13.4: monthly limits by resource, which only owners change.
var quotaRows = []ruletest.Row{
	{"decision 11 none", "bob", "organization", ``, `{"quotas":{"events":null,"exceptions":null,"surveys":null,"llm_events":null,"recordings":null,"feature_flags":null}}`},
	{"decision 11 for owners", "gus", "changeorganization", `{"quotas":{"events":5}}`, tooLow},
	{"decision 11", "ann", "changeorganization", `{"quotas":{"events":1000,"feature_flags":0}}`, `{"quotas":{"events":1000,"feature_flags":0,"recordings":null}}`},
	{"decision 11 those that are not named stay", "ann", "changeorganization", `{"quotas":{"feature_flags":null}}`, `{"quotas":{"events":1000,"feature_flags":null}}`},
	{"§5.11", "ann", "log organization Organization", ``, `{"activity":"updated","detail":{"changes":[{"field":"quotas"}]}}`},
	{"§2.2", "ann", "changeorganization", `{"quotas":{"events":-1}}`, `400 min_value quotas__events Ensure this value is greater than or equal to 0.`},
	{"§2.2", "ann", "changeorganization", `{"quotas":{"events":"many"}}`, `400 invalid_input quotas__events A valid integer is required.`},
	{"§2.2 the largest that all readers read exactly", "ann", "changeorganization", `{"quotas":{"events":9007199254740991}}`, `{"quotas":{"events":9007199254740991}}`},
	{"§2.2 one more", "ann", "changeorganization", `{"quotas":{"events":9007199254740992}}`, `400 max_value quotas__events`},
	{"§2.2 no resource", "ann", "changeorganization", `{"quotas":{"rows_synced":1}}`, `400 invalid_choice quotas "rows_synced" is not a valid choice.`},
	{"§2.2 no object", "ann", "changeorganization", `{"quotas":[]}`, `400 not_a_dict quotas Expected a dictionary of items but got type "list".`},
	{"§2.2 null", "ann", "changeorganization", `{"quotas":null}`, `400 null quotas This field may not be null.`},
	{"decision 11 nothing was changed", "ann", "organization", ``, `{"quotas":{"events":9007199254740991}}`},
}

package organizations_test

import (
	"testing"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/rooms"
)

// accessCalls returns the calls of a world, and control, which sets a rule about the caller's
// project.
func (w *world) accessCalls(t *testing.T) ruletest.Calls {
	calls := w.calls(t)
	calls["control"] = func(scope callScope, _, b string) (any, error) {
		return w.SetControl(t.Context(), scope, management.KindProject, "1", ruletest.Body(t, b))
	}
	// controls returns the rules about a project.
	calls["controls"] = func(scope callScope, path, _ string) (any, error) {
		scope, err := w.Project(t.Context(), scope.Caller, path)
		if err != nil {
			return nil, err
		}
		return w.Controls(t.Context(), scope, management.KindProject, path)
	}
	return calls
}

// §1.8, clients.md §11.2: access to a private project by a rule about a role or a member.
func TestProjects_AccessByRule(t *testing.T) {
	for name, rows := range map[string][]ruletest.Row{"roles": roleAccessRows, "members": memberAccessRows, "moved": movedAccessRows, "grants": grantAccessRows} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, memstore.ExternalData{}, false)
			w.Run(t, w.accessCalls(t), rows)
		})
	}
}

var roleAccessRows = []ruletest.Row{
	{"", "gus", "role => it", `{"name":"Support"}`, `{"name":"Support"}`},
	{"", "gus", "join <it> => bob", `{"user_uuid":"` + uuid("bob") + `"}`, `{"role_id":"<it>"}`},
	{"§1.8", "gus", "changeproject", `{"access_control":true}`, `{"access_control":true}`},
	{"§1.8 no rule", "bob", "changeme", `{"set_current_team":1}`, "400 does_not_exist set_current_team Object with id=`1` does not exist."},
	{"§1.8 per-role rule", "gus", "control", `{"access_level":"member","role":"<it>"}`, `{"access_level":"member"}`},
	{"§1.8 per-role rule", "bob", "enterproject 1", ``, `{"name":"P"}`},
	{"§1.9 set_current_team", "bob", "changeme", `{"set_current_team":1}`, `{"team":{"id":1},"organization":{"projects":[{"id":1}]}}`},
	{"§1.9 set_current_organization", "bob", "changeme", `{"set_current_organization":"` + ours + `"}`, `{"team":{"id":1}}`},
	{"§1.9 any change", "bob", "changeme", `{"first_name":"Robert"}`, `{"team":{"id":1},"organization":{"projects":[{"id":1}]}}`},
	{"§1.10 a key of the project", "bob", "newkey", newKey(`,"scoped_teams":[1]`), `{"scoped_teams":[1]}`},
	{"console N1", "bob", "whoami", ``, `{"projects":[{"id":1}],"project":1}`},
	{"§5.8 members may configure", "bob", "changeproject", `{"timezone":"Europe/Oslo"}`, `{"timezone":"Europe/Oslo","effective_membership_level":1}`},
	{"§5.8 and no more", "bob", "resettoken", ``, noProjectAdmin},
	{"clients §11.2 admin by a role", "gus", "control", `{"access_level":"admin","role":"<it>"}`, `{"access_level":"admin"}`},
	{"clients §11.2 admin by a role", "bob", "resettoken", ``, `{"api_token":"(like) ^phc_","effective_membership_level":8}`},
	{"clients §11.2 they may change rules", "bob", "changeproject", `{"access_control":false}`, `{"access_control":false}`},
	{"clients §11.2 they may change rules", "bob", "changeproject", `{"access_control":true}`, `{"access_control":true}`},
	{"clients §11.3 a role that is deleted takes its rules along", "gus", "droprole <it>", ``, `null`},
	{"clients §11.3 a role that is deleted takes its rules along", "bob", "enterproject 1", ``, `403 permission_denied - You don't have access to the project.`},
	{"§1.9 nothing is current", "bob", "me", ``, `{"team":null,"organization":{"name":"Ours"}}`},
}

var memberAccessRows = []ruletest.Row{
	{"§1.8", "gus", "changeproject", `{"access_control":true}`, `{"access_control":true}`},
	{"§1.8 a rule of eve's own", "gus", "changeproject", `{"access_control":false}`, `{"access_control":false}`},
	{"§1.8 a rule of eve's own", "eve", "enterproject 1", ``, `403 permission_denied - You don't have access to the project.`},
	{"§5.8 the default does not make an administrator", "bob", "changeproject", `{"access_control":true}`, noProjectAdmin},
	{"§5.8 nor for approvals", "bob", "changeproject", `{"flag_approvals":{"needed":1}}`, noProjectAdmin},
	{"§5.8 but of the project", "bob", "resettoken", ``, `{"api_token":"(like) ^phc_"}`},
	{"console N12", "gus", "changeproject", `{"flag_approvals":{"needed":1}}`, `{"flag_approvals":{"needed":1,"tags":[],"switch_off_free":true}}`},
}

// §5.8: the rules about members go with a project that moves, and count where they are members.
var movedAccessRows = []ruletest.Row{
	{"", "gus", "neworganization => guss", `{"name":"Gus's"}`, `{"name":"Gus's"}`},
	{"§5.8", "gus", "move", `{"organization_id":"<guss>"}`, `{"organization":"<guss>"}`},
	{"§5.11", "gus", "log Project 1", ``, `{"activity":"updated","user":{"first_name":"gus"},"detail":{"changes":[{"field":"organization","before":"` + ours + `","after":"<guss>"}]}}`},
	{"§1.8 members of the old organization", "bob", "enterproject 1", ``, `403 permission_denied - You don't have access to the project.`},
	{"§1.8 its owner", "ann", "enterproject 1", ``, `403 permission_denied - You don't have access to the project.`},
	{"§5.8 lists", "ann", "organization", ``, `{"projects":[]}`},
	{"§5.8 lists", "gus", "everyproject", ``, `{"count":2,"results":[{"id":1,"organization":"<guss>"},{"id":3}]}`},
}

// §4.5: the access that an invitation grants is that at the time of its acceptance.
var grantAccessRows = []ruletest.Row{
	{"§1.8", "gus", "changeproject", `{"access_control":true}`, `{"access_control":true}`},
	{"§4.5", "gus", "invite => in", `{"target_email":"new@example.com","private_project_access":[{"id":1,"level":"admin"}]}`, `{"level":1}`},
	{"§4.5", "-", "accept <in> <in.accept_url> => new", `{"first_name":"New"}`, `{"first_name":"New"}`},
	{"clients §11.1 its rule", "gus", "controls 1", ``, `{"access_controls":[{"access_level":"none","organization_member":null},{"access_level":"none"},{"access_level":"admin","organization_member":"(like) .","role":null}]}`},
	{"§4.5 a project that is gone", "gus", "newproject", `{"name":"Second"}`, `{"id":3}`},
	{"§4.5 a project that is gone", "gus", "invite => gone", `{"target_email":"zoe@example.com","private_project_access":[{"id":3,"level":"member"}]}`, `{"level":1}`},
	{"§4.5 a project that is gone", "gus", "dropproject 3", ``, `null`},
	{"§4.5 a project that is gone", "-", "accept <gone> <gone.accept_url>", `{"first_name":"Zoe"}`, `{"first_name":"Zoe"}`},
	{"§4.5 a project that has moved", "gus", "neworganization => guss", `{"name":"Gus's"}`, `{"name":"Gus's"}`},
	{"§4.5 a project that has moved", "gus", "newproject", `{"name":"Third"}`, `{"id":5,"organization":"` + ours + `"}`},
	{"§4.5 a project that has moved", "gus", "invite => moved", `{"target_email":"yan@example.com","private_project_access":[{"id":5,"level":"admin"}]}`, `{"level":1}`},
	{"§4.5 a project that has moved", "gus", "move 5", `{"organization_id":"<guss>"}`, `{"organization":"<guss>"}`},
	{"§4.5 a project that has moved", "-", "accept <moved> <moved.accept_url>", `{"first_name":"Yan"}`, `{"first_name":"Yan"}`},
	{"§4.5 a project that has moved", "gus", "controls 5", ``, `{"access_controls":[]}`},
}

// §4.6: keys of a member count as active for a week after their last use.
func TestMembers_KeysOfAWeek(t *testing.T) {
	w := newWorld(t, memstore.ExternalData{}, false)
	err := w.Store.Write(t.Context(), func(tx rooms.Tx) error {
		// The lists of a key without scopes do not limit it (§1.5).
		return tx.PutKey(&management.KeyRecord{ID: "old", Hash: management.HashKey("phx_old"), Label: "old", User: 3, Projects: []int64{7}, Organizations: []string{theirs}, CreatedAt: ruletest.Start})
	})
	if err != nil {
		t.Fatal(err)
	}
	w.Run(t, w.calls(t), []ruletest.Row{
		{"§1.10", "bob", "newkey => it", newKey(``), `{"label":"k"}`},
		{"used at 12:00:02", "-", "whose <it.value>", ``, `{"first_name":"bob"}`},
		{"§4.6", "gus", "wait 167h59m57s", ``, `null`},
		{"§4.6 a week less a second", "gus", "memberkeys " + uuid("bob"), ``, `{"has_keys":true,"has_keys_active_last_week":true}`},
		{"§4.6 a week", "gus", "memberkeys " + uuid("bob"), ``, `{"has_keys":true,"has_keys_active_last_week":false}`},
		{"§1.5 legacy keys skip the lists", "gus", "memberkeys " + uuid("cyd"), ``, `{"has_keys":true,"keys":[{"name":"old"}]}`},
		{"§4.6 a key of another project", "bob", "neworganization => other", `{"name":"Other"}`, `{"name":"Other"}`},
		{"§4.6 a key of another project", "bob", "changekey <it>", `{"scoped_teams":[3]}`, `{"scoped_teams":[3]}`},
		{"§4.6 a key of another project", "gus", "memberkeys " + uuid("bob"), ``, `{"has_keys":false,"has_keys_active_last_week":false,"keys":[]}`},
		{"§4.6 a key of both", "bob", "changekey <it>", `{"scoped_teams":[3,1],"scoped_organizations":["<other>"]}`, `{"scoped_teams":[3,1]}`},
		{"§4.6 its organizations, too", "gus", "memberkeys " + uuid("bob"), ``, `{"has_keys":false}`},
		{"§4.6 its organizations, too", "bob", "changekey <it>", `{"scoped_organizations":["<other>","` + ours + `"]}`, `{"scoped_teams":[3,1]}`},
		{"§4.6 its organizations, too", "gus", "memberkeys " + uuid("bob"), ``, `{"has_keys":true}`},
	})
}

// With a user all records for signing in are deleted.
func TestAccount_DeletedUserRecords(t *testing.T) {
	w := newSignInWorld(t, false)
	w.Run(t, w.calls(t), []ruletest.Row{
		{"", "bob", "newkey => key", personal, `{"label":"k"}`},
		{"", "-", "signin", `{"key":"<key.value>"}`, `{"method":"key"}`},
		{"", "-", "sso", account("1", "bob@example.com"), `{"token":"(like) ."}`},
		{"", "bob", "newoptions", ``, `{"challenge":"challenge-1"}`},
		{"", "bob", "newpasskey", newPasskey(1, "laptop"), `{"name":"laptop"}`},
		{"", "ann", "level " + uuid("bob"), `{"level":15}`, `{"level":15}`},
		{"", "-", "ownerlink bob@example.com", ``, `{"token":""}`},
		{"", "-", "ownerlink bob@example.com", `true`, `{"token":"(like) ."}`},
		{"", "ann", "level " + uuid("bob"), `{"level":1}`, `{"level":1}`},
		{"§4.6", "bob", "leave @me", ``, `null`},
		{"§1.9 DELETE", "bob", "dropme", ``, `null`},
	})
	err := w.Store.Read(t.Context(), func(tx rooms.Tx) error {
		for _, kind := range []string{"session", "passkey", "sign_in_link", "oidc_identity"} {
			if _, n, err := tx.List(management.Query{Kind: kind, Parent: uuid("bob")}); n != 0 || err != nil {
				t.Errorf("%d records of kind %s, %v", n, kind, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// §4.6: last_login is null if the member has never signed in with a browser.
func TestMembers_LastLogin(t *testing.T) {
	w := newSignInWorld(t, false)
	w.Run(t, w.calls(t), []ruletest.Row{
		{"", "bob", "newkey => key", personal, `{"label":"k"}`},
		{"a key is no sign-in", "-", "whose <key.value>", ``, `{"first_name":"bob"}`},
		{"§4.6 never", "ann", "members", `{"Email":"bob@example.com"}`, `{"results":[{"last_login":null}]}`},
		{"§4.6 at 12:00:04", "-", "signin", `{"key":"<key.value>"}`, `{"method":"key"}`},
		{"§4.6", "ann", "members", `{"Email":"bob@example.com"}`, `{"results":[{"last_login":"2026-01-02T12:00:04Z"}]}`},
		{"§4.6 the last one", "-", "sso", account("1", "bob@example.com"), `{"token":"(like) ."}`},
		{"§4.6 the last one", "ann", "members", `{"Email":"bob@example.com"}`, `{"results":[{"last_login":"2026-01-02T12:00:06Z"}]}`},
		{"§5.11 it is no change of a member", "ann", "level " + uuid("bob"), `{"level":8}`, `{"last_login":"2026-01-02T12:00:06Z"}`},
		{"§5.11 it is no change of a member", "ann", "log organization OrganizationMembership", ``, `{"detail":{"changes":[{"field":"level"}]}}`},
	})
}

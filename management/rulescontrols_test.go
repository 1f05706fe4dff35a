package management_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

// membershipOf returns the id of a user's membership in Organization. The ids end with 90000 and the
// place of the user: ann is 0, bob 1 and so on.
func membershipOf(place int) string {
	return fmt.Sprintf("0191f0a2-5b1c-7d3e-8f40-2000%08d", 90000+place)
}

// controlCalls returns the calls of access rules in a project with dashboard 1, which cyd has
// created. A path is a kind and an id; the kind "kinds" is for rules about kinds.
func controlCalls(t *testing.T, w *ruletest.World) ruletest.Calls {
	ctx := t.Context()
	if _, err := w.Dashboards.Create(ctx, w.Scope(t, "cyd"), ruletest.Body(t, `{"name":"Ours"}`)); err != nil {
		t.Fatal(err)
	}
	target := func(path string) (kind, id string) {
		kind, id, _ = strings.Cut(path, " ")
		return strings.TrimSuffix(kind, "kinds"), id
	}
	return ruletest.Calls{
		"controls": func(scope callScope, path, _ string) (any, error) {
			kind, id := target(path)
			return w.Controls(ctx, scope, kind, id)
		},
		"control": func(scope callScope, path, b string) (any, error) {
			kind, id := target(path)
			return w.SetControl(ctx, scope, kind, id, ruletest.Body(t, b))
		},
		"users": func(scope callScope, path, _ string) (any, error) {
			kind, id := target(path)
			return w.Users(ctx, scope, kind, id)
		},
		"kindusers": func(scope callScope, kind, _ string) (any, error) { return w.Users(ctx, scope, kind, "") },
		"permit": func(scope callScope, path, need string) (any, error) {
			kind, id := target(path)
			return nil, w.Permit(ctx, scope, kind, id, management.AccessLevel(need))
		},
		"role": func(scope callScope, _, b string) (any, error) {
			return w.Organizations.Roles.Create(ctx, scope, ruletest.Body(t, b))
		},
	}
}

// Access rules follow clients.md §11.1.
func TestAccessControls_Rules(t *testing.T) {
	runTables(t, controlCalls, map[string][]ruletest.Row{
		"shapes": controlShapeRows, "rows": controlRows, "bodies": controlFieldRows, "who may": controlUserRows, "projects": projectControlRows, "kinds": kindControlRows, "users": accessUserRows, "users of kinds": kindUserRows, "permits": permitRows,
	})
}

const (
	notManager  = `403 permission_denied - Must be manager to modify dashboard permissions.`
	notOrgAdmin = `403 permission_denied - Must be an Organization admin to modify project-wide permissions.`
)

var controlShapeRows = []ruletest.Row{
	{"clients §11.1 an object", "bob", "controls dashboard 1", ``, `{"access_controls":[],"available_access_levels":["none","viewer","editor","manager"],"default_access_level":"editor","minimum_access_level":"none","maximum_access_level":"manager","user_access_level":"editor","user_can_edit_access_levels":false}`},
	{"clients §11.1 its creator", "cyd", "controls dashboard 1", ``, `{"user_access_level":"manager","user_can_edit_access_levels":true}`},
	{"clients §11.1 an administrator", "gus", "controls dashboard 1", ``, `{"user_access_level":"manager","user_can_edit_access_levels":true}`},
	{"clients §11.1 the project", "bob", "controls project", ``, `{"available_access_levels":["none","member","admin"],"default_access_level":"admin","minimum_access_level":"none","maximum_access_level":"admin","user_access_level":"member","user_can_edit_access_levels":false}`},
	{"clients §11.1 kinds", "gus", "controls kinds", ``, `{"access_controls":[],"available_access_levels":["none","viewer","editor","manager"],"user_access_level":"admin","user_can_edit_access_levels":true}`},
	{"clients §1.1 unknown", "gus", "controls dashboard 99", ``, `404 not_found - Not found.`},
	{"clients §1.1 unknown", "gus", "control dashboard 99", `{"access_level":"viewer"}`, `404 not_found - Not found.`},
	{"clients §1.1 no id", "gus", "controls dashboard abc", ``, `404 not_found - Not found.`},
	{"§1.5 another project's", "dan", "controls dashboard 1", ``, `404 not_found - Not found.`},
}

// clients.md §11.1: there is one row for each target, which is created, changed or deleted.
var controlRows = []ruletest.Row{
	{"PUT", "gus", "control dashboard 1", `{"access_level":"viewer"}`, `{"access_level":"viewer","resource":"dashboard","resource_id":"1","organization_member":null,"role":null,"created_by":null,"created_at":"2026-01-02T12:00:01Z","updated_at":"2026-01-02T12:00:01Z"}`},
	{"PUT once more", "gus", "control dashboard 1", `{"access_level":"none"}`, `{"access_level":"none","created_at":"2026-01-02T12:00:01Z","updated_at":"2026-01-02T12:00:02Z"}`},
	{"one row", "bob", "controls dashboard 1", ``, `{"access_controls":[{"access_level":"none"}],"user_access_level":"none"}`},
	{"§5.11", "gus", "log AccessControl dashboard/1", ``, `{"activity":"updated","user":{"first_name":"gus"},"detail":{"name":"Ours","changes":[{"field":"access_level","before":"viewer","after":"none"}]}}`},
	{"the path decides the object", "gus", "control dashboard 1", `{"access_level":"editor","resource":"insight","resource_id":"7","organization_member":"` + membershipOf(1) + `"}`, `{"access_level":"editor","resource":"dashboard","resource_id":"1","organization_member":"` + membershipOf(1) + `"}`},
	{"a role", "gus", "role => it", `{"name":"r"}`, `{"name":"r"}`},
	{"a role", "gus", "control dashboard 1", `{"access_level":"manager","role":"<it>"}`, `{"role":"<it>","organization_member":null}`},
	{"in the order in which they were made", "gus", "controls dashboard 1", ``, `{"access_controls":[{"organization_member":null,"role":null},{"organization_member":"` + membershipOf(1) + `"},{"role":"<it>"}]}`},
	{"null removes it", "gus", "control dashboard 1", `{"access_level":null,"organization_member":"` + membershipOf(1) + `"}`, `null`},
	{"§5.11 for a user", "gus", "log AccessControl dashboard/1", ``, `{"activity":"deleted","detail":{"name":"Ours: bob@example.com"}}`},
	{"there was none", "gus", "control dashboard 1", `{"access_level":null,"organization_member":"` + membershipOf(2) + `"}`, `null`},
	{"§5.11 nothing was removed", "gus", "log AccessControl dashboard/1", ``, `{"activity":"deleted","created_at":"2026-01-02T12:00:09Z"}`},
	{"the others stay", "gus", "controls dashboard 1", ``, `{"access_controls":[{"role":null},{"role":"<it>"}]}`},
	{"a new one is made anew", "gus", "control dashboard 1", `{"access_level":"viewer","organization_member":"` + membershipOf(1) + `"}`, `{"created_at":"2026-01-02T12:00:14Z"}`},
	{"§5.11 for a role", "gus", "control dashboard 1", `{"access_level":"viewer","role":"<it>"}`, `{"access_level":"viewer"}`},
	{"§5.11 for a role", "gus", "log AccessControl dashboard/1", ``, `{"activity":"updated","detail":{"name":"Ours: r"}}`},
}

var controlFieldRows = rows(
	each("clients §11.1", "gus", "control dashboard 1",
		[2]string{`{}`, `400 required access_level This field is required.`},
		[2]string{`{"access_level":""}`, `400 blank access_level This field may not be blank.`},
		[2]string{`{"access_level":"member"}`, `400 invalid_input - Invalid access level. Must be one of: none, viewer, editor, manager`},
		[2]string{`{"access_level":"viewer","organization_member":"x"}`, `400 invalid_input organization_member Must be a valid UUID.`},
		[2]string{`{"access_level":"viewer","organization_member":"` + membershipOf(1) + `","role":"` + membershipOf(1) + `"}`, `400 invalid_input - You can not scope an access control to both a member and a role.`},
		[2]string{`{"access_level":"viewer","organization_member":"` + membershipOf(3) + `"}`, `400 does_not_exist organization_member Invalid pk "` + membershipOf(3) + `" - object does not exist.`}, // dan's, in another organization
		[2]string{`{"access_level":"viewer","organization_member":"` + ruletest.UUID("bob") + `"}`, `400 does_not_exist organization_member`},                                                          // the user and not the membership
		[2]string{`{"access_level":null,"organization_member":"` + membershipOf(3) + `"}`, `400 does_not_exist organization_member`},
		[2]string{`{"access_level":"viewer","role":"` + membershipOf(1) + `"}`, `400 does_not_exist role Invalid pk "` + membershipOf(1) + `" - object does not exist.`},
		[2]string{`{"access_level":"viewer","organization_member":"` + strings.ToUpper(membershipOf(1)) + `","role":null}`, `{"organization_member":"` + membershipOf(1) + `"}`},
	),
	[]ruletest.Row{
		{"clients §11.1 a role of another organization", "dan", "role => theirs", `{"name":"r"}`, `{"name":"r"}`},
		{"clients §11.1 a role of another organization", "gus", "control dashboard 1", `{"access_level":"viewer","role":"<theirs>"}`, `400 does_not_exist role`},
	},
)

var controlUserRows = []ruletest.Row{
	{"clients §11.1 neither manager nor administrator", "bob", "control dashboard 1", `{"access_level":"viewer"}`, notManager},
	{"§1.5 rights come before the body", "bob", "control dashboard 1", `{}`, notManager},
	{"clients §11.1 kinds", "cyd", "control kinds", `{"access_level":"viewer","resource":"dashboard"}`, notOrgAdmin},
	{"clients §11.1 the project", "cyd", "control project", `{"access_level":"none"}`, notOrgAdmin},
	{"clients §11.1 its creator", "cyd", "control dashboard 1", `{"access_level":"manager","organization_member":"` + membershipOf(1) + `"}`, `{"access_level":"manager"}`},
	{"clients §11.1 a manager by a rule", "bob", "control dashboard 1", `{"access_level":"viewer"}`, `{"access_level":"viewer"}`},
	{"clients §11.2 an admin of the project by a rule", "gus", "control project", `{"access_level":"admin","organization_member":"` + membershipOf(1) + `"}`, `{"access_level":"admin"}`},
	{"clients §11.2 an admin of the project by a rule", "bob", "control kinds", `{"access_level":"viewer","resource":"dashboard"}`, `{"access_level":"viewer"}`},
	{"clients §11.2 an admin of the project by a rule", "bob", "controls project", ``, `{"user_access_level":"admin","user_can_edit_access_levels":true}`},
	{"clients §11.2 the default makes no administrator", "gus", "control project", `{"access_level":"admin"}`, `{"access_level":"admin"}`},
	{"clients §11.2 the default makes no administrator", "cyd", "control kinds", `{"access_level":"viewer","resource":"dashboard"}`, notOrgAdmin},
}

// clients.md §11.1, §11.2: rules about the project.
var projectControlRows = []ruletest.Row{
	{"the world's default, and eve's rule", "ann", "controls project", ``, `{"access_controls":[
		{"access_level":"member","resource":"project","resource_id":"1","organization_member":null,"role":null,"created_by":null,"created_at":"2026-01-02T12:00:00Z"},{"access_level":"none","organization_member":"` + membershipOf(4) + `"}]}`},
	{"levels", "ann", "control project", `{"access_level":"viewer"}`, `400 invalid_input - Invalid access level. Must be one of: none, member, admin`},
	{"the default", "ann", "control project", `{"access_level":"none"}`, `{"access_level":"none","resource":"project","resource_id":"1","created_at":"2026-01-02T12:00:00Z","updated_at":"2026-01-02T12:00:03Z"}`},
	{"the default", "bob", "controls project", ``, `{"user_access_level":"none"}`},
	{"§5.11", "ann", "log AccessControl project/1", ``, `{"activity":"updated","detail":{"name":"P","changes":[{"field":"access_level","before":"member","after":"none"}]}}`},
	{"a member", "ann", "control project", `{"access_level":"admin","organization_member":"` + membershipOf(1) + `"}`, `{"access_level":"admin","created_at":"2026-01-02T12:00:06Z"}`},
	{"a member", "bob", "controls project", ``, `{"user_access_level":"admin"}`},
	{"a member, changed", "ann", "control project", `{"access_level":"member","organization_member":"` + membershipOf(1) + `"}`, `{"access_level":"member","created_at":"2026-01-02T12:00:06Z","updated_at":"2026-01-02T12:00:08Z"}`},
	{"a role", "ann", "role => it", `{"name":"r"}`, `{"name":"r"}`},
	{"a role", "ann", "control project", `{"access_level":"member","role":"<it>"}`, `{"role":"<it>"}`},
	{"default, members, roles", "ann", "controls project", ``, `{"access_controls":[{"access_level":"none"},{"organization_member":"` + membershipOf(1) + `"},{"organization_member":"` + membershipOf(4) + `"},{"role":"<it>"}]}`},
	{"null", "ann", "control project", `{"access_level":null,"organization_member":"` + membershipOf(1) + `"}`, `null`},
	{"null", "ann", "control project", `{"access_level":null,"role":"<it>"}`, `null`},
	{"null, where there is none", "ann", "control project", `{"access_level":null,"role":"<it>"}`, `null`},
	{"null of the default", "ann", "control project", `{"access_level":null}`, `null`},
	{"else admin", "bob", "controls project", ``, `{"access_controls":[{"organization_member":"` + membershipOf(4) + `"}],"user_access_level":"admin"}`},
	{"none of eve's", "ann", "control project", `{"access_level":null,"organization_member":"` + membershipOf(4) + `"}`, `null`},
	{"none of eve's", "eve", "controls project", ``, `{"access_controls":[],"user_access_level":"admin"}`},
}

// clients.md §11.1: rules about all objects of a kind.
var kindControlRows = rows(
	each("clients §11.1 resource", "gus", "control kinds",
		[2]string{`{"access_level":"viewer"}`, `400 required resource This field is required.`},
		[2]string{`{"access_level":"viewer","resource":null}`, `400 required resource This field is required.`},
		[2]string{`{"access_level":"viewer","resource":"spaceship"}`, `400 invalid_choice resource "spaceship" is not a valid choice.`},
		[2]string{`{"access_level":"viewer","resource":"project"}`, `400 invalid_choice resource "project" is not a valid choice.`},
		[2]string{`{"access_level":"none","resource":"action"}`, `400 invalid_input - Access level cannot be set below the minimum 'viewer' for action.`},
		[2]string{`{"access_level":"viewer","resource":"action"}`, `{"access_level":"viewer","resource":"action","resource_id":null}`},
		[2]string{`{"access_level":"manager","resource":"action"}`, `{"access_level":"manager"}`},
		[2]string{`{"access_level":"editor","resource":"activity_log"}`, `400 invalid_input - Access level cannot be set above the maximum 'viewer' for activity_log.`},
		[2]string{`{"access_level":"viewer","resource":"activity_log"}`, `{"access_level":"viewer"}`},
		[2]string{`{"access_level":"none","resource":"notebook"}`, `{"access_level":"none","resource":"notebook"}`},
	),
	[]ruletest.Row{
		{"an object's rule is not one of a kind", "gus", "control dashboard 1", `{"access_level":"viewer"}`, `{"resource_id":"1"}`},
		{"clients §11.1 all rows without an object, by kind", "bob", "controls kinds", ``, `{"access_controls":[{"resource":"action"},{"resource":"activity_log"},{"resource":"notebook"}]}`},
		{"an object's own rules", "bob", "controls dashboard 1", ``, `{"access_controls":[{"resource":"dashboard","resource_id":"1"}]}`},
		{"§5.11", "gus", "log AccessControl notebook", ``, `{"activity":"created","detail":{"name":"notebook"}}`},
		{"of another project", "dan", "controls kinds", ``, `{"access_controls":[]}`},
		{"null", "gus", "control kinds", `{"access_level":null,"resource":"action"}`, `null`},
		{"null", "bob", "controls kinds", ``, `{"access_controls":[{"resource":"activity_log"},{"resource":"notebook"}]}`},
	},
)

// clients.md §11.3: users_with_access. eve has no access to the project, and fay is inactive.
var accessUserRows = []ruletest.Row{
	{"clients §11.3", "bob", "users dashboard 1", ``, `{"total_count":4,"users":[
		{"user_id":1,"access_level":"manager","organization_membership_id":"` + membershipOf(0) + `","organization_membership_level":15},
		{"user_id":2,"access_level":"editor","organization_membership_id":"` + membershipOf(1) + `","organization_membership_level":1},
		{"user_id":3,"access_level":"manager"},{"user_id":7,"access_level":"manager","organization_membership_level":8}]}`},
	{"clients §11.3 none", "gus", "control dashboard 1", `{"access_level":"none"}`, `{"access_level":"none"}`},
	{"clients §11.3 none", "ann", "users dashboard 1", ``, `{"total_count":3,"users":[{"user_id":1},{"user_id":3},{"user_id":7}]}`},
	{"clients §11.3 by a rule", "gus", "control dashboard 1", `{"access_level":"viewer","organization_member":"` + membershipOf(1) + `"}`, `{"access_level":"viewer"}`},
	{"clients §11.3 by a rule", "ann", "users dashboard 1", ``, `{"total_count":4,"users":[{"user_id":1},{"user_id":2,"access_level":"viewer"},{"user_id":3},{"user_id":7}]}`},
	{"clients §11.3 a rule does not open the project", "gus", "control dashboard 1", `{"access_level":"editor","organization_member":"` + membershipOf(4) + `"}`, `{"access_level":"editor"}`},
	{"clients §11.3 a rule does not open the project", "ann", "users dashboard 1", ``, `{"total_count":4}`},
	{"clients §1.1 unknown", "ann", "users dashboard 99", ``, `404 not_found - Not found.`},
}

// clients.md §11.2, §11.3: the access to the project and to kinds of objects, and its source. The
// highest rule of member and roles counts for the project, the highest of all for a kind.
var kindUserRows = []ruletest.Row{
	{"clients §11.2 project: the default; eve has a rule with none", "bob", "kindusers", ``, `{"total_count":4,"users":[
		{"user_id":1,"access_level":"admin","access_source":"organization_admin"},{"user_id":2,"access_level":"member","access_source":"default"},
		{"user_id":3,"access_level":"member","access_source":"default"},{"user_id":7,"access_level":"admin","access_source":"organization_admin"}]}`},
	{"clients §11.2 project: a rule for the member", "gus", "control project", `{"access_level":"admin","organization_member":"` + membershipOf(1) + `"}`, `{"access_level":"admin"}`},
	{"clients §11.2 project: a rule for the member", "bob", "kindusers", ``, `{"users":[{"user_id":1},{"user_id":2,"access_level":"admin","access_source":"explicit_member"},{"user_id":3},{"user_id":7}]}`},
	{"clients §11.2 project: no default but none", "gus", "control project", `{"access_level":"none"}`, `{"access_level":"none"}`},
	{"clients §11.2 project: no default but none", "ann", "kindusers", ``, `{"total_count":3,"users":[{"user_id":1},{"user_id":2},{"user_id":7}]}`},
	{"clients §11.2 project: without rules", "gus", "control project", `{"access_level":null}`, `null`},
	{"clients §11.2 project: without rules", "ann", "kindusers", ``, `{"users":[{"user_id":1},{"user_id":2},{"user_id":3,"access_level":"admin","access_source":"default"},{"user_id":7}]}`},
	{"clients §11.2 kind: without rules", "bob", "kindusers dashboard", ``, `{"users":[
		{"user_id":1,"access_level":"manager","access_source":"organization_admin"},{"user_id":2,"access_level":"editor","access_source":"default"},{"user_id":3,"access_level":"editor","access_source":"default"},{"user_id":7}]}`},
	{"clients §11.1 kind: at most viewer", "bob", "kindusers activity_log", ``, `{"users":[{"user_id":1},{"user_id":2,"access_level":"viewer","access_source":"default"},{"user_id":3},{"user_id":7}]}`},
	{"clients §11.2 kind: the default", "gus", "control kinds", `{"access_level":"none","resource":"dashboard"}`, `{"access_level":"none"}`},
	{"clients §11.2 kind: the highest", "gus", "control kinds", `{"access_level":"viewer","resource":"dashboard","organization_member":"` + membershipOf(1) + `"}`, `{"access_level":"viewer"}`},
	{"clients §11.2 kind: the highest; its creator sees only the object", "bob", "kindusers dashboard", ``, `{"total_count":3,"users":[{"user_id":1},{"user_id":2,"access_level":"viewer","access_source":"explicit_member"},{"user_id":7}]}`},
	{"clients §11.1 no kind", "bob", "kindusers zebra", ``, `400 invalid_choice resource "zebra" is not a valid choice.`},
}

// §1.5: "You do not have editor access to this resource."
var permitRows = []ruletest.Row{
	{"without rules", "bob", "permit dashboard 1", `manager`, `null`},
	{"a kind", "gus", "control kinds", `{"access_level":"viewer","resource":"dashboard"}`, `{"access_level":"viewer"}`},
	{"a kind", "bob", "permit dashboard", `viewer`, `null`},
	{"a kind", "bob", "permit dashboard", `editor`, `403 permission_denied - You do not have editor access to this resource.`},
	{"an object of it", "bob", "permit dashboard 1", `editor`, `403 permission_denied - You do not have editor access to this resource.`},
	{"an object of it", "bob", "permit dashboard 1", `viewer`, `null`},
	{"its creator", "cyd", "permit dashboard 1", `manager`, `null`},
	{"who has created one may not create others", "cyd", "permit dashboard", `editor`, `403 permission_denied - You do not have editor access to this resource.`},
	{"an administrator", "gus", "permit dashboard 1", `manager`, `null`},
	{"another kind", "bob", "permit cohort", `editor`, `null`},
	{"another kind", "bob", "permit cohort", `manager`, `403 permission_denied - You do not have manager access to this resource.`},
	{"what does not exist is reported by its handler", "bob", "permit dashboard 99", `manager`, `null`},
}

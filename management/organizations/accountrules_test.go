package organizations_test

import (
	"testing"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/rooms"
)

// /api/users/@me follows §1.9.
func TestAccount_Rules(t *testing.T) {
	runAllTables(t, false, map[string][]ruletest.Row{"fields": meRows, "where one works": currentRows, "address": addressRows, "deletion": deleteMeRows})
}

var meRows = []ruletest.Row{
	{"§1.9", "bob", "me", ``, `{"date_joined":null,"uuid":"` + uuid("bob") + `","first_name":"bob","last_name":"","email":"bob@example.com","pending_email":null,"is_email_verified":null,"notification_settings":{},
		"anonymize_data":false,"toolbar_mode":"toolbar","has_password":false,"id":2,"is_staff":false,"is_impersonated":false,"is_impersonated_until":null,"sensitive_session_expires_at":null,
		"team":{"id":1,"name":"P"},"organization":{"id":"` + ours + `","name":"Ours","membership_level":1},
		"organizations":[{"id":"` + ours + `","name":"Ours","slug":"ours","logo_media_id":null,"membership_level":1,"members_can_use_personal_api_keys":true}],
		"is_2fa_enabled":false,"has_social_auth":false,"has_sso_enforcement":false,"has_seen_product_intro_for":null,"scene_personalisation":[],"theme_mode":null,"language":null,"hedgehog_config":null,"role_at_organization":null}`},
	{"§1.9 names", "bob", "changeme", `{"first_name":"Robert","last_name":"Smith"}`, `{"first_name":"Robert","last_name":"Smith","email":"bob@example.com"}`},
	{"§1.9 last_name", "bob", "changeme", `{"last_name":""}`, `{"first_name":"Robert","last_name":""}`},
	{"§2.2 first_name", "bob", "changeme", `{"first_name":""}`, `400 blank first_name This field may not be blank.`},
	{"§1.9 role_at_organization", "bob", "changeme", `{"role_at_organization":"founder"}`, `{"role_at_organization":"founder"}`},
	{"§1.9 role_at_organization", "bob", "changeme", `{"role_at_organization":"king"}`, `400 invalid_choice role_at_organization "king" is not a valid choice.`},
	{"§1.9 role_at_organization", "bob", "changeme", `{"role_at_organization":null}`, `{"role_at_organization":null}`},
	{"§1.9 theme_mode", "bob", "changeme", `{"theme_mode":"dark"}`, `{"theme_mode":"dark"}`},
	{"§1.9 theme_mode", "bob", "changeme", `{"theme_mode":"pink"}`, `400 invalid_choice theme_mode "pink" is not a valid choice.`},
	{"§1.9 theme_mode", "bob", "changeme", `{"theme_mode":null}`, `{"theme_mode":null}`},
	{"console.md §4 language", "bob", "changeme", `{"language":"de"}`, `{"language":"de"}`},
	{"console.md §4 language", "bob", "changeme", `{"language":"tlh"}`, `400 invalid_choice language "tlh" is not a valid choice.`},
	{"console.md §4 language", "bob", "changeme", `{"language":null}`, `{"language":null}`},
	{"§1.9 settings", "bob", "changeme", `{"notification_settings":{"plugin_disabled":false},"anonymize_data":true,"toolbar_mode":"disabled"}`, `{"notification_settings":{"plugin_disabled":false},"anonymize_data":true,"toolbar_mode":"disabled"}`},
	{"§1.9 those that are not sent stay", "bob", "changeme", `{"theme_mode":"light"}`, `{"anonymize_data":true,"toolbar_mode":"disabled","theme_mode":"light"}`},
	{"§2.2 notification_settings", "bob", "changeme", `{"notification_settings":[]}`, `400 not_a_dict notification_settings Expected a dictionary of items but got type "list".`},
	{"§1.9 hedgehog_config", "bob", "changeme", `{"hedgehog_config":{"use_as_profile":true,"color":"blue","accessories":[],"skin":"default"}}`, `{"hedgehog_config":{"color":"blue","skin":"default"}}`},
	{"§1.9 in the embedded user", "ann", "members", `{"Email":"bob@example.com"}`, `{"results":[{"user":{"first_name":"Robert","last_name":"","hedgehog_config":{"color":"blue"},"role_at_organization":null}}]}`},
	{"§1.9 read-only", "bob", "changeme", `{"is_staff":true,"id":1,"uuid":"` + nowhere + `","is_email_verified":true}`, `{"is_staff":false,"id":2,"uuid":"` + uuid("bob") + `","is_email_verified":null}`},
	{"all settings together", "bob", "changeme", `{"notification_settings":{"x":` + chars(40_000) + `}}`, `400 max_length - The settings of a user may have no more than 65536 bytes.`},
}

// §1.9: set_current_organization and set_current_team select accessible objects only.
var currentRows = []ruletest.Row{
	{"§5.9", "bob", "neworganization => other", `{"name":"Other"}`, `{"name":"Other"}`},
	{"§1.9 set_current_organization", "bob", "changeme", `{"set_current_organization":"` + ours + `"}`, `{"organization":{"id":"` + ours + `"},"team":{"id":1}}`},
	{"§1.9 set_current_organization", "bob", "changeme", `{"set_current_organization":"<other>"}`, `{"organization":{"id":"<other>"},"team":{"name":"Default project"}}`},
	{"§1.9 set_current_team brings its organization", "bob", "changeme", `{"set_current_team":1}`, `{"organization":{"id":"` + ours + `"},"team":{"id":1}}`},
	{"§1.7 @current", "bob", "enterproject @current", ``, `{"name":"P"}`},
	{"§1.9 bad target", "bob", "changeme", `{"set_current_organization":"` + theirs + `"}`, "400 does_not_exist set_current_organization Object with id=`" + theirs + "` does not exist."},
	{"§1.9 bad target", "bob", "changeme", `{"set_current_organization":"` + nowhere + `"}`, "400 does_not_exist set_current_organization Object with id=`" + nowhere + "` does not exist."},
	{"§1.9 bad target", "bob", "changeme", `{"set_current_organization":"x"}`, "400 does_not_exist set_current_organization Object with id=`x` does not exist."},
	{"§1.9 bad target", "bob", "changeme", `{"set_current_team":2}`, "400 does_not_exist set_current_team Object with id=`2` does not exist."},
	{"§1.9 bad target", "bob", "changeme", `{"set_current_team":999}`, "400 does_not_exist set_current_team Object with id=`999` does not exist."},
	{"§1.9 bad target", "bob", "changeme", `{"set_current_team":"P"}`, "400 does_not_exist set_current_team Object with id=`P` does not exist."},
	{"§1.8 bad target: no access", "eve", "changeme", `{"set_current_team":1}`, "400 does_not_exist set_current_team Object with id=`1` does not exist."},
	{"§1.8 an organization without a project that one reaches", "eve", "neworganization => eves", `{"name":"Eve's"}`, `{"name":"Eve's"}`},
	{"§1.8 an organization without a project that one reaches", "eve", "changeme", `{"set_current_organization":"` + ours + `"}`, `{"organization":{"name":"Ours"},"team":null}`},
	{"§1.8 an organization without a project that one reaches", "eve", "me", ``, `{"organization":{"name":"Ours"},"team":null}`},
	{"§1.9 it stays as it was", "bob", "me", ``, `{"organization":{"id":"` + ours + `"},"team":{"id":1}}`},
}

// §1.9: without a mail server a new address counts immediately and is unverified.
var addressRows = []ruletest.Row{
	{"§1.9 email", "bob", "changeme", `{"email":"Robert@Example.COM"}`, `{"email":"Robert@example.com","pending_email":null,"is_email_verified":false}`},
	{"§1.9 email taken", "cyd", "changeme", `{"email":"ROBERT@example.com"}`, `400 unique email user with this email address already exists.`},
	{"§1.9 the old one is free", "cyd", "changeme", `{"email":"bob@example.com"}`, `{"email":"bob@example.com"}`},
	{"§1.9 one's own", "cyd", "changeme", `{"email":"bob@example.com"}`, `{"email":"bob@example.com"}`},
	{"§2.2 email", "cyd", "changeme", `{"email":"nobody"}`, `400 invalid_input email Enter a valid email address.`},
	{"§2.2 email", "cyd", "changeme", `{"email":null}`, `400 null email This field may not be null.`},
}

var deleteMeRows = []ruletest.Row{
	{"§1.9 DELETE with memberships left", "bob", "dropme", ``, `409 conflict - Cannot delete user with organization memberships.`},
	{"§1.10", "bob", "newkey => key", `{"label":"k","scopes":["*"],"scoped_teams":[],"scoped_organizations":[]}`, `{"label":"k"}`},
	{"§1.9", "bob", "leave @me", ``, `null`},
	{"§1.9 DELETE", "bob", "dropme", ``, `null`},
	{"§1.9 with all keys", "-", "whose <key.value>", ``, `401 authentication_failed - Personal API key found in request Authorization header is invalid.`},
	{"§1.9 the address is free", "cyd", "changeme", `{"email":"bob@example.com"}`, `{"email":"bob@example.com"}`},
}

// §1.9: with a mail server a new address is pending until the mailed secret is returned.
func TestAccount_Confirmation(t *testing.T) {
	runAllTables(t, true, map[string][]ruletest.Row{"pending": {
		{"§1.9 goes to pending_email", "bob", "changeme", `{"email":"new@example.com"}`, `{"email":"bob@example.com","pending_email":"new@example.com","is_email_verified":null}`},
		{"§1.9 a mail there", "-", "deliver => mail", ``, `{"to":"new@example.com","failed":"","link":"(like) ^https://flags.example.com/verify_email/` + uuid("bob") + `\\?secret=[0-9A-Za-z]{40,}$"}`},
		{"§1.9 a wrong secret", "-", "confirm " + uuid("bob") + " https://x/?secret=wrong", ``, `400 invalid_token token This link is invalid or has expired.`},
		{"§1.9 another user's", "-", "confirm " + uuid("cyd") + " <mail.link>", ``, `400 invalid_token token`},
		{"§1.9 nobody's", "-", "confirm " + nowhere + " <mail.link>", ``, `400 invalid_token token`},
		{"§1.9 confirmed", "-", "confirm " + uuid("bob") + " <mail.link>", ``, `{"email":"new@example.com","is_email_verified":true}`},
		{"§1.9 confirmed", "bob", "me", ``, `{"email":"new@example.com","pending_email":null,"is_email_verified":true}`},
		{"§1.9 once", "-", "confirm " + uuid("bob") + " <mail.link>", ``, `400 invalid_token token`},
	}, "changed again": {
		{"§1.9", "bob", "changeme", `{"email":"first@example.com"}`, `{"pending_email":"first@example.com"}`},
		{"§1.9", "-", "deliver => mail", ``, `{"to":"first@example.com"}`},
		{"§1.9 another address", "bob", "changeme", `{"email":"second@example.com"}`, `{"pending_email":"second@example.com"}`},
		{"§1.9 the first link is void", "-", "confirm " + uuid("bob") + " <mail.link>", ``, `400 invalid_token token`},
		{"§1.9 back to one's own", "bob", "changeme", `{"email":"bob@example.com"}`, `{"email":"bob@example.com","pending_email":null}`},
		{"§1.9 no mail to the second", "-", "deliver", ``, `{"to":"","next":null}`},
	}, "too late": {
		{"§1.9", "bob", "changeme", `{"email":"new@example.com"}`, `{"pending_email":"new@example.com"}`},
		{"§1.9", "-", "deliver => mail", ``, `{"to":"new@example.com"}`},
		{"three days", "-", "wait 72h", ``, `null`},
		{"three days", "bob", "me", ``, `{"pending_email":null}`},
		{"three days", "-", "confirm " + uuid("bob") + " <mail.link>", ``, `400 invalid_token token`},
	}, "of another account": {
		{"§1.9", "cyd", "setuser cyd", `{"is_email_verified":true}`, `null`},
		{"§1.9 a proven one is refused", "bob", "changeme", `{"email":"cyd@example.com"}`, `400 unique email user with this email address already exists.`},
		{"§1.9 one that is not", "bob", "changeme", `{"email":"gus@example.com"}`, `{"pending_email":"gus@example.com"}`},
		{"§1.9", "-", "deliver => mail", ``, `{"to":"gus@example.com"}`},
		{"README: who proves it has it", "-", "confirm " + uuid("bob") + " <mail.link>", ``, `{"email":"gus@example.com"}`},
		{"README: the other is displaced", "gus", "me", ``, `{"email":"` + uuid("gus") + `@displaced.invalid","is_email_verified":false}`},
		{"§5.11", "ann", "log organization OrganizationMembership", ``, `{"user":{"is_system":true},"detail":{"name":"` + uuid("gus") + `@displaced.invalid"}}`},
	}})
}

// Personal API keys follow §1.10 and decision 19.
func TestAPIKeys_Rules(t *testing.T) {
	runAllTables(t, false, map[string][]ruletest.Row{"keys": keyRows, "fields": keyFieldRows, "rolling": rollRows, "limit": keyLimitRows, "log": keyLogRows})
}

func newKey(more string) string {
	return `{"label":"k","scopes":["*"],"scoped_teams":[],"scoped_organizations":[]` + more + `}`
}

var keyRows = []ruletest.Row{
	{"§1.10 POST", "bob", "newkey => it", newKey(``), `{"id":"(like) ^[0-9A-Za-z]{1,50}$","label":"k","value":"(like) ^phx_[0-9A-Za-z]{47,48}$","mask_value":"(like) ^phx_\\.\\.\\.[0-9A-Za-z]{4}$","created_at":"2026-01-02T12:00:01Z",
		"last_used_at":null,"user_id":2,"scopes":["*"],"scoped_teams":[],"scoped_organizations":[],"last_rolled_at":null}`},
	{"§1.10 it opens", "-", "whose <it.value>", ``, `{"first_name":"bob","scopes":["*"]}`},
	{"§1.10 GET, without the value", "bob", "key <it>", ``, `{"id":"<it>","label":"k","value":null,"mask_value":"<it.mask_value>","last_used_at":"2026-01-02T12:00:02Z"}`},
	{"§1.10", "bob", "newkey => second", newKey(`,"label":"second"`), `{"label":"second"}`},
	{"§1.10 newest first, a plain array", "bob", "keys", ``, `[{"id":"<second>","value":null},{"id":"<it>","value":null}]`},
	{"§1.10 own keys only", "cyd", "keys", ``, `[]`},
	{"§6 row 80", "cyd", "key <it>", ``, notFound},
	{"§6 row 80", "cyd", "changekey <it>", `{"label":"mine"}`, notFound},
	{"§6 row 80", "cyd", "rollkey <it>", ``, notFound},
	{"§6 row 80", "cyd", "dropkey <it>", ``, notFound},
	{"§1.10 PATCH", "bob", "changekey <it>", `{"label":"renamed","scopes":["feature_flag:read","dashboard:write"]}`, `{"id":"<it>","label":"renamed","value":null,"scopes":["feature_flag:read","dashboard:write"]}`},
	{"§1.10 PATCH leaves the value", "-", "whose <it.value>", ``, `{"scopes":["feature_flag:read","dashboard:write"]}`},
	{"§1.10 PATCH of lists", "bob", "changekey <it>", `{"scoped_teams":[1],"scoped_organizations":["` + ours + `"]}`, `{"label":"renamed","scoped_teams":[1],"scoped_organizations":["` + ours + `"]}`},
	{"§2.5 PUT", "bob", "putkey <it>", `{"label":"x"}`, `400 required scopes This field is required.`},
	{"§1.10 DELETE", "bob", "dropkey <it>", ``, `null`},
	{"§1.10 DELETE", "-", "whose <it.value>", ``, `401 authentication_failed - Personal API key found in request Authorization header is invalid.`},
	{"§1.10 DELETE", "bob", "key <it>", ``, notFound},
	{"§1.10 DELETE", "bob", "dropkey <it>", ``, notFound},
	{"§1.2 a key of a deactivated user is invalid", "bob", "setuser bob", `{"inactive":true}`, `null`},
	{"§1.2 a key of a deactivated user is invalid", "-", "whose <second.value>", ``, `401 authentication_failed - Personal API key found in request Authorization header is invalid.`},
}

var keyFieldRows = []ruletest.Row{
	{"§1.10 label", "bob", "newkey", `{"scopes":["*"],"scoped_teams":[],"scoped_organizations":[]}`, `400 required label This field is required.`},
	{"§1.10 label", "bob", "newkey", newKey(`,"label":" "`), `400 blank label This field may not be blank.`},
	{"§1.3 label", "bob", "newkey", newKey(`,"label":` + chars(40)), `{"label":` + chars(40) + `}`},
	{"§1.3 label", "bob", "newkey", newKey(`,"label":` + chars(41)), `400 max_length label Ensure this field has no more than 40 characters.`},
	{"§1.10 scopes", "bob", "newkey", `{"label":"k","scoped_teams":[],"scoped_organizations":[]}`, `400 required scopes This field is required.`},
	{"§1.10 empty scopes", "bob", "newkey", newKey(`,"scopes":[]`), `400 * scopes`},
	{"§1.10 unknown scope", "bob", "newkey", newKey(`,"scopes":["feature_flag:read","x:read"]`), `400 invalid_input scopes Invalid scope: x:read.`},
	{"§1.4 no action", "bob", "newkey", newKey(`,"scopes":["feature_flag"]`), `400 invalid_input scopes Invalid scope: feature_flag.`},
	{"§1.4 no such action", "bob", "newkey", newKey(`,"scopes":["feature_flag:admin"]`), `400 invalid_input scopes Invalid scope: feature_flag:admin.`},
	{"§1.4 INTERNAL", "bob", "newkey", newKey(`,"scopes":["INTERNAL"]`), `400 invalid_input scopes Invalid scope: INTERNAL.`},
	{"what was meant", "bob", "newkey", newKey(`,"scopes":["feature_flags:read"]`), `400 invalid_input scopes Invalid scope: feature_flags:read. Did you mean feature_flag:read?`},
	{"what was meant", "bob", "newkey", newKey(`,"scopes":["cohort:raed"]`), `400 invalid_input scopes Invalid scope: cohort:raed. Did you mean cohort:read?`},
	{"what was meant", "bob", "newkey", newKey(`,"scopes":["dashboards:edit"]`), `400 invalid_input scopes Invalid scope: dashboards:edit. Did you mean dashboard:read or dashboard:write?`},
	{"§2.2 scopes", "bob", "newkey", newKey(`,"scopes":"*"`), `400 not_a_list scopes Expected a list of items but got type "str".`},
	{"§2.2 scopes", "bob", "newkey", newKey(`,"scopes":null`), `400 null scopes This field may not be null.`},
	{"§1.10 scoped_teams is required", "bob", "newkey", `{"label":"k","scopes":["*"],"scoped_organizations":[]}`, `400 required scoped_teams This field is required.`},
	{"§1.10 scoped_organizations is required", "bob", "newkey", `{"label":"k","scopes":["*"],"scoped_teams":[]}`, `400 required scoped_organizations This field is required.`},
	{"§1.10 scoped_teams", "bob", "newkey", newKey(`,"scoped_teams":[1]`), `{"scoped_teams":[1]}`},
	{"§1.10 scoped_teams", "bob", "newkey", newKey(`,"scoped_teams":[1,2]`), `400 invalid_input scoped_teams You must be a member of all teams that you are scoping the key to.`},
	{"§1.10 scoped_teams", "bob", "newkey", newKey(`,"scoped_teams":[999]`), `400 invalid_input scoped_teams You must be a member of all teams that you are scoping the key to.`},
	{"§1.8 scoped_teams", "eve", "newkey", newKey(`,"scoped_teams":[1]`), `400 invalid_input scoped_teams You must be a member of all teams that you are scoping the key to.`},
	{"§2.2 scoped_teams", "bob", "newkey", newKey(`,"scoped_teams":["x"]`), `400 invalid_input scoped_teams__0 A valid integer is required.`},
	{"§1.10 scoped_organizations", "bob", "newkey", newKey(`,"scoped_organizations":["` + ours + `"]`), `{"scoped_organizations":["` + ours + `"]}`},
	{"§1.10 scoped_organizations", "bob", "newkey", newKey(`,"scoped_organizations":["` + theirs + `"]`), `400 invalid_input scoped_organizations You must be a member of all organizations that you are scoping the key to.`},
	{"§1.10 scoped_organizations", "bob", "newkey", newKey(`,"scoped_organizations":["ours"]`), `400 invalid_input scoped_organizations Invalid organization UUID`},
}

var rollRows = []ruletest.Row{
	{"§1.10", "bob", "newkey => old", newKey(``), `{"label":"k"}`},
	{"§1.10 roll", "bob", "rollkey <old> => new", ``, `{"id":"<old>","label":"k","value":"(like) ^phx_[0-9A-Za-z]{47,48}$","mask_value":"(like) ^phx_\\.\\.\\.","scopes":["*"],"created_at":"2026-01-02T12:00:01Z","last_rolled_at":"2026-01-02T12:00:02Z"}`},
	{"§1.10 old key dead at once", "-", "whose <old.value>", ``, `401 authentication_failed -`},
	{"§1.10 new value", "-", "whose <new.value>", ``, `{"first_name":"bob"}`},
	{"§1.10 one key", "bob", "keys", ``, `[{"id":"<old>","mask_value":"<new.mask_value>","last_rolled_at":"2026-01-02T12:00:02Z"}]`},
	{"§1.10 unknown", "bob", "rollkey nothing", ``, notFound},
}

var keyLimitRows = append(append([]ruletest.Row{}, tenKeys()...),
	ruletest.Row{"§6 row 79", "bob", "newkey", newKey(``), `400 invalid_input - You can only have 10 personal API keys. Remove an existing key before creating a new one.`},
	ruletest.Row{"§1.10 of each user", "cyd", "newkey", newKey(``), `{"label":"k"}`},
	ruletest.Row{"§1.10 rolling makes none", "bob", "rollkey <last>", ``, `{"label":"k"}`},
	ruletest.Row{"§1.10 one less", "bob", "dropkey <last>", ``, `null`},
	ruletest.Row{"§1.10 one less", "bob", "newkey", newKey(``), `{"label":"k"}`},
)

func tenKeys() (rows []ruletest.Row) {
	for range 10 {
		rows = append(rows, ruletest.Row{"§1.10 up to ten", "bob", "newkey => last", newKey(``), `{"label":"k"}`})
	}
	return rows
}

// §5.11: changes of keys are logged, without the value of the key.
var keyLogRows = []ruletest.Row{
	{"§5.11", "bob", "newkey => it", newKey(``), `{"label":"k"}`},
	{"§5.11", "ann", "log organization PersonalAPIKey <it>", ``, `{"activity":"created","user":{"first_name":"bob"},"detail":{"name":"k","changes":[{"field":"label"},{"field":"mask_value","after":"<it.mask_value>"},{"field":"scopes"},{"field":"user_id"}]}}`},
	{"§5.11", "bob", "changekey <it>", `{"label":"x"}`, `{"label":"x"}`},
	{"§5.11", "ann", "log organization PersonalAPIKey <it>", ``, `{"activity":"updated","detail":{"changes":[{"field":"label","before":"k","after":"x"}]}}`},
	{"§5.11", "bob", "rollkey <it>", ``, `{"label":"x"}`},
	{"§5.11", "ann", "log organization PersonalAPIKey <it>", ``, `{"activity":"updated","detail":{"changes":[{"field":"last_rolled_at"},{"field":"mask_value","before":"<it.mask_value>"}]}}`},
	{"§5.11", "bob", "dropkey <it>", ``, `null`},
	{"§5.11", "ann", "log organization PersonalAPIKey <it>", ``, `{"activity":"deleted"}`},
}

// Decision 19: a key never grants more rights than it has, and is changed only with itself or with
// a key of at least its rights.
func TestAPIKeys_ByKeys(t *testing.T) {
	w := newWorld(t, memstore.ExternalData{}, false)
	put := func(k management.KeyRecord) {
		t.Helper()
		k.User, k.Label, k.Hash, k.CreatedAt = 2, k.ID, management.HashKey("phx_"+k.ID), ruletest.Start
		w.Keys[k.ID] = k
		if err := w.Store.Write(t.Context(), func(tx rooms.Tx) error { return tx.PutKey(&k) }); err != nil {
			t.Fatal(err)
		}
	}
	put(management.KeyRecord{ID: "all", Scopes: []string{"*"}})
	put(management.KeyRecord{ID: "users", Scopes: []string{"user:write", "cohort:read"}})
	put(management.KeyRecord{ID: "project", Scopes: []string{"*"}, Projects: []int64{1}})
	put(management.KeyRecord{ID: "ours", Scopes: []string{"*"}, Organizations: []string{ours}})
	put(management.KeyRecord{ID: "old"})
	put(management.KeyRecord{ID: "cohorts", Scopes: []string{"cohort:read"}})
	w.Run(t, w.calls(t), []ruletest.Row{
		{"§1.10 @current", "bob/cohorts", "key @current", ``, `{"id":"cohorts","scopes":["cohort:read"]}`},
		{"§1.4 a null is shown as *", "bob/old", "key @current", ``, `{"id":"old","scopes":["*"],"scoped_teams":[],"scoped_organizations":[]}`},
		{"§1.4 and gives everything", "bob/old", "newkey => given", newKey(``), `{"scopes":["*"]}`},
		{"§1.4 and gives everything", "bob/old", "dropkey <given>", ``, `null`},
		{"§1.10 itself", "bob/cohorts", "key cohorts", ``, `{"id":"cohorts"}`},
		{"decision 19 another one with user:read", "bob/cohorts", "key all", ``, `403 permission_denied - API key missing required scope 'user:read'`},
		{"decision 19 another one with user:read", "bob/users", "key all", ``, `{"id":"all"}`},
		{"decision 19 no scope that it has not", "bob/users", "newkey", newKey(``), `403 permission_denied - API key missing required scope '*'`},
		{"decision 19 no scope that it has not", "bob/users", "newkey", newKey(`,"scopes":["cohort:write"]`), `403 permission_denied - API key missing required scope 'cohort:write'`},
		{"decision 19 write holds read", "bob/users", "newkey", newKey(`,"scopes":["user:read","cohort:read"]`), `{"scopes":["user:read","cohort:read"]}`},
		{"decision 19 no project that it has not", "bob/project", "newkey", newKey(``), `403 permission_denied - API keys with scoped projects can only make keys that are scoped to the same projects.`},
		{"decision 19 its project", "bob/project", "newkey", newKey(`,"scoped_teams":[1]`), `{"scoped_teams":[1]}`},
		{"decision 19 no organization that it has not", "bob/ours", "newkey", newKey(``), `403 permission_denied - API keys with scoped organizations can only make keys that are scoped to the same organizations.`},
		{"decision 19 its organization", "bob/ours", "newkey", newKey(`,"scoped_organizations":["` + ours + `"]`), `{"scoped_organizations":["` + ours + `"]}`},
		{"decision 19 what it cannot open", "bob/users", "changekey all", `{"label":"x"}`, `403 permission_denied - API key missing required scope '*'`},
		{"decision 19 what it cannot open", "bob/users", "rollkey all", ``, `403 permission_denied - API key missing required scope '*'`},
		{"decision 19 what it cannot open", "bob/users", "dropkey project", ``, `403 permission_denied - API key missing required scope '*'`},
		{"decision 19 itself", "bob/users", "changekey users", `{"label":"mine"}`, `{"label":"mine"}`},
		{"decision 19 itself, but no more", "bob/users", "changekey users", `{"scopes":["*"]}`, `403 permission_denied - API key missing required scope '*'`},
		{"decision 19 what it holds", "bob/users", "changekey cohorts", `{"label":"less"}`, `{"label":"less"}`},
		{"decision 19 itself", "bob/cohorts", "rollkey @current", ``, `{"id":"cohorts","value":"(like) ^phx_"}`},
		{"decision 19 itself", "bob/cohorts", "dropkey cohorts", ``, `null`},
		{"decision 19 all opens all", "bob/all", "dropkey project", ``, `null`},
		{"decision 19 others' never", "cyd/all", "dropkey users", ``, notFound},
	})
}

// Only an owner of all organizations with an unrestricted key may download a backup.
func TestOrganizations_CheckBackupAccess(t *testing.T) {
	w := newWorld(t, memstore.ExternalData{}, false)
	w.Keys["P"] = management.KeyRecord{ID: "P", Scopes: []string{"*"}, Projects: []int64{1}}
	w.Keys["org"] = management.KeyRecord{ID: "org", Scopes: []string{"organization:write"}}
	w.Run(t, w.calls(t), []ruletest.Row{
		{"decision 20 INTERNAL", "ann/org", "maycopy", ``, `403 permission_denied - API key missing required scope 'INTERNAL'`},
		{"not of a project", "ann/P", "maycopy", ``, `403 permission_denied - A backup contains all data: the API key must not be limited to projects or organizations.`},
		{"not of theirs", "ann/own", "maycopy", ``, `403 permission_denied - A backup contains all organizations: only a user who owns all of them may download it.`},
		{"theirs is closed", "dan", "close", ``, `null`},
		{"an administrator", "gus/own", "maycopy", ``, `403 permission_denied - A backup contains all organizations:`},
		{"an owner of all", "ann/own", "maycopy", ``, `null`},
	})
}

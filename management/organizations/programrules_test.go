package organizations_test

import (
	"testing"

	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

// The sign-in of command line programs follows clients.md §14.2.
func TestPrograms_Rules(t *testing.T) {
	runSignInTables(t, false, map[string][]ruletest.Row{
		"consent": consentRows, "refusal": denyRows, "bodies": programFieldRows, "polls": pollRows, "time": programLifeRows, "unclaimed keys": unclaimedKeyRows,
		"who may": programUserRows, "rights": programRightRows, "codes": userCodeRows, "addresses": programAddressRows, "labels": programLabelRows, "limit of keys": programKeyLimitRows,
	})
}

const (
	noCode     = `400 invalid_code user_code This code is unknown or has expired: request a new one in the program.`
	onlyPeople = `403 access_denied - Only a user who is signed in to the console can approve programs, not a key.`
	manyWait   = `429 throttled - Too many programs are waiting for approval: try again in a few minutes.`
)

// asBob is a row that signs bob in, with all rights.
var asBob = ruletest.Row{"console §5.2", "-", "signinvited " + uuid("bob") + " => me", ``, `{"token":"(like) ."}`}

var consentRows = []ruletest.Row{
	asBob,
	{"clients §14.2", "-", "begin => it", `{"client":" posthog-cli "}`, `{"device":"(like) ^[0-9A-Za-z_-]{43}$","code":"(like) ^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$"}`},
	{"clients §14.2 default scopes", "-", "inspect <me.token>", `{"user_code":"<it.code>"}`, `{"client":"posthog-cli","scopes":["event_definition:read","property_definition:read","error_tracking:write"],"expires_at":"2026-01-02T12:10:02Z"}`},
	{"clients §14.2 pending", "-", "poll <it.device>", ``, `{"State":"pending","Key":""}`},
	{"clients §14.2", "-", "authorize <me.token> => key", `{"user_code":"<it.code>","project_id":1}`, `{"label":"CLI - P - 2026-01-02 12:00","value":null,"mask_value":"(like) ^phx_\\.\\.\\.[0-9A-Za-z]{4}$","user_id":2,
		"scopes":["event_definition:read","property_definition:read","error_tracking:write"],"scoped_teams":[1],"scoped_organizations":[]}`},
	{"clients §14.2 single-use", "-", "authorize <me.token>", `{"user_code":"<it.code>","project_id":1}`, `400 already_authorized user_code This code has already been used.`},
	{"clients §14.2 single-use", "-", "deny <me.token>", `{"user_code":"<it.code>"}`, `400 already_authorized user_code`},
	{"clients §14.2 single-use", "-", "inspect <me.token>", `{"user_code":"<it.code>"}`, `400 already_authorized user_code`},
	{"clients §14.2 authorized", "-", "poll <it.device> => got", ``, `{"State":"authorized","Key":"(like) ^phx_[0-9A-Za-z]{47}$","Label":"CLI - P - 2026-01-02 12:00","Project":1,"Scopes":["event_definition:read","property_definition:read","error_tracking:write"]}`},
	{"clients §14.2 once", "-", "poll <it.device>", ``, `{"State":"expired","Key":"","Scopes":null}`},
	{"clients §14.2 the code is gone", "-", "inspect <me.token>", `{"user_code":"<it.code>"}`, noCode},
	{"clients §14.2 the key opens", "-", "whose <got.Key>", ``, `{"first_name":"bob","scopes":["event_definition:read","property_definition:read","error_tracking:write"]}`},
	{"§1.10 it is one of the user's", "bob", "keys", ``, `[{"id":"<key>","mask_value":"<key.mask_value>","value":null}]`},
	{"§5.11", "ann", "log organization PersonalAPIKey <key>", ``, `{"activity":"created","user":{"first_name":"bob"},"detail":{"name":"CLI - P - 2026-01-02 12:00"}}`},
	{"clients §14.2 an unknown program", "-", "poll x", ``, `{"State":"expired"}`},
}

var denyRows = []ruletest.Row{
	asBob,
	{"clients §14.2", "-", "begin => it", `{}`, `{"device":"(like) ."}`},
	{"clients §14.2", "-", "deny <me.token>", `{"user_code":"<it.code>"}`, `null`},
	{"clients §14.2 decided", "-", "authorize <me.token>", `{"user_code":"<it.code>","project_id":1}`, noCode},
	{"clients §14.2 decided", "-", "deny <me.token>", `{"user_code":"<it.code>"}`, noCode},
	{"clients §14.2 the program hears of it", "-", "poll <it.device>", ``, `{"State":"denied","Key":""}`},
	{"clients §14.2 once", "-", "poll <it.device>", ``, `{"State":"expired"}`},
	{"clients §14.2 no key", "bob", "keys", ``, `[]`},
}

var programFieldRows = rows(
	[]ruletest.Row{asBob},
	each("clients §14.2 the program", "-", "begin",
		[2]string{`{"client":` + chars(40) + `}`, `{"device":"(like) ."}`},
		[2]string{`{"client":` + chars(41) + `}`, `400 max_length client Ensure this field has no more than 40 characters.`},
		[2]string{`{"scopes":["cohort:read","INTERNAL"]}`, `400 invalid_scope scopes Invalid scope: INTERNAL.`},
		[2]string{`{"scopes":["cohort"]}`, `400 invalid_scope scopes Invalid scope: cohort.`},
		[2]string{`{"scopes":"cohort:read"}`, `400 not_a_list scopes`},
		[2]string{`{"scopes":null}`, `400 null scopes`},
	),
	[]ruletest.Row{
		{"clients §14.2 its scopes, sorted, each once", "-", "begin => it", `{"scopes":["query:read","cohort:read","query:read"]}`, `{"device":"(like) ."}`},
		{"clients §14.2 its scopes", "-", "inspect <me.token>", `{"user_code":"<it.code>"}`, `{"client":"","scopes":["cohort:read","query:read"]}`},
		{"clients §14.2 no scopes: the default", "-", "begin => none", `{"scopes":[]}`, `{"device":"(like) ."}`},
		{"clients §14.2 no scopes: the default", "-", "inspect <me.token>", `{"user_code":"<none.code>"}`, `{"scopes":["event_definition:read","property_definition:read","error_tracking:write"]}`},
		{"§2.2", "-", "pollbody", `{}`, `400 required device_code This field is required.`},
		{"§2.2", "-", "inspect <me.token>", `{}`, `400 required user_code This field is required.`},
		{"§2.2", "-", "deny <me.token>", `{}`, `400 required user_code This field is required.`},
		{"§2.2", "-", "authorize <me.token>", `{"user_code":"<it.code>"}`, `400 required project_id This field is required.`},
		{"§2.2", "-", "authorize <me.token>", `{"user_code":"<it.code>","project_id":"P"}`, `400 invalid_input project_id A valid integer is required.`},
		{"clients §14.2 invalid_scope", "-", "authorize <me.token>", `{"user_code":"<it.code>","project_id":1,"scopes":["x:read"]}`, `400 invalid_scope scopes Invalid scope: x:read.`},
		{"clients §14.2 invalid_project", "-", "authorize <me.token>", `{"user_code":"<it.code>","project_id":999}`, `400 invalid_project project_id There is no such project.`},
		{"clients §14.2 refused ones leave it pending", "-", "poll <it.device>", ``, `{"State":"pending"}`},
		{"clients §14.2 other scopes", "-", "authorize <me.token>", `{"user_code":"<it.code>","project_id":1,"scopes":["survey:read","insight:read"]}`, `{"scopes":["insight:read","survey:read"]}`},
		{"clients §14.2 the program gets them", "-", "wait 5s", ``, `null`},
		{"clients §14.2 the program gets them", "-", "poll <it.device>", ``, `{"State":"authorized","Scopes":["insight:read","survey:read"]}`},
		{"clients §14.2 no scopes: those of the program", "-", "authorize <me.token>", `{"user_code":"<none.code>","project_id":1,"scopes":[]}`, `{"scopes":["event_definition:read","property_definition:read","error_tracking:write"]}`},
	},
)

// clients.md §14.2, interval 5: a poll may arrive one second too early, and the next interval counts
// from the last poll that was not too early.
var pollRows = []ruletest.Row{
	asBob,
	{"clients §14.2", "-", "begin => it", `{}`, `{"device":"(like) ."}`},
	{"polled at 12:00:03", "-", "poll <it.device>", ``, `{"State":"pending"}`},
	{"too soon", "-", "poll <it.device>", ``, `{"State":"slow_down"}`},
	{"too soon does not delay the next", "-", "wait 0s", ``, `null`},
	{"after 3 seconds", "-", "poll <it.device>", ``, `{"State":"slow_down"}`},
	{"after 4 seconds", "-", "poll <it.device>", ``, `{"State":"pending"}`},
	{"consent", "-", "authorize <me.token>", `{"user_code":"<it.code>","project_id":1}`, `{"value":null}`},
	{"too soon also after consent", "-", "poll <it.device>", ``, `{"State":"slow_down","Key":""}`},
	{"", "-", "wait 0s", ``, `null`},
	{"after 4 seconds", "-", "poll <it.device>", ``, `{"State":"authorized"}`},
}

// clients.md §14.2, expires_in 600.
var programLifeRows = []ruletest.Row{
	asBob,
	{"begun at 12:00:02", "-", "begin => it", `{}`, `{"device":"(like) ."}`},
	{"to 12:09:59", "-", "wait 9m56s", ``, `null`},
	{"600 seconds less 2", "-", "poll <it.device>", ``, `{"State":"pending"}`},
	{"600 seconds less 1", "-", "inspect <me.token>", `{"user_code":"<it.code>"}`, `{"expires_at":"2026-01-02T12:10:02Z"}`},
	{"600 seconds", "-", "inspect <me.token>", `{"user_code":"<it.code>"}`, noCode},
	{"600 seconds", "-", "authorize <me.token>", `{"user_code":"<it.code>","project_id":1}`, noCode},
	{"600 seconds", "-", "poll <it.device>", ``, `{"State":"expired"}`},
}

// A key that the program has not received in time is deleted.
var unclaimedKeyRows = []ruletest.Row{
	asBob,
	{"begun at 12:00:02", "-", "begin => it", `{}`, `{"device":"(like) ."}`},
	{"begun at 12:00:03", "-", "begin => other", `{}`, `{"device":"(like) ."}`},
	{"", "-", "authorize <me.token> => key", `{"user_code":"<it.code>","project_id":1}`, `{"value":null}`},
	{"", "-", "authorize <me.token> => second", `{"user_code":"<other.code>","project_id":1}`, `{"value":null}`},
	{"", "-", "poll <other.device> => got", ``, `{"State":"authorized"}`},
	{"to 12:10:01", "-", "wait 9m54s", ``, `null`},
	{"the key waits", "bob", "keys", ``, `[{"id":"<second>"},{"id":"<key>"}]`},
	{"expired", "-", "poll <it.device>", ``, `{"State":"expired"}`},
	{"the key that was received stays", "bob", "keys", ``, `[{"id":"<second>"}]`},
	{"the key that was received stays", "-", "whose <got.Key>", ``, `{"first_name":"bob"}`},
	{"another program deletes it, too", "-", "begin => third", `{}`, `{"device":"(like) ."}`},
	{"another program deletes it, too", "-", "authorize <me.token>", `{"user_code":"<third.code>","project_id":1}`, `{"value":null}`},
	{"another program deletes it, too", "-", "wait 10m", ``, `null`},
	{"another program deletes it, too", "-", "begin", `{}`, `{"device":"(like) ."}`},
	{"another program deletes it, too", "bob", "keys", ``, `[{"id":"<second>"}]`},
}

// clients.md §14.2: a signed-in person decides, in a project of the person.
var programUserRows = []ruletest.Row{
	asBob,
	{"", "-", "signinvited " + uuid("eve") + " => eve", ``, `{"token":"(like) ."}`},
	{"", "-", "begin => it", `{}`, `{"device":"(like) ."}`},
	{"a key does not decide", "bob", "inspect", `{"user_code":"<it.code>"}`, onlyPeople},
	{"a key does not decide", "bob/own", "authorize", `{"user_code":"<it.code>","project_id":1}`, onlyPeople},
	{"a key does not decide", "bob", "deny", `{"user_code":"<it.code>"}`, onlyPeople},
	{"a key learns of no code", "bob", "inspect", `{"user_code":"AAAA-AAAA"}`, onlyPeople},
	{"another organization's project", "-", "authorize <me.token>", `{"user_code":"<it.code>","project_id":2}`, `403 access_denied - You don't have access to the project.`},
	{"a project without access", "-", "authorize <eve.token>", `{"user_code":"<it.code>","project_id":1}`, `403 access_denied - You don't have access to the project.`},
	{"§1.5 members_can_use_personal_api_keys", "gus", "changeorganization", `{"members_can_use_personal_api_keys":false}`, `{"members_can_use_personal_api_keys":false}`},
	{"§1.5 members_can_use_personal_api_keys", "-", "authorize <me.token>", `{"user_code":"<it.code>","project_id":1}`, `403 access_denied - The organization does not allow its members to use personal API keys.`},
	{"§1.5 admins exempt", "-", "signinvited " + uuid("gus") + " => gus", ``, `{"token":"(like) ."}`},
	{"§1.5 admins exempt", "-", "authorize <gus.token>", `{"user_code":"<it.code>","project_id":1}`, `{"user_id":7}`},
}

// Decision 19: a session of a key grants no more than the key.
var programRightRows = []ruletest.Row{
	{"§1.10", "bob", "newkey => own", `{"label":"k","scopes":["cohort:write"],"scoped_teams":[],"scoped_organizations":[]}`, `{"label":"k"}`},
	{"§5.9", "bob", "neworganization => other", `{"name":"Other"}`, `{"name":"Other"}`},
	{"§1.10", "bob", "newkey => there", `{"label":"k","scopes":["*"],"scoped_teams":[],"scoped_organizations":["<other>"]}`, `{"label":"k"}`},
	{"§1.10", "bob", "newkey => here", `{"label":"k","scopes":["*"],"scoped_teams":[1],"scoped_organizations":[]}`, `{"label":"k"}`},
	{"", "-", "signin => small", `{"key":"<own.value>"}`, `{"method":"key"}`},
	{"", "-", "signin => elsewhere", `{"key":"<there.value>"}`, `{"method":"key"}`},
	{"", "-", "signin => inside", `{"key":"<here.value>"}`, `{"method":"key"}`},
	{"", "-", "begin => it", `{"scopes":["cohort:read"]}`, `{"device":"(like) ."}`},
	{"decision 19 no scope that it has not", "-", "authorize <small.token>", `{"user_code":"<it.code>","project_id":1,"scopes":["person:read"]}`, `403 access_denied - API key missing required scope 'person:read'`},
	{"decision 19 no organization that it has not", "-", "authorize <elsewhere.token>", `{"user_code":"<it.code>","project_id":1}`, `403 access_denied - You don't have access to the project.`},
	{"decision 19 no project that it has not", "-", "authorize <inside.token>", `{"user_code":"<it.code>","project_id":3}`, `403 access_denied - API key does not have access to the requested project: ID 3.`},
	{"decision 19 nothing was made", "-", "poll <it.device>", ``, `{"State":"pending"}`},
	{"decision 19 write holds read", "-", "authorize <small.token>", `{"user_code":"<it.code>","project_id":1}`, `{"scopes":["cohort:read"]}`},
}

// A person may type the code in either case, with or without dash and spaces.
var userCodeRows = rows(
	[]ruletest.Row{
		{"", "-", "signinvited " + uuid("bob") + " => me", ``, `{"token":"(like) ."}`},
		{"", "-", "fixedprogram", ``, `null`},
	},
	eachBody("clients §14.2", "inspect <me.token>", `{"client":"fixed"}`, `BCDF-GHJK`, `bcdf-ghjk`, ` BCDFGHJK `, `bcdf ghjk`, `B C D F G H J K`, `bcdf--ghjk`, "BCDF\\tGHJK"),
	eachBody("clients §14.2", "inspect <me.token>", noCode, `BCDF-GHJ`, `BCDF-GHJKL`, `BCDF_GHJK`, `CBDF-GHJK`, `-`, `--------`),
)

// eachBody returns a row for each of some user codes.
func eachBody(clause, call, want string, codes ...string) (out []ruletest.Row) {
	for _, code := range codes {
		out = append(out, ruletest.Row{clause, "-", call, `{"user_code":"` + code + `"}`, want})
	}
	return out
}

// clients.md §14.2: 30 programs of one address may wait; expired programs do not count.
var programAddressRows = rows(
	[]ruletest.Row{asBob, {"begun at 12:00:02", "-", "begin 192.0.2.7 => first", `{}`, `{"device":"(like) ."}`}},
	repeat(29, ruletest.Row{"the 2nd to the 30th", "-", "begin 192.0.2.7 => last", `{}`, `{"device":"(like) ."}`}),
	[]ruletest.Row{
		{"the 31st", "-", "begin 192.0.2.7", `{}`, manyWait},
		{"of another address", "-", "begin 192.0.2.8", `{}`, `{"device":"(like) ."}`},
		{"the first is still there", "-", "poll <first.device>", ``, `{"State":"pending"}`},
		{"a refused one makes room when it is told", "-", "deny <me.token>", `{"user_code":"<last.code>"}`, `null`},
		{"a refused one makes room when it is told", "-", "begin 192.0.2.7", `{}`, manyWait},
		{"a refused one makes room when it is told", "-", "poll <last.device>", ``, `{"State":"denied"}`},
		{"a refused one makes room when it is told", "-", "begin 192.0.2.7", `{}`, `{"device":"(like) ."}`},
		{"and no more", "-", "begin 192.0.2.7", `{}`, manyWait},
		{"to 12:10:02", "-", "wait 9m22s", ``, `null`},
		{"expired ones make room", "-", "begin 192.0.2.7", `{}`, `{"device":"(like) ."}`},
	},
)

// clients.md §14.2: the label has 40 characters at most; the name of the project is cut to the
// 40 - 6 - 3 - 16 = 15 characters that remain.
var programLabelRows = []ruletest.Row{
	asBob,
	{"", "bob", "changeproject", `{"name":"ÄÖÜÄÖÜÄÖÜÄÖÜÄÖÜÄÖÜ"}`, `{"id":1}`},
	{"", "-", "begin => it", `{}`, `{"device":"(like) ."}`},
	{"clients §14.2", "-", "authorize <me.token>", `{"user_code":"<it.code>","project_id":1}`, `{"label":"CLI - ÄÖÜÄÖÜÄÖÜÄÖÜÄÖÜ - 2026-01-02 12:00"}`},
}

var programKeyLimitRows = rows(
	[]ruletest.Row{asBob}, tenKeys(),
	[]ruletest.Row{
		{"", "-", "begin => it", `{}`, `{"device":"(like) ."}`},
		{"§6 row 79", "-", "authorize <me.token>", `{"user_code":"<it.code>","project_id":1}`, `400 invalid_input - You can only have 10 personal API keys.`},
		{"§6 row 79", "bob", "dropkey <last>", ``, `null`},
		{"§6 row 79", "-", "authorize <me.token>", `{"user_code":"<it.code>","project_id":1}`, `{"user_id":2}`},
	},
)

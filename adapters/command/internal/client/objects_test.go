package client

import (
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
)

// The requests and tables of bunting keys. A key's text is printed only after its creation; the
// restrictions are lists (spec/management.md §5.9).
func TestKeys_Commands(t *testing.T) {
	t.Parallel()
	const path = "/api/personal_api_keys/"
	const heading = "ID LABEL KEY SCOPES PROJECTS LAST USED\n"
	const made = "phx_new\n\nThis is key k1 (CI). Keep it: it is not shown again."
	keys := []cli.Command{Keys(nil)}
	create := func(body string, args ...string) commandRow {
		return commandRow{
			args: append([]string{"keys", "create"}, args...), answers: map[string]string{"POST " + path: `201 {"id":"k1","label":"CI","value":"phx_new"}`},
			sent: []string{"POST " + path + " " + body}, stdout: made,
		}
	}
	runCommandRows(t, keys, map[string]commandRow{
		"list": {
			args: []string{"keys", "list"}, sent: []string{"GET " + path}, stdout: heading + "k1 CI phx_a…z flag:read,* 1,20 T\nk2 old - all never",
			answers: map[string]string{"GET " + path: `[{"id":"k1","label":"CI","mask_value":"phx_a…z","scopes":["flag:read","*"],"scoped_teams":[1,20],"last_used_at":"T"},{"id":"k2","label":"old","scopes":null}]`},
		},
		"no keys":             {args: []string{"keys", "list"}, sent: []string{"GET " + path}, stdout: strings.TrimSuffix(heading, "\n"), answers: map[string]string{"GET " + path: `[]`}},
		"create":              create(`{"label":"CI","scoped_organizations":[],"scoped_teams":[],"scopes":["*"]}`, "--label", "CI"),
		"create with scopes":  create(`{"label":"CI","scoped_organizations":[],"scoped_teams":[2,30],"scopes":["feature_flag:read","person:read"]}`, "--label", "CI", "--scopes", "feature_flag:read, person:read,", "--projects", "2, 30"),
		"create without name": {args: []string{"keys", "create"}, code: 2, stderr: "keys: --label is missing: describe what the key is for\n"},
		"create by name":      {args: []string{"keys", "create", "--label", "CI", "--projects", "Shop"}, code: 2, stderr: `keys: --projects: must be ids, which are numbers, not "Shop"`},
		"roll": {
			args: []string{"keys", "roll", "k/1"}, answers: map[string]string{"POST " + path + "k%2F1/roll/": `{"id":"k1","label":"CI","value":"phx_new"}`},
			sent: []string{"POST " + path + "k%2F1/roll/ {}"}, stdout: made,
		},
		"revoke":                  {args: []string{"keys", "revoke", "k1"}, answers: map[string]string{"DELETE " + path + "k1/": "204 "}, sent: []string{"DELETE " + path + "k1/"}, stdout: "key k1 is revoked"},
		"revoke nothing":          {args: []string{"keys", "revoke", "k1"}, sent: []string{"DELETE " + path + "k1/"}, code: 1, stderr: "bunting: the server answered 404: Not found.\n"},
		"recover takes no server": {args: []string{"keys", "list", "k1"}, code: 2, stderr: "keys: list takes no argument\n"},
	})
}

// The requests and tables of bunting projects.
func TestProjects_Commands(t *testing.T) {
	t.Parallel()
	const heading = "ID NAME PROJECT KEY TIME ZONE ORGANIZATION\n"
	const shop = `{"id":1,"name":"Shop","api_token":"phc_1","organization":"o","timezone":"UTC"}`
	const line = heading + "1 Shop phc_1 UTC o"
	one := func(request, body string, args ...string) commandRow {
		return commandRow{args: append([]string{"projects"}, args...), answers: map[string]string{request: shop}, sent: []string{strings.TrimSpace(request + " " + body)}, stdout: line}
	}
	runCommandRows(t, []cli.Command{Projects}, map[string]commandRow{
		"list":                    {args: []string{"projects", "list"}, answers: map[string]string{cannedProjects: cannedPage(shop, `{"id":2,"name":"Staging"}`)}, sent: []string{cannedProjects}, stdout: line + "\n2 Staging"},
		"get":                     one("GET /api/projects/1/", "", "get", "1"),
		"get the current one":     one("GET /api/projects/@current/", "", "get", "@current"),
		"get a path":              one("GET /api/projects/..%2Fusers/", "", "get", "../users"),
		"create":                  one("POST /api/organizations/@current/projects/", `{"name":"Shop"}`, "create", "Shop"),
		"create elsewhere":        one("POST /api/organizations/o1/projects/", `{"api_token":"phc_1","name":"Shop"}`, "create", "Shop", "--organization", "o1", "--api-token", "phc_1"),
		"rename":                  one("PATCH /api/projects/1/", `{"name":"Shop"}`, "rename", "1", "Shop"),
		"delete":                  {args: []string{"projects", "delete", "1", "--yes"}, answers: map[string]string{"DELETE /api/projects/1/": "204 "}, sent: []string{"DELETE /api/projects/1/"}, stdout: "project 1 is deleted"},
		"delete unasked":          {args: []string{"projects", "delete", "1"}, code: 2, stderr: "projects: Delete the project 1? There is no terminal to confirm this: add --yes\n"},
		"delete that is refused":  {args: []string{"projects", "delete", "1", "--yes"}, answers: map[string]string{"DELETE /api/projects/1/": `403 {"detail":"owners only"}`}, sent: []string{"DELETE /api/projects/1/"}, code: 1, stderr: "403: owners only"},
		"confirmation of a write": {args: []string{"projects", "rename", "1", "x", "--yes"}, code: 2, stderr: "there is no option --yes"},
	})
}

// A person is found by distinct id, then by uuid. Deleting names the person in the question and
// leaves the events, without --events.
func TestPersons_Commands(t *testing.T) {
	t.Parallel()
	const byID = "GET /api/projects/1/persons/?distinct_id=a%26b"
	const byUUID = "GET /api/projects/1/persons/a&b/"
	const person = `{"uuid":"u1","name":"Ann","distinct_ids":["a&b","c"],"properties":{"z":{"x": [1, 2.0]},"a":"two\u000alines"},"created_at":"T","is_identified":true}`
	const table = "NAME Ann\nUUID u1\nFIRST SEEN T\nIDENTIFIED yes\nDISTINCT IDS a&b, c\nPROPERTIES a = \"two\\u000alines\"\nz = {\"x\":[1,2.0]}"
	const remove = "DELETE /api/projects/1/persons/u1/"
	page := func(list ...string) string { return `{"results":[` + strings.Join(list, ",") + `]}` }
	runCommandRows(t, []cli.Command{Persons}, map[string]commandRow{
		"by distinct id": {args: []string{"persons", "show", "a&b"}, answers: map[string]string{byID: page(person)}, sent: []string{byID}, stdout: table},
		"by uuid":        {args: []string{"persons", "show", "a&b"}, answers: map[string]string{byID: page(), byUUID: person}, sent: []string{byID, byUUID}, stdout: table},
		"without a name": {args: []string{"persons", "show", "a&b"}, answers: map[string]string{byID: page(`{"uuid":"u1"}`)}, sent: []string{byID}, stdout: "NAME -\nUUID u1\nFIRST SEEN\nIDENTIFIED no\nDISTINCT IDS -"},
		"nobody":         {args: []string{"persons", "show", "a&b"}, answers: map[string]string{byID: page()}, sent: []string{byID, byUUID}, code: 1, stderr: `bunting: no person has the distinct id or uuid "a&b"` + "\n"},
		"not a uuid":     {args: []string{"persons", "show", "a&b"}, answers: map[string]string{byID: page(), byUUID: `400 {"detail":"not a uuid"}`}, sent: []string{byID, byUUID}, code: 1, stderr: `no person has the distinct id or uuid "a&b"`},
		"not allowed":    {args: []string{"persons", "show", "a&b"}, answers: map[string]string{byID: `403 {"detail":"needs person:read"}`}, sent: []string{byID}, code: 1, stderr: "403: needs person:read"},
		"an odd answer":  {args: []string{"persons", "show", "a&b"}, answers: map[string]string{byID: page(`{"uuid":1}`)}, sent: []string{byID}, code: 1, stderr: "the server's response cannot be read"},
		"deleted":        {args: []string{"persons", "delete", "a&b", "--yes"}, answers: map[string]string{byID: page(person), remove: "204 "}, sent: []string{byID, remove}, stdout: "person u1 (Ann) is deleted", stderr: "in project 1 (Shop)\n"},
		"deleted with all": {
			args: []string{"persons", "delete", "a&b", "--yes", "--events"}, answers: map[string]string{byID: page(person), remove + "?delete_events=true": "204 "},
			sent: []string{byID, remove + "?delete_events=true"}, stdout: "person u1 (Ann), with all events is deleted", stderr: "in project 1 (Shop)\n",
		},
		"deleted unasked":       {args: []string{"persons", "delete", "a&b"}, answers: map[string]string{byID: page(person)}, sent: []string{byID}, code: 2, stderr: "persons: Delete the person u1 (Ann) in project 1 (Shop)? There is no terminal"},
		"all deleted, unasked":  {args: []string{"persons", "delete", "a&b", "--events"}, answers: map[string]string{byID: page(person)}, sent: []string{byID}, code: 2, stderr: "persons: Delete the person u1 (Ann), with all events in project 1 (Shop)?"},
		"nobody is not deleted": {args: []string{"persons", "delete", "a&b", "--yes"}, answers: map[string]string{byID: page()}, sent: []string{byID, byUUID}, code: 1, stderr: "no person has"},
	})
}

// The usage of a month: the resources in a fixed order, and their sources.
func TestUsage_Command(t *testing.T) {
	t.Parallel()
	const path = "GET /api/organizations/@current/usage/"
	const heading = "RESOURCE THIS MONTH TODAY LIMIT LIMITED UNTIL\n"
	runCommandRows(t, []cli.Command{Usage}, map[string]commandRow{
		"resources": {
			args: []string{"usage"}, sent: []string{path}, stdout: heading + "events 13 3 1000 -\nfeature_flags 7 7 0 T\nllm_events 0 0 none -",
			answers: map[string]string{path: `{"feature_flags":{"usage":0,"todays_usage":7,"limit":0,"quota_limited_until":"T"},"llm_events":{"limit":null},"events":{"usage":10,"todays_usage":3,"limit":1000},"rows":{"usage":1}}`},
		},
		"sources": {
			args: []string{"usage"}, sent: []string{path},
			stdout:  heading + "events 9 0 none -\n\nPROJECT RESOURCE KEY SDK THIS MONTH\n2 events - ios 5\n1 events project web 4",
			answers: map[string]string{path: `{"events":{"usage":9},"sources":[{"project_id":1,"resource":"events","key":"project","sdk":"web","count":1},{"project_id":2,"resource":"events","key":"","sdk":"ios","count":5},{"project_id":1,"resource":"events","key":"project","sdk":"web","count":3}]}`},
		},
		"another organization": {args: []string{"usage", "--organization", "o/1"}, answers: map[string]string{"GET /api/organizations/o%2F1/usage/": `{}`}, sent: []string{"GET /api/organizations/o%2F1/usage/"}, stdout: strings.TrimSuffix(heading, "\n")},
		"an odd answer":        {args: []string{"usage"}, answers: map[string]string{path: `[]`}, sent: []string{path}, code: 1, stderr: "bunting: the server's response cannot be read: "},
		"odd sources":          {args: []string{"usage"}, answers: map[string]string{path: `{"sources":{}}`}, sent: []string{path}, code: 1, stderr: "bunting: the server's response cannot be read: "},
	})
}

// The sources of a month are sorted by count, then by project, resource, key and SDK.
func TestUsage_Order(t *testing.T) {
	t.Parallel()
	want := []usageDayView{
		{2, "events", "b", "web", 9}, {1, "events", "a", "ios", 5}, {1, "events", "a", "web", 5}, {1, "events", "b", "ios", 5},
		{1, "feature_flags", "a", "ios", 5}, {3, "events", "a", "ios", 5}, {1, "surveys", "a", "ios", 0},
	}
	shuffled := []usageDayView{want[6], want[4], want[2], want[5], want[0], want[3], want[1]}
	got := monthly(shuffled)
	if len(got) != len(want) {
		t.Fatal(got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%d is %+v, want %+v", i, got[i], want[i])
		}
	}
}

// The newest events are printed last. The bounds of --lines, the filters of the request, and the
// columns of a line.
func TestEvents_Tail(t *testing.T) {
	t.Parallel()
	const path = "GET /api/projects/1/events/?"
	newer := `{"uuid":"2","event":"two\u0009words","distinct_id":"","timestamp":"T2","properties":{"a": 1,
		"b":"` + strings.Repeat("é", 60) + `"},"other":1.0}`
	older := `{"uuid":"1","event":"x","distinct_id":"d","timestamp":"T1","properties":null}`
	page := `{"results":[` + newer + `,` + older + `]}`
	text := "T1 x d null\nT2 two words - {\"a\":1,\"b\":\"" + strings.Repeat("é", 60-len(`{"a":1,"b":"`)) + "…"
	lines := func(n string) string { return `events: --lines: must be a number from 1 to 500, not ` + n + "\n" }
	runCommandRows(t, []cli.Command{Events}, map[string]commandRow{
		"by default":    {args: []string{"events", "tail"}, answers: map[string]string{path + "limit=20": page}, sent: []string{path + "limit=20"}, stdout: text},
		"the least":     {args: []string{"events", "tail", "--lines", "1"}, answers: map[string]string{path + "limit=1": `{"results":[` + older + `]}`}, sent: []string{path + "limit=1"}, stdout: "T1 x d null"},
		"too many came": {args: []string{"events", "tail", "--lines", "1"}, answers: map[string]string{path + "limit=1": page}, sent: []string{path + "limit=1"}, stdout: text[strings.Index(text, "T2"):]},
		"the most":      {args: []string{"events", "tail", "--lines", "500"}, answers: map[string]string{path + "limit=500": page}, sent: []string{path + "limit=500"}, stdout: text},
		"none":          {args: []string{"events", "tail", "--lines", "0"}, code: 2, stderr: lines("0")},
		"one too many":  {args: []string{"events", "tail", "--lines", "501"}, code: 2, stderr: lines("501")},
		"filters":       {args: []string{"events", "tail", "--event", "$a b", "--distinct-id", "c&d"}, answers: map[string]string{path + "distinct_id=c%26d&event=%24a+b&limit=20": `{}`}, sent: []string{path + "distinct_id=c%26d&event=%24a+b&limit=20"}},
		"as JSON":       {args: []string{"events", "tail", "--json"}, answers: map[string]string{path + "limit=20": `{"results":[{"z": 1.0, "a": [ ]},{"uuid": "1"}]}`}, sent: []string{path + "limit=20"}, stdout: `{"uuid":"1"}` + "\n" + `{"z":1.0,"a":[]}`},
		"an odd event":  {args: []string{"events", "tail"}, answers: map[string]string{path + "limit=20": `{"results":[7]}`}, sent: []string{path + "limit=20"}, code: 1, stderr: "bunting: the server's response cannot be read: "},
	})
}

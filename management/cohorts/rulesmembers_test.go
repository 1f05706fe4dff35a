package cohorts_test

import (
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/cohorts"
	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/rooms"
)

// maxRows is the maximum number of rows of a file, without the header (§5.2).
const maxRows = 100_000

func TestCohorts_Members(t *testing.T) {
	flagtest.Ask(t, map[string][]ruletest.Row{
		"pages": memberPageRows, "files": memberFileRows, "bodies": memberBodyRows, "the log": memberLogRows, "access": cohortAccessRows,
		"static ones": staticRows, "columns of files": fileRows, "adding and removing": memberChangeRows, "pages of persons": personPageRows,
		"who is in it": membershipRows,
	})
}

// The distinct ids of the list in order are later, una, vic, vic2, xia, zed; later and zed belong to
// no person, and vic and vic2 to one.
var memberPageRows = []ruletest.Row{
	{"§5.2", "bob", `file {"is_static":true}`, "xia\nzed\nvic2\nuna\nvic\nlater\n", `{"id":1,"count":5}`},
	{"§5.2 ids without a person are skipped", "bob", "persons 1 1", ``, `{"UUIDs":["` + flagtest.Una + `"],"Next":"una"}`},
	{"§5.2 the second page", "bob", "persons 1 1 una", ``, `{"UUIDs":["` + flagtest.Vic + `"],"Next":"vic"}`},
	{"§5.2 the other id of the same person is skipped", "bob", "persons 1 1 vic", ``, `{"UUIDs":["` + flagtest.Xia + `"],"Next":"xia"}`},
	{"§5.2 the last page may be empty", "bob", "persons 1 1 xia", ``, `{"UUIDs":null,"Next":""}`},
	{"§5.2 as many as there are", "bob", "persons 1 3", ``, `{"UUIDs":["` + flagtest.Una + `","` + flagtest.Vic + `","` + flagtest.Xia + `"]}`},
	{"§5.2 an id that is gone is still a place in the list", "bob", "removeperson 1", `{"person_id":"` + flagtest.Vic + `"}`, `{"success":true}`},
	{"§5.2 an id that is gone is still a place in the list", "bob", "persons 1 5 vic", ``, `{"UUIDs":["` + flagtest.Xia + `"],"Next":""}`},
	{"§5.2 ids without a person count", "bob", "getcohort 1", ``, `{"count":4}`},
	{"§5.2 a dynamic cohort", "bob", "cohort", tree("AND"), `{"id":2,"count":4}`},
	{"§5.2 pages of a dynamic cohort", "bob", "persons 2 3", ``, `{"UUIDs":["` + flagtest.Una + `","` + flagtest.Vic + `","` + flagtest.Wes + `"],"Next":"3"}`},
	{"§5.2 a full last page", "bob", "persons 2 4", ``, `{"UUIDs":["` + flagtest.Una + `","` + flagtest.Vic + `","` + flagtest.Wes + `","` + flagtest.Xia + `"],"Next":""}`},
	{"§5.2 the last page", "bob", "persons 2 3 3", ``, `{"UUIDs":["` + flagtest.Xia + `"],"Next":""}`},
	{"§5.2 after the last page", "bob", "persons 2 3 4", ``, `{"UUIDs":null,"Next":""}`},
	{"§5.2 a cursor of a list", "bob", "persons 2 3 una", ``, `400 invalid_input cursor Invalid cursor: use the cursor of the next link unchanged.`},
	{"§5.2 no id", "bob", "persons x 3", ``, `404 not_found - Not found.`},
	{"§5.2 a deleted list", "bob", "changecohort 1", `{"deleted":true}`, `{"deleted":true,"count":4}`},
	{"§5.2 a deleted list", "bob", "persons 1 3", ``, `{"UUIDs":null,"Next":""}`},
	{"§5.2 a deleted list keeps its members", "bob", "changecohort 1", `{"deleted":false}`, `{"deleted":false,"count":4}`},
}

var memberFileRows = []ruletest.Row{
	{"§5.2 members of a file and of the body", "bob", `file {"is_static":true,"_create_static_person_ids":["` + flagtest.Vic + `","` + flagtest.Una + `"]}`, "una\nzed\n", `{"id":1,"count":3}`},
	{"§5.2 a file and the fields of a change", "bob", "morefile 1", "email\nwes@example.org\n", `{"count":4}`},
	{"§5.2 addresses are compared as they are", "bob", "morefile 1", "email\nUNA@example.com\nWES@EXAMPLE.ORG\n", `{"count":4}`},
	{"clients.md §16 ids are unique, and unknown persons are skipped", "bob", "morefile 1", "person_id\n" + flagtest.Xia + "\n" + strings.ToUpper(flagtest.Xia) + "\n0191f0a2-5b1c-7d3e-8f40-0000000000ff\n", `{"count":5}`},
	{"§5.2 all distinct ids of a person", "bob", "removeperson 1", `{"person_id":"` + strings.ToUpper(flagtest.Vic) + `"}`, `{"success":true}`},
	{"§5.2 all distinct ids of a person", "bob", "member 1", ``, `["` + flagtest.Una + `","` + flagtest.Wes + `","` + flagtest.Xia + `"]`},
	{"§5.2 a file with one id of a person", "bob", "morefile 1", "vic2\n", `{"count":5}`},
	{"§5.2 which removes the person, too", "bob", "removeperson 1", `{"person_id":"` + flagtest.Vic + `"}`, `{"success":true}`},
	{"§5.2 which removes the person, too", "bob", "getcohort 1", ``, `{"count":4}`},
	{"§5.2 a file that is refused adds no member", "bob", "morefile 1", "person_id\nnobody\n", `400 invalid_input csv`},
	{"§5.2 a cohort that becomes static", "bob", "cohort", tree("AND", flagtest.Plan), `{"id":2,"count":2}`},
	{"§5.2 a cohort that becomes static has no members yet", "bob", "changecohort 2", `{"is_static":true}`, `{"is_static":true,"count":0}`},
	{"§5.2 no cohort", "bob", "morefile 9", "una\n", `404 not_found - Not found.`},
	{"§1.5 of another project", "dan", "morefile 1", "una\n", `404 not_found - Not found.`},
	{"§5.2 the errors of the body go before the file", "bob", `file {"is_static":"maybe"}`, "una\n", `400 invalid_input is_static Must be a valid boolean.`},
	{"decision 30 the errors of the body go before the file", "bob", `file {"is_static":true,"descripton":"x"}`, "una\n", `400 unknown_key descripton`},
	{"§5.2 a file for a dynamic cohort", "bob", `file {"is_static":false}`, "una\n", `400 invalid_input csv Only static cohorts can be filled from a file.`},
	{"§5.2 nothing of the refused cohorts is saved", "bob", "cohorts", ``, `{"count":2}`},
}

var memberBodyRows = flagtest.Rows(
	[]ruletest.Row{
		{"§5.2 a static cohort", "bob", "cohort", `{"name":"listed","is_static":true}`, `{"id":1}`},
		{"§5.2 a dynamic cohort", "bob", "cohort", `{"name":"ruled"}`, `{"id":2}`},
		{"§5.2 persons of another project", "dan", "cohort", `{"name":"theirs","is_static":true}`, `{"id":3}`},
		{"§5.2 persons of another project", "dan", "addpersons 3", `{"person_ids":["` + flagtest.Una + `"]}`, `400 invalid_input - No valid users to add to cohort`},
		{"§5.2 persons of another project", "dan", "removeperson 3", `{"person_id":"` + flagtest.Una + `"}`, `404 not_found - Person with this UUID does not exist in the cohort's team`},
		{"§5.2 any form of a UUID", "bob", "addpersons 1", `{"person_ids":["` + strings.ToUpper(flagtest.Una) + `","` + flagtest.Vic + `","` + flagtest.Vic + `"]}`, `{"success":true}`},
		{"§5.2 any form of a UUID", "bob", "getcohort 1", ``, `{"count":2,"last_calculation":"2026-01-02T12:00:06Z"}`},
		{"§5.2 the same persons", "bob", "addpersons 1", `{"person_ids":["` + flagtest.Una + `"]}`, `{"success":true}`},
		{"§5.2 the same persons", "bob", "getcohort 1", ``, `{"count":2,"last_calculation":"2026-01-02T12:00:06Z"}`},
	},
	flagtest.Each("§1.5 the cohort goes before the body", "bob", "addpersons 2",
		[2]string{`{}`, `400 invalid_input - Can only add users to static cohorts`},
		[2]string{`{"person_ids":[]}`, `400 invalid_input - Can only add users to static cohorts`},
		[2]string{`{"person_ids":["` + flagtest.Una + `"]}`, `400 invalid_input - Can only add users to static cohorts`},
	),
	flagtest.Each("§1.5 the cohort goes before the body", "bob", "addpersons 9",
		[2]string{`{}`, `404 not_found - Not found.`},
		[2]string{`{"person_ids":[]}`, `404 not_found - Not found.`},
	),
	flagtest.Each("§5.2 bodies of another form", "bob", "addpersons 1",
		[2]string{`[]`, `400 invalid_input - Invalid data. Expected a dictionary, but got list.`},
		[2]string{`{"person_ids":` + flagtest.List(1001, `7`) + `}`, `400 invalid_input - List size exceeds limit`},
		[2]string{`{"person_ids":` + flagtest.List(1000, `7`) + `}`, `400 invalid_input - No valid users to add to cohort`},
	),
)

var memberLogRows = []ruletest.Row{
	{"§5.11", "bob", "cohort", `{"name":"listed","is_static":true}`, `{"id":1}`},
	{"§5.11 added persons", "cyd", "addpersons 1", `{"person_ids":["` + flagtest.Una + `","` + flagtest.Vic + `"]}`, `{"success":true}`},
	{"§5.11 added persons", "bob", "log Cohort 1", ``, `{"activity":"updated","user":{"first_name":"cyd"},"detail":{"name":"listed","changes":[{"field":"count","before":0,"after":2},{"field":"last_calculation"}]}}`},
	{"§5.11 persons who are members already", "ann", "addpersons 1", `{"person_ids":["` + flagtest.Una + `"]}`, `{"success":true}`},
	{"§5.11 persons who are members already", "bob", "log Cohort 1", ``, `{"user":{"first_name":"cyd"}}`},
	{"§5.11 a removed person", "gus", "removeperson 1", `{"person_id":"` + flagtest.Una + `"}`, `{"success":true}`},
	{"§5.11 a removed person", "bob", "log Cohort 1", ``, `{"user":{"first_name":"gus"},"detail":{"changes":[{"field":"count","before":2,"after":1},{"field":"last_calculation"}]}}`},
	{"§5.11 a file", "ann", "morefile 1", "wes\nxia\n", `{"count":3}`},
	{"§5.11 a file", "bob", "log Cohort 1", ``, `{"user":{"first_name":"ann"},"detail":{"changes":[{"field":"count","before":1,"after":3},{"field":"last_calculation"}]}}`},
	{"§5.11 a copy is a new cohort", "bob", "cohort", tree("AND", flagtest.Plan), `{"id":2}`},
	{"§5.11 a copy is a new cohort", "cyd", "duplicate 2", ``, `{"id":3}`},
	{"§5.11 a copy is a new cohort", "bob", "log Cohort 3", ``, `{"activity":"created","user":{"first_name":"cyd"},"detail":{"name":"(static copy)"}}`},
	{"§5.11 a count is no change", "bob", "wait 2h", ``, `null`},
	{"§5.11 a count is no change", "bob", "countdue", ``, `true`},
	{"§5.11 a count is no change", "bob", "log Cohort 2", ``, `{"activity":"created"}`},
}

// cyd may view cohort 1, and may not view cohort 2. bob is the author of both.
var cohortAccessRows = []ruletest.Row{
	{"clients.md §11.3", "bob", "cohort", `{"name":"ruled","filters":{"properties":{"type":"AND","values":[` + flagtest.Plan + `]}}}`, `{"id":1,"user_access_level":"manager"}`},
	{"clients.md §11.3", "bob", `file {"name":"listed","is_static":true}`, "una\n", `{"id":2}`},
	{"clients.md §11.3", "ann", "rule cohort 1", `{"access_level":"viewer","organization_member":"CYD"}`, `{"access_level":"viewer"}`},
	{"clients.md §11.3", "ann", "rule cohort 2", `{"access_level":"none","organization_member":"CYD"}`, `{"access_level":"none"}`},
	{"clients.md §11.3 a viewer reads", "cyd", "getcohort 1", ``, `{"user_access_level":"viewer"}`},
	{"clients.md §11.3 a viewer reads", "cyd", "persons 1 10", ``, `{"UUIDs":["` + flagtest.Una + `","` + flagtest.Vic + `"]}`},
	{"clients.md §11.3 a viewer reads", "cyd", "counts 1", ``, `{"count":1}`},
	{"clients.md §11.3 a viewer reads", "cyd", "member 1", ``, `["` + flagtest.Una + `","` + flagtest.Vic + `"]`},
	{"clients.md §11.3 a viewer does not change", "cyd", "changecohort 1", `{"name":"x"}`, flagtest.MayNotEdit},
	{"clients.md §11.3 a viewer does not change, with an invalid body too", "cyd", "changecohort 1", `{"name":7,"filters":7}`, flagtest.MayNotEdit},
	{"clients.md §11.3 a viewer does not delete", "cyd", "changecohort 1", `{"deleted":true}`, flagtest.MayNotEdit},
	{"clients.md §11.3 missing from lists", "cyd", "cohorts", ``, `{"count":1,"results":[{"id":1}]}`},
	{"clients.md §11.3 missing from filtered lists", "cyd", "cohorts", `{"Type":"static"}`, `{"count":0,"results":[]}`},
	{"clients.md §11.3 pages of what is visible", "cyd", "cohorts", `{"Limit":1,"Offset":1}`, `{"count":1,"results":[]}`},
	{"clients.md §11.3 none: 403 in paths", "cyd", "getcohort 2", ``, flagtest.MayNotView},
	{"clients.md §11.3 none: 403 in paths", "cyd", "persons 2 10", ``, flagtest.MayNotView},
	{"clients.md §11.3 none: 403 in paths", "cyd", "counts 2", ``, flagtest.MayNotView},
	{"clients.md §11.3 none: 403 in paths", "cyd", "duplicate 2", ``, flagtest.MayNotView},
	{"clients.md §11.3 none: 403 in paths", "cyd", "changecohort 2", `{"name":"x"}`, flagtest.MayNotEdit},
	{"clients.md §11.3 none: 403 in paths", "cyd", "addpersons 2", `{"person_ids":["` + flagtest.Wes + `"]}`, flagtest.MayNotEdit},
	{"clients.md §11.3 none: 403 in paths", "cyd", "removeperson 2", `{"person_id":"` + flagtest.Una + `"}`, flagtest.MayNotEdit},
	{"clients.md §11.3 none: 403 in paths", "cyd", "morefile 2", "wes\n", flagtest.MayNotEdit},
	{"clients.md §11.3 none: as an unknown cohort in a filter of persons", "cyd", "member 2", ``, `[]`},
	{"clients.md §11.3 the author and administrators are not restricted", "bob", "persons 2 10", ``, `{"UUIDs":["` + flagtest.Una + `"]}`},
	{"clients.md §11.3 the author and administrators are not restricted", "gus", "member 2", ``, `["` + flagtest.Una + `"]`},
	{"clients.md §11.3 viewers of cohorts create none", "ann", "rule", `{"access_level":"viewer","resource":"cohort"}`, `{"access_level":"viewer"}`},
	{"clients.md §11.3 viewers of cohorts create none", "cyd", "cohort", `{"name":"mine"}`, flagtest.MayNotEdit},
	{"clients.md §11.3 viewers of cohorts create none", "cyd", `file {"is_static":true}`, "una\n", flagtest.MayNotEdit},
	{"clients.md §11.3 viewers of cohorts copy none", "cyd", "duplicate 1", ``, flagtest.MayNotEdit},
	{"clients.md §11.3 nothing was created", "ann", "cohorts", ``, `{"count":2}`},
	{"clients.md §11.3 a flag's persons are the flag's", "bob", "create", `{"key":"hidden"}`, `{"id":1}`},
	{"clients.md §11.3 a flag's persons are the flag's", "ann", "rule", `{"access_level":"editor","resource":"cohort"}`, `{"access_level":"editor"}`},
	{"clients.md §11.3 a flag's persons are the flag's", "ann", "rule feature_flag 1", `{"access_level":"none","organization_member":"CYD"}`, `{"access_level":"none"}`},
	{"clients.md §11.3 a flag's persons are the flag's", "cyd", "cohortof 1", ``, flagtest.MayNotView},
}

// A cohort of a definitions file is read-only, with its members too (decisions, "Definitions
// file").
func TestCohorts_MembersOfFiles(t *testing.T) {
	w := flagtest.New(t)
	err := w.Store.Write(t.Context(), func(tx rooms.Tx) error {
		d := management.Definition{ID: 1, Origin: "flags.json", Record: []byte(`{"id":1,"name":"filed","is_static":true}`)}
		if err := tx.PutDefinition(management.CohortDefinition, ruletest.Project, &d); err != nil {
			return err
		}
		return tx.AddMembers(ruletest.Project, 1, []string{"una"})
	})
	if err != nil {
		t.Fatal(err)
	}
	const conflict = `409 conflict - The cohort 1 is defined in the file flags.json and can only be changed there.`
	w.Run(t, flagtest.RoomCalls(t, w), []ruletest.Row{
		{"it is read", "bob", "persons 1 10", ``, `{"UUIDs":["` + flagtest.Una + `"]}`},
		{"it is read-only", "bob", "addpersons 1", `{"person_ids":["` + flagtest.Vic + `"]}`, conflict},
		{"it is read-only", "bob", "removeperson 1", `{"person_id":"` + flagtest.Una + `"}`, conflict},
		{"it is read-only", "bob", "morefile 1", "vic\n", conflict},
		{"it is read-only", "ann", "changecohort 1", `{"deleted":true}`, conflict},
		{"it is read-only", "ann", "changecohort 1", `{"name":7}`, conflict},
		{"its members are those of the file", "bob", "member 1", ``, `["` + flagtest.Una + `"]`},
	})
}

// Two persons may have the same address; both become members (§5.2).
func TestCohorts_SameAddress(t *testing.T) {
	p := flagtest.SomePeople()
	p.All[2].Properties["email"] = "una@example.com" // the address of the first
	w := worldOf(t, p)
	w.Run(t, flagtest.RoomCalls(t, w), []ruletest.Row{
		{"§5.2", "bob", `file {"is_static":true}`, "e-mail\nuna@example.com\n", `{"id":1,"count":2}`},
		{"§5.2", "bob", "persons 1 10", ``, `{"UUIDs":["` + flagtest.Una + `","` + flagtest.Wes + `"]}`},
	})
}

// A file has at most 100,000 rows; its header is not a row, unless it is an id.
func TestReadMembers_Rows(t *testing.T) {
	ids := func(n int) string { return strings.Repeat("a\n", n) }
	for name, c := range map[string]struct {
		file string
		want int // number of members, 0 for a refusal
	}{
		"no header":                          {ids(maxRows), maxRows},
		"a header":                           {"distinct_id\n" + ids(maxRows), maxRows},
		"a header and one more":              {"distinct_id\n" + ids(maxRows+1), 0},
		"an unknown header":                  {"user\n" + ids(maxRows-1), maxRows},
		"an unknown header and as many rows": {"user\n" + ids(maxRows), 0},
		"rows without ids count":             {"distinct_id,name\n" + strings.Repeat(",x\n", maxRows) + "a,x\n", 0},
	} {
		list, err := cohorts.ReadMembers(strings.NewReader(c.file))
		switch {
		case c.want == 0 && (err == nil || !strings.Contains(err.Error(), "The file has more than 100000 rows.")):
			t.Errorf("%s: %v", name, err)
		case c.want > 0 && (err != nil || len(list.Values) != c.want):
			t.Errorf("%s: %v, want %d members", name, err, c.want)
		}
	}
}

var staticRows = []ruletest.Row{
	{"§5.2 filters are not checked", "bob", "cohort", `{"is_static":true,"filters":{"any":"thing"}}`, `{"id":1,"is_static":true,"count":0,"cohort_type":"static"}`},
	{"§5.2 first members", "bob", "cohort", `{"is_static":true,"_create_static_person_ids":["` + flagtest.Una + `","` + flagtest.Vic + `"]}`, `{"id":2,"count":2}`},
	{"§5.2 persons that nobody knows", "bob", "cohort", `{"is_static":true,"_create_static_person_ids":["` + flagtest.Una + `","0191f0a2-5b1c-7d3e-8f40-0000000000ff"]}`, `{"id":3,"count":1}`},
	{"§5.2 only of static ones", "bob", "cohort", `{"filters":{"properties":{"type":"AND","values":[` + flagtest.Plan + `]}},"_create_static_person_ids":["` + flagtest.Wes + `"]}`, `{"id":4,"count":2}`},
	{"§5.2 members stay", "bob", "changecohort 2", `{"name":"x"}`, `{"count":2}`},
	{"§5.2 deleted and back", "bob", "changecohort 2", `{"deleted":true}`, `{"deleted":true}`},
	{"§5.2 deleted and back", "bob", "changecohort 2", `{"deleted":false}`, `{"deleted":false,"count":2}`},
	{"§5.2 another project's persons", "dan", "cohort", `{"is_static":true,"_create_static_person_ids":["` + flagtest.Una + `"]}`, `{"count":0}`},
}

var fileRows = []ruletest.Row{
	{"§5.2 one column, no header: distinct ids", "bob", `file {"name":"a","is_static":true}`, "una\nvic\n", `{"id":1,"count":2}`},
	{"§5.2 two ids of one person", "bob", `file {"name":"b","is_static":true}`, "vic\nvic2\n", `{"id":2,"count":1}`},
	{"§5.2 ids of nobody yet", "bob", `file {"name":"c","is_static":true}`, "una\nlater\n", `{"id":3,"count":2}`},
	{"§5.2 person_id", "bob", `file {"name":"d","is_static":true}`, "person_id\n" + flagtest.Una + "\n" + flagtest.Wes + "\n0191f0a2-5b1c-7d3e-8f40-0000000000ff\n", `{"id":4,"count":2}`},
	{"§5.2 person-id", "bob", `file {"name":"e","is_static":true}`, "person-id\n" + flagtest.Una + "\n", `{"id":5,"count":1}`},
	{"§5.2 email", "bob", `file {"name":"f","is_static":true}`, "email\nwes@example.org\nnobody@example.com\n", `{"id":6,"count":1}`},
	{"§5.2 several columns", "bob", `file {"name":"g","is_static":true}`, "name,distinct_id\nUna,una\nVic,vic\n", `{"id":7,"count":2}`},
	{"§5.2 of a dynamic one", "bob", `file {"name":"h"}`, "una\n", `400 invalid_input csv`},
	{"§5.2 nothing of it stays", "bob", "cohorts", `{"Search":"h"}`, `{"count":0}`},
	{"§5.2 several columns and no ids: those that there are", "bob", `file {"is_static":true}`, "name,age\nUna,40\n", `400 invalid_input csv The file has several columns but none with ids: one must be named person_id, distinct_id or email. Found: name, age`},
	{"§5.2 empty", "bob", `file {"is_static":true}`, "", `400 invalid_input csv`},
	{"§5.2 more members", "bob", "morefile 1", "wes\nuna\n", `{"count":3}`},
	{"§5.2 more members of a dynamic one", "bob", "cohort", `{"name":"dynamic"}`, `{"id":8}`},
	{"§5.2 more members of a dynamic one", "bob", "morefile 8", "una\n", `400 invalid_input csv`},
}

var memberChangeRows = flagtest.Rows(
	[]ruletest.Row{
		{"§5.2", "bob", "cohort", `{"name":"s","is_static":true}`, `{"id":1,"count":0}`},
		{"§5.2", "bob", "cohort", `{"name":"d"}`, `{"id":2}`},
		{"§5.2", "bob", "addpersons 1", `{"person_ids":["` + flagtest.Una + `","` + flagtest.Vic + `"]}`, `{"success":true}`},
		{"§5.2", "bob", "getcohort 1", ``, `{"count":2}`},
		{"§5.2 those who are in it already", "bob", "addpersons 1", `{"person_ids":["` + flagtest.Una + `","` + flagtest.Wes + `"]}`, `{"success":true}`},
		{"§5.2 those who are in it already", "bob", "getcohort 1", ``, `{"count":3}`},
	},
	flagtest.Each("§5.2 add_persons_to_static_cohort", "bob", "addpersons 1",
		[2]string{`{}`, `400 invalid_input - person_ids must be a list`},
		[2]string{`{"person_ids":null}`, `400 invalid_input - person_ids must be a list`},
		[2]string{`{"person_ids":"` + flagtest.Una + `"}`, `400 invalid_input - person_ids must be a list`},
		[2]string{`{"person_ids":{}}`, `400 invalid_input - person_ids must be a list`},
		[2]string{`{"person_ids":[]}`, `400 invalid_input - person_ids cannot be empty`},
		[2]string{`{"person_ids":` + flagtest.List(1001, `"`+flagtest.Una+`"`) + `}`, `400 invalid_input - List size exceeds limit`},
		[2]string{`{"person_ids":` + flagtest.List(1000, `"`+flagtest.Una+`"`) + `}`, `{"success":true}`},
		[2]string{`{"person_ids":["0191f0a2-5b1c-7d3e-8f40-0000000000ff"]}`, `400 invalid_input - No valid users to add to cohort`},
		[2]string{`{"person_ids":["una",7,null]}`, `400 invalid_input - No valid users to add to cohort`},
		[2]string{`{"person_ids":["una","` + flagtest.Xia + `"]}`, `{"success":true}`},
	),
	[]ruletest.Row{
		{"§5.2 to a dynamic one", "bob", "addpersons 2", `{"person_ids":["` + flagtest.Una + `"]}`, `400 invalid_input - Can only add users to static cohorts`},
		{"§5.2 to none", "bob", "addpersons 9", `{"person_ids":["` + flagtest.Una + `"]}`, `404 not_found - Not found.`},
		{"§5.2 to another project's", "dan", "addpersons 1", `{"person_ids":["` + flagtest.Una + `"]}`, `404 not_found - Not found.`},
		{"§5.2 remove_person_from_static_cohort", "bob", "removeperson 1", `{"person_id":"` + flagtest.Vic + `"}`, `{"success":true}`},
		{"§5.2 with all distinct ids", "bob", "persons 1 10", ``, `{"UUIDs":["` + flagtest.Una + `","` + flagtest.Wes + `","` + flagtest.Xia + `"],"Next":""}`},
		{"§5.2 counted", "bob", "getcohort 1", ``, `{"count":3}`},
	},
	flagtest.Each("§5.2 remove_person_from_static_cohort", "bob", "removeperson 1",
		[2]string{`{}`, `400 invalid_input - person_id is required`},
		[2]string{`{"person_id":null}`, `400 invalid_input - person_id is required`},
		[2]string{`{"person_id":""}`, `400 invalid_input - person_id is required`},
		[2]string{`{"person_id":"una"}`, `400 invalid_input - person_id must be a valid UUID`},
		[2]string{`{"person_id":7}`, `400 invalid_input - person_id must be a valid UUID`},
		[2]string{`{"person_id":"0191f0a2-5b1c-7d3e-8f40-0000000000ff"}`, `404 not_found - Person with this UUID does not exist in the cohort's team`},
		[2]string{`{"person_id":"` + flagtest.Vic + `"}`, `404 not_found - Person is not part of the cohort`},
	),
	[]ruletest.Row{
		{"§5.2 from a dynamic one", "bob", "removeperson 2", `{"person_id":"` + flagtest.Una + `"}`, `400 invalid_input -`},
		{"§5.2 from none", "bob", "removeperson 9", `{"person_id":"` + flagtest.Una + `"}`, `404 not_found - Not found.`},
	},
)

var personPageRows = []ruletest.Row{
	{"§5.2", "bob", "cohort", tree("AND", `{"type":"person","key":"email","operator":"is_set"}`), `{"id":1,"count":3}`},
	{"§5.2", "bob", `file {"is_static":true}`, "xia\nvic\nvic2\nnobody\nuna\n", `{"id":2,"count":4}`},
	{"§5.2 of a dynamic one", "bob", "persons 1 100", ``, `{"UUIDs":["` + flagtest.Una + `","` + flagtest.Vic + `","` + flagtest.Wes + `"],"Next":""}`},
	{"§5.2 a page", "bob", "persons 1 2", ``, `{"UUIDs":["` + flagtest.Una + `","` + flagtest.Vic + `"],"Next":"2"}`},
	{"§5.2 the next one", "bob", "persons 1 2 2", ``, `{"UUIDs":["` + flagtest.Wes + `"],"Next":""}`},
	{"§5.2 a cursor of nobody's", "bob", "persons 1 2 x", ``, `400 invalid_input cursor`},
	{"§5.2 a cursor of nobody's", "bob", "persons 1 2 -1", ``, `400 invalid_input cursor`},
	{"§5.2 of a static one: each person once", "bob", "persons 2 100", ``, `{"UUIDs":["` + flagtest.Una + `","` + flagtest.Vic + `","` + flagtest.Xia + `"],"Next":""}`},
	{"§5.2 a page", "bob", "persons 2 2", ``, `{"UUIDs":["` + flagtest.Una + `","` + flagtest.Vic + `"],"Next":"(like) ."}`},
	{"§5.2 the next one", "bob", "persons 2 2 vic", ``, `{"UUIDs":["` + flagtest.Xia + `"],"Next":""}`},
	{"§5.2 of a deleted one", "bob", "changecohort 1", `{"deleted":true}`, `{"deleted":true}`},
	{"§5.2 of a deleted one", "bob", "persons 1 100", ``, `{"UUIDs":null,"Next":""}`},
	{"§5.2 of none", "bob", "persons 9 100", ``, `404 not_found - Not found.`},
	{"§5.2 of another project's", "dan", "persons 2 100", ``, `404 not_found - Not found.`},
}

var membershipRows = []ruletest.Row{
	{"clients.md §2.2", "bob", "cohort", tree("AND", flagtest.Plan), `{"id":1}`},
	{"clients.md §2.2", "bob", `file {"is_static":true}`, "wes\n", `{"id":2}`},
	{"clients.md §2.2 only its members", "bob", "member 1", ``, `["` + flagtest.Una + `","` + flagtest.Vic + `"]`},
	{"clients.md §2.2 of a list", "bob", "member 2", ``, `["` + flagtest.Wes + `"]`},
	{"clients.md §2.2 an unknown cohort: no rows", "bob", "member 99", ``, `[]`},
	{"clients.md §2.2 another project's: no rows", "dan", "member 1", ``, `[]`},
	{"clients.md §2.2 a deleted one: no rows", "bob", "changecohort 1", `{"deleted":true}`, `{"deleted":true}`},
	{"clients.md §2.2 a deleted one: no rows", "bob", "member 1", ``, `[]`},
	{"flags.md §5.3 one that cannot be evaluated", "bob", "changecohort 1", `{"deleted":false}`, `{"deleted":false}`},
	{"flags.md §5.3 one that cannot be evaluated", "bob", "cohort", tree("AND", `{"type":"cohort","key":"id","value":1}`), `{"id":3}`},
	{"flags.md §5.3 one that cannot be evaluated", "bob", "changecohort 1", `{"deleted":true}`, `{"deleted":true}`},
	{"flags.md §5.3 one that cannot be evaluated", "bob", "member 3", ``, `400 invalid_input cohort`},
}

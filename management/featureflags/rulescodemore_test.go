package featureflags_test

import (
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/rooms"
)

// Documents (decision 27): the fields that Apply does not change, and the numbers of a plan.
func TestFlagsAsCode_Unchanged(t *testing.T) {
	askFlags(t, map[string][]ruletest.Row{
		"members of flags": documentFieldRows, "archive": documentArchiveRows, "length": documentLengthRows, "pins": documentPinRows, "cohorts": documentCohortFieldRows, "hidden flags": documentHiddenRows,
		"warnings": documentWarningRows, "bounds": documentBoundRows, "plans": planMoreRows, "references": documentReferenceRows, "order of checks": documentFaultRows,
	})
}

// half returns flag a of a document with a share.
func half(members string) string {
	return flagtest.Document(`{"key":"a","active":true,"filters":{"groups":[{"properties":[],"rollout_percentage":50}]}`+members+`}`, ``)
}

var documentFieldRows = []ruletest.Row{
	{"decision 27", "bob", "create", `{"key":"a","analytics_dashboards":[1],"rollback_conditions":[1],"has_enriched_analytics":true,"change_note":"why"}`, `{"id":1,"usage_dashboard":2}`},
	{"decision 27", "bob", "survey", `{"name":"S","type":"popover","linked_flag_id":1}`, `{"name":"S"}`},
	{"decision 27 what documents do not have stays", "cyd", "apply", half(``), `{"changes":[{"name":"a","action":"update","changes":[{"field":"filters"}]}],"warnings":"(absent)"}`},
	{"decision 27 what documents do not have stays", "bob", "get 1", ``, `{"version":2,"rollout_percentage":50,"analytics_dashboards":[1],"rollback_conditions":[1],"has_enriched_analytics":true,"usage_dashboard":2,"surveys":[{"name":"S"}],
		"created_by":{"first_name":"bob"},"created_at":"2026-01-02T12:00:01Z","last_modified_by":{"first_name":"cyd"},"updated_at":"2026-01-02T12:00:03Z"}`},
	{"console.md N22 without a note", "bob", "version 1 2", ``, `{"change_note":""}`},
	{"decision 27 settings", "bob", "apply", half(`,"ensure_experience_continuity":true,"evaluation_contexts":["web"],"evaluation_contexts_match_mode":"all","bucketing_hash":"murmur3","is_remote_configuration":true`), `{"changes":[{"changes":[
		{"field":"bucketing_hash","after":"murmur3"},{"field":"ensure_experience_continuity","before":false,"after":true},{"field":"evaluation_contexts","after":["web"]},{"field":"evaluation_contexts_match_mode","after":"all"},{"field":"is_remote_configuration","before":false,"after":true}]}]}`},
	{"decision 27 settings", "bob", "get 1", ``, `{"ensure_experience_continuity":true,"evaluation_contexts":["web"],"evaluation_contexts_match_mode":"all","bucketing_hash":"murmur3","is_remote_configuration":true,"version":3}`},
	{"decision 27 the export says the same", "bob", "export", ``, `{"flags":[{"key":"a","ensure_experience_continuity":true,"evaluation_contexts":["web"],"evaluation_contexts_match_mode":"all","bucketing_hash":"murmur3","is_remote_configuration":true,"usage_dashboard":"(absent)","links":"(absent)"}]}`},
	{"decision 27 again by default", "bob", "apply", half(``), `{"changes":[{"action":"update"}]}`},
	{"decision 27 again by default", "bob", "get 1", ``, `{"ensure_experience_continuity":false,"evaluation_contexts":[],"evaluation_contexts_match_mode":"any","bucketing_hash":null,"is_remote_configuration":false}`},
	{"§5.1.2 bad settings", "bob", "apply", half(`,"bucketing_identifier":"device_id","ensure_experience_continuity":true`), `400 invalid_input bucketing_identifier flag "a":`},
	{"§5.1.2 bad settings", "bob", "apply", half(`,"evaluation_contexts":` + flagtest.List(51, `"x"`)), `400 max_length evaluation_contexts flag "a":`},
	{"decision 27 other members are kept", "bob", "apply", half(`,"our_note":{"why":1}`), `{"changes":[{"changes":[{"field":"our_note","after":{"why":1}}]}],"warnings":["(like) ^flag \"a\": our_note"]}`},
	{"decision 27 other members are kept", "bob", "export", ``, `{"flags":[{"our_note":{"why":1}}]}`},
	{"decision 27 a change by hand keeps them too", "bob", "change 1", `{"name":"x"}`, `{"name":"x"}`},
	{"decision 27 a change by hand keeps them too", "bob", "export", ``, `{"flags":[{"name":"x","our_note":{"why":1}}]}`},
}

var documentArchiveRows = []ruletest.Row{
	{"clients.md §7.2", "bob", "create", `{"key":"a","active":false,"archived":true}`, `{"archived":true}`},
	{"clients.md §7.2 off, it stays in the archive", "bob", "apply", flagtest.Document(`{"key":"a","active":false,"name":"x","filters":{"groups":[]}}`, ``), `{"changes":[{"action":"update"}]}`},
	{"clients.md §7.2 off, it stays in the archive", "bob", "get 1", ``, `{"archived":true,"active":false,"name":"x"}`},
	{"clients.md §7.2 set active, it is unarchived", "bob", "apply", flagtest.Document(`{"key":"a","active":true,"filters":{"groups":[]}}`, ``), `{"changes":[{"action":"update"}]}`},
	{"clients.md §7.2 set active, it is unarchived", "bob", "get 1", ``, `{"archived":false,"active":true}`},
	{"decision 27 exported only if it is in the archive", "bob", "export", ``, `{"flags":[{"key":"a","archived":"(absent)"}]}`},
	{"decision 27 into the archive", "bob", "apply", flagtest.Document(`{"key":"a","active":false,"archived":true,"filters":{"groups":[]}}`, ``), `{"changes":[{"changes":[{"field":"active","before":true,"after":false},{"field":"archived","before":null,"after":true}]}]}`},
	{"decision 27 into the archive", "bob", "get 1", ``, `{"archived":true,"active":false}`},
	{"decision 27 exported", "bob", "export", ``, `{"flags":[{"key":"a","active":false,"archived":true}]}`},
	{"decision 27 the same is no change", "bob", "apply", flagtest.Document(`{"key":"a","active":false,"archived":true,"filters":{"groups":[]}}`, ``), `{"changes":[],"unchanged":1}`},
	{"decision 27 not named, it stays", "bob", "apply", flagtest.Document(`{"key":"a","active":false,"filters":{"groups":[]}}`, ``), `{"changes":[],"unchanged":1}`},
	{"decision 27 null is not named", "bob", "apply", flagtest.Document(`{"key":"a","active":false,"archived":null,"filters":{"groups":[]}}`, ``), `{"changes":[],"unchanged":1}`},
	{"clients.md §7.2 not both", "bob", "apply", flagtest.Document(`{"key":"a","active":true,"archived":true,"filters":{"groups":[]}}`, ``), `400 invalid_input archived flag "a": A feature flag must be inactive to be archived.`},
	{"decision 27 no boolean", "bob", "apply", flagtest.Document(`{"key":"a","archived":"yes","filters":{"groups":[]}}`, ``), `400 invalid_input archived flag "a": Must be a valid boolean.`},
	{"decision 27 out of the archive, and still off", "bob", "apply", flagtest.Document(`{"key":"a","active":false,"archived":false,"filters":{"groups":[]}}`, ``), `{"changes":[{"changes":[{"field":"archived","before":true,"after":null}]}]}`},
	{"decision 27 out of the archive, and still off", "bob", "get 1", ``, `{"archived":false,"active":false}`},
	{"decision 27 a new flag in the archive", "bob", "apply", flagtest.Document(`{"key":"b","active":false,"archived":true,"filters":{"groups":[]}}`, ``), `{"changes":[{"name":"b","action":"create"}]}`},
	{"decision 27 a new flag in the archive", "bob", "get 2", ``, `{"archived":true,"active":false}`},
}

var documentPinRows = []ruletest.Row{
	{"console.md N11", "bob", "create", `{"key":"a","filters":{"groups":[{"rollout_percentage":0}]}}`, `{"id":1}`},
	{"console.md N11", "bob", "pin 1", `{"distinct_id":"vic2","value":true}`, `{"id":1}`},
	// Everybody gets the flag, so it changes for all of the four persons but vic.
	{"console.md N11 a plan knows who is pinned", "bob", "plan", flagtest.Document(`{"key":"a","active":true,"filters":{"groups":[{}]}}`, ``), `{"changes":[{"people":{"changed":3,"counted":4,"of":4,"sample":false}}]}`},
	{"console.md N11 a document leaves pins out", "bob", "apply", flagtest.Document(`{"key":"a","active":true,"pins":[{"cohort":-1,"value":false}],"filters":{"groups":[{}]}}`, ``), `{"changes":[{"changes":[{"field":"filters"}]}]}`},
	{"console.md N11 those of now stay", "bob", "pins 1", ``, `{"count":1,"results":[{"id":1,"value":true}]}`},
	{"console.md N11 nor does a new flag have any", "bob", "apply", flagtest.Document(`{"key":"b","active":true,"pins":[{"cohort":-1,"value":true}],"filters":{"groups":[]}}`, ``), `{"changes":[{"name":"b"}]}`},
	{"console.md N11 nor does a new flag have any", "bob", "who 2", ``, `{"counts":{"false":4,"true":"(absent)"}}`},
	{"console.md N11 no pins are exported", "bob", "export", ``, `{"flags":[{"key":"a","pins":"(absent)"},{"key":"b","pins":"(absent)"}]}`},
}

var documentCohortFieldRows = []ruletest.Row{
	{"decision 27", "bob", "cohort", `{"name":"Payers","description":"who pay","filters":{"properties":{"type":"AND","values":[` + flagtest.Plan + `]}}}`, `{"id":1}`},
	{"decision 27 what it does not name is what it is by default", "cyd", "apply", flagtest.Document(``, payer), `{"changes":[{"name":"Payers","changes":[{"field":"description","before":"who pay","after":null}]}]}`},
	{"decision 27 what it does not name is what it is by default", "bob", "getcohort 1", ``, `{"description":"","created_by":{"first_name":"bob"},"filters":{"properties":{"type":"AND","values":[` + flagtest.Plan + `]}}}`},
	{"§5.1.2 used by a flag", "bob", "create", `{"key":"a","filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":1}]}]}}`, `{"id":1}`},
	{"§5.2 no filters on events then", "bob", "apply", flagtest.Document(``, `{"name":"Payers","filters":{"properties":{"type":"AND","values":[`+flagtest.Performed+`]}}}`), `400 behavioral_cohort_found filters cohort "Payers":`},
	{"decision 27 a cohort that is not in the document stays, also with prune", "bob", "applyprune", flagtest.Document(``, ``), `{"changes":[{"name":"a","action":"delete"}]}`},
	{"decision 27 a cohort that is not in the document stays, also with prune", "bob", "cohorts", ``, `{"count":1}`},
	{"decision 27 of a deleted name there is a new one", "bob", "changecohort 1", `{"deleted":true}`, `{"deleted":true}`},
	{"decision 27 of a deleted name there is a new one", "bob", "apply", flagtest.Document(``, payer), `{"changes":[{"name":"Payers","action":"create"}]}`},
	{"decision 27 of a deleted name there is a new one", "bob", "getcohort 2", ``, `{"name":"Payers","created_by":{"first_name":"bob"}}`},
}

var documentHiddenRows = []ruletest.Row{
	{"§5.6", "bob", "survey", `{"name":"S","type":"popover"}`, `{"name":"S"}`},
	{"§5.6", "bob", "get 1 => hidden", ``, `{"id":1}`},
	{"§5.6 a survey's flag is not exported", "bob", "export", ``, `{"flags":[]}`},
	{"§5.6 nor is its key free", "bob", "apply", flagtest.Document(`{"key":"<hidden.key>","filters":{"groups":[]}}`, ``), `400 unique key flag "<hidden.key>": There is already a feature flag with this key.`},
	{"§5.6 nor pruned", "bob", "applyprune", flagtest.Document(``, ``), `{"changes":[],"unchanged":0}`},
}

// Any other unknown member causes a warning. After 100 warnings, one more line reports that the list
// is incomplete.
var documentWarningRows = []ruletest.Row{
	{"decision 30 bounded", "bob", "plan", flagsWithWarnings(100), `{"warnings":` + flagtest.List(100, `"(like) our_note"`) + `}`},
	{"decision 30 bounded", "bob", "plan", flagsWithWarnings(101), `{"warnings":` + flagtest.List(100, `"(like) our_note"`)[:len(flagtest.List(100, `"(like) our_note"`))-1] + `,"there is more that had no effect"]}`},
	{"decision 30 a misspelt one is a fault", "bob", "plan", flagtest.Document(`{"key":"a","actve":true,"filters":{"groups":[]}}`, ``), `400 unknown_key actve flag "a":`},
	{"decision 30 in cohorts too", "bob", "plan", flagtest.Document(``, `{"name":"C","is_statc":true}`), `400 unknown_key is_statc cohort "C":`},
	{"decision 30 in cohorts too", "bob", "plan", flagtest.Document(``, `{"name":"C","is_static":true,"our_note":1}`), `{"warnings":["(like) ^cohort \"C\": our_note"]}`},
}

// flagsWithWarnings returns a document of n flags with a member of our own.
func flagsWithWarnings(n int) string {
	out := ""
	for i := range n {
		if i > 0 {
			out += ","
		}
		out += `{"key":"` + string(rune('a'+i%26)) + string(rune('a'+i/26)) + `","our_note":1,"filters":{"groups":[]}}`
	}
	return flagtest.Document(out, ``)
}

// A document may have as many flags as a project. An error about the first flag shows that the list was read.
var documentLengthRows = flagtest.Each("decision 27 length", "bob", "apply",
	[2]string{flagtest.Document(strings.Repeat(`{},`, 19_999)+`{}`, ``), `400 invalid_input flags__0__key A unique key is required.`},
	[2]string{flagtest.Document(strings.Repeat(`{},`, 20_000)+`{}`, ``), `400 max_length flags Ensure this field has no more than 20000 elements.`},
	[2]string{flagtest.Document(``, strings.Repeat(`{},`, 10_000)+`{}`), `400 max_length cohorts Ensure this field has no more than 10000 elements.`},
)

// One document lists at most 100,000 members of a cohort, of 4 MiB together.
var documentBoundRows = flagtest.Each("decision 27 members", "bob", "apply",
	[2]string{flagtest.Document(``, `{"name":"C","is_static":true,"members":`+flagtest.List(100_001, `"u"`)+`}`), `400 invalid_input members cohort "C": Ensure this field has no more than 100000 elements of 4194304 bytes together.`},
	[2]string{flagtest.Document(``, `{"name":"C","is_static":true,"members":[`+flagtest.Text(4<<20)+`,"u"]}`), `400 invalid_input members cohort "C":`},
	[2]string{flagtest.Document(``, `{"name":"C","is_static":true,"members":`+flagtest.List(3, `"u"`)+`}`), `{"changes":[{"name":"C","changes":[{"field":"is_static"},{"field":"members","after":["u"]},{"field":"name"}]}]}`},
)

// una and vic have the plan pro; the project has four persons.
var planMoreRows = []ruletest.Row{
	{"decision 27", "bob", "apply", flagtest.Document(simple+`,`+payers, payer), `{"unchanged":0}`},
	{"decision 27 through a cohort: the flag changes with it", "bob", "plan", flagtest.Document(`{"key":"for-payers","active":true,"name":"x","filters":{"groups":[{"properties":[{"key":"name","type":"cohort","value":"Payers"}]}]}}`, `{"name":"Payers","filters":{"properties":{"type":"AND","values":[{"type":"person","key":"plan","operator":"is_not_set"}]}}}`),
		`{"changes":[{"kind":"cohort","name":"Payers","people":"(absent)"},{"kind":"flag","name":"for-payers","people":{"changed":4}}]}`},
	{"decision 27 words change nothing for anybody", "bob", "plan", flagtest.Document(`{"key":"simple","name":"x","active":true,"filters":{"groups":[{"properties":[],"rollout_percentage":100}]}}`, ``), `{"changes":[{"people":{"changed":0,"counted":4}}]}`},
	{"decision 27 to a variant is a change", "bob", "plan", flagtest.Document(`{"key":"simple","active":true,"filters":{"groups":[{"properties":[`+flagtest.Plan+`],"variant":"a"},{}],"multivariate":{"variants":[{"key":"a","rollout_percentage":0},{"key":"b","rollout_percentage":100}]}}}`, ``), `{"changes":[{"people":{"changed":4}}]}`},
	{"decision 27 off", "bob", "plan", flagtest.Document(`{"key":"simple","active":false,"filters":{"groups":[{"properties":[],"rollout_percentage":100}]}}`, ``), `{"changes":[{"people":{"changed":4}}]}`},
	{"decision 27 a new one that is off", "bob", "plan", flagtest.Document(`{"key":"new","filters":{"groups":[{}]}}`, ``), `{"changes":[{"action":"create","people":{"changed":0}}]}`},
	{"decision 27 deleted ones", "bob", "planprune", flagtest.Document(``, ``), `{"changes":[{"name":"for-payers","action":"delete","people":{"changed":2}},{"name":"simple","action":"delete","people":{"changed":4}}]}`},
	{"decision 27 a list", "bob", "plan", flagtest.Document(`{"key":"listed","active":true,"filters":{"groups":[{"properties":[{"key":"name","type":"cohort","value":"L"}]}]}}`, `{"name":"L","is_static":true,"members":["vic2","xia","later"]}`), `{"changes":[{"kind":"cohort"},{"kind":"flag","people":{"changed":2,"of":4}}]}`},
	{"decision 27 a plan reserves nothing", "bob", "create", `{"key":"next"}`, `{"id":3}`},
	{"decision 27 nor stores it", "bob", "export", ``, `{"flags":[{"key":"for-payers","name":""},{"key":"next"},{"key":"simple","active":true}],"cohorts":[{"name":"Payers"}]}`},
	{"decision 27 a plan of nothing", "bob", "plan", flagtest.Document(``, ``), `{"changes":[],"unchanged":0}`},
	{"decision 27 a project without persons", "dan", "plan", flagtest.Document(simple, ``), `{"changes":[{"people":{"changed":0,"counted":0,"of":0,"sample":false}}]}`},
}

// References in documents are names, also if a name has the form of an id.
var documentReferenceRows = []ruletest.Row{
	{"decision 27 by key, also one of digits", "bob", "apply", flagtest.Document(`{"key":"7","active":true,"filters":{"groups":[]}},{"key":"x","active":true,"filters":{"groups":[{"properties":[{"key":"7","type":"flag","operator":"flag_evaluates_to","value":true}]}]}}`, ``), `{"changes":[{"name":"7"},{"name":"x"}]}`},
	{"decision 27 stored by id", "bob", "get 2", ``, `{"key":"x","filters":{"groups":[{"properties":[{"key":"1"}]}]}}`},
	{"decision 27 exported by key", "bob", "export", ``, `{"flags":[{"key":"7"},{"key":"x","filters":{"groups":[{"properties":[{"key":"7"}]}]}}]}`},
	{"decision 27 an id is no name", "bob", "apply", flagtest.Document(`{"key":"y","filters":{"groups":[{"properties":[{"key":"1","type":"flag","operator":"flag_evaluates_to","value":true}]}]}}`, ``), `400 invalid_input filters flag "y": There is no flag "1".`},
	{"decision 27 a flag that is deleted is no name", "bob", "change 2", `{"deleted":true}`, `{"deleted":true}`},
	{"decision 27 a flag that is deleted is no name", "bob", "apply", flagtest.Document(`{"key":"y","filters":{"groups":[{"properties":[{"key":"x","type":"flag","operator":"flag_evaluates_to","value":true}]}]}}`, ``), `400 invalid_input filters flag "y": There is no flag "x".`},
	{"§5.1.2 itself", "bob", "apply", flagtest.Document(`{"key":"y","filters":{"groups":[{"properties":[{"key":"y","type":"flag","operator":"flag_evaluates_to","value":true}]}]}}`, ``), `400 invalid_input filters flag "y": Feature flag 'y' cannot depend on itself`},
	{"decision 27 a cohort with the name of a number", "bob", "apply", flagtest.Document(`{"key":"z","filters":{"groups":[{"properties":[{"key":"name","type":"cohort","value":"12"}]}]}}`, `{"name":"12","is_static":true}`), `{"changes":[{"name":"12"},{"name":"z"}]}`},
	{"decision 27 a cohort with the name of a number", "bob", "export", ``, `{"flags":[{"key":"7"},{"key":"z","filters":{"groups":[{"properties":[{"key":"name","value":"12"}]}]}}]}`},
	{"decision 27 also one that begins with zeros", "bob", "apply", flagtest.Document(`{"key":"z","filters":{"groups":[{"properties":[{"key":"name","type":"cohort","value":"007"}]}]}}`, `{"name":"007","is_static":true}`), `{"changes":[{"name":"007"},{"name":"z"}]}`},
	{"decision 27 also one that begins with zeros", "bob", "export", ``, `{"flags":[{"key":"7"},{"key":"z","filters":{"groups":[{"properties":[{"key":"name","value":"007"}]}]}}]}`},
	{"decision 27 and again", "bob", "apply", flagtest.Document(`{"key":"z","filters":{"groups":[{"properties":[{"key":"name","type":"cohort","value":"007"}]}]}}`, ``), `{"changes":[],"unchanged":1}`},
	{"decision 27 what a value holds is no reference", "bob", "apply", flagtest.Document(`{"key":"w","filters":{"groups":[{"properties":[{"key":"p","type":"person","operator":"exact","value":[{"type":"flag","key":"nope"}]}]}]}}`, ``), `{"changes":[{"name":"w"}]}`},
}

// The shape of the document is checked first, then each flag by itself, then the resulting state.
var documentFaultRows = []ruletest.Row{
	{"decision 27 the shape first", "bob", "apply", `{"flags":[{"key":"a b","filters":{"groups":[]}}],"cohorts":[{"name":"C"},{"name":"C"}]}`, `400 invalid_input cohorts__1__name A unique name is required.`},
	{"decision 27 each flag alone before references", "bob", "apply", flagtest.Document(onBase+`,{"key":"a","filters":{"groups":[{"rollout_percentage":101}]}}`, ``), `400 invalid_input filters flag "a":`},
	{"decision 27 settings before flags", "bob", "apply", `{"flags":[` + onBase + `],"group_type_mapping":{"0":"planet"}}`, `400 invalid_input group_type_mapping The group type 0 is "planet" in the document and "company" in the project.`},
	{"decision 27 a key that cannot be looked up", "bob", "apply", flagtest.Document(`{"key":7,"filters":{"groups":[]}}`, ``), `400 invalid_input flags__0__key A unique key is required.`},
	{"decision 27 nothing of it stays", "bob", "export", ``, `{"flags":[],"cohorts":[]}`},
}

// Export and Apply report the settings of the project that affect the evaluation.
func TestFlagsAsCode_Settings(t *testing.T) {
	w := flagtest.New(t)
	w.InZone(t, "Europe/Oslo")
	w.Run(t, allFlagCalls(t, w), []ruletest.Row{
		{"decision 27 exported", "bob", "export", ``, `{"timezone":"Europe/Oslo","bucketing_hash":"(absent)","group_type_mapping":{"0":"company","1":"team"}}`},
		{"decision 27 the same", "bob", "apply", `{"flags":[],"timezone":"Europe/Oslo"}`, `{"warnings":"(absent)"}`},
		{"decision 27 not said", "bob", "apply", `{"flags":[],"timezone":null}`, `{"warnings":"(absent)"}`},
		{"decision 27 another, which is not applied", "bob", "apply", `{"flags":[],"timezone":"UTC"}`, `{"warnings":["timezone is UTC in the document; the project's value does not change"]}`},
		{"decision 27 another, which is not applied", "bob", "export", ``, `{"timezone":"Europe/Oslo"}`},
		{"decision 27 another project's", "dan", "export", ``, `{"timezone":"(absent)","group_type_mapping":"(absent)"}`},
	})
}

// §5.1.3, clients.md §7.3: copies to another project, 3, in which bob may edit.
func TestFlags_CopyState(t *testing.T) {
	w := flagtest.New(t)
	err := w.Store.Write(t.Context(), func(tx rooms.Tx) error {
		return tx.PutProject(&management.ProjectRecord{ID: copyProject, Organization: ruletest.Organization, Name: "Copy", APIKey: "phc_3"})
	})
	if err != nil {
		t.Fatal(err)
	}
	there := func(scope flagtest.Scope) *management.Scope { // the scope in the target project
		out := *scope
		out.Project = &management.ProjectRecord{ID: copyProject, Organization: ruletest.Organization}
		return &out
	}
	calls := allFlagCalls(t, w)
	for _, name := range []string{"get", "change", "pin", "pins", "create", "keys"} {
		call := calls[name]
		calls["there-"+name] = func(scope flagtest.Scope, path, body string) (any, error) { return call(there(scope), path, body) }
	}
	copied := func(key, more string) string {
		return `{"feature_flag_key":"` + key + `","from_project":1,"target_project_ids":[3]` + more + `}`
	}
	w.Run(t, calls, []ruletest.Row{
		{"§5.1.3", "bob", "create", `{"key":"a","analytics_dashboards":[1]}`, `{"id":1}`},
		{"clients.md §7.3 disable_copied_flag: a new one is off", "bob", "copy", copied("a", `,"disable_copied_flag":true`), `{"success":[{"id":2,"key":"a","active":false}],"failed":[]}`},
		{"clients.md §7.3 the source stays on", "bob", "get 1", ``, `{"active":true,"version":1}`},
		{"clients.md §7.3 false: as the source", "bob", "copy", copied("a", `,"disable_copied_flag":false`), `{"success":[{"id":2,"active":true,"version":2}]}`},
		{"clients.md §7.3 one that is there is off then", "bob", "copy", copied("a", `,"disable_copied_flag":true`), `{"success":[{"id":2,"active":false,"version":3}]}`},
		{"clients.md §7.3 absent: as the source", "bob", "copy", copied("a", ``), `{"success":[{"id":2,"active":true,"version":4,"analytics_dashboards":[]}]}`},
		{"decision 27 into the archive", "bob", "change 1", `{"archived":true}`, `{"archived":true}`},
		{"decision 27 into the archive", "bob", "copy", copied("a", ``), `{"success":[{"id":2,"archived":true,"active":false,"version":5}]}`},
		{"decision 27 and out of it, still off", "bob", "change 1", `{"archived":false}`, `{"archived":false}`},
		{"decision 27 and out of it, still off", "bob", "copy", copied("a", ``), `{"success":[{"id":2,"archived":false,"active":false,"version":6}]}`},
		{"§5.1.3", "bob", "change 1", `{"active":true}`, `{"active":true}`},
		{"§5.1.3", "bob", "copy", copied("a", ``), `{"success":[{"id":2,"active":true,"version":7}]}`},
		{"console.md N11 a copy leaves pins out", "bob", "pin 1", `{"distinct_id":"x","value":false}`, `{"id":1}`},
		{"console.md N11 those of the target stay", "bob", "there-pin 2", `{"distinct_id":"y","value":true}`, `{"id":2}`},
		{"console.md N11", "bob", "copy", copied("a", ``), `{"success":[{"id":2,"version":7}]}`},
		{"console.md N11 those of the target stay", "bob", "there-pins 2", ``, `{"count":1,"results":[{"id":2}]}`},
		{"§5.1.3 what it needs must be there", "bob", "create", `{"key":"upper","filters":{"groups":[{"properties":[{"key":"1","type":"flag","operator":"flag_evaluates_to","value":true}]}]}}`, `{"id":3}`},
		{"§5.1.3 what it needs is there", "bob", "copy", copied("upper", ``), `{"success":[{"id":4,"filters":{"groups":[{"properties":[{"key":"2"}]}]}}]}`},
		{"§5.1.3 what others need is not switched off", "bob", "copy", copied("a", `,"disable_copied_flag":true`), `{"success":[],"failed":[{"project_id":3,"errors":"(like) ^flag \"a\": Cannot disable this feature flag because .*: upper \\(ID: 4\\)"}]}`},
		{"§5.1.3 what it needs is not there", "bob", "create", `{"key":"base"}`, `{"id":5}`},
		{"§5.1.3 what it needs is not there", "bob", "create", `{"key":"top","filters":{"groups":[{"properties":[{"key":"5","type":"flag","operator":"flag_evaluates_to","value":true}]}]}}`, `{"id":6}`},
		{"§5.1.3 what it needs is not there", "bob", "copy", copied("top", ``), `{"success":[],"failed":[{"project_id":3,"errors":"flag \"top\": There is no flag \"base\"."}]}`},
		{"§5.1.3 nothing of it stays", "bob", "there-keys", `{}`, `["upper","a"]`},
		{"§5.1.3 a deleted one is overwritten by a new one", "bob", "there-change 4", `{"deleted":true}`, `{"deleted":true}`},
		{"§5.1.3 a deleted one is overwritten by a new one", "bob", "copy", copied("upper", ``), `{"success":[{"key":"upper","version":1,"deleted":false}]}`},
		{"§5.1.3 a deleted one is no source", "bob", "change 6", `{"deleted":true}`, `{"deleted":true}`},
		{"§5.1.3 a deleted one is no source", "bob", "copy", copied("top", ``), `{"error":"Feature flag to copy does not exist."}`},
		{"flags.md §1.11 at most 50 targets", "bob", "copy", `{"feature_flag_key":"a","from_project":1,"target_project_ids":` + flagtest.List(50, "9") + `}`, `{"success":[],"failed":` + flagtest.List(50, `{"project_id":9,"errors":"Project not found."}`) + `}`},
		{"flags.md §1.11 at most 50 targets", "bob", "copy", `{"feature_flag_key":"a","from_project":1,"target_project_ids":` + flagtest.List(51, "9") + `}`, `400 max_length target_project_ids Ensure this field has no more than 50 elements.`},
		{"§5.1.3 a bad body", "bob", "copy", copied("a", `,"disable_copied_flag":"maybe"`), `{"error":"Missing required fields"}`},
	})
	// A survey's own flag is nobody's to copy.
	w.Run(t, calls, []ruletest.Row{
		{"§5.6", "bob", "survey", `{"name":"S","type":"popover"}`, `{"name":"S","internal_targeting_flag":{"id":8}}`},
		{"§5.6", "bob", "get 8 => hidden", ``, `{"id":8}`},
		{"§5.6 a hidden flag is no source", "bob", "copy", copied("<hidden.key>", ``), `{"error":"Feature flag to copy does not exist."}`},
	})
}

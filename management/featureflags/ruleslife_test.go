package featureflags_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

func TestFlags_Life(t *testing.T) {
	flagtest.Ask(t, map[string][]ruletest.Row{
		"dependencies": chainRows, "dependants": dependantRows(), "deleted ones": deletedRows, "experiments hold them": linkedExperimentRows,
		"conflicts of fields": fieldConflictRows, "versions": versionRows, "restored": restoreRows, "notes": noteRows, "new keys": renameRows,
		"stale: boolean": staleBooleanRows, "stale: variants": staleVariantRows, "never stale": neverStaleRows,
	})
}

var chainRows = flagtest.Rows(
	[]ruletest.Row{
		flagtest.AFlag,
		{"§5.1.3", "bob", "create", `{"key":"b"}`, `{"id":2}`},
		{"§5.1.3", "bob", "create", `{"key":"c"}`, `{"id":3}`},
		{"§5.1.3", "dan", "create", `{"key":"theirs"}`, `{"id":4}`},
	},
	flagtest.Each("§5.1.2 what a dependency may be", "bob", "change 2",
		[2]string{flagtest.Property(`{"key":"1","type":"flag","operator":"flag_evaluates_to","value":true}`), `{"filters":{"groups":[{"properties":[{"key":"1","type":"flag","value":true}]}]}}`},
		[2]string{flagtest.Property(`{"key":"1","type":"flag","operator":"flag_evaluates_to","value":false}`), `{"filters":{"groups":[{"properties":[{"value":false}]}]}}`},
		[2]string{flagtest.Property(`{"key":"1","type":"flag","operator":"flag_evaluates_to","value":"control"}`), `{"filters":{"groups":[{"properties":[{"value":"control"}]}]}}`},
		[2]string{flagtest.Property(`{"key":1,"type":"flag","operator":"flag_evaluates_to","value":true}`), `{"version":5}`},
		[2]string{flagtest.Property(`{"key":"1","type":"flag","operator":"exact","value":true}`), `400 invalid_input filters Flag properties must use the 'flag_evaluates_to' operator`},
		[2]string{flagtest.Property(`{"key":"1","type":"flag","operator":"is_set"}`), `400 invalid_input filters Flag properties must use the 'flag_evaluates_to' operator`},
		[2]string{flagtest.Property(`{"key":"1","type":"flag","value":true}`), `400 invalid_input filters Flag properties must use the 'flag_evaluates_to' operator`},
		[2]string{flagtest.Property(`{"key":"a","type":"flag","operator":"flag_evaluates_to","value":true}`), `400 invalid_input filters Flag dependencies must reference flag IDs (integers), not flag keys. Invalid reference: 'a'`},
		[2]string{flagtest.Property(`{"key":"1.5","type":"flag","operator":"flag_evaluates_to","value":true}`), `400 invalid_input filters Flag dependencies must reference flag IDs (integers), not flag keys. Invalid reference: '1.5'`},
		[2]string{flagtest.Property(`{"key":"","type":"flag","operator":"flag_evaluates_to","value":true}`), `400 invalid_input filters Flag dependencies must reference flag IDs (integers), not flag keys. Invalid reference: ''`},
		[2]string{flagtest.Property(`{"key":"99","type":"flag","operator":"flag_evaluates_to","value":true}`), `400 invalid_input filters Flag dependency references non-existent flag with ID 99`},
		[2]string{flagtest.Property(`{"key":"4","type":"flag","operator":"flag_evaluates_to","value":true}`), `400 invalid_input filters Flag dependency references non-existent flag with ID 4`},
		[2]string{flagtest.Property(`{"key":"-1","type":"flag","operator":"flag_evaluates_to","value":true}`), `400 invalid_input filters Flag dependency references non-existent flag with ID -1`},
		[2]string{flagtest.Property(`{"key":"2","type":"flag","operator":"flag_evaluates_to","value":true}`), `400 invalid_input filters Feature flag 'b' cannot depend on itself`},
	),
	[]ruletest.Row{
		{"§5.1.2 a longer way round", "bob", "change 3", flagtest.Needs("2"), `{"id":3}`},
		{"§5.1.2 a longer way round", "bob", "change 1", flagtest.Needs("3"), `400 invalid_input filters Circular dependency detected: a → c → b → a`},
		{"§5.1.2 one of two", "bob", "change 1", flagtest.Groups(`{"properties":[]}`, `{"properties":[{"key":"2","type":"flag","operator":"flag_evaluates_to","value":true}]}`),
			`400 invalid_input filters Circular dependency detected: a → b → a`},
		{"§5.1.2 two ways to one are no circle", "bob", "change 3", flagtest.Needs("1", "2"), `{"id":3}`},
		{"§5.1.2 on a deleted one", "bob", "create", `{"key":"d"}`, `{"id":5}`},
		{"§5.1.2 on a deleted one", "bob", "change 5", `{"deleted":true}`, `{"deleted":true}`},
		{"§5.1.2 on a deleted one", "bob", "change 3", flagtest.Needs("5"), `400 invalid_input filters Flag dependency references non-existent flag with ID 5`},
		{"flags.md §6 an inactive one is false: it may be named", "bob", "create", `{"key":"off","active":false}`, `{"id":6}`},
		{"flags.md §6 an inactive one is false: it may be named", "bob", "change 3", flagtest.Needs("6"), `{"id":3}`},
		{"§5.1.2 of a new one", "bob", "create", `{"key":"e","filters":{"groups":[{"properties":[{"key":"99","type":"flag","operator":"flag_evaluates_to","value":true}]}]}}`,
			`400 invalid_input filters Flag dependency references non-existent flag with ID 99`},
		{"§5.1.2 nothing of it stays", "bob", "id e", ``, `0`},
		{"§5.1.2 a flag whose key is a number is known by its id", "bob", "create", `{"key":"1"}`, `{"id":7}`},
		{"§5.1.2 a flag whose key is a number is known by its id", "bob", "change 7", flagtest.Needs("1"), `{"id":7}`},
		{"§5.1.2 a flag whose key is a number is known by its id", "bob", "change 7", flagtest.Needs("7"), `400 invalid_input filters Feature flag '1' cannot depend on itself`},
	},
)

// dependantRows prove that an error names up to five flags, and the number of the rest (§5.1.3).
func dependantRows() []ruletest.Row {
	out := []ruletest.Row{flagtest.AFlag}
	for i := 2; i <= 8; i++ {
		out = append(out,
			ruletest.Row{"§5.1.3", "bob", "create", fmt.Sprintf(`{"key":"on-%d"}`, i), fmt.Sprintf(`{"id":%d}`, i)},
			ruletest.Row{"§5.1.3", "bob", fmt.Sprintf("change %d", i), flagtest.Needs("1"), `{"version":2}`})
	}
	return append(out, []ruletest.Row{
		{"§5.1.3 five are named", "bob", "change 1", `{"deleted":true}`,
			`400 invalid_input - Cannot delete this feature flag because other flags depend on it: on-2 (ID: 2), on-3 (ID: 3), on-4 (ID: 4), on-5 (ID: 5), on-6 (ID: 6), and 2 more. Please update or disable the dependent flags first.`},
		{"flags.md §1.5 nor disabled", "bob", "change 1", `{"active":false}`,
			`400 invalid_input - Cannot disable this feature flag because other flags depend on it: on-2 (ID: 2), on-3 (ID: 3), on-4 (ID: 4), on-5 (ID: 5), on-6 (ID: 6), and 2 more. Please update or disable the dependent flags first.`},
		{"clients.md §7.2 dependent_flags", "bob", "activedependents 2", ``, `[]`},
		{"§5.1.3 inactive ones do not hold it", "bob", "change 2", `{"active":false}`, `{"active":false}`},
		{"§5.1.3 inactive ones do not hold it", "bob", "change 3", `{"active":false}`, `{"active":false}`},
		{"§5.1.3 inactive ones do not hold it", "bob", "change 1", `{"active":false}`,
			`400 invalid_input - Cannot disable this feature flag because other flags depend on it: on-4 (ID: 4), on-5 (ID: 5), on-6 (ID: 6), on-7 (ID: 7), on-8 (ID: 8). Please update or disable the dependent flags first.`},
		{"§5.1.3 deleted ones do not hold it", "bob", "change 4", `{"deleted":true}`, `{"deleted":true}`},
		{"§5.1.3 deleted ones do not hold it", "bob", "dependents 1", ``,
			`[{"id":2,"key":"on-2","active":false},{"id":3,"key":"on-3","active":false},{"id":5,"key":"on-5","active":true},{"id":6,"key":"on-6"},{"id":7,"key":"on-7"},{"id":8,"key":"on-8"}]`},
		{"clients.md §7.2 dependent_flags: only active ones", "bob", "activedependents 1", ``,
			`[{"id":5,"key":"on-5","name":"","active":"(absent)"},{"id":6,"key":"on-6"},{"id":7,"key":"on-7"},{"id":8,"key":"on-8"}]`},
		{"§5.1.3 any other change is free", "bob", "change 1", `{"name":"words","filters":{"groups":[]}}`, `{"name":"words"}`},
		{"§5.1.3 the last that needs it", "bob", "change 5", `{"filters":{"groups":[{"properties":[]}]}}`, `{"id":5}`},
		{"§5.1.3 the last that needs it", "bob", "change 6", `{"active":false}`, `{"id":6}`},
		{"§5.1.3 the last that needs it", "bob", "change 7", `{"active":false}`, `{"id":7}`},
		{"§5.1.3 the last that needs it", "bob", "change 8", `{"active":false}`, `{"id":8}`},
		{"§5.1.3 the last that needs it", "bob", "change 1", `{"active":false}`, `{"active":false}`},
		{"§5.1.3 the last that needs it", "bob", "change 1", `{"deleted":true}`, `{"deleted":true,"key":"a"}`},
		{"§5.1.2 what needs a deleted one is not switched on", "bob", "change 8", `{"active":true}`, `400 invalid_input filters Flag dependency references non-existent flag with ID 1`},
		{"§5.1.3 nor brought back", "bob", "change 4", `{"deleted":false}`, `400 invalid_input filters Flag dependency references non-existent flag with ID 1`},
		{"§5.1.3 when it is back, they may", "bob", "change 1", `{"deleted":false,"active":true}`, `{"deleted":false}`},
		{"§5.1.3 when it is back, they may", "bob", "change 4", `{"deleted":false}`, `{"deleted":false,"active":true}`},
		{"§5.1.3 when it is back, they may", "bob", "change 8", `{"active":true}`, `{"active":true}`},
	}...)
}

var deletedRows = []ruletest.Row{
	flagtest.AFlag,
	{"§5.1.3 soft", "bob", "change 1", `{"deleted":true}`, `{"deleted":true,"status":"DELETED","active":true,"version":2}`},
	{"§5.1.3 GET finds it", "bob", "get 1", ``, `{"deleted":true,"key":"a"}`},
	{"§5.1.3 lists do not", "bob", "list", `{}`, `{"count":0,"results":[]}`},
	{"§5.1.3 nor by key", "bob", "id a", ``, `0`},
	{"§5.1.3 its status", "bob", "status 1", ``, `{"status":"deleted","reason":"Flag has been deleted"}`},
	{"§5.1.3 twice", "bob", "change 1", `{"deleted":true}`, `{"deleted":true,"version":3}`},
	{"§5.1.3 it may be changed", "bob", "change 1", `{"name":"words"}`, `{"deleted":true,"name":"words"}`},
	{"§5.1.3 back", "bob", "change 1", `{"deleted":false}`, `{"deleted":false,"key":"a","name":"words","version":5}`},
	{"§5.1.3 back", "bob", "keys", `{}`, `["a"]`},
	{"§5.1.3 a new one is not deleted", "bob", "create", `{"key":"b","deleted":true}`, `{"deleted":false}`},
	{"§5.1.3 its key is another's", "bob", "change 1", `{"deleted":true}`, `{"deleted":true}`},
	{"§5.1.3 its key is another's", "bob", "change 2", `{"key":"a"}`, `{"id":2,"key":"a"}`},
	{"§5.1.3 its key is another's", "bob", "change 1", `{"deleted":false}`, `400 unique key There is already a feature flag with this key.`},
	{"§5.1.3 back under another key", "bob", "change 1", `{"deleted":false,"key":"a2"}`, `{"deleted":false,"key":"a2"}`},
	{"§5.1.3", "bob", "change 1", `{"deleted":true}`, `{"deleted":true}`},
	{"§5.1.3 purged by a new one of its key", "bob", "create", `{"key":"a2"}`, `{"id":3}`},
	{"§5.1.3 purged by a new one of its key", "bob", "get 1", ``, `404 not_found - Not found.`},
	{"§5.1.3 and its versions", "bob", "versions 1", ``, `404 not_found - Not found.`},
	{"§5.1.3 a flag that nobody knows", "bob", "status 1", ``, `{"status":"unknown","reason":"Flag could not be found"}`},
	{"§5.1.3 another project's stays", "dan", "create", `{"key":"a2"}`, `{"id":4}`},
	{"§5.1.3 another project's stays", "dan", "change 4", `{"deleted":true}`, `{"deleted":true}`},
	{"§5.1.3 another project's stays", "bob", "change 3", `{"deleted":true}`, `{"deleted":true}`},
	{"§5.1.3 another project's stays", "bob", "create", `{"key":"a2"}`, `{"id":5}`},
	{"§5.1.3 another project's stays", "dan", "get 4", ``, `{"deleted":true}`},
}

var linkedExperimentRows = []ruletest.Row{
	{"§5.7", "bob", "experiment", `{"name":"E","feature_flag_key":"e"}`, `{"feature_flag":{"id":1}}`},
	{"§5.1.1 experiment_set", "bob", "get 1", ``, `{"experiment_set":[<E>]}`},
	{"§5.1.3 the ids are listed", "bob", "change 1", `{"deleted":true}`,
		`400 invalid_input - Cannot delete a feature flag that is linked to active experiment(s) with ID(s): <E>. Please delete the experiment(s) before deleting the flag.`},
	{"§5.1.3", "bob", "changeexperiment <E>", `{"deleted":true}`, `{"deleted":true}`},
	{"§5.1.1 not deleted ones alone", "bob", "get 1", ``, `{"experiment_set":[],"deleted":false}`},
	{"§5.1.3 only deleted ones hold it", "bob", "change 1", `{"deleted":true}`, `{"deleted":true,"key":"e:deleted:1"}`},
	{"§5.1.3 its key is free", "bob", "create", `{"key":"e"}`, `{"id":2}`},
	{"§5.1.3 but it was not purged", "bob", "get 1", ``, `{"key":"e:deleted:1","deleted":true}`},
	{"clients.md §7.2 restoring: the key is another's", "bob", "change 1", `{"deleted":false}`, `400 unique key There is already a feature flag with this key.`},
	{"clients.md §7.2 restoring: the key is free", "bob", "change 2", `{"key":"e2"}`, `{"key":"e2"}`},
	{"clients.md §7.2 restoring: the key is free", "bob", "change 1", `{"deleted":false}`, `{"key":"e","deleted":false}`},
	{"clients.md §13 another experiment can have it", "bob", "experiment", `{"name":"F","feature_flag_key":"e"}`, `{"feature_flag":{"id":1}}`},
}

const stale = `409 conflict - The feature flag was updated by cyd@example.com since you started editing it. Please refresh and try again.`

// fieldConflictRows: bob has loaded version 1, and cyd has changed every field after that.
var fieldConflictRows = flagtest.Rows(
	[]ruletest.Row{
		{"§5.1.3", "bob", "create", `{"key":"a","name":"one","tags":["x"]}`, `{"version":1}`},
		{"§5.1.3", "cyd", "change 1", `{"key":"b","name":"two","active":false,"tags":["y"],"filters":{"groups":[{"properties":[],"rollout_percentage":20}]}}`, `{"version":2}`},
	},
	flagtest.Each("§5.1.3 a field that both have changed, to other values", "bob", "change 1",
		[2]string{`{"name":"three","version":1,"original_flag":{"name":"one"}}`, stale},
		[2]string{`{"key":"c","version":1,"original_flag":{"key":"a"}}`, stale},
		[2]string{`{"tags":["z"],"version":1,"original_flag":{"tags":["x"]}}`, stale},
		[2]string{`{"filters":{"groups":[{"properties":[],"rollout_percentage":30}]},"version":1,"original_flag":{"filters":{"groups":[{"properties":[],"rollout_percentage":null}]}}}`, stale},
		[2]string{`{"name":"one","key":"c","version":1,"original_flag":{"name":"one","key":"a"}}`, stale},
	),
	[]ruletest.Row{{"§5.1.3 nothing was changed", "bob", "get 1", ``, `{"version":2,"name":"two","key":"b","tags":["y"]}`}},
	flagtest.Each("§5.1.3 no conflict", "bob", "change 1",
		[2]string{`{"name":"two","version":1,"original_flag":{"name":"one"}}`, `{"name":"two"}`},                                    // the same new value
		[2]string{`{"name":"one","rollback_conditions":1,"version":1,"original_flag":{"name":"one"}}`, `{"rollback_conditions":1}`}, // the value that was loaded
		[2]string{`{"name":"four","version":1,"original_flag":{"key":"a"}}`, `{"name":"four"}`},                                     // loaded without the field
		[2]string{`{"name":"five","version":1}`, `{"name":"five"}`},                                                                 // without original_flag
		[2]string{`{"name":"six","version":1,"original_flag":null}`, `{"name":"six"}`},                                              // null
		[2]string{`{"name":"seven","version":-1,"original_flag":{"name":"one"}}`, `{"name":"seven"}`},                               // -1: no check
		[2]string{`{"name":"eight","version":null,"original_flag":{"name":"one"}}`, `{"name":"eight"}`},                             // null: no check
		[2]string{`{"name":"nine","original_flag":{"name":"one"}}`, `{"name":"nine"}`},                                              // absent: no check
		[2]string{`{"name":"ten","version":10,"original_flag":{"name":"one"}}`, `{"name":"ten","version":11}`},                      // the stored version
		[2]string{`{"evaluation_runtime":"server","version":1,"original_flag":{"evaluation_runtime":"all"}}`, `{"version":12}`},     // no other user has changed it
		[2]string{`{"name":"x","version":"one","original_flag":{"name":"one"}}`, `400 invalid_input version A valid integer is required.`},
	),
	[]ruletest.Row{
		{"console.md §2.6 another user deletes it", "cyd", "create", `{"key":"gone","name":"one"}`, `{"id":2,"version":1}`},
		{"console.md §2.6 another user deletes it", "cyd", "change 2", `{"deleted":true}`, `{"version":2}`},
		{"console.md §2.6 an edit of another field would have no effect", "bob", "change 2", `{"name":"two","version":1,"original_flag":{"name":"one","deleted":false}}`,
			`409 conflict - The feature flag was deleted by cyd@example.com since you started editing it.`},
		{"console.md §2.6 loaded as deleted", "bob", "change 2", `{"name":"two","version":1,"original_flag":{"name":"one","deleted":true}}`, `{"name":"two","deleted":true}`},
		{"console.md §2.6 an edit that restores it", "bob", "change 2", `{"name":"three","deleted":false,"version":3,"original_flag":{"name":"two","deleted":false}}`, `{"name":"three","deleted":false,"version":4}`},
	},
	[]ruletest.Row{
		{"§5.1.3 names of cohorts are only shown", "bob", "cohort", `{"name":"n","is_static":true}`, `{"id":1}`},
		{"§5.1.3 names of cohorts are only shown", "bob", "change 1", flagtest.Property(`{"key":"id","type":"cohort","value":1}`), `{"version":13}`},
		{"§5.1.3 names of cohorts are only shown", "cyd", "changecohort 1", `{"name":"m"}`, `{"name":"m"}`},
		{"§5.1.3 names of cohorts are only shown", "cyd", "change 1", `{"name":"eleven"}`, `{"version":14}`},
		{"§5.1.3 names of cohorts are only shown", "bob", "change 1",
			`{"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":1,"cohort_name":"n"}],"rollout_percentage":5}]},"version":13,
			"original_flag":{"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":1,"cohort_name":"n"}]}]}}}`, `{"version":15}`},
	},
)

var versionRows = []ruletest.Row{
	{"§5.1.1 1 at creation", "bob", "create", `{"key":"a","tags":["x"]}`, `{"version":1,"created_at":"2026-01-02T12:00:01Z"}`},
	{"§5.1.1 one more with each change", "cyd", "change 1", `{"name":"two"}`, `{"version":2,"created_at":"2026-01-02T12:00:01Z","updated_at":"2026-01-02T12:00:02Z"}`},
	{"§5.1.1 a version in the body is no version", "cyd", "change 1", `{"version":7,"active":false}`, `{"version":3}`},
	{"decision 27 newest first", "bob", "versions 1", ``, `{"count":3,"results":[
		{"version":3,"created_at":"2026-01-02T12:00:03Z","created_by":{"first_name":"cyd"},"key":"a","name":"two","active":false,"deleted":false,"tags":["x"]},
		{"version":2,"created_by":{"first_name":"cyd"},"name":"two","active":true},
		{"version":1,"created_at":"2026-01-02T12:00:01Z","created_by":{"first_name":"bob"},"name":"","active":true,"filters":{"groups":[{"properties":[]}]}}]}`},
	{"§3 a page", "bob", "versions 1", `{"Limit":1,"Offset":1}`, `{"count":3,"results":[{"version":2}]}`},
	{"§3 beyond the end", "bob", "versions 1", `{"Offset":5}`, `{"count":3,"results":[]}`},
	{"decision 27 of a deleted one", "bob", "change 1", `{"deleted":true}`, `{"version":4}`},
	{"decision 27 of a deleted one", "bob", "versions 1", `{"Limit":1}`, `{"count":4,"results":[{"version":4,"deleted":true}]}`},
	{"decision 27 of none", "bob", "versions 9", ``, `404 not_found - Not found.`},
	{"console.md C4 all settings, to compare", "bob", "create", `{"key":"b"}`, `{"id":2}`},
	{"console.md C4 all settings, to compare", "bob", "change 2", `{"ensure_experience_continuity":true,"evaluation_runtime":"server","bucketing_hash":"murmur3","evaluation_contexts":["web"],"evaluation_contexts_match_mode":"all","is_remote_configuration":true}`, `{"version":2}`},
	{"console.md C4 all settings, to compare", "bob", "change 2", `{"ensure_experience_continuity":false,"bucketing_identifier":"device_id","archived":true}`, `{"version":3}`},
	{"console.md C4 all settings, to compare", "bob", "versions 2", ``, `{"results":[
		{"version":3,"archived":true,"active":false,"ensure_experience_continuity":false,"bucketing_identifier":"device_id"},
		{"version":2,"archived":false,"ensure_experience_continuity":true,"evaluation_runtime":"server","bucketing_hash":"murmur3","evaluation_contexts":["web"],"evaluation_contexts_match_mode":"all","is_remote_configuration":true,"bucketing_identifier":null},
		{"version":1,"ensure_experience_continuity":false,"evaluation_runtime":"all","bucketing_hash":null,"evaluation_contexts":[],"evaluation_contexts_match_mode":"any","is_remote_configuration":false}]}`},
}

var noteRows = []ruletest.Row{
	{"console.md N22", "bob", "create", `{"key":"a","change_note":"first"}`, `{"version":1,"change_note":"(absent)"}`},
	{"console.md N22 at a change", "cyd", "change 1", `{"name":"two","change_note":" why "}`, `{"version":2}`},
	{"console.md N22 each change has its own", "cyd", "change 1", `{"name":"three"}`, `{"version":3}`},
	{"console.md N22 null is none", "cyd", "change 1", `{"name":"four","change_note":null}`, `{"version":4}`},
	{"console.md N22 too long", "cyd", "change 1", `{"change_note":"` + strings.Repeat("é", 501) + `"}`, `400 max_length change_note`},
	{"console.md N22 as long as may be", "cyd", "change 1", `{"change_note":"` + strings.Repeat("é", 500) + `"}`, `{"version":5}`},
	{"console.md N22 it is nothing that conflicts", "bob", "change 1", `{"change_note":"mine","version":1,"original_flag":{"change_note":"theirs","name":"four"}}`, `{"version":6}`},
	{"console.md N22 kept with the version", "bob", "versions 1", `{"Limit":6}`, `{"results":[{"change_note":"mine"},{"change_note":"` + strings.Repeat("é", 500) + `"},{"change_note":""},{"change_note":""},{"change_note":"why"},{"change_note":"first"}]}`},
	{"console.md N22 and in the log", "bob", "log FeatureFlag 1", ``, `{"detail":{"change_note":"mine"}}`},
}

var restoreRows = flagtest.Rows(
	[]ruletest.Row{
		{"§5.1.3", "bob", "create", `{"key":"a","name":"one","tags":["x"],"evaluation_runtime":"server"}`, `{"version":1}`},
		{"§5.1.3", "cyd", "change 1", `{"key":"b","name":"two","active":false,"tags":["y"],"evaluation_runtime":"client","filters":{"groups":[{"properties":[],"rollout_percentage":20}]}}`, `{"version":2}`},
	},
	flagtest.Each("decision 27 restore takes an earlier version", "bob", "restore 1",
		[2]string{`{}`, `400 required version This field is required.`},
		[2]string{`{"version":"one"}`, `400 invalid_input version A valid integer is required.`},
		[2]string{`{"version":null}`, `400 null version This field may not be null.`},
		[2]string{`{"version":0}`, `400 does_not_exist version`},
		[2]string{`{"version":2}`, `400 does_not_exist version`},
		[2]string{`{"version":3}`, `400 does_not_exist version`},
		[2]string{`{"version":-1}`, `400 does_not_exist version`},
	),
	[]ruletest.Row{
		{"decision 27 it becomes the next one", "ann", "restore 1", `{"version":1}`, `{"version":3,"key":"a","name":"one","active":true,"tags":["x"],"evaluation_runtime":"server","rollout_percentage":null,
			"created_by":{"first_name":"bob"},"last_modified_by":{"first_name":"ann"},"created_at":"2026-01-02T12:00:01Z"}`},
		{"decision 27 and the other way", "ann", "restore 1", `{"version":2}`, `{"version":4,"key":"b","name":"two","active":false,"tags":["y"],"rollout_percentage":20}`},
		{"§5.1.2 the key is another's now", "bob", "create", `{"key":"a"}`, `{"id":2}`},
		{"§5.1.2 the key is another's now", "bob", "restore 1", `{"version":1}`, `400 unique key There is already a feature flag with this key.`},
		{"§5.1.2 what it needs is gone", "bob", "create", `{"key":"base"}`, `{"id":3}`},
		{"§5.1.2 what it needs is gone", "bob", "change 2", flagtest.Needs("3"), `{"version":2}`},
		{"§5.1.2 what it needs is gone", "bob", "change 2", flagtest.Groups(`{"properties":[]}`), `{"version":3}`},
		{"§5.1.2 what it needs is gone", "bob", "change 3", `{"deleted":true}`, `{"deleted":true}`},
		{"§5.1.2 what it needs is gone", "bob", "restore 2", `{"version":2}`, `400 invalid_input filters Flag dependency references non-existent flag with ID 3`},
		{"decision 27 what uses it stays as it is", "bob", "feature", `{"name":"F","stage":"beta","feature_flag_id":2}`, `{"name":"F"}`},
		{"decision 27 what uses it stays as it is", "bob", "restore 2", `{"version":3}`, `{"features":[{"id":"<F>","name":"F"}]}`},
		{"§5.1.3 what active flags need is not switched off", "bob", "create", `{"key":"top"}`, `{"id":4}`},
		{"§5.1.3 what active flags need is not switched off", "bob", "change 4", flagtest.Needs("1"), `{"version":2}`},
		{"§5.1.3 what active flags need is not switched off", "bob", "change 1", `{"active":true}`, `{"version":5}`},
		{"§5.1.3 what active flags need is not switched off", "bob", "restore 1", `{"version":4}`, `400 invalid_input - Cannot disable this feature flag because other flags depend on it: top (ID: 4). Please update or disable the dependent flags first.`},
		{"decision 27 a deleted one comes back", "bob", "create", `{"key":"gone"}`, `{"id":5}`},
		{"decision 27 a deleted one comes back", "bob", "change 5", `{"deleted":true}`, `{"version":2}`},
		{"decision 27 a deleted one comes back", "bob", "restore 5", `{"version":1}`, `{"version":3,"deleted":false}`},
		{"decision 27 of none", "bob", "restore 9", `{"version":1}`, `404 not_found - Not found.`},
	},
)

var renameRows = []ruletest.Row{
	flagtest.AFlag,
	{"§5.1.3 the enrolment property follows", "bob", "feature", `{"name":"F","stage":"beta","feature_flag_id":1}`, `{"feature_flag":{"key":"a"}}`},
	{"§5.1.3 the enrolment property follows", "bob", "change 1", `{"key":"b"}`, `{"key":"b","filters":{"super_groups":[{"rollout_percentage":100,"properties":[{"key":"$feature_enrollment/b"}]}]}}`},
	{"§5.1.3 the feature shows it", "bob", "getfeature <F>", ``, `{"feature_flag":{"key":"b"}}`},
	{"§5.1.3 dependants name it by its id", "bob", "create", `{"key":"top"}`, `{"id":2}`},
	{"§5.1.3 dependants name it by its id", "bob", "change 2", flagtest.Needs("1"), `{"id":2}`},
	{"§5.1.3 dependants name it by its id", "bob", "change 1", `{"key":"c"}`, `{"key":"c"}`},
	{"§5.1.3 dependants name it by its id", "bob", "get 2", ``, `{"filters":{"groups":[{"properties":[{"key":"1"}]}]}}`},
	{"§5.7 an experiment shows it", "bob", "experiment", `{"name":"E","feature_flag_key":"e"}`, `{"feature_flag":{"id":3}}`},
	{"§5.7 an experiment shows it", "bob", "change 3", `{"key":"e2"}`, `{"key":"e2"}`},
	{"§5.7 an experiment shows it", "bob", "getexperiment <E>", ``, `{"feature_flag_key":"e2"}`},
	{"§5.1.3 changed variants are the experiment's", "bob", "changeexperiment <E>", `{"parameters":{"feature_flag_variants":[{"key":"control","rollout_percentage":40},{"key":"test","rollout_percentage":60}]}}`, `{"name":"E"}`},
	{"§5.1.3 changed variants are the experiment's", "bob", "change 3", flagtest.Variants(`[{"key":"control","rollout_percentage":10},{"key":"test","rollout_percentage":90}]`), `{"id":3}`},
	{"§5.1.3 changed variants are the experiment's", "bob", "getexperiment <E>", ``, `{"parameters":{"feature_flag_variants":[{"key":"control","rollout_percentage":10},{"key":"test","rollout_percentage":90}]}}`},
}

// More than 30 days are 720 hours. Each row takes a second.
const month = "wait 720h"

const open, always = `{"status":"active","reason":"Flag is not fully rolled out and may still be active"}`, `{"status":"stale","reason":"This boolean flag will always evaluate to \"true\""}`

var staleBooleanRows = flagtest.Rows(
	[]ruletest.Row{
		flagtest.AFlag,
		{"§5.1.3 fully rolled out, but young", "bob", "status 1", ``, open},
		{"§5.1.3 30 days and not a second more", "bob", "wait 719h59m57s", ``, `null`},
		{"§5.1.3 30 days and not a second more", "bob", "status 1", ``, open},
		{"§5.1.3 a second more", "bob", "status 1", ``, always},
		{"§5.1.1 upper case here", "bob", "get 1", ``, `{"status":"STALE"}`},
		{"§5.1.3 the age is that of creation", "bob", "change 1", `{"name":"x"}`, `{"status":"STALE"}`},
		{"§5.1.3 inactive ones are not stale", "bob", "change 1", `{"active":false}`, `{"status":"INACTIVE"}`},
		{"§5.1.3 inactive ones are not stale", "bob", "status 1", ``, `{"status":"inactive"}`},
		{"§5.1.3", "bob", "change 1", `{"active":true}`, `{"status":"STALE"}`},
	},
	staleness(
		[2]string{flagtest.Groups(`{"properties":[],"rollout_percentage":100}`), always},
		[2]string{flagtest.Groups(`{"properties":[],"rollout_percentage":null}`), always},
		[2]string{flagtest.Groups(`{"properties":[],"rollout_percentage":99.9}`), open},
		[2]string{flagtest.Groups(`{"properties":[],"rollout_percentage":0}`), open},
		[2]string{flagtest.Property(`{"key":"a","type":"person","operator":"is_set"}`), open},
		[2]string{flagtest.Groups(`{"properties":[{"key":"a","type":"person","operator":"is_set"}]}`, `{"properties":[],"rollout_percentage":100}`), always},
		[2]string{`{"filters":{"groups":[{"properties":[]}],"super_groups":[{"properties":[{"key":"$feature_enrollment/a","type":"person","operator":"exact","value":["true"]}],"rollout_percentage":100}]}}`, open},
		[2]string{`{"filters":{"groups":[{"properties":[]}],"holdout":{"id":7,"exclusion_percentage":10}}}`, open},
	),
)

// staleness returns rows with a change and the status after it.
func staleness(cases ...[2]string) (out []ruletest.Row) {
	for _, c := range cases {
		out = append(out, ruletest.Row{"§5.1.3 stale", "bob", "change 1", c[0], `{"id":1}`}, ruletest.Row{"§5.1.3 stale", "bob", "status 1", ``, c[1]})
	}
	return out
}

const uses = `{"status":"stale","reason":"This flag will always use the variant \"b\""}`

var staleVariantRows = flagtest.Rows(
	[]ruletest.Row{flagtest.AFlag, {"§5.1.3", "bob", month, ``, `null`}},
	staleness(
		[2]string{flagtest.Variants(`[{"key":"a","rollout_percentage":0},{"key":"b","rollout_percentage":100}]`), uses},
		[2]string{flagtest.Variants(`[{"key":"a","rollout_percentage":50},{"key":"b","rollout_percentage":50}]`), open},
		[2]string{`{"filters":{"groups":[{"properties":[],"variant":"b"}],` + flagtest.AB + `}}`, uses},
		[2]string{`{"filters":{"groups":[{"properties":[],"variant":"b","rollout_percentage":50}],` + flagtest.AB + `}}`, open},
		[2]string{`{"filters":{"groups":[{"properties":[{"key":"a","type":"person","operator":"is_set"}],"variant":"b"}],` + flagtest.AB + `}}`, open},
		[2]string{`{"filters":{"groups":[{"properties":[],"rollout_percentage":50}],"multivariate":{"variants":[{"key":"b","rollout_percentage":100}]}}}`, open},
	),
)

var neverStaleRows = []ruletest.Row{
	flagtest.AFlag,
	{"§5.1.3", "bob", month, ``, `null`},
	{"§5.1.3 STALE", "bob", "keys", `{"Active":"STALE"}`, `["a"]`},
	{"§5.1.3 a young one", "bob", "create", `{"key":"b"}`, `{"status":"ACTIVE"}`},
	{"§5.1.3 STALE", "bob", "keys", `{"Active":"STALE"}`, `["a"]`},
	{"§5.1.3 stale ones are active", "bob", "keys", `{"Active":"true"}`, `["b","a"]`},
	{"§5.1.3", "bob", "change 1", `{"active":false}`, `{"status":"INACTIVE"}`},
	{"§5.1.3 STALE", "bob", "keys", `{"Active":"STALE"}`, `[]`},
}

// §5.1.1 last_called_at, and an additional reason for a flag without calls in 30 days.
func TestFlags_LastCalled(t *testing.T) {
	w := ruletest.New(t, memstore.New(memstore.ExternalData{FlagCalls: map[memstore.Flag][]management.FlagCall{
		{Project: ruletest.Project, Key: "a"}: {
			{Value: "control", Calls: 3, First: ruletest.Start, Last: ruletest.Start.Add(time.Hour)},
			{Value: "test", Calls: 4, First: ruletest.Start, Last: ruletest.Start.Add(2 * time.Hour)},
		},
		{Project: ruletest.TheirProject, Key: "a"}: {{Value: "true", Calls: 1, Last: ruletest.Start.Add(9 * time.Hour)}},
	}}))
	w.Run(t, flagtest.RoomCalls(t, w), []ruletest.Row{
		{"§5.1.1 the latest of all values", "bob", "create", `{"key":"a"}`, `{"last_called_at":"2026-01-02T14:00:00Z"}`},
		{"§5.1.1 never", "bob", "create", `{"key":"b"}`, `{"last_called_at":null}`},
		{"§5.1.3", "bob", "status 1", ``, `{"status":"active","last_called_at":"2026-01-02T14:00:00Z","reasons":[{"type":"recently_created"}]}`},
		{"§5.1.3 30 days later", "bob", "wait 723h", ``, `null`},
		{"§5.1.3 30 days later", "bob", "status 1", ``, `{"status":"stale","reasons":[{"type":"always_the_same","value":true},{"type":"not_called"}]}`},
		{"§5.1.3 one that was never called", "bob", "status 2", ``, `{"last_called_at":null,"reasons":[{"type":"always_the_same"}]}`},
		{"§5.1.3 a new key is another flag to SDKs", "bob", "change 1", `{"key":"c"}`, `{"last_called_at":null}`},
	})
}

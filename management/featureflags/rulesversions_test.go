package featureflags_test

import (
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

// Versions of flags, and the fields that a restore does not change (decision 27, clients.md §7.2,
// console.md N22, N23).
func TestFlags_Versions(t *testing.T) {
	askFlags(t, map[string][]ruletest.Row{
		"one version": oneVersionRows, "what no version has": unversionedRows, "restored": restoredMoreRows, "restored notes": restoreNoteRows, "restored rules": restoreRuleRows,
	})
}

var oneVersionRows = []ruletest.Row{
	{"console.md N23", "bob", "create", `{"key":"a","name":"one","tags":["x"],"change_note":"first"}`, `{"version":1}`},
	{"console.md N23", "cyd", "change 1", `{"key":"b","name":"two","active":false,"tags":[],"filters":{"groups":[{"rollout_percentage":20}]}}`, `{"version":2}`},
	{"console.md N23 the record as of then", "ann", "version 1 1", ``, `{"version":1,"created_at":"2026-01-02T12:00:01Z","created_by":{"first_name":"bob"},"key":"a","name":"one","active":true,"deleted":false,"tags":["x"],"change_note":"first","filters":{"groups":[{"properties":[],"rollout_percentage":null}]}}`},
	{"console.md N23 the present one", "ann", "version 1 2", ``, `{"version":2,"created_at":"2026-01-02T12:00:02Z","created_by":{"first_name":"cyd"},"key":"b","name":"two","active":false,"tags":[],"change_note":"","filters":{"groups":[{"rollout_percentage":20}]}}`},
	{"console.md N23 404 when unknown", "ann", "version 1 0", ``, `404 not_found - Not found.`},
	{"console.md N23 404 when unknown", "ann", "version 1 3", ``, `404 not_found - Not found.`},
	{"console.md N23 404 when unknown", "ann", "version 1 -1", ``, `404 not_found - Not found.`},
	{"§1.5 another project's", "dan", "version 1 1", ``, `404 not_found - Not found.`},
	{"§1.5 no flag", "ann", "version 9 1", ``, `404 not_found - Not found.`},
	{"§5.1.3 of a deleted one", "bob", "change 1", `{"deleted":true}`, `{"version":3}`},
	{"§5.1.3 of a deleted one", "ann", "version 1 3", ``, `{"deleted":true}`},
	{"§5.1.3 purged with its key", "bob", "create", `{"key":"b"}`, `{"id":2}`},
	{"§5.1.3 purged with its key", "ann", "version 1 1", ``, `404 not_found - Not found.`},
}

// Changes of links, dashboards and pins create no version, and do not change stored versions.
var unversionedRows = []ruletest.Row{
	{"§5.1.1", "bob", "create", `{"key":"a","change_note":"why"}`, `{"version":1}`},
	{"§5.6 a linked survey", "cyd", "survey", `{"name":"S","type":"popover","linked_flag_id":1}`, `{"name":"S"}`},
	{"§5.6 a linked survey", "bob", "get 1", ``, `{"version":1,"surveys":[{"name":"S"}],"last_modified_by":{"first_name":"bob"}}`},
	{"console.md N11 a pin", "cyd", "pin 1", `{"distinct_id":"x","value":true}`, `{"id":1}`},
	{"console.md N22 the note stays", "bob", "versions 1", ``, `{"count":1,"results":[{"version":1,"change_note":"why","created_by":{"first_name":"bob"}}]}`},
	{"§5.6 the survey is deleted", "bob", "dropsurvey <S>", ``, `null`},
	{"§5.6 the survey is deleted", "bob", "get 1", ``, `{"version":1,"surveys":[]}`},
	{"console.md N22 the note stays", "bob", "version 1 1", ``, `{"change_note":"why"}`},
}

var restoredMoreRows = []ruletest.Row{
	{"decision 27", "bob", "create", `{"key":"a","analytics_dashboards":[1],"ensure_experience_continuity":true,"rollback_conditions":[1],"evaluation_contexts":["web"],"creation_context":"web_experiments"}`, `{"version":1}`},
	{"decision 27", "cyd", "change 1", `{"analytics_dashboards":[],"ensure_experience_continuity":false,"rollback_conditions":null,"evaluation_contexts":[],"bucketing_hash":"murmur3","is_remote_configuration":true}`, `{"version":2}`},
	{"decision 27", "bob", "survey", `{"name":"S","type":"popover","linked_flag_id":1}`, `{"name":"S"}`},
	{"decision 27", "bob", "pin 1", `{"distinct_id":"x","value":true}`, `{"id":1}`},
	{"decision 27", "bob", "dashboard 1", ``, `{"success":true}`},
	{"decision 27 the contents of the version", "ann", "restore 1", `{"version":1}`, `{"version":3,"analytics_dashboards":[1],"ensure_experience_continuity":true,"rollback_conditions":[1],"evaluation_contexts":["web"],"bucketing_hash":null,"is_remote_configuration":false}`},
	{"decision 27 what uses it, and its creation, are those of now", "bob", "get 1", ``, `{"surveys":[{"name":"S"}],"usage_dashboard":2,"created_by":{"first_name":"bob"},"created_at":"2026-01-02T12:00:01Z","updated_at":"2026-01-02T12:00:06Z","last_modified_by":{"first_name":"ann"}}`},
	{"console.md N11 pins too", "bob", "pins 1", ``, `{"count":1}`},
	{"decision 27 back and forth", "ann", "restore 1", `{"version":2}`, `{"version":4,"analytics_dashboards":[],"bucketing_hash":"murmur3","evaluation_contexts":[]}`},
	{"decision 27 the versions are all there", "bob", "versions 1", ``, `{"count":4,"results":[{"version":4,"created_by":{"first_name":"ann"}},{"version":3},{"version":2,"created_by":{"first_name":"cyd"}},{"version":1}]}`},
	{"decision 27 one in which it was deleted", "bob", "change 1", `{"deleted":true}`, `{"version":5}`},
	{"decision 27 one in which it was deleted", "bob", "change 1", `{"deleted":false}`, `{"version":6}`},
	{"decision 27 one in which it was deleted", "bob", "restore 1", `{"version":5}`, `{"version":7,"deleted":true}`},
	{"§5.11 the log", "ann", "log FeatureFlag 1", ``, `{"activity":"restored","detail":{"changes":[{"field":"deleted","after":true}]}}`},
}

var restoreNoteRows = []ruletest.Row{
	{"console.md N22", "bob", "create", `{"key":"a","name":"one","change_note":"first"}`, `{"version":1}`},
	{"console.md N22", "bob", "change 1", `{"name":"two","change_note":"second"}`, `{"version":2}`},
	{"console.md N22 too long", "bob", "restore 1", `{"version":1,"change_note":"` + strings.Repeat("é", 501) + `"}`, `400 max_length change_note`},
	{"console.md N22 too long: nothing was restored", "bob", "get 1", ``, `{"version":2}`},
	{"console.md N22 a restore has a note", "cyd", "restore 1", `{"version":1,"change_note":" the second was wrong "}`, `{"version":3,"name":"one"}`},
	{"console.md N22 kept with the version", "bob", "version 1 3", ``, `{"change_note":"the second was wrong"}`},
	{"console.md N22 and the activity", "ann", "log FeatureFlag 1", ``, `{"activity":"restored","user":{"first_name":"cyd"},"detail":{"change_note":"the second was wrong"}}`},
	{"console.md N22 without one it has none, not the old one", "cyd", "restore 1", `{"version":2}`, `{"version":4}`},
	{"console.md N22 without one it has none, not the old one", "bob", "version 1 4", ``, `{"change_note":""}`},
	{"console.md N22 a note alone is a change in the log", "cyd", "change 1", `{"change_note":"only words"}`, `{"version":5}`},
	{"console.md N22 a note alone is a change in the log", "ann", "log FeatureFlag 1", ``, `{"activity":"updated","detail":{"change_note":"only words","changes":[]}}`},
}

// A restored version is checked like a change: by the definitions of now.
var restoreRuleRows = []ruletest.Row{
	{"§5.1.2", "bob", "cohort", `{"name":"n","is_static":true}`, `{"id":1}`},
	{"§5.1.2", "bob", "create", `{"key":"a","filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":1}]}]}}`, `{"version":1}`},
	{"§5.1.2", "bob", "change 1", flagtest.Groups(`{}`), `{"version":2}`},
	{"§5.1.2", "bob", "changecohort 1", `{"deleted":true}`, `{"deleted":true}`},
	{"§5.1.2 its cohort is gone", "bob", "restore 1", `{"version":1}`, `400 cohort_does_not_exist filters Cohort with id 1 does not exist`},
	{"§5.5 an early access feature", "bob", "create", `{"key":"b","filters":{"aggregation_group_type_index":0,"groups":[{}]}}`, `{"id":2}`},
	{"§5.5 an early access feature", "bob", "change 2", `{"filters":{"groups":[{}]}}`, `{"version":2}`},
	{"§5.5 an early access feature", "bob", "feature", `{"name":"F","stage":"beta","feature_flag_id":2}`, `{"name":"F"}`},
	{"§5.1.2 which cannot use groups", "bob", "restore 2", `{"version":1}`, `400 invalid_input filters Cannot change this flag to a group-based when linked to an Early Access Feature.`},
	{"§5.1.2 circles", "bob", "create", `{"key":"c"}`, `{"id":3}`},
	{"§5.1.2 circles", "bob", "create", `{"key":"d"}`, `{"id":4}`},
	{"§5.1.2 circles", "bob", "change 3", flagtest.Needs("4"), `{"version":2}`},
	{"§5.1.2 circles", "bob", "change 3", flagtest.Groups(`{}`), `{"version":3}`},
	{"§5.1.2 circles", "bob", "change 4", flagtest.Needs("3"), `{"version":2}`},
	{"§5.1.2 circles", "bob", "restore 3", `{"version":2}`, `400 invalid_input filters Circular dependency detected: c → d → c`},
	{"§5.1.2 a refusal changes nothing", "bob", "versions 3", ``, `{"count":3}`},
	{"§5.1.3 another's key", "bob", "change 4", `{"key":"d2"}`, `{"version":3}`},
	{"§5.1.3 a new key takes its references along", "bob", "get 4", ``, `{"filters":{"groups":[{"properties":[{"key":"3"}]}]}}`},
	{"§5.1.3 the old key is free again", "bob", "restore 4", `{"version":1}`, `{"key":"d","version":4}`},
}

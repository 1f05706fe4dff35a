package featureflags_test

import (
	"testing"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/internal/storage"
	"github.com/bunting-flags/bunting/management/rooms"
)

func TestFlagsAsCode(t *testing.T) {
	flagtest.Ask(t, map[string][]ruletest.Row{
		"exports": exportRows, "round trip": roundTripRows, "bad documents": badDocumentRows, "bad flags": badFlagRows, "what it does": applyRows,
		"order means nothing": documentOrderRows, "references": referenceRows, "prune": pruneRows, "plans": planRows, "members": documentMemberRows,
		"groups and settings": settingsRows, "versions and log": documentLogRows, "all or none": atomicRows, "cohorts": documentCohortRows,
	})
}

const (
	simple  = `{"key":"simple","active":true,"filters":{"groups":[{"properties":[],"rollout_percentage":100}]}}`
	payer   = `{"name":"Payers","is_static":false,"filters":{"properties":{"type":"AND","values":[` + flagtest.Plan + `]}}}`
	payers  = `{"key":"for-payers","active":true,"filters":{"groups":[{"properties":[{"key":"name","type":"cohort","value":"Payers"}]}]}}`
	onBase  = `{"key":"upper","active":true,"filters":{"groups":[{"properties":[{"key":"base","type":"flag","operator":"flag_evaluates_to","value":true}]}]}}`
	base    = `{"key":"base","active":true,"filters":{"groups":[{"properties":[]}]}}`
	byBases = `{"key":"base","active":true,"filters":{"groups":[{"properties":[{"key":"upper","type":"flag","operator":"flag_evaluates_to","value":true}]}]}}`
)

var exportRows = []ruletest.Row{
	{"decision 27 nothing", "bob", "export", ``, `{"flags":[],"cohorts":[]}`},
	{"decision 27", "bob", "cohort", `{"name":"Payers","description":"who pay","filters":{"properties":{"type":"AND","values":[` + flagtest.Plan + `]}}}`, `{"id":1}`},
	{"decision 27", "bob", "cohort", `{"name":"In Payers","filters":{"properties":{"type":"AND","values":[{"type":"cohort","key":"id","value":1}]}}}`, `{"id":2}`},
	{"decision 27", "bob", "create", `{"key":"zebra","name":"Z","tags":["b","a"],"evaluation_runtime":"server","filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":1}]}],` + flagtest.AB + `,"payloads":{"a":"1"}}}`, `{"id":1}`},
	{"decision 27", "bob", "create", `{"key":"ant","active":false,"filters":{"groups":[{"properties":[{"key":"1","type":"flag","operator":"flag_evaluates_to","value":"a"}]}]}}`, `{"id":2}`},
	{"decision 27 by key and name, sorted, without ids, versions or times", "bob", "export", ``, `{"cohorts":[
		{"name":"In Payers","filters":{"properties":{"type":"AND","values":[{"type":"cohort","key":"name","value":"Payers"}]}},"id":"(absent)","team_id":"(absent)","created_at":"(absent)","count":"(absent)"},
		{"name":"Payers","description":"who pay","is_static":false,"filters":{"properties":{"type":"AND","values":[` + flagtest.Plan + `]}}}],
		"flags":[
		{"key":"ant","active":false,"filters":{"groups":[{"properties":[{"key":"zebra","type":"flag","value":"a"}]}]}},
		{"key":"zebra","name":"Z","active":true,"tags":["a","b"],"evaluation_runtime":"server","filters":{"groups":[{"properties":[{"key":"name","type":"cohort","value":"Payers","cohort_name":"(absent)"}]}],` + flagtest.AB + `,"payloads":{"a":"1"}},
		"id":"(absent)","team_id":"(absent)","version":"(absent)","created_at":"(absent)","updated_at":"(absent)","deleted":"(absent)","created_by":"(absent)"}],
		"group_type_mapping":{"0":"company","1":"team"}}`},
	{"decision 27 deleted ones are left out", "bob", "change 2", `{"deleted":true}`, `{"deleted":true}`},
	{"§5.6 and those of surveys", "bob", "survey", `{"name":"S","type":"popover"}`, `{"name":"S"}`},
	{"decision 27", "bob", "export", ``, `{"flags":[{"key":"zebra"}]}`},
	{"decision 27 another project's own", "dan", "export", ``, `{"flags":[],"cohorts":[],"group_type_mapping":"(absent)"}`},
	{"decision 27 a cohort without a name gets one", "dan", "cohort", `{"name":""}`, `{"id":3}`},
	{"decision 27 two of one name are told apart", "dan", "cohort", `{"name":"Same","is_static":true}`, `{"id":4}`},
	{"decision 27 two of one name are told apart", "dan", "cohort", `{"name":"Same","is_static":true}`, `{"id":5}`},
	{"decision 27 the oldest keeps its name", "dan", "export", ``, `{"cohorts":[{"name":"Cohort 3"},{"name":"Same"},{"name":"Same (5)"}]}`},
}

const fullDocument = `{"cohorts":[{"name":"Payers","description":"","is_static":false,"query":null,"filters":{"properties":{"type":"AND","values":[{"key":"plan","type":"person","operator":"exact","value":"pro"}]}}}],
	"flags":[{"key":"for-payers","active":true,"filters":{"groups":[{"properties":[{"key":"name","type":"cohort","value":"Payers"}]}]}}]}`

var roundTripRows = []ruletest.Row{
	{"decision 27 the import", "bob", "apply", fullDocument, `{"unchanged":0,"changes":[{"kind":"cohort","name":"Payers","action":"create"},{"kind":"flag","name":"for-payers","action":"create"}]}`},
	{"decision 27 what was made", "bob", "get 1", ``, `{"key":"for-payers","version":1,"created_by":{"first_name":"bob"},"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":1,"cohort_name":"Payers"}]}]}}`},
	{"decision 27 again: nothing", "bob", "apply", fullDocument, `{"changes":[],"unchanged":2}`},
	{"decision 27 nor a version more", "bob", "get 1", ``, `{"version":1}`},
	{"decision 27 in another project", "dan", "apply", fullDocument, `{"changes":[{"action":"create"},{"action":"create"}],"warnings":"(absent)"}`},
	{"decision 27 with ids of its own", "dan", "get 2", ``, `{"key":"for-payers","filters":{"groups":[{"properties":[{"value":2,"cohort_name":"Payers"}]}]}}`},
}

var badDocumentRows = flagtest.Rows(
	flagtest.Each("decision 27 a document", "bob", "apply",
		[2]string{`{}`, `400 required flags This field is required.`},
		[2]string{`{"flags":{}}`, `400 not_a_list flags Expected a list of items but got type "dict".`},
		[2]string{`{"flags":["a"]}`, `400 not_a_dict flags__0 Expected a dictionary of items but got type "str".`},
		[2]string{`{"flags":[],"cohorts":[7]}`, `400 not_a_dict cohorts__0 Expected a dictionary of items but got type "int".`},
		[2]string{`[]`, `400 invalid_input - Invalid data. Expected a dictionary, but got list.`},
		[2]string{`{"flags":[],"group_type_mapping":[]}`, `400 not_a_dict group_type_mapping Expected a dictionary of items but got type "list".`},
		[2]string{`{"flags":[],"group_type_mapping":{"zero":"company"}}`, `400 invalid_input group_type_mapping`},
		[2]string{`{"flags":[{"filters":{"groups":[]}}]}`, `400 invalid_input flags__0__key`},
		[2]string{`{"flags":[` + simple + `,{"key":"","filters":{"groups":[]}}]}`, `400 invalid_input flags__1__key`},
		[2]string{`{"flags":[` + simple + `,` + simple + `]}`, `400 invalid_input flags__1__key`},
		[2]string{`{"flags":[],"cohorts":[{"filters":null}]}`, `400 invalid_input cohorts__0__name`},
		[2]string{`{"flags":[],"cohorts":[` + payer + `,` + payer + `]}`, `400 invalid_input cohorts__1__name`},
		[2]string{`{"flags":[]}`, `{"changes":[],"unchanged":0}`},
	),
)

// badFlagRows prove that an error names the flag or cohort at fault.
var badFlagRows = flagtest.Rows(
	flagtest.Each("§5.1.2 the rules of flags", "bob", "apply",
		[2]string{flagtest.Document(`{"key":"a b","filters":{"groups":[]}}`, ``), `400 invalid_key key flag "a b": Only letters, numbers, hyphens (-) & underscores (_) are allowed.`},
		[2]string{flagtest.Document(`{"key":"a"}`, ``), `400 required filters flag "a": This field is required.`},
		[2]string{flagtest.Document(`{"key":"a","filters":{"groups":[{"rollout_percentage":101}]}}`, ``), `400 invalid_input filters flag "a":`},
		[2]string{flagtest.Document(`{"key":"a","tags":"x","filters":{"groups":[]}}`, ``), `400 invalid_input tags flag "a":`},
		[2]string{flagtest.Document(simple+`,{"key":"a","filters":{"groups":[{"properties":[{"key":"x","type":"event","value":1}]}]}}`, ``), `400 invalid_input filters flag "a": Filters are not valid (can only use person, cohort, and flag properties)`},
		[2]string{flagtest.Document(`{"key":"a","filters":{"groups":[{"properties":[],"rolout_percentage":1}]}}`, ``), `400 unknown_key * flag "a":`},
		[2]string{flagtest.Document(`{"key":"a","filters":{"groups":[{"properties":[{"key":"p","type":"person","operator":"is_date_before","value":"soon"}]}]}}`, ``), `400 invalid_date filters flag "a": Invalid date value: soon`},
		[2]string{flagtest.Document(``, `{"name":"C","filters":{}}`), `400 invalid_input filters__detail cohort "C": Must contain a 'properties' key with type and values`},
		[2]string{flagtest.Document(``, `{"name":"C","filters":{"properties":{"type":"AND","values":[{"type":"person","key":"plan"}]}}}`), `400 invalid_input filters cohort "C": Missing required keys for person filter: value`},
		[2]string{flagtest.Document(``, `{"name":"C","description":`+flagtest.Text(1001)+`}`), `400 max_length description cohort "C":`},
	),
	[]ruletest.Row{{"decision 27 nothing of them stays", "bob", "export", ``, `{"flags":[],"cohorts":[]}`}},
)

var applyRows = []ruletest.Row{
	{"decision 27", "bob", "create", `{"key":"simple","name":"by hand","tags":["x"],"evaluation_runtime":"server","active":false}`, `{"id":1}`},
	{"decision 27", "bob", "create", `{"key":"other"}`, `{"id":2}`},
	{"decision 27 what is named becomes what the document says", "cyd", "apply", flagtest.Document(simple, ``), `{"changes":[{"kind":"flag","name":"simple","action":"update","changes":[
		{"field":"active","before":false,"after":true},{"field":"evaluation_runtime","before":"server","after":"all"},{"field":"filters"},
		{"field":"name","action":"deleted","before":"by hand"},{"field":"tags","action":"deleted","before":["x"]}]}],"unchanged":0}`},
	{"decision 27 what it does not name is what it is by default", "bob", "get 1", ``, `{"active":true,"name":"","tags":[],"evaluation_runtime":"all","rollout_percentage":100,"version":2,"created_by":{"first_name":"bob"},"last_modified_by":{"first_name":"cyd"}}`},
	{"decision 27 what it does not have stays", "bob", "get 2", ``, `{"deleted":false,"version":1}`},
	{"decision 27 warnings", "bob", "apply", flagtest.Document(`{"key":"simple","active":true,"our_note":"x","filters":{"groups":[{"properties":[],"rollout_percentage":100}]}}`, ``), `{"warnings":["(like) ^flag \"simple\": our_note"]}`},
	{"decision 27 ids, versions and times are not read", "bob", "apply", flagtest.Document(`{"id":77,"version":9,"team_id":5,"created_at":"2000-01-01T00:00:00Z","key":"fresh","active":true,"filters":{"groups":[]}}`, ``), `{"changes":[{"name":"fresh","action":"create"}]}`},
	{"decision 27 ids, versions and times are not read", "bob", "get 3", ``, `{"key":"fresh","version":1,"created_at":"2026-01-02T12:00:07Z"}`},
	{"flags.md §1.1 active: false unless it says", "bob", "apply", flagtest.Document(`{"key":"quiet","filters":{"groups":[]}}`, ``), `{"changes":[{"name":"quiet"}]}`},
	{"flags.md §1.1 active: false unless it says", "bob", "get 4", ``, `{"key":"quiet","active":false}`},
	{"§5.1.3 a deleted flag of the key is purged", "bob", "change 2", `{"deleted":true}`, `{"deleted":true}`},
	{"§5.1.3 a deleted flag of the key is purged", "bob", "apply", flagtest.Document(`{"key":"other","filters":{"groups":[]}}`, ``), `{"changes":[{"name":"other","action":"create"}]}`},
	{"§5.1.3 a deleted flag of the key is purged", "bob", "get 2", ``, `404 not_found - Not found.`},
}

var documentOrderRows = []ruletest.Row{
	{"decision 27 a flag before the one that it needs, and before its cohort", "bob", "apply", flagtest.Document(onBase+`,`+base+`,`+payers, payer), `{"changes":[
		{"kind":"cohort","name":"Payers"},{"kind":"flag","name":"base"},{"kind":"flag","name":"for-payers"},{"kind":"flag","name":"upper"}]}`},
	{"decision 27 both are there", "bob", "export", ``, `{"flags":[{"key":"base"},{"key":"for-payers"},{"key":"upper","filters":{"groups":[{"properties":[{"key":"base"}]}]}}]}`},
	{"decision 27 turned round in one document", "bob", "apply", flagtest.Document(byBases+`,{"key":"upper","active":true,"filters":{"groups":[]}}`, ``), `{"changes":[{"name":"base","action":"update"},{"name":"upper","action":"update"}]}`},
	{"§5.1.2 but no circle", "bob", "apply", flagtest.Document(onBase, ``), `400 invalid_input filters flag "upper": Circular dependency detected: upper → base → upper`},
	{"§5.1.2 nor in a document", "dan", "apply", flagtest.Document(onBase+`,`+byBases, ``), `400 invalid_input filters`},
	{"decision 27 switched off with what needs it", "bob", "apply", flagtest.Document(`{"key":"upper","active":false,"filters":{"groups":[]}},{"key":"base","active":false,"filters":{"groups":[{"properties":[{"key":"upper","type":"flag","operator":"flag_evaluates_to","value":true}]}]}}`, ``),
		`{"changes":[{"name":"base"},{"name":"upper"}]}`},
}

var referenceRows = []ruletest.Row{
	{"decision 27", "bob", "apply", flagtest.Document(base, payer), `{"changes":[{"name":"Payers"},{"name":"base"}]}`},
	{"decision 27 of what is in the project", "bob", "apply", flagtest.Document(onBase+`,`+payers, ``), `{"changes":[{"name":"for-payers"},{"name":"upper"}]}`},
	{"decision 27 of a flag that is nowhere", "bob", "apply", flagtest.Document(`{"key":"x","filters":{"groups":[{"properties":[{"key":"nope","type":"flag","operator":"flag_evaluates_to","value":true}]}]}}`, ``), `400 invalid_input filters flag "x": There is no flag "nope".`},
	{"decision 27 of a cohort that is nowhere", "bob", "apply", flagtest.Document(`{"key":"x","filters":{"groups":[{"properties":[{"key":"name","type":"cohort","value":"Nobody"}]}]}}`, ``), `400 invalid_input filters flag "x": There is no cohort "Nobody".`},
	{"decision 27 of a cohort in a cohort", "bob", "apply", flagtest.Document(``, `{"name":"C","filters":{"properties":{"type":"AND","values":[{"type":"cohort","key":"name","value":"Nobody"}]}}}`), `400 invalid_input filters cohort "C": There is no cohort "Nobody".`},
	{"§5.1.2 behavioural", "bob", "apply", flagtest.Document(`{"key":"x","filters":{"groups":[{"properties":[{"key":"name","type":"cohort","value":"Did"}]}]}}`, `{"name":"Did","filters":{"properties":{"type":"AND","values":[`+flagtest.Performed+`]}}}`),
		`400 behavioral_cohort_found filters flag "x": Cohort 'Did' with filters on events cannot be used in feature flags.`},
	{"§5.2 a loop", "bob", "apply", flagtest.Document(``, `{"name":"A","filters":{"properties":{"type":"AND","values":[{"type":"cohort","key":"name","value":"B"}]}}},{"name":"B","filters":{"properties":{"type":"AND","values":[{"type":"cohort","key":"name","value":"A"}]}}}`),
		`400 invalid_input filters cohort`},
	{"decision 27 a survey's flag is nobody's to write", "bob", "survey", `{"name":"S","type":"popover"}`, `{"internal_targeting_flag":{"id":4}}`},
	{"decision 27 its export leaves out what is gone", "bob", "change 3", `{"filters":{"groups":[]}}`, `{"id":3}`},
}

var pruneRows = []ruletest.Row{
	{"decision 27", "bob", "apply", flagtest.Document(simple+`,`+onBase+`,`+base+`,`+payers, payer), `{"unchanged":0}`},
	{"decision 27 a plan of it", "bob", "planprune", flagtest.Document(simple, ``), `{"changes":[{"name":"base","action":"delete"},{"name":"for-payers","action":"delete"},{"name":"upper","action":"delete"}],"unchanged":1}`},
	{"decision 27 nothing was done", "bob", "keys", `{"Order":"key"}`, `["base","for-payers","simple","upper"]`},
	{"§5.1.3 what the others need stays", "bob", "applyprune", flagtest.Document(simple+`,`+onBase, ``), `400 invalid_input * flag`},
	{"decision 27 without prune nothing goes", "bob", "apply", flagtest.Document(simple, ``), `{"changes":[],"unchanged":1}`},
	{"decision 27 flags go, cohorts stay", "bob", "applyprune", flagtest.Document(simple, ``), `{"changes":[{"name":"base","action":"delete"},{"name":"for-payers","action":"delete"},{"name":"upper","action":"delete"}]}`},
	{"decision 27 flags go, cohorts stay", "bob", "export", ``, `{"flags":[{"key":"simple"}],"cohorts":[{"name":"Payers"}]}`},
	{"§5.1.3 softly", "bob", "log FeatureFlag", ``, `{"activity":"deleted","user":{"first_name":"bob"}}`},
	{"§5.1.3 what a feature uses stays", "bob", "feature", `{"name":"F","stage":"beta"}`, `{"feature_flag":{"key":"f"}}`},
	{"§5.1.3 what a feature uses stays", "bob", "applyprune", flagtest.Document(simple, ``), `400 invalid_input - flag "f":`},
	{"§5.6 flags of surveys are not touched", "bob", "survey", `{"name":"S","type":"popover"}`, `{"internal_targeting_flag":{"id":6}}`},
	{"§5.6 flags of surveys are not touched", "bob", "dropfeature <F>", ``, `null`},
	{"§5.6 flags of surveys are not touched", "bob", "applyprune", flagtest.Document(``, ``), `{"changes":[{"name":"f","action":"delete"},{"name":"simple","action":"delete"}]}`},
	{"§5.6 flags of surveys are not touched", "bob", "get 6", ``, `{"deleted":false}`},
}

// planRows assume that una and vic have the plan pro, and that the project has four persons.
var planRows = []ruletest.Row{
	{"decision 27 for all four", "bob", "plan", flagtest.Document(simple, ``), `{"changes":[{"kind":"flag","name":"simple","action":"create","people":{"changed":4,"counted":4,"of":4,"sample":false}}]}`},
	{"decision 27 nothing was done", "bob", "keys", ``, `[]`},
	{"decision 27 for two", "bob", "plan", flagtest.Document(payers, payer), `{"changes":[{"kind":"cohort","people":"(absent)"},{"name":"for-payers","people":{"changed":2,"counted":4}}]}`},
	{"decision 27", "bob", "apply", flagtest.Document(payers+`,`+simple, payer), `{"unchanged":0}`},
	{"decision 27 nothing to do", "bob", "plan", flagtest.Document(payers+`,`+simple, payer), `{"changes":[],"unchanged":3}`},
	{"decision 27 from pro to all: the others", "bob", "plan", flagtest.Document(`{"key":"for-payers","active":true,"filters":{"groups":[{"properties":[]}]}}`, ``), `{"changes":[{"name":"for-payers","action":"update","people":{"changed":2}}]}`},
	{"decision 27 switched off: those that had it", "bob", "plan", flagtest.Document(`{"key":"for-payers","active":false,"filters":{"groups":[{"properties":[]}]}}`, ``), `{"changes":[{"people":{"changed":2}}]}`},
	{"decision 27 another word for the same: nobody", "bob", "plan", flagtest.Document(`{"key":"simple","active":true,"name":"words","filters":{"groups":[{"properties":[],"rollout_percentage":100}]}}`, ``), `{"changes":[{"people":{"changed":0}}]}`},
	{"decision 27 a variant is another value", "bob", "plan", flagtest.Document(`{"key":"simple","active":true,"filters":{"groups":[{"properties":[]}],"multivariate":{"variants":[{"key":"a","rollout_percentage":100}]}}}`, ``), `{"changes":[{"people":{"changed":4}}]}`},
	{"decision 27 pruned: those that had it", "bob", "planprune", flagtest.Document(payers, payer), `{"changes":[{"name":"simple","action":"delete","people":{"changed":4}}]}`},
	{"decision 27 a changed cohort is counted at its flags alone", "bob", "plan", flagtest.Document(``, `{"name":"Payers","filters":{"properties":{"type":"OR","values":[]}}}`), `{"changes":[{"kind":"cohort","action":"update","people":"(absent)"}]}`},
	{"§5.1.2 a bad one", "bob", "plan", flagtest.Document(`{"key":"a b","filters":{"groups":[]}}`, ``), `400 invalid_key key flag "a b":`},
	{"decision 27 a project of nobody", "dan", "plan", flagtest.Document(simple, ``), `{"changes":[{"people":{"changed":0,"counted":0,"of":0}}]}`},
}

var documentMemberRows = []ruletest.Row{
	{"decision 27", "bob", "apply", flagtest.Document(``, `{"name":"Listed","is_static":true,"members":["vic","later"]}`), `{"changes":[{"kind":"cohort","name":"Listed","action":"create"}]}`},
	{"decision 27 all distinct ids of each person", "bob", "export", ``, `{"cohorts":[{"name":"Listed","is_static":true,"members":["later","vic","vic2"]}]}`},
	{"decision 27 persons are counted", "bob", "getcohort 1", ``, `{"count":2,"is_static":true}`},
	{"decision 27 another id of the same person is no change", "bob", "apply", flagtest.Document(``, `{"name":"Listed","is_static":true,"members":["vic2","later"]}`), `{"changes":[],"unchanged":1}`},
	{"decision 27 without a list it says nothing of them", "bob", "apply", flagtest.Document(``, `{"name":"Listed","is_static":true}`), `{"changes":[],"unchanged":1}`},
	{"decision 27 some come, some go", "bob", "apply", flagtest.Document(``, `{"name":"Listed","is_static":true,"members":["una","later"]}`), `{"changes":[{"name":"Listed","action":"update","changes":[{"field":"members","before":["later","vic","vic2"],"after":["later","una"]}]}]}`},
	{"decision 27 some come, some go", "bob", "persons 1 10", ``, `{"UUIDs":["` + flagtest.Una + `"]}`},
	{"decision 27 none", "bob", "apply", flagtest.Document(``, `{"name":"Listed","is_static":true,"members":[]}`), `{"changes":[{"name":"Listed"}]}`},
	{"decision 27 none", "bob", "getcohort 1", ``, `{"count":0}`},
	{"decision 27 a list", "bob", "apply", flagtest.Document(``, `{"name":"Listed","is_static":true,"members":"una"}`), `400 invalid_input members cohort "Listed":`},
	{"decision 27 of texts", "bob", "apply", flagtest.Document(``, `{"name":"Listed","is_static":true,"members":[7]}`), `400 invalid_input members cohort "Listed":`},
	{"decision 27 of ids", "bob", "apply", flagtest.Document(``, `{"name":"Listed","is_static":true,"members":[""]}`), `400 invalid_input members cohort "Listed":`},
	{"decision 27 a dynamic one has no list", "bob", "apply", flagtest.Document(``, `{"name":"Payers","filters":{"properties":{"type":"AND","values":[`+flagtest.Plan+`]}},"members":["xia"]}`), `{"changes":[{"name":"Payers"}]}`},
	{"decision 27 a dynamic one has no list", "bob", "export", ``, `{"cohorts":[{"name":"Listed"},{"name":"Payers","members":"(absent)"}]}`},
}

var settingsRows = []ruletest.Row{
	{"decision 27 the same group types", "bob", "apply", `{"flags":[],"group_type_mapping":{"0":"company"}}`, `{"changes":[]}`},
	{"decision 27 others of the same number", "bob", "apply", `{"flags":[],"group_type_mapping":{"0":"team"}}`, `400 invalid_input group_type_mapping`},
	{"decision 27 one that the project does not have yet", "bob", "apply", `{"flags":[],"group_type_mapping":{"4":"office"}}`, `{"changes":[]}`},
	{"decision 27 null", "bob", "apply", `{"flags":[],"group_type_mapping":null}`, `{"changes":[]}`},
	{"decision 27 settings of the project are its own", "bob", "apply", `{"flags":[],"timezone":"Europe/Oslo","bucketing_hash":"murmur3","property_matching_version":2}`,
		`{"warnings":["(like) ^timezone is Europe/Oslo","(like) ^bucketing_hash is murmur3","(like) ^property_matching_version is 2"]}`},
	{"decision 27 the defaults are the same", "bob", "apply", `{"flags":[],"timezone":"UTC","bucketing_hash":"sha1","property_matching_version":1}`, `{"changes":[],"warnings":"(absent)"}`},
	{"decision 27 about groups", "bob", "apply", flagtest.Document(`{"key":"g","active":true,"filters":{"aggregation_group_type_index":0,"groups":[{"properties":[{"key":"size","type":"group","group_type_index":0,"operator":"gt","value":"5"}]}]}}`, ``), `{"changes":[{"name":"g"}]}`},
}

var documentLogRows = []ruletest.Row{
	{"§5.11", "bob", "apply", flagtest.Document(simple, payer), `{"unchanged":0}`},
	{"§5.11 a flag", "bob", "log FeatureFlag 1", ``, `{"activity":"created","user":{"first_name":"bob"},"detail":{"name":"simple"}}`},
	{"§5.11 a cohort", "bob", "log Cohort 1", ``, `{"activity":"created","user":{"first_name":"bob"},"detail":{"name":"Payers"}}`},
	{"§5.11", "cyd", "apply", flagtest.Document(`{"key":"simple","active":false,"filters":{"groups":[{"properties":[],"rollout_percentage":100}]}}`, `{"name":"Payers","description":"new","filters":{"properties":{"type":"AND","values":[`+flagtest.Plan+`]}}}`), `{"unchanged":0}`},
	{"§5.11 a flag", "bob", "log FeatureFlag 1", ``, `{"activity":"updated","user":{"first_name":"cyd"},"detail":{"changes":[{"field":"active","before":true,"after":false}]}}`},
	{"§5.11 a cohort", "bob", "log Cohort 1", ``, `{"activity":"updated","user":{"first_name":"cyd"},"detail":{"changes":[{"field":"description","after":"new"}]}}`},
	{"decision 27 a version each", "bob", "versions 1", ``, `{"count":2,"results":[{"version":2,"active":false,"created_by":{"first_name":"cyd"}},{"version":1,"active":true}]}`},
	{"decision 27 a plan notes nothing", "ann", "plan", flagtest.Document(simple, ``), `{"unchanged":0}`},
	{"decision 27 a plan notes nothing", "bob", "log FeatureFlag 1", ``, `{"user":{"first_name":"cyd"}}`},
	{"decision 27 a plan makes no version", "bob", "versions 1", ``, `{"count":2}`},
}

var atomicRows = []ruletest.Row{
	{"decision 27", "bob", "apply", flagtest.Document(simple, payer), `{"unchanged":0}`},
	{"decision 27 the last is bad", "bob", "apply", flagtest.Document(`{"key":"simple","active":false,"filters":{"groups":[]}},{"key":"fresh","filters":{"groups":[]}},{"key":"bad","filters":{"groups":[{"properties":[{"key":"99","type":"flag","operator":"flag_evaluates_to","value":true}]}]}}`,
		`{"name":"Payers","description":"new"}`), `400 invalid_input filters flag "bad":`},
	{"decision 27 nothing was changed", "bob", "export", ``, `{"flags":[{"key":"simple","active":true}],"cohorts":[{"name":"Payers","description":""}]}`},
	{"decision 27 nor noted", "bob", "versions 1", ``, `{"count":1}`},
}

var documentCohortRows = []ruletest.Row{
	{"decision 27", "bob", "apply", flagtest.Document(``, payer+`,{"name":"Both","filters":{"properties":{"type":"OR","values":[{"type":"cohort","key":"name","value":"Payers"},{"type":"cohort","key":"name","value":"Listed","negation":true}]}}},{"name":"Listed","is_static":true}`),
		`{"changes":[{"name":"Both"},{"name":"Listed"},{"name":"Payers"}]}`},
	{"decision 27 as it was sent", "bob", "export", ``, `{"cohorts":[{"name":"Both","filters":{"properties":{"type":"OR","values":[{"key":"name","value":"Payers"},{"key":"name","value":"Listed","negation":true}]}}},{"name":"Listed","members":[]},{"name":"Payers"}]}`},
	{"flags.md §5.6 the oldest form", "bob", "apply", flagtest.Document(``, `{"name":"Old","groups":[{"properties":{"plan":"pro"}}]}`), `{"changes":[{"name":"Old"}]}`},
	{"flags.md §5.6 the oldest form", "bob", "export", ``, `{"cohorts":[{"name":"Both"},{"name":"Listed"},{"name":"Old","groups":"(absent)","filters":{"properties":{"type":"OR","values":[{"type":"AND","values":[{"key":"plan","type":"person","operator":"exact","value":"pro"}]}]}}},{"name":"Payers"}]}`},
	{"flags.md §5.6 the oldest form, again", "bob", "apply", flagtest.Document(``, `{"name":"Old","groups":[{"properties":{"plan":"pro"}}]}`), `{"changes":[],"unchanged":1}`},
	{"flags.md §1.6 property is AND", "bob", "apply", flagtest.Document(``, `{"name":"Payers","filters":{"properties":{"type":"property","values":[`+flagtest.Plan+`]}}}`), `{"changes":[],"unchanged":1}`},
	{"flags.md §1.4 exact when nothing is said", "bob", "apply", flagtest.Document(``, `{"name":"Payers","filters":{"properties":{"type":"AND","values":[{"type":"person","key":"plan","value":"pro"}]}}}`), `{"changes":[],"unchanged":1}`},
	{"flags.md §5.1 not_in is the negation", "bob", "apply", flagtest.Document(``, `{"name":"Both","filters":{"properties":{"type":"OR","values":[{"type":"cohort","key":"name","value":"Payers","operator":"in"},{"type":"cohort","key":"name","value":"Listed","operator":"not_in"}]}}}`), `{"changes":[],"unchanged":1}`},
	{"flags.md §1.6 computed elsewhere", "bob", "apply", flagtest.Document(``, `{"name":"Live","cohort_type":"realtime","filters":{"properties":{"type":"AND","values":[`+flagtest.Plan+`]}}}`), `{"changes":[{"name":"Live"}]}`},
	{"flags.md §1.6 computed elsewhere", "bob", "cohorts", `{"Search":"live"}`, `{"results":[{"cohort_type":"realtime"}]}`},
}

// The projects of TestFlags_Copy: three more projects of the organization, one of which bob has no
// access to, and a project with flags of a definitions file.
const copyProject, closedProject, filedProject = 3, 4, 5

// §5.1.3 copies flags between the projects of an organization.
func TestFlags_Copy(t *testing.T) {
	w := flagtest.New(t)
	err := w.Store.Write(t.Context(), func(tx rooms.Tx) error {
		for _, p := range []management.ProjectRecord{
			{ID: copyProject, Organization: ruletest.Organization, Name: "Copy", APIKey: "phc_3"},
			{ID: closedProject, Organization: ruletest.Organization, Name: "Closed", APIKey: "phc_4", Meta: storage.Encode(management.ProjectMeta{Default: management.NoAccess})},
			{ID: filedProject, Organization: ruletest.Organization, Name: "Filed", APIKey: "phc_5"},
		} {
			if err := tx.PutProject(&p); err != nil {
				return err
			}
		}
		return tx.PutDefinition(management.FlagDefinition, filedProject, &management.Definition{ID: 50, Key: "a", Origin: "flags.json", Record: []byte(`{"id":50,"key":"a","active":true,"filters":{"groups":[]}}`)})
	})
	if err != nil {
		t.Fatal(err)
	}
	copies := func(to string) string {
		return `{"feature_flag_key":"a","from_project":1,"target_project_ids":` + to + `}`
	}
	w.Run(t, flagtest.RoomCalls(t, w), flagtest.Rows(
		[]ruletest.Row{
			{"§5.1.3", "bob", "cohort", `{"name":"Payers","filters":{"properties":{"type":"AND","values":[` + flagtest.Plan + `]}}}`, `{"id":1}`},
			{"§5.1.3", "bob", `file {"name":"Listed","is_static":true}`, "una", `{"id":2}`},
			{"§5.1.3", "bob", "cohort", `{"name":"Inner","filters":{"properties":{"type":"AND","values":[{"type":"cohort","key":"id","value":1},{"type":"cohort","key":"id","value":2}]}}}`, `{"id":3}`},
			{"§5.1.3", "bob", "cohort", `{"name":"Not needed","is_static":true}`, `{"id":4}`},
			{"§5.1.3", "bob", "create", `{"key":"a","name":"Words","tags":["x"],"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":3}],"rollout_percentage":40}],` + flagtest.AB + `,"payloads":{"a":"1"}}}`, `{"id":51}`},
			{"§5.1.3", "bob", "schedule", `{"record_id":51,"model_name":"FeatureFlag","payload":` + flagtest.Off + `,"scheduled_at":"2026-02-01T00:00:00Z"}`, `{"id":1}`},
		},
		flagtest.Each("§5.1.3 what it needs", "bob", "copy",
			[2]string{`{}`, `{"error":"Missing required fields"}`},
			[2]string{`{"from_project":1,"target_project_ids":[3]}`, `{"error":"Missing required fields"}`},
			[2]string{`{"feature_flag_key":"a","target_project_ids":[3]}`, `{"error":"Missing required fields"}`},
			[2]string{`{"feature_flag_key":"a","from_project":1}`, `{"error":"Missing required fields"}`},
			[2]string{`{"feature_flag_key":"","from_project":1,"target_project_ids":[3]}`, `{"error":"Missing required fields"}`},
			[2]string{copies(`[]`), `{"error":"Missing required fields"}`},
			[2]string{`{"feature_flag_key":"b","from_project":1,"target_project_ids":[3]}`, `{"error":"Feature flag to copy does not exist."}`},
			[2]string{`{"feature_flag_key":"a","from_project":9,"target_project_ids":[3]}`, `{"error":"Feature flag to copy does not exist."}`},
			[2]string{`{"feature_flag_key":"a","from_project":2,"target_project_ids":[3]}`, `{"error":"Feature flag to copy does not exist."}`},
			[2]string{`{"feature_flag_key":"a","from_project":4,"target_project_ids":[3]}`, `{"error":"You do not have permission to copy this flag."}`},
			[2]string{copies(flagtest.List(101, "3")), `400 max_length target_project_ids`},
		),
	))
	w.Run(t, flagtest.RoomCalls(t, w), []ruletest.Row{
		{"§5.1.3 made there, with cohorts by name", "bob", "copy", copies(`[3]`), `{"success":[{"id":52,"key":"a","name":"Words","tags":["x"],"version":1,"created_by":{"first_name":"bob"},
			"filters":{"groups":[{"rollout_percentage":40,"properties":[{"key":"id","type":"cohort","cohort_name":"Inner"}]}],"payloads":{"a":"1"}}}],"failed":[]}`},
		{"§5.1.3 several: each by itself", "bob", "copy", copies(`[3,9,2,4,5]`), `{"success":[{"id":52,"version":1}],"failed":[{"project_id":9,"errors":"Project not found."},{"project_id":2,"errors":"Project not found."},
			{"project_id":4,"errors":"Project not found."},{"project_id":5,"errors":"(like) flags.json"}]}`},
		{"§5.1.3 into a project that is closed to members", "ann", "copy", copies(`[4]`), `{"success":[{"id":53}],"failed":[]}`},
		{"§5.1.3", "bob", "change 51", `{"active":false,"filters":{"groups":[{"properties":[]}]}}`, `{"version":2}`},
		{"§5.1.3 one that is there is overwritten", "cyd", "copy", copies(`[3]`), `{"success":[{"id":52,"version":2,"active":false,"filters":{"groups":[{"properties":[]}]},"last_modified_by":{"first_name":"cyd"}}]}`},
		{"§5.1.3 copy_schedule", "bob", "copy", `{"feature_flag_key":"a","from_project":1,"target_project_ids":[3],"copy_schedule":true}`, `{"success":[{"id":52}]}`},
		{"§5.1.3 the flags of a key", "ann", "places a", ``, `[{"team_id":1,"flag_id":51,"active":false,"created_by":{"first_name":"bob"},"created_at":"2026-01-02T12:00:05Z","filters":{"groups":[{"properties":[]}]}},
			{"team_id":3,"flag_id":52},{"team_id":4,"flag_id":53},{"team_id":5,"flag_id":50,"created_by":null}]`},
		{"§1.8 those that may be seen", "bob", "places a", ``, `[{"team_id":1},{"team_id":3},{"team_id":5}]`},
		{"console.md N24 with a condition of cohorts", "bob", "create", `{"key":"c","filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":3}],"rollout_percentage":40}]}}`, `{"id":54}`},
		{"console.md N24 with a condition of cohorts", "bob", "schedule", `{"record_id":54,"model_name":"FeatureFlag","payload":` + flagtest.Steps(0, 60) + `,"scheduled_at":"2026-01-20T00:00:00Z"}`, `{"id":3}`},
		{"console.md N24 copied with its step", "bob", "copy", `{"feature_flag_key":"c","from_project":1,"target_project_ids":[3],"copy_schedule":true}`, `{"success":[{"id":55}]}`},
		{"§5.1.3 of no flag", "bob", "places nope", ``, `404 not_found - Not found.`},
	})
	target := w.Scope(t, "bob")
	target.Project = &management.ProjectRecord{ID: copyProject, Organization: ruletest.Organization}
	calls := flagtest.RoomCalls(t, w)
	targetCalls := ruletest.Calls{}
	for name, call := range calls { // in the target project
		targetCalls[name] = func(_ flagtest.Scope, path, body string) (any, error) { return call(target, path, body) }
	}
	w.Run(t, targetCalls, []ruletest.Row{
		{"§5.1.3 the cohorts that it needs, and theirs", "bob", "cohorts", ``, `{"count":3}`},
		{"§5.1.3 who is in a list is each project's own", "bob", "cohorts", `{"Type":"static"}`, `{"count":1,"results":[{"name":"Listed"}]}`},
		{"§5.1.3 the changes that are to come", "bob", "schedules", ``, `{"count":2,"results":[{"record_id":"55"},{"record_id":"52","team_id":3,"scheduled_at":"2026-02-01T00:00:00Z","payload":{"value":false}}]}`},
		{"console.md N24 the step, where cohorts have other numbers", "bob", "wait 480h", ``, `null`},
		{"console.md N24 the step, where cohorts have other numbers", "bob", "due", ``, `2`},
		{"console.md N24 the step, where cohorts have other numbers", "bob", "get 55", ``, `{"version":2,"filters":{"groups":[{"rollout_percentage":60}]}}`},
	})
}

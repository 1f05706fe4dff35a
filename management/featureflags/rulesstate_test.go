package featureflags_test

import (
	"testing"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/rooms"
)

// enable, disable, archive and unarchive (clients.md §7.2).
func TestFlags_State(t *testing.T) {
	askFlags(t, map[string][]ruletest.Row{"switches": stateRows, "archive": archiveRows, "dependents": switchedOffRows, "dependencies": switchedOnRows, "refusals": switchFaultRows})
}

var stateRows = []ruletest.Row{
	flagtest.AFlag,
	{"clients.md §7.2 already on", "cyd", "enable 1", ``, `{"active":true,"version":1,"last_modified_by":{"first_name":"bob"}}`},
	{"clients.md §7.2 off", "cyd", "disable 1", ``, `{"active":false,"archived":false,"version":2,"status":"INACTIVE","last_modified_by":{"first_name":"cyd"}}`},
	{"§5.11 the log", "ann", "log FeatureFlag 1", ``, `{"activity":"updated","user":{"first_name":"cyd"},"detail":{"changes":[{"field":"active","before":true,"after":false}]}}`},
	{"clients.md §7.2 idempotent", "bob", "disable 1", ``, `{"active":false,"version":2,"last_modified_by":{"first_name":"cyd"}}`},
	{"§5.11 no change, no line", "ann", "log FeatureFlag 1", ``, `{"user":{"first_name":"cyd"}}`},
	{"§5.1.1 a rollback", "bob", "change 1", `{"performed_rollback":true}`, `{"performed_rollback":true,"version":3}`},
	{"§5.1.1 stays while it is off", "bob", "disable 1", ``, `{"performed_rollback":true,"version":3}`},
	{"§5.1.1 active resets performed_rollback", "bob", "enable 1", ``, `{"active":true,"performed_rollback":false,"version":4}`},
	{"§5.1.1 without a rollback it stays null", "bob", "create", `{"key":"b","active":false}`, `{"performed_rollback":null}`},
	{"§5.1.1 without a rollback it stays null", "bob", "enable 2", ``, `{"active":true,"performed_rollback":null}`},
}

var archiveRows = []ruletest.Row{
	flagtest.AFlag,
	{"clients.md §7.2 archive also disables", "cyd", "archive 1", ``, `{"archived":true,"active":false,"version":2}`},
	{"§5.11 the log", "ann", "log FeatureFlag 1", ``, `{"detail":{"changes":[{"field":"active","before":true,"after":false},{"field":"archived","before":null,"after":true}]}}`},
	{"clients.md §7.2 idempotent", "bob", "archive 1", ``, `{"archived":true,"version":2}`},
	{"clients.md §7.2 idempotent", "bob", "disable 1", ``, `{"archived":true,"version":2}`},
	{"clients.md §7.2 back, and still off", "bob", "unarchive 1", ``, `{"archived":false,"active":false,"version":3}`},
	{"clients.md §7.2 idempotent", "bob", "unarchive 1", ``, `{"archived":false,"version":3}`},
	{"clients.md §7.2 one that is off", "bob", "archive 1", ``, `{"archived":true,"active":false,"version":4}`},
	{"clients.md §7.2 set active, it is unarchived", "bob", "enable 1", ``, `{"archived":false,"active":true,"version":5}`},
	{"clients.md §7.2 unarchive does not switch off", "bob", "unarchive 1", ``, `{"archived":false,"active":true,"version":5}`},
	{"decision 27 a version has its archive", "bob", "restore 1", `{"version":4}`, `{"archived":true,"active":false,"version":6}`},
	{"decision 27 a version has its archive", "bob", "restore 1", `{"version":5}`, `{"archived":false,"active":true,"version":7}`},
}

const heldByB = `400 invalid_input - Cannot disable this feature flag because other flags depend on it: b (ID: 2). Please update or disable the dependent flags first.`

var switchedOffRows = []ruletest.Row{
	flagtest.AFlag,
	{"clients.md §7.2", "bob", "create", `{"key":"b"}`, `{"id":2}`},
	{"clients.md §7.2", "bob", "change 2", flagtest.Needs("1"), `{"version":2}`},
	{"clients.md §7.2 active flags need it", "bob", "disable 1", ``, heldByB},
	{"clients.md §7.2 active flags need it", "bob", "archive 1", ``, heldByB},
	{"clients.md §7.2 active flags need it", "bob", "change 1", `{"archived":true}`, heldByB},
	{"clients.md §7.2 a refusal changes nothing", "bob", "get 1", ``, `{"active":true,"archived":false,"version":1}`},
	{"clients.md §7.2 when they are off", "bob", "disable 2", ``, `{"active":false}`},
	{"clients.md §7.2 when they are off", "bob", "archive 1", ``, `{"archived":true}`},
}

// Flag 2 depends on flag 1, flag 3 on both.
var switchedOnRows = []ruletest.Row{
	flagtest.AFlag,
	{"clients.md §7.2", "bob", "create", `{"key":"b","active":false}`, `{"id":2}`},
	{"clients.md §7.2", "bob", "create", `{"key":"c","active":false}`, `{"id":3}`},
	{"clients.md §7.2 one that is off may need what it likes", "bob", "change 2", flagtest.Needs("1"), `{"version":2}`},
	{"clients.md §7.2 one that is off may need what it likes", "bob", "change 3", flagtest.Needs("2", "1"), `{"version":2}`},
	{"clients.md §7.2", "bob", "disable 1", ``, `{"active":false}`},
	{"clients.md §7.2 what it needs is off", "bob", "enable 2", ``, needsA},
	{"clients.md §7.2 what it needs is off", "bob", "change 2", `{"active":true}`, needsA},
	{"clients.md §7.2 all that it needs", "bob", "enable 3", ``, `400 invalid_input - Cannot enable this feature flag because it depends on disabled flags: b (ID: 2), a (ID: 1). Please enable the dependency flags first.`},
	{"clients.md §7.2 a refusal changes nothing", "bob", "get 2", ``, `{"active":false,"version":2}`},
	{"clients.md §7.2 another change is free", "bob", "change 2", `{"name":"x"}`, `{"version":3}`},
	{"clients.md §7.2 in the same change it needs it no more", "bob", "change 2", `{"active":true,"filters":{"groups":[{}]}}`, `{"active":true}`},
	{"clients.md §7.2 in the right order", "bob", "enable 1", ``, `{"active":true}`},
	{"clients.md §7.2 in the right order", "bob", "enable 3", ``, `{"active":true}`},
	{"decision 27 in one document", "bob", "apply", flagtest.Document(`{"key":"c","active":false,"filters":{"groups":[]}},{"key":"a","active":false,"filters":{"groups":[]}}`, ``), `{"unchanged":0}`},
	{"decision 27 in one document", "bob", "apply", flagtest.Document(`{"key":"c","active":true,"filters":{"groups":[{"properties":[{"key":"a","type":"flag","operator":"flag_evaluates_to","value":true}]}]}},{"key":"a","active":true,"filters":{"groups":[{}]}}`, ``), `{"unchanged":0}`},
}

const needsA = `400 invalid_input - Cannot enable this feature flag because it depends on disabled flags: a (ID: 1). Please enable the dependency flags first.`

var switchFaultRows = flagtest.Rows(
	[]ruletest.Row{
		flagtest.AFlag,
		{"§5.1.3", "bob", "change 1", `{"deleted":true}`, `{"deleted":true,"active":true}`},
	},
	switchesOf("bob", "1", `{"error":"(like) ^This feature flag has been deleted. Restore it before"}`),
	switchesOf("bob", "9", `404 not_found - Not found.`),
	switchesOf("dan", "1", `404 not_found - Not found.`),
	[]ruletest.Row{{"clients.md §7.2 a refusal changes nothing", "bob", "get 1", ``, `{"version":2,"active":true,"archived":false}`}},
)

// switchesOf returns rows of the four calls with the same response.
func switchesOf(user, id, want string) (out []ruletest.Row) {
	for _, call := range []string{"enable", "disable", "archive", "unarchive"} {
		out = append(out, ruletest.Row{"clients.md §7.2 " + call, user, call + " " + id, ``, want})
	}
	return out
}

// A flag of a definitions file is changed in the file only: every other way is refused with the name
// of the file (decisions, "Definitions file").
func TestFlags_OfFilesEverywhere(t *testing.T) {
	w := flagtest.New(t)
	err := w.Store.Write(t.Context(), func(tx rooms.Tx) error {
		filed := management.Definition{ID: 1, Key: "filed", Origin: "flags.json", Record: []byte(`{"id":1,"key":"filed","active":true,"tags":["x"],"filters":{"groups":[{"properties":[],"rollout_percentage":100}]}}`)}
		listed := management.Definition{ID: 1, Origin: "flags.json", Record: []byte(`{"name":"Listed","is_static":true}`)}
		if err := tx.PutDefinition(management.FlagDefinition, ruletest.Project, &filed); err != nil {
			return err
		}
		return tx.PutDefinition(management.CohortDefinition, ruletest.Project, &listed)
	})
	if err != nil {
		t.Fatal(err)
	}
	const why = `The feature flag "filed" is defined in the file flags.json and can only be changed there.`
	const conflict, quoted = `409 conflict - ` + why, `The feature flag \"filed\" is defined in the file flags.json and can only be changed there.`
	w.Run(t, allFlagCalls(t, w), flagtest.Rows(
		flagtest.Each("409 that names the file", "ann", "change 1", [2]string{`{"name":"x"}`, conflict}, [2]string{`{"tags":["y"]}`, conflict}, [2]string{`{"archived":true}`, conflict}),
		[]ruletest.Row{
			{"409 that names the file", "ann", "put 1", `{"key":"filed"}`, conflict},
			{"console.md N9 its PATCH would be refused", "ann", "check", `{"id":1,"name":"x"}`, faults(`{"attr":null,"code":"conflict","detail":"` + quoted + `"}`)},
			{"console.md N9 with the faults of the body", "ann", "check", `{"id":1,"name":[]}`, faults(`{"attr":null,"code":"conflict"}`, fault("name", "invalid_input"))},
			{"409 that names the file", "ann", "disable 1", ``, conflict},
			{"409 that names the file", "ann", "archive 1", ``, conflict},
			{"already on is no change", "ann", "enable 1", ``, `{"active":true}`},
			{"409 that names the file", "ann", "dashboard 1", ``, conflict},
			{"409 that names the file", "ann", "enrich 1", ``, conflict},
			{"409 that names the file", "ann", "pin 1", `{"distinct_id":"x","value":true}`, conflict},
			{"409 that names the file", "ann", "unpin 1 1", ``, conflict},
			{"each alone", "ann", "tags", `{"ids":[1],"action":"set","tags":["y"]}`, `{"updated":[],"skipped":[{"id":1,"reason":"` + quoted + `"}]}`},
			{"each alone", "ann", "bulk", `{"ids":[1],"patch":{"active":false}}`, `{"results":[{"id":1,"ok":false,"error":"` + quoted + `"}]}`},
			{"each alone", "ann", "bulk", `{"ids":[1],"patch":{"add_tags":["y"]}}`, `{"results":[{"id":1,"ok":false,"error":"` + quoted + `"}]}`},
			{"each alone", "ann", "bulkdelete", `{"ids":[1]}`, `{"deleted":[],"errors":[{"id":1,"key":"filed","reason":"` + quoted + `"}]}`},
			{"it may not be edited", "ann", "matching", `{}`, `{"ids":[],"total":0}`},
			{"it may not be edited", "ann", "rows", `{}`, `{"results":[{"key":"filed","can_edit":false,"definitions_file":"flags.json"}]}`},
			{"console.md §2.1 Read-only: the name of the file", "ann", "get 1", ``, `{"can_edit":false,"definitions_file":"flags.json"}`},
			{"it is exported", "ann", "export", ``, `{"flags":[{"key":"filed","active":true}],"cohorts":[{"name":"Listed"}]}`},
			{"the same in a document is no change", "ann", "apply", flagtest.Document(`{"key":"filed","active":true,"filters":{"groups":[{"properties":[],"rollout_percentage":100}]}}`, ``), `{"changes":[],"unchanged":1}`},
			{"another in a document", "ann", "apply", flagtest.Document(`{"key":"filed","active":false,"filters":{"groups":[]}}`, ``), `409 conflict - flag "filed": ` + why},
			{"another in a plan", "ann", "plan", flagtest.Document(`{"key":"filed","active":false,"filters":{"groups":[]}}`, ``), `409 conflict - flag "filed": ` + why},
			{"a cohort", "ann", "apply", flagtest.Document(``, `{"name":"Listed","description":"x","is_static":true}`), `409 conflict - cohort "Listed": It is defined in the file flags.json and can only be changed there.`},
			{"prune leaves it", "ann", "create", `{"key":"ours"}`, `{"id":2,"can_edit":true,"definitions_file":"(absent)"}`},
			{"prune leaves it", "ann", "applyprune", flagtest.Document(``, ``), `{"changes":[{"name":"ours","action":"delete"}]}`},
			{"nothing was changed", "ann", "get 1", ``, `{"active":true,"archived":false,"deleted":false,"usage_dashboard":null}`},
			{"nothing was logged", "ann", "log FeatureFlag 1", ``, `null`},
			{"it is read", "bob", "who 1", `{"active":false}`, `{"counts":{"true":4},"after":{"false":4}}`},
			{"it is read", "bob", "question filed", `{"distinct_id":"una"}`, `{"Flag":{"id":1}}`},
			{"it is read", "bob", "status 1", ``, `{"status":"stale"}`},
		},
	))
}

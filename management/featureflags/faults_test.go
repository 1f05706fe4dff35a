package featureflags_test

import (
	"testing"

	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/rooms"
)

// TestFaults checks that after a failure of any call to the store the request returns that
// failure and changes no data: repeated requests return the expected results.
func TestFaults(t *testing.T) {
	for name, rows := range map[string][]ruletest.Row{
		"records": flagNullRows, "filters": flagCohortFaultRows, "dependencies": dependencyRows, "deleted ones": deletedRows, "held ones": linkedExperimentRows, "conflicts": conflictRows,
		"versions": versionRows, "restored": restoreRows, "new keys": renameRows, "lists": searchRows, "status": statusRows, "preview": listedRows,
		"early access": stageRows, "attached": attachRows, "features of everybody": publicFeatureRows, "features gone": featureDeletedRows,
		"experiments": experimentLifeRows, "variants of experiments": experimentVariantRows, "experiments gone": experimentDeletedRows, "states": experimentStatusRows,
		"surveys": surveyLifeRows, "targeting": targetingRows, "linked flags": linkedFlagRows, "surveys of everybody": publicSurveyRows, "surveys gone": surveyDeletedRows,
		"schedules": scheduleFieldRows[:18], "lists of schedules": scheduleListRows[:12],
		"documents": roundTripRows, "applied": applyRows, "order": documentOrderRows, "pruned": pruneRows, "planned": planRows[:4], "members": documentMemberRows, "cohorts of documents": documentCohortRows,
		"lists of cohorts": memberFaultRows,
	} {
		t.Run(name, func(t *testing.T) {
			faulty := &memstore.Faulty{After: -1}
			w := faultyWorld(t, faulty)
			w.Run(t, roomCalls(t, w), faultSetup[name])
			w.RunFaulty(t, roomCalls(t, w), rows, memstore.ErrDisk, func(after int) bool {
				failed := faulty.Failed
				faulty.After, faulty.Failed = after, false
				return failed
			})
		})
	}
}

// faultyWorld is like newWorld with a store that can fail.
func faultyWorld(t *testing.T, faulty *memstore.Faulty) *ruletest.World {
	persons := somePeople()
	ids := make([][]string, len(persons.persons))
	for i, p := range persons.persons {
		ids[i] = p.DistinctIDs
	}
	faulty.Store = memstore.New(memstore.ExternalData{
		GroupTypes: map[int64]map[int]string{ruletest.Project: {0: "company", 1: "team"}},
		Persons:    map[int64][][]string{ruletest.Project: ids},
	})
	w := ruletest.New(t, faulty, func(c *rooms.Config) { c.People = persons })
	if _, err := w.Dashboards.Create(t.Context(), w.Scope(t, "bob"), ruletest.Body(t, `{}`)); err != nil {
		t.Fatal(err)
	}
	return w
}

// faultSetup contains requests that run before the store starts to fail. They are not atomic: a
// cohort is stored before it is counted, and due changes are applied one by one.
var faultSetup = map[string][]ruletest.Row{
	"filters":          {{"§5.2", "bob", "cohort", `{"name":"listed","is_static":true}`, `{"id":1}`}},
	"lists of cohorts": {{"§5.2", "bob", `file {"name":"s","is_static":true}`, "vic\nxia", `{"id":1,"count":2}`}},
}

var flagCohortFaultRows = []ruletest.Row{
	aFlag,
	{"§5.1.2", "bob", "change 1", property(`{"key":"id","type":"cohort","value":1}`), `{"filters":{"groups":[{"properties":[{"cohort_name":"listed"}]}]}}`},
	{"§5.1.2", "bob", "change 1", property(`{"key":"id","type":"cohort","value":9}`), `400 cohort_does_not_exist filters Cohort with id 9 does not exist`},
	{"§5.2", "bob", "changecohort 1", `{"deleted":true}`, `400 invalid_input - This cohort is used in 1 active feature flag(s): a. Please`},
	{"§5.1.3", "bob", "radius", `{"condition":{"properties":[{"key":"id","type":"cohort","value":1}]}}`, `{"users_affected":0,"total_users":4}`},
	{"§5.1.3", "bob", "radius", `{"condition":{"properties":[]},"group_type_index":0}`, `{"users_affected":2,"total_users":2}`},
	{"§5.1.3", "bob", "question a", `{"distinct_id":"u"}`, `{"Flag":{"id":1}}`},
	{"§5.1.3", "bob", "bulkkeys", `{"ids":[1,2]}`, `{"keys":{"1":"a"}}`},
	{"§5.1.3", "bob", "places a", ``, `[{"team_id":1,"flag_id":1}]`},
	{"§5.1.3", "bob", "dependents 1", ``, `[]`},
}

var memberFaultRows = []ruletest.Row{
	{"§5.2", "bob", "addpersons 1", `{"person_ids":["` + una + `"]}`, `{"success":true}`},
	{"§5.2", "bob", "persons 1 2", ``, `{"UUIDs":["` + una + `","` + vic + `"]}`},
	{"§5.2", "bob", "member 1", ``, `["` + una + `","` + vic + `","` + xia + `"]`},
	{"§5.2", "bob", "removeperson 1", `{"person_id":"` + vic + `"}`, `{"success":true}`},
	{"§5.2", "bob", "changecohort 1", `{"name":"t"}`, `{"name":"t","count":2}`},
	{"§5.2", "bob", "cohorts", `{"Search":"t"}`, `{"count":1}`},
	{"§5.2", "bob", "counts 1", ``, `{"count":0}`},
	{"§5.2", "bob", "duplicate 1", ``, `400 invalid_input -`},
	{"§5.2", "bob", "changecohort 1", `{"deleted":true}`, `{"deleted":true}`},
}

package featureflags_test

import (
	"testing"

	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

// TestFaults checks that requests that fail change nothing: see flagtest.Faults.
func TestFaults(t *testing.T) {
	flagtest.Faults(t, map[string][]ruletest.Row{
		"records": flagNullRows, "filters": flagCohortFaultRows, "dependencies": dependencyRows, "deleted ones": deletedRows, "held ones": linkedExperimentRows, "conflicts": conflictRows,
		"versions": versionRows, "restored": restoreRows, "new keys": renameRows, "lists": searchRows, "status": statusRows, "preview": listedRows,
		"documents": roundTripRows, "applied": applyRows, "order": documentOrderRows, "pruned": pruneRows, "planned": planRows[:4], "members": documentMemberRows, "cohorts of documents": documentCohortRows,
	}, map[string][]ruletest.Row{
		"filters": {{"§5.2", "bob", "cohort", `{"name":"listed","is_static":true}`, `{"id":1}`}},
	})
}

var flagCohortFaultRows = []ruletest.Row{
	flagtest.AFlag,
	{"§5.1.2", "bob", "change 1", flagtest.Property(`{"key":"id","type":"cohort","value":1}`), `{"filters":{"groups":[{"properties":[{"cohort_name":"listed"}]}]}}`},
	{"§5.1.2", "bob", "change 1", flagtest.Property(`{"key":"id","type":"cohort","value":9}`), `400 cohort_does_not_exist filters Cohort with id 9 does not exist`},
	{"§5.2", "bob", "changecohort 1", `{"deleted":true}`, `400 invalid_input - This cohort is used in 1 active feature flag(s): a. Please`},
	{"§5.1.3", "bob", "radius", `{"condition":{"properties":[{"key":"id","type":"cohort","value":1}]}}`, `{"users_affected":0,"total_users":4}`},
	{"§5.1.3", "bob", "radius", `{"condition":{"properties":[]},"group_type_index":0}`, `{"users_affected":2,"total_users":2}`},
	{"§5.1.3", "bob", "question a", `{"distinct_id":"u"}`, `{"Flag":{"id":1}}`},
	{"§5.1.3", "bob", "bulkkeys", `{"ids":[1,2]}`, `{"keys":{"1":"a"}}`},
	{"§5.1.3", "bob", "places a", ``, `[{"team_id":1,"flag_id":1}]`},
	{"§5.1.3", "bob", "dependents 1", ``, `[]`},
}

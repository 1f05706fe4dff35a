package cohorts_test

import (
	"testing"

	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

// TestFaults checks that requests that fail change nothing: see flagtest.Faults.
func TestFaults(t *testing.T) {
	flagtest.Faults(t, map[string][]ruletest.Row{
		"lists of cohorts": memberFaultRows,
	}, map[string][]ruletest.Row{
		"lists of cohorts": {{"§5.2", "bob", `file {"name":"s","is_static":true}`, "vic\nxia", `{"id":1,"count":2}`}},
	})
}

var memberFaultRows = []ruletest.Row{
	{"§5.2", "bob", "addpersons 1", `{"person_ids":["` + flagtest.Una + `"]}`, `{"success":true}`},
	{"§5.2", "bob", "persons 1 2", ``, `{"UUIDs":["` + flagtest.Una + `","` + flagtest.Vic + `"]}`},
	{"§5.2", "bob", "member 1", ``, `["` + flagtest.Una + `","` + flagtest.Vic + `","` + flagtest.Xia + `"]`},
	{"§5.2", "bob", "removeperson 1", `{"person_id":"` + flagtest.Vic + `"}`, `{"success":true}`},
	{"§5.2", "bob", "changecohort 1", `{"name":"t"}`, `{"name":"t","count":2}`},
	{"§5.2", "bob", "cohorts", `{"Search":"t"}`, `{"count":1}`},
	{"§5.2", "bob", "counts 1", ``, `{"count":0}`},
	{"§5.2", "bob", "duplicate 1", ``, `400 invalid_input -`},
	{"§5.2", "bob", "changecohort 1", `{"deleted":true}`, `{"deleted":true}`},
}

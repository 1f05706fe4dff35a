package featureflags_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/rooms"
)

// A project has at most 20,000 flags that are not deleted (see definitions.MaxCohorts). Writes
// that would make more are refused as a whole; all other writes are free.
func TestFlags_Limit(t *testing.T) {
	w := flagtest.New(t)
	err := w.Store.Write(t.Context(), func(tx rooms.Tx) error {
		many := make([]*management.Definition, 19_999)
		for i := range many {
			// hidden flags, which documents do not contain, so that the document below is quickly compared
			many[i] = &management.Definition{ID: int64(i + 1), Key: fmt.Sprintf("k%d", i+1), Record: []byte(`{"active":true}`), Meta: []byte(`{"hidden":true}`)}
		}
		return tx.PutDefinitions(management.FlagDefinition, ruletest.Project, many)
	})
	if err != nil {
		t.Fatal(err)
	}
	const full = `400 limit_exceeded - A project has at most 20000 feature flags: delete some, or use another project.`
	w.Run(t, allFlagCalls(t, w), []ruletest.Row{
		{"a document with one too many", "bob", "apply", flagtest.Document(`{"key":"x","filters":{"groups":[]}},{"key":"y","filters":{"groups":[]}}`, ``), full},
		{"nothing of it stays", "bob", "id x", ``, `0`},
		{"the last one", "bob", "create", `{"key":"last"}`, `{"id":20000}`},
		{"one more", "bob", "create", `{"key":"more"}`, full},
		{"nothing of it stays", "bob", "id more", ``, `0`},
		{"nor its dashboard", "bob", "board 3", ``, `404 not_found - Not found.`},
		{"one that is there may be changed", "bob", "change 20000", `{"name":"words"}`, `{"name":"words"}`},
		{"one that an experiment makes", "bob", "experiment", `{"name":"E","feature_flag_key":"e"}`, full},
		{"another project has its own", "dan", "create", `{"key":"theirs"}`, `{"key":"theirs"}`},
		{"a deleted one makes room", "bob", "change 20000", `{"deleted":true}`, `{"deleted":true}`},
		{"a deleted one makes room", "bob", "create", `{"key":"more"}`, `{"key":"more"}`},
		{"it does not come back", "bob", "change 20000", `{"deleted":false}`, full},
	})
}

// The flags and cohorts of a project have at most 64 MiB together.
func TestDefinitions_Size(t *testing.T) {
	w := flagtest.New(t)
	err := w.Store.Write(t.Context(), func(tx rooms.Tx) error {
		large := management.Definition{ID: 1, Record: []byte(`{"is_static":true,"pad":"` + strings.Repeat("x", 64<<20-1000) + `"}`)}
		return tx.PutDefinition(management.CohortDefinition, ruletest.Project, &large)
	})
	if err != nil {
		t.Fatal(err)
	}
	const full = `400 limit_exceeded - The feature flags and cohorts of a project have at most 67108864 bytes: make them smaller, or delete some.`
	w.Run(t, allFlagCalls(t, w), []ruletest.Row{
		{"a flag of some hundred bytes", "bob", "create", `{"key":"a","_should_create_usage_dashboard":false}`, `{"id":1}`},
		{"a thousand bytes more", "bob", "change 1", `{"name":` + flagtest.Text(1000) + `}`, full},
		{"a refusal changes nothing", "bob", "get 1", ``, `{"version":1,"name":""}`},
		{"a cohort", "bob", "cohort", `{"name":"n","is_static":true,"description":` + flagtest.Text(1000) + `}`, full},
		{"another project has its own", "dan", "cohort", `{"name":"n","is_static":true,"description":` + flagtest.Text(1000) + `}`, `{"name":"n"}`},
	})
}

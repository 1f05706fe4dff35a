package featureflags_test

import (
	"testing"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

// console.md §2.3, §3.3, §3.7: the flags that use a cohort, directly or through other cohorts, and
// the tags and ids by which the list of flags can be filtered.
func TestFlags_OfCohorts(t *testing.T) {
	for name, rows := range map[string][]ruletest.Row{"cohorts": cohortUserRows, "tags": tagNameRows, "ids": listIDRows} {
		t.Run(name, func(t *testing.T) {
			w := flagtest.New(t)
			calls := flagtest.RoomCalls(t, w)
			calls["tagnames"] = func(scope flagtest.Scope, _, b string) (any, error) {
				p := management.Page{Limit: ruletest.DefaultPage}
				ruletest.Read(t, b, &p)
				return ruletest.List(w.FeatureFlags.Tags(t.Context(), scope, p))
			}
			calls["cohortusers"] = func(scope flagtest.Scope, _, b string) (any, error) { // by the ids in the body
				var ids []int64
				ruletest.Read(t, b, &ids)
				return w.FeatureFlags.CountCohortUsers(t.Context(), scope, ids)
			}
			w.Run(t, calls, rows)
		})
	}
}

// useCohort returns a flag with a condition on a cohort.
func useCohort(key, cohort string) string {
	return `{"key":"` + key + `","filters":{"groups":[{"properties":[]},{"properties":[{"key":"plan","type":"person","operator":"exact","value":"cohort"},{"key":"id","type":"cohort","value":` + cohort + `}]}]}}`
}

// Cohort 2 contains cohort 1, and cohort 3 contains cohort 2. Flags a, b and c use cohorts 1, 2 and 3,
// flag d uses none.
var cohortUserRows = flagtest.Rows(
	[]ruletest.Row{
		{"§5.2", "bob", "cohort", FindCohort(`{"type":"person","key":"plan","value":"pro","operator":"exact"}`), `{"id":1}`},
		{"§5.2", "bob", "cohort", FindCohort(`{"type":"cohort","key":"id","value":1}`), `{"id":2}`},
		{"§5.2", "bob", "cohort", FindCohort(`{"type":"cohort","key":"id","value":2}`), `{"id":3}`},
		{"§5.2", "bob", "cohort", `{"name":"nobody's","is_static":true}`, `{"id":4}`},
		{"§5.1.2", "bob", "create", useCohort("a", "1"), `{"id":1}`},
		{"§5.1.2", "bob", "create", useCohort("b", "2"), `{"id":2}`},
		{"§5.1.2", "bob", "create", useCohort("c", "3"), `{"id":3}`},
		{"§5.1.2", "bob", "create", `{"key":"d","filters":{"groups":[{"properties":[{"key":"plan","type":"person","operator":"exact","value":"1"}]}]}}`, `{"id":4}`},
	},
	flagtest.Each("console.md §3.7 Used by", "bob", "keys",
		[2]string{`{"Cohort":1}`, `["c","b","a"]`},
		[2]string{`{"Cohort":2}`, `["c","b"]`},
		[2]string{`{"Cohort":3}`, `["c"]`},
		[2]string{`{"Cohort":4}`, `[]`},
		[2]string{`{"Cohort":9}`, `[]`},
		[2]string{`{"Cohort":0}`, `[]`}, // the id of no cohort is a filter too
		[2]string{`{"Cohort":1,"Search":"b"}`, `["b"]`},
	),
	flagtest.Each("console.md §3.7 Used by, of several", "bob", "cohortusers",
		[2]string{`[1,2,3,4,9]`, `{"results":{"1":{"flags":3},"2":{"flags":2},"3":{"flags":1},"4":{"flags":0},"9":{"flags":0}}}`},
		[2]string{`[2,2]`, `{"results":{"2":{"flags":2}}}`},
		[2]string{`[]`, `400 required ids This field is required.`},
		[2]string{flagtest.List(200, "4"), `{"results":{"4":{"flags":0}}}`},
		[2]string{flagtest.List(201, "4"), `400 invalid_input ids Give at most 200 ids.`},
	),
	[]ruletest.Row{
		{"console.md §3.7 another project's", "dan", "cohortusers", `[1]`, `{"results":{"1":{"flags":0}}}`},
		{"console.md §2.3 as the list: not the archive", "bob", "change 3", `{"archived":true}`, `{"archived":true}`},
		{"console.md §2.3 as the list: not what is deleted", "bob", "change 2", `{"deleted":true}`, `{"deleted":true}`},
		{"console.md §2.3 as the list", "bob", "keys", `{"Cohort":1}`, `["a"]`},
		{"console.md §2.3 as the list", "bob", "cohortusers", `[1,2,3]`, `{"results":{"1":{"flags":1},"2":{"flags":0},"3":{"flags":0}}}`},
		{"console.md §2.3 the archive", "bob", "keys", `{"Cohort":3,"Status":["archived"]}`, `["c"]`},
	},
)

var tagNameRows = flagtest.Rows(listFlags, []ruletest.Row{
	{"console.md §3.3 Tag: each once, in order", "bob", "tagnames", `{}`, `{"count":2,"results":["hot","paint"]}`},
	{"§3 pages", "bob", "tagnames", `{"Limit":1,"Offset":1}`, `{"count":2,"results":["paint"]}`},
	{"console.md §3.3 those of archived flags too", "bob", "change 1", `{"archived":true}`, `{"archived":true}`},
	{"console.md §3.3 those of archived flags too", "bob", "tagnames", `{}`, `{"count":2}`},
	{"console.md §3.3 not of deleted ones", "bob", "change 1", `{"deleted":true}`, `{"deleted":true}`},
	{"console.md §3.3 not of deleted ones", "bob", "tagnames", `{}`, `{"count":1,"results":["paint"]}`},
	{"console.md §3.3 another project's", "dan", "tagnames", `{}`, `{"count":1,"results":["paint"]}`},
})

var listIDRows = flagtest.Rows(listFlags, flagtest.Each("console.md N10 some rows of the list", "bob", "keys",
	[2]string{`{"IDs":[1,3]}`, `["deep_sea","red"]`},
	[2]string{`{"IDs":[1,3],"Active":"false"}`, `[]`},
	[2]string{`{"IDs":[2,4,9]}`, `["blue-sky"]`}, // 4 is another project's
	[2]string{`{"IDs":` + flagtest.List(200, "1") + `}`, `["red"]`},
	[2]string{`{"IDs":` + flagtest.List(201, "1") + `}`, `400 invalid_input ids Give at most 200 ids.`},
))

package dashboards_test

import (
	"encoding/json"
	"testing"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

// An annotation of the organization is listed in every project and can be changed from each
// (clients.md §6). The calls with "there" are for a second project, with the id 3.
func TestAnnotations_Projects(t *testing.T) {
	for name, rows := range map[string][]ruletest.Row{"two projects": twoProjectRows, "insights": annotatedInsightRows, "the log": annotationLogRows} {
		t.Run(name, func(t *testing.T) {
			w := ruletest.New(t, memstore.New(memstore.ExternalData{}))
			calls := annotationCalls(t, w)
			calls["newproject"] = func(scope *management.Scope, _, b string) (any, error) {
				return w.Organizations.Projects.Create(t.Context(), scope, ruletest.Body(t, b))
			}
			for _, name := range []string{"make", "get", "change", "list", "create", "insight"} {
				call := calls[name]
				calls[name+"there"] = func(scope *management.Scope, path, b string) (any, error) {
					there, err := management.Read(t.Context(), &w.Env, func(tx management.Tx) (*management.Scope, error) {
						p, err := tx.Project(3)
						if err != nil {
							return nil, err
						}
						return management.NewScope(tx, scope.Caller, p)
					})
					if err != nil {
						return nil, err
					}
					return call(there, path, b)
				}
			}
			w.Run(t, calls, rows)
		})
	}
}

var twoProjectRows = []ruletest.Row{
	{"clients.md §6", "gus", "newproject", `{"name":"Second"}`, `{"id":3}`},
	{"clients.md §6", "bob", "create", `{"name":"Here"}`, `{"id":1}`},
	{"clients.md §6", "bob", "createthere", `{"name":"There"}`, `{"id":2}`},
	{"clients.md §6", "bob", "make", `{"content":"ours","scope":"project","date_marker":"2026-01-01T00:00:00Z"}`, `{"id":1}`},
	{"clients.md §6 of one project", "bob", "getthere 1", ``, `404 not_found - Not found.`},
	{"clients.md §6 of one project", "bob", "changethere 1", `{"content":"x"}`, `404 not_found - Not found.`},
	{"clients.md §6 of one project", "bob", "listthere", ``, `{"count":0}`},
	{"clients.md §6 of the organization", "bob", "make", `{"content":"all","scope":"organization","date_marker":"2026-01-02T00:00:00Z","dashboard_id":1}`, `{"id":2}`},
	{"clients.md §6 listed in every project", "bob", "listthere", ``, `{"count":1,"results":[{"id":2,"content":"all","dashboard_name":"Here"}]}`},
	{"clients.md §6 listed in every project", "bob", "makethere", `{"content":"theirs","scope":"dashboard","date_marker":"2026-01-03T00:00:00Z"}`, `{"id":3}`},
	{"clients.md §6 listed in every project", "bob", "listthere", ``, `{"count":2,"results":[{"id":3},{"id":2}]}`},
	{"clients.md §6 and only this one", "bob", "list", ``, `{"count":2,"results":[{"id":2},{"id":1}]}`},
	{"clients.md §6 scope", "bob", "listthere", `{"Scope":"organization"}`, `{"count":1,"results":[{"id":2}]}`},
	{"clients.md §6 changed from each", "cyd", "changethere 2", `{"content":"everyone's"}`, `{"id":2,"content":"everyone's","created_by":{"first_name":"bob"}}`},
	{"clients.md §6 changed from each", "bob", "get 2", ``, `{"content":"everyone's","dashboard_id":1}`},
	{"clients.md §6 a dashboard of its own project", "bob", "changethere 2", `{"dashboard_id":2}`, `400 * dashboard_id Dashboard not found.`},
	{"clients.md §6 a dashboard of its own project", "bob", "changethere 2", `{"dashboard_id":1}`, `{"dashboard_id":1}`},
	{"clients.md §6 deleted from each", "bob", "changethere 2", `{"deleted":true}`, `{"deleted":true}`},
	{"clients.md §6 deleted from each", "bob", "get 2", ``, `404 not_found - Not found.`},
	{"clients.md §6 and back", "bob", "changethere 2", `{"deleted":false}`, `{"deleted":false}`},
	{"clients.md §6 not of the organization any more: where it was made", "bob", "changethere 2", `{"scope":"project"}`, `{"scope":"project"}`},
	{"clients.md §6 not of the organization any more: where it was made", "bob", "getthere 2", ``, `404 not_found - Not found.`},
	{"clients.md §6 not of the organization any more: where it was made", "bob", "get 2", ``, `{"scope":"project","content":"everyone's"}`},
	{"clients.md §6 from the others it does not come back", "bob", "changethere 2", `{"deleted":false}`, `404 not_found - Not found.`},
}

var annotatedInsightRows = rows(
	[]ruletest.Row{
		{"clients.md §6", "gus", "newproject", `{"name":"Second"}`, `{"id":3}`},
		{"clients.md §6", "bob", "insight => it", `{"name":"Sales","derived_name":"Purchases"}`, `{"name":"Sales"}`},
		{"clients.md §6", "bob", "insightthere => that", `{"name":"Other"}`, `{"name":"Other"}`},
		{"clients.md §6 names of the insight", "bob", "make", `{"dashboard_item":<it>}`, `{"id":1,"dashboard_item":<it>,"insight_short_id":"<it.short_id>","insight_name":"Sales","insight_derived_name":"Purchases","dashboard_id":null}`},
	},
	each("clients.md §6 dashboard_item", "bob", "change 1",
		[2]string{`{"content":"x"}`, `{"dashboard_item":<it>,"insight_name":"Sales"}`},
		[2]string{`{"dashboard_item":<that>}`, `400 does_not_exist dashboard_item`},
		[2]string{`{"dashboard_item":"x"}`, `400 does_not_exist dashboard_item`},
		[2]string{`{"dashboard_item":[]}`, `400 does_not_exist dashboard_item`},
		[2]string{`{"dashboard_item":null}`, `{"dashboard_item":null,"insight_short_id":null,"insight_name":null,"insight_derived_name":null}`},
		[2]string{`{"dashboard_item":"<it>"}`, `{"dashboard_item":<it>}`},
		[2]string{`{"insight_name":"mine","insight_short_id":"abcdefgh"}`, `{"insight_name":"Sales","insight_short_id":"<it.short_id>"}`},
	),
	[]ruletest.Row{
		{"clients.md §6 as they are now", "bob", "changeinsight <it>", `{"name":null,"derived_name":"Orders"}`, `{"name":null}`},
		{"clients.md §6 as they are now", "bob", "get 1", ``, `{"insight_name":null,"insight_derived_name":"Orders"}`},
		{"clients.md §6 a deleted insight is not to be had", "bob", "changeinsight <it>", `{"deleted":true}`, `{"deleted":true}`},
		{"clients.md §6 a deleted insight is not to be had", "bob", "make", `{"dashboard_item":<it>}`, `400 does_not_exist dashboard_item`},
		{"clients.md §6 what is on it already stays", "bob", "change 1", `{"content":"y"}`, `{"content":"y","dashboard_item":<it>}`},
	},
)

var annotationLogRows = []ruletest.Row{
	{"§5.11", "bob", "make", `{"content":"Launch"}`, `{"id":1}`},
	{"§5.11 created", "bob", "log Annotation 1", ``, `{"activity":"created","scope":"Annotation","item_id":"1","user":{"first_name":"bob"},"detail":{"name":"Launch"}}`},
	{"§5.11 updated", "cyd", "change 1", `{"emoji":"🎉","scope":"project"}`, `{"emoji":"🎉"}`},
	{"§5.11 updated", "bob", "log Annotation 1", ``, `{"activity":"updated","user":{"first_name":"cyd"},"detail":{"changes":[{"field":"emoji","before":null,"after":"🎉"},{"field":"scope","before":"dashboard_item","after":"project"}]}}`},
	{"§5.11 deleted", "gus", "change 1", `{"deleted":true}`, `{"deleted":true}`},
	{"§5.11 deleted", "bob", "log Annotation 1", ``, `{"user":{"first_name":"gus"},"detail":{"changes":[{"field":"deleted","before":false,"after":true}]}}`},
	{"clients.md §6 updated_at", "bob", "change 1", `{"deleted":false}`, `{"created_at":"2026-01-02T12:00:01Z","updated_at":"2026-01-02T12:00:07Z"}`},
}

// Each calls its function for the actions of a project that are not deleted, with the steps as they
// were sent.
func TestActions_Each(t *testing.T) {
	w := ruletest.New(t, memstore.New(memstore.ExternalData{}))
	w.Run(t, actionCalls(t, w), []ruletest.Row{
		{"clients.md §5.1", "bob", "make", `{"name":"A","steps":[{"event":"a","url":"/x"},{"event":null}]}`, `{"id":1}`},
		{"clients.md §5.1", "bob", "make", `{"name":"Gone"}`, `{"id":2}`},
		{"clients.md §5.1", "bob", "change 2", `{"deleted":true}`, `{"id":2}`},
		{"clients.md §5.1", "dan", "make", `{"name":"Theirs"}`, `{"id":3}`},
		{"clients.md §5.1", "bob", "make", `{}`, `{"id":4}`},
	})
	got := map[int64]string{}
	err := w.Dashboards.Actions.Each(t.Context(), ruletest.Project, func(id int64, name string, steps json.RawMessage) { got[id] = name + " " + string(steps) })
	if err != nil || len(got) != 2 || got[1] != `A [{"event":"a","url":"/x"},{"event":null}]` || got[4] != " []" {
		t.Errorf("%v, %v", got, err)
	}
}

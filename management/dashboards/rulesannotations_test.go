package dashboards_test

import (
	"testing"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/dashboards"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

func TestAnnotations(t *testing.T) {
	for name, rows := range map[string][]ruletest.Row{"fields": annotationFieldRows, "places": annotationPlaceRows, "lists": annotationListRows} {
		t.Run(name, func(t *testing.T) {
			w := ruletest.New(t, memstore.New(memstore.ExternalData{}))
			w.Run(t, annotationCalls(t, w), rows)
		})
	}
}

func annotationCalls(t *testing.T, w *ruletest.World) ruletest.Calls {
	calls, r, ctx := dashboardCalls(t, w), w.Dashboards.Annotations, t.Context()
	calls["make"] = func(scope *management.Scope, _, b string) (any, error) {
		return r.Create(ctx, scope, ruletest.Body(t, b))
	}
	calls["get"] = func(scope *management.Scope, path, _ string) (any, error) { return r.Get(ctx, scope, path) }
	calls["change"] = func(scope *management.Scope, path, b string) (any, error) {
		return r.Update(ctx, scope, path, ruletest.Body(t, b), false)
	}
	calls["list"] = func(scope *management.Scope, _, b string) (any, error) {
		q := dashboards.AnnotationQuery{Page: management.Page{Limit: 1000}}
		ruletest.Read(t, b, &q)
		return ruletest.List(r.List(ctx, scope, q))
	}
	return calls
}

var annotationFieldRows = rows(
	[]ruletest.Row{
		{"clients.md §6 defaults", "bob", "make", `{}`, `{"id":1,"content":null,"date_marker":null,"creation_type":"USR","dashboard_item":null,"dashboard_id":null,"dashboard_name":null,"insight_short_id":null,"insight_name":null,"insight_derived_name":null,"scope":"dashboard_item","emoji":null,"hidden_in_user_interface":null,"deleted":false,"created_at":"2026-01-02T12:00:01Z","updated_at":"2026-01-02T12:00:01Z","created_by":{"first_name":"bob"}}`},
	},
	each("clients.md §6 fields", "bob", "change 1",
		[2]string{`{"content":` + text(8192) + `}`, `{"content":` + text(8192) + `}`},
		[2]string{`{"content":` + text(8193) + `}`, `400 max_length content Ensure this field has no more than 8192 characters.`},
		[2]string{`{"content":null}`, `{"content":null}`},
		[2]string{`{"date_marker":"2026-01-05T00:00:00+02:00"}`, `{"date_marker":"2026-01-04T22:00:00Z"}`},
		[2]string{`{"date_marker":"soon"}`, `400 * date_marker`},
		[2]string{`{"creation_type":"GIT"}`, `{"creation_type":"GIT"}`},
		[2]string{`{"creation_type":"BOT"}`, `400 invalid_choice creation_type`},
		[2]string{`{"scope":"recording"}`, `400 * scope Recording scope is deprecated`},
		[2]string{`{"scope":"insight"}`, `400 invalid_choice scope`},
		[2]string{`{"scope":"project"}`, `{"scope":"project"}`},
		[2]string{`{"emoji":"🎉"}`, `{"emoji":"🎉"}`},
		[2]string{`{"emoji":""}`, `{"emoji":null}`},
		[2]string{`{"emoji":` + text(17) + `}`, `400 max_length emoji`},
		[2]string{`{"hidden_in_user_interface":true}`, `{"hidden_in_user_interface":true}`},
		[2]string{`{"hidden_in_user_interface":null}`, `{"hidden_in_user_interface":null}`},
		[2]string{`{"id":9,"created_by":null,"dashboard_name":"x"}`, `{"id":1,"created_by":{"first_name":"bob"},"dashboard_name":null}`},
	),
	[]ruletest.Row{
		{"clients.md §6 deleted softly", "bob", "change 1", `{"deleted":true}`, `{"deleted":true}`},
		{"clients.md §1.3 then it is gone", "bob", "get 1", ``, `404 not_found - Not found.`},
		{"clients.md §1.3 then it is gone", "bob", "change 1", `{"content":"x"}`, `404 not_found - Not found.`},
		{"clients.md §6 deleted ones are hidden", "bob", "list", ``, `{"count":0}`},
		{"clients.md §6 and come back", "bob", "change 1", `{"deleted":false}`, `{"deleted":false}`},
		{"clients.md §6 and come back", "bob", "list", ``, `{"count":1}`},
		{"clients.md §1.1 no number", "bob", "get x", ``, `404 not_found - Not found.`},
		{"clients.md §1.1 unknown", "bob", "get 99", ``, `404 not_found - Not found.`},
	},
)

var annotationPlaceRows = []ruletest.Row{
	{"clients.md §6", "bob", "create", `{"name":"D"}`, `{"id":1}`},
	{"clients.md §6", "dan", "create", `{"name":"Theirs"}`, `{"id":2}`},
	{"clients.md §6 names of what it is on", "bob", "make", `{"dashboard_id":1,"scope":"dashboard"}`, `{"id":1,"dashboard_id":1,"dashboard_name":"D"}`},
	{"clients.md §6 a dashboard of another project", "bob", "make", `{"dashboard_id":2}`, `400 * dashboard_id Dashboard not found.`},
	{"clients.md §6 of nobody", "bob", "change 1", `{"dashboard_id":77}`, `400 * dashboard_id Dashboard not found.`},
	{"clients.md §6 an insight of nobody", "bob", "change 1", `{"dashboard_item":99}`, `400 does_not_exist dashboard_item`},
	{"clients.md §6 no id", "bob", "change 1", `{"dashboard_item":{"a":1}}`, `400 does_not_exist dashboard_item`},
	{"clients.md §6 and of nothing again", "bob", "change 1", `{"dashboard_item":null,"dashboard_id":null}`, `{"dashboard_item":null,"dashboard_id":null,"dashboard_name":null}`},
	{"clients.md §6 another organization's", "dan", "get 1", ``, `404 not_found - Not found.`},
	{"clients.md §6 another organization's of all projects", "bob", "change 1", `{"scope":"organization"}`, `{"scope":"organization"}`},
	{"clients.md §6 another organization's of all projects", "dan", "get 1", ``, `404 not_found - Not found.`},
	{"clients.md §6 another organization's of all projects", "dan", "list", ``, `{"count":0}`},
}

var annotationListRows = rows(
	[]ruletest.Row{
		{"clients.md §6", "bob", "make", `{"content":"a Launch","date_marker":"2026-01-01T00:00:00Z","scope":"project"}`, `{"id":1}`},
		{"clients.md §6", "bob", "make", `{"content":"b","date_marker":"2026-01-03T12:00:00Z","emoji":"🎉"}`, `{"id":2}`},
		{"clients.md §6", "bob", "make", `{"content":"c","date_marker":"2026-01-02T00:00:00Z","hidden_in_user_interface":true,"scope":"dashboard"}`, `{"id":3}`},
	},
	each("clients.md §6 lists", "bob", "list",
		[2]string{``, `{"count":3,"results":[{"id":2},{"id":3},{"id":1}]}`},
		[2]string{`{"Limit":1,"Offset":1}`, `{"count":3,"results":[{"id":3}]}`},
		[2]string{`{"Search":"launch"}`, `{"count":1,"results":[{"id":1}]}`},
		[2]string{`{"Search":` + text(201) + `}`, `400 max_length search`},
		[2]string{`{"Scope":"project"}`, `{"count":1,"results":[{"id":1}]}`},
		[2]string{`{"Scope":"insight"}`, `{"count":1,"results":[{"id":2}]}`},
		[2]string{`{"Scope":"dashboard_item"}`, `{"count":1,"results":[{"id":2}]}`},
		[2]string{`{"Scope":"x"}`, `400 * scope Invalid scope: x`},
		[2]string{`{"From":"2026-01-02"}`, `{"count":2,"results":[{"id":2},{"id":3}]}`},
		[2]string{`{"To":"2026-01-02T00:00:00Z"}`, `{"count":2,"results":[{"id":3},{"id":1}]}`},
		[2]string{`{"From":"2026-01-02","To":"2026-01-03"}`, `{"count":1,"results":[{"id":3}]}`},
		[2]string{`{"From":"-7d"}`, `400 * date_from Invalid date range: date_from must be a valid ISO 8601 date`},
		[2]string{`{"To":"x"}`, `400 * date_to Invalid date range: date_to must be a valid ISO 8601 date`},
		[2]string{`{"From":"2026-01-03","To":"2026-01-02"}`, `400 * - Invalid date range: date_from must be before date_to`},
		[2]string{`{"Emoji":true}`, `{"count":1,"results":[{"id":2}]}`},
		[2]string{`{"Unseen":true}`, `{"count":1,"results":[{"id":3}]}`},
		[2]string{`{"Unseen":false}`, `{"count":2,"results":[{"id":2},{"id":1}]}`},
	),
)

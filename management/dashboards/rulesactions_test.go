package dashboards_test

import (
	"testing"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

func TestActions(t *testing.T) {
	for name, rows := range map[string][]ruletest.Row{"fields": actionFieldRows, "steps": actionStepRows, "lists": actionListRows} {
		t.Run(name, func(t *testing.T) {
			w := ruletest.New(t, memstore.New(memstore.ExternalData{}))
			w.Run(t, actionCalls(t, w), rows)
		})
	}
}

func actionCalls(t *testing.T, w *ruletest.World) ruletest.Calls {
	r, ctx := w.Dashboards.Actions, t.Context()
	return ruletest.Calls{
		"make": func(scope *management.Scope, _, b string) (any, error) {
			return r.Create(ctx, scope, ruletest.Body(t, b))
		},
		"get": func(scope *management.Scope, path, _ string) (any, error) { return r.Get(ctx, scope, path) },
		"change": func(scope *management.Scope, path, b string) (any, error) {
			return r.Update(ctx, scope, path, ruletest.Body(t, b), false)
		},
		"list": func(scope *management.Scope, _, _ string) (any, error) {
			return ruletest.List(r.List(ctx, scope, management.Page{Limit: ruletest.DefaultPage}))
		},
	}
}

var anAction = ruletest.Row{"clients.md §5.1", "bob", "make", `{"name":"A"}`, `{"id":1,"name":"A","description":"","tags":[],"steps":[],"deleted":false,"post_to_slack":false,"slack_message_format":"","pinned_at":null,"is_action":true,"created_by":{"first_name":"bob"}}`}

var actionFieldRows = rows(
	[]ruletest.Row{anAction},
	each("clients.md §5.1 fields", "bob", "change 1",
		[2]string{`{"name":` + text(400) + `}`, `{"name":` + text(400) + `}`},
		[2]string{`{"name":` + text(401) + `}`, `400 max_length name Ensure this field has no more than 400 characters.`},
		[2]string{`{"name":""}`, `400 blank name This field may not be blank.`},
		[2]string{`{"name":null}`, `{"name":null}`},
		[2]string{`{"name":"A"}`, `{"name":"A"}`},
		[2]string{`{"description":"about"}`, `{"description":"about"}`},
		[2]string{`{"description":""}`, `{"description":""}`},
		[2]string{`{"slack_message_format":` + text(1200) + `}`, `{"slack_message_format":` + text(1200) + `}`},
		[2]string{`{"slack_message_format":` + text(1201) + `}`, `400 max_length slack_message_format Ensure this field has no more than 1200 characters.`},
		[2]string{`{"tags":["B"," b ","", "a"]}`, `{"tags":["b","a"]}`},
		[2]string{`{"pinned_at":"2026-01-05T00:00:00Z"}`, `{"pinned_at":"2026-01-05T00:00:00Z"}`},
		[2]string{`{"pinned_at":null}`, `{"pinned_at":null}`},
		[2]string{`{"id":7,"is_action":false,"team_id":9,"created_by":null}`, `{"id":1,"is_action":true,"created_by":{"first_name":"bob"}}`},
	),
	[]ruletest.Row{
		{"clients.md §5.1 without a name there may be many", "bob", "make", `{}`, `{"id":2,"name":null}`},
		{"clients.md §5.1 without a name there may be many", "bob", "make", `{}`, `{"id":3,"name":null}`},
		{"clients.md §5.1 a name is one's own", "bob", "change 2", `{"name":"A"}`, `400 unique name This project already has an action with this name, ID 1`},
		{"clients.md §5.1 of a deleted one it is free", "bob", "change 1", `{"deleted":true}`, `{"deleted":true}`},
		{"clients.md §5.1 of a deleted one it is free", "bob", "change 2", `{"name":"A"}`, `{"name":"A"}`},
		{"clients.md §5.1 deleted ones are read", "bob", "get 1", ``, `{"deleted":true,"name":"A"}`},
		{"clients.md §1.1 no number", "bob", "get x", ``, `404 not_found - Not found.`},
		{"clients.md §1.1 unknown", "bob", "get 99", ``, `404 not_found - Not found.`},
	},
)

var actionStepRows = rows(
	[]ruletest.Row{anAction},
	each("clients.md §5.2", "bob", "change 1",
		[2]string{`{"steps":[{"event":null,"url":"/a","url_matching":"regex","properties":[]}]}`, `{"steps":[{"event":null,"url":"/a","url_matching":"regex","properties":[]}]}`},
		[2]string{`{"description":"x"}`, `{"steps":[{"event":null,"url":"/a","url_matching":"regex","properties":[]}]}`},
		[2]string{`{"steps":[{"tag_name":"a","text":"Go","text_matching":"exact","href":"/x","href_matching":"contains","selector":"a > b"}]}`, `{"steps":[{"tag_name":"a","text":"Go","text_matching":"exact","href":"/x","href_matching":"contains","selector":"a > b"}]}`},
		[2]string{`{"steps":{}}`, `400 * steps`},
		[2]string{`{"steps":["x"]}`, `400 * steps__0`},
		[2]string{`{"steps":[{},{"text":[]}]}`, `400 * steps__1__text`},
		[2]string{`{"steps":[{"href":` + text(2001) + `}]}`, `400 max_length steps__0__href Ensure this field has no more than 2000 characters.`},
		[2]string{`{"steps":[{"href_matching":"starts"}]}`, `400 * steps__0__href_matching`},
		[2]string{`{"steps":[{"properties":"x"}]}`, `400 * steps__0__properties`},
		[2]string{`{"steps":null}`, `400 null steps This field may not be null.`},
		[2]string{`{"steps":[]}`, `{"steps":[]}`},
	),
)

var actionListRows = rows(
	[]ruletest.Row{
		{"clients.md §5.1", "bob", "make", `{"name":"Z"}`, `{"id":1}`},
		{"clients.md §5.1 the latest first", "bob", "make", `{"name":"Y"}`, `{"id":2}`},
		{"clients.md §5.1 the latest first", "bob", "list", ``, `{"count":2,"results":[{"name":"Y"},{"name":"Z"}]}`},
		{"clients.md §5.1 deleted ones are not listed", "bob", "change 2", `{"deleted":true}`, `{"deleted":true}`},
		{"clients.md §5.1 deleted ones are not listed", "bob", "list", ``, `{"count":1,"results":[{"name":"Z"}]}`},
	},
)

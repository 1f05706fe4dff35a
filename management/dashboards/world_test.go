package dashboards_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/dashboards"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

// The expected values of the tables follow from spec/management.md, in the section that a row has.
// The name of another specification is before its section.

// each and rows shorten tables.
var each, rows = ruletest.Each, slices.Concat[[]ruletest.Row]

// runTables runs the rows of each table in a World of its own.
func runTables(t *testing.T, tables map[string][]ruletest.Row) {
	t.Helper()
	for name, rows := range tables {
		t.Run(name, func(t *testing.T) {
			w := ruletest.New(t, memstore.New(memstore.ExternalData{}))
			w.Run(t, dashboardCalls(t, w), rows)
		})
	}
}

func dashboardCalls(t *testing.T, w *ruletest.World) ruletest.Calls {
	r := w.Dashboards
	ctx := t.Context()
	body := func(text string) management.Body { return ruletest.Body(t, text) }
	query := func(text string, into any) { ruletest.Read(t, text, into) }
	tokens := map[string]string{} // of links, by the names in rows
	return ruletest.Calls{
		"create": func(scope *management.Scope, _, b string) (any, error) { return r.Create(ctx, scope, body(b)) },
		"get":    func(scope *management.Scope, path, _ string) (any, error) { return r.Get(ctx, scope, path) },
		"change": func(scope *management.Scope, path, b string) (any, error) { return r.Update(ctx, scope, path, body(b)) },
		"move": func(scope *management.Scope, path, b string) (any, error) {
			return r.MoveTile(ctx, scope, path, body(b))
		},
		"template": func(scope *management.Scope, _, b string) (any, error) {
			return r.CreateFromTemplate(ctx, scope, body(b))
		},
		"list": func(scope *management.Scope, _, b string) (any, error) {
			q := struct {
				dashboards.Filter
				management.Page
			}{Page: management.Page{Limit: ruletest.DefaultPage}}
			query(b, &q)
			return ruletest.List(r.List(ctx, scope, q.Filter, q.Page))
		},
		"collaborators": func(scope *management.Scope, path, _ string) (any, error) { return r.Collaborators(ctx, scope, path) },
		"add": func(scope *management.Scope, path, b string) (any, error) {
			return r.AddCollaborator(ctx, scope, path, body(b))
		},
		"remove": func(scope *management.Scope, path, _ string) (any, error) {
			dashboard, user, _ := strings.Cut(path, " ")
			return nil, r.RemoveCollaborator(ctx, scope, dashboard, user)
		},
		"sharing": func(scope *management.Scope, path, _ string) (any, error) { return r.Links().Sharing(ctx, scope, path) },
		"share": func(scope *management.Scope, path, b string) (any, error) {
			return r.Links().UpdateSharing(ctx, scope, path, body(b))
		},
		"password": func(scope *management.Scope, path, b string) (any, error) {
			return r.Links().AddSharePassword(ctx, scope, path, body(b))
		},
		"insight":    func(scope *management.Scope, _, b string) (any, error) { return r.Insights.Create(ctx, scope, body(b)) },
		"getinsight": func(scope *management.Scope, path, _ string) (any, error) { return r.Insights.Get(ctx, scope, path) },
		"changeinsight": func(scope *management.Scope, path, b string) (any, error) {
			return r.Insights.Update(ctx, scope, path, body(b))
		},
		"insights": func(scope *management.Scope, _, b string) (any, error) {
			q := dashboards.InsightQuery{Page: management.Page{Limit: ruletest.DefaultPage}}
			query(b, &q)
			return ruletest.List(r.Insights.List(ctx, scope, q))
		},
		"names": func(scope *management.Scope, _, b string) (any, error) { // of insights, in the order of the list
			q := dashboards.InsightQuery{Page: management.Page{Limit: ruletest.DefaultPage}}
			query(b, &q)
			list, err := r.Insights.List(ctx, scope, q)
			names := []string{}
			for _, i := range list.Results {
				names = append(names, *i.Name)
			}
			return names, err
		},
		"duplicate": func(scope *management.Scope, path, _ string) (any, error) {
			return r.Insights.Duplicate(ctx, scope, path)
		},
		"short": func(scope *management.Scope, path, b string) (any, error) { // an insight that is read and changed by its short id
			i, err := r.Insights.Get(ctx, scope, path)
			if err != nil || b == "" {
				return i, err
			}
			return r.Insights.Update(ctx, scope, i.ShortID, body(b))
		},
		"keep": func(scope *management.Scope, path, _ string) (any, error) { // stores the token of a dashboard under a name
			name, dashboard, _ := strings.Cut(path, " ")
			s, err := r.Links().Sharing(ctx, scope, dashboard)
			if err == nil {
				tokens[name] = s.AccessToken
			}
			return s, err
		},
		"refresh": func(scope *management.Scope, path, _ string) (any, error) {
			return r.Links().RefreshSharing(ctx, scope, path)
		},
		"open": func(_ *management.Scope, path, _ string) (any, error) { // with a token and a password
			name, password, _ := strings.Cut(path, " ")
			return r.Shared(ctx, tokens[name], password, nil)
		},
		"same": func(scope *management.Scope, path, _ string) (any, error) { // whether a dashboard's token is a stored one
			name, dashboard, _ := strings.Cut(path, " ")
			s, err := r.Links().Sharing(ctx, scope, dashboard)
			if err != nil {
				return nil, err
			}
			return s.AccessToken == tokens[name], nil
		},
		"droppassword": func(scope *management.Scope, path, _ string) (any, error) {
			dashboard, id, _ := strings.Cut(path, " ")
			return nil, r.Links().DeleteSharePassword(ctx, scope, dashboard, id)
		},
	}
}

// text returns a JSON string of n characters.
func text(n int) string { return `"` + strings.Repeat("x", n) + `"` }

// list returns a JSON array of n items.
func list(n int, item func(i int) string) string {
	items := make([]string, n)
	for i := range items {
		items[i] = item(i)
	}
	return "[" + strings.Join(items, ",") + "]"
}

// numbered returns a function for list that formats the number of an item, which begins at 1.
func numbered(format string) func(int) string {
	return func(i int) string { return fmt.Sprintf(format, i+1) }
}

var bob, cyd, dan, eve = ruletest.UUID("bob"), ruletest.UUID("cyd"), ruletest.UUID("dan"), ruletest.UUID("eve")

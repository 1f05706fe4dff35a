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

// What the tables expect is what spec/management.md says in the section that a row
// names; another specification is named before its section.

// each and rows keep tables short.
var each, rows = ruletest.Each, slices.Concat[[]ruletest.Row]

// ask asks the rows of each table in a World of its own.
func ask(t *testing.T, tables map[string][]ruletest.Row) {
	t.Helper()
	for name, rows := range tables {
		t.Run(name, func(t *testing.T) {
			w := ruletest.New(t, memstore.New(memstore.Outside{}))
			w.Ask(t, dashboardCalls(t, w), rows)
		})
	}
}

func dashboardCalls(t *testing.T, w *ruletest.World) ruletest.Calls {
	r := w.Dashboards
	ctx := t.Context()
	body := func(text string) management.Body { return ruletest.Body(t, text) }
	query := func(text string, into any) { ruletest.Read(t, text, into) }
	tokens := map[string]string{} // of links, by the names that rows give them
	return ruletest.Calls{
		"create": func(st *management.Standing, _, b string) (any, error) { return r.Create(ctx, st, body(b)) },
		"get":    func(st *management.Standing, path, _ string) (any, error) { return r.Get(ctx, st, path) },
		"change": func(st *management.Standing, path, b string) (any, error) { return r.Update(ctx, st, path, body(b)) },
		"move":   func(st *management.Standing, path, b string) (any, error) { return r.MoveTile(ctx, st, path, body(b)) },
		"template": func(st *management.Standing, _, b string) (any, error) {
			return r.CreateFromTemplate(ctx, st, body(b))
		},
		"list": func(st *management.Standing, _, b string) (any, error) {
			q := struct {
				dashboards.Filter
				management.Page
			}{Page: management.Page{Limit: management.DefaultPage}}
			query(b, &q)
			return ruletest.List(r.List(ctx, st, q.Filter, q.Page))
		},
		"collaborators": func(st *management.Standing, path, _ string) (any, error) { return r.Collaborators(ctx, st, path) },
		"add": func(st *management.Standing, path, b string) (any, error) {
			return r.AddCollaborator(ctx, st, path, body(b))
		},
		"remove": func(st *management.Standing, path, _ string) (any, error) {
			dashboard, who, _ := strings.Cut(path, " ")
			return nil, r.RemoveCollaborator(ctx, st, dashboard, who)
		},
		"sharing": func(st *management.Standing, path, _ string) (any, error) { return r.Links().Sharing(ctx, st, path) },
		"share": func(st *management.Standing, path, b string) (any, error) {
			return r.Links().UpdateSharing(ctx, st, path, body(b))
		},
		"password": func(st *management.Standing, path, b string) (any, error) {
			return r.Links().AddSharePassword(ctx, st, path, body(b))
		},
		"insight":    func(st *management.Standing, _, b string) (any, error) { return r.Insights.Create(ctx, st, body(b)) },
		"getinsight": func(st *management.Standing, path, _ string) (any, error) { return r.Insights.Get(ctx, st, path) },
		"changeinsight": func(st *management.Standing, path, b string) (any, error) {
			return r.Insights.Update(ctx, st, path, body(b))
		},
		"insights": func(st *management.Standing, _, b string) (any, error) {
			q := dashboards.InsightQuery{Page: management.Page{Limit: management.DefaultPage}}
			query(b, &q)
			return ruletest.List(r.Insights.List(ctx, st, q))
		},
		"names": func(st *management.Standing, _, b string) (any, error) { // of insights, in the list's order
			q := dashboards.InsightQuery{Page: management.Page{Limit: management.DefaultPage}}
			query(b, &q)
			list, err := r.Insights.List(ctx, st, q)
			names := []string{}
			for _, i := range list.Results {
				names = append(names, *i.Name)
			}
			return names, err
		},
		"duplicate": func(st *management.Standing, path, _ string) (any, error) { return r.Insights.Duplicate(ctx, st, path) },
		"short": func(st *management.Standing, path, b string) (any, error) { // an insight, asked for and changed by its short id
			i, err := r.Insights.Get(ctx, st, path)
			if err != nil || b == "" {
				return i, err
			}
			return r.Insights.Update(ctx, st, i.ShortID, body(b))
		},
		"keep": func(st *management.Standing, path, _ string) (any, error) { // the token of a dashboard, under a name
			name, dashboard, _ := strings.Cut(path, " ")
			s, err := r.Links().Sharing(ctx, st, dashboard)
			if err == nil {
				tokens[name] = s.AccessToken
			}
			return s, err
		},
		"refresh": func(st *management.Standing, path, _ string) (any, error) {
			return r.Links().RefreshSharing(ctx, st, path)
		},
		"open": func(_ *management.Standing, path, _ string) (any, error) { // with a token and a password
			name, password, _ := strings.Cut(path, " ")
			return r.Shared(ctx, tokens[name], password, nil)
		},
		"same": func(st *management.Standing, path, _ string) (any, error) { // whether a dashboard's token is one that was kept
			name, dashboard, _ := strings.Cut(path, " ")
			s, err := r.Links().Sharing(ctx, st, dashboard)
			if err != nil {
				return nil, err
			}
			return s.AccessToken == tokens[name], nil
		},
		"droppassword": func(st *management.Standing, path, _ string) (any, error) {
			dashboard, id, _ := strings.Cut(path, " ")
			return nil, r.Links().DeleteSharePassword(ctx, st, dashboard, id)
		},
	}
}

// text is a JSON text of n characters.
func text(n int) string { return `"` + strings.Repeat("x", n) + `"` }

// list is a JSON array of n items.
func list(n int, item func(i int) string) string {
	items := make([]string, n)
	for i := range items {
		items[i] = item(i)
	}
	return "[" + strings.Join(items, ",") + "]"
}

// numbered is an item of a list with its number.
func numbered(format string) func(int) string {
	return func(i int) string { return fmt.Sprintf(format, i+1) }
}

var bob, cyd, dan, eve = ruletest.UUID("bob"), ruletest.UUID("cyd"), ruletest.UUID("dan"), ruletest.UUID("eve")

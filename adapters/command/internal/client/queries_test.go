package client

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
	"github.com/bunting-flags/bunting/adapters/command/internal/clitest"
)

const queryPath = "POST /api/projects/1/query/"

// A query is SQL, or a file with the extension .json. The result is a table, CSV or the response.
func TestQuery_Command(t *testing.T) {
	t.Parallel()
	const sql = queryPath + ` {"name":"bunting query","query":{"kind":"HogQLQuery","query":"SELECT 1"}}`
	const answer = `{"columns":["event","n"],"results":[["a\tb",1.50],["c,\"d\"",null]]}`
	trends := clitest.TempFile(t, "trends.json", `{"kind": "TrendsQuery", "series": []}`)
	runCommandRows(t, []cli.Command{Query}, map[string]commandRow{
		"a table":   {args: []string{"query", "SELECT 1"}, answers: map[string]string{queryPath: answer}, sent: []string{sql}, stdout: "event n\na b 1.50\nc,\"d\" -"},
		"CSV":       {args: []string{"query", "--csv", "SELECT 1"}, answers: map[string]string{queryPath: answer}, sent: []string{sql}, stdout: "event,n\na b,1.50\n\"c,\"\"d\"\"\","},
		"a file":    {args: []string{"query", trends}, answers: map[string]string{queryPath: `{"results":[]}`}, sent: []string{queryPath + ` {"name":"bunting query","query":{"kind":"TrendsQuery","series":[]}}`}},
		"more rows": {args: []string{"query", "SELECT 1"}, answers: map[string]string{queryPath: `{"columns":["n"],"results":[[1]],"hasMore":true}`}, sent: []string{sql}, stdout: "n\n1", stderr: "warning: the result has more rows than these: add a LIMIT to the query\n"},
		"refused":   {args: []string{"query", "SELECT 1"}, answers: map[string]string{queryPath: `400 {"detail":"position 8: unexpected"}`}, sent: []string{sql}, code: 1, stderr: "bunting: the server answered 400: position 8: unexpected\n"},
		"no file":   {args: []string{"query", "none.json"}, code: 1, stderr: "no such file"},
		"bad JSON":  {args: []string{"query", clitest.TempFile(t, "bad.json", `{`)}, code: 1, stderr: "bad.json is not valid JSON\n"},
		"two words": {args: []string{"query", "SELECT", "1"}, code: 2, stderr: "query: query takes QUERY\n"},
	})
}

// Results without columns are objects: time series have a row for each bucket and a column for each
// series; of other objects each member is a column, in the order of names.
func TestQuery_Rows(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer string
		want   [][]string
	}{
		"columns":               {`{"columns":["a","b"],"results":[["x",{"y": [1,2.0]}],[true,null]]}`, [][]string{{"a", "b"}, {"x", `{"y":[1,2.0]}`}, {"true", ""}}},
		"large numbers":         {`{"columns":["a"],"results":[[12345678901234567890]]}`, [][]string{{"a"}, {"12345678901234567890"}}},
		"no rows":               {`{"columns":["a"],"results":[]}`, [][]string{{"a"}}},
		"no columns":            {`{"columns":[],"results":[]}`, [][]string{{}}},
		"a row of another kind": {`{"columns":["a"],"results":[{"b":1}]}`, [][]string{{"a"}, {}}},
		"nothing":               {`{}`, [][]string{nil}},
		"a series":              {`{"results":[{"label":"x","days":["d1","d2"],"data":[1,2.5]}]}`, [][]string{{"day", "x"}, {"d1", "1"}, {"d2", "2.5"}}},
		"two series":            {`{"results":[{"label":"x","days":["d1"],"data":[1]},{"label":"y","days":["other"],"data":[3]}]}`, [][]string{{"day", "x", "y"}, {"d1", "1", "3"}}},
		"two periods":           {`{"results":[{"label":"x","compare_label":"current","days":["d1"],"data":[1]},{"label":"x","compare_label":"previous","days":["d0"],"data":[2]}]}`, [][]string{{"day", "x (current)", "x (previous)"}, {"d1", "1", "2"}}},
		"a shorter series":      {`{"results":[{"label":"x","days":["d1","d2"],"data":[1,2]},{"label":"y","data":[3]}]}`, [][]string{{"day", "x", "y"}, {"d1", "1", "3"}, {"d2", "2", ""}}},
		"a longer series":       {`{"results":[{"label":"x","days":["d1"],"data":[1]},{"label":"y","data":[3,4]}]}`, [][]string{{"day", "x", "y"}, {"d1", "1", "3"}}},
		"a total":               {`{"results":[{"label":"x","aggregated_value":5}]}`, [][]string{{"aggregated_value", "label"}, {"5", "x"}}},
		"a series of no days":   {`{"results":[{"label":"x","days":[],"data":[]}]}`, [][]string{{"data", "days", "label"}, {"[]", "[]", "x"}}},
		"steps":                 {`{"results":[{"order":0,"name":"a"},{"name":"b","count":2}]}`, [][]string{{"count", "name", "order"}, {"", "a", "0"}, {"2", "b", ""}}},
		"not objects":           {`{"results":[1,"x"]}`, [][]string{nil, {}, {}}},
	} {
		a := decoded[queryAnswer](t, c.answer)
		if diff := cmp.Diff(c.want, a.rows()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Status is for people and monitors: exit code 1 if the server is not ready or refuses the key.
// Values that a key may not read are omitted.
func TestStatus_Command(t *testing.T) {
	t.Parallel()
	const (
		ready    = "GET /_readiness/"
		key      = "GET /api/personal_api_keys/@current/"
		me       = "GET /api/users/@me/"
		all      = "GET /api/projects/1/feature_flags/?limit=1"
		events   = "GET /api/projects/1/events/?limit=1"
		warnings = "GET /api/projects/1/ingestion_warnings/?limit=1"
	)
	full := map[string]string{
		ready: "ok\n", key: `{"label":"CI","mask_value":"phx_a…z","scopes":["*"],"scoped_teams":[1]}`, me: `{"email":"a@b.c"}`,
		all: `{"count":3}`, all + "&active=true": `{"count":2}`, all + "&active=STALE": `{"count":1}`,
		events:   `{"results":[{"event":"sign up","timestamp":"T"}]}`,
		warnings: `{"results":[{"type":"no_name","detail":"","count":4,"last_seen":"W"}]}`,
	}
	with := func(changes map[string]string) map[string]string {
		out := map[string]string{}
		for name, answer := range full {
			out[name] = answer
		}
		for name, answer := range changes {
			if out[name] = answer; answer == "" {
				delete(out, name)
			}
		}
		return out
	}
	const head, tail = "key phx_a…z CI, scopes *, projects 1\nuser a@b.c\nproject 1 (Shop)\n", "flags 3, 2 on, 1 stale\nnewest event T sign up\nnewest warning W no_name, 4 times: -"
	for name, c := range map[string]struct {
		answers map[string]string
		key     string
		code    int
		want    string
	}{
		"everything":       {full, "k", 0, "state ok\n" + head + tail},
		"no key":           {full, "", 0, "state ok"},
		"not ready":        {with(map[string]string{ready: `418 {"detail":"the database is unavailable"}`}), "k", 1, "state not ready (418): the database is unavailable"},
		"a refused key":    {with(map[string]string{key: `401 {"detail":"bad key"}`}), "k", 1, "state ok\nkey the server answered 401: bad key"},
		"few scopes":       {with(map[string]string{me: "", all: "", events: "", warnings: ""}), "k", 0, "state ok\nkey phx_a…z CI, scopes *, projects 1\nproject 1 (Shop)"},
		"one count fails":  {with(map[string]string{all + "&active=STALE": ""}), "k", 0, "state ok\n" + head + strings.TrimPrefix(tail, "flags 3, 2 on, 1 stale\n")},
		"nothing happened": {with(map[string]string{events: `{"results":[]}`, warnings: `{"results":[]}`}), "k", 0, "state ok\n" + head + "flags 3, 2 on, 1 stale\nnewest event none\nnewest warning none"},
		"two projects":     {with(map[string]string{cannedProjects: cannedPage(`{"id":1,"name":"A"}`, `{"id":2,"name":"B"}`)}), "k", 0, "state ok\nkey phx_a…z CI, scopes *, projects 1\nuser a@b.c\nproject no project is given choose one with --project or BUNTING_PROJECT: 1 A 2 B"},
	} {
		s := newCannedServer(t, c.answers)
		r := clitest.Call(context.Background(), []cli.Command{Status}, "", []string{"BUNTING_SERVER=" + s.URL + "/", "BUNTING_KEY=" + c.key}, "status")
		if diff := cmp.Diff("server "+s.URL+"\n"+c.want, squeezed(r.Stdout)); diff != "" || r.Code != c.code || r.Stderr != "" {
			t.Errorf("%s: exit %d, %s (-want +got):\n%s", name, r.Code, r.Stderr, diff)
		}
	}
	s := newCannedServer(t, full)
	s.Close()
	r := clitest.Call(context.Background(), []cli.Command{Status}, "", nil, "status", "--server", s.URL)
	r.Want(t, cli.ExitError, "", "bunting: no answer from "+s.URL+": dial tcp ")
}

// With --json, status prints members for other programs, without empty ones.
func TestStatus_JSON(t *testing.T) {
	t.Parallel()
	s := newCannedServer(t, map[string]string{"GET /_readiness/": "ok"})
	r := clitest.Call(context.Background(), []cli.Command{Status}, "", nil, "status", "--json", "--server", s.URL)
	if got, want := strings.Join(strings.Fields(r.Stdout), ""), `{"server":"`+s.URL+`","state":"ok","ready":true}`; got != want || r.Code != cli.ExitOK {
		t.Errorf("exit %d, %s, want %s", r.Code, got, want)
	}
}

// The project of a command: the one with the number, name or key, or the only one of the key.
func TestProject_Choice(t *testing.T) {
	t.Parallel()
	const (
		keyPath = "GET /api/personal_api_keys/@current/"
		choose  = "choose one with --project or BUNTING_PROJECT:"
	)
	two := cannedPage(`{"id":1,"name":"A","api_token":"phc_a"}`, `{"id":2,"name":"B","api_token":"phc_b"}`)
	same := cannedPage(`{"id":1,"name":"A"}`, `{"id":2,"name":"A"}`, `{"id":3,"name":"C"}`)
	many := make([]string, maxChoice+2)
	for i := range many {
		many[i] = `{"id":7,"name":"N"}`
	}
	for name, c := range map[string]struct {
		answers map[string]string
		named   string
		want    string // the project, or a part of the error
	}{
		"the only one":           {map[string]string{cannedProjects: cannedPage(cannedProject)}, "", "1 (Shop)"},
		"none":                   {map[string]string{cannedProjects: cannedPage()}, "", "the key has no access to any project"},
		"none of that name":      {map[string]string{cannedProjects: cannedPage()}, "A", "the key has no access to any project"},
		"one of two":             {map[string]string{cannedProjects: two}, "", "no project is given\n" + choose + "\n  1  A\n  2  B"},
		"a name":                 {map[string]string{cannedProjects: two}, "B", "2 (B)"},
		"a key":                  {map[string]string{cannedProjects: two}, "phc_a", "1 (A)"},
		"another name":           {map[string]string{cannedProjects: two}, "b", "there is no project \"b\"\n" + choose + "\n  1  A\n  2  B"},
		"two of that name":       {map[string]string{cannedProjects: same}, "A", "several projects have the name \"A\"\n" + choose + "\n  1  A\n  2  A"},
		"a number":               {map[string]string{"GET /api/projects/2/": `{"id":2,"name":"B"}`}, "2", "2 (B)"},
		"the current one":        {map[string]string{"GET /api/projects/@current/": `{"id":2}`}, "@current", "2"},
		"a number as a name":     {map[string]string{"GET /api/projects/7/": "404 {}", cannedProjects: cannedPage(`{"id":1,"name":"7"}`)}, "7", "1 (7)"},
		"a number of nobody":     {map[string]string{"GET /api/projects/7/": "404 {}", cannedProjects: two}, "7", "there is no project \"7\"\n" + choose},
		"may not read it":        {map[string]string{"GET /api/projects/7/": "403 {}"}, "7", "7"},
		"not the current one":    {map[string]string{"GET /api/projects/@current/": "403 {}"}, "@current", "the server answered 403"},
		"a refused key":          {map[string]string{"GET /api/projects/7/": "401 {}"}, "7", "the server answered 401"},
		"a refused list":         {map[string]string{cannedProjects: "401 {}"}, "", "the server answered 401"},
		"the key's only one":     {map[string]string{cannedProjects: "403 {}", keyPath: `{"scoped_teams":[2]}`, "GET /api/projects/2/": `{"id":2,"name":"B"}`}, "", "2 (B)"},
		"the key's two":          {map[string]string{cannedProjects: "403 {}", keyPath: `{"scoped_teams":[2,3]}`, "GET /api/projects/2/": `{"id":2,"name":"B"}`, "GET /api/projects/3/": "403 {}"}, "", "no project is given\n" + choose + "\n  2  B\n  3  -"},
		"a name among the key's": {map[string]string{cannedProjects: "403 {}", keyPath: `{"scoped_teams":[2]}`, "GET /api/projects/2/": `{"id":2,"name":"B"}`}, "B", "2 (B)"},
		"a key of all":           {map[string]string{cannedProjects: `403 {"detail":"needs project:read"}`, keyPath: `{}`}, "", "no project is given, and the key cannot list the projects\ngive it with --project or BUNTING_PROJECT (the server answered 403: needs project:read)"},
		"a key that is refused":  {map[string]string{cannedProjects: "403 {}", keyPath: "401 {}"}, "", "the server answered 401"},
		"very many":              {map[string]string{cannedProjects: cannedPage(many...)}, "", choose + strings.Repeat("\n  7  N", maxChoice) + "\n  and 2 more"},
		"as many as are shown":   {map[string]string{cannedProjects: cannedPage(many[:maxChoice]...)}, "", choose + strings.Repeat("\n  7  N", maxChoice)},
	} {
		s := newCannedServer(t, c.answers)
		client, err := newAPIClient(s.URL, "k")
		if err != nil {
			t.Fatal(err)
		}
		p, err := client.findProject(context.Background(), c.named)
		client.close()
		switch {
		case err != nil && (!strings.Contains(err.Error(), c.want) || strings.HasSuffix(c.want, "B") && !strings.HasSuffix(err.Error(), c.want)):
			t.Errorf("%s: %v, want %s", name, err, c.want)
		case err == nil && p.String() != c.want:
			t.Errorf("%s: %s, want %s", name, p, c.want)
		case slices.ContainsFunc(s.requests, func(r string) bool { return !strings.HasPrefix(r, "GET ") }):
			t.Errorf("%s: sent %q", name, s.requests)
		}
	}
}

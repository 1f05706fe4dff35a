package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
)

var (
	demoCount = regexp.MustCompile(`(\d+) made-up events of (\d+) made-up people`)
	demoLink  = regexp.MustCompile(`http://\S+/shared/\S+`)
)

// demoServer is a server with a first project and the environment for commands.
type demoServer struct {
	*instance
	key, token string
	env        []string
}

func serveForDemo(t *testing.T) *demoServer {
	t.Helper()
	s := &demoServer{instance: serve(t, time.Minute)}
	s.key = printedKey.FindString(s.stdout.String())
	s.env = []string{"BUNTING_SERVER=" + s.url, "BUNTING_KEY=" + s.key}
	var project struct {
		Token string `json:"api_token"`
	}
	s.api("GET", "/api/projects/1/", nil, &project)
	s.token = project.Token
	return s
}

// api sends a request with the owner's key and decodes its response.
func (s *demoServer) api(method, path string, body, into any) {
	s.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		s.t.Fatal(err)
	}
	r, err := http.NewRequest(method, s.url+path, bytes.NewReader(text))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.key)
	r.Header.Set("Content-Type", "application/json")
	status, answer := do(s.t, r)
	if status >= 300 {
		s.t.Fatalf("%s %s: %d %s", method, path, status, answer)
	}
	if into != nil {
		if err := json.Unmarshal([]byte(answer), into); err != nil {
			s.t.Fatalf("%s %s: %v: %s", method, path, err, answer)
		}
	}
}

// sql returns the rows of a query.
func (s *demoServer) sql(text string) (rows [][]any) {
	s.t.Helper()
	var a struct{ Results [][]any }
	s.api("POST", "/api/projects/1/query/", map[string]any{"query": map[string]any{"kind": "HogQLQuery", "query": text}, "refresh": "force_blocking"}, &a)
	return a.Results
}

// capture sends events.
func (s *demoServer) capture(events ...map[string]any) {
	s.t.Helper()
	s.api("POST", "/batch/", map[string]any{"api_key": s.token, "batch": events}, nil)
}

// demoLists are the lists in which the demo has records.
var demoLists = []string{
	"feature_flags", "cohorts", "experiments", "guarded_rollouts", "surveys", "error_tracking/assignment_rules", "insights", "dashboards", "persons",
}

// list returns the records of a list of project 1.
func (s *demoServer) list(name string) []map[string]any {
	s.t.Helper()
	var page struct{ Results []map[string]any }
	s.api("GET", "/api/projects/1/"+name+"/?limit=1000", nil, &page)
	return page.Results
}

// The demo fills a dashboard, which the printed link opens. A second run duplicates nothing, and
// for a project that has events of its own the command requires a confirmation.
func TestDemo_FillsAProjectOnce(t *testing.T) {
	s := serveForDemo(t)
	first := call(t, "", s.env, "demo")
	first.Want(t, cli.ExitOK, "with 6 insights", "made-up events of the last 30 days into project 1")
	if strings.Contains(first.Stderr, "warning") {
		t.Errorf("the command warns: %s", first.Stderr)
	}
	before := map[string]int{}
	for _, name := range demoLists {
		before[name] = len(s.list(name))
	}
	second := call(t, "", s.env, "demo")
	count := demoCount.FindStringSubmatch(second.Stdout)
	if count == nil || demoLink.FindString(first.Stdout) == "" || demoLink.FindString(first.Stdout) != demoLink.FindString(second.Stdout) {
		t.Fatalf("%s\nand then\n%s", first.Stdout, second.Stdout)
	}
	for _, name := range demoLists {
		if n := len(s.list(name)); n != before[name] || n == 0 {
			t.Errorf("%s has %d, and before the second run %d", name, n, before[name])
		}
	}
	const counted = "SELECT count(), uniq(uuid), uniq(distinct_id), countIf(properties.made_up = true) FROM events"
	for _, format := range [][]string{{"--csv"}, nil} {
		args := append(append([]string{"query"}, format...), "SELECT uuid FROM events")
		call(t, "", s.env, args...).Want(t, cli.ExitOK, "uuid", "the result has more rows than these: add a LIMIT")
	}
	if got, want := call(t, "", s.env, "query", "--csv", counted).Stdout, count[1]+","+count[1]+","+count[2]+","+count[1]+"\n"; !strings.HasSuffix(got, want) {
		t.Errorf("there are\n%swant\n%s", got, want)
	}
	var warnings struct{ Results []any }
	s.api("GET", "/api/projects/1/ingestion_warnings/", nil, &warnings)
	if len(warnings.Results) > 0 {
		t.Errorf("warnings: %v", warnings.Results)
	}
	r, err := http.NewRequest("GET", demoLink.FindString(second.Stdout), nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/html")
	_, page := do(t, r)
	for _, want := range []string{"Everything here is made up", `<polyline class="line c0"`, `fill="url(#t1-p1)"`, `class="big"`, "2. signed up", "% of the first", `class="n h10">100%`, "Chrome"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %s:\n%s", want, page)
		}
	}
	if strings.Contains(page, `role="status"`) {
		t.Errorf("a tile is not filled:\n%s", page)
	}
	s.capture(map[string]any{"event": "real", "distinct_id": "ann"})
	call(t, "", s.env, "demo").Want(t, cli.ExitUsage, "", "Mix made-up events with the existing 1 event in project 1 (Default project)? There is no terminal to confirm this: add --yes")
	call(t, "", s.env, "demo", "--yes", "--json").Want(t, cli.ExitOK, `"created": 0`, "in project 1")
}

// The demo has what the product is about: flags whose calls have the values that the server returns, an
// experiment with a significant result, a guarded rollout at a half, answers, and an assigned error. The
// console has a page for each record.
func TestDemo_ShowsTheProduct(t *testing.T) {
	s := serveForDemo(t)
	r := call(t, "", s.env, "demo", "--json")
	r.Want(t, cli.ExitOK, `"records"`, "in project 1")
	var result struct {
		Records []struct{ Kind, Name, URL string }
	}
	if err := json.Unmarshal([]byte(r.Stdout), &result); err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for _, record := range result.Records {
		kinds[record.Kind]++
		if !strings.HasPrefix(record.URL, s.url+"/console/p/1/") {
			t.Errorf("%s has the link %s", record.Name, record.URL)
		}
	}
	want := map[string]int{"flag": 6, "cohort": 1, "experiment": 1, "guarded rollout": 1, "survey": 1, "assignment rule": 1, "error": 1, "dashboard": 1, "insight": 6}
	if fmt.Sprint(kinds) != fmt.Sprint(want) {
		t.Errorf("records %v, want %v", kinds, want)
	}

	calls := s.sql("SELECT distinct_id, properties.$feature_flag, properties.$feature_flag_response FROM events WHERE event = '$feature_flag_called' ORDER BY distinct_id LIMIT 400")
	values := map[string]map[string]any{}
	for _, row := range calls {
		id, flag := row[0].(string), row[1].(string)
		if values[id] == nil {
			var a struct {
				FeatureFlags map[string]any `json:"featureFlags"`
			}
			s.api("POST", "/flags?v=1", map[string]any{"api_key": s.token, "distinct_id": id}, &a)
			values[id] = a.FeatureFlags
		}
		if got := fmt.Sprint(row[2]); got != fmt.Sprint(values[id][flag]) {
			t.Errorf("%s got %v for %s, and the server decides %v", id, got, flag, values[id][flag])
		}
	}
	if len(calls) < 400 {
		t.Errorf("there are %d calls of flags", len(calls))
	}

	var results struct {
		Exposures struct {
			Timeseries []struct{ Days []string }
		}
		Mismatch bool
		Primary  []struct {
			Variants []struct{ Better, Significant bool }
		}
	}
	s.api("GET", "/api/projects/1/experiments/1/results/", nil, &results)
	if len(results.Exposures.Timeseries) != 2 || len(results.Exposures.Timeseries[0].Days) != 30 || results.Mismatch ||
		len(results.Primary) != 1 || !results.Primary[0].Variants[0].Better || !results.Primary[0].Variants[0].Significant {
		t.Errorf("results of the experiment: %+v", results)
	}
	rollout := s.list("guarded_rollouts")[0]
	if rollout["status"] != "running" || rollout["step"] != 2.0 {
		t.Errorf("the rollout is %v at step %v", rollout["status"], rollout["step"])
	}
	issue := s.list("error_tracking/issues")[0]
	if issue["name"] != "TypeError" || issue["assignee"] == nil || issue["count"].(float64) < 10 {
		t.Errorf("the issue is %v", issue)
	}
	if sent := s.sql("SELECT count() FROM events WHERE event = 'survey sent'")[0][0].(float64); sent < 20 {
		t.Errorf("%v people have answered the survey", sent)
	}
}

// bunting demo --remove deletes what the demo has created and nothing else. Afterwards the demo can be
// created again.
func TestDemo_Remove(t *testing.T) {
	s := serveForDemo(t)
	const flags = "/api/projects/1/feature_flags/"
	s.api("POST", flags, map[string]any{"key": "demo-mine", "tags": []string{"made"}, "filters": map[string]any{"groups": []any{map[string]any{}}}, "_should_create_usage_dashboard": false}, nil)
	s.api("POST", "/api/projects/1/experiments/", map[string]any{"name": "Demo: mine", "feature_flag_key": "mine"}, nil)
	s.api("POST", "/api/projects/1/cohorts/", map[string]any{"name": "Demo: mine", "is_static": true}, nil)
	s.api("POST", "/api/projects/1/surveys/", map[string]any{"name": "Demo: mine", "type": "api", "questions": []any{map[string]any{"type": "open", "question": "Why?"}}}, nil)
	s.api("POST", "/api/projects/1/insights/", map[string]any{"name": "Page views", "description": "made-up"}, nil)
	s.api("POST", "/api/projects/1/dashboards/", map[string]any{"name": "Demo (made-up data)"}, nil)
	s.api("POST", "/api/projects/1/error_tracking/assignment_rules/", map[string]any{"filters": map[string]any{"type": "AND", "values": []any{map[string]any{"type": "event", "key": "$exception_types", "operator": "exact", "value": []string{"TypeError"}}}}}, nil)
	s.capture(map[string]any{"event": "real", "distinct_id": "ann", "properties": map[string]any{"$set": map[string]any{"made_up": true}}})
	before := map[string]string{}
	snapshot := func(name string) string {
		list := s.list(name)
		for _, record := range list {
			delete(record, "order_key") // of rules: the number of rules before
			delete(record, "last_calculation")
		}
		text, err := json.MarshalIndent(list, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for _, name := range demoLists {
		before[name] = snapshot(name)
	}

	call(t, "", s.env, "demo", "--yes").Want(t, cli.ExitOK, "made-up people", "in project 1")
	shared := s.sql("SELECT distinct_id, count() FROM events WHERE event = 'order placed' GROUP BY distinct_id ORDER BY distinct_id LIMIT 1")[0][0].(string)
	s.capture(map[string]any{"event": "$create_alias", "distinct_id": shared, "properties": map[string]any{"alias": "ben"}}) // the person is no longer only the demo's
	remaining := s.sql("SELECT count() FROM events WHERE distinct_id = '" + shared + "' AND properties.made_up IS NOT NULL")[0][0].(float64)
	call(t, "", s.env, "demo", "--remove").Want(t, cli.ExitUsage, "", "with their events in project 1 (Default project)? There is no terminal to confirm this: add --yes")
	r := call(t, "", s.env, "demo", "--remove", "--yes")
	r.Want(t, cli.ExitOK, "18 made-up records", "in project 1")
	if want := fmt.Sprintf("%v made-up events are left", remaining); !strings.Contains(r.Stdout, want) {
		t.Errorf("no %q in\n%s", want, r.Stdout)
	}
	for _, name := range demoLists {
		after := snapshot(name)
		if name == "persons" {
			if n := strings.Count(after, `"uuid"`); n != 2 || !strings.Contains(after, `"ben"`) || !strings.Contains(after, `"ann"`) {
				t.Errorf("persons: %s", after)
			}
			continue
		}
		if after != before[name] {
			t.Errorf("%s were\n%s\nand are\n%s", name, before[name], after)
		}
	}
	if got := s.sql("SELECT count() FROM events WHERE event = 'real'")[0][0]; got != 1.0 {
		t.Errorf("%v foreign events are left", got)
	}
	if got := s.sql("SELECT count() FROM events WHERE properties.made_up IS NOT NULL AND distinct_id != '" + shared + "'")[0][0]; got != 0.0 {
		t.Errorf("%v made-up events are left", got)
	}
	call(t, "", s.env, "demo", "--remove").Want(t, cli.ExitOK, "0 made-up records and 0 made-up people", "in project 1")
	call(t, "", s.env, "demo", "--yes", "--json").Want(t, cli.ExitOK, `"created": 18`, "in project 1")
}

// Nothing is written if the key lacks a scope, or if a flag of the user has a key of the demo.
func TestDemo_WritesAllOrNothing(t *testing.T) {
	s := serveForDemo(t)
	var key struct{ Value string }
	s.api("POST", "/api/personal_api_keys/", map[string]any{"label": "narrow", "scoped_teams": []int{}, "scoped_organizations": []string{}, "scopes": []string{
		"project:read", "query:read", "feature_flag:write", "cohort:write", "experiment:write", "error_tracking:write", "insight:write", "dashboard:write",
		"sharing_configuration:write", "organization:read", "user:read"}}, &key)
	narrow := []string{"BUNTING_SERVER=" + s.url, "BUNTING_KEY=" + key.Value}
	call(t, "", narrow, "demo").Want(t, cli.ExitError, "", "the key lacks survey:write")
	call(t, "", narrow, "demo", "--remove", "--yes").Want(t, cli.ExitError, "", "the key lacks survey:write, person:write")
	s.api("POST", "/api/projects/1/feature_flags/", map[string]any{"key": "demo-banner", "filters": map[string]any{"groups": []any{map[string]any{}}}, "_should_create_usage_dashboard": false}, nil)
	call(t, "", s.env, "demo").Want(t, cli.ExitError, "", "the project has a flag demo-banner that bunting demo did not make")
	if flags, events := len(s.list("feature_flags")), s.sql("SELECT count() FROM events")[0][0]; flags != 1 || events != 0.0 {
		t.Errorf("there are %d flags and %v events", flags, events)
	}
}

// Events that would count towards a quota are not sent.
func TestDemo_SparesQuotas(t *testing.T) {
	s := serveForDemo(t)
	s.api("PATCH", "/api/organizations/@current/", map[string]any{"quotas": map[string]any{"events": 1000}}, nil)
	r := call(t, "", s.env, "demo")
	r.Want(t, cli.ExitOK, "of the last three days are left out, since they would count towards a quota", "in project 1")
	if used := s.sql("SELECT count() FROM events WHERE timestamp > now() - INTERVAL 3 DAY")[0][0]; used != 0.0 {
		t.Errorf("%v events are younger than three days", used)
	}
	call(t, "", s.env, "usage").Want(t, cli.ExitOK, "events         0 ", "")
}

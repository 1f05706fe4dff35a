//go:build sdk

package sdktest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi/sdktest/internal/served"
)

// agent is PostHog's toolkit for agents, on which its MCP server is based.
type agent struct {
	*node
	used map[string]bool // the tools that were used successfully
}

func (a *agent) try(tool string, params object) (text, failure string) {
	a.t.Helper()
	var got struct{ Text, Refused string }
	a.do("call", object{"tool": tool, "params": params}, &got)
	return got.Text, got.Refused
}

// call uses a tool, which must succeed, and decodes its result into a value.
func (a *agent) call(tool string, params object, into any) string {
	a.t.Helper()
	text, failure := a.try(tool, params)
	if failure != "" {
		a.t.Fatalf("%s refuses %v: %s", tool, params, failure)
	}
	a.used[tool] = true
	if into == nil {
		return text
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		a.t.Fatalf("%s: %v in %s", tool, err, text)
	}
	return text
}

// unsupportedTools are tools that require the vendor's own models and warehouses.
var unsupportedTools = []string{"query-generate-hogql-from-question", "docs-search"}

// spec/clients.md §14.1: every tool of @posthog/agent-toolkit works with Bunting. The toolkit's own
// schemas check the responses.
func TestAgentToolkit(t *testing.T) {
	s := served.New(t, "testdata/capture.json")
	a := &agent{startScript(t, "agent.mjs"), map[string]bool{}}
	var tools []string
	a.do("open", object{"host": s.URL, "key": served.OrganizationKey}, &tools)
	if len(tools) < 40 {
		t.Fatalf("the key opens the tools %q", tools)
	}
	now := time.Now().UTC().Truncate(time.Second)
	captureOf(t, s, now)
	a.workspace()
	a.flags()
	a.queries(now)
	a.dashboards()
	a.surveys()
	a.experiments()
	for _, tool := range tools {
		if !a.used[tool] && !slices.Contains(unsupportedTools, tool) {
			t.Errorf("%s was not tried", tool)
		}
	}
	if _, failure := a.try("query-generate-hogql-from-question", object{"question": "how many?"}); !strings.Contains(failure, "404") {
		t.Errorf("a question for the vendor's model: %q, want 404", failure)
	}
}

// captureOf captures events: two page views and a purchase of ann, one page view of bob, and an
// exception of each.
func captureOf(t *testing.T, s *served.Server, now time.Time) {
	t.Helper()
	sentAt := now.Add(-time.Hour).Format(time.RFC3339)
	exception := object{"$exception_list": []any{object{"type": "TypeError", "value": "x is not a function"}}, "$lib": "posthog-node", "$session_id": "s1"}
	var batch []any
	for _, e := range []struct {
		name, who  string
		properties object
	}{
		{"$pageview", "ann", object{"$browser": "Firefox"}}, {"$pageview", "ann", object{"$browser": "Firefox"}}, {"$pageview", "bob", object{"$browser": "Chrome"}},
		{"purchase", "ann", object{"amount": 12.5}}, {"$exception", "ann", exception}, {"$exception", "bob", exception},
		{"$ai_generation", "ann", object{"$ai_total_cost_usd": 0.25, "$ai_model": "m"}},
	} {
		batch = append(batch, object{"event": e.name, "distinct_id": e.who, "timestamp": sentAt, "properties": e.properties})
	}
	body, err := json.Marshal(object{"api_key": served.ProjectKey, "historical_migration": true, "batch": batch})
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.Post(s.URL+"/batch/", "application/json", bytes.NewReader(body))
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatal(res, err)
	}
	_ = res.Body.Close()
	for deadline := time.Now().Add(served.WaitTimeout); len(s.Issues()) == 0; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("there is no issue of the exceptions")
		}
	}
}

func (a *agent) workspace() {
	var organizations []struct{ ID, Name string }
	a.call("organizations-get", object{}, &organizations)
	if len(organizations) != 1 || organizations[0].Name != "SDK capture tests" {
		a.t.Fatalf("organizations %+v", organizations)
	}
	a.call("switch-organization", object{"orgId": organizations[0].ID}, nil)
	a.call("organization-details-get", object{}, nil)
	var projects []struct {
		ID   int
		Name string
	}
	a.call("projects-get", object{}, &projects)
	if len(projects) != 1 || projects[0].ID != 1 {
		a.t.Fatalf("projects %+v", projects)
	}
	a.call("switch-project", object{"projectId": 1}, nil)
	if text := a.call("event-definitions-list", object{}, nil); !strings.Contains(text, "purchase") {
		a.t.Errorf("events %s", text)
	}
	if text := a.call("properties-list", object{"type": "event", "eventName": "purchase"}, nil); !strings.Contains(text, "amount") {
		a.t.Errorf("properties %s", text)
	}
}

func (a *agent) flags() {
	groups := object{"groups": []any{object{"properties": []any{object{"key": "email", "value": "@example.com", "operator": "icontains"}}, "rollout_percentage": 50}}}
	a.call("create-feature-flag", object{"name": "New checkout", "key": "new-checkout", "description": "by an agent", "filters": groups, "active": true, "tags": []any{"agents"}}, nil)
	if text := a.call("feature-flag-get-definition", object{"flagKey": "new-checkout"}, nil); !strings.Contains(text, "icontains") {
		a.t.Errorf("the flag %s", text)
	}
	a.call("update-feature-flag", object{"flagKey": "new-checkout", "data": object{"active": false}}, nil)
	if text := a.call("feature-flag-get-all", object{}, nil); !strings.Contains(text, "new-checkout") || !strings.Contains(text, "for-pro") {
		a.t.Errorf("flags %s", text)
	}
	a.call("delete-feature-flag", object{"flagKey": "new-checkout"}, nil)
	if text := a.call("feature-flag-get-all", object{}, nil); strings.Contains(text, "new-checkout") {
		a.t.Errorf("flags %s", text)
	}
}

func (a *agent) queries(now time.Time) {
	week := object{"date_from": "-7d"}
	pageviews := object{"kind": "EventsNode", "event": "$pageview", "custom_name": "Views"}
	for name, c := range map[string]struct {
		query object
		want  string // a pattern
	}{
		"trends":  {object{"kind": "InsightVizNode", "source": object{"kind": "TrendsQuery", "dateRange": week, "series": []any{pageviews}}}, `"count":\s*3`},
		"funnel":  {object{"kind": "InsightVizNode", "source": object{"kind": "FunnelsQuery", "dateRange": week, "series": []any{pageviews, object{"kind": "EventsNode", "event": "purchase", "custom_name": "Bought"}}, "funnelsFilter": object{"funnelOrderType": "strict"}}}, `"count":\s*2`},
		"HogQL":   {object{"kind": "DataVisualizationNode", "source": object{"kind": "HogQLQuery", "query": "SELECT properties.$browser, count() FROM events WHERE event = '$pageview' GROUP BY properties.$browser ORDER BY count() DESC", "filters": object{"dateRange": week}}}, `\[\s*"Firefox",\s*2\s*\],\s*\[\s*"Chrome",\s*1`},
		"unknown": {object{"kind": "DataVisualizationNode", "source": object{"kind": "HogQLQuery", "query": "SELECT nothing FROM nowhere"}}, ""},
	} {
		text, failure := a.try("query-run", object{"query": c.query})
		if c.want == "" {
			if !strings.Contains(failure, "Validation error") {
				a.t.Errorf("%s: %s%s, want a refusal", name, text, failure)
			}
			continue
		}
		if failure != "" || !regexp.MustCompile(c.want).MatchString(text) {
			a.t.Errorf("%s: %s%s, want %s in it", name, text, failure, c.want)
		}
	}
	a.used["query-run"] = true
	costs := a.call("get-llm-total-costs-for-project", object{"projectId": 1, "days": 7}, nil)
	if !strings.Contains(costs, "0.25") {
		a.t.Errorf("costs %s", costs)
	}
	var issues []struct {
		ID, Name, Library string
		Aggregations      struct{ Occurrences, Users, Sessions int }
	}
	a.call("list-errors", object{"filterTestAccounts": false, "orderBy": "users"}, &issues)
	if len(issues) != 1 || issues[0].Name != "TypeError" || issues[0].Library != "posthog-node" || issues[0].Aggregations != struct{ Occurrences, Users, Sessions int }{2, 2, 1} {
		a.t.Fatalf("errors %+v", issues)
	}
	id := issues[0].ID
	a.call("error-details", object{"issueId": id, "dateFrom": now.AddDate(0, 0, -1).Format(time.RFC3339)}, &issues)
	if len(issues) != 1 || issues[0].ID != id {
		a.t.Errorf("error %+v", issues)
	}
}

func (a *agent) dashboards() {
	var insight struct {
		ID       int
		ShortID  string `json:"short_id"`
		Name     string
		Favorite bool `json:"favorited"`
	}
	query := object{"kind": "InsightVizNode", "source": object{"kind": "TrendsQuery", "series": []any{object{"kind": "EventsNode", "event": "$pageview"}}}}
	a.call("insight-create-from-query", object{"data": object{"name": "Views", "query": query, "favorited": true, "tags": []any{"agents"}}}, &insight)
	if insight.Name != "Views" || insight.ShortID == "" {
		a.t.Fatalf("the insight %+v", insight)
	}
	a.call("insight-update", object{"insightId": insight.ShortID, "data": object{"name": "All views", "query": query}}, nil)
	if text := a.call("insight-get", object{"insightId": insight.ShortID}, nil); !strings.Contains(text, "All views") {
		a.t.Errorf("the insight %s", text)
	}
	if text := a.call("insights-get-all", object{"data": object{"search": "views", "favorited": true, "limit": 10}}, nil); !strings.Contains(text, "All views") {
		a.t.Errorf("insights %s", text)
	}
	if text := a.call("insight-query", object{"insightId": insight.ShortID}, nil); !regexp.MustCompile(`"count":\s*3`).MatchString(text) {
		a.t.Errorf("the insight's answer %s", text)
	}
	var dashboard struct{ ID int }
	a.call("dashboard-create", object{"data": object{"name": "Agents", "description": "", "pinned": true, "tags": []any{"agents"}}}, &dashboard)
	a.call("dashboard-update", object{"dashboardId": dashboard.ID, "data": object{"name": "Of agents"}}, nil)
	a.call("add-insight-to-dashboard", object{"data": object{"insightId": insight.ShortID, "dashboardId": dashboard.ID}}, nil)
	if text := a.call("dashboard-get", object{"dashboardId": dashboard.ID}, nil); !strings.Contains(text, "Of agents") || !strings.Contains(text, insight.ShortID) {
		a.t.Errorf("the dashboard %s", text)
	}
	if text := a.call("dashboards-get-all", object{"data": object{"limit": 5, "search": "agents", "pinned": true}}, nil); !strings.Contains(text, "Of agents") {
		a.t.Errorf("dashboards %s", text)
	}
	a.call("dashboard-delete", object{"dashboardId": dashboard.ID}, nil)
	a.call("insight-delete", object{"insightId": insight.ShortID}, nil)
}

func (a *agent) surveys() {
	var survey struct{ ID string }
	a.call("survey-create", object{
		"name": "Why?", "type": "popover", "questions": []any{
			object{"type": "open", "question": "Why?"},
			object{"type": "rating", "question": "How much?", "display": "number", "scale": 10, "lowerBoundLabel": "no", "upperBoundLabel": "yes"},
			object{"type": "single_choice", "question": "Which?", "choices": []any{"this", "that"}},
		},
		"targeting_flag_filters": object{"groups": []any{object{"properties": []any{object{"key": "plan", "value": []any{"pro", "team"}, "operator": "in"}}, "rollout_percentage": 100}}},
	}, &survey)
	a.call("survey-update", object{"surveyId": survey.ID, "name": "Why not?", "responses_limit": 5, "start_date": "2026-01-01T00:00:00Z"}, nil)
	if text := a.call("survey-get", object{"surveyId": survey.ID}, nil); !strings.Contains(text, "Why not?") {
		a.t.Errorf("the survey %s", text)
	}
	if text := a.call("surveys-get-all", object{"search": "why", "limit": 5}, nil); !strings.Contains(text, survey.ID) {
		a.t.Errorf("surveys %s", text)
	}
	if text := a.call("survey-stats", object{"survey_id": survey.ID, "date_from": "2026-01-01T00:00:00Z"}, nil); !strings.Contains(text, "response_rate") {
		a.t.Errorf("its statistics %s", text)
	}
	a.call("surveys-global-stats", object{}, nil)
	a.call("survey-delete", object{"surveyId": survey.ID}, nil)
}

func (a *agent) experiments() {
	metric := func(kind string, more object) object {
		m := object{"name": kind, "metric_type": kind, "event_name": "purchase"}
		for k, v := range more {
			m[k] = v
		}
		return m
	}
	var experiment struct{ ID int }
	a.call("experiment-create", object{
		"name": "Checkout", "description": "by an agent", "feature_flag_key": "checkout",
		"primary_metrics":   []any{metric("mean", nil), metric("funnel", object{"funnel_steps": []any{"$pageview", "purchase"}})},
		"secondary_metrics": []any{metric("ratio", nil)},
	}, &experiment)
	a.call("experiment-update", object{"experimentId": experiment.ID, "data": object{"launch": true}}, nil)
	if text := a.call("experiment-get", object{"experimentId": experiment.ID}, nil); !strings.Contains(text, "checkout") {
		a.t.Errorf("the experiment %s", text)
	}
	if text := a.call("experiment-get-all", object{}, nil); !strings.Contains(text, "Checkout") {
		a.t.Errorf("experiments %s", text)
	}
	var results struct {
		Metrics struct {
			Primary, Secondary struct {
				Count   int
				Results []json.RawMessage
			}
		}
	}
	a.call("experiment-results-get", object{"experimentId": experiment.ID, "refresh": true}, &results)
	if m := results.Metrics; len(m.Primary.Results) != 2 || len(m.Secondary.Results) != 1 {
		a.t.Errorf("results %s, %s", m.Primary.Results, m.Secondary.Results)
	}
	a.call("experiment-update", object{"experimentId": experiment.ID, "data": object{"name": "Checkouts", "conclude": "inconclusive", "conclusion_comment": "too few"}}, nil)
	a.call("experiment-delete", object{"experimentId": experiment.ID}, nil)
}

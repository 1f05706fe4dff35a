package httpapi_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/adapters/httpapi"
)

// accessObjects are the kinds of objects that access rules apply to (clients.md §11.3), by the
// first segment of their paths, with the body of a request that creates one with the name Zebra.
var accessObjects = map[string]struct{ kind, body string }{
	"actions":       {"action", `{"name": "Zebra"}`},
	"cohorts":       {"cohort", `{"name": "Zebra", "is_static": true}`},
	"dashboards":    {"dashboard", `{"name": "Zebra"}`},
	"experiments":   {"experiment", `{"name": "Zebra", "feature_flag_key": "zebra-experiment"}`},
	"feature_flags": {"feature_flag", `{"key": "zebra", "filters": {"groups": [{"properties": [], "rollout_percentage": 100}]}}`},
	"insights":      {"insight", `{"name": "Zebra", "query": {"kind": "TrendsQuery", "series": [{"kind": "EventsNode"}]}}`},
	"surveys":       {"survey", `{"name": "Zebra", "type": "api", "questions": [{"type": "open", "question": "Zebra?"}]}`},
}

// pathsWithoutRules are the first segments of other paths of a project: access rules do not apply
// to them, or are tested in testdata/management/accesscontrols.json.
var pathsWithoutRules = map[string]string{
	"access_controls": "rules", "resource_access_controls": "rules", "global_access_controls": "rules", "users_with_access": "rules",
	"activity_log":         "a kind of its own, in accesscontrols.json",
	"changes":              "as the log, in feeds_test.go",
	"early_access_feature": "flags, in accesscontrols.json", "scheduled_changes": "flags, in accesscontrols.json", "change_requests": "flags, in accesscontrols.json", "guarded_rollouts": "flags, in accesscontrols.json",
	"experiment_holdouts":      "as all experiments, in experimentholdouts.json",
	"experiment_saved_metrics": "as all experiments, in experimentmetrics.json",
	"query":                    "insights, in accesscontrols.json",
	"annotations":              "of their own; the names of what they are about are hidden",
	"alerts":                   "of their own; an insight that is hidden is left out",
	"batch_exports":            "", "error_tracking": "", "event_definitions": "", "events": "", "groups": "", "groups_types": "", "import": "", "ingestion_warnings": "", "integrations": "",
	"persons": "", "property_definitions": "", "session_recordings": "",
}

// accessWalk is an office with one object of each kind, created by the owner, and a member who has
// the same level on all of them.
type accessWalk struct {
	*office
	ids map[string]string // by the first segment of the path
	db  *sql.DB
}

func newAccessWalk(t *testing.T, level string) *accessWalk {
	t.Helper()
	file := filepath.Join(t.TempDir(), "office.db")
	w := &accessWalk{office: newOffice(t, "sqlite:"+file), ids: map[string]string{}}
	do := func(request, body string) json.RawMessage {
		t.Helper()
		status, answer := w.ask(t, manageStep{Request: request, Body: json.RawMessage(body)})
		if status >= 300 {
			t.Fatalf("%s %s: %d %s", request, body, status, answer)
		}
		return answer
	}
	for segment, object := range accessObjects {
		var created struct{ ID json.RawMessage }
		if err := json.Unmarshal(do("POST /api/projects/1/"+segment+"/", object.body), &created); err != nil {
			t.Fatal(err)
		}
		w.ids[segment] = strings.Trim(string(created.ID), `"`)
		do("PUT /api/projects/1/resource_access_controls/", fmt.Sprintf(`{"resource": %q, "access_level": %q}`, object.kind, levelOf(object.kind, level)))
	}
	do("POST /api/projects/1/annotations/", fmt.Sprintf(`{"content": "x", "dashboard_item": %q, "dashboard_id": %s}`, w.ids["insights"], w.ids["dashboards"]))
	var alert struct{ ID string }
	if err := json.Unmarshal(do("POST /api/projects/1/alerts/", fmt.Sprintf(`{"name": "x", "insight": %q, "subscribed_users": [], "threshold": {"configuration": {"type": "absolute"}}}`, w.ids["insights"])), &alert); err != nil {
		t.Fatal(err)
	}
	w.ids["alerts"] = alert.ID
	for _, segment := range []string{"dashboards", "insights"} {
		do("GET /api/projects/1/"+segment+"/"+w.ids[segment]+"/sharing/", "") // which creates a token
	}
	w.ask(t, manageStep{As: "member", Request: "GET /api/projects/1/dashboards/"})
	var err error
	if w.db, err = sql.Open("sqlite", "file:"+file); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.db.Close() })
	return w
}

// levelOf returns the level to set for a kind; for actions it is at least viewer (clients.md
// §11.1).
func levelOf(kind, level string) string {
	if kind == "action" && level == "none" {
		return "viewer"
	}
	return level
}

// try sends the request of an endpoint as the member.
func (w *accessWalk) try(t *testing.T, e *httpapi.EndpointForTest, segment string) (int, string) {
	t.Helper()
	id := unknownUUID
	if w.ids[segment] != "" {
		id = w.ids[segment]
	}
	s := manageStep{As: "member", Request: e.Method + " " + walkPath(e.Path, id)}
	if e.Takes != nil {
		s.Body = json.RawMessage(`{}`)
	}
	status, body := w.ask(t, s)
	return status, string(body)
}

// Every route of a project checks a level (clients.md §11.3): with none an object is 403 and absent
// from all other responses, viewer may read, editor may write, manager may change rules.
func TestManagement_EveryRouteKnowsLevels(t *testing.T) {
	const mayNot = "You do not have %s access to this resource."
	for _, all := range []string{"none", "viewer", "editor", "manager"} {
		t.Run(all, func(t *testing.T) {
			w := newAccessWalk(t, all)
			before := contents(t, w.db)
			rows := httpapi.EndpointsForTest()
			slices.SortStableFunc(rows, func(a, b httpapi.EndpointForTest) int { // deletions run last
				return strings.Count(a.Method, http.MethodDelete) - strings.Count(b.Method, http.MethodDelete)
			})
			for _, e := range rows {
				if !e.InProject || e.Scope == "public" {
					continue
				}
				segment, rest, _ := strings.Cut(strings.TrimPrefix(e.Path, "/api/projects/{project}/"), "/")
				object, hasRules := accessObjects[segment]
				if _, isListed := pathsWithoutRules[segment]; !hasRules && !isListed {
					t.Errorf("%s %s: nothing says whether access rules are about it: ruledPaths of accesscontrols.go, and this test's tables", e.Method, e.Path)
					continue
				}
				logs := strings.HasPrefix(e.Scope, "activity_log")
				writes, named := !strings.HasSuffix(e.Scope, ":read"), strings.HasPrefix(rest, "{")
				level := levelOf(object.kind, all)
				low := level == "none" || level == "viewer"
				if all == "viewer" && (strings.Contains(rest, "/viewed") || strings.HasSuffix(strings.TrimSuffix(rest, "/"), "follow")) { // a user's own record of viewed and followed objects
					continue
				}
				if !hasRules && low && (writes || e.Method != http.MethodGet) {
					continue
				}
				status, body := w.try(t, &e, segment)
				rules := strings.HasPrefix(e.Scope, "access_control")
				isForbidden := func(what string) bool {
					return status == http.StatusForbidden && strings.Contains(body, fmt.Sprintf(mayNot, what))
				}
				switch {
				case level == "none" && !writes && !logs && segment != "actions" && segment != "access_controls" && strings.Contains(strings.ToLower(body), "zebra"):
					t.Errorf("%s %s shows what nobody may see: %s", e.Method, e.Path, body)
				case !hasRules:
				case level == "none" && named && (!writes || rules):
					if !isForbidden("viewer") {
						t.Errorf("%s %s: %d %s, want a refusal", e.Method, e.Path, status, body)
					}
				case low && writes && !rules:
					if !isForbidden("editor") {
						t.Errorf("%s %s: %d %s, want a refusal", e.Method, e.Path, status, body)
					}
				case rules && writes && level != "manager":
					if !strings.Contains(body, "Must be manager to modify "+object.kind+" permissions.") {
						t.Errorf("%s %s: %d %s, want a refusal", e.Method, e.Path, status, body)
					}
				case status == http.StatusForbidden:
					t.Errorf("%s %s: %d %s", e.Method, e.Path, status, body)
				}
			}
			if all == "none" || all == "viewer" {
				if diff := difference(before, contents(t, w.db)); diff != "" {
					t.Errorf("who may not write has changed something: %s", diff)
				}
			}
		})
	}
}

// All routes below a project without access are closed (clients.md §11.2).
func TestManagement_EveryRouteOfAClosedProject(t *testing.T) {
	w := newAccessWalk(t, "manager")
	if status, body := w.ask(t, manageStep{Request: "PUT /api/projects/1/access_controls/", Body: json.RawMessage(`{"access_level": "none"}`)}); status != http.StatusOK {
		t.Fatal(status, string(body))
	}
	for _, e := range httpapi.EndpointsForTest() {
		if !e.InProject || e.Scope == "public" {
			continue
		}
		segment, _, _ := strings.Cut(strings.TrimPrefix(e.Path, "/api/projects/{project}/"), "/")
		if status, body := w.try(t, &e, segment); status != http.StatusForbidden || !strings.Contains(body, "You don't have access to the project.") {
			t.Errorf("%s %s: %d %s", e.Method, e.Path, status, body)
		}
	}
}

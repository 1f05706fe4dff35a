package browsertest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// J10 (console.md §1.2): lines of the log and their changes name users, roles and objects instead of
// their ids.
func TestActivity_Names(t *testing.T) {
	s := serve(t)
	s.banner()
	var support struct{ ID string }
	s.api("POST", "/api/organizations/@current/roles/", map[string]any{"name": "Support"}, &support)
	var members struct {
		Results []struct {
			ID   string
			User struct {
				ID    int
				Email string
			}
		}
	}
	s.api("GET", "/api/organizations/@current/members/", nil, &members)
	owner := members.Results[0]
	always := map[string]any{"type": "AND", "values": []any{map[string]any{"type": "event", "key": "a", "operator": "is_set", "value": "is_set"}}}
	const rules = "/api/projects/1/error_tracking/assignment_rules/"
	var rule struct{ ID string }
	s.api("POST", rules, map[string]any{"filters": always}, nil)
	s.api("POST", rules, map[string]any{"filters": always, "assignee": map[string]any{"type": "role", "id": support.ID}}, &rule)
	s.api("PATCH", rules+rule.ID+"/", map[string]any{"assignee": map[string]any{"type": "user", "id": owner.User.ID}}, nil)
	s.api("PUT", "/api/projects/1/feature_flags/1/access_controls/", map[string]any{"access_level": "viewer", "role": support.ID}, nil)
	s.api("PUT", "/api/projects/1/feature_flags/1/access_controls/", map[string]any{"access_level": "manager", "role": support.ID}, nil)
	s.api("PUT", "/api/projects/1/resource_access_controls/", map[string]any{"access_level": "viewer", "resource": "dashboard", "organization_member": owner.ID}, nil)
	s.api("PUT", "/api/projects/1/access_controls/", map[string]any{"access_level": "member", "role": support.ID}, nil)

	p := s.open(t, "p/1/activity")
	p.node("table", "Activity", "cell", "Created banner Flag")
	p.waitLoaded()
	rows := func() []string {
		return js[[]string](p, `[...document.querySelectorAll("table[aria-label=Activity] > tbody > tr")].map(r => r.cells[2].innerText)`)
	}
	want := []string{
		"Created Default project: Support Access rule", "Created Dashboards: " + owner.User.Email + " Access rule", "Updated banner: Support Access rule", "Created banner: Support Access rule",
		"Updated " + owner.User.Email + " Assignment rule", "Created Support Assignment rule", "Created nobody Assignment rule", "Created banner Flag",
	}
	if got := rows(); !slices.Equal(got, want) {
		t.Errorf("the log has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, cell := range []string{"Role Support", owner.User.Email, "May view", "May manage"} {
		if len(p.all(p.node("table", "Activity"), "cell", cell)) == 0 {
			t.Errorf("no change names %q", cell)
		}
	}
	uuid := regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-`)
	if text := js[string](p, "document.querySelector('main').innerText"); uuid.MatchString(text) {
		t.Errorf("the log has ids:\n%s", text)
	}
	p.accessible()
	p.choose("Assignment rules", "combobox", "What")
	eventually(t, "only rules", func() bool { return len(rows()) == 3 })
	js[any](p, `document.querySelector("table[aria-label=Activity] tbody a").click()`)
	p.node("heading", "Assignment rules")
}

// B.2, J10: changes name the objects that they refer to by number: tiles by the titles of their insights,
// cohorts in queries, and flags.
func TestActivity_NamesOfObjects(t *testing.T) {
	s := serve(t)
	// Without a dashboard of its own, so that those below have the first numbers.
	s.api("POST", "/api/projects/1/feature_flags/", map[string]any{"key": "banner", "_should_create_usage_dashboard": false, "filters": map[string]any{"groups": []any{map[string]any{}}}}, nil)
	s.api("POST", "/api/projects/1/cohorts/", map[string]any{"name": "Paying", "filters": map[string]any{"properties": map[string]any{"type": "AND", "values": []any{map[string]any{"type": "person", "key": "plan", "operator": "exact", "value": []string{"pro"}}}}}}, nil)
	s.api("POST", "/api/projects/1/dashboards/", map[string]any{"name": "Board"}, nil)
	trends := func(properties ...any) map[string]any {
		return map[string]any{"kind": "TrendsQuery", "properties": properties, "series": []any{map[string]any{"kind": "EventsNode", "event": "signed up"}}}
	}
	for _, name := range []string{"Signups", "Orders"} {
		s.api("POST", "/api/projects/1/insights/", map[string]any{"name": name, "query": trends(), "dashboards": []int{1}}, nil)
	}
	s.api("POST", "/api/projects/1/dashboards/1/reorder_tiles/", map[string]any{"tile_order": []int{2, 1}}, nil)
	s.api("PATCH", "/api/projects/1/dashboards/1/", map[string]any{"restriction_level": 37}, nil)
	s.api("PATCH", "/api/projects/1/insights/1/", map[string]any{"query": trends(map[string]any{"type": "cohort", "key": "id", "operator": "in", "value": 1})}, nil)
	var survey struct{ ID string }
	s.api("POST", "/api/projects/1/surveys/", map[string]any{"name": "Why", "type": "popover", "questions": []any{map[string]any{"type": "open", "question": "Why?"}}}, &survey)
	s.api("PATCH", "/api/projects/1/surveys/"+survey.ID+"/", map[string]any{"linked_flag_id": 1}, nil)

	p := s.open(t, "p/1/activity")
	p.node("table", "Activity", "cell", "Created banner Flag")
	for thing, want := range map[string][]string{
		"Updated Board Dashboard": {"Tiles Signups, Orders Orders, Signups", "Who may edit Everyone in the project Only collaborators"},
		"Updated Signups Insight": {"in cohort Paying"},
		"Updated Why Survey":      {"Linked flag added – banner"},
	} {
		for _, text := range want {
			eventually(t, thing+" with "+text, func() bool {
				return js[bool](p, fmt.Sprintf(`[...document.querySelectorAll("table[aria-label=Activity] > tbody > tr")].some(r => r.cells[2].innerText === %q && r.cells[3].innerText.replace(/\s+/g, " ").includes(%q))`, thing, text))
			})
		}
	}
}

package browsertest

import (
	"encoding/json"
	"net/url"
	"testing"
)

// Strings that an attacker may send. They close the element, the attribute and the title that may
// contain them, and run if they are interpreted as HTML, SVG or an address.
const (
	attack     = `"'></a></title></textarea><script>attacked=1</script><img src=x onerror=attacked=1><svg onload=attacked=1>`
	attackLink = `javascript:attacked=1//https://example.com`
)

// Threat "XSS" of console.md §5.4: strings of users and events contain markup and javascript:
// addresses in every position. No script runs, no part of them becomes an element, and links lead
// only to http(s). The page itself causes no policy violations and no requests to other origins.
func TestAttack_StoredTexts(t *testing.T) {
	s := serve(t)
	p := s.open(t, "p/1/live")
	p.node("status", "Connected")
	s.attackByEvents()
	p.node("table", "Live events", "button", "order "+attack)
	p.checkUnharmed("", true)
	p.click("table", "Live events", "button", "order "+attack)
	p.node("dialog", "order "+attack, "table", "Properties", "cell", attackLink)
	p.checkUnharmed("", true)

	var persons struct{ Results []struct{ UUID string } }
	var issues, rows struct{ Results []struct{ ID string } }
	s.api("GET", "/api/projects/1/persons/", nil, &persons)
	eventually(t, "an issue and a warning", func() bool {
		s.api("GET", "/api/projects/1/error_tracking/issues/", nil, &issues)
		s.api("GET", "/api/projects/1/ingestion_warnings/", nil, &rows)
		return len(issues.Results) == 1 && len(rows.Results) == 1
	})
	person := "p/1/people/" + persons.Results[0].UUID
	group := "p/1/groups/0/" + url.PathEscape(attack) + "/"
	for _, path := range []string{
		"p/1/events", "p/1/people", person, person + "/properties", "p/1/groups", group, "p/1/errors", "p/1/errors/" + issues.Results[0].ID, "p/1/warnings",
	} {
		p.checkUnharmed(path, true)
	}
	attack := url.QueryEscape(attack)
	for _, path := range []string{"p/1/events?event=" + attack + "&person=" + attack + "&after=" + attack, "p/1/people?search=" + attack, "p/1/flags?search=" + attack, "p/1/warnings?type=" + attack} {
		p.checkUnharmed(path, true)
	}
	p.checkUnharmed("p/"+attack+"/flags", false)
	p.expect("404 GET /api/projects/1/error_tracking/issues/")
	p.checkUnharmed("p/1/errors/"+attack, false)
}

// The same for strings of team members: names, descriptions, rules, and the breakdown of an
// insight.
func TestAttack_RecordsOfMembers(t *testing.T) {
	s := serve(t)
	s.attackByEvents()
	ids := s.attackByMembers()
	p := s.open(t, "p/1")
	for _, path := range []string{
		"p/1/flags", "p/1/flags/1", "p/1/insights", "p/1/insights/1", "p/1/dashboards", "p/1/dashboards/1", "p/1/cohorts", "p/1/cohorts/1",
		"p/1/experiments", "p/1/experiments/1", "p/1/errors/rules", "p/1/surveys", "p/1/surveys/" + ids["surveys"], "p/1/early-access", "p/1/early-access/" + ids["early_access_feature"],
		"p/1/exports", "p/1/exports/" + ids["batch_exports"], "p/1/activity", "p/1/why?flag=banner&person=" + url.QueryEscape(attack),
	} {
		p.checkUnharmed(path, true)
	}
	for _, path := range []string{"p/1", "p/1/flags/1/history", "account", "organization/members", "p/1/settings"} {
		p.checkUnharmed(path, false)
	}
	p.click("button", "Search")
	p.fill("attacked", "combobox", "Search")
	p.checkUnharmed("", false)
}

// attackByEvents sends the attack in every string of an event.
func (s *server) attackByEvents() {
	s.t.Helper()
	set := map[string]any{"email": attack + attackLink, "name": attack, attack: attackLink, "plan": attack, "avatar": "data:image/svg+xml," + attack}
	properties := map[string]any{
		"$set": set, "plan": attack, attack: attack, "$current_url": attackLink, "$referrer": "data:text/html," + attack, "$user_agent": attack, "$browser": attack, "nested": map[string]any{attack: []string{attack}},
	}
	s.capture(
		map[string]any{"event": "order " + attack, "distinct_id": attack, "properties": properties},
		map[string]any{"event": "$groupidentify", "distinct_id": attack, "properties": map[string]any{"$group_type": "company", "$group_key": attack, "$group_set": map[string]any{"plan": attack}}},
		map[string]any{"event": "$exception", "distinct_id": attack, "properties": map[string]any{"$exception_fingerprint": "<svg onload=attacked=1>", "$exception_list": []any{map[string]any{"type": attack, "value": attack}}}},
		map[string]any{"event": "$$client_ingestion_warning", "distinct_id": "<img src=x onerror=attacked=1>", "properties": map[string]any{"$$client_ingestion_warning_message": attack}},
	)
}

// attackByMembers creates an object of each kind with the attack, and returns the ids of some.
func (s *server) attackByMembers() map[string]string {
	s.t.Helper()
	condition := map[string]any{"properties": []any{map[string]any{"key": attack, "type": "person", "operator": "exact", "value": []string{attack}}}}
	query := map[string]any{"kind": "InsightVizNode", "source": map[string]any{
		"kind": "TrendsQuery", "series": []any{map[string]any{"kind": "EventsNode", "event": "order " + attack, "custom_name": attack}}, "breakdownFilter": map[string]any{"breakdown": "plan", "breakdown_type": "event"},
	}}
	rule := map[string]any{"type": "AND", "values": []any{map[string]any{"type": "event", "key": attack, "operator": "exact", "value": attack}}}
	leaf := map[string]any{"key": "plan", "type": "person", "operator": "exact", "value": []string{attack}}
	ids := map[string]string{}
	for _, r := range []struct {
		kind string
		body map[string]any
	}{
		{"feature_flags", map[string]any{"key": "banner", "name": attack, "tags": []string{attack}, "_should_create_usage_dashboard": false, "filters": map[string]any{"groups": []any{condition}}}},
		{"dashboards", map[string]any{"name": attack, "description": attack}},
		{"insights", map[string]any{"name": attack, "query": query, "dashboards": []int{1}}},
		{"cohorts", map[string]any{"name": attack, "description": attack, "filters": map[string]any{"properties": map[string]any{"type": "OR", "values": []any{map[string]any{"type": "AND", "values": []any{leaf}}}}}}},
		{"experiments", map[string]any{"name": attack, "feature_flag_key": "tried", "description": attack}},
		{"error_tracking/assignment_rules", map[string]any{"filters": rule}},
		{"surveys", map[string]any{"name": attack, "description": attack, "type": "popover", "questions": []any{map[string]any{"type": "open", "question": attack}}, "conditions": map[string]any{"url": attackLink}}},
		{"early_access_feature", map[string]any{"name": attack, "description": attack, "stage": "beta"}},
		{"batch_exports", map[string]any{"name": attack, "interval": "hour", "destination": map[string]any{"type": "Files", "config": map[string]any{"path": "x"}}}},
	} {
		var created struct{ ID json.RawMessage }
		s.api("POST", "/api/projects/1/"+r.kind+"/", r.body, &created)
		var id string
		_ = json.Unmarshal(created.ID, &id) // numbers are counted from 1
		ids[r.kind] = id
	}
	s.api("PATCH", "/api/projects/1/", map[string]any{"name": attack}, nil)
	s.api("PATCH", "/api/users/@me/", map[string]any{"first_name": attack}, nil)
	return ids
}

// checkUnharmed visits a path, unless it is empty, and checks that the attack appears only as text.
// If visible is set, main or a dialog must contain it in its text or its fields.
func (p *page) checkUnharmed(path string, visible bool) {
	p.t.Helper()
	if path != "" {
		p.visit(path)
	}
	p.waitLoaded()
	if visible {
		eventually(p.t, "the attack as a text of "+path, func() bool {
			return js[bool](p, `[...document.querySelectorAll("main, dialog")].some(m => m.textContent.includes("attacked=1") || [...m.querySelectorAll("input, textarea, select")].some(i => i.value.includes("attacked=1")))`)
		})
	}
	const harm = `(() => {
		if (window.attacked) return "a script ran";
		const made = document.querySelector(":is(header, nav, main, dialog, [role=status]) :is(script, img, iframe, object, embed, base, [onerror], [onload], [srcdoc])") ?? document.querySelector("svg svg, svg script");
		if (made) return "it became " + made.outerHTML;
		const link = [...document.links].find(a => !["http:", "https:"].includes(a.protocol));
		return link ? "a link leads to " + link.href : "";
	})()`
	if got := js[string](p, harm); got != "" {
		p.t.Errorf("%s: %s", js[string](p, "location.pathname"), got)
	}
}

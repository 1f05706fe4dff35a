package browsertest

import "testing"

// capture sends events with the project's key.
func (s *server) capture(events ...map[string]any) {
	s.t.Helper()
	s.api("POST", "/batch/", map[string]any{"api_key": s.publicKey, "batch": events}, nil)
}

// Events and groups (console.md §2.3 and §3.7): empty, filtered, one of them whole;
// filters stand in the address, and the person is a distinct id (C3).
func TestEventsAndGroups(t *testing.T) {
	s := serve(t)
	p := s.open(t, "p/1/events")
	p.node("heading", "No events yet")
	p.accessible()
	p.visit("p/1/groups")
	p.node("heading", "No groups yet")
	p.accessible()

	s.person("ana", map[string]any{"email": "ana@example.com"})
	s.capture(
		map[string]any{"event": "order placed", "distinct_id": "ana", "timestamp": "2026-01-02T09:30:00Z", "properties": map[string]any{"amount": 49, "note": "<b>now</b>"}},
		map[string]any{"event": "$groupidentify", "distinct_id": "ben", "properties": map[string]any{"$group_type": "company", "$group_key": "acme.com", "$group_set": map[string]any{"plan": "pro"}}},
	)
	condition := map[string]any{"properties": []any{map[string]any{"key": "plan", "type": "group", "group_type_index": 0, "operator": "exact", "value": []string{"pro"}}}}
	s.api("POST", "/api/projects/1/feature_flags/", map[string]any{"key": "seats", "filters": map[string]any{"aggregation_group_type_index": 0, "groups": []any{condition}}}, nil)

	p.visit("p/1/events")
	p.node("table", "Events", "cell", "$groupidentify")
	p.node("table", "Events", "columnheader", "Properties")
	p.accessible()
	p.click("button", "Show order placed")
	p.node("dialog", "order placed", "table", "Properties", "cell", "<b>now</b>")
	p.accessible()
	p.click("dialog", "order placed", "button", "Close")
	p.fill("order placed", "combobox", "Event")
	p.enter()
	p.gone("cell", "$groupidentify")
	p.fill("2026-01-02 09:31", "textbox", "After")
	p.enter()
	p.node("heading", "No events match")
	if got := js[string](p, "decodeURIComponent(location.search)"); got != "?event=order+placed&after=2026-01-02+09:31" {
		t.Errorf("the address has %q", got)
	}
	p.accessible()
	p.click("button", "Clear filters")
	p.node("cell", "$groupidentify")
	p.visit("p/1/events?person=ana&before=2026-01-02+09:31")
	p.node("table", "Events", "cell", "order placed")
	p.gone("cell", "$groupidentify")
	p.fill("yesterday", "textbox", "After")
	p.enter()
	eventually(t, "a fault of a time", func() bool { return js[bool](p, "!!document.querySelector('[aria-invalid=true]')") })

	p.visit("p/1/groups")
	p.node("combobox", "Group type")
	p.accessible()
	p.click("link", "acme.com")
	p.node("heading", "acme.com")
	p.node("table", "Properties", "cell", "pro")
	p.node("table", "Flags", "cell", "true")
	p.accessible()
	p.visit("p/1/groups/0/acme.com/")
	p.node("table", "Flags", "cell", "true")
	p.visit("p/1/groups/0/nobody")
	p.node("heading", "Not found")
	p.accessible()
}

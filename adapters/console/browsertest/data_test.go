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

// J10 (console.md §1.2, §3.8): a question is asked, its chart and table follow each
// choice, and it is saved; what other clients stored stays. The numbers are counted by
// hand: four orders of two people.
func TestInsights(t *testing.T) {
	s := serve(t)
	p := s.open(t, "p/1/insights")
	p.node("heading", "No insights yet")
	p.accessible()
	s.person("ana", map[string]any{"plan": "pro"})
	s.person("ben", map[string]any{"plan": "free"})
	for _, who := range []string{"ana", "ana", "ana", "ben"} {
		s.capture(map[string]any{"event": "order placed", "distinct_id": who})
	}
	s.capture(map[string]any{"event": "cart opened", "distinct_id": "ben"})
	p.click("link", "New insight")
	p.node("heading", "New insight")
	if got := js[string](p, "document.activeElement.labels?.[0]?.innerText ?? document.activeElement.tagName"); got != "Name" {
		t.Errorf("the focus is on %q, want Name", got)
	}
	p.click("button", "Save")
	eventually(t, "a fault of the name", func() bool { return js[bool](p, "!!document.querySelector('[aria-invalid=true]')") })
	p.fill("Orders", "textbox", "Name")
	p.fill("order placed", "combobox", "Event")
	p.enter()
	total := func(column int) string {
		return js[string](p, "document.querySelector('table[aria-label=Values] tfoot tr')?.cells["+string(rune('0'+column))+"]?.innerText ?? ''")
	}
	eventually(t, "a total of 4 orders", func() bool { return total(1) == "4" })
	p.node("image", "Chart: Orders")
	p.accessible()
	p.choose("People", "combobox", "Count")
	eventually(t, "2 people", func() bool { return total(1) == "2" })
	p.choose("Events", "combobox", "Count")
	p.fill("plan (person)", "combobox", "Break down by")
	p.enter()
	p.node("table", "Values", "columnheader", "pro")
	eventually(t, "3 orders of pro and 1 of free", func() bool { return total(1)+total(2)+total(3) == "314" })
	p.choose("Bars", "combobox", "Chart")
	p.accessible()
	p.click("button", "Save")
	p.says("Saved")
	p.node("heading", "Orders")
	var saved struct {
		Name  string
		Query struct {
			Kind   string
			Source struct{ TrendsFilter struct{ Display string } }
		}
	}
	s.api("GET", "/api/projects/1/insights/1/", nil, &saved)
	if saved.Name != "Orders" || saved.Query.Kind != "InsightVizNode" || saved.Query.Source.TrendsFilter.Display != "ActionsBar" {
		t.Errorf("saved is %+v", saved)
	}

	p.choose("Funnel", "combobox", "Kind")
	p.click("button", "Add series")
	p.fill("cart opened", "group", "Step 2", "combobox", "Event")
	p.enter()
	p.node("table", "Values", "columnheader", "Of the first")
	for _, kind := range []string{"Retention", "Lifecycle", "Stickiness", "Trend"} {
		p.choose(kind, "combobox", "Kind")
		p.settled()
		p.node("table", "Values")
	}
	p.click("button", "Duplicate")
	p.click("alertdialog", "Leave without saving?", "button", "Leave")
	p.node("heading", "Orders (Copy)")
	p.click("button", "Delete")
	p.click("alertdialog", "Delete Orders (Copy)?", "button", "Delete")
	p.click("button", "Undo")
	p.node("heading", "Orders (Copy)")
	p.click("link", "Insights")
	p.node("table", "Insights", "link", "Orders")
	p.accessible()
}

package browsertest

import (
	"net/http"
	"testing"
	"time"
)

// capture sends events with the project's key.
func (s *server) capture(events ...map[string]any) {
	s.t.Helper()
	s.api("POST", "/batch/", map[string]any{"api_key": s.publicKey, "batch": events}, nil)
}

// Events and groups (console.md §2.3 and §3.7): empty lists, filtered lists, and a single event.
// Filters are part of the address, and the person is a distinct id (C3).
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
	p.waitRemoved("cell", "$groupidentify")
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
	p.waitRemoved("cell", "$groupidentify")
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
	// The server selects the flags for groups of this type.
	if all, selected := p.countRequests("feature_flags/?"), p.countRequests("aggregation_group_type_index=0"); all != 1 || selected != 1 {
		t.Errorf("%d lists of flags were requested, %d of them with the type of the group", all, selected)
	}
	p.visit("p/1/groups/0/nobody")
	p.node("heading", "Not found")
	p.accessible()
}

// J9 (console.md §1.2, §3.7): live events are displayed, filtered, paused and cleared, and a single
// event is opened.
func TestLive(t *testing.T) {
	s := serve(t)
	p := s.open(t, "p/1/live")
	p.node("heading", "Live events")
	p.node("status", "Connected")
	p.node("heading", "Waiting for events")
	p.accessible()
	s.capture(map[string]any{"event": "order placed", "distinct_id": "ana", "properties": map[string]any{"note": "<b>now</b>"}})
	p.node("table", "Live events", "cell", "order placed")
	p.node("table", "Live events", "columnheader", "Person")
	p.accessible()
	p.click("table", "Live events", "button", "order placed")
	p.node("dialog", "order placed", "table", "Properties", "cell", "<b>now</b>")
	p.click("dialog", "order placed", "button", "Close")
	p.click("button", "Pause")
	p.node("status", "Paused")
	s.capture(map[string]any{"event": "seen", "distinct_id": "ben"})
	p.click("button", "Clear")
	p.node("heading", "Waiting for events")
	p.click("button", "Resume")
	p.node("status", "Connected")
	p.node("table", "Live events", "cell", "seen")
	p.waitRemoved("cell", "order placed") // it was cleared
	p.fill("order placed", "searchbox", "Filter by event")
	p.enter()
	p.node("table", "Live events", "cell", "order placed")
	p.waitRemoved("cell", "seen")
}

// J10 (console.md §1.2, §3.8): an insight's chart and table follow each choice, and it is saved;
// members stored by other clients are preserved. The numbers are counted by hand: four orders of
// two people.
func TestInsights(t *testing.T) {
	s := serve(t)
	p := s.open(t, "p/1/insights")
	p.node("heading", "No insights yet")
	p.accessible()
	s.person("ana", map[string]any{"plan": "pro"})
	s.person("ben", map[string]any{"plan": "free"})
	for _, person := range []string{"ana", "ana", "ana", "ben"} {
		s.capture(map[string]any{"event": "order placed", "distinct_id": person})
	}
	s.capture(map[string]any{"event": "cart opened", "distinct_id": "ben"})
	p.click("button", "New insight")
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
	p.waitAnnounced("Saved")
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

	insightKinds(p)
}

// insightKinds selects the kinds of an insight, copies it, and deletes the copy.
func insightKinds(p *page) {
	p.t.Helper()
	p.choose("Funnel", "combobox", "Kind")
	p.click("button", "Add series")
	p.fill("cart opened", "group", "Step 2", "combobox", "Event")
	p.enter()
	p.node("table", "Values", "columnheader", "Of the first")
	for _, kind := range []string{"Retention", "Lifecycle", "Stickiness", "Trend"} {
		p.choose(kind, "combobox", "Kind")
		p.waitLoaded()
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

// J10: tiles on a dashboard, one period for all of them, their order, and a public link that gets a
// password later (console.md §3.8).
func TestDashboards(t *testing.T) {
	s := serve(t)
	p := s.open(t, "p/1/dashboards")
	p.node("heading", "No dashboards yet")
	p.accessible()
	s.capture(map[string]any{"event": "order placed", "distinct_id": "ana"}, map[string]any{"event": "order placed", "distinct_id": "ana", "timestamp": time.Now().Add(-72 * time.Hour)})
	query := map[string]any{"kind": "TrendsQuery", "series": []any{map[string]any{"kind": "EventsNode", "event": "order placed"}}, "trendsFilter": map[string]any{"display": "BoldNumber"}}
	for _, name := range []string{"Orders", "Sales"} {
		s.api("POST", "/api/projects/1/insights/", map[string]any{"name": name, "query": query}, nil)
	}
	p.click("button", "New dashboard")
	p.fill("Shop", "dialog", "New dashboard", "textbox", "Name")
	p.accessible()
	p.click("dialog", "New dashboard", "button", "Create")
	p.node("heading", "Shop")
	p.node("heading", "No tiles yet")
	for _, name := range []string{"Orders", "Sales"} {
		p.click("button", "Add tile")
		p.fill(name, "dialog", "Add tile", "combobox", "Insight")
		p.click("dialog", "Add tile", "button", "Add")
		p.node("region", name, "image", "Chart: "+name)
	}
	number := func() string { return js[string](p, "document.querySelector('.big-numbers strong').innerText") }
	eventually(t, "2 orders in a week", func() bool { return number() == "2" })
	p.choose("Last 24 hours", "combobox", "Period")
	eventually(t, "1 order in a day", func() bool { return number() == "1" })
	if got := js[string](p, "location.search"); got != "?period=-24h" {
		t.Errorf("the address has %q, want ?period=-24h", got)
	}
	p.accessible()
	p.click("region", "Orders", "button", "Show table")
	p.node("region", "Orders", "table", "Values")
	p.node("region", "Orders", "button", "Show chart")
	p.click("region", "Orders", "button", "More about Orders")
	p.click("menuitem", "Move back")
	first := func() string {
		var got struct {
			Tiles []struct{ Insight struct{ Name string } }
		}
		s.api("GET", "/api/projects/1/dashboards/1/", nil, &got)
		return got.Tiles[0].Insight.Name
	}
	eventually(t, "Sales as the first tile", func() bool { return first() == "Sales" })

	createSharedLink(s, p)
}

// createSharedLink creates a link of a dashboard, and sets its password.
func createSharedLink(s *server, p *page) {
	t := s.t
	t.Helper()
	p.click("button", "Share")
	p.click("dialog", "Share dashboard", "switch", "Public link")
	p.node("dialog", "Share dashboard", "textbox", "Link")
	link := js[string](p, "document.querySelector('dialog input[readonly]').value")
	shared := func() int {
		got, err := http.Get(link)
		if err != nil {
			t.Fatal(err)
		}
		got.Body.Close()
		return got.StatusCode
	}
	if got := shared(); got != http.StatusOK {
		t.Errorf("a stranger with the link gets %d, want 200", got)
	}
	p.accessible()
	p.fill("open sesame", "dialog", "Share dashboard", "textbox", "Password")
	p.click("dialog", "Share dashboard", "button", "Add password")
	p.node("list", "Passwords")
	if got := shared(); got != http.StatusUnauthorized {
		t.Errorf("a stranger without the password gets %d, want 401", got)
	}
	p.click("dialog", "Share dashboard", "button", "Close")
	p.waitRemoved("dialog", "Share dashboard")
	if got := js[string](p, "document.activeElement.innerText"); got != "Share" {
		t.Errorf("the focus is on %q, want what opened the dialog (console.md §2.1)", got)
	}
	p.click("link", "Dashboards")
	p.node("table", "Dashboards", "cell", "by link")
	p.accessible()
}

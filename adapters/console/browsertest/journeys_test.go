package browsertest

import (
	"strings"
	"testing"
)

// J5: the history displays the changes of a version, and an earlier version is restored. The effect
// is read from /flags.
func TestHistory_RestoresAVersion(t *testing.T) {
	s := serve(t)
	base := "/api/projects/1/feature_flags/"
	condition := func(share int) map[string]any {
		return map[string]any{"groups": []any{map[string]any{"properties": []any{}, "rollout_percentage": share}}}
	}
	s.api("POST", base, map[string]any{"key": "banner", "name": "Banner", "filters": condition(100)}, nil)
	s.api("PATCH", base+"1/", map[string]any{"filters": condition(0)}, nil)
	s.api("PATCH", base+"1/", map[string]any{"name": "The banner"}, nil)
	p := s.open(t, "p/1/flags/1/history")
	p.node("table", "Versions", "cell", "Condition 1: rollout percentage")
	p.accessible()
	p.click("button", "Compare version 2")
	p.node("region", "Changes in version 2", "table", "Changes", "cell", "100 %")
	if got := js[string](p, "location.search"); got != "?version=2" {
		t.Errorf("the address has %q, want ?version=2", got)
	}
	p.click("button", "Restore version 1")
	p.node("dialog", "Restore version 1?", "table", "Changes", "cell", "Banner")
	p.accessible()
	p.click("dialog", "Restore version 1?", "button", "Restore")
	p.waitAnnounced("Restored version 1")
	if got := s.flag("banner", "ana"); got != true {
		t.Errorf("ana gets %v, want true as in version 1", got)
	}
}

// J2 (4) and (5): code to copy contains this server's address and this project's key, and the first
// call is displayed without a reload.
func TestCode_FirstCall(t *testing.T) {
	s := serve(t)
	s.api("POST", "/api/projects/1/feature_flags/", map[string]any{"key": "banner", "filters": map[string]any{"groups": []any{map[string]any{"properties": []any{}}}}}, nil)
	p := s.open(t, "p/1/flags/1/code")
	p.choose("curl", "combobox", "Language")
	for _, want := range []string{s.url + "/flags", s.publicKey, "banner"} {
		eventually(t, "a snippet with "+want, func() bool {
			return js[bool](p, "document.querySelector('[aria-label=Snippet]')?.innerText.includes('"+want+"')")
		})
	}
	p.waitAnnounced("Waiting for the first call…")
	p.accessible()
	s.sendFlagCall("$feature_flag_called", "banner", "ana")
	p.waitAnnounced("First call: ana got true")
	p.visit("p/1")
	p.node("image", "Chart: Flag calls by minute")

	// Newer SDKs report $experiment_exposure for the flag of an experiment.
	s.api("POST", "/api/projects/1/feature_flags/", map[string]any{"key": "tried", "filters": map[string]any{"groups": []any{map[string]any{"properties": []any{}}}}}, nil)
	p.visit("p/1/flags/2/code")
	p.waitAnnounced("Waiting for the first call…")
	s.sendFlagCall("$experiment_exposure", "tried", "ben")
	p.waitAnnounced("First call: ben got true")
}

// sendFlagCall sends the event with which an SDK reports that a flag was true for a user.
func (s *server) sendFlagCall(event, flag, id string) {
	s.api("POST", "/batch/", map[string]any{"api_key": s.publicKey, "batch": []any{map[string]any{
		"event": event, "distinct_id": id, "properties": map[string]any{"$feature_flag": flag, "$feature_flag_response": true}}}}, nil)
}

// J8: a person is found, and their data is displayed as text. Erasing requires that the user types
// a word, and removes all data of the person.
func TestPeople_FoundAndErased(t *testing.T) {
	s := serve(t)
	s.person("ana", map[string]any{"email": "ana@example.com", "bio": "<script>alert(1)</script>"})
	s.person("ben", map[string]any{"email": "ben@example.com"})
	var found struct{ Results []struct{ UUID string } }
	eventually(t, "two people", func() bool {
		s.api("GET", "/api/projects/1/persons/", nil, &found)
		return len(found.Results) == 2
	})
	s.capture(map[string]any{"event": "order placed", "distinct_id": "ben"}, map[string]any{"event": "order placed", "distinct_id": "ben"})
	p := s.open(t, "p/1/people")
	p.node("link", "ben@example.com")
	p.accessible()
	filterPeople(p)
	eraseCounts(p)
	p.visit("p/1/people")
	p.fill("ana", "searchbox", "Search people")
	p.waitRemoved("link", "ben@example.com")
	p.click("link", "ana@example.com")
	p.node("heading", "ana@example.com")
	p.node("list", "Timeline")
	p.accessible()
	p.click("navigation", "Person", "link", "Properties")
	p.node("table", "Properties", "cell", "<script>alert(1)</script>")
	p.accessible()
	p.click("button", "Add property")
	p.fill("seats", "dialog", "Add property", "textbox", "Property")
	p.fill("5", "dialog", "Add property", "textbox", "Value")
	p.accessible()
	p.click("dialog", "Add property", "button", "Save")
	p.waitAnnounced("Saved")
	p.click("button", "Edit bio")
	p.fill(`"7"`, "dialog", "Edit bio", "textbox", "Value")
	p.click("dialog", "Edit bio", "button", "Save")
	p.node("table", "Properties", "cell", "7")
	p.click("button", "Remove email")
	p.click("alertdialog", "Remove email?", "button", "Remove")
	p.waitAnnounced("Removed email")
	p.waitRemoved("button", "Edit email")
	var ana struct{ Properties map[string]any }
	eventually(t, "what was typed is stored, a number as one and a text as one", func() bool {
		s.api("GET", "/api/projects/1/persons/"+js[string](p, "location.pathname.split('/people/')[1].split('/')[0]")+"/", nil, &ana)
		return ana.Properties["email"] == nil && ana.Properties["bio"] == "7" && ana.Properties["seats"] == 5.0
	})
	p.click("button", "Add property")
	p.fill("email", "dialog", "Add property", "textbox", "Property")
	p.fill("ana@example.com", "dialog", "Add property", "textbox", "Value")
	p.click("dialog", "Add property", "button", "Save")
	p.node("button", "Edit email")
	p.click("navigation", "Person", "link", "Cohorts")
	p.node("heading", "Not in any cohort")
	p.accessible()
	filter := map[string]any{"key": "seats", "type": "person", "operator": "gt", "value": 4}
	s.api("POST", "/api/projects/1/cohorts/", map[string]any{"name": "big teams", "filters": map[string]any{"properties": map[string]any{"type": "AND", "values": []any{filter}}}}, nil)
	p.visit(js[string](p, "location.pathname.split('/console/')[1]"))
	p.node("table", "Cohorts", "link", "big teams")
	p.accessible()
	p.click("button", "Erase person")
	p.node("alertdialog", "Erase ana@example.com?")
	if got := js[string](p, "document.activeElement.innerText"); got != "Cancel" {
		t.Errorf("the first focus is on %q, want Cancel (console.md §2.1)", got)
	}
	p.accessible()
	p.fill("erase", "textbox", "Type erase to confirm")
	p.click("button", "Erase")
	p.waitAnnounced("Erased ana@example.com")
	s.api("GET", "/api/projects/1/persons/?search=ana", nil, &found)
	if len(found.Results) != 0 {
		t.Errorf("ana is still there: %+v", found)
	}
}

// filterPeople filters people by a property. The filter is in the address, and a reload keeps it.
func filterPeople(p *page) {
	p.t.Helper()
	p.click("button", "Add filter")
	p.fill("email", "group", "Filter 1", "combobox", "Property")
	p.enter()
	p.fill("ana@example.com", "group", "Filter 1", "combobox", "Value")
	p.enter()
	p.waitRemoved("link", "ben@example.com")
	p.node("table", "People", "link", "ana@example.com")
	p.accessible()
	p.visit(js[string](p, "location.href.split('/console/')[1]"))
	p.node("group", "Filter 1", "button", "Remove ana@example.com")
	p.node("table", "People", "link", "ana@example.com")
	p.waitRemoved("link", "ben@example.com")
	p.choose("is not", "group", "Filter 1", "combobox", "Operator")
	p.node("table", "People", "link", "ben@example.com")
	p.waitRemoved("link", "ana@example.com")
	p.choose("matches regex", "group", "Filter 1", "combobox", "Operator")
	p.expect("400 GET /api/projects/1/persons/")
	p.fill("(", "group", "Filter 1", "combobox", "Value")
	p.enter()
	eventually(p.t, "a fault at the filter", func() bool { return js[bool](p, "!!document.querySelector('[aria-label=\"Filter 1\"] .fault')") })
	p.accessible()
	p.click("group", "Filter 1", "button", "Remove filter")
	p.node("table", "People", "link", "ben@example.com")
	if got := js[string](p, "location.search"); got != "" {
		p.t.Errorf("without filters the address has %q", got)
	}
}

// eraseCounts opens the dialog that erases ben, who has sent three events: a $set and two orders.
func eraseCounts(p *page) {
	p.t.Helper()
	p.click("link", "ben@example.com")
	p.click("button", "Erase person")
	p.node("alertdialog", "Erase ben@example.com?", "StaticText", "3 events will be erased.")
	p.click("alertdialog", "Erase ben@example.com?", "checkbox", "Also erase events")
	p.node("alertdialog", "Erase ben@example.com?", "StaticText", "3 events will be kept.")
	p.click("alertdialog", "Erase ben@example.com?", "button", "Cancel")
}

// J13: a key is created, displayed only then, works, and is revoked; the theme is chosen.
func TestAccount_Keys(t *testing.T) {
	s := serve(t)
	p := s.open(t, "p/1")
	p.click("button", "Account menu")
	p.click("menuitem", "Account")
	p.node("heading", "Account")
	p.accessible()
	p.click("button", "New key")
	p.fill("deploys", "dialog", "New key", "textbox", "Label")
	p.accessible()
	p.click("dialog", "New key", "button", "Make key")
	p.node("dialog", "New key", "textbox", "Key")
	key := js[string](p, "document.querySelector('dialog input[readonly]').value")
	p.click("dialog", "New key", "button", "Done")
	otherServer := *s
	otherServer.key = key
	otherServer.api("GET", "/api/users/@me/", nil, nil)
	p.click("button", "Revoke deploys")
	p.click("alertdialog", "Revoke deploys?", "button", "Revoke")
	p.waitAnnounced("Revoked deploys")
	p.waitRemoved("button", "Revoke deploys")
	p.click("button", "New key")
	p.fill("reader", "dialog", "New key", "textbox", "Label")
	p.click("dialog", "New key", "radio", "Chosen scopes")
	p.accessible()
	p.click("dialog", "New key", "button", "Make key")
	p.node("dialog", "New key", "StaticText", "Choose at least one scope.")
	p.choose("Read", "dialog", "New key", "combobox", "feature_flag")
	p.click("dialog", "New key", "button", "Make key")
	p.node("dialog", "New key", "textbox", "Key")
	p.click("dialog", "New key", "button", "Done")
	p.node("table", "Personal keys", "cell", "feature_flag:read")
	p.fill("Ann", "region", "Profile", "textbox", "First name")
	p.click("region", "Profile", "button", "Save")
	p.waitAnnounced("Saved")
	var me struct {
		Name string `json:"first_name"`
	}
	s.api("GET", "/api/users/@me/", nil, &me)
	if me.Name != "Ann" {
		t.Errorf("the name is %q", me.Name)
	}
	s.api("PATCH", "/api/projects/1/", map[string]any{"timezone": "Asia/Tokyo"}, nil)
	p.visit("account")
	p.node("table", "Personal keys", "button", "Revoke reader")
	title := "document.querySelector('[aria-label=\"Personal keys\"] time, [aria-label=Sessions] time').title"
	if got := js[string](p, title); !strings.Contains(got, "GMT+9 (") {
		t.Errorf("the time of a project in Tokyo is %q, want it and the viewer's", got)
	}
	rowHeight := `document.querySelector('[aria-label="Personal keys"] tbody tr').offsetHeight`
	if got := js[int](p, rowHeight); got < 36 || got >= 44 {
		t.Errorf("a row is %d high, want 36 (§4)", got)
	}
	p.click("region", "Look", "checkbox", "Comfortable rows")
	p.visit("account")
	p.node("table", "Personal keys", "button", "Revoke reader")
	if got := js[int](p, rowHeight); got < 44 {
		t.Errorf("a comfortable row is %d high, want 44 (§4)", got)
	}
	p.click("region", "Look", "radio", "Dark")
	if got := js[string](p, "document.documentElement.dataset.theme"); got != "dark" {
		t.Errorf("the look is %q, want dark", got)
	}
}

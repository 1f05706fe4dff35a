package browsertest

import (
	"encoding/json"
	"fmt"
	"testing"
)

// J2 and J3 (console.md §1.2): a first flag, and its release in steps. The values for SDKs are read
// from /flags.
func TestFlag_MadeAndReleased(t *testing.T) {
	s := serve(t)
	s.person("ana", map[string]any{"email": "ana@example.com", "plan": "pro"})
	p := s.open(t, "")
	p.node("heading", "Home")
	p.accessible()
	p.click("navigation", "Main", "link", "Flags")
	p.node("heading", "No flags yet")
	p.accessible()
	p.click("button", "New flag")
	p.node("heading", "New flag")
	if got := js[string](p, "document.activeElement.labels?.[0]?.innerText ?? document.activeElement.tagName"); got != "Key" {
		t.Errorf("the focus is on %q, want Key", got)
	}
	p.fill("new-checkout", "textbox", "Key")
	p.fill("New checkout", "textbox", "Description")
	p.accessible()
	p.click("button", "Save")
	p.waitAnnounced("Saved")
	p.node("heading", "new-checkout")
	if got := s.flag("new-checkout", "ana"); got != true {
		t.Errorf("ana gets %v, want true: a new flag is for everybody", got)
	}

	const tooMuch = "The rollout percentage of a group must be a number between 0 and 100."
	p.fill("120", "group", "Condition 1", "spinbutton", "Rollout percentage")
	p.node("group", "Condition 1", "StaticText", tooMuch) // N9: displayed before saving, next to the field
	p.accessible()
	p.fill("0", "group", "Condition 1", "spinbutton", "Rollout percentage")
	p.waitRemoved("StaticText", tooMuch)
	p.accessible()
	p.click("button", "Save")
	p.node("dialog", "Review changes", "table", "Changes", "cell", "100 %")
	p.node("dialog", "Review changes", "table", "Changes", "cell", "0 %")
	p.accessible()
	p.click("dialog", "Review changes", "button", "Save changes")
	p.waitAnnounced("Saved version 2")
	if got := s.flag("new-checkout", "ana"); got != false {
		t.Errorf("ana gets %v, want false at 0 %%", got)
	}

	p.click("group", "Condition 1", "button", "Add filter")
	p.fill("plan", "group", "Filter 1", "combobox", "Property")
	p.enter()
	p.fill("pro", "group", "Filter 1", "combobox", "Value")
	p.enter()
	p.node("group", "Filter 1", "button", "Remove pro")
	p.fill("100", "group", "Condition 1", "spinbutton", "Rollout percentage")
	p.click("button", "Save")
	p.node("dialog", "Review changes", "table", "Changes", "cell", "plan is pro")
	p.click("dialog", "Review changes", "button", "Save changes")
	p.waitAnnounced("Saved version 3")
	for id, want := range map[string]bool{"ana": true, "nobody": false} {
		if got := s.flag("new-checkout", id); got != want {
			t.Errorf("%s gets %v, want %v", id, got, want)
		}
	}
}

// A remote configuration flag with variants, as an import creates it, keeps them and their values
// when another part of it is changed.
func TestFlag_VariantsWithValues(t *testing.T) {
	s := serve(t)
	filters := `{"groups":[{"properties":[],"rollout_percentage":100,"variant":"low"}],"multivariate":{"variants":[{"key":"low","rollout_percentage":100},{"key":"high","rollout_percentage":0}]},"payloads":{"low":"5","high":"20"}}`
	var made struct{ ID int }
	s.api("POST", "/api/projects/1/feature_flags/", map[string]any{"key": "limit", "is_remote_configuration": true, "active": true, "filters": json.RawMessage(filters)}, &made)
	p := s.open(t, fmt.Sprintf("p/1/flags/%d", made.ID))
	p.node("group", "Variant 2", "textbox", "Variant key")
	p.waitRemoved("button", "Discard")
	p.accessible()
	p.fill("Limits", "textbox", "Description")
	p.click("button", "Save")
	p.click("dialog", "Review changes", "button", "Save changes")
	p.waitAnnounced("Saved version 2")
	var got struct {
		Name    string
		Config  bool `json:"is_remote_configuration"`
		Filters struct {
			Groups       []struct{ Variant string }
			Multivariate struct{ Variants []struct{ Key string } }
			Payloads     map[string]string
		}
	}
	s.api("GET", fmt.Sprintf("/api/projects/1/feature_flags/%d/", made.ID), nil, &got)
	f := got.Filters
	if got.Name != "Limits" || !got.Config || len(f.Groups) != 1 || f.Groups[0].Variant != "low" || len(f.Multivariate.Variants) != 2 || f.Payloads["low"] != "5" || f.Payloads["high"] != "20" {
		t.Errorf("the flag is %+v", got)
	}
}

// J5 and J16: the switch in the list opens a dialog; search, order and filters are part of the
// address; several flags are changed together. Names with markup are displayed as text (§5.4).
func TestFlags_List(t *testing.T) {
	s := serve(t)
	for key, name := range map[string]string{"alpha": "First", "beta": "<img src=x onerror=alert(1)>", "gamma": "javascript:alert(1)"} {
		s.api("POST", "/api/projects/1/feature_flags/", map[string]any{"key": key, "name": name, "tags": []string{name},
			"filters": map[string]any{"groups": []any{map[string]any{"properties": []any{}, "rollout_percentage": 100}}}}, nil)
	}
	p := s.open(t, "p/1/flags")
	p.waitAnnounced("3 flags")
	p.accessible()
	p.click("switch", "Enabled: alpha")
	p.node("dialog", "Switch off alpha?")
	p.accessible()
	p.click("dialog", "Switch off alpha?", "button", "Switch off")
	p.waitAnnounced("Switched off alpha")
	if got := s.flag("alpha", "ana"); got == true {
		t.Errorf("ana gets %v of a flag that is off", got)
	}
	p.fill("bet", "searchbox", "Search flags")
	p.waitAnnounced("1 flag")
	p.waitRemoved("link", "alpha")
	eventually(t, "the search in the address", func() bool { return js[string](p, "location.search") == "?search=bet" })
	p.fill("nothing like it", "searchbox", "Search flags")
	p.node("heading", "No flags match")
	p.accessible()
	p.click("button", "Clear filters")
	p.waitAnnounced("3 flags")
	p.choose("Off", "combobox", "Status")
	p.waitRemoved("link", "beta")
	p.node("link", "alpha")
	p.choose("Any status", "combobox", "Status")
	p.click("checkbox", "Select beta")
	p.click("checkbox", "Select gamma")
	p.accessible()
	p.click("region", "Selection", "button", "Archive")
	p.click("button", "Archive")
	p.waitAnnounced("1 flag")
	p.click("button", "More about alpha")
	p.accessible()
	p.click("menuitem", "Delete")
	p.click("button", "Delete")
	p.waitAnnounced("0 flags")
	p.click("button", "Undo")
	p.waitAnnounced("1 flag")
}

// T24: a link to a view opens it, also with back and forward; an unknown page is reported.
func TestFrame_Addresses(t *testing.T) {
	s := serve(t)
	p := s.open(t, "p/1/flags?sort=-updated_at&status=off")
	p.node("heading", "No flags match")
	p.click("link", "Bunting")
	p.node("heading", "Home")
	js[any](p, "history.back()")
	p.node("heading", "No flags match")
	p.visit("nowhere/at/all")
	p.node("heading", "Not found")
	p.node("main", "", "link", "Home")
	p.accessible()
	p.click("button", "Search")
	p.node("dialog", "Search", "combobox", "Search")
	p.accessible()
	p.fill("flags", "combobox", "Search")
	p.enter()
	p.node("heading", "Flags")
	p.size(360, 740)
	p.click("button", "Menu")
	p.accessible()
}

// Without a session every page redirects to the sign-in page (§2.3), whose key field rejects wrong
// keys.
func TestSignIn_Page(t *testing.T) {
	s := serve(t)
	p := s.openAnonymous(t)
	p.visit("p/1/flags")
	p.node("heading", "Sign in")
	p.accessible()
	if got := js[string](p, "new URLSearchParams(location.search).get('next')"); got != "p/1/flags" {
		t.Errorf("next is %q, want p/1/flags", got)
	}
}

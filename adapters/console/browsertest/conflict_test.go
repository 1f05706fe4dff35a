package browsertest

import (
	"fmt"
	"testing"
)

// saveReviewed saves the form of a flag with the dialog Review changes.
func (p *page) saveReviewed() {
	p.t.Helper()
	p.click("button", "Save")
	p.click("dialog", "Review changes", "button", "Save changes")
}

// T23 (console.md §2.6, §7): two users edit one flag. If both change a field, a dialog shows both
// values and the user decides; if they change different fields, both changes are saved and announced;
// if one of them deletes the flag, the other decides whether to restore it.
func TestConflict_Flag(t *testing.T) {
	s := serve(t)
	s.banner()
	ben := s.acceptInvite("ben@example.com")
	const flag = "/api/projects/1/feature_flags/1/"
	theirs := func(patch map[string]any) { ben.api("PATCH", flag, patch, nil) }
	p := s.open(t, "p/1/flags/1")
	p.expect("409 PATCH /api/projects/1/feature_flags/1/", "404 POST /api/projects/1/feature_flags/1/who/") // it is deleted during the edit
	p.fill("Mine", "textbox", "Description")
	theirs(map[string]any{"name": "By ben"})
	p.saveReviewed()
	for _, cell := range []string{"Banner", "By ben", "Mine"} {
		p.node("dialog", "Changed meanwhile", "table", "Conflicts", "cell", cell)
	}
	eventually(t, "the dialog names ben", func() bool {
		return js[bool](p, "document.querySelector('dialog p').innerText.startsWith('ben@example.com saved another version ')")
	})
	p.accessible()
	p.click("dialog", "Changed meanwhile", "button", "Go on editing")
	p.waitRemoved("dialog", "Changed meanwhile")
	if typed, stored := p.value("Description"), s.describeFlag(); typed != "Mine" || stored != "By ben, version 2" {
		t.Errorf("the form has %q and the flag is %q, want both texts as they were", typed, stored)
	}
	p.saveReviewed()
	p.click("dialog", "Changed meanwhile", "button", "Keep theirs")
	p.waitAnnounced("Your changes are dropped, theirs are kept.")
	if typed, stored := p.value("Description"), s.describeFlag(); typed != "By ben" || stored != "By ben, version 2" {
		t.Errorf("the form has %q and the flag is %q, want ben's text in both", typed, stored)
	}

	p.fill("Mine again", "textbox", "Description")
	theirs(map[string]any{"name": "By ben again"})
	p.saveReviewed()
	p.click("dialog", "Changed meanwhile", "button", "Overwrite with mine")
	p.waitAnnounced("Saved version 4")
	if got := s.describeFlag(); got != "Mine again, version 4" {
		t.Errorf("the flag is %q, want what overwrites", got)
	}

	p.fill("Third", "textbox", "Description")
	theirs(map[string]any{"tags": []string{"shop"}})
	p.saveReviewed()
	p.waitAnnounced("Saved version 6, merged with a change by ben@example.com")
	if typed, tags := p.value("Description"), p.value("Tags"); typed != "Third" || tags != "shop" {
		t.Errorf("the form has %q with the tags %q, want both changes", typed, tags)
	}

	// One of them deletes the flag.
	p.fill("Fourth", "textbox", "Description")
	theirs(map[string]any{"deleted": true})
	p.saveReviewed()
	p.node("dialog", "Changed meanwhile", "table", "Conflicts", "rowheader", "Deleted")
	p.accessible()
	p.click("dialog", "Changed meanwhile", "button", "Overwrite with mine")
	p.waitAnnounced("Saved version 8")
	if got, value := s.describeFlag(), s.flag("banner", "ana"); got != "Fourth, version 8" || value != true {
		t.Errorf("the flag is %q and ana gets %v, want it restored", got, value)
	}
	p.fill("Fifth", "textbox", "Description")
	theirs(map[string]any{"deleted": true})
	p.saveReviewed()
	p.click("dialog", "Changed meanwhile", "button", "Keep theirs")
	p.node("note", "Read-only", "StaticText", "This flag is deleted. Restore a version to change it.")
	if got := s.describeFlag(); got != "Fourth, version 9" {
		t.Errorf("the flag is %q, want it deleted by ben", got)
	}
	p.accessible()
}

// T23: the other records with a form behave alike. A change of another field is merged. A change of
// the same field is displayed before it is overwritten, also if the typed text was restored after a
// reload. Text typed into the form of a deleted record stays.
func TestConflict_Records(t *testing.T) {
	s := serve(t)
	s.exception("TypeError", "odd", "Chrome")
	rule := map[string]any{"properties": map[string]any{"type": "AND", "values": []any{map[string]any{"key": "plan", "type": "person", "operator": "exact", "value": "pro"}}}}
	trend := map[string]any{"kind": "TrendsQuery", "series": []any{map[string]any{"kind": "EventsNode", "event": "order placed"}}}
	variants := []any{map[string]any{"key": "control", "rollout_percentage": 50}, map[string]any{"key": "test", "rollout_percentage": 50}}
	files := map[string]any{"type": "Files", "config": map[string]any{"path": "orders", "prefix": ""}}
	create := func(path string, body map[string]any) string {
		var made struct{ ID any }
		s.api("POST", "/api/projects/1/"+path+"/", body, &made)
		return fmt.Sprint(made.ID)
	}
	issue := s.onlyIssue()
	p := s.open(t, "p/1")
	p.expect("404 GET /api/projects/1/early_access_feature/") // it is deleted during the edit
	p.confirmLeaving()
	for _, r := range []struct{ at, api, id, tab, label, member, other string }{
		{"early-access", "early_access_feature", create("early_access_feature", map[string]any{"name": "Was", "stage": "beta"}), "", "Name", "name", "description"},
		{"surveys", "surveys", create("surveys", map[string]any{"name": "Was", "type": "popover"}), "", "Name", "name", "description"},
		{"cohorts", "cohorts", create("cohorts", map[string]any{"name": "Was", "filters": rule}), "", "Name", "name", "description"},
		{"experiments", "experiments", create("experiments", map[string]any{"name": "Was", "feature_flag_key": "tried", "parameters": map[string]any{"feature_flag_variants": variants}}), "/setup", "Name", "name", "description"},
		{"insights", "insights", create("insights", map[string]any{"name": "Was", "query": trend}), "", "Name", "name", "description"},
		{"exports", "batch_exports", create("batch_exports", map[string]any{"name": "Was", "model": "events", "interval": "hour", "destination": files}), "/settings", "Name", "name", ""},
		{"errors", "error_tracking/issues", issue, "", "Name", "name", "description"},
	} {
		path := "/api/projects/1/" + r.api + "/" + r.id + "/"
		stored := func(member string) string {
			var got map[string]any
			s.api("GET", path, nil, &got)
			return fmt.Sprint(got[member])
		}
		p.visit("p/1/" + r.at + "/" + r.id + r.tab)
		p.node("textbox", r.label)
		p.fill("Mine", "textbox", r.label)
		change := map[string]any{r.member: "Theirs"}
		if r.other != "" {
			change[r.other] = "By ben"
		}
		s.api("PATCH", path, change, nil)
		if r.at == "early-access" || r.at == "cohorts" {
			p.reload()
			p.waitAnnounced("Draft restored")
		}
		p.click("button", "Save")
		p.node("dialog", "Changed meanwhile", "table", "Conflicts", "cell", "Theirs")
		p.node("dialog", "Changed meanwhile", "table", "Conflicts", "cell", "Mine")
		if r.at == "surveys" {
			p.accessible()
			p.click("dialog", "Changed meanwhile", "button", "Keep theirs")
			p.waitAnnounced("Your changes are dropped, theirs are kept.")
			if typed, name := p.value(r.label), stored(r.member); typed != "Theirs" || name != "Theirs" {
				t.Errorf("%s: the form has %q and the server %q, want theirs", r.at, typed, name)
			}
			continue
		}
		p.click("dialog", "Changed meanwhile", "button", "Overwrite with mine")
		eventually(t, r.at+" is overwritten", func() bool { return stored(r.member) == "Mine" })
		if r.other != "" && stored(r.other) != "By ben" {
			t.Errorf("%s: the %s is %q: somebody's work is lost", r.at, r.other, stored(r.other))
		}
	}

	deleted := create("early_access_feature", map[string]any{"name": "Gone", "stage": "beta"})
	p.visit("p/1/early-access/" + deleted)
	p.node("textbox", "Name")
	p.fill("Typed", "textbox", "Name")
	s.api("DELETE", "/api/projects/1/early_access_feature/"+deleted+"/", nil, nil)
	p.click("button", "Save")
	p.node("alert", "", "StaticText", "Somebody has deleted this since you opened it. Your changes are still in the form, but cannot be saved.")
	if got := p.value("Name"); got != "Typed" {
		t.Errorf("the form has %q, want what was typed", got)
	}
}

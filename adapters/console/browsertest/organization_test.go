package browsertest

import (
	"strings"
	"testing"
)

// J11, J13 and J15 (console.md §3.9): members are invited, domains verified, limits set, and the
// log is read; each effect is then read from the API.
func TestOrganization(t *testing.T) {
	s := serve(t)
	p := s.open(t, "organization/members")
	p.node("table", "Members", "cell", "owner@localhost")
	p.accessible()
	p.click("button", "Invite")
	p.fill("nina@example.com", "dialog", "Invite", "textbox", "Email")
	p.choose("Administrator", "dialog", "Invite", "combobox", "Level")
	p.accessible()
	p.click("dialog", "Invite", "button", "Send invitation")
	p.node("dialog", "Invite", "textbox", "Invitation link")
	if link := js[string](p, "document.querySelector('dialog input[readonly]').value"); !strings.HasPrefix(link, s.url+"/signup/") {
		t.Errorf("the link is %q", link)
	}
	p.click("dialog", "Invite", "button", "Done")
	p.waitAnnounced("Invited nina@example.com")
	p.node("table", "Invitations", "cell", "Administrator")
	p.click("button", "Cancel invitation of nina@example.com")
	p.click("alertdialog", "Cancel invitation of nina@example.com?", "button", "Remove")
	p.waitAnnounced("Removed nina@example.com")

	p.click("navigation", "Main", "link", "Domains")
	p.node("heading", "No domains yet")
	p.accessible()
	p.click("button", "Add domain")
	p.expect("400 POST /api/organizations/@current/domains/")
	p.fill("bad domain", "dialog", "Add domain", "textbox", "Domain")
	p.click("dialog", "Add domain", "button", "Add")
	p.fill("example.com", "dialog", "Add domain", "textbox", "Domain")
	p.click("dialog", "Add domain", "button", "Add")
	p.node("textbox", "TXT name of example.com")
	p.node("textbox", "TXT value of example.com")
	p.accessible()
	p.click("button", "Remove example.com")
	p.click("alertdialog", "Remove example.com?", "button", "Remove")
	p.node("heading", "No domains yet")

	s.person("ana", map[string]any{"plan": "pro"})
	p.click("navigation", "Main", "link", "Usage")
	p.node("heading", "Events this month")
	p.fill("1000", "spinbutton", "Limit of Events")
	p.click("button", "Save limits")
	p.waitAnnounced("Saved")
	p.node("meter", "Events this month")
	p.accessible()
	var got struct{ Quotas map[string]any }
	s.api("GET", "/api/organizations/@current/", nil, &got)
	if got.Quotas["events"] != 1000.0 {
		t.Errorf("limits: %v", got.Quotas)
	}
}

// cohortFilters are the filters of a cohort of the persons with a plan.
func cohortFilters(plan string) map[string]any {
	return map[string]any{"properties": map[string]any{"type": "AND", "values": []any{map[string]any{"key": "plan", "type": "person", "operator": "exact", "value": plan}}}}
}

// cohort creates a cohort of the persons with a plan.
func (s *server) cohort(name, plan string) {
	s.t.Helper()
	s.api("POST", "/api/projects/1/cohorts/", map[string]any{"name": name, "filters": cohortFilters(plan)}, nil)
}

// J10: the log of changes with its filters, and the creation of another project.
func TestProject_ActivityAndAnother(t *testing.T) {
	s := serve(t)
	at := func(percent int) map[string]any {
		return map[string]any{"groups": []any{map[string]any{"properties": []any{}, "rollout_percentage": percent}}}
	}
	s.api("POST", "/api/projects/1/feature_flags/", map[string]any{"key": "banner", "filters": at(10)}, nil)
	s.api("PATCH", "/api/projects/1/feature_flags/1/", map[string]any{"name": "<b>x</b>", "filters": at(50), "change_note": "for the fair"}, nil)
	s.api("POST", "/api/projects/1/feature_flags/1/pins/", map[string]any{"distinct_id": "ana", "value": true}, nil)
	s.cohort("1st", "pro")
	s.api("PATCH", "/api/projects/1/cohorts/1/", map[string]any{"filters": cohortFilters("free")}, nil)
	p := s.open(t, "p/1/activity")
	p.node("table", "Activity", "StaticText", "for the fair")
	// C4, §2.6: the changes are the rows of the diff, in its words. Of the cohort only the value changed.
	for _, want := range [][3]string{
		{"Description added", "–", "<b>x</b>"}, {"Condition 1: rollout percentage", "10 %", "50 %"}, {"Pinned value added", "–", "true"},
		{"Filters › properties › values 1", "plan is pro", "plan is free"},
	} {
		for _, cell := range want[1:] {
			if got := p.all(0, "cell", cell); len(got) == 0 {
				t.Errorf("%s: no cell %q", want[0], cell)
			}
		}
		p.node("table", "Activity", "rowheader", want[0])
	}
	if got := js[string](p, "document.querySelector('table').innerText"); strings.ContainsAny(got, "{}[]") {
		t.Errorf("the log has JSON:\n%s", got)
	}
	p.accessible()
	p.choose("Experiments", "combobox", "What")
	p.node("heading", "No activity matches")
	p.click("button", "Clear filters")
	p.node("table", "Activity", "StaticText", "for the fair")

	p.visit("organization/settings")
	p.click("button", "New project")
	p.fill("Second", "dialog", "New project", "textbox", "Name")
	p.accessible()
	p.click("dialog", "New project", "button", "Create project")
	p.node("button", "Project: Second")
}

package browsertest

import "testing"

// console.md §2.1 Not found: the page of a record that does not exist reports this and links to its list
// and to Home. It offers no second attempt.
func TestRecords_NotThere(t *testing.T) {
	s := serve(t)
	const uuid = "0191f0a2-5b1c-7d3e-8f40-0000000000ff"
	p := s.open(t, "p/1")
	p.expect("404 GET /api/projects/1/", "400 GET /api/projects/1/persons/nobody/")
	for i, r := range [][2]string{
		{"flags/99", "Flags"}, {"people/" + uuid, "People"}, {"cohorts/99", "Cohorts"}, {"dashboards/99", "Dashboards"}, {"insights/99", "Insights"}, {"experiments/99", "Experiments"},
		{"surveys/" + uuid, "Surveys"}, {"surveys/" + uuid + "/answers", "Surveys"}, {"approvals/99", "Approvals"}, {"exports/" + uuid, "Exports"}, {"errors/" + uuid, "Errors"}, {"groups/0/nobody", "Groups"}, {"early-access/" + uuid, "Early access"},
		{"flags/99/history", "Flags"}, {"flags/none", "Flags"}, {"people/nobody/flags", "People"}, {"experiments/none/setup", "Experiments"}, {"exports/none/settings", "Exports"}, {"surveys/none/answers", "Surveys"},
	} {
		p.visit("p/1/" + r[0])
		p.node("heading", "Not found")
		p.node("main", "", "link", r[1])
		p.node("main", "", "link", "Home")
		if len(p.all(0, "button", "Try again")) > 0 || !js[bool](p, "document.title.startsWith('Not found · ')") {
			t.Errorf("%s has the title %q and offers to try again, or not only says that it is not there", r[0], js[string](p, "document.title"))
		}
		if r[0] == "cohorts/99" && p.countRequests("cohorts/99/persons/") > 0 {
			t.Errorf("the page of a missing cohort requests its persons")
		}
		if i == 0 {
			p.accessible()
		}
	}
	for _, path := range []string{"p/99/flags", "p/none/flags", "p/1/flags/%E0%A4"} {
		p.visit(path)
		p.node("heading", "Not found")
	}
	p.click("main", "", "link", "Home")
	p.node("heading", "Home")
}

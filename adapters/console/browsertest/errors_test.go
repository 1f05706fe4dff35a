package browsertest

import "testing"

// exception captures an exception of ana, with a type and a message.
func (s *server) exception(kind, message, browser string) {
	s.t.Helper()
	s.capture(map[string]any{"event": "$exception", "distinct_id": "ana", "properties": map[string]any{
		"$browser": browser, "$exception_list": []any{map[string]any{"type": kind, "value": message}},
	}})
}

// onlyIssue waits until there is an issue, and returns its id.
func (s *server) onlyIssue() string {
	s.t.Helper()
	var issues struct{ Results []struct{ ID string } }
	eventually(s.t, "an issue", func() bool {
		s.api("GET", "/api/projects/1/error_tracking/issues/", nil, &issues)
		return len(issues.Results) == 1
	})
	return issues.Results[0].ID
}

// Errors (console.md §2.3; decision 24): issues are counted, assigned and resolved, and the first
// matching rule assigns new ones.
func TestErrors(t *testing.T) {
	s := serve(t)
	p := s.open(t, "p/1/errors")
	p.node("heading", "No errors yet")
	p.accessible()
	s.exception("TypeError", "x is not <b>a function</b>", "Chrome")
	s.exception("TypeError", "x is not <b>a function</b>", "Chrome")
	eventually(t, "an issue with two exceptions", func() bool { return s.issue("TypeError").Count == 2 })
	p.visit("p/1/errors")
	p.node("table", "Errors", "cell", "TypeError x is not <b>a function</b>")
	p.node("table", "Errors", "cell", "2")
	p.node("table", "Errors", "cell", "Unassigned")
	p.accessible()
	p.click("table", "Errors", "link", "TypeError")
	p.node("heading", "TypeError")
	p.accessible()
	p.choose("owner@localhost", "combobox", "Assigned to")
	p.fill("Call of what is none", "textbox", "Name")
	p.click("button", "Save")
	p.waitAnnounced("Saved")
	p.click("button", "Resolve")
	p.waitAnnounced("Resolved Call of what is none")
	p.node("button", "Reopen")
	if got := s.issue("Call of what is none"); got.Status != "resolved" || got.Assignee != "user:1" {
		t.Errorf("the issue is %+v, want resolved and of user:1", got)
	}
	p.click("link", "Errors")
	p.node("heading", "Errors")
	p.choose("Active", "combobox", "Status")
	p.node("heading", "No errors match")
	p.accessible()

	assignmentRules(s, p)
}

type issue struct {
	Name, Status, Assignee string
	Count                  int
}

// issue returns the issue with a name, or an empty one.
func (s *server) issue(name string) issue {
	s.t.Helper()
	var got struct{ Results []issue }
	s.api("GET", "/api/projects/1/error_tracking/issues/", nil, &got)
	for _, i := range got.Results {
		if i.Name == name {
			return i
		}
	}
	return issue{}
}

// assignmentRules creates two rules, of which the first matches everything until it is moved behind
// the other.
func assignmentRules(s *server, p *page) {
	t := s.t
	t.Helper()
	p.click("main", "", "link", "Assignment rules")
	p.node("heading", "No rules yet")
	p.accessible()
	p.click("button", "New rule")
	p.click("dialog", "New rule", "button", "Remove filter")
	p.click("dialog", "New rule", "button", "Save")
	p.node("table", "Assignment rules", "cell", "every error")
	p.click("button", "New rule")
	p.fill("$browser", "dialog", "New rule", "combobox", "Property")
	p.enter()
	p.fill("Firefox", "dialog", "New rule", "textbox", "Value")
	p.choose("owner@localhost", "dialog", "New rule", "combobox", "Assigned to")
	p.accessible()
	p.click("dialog", "New rule", "button", "Save")
	p.node("table", "Assignment rules", "cell", "event $browser is Firefox")
	p.accessible()
	p.click("button", "Move rule 2 up")
	eventually(t, "the focus on the button that is left", func() bool {
		return js[string](p, "document.activeElement.getAttribute('aria-label')") == "Move rule 1 down"
	})
	p.waitAnnounced("Saved")
	s.exception("RangeError", "too far", "Firefox")
	s.exception("SyntaxError", "odd", "Chrome")
	eventually(t, "two more issues", func() bool { return s.issue("RangeError").Count == 1 && s.issue("SyntaxError").Count == 1 })
	if got := s.issue("RangeError").Assignee; got != "user:1" {
		t.Errorf("the error of Firefox is of %q, want user:1 by the first rule", got)
	}
	if got := s.issue("SyntaxError").Assignee; got != "" {
		t.Errorf("the error of Chrome is of %q, want nobody", got)
	}
	p.click("button", "Remove rule 2")
	p.node("alertdialog", "Remove rule 2?")
	p.click("alertdialog", "Remove rule 2?", "button", "Remove")
	p.waitAnnounced("Removed rule 2")
	p.waitRemoved("cell", "every error")
	p.click("button", "Edit rule 1")
	p.fill("Safari", "dialog", "Edit rule", "textbox", "Value")
	p.click("dialog", "Edit rule", "button", "Save")
	p.node("table", "Assignment rules", "cell", "event $browser is Safari")
}

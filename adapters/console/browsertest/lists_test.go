package browsertest

import (
	"fmt"
	"testing"
)

// console.md §2.1: an incomplete list is marked and can be continued, on every page: 101 of
// everything, and 100 in the first part.
func TestLists_GoOn(t *testing.T) {
	s := serve(t)
	const n = 101
	s.createFlags(n)
	events := []map[string]any{}
	for i := range n {
		events = append(events, map[string]any{"event": fmt.Sprintf("event-%03d", i), "distinct_id": "ana"})
		s.api("POST", "/api/organizations/@current/invites/", map[string]any{"target_email": fmt.Sprintf("p%03d@example.com", i), "level": 1}, nil)
	}
	s.capture(events...)
	var found struct{ Results []struct{ UUID string } }
	eventually(t, "a person", func() bool {
		s.api("GET", "/api/projects/1/persons/", nil, &found)
		return len(found.Results) == 1
	})

	p := s.open(t, "p/1/people/"+found.Results[0].UUID)
	p.fill("event-000", "combobox", "Event") // the 101st name
	p.enter()
	p.node("list", "Timeline", "StaticText", "event-000")
	p.waitRemoved("StaticText", "event-100")

	p.click("navigation", "Person", "link", "Flags")
	p.node("table", "Flags", "link", "flag-0101")
	p.node("StaticText", "The first 100 are shown.")
	p.waitRemoved("link", "flag-0001")
	p.accessible()
	p.click("button", "Load more")
	p.node("table", "Flags", "link", "flag-0001")
	p.node("table", "Flags", "link", "flag-0101")
	p.waitRemoved("button", "Load more")

	p.visit("organization/members")
	p.node("table", "Invitations", "cell", "p100@example.com")
	p.node("StaticText", "100 of 101 are shown.")
	p.click("button", "Load more")
	p.node("table", "Invitations", "cell", "p000@example.com")
	p.click("button", "Cancel invitation of p000@example.com")
	p.click("alertdialog", "Cancel invitation of p000@example.com?", "button", "Remove")
	p.waitRemoved("cell", "p000@example.com")
	p.node("table", "Invitations", "cell", "p001@example.com") // all displayed rows are reloaded

	p.visit("p/1")
	p.node("link", "All flags, by last change")
	p.click("button", "Search")
	p.fill("flag-", "dialog", "Search", "combobox", "Search")
	p.click("dialog", "Search", "option", "All matches Flags")
	p.node("heading", "Flags")
	if got := js[string](p, "location.search"); got != "?search=flag-" {
		t.Errorf("all matches are at %q", got)
	}
}

package browsertest

import (
	"fmt"
	"testing"
)

// scrollAndFocus returns the scroll position, and the text of the focused element.
func (p *page) scrollAndFocus() string {
	return js[string](p, "`${Math.round(scrollY)} ${document.activeElement.innerText}`")
}

// T24 (console.md §2.1, §7): back, forward and a reload show the same view, with its scroll position
// and focus. Leaving a form with unsaved changes asks first, and the history stays as it was.
func TestViews_BackForwardReload(t *testing.T) {
	s := serve(t)
	s.createFlags(120)
	p := s.open(t, "p/1/flags?sort=key")
	p.confirmLeaving()
	p.node("link", "flag-0001")
	js[any](p, "scrollTo(0, 2400)") // rows that are not near the window have no elements
	p.click("link", "flag-0075")
	p.node("heading", "flag-0075")
	if got := js[string](p, "scrollY + document.activeElement.tagName"); got != "0H1" {
		t.Errorf("a new page begins at %s, want 0H1", got)
	}
	js[any](p, "history.back()")
	p.node("heading", "Flags")
	eventually(t, "the list at its position, with the focus on the link", func() bool {
		return js[bool](p, "scrollY > 1000 && document.activeElement.innerText === 'flag-0075'")
	})
	js[any](p, "history.forward()")
	p.node("heading", "flag-0075")

	p.fill("Typed", "textbox", "Description")
	js[any](p, "history.back()")
	p.node("alertdialog", "Leave without saving?")
	p.accessible()
	if got := js[string](p, "document.activeElement.innerText"); got != "Stay" {
		t.Errorf("the first focus is on %q, want Stay", got)
	}
	p.click("alertdialog", "Leave without saving?", "button", "Stay")
	p.waitRemoved("alertdialog", "Leave without saving?")
	if got := p.value("Description"); got != "Typed" {
		t.Errorf("the form has %q, want what was typed", got)
	}
	js[any](p, "history.back()")
	p.click("alertdialog", "Leave without saving?", "button", "Leave")
	p.node("heading", "Flags")
	js[any](p, "history.forward()")
	p.node("heading", "flag-0075")
	p.waitAnnounced("Draft restored")
	p.click("button", "Discard")

	// A form that is left at once, within the half second that drafts wait for the next key.
	js[any](p, `(async () => {
		const field = [...document.querySelectorAll("main textarea, main input")].find(f => f.labels?.[0]?.innerText.startsWith("Description"));
		field.value = "Typed and left";
		field.dispatchEvent(new Event("input", {bubbles: true}));
		history.back();
		for (let leave; !leave; await new Promise(r => setTimeout(r))) {
			leave = [...document.querySelectorAll("[role=alertdialog] button")].find(b => b.innerText === "Leave");
			leave?.click();
		}
	})()`)
	p.node("heading", "Flags")
	js[any](p, "history.forward()")
	p.node("heading", "flag-0075")
	eventually(t, "the draft of the form that was left at once", func() bool { return p.value("Description") == "Typed and left" })
	p.click("button", "Discard")
	js[any](p, "history.back()")
	eventually(t, "the list with the focus on the link", func() bool { return js[bool](p, "document.activeElement.innerText === 'flag-0075'") })
	before := p.scrollAndFocus()
	p.reload()
	eventually(t, "the same view after a reload: "+before, func() bool { return p.scrollAndFocus() == before })
}

// T24: the address of a view with filters shows the same view in another browser: also to a user who
// has to sign in first.
func TestViews_LinksWithFilters(t *testing.T) {
	s := serve(t)
	s.createFlags(30)
	for i := range 3 {
		s.person(fmt.Sprintf("person-%d", i), map[string]any{"email": fmt.Sprintf("person-%d@example.com", i)})
	}
	s.api("PATCH", "/api/projects/1/feature_flags/1/", map[string]any{"name": "Renamed"}, nil)
	s.sendFlagCall("$feature_flag_called", "flag-0001", "person-1")
	ben := s.acceptInvite("ben@example.com")
	// Counts of calls are requested after the rows, and rows out of sight are added later.
	const view = `[location.pathname + location.search, document.querySelector("h1").innerText, ...[...document.querySelectorAll("main tbody tr, main section h2")].map(r => (copy => (copy.querySelectorAll("time").forEach(x => x.remove()), [...copy.cells ?? [copy]].map(c => c.textContent).filter(x => !/^(–|\d+)$/.test(x)).join("\t")))(r.cloneNode(true))), ...[...document.querySelectorAll("main select, main input[type=search]")].map(c => c.value)].join("\n")`
	paths := sample([]string{
		"p/1/flags?search=flag-002&sort=-key", "p/1/people?search=person-2", "p/1/flags/1/people?value=true", "p/1/flags/1/history?version=2", "p/1/flags/1/exposures?period=day&count=people",
		"p/1/flags/1/code?language=curl", "p/1/events?event=%24feature_flag_called&person=person-1",
	})
	want := map[string]string{}
	p := s.open(t, "p/1")
	for _, path := range paths {
		p.visit(path)
		p.waitLoaded()
		eventually(t, path+" complete", func() bool {
			before := want[path]
			want[path] = js[string](p, "new Promise(r => setTimeout(r, 500)).then(() => "+view+")")
			return want[path] == before
		})
	}
	s.endSessions()
	p = ben.openAnonymous(t)
	for i, path := range paths {
		p.visit(path)
		if i == 0 {
			p.node("heading", "Sign in")
			p.signInAs(ben.key)
			p.node("button", "Account menu")
		}
		p.waitLoaded()
		var got string
		eventually(t, path+" with the same view", func() bool { got = js[string](p, view); return got == want[path] })
	}
}

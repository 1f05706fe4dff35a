package browsertest

import (
	"strings"
	"testing"
)

// The account menu leads to the documentation of this version, also below a prefix. Its search finds the
// sections with a word, and opens one of them.
func TestDocs_FromTheConsole(t *testing.T) {
	s := serve(t)
	outer := s.behind(proxyTo(t, s.url, "/outer"), "/outer")
	outer.key = s.key
	p := outer.open(t, "p/1")
	p.click("button", "Account menu")
	p.click("menuitem", "Documentation")
	p.node("navigation", "Pages")
	if at, want := js[string](p, "location.href"), outer.url+"/docs/"; at != want {
		t.Errorf("the documentation is at %s, want %s", at, want)
	}
	p.accessible()

	const word = "holdout"
	p.fill(word, "searchbox", "Search")
	p.click("button", "Search")
	eventually(t, "sections with the word", func() bool {
		return js[bool](p, `/^\d+ sections have “holdout”/.test(document.querySelector("[role=status]")?.textContent ?? "")`)
	})
	p.accessible()
	type hit struct{ Name, Href string }
	first := js[hit](p, `(a => ({name: a.textContent, href: a.href}))(document.querySelector("#results a"))`)
	if !strings.Contains(strings.ToLower(first.Name), word) {
		t.Errorf("the first hit is %q, want a heading with %q", first.Name, word)
	}
	js[any](p, `document.querySelector("#results a").click()`)
	eventually(t, "the section", func() bool { return js[string](p, "location.href") == first.Href })
	if !strings.HasPrefix(first.Href, outer.url+"/docs/") {
		t.Errorf("the hit leads to %s", first.Href)
	}
	eventually(t, "the word in "+first.Href, func() bool {
		return js[bool](p, `(document.querySelector("main")?.innerText ?? "").toLowerCase().includes("holdout")`)
	})
}

// With --docs=false the server has no documentation, and the console no link to it.
func TestDocs_SwitchedOff(t *testing.T) {
	s := serve(t, "--docs=false")
	p := s.open(t, "p/1")
	p.click("button", "Account menu")
	p.node("menuitem", "Shortcuts")
	if found := p.all(0, "menuitem", "Documentation"); len(found) != 0 {
		t.Errorf("there are %d links to the documentation", len(found))
	}
}

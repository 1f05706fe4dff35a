package browsertest

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
)

// notEnglish is a script that returns the texts below the elements of a selector that are not marked as
// English.
const notEnglish = `((selector) => {
	const out = [];
	for (const e of document.querySelectorAll(selector)) {
		const texts = document.createTreeWalker(e, NodeFilter.SHOW_TEXT);
		while (texts.nextNode()) if (texts.currentNode.data.trim() && texts.currentNode.parentElement.closest("[lang]").lang !== "en") out.push(texts.currentNode.data);
	}
	return out;
})`

// WCAG 3.1.2 (console.md C9): texts of the server, which are in English, are marked as English on the
// German pages.
func TestGerman_TextsOfTheServer(t *testing.T) {
	s := serve(t)
	s.banner()
	p := s.openAnonymous(t, chromedp.WithNewBrowserContext()) // other tests share the cookies of one browser
	p.prefers("de")
	p.visit("sign-in")
	p.node("heading", "Anmelden")
	js[bool](p, fmt.Sprintf("document.querySelector('input[type=password]').value = %q, true", s.key))
	p.click("button", "Mit Schlüssel anmelden")
	p.node("button", "Kontomenü")

	p.visit("organization/health")
	p.node("table", "Prüfungen", "cell", "storage")
	const fromServer = `"main table[aria-label=Prüfungen] tbody :is(td:first-child, td:last-child)"`
	if n := js[int](p, "document.querySelectorAll("+fromServer+").length"); n != 20 {
		t.Errorf("the table has %d cells with texts of the server, want 20", n)
	}
	for _, text := range js[[]string](p, notEnglish+"("+fromServer+")") {
		t.Errorf("%q is not marked as English", text)
	}

	p.visit("p/1/flags/new")
	p.fill("banner", "textbox", "Schlüssel")
	eventually(t, "the fault of a key that is taken", func() bool { return js[bool](p, "document.querySelector('main .fault') !== null") })
	for _, text := range js[[]string](p, notEnglish+`("main .fault")`) {
		t.Errorf("%q is not marked as English", text)
	}
}

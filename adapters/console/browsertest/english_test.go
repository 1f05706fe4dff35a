package browsertest

import (
	"fmt"
	"slices"
	"testing"

	cdpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// troubledChecks replaces the checks of the server by some with problems, one of them with an error and
// one with codes that the pages do not know.
const troubledChecks = `{
	const real = fetch;
	const check = (name, messages, detail = "", advice = "", advice_code = "") => ({name, state: "warn", detail, messages, since: "2026-01-02T09:30:00Z", advice, advice_code});
	const checks = [
		check("intake", [{code: "intake_waiting", values: {waiting: 1200}}, {code: "intake_dropped", values: {dropped: 3, reasons: ["event_too_large 3"]}}], "x", "x", "see_log"),
		check("storage", [{code: "storage_size", values: {used_bytes: 1572864}}, {code: "storage_free", values: {free_bytes: 2147483648}}]),
		check("rollouts", [{code: "rollouts_late", values: {late_seconds: 3900}}]),
		check("certificate", [{code: "certificate_failed", values: {error: "no route to host"}}]),
		check("moon", [{code: "moon_full", values: {}}], "full", "Wait.", "moon_wait"),
	];
	window.fetch = async (...a) => {
		const got = await real(...a);
		return String(a[0]).endsWith("/api/health/") ? new Response(JSON.stringify({...await got.json(), checks}), {headers: got.headers}) : got;
	};
}`

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

	// The checks of the server have German texts by their codes; a code without one has the server's text.
	p.visit("organization/health")
	for _, cell := range []string{"Speicher", "wartende Ereignisse: 0; in der letzten Stunde nichts verworfen", "geplante Änderungen", "keine überfällig", "stabil"} {
		p.node("table", "Prüfungen", "cell", cell)
	}
	if marked := js[[]string](p, `[...document.querySelectorAll("main [lang=en]")].map(e => e.innerText)`); len(marked) > 0 {
		t.Errorf("texts of the checks are in English: %q", marked)
	}
	call(p, cdpage.Enable, cdpage.EnableParams{})
	call(p, cdpage.AddScriptToEvaluateOnNewDocument, cdpage.AddScriptToEvaluateOnNewDocumentParams{Source: troubledChecks})
	p.visit("organization/health")
	p.node("table", "Prüfungen", "cell", "wartende Ereignisse: 1.200; in der letzten Stunde verworfen: 3 (event_too_large 3) Der Grund steht im Protokoll.")
	p.node("table", "Prüfungen", "cell", "1,5 MiB gespeichert; 2 GiB frei")
	p.node("table", "Prüfungen", "cell", "Rollouts werden verspätet ausgewertet, um 1 h 5 min")
	if marked, want := js[[]string](p, `[...document.querySelectorAll("main [lang=en]")].map(e => e.innerText)`), []string{"no route to host", "moon", "full", "Wait."}; !slices.Equal(marked, want) {
		t.Errorf("%q is marked as English, want %q", marked, want)
	}

	p.visit("p/1/flags/new")
	p.fill("banner", "textbox", "Schlüssel")
	eventually(t, "the fault of a key that is taken", func() bool { return js[bool](p, "document.querySelector('main .fault') !== null") })
	for _, text := range js[[]string](p, notEnglish+`("main .fault")`) {
		t.Errorf("%q is not marked as English", text)
	}
}

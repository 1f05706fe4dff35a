package browsertest

import (
	"testing"

	"github.com/chromedp/cdproto/emulation"
)

// printFaults returns the faults of a printed page.
const printFaults = `(() => {
	const out = [], seen = el => el.getClientRects().length > 0;
	for (const el of document.querySelectorAll("header, nav, .notes, main button.button, .save-bar")) if (seen(el)) out.push("printed: " + el.outerHTML.slice(0, 100));
	for (const table of document.querySelectorAll("main table")) {
		for (let up = table.parentElement; up; up = up.parentElement) {
			const style = getComputedStyle(up);
			if (style.overflowY !== "visible" && up !== document.body && up !== document.documentElement && (up.scrollHeight > up.clientHeight + 1 || up.scrollWidth > up.clientWidth + 1)) out.push("cut off: " + table.ariaLabel);
		}
	}
	for (const a of document.querySelectorAll("main a[href]")) if (seen(a) && !getComputedStyle(a, "::after").content.includes(a.getAttribute("href"))) out.push("not written out: " + a.getAttribute("href"));
	const text = getComputedStyle(document.querySelector("h1")).color;
	if (text !== "rgb(27, 32, 38)") out.push("the heading is " + text + " on white paper");
	return out;
})()`

// T29 (console.md §7): a printed flag, experiment or dashboard has no frame, tables are complete,
// links are written out, and dark pages have dark text on white.
func TestPrint(t *testing.T) {
	s := serve(t)
	s.attackByMembers()
	p := s.open(t, "p/1")
	js[bool](p, "localStorage.setItem('bunting.theme', 'dark'), true")
	for _, path := range []string{"p/1/flags/1", "p/1/flags/1/history", "p/1/experiments/1", "p/1/dashboards/1"} {
		p.visit(path)
		p.waitLoaded()
		if theme := js[string](p, "document.documentElement.dataset.theme"); theme != "dark" {
			t.Fatalf("the look is %q, want dark", theme)
		}
		call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
		for _, wrong := range js[[]string](p, printFaults) {
			t.Errorf("%s: %s", path, wrong)
		}
		call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{})
	}
}

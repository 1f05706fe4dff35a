package browsertest

import (
	"fmt"
	"regexp"
	"slices"
	"testing"
)

// dayText matches a day as the console shows it.
var dayText = regexp.MustCompile(`^\d{1,2} [A-Z][a-z]+ \d{4}$`)

// headers returns the column headers of a table in a region.
func (p *page) headers(region string) []string {
	p.t.Helper()
	return js[[]string](p, fmt.Sprintf(`[...document.querySelector('section[aria-label=%q]').querySelectorAll("thead th")].map(h => h.innerText)`, region))
}

// demoPages checks the pages of the demo's objects in the second hour of a user: nothing is cut that has no
// other place, and each text has the words of its page (console.md §2.1, §4, §2.5).
func (p *page) demoPages(t *testing.T, person string, flags map[string]int) {
	t.Helper()
	p.visit("p/1/flags")
	p.node("link", "demo-new-search")
	p.waitLoaded()
	rollouts := js[[]string](p, `[...document.querySelectorAll("td.clip:not(.meta)")].map(c => c.innerText + (c.scrollWidth > c.clientWidth ? " (cut)" : ""))`)
	for _, want := range []string{"2 variants · everybody", "3 variants · everybody", "50 % · 1 condition"} {
		if !slices.Contains(rollouts, want) {
			t.Errorf("the list has the rollouts %q, want %q", rollouts, want)
		}
	}

	// A metric that is not a share of people has no conversions and no rate.
	p.visit("p/1/experiments/1")
	p.node("region", "Revenue per person", "table", "Results")
	for region, want := range map[string][]string{"Orders": {"Converted", "Rate"}, "Revenue per person": {"Total", "Per person"}} {
		if got := p.headers(region); !slices.Equal(got[2:4], want) {
			t.Errorf("%s has the columns %q, want %q after the people", region, got, want)
		}
	}
	p.click("button", "Stop")
	p.node("dialog", "Stop Demo: the checkout on one page?", "option", "Everyone gets test")
	p.click("dialog", "Stop Demo: the checkout on one page?", "button", "Cancel")

	// The demo's experiment uses a flag that existed before it: its variants are those of the flag.
	p.visit("p/1/experiments/1/setup")
	p.node("group", "Variant 2", "textbox", "Variant key")
	p.fill("20", "spinbutton", "Minimum detectable effect in percent")
	p.click("button", "Save")
	p.waitAnnounced("Saved")

	p.visit("p/1/dashboards/1")
	eventually(t, "labels of bars that are whole or say that they are cut", func() bool {
		return js[bool](p, `[...document.querySelectorAll("svg text")].some(x => x.textContent === "4. order placed" || /^4. order.*…$/.test(x.textContent))`)
	})
	p.visit("p/1/insights/1")
	p.node("combobox", "Period", "option", "Last 29 days")
	p.visit("organization/usage")
	p.node("table", "Usage by day")
	if got := js[string](p, `document.querySelector("table[aria-label='Usage by day'] tbody th").innerText`); !dayText.MatchString(got) {
		t.Errorf("the first day of the usage is %q", got)
	}

	// On a phone in German.
	p.prefers("de")
	p.size(390, 800)
	p.visit(fmt.Sprintf("p/1/flags/%d/schedule", flags["demo-new-search"]))
	p.waitLoaded()
	eventually(t, "the present tab in sight", func() bool {
		return js[bool](p, `(() => { const [t, n] = [document.querySelector(".tabs [aria-current]"), document.querySelector(".tabs")].map(x => x.getBoundingClientRect()); return t.left >= n.left - 1 && t.right <= n.right + 1; })()`)
	})
	p.visit("p/1/why?flag=demo-new-search&person=" + person)
	eventually(t, "an explanation in German", func() bool {
		return js[bool](p, `/\(gespeichert\): (ja|nein)/.test(document.querySelector("[role=tree]")?.innerText ?? "")`)
	})
	p.visit("p/1/flags")
	p.waitLoaded()
	eventually(t, "whole rollouts on a phone", func() bool {
		return js[bool](p, `(cells => cells.length > 0 && cells.every(c => c.scrollWidth <= c.clientWidth))([...document.querySelectorAll("td.clip:not(.meta)")])`)
	})
}

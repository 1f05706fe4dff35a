package browsertest

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/emulation"
)

// media sets a preference of the reader.
func (p *page) media(name, value string) {
	p.t.Helper()
	call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: name, Value: value}}})
}

// moving returns how many elements, with their pseudo-elements, have a transition or an animation.
const moving = `[...document.querySelectorAll("*")].filter(el => ["", "::before", "::after"].some(part => {
	const s = getComputedStyle(el, part);
	return s.transitionDuration.split(", ").some(d => d !== "0s") || s.animationName !== "none";
})).length`

// console.md §4, Motion and Focus: nothing moves for readers who prefer reduced motion. In forced colours,
// where the browser replaces backgrounds and shadows, the state of switches, the current tab, the current
// page and the selected option are still visible, and the focus has an outline.
func TestMedia_ReducedMotionAndForcedColours(t *testing.T) {
	s := serve(t)
	s.banner()
	s.api("POST", "/api/projects/1/feature_flags/", map[string]any{"key": "hidden", "active": false, "filters": map[string]any{"groups": []any{map[string]any{}}}}, nil)
	p := s.open(t, "p/1/flags")
	p.node("switch", "Enabled: banner")
	js[any](p, "document.querySelector('[role=switch]').focus()") // only a switch in use moves
	if n := js[int](p, moving); n == 0 {
		t.Error("nothing moves without the preference, so the test shows nothing")
	}
	p.media("prefers-reduced-motion", "reduce")
	if n := js[int](p, moving); n != 0 {
		t.Errorf("%d elements move", n)
	}

	p.media("forced-colors", "active")
	differ := func(what, property, part, one, other string) {
		t.Helper()
		style := func(selector string) string {
			return js[string](p, fmt.Sprintf("getComputedStyle(document.querySelector(%q), %q)[%q]", selector, part, property))
		}
		if a, b := style(one), style(other); a == b {
			t.Errorf("%s: %s is %s for both", what, property, a)
		}
	}
	differ("a switch that is on, and one that is off", "backgroundColor", "", "[role=switch][aria-checked=true]", "[role=switch][aria-checked=false]")
	differ("the current page, and another", "outlineStyle", "", "nav.nav a[aria-current]", "nav.nav a:not([aria-current])")
	p.press("k", ctrl)
	p.fill("a", "dialog", "Search", "combobox", "Search")
	eventually(t, "options", func() bool {
		return js[bool](p, "document.querySelectorAll('dialog [role=option]').length > 1 && !!document.querySelector('dialog [aria-selected=true]')")
	})
	differ("the selected option, and another", "outlineStyle", "", "dialog [role=option][aria-selected=true]", "dialog [role=option]:not([aria-selected=true])")
	p.press("Escape", 0)

	p.visit("p/1/flags/1")
	p.node("heading", "banner")
	differ("the current tab, and another", "borderBottomColor", "", ".tabs a[aria-current]", ".tabs a:not([aria-current])")
	p.press("Tab", 0)
	if outline := js[string](p, "(s => s.outlineStyle + ' ' + s.outlineWidth)(getComputedStyle(document.activeElement))"); outline != "solid 2px" {
		t.Errorf("the focus has the outline %s", outline)
	}
	p.accessible()
}

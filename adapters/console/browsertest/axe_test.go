package browsertest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// proven has the colors of texts that axe has found to have sufficient contrast, and the style
// sheets in which it has found no fault, on any page of this run.
var proven = struct {
	sync.Mutex
	looks map[string]bool
}{looks: map[string]bool{}}

// runAxe looks for problems. Whether a text has sufficient contrast depends on its color and size, and
// on the background; with the same look on another page it is checked only with
// -long, and never in forced colours, which are the reader's. What axe needs the rules of the style sheets for,
// it checks once for each style sheet.
const runAxe = `(async (theme, every, proven) => {
	const backgrounds = new Map([[null, theme]]);
	const background = el => {
		if (!backgrounds.has(el)) {
			const style = getComputedStyle(el), own = [style.backgroundColor, style.backgroundImage, style.opacity, style.filter].join(" ");
			backgrounds.set(el, background(el.parentElement) + (own === "rgba(0, 0, 0, 0) none 1 none" ? "" : " on " + own) + (/fixed|sticky|absolute/.test(style.position) ? " " + style.position : ""));
		}
		return backgrounds.get(el);
	};
	const looks = new Set(), off = ":disabled, [aria-disabled=true]";
	for (const el of document.querySelectorAll("body, body *")) {
		const hasText = el.matches("input, select, textarea") || [...el.childNodes].some(n => n.nodeType === Node.TEXT_NODE && n.data.trim());
		if (!hasText || !el.getClientRects().length) continue;
		const style = getComputedStyle(el), isOff = el.closest(off) || el.closest("label")?.control?.matches(off);
		looks.add([style.color, style.fontSize, style.fontWeight, style.textShadow, isOff ? "off" : "", el.closest("dialog, header, nav, main")?.nodeName, background(el)].join(" "));
	}
	const contrast = every || [...looks].some(l => !proven.includes(l));
	const sheets = [...document.styleSheets].map(s => new URL(s.href ?? "style:").pathname).join(" ");
	const checked = contrast ? [...looks] : [];
	if (theme.startsWith("dark") && !contrast) return {checked, faults: []};
	const preload = every || !proven.includes(sheets);
	const options = theme.startsWith("dark") ? {runOnly: {type: "rule", values: ["color-contrast"]}, preload: false} : {
		runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
		rules: {"label-content-name-mismatch": {enabled: false}, "color-contrast": {enabled: contrast && !theme.startsWith("forced")}, "css-orientation-lock": {enabled: preload}},
		preload,
	};
	if (theme === "light") checked.push(sheets);
	const found = await axe.run({...options, resultTypes: ["violations"]});
	return {checked, faults: found.violations.map(v => ({id: v.id, help: v.help, nodes: v.nodes.map(n => ({html: n.html, failureSummary: n.failureSummary}))}))};
})`

// accessible is T17: axe finds no problems, colors have sufficient contrast also in the dark theme,
// and the page is no wider than a phone (T19).
func (p *page) accessible() {
	p.t.Helper()
	p.waitLoaded()
	p.checkAccessible()
}

// loadAxe loads axe into the page.
func (p *page) loadAxe() {
	p.t.Helper()
	if !js[bool](p, "!!window.axe") {
		js[any](p, axe+";null")
	}
}

// checkAccessible is accessible for a page that is still loading.
func (p *page) checkAccessible() {
	p.t.Helper()
	p.loadAxe()
	for _, theme := range []string{"dark", "light"} {
		p.theme(theme)
		p.checkTheme(theme)
	}
	p.size(360, 740)
	if wide := js[int](p, "document.documentElement.scrollWidth"); wide > 360 {
		p.t.Errorf("%s is %d wide on a phone of 360", js[string](p, "location.pathname"), wide)
	}
	p.size(1280, 800)
}

// checkTheme reports the problems that axe finds in a theme.
func (p *page) checkTheme(theme string) {
	p.t.Helper()
	proven.Lock()
	looks, _ := json.Marshal(slices.AppendSeq([]string{}, maps.Keys(proven.looks)))
	proven.Unlock()
	found := js[struct {
		Checked []string `json:"checked"`
		Faults  []struct {
			ID    string `json:"id"`
			Help  string `json:"help"`
			Nodes []struct {
				HTML string `json:"html"`
				Why  string `json:"failureSummary"`
			} `json:"nodes"`
		} `json:"faults"`
	}](p, fmt.Sprintf("%s(%q, %t, %s)", runAxe, theme, *long, looks))
	for _, v := range found.Faults {
		for _, n := range v.Nodes {
			p.t.Errorf("%s, %s: %s (%s)\n%s\n%s", js[string](p, "location.pathname"), theme, v.Help, v.ID, n.HTML, n.Why)
		}
	}
	if len(found.Faults) > 0 {
		return
	}
	proven.Lock()
	defer proven.Unlock()
	for _, look := range found.Checked {
		proven.looks[look] = true
	}
}

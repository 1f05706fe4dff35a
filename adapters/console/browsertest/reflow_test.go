package browsertest

import (
	"fmt"
	"strings"
	"testing"
)

// everyRoute creates objects of each kind and returns the paths of all pages with their own route
// (console.md §2.3).
func (s *server) everyRoute() []string {
	s.t.Helper()
	s.attackByEvents()
	ids := s.attackByMembers()
	var persons struct{ Results []struct{ UUID string } }
	var issues struct{ Results []struct{ ID string } }
	eventually(s.t, "a person and an issue", func() bool {
		s.api("GET", "/api/projects/1/persons/", nil, &persons)
		s.api("GET", "/api/projects/1/error_tracking/issues/", nil, &issues)
		return len(persons.Results) == 1 && len(issues.Results) == 1
	})
	paths := []string{"account", "organization/members", "organization/domains", "organization/usage", "organization/settings", "organization/health", "p/1", "nowhere"}
	for _, under := range strings.Fields(`flags flags/new flags/1 flags/1/exposures flags/1/people flags/1/history flags/1/schedule flags/1/code why approvals
		experiments experiments/new experiments/metrics experiments/metrics/new experiments/holdouts experiments/1 experiments/1/exposures experiments/1/setup cohorts cohorts/new cohorts/1
		people people/PERSON people/PERSON/properties people/PERSON/flags people/PERSON/cohorts groups events live insights insights/new insights/1 dashboards dashboards/1
		errors errors/rules errors/ISSUE surveys surveys/new surveys/SURVEY surveys/SURVEY/answers early-access early-access/new early-access/FEATURE
		exports exports/new exports/EXPORT exports/EXPORT/backfills exports/EXPORT/settings activity warnings settings settings/access`) {
		paths = append(paths, "p/1/"+strings.NewReplacer("PERSON", persons.Results[0].UUID, "ISSUE", issues.Results[0].ID, "SURVEY", ids["surveys"], "FEATURE", ids["early_access_feature"], "EXPORT", ids["batch_exports"]).Replace(under))
	}
	return paths
}

// unreachableControls returns the controls that cannot be reached by scrolling down: those beyond the side of
// the page, unless they are in a box that scrolls horizontally, and those that are cut off.
const unreachableControls = `(() => {
	const wide = document.documentElement.clientWidth, out = [];
	if (document.documentElement.scrollWidth > wide) {
		const most = [...document.querySelectorAll("main *")].filter(el => el.getBoundingClientRect().right > wide + 1 && !el.closest(".scroller")).pop();
		out.push("the page is " + document.documentElement.scrollWidth + " wide, of " + wide + ": " + most?.outerHTML.slice(0, 150));
	}
	for (const el of document.querySelectorAll("a[href]:not(.skip), button, input, select, textarea")) {
		const box = el.getBoundingClientRect();
		if (!box.width || el.closest("[hidden], svg")) continue;
		let scrolls = false;
		for (let up = el.parentElement; up; up = up.parentElement) {
			const style = getComputedStyle(up), over = up.getBoundingClientRect();
			if (/auto|scroll/.test(style.overflowX) && up.scrollWidth > up.clientWidth) scrolls = true;
			if (scrolls || style.overflowX !== "hidden" || (box.left > over.left - 2 && box.right < over.right + 2)) continue;
			if (style.textOverflow === "ellipsis" && over.width >= 80) scrolls = true; // its page and its title have it whole
			else out.push("cut off: " + el.outerHTML.slice(0, 150));
		}
		if (!scrolls && (box.left < -1 || box.right > wide + 1)) out.push("beside the page: " + el.outerHTML.slice(0, 150));
	}
	return out.slice(0, 5);
})()`

// T19 (console.md §7): on a phone of 360 pixels, and with text of twice the size, no page of the
// table of routes scrolls horizontally, and every control can be reached. Names are long and
// contain markup.
func TestEveryRoute_PhoneAndLargeText(t *testing.T) {
	s := serve(t)
	p := s.open(t, "account")
	for _, path := range sample(s.everyRoute()) {
		if asksBeforeUnload := js[bool](p, "!dispatchEvent(new Event('beforeunload', {cancelable: true}))"); asksBeforeUnload {
			t.Errorf("before %s: a form has changes that nobody made", path)
		}
		js[bool](p, fmt.Sprintf("history.pushState({}, '', '/console/%s'), dispatchEvent(new PopStateEvent('popstate', {state: {}}))", path))
		p.waitLoaded()
		if pathname := js[string](p, "location.pathname"); pathname != "/console/"+path {
			t.Fatalf("the page is %s, want %s", pathname, path)
		}
		for _, c := range []struct {
			name        string
			width, high int64
			text        string
		}{{"on a phone", 360, 740, "100%"}, {"text of 200 %", 1280, 800, "200%"}} {
			p.size(c.width, c.high)
			js[bool](p, "document.documentElement.style.fontSize = '"+c.text+"', true")
			for _, wrong := range js[[]string](p, unreachableControls) {
				t.Errorf("%s, %s: %s", path, c.name, wrong)
			}
		}
		js[bool](p, "document.documentElement.style.fontSize = '', true")
		p.size(1280, 800)
	}
}

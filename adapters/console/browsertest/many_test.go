package browsertest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
)

// createFlags creates the flags flag-0001 and so on, with documents of a thousand flags.
func (s *server) createFlags(n int) {
	s.t.Helper()
	for from := 0; from < n; from += 1000 {
		flags := []any{}
		for i := from + 1; i <= min(from+1000, n); i++ {
			flags = append(flags, map[string]any{"key": fmt.Sprintf("flag-%04d", i), "name": fmt.Sprintf("Number %d", i), "active": true,
				"filters": map[string]any{"groups": []any{map[string]any{"properties": []any{}, "rollout_percentage": i % 101}}}})
		}
		s.api("POST", "/api/projects/1/feature_flags/apply/", map[string]any{"flags": flags}, nil)
	}
}

// searchScript types texts into the search of flags. It returns the maximum number of frames until only
// flags with matching keys were displayed, and the maximum number of created rows.
const searchScript = `(async () => {
	const box = document.querySelector("main input[type=search]"), shown = () => [...document.querySelectorAll("tbody a.code")];
	let frames = 0, rows = 0, made = 0;
	new MutationObserver(all => made += all.reduce((n, m) => n + [...m.addedNodes].filter(x => x.nodeName === "TR").length, 0)).observe(document.querySelector("tbody"), {childList: true});
	for (const text of ["LAST", "31", "flag-1", "007", "99"]) {
		box.focus();
		box.value = text;
		let drawn = made = 0;
		box.dispatchEvent(new Event("input", {bubbles: true}));
		while (!shown().length || shown().some(a => !a.innerText.includes(text))) drawn += await new Promise(done => requestAnimationFrame(() => done(1)));
		await null; // what has changed is counted
		[frames, rows] = [Math.max(frames, drawn), Math.max(rows, made)];
	}
	return {frames, rows};
})()`

// scrollScript scrolls the list in small and large steps. It returns the maximum number of rows at any
// time, and the maximum number that one step created.
const scrollScript = `(async () => {
	const next = () => new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)));
	let most = 0, step = 0, made = 0;
	new MutationObserver(all => made += all.reduce((n, m) => n + [...m.addedNodes].filter(x => x.nodeName === "TR").length, 0)).observe(document.querySelector("tbody"), {childList: true});
	for (let i = 0; i < 40; i++) {
		made = 0;
		scrollBy(0, 240);
		await next();
		step = Math.max(step, made);
		most = Math.max(most, document.querySelectorAll("tbody tr").length);
	}
	for (let y = 0; y < document.documentElement.scrollHeight; y += 20000) {
		scrollTo(0, y);
		await next();
		most = Math.max(most, document.querySelectorAll("tbody tr").length);
	}
	scrollTo(0, document.documentElement.scrollHeight);
	await next();
	return {most, step, last: [...document.querySelectorAll("tbody a.code")].at(-1).innerText};
})()`

// T20 (console.md §6.5, §6.6, §7): of thousands of flags only few have rows at any scroll position;
// searching does not wait for requests; each page of 200 and its call counts are requested only
// once. With -long there are 5,000 flags.
func TestFlags_Thousands(t *testing.T) {
	s, n, last := serve(t), 1200, "1200"
	if *long {
		n, last = 5000, "5000"
	}
	pages := n / 200
	s.createFlags(n)
	s.api("POST", "/batch/", map[string]any{"api_key": s.publicKey, "batch": []any{map[string]any{
		"event": "$feature_flag_called", "distinct_id": "ana", "properties": map[string]any{"$feature_flag": "flag-0001", "$feature_flag_response": true}}}}, nil)
	p := s.open(t, "p/1/flags")
	p.waitAnnounced(last[:1] + "," + last[1:] + " flags")
	eventually(t, "a call of flag-0001", func() bool {
		return js[string](p, "[...document.querySelector('tbody tr:not(.spacer)').cells].slice(1, 5).map(c => c.innerText).join(' | ')") == "flag-0001\nNumber 1 | On | 1 % · 1 condition | 1"
	})
	lists, counts := 0, 0
	eventually(t, "all pages with their calls", func() bool {
		lists, counts = p.countRequests("feature_flags/?"), p.countRequests("feature_flags/exposures/?")
		return lists >= pages && counts >= pages
	})
	// The browser's accessibility tree costs more than the page itself.
	call(p, accessibility.Disable, cdp.Empty{})
	got := js[struct {
		Most, Step int
		Last       string
	}](p, scrollScript)
	if got.Most > 120 || got.Step > 30 || got.Last != "flag-"+last {
		t.Errorf("%+v: at most 120 rows at once, 30 made by a step of a wheel, and flag-%s at the end", got, last)
	}
	if search := js[struct{ Frames, Rows int }](p, strings.Replace(searchScript, "LAST", last, 1)); search.Frames > 3 || search.Rows > 120 {
		t.Errorf("a search of what is here: %+v, want at most 3 frames and 120 rows", search)
	} else {
		t.Logf("a search: %+v; scrolling: %+v", search, got)
	}
	if lists, counts = p.countRequests("feature_flags/?"), p.countRequests("feature_flags/exposures/?"); lists != pages || counts != pages {
		t.Errorf("%d pages and %d counts were requested, want %d of each", lists, counts, pages)
	}
}

// countRequests counts the requests of the page whose address contains a text.
func (p *page) countRequests(part string) int {
	p.t.Helper()
	return js[int](p, fmt.Sprintf("performance.getEntriesByType('resource').filter(e => e.name.includes(%q)).length", part))
}

// T20: a flag with a hundred conditions, one of them with a thousand values, and with variants
// named in right-to-left scripts: its page has at most 5,000 elements, and no content overflows it.
func TestFlag_OfManyConditions(t *testing.T) {
	s := serve(t)
	values := make([]string, 1000)
	for i := range values {
		values[i] = "user-" + strconv.Itoa(i)
	}
	groups := []any{map[string]any{"properties": []any{map[string]any{"key": "id", "type": "person", "operator": "exact", "value": values}}, "rollout_percentage": 100}}
	for i := range 99 {
		groups = append(groups, map[string]any{"properties": []any{map[string]any{"key": "plan", "type": "person", "operator": "exact", "value": []string{"pro", strconv.Itoa(i)}}}, "rollout_percentage": i})
	}
	variants := []any{}
	for i := range 20 {
		variants = append(variants, map[string]any{"key": fmt.Sprintf("v%d", i), "name": "اختبار " + strings.Repeat("עברית ", i), "rollout_percentage": 5})
	}
	s.api("POST", "/api/projects/1/feature_flags/", map[string]any{"key": "many", "name": "مجموعة כבלים", "tags": []string{"عربي"},
		"filters": map[string]any{"groups": groups, "multivariate": map[string]any{"variants": variants}}}, nil)
	p := s.open(t, "p/1/flags")
	p.node("table", "Flags", "link", "many")
	p.visit("p/1/flags/1")
	p.node("group", "Condition 100")
	p.waitLoaded()
	if n := js[int](p, "document.querySelectorAll('*').length"); n > 5000 {
		t.Errorf("the page has %d elements, at most 5,000", n)
	}
	p.node("group", "Condition 1", "button", "Remove user-19")
	p.click("group", "Condition 1", "button", "Edit list")
	p.fill("user-0\nuser-1\nuser-0\n", "dialog", "Edit list", "textbox", "Values, one a line")
	p.accessible()
	p.click("dialog", "Edit list", "button", "Done")
	p.waitRemoved("button", "Remove user-2")
	p.click("button", "Save")
	p.click("dialog", "Review changes", "button", "Save changes")
	p.waitAnnounced("Saved version 2")
	var got struct {
		Filters struct {
			Groups []struct{ Properties []struct{ Value []string } }
		}
	}
	s.api("GET", "/api/projects/1/feature_flags/1/", nil, &got)
	if len(got.Filters.Groups) != 100 || !slices.Equal(got.Filters.Groups[0].Properties[0].Value, []string{"user-0", "user-1"}) {
		t.Errorf("%d conditions, the first with %v", len(got.Filters.Groups), got.Filters.Groups[0])
	}
	p.node("group", "Condition 100")
	p.waitLoaded()
}

package browsertest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/performance"
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

// scrollScript scrolls the list in small and large steps. It returns the maximum number of rows at any
// time, the maximum number that one step created or moved and that one task filled, the number of different
// rows with flags, the longest task meanwhile in milliseconds, and the time from the response to the first
// paint of the page, as a measure of the machine.
const scrollScript = `(async () => {
	// The next step begins between two frames, as one of a person does: within a frame it would compute the layout once more.
	const next = () => new Promise(r => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(r))));
	let most = 0, step = 0, made = 0, filled = 0, task = 0;
	const rows = new Set();
	const see = () => document.querySelectorAll("tbody tr:not(.spacer, .missing, .blank)").forEach(r => rows.add(r));
	const tasks = new PerformanceObserver(l => l.getEntries().forEach(e => task = Math.max(task, e.duration)));
	tasks.observe({entryTypes: ["longtask"]});
	new MutationObserver(all => made += all.reduce((n, m) => n + [...m.addedNodes].filter(x => x.nodeName === "TR").length, 0)).observe(document.querySelector("tbody"), {childList: true});
	// The browser reports the changes of each task together. A filled row has another index.
	new MutationObserver(all => filled = Math.max(filled, new Set(all.map(m => m.target)).size)).observe(document.querySelector("tbody"), {subtree: true, attributeFilter: ["aria-rowindex"]});
	document.querySelector("tbody a.code").focus();
	for (let i = 0; i < 40; i++) {
		made = 0;
		scrollBy(0, 240);
		await next();
		see();
		step = Math.max(step, made);
		most = Math.max(most, document.querySelectorAll("tbody tr").length);
	}
	for (let y = 0; y < document.documentElement.scrollHeight; y += 3000) {
		scrollTo(0, y);
		await next();
		see();
		most = Math.max(most, document.querySelectorAll("tbody tr").length);
	}
	scrollTo(0, document.documentElement.scrollHeight);
	await next();
	const start = performance.getEntriesByName("first-contentful-paint")[0]?.startTime - performance.getEntriesByType("navigation")[0].responseEnd;
	return {most, step, filled, rows: rows.size, task: Math.round(task), start: Math.round(start), focus: document.activeElement.innerText};
})()`

// T20 (console.md §6.5, §6.6, §7): opening a list of thousands of flags requests one page of 200 and its
// call counts; other pages are requested one time, when their rows are visible. Only few flags have rows
// at any scroll position. The server searches. With -long there are 5,000 flags.
func TestFlags_Thousands(t *testing.T) {
	s, n := (&server{t: t, data: t.TempDir()}).start(), 1200 // alone: it counts the rows of single frames
	if *long {
		n = 5000
	}
	s.createFlags(n)
	s.api("POST", "/batch/", map[string]any{"api_key": s.publicKey, "batch": []any{map[string]any{
		"event": "$feature_flag_called", "distinct_id": "ana", "properties": map[string]any{"$feature_flag": "flag-0001", "$feature_flag_response": true}}}}, nil)
	p := s.open(t, "p/1/flags")
	p.waitAnnounced(thousands(n) + " flags")
	eventually(t, "a call of flag-0001", func() bool {
		return js[string](p, "[...document.querySelector('tbody tr:not(.spacer)').cells].slice(1, 5).map(c => c.innerText).join(' | ')") == "flag-0001\nNumber 1 | On | 1 % · everybody | 1"
	})
	p.wantFlagRequests("opening", 1, 1)
	t.Logf("opening: %d bytes of flags", js[int](p, "performance.getEntriesByType('resource').filter(e => e.name.includes('feature_flags/')).reduce((n, e) => n + e.encodedBodySize, 0)"))

	// A change by another user reloads only the changed flag.
	p.waitStream("/changes/stream")
	s.api("PATCH", "/api/projects/1/feature_flags/2/", map[string]any{"filters": map[string]any{"groups": []any{map[string]any{"properties": []any{}, "rollout_percentage": 77}}}}, nil)
	eventually(t, "the change of flag-0002", func() bool {
		return js[bool](p, "[...document.querySelectorAll('tbody tr')].some(r => r.innerText.includes('flag-0002') && r.innerText.includes('77 %'))")
	})
	p.wantFlagRequests("a change", 2, 1)
	if named := p.countRequests("&ids=2&"); named != 1 {
		t.Errorf("%d requests named the changed flag alone", named)
	}

	// The browser's accessibility tree costs more than the page itself.
	call(p, accessibility.Disable, cdp.Empty{})
	before := p.countLayouts()
	got := js[struct {
		Most, Step, Filled, Rows, Task, Start int
		Focus                                 string
	}](p, scrollScript)
	if got.Most > 80 || got.Step > 30 || got.Filled > 10 || got.Rows > 80 || got.Focus != "flag-0001" {
		t.Errorf("%+v: want at most 80 rows at once, 30 made by a step of a wheel, 10 filled by a task, 80 rows made in all, which are used again, and the focus on the first flag", got)
	}
	// A step takes two frames, and a frame computes the layout once.
	if layouts, steps := p.countLayouts()-before, 40+n*40/3000; layouts > 3*steps {
		t.Errorf("%d steps of scrolling computed the layout %d times, want at most %d", steps, layouts, 3*steps)
	}
	t.Logf("scrolling %d flags: the longest task took %d ms (0: none above 50 ms), on a machine where the start of the page takes %d ms", n, got.Task, got.Start)
	eventually(t, "the last flag", func() bool {
		return js[string](p, "[...document.querySelectorAll('tbody a.code')].at(-1)?.innerText ?? ''") == fmt.Sprintf("flag-%04d", n)
	})
	if lists, counts := p.countRequests("&offset="), p.countRequests("feature_flags/exposures/?"); lists > n/200 || counts > n/200 {
		t.Errorf("%d pages and %d counts were requested, at most %d of each", lists, counts, n/200)
	}
	call(p, accessibility.Enable, cdp.Empty{})
	p.searchThousands(n)
	if *long {
		p.visit("p/1/flags")
		p.measureScrolling(n)
	}
}

// countLayouts returns how many times the page has computed its layout.
func (p *page) countLayouts() int {
	p.t.Helper()
	call(p, performance.Enable, performance.EnableParams{})
	for _, m := range call(p, performance.GetMetrics, cdp.Empty{}).Metrics {
		if m.Name == "LayoutCount" {
			return int(m.Value)
		}
	}
	p.t.Fatal("the browser does not count layouts")
	return 0
}

// thousands formats a number as the console does.
func thousands(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}

// wantFlagRequests compares the numbers of requests for lists of flags and for their calls.
func (p *page) wantFlagRequests(when string, lists, counts int) {
	p.t.Helper()
	if gotLists, gotCounts := p.countRequests("feature_flags/?"), p.countRequests("feature_flags/exposures/?"); gotLists != lists || gotCounts != counts {
		p.t.Errorf("%s: %d lists and %d counts were requested, want %d and %d", when, gotLists, gotCounts, lists, counts)
	}
}

// searchThousands searches the flags of createFlags on the server, and switches all flags that match
// off, of which not all are loaded.
func (p *page) searchThousands(n int) {
	t, s := p.t, p.server
	t.Helper()
	matching := func(text string) (count int) {
		for i := 1; i <= n; i++ {
			if strings.Contains(fmt.Sprintf("flag-%04d Number %d", i, i), text) {
				count++
			}
		}
		return count
	}
	for _, text := range []string{"31", "99", "flag-1"} {
		p.fill(text, "searchbox", "Search flags")
		p.waitAnnounced(thousands(matching(text)) + " flags")
		eventually(t, "only flags that match "+text, func() bool {
			return js[bool](p, fmt.Sprintf("(rows => rows.length > 0 && rows.every(r => r.innerText.includes(%q)))([...document.querySelectorAll('tbody tr:not(.spacer, .missing, .blank)')])", text))
		})
	}
	selected := matching("flag-1")
	if selected <= 200 {
		t.Fatalf("%d flags match, which is one page", selected)
	}
	p.click("checkbox", "Select all")
	p.node("region", "Selection", "StaticText", thousands(selected)+" selected")
	p.accessible()
	p.click("region", "Selection", "button", "Switch off")
	p.click("alertdialog", "Switch off "+thousands(selected)+" flags?", "button", "Switch off")
	p.waitAnnounced("Saved")
	var got struct{ Count int }
	s.api("GET", "/api/projects/1/feature_flags/?limit=1&status=inactive", nil, &got)
	if got.Count != selected {
		t.Errorf("%d flags are off, want %d", got.Count, selected)
	}
	p.choose("Off", "combobox", "Status")
	p.waitAnnounced(thousands(selected) + " flags")
	p.node("switch", "Enabled: flag-1001")
}

// countRequests counts the requests of the page with an address that contains a text.
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

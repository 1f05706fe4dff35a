package browsertest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
)

// setNetwork sets the delay of each request of the page in milliseconds, and its bytes per second.
func (p *page) setNetwork(c network.Conditions) {
	p.t.Helper()
	if c.Offline {
		p.mu.Lock()
		p.isCutOff = true
		p.mu.Unlock()
	}
	call(p, network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{MatchedNetworkConditions: []*network.Conditions{&c}})
}

var (
	slow = network.Conditions{Latency: 400, DownloadThroughput: 50_000, UploadThroughput: 50_000}
	lost = network.Conditions{Offline: true}
	fast = network.Conditions{DownloadThroughput: -1, UploadThroughput: -1}
)

// watch begins to record the state of the page in each frame: its heading, "busy" and "bars" while
// it loads, and "rows" of a table.
const watch = `(() => {
	window.seen = [];
	const look = () => {
		const main = document.querySelector("main");
		const now = [main.querySelector("h1")?.innerText ?? "", main.ariaBusy === "true" && "busy", main.querySelector(".bars") && "bars", main.querySelector("tbody tr a") && "rows"].filter(Boolean).join(" ");
		if (window.seen.at(-1) !== now) window.seen.push(now);
		requestAnimationFrame(look);
	};
	look();
	return true;
})()`

// T21 (console.md §7): on a slow network the states of §2.1 appear in order, displayed data stays
// until newer data is loaded, and pressing a button two times has one effect.
func TestNetwork_Slow(t *testing.T) {
	s := serve(t)
	s.api("POST", "/api/projects/1/feature_flags/", map[string]any{"key": "banner", "filters": map[string]any{"groups": []any{map[string]any{}}}}, nil)
	s.person("ana", map[string]any{"email": "ana@example.com"})
	p := s.open(t, "p/1")
	p.waitLoaded()
	p.setNetwork(slow)
	js[bool](p, watch)
	p.click("navigation", "Main", "link", "People")
	p.node("table", "People", "link", "ana@example.com")
	p.waitLoaded()
	requests := js[[]string](p, "window.seen")
	index := -1
	for _, state := range []string{"People busy", "People busy bars", "People rows"} {
		next := slices.Index(requests, state)
		if next <= index {
			t.Errorf("%q is not in its place of %q", state, requests)
		}
		index = next
	}
	p.fill("nobody like it", "searchbox", "Search people")
	p.waitRemoved("link", "ana@example.com")
	requests = js[[]string](p, "window.seen")
	if again := requests[index+1:]; slices.ContainsFunc(again, func(state string) bool { return strings.Contains(state, "bars") }) {
		t.Errorf("what was shown makes place for bars: %q", again)
	}
	p.setNetwork(fast)
	p.visit("p/1/flags/new")
	p.fill("twice", "textbox", "Key")
	p.setNetwork(slow)
	p.callFunction(p.node("button", "Save"), `function() {
		this.click();
		this.click();
		this.dispatchEvent(new KeyboardEvent("keydown", {key: "s", ctrlKey: true, bubbles: true}));
	}`)
	p.node("heading", "twice")
	if alerts := p.all(0, "alert", ""); len(alerts) > 0 {
		t.Error("what is saved twice is refused, and that is shown")
	}
	if n := p.countWrites("POST", "/feature_flags/"); n != 1 {
		t.Errorf("it was sent %d times, want once", n)
	}
}

// T21: without a network, displayed data and typed text stay, and the problem is reported once.
// When the network returns, no writes are repeated automatically, and failed reads are repeated.
func TestNetwork_Lost(t *testing.T) {
	s := serve(t)
	s.banner()
	p := s.open(t, "p/1/cohorts")
	p.node("heading", "No cohorts yet")
	p.click("navigation", "Main", "link", "Flags")
	p.click("link", "banner")
	p.fill("Typed", "textbox", "Description")
	p.waitLoaded()
	p.setNetwork(lost)
	p.click("button", "Save")
	p.node("StaticText", "No connection. Trying again in 5 s.")
	p.node("StaticText", "No connection to the server.")
	if got := p.value("Description"); got != "Typed" {
		t.Errorf("there is %q of what was typed", got)
	}
	p.restoreNetwork("dispatchEvent(new Event('online')), !document.querySelector('.strip')")
	if got := s.describeFlag(); got != "Banner, version 1" {
		t.Errorf("the flag is %q: nobody has saved yet", got)
	}
	p.click("button", "Save")
	p.click("dialog", "Review changes", "button", "Save changes")
	p.waitAnnounced("Saved version 2")
	if got := s.describeFlag(); got != "Typed, version 2" {
		t.Errorf("the flag is %q, want what was typed, saved once", got)
	}

	p.setNetwork(lost)
	p.click("navigation", "Main", "link", "Cohorts") // a page that was loaded before, from the cache
	p.node("heading", "No cohorts yet")
	p.click("navigation", "Main", "link", "Dashboards") // a page of a group that was not loaded before
	p.node("heading", "Dashboards")
	p.node("StaticText", "No connection to the server.")
	p.restoreNetwork("document.querySelector('main h2')?.innerText === 'No dashboards yet'")
	p.waitLoaded()
	p.accessible()
}

// restoreNetwork restores the network of the page, and waits for the automatic requests: the page
// checks the server every five seconds.
func (p *page) restoreNetwork(is string) {
	p.t.Helper()
	p.setNetwork(fast)
	for end := time.Now().Add(patience); !js[bool](p, is); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			p.t.Fatalf("the network is back, and not: %s", is)
		}
	}
}

// countWrites counts the requests of the page with a method and an end of the address.
func (p *page) countWrites(method, end string) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.sent {
		if strings.HasPrefix(r, method+" ") && strings.HasSuffix(r, end) {
			n++
		}
	}
	return n
}

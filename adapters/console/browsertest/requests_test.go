package browsertest

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// requestLog has the requests of a page since its document was requested, as methods and addresses.
type requestLog struct {
	mu    sync.Mutex
	files []string // of the console
	api   []string // to the API, without the session and streams, which the frame needs on every page
}

func (p *page) logRequests() *requestLog {
	p.t.Helper()
	l := &requestLog{}
	err := chromedp.Listen(p.ctx, func(ev any) {
		e, is := ev.(*network.EventRequestWillBeSent)
		if !is {
			return
		}
		request := e.Request.Method + " " + strings.TrimPrefix(e.Request.URL, p.server.url)
		l.mu.Lock()
		defer l.mu.Unlock()
		switch {
		case e.Type == network.ResourceTypeDocument: // requests of the page before it are not counted
			l.files, l.api = []string{request}, nil
		case e.Type == network.ResourceTypeEventSource || strings.Contains(request, "/api/session/current/"):
		case strings.Contains(request, "show_progress"): // how often depends on the time that a query takes
		case strings.Contains(request, "/api/"):
			l.api = append(l.api, request)
		default:
			l.files = append(l.files, request)
		}
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return l
}

func (l *requestLog) requests() (files, api []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.files), slices.Clone(l.api)
}

// record matches a part of a path that names a record.
var record = regexp.MustCompile(`/([0-9a-f-]{36}|\d+)(/|$)`)

// mostRequests is, by route, the most requests to the API that a page needs in a browser that
// has not cached any of it (console.md §6.5). IDs are identifiers of records.
var mostRequests = map[string]int{
	"nowhere": 0, "p/ID": 10, "account": 4, "p/ID/settings": 3, "p/ID/settings/access": 5, "p/ID/activity": 3, "p/ID/warnings": 1,
	"organization/members": 3, "organization/domains": 2, "organization/usage": 1, "organization/settings": 1, "organization/health": 1,

	"p/ID/flags": 3, "p/ID/flags/new": 3, "p/ID/flags/ID": 5, "p/ID/flags/ID/exposures": 3, "p/ID/flags/ID/people": 4,
	"p/ID/flags/ID/history": 3, "p/ID/flags/ID/schedule": 4, "p/ID/flags/ID/code": 4, "p/ID/why": 0, "p/ID/approvals": 1,

	"p/ID/people": 2, "p/ID/people/ID": 3, "p/ID/people/ID/properties": 2, "p/ID/people/ID/flags": 2, "p/ID/people/ID/cohorts": 2,
	"p/ID/cohorts": 2, "p/ID/cohorts/new": 0, "p/ID/cohorts/ID": 3, "p/ID/groups": 2, "p/ID/events": 2, "p/ID/live": 1,

	"p/ID/insights": 1, "p/ID/insights/new": 1, "p/ID/insights/ID": 3, "p/ID/dashboards": 1, "p/ID/dashboards/ID": 3,
	"p/ID/experiments": 2, "p/ID/experiments/new": 3, "p/ID/experiments/ID": 4, "p/ID/experiments/ID/exposures": 4, "p/ID/experiments/ID/setup": 4,
	"p/ID/experiments/metrics": 2, "p/ID/experiments/metrics/new": 2, "p/ID/experiments/metrics/ID": 2, "p/ID/experiments/holdouts": 2,

	"p/ID/errors": 3, "p/ID/errors/rules": 3, "p/ID/errors/ID": 3,
	"p/ID/surveys": 1, "p/ID/surveys/new": 1, "p/ID/surveys/ID": 2, "p/ID/surveys/ID/answers": 3,
	"p/ID/early-access": 1, "p/ID/early-access/new": 1, "p/ID/early-access/ID": 2,
	"p/ID/exports": 1, "p/ID/exports/new": 1, "p/ID/exports/ID": 2, "p/ID/exports/ID/backfills": 2, "p/ID/exports/ID/settings": 1,
}

// maxFiles is the number of files of a first load: the document, the style, the script, and for most
// pages the script of their group. With the session and the icon there are six requests.
const maxFiles = 4

// The first load of a page has few requests; then the page does not exceed the table.
func TestEveryRoute_Requests(t *testing.T) {
	s := serve(t)
	p := s.open(t, "p/1")
	p.waitLoaded()
	log := p.logRequests()
	for _, path := range sample(s.everyRoute()) {
		p.visit(path)
		p.waitLoaded()
		files, api := log.requests()
		route := path
		for record.MatchString(route) {
			route = record.ReplaceAllString(route, "/ID$2")
		}
		most, ok := mostRequests[route]
		if !ok {
			t.Errorf("%s has no row in the table of requests; it has %d: %q", route, len(api), api)
		} else if len(api) > most {
			t.Errorf("%s has %d requests, want at most %d: %q", route, len(api), most, api)
		}
		if len(files) > maxFiles {
			t.Errorf("%s loads %d files, want at most %d: %q", route, len(files), maxFiles, files)
		}
	}
}

// A journey costs few requests (console.md §6.5): a flag is made, released and explained. While somebody
// types, each pause may cost one more.
func TestJourneys_Requests(t *testing.T) {
	s := serve(t)
	s.person("ana", map[string]any{"email": "ana@example.com"})
	p := s.open(t, "account")
	p.waitLoaded()
	log := p.logRequests()
	costs := func(journey string, most int) {
		t.Helper()
		p.waitLoaded()
		if _, api := log.requests(); len(api) > most {
			t.Errorf("%s has %d requests, want at most %d: %q", journey, len(api), most, api)
		}
	}
	p.visit("p/1/flags")
	p.click("button", "New flag")
	p.fill("banner", "textbox", "Key")
	p.click("button", "Save")
	p.node("heading", "banner")
	costs("J2 list, new, saved", 8)

	p.visit("p/1/flags/1")
	p.fill("50", "spinbutton", "Rollout percentage")
	p.click("button", "Save")
	p.click("dialog", "Review changes", "button", "Save changes")
	p.waitAnnounced("Saved version 2")
	costs("J3 open, change, review, saved, with a pause", 9+1)

	p.visit("p/1/why")
	p.fill("ana", "combobox", "Person")
	p.enter()
	p.fill("banner", "combobox", "Flag")
	p.enter()
	p.click("form", "Why?", "button", "Why?")
	p.node("region", "Answer")
	costs("J4 person, flag, answer", 4)

	p.visit("p/1/flags/1/history")
	p.click("button", "Compare version 2")
	p.node("region", "Changes in version 2", "table", "Changes")
	p.click("button", "Restore version 1")
	p.click("dialog", "Restore version 1?", "button", "Restore")
	p.waitAnnounced("Restored version 1")
	p.node("table", "Versions", "button", "Compare version 3")
	costs("J5 history, compare, restore", 6)
}

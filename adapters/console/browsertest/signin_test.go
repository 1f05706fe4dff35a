package browsertest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// J1: the link of the first start names its user, requires a click, leads to the first steps, and
// works only once (console.md §5.2).
func TestFirstRun_Link(t *testing.T) {
	s := serve(t)
	p := s.openAnonymous(t)
	p.visit(strings.TrimPrefix(s.link, s.url+"/console/"))
	eventually(t, "whose link it is", func() bool { return js[bool](p, "(document.body?.innerText ?? '').includes('owner@localhost')") })
	if got := js[string](p, "location.hash"); got != "" {
		t.Errorf("the address has %q: the link stays in it", got)
	}
	p.accessible()
	p.click("button", "Sign in")
	p.node("heading", "First steps")
	p.accessible()
	p.click("button", "Account menu")
	p.click("menuitem", "Sign out")
	p.node("heading", "Sign in")
	p.visit("p/1/flags")
	p.node("heading", "Sign in")
	p.expect("401 GET /api/users/@me/")
	if got := js[int](p, "fetch('../../../api/users/@me/').then(r => r.status)"); got != http.StatusUnauthorized {
		t.Errorf("after signing out the API answers %d, want 401", got)
	}
	again := s.openAnonymous(t) // no request fails, which the harness checks
	again.visit(strings.TrimPrefix(s.link, s.url+"/console/"))
	again.node("button", "Sign in with key")
	again.waitRemoved("button", "Sign in")
	again.node("alert", "", "StaticText", "This link was used or is too old.")
	again.accessible()
}

// A wrong key is reported, and does not sign in (console.md §3.2).
func TestSignIn_WrongKey(t *testing.T) {
	s := serve(t)
	p := s.openAnonymous(t)
	p.expect("401 POST /api/session/")
	p.visit("sign-in")
	p.node("button", "Sign in with key")
	js[bool](p, "document.querySelector('input[type=password]').value = 'phx_wrong', true")
	p.click("button", "Sign in with key")
	eventually(t, "what is wrong", func() bool { return js[bool](p, "document.querySelector('[role=alert]') !== null") })
	p.accessible()
}

// Without a session no request fails and the browser's console stays empty, on the pages that lead
// to "Sign in" too, and after signing out.
func TestSignIn_Quiet(t *testing.T) {
	s := serve(t)
	p := s.openAnonymous(t)
	failed := p.record(t)
	for _, path := range []string{"sign-in", "p/1/flags", "", "sign-in?next=account", strings.TrimPrefix(s.link, s.url+"/console/")} {
		p.visit(path)
		p.node("heading", "Sign in")
		p.waitLoaded()
	}
	p.node("StaticText", "as owner@localhost")
	p.click("button", "Sign in")
	p.node("heading", "First steps")
	p.waitLoaded()
	p.click("button", "Account menu")
	p.click("menuitem", "Sign out")
	p.node("heading", "Sign in")
	p.visit("p/1/flags")
	p.node("heading", "Sign in")
	p.waitLoaded()
	if got := failed(); len(got) > 0 {
		t.Errorf("the browser saw\n%s", strings.Join(got, "\n"))
	}
}

// record begins to collect the requests of the page that fail, and everything that is logged.
func (p *page) record(t *testing.T) (get func() []string) {
	t.Helper()
	var mu sync.Mutex
	var seen []string
	err := chromedp.Listen(p.ctx, func(ev any) {
		text := ""
		switch e := ev.(type) {
		case *runtime.EventConsoleAPICalled:
			args, _ := json.Marshal(e.Args)
			text = string(e.Type) + " " + string(args)
		case *log.EventEntryAdded:
			text = string(e.Entry.Level) + " " + e.Entry.Text + " " + e.Entry.URL
		case *network.EventResponseReceived:
			if e.Response.Status >= 400 {
				text = fmt.Sprintf("%d %s", e.Response.Status, e.Response.URL)
			}
		case *network.EventLoadingFailed:
			if !e.Canceled {
				text = "failed: " + e.ErrorText
			}
		}
		if text != "" {
			mu.Lock()
			seen = append(seen, text)
			mu.Unlock()
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return seen
	}
}

package browsertest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// page is a tab. The faults that §7 forbids fail the test: uncaught errors, console.error, policy
// violations, requests to another origin, requests without a response, and responses of 400 and above that
// the test does not announce with expect.
type page struct {
	t        *testing.T
	ctx      context.Context
	server   *server
	mu       sync.Mutex
	faults   []string
	sent     []string                     // methods and addresses of requests other than GET
	requests map[network.RequestID]string // methods and addresses of all requests
	expected map[string]bool              // announced failing requests, and whether they happened
	loading  network.RequestID            // the request of a document that is loading
	begun    []string                     // addresses of requests whose response has begun
	isCutOff bool                         // the test takes the network away, so that requests have no response
}

// open creates a tab with a session of the key's user, and opens a path of the console. The session
// comes from the request that the form of "Sign in" sends; signin_test.go tests the form.
func (s *server) open(t *testing.T, path string) *page {
	t.Helper()
	p := s.openAnonymous(t)
	text, _ := json.Marshal(map[string]string{"key": s.key})
	got, err := http.Post(s.url+"/api/session/", "application/json", bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	got.Body.Close()
	if got.StatusCode != http.StatusCreated || len(got.Cookies()) != 1 {
		t.Fatalf("signing in: %s, %d cookies", got.Status, len(got.Cookies()))
	}
	cookie := got.Cookies()[0]
	call(p, network.SetCookie, network.SetCookieParams{Name: cookie.Name, Value: cookie.Value, URL: s.url, Path: cookie.Path, HTTPOnly: &cookie.HttpOnly, SameSite: network.CookieSameSiteLax})
	p.visit(path)
	return p
}

// openAnonymous creates a tab without a session.
func (s *server) openAnonymous(t *testing.T, options ...chromedp.ContextOption) *page {
	t.Helper()
	ctx, end := chromedp.NewContext(browser, options...)
	ctx, late := context.WithTimeout(ctx, 5*patience)
	ctx, stop := context.WithCancel(ctx)
	p := &page{t: t, ctx: ctx, server: s, requests: map[network.RequestID]string{}, expected: map[string]bool{}}
	err := chromedp.Listen(ctx, func(ev any) {
		if _, is := ev.(*inspector.EventTargetCrashed); is {
			stop() // the tab never responds again
		}
		if fault := p.fault(ev); fault != "" {
			p.mu.Lock()
			p.faults = append(p.faults, fault)
			p.mu.Unlock()
		}
		p.follow(ev)
		if e, is := ev.(*network.EventRequestWillBeSent); is {
			p.mu.Lock()
			p.requests[e.RequestID] = e.Request.Method + " " + strings.TrimPrefix(e.Request.URL, s.url)
			if e.Request.Method != "GET" {
				p.sent = append(p.sent, e.Request.Method+" "+e.Request.URL)
			}
			p.mu.Unlock()
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			p.savePicture(strings.ReplaceAll(t.Name(), "/", "_") + "-failed")
		}
		stop()
		late()
		end()
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, f := range p.faults {
			t.Error(f)
		}
		for request, happened := range p.expected {
			if !happened {
				t.Errorf("the test announces %q, but no request failed so", request)
			}
		}
	})
	call(p, network.Enable, network.EnableParams{})
	call(p, log.Enable, cdp.Empty{})
	call(p, accessibility.Enable, cdp.Empty{})
	p.size(1280, 800)
	return p
}

// waitStream waits until the server has begun to send a stream: the page misses earlier events.
func (p *page) waitStream(path string) {
	p.t.Helper()
	eventually(p.t, "the stream "+path, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return slices.ContainsFunc(p.begun, func(address string) bool { return strings.Contains(address, path) })
	})
}

// follow keeps the request of the document that is loading, and the responses that have begun.
func (p *page) follow(ev any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := ev.(type) {
	case *network.EventRequestWillBeSent:
		if e.Type == network.ResourceTypeDocument {
			p.loading = e.RequestID
		}
	case *network.EventResponseReceived:
		p.begun = append(p.begun, e.Response.URL)
	case *network.EventLoadingFinished:
		p.loaded(e.RequestID)
	case *network.EventLoadingFailed:
		p.loaded(e.RequestID)
	}
}

// loaded notes that a request has ended. mu must be held.
func (p *page) loaded(request network.RequestID) {
	if p.loading == request {
		p.loading = ""
	}
}

// isLoading reports whether the tab is loading another document. Chromium crashes if a document is
// replaced during a search of the accessibility tree.
func (p *page) isLoading() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.loading != ""
}

func (p *page) fault(ev any) string {
	switch e := ev.(type) {
	case *inspector.EventTargetCrashed:
		return "the tab crashed"
	case *runtime.EventExceptionThrown:
		text, _ := json.Marshal(e.ExceptionDetails)
		return "uncaught: " + string(text)
	case *runtime.EventConsoleAPICalled:
		if e.Type == "error" {
			text, _ := json.Marshal(e.Args)
			return "console.error: " + string(text)
		}
	case *log.EventEntryAdded:
		if e.Entry.Source == "security" || e.Entry.Source == "violation" || strings.Contains(e.Entry.Text, "Content Security Policy") {
			return "policy: " + e.Entry.Text
		}
		// Failing requests are faults below. Chromium logs that it does not ask before it leaves a page without input.
		if e.Entry.Level == log.EntryLevelError && e.Entry.Source != log.EntrySourceNetwork && e.Entry.Source != log.EntrySourceIntervention {
			return "logged: " + e.Entry.Text
		}
	case *network.EventResponseReceived:
		if e.Response.Status >= 400 {
			return p.failed(e)
		}
	case *network.EventLoadingFailed:
		return p.unanswered(e)
	case *network.EventRequestWillBeSent:
		isNavigation := e.Type == network.ResourceTypeDocument && e.Request.Method == "GET" // a link, for example to a provider
		if !strings.HasPrefix(e.Request.URL, p.server.url+"/") && e.Request.URL != "about:blank" && !(isNavigation && p.server.provider != "" && strings.HasPrefix(e.Request.URL, p.server.provider+"/")) {
			return "a request to another origin: " + e.Request.URL
		}
	}
	return ""
}

// expect announces requests that fail because of what the test does, as beginnings of a status, a
// method and a path, such as "401 POST /api/session/".
func (p *page) expect(requests ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range requests {
		p.expected[r] = false
	}
}

// failed returns a failing request as a fault, unless the test announces it.
func (p *page) failed(e *network.EventResponseReceived) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := fmt.Sprintf("%d %s", e.Response.Status, p.requests[e.RequestID])
	for request := range p.expected {
		if strings.HasPrefix(text, request) {
			p.expected[request] = true
			return ""
		}
	}
	return "a request that failed: " + text
}

// unanswered returns a request without a response as a fault, unless the page has cancelled it or the test
// takes the network away.
func (p *page) unanswered(e *network.EventLoadingFailed) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.isCutOff || e.Canceled || e.ErrorText == "net::ERR_ABORTED" {
		return ""
	}
	return fmt.Sprintf("a request without a response: %s %s %s", e.ErrorText, e.BlockedReason, p.requests[e.RequestID])
}

// call runs a command of the protocol.
func call[P, R any](p *page, c cdp.Command[P, R], params P) R {
	p.t.Helper()
	got, err := chromedp.Call(p.ctx, c, params)
	if err != nil {
		p.t.Fatalf("%s: %v", c.Method, err)
	}
	return got
}

func (p *page) size(width, height int64) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, chromedp.EmulateViewport(width, height)); err != nil {
		p.t.Fatal(err)
	}
}

func (p *page) visit(path string) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, chromedp.Navigate(p.server.url+"/console/"+path)); err != nil {
		p.t.Fatal(err)
	}
}

// js evaluates an expression. If the tab loads another document meanwhile, or an element is not
// there yet, js evaluates it again. A condition that is undefined is false.
func js[T any](p *page, expression string) T {
	p.t.Helper()
	if _, isBool := any(*new(T)).(bool); isBool { // false if a part of the page is missing
		expression = "Promise.resolve((" + expression + ")).then(v => v ?? false)"
	}
	for end := time.Now().Add(patience); ; time.Sleep(25 * time.Millisecond) {
		got, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
		if err == nil {
			return got
		}
		if !navigated(err) && !isMissing(err) || time.Now().After(end) {
			p.t.Fatalf("%.80s: %v", expression, err)
		}
	}
}

// isMissing reports whether an expression failed because an element is not on the page yet.
func isMissing(err error) bool {
	return strings.Contains(err.Error(), "TypeError: Cannot read properties of null") || strings.Contains(err.Error(), "TypeError: Cannot read properties of undefined")
}

// navigated reports whether the browser aborted a command because its document was replaced. The
// protocol has one code for all such errors, so their texts distinguish them.
func navigated(err error) bool {
	for _, text := range []string{"Inspected target navigated or closed", "Execution context was destroyed", "Cannot find context with specified id"} {
		if strings.Contains(err.Error(), text) {
			return true
		}
	}
	return false
}

// all returns the nodes with a role and a name below a node, or in the document.
func (p *page) all(within cdp.BackendNodeID, role, name string) (out []*accessibility.Node) {
	if p.isLoading() {
		return nil
	}
	params := accessibility.QueryAXTreeParams{Role: role, AccessibleName: name, BackendNodeID: within}
	if within == 0 {
		root, err := chromedp.Call(p.ctx, dom.GetDocument, dom.GetDocumentParams{})
		if err != nil {
			return nil
		}
		params.BackendNodeID = root.Root.BackendNodeID
	}
	got, err := chromedp.Call(p.ctx, accessibility.QueryAXTree, params)
	if err != nil {
		return nil // the node is being removed
	}
	for _, n := range got.Nodes {
		if !n.Ignored {
			out = append(out, n)
		}
	}
	return out
}

// node returns the single element with a role and a name. Several pairs name nested elements, the
// outer ones first.
func (p *page) node(roleName ...string) cdp.BackendNodeID {
	p.t.Helper()
	var within cdp.BackendNodeID
	found := 0
	for end := time.Now().Add(patience); time.Now().Before(end) && p.ctx.Err() == nil; time.Sleep(25 * time.Millisecond) {
		within = 0
		for i := 0; i < len(roleName); i += 2 {
			nodes := p.all(within, roleName[i], roleName[i+1])
			if found = len(nodes); found != 1 {
				within = 0
				break
			}
			within = nodes[0].BackendDOMNodeID
		}
		if within != 0 {
			return within
		}
	}
	p.t.Fatalf("there are %d of %q, want one; the page shows:\n%s", found, roleName, js[string](p, "document.body.innerText"))
	return 0
}

// waitRemoved waits until there is no such element.
func (p *page) waitRemoved(role, name string) {
	p.t.Helper()
	eventually(p.t, "no more "+role+" "+name, func() bool { return len(p.all(0, role, name)) == 0 })
}

// callFunction calls a JavaScript function on a node.
func (p *page) callFunction(id cdp.BackendNodeID, function string) {
	p.t.Helper()
	object := call(p, dom.ResolveNode, dom.ResolveNodeParams{BackendNodeID: id}).Object.ObjectID
	call(p, runtime.CallFunctionOn, runtime.CallFunctionOnParams{FunctionDeclaration: function, ObjectID: object})
}

// position returns the position of an element on the screen, or nil if the page was redrawn and the
// element was removed.
func (p *page) position(id cdp.BackendNodeID) dom.Quad {
	if _, err := chromedp.Call(p.ctx, dom.ScrollIntoViewIfNeeded, dom.ScrollIntoViewIfNeededParams{BackendNodeID: id}); err != nil {
		return nil
	}
	got, err := chromedp.Call(p.ctx, dom.GetContentQuads, dom.GetContentQuadsParams{BackendNodeID: id})
	if err != nil || len(got.Quads) == 0 {
		return nil
	}
	return got.Quads[0]
}

// click clicks an element with the mouse.
func (p *page) click(roleName ...string) {
	p.t.Helper()
	var q dom.Quad
	eventually(p.t, fmt.Sprintf("%q to be seen", roleName), func() bool {
		id := p.node(roleName...)
		q = p.position(id)
		js[bool](p, "new Promise(drawn => setTimeout(() => drawn(true), 30))")
		return q != nil && slices.Equal(q, p.position(id)) // a moving element would be missed
	})
	for _, kind := range []input.DispatchMouseEventType{"mousePressed", "mouseReleased"} {
		call(p, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: kind, X: (q[0] + q[4]) / 2, Y: (q[1] + q[5]) / 2, Button: "left", ClickCount: 1})
	}
}

// fill replaces the text of a control.
func (p *page) fill(text string, roleName ...string) {
	p.t.Helper()
	p.callFunction(p.node(roleName...), "function() { this.focus(); this.select && this.select(); }")
	call(p, input.InsertText, input.InsertTextParams{Text: text})
}

// enter presses the key Enter.
func (p *page) enter() {
	p.t.Helper()
	for _, kind := range []input.DispatchKeyEventType{"keyDown", "keyUp"} {
		params := input.DispatchKeyEventParams{Type: kind, Key: "Enter", Code: "Enter", WindowsVirtualKeyCode: 13}
		if kind == "keyDown" {
			params.Text = "\r"
		}
		call(p, input.DispatchKeyEvent, params)
	}
}

// choose selects an option of a select element.
func (p *page) choose(option string, roleName ...string) {
	p.t.Helper()
	text, _ := json.Marshal(option)
	p.callFunction(p.node(roleName...), "function() { this.value = [...this.options].find(o => o.text === "+string(text)+").value; this.dispatchEvent(new Event('change', {bubbles: true})); }")
}

// waitAnnounced waits until the page announces a text.
func (p *page) waitAnnounced(text string) {
	p.t.Helper()
	want, _ := json.Marshal(text)
	eventually(p.t, "status "+text, func() bool {
		return js[bool](p, "[...document.querySelectorAll('[role=status]')].some(s => s.innerText.split('\\n').includes("+string(want)+"))")
	})
}

func (p *page) theme(theme string) {
	p.t.Helper()
	call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}})
}

// waitLoaded waits until the page has finished loading.
func (p *page) waitLoaded() {
	p.t.Helper()
	eventually(p.t, "a page that has loaded", func() bool {
		return js[bool](p, "!!document.querySelector('main h1') && !document.querySelector('main[aria-busy=true], main [aria-busy=true], .bars')")
	})
}

// savePicture writes a screenshot if CONSOLE_PICTURES names a folder.
func (p *page) savePicture(name string) {
	dir := os.Getenv("CONSOLE_PICTURES")
	if dir == "" {
		return
	}
	picture, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o600)
	}
	if err != nil {
		p.t.Log(err)
	}
}

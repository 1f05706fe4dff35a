package browsertest

import (
	"fmt"
	"testing"

	cdpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// endSessions ends all sessions of the server's user, as "End all other sessions" does.
func (s *server) endSessions() {
	s.t.Helper()
	s.api("DELETE", "/api/sessions/?others=true", nil, nil)
}

// banner creates the flag banner, described as Banner, for all users.
func (s *server) banner() {
	s.t.Helper()
	s.api("POST", "/api/projects/1/feature_flags/", map[string]any{"key": "banner", "name": "Banner", "filters": map[string]any{"groups": []any{map[string]any{}}}}, nil)
}

// describeFlag returns the description and the version of flag 1.
func (s *server) describeFlag() string {
	s.t.Helper()
	var f struct {
		Name    string
		Version int
	}
	s.api("GET", "/api/projects/1/feature_flags/1/", nil, &f)
	return fmt.Sprintf("%s, version %d", f.Name, f.Version)
}

// signInAs enters a key into the form of a dialog or of the page, and submits it.
func (p *page) signInAs(key string, within ...string) {
	p.t.Helper()
	p.callFunction(p.node(append(within, "button", "Sign in with key")...), fmt.Sprintf("function() { this.closest('form').querySelector('input[type=password]').value = %q; }", key))
	p.click(append(within, "button", "Sign in with key")...)
}

// reload reloads the page immediately, and confirms the browser's question.
func (p *page) reload() {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, chromedp.Reload()); err != nil {
		p.t.Fatal(err)
	}
}

// confirmLeaving confirms the browser's question before it leaves pages with unsaved changes.
func (p *page) confirmLeaving() {
	p.t.Helper()
	err := chromedp.Listen(p.ctx, func(ev any) {
		if _, is := ev.(*cdpage.EventJavascriptDialogOpening); is {
			go func() {
				_, _ = chromedp.Call(p.ctx, cdpage.HandleJavaScriptDialog, cdpage.HandleJavaScriptDialogParams{Accept: true})
			}()
		}
	})
	if err != nil {
		p.t.Fatal(err)
	}
	call(p, cdpage.Enable, cdpage.EnableParams{})
}

// value returns the value of the field with a label.
func (p *page) value(label string) string {
	return js[string](p, fmt.Sprintf("[...document.querySelectorAll('main label')].find(l => l.innerText === %q)?.control.value ?? 'no field'", label))
}

// T22 (console.md §7): a session ends during an edit. If the same user signs in over the page, the
// change is saved. A reload preserves the typed text. Another user does not get any of it.
func TestSession_EndsInAnEdit(t *testing.T) {
	s := serve(t)
	s.banner()
	ben := s.acceptInvite("ben@example.com")
	p := s.open(t, "p/1/flags/1")
	p.expect("401 ") // the session ends several times
	p.confirmLeaving()
	p.fill("Mine", "textbox", "Description")
	p.click("button", "Save")
	save := p.node("dialog", "Review changes", "button", "Save changes")
	s.endSessions()
	p.callFunction(save, "function() { this.click(); }") // before the page sends a request by itself
	p.node("dialog", "Sign in again", "button", "Sign in with key")
	p.checkAccessible()
	if got := p.value("Description"); got != "Mine" {
		t.Errorf("below the dialog is %q, want what was typed", got)
	}
	p.signInAs(s.key, "dialog", "Sign in again")
	p.waitAnnounced("Saved version 2")
	if got := s.describeFlag(); got != "Mine, version 2" {
		t.Errorf("the flag is %q, want what was typed, once", got)
	}

	// A user who cancels can continue typing, and the next save opens the dialog again.
	p.fill("Mine too", "textbox", "Description")
	save = p.node("button", "Save")
	s.endSessions()
	p.callFunction(save, "function() { this.click(); }")
	p.click("dialog", "Sign in again", "button", "Cancel")
	p.node("alert", "")
	if got := p.value("Description"); got != "Mine too" {
		t.Errorf("after Cancel there is %q", got)
	}

	// After an immediate reload without a session, the draft is restored when the user signs in.
	p.fill("Mine three", "textbox", "Description")
	p.reload()
	p.node("heading", "Sign in")
	p.signInAs(s.key)
	p.waitAnnounced("Draft restored")
	if got := p.value("Description"); got != "Mine three" {
		t.Errorf("after a reload and signing in there is %q", got)
	}

	// Another user signs in in the same tab: over the page, and after a reload.
	save = p.node("button", "Save")
	s.endSessions()
	p.callFunction(save, "function() { this.click(); }")
	p.signInAs(ben.key, "dialog", "Sign in again")
	eventually(t, "the page of ben, with what is stored", func() bool { return p.value("Description") == "Mine" })
	p.waitLoaded()
	if email := js[string](p, "fetch('/api/users/@me/').then(r => r.json()).then(u => u.email)"); email != "ben@example.com" {
		t.Errorf("the page is that of %s", email)
	}
	if got := s.describeFlag(); got != "Mine, version 2" {
		t.Errorf("the flag is %q: ben has saved what somebody else typed", got)
	}
	p.waitRemoved("dialog", "Review changes")
	p.waitRemoved("StaticText", "Draft restored")
	ben.endSessions()
	p.visit("p/1/flags/1")
	p.signInAs(s.key)
	p.waitAnnounced("Draft restored")
	p.click("button", "Discard")
	p.reload()
	p.node("textbox", "Description")
	if got := p.value("Description"); got != "Mine" {
		t.Errorf("after Discard and a reload there is %q", got)
	}
}

// §2.6 Draft: text typed into the form of an object is restored after a reload of its tab, but only
// the changed fields.
func TestDrafts_OutliveAReload(t *testing.T) {
	s := serve(t)
	s.exception("TypeError", "odd", "Chrome")
	s.api("POST", "/api/projects/1/cohorts/", map[string]any{"name": "team", "filters": map[string]any{"properties": map[string]any{"type": "AND", "values": []any{
		map[string]any{"key": "plan", "type": "person", "operator": "exact", "value": "pro"}}}}}, nil)
	s.api("POST", "/api/projects/1/experiments/", map[string]any{"name": "test", "feature_flag_key": "tried"}, nil)
	var feature struct{ ID string }
	s.api("POST", "/api/projects/1/early_access_feature/", map[string]any{"name": "soon", "description": "was", "stage": "beta"}, &feature)
	issue := s.onlyIssue()
	p := s.open(t, "p/1")
	p.confirmLeaving()
	for _, form := range []struct{ path, label string }{
		{"flags/new", "Description"}, {"cohorts/new", "Name"}, {"experiments/new", "Name"}, {"insights/new", "Name"}, {"surveys/new", "Name"}, {"early-access/new", "Name"},
		{"cohorts/1", "Description"}, {"experiments/1/setup", "Hypothesis"}, {"early-access/" + feature.ID, "Name"}, {"errors/" + issue, "Name"},
	} {
		p.visit("p/1/" + form.path)
		p.fill("typed", "textbox", form.label)
		p.reload()
		p.node("textbox", form.label)
		eventually(t, form.path+" with what was typed", func() bool { return p.value(form.label) == "typed" })
		p.waitAnnounced("Draft restored")
	}
	s.api("PATCH", "/api/projects/1/early_access_feature/"+feature.ID+"/", map[string]any{"description": "by ben"}, nil)
	p.visit("p/1/early-access/" + feature.ID)
	p.node("textbox", "Name")
	if name, text := p.value("Name"), p.value("Description"); name != "typed" || text != "by ben" {
		t.Errorf("the draft has %q and %q, want what was typed and what somebody else has saved since", name, text)
	}
}

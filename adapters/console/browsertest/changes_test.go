package browsertest

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/chromedp"
)

// console.md §2.6 Conflict, N14, T23: while a form has no changes, it adopts the changes of other
// users; otherwise it only reports them. No changes are lost without notice.
func TestChanges_ByOthers(t *testing.T) {
	s := serve(t)
	const flag = "/api/projects/1/feature_flags/1/"
	s.api("POST", "/api/projects/1/feature_flags/", map[string]any{"key": "banner", "name": "Banner", "filters": map[string]any{"groups": []any{map[string]any{"rollout_percentage": 100}}}}, nil)
	s.person("ana", map[string]any{"email": "ana@example.com"})
	p := s.open(t, "p/1/flags")
	p.node("link", "banner")
	s.api("POST", "/api/projects/1/feature_flags/", map[string]any{"key": "second", "filters": map[string]any{"groups": []any{map[string]any{}}}}, nil)
	p.node("link", "second")

	p.click("link", "banner")
	p.node("textbox", "Description")
	s.api("PATCH", flag, map[string]any{"name": "The banner"}, nil)
	p.waitAnnounced("owner@localhost saved version 2")
	eventually(t, "the form has it", func() bool {
		return js[bool](p, "[...document.querySelectorAll('input')].some(i => i.value === 'The banner')")
	})
	p.fill("Mine", "textbox", "Description")
	s.api("PATCH", flag, map[string]any{"filters": map[string]any{"groups": []any{map[string]any{"rollout_percentage": 30}}}}, nil)
	p.click("button", "Show changes")
	p.node("dialog", "Changes by others", "table", "Changes", "cell", "30 %")
	p.accessible()
	p.click("dialog", "Changes by others", "button", "Close")
	p.click("button", "Save")
	p.click("dialog", "Review changes", "button", "Save changes")
	p.waitAnnounced("Saved version 4, merged with a change by owner@localhost")
	var got struct {
		Name    string
		Filters struct {
			Groups []struct {
				Rollout float64 `json:"rollout_percentage"`
			}
		}
	}
	s.api("GET", flag, nil, &got)
	if got.Name != "Mine" || got.Filters.Groups[0].Rollout != 30 {
		t.Errorf("%+v: somebody's work is lost", got)
	}
	var found struct{ Results []struct{ UUID string } }
	s.api("GET", "/api/projects/1/persons/?search=ana", nil, &found)
	p.visit("p/1/people/" + found.Results[0].UUID + "/flags")
	p.node("table", "Flags", "link", "Why banner?")
	p.accessible()
}

// N14: a change that is saved after a page was loaded and before its stream of changes begins appears all
// the same: the stream begins at the position that the session had. If there is no such change, nothing is
// loaded again.
func TestChanges_BeforeTheStream(t *testing.T) {
	s := serve(t)
	for _, key := range []string{"banner", "other"} {
		s.api("POST", "/api/projects/1/feature_flags/", map[string]any{"key": key, "filters": map[string]any{"groups": []any{map[string]any{"rollout_percentage": 100}}}}, nil)
	}
	p := s.open(t, "account")
	p.waitLoaded()
	held := make(chan fetch.RequestID, 10)
	if err := chromedp.Listen(p.ctx, func(ev any) {
		if e, is := ev.(*fetch.EventRequestPaused); is {
			held <- e.RequestID
		}
	}); err != nil {
		t.Fatal(err)
	}
	call(p, fetch.Enable, fetch.EnableParams{Patterns: []*fetch.RequestPattern{{URLPattern: "*/changes/stream/*"}}})
	const isInList = "document.querySelector('tbody')?.innerText.includes('%s')"
	for _, c := range []struct{ path, name, loaded, changed string }{
		{"p/1/flags", "Change 1", fmt.Sprintf(isInList, "banner"), fmt.Sprintf(isInList, "Change 1")},
		{"p/1/flags/1", "Change 2", "[...document.querySelectorAll('main input')].some(i => i.value === 'Change 1')", "[...document.querySelectorAll('main input')].some(i => i.value === 'Change 2')"},
	} {
		p.visit(c.path)
		eventually(t, "the page "+c.path, func() bool { return js[bool](p, c.loaded+" ?? false") })
		s.api("PATCH", "/api/projects/1/feature_flags/1/", map[string]any{"name": c.name}, nil)
		for { // requests of the page before have ended, and cannot go on
			if _, err := chromedp.Call(p.ctx, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: <-held}); err == nil {
				break
			}
		}
		eventually(t, "the change on the page "+c.path, func() bool { return js[bool](p, c.changed) })
	}
	call(p, fetch.Disable, cdp.Empty{})
	p.visit("p/1/flags")
	eventually(t, "the list", func() bool { return js[bool](p, fmt.Sprintf(isInList, "Change 2")+" ?? false") })
	s.api("PATCH", "/api/projects/1/feature_flags/2/", map[string]any{"name": "Change 3"}, nil)
	eventually(t, "the change of the other flag", func() bool { return js[bool](p, fmt.Sprintf(isInList, "Change 3")) })
	p.wantFlagRequests("one change", 2, 1)
}

package browsertest

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/input"
)

// codes are the keys without a text, by name, with their Windows codes.
var codes = map[string]int64{"Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "End": 35, "ArrowDown": 40, "a": 65, "k": 75, "s": 83}

const (
	ctrl  = 2
	shift = 8
)

// press presses a key, and fails the test if the focus is then lost or not visible (T18).
func (p *page) press(key string, modifiers int64) {
	p.t.Helper()
	text := map[string]string{"Enter": "\r", " ": " "}[key]
	for _, kind := range []input.DispatchKeyEventType{"keyDown", "keyUp"} {
		params := input.DispatchKeyEventParams{Type: kind, Key: key, Code: key, WindowsVirtualKeyCode: codes[key], Modifiers: modifiers}
		if kind == "keyDown" {
			params.Text = text
		}
		if kind == "keyDown" && key == "a" {
			params.Commands = []string{"selectAll"}
		}
		call(p, input.DispatchKeyEvent, params)
	}
}

// focusFault returns the fault of the focus: it is on no element, is not visible, is below a bar, or
// has no outline.
const focusFault = `(() => {
	const at = document.activeElement;
	if (!at || at === document.body || at === document.documentElement) return "it is on nothing";
	const box = at.getBoundingClientRect(), name = at.outerHTML.slice(0, 120);
	if (!box.width || !box.height) return "it cannot be seen: " + name;
	const style = getComputedStyle(at);
	if (at.matches(":focus-visible") && (style.outlineStyle === "none" || parseFloat(style.outlineWidth) < 2)) return "it has no outline: " + name;
	const seen = [[.5, .5], [.1, .5], [.9, .5], [.5, .1], [.5, .9]].some(([x, y]) => {
		const top = document.elementFromPoint(box.x + box.width * x, box.y + box.height * y);
		return top && (at.contains(top) || top.contains(at));
	});
	return seen ? "" : "it is covered: " + name;
})()`

// focused waits until the focus is visible.
func (p *page) focused(after string) {
	p.t.Helper()
	var wrong string
	defer func() {
		if wrong != "" {
			p.t.Logf("after %s the focus: %s", after, wrong)
		}
	}()
	eventually(p.t, "a focus that is seen after "+after, func() bool {
		wrong = js[string](p, focusFault)
		return wrong == ""
	})
}

// tab moves the focus with Tab to an element found by role and name. If the page is redrawn
// meanwhile, the search for the element is repeated.
func (p *page) tab(roleName ...string) {
	p.t.Helper()
	want := func() { p.callFunction(p.node(roleName...), "function() { window.wanted = this; }") }
	want()
	for range 90 {
		if !js[bool](p, "window.wanted.isConnected") {
			want()
		}
		if js[bool](p, "document.activeElement === window.wanted") {
			return
		}
		p.press("Tab", 0)
		if wrong := js[string](p, focusFault); wrong != "" && wrong != "it is on nothing" { // the browser's own bar
			p.focused("Tab")
		}
	}
	p.t.Fatalf("ninety times Tab do not lead to %q", roleName)
}

// typeInto replaces the text of a field, reached by Tab.
func (p *page) typeInto(text string, roleName ...string) {
	p.t.Helper()
	p.tab(roleName...)
	p.press("a", ctrl)
	call(p, input.InsertText, input.InsertTextParams{Text: text})
}

// pressOn moves the focus to an element and presses a key.
func (p *page) pressOn(key string, roleName ...string) {
	p.t.Helper()
	p.tab(roleName...)
	p.press(key, 0)
	p.focused(fmt.Sprintf("%s on %q", key, roleName))
}

// T18 (console.md §7): all steps from signing in to a restored version work without a pointer, and
// the focus is always visible.
func TestKeyboard_FullJourney(t *testing.T) {
	s := serve(t)
	p := s.openAnonymous(t)
	p.visit("sign-in")
	p.node("button", "Sign in with key")
	js[bool](p, "['pointerdown', 'mousedown'].forEach(k => addEventListener(k, () => console.error('a pointer'), true)), true")
	for range 10 {
		if js[bool](p, "document.activeElement.type === 'password'") {
			break
		}
		p.press("Tab", 0)
	}
	call(p, input.InsertText, input.InsertTextParams{Text: s.key})
	p.press("Enter", 0)
	p.node("heading", "Home")
	p.focused("signing in")
	p.pressOn("Enter", "navigation", "Main", "link", "Flags")
	p.node("heading", "No flags yet")
	p.focused("opening Flags")
	p.pressOn("Enter", "button", "New flag")
	p.node("heading", "New flag")
	p.focused("New flag")
	if got := js[string](p, "document.activeElement.labels?.[0]?.innerText ?? ''"); got != "Key" {
		t.Errorf("the focus is on %q, want Key", got)
	}
	p.typeInto("new-checkout", "textbox", "Key")
	p.pressOn("Enter", "button", "Save")
	p.waitAnnounced("Saved")
	p.node("heading", "new-checkout")
	p.focused("a new flag is saved")

	p.pressOn(" ", "group", "Condition 1", "button", "Add filter")
	p.typeInto("plan", "group", "Filter 1", "combobox", "Property")
	p.press("Enter", 0)
	p.typeInto("pro", "group", "Filter 1", "combobox", "Value")
	p.press("Enter", 0)
	p.node("group", "Filter 1", "button", "Remove pro")
	p.focused("a value")
	p.typeInto("50", "group", "Condition 1", "spinbutton", "Rollout percentage")
	p.pressOn("Enter", "button", "Add condition")
	p.node("group", "Condition 2")
	p.focused("Add condition")
	p.pressOn("Enter", "group", "Condition 2", "button", "Move up")
	p.focused("Move up")
	p.pressOn("Enter", "group", "Condition 1", "button", "Remove condition")
	p.waitRemoved("group", "Condition 2")
	p.focused("Remove condition")
	p.press("s", ctrl)
	p.node("dialog", "Review changes", "table", "Changes", "cell", "50 %")
	p.focused("Ctrl S")
	p.press("Escape", 0)
	p.waitRemoved("dialog", "Review changes")
	p.focused("Escape")
	p.pressOn("Enter", "button", "Save")
	p.node("dialog", "Review changes")
	p.press("Enter", ctrl)
	p.waitAnnounced("Saved version 2")
	p.focused("Ctrl Enter")
	if got := s.flag("new-checkout", "nobody"); got != false {
		t.Errorf("somebody without a plan gets %v, want false", got)
	}

	p.pressOn("Enter", "navigation", "Flag", "link", "History")
	p.node("table", "Versions")
	p.focused("History")
	p.pressOn("Enter", "button", "Compare version 2")
	p.node("region", "Changes in version 2")
	p.pressOn(" ", "button", "Restore version 1")
	p.node("dialog", "Restore version 1?")
	p.focused("Restore version 1")
	p.pressOn("Enter", "dialog", "Restore version 1?", "button", "Restore")
	p.waitAnnounced("Restored version 1")
	p.focused("restoring")
	if got := s.flag("new-checkout", "nobody"); got != true {
		t.Errorf("somebody gets %v, want true as in version 1", got)
	}

	p.press("k", ctrl)
	p.node("dialog", "Search", "combobox", "Search")
	call(p, input.InsertText, input.InsertTextParams{Text: "cohorts"})
	p.press("Enter", 0)
	p.node("heading", "Cohorts")
	p.focused("a search")
	p.tab("button", "Account menu")
	p.press("Enter", 0)
	p.node("menuitem", "Shortcuts")
	p.press("Escape", 0)
	p.focused("a menu that is closed")
}

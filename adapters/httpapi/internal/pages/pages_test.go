package pages

import (
	"encoding/json"
	"strings"
	"testing"
)

// Text from users is escaped on pages. Queries are displayed as stored, with exact numbers.
func TestRender_TextStaysText(t *testing.T) {
	type view struct{ Secret, Problem, Email string }
	page, err := Render("confirm.html", view{Secret: `"><b>`, Problem: "<script>alert(1)</script>"})
	if err != nil || strings.Contains(string(page), "<script") || strings.Contains(string(page), "<b>") || !strings.Contains(string(page), "&lt;script&gt;") {
		t.Errorf("%v: %s", err, page)
	}
	if text, err := pretty(json.RawMessage(`{"a":12345678901234567890,"b":"<é>"}`)); err != nil || !strings.Contains(text, `12345678901234567890`) || !strings.Contains(text, `"<é>"`) {
		t.Errorf("%v: %s", err, text)
	}
	for _, name := range []string{"invite.html", "shared.html", "root.html", "confirm.html"} {
		if _, err := Render(name, 1); err == nil {
			t.Errorf("%s shows a view that has nothing", name)
		}
	}
	if _, err := Render("nowhere.html", nil); err == nil {
		t.Error("a page that there is not")
	}
}

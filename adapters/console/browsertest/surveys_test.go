package browsertest

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"
)

// public decodes the response to a GET request without credentials.
func (s *server) public(path string, answer any) {
	s.t.Helper()
	res, err := http.Get(s.url + path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil {
		err = json.Unmarshal(text, answer)
	}
	if err != nil {
		s.t.Fatalf("%s: %s %v", path, text, err)
	}
}

// Early access (console.md §2.3; management.md §5.5): a feature is created with its flag, users can
// enroll when its stage allows it, and its link may only lead to web pages.
func TestEarlyAccess(t *testing.T) {
	s := serve(t)
	p := s.open(t, "p/1/early-access")
	p.node("heading", "No features yet")
	p.accessible()
	p.click("button", "New feature")
	p.node("heading", "New feature")
	p.click("button", "Save")
	eventually(t, "a fault of the name", func() bool { return js[bool](p, "!!document.querySelector('[aria-invalid=true]')") })
	p.fill("New menu", "textbox", "Name")
	p.fill("javascript:alert(1)", "textbox", "Documentation")
	p.click("button", "Save")
	eventually(t, "a fault of the link", func() bool {
		return js[bool](p, "document.activeElement.value === 'javascript:alert(1)' && document.querySelector('.fault')?.innerText === 'Enter a valid URL.'")
	})
	p.accessible()
	p.fill("https://example.com/menu", "textbox", "Documentation")
	p.fill("nothing", "combobox", "Flag")
	p.click("button", "Save")
	p.node("alert", "")
	p.fill("", "combobox", "Flag")
	p.click("button", "Save")
	p.waitAnnounced("Saved")
	p.node("heading", "New menu")
	p.node("link", "new-menu")
	p.node("link", "Documentation")
	var got struct {
		Features []struct{ FlagKey string } `json:"earlyAccessFeatures"`
	}
	list := func() int {
		s.public("/api/early_access_features/?stage=beta&token="+s.publicKey, &got)
		return len(got.Features)
	}
	if list() != 0 {
		t.Errorf("a draft is seen: %+v", got)
	}
	p.choose("Beta", "combobox", "Stage")
	p.click("button", "Save")
	p.waitAnnounced("Saved")
	eventually(t, "people can enroll", func() bool { return list() == 1 && got.Features[0].FlagKey == "new-menu" })
	p.click("link", "Early access")
	p.node("table", "Early access", "cell", "Beta")
	p.accessible()
	p.click("table", "Early access", "link", "New menu")
	p.click("button", "Delete feature")
	p.click("alertdialog", "Delete New menu?", "button", "Delete")
	p.waitAnnounced("Deleted New menu")
	p.node("heading", "No features yet")
}

// Surveys (console.md §2.3; management.md §5.6): the main fields, the rest as JSON that is checked
// while it is typed; a survey is launched, stopped and resumed, as SDKs see it.
func TestSurveys(t *testing.T) {
	s := serve(t)
	s.api("POST", "/api/projects/1/feature_flags/", map[string]any{"key": "menu"}, nil)
	p := s.open(t, "p/1/surveys")
	p.node("heading", "No surveys yet")
	p.accessible()
	p.click("button", "New survey")
	p.node("heading", "New survey")
	p.fill("Menu", "textbox", "Name")
	p.fill(`[{"type": "open", "question": "What is missing?"`, "textbox", "Questions")
	p.node("textbox", "Questions")
	eventually(t, "a fault of the JSON", func() bool {
		return js[bool](p, "document.querySelector('.fault')?.innerText.startsWith('Invalid JSON: ')")
	})
	p.fill(`[{"type": "riddle", "question": "What is missing?"}]`, "textbox", "Questions")
	p.fill(`{"responses_limits": 5}`, "textbox", "More settings")
	p.click("button", "Save")
	eventually(t, "a setting that there is not", func() bool {
		return js[bool](p, "document.querySelector('.fault')?.innerText === 'There is no setting responses_limits.'")
	})
	p.fill(`{"responses_limit": 5}`, "textbox", "More settings")
	p.click("button", "Save")
	eventually(t, "the server's fault at its field", func() bool {
		return js[bool](p, "document.activeElement.value.includes('riddle') && document.activeElement.getAttribute('aria-invalid') === 'true'")
	})
	p.accessible()
	p.fill(`[{"type": "open", "question": "What is missing?"}]`, "textbox", "Questions")
	p.fill("menu", "combobox", "Only with flag")
	p.enter()
	p.click("button", "Save")
	p.waitAnnounced("Saved")
	p.node("heading", "Menu")
	p.accessible()
	surveyLife(s, p)
}

// surveyLife launches, changes, stops and deletes the survey.
func surveyLife(s *server, p *page) {
	t := s.t
	t.Helper()
	var state struct {
		Surveys []struct {
			Flag      *string `json:"linked_flag_key"`
			End       *string `json:"end_date"`
			Questions []struct{ Question string }
		}
	}
	whileVisible := func(is func() bool) func() bool {
		return func() bool { s.public("/api/surveys/?token="+s.publicKey, &state); return is() }
	}
	p.click("button", "Launch")
	p.click("dialog", "Launch Menu?", "button", "Launch")
	p.waitAnnounced("Launched")
	eventually(t, "SDKs see the survey", whileVisible(func() bool {
		return len(state.Surveys) == 1 && state.Surveys[0].Flag != nil && *state.Surveys[0].Flag == "menu" && state.Surveys[0].Questions[0].Question == "What is missing?"
	}))
	p.click("button", "Stop")
	p.click("dialog", "Stop Menu?", "button", "Stop")
	p.waitAnnounced("Stopped")
	p.click("button", "Resume")
	p.waitAnnounced("Resumed")
	p.fill("", "combobox", "Only with flag")
	p.fill("", "textbox", "More settings")
	p.click("button", "Save")
	p.waitAnnounced("Saved")
	var got struct {
		Results []struct {
			Limit *int `json:"responses_limit"`
			Flag  any  `json:"linked_flag"`
			End   any  `json:"end_date"`
		}
	}
	s.api("GET", "/api/projects/1/surveys/", nil, &got)
	if r := got.Results[0]; r.Limit != nil || r.Flag != nil || r.End != nil {
		t.Errorf("the survey is %+v, want no limit, no flag, no end", r)
	}
	p.click("link", "Surveys")
	p.node("table", "Surveys", "cell", "Running")
	p.accessible()
	p.click("table", "Surveys", "link", "Menu")
	p.click("button", "Delete survey")
	p.click("alertdialog", "Delete Menu?", "button", "Delete")
	p.waitAnnounced("Deleted Menu")
}

package browsertest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// acceptInvite returns the server with the key of a user who accepted an invitation.
func (s *server) acceptInvite(email string) *server {
	s.t.Helper()
	var invite struct {
		ID     string
		Accept string `json:"accept_url"`
	}
	s.api("POST", "/api/organizations/@current/invites/", map[string]any{"target_email": email}, &invite)
	target, err := url.Parse(invite.Accept)
	if err != nil {
		s.t.Fatal(err)
	}
	var account struct {
		Key string `json:"personal_api_key"`
	}
	accept := s.url + "/api/signup/" + invite.ID + "/?secret=" + url.QueryEscape(target.Query().Get("secret"))
	got, err := http.Post(accept, "application/json", strings.NewReader(`{"first_name": "Ben"}`)) // without a key
	if err != nil {
		s.t.Fatal(err)
	}
	defer got.Body.Close()
	if err := json.NewDecoder(got.Body).Decode(&account); err != nil || account.Key == "" {
		s.t.Fatalf("the invitation gives no key: %d %v", got.StatusCode, err)
	}
	return &server{t: s.t, url: s.url, publicKey: s.publicKey, key: account.Key}
}

// J12 (console.md §1.2, §3.4, §3.6): in a project that requires approvals, saving requests an
// approval. Users cannot approve their own changes, and an approved change is applied.
func TestApprovals(t *testing.T) {
	s := serve(t)
	s.person("ana", map[string]any{"email": "ana@example.com"})
	half := map[string]any{"groups": []any{map[string]any{"properties": []any{}, "rollout_percentage": 100}}}
	s.api("POST", "/api/projects/1/feature_flags/", map[string]any{"key": "new-checkout", "filters": half}, nil)
	ben := s.acceptInvite("ben@example.com")
	p := s.open(t, "p/1/settings")
	p.expect("400 PATCH /api/projects/1/")
	p.fill("9", "region", "Approvals", "spinbutton", "Approvals needed")
	p.click("region", "Approvals", "button", "Save approvals")
	p.node("region", "Approvals", "alert", "")
	p.fill("1", "region", "Approvals", "spinbutton", "Approvals needed")
	p.click("region", "Approvals", "button", "Save approvals")
	p.waitAnnounced("Saved")
	p.visit("p/1/approvals")
	p.node("heading", "Nothing waits")
	p.accessible()
	p.visit("p/1/flags/1")
	p.fill("0", "group", "Condition 1", "spinbutton", "Rollout percentage")
	p.click("button", "Save")
	p.node("dialog", "Review changes", "table", "Changes", "cell", "0 %")
	p.fill("it breaks", "dialog", "Review changes", "textbox", "Note")
	p.click("dialog", "Review changes", "button", "Request approval")
	p.waitAnnounced("Approval requested")
	p.waitRemoved("StaticText", "Unsaved: 1 change") // the form has the flag's values
	if got := s.flag("new-checkout", "ana"); got != true {
		t.Errorf("ana gets %v before anybody has approved the change", got)
	}

	p.click("navigation", "Main", "link", "Approvals")
	p.accessible()
	p.click("table", "Change requests", "link", "new-checkout: Condition 1: rollout percentage")
	p.node("heading", "Change of new-checkout")
	p.node("table", "Changes", "cell", "100 %")
	p.node("region", "Effect", "StaticText", "1 of 1 people changes value.")
	for _, name := range []string{"Approve", "Apply"} {
		if !disabled(p, name) {
			t.Errorf("%s can be pressed by the author of a change that nobody has approved", name)
		}
	}
	if got := js[string](p, `document.getElementById([...document.querySelectorAll("button")].find(b => b.innerText === "Approve").getAttribute("aria-describedby")).textContent`); got != "Authors of a change cannot approve it." {
		t.Errorf("Approve is described by %q", got)
	}
	p.accessible()

	ben.api("POST", "/api/projects/1/change_requests/1/approve/", map[string]any{"revision": 1}, nil)
	p.visit("p/1/approvals/1")
	p.node("list", "Votes", "listitem", "")
	p.click("button", "Edit")
	p.fill("30", "group", "Condition 1", "spinbutton", "Rollout percentage")
	p.click("button", "Save")
	p.click("dialog", "Review changes", "button", "Request approval")
	p.node("heading", "Change of new-checkout")
	p.node("StaticText", "There are no votes on this revision yet.") // an edit cancels the approvals

	ben.api("POST", "/api/projects/1/change_requests/1/approve/", map[string]any{"revision": 2}, nil)
	p.visit("p/1/approvals/1")
	p.node("table", "Changes", "cell", "30 %")
	p.click("button", "Apply")
	p.node("alertdialog", "Apply this change?")
	p.accessible()
	p.click("alertdialog", "Apply this change?", "button", "Apply")
	p.waitAnnounced("Applied")
	var flag struct {
		Version int
		Filters struct {
			Groups []struct {
				Share int `json:"rollout_percentage"`
			}
		}
	}
	s.api("GET", "/api/projects/1/feature_flags/1/", nil, &flag)
	if flag.Version != 2 || flag.Filters.Groups[0].Share != 30 {
		t.Errorf("the flag is %+v, want version 2 at 30 %%", flag)
	}

	ben.api("POST", "/api/projects/1/change_requests/", map[string]any{"flag": 1, "title": "Away", "patch": map[string]any{"archived": true}}, nil)
	p.visit("p/1")
	p.click("list", "Needs you", "link", "new-checkout: Away")
	p.click("button", "Approve")
	p.waitAnnounced("Approved")
	p.click("button", "Reject")
	p.click("alertdialog", "Reject this change?", "button", "Reject")
	p.waitAnnounced("Rejected")
	p.visit("p/1/approvals?state=closed")
	p.node("link", "new-checkout: Away")
	p.choose("Applied", "combobox", "State")
	p.node("link", "new-checkout: Condition 1: rollout percentage")

	p.visit("p/1/flags") // J12: switching off needs no approval, switching on does
	p.click("switch", "Enabled: new-checkout")
	p.click("dialog", "Switch off new-checkout?", "button", "Switch off")
	p.waitAnnounced("Switched off new-checkout")
	p.click("switch", "Enabled: new-checkout")
	p.click("dialog", "Switch on new-checkout?", "button", "Request approval")
	p.waitAnnounced("Approval requested")
	p.visit("p/1/flags/1/history")
	p.click("button", "Restore version 2")
	p.click("dialog", "Restore version 2?", "button", "Request approval")
	p.waitAnnounced("Approval requested")
	if got := s.flag("new-checkout", "ana"); got == true {
		t.Errorf("ana gets %v of a flag that is off", got)
	}
}

// J6 and J12 (console.md §1.2): if an approval is required, the dialog of the tab Schedule requests
// it for the change, with its time as a note; a change that needs no approval is scheduled as
// usual.
func TestApprovals_OfTheSchedule(t *testing.T) {
	s := serve(t)
	s.banner()
	s.api("PATCH", "/api/projects/1/", map[string]any{"flag_approvals": map[string]any{"needed": 1, "switch_off_free": true}}, nil)
	p := s.open(t, "p/1/flags/1/schedule")
	p.click("button", "New scheduled change")
	p.click("dialog", "New scheduled change", "radio", "Set rollout")
	p.fill("25", "dialog", "New scheduled change", "spinbutton", "Rollout percentage")
	p.fill("2099-01-02 03:04", "dialog", "New scheduled change", "textbox", "When")
	p.node("dialog", "New scheduled change", "button", "Request approval")
	p.accessible()
	p.click("dialog", "New scheduled change", "button", "Request approval")
	p.waitAnnounced("Approval requested")
	p.node("heading", "Nothing is scheduled")
	var request struct {
		Results []struct {
			Note, State string
			Patch       struct {
				Filters struct {
					Groups []struct {
						Share float64 `json:"rollout_percentage"`
					}
				}
			}
		}
	}
	s.api("GET", "/api/projects/1/change_requests/", nil, &request)
	if len(request.Results) != 1 || len(request.Results[0].Patch.Filters.Groups) != 1 || request.Results[0].Patch.Filters.Groups[0].Share != 25 || request.Results[0].Note != "Requested for 2099-01-02 03:04, UTC" {
		t.Errorf("asked for is %+v, want condition 1 at 25 %% and when", request)
	}
	p.click("button", "New scheduled change")
	p.click("dialog", "New scheduled change", "radio", "Switch off")
	p.fill("2099-01-02 03:04", "dialog", "New scheduled change", "textbox", "When")
	p.click("dialog", "New scheduled change", "button", "Schedule")
	p.node("table", "Scheduled changes", "cell", "Switch off")
}

// disabled reports whether the button with a name is disabled.
func disabled(p *page, name string) bool {
	return js[bool](p, fmt.Sprintf(`[...document.querySelectorAll("button")].findLast(b => b.innerText === %q).disabled`, name))
}

// Project settings (console.md §2.3, §3.9): each region is saved separately, and an action that
// cannot be undone requires the project's name.
func TestProjectSettings(t *testing.T) {
	s := serve(t)
	p := s.open(t, "p/1/settings")
	p.expect("400 PATCH /api/projects/1/")
	p.node("heading", "Project settings")
	p.accessible()
	p.fill("Shop", "region", "General", "textbox", "Name")
	p.choose("Europe/Lisbon", "region", "General", "combobox", "Time zone")
	p.click("region", "General", "button", "Save")
	p.waitAnnounced("Saved")
	p.fill("prod, money", "region", "Approvals", "textbox", "Only for tags")
	p.click("region", "Approvals", "checkbox", "Switching off needs none")
	p.click("region", "Approvals", "button", "Save approvals")
	p.waitAnnounced("Saved")
	p.choose("Frequentist", "region", "Experiments", "combobox", "Method")
	p.fill("2.5", "region", "Experiments", "spinbutton", "Minimum detectable effect in percent")
	p.click("region", "Experiments", "button", "Save defaults")
	type project struct {
		Name, Timezone string
		Token          string                          `json:"api_token"`
		Secret         *string                         `json:"secret_api_token"`
		Previous       *string                         `json:"secret_api_token_backup"`
		Snippets       struct{ Language, Host string } `json:"snippet_defaults"`
		Approvals      struct {
			Tags []string
			Free bool `json:"switch_off_free"`
		} `json:"flag_approvals"`
		Experiments struct {
			Method string  `json:"default_experiment_stats_method"`
			Effect float64 `json:"default_minimum_detectable_effect"`
		} `json:"experiments_config"`
	}
	var was, is project
	eventually(t, "all regions are saved", func() bool {
		s.api("GET", "/api/projects/1/", nil, &was)
		return was.Name == "Shop" && was.Timezone == "Europe/Lisbon" && !was.Approvals.Free && strings.Join(was.Approvals.Tags, " ") == "prod money" && was.Experiments.Method == "frequentist" && was.Experiments.Effect == 2.5
	})
	p.click("region", "Keys", "button", "Rotate secret key")
	p.click("alertdialog", "Rotate the secret key?", "button", "Rotate")
	p.node("dialog", "New secret key", "textbox", "Key")
	p.accessible()
	p.click("dialog", "New secret key", "button", "Done")
	p.click("region", "Keys", "button", "Rotate secret key")
	p.click("alertdialog", "Rotate the secret key?", "button", "Rotate")
	p.click("dialog", "New secret key", "button", "Done")
	p.click("region", "Keys", "button", "Delete previous secret key")
	p.click("alertdialog", "Delete the previous secret key?", "button", "Delete previous secret key")
	p.waitAnnounced("Deleted the previous secret key")
	p.waitRemoved("button", "Delete previous secret key")
	p.choose("Go", "region", "Snippet defaults", "combobox", "Language")
	p.fill("flags.example.com", "region", "Snippet defaults", "textbox", "Server address")
	p.click("region", "Snippet defaults", "button", "Save snippet defaults")
	p.node("region", "Snippet defaults", "alert", "")
	p.fill("https://flags.example.com/", "region", "Snippet defaults", "textbox", "Server address")
	p.click("region", "Snippet defaults", "button", "Save snippet defaults")
	eventually(t, "the snippet defaults", func() bool {
		s.api("GET", "/api/projects/1/", nil, &is)
		return is.Snippets.Language == "Go" && is.Snippets.Host == "https://flags.example.com"
	})
	if is.Previous != nil || is.Secret == nil {
		t.Errorf("the secret keys are %+v", is)
	}
	s.banner()
	p.visit("p/1/flags/1/code")
	eventually(t, "a snippet with the defaults", func() bool {
		return js[bool](p, "!!document.querySelector('pre.snippet')?.innerText.includes('posthog.Config{Endpoint: \"https://flags.example.com\"}')")
	})
	p.visit("p/1/settings")
	p.click("region", "Keys", "button", "Replace project key")
	p.click("alertdialog", "Replace the project key?", "button", "Replace")
	p.waitAnnounced("Replaced")
	s.api("GET", "/api/projects/1/", nil, &is)
	if is.Token == was.Token || is.Secret == nil || was.Secret != nil && *is.Secret == *was.Secret {
		t.Errorf("the keys of %+v are those of before: %+v", is, was)
	}
	p.click("region", "Danger", "button", "Delete project")
	p.accessible()
	if !disabled(p, "Delete project") {
		t.Error("a project is deleted without its name")
	}
	p.click("alertdialog", "Delete Shop?", "button", "Cancel")
	s.api("POST", "/api/projects/", map[string]any{"name": "Second"}, nil) // the user's remaining project
	p.click("region", "Danger", "button", "Delete project")
	p.fill("Shop", "alertdialog", "Delete Shop?", "textbox", "Type Shop to confirm")
	p.click("alertdialog", "Delete Shop?", "button", "Delete project")
	p.waitAnnounced("Deleted Shop")
	var left struct{ Results []struct{ Name string } }
	s.api("GET", "/api/projects/", nil, &left)
	if len(left.Results) != 1 || left.Results[0].Name != "Second" {
		t.Errorf("the projects are %v, want only Second", left.Results)
	}
}

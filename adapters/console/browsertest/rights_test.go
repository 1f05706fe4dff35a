package browsertest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// unexplainedControls returns the disabled buttons and switches of a page that do not give a reason.
const unexplainedControls = `[...document.querySelectorAll("main button:disabled, [role=switch]:disabled")].filter(b => !document.getElementById(b.getAttribute("aria-describedby"))?.innerText && !document.getElementById(b.getAttribute("aria-describedby"))?.textContent && !b.closest("[inert]") && !(b.closest(".editor, .form-narrow") && document.querySelector("main [role=note][aria-label=Read-only]"))).map(b => b.ariaLabel ?? b.innerText)`

// T26 (console.md §7): in a read-only console, and with a key of one scope, controls for writing
// are displayed as disabled with the reason. The API rejects the writes too.
func TestRights_ReadOnly(t *testing.T) {
	s := serve(t, "--console", "read-only")
	s.banner()
	p := s.open(t, "p/1/flags")
	p.node("switch", "Enabled: banner")
	if !js[bool](p, "document.querySelector('[role=switch]').disabled") {
		t.Error("a flag can be switched where the console is for reading alone")
	}
	for _, path := range []string{"p/1/flags", "p/1/flags/1", "p/1/flags/1/history", "p/1/flags/1/schedule", "p/1/flags/1/people", "p/1/cohorts", "p/1/experiments", "p/1/insights", "p/1/dashboards", "p/1/surveys", "p/1/exports", "p/1/errors/rules"} {
		p.visit(path)
		p.waitLoaded()
		for _, name := range js[[]string](p, unexplainedControls) {
			t.Errorf("%s: %q is disabled and does not say why", path, name)
		}
	}
	const write = `fetch("/api/projects/1/feature_flags/1/", {method: "PATCH", headers: {"Content-Type": "application/json"}, body: '{"name": "mine"}'}).then(r => r.json()).then(e => e.code)`
	p.expect("403 PATCH /api/projects/1/feature_flags/1/")
	if code := js[string](p, write); code != "read_only" {
		t.Errorf("the API answers %q, want read_only", code)
	}
	if got := s.describeFlag(); got != "Banner, version 1" {
		t.Errorf("the flag is %q", got)
	}
}

// With a key of one scope, forbidden writes name the required scope, and forbidden reads are
// reported.
func TestRights_OneScope(t *testing.T) {
	s := serve(t)
	s.banner()
	var created struct{ Value string }
	s.api("POST", "/api/personal_api_keys/", map[string]any{"label": "reader", "scopes": []string{"feature_flag:read"}, "scoped_teams": []int{}, "scoped_organizations": []string{}}, &created)
	reader := &server{t: t, url: s.url, publicKey: s.publicKey, key: created.Value}
	p := reader.open(t, "p/1/flags")
	p.node("link", "banner")
	p.waitLoaded()
	for _, name := range js[[]string](p, unexplainedControls) {
		t.Errorf("%q is disabled and does not say why", name)
	}
	const why = `(b => b.disabled && document.getElementById(b.getAttribute("aria-describedby")).textContent)([...document.querySelectorAll("button")].find(b => b.innerText.trim() === "New flag"))`
	if got := js[string](p, why); got != "Needs feature_flag:write" {
		t.Errorf("New flag says %q", got)
	}
	p.visit("p/1/cohorts")
	p.node("heading", "You may not see this.")
	p.accessible()
}

// T26: for a member and for an administrator, every disabled control names its reason, and the API
// rejects the same action.
func TestRights_Levels(t *testing.T) {
	s := serve(t)
	s.banner()
	paths := []string{"p/1/flags/1", "p/1/settings", "organization/members", "organization/domains", "organization/usage", "organization/settings", "account"}
	for _, level := range []int{1, 8} {
		key := s.acceptInvite(fmt.Sprintf("level%d@example.com", level))
		if level > 1 {
			var list struct {
				Results []struct {
					User struct{ UUID, Email string }
				}
			}
			s.api("GET", "/api/organizations/@current/members/", nil, &list)
			for _, m := range list.Results {
				if m.User.Email == "level8@example.com" {
					s.api("PATCH", "/api/organizations/@current/members/"+m.User.UUID+"/", map[string]any{"level": level}, nil)
				}
			}
		}
		p := key.open(t, "p/1")
		for _, path := range paths {
			p.visit(path)
			p.waitLoaded()
			for _, name := range js[[]string](p, unexplainedControls) {
				t.Errorf("%s for level %d: %q is disabled and does not say why", path, level, name)
			}
		}
		const remove = `fetch("/api/organizations/@current/", {method: "DELETE", headers: {"Content-Type": "application/json"}}).then(r => r.status)`
		p.expect("403 DELETE /api/organizations/@current/")
		if status := js[int](p, remove); status != 403 {
			t.Errorf("level %d deletes the organization: %d, want 403", level, status)
		}
	}
}

// T26: a flag of a definitions file names the file, and all controls that would change it are
// disabled with that reason. The API refuses changes too.
func TestRights_DefinitionsFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "shop.json")
	const document = `{"organization": {"id": "0191f0a2-5b1c-7d3e-8f40-1a2b3c4d5e6f", "name": "Shop"}, "projects": [{"id": 1, "name": "shop", "api_key": "phc_shop", "personal_api_keys": [{"key": "phx_shop", "scopes": ["*"]}],
		"flags": [{"id": 1, "key": "filed", "name": "In a file", "active": true, "version": 1, "filters": {"groups": [{"properties": [], "rollout_percentage": 100}]}}]}]}`
	if err := os.WriteFile(file, []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serve(t, "--definitions", file)
	p := s.open(t, "p/1/flags/1")
	p.node("note", "Read-only", "StaticText", "This flag is defined in the file "+file+" and can only be changed there.")
	for _, path := range []string{"p/1/flags/1", "p/1/flags/1/people", "p/1/flags/1/history", "p/1/flags/1/schedule"} {
		p.visit(path)
		p.waitLoaded()
		for _, name := range js[[]string](p, unexplainedControls) {
			t.Errorf("%s: %q is disabled and does not say why", path, name)
		}
	}
	p.accessible()
	const write = `fetch("/api/projects/1/feature_flags/1/", {method: "PATCH", headers: {"Content-Type": "application/json"}, body: '{"name": "mine"}'}).then(r => r.status)`
	p.expect("409 PATCH /api/projects/1/feature_flags/1/")
	if status := js[int](p, write); status != 409 {
		t.Errorf("the API answers %d, want 409", status)
	}
}

package browsertest

import "testing"

// unexplainedControls returns the disabled buttons and switches of a page that do not give a reason.
const unexplainedControls = `[...document.querySelectorAll("main button:disabled, [role=switch]:disabled")].filter(b => !document.getElementById(b.getAttribute("aria-describedby"))?.innerText && !document.getElementById(b.getAttribute("aria-describedby"))?.textContent && !b.closest("[inert]")).map(b => b.ariaLabel ?? b.innerText)`

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
	for _, path := range []string{"p/1/flags", "p/1/flags/1/history", "p/1/flags/1/schedule", "p/1/flags/1/people", "p/1/cohorts", "p/1/experiments", "p/1/insights", "p/1/dashboards", "p/1/surveys", "p/1/exports", "p/1/errors/rules"} {
		p.visit(path)
		p.waitLoaded()
		for _, name := range js[[]string](p, unexplainedControls) {
			t.Errorf("%s: %q is disabled and does not say why", path, name)
		}
	}
	const write = `fetch("/api/projects/1/feature_flags/1/", {method: "PATCH", headers: {"Content-Type": "application/json"}, body: '{"name": "mine"}'}).then(r => r.json()).then(e => e.code)`
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

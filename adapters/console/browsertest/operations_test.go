package browsertest

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// J15 (console.md §1.2, §3.9, N20, N21): the page lists the checks and their results. This server
// counts errors of pages and reports them to no other server.
func TestHealth(t *testing.T) {
	s := serve(t)
	p := s.open(t, "organization/health")
	p.node("heading", "Health")
	for _, name := range []string{"storage", "commits", "intake", "definitions", "mail", "exports", "scheduled changes", "rollouts", "webhooks", "clock"} {
		p.node("table", "Checks", "cell", name)
	}
	// A busy machine may commit so slowly that the check of commits warns.
	checks := p.node("table", "Checks")
	if ok, warn := len(p.all(checks, "cell", "OK")), len(p.all(checks, "cell", "Warning")); ok+warn != 10 || warn > 1 {
		t.Errorf("%d checks are OK and %d warn, want 10 that are OK", ok, warn)
	}
	p.node("heading", "The last hour, by minute")
	p.accessible()
	const mistake = `dispatchEvent(new ErrorEvent("error", {error: new Error("made by a test")})) && dispatchEvent(new ErrorEvent("error", {error: new Error("made by a test")}))`
	js[bool](p, mistake)
	eventually(t, "the mistake is counted once", func() bool {
		res, err := http.Get(s.url + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		return err == nil && strings.Contains(string(text), "\nbunting_console_mistakes_total 1\n")
	})
}

// console.md §2.3, Home: the page lists the user's pending work, and the call counts of flags.
func TestHome_NeedsYouAndLive(t *testing.T) {
	s := serve(t)
	s.api("POST", "/api/projects/1/feature_flags/", map[string]any{"key": "banner", "filters": map[string]any{"groups": []any{map[string]any{}}}}, nil)
	s.api("PATCH", "/api/organizations/@current/", map[string]any{"quotas": map[string]any{"events": 10}}, nil)
	for range 9 {
		s.api("POST", "/batch/", map[string]any{"api_key": s.publicKey, "batch": []any{map[string]any{
			"event": "$feature_flag_called", "distinct_id": "ana", "properties": map[string]any{"$feature_flag": "banner", "$feature_flag_response": true}}}}, nil)
	}
	p := s.open(t, "p/1")
	p.node("list", "Needs you", "link", "Events: usage is close to this month's limit")
	p.node("image", "Chart: Flag calls by minute")
	p.accessible()
}

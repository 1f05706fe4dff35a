package browsertest

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
)

// console.md §2.5, §2.6, §3.4: the settings under "More" are saved, compared in the review and in the
// history, and payloads are compared line by line. "Used by" lists flags and experiments.
func TestFlag_MoreSettings(t *testing.T) {
	s := serve(t)
	const flags = "/api/projects/1/feature_flags/"
	s.person("half.una", map[string]any{"email": "una@example.com"})
	s.api("POST", flags, map[string]any{"key": "half", "filters": json.RawMessage(`{"groups":[{"properties":[],"rollout_percentage":50}],"payloads":{"true":"{\"columns\": 2, \"wide\": true}"}}`)}, nil)
	s.api("POST", flags, map[string]any{"key": "needs-it", "filters": json.RawMessage(`{"groups":[{"properties":[{"key":"1","type":"flag","operator":"flag_evaluates_to","value":true}]}]}`)}, nil)
	p := s.open(t, "p/1/flags/1")
	p.node("region", "Used by", "link", "needs-it")
	p.click("button", "More")
	p.node("combobox", "Hash", "option", "As in the project (SHA-1)")
	p.choose("murmur3", "combobox", "Hash")
	p.node("StaticText", "PostHog's SDKs do not compute murmur3. They leave flags that need a bucket to the server.")
	p.fill("web, app", "textbox", "Evaluation contexts")
	p.choose("All of them", "combobox", "Contexts that must match")
	p.accessible()
	p.click("checkbox", "Keep the value across sign-in")
	p.choose("Device id", "combobox", "Bucket by")
	eventually(t, "a fault at the field", func() bool {
		return js[bool](p, "[...document.querySelectorAll('main select[aria-invalid=true]')].some(s => s.labels[0].innerText === 'Bucket by')")
	})
	p.choose("Distinct id", "combobox", "Bucket by")
	p.click("checkbox", "Keep the value across sign-in")
	p.fill(`{"columns": 3, "wide": true}`, "textbox", "Payload")
	p.click("button", "Save")
	p.node("dialog", "Review changes", "table", "Changes", "cell", "web, app")
	rows := js[[]string](p, `[...document.querySelectorAll("dialog tbody tr")].map(r => [...r.cells].map(c => c.innerText.trim().replace(/^[~+−]\s*/, "")).join(" | "))`)
	for _, want := range []string{`Payload: true, line 2 | "columns": 2, | "columns": 3,`, "Hash | As in the project | murmur3", "Evaluation contexts added | – | web, app", "Contexts that must match | One of them | All of them"} {
		if !slices.Contains(rows, want) {
			t.Errorf("the review has %q, want %q", rows, want)
		}
	}
	p.accessible()
	p.click("dialog", "Review changes", "button", "Save changes")
	p.waitAnnounced("Saved version 2")
	var got struct {
		Hash     string   `json:"bucketing_hash"`
		Contexts []string `json:"evaluation_contexts"`
		Match    string   `json:"evaluation_contexts_match_mode"`
	}
	s.api("GET", flags+"1/", nil, &got)
	if text := fmt.Sprint(got); text != "{murmur3 [web app] all}" {
		t.Errorf("the flag has %s", text)
	}
	p.click("navigation", "Flag", "link", "History")
	p.node("table", "Versions", "cell", "Payload: true, Hash, Evaluation contexts, Contexts that must match")

	s.api("POST", "/api/projects/1/experiments/", map[string]any{"name": "Wide or not", "feature_flag_key": "tried"}, nil)
	p.visit("p/1/flags/3")
	p.click("region", "Used by", "link", "Wide or not")
	p.node("heading", "Wide or not")
}

// console.md §2.1: the list of versions has their number and continues, and the address of a
// version that is not in the list shows its changes.
func TestHistory_ManyVersions(t *testing.T) {
	s := serve(t)
	s.banner()
	for i := 2; i <= 130; i++ {
		s.api("PATCH", "/api/projects/1/feature_flags/1/", map[string]any{"name": fmt.Sprintf("Name %d", i)}, nil)
	}
	p := s.open(t, "p/1/flags/1/history?version=3")
	for _, cell := range []string{"Name 2", "Name 3"} {
		p.node("region", "Changes in version 3", "table", "Changes", "cell", cell)
	}
	p.node("StaticText", "100 of 130 are shown.")
	p.accessible()
	p.click("button", "Load more")
	p.node("button", "Compare version 2")
	p.waitRemoved("button", "Load more")
	p.click("button", "Compare version 2")
	p.node("region", "Changes in version 2", "table", "Changes", "cell", "Banner")
}

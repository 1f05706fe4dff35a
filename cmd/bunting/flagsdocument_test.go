package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"
)

// A plan says line by line what would change, in three formats, and exits with 2
// while there is something to do.
func TestFlagsPlan(t *testing.T) {
	s := serve(t, time.Second)
	env := []string{"BUNTING_SERVER=" + s.url, "BUNTING_KEY=" + printedKey.FindString(s.stdout.String())}
	run := func(code int, args ...string) result {
		t.Helper()
		r := call(t, "", env, args...)
		if r.code != code {
			t.Fatalf("bunting %s: exit %d, want %d: %s%s", strings.Join(args, " "), r.code, code, r.stdout, r.stderr)
		}
		return r
	}
	one := tempFile(t, "one.json", `{"cohorts": [], "flags": [
		{"key": "a", "active": true, "tags": ["x"], "filters": {"groups": [{"properties": [], "rollout_percentage": 10}]}},
		{"key": "gone", "active": true, "filters": {"groups": [{}]}}]}`)
	if r := run(2, "flags", "plan", one); r.stdout != "+ flag a   0 of 0 people would see another value\n+ flag gone   0 of 0 people would see another value\n2 would change, 0 stay as they are\n" {
		t.Errorf("%q", r.stdout)
	}
	run(0, "flags", "apply", one)
	if r := run(0, "flags", "plan", one); r.stdout != "0 would change, 2 stay as they are\n" {
		t.Errorf("%q", r.stdout)
	}
	two := tempFile(t, "two.json", `{"cohorts": [], "flags": [
		{"key": "a", "active": false, "tags": ["x", "y"], "rollout": 5,
		"filters": {"groups": [{"properties": [{"key": "plan", "type": "person", "value": "pro"}], "rollout_percentage": 50}]}}]}`)
	r := run(2, "flags", "plan", two, "--prune")
	want := `~ flag a   0 of 0 people would see another value
    active: true -> false
    filters.groups[0].properties[0]: (none) -> {"key":"plan","type":"person","value":"pro"}
    filters.groups[0].rollout_percentage: 10 -> 50
    rollout: (none) -> 5
    tags: ["x"] -> ["x","y"]
- flag gone   0 of 0 people would see another value
2 would change, 0 stay as they are
`
	if r.stdout != want {
		t.Errorf("%s\nwant\n%s", r.stdout, want)
	}
	if warning := `warning: flag "a": rollout is not a member of a flag and does nothing`; strings.Count(r.stderr, warning) != 1 {
		t.Errorf("%q once in %q", warning, r.stderr)
	}
	r = run(2, "flags", "plan", two, "--format", "markdown")
	if got, _, _ := strings.Cut(r.stdout, "\n"); got != "**1 would change, 0 stay as they are**" {
		t.Errorf("%q", got)
	}
	if line := "  - `filters.groups[0].rollout_percentage`: `10` → `50`\n"; !strings.Contains(r.stdout, line) || !strings.Contains(r.stdout, "- update flag `a`: 0 of 0 people") {
		t.Errorf("no %q in\n%s", line, r.stdout)
	}
	var answer documentAnswer
	if r = run(2, "flags", "plan", two, "--format", "json"); json.Unmarshal([]byte(r.stdout), &answer) != nil || len(answer.Changes) != 1 || len(answer.Warnings) != 1 {
		t.Errorf("%s", r.stdout)
	}
	if r = run(2, "flags", "plan", two, "--format", "xml"); !strings.Contains(r.stderr, "want text, json or markdown") {
		t.Errorf("%q", r.stderr)
	}
	if r = run(1, "flags", "plan", tempFile(t, "three.json", `{"flags": [{"key": "a", "filters": {"groups": [{"rolout_percentage": 5}]}}]}`)); !strings.Contains(r.stderr, `"rollout_percentage" is most likely meant`) {
		t.Errorf("%q", r.stderr)
	}
	filters := tempFile(t, "filters.json", `{"groups": [{"properties": [], "rollout": 5}]}`)
	if r = run(0, "flags", "set", "b", "--filters", filters); strings.Count(r.stderr, "warning: filters.groups[0].rollout is not a member of a condition and does nothing") != 1 {
		t.Errorf("%q", r.stderr)
	}
	if err := os.WriteFile(filters, []byte(`{"groups": [{"properties": [], "rolout_percentage": 5}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if r = run(1, "flags", "set", "b", "--filters", filters); !strings.Contains(r.stderr, `"rollout_percentage" is most likely meant`) {
		t.Errorf("%q", r.stderr)
	}
	s.stop()
	s.wait(0)
}

func TestFieldChanges(t *testing.T) {
	for name, c := range map[string]struct{ before, after, want string }{
		"a value":             {`1`, `2`, "f: 1 -> 2"},
		"a member":            {`{"a": 1, "b": {"c": true}}`, `{"a": 1, "b": {"c": false}}`, "f.b.c: true -> false"},
		"one more, one less":  {`{"a": 1}`, `{"b": null, "c": "x"}`, `f.a: 1 -> (none)|f.c: (none) -> "x"`},
		"an object in a list": {`[{"a": 1}, {"b": 2}]`, `[{"a": 1}]`, `f[1]: {"b":2} -> (none)`},
		"a list of texts":     {`["a", "b"]`, `["b"]`, `f: ["a","b"] -> ["b"]`},
		"another type":        {`{"a": 1}`, `[1]`, `f: {"a":1} -> [1]`},
		"large numbers":       {`12345678901234567890`, `12345678901234567891`, "f: 12345678901234567890 -> 12345678901234567891"},
		"nothing":             {`{"a": [1, {"b": 2}]}`, `{"a": [1, {"b": 2}]}`, ""},
		"from nothing":        {``, `"<&>"`, `f: (none) -> "<&>"`},
		"a long text":         {`1`, `"` + strings.Repeat("x", 500) + `"`, `f: 1 -> "` + strings.Repeat("x", maxValue-1) + "…"},
	} {
		var got []string
		for _, f := range fieldChanges("f", decoded(json.RawMessage(c.before)), decoded(json.RawMessage(c.after)), nil) {
			got = append(got, f.text("->", func(s string) string { return s }))
		}
		if text := strings.Join(got, "|"); text != c.want {
			t.Errorf("%s: %s\nwant %s", name, text, c.want)
		}
	}
}

// Whatever a name holds, it stays code and on its line.
func TestMarkdownCode(t *testing.T) {
	for text, want := range map[string]string{"a": "`a`", "a`b": "`` a`b ``", "``": "``` `` ```", "a\n# b": "`a # b`"} {
		if got := code(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

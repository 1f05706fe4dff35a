package command

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/command/internal/clitest"
)

// A plan lists what would change line by line, in three formats, and exits with 2 while there are
// changes.
func TestFlagsPlan(t *testing.T) {
	s := serve(t, time.Minute)
	env := []string{"BUNTING_SERVER=" + s.url, "BUNTING_KEY=" + printedKey.FindString(s.stdout.String())}
	run := func(code int, args ...string) clitest.Result {
		t.Helper()
		r := call(t, "", env, args...)
		if r.Code != code {
			t.Fatalf("bunting %s: exit %d, want %d: %s%s", strings.Join(args, " "), r.Code, code, r.Stdout, r.Stderr)
		}
		return r
	}
	one := clitest.TempFile(t, "one.json", `{"cohorts": [], "flags": [
		{"key": "a", "active": true, "tags": ["x"], "filters": {"groups": [{"properties": [], "rollout_percentage": 10}]}},
		{"key": "gone", "active": true, "filters": {"groups": [{}]}}]}`)
	if r := run(2, "flags", "plan", one); r.Stdout != "+ flag a   0 of 0 people would get another value\n+ flag gone   0 of 0 people would get another value\n2 would change, 0 unchanged\n" {
		t.Errorf("%q", r.Stdout)
	}
	run(0, "flags", "apply", one)
	if r := run(0, "flags", "plan", one); r.Stdout != "0 would change, 2 unchanged\n" {
		t.Errorf("%q", r.Stdout)
	}
	two := clitest.TempFile(t, "two.json", `{"cohorts": [], "flags": [
		{"key": "a", "active": false, "tags": ["x", "y"], "rollout": 5,
		"filters": {"groups": [{"properties": [{"key": "plan", "type": "person", "value": "pro"}], "rollout_percentage": 50}]}}]}`)
	r := run(2, "flags", "plan", two, "--prune")
	want := `~ flag a   0 of 0 people would get another value
    active: true -> false
    filters.groups[0].properties[0]: (none) -> {"key":"plan","type":"person","value":"pro"}
    filters.groups[0].rollout_percentage: 10 -> 50
    rollout: (none) -> 5
    tags: ["x"] -> ["x","y"]
- flag gone   0 of 0 people would get another value
2 would change, 0 unchanged
`
	if r.Stdout != want {
		t.Errorf("%s\nwant\n%s", r.Stdout, want)
	}
	if warning := `warning: flag "a": rollout is not a member of a flag and does nothing`; strings.Count(r.Stderr, warning) != 1 {
		t.Errorf("%q once in %q", warning, r.Stderr)
	}
	r = run(2, "flags", "plan", two, "--format", "markdown")
	if got, _, _ := strings.Cut(r.Stdout, "\n"); got != "**1 would change, 0 unchanged**" {
		t.Errorf("%q", got)
	}
	if line := "  - `filters.groups[0].rollout_percentage`: `10` → `50`\n"; !strings.Contains(r.Stdout, line) || !strings.Contains(r.Stdout, "- update flag `a`: 0 of 0 people") {
		t.Errorf("no %q in\n%s", line, r.Stdout)
	}
	var answer struct {
		Changes  []any
		Warnings []string
	}
	if r = run(2, "flags", "plan", two, "--format", "json"); json.Unmarshal([]byte(r.Stdout), &answer) != nil || len(answer.Changes) != 1 || len(answer.Warnings) != 1 {
		t.Errorf("%s", r.Stdout)
	}
	if r = run(2, "flags", "plan", two, "--format", "xml"); !strings.Contains(r.Stderr, "must be text, json or markdown") {
		t.Errorf("%q", r.Stderr)
	}
	if r = run(1, "flags", "plan", clitest.TempFile(t, "three.json", `{"flags": [{"key": "a", "filters": {"groups": [{"rolout_percentage": 5}]}}]}`)); !strings.Contains(r.Stderr, `"rollout_percentage" is most likely meant`) {
		t.Errorf("%q", r.Stderr)
	}
	filters := clitest.TempFile(t, "filters.json", `{"groups": [{"properties": [], "rollout": 5}]}`)
	if r = run(0, "flags", "set", "b", "--filters", filters); strings.Count(r.Stderr, "warning: filters.groups[0].rollout is not a member of a condition and does nothing") != 1 {
		t.Errorf("%q", r.Stderr)
	}
	if err := os.WriteFile(filters, []byte(`{"groups": [{"properties": [], "rolout_percentage": 5}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if r = run(1, "flags", "set", "b", "--filters", filters); !strings.Contains(r.Stderr, `"rollout_percentage" is most likely meant`) {
		t.Errorf("%q", r.Stderr)
	}
	s.stop()
	s.wait(0)
}

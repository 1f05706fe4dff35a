package command

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/command/internal/clitest"
)

const flagdLimits = `{"flags": {
	"limit": {"state": "ENABLED", "variants": {"low": 5, "high": 20}, "defaultVariant": "low"},
	"team/new checkout": {"state": "ENABLED", "variants": {"on": true, "off": false}, "defaultVariant": "on"},
	"a.b": {"state": "ENABLED", "variants": {"on": true, "off": false}, "defaultVariant": "off", "targeting": {"if": [{"==": [{"var": "plan"}, "pro"]}, "on", "off"]}}}}`

// A server stores the flags that it accepts, and the command lists the rejected flags with the
// reason; check reports them by the same rules. OpenFeature's clients get the value of a variant,
// and /flags returns variant and payload.
func TestImportFlags_ServerTakesTheRest(t *testing.T) {
	s := serve(t, time.Minute)
	key := printedKey.FindString(s.stdout.String())
	file, out := clitest.TempFile(t, "flags.json", flagdLimits), filepath.Join(t.TempDir(), "ours.json")
	if r := call(t, "", nil, "import", "flagd", file, "--output", out); r.Code != 0 {
		t.Fatalf("exit %d: %s", r.Code, r.Stderr)
	}
	check := call(t, "", nil, "check", out)
	for _, want := range []string{`(flag "a.b"): a server's API would refuse it: Only letters, numbers, hyphens`, `(flag "team/new checkout")`, "0 errors, 2 warnings"} {
		if !strings.Contains(check.Stdout, want) {
			t.Errorf("check: no %q in\n%s", want, check.Stdout)
		}
	}

	server := []string{"import", "flagd", file, "--server", s.url, "--key", key}
	plan := call(t, "", nil, append(server, "--plan")...)
	if plan.Code != 1 || !strings.Contains(plan.Stdout, "+ flag limit   0 of 0 people would get another value\n1 would change, 0 unchanged") {
		t.Errorf("plan: exit %d, %s%s", plan.Code, plan.Stdout, plan.Stderr)
	}
	if _, list := s.get("/api/projects/1/feature_flags/", key); strings.Contains(list, `"limit"`) {
		t.Error("the plan has made a flag")
	}
	r := call(t, "", nil, server...)
	if r.Code != 1 || !strings.Contains(r.Stdout, "+ flag limit") || !strings.Contains(r.Stderr, `(--rename changes it to "a-b")`) || !strings.Contains(r.Stderr, "1 flag converted, 2 left out") {
		t.Errorf("exit %d: %s%s", r.Code, r.Stdout, r.Stderr)
	}

	_, projects := s.get("/api/projects/", key)
	token := regexp.MustCompile(`phc_[A-Za-z0-9]+`).FindString(projects)
	code, answer := s.post(s.url+"/ofrep/v1/evaluate/flags/limit", token, `{"context": {"targetingKey": "u"}}`)
	var ofrep struct {
		Value   json.RawMessage
		Variant string
	}
	if json.Unmarshal([]byte(answer), &ofrep) != nil || code != http.StatusOK || string(ofrep.Value) != "5" || ofrep.Variant != "low" {
		t.Errorf("OFREP: %d %s, want the value 5 of the variant low", code, answer)
	}
	_, answer = s.post(s.url+"/flags?v=2", "", `{"api_key": "`+token+`", "distinct_id": "u"}`)
	if !strings.Contains(answer, `"variant":"low"`) || !strings.Contains(answer, `"payload":"5"`) {
		t.Errorf("/flags: %s", answer)
	}
	s.stop()
	s.wait(0)
}

// --rename replaces keys by keys that a server accepts, and prints the old and new keys. flags plan
// and flags apply accept the file of an import.
func TestImportFlags_Rename(t *testing.T) {
	s := serve(t, time.Minute)
	key := printedKey.FindString(s.stdout.String())
	file, dir := clitest.TempFile(t, "flags.json", flagdLimits), t.TempDir()
	out, table := filepath.Join(dir, "ours.json"), filepath.Join(dir, "names.csv")
	r := call(t, "", nil, "import", "flagd", file, "--rename", "--output", out)
	for _, want := range []string{"OLD KEY", "a.b", "a-b", "team/new checkout", "team-new-checkout"} {
		if r.Code != 0 || !strings.Contains(r.Stderr, want) {
			t.Errorf("exit %d, no %q in %s", r.Code, want, r.Stderr)
		}
	}
	r = call(t, "", nil, "import", "flagd", file, "--rename="+table, "--output", out)
	if text, err := os.ReadFile(table); r.Code != 0 || err != nil || string(text) != "old,new\na.b,a-b\nteam/new checkout,team-new-checkout\n" {
		t.Errorf("exit %d, %v, %s", r.Code, err, text)
	}
	env := []string{"BUNTING_SERVER=" + s.url, "BUNTING_KEY=" + key}
	if r := call(t, "", env, "flags", "plan", out); r.Code != 2 || !strings.Contains(r.Stdout, "+ flag a-b") || !strings.Contains(r.Stdout, "3 would change") {
		t.Errorf("plan: exit %d: %s%s", r.Code, r.Stdout, r.Stderr)
	}
	if r := call(t, "", env, "flags", "apply", out); r.Code != 0 || !strings.Contains(r.Stdout, "3 changed") {
		t.Errorf("apply: exit %d: %s%s", r.Code, r.Stdout, r.Stderr)
	}
	r = call(t, "", nil, "import", "flagd", file, "--rename", "--server", s.url, "--key", key, "--plan")
	if r.Code != 0 || !strings.Contains(r.Stdout, "0 would change, 3 unchanged") {
		t.Errorf("import of the same: exit %d: %s%s", r.Code, r.Stdout, r.Stderr)
	}
	// Server and key may be set by the environment, as for other commands.
	for _, args := range [][]string{{"--plan"}, {"--server", s.url, "--plan"}, {"--server", s.url}} {
		r = call(t, "", env, append([]string{"import", "flagd", file, "--rename"}, args...)...)
		if r.Code != 0 || !strings.Contains(r.Stdout, "3 unchanged") {
			t.Errorf("import %v: exit %d: %s%s", args, r.Code, r.Stdout, r.Stderr)
		}
	}
	// A file with flags that a server rejects is planned and applied without them; with --prune it
	// is not applied at all.
	call(t, "", nil, "import", "flagd", file, "--output", out)
	for action, pruning := range map[string][]string{"plan": {"--prune"}, "apply": {"--prune", "--yes"}} {
		r := call(t, "", env, "flags", action, out)
		if r.Code != 1 || !strings.Contains(r.Stdout, "1 unchanged") || !strings.Contains(r.Stderr, `(--rename changes it to "a-b")`) || !strings.Contains(r.Stderr, "team/new checkout") {
			t.Errorf("%s without what is refused: exit %d: %s%s", action, r.Code, r.Stdout, r.Stderr)
		}
		if r := call(t, "", env, append([]string{"flags", action, out}, pruning...)...); r.Code != 1 || !strings.Contains(r.Stderr, `"a.b": Only letters`) {
			t.Errorf("%s --prune: exit %d: %s%s", action, r.Code, r.Stdout, r.Stderr)
		}
	}
	// A fault that is not in a flag itself stops the command, and the message names the flag.
	broken := clitest.TempFile(t, "broken.json", `{"projects": [{"id": 1, "name": "x", "api_key": "phc_x", "flags": [{"id": 1, "key": "f", "active": true, "filters": {"groups": [{"properties": [{"key": "id", "type": "cohort", "value": 9}]}]}}]}]}`)
	if r := call(t, "", env, "flags", "apply", broken); r.Code != 1 || !strings.Contains(r.Stderr, `flag "f"`) || !strings.Contains(r.Stderr, "cohort 9") {
		t.Errorf("a flag whose cohort is missing: exit %d: %s", r.Code, r.Stderr)
	}
	s.stop()
	s.wait(0)
}

// Equal notes are printed as one line with their number; notes about types precede the rest.
func TestImportFlags_EqualNotes(t *testing.T) {
	const flag = `{"variations": {"on": true, "off": false}, "version": "1", "targeting": [{"query": "age eq 5", "variation": "on"}], "defaultRule": {"variation": "off"}}`
	r := call(t, `{"a": `+flag+`, "b": `+flag+`, "c": `+flag+`, "d": `+flag+`}`, nil, "import", "gofeatureflag", "-", "--output", filepath.Join(t.TempDir(), "x"))
	lines := strings.Split(r.Stderr, "\n")
	if r.Code != 0 || len(lines) != 5 {
		t.Fatalf("exit %d, %d lines, want the head, two kinds of notes and a total: %s", r.Code, len(lines), r.Stderr)
	}
	for i, want := range []string{"LEFT OUT", `4 times: answers differ where the attribute "age" is a text`, "4 times: not converted: version", "4 flags converted, 0 left out, 8 notes"} {
		if !strings.Contains(lines[i], want) {
			t.Errorf("line %d: %q, want %q", i+1, lines[i], want)
		}
	}
	if !strings.Contains(lines[1], "4 flags: a, b, c, …") {
		t.Errorf("%q does not name the flags", lines[1])
	}
}

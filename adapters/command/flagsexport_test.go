package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/command/internal/clitest"
)

// For the exported flags of the demo, bunting check finds no faults, bunting eval returns the
// demo's decisions, and another project accepts them unchanged.
func TestFlagsExport_Demo(t *testing.T) {
	s := serve(t, time.Minute, "--definitions", demo)
	env := []string{"BUNTING_SERVER=" + s.url, "BUNTING_KEY=phx_demo"}
	file := filepath.Join(t.TempDir(), "flags.json")
	run := func(code int, args ...string) string {
		t.Helper()
		r := call(t, "", env, args...)
		if r.Code != code {
			t.Fatalf("bunting %s: exit %d, want %d: %s%s", strings.Join(args, " "), r.Code, code, r.Stdout, r.Stderr)
		}
		return r.Stdout
	}
	run(0, "flags", "export", "--output", file, "--project", "1")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(string(text), "}\n") || strings.HasSuffix(string(text), "\n\n") {
		t.Errorf("the document ends with %q", text[max(0, len(text)-10):])
	}
	if again := run(0, "flags", "export", "--project", "1"); again != string(text) {
		t.Error("the standard output is another document")
	}
	if out := run(0, "check", file); !strings.Contains(out, "0 errors, 0 warnings") || !strings.Contains(out, "8 flags, 2 cohorts") {
		t.Errorf("check:\n%s", out)
	}
	company := clitest.TempFile(t, "user.json", `{"distinct_id": "di", "groups": {"company": "acme"}, "group_properties": {"company": {"seats": 60}}}`)
	for name, user := range map[string][]string{
		"a tester":            {"--distinct-id", "user-7"},
		"somebody else":       {"--distinct-id", "ana"},
		"by address":          {"--distinct-id", "ben", "--property", "email=ben@example.com"},
		"pays":                {"--distinct-id", "cy", "--property", "plan=pro"},
		"a large company":     {"--user", company},
		"valuable, in a half": {"--distinct-id", "eve", "--property", "lifetime_value=2000"},
	} {
		want := run(0, append([]string{"eval", "--definitions", demo, "--json"}, user...)...)
		got := run(0, append([]string{"eval", "--definitions", file, "--json"}, user...)...)
		if want, got := decisions(t, want), decisions(t, got); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
	}
	s.stop()
	s.wait(0)
}

// decisions returns the flags of a response without ids and versions, which a document does not
// contain.
func decisions(t *testing.T, answer string) string {
	t.Helper()
	var a struct {
		Flags map[string]struct {
			Enabled  bool            `json:"enabled"`
			Variant  *string         `json:"variant"`
			Reason   json.RawMessage `json:"reason"`
			Metadata struct {
				Payload json.RawMessage `json:"payload"`
			} `json:"metadata"`
		} `json:"flags"`
	}
	if err := json.Unmarshal([]byte(answer), &a); err != nil || len(a.Flags) != 8 {
		t.Fatalf("%v in %s", err, answer)
	}
	text, err := json.Marshal(a) // members are sorted by key
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

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

const goFeatureFlags = `
pro:
  variations: {on: true, off: false}
  targeting:
    - query: plan eq "pro" and age ge 18
      variation: on
  defaultRule: {variation: off}
color:
  variations: {red: c00, blue: 00c}
  targeting:
    - {query: 'country in ["no"]', variation: red}
  defaultRule: {variation: blue}
half:
  variations: {on: true, off: false}
  defaultRule: {percentage: {on: 50, off: 50}}
`

// check and eval accept the file that import writes.
func TestImportFlags_File(t *testing.T) {
	in, out := clitest.TempFile(t, "flags.yaml", goFeatureFlags), filepath.Join(t.TempDir(), "out.json")
	r := call(t, "", nil, "import", "gofeatureflag", in, "--output", out)
	if r.Code != 1 || r.Stdout != "" {
		t.Errorf("exit %d, want 1 because a flag is left out; %s", r.Code, r.Stdout)
	}
	for _, want := range []string{"FLAG", "PLACE", "REASON", "half", "defaultRule", "--rebucket", "2 flags converted, 1 left out"} {
		if !strings.Contains(r.Stderr, want) {
			t.Errorf("no %q in\n%s", want, r.Stderr)
		}
	}
	if r := call(t, "", nil, "check", out); r.Code != 0 || !strings.Contains(r.Stdout, "project phc_imported (imported): 2 flags") {
		t.Errorf("check: exit %d: %s%s", r.Code, r.Stdout, r.Stderr)
	}
	// The expected values follow from the rules above: Norway is red, and pro of age 20 is on.
	eval := call(t, "", nil, "eval", "--definitions", out, "--distinct-id", "u", "--property", "plan=PRO", "--property", "age=20", "--property", "country=no", "--json")
	if eval.Code != 0 || !strings.Contains(eval.Stdout, `"red"`) || strings.Contains(eval.Stdout, `"blue"`) {
		t.Errorf("eval: exit %d: %s%s", eval.Code, eval.Stdout, eval.Stderr)
	}

	all := call(t, goFeatureFlags, nil, "import", "gofeatureflag", "-", "--rebucket", "--project-key", "phc_mine")
	var file struct {
		Projects []struct {
			Key   string                 `json:"api_key"`
			Flags []struct{ Key string } `json:"flags"`
		}
	}
	if err := json.Unmarshal([]byte(all.Stdout), &file); err != nil || all.Code != 0 {
		t.Fatalf("exit %d: %v %s", all.Code, err, all.Stderr)
	}
	if p := file.Projects[0]; p.Key != "phc_mine" || len(p.Flags) != 3 || p.Flags[0].Key != "color" {
		t.Errorf("%+v, want phc_mine with three flags in order", p)
	}
	if !strings.Contains(all.Stderr, "other people get them") || !strings.Contains(all.Stderr, "3 flags converted, 0 left out") {
		t.Errorf("what is told: %s", all.Stderr)
	}
}

func TestImportFlags_Refusals(t *testing.T) {
	in := clitest.TempFile(t, "flags.json", `{"flags": {,}}`)
	for name, c := range map[string]struct {
		args []string
		code int
		want string
	}{
		"no file":       {[]string{"import", "flagd"}, 2, "flagd: give a file, or - for the standard input"},
		"no such file":  {[]string{"import", "flagd", in + "x"}, 1, "no such file"},
		"bad file":      {[]string{"import", "flagd", in}, 1, "flags.json: line 1 column 12"},
		"server alone":  {[]string{"import", "flagd", in, "--server", "http://127.0.0.1:1"}, 2, "--key is missing"},
		"plan alone":    {[]string{"import", "flagd", in, "--plan"}, 2, "--key is missing"},
		"plan to file":  {[]string{"import", "flagd", in, "--plan", "--key", "k", "--output", "x"}, 2, "choose one"},
		"key alone":     {[]string{"import", "flagd", in, "--key", "k"}, 2, "give its URL with --server"},
		"two ways":      {[]string{"import", "flagd", in, "--server", "http://127.0.0.1:1", "--key", "k", "--output", "x"}, 2, "choose one"},
		"wrong option":  {[]string{"import", "unleash", in, "--bogus"}, 2, "-bogus"},
		"help has them": {[]string{"help", "import"}, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := call(t, "", nil, c.args...)
			if r.Code != c.code || !strings.Contains(r.Stderr, c.want) {
				t.Errorf("exit %d, want %d; %s; want %q in it", r.Code, c.code, r.Stderr, c.want)
			}
			if c.code == 0 && !strings.Contains(r.Stdout, "gofeatureflag") {
				t.Errorf("the help names no format: %s", r.Stdout)
			}
		})
	}
}

// With --server the flags are written to a project, as bunting flags apply does. A second run
// changes no flags.
func TestImportFlags_Server(t *testing.T) {
	s := serve(t, time.Minute)
	key := printedKey.FindString(s.stdout.String())
	in, err := os.ReadFile("internal/convert/testdata/convert/unleash.json")
	if err != nil {
		t.Fatal(err)
	}
	var corpus struct{ Input json.RawMessage }
	if err := json.Unmarshal(in, &corpus); err != nil {
		t.Fatal(err)
	}
	file := clitest.TempFile(t, "unleash.json", string(corpus.Input))
	args := []string{"import", "unleash", file, "--server", s.url, "--key", key}
	first := call(t, "", nil, args...)
	if first.Code != 1 || !strings.Contains(first.Stdout, "+ flag strategy-variants") || !strings.Contains(first.Stderr, "9 left out") {
		t.Fatalf("exit %d: %s%s", first.Code, first.Stdout, first.Stderr)
	}
	if again := call(t, "", nil, args...); !strings.Contains(again.Stdout, "0 changed") {
		t.Errorf("again: %s%s", again.Stdout, again.Stderr)
	}
	s.stop()
	s.wait(0)
}

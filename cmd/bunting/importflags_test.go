package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
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

// The file that import writes is one that check and eval take.
func TestImportFlags_File(t *testing.T) {
	in, out := tempFile(t, "flags.yaml", goFeatureFlags), filepath.Join(t.TempDir(), "out.json")
	r := call(t, "", nil, "import", "gofeatureflag", in, "--output", out)
	if r.code != 1 || r.stdout != "" {
		t.Errorf("exit %d, want 1 because a flag is left out; %s", r.code, r.stdout)
	}
	for _, want := range []string{"FLAG", "PLACE", "REASON", "half", "defaultRule", "--rebucket", "2 flags converted, 1 left out"} {
		if !strings.Contains(r.stderr, want) {
			t.Errorf("no %q in\n%s", want, r.stderr)
		}
	}
	if r := call(t, "", nil, "check", out); r.code != 0 || !strings.Contains(r.stdout, "project phc_imported (imported): 2 flags") {
		t.Errorf("check: exit %d: %s%s", r.code, r.stdout, r.stderr)
	}
	// The values follow from the rules above: Norway is red, pro of age 20 is on.
	eval := call(t, "", nil, "eval", "--definitions", out, "--distinct-id", "u", "--property", "plan=PRO", "--property", "age=20", "--property", "country=no", "--json")
	if eval.code != 0 || !strings.Contains(eval.stdout, `"red"`) || strings.Contains(eval.stdout, `"blue"`) {
		t.Errorf("eval: exit %d: %s%s", eval.code, eval.stdout, eval.stderr)
	}

	all := call(t, goFeatureFlags, nil, "import", "gofeatureflag", "-", "--rebucket", "--project-key", "phc_mine")
	var file struct {
		Projects []struct {
			Key   string                 `json:"api_key"`
			Flags []struct{ Key string } `json:"flags"`
		}
	}
	if err := json.Unmarshal([]byte(all.stdout), &file); err != nil || all.code != 0 {
		t.Fatalf("exit %d: %v %s", all.code, err, all.stderr)
	}
	if p := file.Projects[0]; p.Key != "phc_mine" || len(p.Flags) != 3 || p.Flags[0].Key != "color" {
		t.Errorf("%+v, want phc_mine with three flags in order", p)
	}
	if !strings.Contains(all.stderr, "other people get them") || !strings.Contains(all.stderr, "3 flags converted, 0 left out") {
		t.Errorf("what is told: %s", all.stderr)
	}
}

func TestImportFlags_Refusals(t *testing.T) {
	in := tempFile(t, "flags.json", `{"flags": {,}}`)
	for name, c := range map[string]struct {
		args []string
		code int
		want string
	}{
		"no file":       {[]string{"import", "flagd"}, 2, "flagd: which file?"},
		"no such file":  {[]string{"import", "flagd", in + "x"}, 1, "no such file"},
		"bad file":      {[]string{"import", "flagd", in}, 1, "flags.json: line 1 column 12"},
		"server alone":  {[]string{"import", "flagd", in, "--server", "http://127.0.0.1:1"}, 2, "--server and --key go together"},
		"two ways":      {[]string{"import", "flagd", in, "--server", "http://127.0.0.1:1", "--key", "k", "--output", "x"}, 2, "choose one"},
		"wrong option":  {[]string{"import", "unleash", in, "--bogus"}, 2, "-bogus"},
		"help has them": {[]string{"help", "import"}, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := call(t, "", nil, c.args...)
			if r.code != c.code || !strings.Contains(r.stderr, c.want) {
				t.Errorf("exit %d, want %d; %s; want %q in it", r.code, c.code, r.stderr, c.want)
			}
			if c.code == 0 && !strings.Contains(r.stdout, "gofeatureflag") {
				t.Errorf("the help names no format: %s", r.stdout)
			}
		})
	}
}

// With --server the flags become those of a project, as bunting flags apply does:
// a second time nothing changes.
func TestImportFlags_Server(t *testing.T) {
	s := serve(t, time.Second)
	key := printedKey.FindString(s.stdout.String())
	in, err := os.ReadFile("../../adapters/convert/testdata/convert/unleash.json")
	if err != nil {
		t.Fatal(err)
	}
	var corpus struct{ Input json.RawMessage }
	if err := json.Unmarshal(in, &corpus); err != nil {
		t.Fatal(err)
	}
	file := tempFile(t, "unleash.json", string(corpus.Input))
	args := []string{"import", "unleash", file, "--server", s.url, "--key", key}
	first := call(t, "", nil, args...)
	if first.code != 1 || !strings.Contains(first.stdout, "+ flag strategy-variants") || !strings.Contains(first.stderr, "9 left out") {
		t.Fatalf("exit %d: %s%s", first.code, first.stdout, first.stderr)
	}
	if again := call(t, "", nil, args...); !strings.Contains(again.stdout, "0 changed") {
		t.Errorf("again: %s%s", again.stdout, again.stderr)
	}
	s.stop()
	s.wait(0)
}

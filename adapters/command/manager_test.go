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
)

var printedKey = regexp.MustCompile(`phx_[0-9A-Za-z]{40,}`)

// The path of a user who begins with an empty folder: a flag is created, returned to an SDK's
// request, changed, and copied to another project.
func TestManager_FromAnEmptyFolder(t *testing.T) {
	s := serve(t, time.Minute)
	key := printedKey.FindString(s.stdout.String())
	if key == "" {
		t.Fatalf("the first start prints no key: %s", s.stdout)
	}
	env := []string{"BUNTING_SERVER=" + s.url, "BUNTING_KEY=" + key}
	run := func(args ...string) string {
		t.Helper()
		r := call(t, "", env, args...)
		if r.Code != 0 {
			t.Fatalf("bunting %s: exit %d: %s", strings.Join(args, " "), r.Code, r.Stderr)
		}
		return r.Stdout
	}
	contains := func(text string, parts ...string) {
		t.Helper()
		for _, part := range parts {
			if !strings.Contains(text, part) {
				t.Errorf("no %q in\n%s", part, text)
			}
		}
	}
	contains(run("flags", "set", "new-checkout", "--rollout", "100", "--name", "The new checkout"), "new-checkout", "on", "100%", "The new checkout")
	projects := run("projects", "list", "--json")
	var list []struct {
		ID    int64
		Token string `json:"api_token"`
	}
	if err := json.Unmarshal([]byte(projects), &list); err != nil || len(list) != 1 {
		t.Fatalf("%s: %v", projects, err)
	}
	decided := func(token, flag string) bool {
		t.Helper()
		r, err := http.NewRequest("POST", s.url+"/flags/?v=2", strings.NewReader(`{"api_key":"`+token+`","distinct_id":"u"}`))
		if err != nil {
			t.Fatal(err)
		}
		_, body := do(t, r)
		return enabled(t, body)[flag]
	}
	if !decided(list[0].Token, "new-checkout") {
		t.Error("the new flag is not decided for everybody")
	}
	contains(run("flags", "disable", "new-checkout"), "off")
	if decided(list[0].Token, "new-checkout") {
		t.Error("a disabled flag is on")
	}
	contains(run("flags", "enable", "new-checkout"), "on")
	contains(run("flags", "set", "color", "--variants", "red=50,blue=50"), "red=50,blue=50")
	contains(run("flags", "set", "color", "--rollout", "20"), "20%", "red=50,blue=50")
	contains(run("flags", "get", "color"), `"key": "color"`)
	contains(run("flags", "list"), "new-checkout", "color")

	file := filepath.Join(t.TempDir(), "flags.json")
	run("flags", "export", "--output", file)
	exported, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	contains(run("projects", "create", "Staging"), "Staging")
	planned := call(t, "", env, "flags", "plan", file, "--project", "2")
	if planned.Code != 2 {
		t.Errorf("a plan with changes: exit %d, want 2", planned.Code)
	}
	contains(planned.Stdout, "+ flag color", "+ flag new-checkout", "2 would change")
	contains(run("flags", "apply", file, "--project", "2"), "2 changed")
	if again := run("flags", "export", "--project", "2"); again != string(exported) {
		t.Errorf("exported again:\n%s\nwant\n%s", again, exported)
	}
	contains(run("flags", "apply", file, "--project", "2"), "0 changed, 2 unchanged")
	contains(run("flags", "delete", "color", "--project", "2", "--yes"), "deleted")

	created := run("keys", "create", "--label", "reader", "--scopes", "feature_flag:read")
	reader := printedKey.FindString(created)
	contains(run("keys", "list"), "reader", "feature_flag:read")
	if r := call(t, "", env, "flags", "disable", "new-checkout", "--project", "1", "--key", reader); r.Code != 1 || !strings.Contains(r.Stderr, "feature_flag:write") {
		t.Errorf("a key that may only read: exit %d, %s", r.Code, r.Stderr)
	}
	var keys []struct{ ID, Label string }
	if err := json.Unmarshal([]byte(run("keys", "list", "--json")), &keys); err != nil || len(keys) != 2 {
		t.Fatal(keys, err)
	}
	for _, k := range keys {
		if k.Label == "reader" {
			run("keys", "revoke", k.ID)
		}
	}
	if r := call(t, "", env, "flags", "list", "--project", "1", "--key", reader); r.Code != 1 || !strings.Contains(r.Stderr, "401") {
		t.Errorf("a revoked key: exit %d, %s", r.Code, r.Stderr)
	}
	s.stop()
	s.wait(0)
}

func TestManager_Refusals(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		code int
		want string
	}{
		"no action":       {[]string{"flags"}, 2, "give an action: list, get, set"},
		"unknown action":  {[]string{"keys", "eat"}, 2, `unknown action "eat", must be one of list, create, roll, revoke, recover`},
		"no key":          {[]string{"projects", "list"}, 2, "--key is missing"},
		"an argument":     {[]string{"flags", "get", "--key", "k"}, 2, "get takes KEY"},
		"no server":       {[]string{"flags", "list", "--key", "k", "--server", "flags.example.com"}, 2, "must be a URL"},
		"bad rollout":     {[]string{"flags", "list", "--key", "k", "--bogus"}, 2, "-bogus"},
		"help of actions": {[]string{"keys", "--help"}, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := call(t, "", nil, c.args...)
			if r.Code != c.code || !strings.Contains(r.Stderr, c.want) {
				t.Errorf("exit %d, %q; want %d, %q", r.Code, r.Stderr, c.code, c.want)
			}
		})
	}
}

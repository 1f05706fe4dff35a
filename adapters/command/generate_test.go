package command

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/command/internal/clitest"
)

// reading is a client program that uses the generated functions.
const reading = `package main

import (
	"context"
	"fmt"
	"os"

	"example.org/service/features"
	"github.com/bunting-flags/bunting/flags"
)

func main() {
	text, err := os.ReadFile("flags.json")
	if err != nil {
		panic(err)
	}
	file, err := flags.ParseFile(text)
	if err != nil {
		panic(err)
	}
	r := flags.Compile(file.Projects[0].Definitions).Reader()
	ctx, s := context.Background(), &flags.Subject{DistinctID: "user-1"}
	layout := features.ReadCheckoutLayout(ctx, r, s, features.CheckoutLayoutControl)
	payload := features.ReadCheckoutLayoutPayload(ctx, r, s, features.CheckoutLayoutPayload{})
	fmt.Println(features.ReadNewOnboarding(ctx, r, s, false), layout == features.CheckoutLayoutSteps, payload.Columns, *payload.Progress)
	limit := features.ReadLimit(ctx, r, s, features.LimitHigh)
	fmt.Println(limit == features.LimitLow, features.ReadLimitPayload(ctx, r, s, 0), features.ReadTitlePayload(ctx, r, s, ""))
}
`

// The functions that are generated for the demo's flags compile, return what bunting eval returns
// for user-1, and do not compile after a flag was deleted.
func TestGenerate_Go(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	definitions, err := os.ReadFile(demo)
	if err != nil {
		t.Fatal(err)
	}
	// Flags of remote configuration, as an import writes them: their value is the payload.
	definitions = []byte(strings.Replace(string(definitions), `"flags": [`, `"flags": [
		{"id": 901, "key": "limit", "active": true, "is_remote_configuration": true, "filters": {"groups": [{"variant": "low"}],
			"multivariate": {"variants": [{"key": "low", "rollout_percentage": 100}, {"key": "high", "rollout_percentage": 0}]}, "payloads": {"low": "5", "high": "20"}}},
		{"id": 902, "key": "title", "active": true, "is_remote_configuration": true, "filters": {"groups": [{}], "payloads": {"true": "\"a text\""}}},`, 1))
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	if err := os.Mkdir(in("features"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(root, "flags", name))
		if err != nil {
			t.Fatal(err)
		}
		write(t, in(name), strings.Replace(string(text), "module "+module+"/flags", "module example.org/service", 1))
	}
	env := []string{"GOWORK=off", "GOFLAGS=" + os.Getenv("GOFLAGS") + " -mod=mod"}
	goCommand(t, dir, env, "mod", "edit", "-require="+module+"/flags@"+published, "-replace="+module+"/flags="+filepath.Join(root, "flags"))
	write(t, in("main.go"), reading)
	write(t, in("flags.json"), string(definitions))
	generate := func(code int, args ...string) clitest.Result {
		t.Helper()
		r := call(t, "", nil, append([]string{"generate", "go", in("flags.json"), "--output", in("features/flags.go")}, args...)...)
		if r.Code != code {
			t.Fatalf("exit %d, want %d: %s%s", r.Code, code, r.Stdout, r.Stderr)
		}
		return r
	}
	generate(2, "--check")
	generate(0)
	generate(0, "--check")
	if got := goCommand(t, dir, env, "run", "."); got != "true true 1 true\ntrue 5 a text\n" {
		t.Errorf("the program says %q", got)
	}
	write(t, in("flags.json"), strings.Replace(string(definitions), `"key": "new-onboarding"`, `"key": "newer-onboarding"`, 1))
	if r := generate(2, "--check"); !strings.Contains(r.Stderr, "not up to date") {
		t.Errorf("%q", r.Stderr)
	}
	generate(0)
	out, err := goTry(dir, env, "build", "-o", in("service"), ".")
	if err == nil || !strings.Contains(out, "undefined: features.ReadNewOnboarding") {
		t.Errorf("%v: %s", err, out)
	}
}

// The same functions are generated from a server, and unused flags are found there.
func TestGenerate_OfServer(t *testing.T) {
	s := serve(t, time.Minute, "--definitions", demo)
	env := []string{"BUNTING_SERVER=" + s.url, "BUNTING_KEY=phx_demo", "BUNTING_PROJECT=1"}
	r := call(t, "", env, "generate", "ts")
	if r.Code != 0 || !strings.Contains(r.Stdout, `export type CheckoutLayout = "control" | "one-page" | "steps"`) {
		t.Errorf("exit %d: %s%s", r.Code, r.Stdout, r.Stderr)
	}
	code := t.TempDir()
	write(t, filepath.Join(code, "a.ts"), "posthog.getFeatureFlag('checkout-layout')\nposthog.isFeatureEnabled('long-gone')\n")
	for name, args := range map[string][]string{"of the server": {"--json"}, "of the file": {"--json", demo}} {
		r = call(t, "", env, append([]string{"unused", "--code", code}, args...)...)
		var got struct {
			Files  int
			Unused []struct {
				Key    string
				Called *string `json:"last_called_at"`
			}
			Unknown []struct {
				Line int
				Key  string
			}
		}
		if err := json.Unmarshal([]byte(r.Stdout), &got); err != nil {
			t.Fatalf("%s: %v in %s%s", name, err, r.Stdout, r.Stderr)
		}
		if r.Code != 2 || got.Files != 1 || len(got.Unused) != 7 || len(got.Unknown) != 1 || got.Unknown[0].Key != "long-gone" || got.Unknown[0].Line != 2 {
			t.Errorf("%s: exit %d, %+v", name, r.Code, got)
		}
		for _, f := range got.Unused {
			if f.Key == "checkout-layout" || f.Called != nil {
				t.Errorf("%s: %+v", name, f)
			}
		}
	}
	lastCalled(t, s.url, env, code)
	if r = call(t, "", env, "unused", "--code", t.TempDir(), demo); r.Code != 1 || !strings.Contains(r.Stderr, "no source code") {
		t.Errorf("exit %d: %s", r.Code, r.Stderr)
	}
	s.stop()
	s.wait(0)
}

// lastCalled proves that unused reports when a client last reported a call of a flag: the newest of
// several timestamps that arrive in any order.
func lastCalled(t *testing.T, url string, env []string, code string) {
	t.Helper()
	event := `{"event": "$feature_flag_called", "distinct_id": "u", "timestamp": "%s", "properties": {"$feature_flag": "new-onboarding", "$feature_flag_response": true}}`
	batch := `{"api_key": "phc_demo", "batch": [` + fmt.Sprintf(event, "2026-03-02T10:00:00Z") + "," + fmt.Sprintf(event, "2026-03-01T10:00:00Z") + `]}`
	answer, err := http.Post(url+"/batch/", "application/json", strings.NewReader(batch))
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("/batch/ answers %d", answer.StatusCode)
	}
	for deadline := time.Now().Add(clitest.WaitTimeout); ; time.Sleep(50 * time.Millisecond) {
		r := call(t, "", env, "unused", "--code", code)
		if strings.Contains(r.Stdout, "new-onboarding  last called 2026-03-02T10:00:00Z\n") && strings.Contains(r.Stdout, "  never called\n") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s%s", r.Stdout, r.Stderr)
		}
	}
}

// Keys that result in the same name in code are each reported a single time, and with --strict no
// file is written.
func TestGenerate_NamesTwice(t *testing.T) {
	dir := t.TempDir()
	definitions, out := filepath.Join(dir, "flags.json"), filepath.Join(dir, "flags.go")
	write(t, definitions, `{"flags": [{"id": 1, "key": "a_b"}, {"id": 2, "key": "a-b"}, {"id": 3, "key": "c.d"}, {"id": 4, "key": "c-d"}]}`)
	const message = "the flag \"a_b\" is named AB_2, because the flag \"a-b\" has the name ReadAB\nthe flag \"c.d\" is named CD_2, because the flag \"c-d\" has the name ReadCD\n"
	for _, language := range []string{"go", "ts"} {
		if r := call(t, "", nil, "generate", language, definitions, "--output", out, "--strict"); r.Code != 2 || r.Stderr != message {
			t.Errorf("%s: exit %d: %q", language, r.Code, r.Stderr)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%s: --strict has written", language)
		}
		r := call(t, "", nil, "generate", language, definitions)
		if r.Code != 0 || r.Stderr != message || !strings.Contains(r.Stdout, "eadAB_2(") || !strings.Contains(r.Stdout, "eadCD(") {
			t.Errorf("%s: exit %d: %q\n%s", language, r.Code, r.Stderr, r.Stdout)
		}
	}
}

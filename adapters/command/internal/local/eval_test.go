package local

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
	"github.com/bunting-flags/bunting/adapters/command/internal/clitest"
	"github.com/bunting-flags/bunting/flags"
)

// evalJSON runs eval --json and returns the value of each flag.
func evalJSON(t *testing.T, stdin string, args ...string) map[string]any {
	t.Helper()
	r := call(t, stdin, nil, append([]string{"eval", "--json"}, args...)...)
	if r.Code != 0 {
		t.Fatalf("exit code %d: %s", r.Code, r.Stderr)
	}
	var a answer
	if err := json.Unmarshal([]byte(r.Stdout), &a); err != nil {
		t.Fatalf("%v in %s", err, r.Stdout)
	}
	out := map[string]any{}
	for key, f := range a.Flags {
		out[key] = f.Enabled
		if f.Variant != nil {
			out[key] = *f.Variant
		}
	}
	for key := range a.Undecided {
		out[key] = "undecided"
	}
	return out
}

// The values of the demo's flags follow from their definitions; none of them depends on a bucket.
func TestEval_Demo(t *testing.T) {
	tests := map[string]struct {
		user string
		args []string
		want map[string]any
	}{
		"everybody":             {`{"distinct_id": "u"}`, nil, map[string]any{"new-onboarding": true, "beta-program": false, "euro-prices": false, "pro-dashboard": false, "dashboard-export": false, "single-sign-on": false}},
		"tester on the list":    {`{"distinct_id": "user-7"}`, nil, map[string]any{"beta-program": true}},
		"address":               {`{"distinct_id": "u", "person_properties": {"email": "ann@EXAMPLE.com"}}`, nil, map[string]any{"beta-program": true}},
		"stored address":        {`{"distinct_id": "u", "stored": {"person_properties": {"email": "ann@example.com"}}}`, nil, map[string]any{"beta-program": true}},
		"the request wins":      {`{"distinct_id": "u", "person_properties": {"email": "x@example.org"}, "stored": {"person_properties": {"email": "ann@example.com"}}}`, nil, map[string]any{"beta-program": false}},
		"Germany":               {`{"distinct_id": "u", "ip": "192.0.2.1"}`, []string{"--geoip", "../../../../testdata/geoip/city.mmdb"}, map[string]any{"euro-prices": true}},
		"New York":              {`{"distinct_id": "u", "ip": "198.51.100.1"}`, []string{"--geoip", "../../../../testdata/geoip/city.mmdb"}, map[string]any{"euro-prices": false}},
		"cohort by plan":        {`{"distinct_id": "u"}`, []string{"--property", "plan=enterprise"}, map[string]any{"pro-dashboard": true}},
		"cohort by number":      {`{"distinct_id": "u"}`, []string{"--property", "lifetime_value=1000.5"}, map[string]any{"pro-dashboard": true}},
		"company by property":   {`{"distinct_id": "u", "groups": {"company": "acme"}, "group_properties": {"company": {"seats": 50}}}`, nil, map[string]any{"single-sign-on": true}},
		"company as stored":     {`{"distinct_id": "u", "stored": {"groups": {"company": {"seats": 50}}}}`, []string{"--group", "company=acme"}, map[string]any{"single-sign-on": true}},
		"company with 49 seats": {`{"distinct_id": "u", "groups": {"company": "acme"}, "group_properties": {"company": {"seats": 49}}}`, nil, map[string]any{"single-sign-on": false}},
		"partial":               {`{"distinct_id": "u"}`, []string{"--partial"}, map[string]any{"new-onboarding": true, "beta-program": "undecided", "euro-prices": "undecided", "pro-dashboard": "undecided"}},
		"command line over it":  {`{"distinct_id": "u", "person_properties": {"plan": "free"}}`, []string{"--distinct-id", "user-1", "--property", "plan=pro"}, map[string]any{"beta-program": true, "pro-dashboard": true}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := evalJSON(t, tt.user, append([]string{"--definitions", demo, "--user", "-"}, tt.args...)...)
			if len(got) != 8 {
				t.Errorf("%d flags, want 8", len(got))
			}
			for key, want := range tt.want {
				if got[key] != want {
					t.Errorf("%s: %v, want %v", key, got[key], want)
				}
			}
		})
	}
}

// 5 and 5.0 are different strings (§4.2), in properties and inside lists.
func TestEval_4_2_NumbersKeepTheirForm(t *testing.T) {
	flag := func(key, value string) string {
		return `{"id": 1, "key": "` + key + `", "active": true, "filters": {"groups": [{"properties": [{"key": "n", "type": "person", "operator": "regex", "value": "` + value + `"}]}]}}`
	}
	file := clitest.TempFile(t, "f.json", `{"projects": [{"id": 1, "api_key": "phc", "flags": [`+flag("whole", `^5$`)+`]}]}`)
	for value, want := range map[string]bool{"5": true, "5.0": false, `"5"`: true} {
		if got := evalJSON(t, `{"distinct_id": "u", "person_properties": {"n": `+value+`}}`, "--definitions", file, "--user", "-"); got["whole"] != want {
			t.Errorf("n = %s in JSON: %v, want %v", value, got["whole"], want)
		}
		if got := evalJSON(t, "", "--definitions", file, "--distinct-id", "u", "--property", "n="+value); got["whole"] != want {
			t.Errorf("--property n=%s: %v, want %v", value, got["whole"], want)
		}
	}
}

func TestEval_Table(t *testing.T) {
	want := `user "user-1", project phc_demo, at 2026-01-31T12:00:00Z

FLAG            VALUE        REASON                        PAYLOAD
pro-dashboard   true         Matched condition set 1       "{\"refresh_seconds\": 30}"
single-sign-on  not decided  unknown group property seats  -
`
	r := call(t, "", nil, "eval", "--definitions", demo, "--distinct-id", "user-1", "--property", "plan=pro", "--group", "company=acme",
		"--partial", "--at", "2026-01-31T12:00:00Z", "--flag", "single-sign-on", "--flag", "pro-dashboard")
	if diff := cmp.Diff(want, r.Stdout); diff != "" || r.Code != 0 {
		t.Errorf("exit code %d, %s (-want +got):\n%s", r.Code, r.Stderr, diff)
	}
}

// The v2 response of §9.6: its members, with null for missing values.
func TestEval_9_6_JSON(t *testing.T) {
	want := `{
  "errorsWhileComputingFlags": false,
  "flags": {
    "euro-prices": {
      "key": "euro-prices",
      "enabled": false,
      "variant": null,
      "reason": {
        "code": "no_condition_match",
        "condition_index": 0,
        "description": "No matching condition set"
      },
      "metadata": {
        "id": 5,
        "version": 1,
        "description": null,
        "payload": null,
        "has_experiment": false
      }
    }
  },
  "evaluatedAt": 1769860800000
}
`
	r := call(t, "", nil, "eval", "--definitions", demo, "--distinct-id", "u", "--at", "2026-01-31T12:00:00Z", "--json", "--flag", "euro-prices")
	if diff := cmp.Diff(want, r.Stdout); diff != "" || r.Code != 0 {
		t.Errorf("exit code %d, %s (-want +got):\n%s", r.Code, r.Stderr, diff)
	}
}

// "" is a valid distinct id, also if it overrides that of a user.
func TestEval_EmptyDistinctID(t *testing.T) {
	for _, user := range []string{`{}`, `{"distinct_id": "u"}`} {
		call(t, user, nil, "eval", "--definitions", demo, "--user", "-", "--distinct-id", "").Want(t, 0, `user ""`, "")
	}
	call(t, `{}`, nil, "eval", "--definitions", demo, "--user", "-").Want(t, 1, "", "give one there or with --distinct-id")
}

func TestEval_FlagWithoutAnAnswer(t *testing.T) {
	file := clitest.TempFile(t, "f.json", `{"projects": [{"id": 1, "api_key": "phc", "flags": [
		{"id": 1, "key": "off", "filters": {}}, {"id": 2, "key": "app", "active": true, "evaluation_runtime": "client", "filters": {"groups": [{}]}}]}]}`)
	for flag, why := range map[string]string{"nope": `there is no flag "nope"`, "off": "the flag is not active", "app": "left out by the runtime"} {
		call(t, "", nil, "eval", "--definitions", file, "--distinct-id", "u", "--runtime", "server", "--flag", flag).
			Want(t, 1, "no flag has a value\n", "bunting: --flag "+flag+": no value: ")
		if r := call(t, "", nil, "eval", "--definitions", file, "--distinct-id", "u", "--runtime", "server", "--flag", flag); !strings.Contains(r.Stderr, why) {
			t.Errorf("%s: %q does not say %q", flag, r.Stderr, why)
		}
	}
	call(t, "", nil, "eval", "--definitions", file, "--distinct-id", "u", "--flag", "app").Want(t, 0, "app   true", "") // all runtimes
}

func TestEval_Explain(t *testing.T) {
	args := []string{"eval", "--definitions", demo, "--distinct-id", "u", "--property", "plan=pro", "--flag", "pro-dashboard", "--explain"}
	call(t, "", nil, args...).Want(t, 0, `person property "plan" exact ["pro","enterprise"]; saw "pro" (string, request): yes`, "")
	r := call(t, "", nil, append(args, "--json")...)
	var traces []struct {
		Flag     string
		Decision struct{ Enabled bool }
	}
	if err := json.Unmarshal([]byte(r.Stdout), &traces); err != nil || len(traces) != 1 || traces[0].Flag != "pro-dashboard" || !traces[0].Decision.Enabled {
		t.Errorf("%v in %s", err, r.Stdout)
	}
	all := call(t, "", nil, "eval", "--definitions", demo, "--distinct-id", "u", "--explain")
	if got := strings.Count("\n"+all.Stdout, "\nflag \""); got != 8 {
		t.Errorf("%d traces, want 8", got)
	}
}

func TestEval_Projects(t *testing.T) {
	two := clitest.TempFile(t, "f.json", `{"projects": [{"id": 1, "api_key": "phc_a"}, {"id": 2, "api_key": "phc_b"}]}`)
	eval := func(args ...string) clitest.Result {
		return call(t, "", nil, append([]string{"eval", "--distinct-id", "u"}, args...)...)
	}
	eval("--definitions", two).Want(t, 1, "", "choose one with --project KEY; there are phc_a, phc_b")
	eval("--definitions", two, "--project", "phc_c").Want(t, 1, "", `no project with the key "phc_c"; there are phc_a, phc_b`)
	eval("--definitions", two, "--project", "phc_b").Want(t, 0, "project phc_b", "")
	eval("--definitions", two, "--definitions", two, "--project", "phc_b").Want(t, 1, "", "several files have the project")
	eval("--definitions", clitest.TempFile(t, "f.json", `{"projects": []}`)).Want(t, 1, "", "the definitions have no project")
	bare := clitest.TempFile(t, "p.json", `{"flags": [{"id": 1, "key": "one", "active": true, "filters": {"groups": [{}]}}]}`)
	eval("--definitions", bare).Want(t, 0, "one   true", "")
	eval("--definitions", bare, "--api-key", "phc_p").Want(t, 0, "project phc_p", "")
	eval("--definitions", "none.json").Want(t, 1, "", "bunting: none.json: file does not exist")
}

func TestEval_UserErrors(t *testing.T) {
	for name, tt := range map[string]struct{ user, want string }{
		"no JSON":      {"{\n x}", "the standard input: line 2 column 2:"},
		"empty":        {"", "the standard input: the document is empty"},
		"half":         {`{"distinct_id": `, "the document ends in the middle"},
		"more":         {`{} {}`, "line 1 column 4: text after the end"},
		"no object":    {`[]`, "the user: must be a JSON object"},
		"unknown":      {`{"distinctId": "u"}`, "distinctId: is unknown; the members are distinct_id, person_properties,"},
		"no id":        {`{}`, `the user has no "distinct_id"`},
		"null id":      {`{"distinct_id": null}`, `the user has no "distinct_id"`},
		"id":           {`{"distinct_id": true}`, "distinct_id: must be text or a number"},
		"properties":   {`{"distinct_id": 5, "person_properties": []}`, "person_properties: must be a JSON object"},
		"group":        {`{"distinct_id": 5, "groups": {"company": {}}}`, "groups.company: must be text or a number"},
		"group props":  {`{"distinct_id": 5, "group_properties": {"company": 5}}`, "group_properties.company: must be a JSON object"},
		"ip":           {`{"distinct_id": 5, "ip": "home"}`, "ip: must be an address such as 192.0.2.1"},
		"not located":  {`{"distinct_id": 5, "ip": "192.0.2.1"}`, "give one with --geoip FILE"},
		"stored":       {`{"distinct_id": 5, "stored": {"person": {}}}`, "stored.person: is unknown; the members are person_properties, groups, cohorts, created_at, overrides"},
		"cohorts":      {`{"distinct_id": 5, "stored": {"cohorts": [1, "2"]}}`, "stored.cohorts[1]: must be the id of a cohort"},
		"created":      {`{"distinct_id": 5, "stored": {"created_at": "today"}}`, "stored.created_at: must be a time"},
		"overrides":    {`{"distinct_id": 5, "stored": {"overrides": {"f": null}}}`, "stored.overrides.f: must be text"},
		"stored group": {`{"distinct_id": 5, "stored": {"groups": {"company": "acme"}}}`, "stored.groups.company: must be a JSON object"},
	} {
		t.Run(name, func(t *testing.T) {
			call(t, tt.user, nil, "eval", "--definitions", demo, "--user", "-").Want(t, 1, "", tt.want)
		})
	}
	call(t, "", nil, "eval", "--definitions", demo, "--user", "none.json").Want(t, 1, "", "--user: open none.json:")
}

func TestReadUser(t *testing.T) {
	u, err := readUser("user.json", strings.NewReader(`{"distinct_id": 5.0, "$anon_distinct_id": "anon", "$device_id": "dev", "groups": {"company": 7},
		"person_properties": {"n": 5.0}, "stored": {"cohorts": [12], "created_at": "2026-01-31T12:00:00Z", "overrides": {"beta": "first"}, "groups": {"company": {"seats": 5}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := flags.Subject{
		DistinctID: "5.0", AnonymousID: "anon", DeviceID: "dev", Groups: map[string]string{"company": "7"},
		Person: flags.Properties{"n": json.Number("5.0")},
		Stored: &flags.Stored{
			Cohorts: []int64{12}, CreatedAt: time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC), Overrides: map[string]string{"beta": "first"},
			Groups: map[string]flags.Properties{"company": {"seats": json.Number("5")}},
		},
	}
	if diff := cmp.Diff(want, u.subject); diff != "" {
		t.Errorf("subject (-want +got):\n%s", diff)
	}
}

// --watch prints again after each change, and reports an invalid file.
func TestEval_Watch(t *testing.T) {
	file := clitest.TempFile(t, "f.json", `{"projects": [{"id": 1, "api_key": "phc", "flags": []}]}`)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	stdout, stderr, ended := clitest.NewOutput(), clitest.NewOutput(), make(chan int, 1)
	go func() {
		ended <- (&cli.Program{Commands: []cli.Command{Eval}, Stdout: stdout, Stderr: stderr}).Run(ctx, []string{"eval", "--watch", "--definitions", file, "--distinct-id", "u"})
	}()
	wait := func(out *clitest.Output, text string) {
		t.Helper()
		deadline := time.After(clitest.WaitTimeout)
		for !strings.Contains(out.String(), text) {
			select {
			case <-out.OnWrite:
			case <-deadline:
				t.Fatalf("no %q in %q; stderr %q", text, stdout, stderr)
			}
		}
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	wait(stdout, "no flag has a value")
	write(`{"projects": [{"id": 1, "api_key": "phc", "flags": [{"id": 1, "key": "one", "active": true, "filters": {"groups": [{}]}}]}]}`)
	wait(stdout, "one   true")
	write(`{"projects": [`)
	wait(stderr, "f.json: line 1 column 14: the document ends in the middle; its last valid state is used")
	stop()
	select {
	case code := <-ended:
		if code != 0 {
			t.Errorf("exit code %d: %s", code, stderr)
		}
	case <-time.After(clitest.WaitTimeout):
		t.Fatal("does not end")
	}
}

func FuzzReadUser(f *testing.F) {
	for _, seed := range []string{
		`{"distinct_id": "u"}`, `{"distinct_id": 5.0, "person_properties": {"a": [1, {"b": null}]}, "groups": {"company": 1}}`,
		`{"stored": {"cohorts": [1], "created_at": "2026-01-31T12:00:00Z", "overrides": {"f": "x"}}}`, `[`, ``, `{"ip": "::1"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		u, err := readUser("user.json", strings.NewReader(string(data)))
		if (u == nil) == (err == nil) {
			t.Fatalf("user %v, error %v", u, err)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "user.json: ") {
			t.Errorf("error %q does not name the file", err)
		}
	})
}

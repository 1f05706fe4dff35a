package command

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
	"github.com/bunting-flags/bunting/adapters/command/internal/clitest"
)

// startServer starts a server with an empty folder. It returns the server, the environment with
// which commands reach it, and the project's token.
func startServer(t *testing.T) (s *instance, env []string, token string) {
	t.Helper()
	s = serve(t, time.Minute)
	env = []string{"BUNTING_SERVER=" + s.url, "BUNTING_KEY=" + printedKey.FindString(s.stdout.String())}
	t.Cleanup(func() { s.stop(); s.wait(0) })
	var p struct {
		Token string `json:"api_token"`
	}
	if err := json.Unmarshal([]byte(call(t, "", env, "projects", "get", "1", "--json").Stdout), &p); err != nil || p.Token == "" {
		t.Fatal(p, err)
	}
	return s, env, p.Token
}

// send captures an event with a name, a distinct id and the members of $set.
func (s *instance) send(token, name, id, set string) {
	s.t.Helper()
	r, err := http.NewRequest("POST", s.url+"/capture/", strings.NewReader(fmt.Sprintf(
		`{"api_key":%q,"event":%q,"distinct_id":%q,"properties":{"$set":%s}}`, token, name, id, set)))
	if err != nil {
		s.t.Fatal(err)
	}
	if status, body := do(s.t, r); status != http.StatusOK {
		s.t.Fatal(status, body)
	}
}

// The commands cover a flag's life: variants with payloads, its versions, and the restoration of
// one of them.
func TestFlags_HistoryAndRestore(t *testing.T) {
	_, env, _ := startServer(t)
	call(t, "", env, "flags", "set", "color", "--variants", "red=50,blue=50", "--payload", `red={"hex":"f00"}`, "--payload", "blue=7").Want(t, cli.ExitOK, "red=50,blue=50", "in project 1")
	call(t, "", env, "flags", "get", "color").Want(t, cli.ExitOK, `"red": "{\"hex\":\"f00\"}"`, "")
	call(t, "", env, "flags", "set", "color", "--payload", "blue=8", "--rollout", "20").Want(t, cli.ExitOK, "20%", "in project 1")
	got := call(t, "", env, "flags", "get", "color")
	got.Want(t, cli.ExitOK, `"blue": "8"`, "")
	got.Want(t, cli.ExitOK, `"red": "{\"hex\":\"f00\"}"`, "")
	call(t, "", env, "flags", "set", "color", "--payload", "green=1").Want(t, cli.ExitError, "", "Payload keys must match a variant key")
	call(t, "", env, "flags", "set", "color", "--payload", "red=f00").Want(t, cli.ExitUsage, "", "must be JSON or VARIANT=JSON")
	call(t, "", env, "flags", "set", "plain", "--payload", `{"a": 1}`).Want(t, cli.ExitOK, "100%", "in project 1")
	call(t, "", env, "flags", "get", "plain").Want(t, cli.ExitOK, `"true": "{\"a\": 1}"`, "")

	call(t, "", env, "flags", "disable", "color").Want(t, cli.ExitOK, "off", "in project 1")
	history := call(t, "", env, "flags", "history", "color").Stdout
	lines := strings.Split(strings.TrimSpace(history), "\n")
	if len(lines) != 4 {
		t.Fatalf("want a heading and three versions:\n%s", history)
	}
	for i, want := range []string{"CHANGED", "active", "groups, payloads", "made"} {
		if !strings.HasSuffix(lines[i], "  "+want) {
			t.Errorf("line %d: want %q at its end:\n%s", i+1, want, history)
		}
	}
	if !strings.Contains(lines[2], "owner@localhost") {
		t.Errorf("who it was is not told: %s", lines[2])
	}
	var versions []struct{ Version int64 }
	if err := json.Unmarshal([]byte(call(t, "", env, "flags", "history", "color", "--json").Stdout), &versions); err != nil || len(versions) != 3 {
		t.Errorf("%d versions, %v", len(versions), err)
	}
	call(t, "", env, "flags", "restore", "color", "1").Want(t, cli.ExitOK, "100%", "in project 1 (Default project)")
	call(t, "", env, "flags", "get", "color").Want(t, cli.ExitOK, `"version": 4`, "")
	call(t, "", env, "flags", "restore", "color", "9").Want(t, cli.ExitError, "", "has no earlier version 9")
	call(t, "", env, "flags", "restore", "color", "first").Want(t, cli.ExitUsage, "", "the version must be a number")
	call(t, "", env, "flags", "restore", "none", "1").Want(t, cli.ExitError, "", "there is no such flag")

	// A deleted flag has no key any more; it is addressed by its number.
	call(t, "", env, "flags", "delete", "color", "--yes").Want(t, cli.ExitOK, "deleted", "in project 1")
	call(t, "", env, "flags", "history", "color").Want(t, cli.ExitError, "", "there is no such flag")
	call(t, "", env, "flags", "restore", "1", "4").Want(t, cli.ExitOK, "on", "in project 1")
}

// bunting flags why sends its request to the server, so that the person's stored properties count.
func TestFlags_Why(t *testing.T) {
	s, env, token := startServer(t)
	call(t, `{"groups":[{"properties":[{"key":"email","type":"person","operator":"icontains","value":"@example.com"}],"rollout_percentage":100}]}`, env,
		"flags", "set", "beta", "--filters", "-").Want(t, cli.ExitOK, "100% of 1 property", "in project 1")
	s.send(token, "$identify", "ana", `{"email":"ana@example.com"}`)
	r := call(t, "", env, "flags", "why", "beta", "--distinct-id", "ana")
	r.Want(t, cli.ExitOK, ", ana@example.com\nflag \"beta\" at ", "")
	r.Want(t, cli.ExitOK, `saw "ana@example.com" (string, stored): yes`, "")
	call(t, "", env, "flags", "why", "beta", "--distinct-id", "ana", "--property", "email=x@y.z").Want(t, cli.ExitOK, `saw "x@y.z" (string, request): no`, "")
	call(t, "", env, "flags", "why", "beta", "--distinct-id", "bob").Want(t, cli.ExitOK, `no person has the distinct id "bob"`, "")
	var e struct {
		Value  bool
		Person struct{ UUID string }
	}
	if err := json.Unmarshal([]byte(call(t, "", env, "flags", "why", "beta", "--distinct-id", "ana", "--json").Stdout), &e); err != nil || !e.Value {
		t.Error(e, err)
	}
	call(t, "", env, "flags", "why", "beta", "--person", e.Person.UUID).Want(t, cli.ExitOK, "because: condition 1 of 1 matched", "")
	r.Want(t, cli.ExitOK, "last given: no SDK has reported it\n", "")
	s.send(token, "$feature_flag_called", "ana", `{},"$feature_flag":"beta","$feature_flag_response":false,"$feature_flag_version":1`)
	call(t, "", env, "flags", "why", "beta", "--distinct-id", "ana").Want(t, cli.ExitOK, ", version 1; another value: the reason is unknown\n", "")
	call(t, "", env, "flags", "set", "beta", "--rollout", "0").Want(t, cli.ExitOK, "0% of 1 property", "in project 1")
	call(t, "", env, "flags", "why", "beta", "--distinct-id", "ana", "--flag-version", "1", "--at", "2026-01-01T00:00:00Z").Want(t, cli.ExitOK, "flag \"beta\" at 2026-01-01T00:00:00Z\n  answer: true", "")
	calls := call(t, "", env, "flags", "calls", "beta", "--interval", "hour", "--from", "-1h")
	calls.Want(t, cli.ExitOK, "SINCE", "")
	calls.Want(t, cli.ExitOK, "false\n", "")
	calls.Want(t, cli.ExitOK, "total", "")
	call(t, "", env, "flags", "calls", "none").Want(t, cli.ExitError, "", "there is no such flag")
	call(t, "", env, "flags", "why", "beta").Want(t, cli.ExitUsage, "", ": give ")
	call(t, "", env, "flags", "why", "beta", "--distinct-id", "a", "--person", "b").Want(t, cli.ExitUsage, "", ": give ")
	call(t, "", env, "flags", "why", "none", "--distinct-id", "ana").Want(t, cli.ExitError, "", `There is no feature flag "none".`)
}

// A rollout is followed from its file to its end (experiments.md §4.9).
func TestRollout(t *testing.T) {
	_, env, _ := startServer(t)
	call(t, "", env, "flags", "set", "new", "--rollout", "0").Want(t, cli.ExitOK, "0%", "in project 1")
	file := filepath.Join(t.TempDir(), "rollout.json")
	const definition = `{"feature_flag": "new", "steps": [{"percent": 10, "dwell_seconds": 3900}, {"percent": 50, "dwell_seconds": 3900}],
		"guardrails": [{"goal": "decrease", "metric": {"kind": "ExperimentMetric", "metric_type": "mean", "source": {"kind": "EventsNode", "event": "error", "math": "total"}}}]}`
	if err := os.WriteFile(file, []byte(definition), 0o600); err != nil {
		t.Fatal(err)
	}
	call(t, "", env, "rollout", "dry-run", file).Want(t, cli.ExitUsage, "", "with --from TIME")
	call(t, "", env, "rollout", "dry-run", file, "--from", "2026-01-01T00:00:00Z").Want(t, cli.ExitOK, "hold: too_few_exposures, at 10% with 0 and 0 exposures", "")
	call(t, "", env, "rollout", "simulate", file).Want(t, cli.ExitUsage, "", "give --per-day N and --values LIST")
	call(t, "", env, "rollout", "simulate", file, "--per-day", "1000", "--values", "rate").Want(t, cli.ExitUsage, "", "is not rate:SHARE")
	call(t, "", env, "rollout", "simulate", file, "--per-day", "1000", "--values", "rate:x").Want(t, cli.ExitUsage, "", `"x" is not a number`)
	call(t, "", env, "rollout", "simulate", file, "--per-day", "1000", "--values", "rate:0.5,rate:1").Want(t, cli.ExitError, "", "one object for each of the 1 guardrails")
	// If no user has errors, no variant can have more of them, so the rollout is never rolled back.
	call(t, "", env, "rollout", "simulate", file, "--per-day", "1000000", "--values", "count:0", "--effects", "0", "--runs", "5").Want(t, cli.ExitOK, "+0.00%  0.00%        52.18%   -      -      0.00% 0.00%", "")
	call(t, definition, env, "rollout", "create", "-").Want(t, cli.ExitOK, "draft", "in project 1")
	call(t, "", env, "rollout", "create", file).Want(t, cli.ExitError, "", "has a rollout that has not ended")
	call(t, "[]", env, "rollout", "create", "-").Want(t, cli.ExitError, "", "must be a JSON object")
	call(t, "", env, "rollout", "start", "1").Want(t, cli.ExitOK, "1 of 2  10%", "in project 1")
	call(t, "", env, "rollout", "advance", "1", "--reason", "sure").Want(t, cli.ExitOK, "2 of 2  50%", "in project 1")
	call(t, "", env, "flags", "get", "new").Want(t, cli.ExitOK, `"rollout_percentage": 50`, "")
	call(t, "", env, "rollout", "pause", "1").Want(t, cli.ExitOK, "paused", "in project 1")
	call(t, "", env, "rollout", "resume", "1").Want(t, cli.ExitOK, "running", "in project 1")
	call(t, "", env, "rollout", "list", "--flag", "new").Want(t, cli.ExitOK, "running", "")
	call(t, "", env, "rollout", "rollback", "1").Want(t, cli.ExitUsage, "", "--yes")
	call(t, "", env, "rollout", "rollback", "1", "--yes").Want(t, cli.ExitOK, "rolled_back", "in project 1")
	call(t, "", env, "flags", "get", "new").Want(t, cli.ExitOK, `"rollout_percentage": 0`, "")
	call(t, "", env, "rollout", "status", "7").Want(t, cli.ExitError, "", "Not found")
}

// A change that needs an approval is requested, reviewed and withdrawn (console.md N12). Its author
// may not approve it.
func TestApprovals(t *testing.T) {
	s, env, _ := startServer(t)
	call(t, "", env, "flags", "set", "banner", "--rollout", "10").Want(t, cli.ExitOK, "10%", "in project 1")
	request := func(method, path, body string) {
		t.Helper()
		r, err := http.NewRequest(method, s.url+"/api/projects/1/"+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+strings.TrimPrefix(env[1], "BUNTING_KEY="))
		if status, text := do(t, r); status >= 300 {
			t.Fatal(status, text)
		}
	}
	request("PATCH", "", `{"flag_approvals": {"needed": 1}}`)
	call(t, "", env, "flags", "set", "banner", "--rollout", "50").Want(t, cli.ExitError, "", "403")
	request("POST", "change_requests/", `{"flag": 1, "title": "Half", "patch": {"filters": {"groups": [{"properties": [], "rollout_percentage": 50}]}}}`)
	call(t, "", env, "approvals", "list").Want(t, cli.ExitOK, "banner  Half   owner@localhost  0 of 1     open   1", "")
	call(t, "", env, "approvals", "show", "1").Want(t, cli.ExitOK, "filters.groups[0].rollout_percentage: 10 → 50", "")
	call(t, "", env, "approvals", "approve", "1").Want(t, cli.ExitUsage, "", "Approve revision 1 of the change request 1 in project 1 (Default project)?")
	call(t, "", env, "approvals", "approve", "1", "--revision", "2").Want(t, cli.ExitError, "", "The author of a change request cannot approve it")
	call(t, "", env, "approvals", "apply", "1").Want(t, cli.ExitError, "", "0 of the 1 approvals")
	call(t, "", env, "approvals", "reject", "1", "--revision", "2").Want(t, cli.ExitError, "", "review it again")
	call(t, "", env, "approvals", "withdraw", "1", "--yes").Want(t, cli.ExitOK, "withdrawn", "in project 1")
	call(t, "", env, "approvals", "list", "--flag", "banner").Want(t, cli.ExitOK, "REQUEST", "")
	call(t, "", env, "approvals", "list", "--state", "all").Want(t, cli.ExitOK, "withdrawn", "")
}

// A person for whom a value is pinned gets that value, whatever the flag evaluates to
// (console.md N11).
func TestFlags_Pin(t *testing.T) {
	s, env, token := startServer(t)
	call(t, "", env, "flags", "set", "color", "--variants", "red=100,blue=0").Want(t, cli.ExitOK, "red=100,blue=0", "in project 1")
	value := func(person string) string {
		t.Helper()
		_, text := s.post(s.url+"/flags?v=2", "", `{"api_key":"`+token+`","distinct_id":"`+person+`"}`)
		var answer struct {
			Flags map[string]struct{ Variant string }
		}
		if err := json.Unmarshal([]byte(text), &answer); err != nil {
			t.Fatal(err, text)
		}
		return answer.Flags["color"].Variant
	}
	call(t, "", env, "flags", "pin", "color", "blue", "--distinct-id", "ana", "--note", "ticket 7", "--until", "48h").Want(t, cli.ExitOK, "ticket 7", "in project 1")
	if ana, bob := value("ana"), value("bob"); ana != "blue" || bob != "red" {
		t.Errorf("ana gets %q and bob %q", ana, bob)
	}
	s.send(token, "$groupidentify", "ana", `{},"$group_type":"company","$group_key":"acme"`)
	call(t, "", env, "flags", "pin", "color", "blue", "--group", "company=acme", "--until", "2999-01-31").Want(t, cli.ExitOK, "company=acme", "in project 1")
	pins := call(t, "", env, "flags", "pins", "color")
	pins.Want(t, cli.ExitOK, "company=acme", "")
	pins.Want(t, cli.ExitOK, "2999-01-31T00:00:00Z", "")
	var list []struct {
		ID    int
		Group *struct{}
	}
	if err := json.Unmarshal([]byte(call(t, "", env, "flags", "pins", "color", "--json").Stdout), &list); err != nil || len(list) != 2 || list[1].Group != nil {
		t.Fatal(list, err)
	}
	call(t, "", env, "flags", "unpin", "color", strconv.Itoa(list[1].ID)).Want(t, cli.ExitOK, "", "in project 1")
	if ana := value("ana"); ana != "red" {
		t.Errorf("without the pin ana gets %q", ana)
	}
	call(t, "", env, "flags", "unpin", "color", "ana").Want(t, cli.ExitUsage, "", "the pin must be a number")
	call(t, "", env, "flags", "pin", "color", "blue").Want(t, cli.ExitUsage, "", ": give ")
	call(t, "", env, "flags", "pin", "color", "blue", "--distinct-id", "a", "--group", "company=acme").Want(t, cli.ExitUsage, "", ": give ")
	call(t, "", env, "flags", "pin", "color", "blue", "--distinct-id", "a", "--until", "soon").Want(t, cli.ExitUsage, "", "must be a duration or time such as 48h")
	call(t, "", env, "flags", "pin", "color", "green", "--distinct-id", "ana").Want(t, cli.ExitError, "", "green")
	call(t, "", env, "flags", "pin", "none", "true", "--distinct-id", "ana").Want(t, cli.ExitError, "", "there is no such flag")
}

func TestPersons(t *testing.T) {
	s, env, token := startServer(t)
	s.send(token, "$identify", "ana", `{"email":"ana@example.com","seats":5}`)
	r := call(t, "", env, "persons", "show", "ana")
	for _, want := range []string{"ana@example.com", `email = "ana@example.com"`, "seats = 5", "DISTINCT IDS  ana"} {
		r.Want(t, cli.ExitOK, want, "")
	}
	var p struct{ UUID string }
	if err := json.Unmarshal([]byte(call(t, "", env, "persons", "show", "ana", "--json").Stdout), &p); err != nil || p.UUID == "" {
		t.Fatal(p, err)
	}
	call(t, "", env, "persons", "show", p.UUID).Want(t, cli.ExitOK, p.UUID, "")
	call(t, "", env, "persons", "show", "bob").Want(t, cli.ExitError, "", `no person has the distinct id or uuid "bob"`)
	call(t, "", env, "persons", "delete", "ana").Want(t, cli.ExitUsage, "", "Delete the person "+p.UUID+" (ana@example.com) in project 1 (Default project)? There is no terminal to confirm this: add --yes")
	call(t, "", env, "persons", "show", "ana").Want(t, cli.ExitOK, p.UUID, "")
	call(t, "", env, "persons", "delete", "ana", "--yes").Want(t, cli.ExitOK, "is deleted", "in project 1 (Default project)")
	call(t, "", env, "persons", "show", "ana").Want(t, cli.ExitError, "", "no person has")
	call(t, "", env, "events", "tail").Want(t, cli.ExitOK, "$identify  ana", "")

	s.send(token, "$identify", "eve", `{}`)
	call(t, "", env, "persons", "delete", "eve", "--events", "--yes").Want(t, cli.ExitOK, "with all events is deleted", "in project 1")
	for deadline := time.Now().Add(clitest.WaitTimeout); strings.Contains(call(t, "", env, "events", "tail").Stdout, "eve"); {
		if time.Now().After(deadline) {
			t.Fatal("the events are still there")
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func TestEvents_Tail(t *testing.T) {
	s, env, token := startServer(t)
	call(t, "", env, "events", "tail").Want(t, cli.ExitOK, "", "")
	for i := range 3 {
		s.send(token, fmt.Sprintf("step %d", i), "ana", `{}`)
	}
	r := call(t, "", env, "events", "tail", "--lines", "2")
	if first, second, _ := strings.Cut(r.Stdout, "\n"); !strings.Contains(first, "step 1  ana") || !strings.Contains(second, "step 2  ana") {
		t.Errorf("the last two, the newest last:\n%s%s", r.Stdout, r.Stderr)
	}
	call(t, "", env, "events", "tail", "--event", "step 0").Want(t, cli.ExitOK, "step 0", "")
	call(t, "", env, "events", "tail", "--distinct-id", "bob").Want(t, cli.ExitOK, "", "")
	call(t, "", env, "events", "tail", "--json", "--lines", "1").Want(t, cli.ExitOK, `"event":"step 2"`, "")
	call(t, "", env, "events", "tail", "--lines", "0").Want(t, cli.ExitUsage, "", "from 1 to 500")
	call(t, "", env, "events", "tail", "--lines", "501").Want(t, cli.ExitUsage, "", "from 1 to 500")

	// With --follow, later events are printed a single time, until the command is interrupted.
	ctx, interrupt := context.WithCancel(context.Background())
	defer interrupt()
	stdout, stderr := clitest.NewOutput(), clitest.NewOutput()
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{"events", "tail", "-f", "--lines", "1"}, strings.NewReader(""), stdout, stderr, env)
	}()
	await := func(text string) {
		t.Helper()
		deadline := time.After(clitest.WaitTimeout)
		for !strings.Contains(stdout.String(), text) {
			select {
			case <-stdout.OnWrite:
			case <-deadline:
				t.Fatalf("no %q in %q; %s", text, stdout, stderr)
			}
		}
	}
	await("step 2")
	s.send(token, "step 3", "ana", `{}`)
	await("step 3")
	s.send(token, "step 4", "ana", `{}`)
	await("step 4")
	interrupt()
	if code := <-ended; code != cli.ExitOK || strings.Count(stdout.String(), "step 3") != 1 || strings.Contains(stdout.String(), "step 1") {
		t.Errorf("exit %d:\n%s%s", code, stdout, stderr)
	}
}

func TestUsageAndStatus(t *testing.T) {
	s, env, token := startServer(t)
	call(t, "", env[:1], "status").Want(t, cli.ExitOK, "state   ready", "")
	call(t, "", env, "flags", "set", "a").Want(t, cli.ExitOK, "a ", "in project 1")
	s.send(token, "bought", "ana", `{}`)
	r := call(t, "", env, "status")
	for _, want := range []string{s.url, "ready", "owner@localhost", "1 (Default project)", "1, 1 on, 0 stale", " bought", "newest warning  none"} {
		r.Want(t, cli.ExitOK, want, "")
	}
	var status struct {
		Server string
		Ready  bool
	}
	if err := json.Unmarshal([]byte(call(t, "", env, "status", "--json").Stdout), &status); err != nil || !status.Ready || status.Server != s.url {
		t.Error(status, err)
	}
	call(t, "", env, "status", "--key", "phx_wrong").Want(t, cli.ExitError, "401", "")
	reader := printedKey.FindString(call(t, "", env, "keys", "create", "--label", "reader", "--scopes", "feature_flag:read").Stdout)
	r = call(t, "", env[:1], "status", "--key", reader, "--project", "1")
	r.Want(t, cli.ExitOK, "1, 1 on, 0 stale", "")
	if strings.Contains(r.Stdout, "newest event") {
		t.Errorf("what the key may not read is shown: %s", r.Stdout)
	}
	r = call(t, "", env, "usage")
	r.Want(t, cli.ExitOK, "RESOURCE       THIS MONTH  TODAY  LIMIT  LIMITED UNTIL\nevents         1           1      none   -\n", "")
	call(t, "", env, "usage", "--json").Want(t, cli.ExitOK, `"todays_usage": 1`, "")
	call(t, "", env, "usage", "x").Want(t, cli.ExitUsage, "", "usage takes no argument")
}

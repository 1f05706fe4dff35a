package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// started is a server that has begun with an empty folder, and the environment with
// which commands reach it.
func started(t *testing.T) (s *serving, env []string, token string) {
	t.Helper()
	s = serve(t, time.Second)
	env = []string{"BUNTING_SERVER=" + s.url, "BUNTING_KEY=" + printedKey.FindString(s.stdout.String())}
	t.Cleanup(func() { s.stop(); s.wait(0) })
	var p projectRef
	if err := json.Unmarshal([]byte(call(t, "", env, "projects", "get", "1", "--json").stdout), &p); err != nil || p.Token == "" {
		t.Fatal(p, err)
	}
	return s, env, p.Token
}

// send captures events; each is name and distinct id, and members of $set.
func (s *serving) send(token, name, id, set string) {
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

// A flag's life: variants with payloads, its versions, one of them brought back.
func TestFlags_HistoryAndRestore(t *testing.T) {
	_, env, _ := started(t)
	call(t, "", env, "flags", "set", "color", "--variants", "red=50,blue=50", "--payload", `red={"hex":"f00"}`, "--payload", "blue=7").want(t, exitOK, "red=50,blue=50", "in project 1")
	call(t, "", env, "flags", "get", "color").want(t, exitOK, `"red": "{\"hex\":\"f00\"}"`, "")
	call(t, "", env, "flags", "set", "color", "--payload", "blue=8", "--rollout", "20").want(t, exitOK, "20%", "in project 1")
	got := call(t, "", env, "flags", "get", "color")
	got.want(t, exitOK, `"blue": "8"`, "")
	got.want(t, exitOK, `"red": "{\"hex\":\"f00\"}"`, "")
	call(t, "", env, "flags", "set", "color", "--payload", "green=1").want(t, exitError, "", "Payload keys must match a variant key")
	call(t, "", env, "flags", "set", "color", "--payload", "red=f00").want(t, exitUsage, "", "want JSON or VARIANT=JSON")
	call(t, "", env, "flags", "set", "plain", "--payload", `{"a": 1}`).want(t, exitOK, "100%", "in project 1")
	call(t, "", env, "flags", "get", "plain").want(t, exitOK, `"true": "{\"a\": 1}"`, "")

	call(t, "", env, "flags", "disable", "color").want(t, exitOK, "off", "in project 1")
	history := call(t, "", env, "flags", "history", "color").stdout
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
	var versions []versionShown
	if err := json.Unmarshal([]byte(call(t, "", env, "flags", "history", "color", "--json").stdout), &versions); err != nil || len(versions) != 3 {
		t.Errorf("%d versions, %v", len(versions), err)
	}
	call(t, "", env, "flags", "restore", "color", "1").want(t, exitOK, "100%", "in project 1 (Default project)")
	call(t, "", env, "flags", "get", "color").want(t, exitOK, `"version": 4`, "")
	call(t, "", env, "flags", "restore", "color", "9").want(t, exitError, "", "has no earlier version 9")
	call(t, "", env, "flags", "restore", "color", "first").want(t, exitUsage, "", "want the number of a version")
	call(t, "", env, "flags", "restore", "none", "1").want(t, exitError, "", "there is no such flag")

	// A deleted flag has no key any more, but its number.
	call(t, "", env, "flags", "delete", "color", "--yes").want(t, exitOK, "deleted", "in project 1")
	call(t, "", env, "flags", "history", "color").want(t, exitError, "", "there is no such flag")
	call(t, "", env, "flags", "restore", "1", "4").want(t, exitOK, "on", "in project 1")
}

// bunting flags why asks the server, which knows the person.
func TestFlags_Why(t *testing.T) {
	s, env, token := started(t)
	call(t, `{"groups":[{"properties":[{"key":"email","type":"person","operator":"icontains","value":"@example.com"}],"rollout_percentage":100}]}`, env,
		"flags", "set", "beta", "--filters", "-").want(t, exitOK, "100% of 1 property", "in project 1")
	s.send(token, "$identify", "ana", `{"email":"ana@example.com"}`)
	r := call(t, "", env, "flags", "why", "beta", "--distinct-id", "ana")
	r.want(t, exitOK, ", ana@example.com\nflag \"beta\" at ", "")
	r.want(t, exitOK, `saw "ana@example.com" (string, stored): yes`, "")
	call(t, "", env, "flags", "why", "beta", "--distinct-id", "ana", "--property", "email=x@y.z").want(t, exitOK, `saw "x@y.z" (string, request): no`, "")
	call(t, "", env, "flags", "why", "beta", "--distinct-id", "bob").want(t, exitOK, `nobody has the distinct id "bob"`, "")
	var e struct {
		Value  bool
		Person struct{ UUID string }
	}
	if err := json.Unmarshal([]byte(call(t, "", env, "flags", "why", "beta", "--distinct-id", "ana", "--json").stdout), &e); err != nil || !e.Value {
		t.Error(e, err)
	}
	call(t, "", env, "flags", "why", "beta", "--person", e.Person.UUID).want(t, exitOK, "because: condition 1 of 1 matched", "")
	call(t, "", env, "flags", "why", "beta").want(t, exitUsage, "", "for whom?")
	call(t, "", env, "flags", "why", "beta", "--distinct-id", "a", "--person", "b").want(t, exitUsage, "", "for whom?")
	call(t, "", env, "flags", "why", "none", "--distinct-id", "ana").want(t, exitError, "", `There is no feature flag "none".`)
}

func TestPersons(t *testing.T) {
	s, env, token := started(t)
	s.send(token, "$identify", "ana", `{"email":"ana@example.com","seats":5}`)
	r := call(t, "", env, "persons", "show", "ana")
	for _, want := range []string{"ana@example.com", `email = "ana@example.com"`, "seats = 5", "DISTINCT IDS  ana"} {
		r.want(t, exitOK, want, "")
	}
	var p personShown
	if err := json.Unmarshal([]byte(call(t, "", env, "persons", "show", "ana", "--json").stdout), &p); err != nil || p.UUID == "" {
		t.Fatal(p, err)
	}
	call(t, "", env, "persons", "show", p.UUID).want(t, exitOK, p.UUID, "")
	call(t, "", env, "persons", "show", "bob").want(t, exitError, "", `nobody has the distinct id or uuid "bob"`)
	call(t, "", env, "persons", "delete", "ana").want(t, exitUsage, "", "Delete the person "+p.UUID+" (ana@example.com) in project 1 (Default project)? Nobody can be asked here: --yes is missing")
	call(t, "", env, "persons", "show", "ana").want(t, exitOK, p.UUID, "")
	call(t, "", env, "persons", "delete", "ana", "--yes").want(t, exitOK, "is deleted", "in project 1 (Default project)")
	call(t, "", env, "persons", "show", "ana").want(t, exitError, "", "nobody has")
	call(t, "", env, "events", "tail").want(t, exitOK, "$identify  ana", "")

	s.send(token, "$identify", "eve", `{}`)
	call(t, "", env, "persons", "delete", "eve", "--events", "--yes").want(t, exitOK, "with all events is deleted", "in project 1")
	for deadline := time.Now().Add(patience); strings.Contains(call(t, "", env, "events", "tail").stdout, "eve"); {
		if time.Now().After(deadline) {
			t.Fatal("the events are still there")
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func TestEvents_Tail(t *testing.T) {
	s, env, token := started(t)
	call(t, "", env, "events", "tail").want(t, exitOK, "", "")
	for i := range 3 {
		s.send(token, fmt.Sprintf("step %d", i), "ana", `{}`)
	}
	r := call(t, "", env, "events", "tail", "--lines", "2")
	if first, second, _ := strings.Cut(r.stdout, "\n"); !strings.Contains(first, "step 1  ana") || !strings.Contains(second, "step 2  ana") {
		t.Errorf("the last two, the newest last:\n%s%s", r.stdout, r.stderr)
	}
	call(t, "", env, "events", "tail", "--event", "step 0").want(t, exitOK, "step 0", "")
	call(t, "", env, "events", "tail", "--distinct-id", "bob").want(t, exitOK, "", "")
	call(t, "", env, "events", "tail", "--json", "--lines", "1").want(t, exitOK, `"event":"step 2"`, "")
	call(t, "", env, "events", "tail", "--lines", "0").want(t, exitUsage, "", "from 1 to 500")
	call(t, "", env, "events", "tail", "--lines", "501").want(t, exitUsage, "", "from 1 to 500")

	// With --follow what comes in later is printed once, until an interruption.
	ctx, interrupt := context.WithCancel(context.Background())
	defer interrupt()
	stdout, stderr := newOutput(), newOutput()
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{"events", "tail", "-f", "--lines", "1"}, strings.NewReader(""), stdout, stderr, env)
	}()
	await := func(text string) {
		t.Helper()
		deadline := time.After(patience)
		for !strings.Contains(stdout.String(), text) {
			select {
			case <-stdout.written:
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
	if code := <-ended; code != exitOK || strings.Count(stdout.String(), "step 3") != 1 || strings.Contains(stdout.String(), "step 1") {
		t.Errorf("exit %d:\n%s%s", code, stdout, stderr)
	}
}

func TestUsageAndStatus(t *testing.T) {
	s, env, token := started(t)
	call(t, "", env[:1], "status").want(t, exitOK, "state   ready", "")
	call(t, "", env, "flags", "set", "a").want(t, exitOK, "a ", "in project 1")
	s.send(token, "bought", "ana", `{}`)
	r := call(t, "", env, "status")
	for _, want := range []string{s.url, "ready", "owner@localhost", "1 (Default project)", "1, 1 on, 0 stale", " bought", "newest warning  none"} {
		r.want(t, exitOK, want, "")
	}
	var shown statusShown
	if err := json.Unmarshal([]byte(call(t, "", env, "status", "--json").stdout), &shown); err != nil || !shown.Ready || shown.Server != s.url {
		t.Error(shown, err)
	}
	call(t, "", env, "status", "--key", "phx_wrong").want(t, exitError, "401", "")
	reader := printedKey.FindString(call(t, "", env, "keys", "create", "--label", "reader", "--scopes", "feature_flag:read").stdout)
	r = call(t, "", env[:1], "status", "--key", reader, "--project", "1")
	r.want(t, exitOK, "1, 1 on, 0 stale", "")
	if strings.Contains(r.stdout, "newest event") {
		t.Errorf("what the key may not read is shown: %s", r.stdout)
	}
	r = call(t, "", env, "usage")
	r.want(t, exitOK, "RESOURCE       THIS MONTH  TODAY  LIMIT  LIMITED UNTIL\nevents         1           1      none   -\n", "")
	call(t, "", env, "usage", "--json").want(t, exitOK, `"todays_usage": 1`, "")
	call(t, "", env, "usage", "x").want(t, exitUsage, "", "usage wants no argument")
}

// A month is the sum of its days: 3 + 4 of one SDK, 5 of the other.
func TestUsage_Monthly(t *testing.T) {
	got := monthly([]spentShown{{1, "events", "project", "web", 3}, {1, "events", "project", "ios", 5}, {1, "events", "project", "web", 4}})
	if len(got) != 2 || got[0] != (spentShown{1, "events", "project", "web", 7}) || got[1].Count != 5 {
		t.Error(got)
	}
}

// What is shown once is not new again, also when more have passed than are
// remembered.
func TestEvents_SeenIsBounded(t *testing.T) {
	s := newSeen(nil)
	for i := range tailSeen + 5 {
		s.fresh([]eventShown{{UUID: fmt.Sprint(i)}})
	}
	if len(s.ids) != tailSeen || len(s.fresh([]eventShown{{UUID: fmt.Sprint(tailSeen)}})) != 0 {
		t.Errorf("%d are remembered", len(s.ids))
	}
}

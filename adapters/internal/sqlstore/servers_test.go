package sqlstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/rooms"
)

// maxDelay is the maximum time until a change is visible through every other server.
const maxDelay = time.Second

// instance is a server with a store, for evaluating flags and capturing events.
type instance struct {
	*Store
	decider *serving.Decider
	intake  *capture.Intake
}

// startInstance starts one. now is its clock: a clock that does not advance keeps all
// cache entries valid until a notification.
func startInstance(t testing.TB, address string, now func() time.Time) *instance {
	t.Helper()
	var deciding atomic.Pointer[serving.Decider]
	store, err := Open(context.Background(), address, Config{Now: now, Changed: func(project int64) {
		if d := deciding.Load(); d != nil {
			d.Renew(project)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	i := &instance{Store: store}
	if i.decider, err = serving.NewDecider(serving.Config{Source: store, People: store, Continuity: store, Usage: store, Now: now}); err != nil {
		t.Fatal(err)
	}
	deciding.Store(i.decider)
	recorder := capture.NewRecorder(capture.RecorderConfig{Ledger: store})
	t.Cleanup(recorder.Close)
	if i.intake, err = capture.NewIntake(capture.IntakeConfig{Keys: captureKeys{store}, Appender: recorder, Usage: store, Now: now}); err != nil {
		t.Fatal(err)
	}
	return i
}

// decide returns the evaluation by a server for ann of company acme: the flags that are
// on, or the error.
func (i *instance) decide(t testing.TB, key string) string {
	t.Helper()
	var out serving.Answer
	err := i.decider.Decide(t.Context(), &serving.Request{
		APIKey: key, Subject: flags.Subject{DistinctID: "ann", Groups: map[string]string{"company": "acme"}},
	}, &out)
	switch {
	case errors.Is(err, flags.ErrUnknownKey):
		return "unknown"
	case err != nil:
		return err.Error()
	case out.QuotaLimited:
		return "limited"
	}
	var on []string
	for _, d := range out.Decisions.List {
		if d.Enabled {
			on = append(on, d.Key)
		}
	}
	return strings.Join(on, " ")
}

func (i *instance) apply(t testing.TB, text string) {
	t.Helper()
	f, err := flags.ParseFile([]byte(text))
	if err == nil {
		err = i.ApplyFile(t.Context(), "a.json", f, []byte(text))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (i *instance) commit(t testing.TB, c capture.Changes) {
	t.Helper()
	if err := i.Commit(t.Context(), []int64{1}, func(tx capture.Tx) error { return tx.Save(&c) }); err != nil {
		t.Fatal(err)
	}
}

// sharedFile is a definitions file with placeholders for changes.
type sharedFile struct{ Quota, Paused, Settings, Members, Cohort, Flags, Keys, More string }

func (f sharedFile) String() string {
	or := func(text, otherwise string) string {
		if text == "" {
			return otherwise
		}
		return text
	}
	return `{"organization":{"id":"org","quotas":{"feature_flags":` + or(f.Quota, "null") + `}},"projects":[{"id":1,"api_key":"phc_a",
		"quota_limited":[` + f.Paused + `],"timezone":"` + or(f.Settings, "UTC") + `","group_type_mapping":{"0":"company"},
		"personal_api_keys":[` + f.Keys + `],
		"cohorts":{"7":{"is_static":true,"members":[` + f.Members + `]},"8":{"type":"AND","values":[{"key":"plan","type":"person","operator":"exact","value":"` + or(f.Cohort, "gold") + `"}]}},
		"flags":[` + or(f.Flags, `{"id":1,"key":"always","active":true,"filters":{"groups":[{}]}}`) + `,
		{"id":2,"key":"member","active":true,"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":7}]}]}},
		{"id":3,"key":"cohort","active":true,"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":8}]}]}},
		{"id":4,"key":"person","active":true,"filters":{"groups":[{"properties":[{"key":"plan","type":"person","operator":"exact","value":"silver"}]}]}},
		{"id":5,"key":"group","active":true,"filters":{"aggregation_group_type_index":0,"groups":[{"properties":[{"key":"size","type":"group","group_type_index":0,"operator":"exact","value":"big"}]}]}}]}` + f.More + `]}`
}

func personWith(plan string) capture.Changes {
	p := capture.Person{UUID: capture.PersonID(1, "ann"), CreatedAt: time.Unix(1, 0), Properties: capture.Object{{Key: "plan", Value: `"` + plan + `"`}}, Version: 1}
	return capture.Changes{
		Persons: []capture.ProjectPerson{{ProjectID: 1, Person: &p, IsNew: plan == "gold"}},
		IDs:     []capture.ProjectID{{ProjectID: 1, DistinctID: "ann", Person: p.UUID}},
	}
}

func groupWith(size string) capture.Changes {
	return capture.Changes{Groups: []capture.ProjectGroup{{ProjectID: 1, Group: capture.Group{
		GroupID: capture.GroupID{Key: "acme"}, CreatedAt: time.Unix(1, 0), Properties: capture.Object{{Key: "size", Value: `"` + size + `"`}},
	}}}}
}

// sharedChanges are changes of every kind: an operation through one server, and the
// state visible through another before and after it.
var sharedChanges = []struct {
	name          string
	told          bool // by NOTIFY; without it, the change is visible when cache entries expire
	do            func(t *testing.T, by *instance)
	look          func(t *testing.T, at *instance) string
	before, after string
}{
	{"a flag", true, func(t *testing.T, by *instance) {
		by.apply(t, sharedFile{Flags: `{"id":1,"key":"always","active":false,"filters":{"groups":[{}]}}`}.String())
	}, readDecision, "always cohort", "cohort"},
	{"a flag by management", true, func(t *testing.T, by *instance) {
		err := managementStore{by.Store}.Write(t.Context(), func(tx rooms.Tx) error {
			return tx.PutDefinition(management.FlagDefinition, 1, &management.Definition{
				ID: 99, Key: "new", Record: json.RawMessage(`{"id":99,"key":"new","active":true,"filters":{"groups":[{}]}}`),
			})
		})
		if err != nil {
			t.Fatal(err)
		}
	}, readDecision, "always cohort", "always cohort new"},
	{"a cohort", true, func(t *testing.T, by *instance) { by.apply(t, sharedFile{Cohort: "silver"}.String()) }, readDecision, "always cohort", "always"},
	{"members of a static cohort", true, func(t *testing.T, by *instance) { by.apply(t, sharedFile{Members: `"ann"`}.String()) },
		readDecision, "always cohort", "always member cohort"},
	{"a group type", true, func(t *testing.T, by *instance) {
		by.commit(t, capture.Changes{GroupTypes: []capture.ProjectGroupType{{ProjectID: 1, Index: 1, Name: "team"}}})
	}, func(t *testing.T, at *instance) string { return readPayload(t, at, `"1":"team"`) }, "no", "yes"},
	{"settings", true, func(t *testing.T, by *instance) { by.apply(t, sharedFile{Settings: "Asia/Tokyo"}.String()) },
		func(t *testing.T, at *instance) string { return readPayload(t, at, "Asia/Tokyo") }, "no", "yes"},
	{"a project ends", true, func(t *testing.T, by *instance) {
		if err := by.ForgetFile(t.Context(), "a.json"); err != nil {
			t.Fatal(err)
		}
	}, readDecision, "always cohort", "unknown"},
	{"a quota", false, func(t *testing.T, by *instance) { by.apply(t, sharedFile{Quota: "0"}.String()) }, readDecision, "always cohort", "limited"},
	{"a pause of flags", false, func(t *testing.T, by *instance) { by.apply(t, sharedFile{Paused: `"feature_flags"`}.String()) }, readDecision, "always cohort", "limited"},
	{"a pause of recordings", false, func(t *testing.T, by *instance) { by.apply(t, sharedFile{Paused: `"recordings"`}.String()) },
		func(t *testing.T, at *instance) string {
			limited, err := at.intake.AcceptRecording(t.Context(), "phc_a", 1)
			return fmt.Sprint(limited, err)
		}, "false <nil>", "true <nil>"},
	{"a new project", false, func(t *testing.T, by *instance) {
		by.apply(t, sharedFile{More: `,{"id":2,"api_key":"phc_b","flags":[{"id":9,"key":"b","active":true,"filters":{"groups":[{}]}}]}`}.String())
	}, func(t *testing.T, at *instance) string { return at.decide(t, "phc_b") }, "unknown", "b"},
	{"a new key", false, func(t *testing.T, by *instance) {
		by.apply(t, sharedFile{Keys: `{"key":"phx_new","scopes":["*"]}`}.String())
	}, readKey, "unknown", "[*]"},
	{"a person", false, func(t *testing.T, by *instance) { by.commit(t, personWith("silver")) }, readDecision, "always cohort", "always person"},
	{"a group", false, func(t *testing.T, by *instance) { by.commit(t, groupWith("big")) }, readDecision, "always cohort", "always cohort group"},
	{"the identifier of a flag", false, func(t *testing.T, by *instance) {
		if _, err := by.Overrides(t.Context(), 1, "ann", "before", []string{"always"}); err != nil {
			t.Fatal(err)
		}
	}, func(t *testing.T, at *instance) string {
		overrides, err := at.Overrides(t.Context(), 1, "ann", "", []string{"always"})
		return fmt.Sprint(overrides, err)
	}, "map[] <nil>", "map[always:before] <nil>"},
}

func readDecision(t *testing.T, server *instance) string { return server.decide(t, "phc_a") }

func readPayload(t *testing.T, server *instance, part string) string {
	t.Helper()
	payload, _, err := server.decider.Payload(t.Context(), "phc_a")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(payload), part) {
		return "yes"
	}
	return "no"
}

func readKey(t *testing.T, server *instance) string {
	t.Helper()
	k, err := server.Key(t.Context(), "phx_new")
	if errors.Is(err, flags.ErrUnknownKey) {
		return "unknown"
	}
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(k.Scopes)
}

// twoInstances starts two servers on an empty database with the file, ann and acme.
func twoInstances(t testing.TB, now func() time.Time) (one, other *instance) {
	t.Helper()
	address := postgresURL(t)
	one, other = startInstance(t, address, now), startInstance(t, address, now)
	one.apply(t, sharedFile{}.String())
	one.commit(t, personWith("gold"))
	one.commit(t, groupWith("small"))
	return one, other
}

// waitFor polls until a condition is true.
func waitFor(t *testing.T, server *instance, read func(*testing.T, *instance) string, want string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		got := read(t, server)
		if got == want {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the other server says %q, want %q", got, want)
		}
	}
}

// Every change through one server is visible through the other after a second by its
// clock, even without notifications: no connection listens.
func TestServers_VisibleByAge(t *testing.T) {
	for _, tt := range sharedChanges {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			start, passed := time.Now(), atomic.Int64{}
			one, other := twoInstances(t, func() time.Time { return start.Add(time.Duration(passed.Load())) })
			other.listener.Close()
			if got := tt.look(t, other); got != tt.before {
				t.Fatalf("before: %q, want %q", got, tt.before)
			}
			tt.do(t, one)
			passed.Add(int64(maxDelay + time.Millisecond))
			if got := tt.look(t, other); got != tt.after {
				t.Errorf("a second after the change: %q, want %q", got, tt.after)
			}
		})
	}
}

// Changes of definitions are notified and visible immediately. The clocks do not
// advance, so cache entries do not expire.
func TestServers_Notified(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	fixedTime := time.Now()
	for _, tt := range sharedChanges {
		if !tt.told {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			one, other := twoInstances(t, func() time.Time { return fixedTime })
			waitFor(t, other, tt.look, tt.before)
			tt.do(t, one)
			waitFor(t, other, tt.look, tt.after)
		})
	}
}

// A lost listening connection is restored, and changes during its absence become
// visible.
func TestServers_ListensAgain(t *testing.T) {
	fixedTime := time.Now()
	one, other := twoInstances(t, func() time.Time { return fixedTime })
	waitFor(t, other, readDecision, "always cohort")
	for range 3 {
		// The connection is cut during the change: the notification may arrive or not.
		if _, err := one.db.Write.Exec(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE datname = current_database() AND query LIKE 'LISTEN%'`); err != nil {
			t.Fatal(err)
		}
		one.apply(t, sharedFile{Cohort: "silver"}.String())
		waitFor(t, other, readDecision, "always")
		one.apply(t, sharedFile{}.String())
		waitFor(t, other, readDecision, "always cohort")
	}
}

// A change of many projects, and messages of a newer version, invalidate all projects.
func TestServers_NotifiedOfMany(t *testing.T) {
	all := make(chan int64, 1000)
	address := postgresURL(t)
	one := openStore(t, address)
	other, err := Open(t.Context(), address, Config{Changed: func(id int64) { all <- id }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close() })
	next := func() int64 {
		t.Helper()
		select {
		case id := <-all:
			return id
		case <-time.After(time.Minute):
			t.Fatal("not told")
		}
		return 0
	}
	if id := next(); id != 0 { // a change from before it listened
		t.Errorf("told of %d at the start, want 0", id)
	}
	var many []int64
	for id := range int64(maxNotified + 1) {
		many = append(many, 1<<62+id)
	}
	for n, want := range map[int]int64{1: many[0], len(many): 0} {
		if err := one.notifyServers(t.Context(), one.db.Write, many[:n]); err != nil {
			t.Fatal(err)
		}
		if got := next(); got != want {
			t.Errorf("%d projects: told of %d, want %d", n, got, want)
		}
	}
	if err := one.notifyServers(t.Context(), one.db.Write, many[:maxNotified]); err != nil {
		t.Errorf("the longest message: %v", err)
	}
	for range maxNotified {
		next()
	}
	other.handleNotification(other.name + " 5") // its own message
	other.handleNotification("")
	other.handleNotification("newer v2:1")
	if id := next(); id != 0 || len(all) > 0 {
		t.Errorf("told of %d and %d more, want of all", id, len(all))
	}
}

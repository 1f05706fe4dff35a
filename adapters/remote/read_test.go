package remote_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/adapters/remote"
	"github.com/bunting-flags/bunting/flags"
)

var ctx = context.Background()

// offlineClient returns a Client whose server is unavailable.
func offlineClient(t *testing.T, change func(*remote.Config)) *remote.Client {
	t.Helper()
	c := remote.Config{URL: "http://127.0.0.1:1", ProjectKey: "phc_x", Key: "phs_x"}
	if change != nil {
		change(&c)
	}
	return clientOn(t, c, localSet(t, unknownMembers))
}

// everyRollout has a flag at 0 per cent, a variant and a payload: on the wire, the empty distinct
// id is in all rollouts (§2.4).
const everyRollout = `{"flags": [{"id": 1, "key": "f", "active": true, "filters": {"groups": [{"rollout_percentage": 0}],
	"multivariate": {"variants": [{"key": "a", "rollout_percentage": 100}]}, "payloads": {"a": "5"}}}]}`

// A subject without a distinct id gets the fallback and an error (decision 31); the Set behaves as
// the wire does.
func TestRemote_NoDistinctID(t *testing.T) {
	d, err := flags.ParseDefinitions([]byte(everyRollout))
	if err != nil {
		t.Fatal(err)
	}
	set := flags.Compile(d)
	var out flags.Decisions
	if d, ok := set.EvaluateFlag("f", &flags.Subject{}, time.Time{}, &out); !ok || d.Variant != "a" {
		t.Errorf("the Set decides %+v", d)
	}
	for name, change := range map[string]func(*remote.Config){
		"partial": nil,
		"full":    func(c *remote.Config) { c.Full = true },
		"asking":  func(c *remote.Config) { c.AskServer = true },
		"hooks":   func(c *remote.Config) { c.Hooks = []flags.Hook{{}} },
	} {
		t.Run(name, func(t *testing.T) {
			c := remote.Config{URL: "http://127.0.0.1:1", ProjectKey: "phc_x", Key: "phs_x"}
			if change != nil {
				change(&c)
			}
			client := clientOn(t, c, set)
			sub := &flags.Subject{Person: flags.Properties{"plan": "pro"}}
			if client.Bool(ctx, "f", sub, false) || client.String(ctx, "f", sub, "none") != "none" || client.Number(ctx, "f", sub, 7) != 7 || flags.JSON(ctx, client, "f", sub, 7) != 7 {
				t.Error("a read gives another value than the fallback")
			}
			details := map[string]flags.Detail{}
			_, details["bool"] = client.BoolDetail(ctx, "f", sub, false)
			_, details["string"] = client.StringDetail(ctx, "f", sub, "")
			_, details["number"] = client.NumberDetail(ctx, "f", sub, 0)
			_, details["JSON"] = flags.JSONDetail(ctx, client, "f", sub, 0)
			for read, detail := range details {
				if !errors.Is(detail.Err, flags.ErrNoDistinctID) || detail.Enabled || detail.FromServer {
					t.Errorf("%s: %+v", read, detail)
				}
			}
			_, _, decide := client.Decide(ctx, "f", sub)
			_, found, expose := client.DecideAndExpose(ctx, "f", sub)
			_, ask := client.AskAll(ctx, sub)
			all := client.DecideAll(ctx, sub, &out)
			track := client.Track(ctx, "", "order placed", nil, nil)
			for i, err := range []error{decide, expose, ask, all, track} {
				if !errors.Is(err, flags.ErrNoDistinctID) {
					t.Errorf("call %d: %v", i, err)
				}
			}
			if found || len(out.List) > 0 {
				t.Errorf("found %v, %v", found, out.List)
			}
		})
	}
}

// Facts that are missing locally are unknown (decision 2); the expectations follow from the
// definitions of the harness.
func TestRemote_Decide(t *testing.T) {
	partial, full := offlineClient(t, nil), offlineClient(t, func(c *remote.Config) { c.Full = true })
	pro := flags.Properties{"plan": "pro"}
	for _, tt := range []struct {
		key           string
		person        flags.Properties
		partial, full string
	}{
		{"on", nil, "true", "true"},
		{"off", nil, "false", "false"},
		{"color", nil, "blue", "blue"},
		{"for-pro", nil, `not decided: unknown person property "plan"`, "false"},
		{"for-pro", pro, "true", "true"},
		{"inactive", nil, "no such flag", "no such flag"},
		{"withheld", nil, "no such flag", "no such flag"},
		{"for-gold", nil, `not decided: unknown cohort "13"`, "false"},
		{"same", nil, `not decided: unknown experience continuity "stored identifier"`, "false"}, // H("same.user_2") is 0.609 by hashlib of CPython
		{"broken", nil, "failed: dependency_not_found_cohort", "failed: dependency_not_found_cohort"},
	} {
		sub := flags.Subject{DistinctID: "user_2", Person: tt.person}
		before := sub
		for client, want := range map[*remote.Client]string{partial: tt.partial, full: tt.full} {
			if got := show(client.Decide(ctx, tt.key, &sub)); got != want {
				t.Errorf("%s with %v: %s, want %s", tt.key, tt.person, got, want)
			}
			var all flags.Decisions
			if err := client.DecideAll(ctx, &sub, &all); err != nil {
				t.Fatal(err)
			}
			d := all.Find(tt.key)
			if d == nil {
				d = &flags.Decision{}
			}
			if got := show(*d, d.Key != "", nil); got != want {
				t.Errorf("%s of all with %v: %s, want %s", tt.key, tt.person, got, want)
			}
		}
		if diff := cmp.Diff(before, sub); diff != "" {
			t.Errorf("the subject was changed (-before +after)\n%s", diff)
		}
	}
	if got := show(full.Decide(ctx, "for-pro", &flags.Subject{DistinctID: "u", Partial: true})); !strings.HasPrefix(got, "not decided") {
		t.Errorf("a partial subject of a full client: %s", got)
	}
}

func TestRemote_NotReady(t *testing.T) {
	c := clientOn(t, remote.Config{URL: "http://127.0.0.1:1", ProjectKey: "phc_x", Key: "phs_x"}, nil)
	sub := &flags.Subject{DistinctID: "u"}
	if _, _, err := c.Decide(ctx, "on", sub); !errors.Is(err, flags.ErrNotReady) {
		t.Error(err)
	}
	if err := c.DecideAll(ctx, sub, &flags.Decisions{}); !errors.Is(err, flags.ErrNotReady) {
		t.Error(err)
	}
	if v, d := c.BoolDetail(ctx, "on", sub, true); !v || !errors.Is(d.Err, flags.ErrNotReady) {
		t.Error(v, d.Err)
	}
}

// Reads return the value or the fallback, and the reason.
func TestRemote_Reads(t *testing.T) {
	c := offlineClient(t, nil)
	sub := &flags.Subject{DistinctID: "u"}
	type limits struct {
		Limit int `json:"limit"`
	}
	type got struct {
		Value any
		Err   error
	}
	of := func(v any, d flags.Detail) got { return got{v, d.Err} }
	for name, tt := range map[string]struct{ got, want got }{
		"on":                   {of(c.BoolDetail(ctx, "on", sub, false)), got{true, nil}},
		"a variant is on":      {of(c.BoolDetail(ctx, "color", sub, false)), got{true, nil}},
		"off":                  {of(c.BoolDetail(ctx, "off", sub, true)), got{false, nil}},
		"unknown flag":         {of(c.BoolDetail(ctx, "nix", sub, true)), got{true, flags.ErrUnknownFlag}},
		"inactive":             {of(c.BoolDetail(ctx, "inactive", sub, true)), got{true, flags.ErrUnknownFlag}},
		"failed":               {of(c.BoolDetail(ctx, "broken", sub, true)), got{true, flags.ErrFailed}},
		"variant":              {of(c.StringDetail(ctx, "color", sub, "green")), got{"blue", nil}},
		"on without a variant": {of(c.StringDetail(ctx, "on", sub, "green")), got{"green", flags.ErrWrongKind}},
		"off, no variant":      {of(c.StringDetail(ctx, "off", sub, "green")), got{"green", nil}},
		"number of payload":    {of(c.NumberDetail(ctx, "limit", sub, 1)), got{42.0, nil}},
		"number of variant":    {of(c.NumberDetail(ctx, "size", sub, 1)), got{12.5, nil}},
		"no number in payload": {of(c.NumberDetail(ctx, "color", sub, 1)), got{1.0, flags.ErrWrongKind}},
		"no number":            {of(c.NumberDetail(ctx, "off", sub, 1)), got{1.0, nil}},
		"JSON in a text":       {of(flags.JSONDetail(ctx, c, "on", sub, limits{1})), got{limits{10}, nil}},
		"raw":                  {of(flags.JSONDetail(ctx, c, "on", sub, json.RawMessage(nil))), got{json.RawMessage(`{"limit": 10}`), nil}},
		"text, not JSON":       {of(flags.JSONDetail(ctx, c, "color", sub, "")), got{"hello", nil}},
		"text of a number":     {of(flags.JSONDetail(ctx, c, "limit", sub, "")), got{"42", nil}},
		"number":               {of(flags.JSONDetail(ctx, c, "limit", sub, 1)), got{42, nil}},
		"another type":         {of(flags.JSONDetail(ctx, c, "on", sub, []int{1})), got{[]int{1}, flags.ErrWrongKind}},
		"no payload":           {of(flags.JSONDetail(ctx, c, "off", sub, limits{1})), got{limits{1}, nil}},
		"no subject":           {got{c.Bool(ctx, "on", nil, true), nil}, got{true, nil}},
		"short forms":          {got{fmt.Sprintf("%v %v %v %v", c.Bool(ctx, "on", sub, false), c.String(ctx, "color", sub, ""), c.Number(ctx, "limit", sub, 0), flags.JSON(ctx, c, "on", sub, limits{})), nil}, got{"true blue 42 {10}", nil}},
	} {
		if diff := cmp.Diff(tt.want.Value, tt.got.Value); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
		if !errors.Is(tt.got.Err, tt.want.Err) {
			t.Errorf("%s: %v, want %v", name, tt.got.Err, tt.want.Err)
		}
	}
	var undecided *flags.Undecided
	if v, d := c.BoolDetail(ctx, "for-pro", sub, true); !v || !errors.As(d.Err, &undecided) || undecided.Name != "plan" {
		t.Errorf("undecided: %t, %v", v, d.Err)
	}
	if _, d := c.StringDetail(ctx, "color", sub, ""); d.Key != "color" || d.Version != 7 || d.Reason.Code != flags.ConditionMatch || d.FromServer {
		t.Errorf("%+v", d)
	}
}

// With the server down, the error has both why the flag is undecided and why the request failed.
func TestRemote_UndecidedWhileServerIsDown(t *testing.T) {
	c := offlineClient(t, func(c *remote.Config) { c.AskServer = true })
	sub := &flags.Subject{DistinctID: "u"}
	_, found, err := c.Decide(ctx, "for-pro", sub)
	v, detail := c.BoolDetail(ctx, "for-pro", sub, true)
	if !found || !v || detail.Undecided == nil {
		t.Errorf("found %v, %v, %+v", found, v, detail)
	}
	for _, err := range []error{err, detail.Err} {
		var undecided *flags.Undecided
		var network net.Error
		if !errors.As(err, &undecided) || undecided.Name != "plan" || !errors.As(err, &network) {
			t.Error(err)
		}
	}
}

// After Close, reads return the fallback.
func TestRemote_ReadAfterClose(t *testing.T) {
	c := offlineClient(t, func(c *remote.Config) { c.NoExposures = true })
	sub := &flags.Subject{DistinctID: "u"}
	if !c.Bool(ctx, "on", sub, false) {
		t.Error("off before Close")
	}
	if err := c.Close(ctx); err != nil {
		t.Fatal(err)
	}
	v, detail := c.BoolDetail(ctx, "on", sub, false)
	_, _, err := c.Decide(ctx, "on", sub)
	for _, err := range []error{detail.Err, err, c.DecideAll(ctx, sub, &flags.Decisions{})} {
		if v || !errors.Is(err, flags.ErrClosed) {
			t.Errorf("%v, %v", v, err)
		}
	}
}

// Hooks are called around each typed read and around the first read of a snapshot; if one panics,
// that is logged and the value is still returned. Decide calls no hooks.
func TestRemote_Hooks(t *testing.T) {
	var calls []string
	var log bytes.Buffer
	c := offlineClient(t, func(c *remote.Config) {
		c.Logger = slog.New(slog.NewTextHandler(&log, nil))
		c.Hooks = []flags.Hook{{
			Before: func(context.Context, *flags.Read) context.Context { panic("a is bad") },
			After:  func(context.Context, *flags.Read) { panic("a is worse") },
		}, {}, {
			Before: func(ctx context.Context, r *flags.Read) context.Context {
				calls = append(calls, "before "+r.Key+" "+r.Subject.DistinctID)
				return ctx
			},
			After: func(_ context.Context, r *flags.Read) {
				calls = append(calls, fmt.Sprint("after ", r.Fallback, " ", r.Value, " ", r.Detail.Err))
			},
		}}
	})
	sub := &flags.Subject{DistinctID: "u"}
	if got := c.String(ctx, "color", sub, "none"); got != "blue" {
		t.Error(got)
	}
	if got := c.For(ctx, sub).Bool("nix", true); !got {
		t.Error(got)
	}
	if got := show(c.Decide(ctx, "color", sub)); got != "blue" {
		t.Error(got)
	}
	want := []string{"before color u", "after none blue <nil>", "before nix u", "after true true " + flags.ErrUnknownFlag.Error()}
	if !slices.Equal(calls, want) {
		t.Errorf("calls %q, want %q", calls, want)
	}
	for _, text := range []string{"a is bad", "a is worse", "flag=color", "flag=nix"} {
		if !strings.Contains(log.String(), text) {
			t.Errorf("the log lacks %q:\n%s", text, &log)
		}
	}
}

// Flags that compare dates use Config.Now.
func TestRemote_Clock(t *testing.T) {
	d, err := flags.ParseDefinitions([]byte(`{"flags": [{"id": 1, "key": "old", "active": true, "filters": {"groups": [
		{"properties": [{"key": "since", "type": "person", "operator": "is_date_before", "value": "-7d"}], "rollout_percentage": 100}]}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 1, 10, 12, 0, 0, 0, time.UTC)
	c := clientOn(t, remote.Config{URL: "http://127.0.0.1:1", ProjectKey: "phc_x", Key: "phs_x", Now: func() time.Time { return now }}, flags.Compile(d))
	sub := &flags.Subject{DistinctID: "u", Person: flags.Properties{"since": "2026-01-03T13:00:00Z"}}
	for _, want := range []string{"false", "true"} {
		if got := show(c.Decide(ctx, "old", sub)); got != want {
			t.Errorf("at %v: %s, want %s", now, got, want)
		}
		now = now.Add(2 * time.Hour)
	}
}

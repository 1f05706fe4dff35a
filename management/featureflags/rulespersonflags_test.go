package featureflags_test

import (
	"testing"
	"time"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management/featureflags"
	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

// The reason for a difference between the value of now and the last value that an SDK has reported
// is the first that holds of the list in N5.
func TestQuestion_DifferenceReason(t *testing.T) {
	at := ruletest.Start
	same := featureflags.LastCall{Value: true, At: at, Version: 3, DistinctID: "ana"}
	ask := featureflags.Question{Flag: featureflags.ExplainedFlag{Version: 3}, Subject: flags.Subject{DistinctID: "ana"}}
	for name, c := range map[string]struct {
		value any
		last  *featureflags.LastCall
		ask   func(q *featureflags.Question)
		call  func(l *featureflags.LastCall)
		want  string // empty if there is no reason
	}{
		"the same value":                        {true, &same, nil, nil, ""},
		"the same value of a pinned flag":       {true, &same, func(q *featureflags.Question) { q.Pinned = true }, nil, ""},
		"no call":                               {false, nil, func(q *featureflags.Question) { q.Pinned = true }, nil, ""},
		"no value of now":                       {nil, &same, nil, nil, ""},
		"a variant":                             {"true", &same, nil, nil, "unknown"}, // is not the boolean
		"nothing has changed":                   {false, &same, nil, nil, "unknown"},
		"supplied properties":                   {false, &same, func(q *featureflags.Question) { q.Supplied = true }, nil, "supplied"},
		"a changed person goes before":          {false, &same, func(q *featureflags.Question) { q.Supplied = true }, func(l *featureflags.LastCall) { l.PersonChanged = true }, "person_changed"},
		"another distinct id goes before":       {false, &same, nil, func(l *featureflags.LastCall) { l.PersonChanged, l.DistinctID = true, "bea" }, "other_id"},
		"another version goes before":           {false, &same, nil, func(l *featureflags.LastCall) { l.DistinctID, l.Version = "bea", 2 }, "flag_changed"},
		"a later version, as after a restore":   {false, &same, nil, func(l *featureflags.LastCall) { l.Version = 4 }, "flag_changed"},
		"a version that nobody knows":           {false, &same, nil, func(l *featureflags.LastCall) { l.Version = 0 }, "flag_changed"},
		"rules of the request are other rules":  {false, &same, func(q *featureflags.Question) { q.BringsRules, q.Supplied = true, true }, nil, "flag_changed"},
		"a pinned value goes before everything": {false, &same, func(q *featureflags.Question) { q.Pinned, q.BringsRules = true, true }, func(l *featureflags.LastCall) { l.Version, l.DistinctID = 1, "bea" }, "pinned"},
	} {
		q, last := ask, c.last
		if c.ask != nil {
			c.ask(&q)
		}
		if c.call != nil {
			changed := *c.last
			c.call(&changed)
			last = &changed
		}
		got := ""
		if reason := q.DifferenceReason(c.value, last); reason != nil {
			got = *reason
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// The version of a call for which the SDK has reported none is that in force at its time. Version n
// of flag 1 is of 12:00:n, and the flag is deleted and restored at the end.
func TestFlags_FillVersions(t *testing.T) {
	w := flagtest.New(t)
	w.Run(t, flagtest.RoomCalls(t, w), []ruletest.Row{
		{"N5", "bob", "create", `{"key":"a"}`, `{"version":1,"updated_at":"2026-01-02T12:00:01Z"}`},
		{"N5", "bob", "change 1", `{"active":false}`, `{"version":2}`},
		{"N5", "bob", "change 1", `{"active":true}`, `{"version":3,"updated_at":"2026-01-02T12:00:03Z"}`},
		{"N5", "bob", "create", `{"key":"b"}`, `{"id":2,"version":1}`},
	})
	second := func(n float64) time.Time { return ruletest.Start.Add(time.Duration(n * float64(time.Second))) }
	for name, c := range map[string]struct {
		call featureflags.LastCall
		want int64
	}{
		"before the flag":         {featureflags.LastCall{At: second(0.9)}, 0},
		"when it was created":     {featureflags.LastCall{At: second(1)}, 1},
		"before the second":       {featureflags.LastCall{At: second(1.999999)}, 1},
		"when it was changed":     {featureflags.LastCall{At: second(2)}, 2},
		"before the last change":  {featureflags.LastCall{At: second(2.9)}, 2},
		"at the last change":      {featureflags.LastCall{At: second(3)}, 3},
		"later":                   {featureflags.LastCall{At: second(99)}, 3},
		"with a version":          {featureflags.LastCall{At: second(99), Version: 2}, 2},
		"with an unknown version": {featureflags.LastCall{At: second(1), Version: 9}, 9},
	} {
		calls := map[int64]*featureflags.LastCall{1: &c.call, 2: {At: second(99)}}
		if err := w.FeatureFlags.FillVersions(t.Context(), w.Scope(t, "bob"), calls); err != nil || calls[1].Version != c.want || calls[2].Version != 1 {
			t.Errorf("a call %s: version %d and %d, %v, want %d and 1", name, calls[1].Version, calls[2].Version, err, c.want)
		}
	}
	// A flag of another project is not found.
	err := w.FeatureFlags.FillVersions(t.Context(), w.Scope(t, "dan"), map[int64]*featureflags.LastCall{1: {At: second(99)}})
	if err == nil {
		t.Error("a flag of another project has a version")
	}
}

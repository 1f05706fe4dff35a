package featureflags_test

import (
	"fmt"
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

// The version of a call for which the SDK has reported none is that in force at its time (console.md
// N5). Version n of flag 1 is of 12:00:n, and flag 2 is of 12:00:104. The 100 newest versions of a flag
// are searched.
func TestFlags_FillVersions(t *testing.T) {
	w := flagtest.New(t)
	changes := []ruletest.Row{{"N5", "bob", "create", `{"key":"a"}`, `{"version":1,"updated_at":"2026-01-02T12:00:01Z"}`}}
	for n := 2; n <= 103; n++ {
		changes = append(changes, ruletest.Row{"N5", "bob", "change 1", fmt.Sprintf(`{"name":"%d"}`, n), fmt.Sprintf(`{"version":%d}`, n)})
	}
	w.Run(t, flagtest.RoomCalls(t, w), append(changes, ruletest.Row{"N5", "bob", "create", `{"key":"b"}`, `{"id":2,"version":1,"updated_at":"2026-01-02T12:01:44Z"}`}))
	second := func(n float64) time.Time { return ruletest.Start.Add(time.Duration(n * float64(time.Second))) }
	for name, c := range map[string]struct {
		flag int64
		call featureflags.LastCall
		want int64
	}{
		"before the flag":          {2, featureflags.LastCall{At: second(103.9)}, 0},
		"when it was created":      {2, featureflags.LastCall{At: second(104)}, 1},
		"when it was changed":      {1, featureflags.LastCall{At: second(50)}, 50},
		"between two changes":      {1, featureflags.LastCall{At: second(50.5)}, 50},
		"just before a change":     {1, featureflags.LastCall{At: second(50.999999)}, 50},
		"before the last change":   {1, featureflags.LastCall{At: second(102.9)}, 102},
		"at the last change":       {1, featureflags.LastCall{At: second(103)}, 103},
		"later":                    {1, featureflags.LastCall{At: second(999)}, 103},
		"the oldest of 100":        {1, featureflags.LastCall{At: second(4)}, 4},
		"before the oldest of 100": {1, featureflags.LastCall{At: second(3)}, 0},
		"with a version":           {1, featureflags.LastCall{At: second(99), Version: 2}, 2},
		"with an unknown version":  {1, featureflags.LastCall{At: second(1), Version: 999}, 999},
	} {
		other := 3 - c.flag
		calls := map[int64]*featureflags.LastCall{c.flag: &c.call, other: {At: second(999)}}
		latest := map[int64]int64{1: 103, 2: 1}[other]
		if err := w.FeatureFlags.FillVersions(t.Context(), w.Scope(t, "bob"), calls); err != nil || calls[c.flag].Version != c.want || calls[other].Version != latest {
			t.Errorf("a call %s: version %d and %d, %v, want %d and %d", name, calls[c.flag].Version, calls[other].Version, err, c.want, latest)
		}
	}
	for caller, flag := range map[string]int64{"dan": 1, "bob": 9} { // a flag of another project, and one that does not exist
		if err := w.FeatureFlags.FillVersions(t.Context(), w.Scope(t, caller), map[int64]*featureflags.LastCall{flag: {At: second(99)}}); err == nil {
			t.Errorf("%s: flag %d has a version", caller, flag)
		}
	}
}

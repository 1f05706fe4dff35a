package changes_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/internal/storage"
	"github.com/bunting-flags/bunting/management/rooms"
)

// More rules of scheduled changes: management.md §5.1.3, decision 44, console.md N20, N22, N24.
func TestScheduledChanges_More(t *testing.T) {
	flagtest.Ask(t, map[string][]ruletest.Row{
		"order": scheduleOrderRows, "ends": scheduleEndRows, "missed ends": missedEndRows, "conditions": rememberedRows, "other flags": otherFlagRows, "notes": scheduleNoteRows,
		"lists of conditions": scheduleConflictRows, "variants and payloads": replacedVariantRows, "rescheduled": movedRows,
	})
}

// The change that has been due for the longest time is executed first.
var scheduleOrderRows = []ruletest.Row{
	flagtest.AFlag,
	{"§5.1.3", "bob", "schedule", flagtest.Later("2026-01-03T02:00:00Z", flagtest.Off), `{"id":1}`},
	{"§5.1.3", "bob", "schedule", flagtest.Later("2026-01-03T01:00:00Z", flagtest.On), `{"id":2}`},
	{"§5.1.3", "bob", "schedule", flagtest.Later("2026-01-03T00:30:00Z", flagtest.Off), `{"id":3}`},
	{"§5.1.3 all are due", "-", "until 2026-01-03T03:00:00Z", ``, `null`},
	{"§5.1.3 all are due", "bob", "due", ``, `3`},
	{"§5.1.3 in the order of their times", "bob", "versions 1", ``, `{"results":[{"version":4,"active":false},{"version":3,"active":true},{"version":2,"active":false},{"version":1,"active":true}]}`},
	{"§5.1.3 a change to what is already there", "bob", "schedule", flagtest.Later("2026-01-03T00:00:00Z", flagtest.Off), `{"id":4}`},
	{"§5.1.3 a change to what is already there", "bob", "due", ``, `1`},
	{"§5.1.3 a change to what is already there", "bob", "getschedule 4", ``, `{"failure_reason":null,"last_executed_at":"(like) ^2026-01-03T03:00"}`},
}

// §5.1.3: the end date is the last time, inclusive.
var scheduleEndRows = []ruletest.Row{
	flagtest.AFlag,
	{"§5.1.3", "bob", "schedule", flagtest.Later("2026-01-03T00:00:00Z", flagtest.Off, `"is_recurring":true,"recurrence_interval":"daily","end_date":"2026-01-04T00:00:00Z"`), `{"id":1}`},
	{"§5.1.3", "bob", "schedule", flagtest.Later("2026-01-03T00:00:00Z", flagtest.On, `"is_recurring":true,"recurrence_interval":"daily","end_date":"2026-01-03T23:59:59Z"`), `{"id":2}`},
	{"§5.1.3", "-", "until 2026-01-03T00:00:00Z", ``, `null`},
	{"§5.1.3", "bob", "due", ``, `2`},
	{"§5.1.3 on its end", "bob", "getschedule 1", ``, `{"scheduled_at":"2026-01-04T00:00:00Z","executed_at":null}`},
	{"§5.1.3 a second before it", "bob", "getschedule 2", ``, `{"scheduled_at":"2026-01-03T00:00:00Z","executed_at":"(like) ^2026-01-03T00:00:"}`},
	{"§5.1.3 the end is moved", "bob", "changeschedule 1", `{"end_date":"2026-01-04T23:00:00Z"}`, `{"end_date":"2026-01-04T23:00:00Z"}`},
	{"§5.1.3", "-", "until 2026-01-04T00:00:00Z", ``, `null`},
	{"§5.1.3", "bob", "due", ``, `1`},
	{"§5.1.3 the last", "bob", "getschedule 1", ``, `{"scheduled_at":"2026-01-04T00:00:00Z","executed_at":"(like) ^2026-01-04","last_executed_at":"(like) ^2026-01-04"}`},
	{"§5.1.3 no interval without recurrence", "bob", "schedule", flagtest.Later("2026-02-01T00:00:00Z", flagtest.Off, `"recurrence_interval":"daily"`), `{"id":3,"is_recurring":false}`},
	{"§5.1.3 no interval without recurrence", "-", "until 2026-02-01T00:00:00Z", ``, `null`},
	{"§5.1.3 no interval without recurrence", "bob", "due", ``, `1`},
	{"§5.1.3 no interval without recurrence", "bob", "getschedule 3", ``, `{"scheduled_at":"2026-02-01T00:00:00Z","executed_at":"(like) ^2026-02-01"}`},
}

var missedEndRows = []ruletest.Row{
	flagtest.AFlag,
	{"§5.1.3", "bob", "schedule", flagtest.Later("2026-01-03T00:00:00Z", flagtest.Off, `"is_recurring":true,"recurrence_interval":"daily","end_date":"2026-01-06T00:00:00Z"`), `{"id":1}`},
	{"§5.1.3 nobody looked until after the end", "-", "until 2026-01-20T00:00:00Z", ``, `null`},
	{"§5.1.3 once", "bob", "due", ``, `1`},
	{"§5.1.3 once", "bob", "due", ``, `0`},
	{"§5.1.3 and over", "bob", "getschedule 1", ``, `{"executed_at":"(like) ^2026-01-20","last_executed_at":"(like) ^2026-01-20","failure_reason":null}`},
	{"§5.1.3 once", "bob", "get 1", ``, `{"version":2,"active":false}`},
}

// console.md N24: the condition is the one that was meant when the change was scheduled, also after
// edits of other fields.
var rememberedRows = []ruletest.Row{
	{"console.md N24", "bob", "create", `{"key":"a","filters":{"groups":[` + pro + `,` + others + `]}}`, `{"id":1}`},
	{"console.md N24", "bob", "schedule", flagtest.Later("2026-01-03T00:00:00Z", flagtest.Steps(0, 25)), `{"id":1}`},
	{"console.md N24 it has moved", "bob", "change 1", `{"filters":{"groups":[` + others + `,` + pro + `]}}`, `{"version":2}`},
	{"console.md N24 another time alone", "bob", "changeschedule 1", `{"scheduled_at":"2026-01-03T01:00:00Z","change_note":"later"}`, `{"scheduled_at":"2026-01-03T01:00:00Z"}`},
	{"console.md N24 another time alone", "-", "until 2026-01-03T01:00:00Z", ``, `null`},
	{"console.md N24 another time alone", "bob", "due", ``, `1`},
	{"console.md N24 another time alone", "bob", "get 1", ``, `{"filters":{"groups":[{"properties":[],"rollout_percentage":5},{"properties":[{"key":"plan"}],"rollout_percentage":25}]}}`},
	{"console.md N24 it is gone", "bob", "schedule", flagtest.Later("2026-01-04T00:00:00Z", flagtest.Steps(1, 50)), `{"id":2}`},
	{"console.md N24 it is gone", "bob", "change 1", `{"filters":{"groups":[` + others + `]}}`, `{"version":4}`},
	{"console.md N24 told at the edit", "bob", "changeschedule 2", `{"scheduled_at":"2026-01-05T00:00:00Z"}`, `400 invalid_input payload Condition 1 has changed since this was scheduled. Schedule the change again.`},
	{"console.md N24 told at the edit", "bob", "changeschedule 2", `{"payload":` + flagtest.Steps(1, 50) + `}`, `400 invalid_input payload The feature flag has no condition 1: it has 1, counted from 0.`},
	{"console.md N24 scheduled again", "bob", "changeschedule 2", `{"payload":` + flagtest.Steps(0, 50) + `}`, `{"payload":{"value":{"condition":0,"rollout_percentage":50}}}`},
	{"console.md N24 scheduled again", "-", "until 2026-01-04T00:00:00Z", ``, `null`},
	{"console.md N24 scheduled again", "bob", "due", ``, `1`},
	{"console.md N24 scheduled again", "bob", "get 1", ``, `{"filters":{"groups":[{"properties":[],"rollout_percentage":50}]}}`},
}

var otherFlagRows = []ruletest.Row{
	{"console.md N24", "bob", "create", `{"key":"a","filters":{"groups":[` + pro + `]}}`, `{"id":1}`},
	{"console.md N24", "bob", "create", `{"key":"b","filters":{"groups":[` + others + `]}}`, `{"id":2}`},
	{"console.md N24", "bob", "schedule", flagtest.Later("2026-01-03T00:00:00Z", flagtest.Steps(0, 25)), `{"id":1,"record_id":"1"}`},
	{"console.md N24 the condition of the other flag", "bob", "changeschedule 1", `{"record_id":2}`, `{"record_id":"2"}`},
	{"console.md N24 the condition of the other flag", "-", "until 2026-01-03T00:00:00Z", ``, `null`},
	{"console.md N24 the condition of the other flag", "bob", "due", ``, `1`},
	{"console.md N24 the condition of the other flag", "bob", "get 2", ``, `{"version":2,"filters":{"groups":[{"properties":[],"rollout_percentage":25}]}}`},
	{"console.md N24 the condition of the other flag", "bob", "get 1", ``, `{"version":1,"filters":{"groups":[{"rollout_percentage":10}]}}`},
}

var scheduleNoteRows = []ruletest.Row{
	flagtest.AFlag,
	{"console.md N22 at most 500", "bob", "schedule", flagtest.Later("2026-01-03T00:00:00Z", flagtest.Off, `"change_note":`+flagtest.Text(501)), `400 max_length change_note`},
	{"console.md N22 at most 500", "bob", "schedule", flagtest.Later("2026-01-03T00:00:00Z", flagtest.Off, `"change_note":`+flagtest.Text(500)), `{"id":1,"change_note":` + flagtest.Text(500) + `}`},
	{"console.md N22", "bob", "changeschedule 1", `{"change_note":" at night "}`, `{"change_note":"at night"}`},
	{"console.md N22", "-", "until 2026-01-03T00:00:00Z", ``, `null`},
	{"console.md N22", "bob", "due", ``, `1`},
	{"console.md N22 kept with the version", "bob", "versions 1", `{"Limit":1}`, `{"results":[{"version":2,"change_note":"at night"}]}`},
	{"console.md N22 and the activity", "bob", "log FeatureFlag 1", ``, `{"detail":{"change_note":"at night"}}`},
}

// §5.1.3: a scheduled change is a version that somebody's editor does not know.
var scheduleConflictRows = []ruletest.Row{
	{"§5.1.3", "bob", "create", `{"key":"a","filters":{"groups":[` + others + `]}}`, `{"version":1}`},
	{"§5.1.3", "cyd", "schedule", flagtest.Later("2026-01-03T00:00:00Z", flagtest.Steps(0, 25)), `{"id":1}`},
	{"§5.1.3", "-", "until 2026-01-03T00:00:00Z", ``, `null`},
	{"§5.1.3", "bob", "due", ``, `1`},
	{"§5.1.3 the same field", "bob", "change 1", `{"version":1,"original_flag":{"filters":{"groups":[` + others + `]}},"filters":{"groups":[` + strings.Replace(others, "5", "9", 1) + `]}}`,
		`409 conflict - The feature flag was updated by cyd@example.com since you started editing it. Please refresh and try again.`},
	{"§5.1.3 another field", "bob", "change 1", `{"version":1,"original_flag":{"filters":{"groups":[` + others + `]},"name":""},"name":"about"}`, `{"version":3}`},
}

// §5.1.3: update_variants replaces the variants; a payload of a removed variant is refused when
// it is scheduled, or fails at its time.
var replacedVariantRows = []ruletest.Row{
	{"§5.1.3", "bob", "create", `{"key":"a","filters":{"groups":[{"properties":[]}],` + flagtest.AB + `}}`, `{"id":1}`},
	{"§5.1.3", "bob", "schedule", flagtest.Later("2026-01-03T00:00:00Z", `{"operation":"update_variants","value":{"variants":[{"key":"c","rollout_percentage":100}]}}`), `{"id":1}`},
	{"§5.1.3 a payload that it would leave", "bob", "change 1", `{"filters":{"groups":[{"properties":[]}],` + flagtest.AB + `,"payloads":{"a":"1"}}}`, `{"version":2}`},
	{"§5.1.3 a payload that it would leave", "bob", "schedule", flagtest.Later("2026-01-04T00:00:00Z", `{"operation":"update_variants","value":{"variants":[{"key":"c","rollout_percentage":100}]}}`), `400 invalid_input filters Payload keys must match a variant key for multivariate flags`},
	{"§5.1.3 a payload that it would leave", "-", "until 2026-01-03T00:00:00Z", ``, `null`},
	{"§5.1.3 a payload that it would leave", "bob", "due", ``, `1`},
	{"§5.1.3 a payload that it would leave", "bob", "getschedule 1", ``, `{"failure_reason":"(like) Payload keys must match a variant key for multivariate flags$"}`},
	{"§5.1.3 nothing was changed", "bob", "get 1", ``, `{"version":2,"filters":{"multivariate":{"variants":[{"key":"a"},{"key":"b"}]},"payloads":{"a":"1"}}}`},
	{"§5.1.3 all variants go", "bob", "schedule", flagtest.Later("2026-01-05T00:00:00Z", `{"operation":"update_variants","value":{"variants":[],"payloads":{}}}`), `{"id":2}`},
	{"§5.1.3 all variants go", "-", "until 2026-01-05T00:00:00Z", ``, `null`},
	{"§5.1.3 all variants go", "bob", "due", ``, `1`},
	{"§5.1.3 all variants go", "bob", "get 1", ``, `{"version":3,"filters":{"payloads":{}}}`},
}

// Decision 44: another time is another first time.
var movedRows = []ruletest.Row{
	flagtest.AFlag,
	{"decision 44", "bob", "schedule", flagtest.Later("2026-01-31T00:00:00Z", flagtest.Off, `"is_recurring":true,"recurrence_interval":"monthly"`), `{"id":1}`},
	{"decision 44", "bob", "changeschedule 1", `{"scheduled_at":"2026-01-30T06:00:00Z"}`, `{"scheduled_at":"2026-01-30T06:00:00Z"}`},
	{"decision 44", "-", "until 2026-01-30T06:00:00Z", ``, `null`},
	{"decision 44", "bob", "due", ``, `1`},
	{"decision 44 February has no 30th", "bob", "getschedule 1", ``, `{"scheduled_at":"2026-02-28T06:00:00Z"}`},
	{"decision 44 another interval", "bob", "changeschedule 1", `{"recurrence_interval":"weekly"}`, `{"recurrence_interval":"weekly"}`},
	{"decision 44 to the past", "bob", "changeschedule 1", `{"scheduled_at":"2026-01-01T00:00:00Z"}`, `{"scheduled_at":"2026-01-01T00:00:00Z"}`},
	{"decision 44 to the past: due at once", "bob", "due", ``, `1`},
	{"decision 44 weeks from there: the 1st, 8th, 15th, 22nd, 29th and 5th", "bob", "getschedule 1", ``, `{"scheduled_at":"2026-02-05T00:00:00Z","executed_at":null}`},
	{"decision 44 no more", "bob", "changeschedule 1", `{"is_recurring":false}`, `{"is_recurring":false,"recurrence_interval":"weekly"}`},
	{"decision 44 no more", "-", "until 2026-02-05T00:00:00Z", ``, `null`},
	{"decision 44 no more", "bob", "due", ``, `1`},
	{"decision 44 no more", "bob", "getschedule 1", ``, `{"executed_at":"(like) ^2026-02-05"}`},
}

// management.md §1.8: the access to a scheduled change is that to its flag.
func TestScheduledChanges_Access(t *testing.T) {
	w := flagtest.New(t)
	w.Run(t, requestCalls(t, w), []ruletest.Row{
		flagtest.AFlag,
		{"§1.8", "bob", "create", `{"key":"b"}`, `{"id":2}`},
		{"§1.8", "bob", "schedule", flagtest.Later("2026-02-01T00:00:00Z", flagtest.Off), `{"id":1}`},
		{"§1.8", "cyd", "schedule", strings.Replace(flagtest.Later("2026-02-02T00:00:00Z", flagtest.Off), `"record_id":1`, `"record_id":2`, 1), `{"id":2}`},
		{"§1.8 viewer", "-", "limit viewer", ``, `{"access_level":"viewer"}`},
		{"§1.8 viewer", "cyd", "getschedule 1", ``, `{"id":1}`},
		{"§1.8 viewer", "cyd", "schedules", ``, `{"count":2}`},
		{"§1.8 viewer", "cyd", "schedule", flagtest.Later("2026-02-01T00:00:00Z", flagtest.Off), flagtest.MayNotEdit},
		{"§1.8 viewer", "cyd", "changeschedule 1", `{"scheduled_at":"2026-03-01T00:00:00Z"}`, flagtest.MayNotEdit},
		{"§1.8 viewer", "cyd", "dropschedule 1", ``, flagtest.MayNotEdit},
		{"§1.8 of the flag that it gets", "cyd", "changeschedule 2", `{"record_id":1}`, flagtest.MayNotEdit},
		{"§1.8 none", "-", "limit none", ``, `{"access_level":"none"}`},
		{"§1.8 none", "cyd", "getschedule 1", ``, flagtest.MayNotView},
		{"§1.8 none", "cyd", "schedules", ``, `{"count":1,"results":[{"id":2}]}`},
		{"§1.8 none", "cyd", "schedules 1", ``, `{"count":0,"results":[]}`},
		{"§1.8 none", "cyd", "schedules", `{"Model":"FeatureFlag"}`, `{"count":1}`},
		{"§1.8 others see all", "bob", "schedules", ``, `{"count":2}`},
		{"§1.8 a refusal changes nothing", "bob", "getschedule 1", ``, `{"scheduled_at":"2026-02-01T00:00:00Z","executed_at":null}`},
	})
}

// console.md N20: changes are overdue that have waited for longer than an age.
func TestScheduledChanges_Overdue(t *testing.T) {
	w := flagtest.New(t)
	w.Run(t, flagtest.RoomCalls(t, w), []ruletest.Row{
		flagtest.AFlag,
		{"N20", "bob", "schedule", flagtest.Later("2026-01-02T13:00:00Z", flagtest.Off), `{"id":1}`},
		{"N20", "bob", "schedule", flagtest.Later("2026-01-02T13:10:00Z", flagtest.On), `{"id":2}`},
		{"N20", "dan", "create", `{"key":"theirs"}`, `{"id":2}`},
		{"N20", "dan", "schedule", strings.Replace(flagtest.Later("2026-01-02T13:00:00Z", flagtest.Off), `"record_id":1`, `"record_id":2`, 1), `{"id":3}`},
	})
	overdue := func(now string, want int) {
		t.Helper()
		at, err := time.Parse(time.RFC3339Nano, now)
		if err != nil {
			t.Fatal(err)
		}
		w.Clock = at
		if n, err := w.Changes.Scheduled.Overdue(t.Context(), 5*time.Minute); n != want || err != nil {
			t.Errorf("at %s %d are overdue, %v; want %d", now, n, err, want)
		}
	}
	overdue("2026-01-02T13:05:00Z", 0)
	overdue("2026-01-02T13:05:00.000001Z", 2) // of all projects
	overdue("2026-01-02T13:20:00Z", 3)
	if n, err := w.Changes.Scheduled.RunDue(t.Context()); n != 3 || err != nil {
		t.Fatal(n, err)
	}
	overdue("2026-01-03T00:00:00Z", 0)
}

// A change is one transaction: after a fault of the store at any of its calls it stays due, and the
// flag and its log are as before; then it is executed one time. Only this result is reported.
func TestScheduledChanges_KilledAtAnyWrite(t *testing.T) {
	for name, payload := range map[string]string{"a switch": flagtest.Off, "a change that fails": flagtest.Steps(0, 50)} {
		t.Run(name, func(t *testing.T) {
			faulty := &memstore.Faulty{Store: memstore.New(memstore.ExternalData{}), After: -1}
			var reports []management.JobDone
			w := ruletest.New(t, faulty, func(c *rooms.Config) { c.JobDone = func(d management.JobDone) { reports = append(reports, d) } })
			calls := flagtest.RoomCalls(t, w)
			w.Run(t, calls, []ruletest.Row{
				{"§5.1.3", "bob", "create", `{"key":"a","filters":{"groups":[` + others + `]}}`, `{"id":1}`},
				{"§5.1.3", "bob", "schedule", flagtest.Later("2026-01-03T00:00:00Z", payload), `{"id":1}`},
				{"§5.1.3", "bob", "change 1", `{"filters":{"groups":[` + pro + `]}}`, `{"version":2}`},
				{"§5.1.3", "-", "until 2026-01-03T00:00:00Z", ``, `null`},
			})
			deaths := 0
			for n := 0; ; n++ {
				faulty.After, faulty.Failed = n, false
				done, err := w.Changes.Scheduled.RunDue(t.Context())
				failed := faulty.Failed
				if faulty.After = -1; done == 1 {
					break
				}
				if !failed || err == nil || len(reports) > 0 {
					t.Fatalf("after the fault of call %d: %d were made, %v, %d reports", n, done, err, len(reports))
				}
				deaths++
				w.Run(t, calls, []ruletest.Row{
					{"§5.1.3 it stays due", "bob", "getschedule 1", ``, `{"executed_at":null,"last_executed_at":null,"failure_reason":null}`},
					{"§5.1.3 nothing is half done", "bob", "get 1", ``, `{"version":2,"active":true}`},
					{"§5.1.3 nothing is half done", "bob", "versions 1", ``, `{"count":2}`},
				})
			}
			if deaths < 5 {
				t.Errorf("the store has failed %d times only", deaths)
			}
			if n, err := w.Changes.Scheduled.RunDue(t.Context()); n != 0 || err != nil || len(reports) != 1 {
				t.Errorf("%d more were made, %v, %d reports", n, err, len(reports))
			}
		})
	}
}

// A scheduled change that cannot be decoded, or whose flag cannot be decoded, does not block the
// changes after it. It stays due, and is reported each time.
func TestScheduledChanges_UnreadableDoesNotBlock(t *testing.T) {
	for name, damage := range map[string]func(tx rooms.Tx) error{
		"the change": func(tx rooms.Tx) error {
			r, err := tx.Get("scheduled_change", management.ProjectParent(ruletest.Project), "1")
			if err != nil {
				return err
			}
			r.Data = []byte(strings.Replace(string(r.Data), `"id":1`, `"id":"one"`, 1))
			return tx.Put(r)
		},
		"its flag": func(tx rooms.Tx) error {
			d, err := tx.Definition(management.FlagDefinition, ruletest.Project, 1)
			if err != nil {
				return err
			}
			d.Meta = []byte(`[]`)
			return tx.PutDefinition(management.FlagDefinition, ruletest.Project, d)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := flagtest.New(t)
			calls := flagtest.RoomCalls(t, w)
			w.Run(t, calls, []ruletest.Row{
				{"§5.1.3", "bob", "create", `{"key":"a"}`, `{"id":1}`},
				{"§5.1.3", "bob", "create", `{"key":"b"}`, `{"id":2}`},
				{"§5.1.3", "bob", "schedule", flagtest.Later("2026-01-03T00:00:00Z", flagtest.Off), `{"id":1}`},
				{"§5.1.3", "bob", "schedule", strings.Replace(flagtest.Later("2026-01-03T00:00:01Z", flagtest.Off), `"record_id":1`, `"record_id":2`, 1), `{"id":2}`},
				{"§5.1.3", "-", "until 2026-01-03T00:00:02Z", ``, `null`},
			})
			if err := w.Store.Write(t.Context(), damage); err != nil {
				t.Fatal(err)
			}
			var unreadable *storage.UnreadableError
			for _, want := range []int{1, 0} {
				if n, err := w.Changes.Scheduled.RunDue(t.Context()); n != want || !errors.As(err, &unreadable) {
					t.Errorf("%d were made, %v; want %d and the damage", n, err, want)
				}
			}
			w.Run(t, calls, []ruletest.Row{{"§5.1.3 the second change", "bob", "get 2", ``, `{"active":false}`}})
			if n, err := w.Changes.Scheduled.Overdue(t.Context(), 0); n != 1 || err != nil {
				t.Errorf("%d are overdue, %v; want 1", n, err)
			}
		})
	}
}

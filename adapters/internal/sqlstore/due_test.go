package sqlstore

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/pgtest"
	"github.com/bunting-flags/bunting/management/rooms"
)

// A survey of three weeks with its hidden flag in the format before iterations, a
// survey that is not repeated, and a cohort by rule that was calculated long ago.
const ofBefore = `
INSERT INTO flag_records (project_id, id, key, record, origin, deleted, meta) VALUES (1, 2, 'survey-targeting-a-custom', '{"active":true,"deleted":false,"filters":{"groups":[{"variant":"","rollout_percentage":100,"properties":[{"key":"$survey_responded/5d9c1f34-0000-4000-8000-000000000001","type":"person","operator":"is_not_set","value":"is_not_set"}]}]},"id":2,"key":"survey-targeting-a-custom","name":"","team_id":1,"version":1}', '', 0, '{"created_by":1,"creation_context":"surveys"}');
INSERT INTO records (kind, parent, id, other, sort, name, hidden, data) VALUES ('survey', 'project:1', '5d9c1f34-0000-4000-8000-000000000001', NULL, '00001795405653150100', 'project:1/S', 0, '{"id":"5d9c1f34-0000-4000-8000-000000000001","name":"S","type":"popover","start_date":"2026-11-01T00:00:00Z","end_date":null,"iteration_count":3,"iteration_frequency_days":7,"internal_targeting_flag_id":2,"created_by_id":1}');
INSERT INTO records (kind, parent, id, other, sort, name, hidden, data) VALUES ('survey', 'project:1', '5d9c1f34-0000-4000-8000-000000000002', NULL, '00001795405653150101', 'project:1/T', 0, '{"id":"5d9c1f34-0000-4000-8000-000000000002","name":"T","type":"popover","start_date":"2026-11-01T00:00:00Z","end_date":null,"iteration_count":null,"iteration_frequency_days":null,"created_by_id":1}');
INSERT INTO record_counts (kind, place, parent, hidden, n) VALUES ('survey', 0, 'project:1', 0, 2);
INSERT INTO cohort_records (project_id, id, record, origin, deleted, meta) VALUES (1, 1, '{"id":1,"team_id":1,"name":"C","deleted":false,"is_static":false,"filters":{"properties":{"type":"AND","values":[]}},"groups":null,"query":null}', '', 0, '{"created_by":1,"last_calculation":"2026-11-01T00:00:00Z","count":7}');
`

// Data of an older server is processed without a change by a user: surveys advance to
// their next iteration, and cohorts are calculated within an hour.
func TestStore_WhatIsDueOfBefore(t *testing.T) {
	for name, address := range map[string]string{"disk": "sqlite:" + filepath.Join(t.TempDir(), "store.db"), "postgres": pgtest.Postgres(t)} {
		t.Run(name, func(t *testing.T) {
			store := managementStore{storeOfSchema8(t, address, ofBefore)}
			now := time.Date(2026, 11, 10, 12, 0, 0, 0, time.UTC)
			r, err := rooms.Open(rooms.Config{Store: store, Now: func() time.Time { return now }})
			if err != nil {
				t.Fatal(err)
			}
			scope := ownerScope(t, store)
			asks := func(key string) {
				t.Helper()
				flag, err := r.FeatureFlags.Get(t.Context(), scope, 2)
				if err != nil {
					t.Fatal(err)
				}
				expectMembers(t, "the hidden flag", encode(t, flag), `{"active":true,"filters":{"groups":[{"variant":"","rollout_percentage":100,"properties":[
					{"key":"$survey_dismissed/`+key+`","type":"person","operator":"is_not_set","value":"is_not_set"},
					{"key":"$survey_responded/`+key+`","type":"person","operator":"is_not_set","value":"is_not_set"}]}]}}`)
			}
			turn := func(want int) {
				t.Helper()
				if n, err := r.Surveys.StartDueIterations(t.Context()); n != want || err != nil {
					t.Fatalf("%d surveys were due (%v), want %d", n, err, want)
				}
			}
			turn(1)
			asks("5d9c1f34-0000-4000-8000-000000000001/2")
			turn(0)
			now = now.AddDate(0, 0, 7)
			turn(1)
			asks("5d9c1f34-0000-4000-8000-000000000001/3")

			for _, want := range []bool{true, false} { // one is due, then no further one
				if more, err := r.Cohorts.CountDue(t.Context()); more != want || err != nil {
					t.Fatalf("a cohort was counted: %v (%v), want %v", more, err, want)
				}
			}
			c, err := r.Cohorts.Get(t.Context(), scope, "1")
			if err != nil || c.Count == nil || *c.Count != 0 || !c.LastCalculation.Equal(now) {
				t.Errorf("the cohort: %+v (%v), want nobody, counted %v", c, err, now)
			}
			now = now.Add(time.Hour)
			if more, err := r.Cohorts.CountDue(t.Context()); !more || err != nil {
				t.Errorf("not counted again after an hour (%v)", err)
			}
		})
	}
}

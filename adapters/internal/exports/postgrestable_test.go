package exports_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/management/batchexports"
)

// eventsTable is a run into PostHog's table of events (spec/clients.md §16).
func eventsTable(config map[string]any, run string, rows ...[]any) *batchexports.Job {
	j := jobOf(job("Postgres", config, 0), rows...)
	j.Run, j.Key, j.Appended = run, []string{"team_id", "uuid", "event", "distinct_id"}, true
	j.Columns = []batchexports.Column{
		{Name: "uuid"}, {Name: "event"}, {Name: "properties", Type: batchexports.JSONColumn}, {Name: "elements", Type: batchexports.JSONColumn},
		{Name: "set", Type: batchexports.JSONColumn}, {Name: "set_once", Type: batchexports.JSONColumn}, {Name: "distinct_id"},
		{Name: "team_id", Type: batchexports.IntColumn}, {Name: "ip"}, {Name: "site_url"}, {Name: "timestamp", Type: batchexports.TimeColumn},
	}
	return j
}

func tableEvent(uuid string) []any {
	return []any{uuid, "seen", json.RawMessage(`{"a":1}`), json.RawMessage(`"\"\""`), nil, nil, "ann", int64(1), "1.2.3.4", nil, from}
}

// types is a query of a table's columns in order.
const types = `SELECT string_agg(column_name || ' ' || data_type || coalesce(' ' || character_maximum_length, ''), ', ' ORDER BY ordinal_position) AS c
	FROM information_schema.columns WHERE table_name = '%s'`

// spec/clients.md §16: a table of events has these columns and types, and no key; events that are
// exported repeatedly are stored once.
func testPGAppended(t *testing.T, h *pgHost) {
	config, conn := h.database(t)
	long := tableEvent("b")
	long[1], long[8] = strings.Repeat("é", 201), strings.Repeat("x", 300)
	run(t, newRunner(), eventsTable(config, "one", tableEvent("a"), long))
	if diff := cmp.Diff([]string{`{"c": "uuid character varying 200, event character varying 200, properties jsonb, elements jsonb, set jsonb, set_once jsonb, ` +
		`distinct_id character varying 200, team_id integer, ip character varying 200, site_url character varying 200, timestamp timestamp with time zone"}`},
		rowsOf(t, conn, fmt.Sprintf(types, "events"))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{`{"keys": 0, "uniques": 0}`}, rowsOf(t, conn, `SELECT (SELECT count(*) FROM pg_constraint WHERE conrelid = 'events'::regclass) AS keys,
		(SELECT count(*) FROM pg_index WHERE indrelid = 'events'::regclass AND indisunique) AS uniques`)); diff != "" {
		t.Error(diff)
	}
	run(t, newRunner(), eventsTable(config, "two", long, tableEvent("a"), tableEvent("c")))
	run(t, newRunner(), eventsTable(config, "two", tableEvent("d"))) // the run has been written already
	want := []string{
		`{"ip": "1.2.3.4", "set": null, "uuid": "a", "event": "seen", "team_id": 1, "elements": "\"\"", "set_once": null, "site_url": null, "timestamp": "2026-01-01T10:00:00+00:00", "properties": {"a": 1}, "distinct_id": "ann"}`,
		`{"ip": "` + strings.Repeat("x", 200) + `", "set": null, "uuid": "b", "event": "` + strings.Repeat("é", 200) + `", "team_id": 1, "elements": "\"\"", "set_once": null, "site_url": null, "timestamp": "2026-01-01T10:00:00+00:00", "properties": {"a": 1}, "distinct_id": "ann"}`,
		`{"ip": "1.2.3.4", "set": null, "uuid": "c", "event": "seen", "team_id": 1, "elements": "\"\"", "set_once": null, "site_url": null, "timestamp": "2026-01-01T10:00:00+00:00", "properties": {"a": 1}, "distinct_id": "ann"}`,
	}
	exec(t, conn, "SET TimeZone TO UTC")
	if diff := cmp.Diff(want, rowsOf(t, conn, "SELECT * FROM events ORDER BY uuid")); diff != "" {
		t.Error(diff)
	}
	// A table that PostHog has created, with rows of its exports.
	exec(t, conn, `SET ROLE ann_s3cret; DROP TABLE events; CREATE TABLE events (uuid varchar(200), event varchar(200), properties jsonb, elements jsonb, set jsonb, set_once jsonb,
		distinct_id varchar(200), team_id integer, ip varchar(200), site_url varchar(200), timestamp timestamp with time zone);
		INSERT INTO events (uuid, event, distinct_id, team_id) VALUES ('a', 'seen', 'ann', 1)`)
	var all sync.WaitGroup
	for i := range 4 { // exports of the same events into one table
		all.Go(func() {
			if _, err := newRunner().Run(t.Context(), eventsTable(config, fmt.Sprint("posthog", i), tableEvent("a"), tableEvent("b"))); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if diff := cmp.Diff([]string{`{"ids": "a b"}`}, rowsOf(t, conn, "SELECT string_agg(uuid, ' ' ORDER BY uuid) AS ids FROM events")); diff != "" {
		t.Error(diff)
	}
}

// spec/clients.md §16: of two rows of a person the one with the higher version is stored, of a
// session the one with the later end.
func testPGNewer(t *testing.T, h *pgHost) {
	config, conn := h.database(t)
	day := func(n int) time.Time { return from.AddDate(0, 0, n) }
	for model, tt := range map[string]struct {
		newer []string
		key   string
		last  []batchexports.Column
		rows  [][]any // each is a run
		want  string  // the third column
	}{
		"persons": {[]string{"person_version", "person_distinct_id_version"}, "distinct_id",
			[]batchexports.Column{{Name: "person_version", Type: batchexports.IntColumn}, {Name: "person_distinct_id_version", Type: batchexports.IntColumn}},
			[][]any{{int64(1), "x", "first", int64(5), int64(5)}, {int64(1), "x", "older", int64(4), int64(4)}, {int64(1), "x", "moved", int64(3), int64(6)}, {int64(1), "x", "late", int64(2), int64(5)}}, "moved"},
		"sessions": {[]string{"end_timestamp"}, "session_id", []batchexports.Column{{Name: "end_timestamp", Type: batchexports.TimeColumn}},
			[][]any{{int64(1), "x", "first", day(2)}, {int64(1), "x", "older", day(1)}, {int64(1), "x", "as long", day(2)}}, "as long"},
	} {
		config["table_name"] = model
		for i, row := range tt.rows {
			j := jobOf(job("Postgres", config, 0), row)
			j.Run, j.Model, j.Key, j.Newer = fmt.Sprint(model, i), model, []string{"team_id", tt.key}, tt.newer
			j.Columns = append([]batchexports.Column{{Name: "team_id", Type: batchexports.IntColumn}, {Name: tt.key}, {Name: "text"}}, tt.last...)
			run(t, newRunner(), j)
		}
		if diff := cmp.Diff([]string{`{"text": "` + tt.want + `"}`}, rowsOf(t, conn, "SELECT text FROM "+model)); diff != "" {
			t.Errorf("%s: %s", model, diff)
		}
	}
}

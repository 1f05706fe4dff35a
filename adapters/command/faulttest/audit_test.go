//go:build linux

package faulttest

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/capture"
)

// The audit, on which all other tests rely, detects every kind of damage.
func TestAudit_FindsDamage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := start(t, onSQLite(dir)...)
	l := newLoad(1)
	for range 60 {
		l.clients[0].step(s.url)
	}
	if code := s.stop(t); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	newAudit(l.book).check(t, openFolder(t, dir), people)
	original, err := os.ReadFile(filepath.Join(dir, "bunting.db"))
	if err != nil {
		t.Fatal(err)
	}
	checkChangedEvents(t, l.book, dir)
	tests := map[string]string{
		"a chunk is lost":           `DELETE FROM event_chunks WHERE first_id = (SELECT MAX(first_id) FROM event_chunks)`,
		"a chunk is damaged":        `UPDATE event_chunks SET data = zeroblob(1) || substr(data, 2)`,
		"short columns are damaged": `UPDATE event_chunks SET short = zeroblob(1) || substr(short, 2)`,
		"a property is lost":        `UPDATE persons SET properties = '{}' WHERE id = (SELECT MAX(id) FROM persons)`,
		"nobody is identified":      `UPDATE persons SET is_identified = 0`,
		"a person is younger":       `UPDATE persons SET created_at = created_at + 1 WHERE id = (SELECT MAX(id) FROM persons)`,
		"a person is lost":          `DELETE FROM persons WHERE id = (SELECT MAX(id) FROM persons)`,
		"an id is lost":             `DELETE FROM distinct_ids WHERE distinct_id = (SELECT MAX(distinct_id) FROM distinct_ids)`,
		"an id is nobody's":         `UPDATE distinct_ids SET person_uuid = NULL`,
		"a group is lost":           `DELETE FROM stored_groups WHERE key = (SELECT MAX(key) FROM stored_groups)`,
		"a group type is renamed":   `UPDATE group_types SET name = 'x' WHERE type_index = 1`,
		"reads of a flag are lost":  `UPDATE flag_calls SET calls = calls - 1`,
		"a block is lost":           `DELETE FROM event_blocks`,
		"the counter of persons":    `UPDATE counters SET n = n + 1 WHERE name = 'persons'`,
	}
	for name, damage := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "bunting.db")
			if err := os.WriteFile(path, original, 0o600); err != nil {
				t.Fatal(err)
			}
			db, err := sql.Open("sqlite", path)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := db.Exec(damage); err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			a := newAudit(l.book)
			db = openFolder(t, dir)
			defer func() { _ = db.Close() }()
			a.read(t, db, people)
			if len(a.problems) == 0 {
				t.Error("it was not found")
			}
		})
	}
}

// The audit detects every kind of damage to the events that are read.
func checkChangedEvents(t *testing.T, b *book, dir string) {
	for name, change := range map[string]func(list []capture.Record) []capture.Record{
		"an event is lost": func(list []capture.Record) []capture.Record { return list[:len(list)-1] },
		"an event is there twice": func(list []capture.Record) []capture.Record {
			again := list[0]
			again.ID = list[len(list)-1].ID + 1
			return append(list, again)
		},
		"events change places": func(list []capture.Record) []capture.Record {
			for i := 1; i < len(list); i += 2 {
				list[i-1], list[i] = list[i], list[i-1]
				list[i-1].ID, list[i].ID = list[i].ID, list[i-1].ID
			}
			return list
		},
		"an event is another's": func(list []capture.Record) []capture.Record { list[0].PersonID = capture.UUID{}; return list },
		"an event nobody has asked": func(list []capture.Record) []capture.Record {
			other := list[0]
			other.ID, other.UUID = list[len(list)-1].ID+1, capture.UUID{}
			return append(list, other)
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAudit(b)
			each := a.each
			a.each = func(ctx context.Context, tx *sql.Tx, project, after int64, visit func(*capture.Record) error) error {
				var list []capture.Record
				err := each(ctx, tx, project, after, func(r *capture.Record) error { list = append(list, *r); return nil })
				for _, r := range change(list) {
					if err == nil {
						err = visit(&r)
					}
				}
				return err
			}
			db := openFolder(t, dir)
			defer func() { _ = db.Close() }()
			a.read(t, db, people)
			if _, _, extra := a.extraEvent(); !extra && len(a.problems) == 0 {
				t.Error("it was not found")
			}
		})
	}
}

// The model itself reproduces the vectors of the specification.
func TestModel_17(t *testing.T) {
	t.Parallel()
	type stored struct {
		name, id, properties string
		after                time.Duration
	}
	begin := time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)
	tests := map[string]struct {
		events []stored
		id     string
		want   modelPerson
	}{
		// §17.4, in its newest reading.
		"update": {
			[]stored{
				{"$set", "u", `{"$set": {"a": 1, "n": null}}`, 0},
				{"$set", "u", `{"$set": {"a": 2, "b": 1}, "$set_once": {"a": 9, "b": 9, "c": 9, "n": 5}, "$unset": ["b"]}`, 0},
			}, "u",
			modelPerson{CreatedAt: begin, Properties: map[string]any{"a": 2.0, "c": 9.0, "n": 5.0}, IDs: []string{"u"}},
		},
		// §17.5.
		"merge": {
			[]stored{
				{"x", "a", `{"$set": {"x": 1, "y": 1}}`, 0},
				{"x", "u", `{"$set": {"y": 2}}`, time.Hour},
				{"$identify", "u", `{"$anon_distinct_id": "a", "$set": {"z": 3}}`, 2 * time.Hour},
			}, "u",
			modelPerson{CreatedAt: begin, Identified: true, Properties: map[string]any{"x": 1.0, "y": 2.0, "z": 3.0}, IDs: []string{"u", "a"}},
		},
		// §17.6: the person is that of the preceding events.
		"browser": {
			[]stored{
				{"$pageview", "a", `{"$process_person_profile": false}`, 0},
				{"$identify", "u", `{"$anon_distinct_id": "a", "$set": {"email": "e"}}`, 0},
			}, "a",
			modelPerson{CreatedAt: begin, Identified: true, Properties: map[string]any{"email": "e"}, IDs: []string{"u", "a"}},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			m := newModel(1, nil)
			for _, e := range tt.events {
				if _, err := m.apply(&storedEvent{Name: e.name, DistinctID: e.id, Properties: e.properties, Timestamp: begin.Add(e.after)}); err != nil {
					t.Fatal(err)
				}
			}
			got := *m.owner[tt.id]
			delete(got.Properties, "$creator_event_uuid")
			tt.want.UUID = m.uuid(tt.id)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("the person (-want +got):\n%s", diff)
			}
		})
	}
	// §17.2.
	for id, want := range map[string]string{
		"test": "246f7a43-5507-564f-b687-793ee3c2dd79", "user_1": "131ecd7b-7aa1-5121-8fd3-5353d39dd23e", "ü ñ": "709970b4-ed1b-5891-935a-0308fb2940d7",
	} {
		if got := newModel(1, nil).uuid(id); got != want {
			t.Errorf("the person of %q: %s, want %s", id, got, want)
		}
	}
}

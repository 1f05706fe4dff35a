//go:build linux

package faulttest

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	_ "modernc.org/sqlite"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore"
	"github.com/bunting-flags/bunting/capture"
)

// projectID is the project of the definitions.
const projectID = 1

// openFolder opens the SQLite file of a data folder for reading. It must be closed before the next
// server starts, so that this server has to recover the state that the last one left.
func openFolder(t testing.TB, dir string) *sql.DB {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(dir, "bunting.db"))
	if err != nil {
		t.Fatal(err)
	}
	dsn := url.URL{Scheme: "file", Path: path, RawQuery: "mode=ro&_pragma=busy_timeout(10000)"}
	db, err := sql.Open("sqlite", dsn.String())
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// audit compares the stored state with the batches that were sent and accepted, and with the model.
// It continues where it ended, since the ledger only grows.
type audit struct {
	book  *book
	model *model
	// stored are the ids of the events by key; last is the highest of them.
	stored map[eventKey]int64
	last   int64
	// entered is the number of batches of the book that were read; open are the batches not yet
	// found to be accepted and stored.
	entered int
	open    []*batch
	// problems are the first few problems.
	problems []string
	// segments is the folder of segment files, or empty.
	segments string
	// each is eachEvent, unless a test changes what it returns.
	each func(ctx context.Context, tx *sql.Tx, project, after int64, visit func(*capture.Record) error) error
}

func (a *audit) eachEvent(ctx context.Context, tx *sql.Tx, project, after int64, visit func(*capture.Record) error) error {
	return sqlstore.EachEvent(ctx, tx, a.segments, project, after, visit)
}

func newAudit(b *book) *audit {
	// The definitions name the group type 0.
	a := &audit{book: b, model: newModel(projectID, []string{"company"}), stored: map[eventKey]int64{}}
	a.each = a.eachEvent
	return a
}

func (a *audit) problem(format string, args ...any) {
	if len(a.problems) < 10 {
		a.problems = append(a.problems, fmt.Sprintf(format, args...))
	}
}

// depth determines how much of the state is checked.
type depth int

const (
	events depth = iota // new events, and their persons
	people              // also persons and groups, and the consistency of all tables
)

// check fails the test if there is a problem with the stored state. No client may be sending.
func (a *audit) check(t testing.TB, db *sql.DB, how depth) {
	t.Helper()
	defer func() { _ = db.Close() }()
	a.read(t, db, how)
	if len(a.problems) > 0 {
		for _, p := range a.problems {
			t.Error(p)
		}
		t.FailNow()
	}
}

func (a *audit) read(t testing.TB, db *sql.DB, how depth) {
	t.Helper()
	tx, err := db.BeginTx(context.Background(), &sql.TxOptions{ReadOnly: true, Isolation: sql.LevelRepeatableRead})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	a.readEvents(t, tx)
	a.readBook()
	if how == people {
		a.comparePeople(t, tx)
		a.compareGroups(t, tx)
		a.compareCalls(t, tx)
		a.checkTablesAgree(t, tx)
	}
}

// readEvents replays the new events.
func (a *audit) readEvents(t testing.TB, tx *sql.Tx) {
	t.Helper()
	err := a.each(context.Background(), tx, projectID, a.last, func(r *capture.Record) error {
		e := storedEvent{ID: r.ID, UUID: r.UUID, Name: r.Name, DistinctID: r.DistinctID, Properties: r.Properties, Timestamp: r.Timestamp}
		e.Person.UUID, e.Person.CreatedAt, e.Person.Properties = uuidText(r.PersonID), r.PersonCreatedAt, r.PersonProperties
		e.Person.Mode = [...]string{"full", "propertyless", "force_upgrade"}[r.PersonMode]
		a.addEvent(&e)
		return nil
	})
	if err != nil {
		a.problem("reading events: %v", err)
	}
}

// addEvent processes the next stored event.
func (a *audit) addEvent(e *storedEvent) {
	a.last = e.ID
	key := eventKey{e.UUID, e.Name, e.DistinctID}
	if before, twice := a.stored[key]; twice {
		a.problem("event %s %q of %q is stored twice, as %d and %d", uuidText(e.UUID), e.Name, e.DistinctID, before, e.ID)
	}
	a.stored[key] = e.ID
	want, err := a.model.apply(e)
	if err != nil {
		a.problem("event %d: %v", e.ID, err)
		return
	}
	got := attribution{UUID: e.Person.UUID, Mode: e.Person.Mode, CreatedAt: e.Person.CreatedAt, Properties: parse(e.Person.Properties)}
	if !reflect.DeepEqual(want, got) { // cmp.Diff would need most of the test's time
		a.problem("event %d, %q of %q, properties %s: its person (-replay +stored):\n%s", e.ID, e.Name, e.DistinctID, cutText(e.Properties), cmp.Diff(want, got))
	}
}

// readBook compares the events with the batches that were sent: accepted events are stored, a
// request is stored completely and in its order or not at all, and there are no other events.
func (a *audit) readBook() {
	batches := a.book.all()
	a.open = append(a.open, batches[a.entered:]...)
	a.entered = len(batches)
	a.open = slices.DeleteFunc(a.open, func(b *batch) bool {
		there, inOrder, last := 0, true, int64(0)
		for _, key := range b.events {
			if id, ok := a.stored[key]; ok {
				there++
				inOrder = inOrder && id > last
				last = id
			}
		}
		answered := b.isAnswered()
		switch {
		case answered && there < len(b.events):
			a.problem("of a request with %d events that was answered 200, %d are stored, first event %s", len(b.events), there, uuidText(b.events[0].uuid))
		case there != 0 && there < len(b.events):
			a.problem("of a request with %d events that was not answered 200, %d are stored: all or none was to be", len(b.events), there)
		case !inOrder:
			a.problem("the events of a request are not in its order, first event %s", uuidText(b.events[0].uuid))
		}
		return answered && there == len(b.events)
	})
}

// checkNoExtraEvents fails the test if an event is stored that was not sent.
func (a *audit) checkNoExtraEvents(t testing.TB) {
	t.Helper()
	if key, id, ok := a.extraEvent(); ok {
		t.Fatalf("event %d, %q of %q, is stored and was never sent", id, key.name, key.distinctID)
	}
}

// extraEvent returns an event that was not sent. ok is false if there is none.
func (a *audit) extraEvent() (key eventKey, id int64, ok bool) {
	sent := map[eventKey]bool{}
	for _, b := range a.book.all() {
		for _, key := range b.events {
			sent[key] = true
		}
	}
	for key, id := range a.stored {
		if !sent[key] {
			return key, id, true
		}
	}
	return key, 0, false
}

func (a *audit) comparePeople(t testing.TB, tx *sql.Tx) {
	t.Helper()
	stored, owners := map[string]*modelPerson{}, map[string]string{}
	var uuid []byte
	var created, identified int64
	var properties, id string
	rows(t, tx, `SELECT uuid, created_at, is_identified, properties FROM persons WHERE project_id = $1`, []any{projectID},
		[]any{&uuid, &created, &identified, &properties}, func() {
			stored[uuidText([16]byte(uuid))] = &modelPerson{
				UUID: uuidText([16]byte(uuid)), CreatedAt: micros(created), Identified: identified != 0, Properties: parse(properties),
			}
		})
	rows(t, tx, `SELECT distinct_id, person_uuid FROM distinct_ids WHERE project_id = $1`, []any{projectID},
		[]any{&id, &uuid}, func() {
			if uuid == nil {
				owners[id] = "nobody"
				return
			}
			owners[id] = uuidText([16]byte(uuid))
		})

	want, wantOwners := map[string]*modelPerson{}, map[string]string{}
	for id := range a.model.personless {
		wantOwners[id] = "nobody"
	}
	for id, p := range a.model.owner {
		wantOwners[id] = p.UUID
		want[p.UUID] = &modelPerson{UUID: p.UUID, CreatedAt: p.CreatedAt, Identified: p.Identified, Properties: p.Properties}
	}
	a.compare("distinct ids", wantOwners, owners)
	a.compare("persons", want, stored)
}

func (a *audit) compareGroups(t testing.TB, tx *sql.Tx) {
	t.Helper()
	var types []string
	var name, key, properties string
	var number int
	var created int64
	rows(t, tx, `SELECT type_index, name FROM group_types WHERE project_id = $1 ORDER BY type_index`, []any{projectID},
		[]any{&number, &name}, func() { types = append(types, name) })
	stored := map[modelGroupID]*modelGroup{}
	rows(t, tx, `SELECT type_index, key, created_at, properties FROM stored_groups WHERE project_id = $1`, []any{projectID},
		[]any{&number, &key, &created, &properties}, func() {
			stored[modelGroupID{number, key}] = &modelGroup{CreatedAt: micros(created), Properties: parse(properties)}
		})
	a.compare("group types", a.model.types, types)
	a.compare("groups", a.model.groups, stored)
}

func (a *audit) compareCalls(t testing.TB, tx *sql.Tx) {
	t.Helper()
	stored := map[[2]string]int64{}
	var flag, value string
	var n int64
	rows(t, tx, `SELECT flag_key, value, calls FROM flag_calls WHERE project_id = $1`, []any{projectID},
		[]any{&flag, &value, &n}, func() { stored[[2]string{flag, value}] = n })
	a.compare("reads of flags", a.model.calls, stored)
}

// checkTablesAgree compares tables that must be consistent with one another.
func (a *audit) checkTablesAgree(t testing.TB, tx *sql.Tx) {
	t.Helper()
	for _, law := range []struct{ what, one, other string }{
		{"the counter of persons and the persons",
			`SELECT COALESCE(SUM(n), 0) FROM counters WHERE name = 'persons'`, `SELECT COUNT(*) FROM persons`},
		// Chunks and columns of blocks in segments, which have the level 16, may remain for some time.
		{"the events of chunks and those of blocks and new chunks", `SELECT COALESCE(SUM(events), 0) FROM event_chunks
			WHERE first_id > (SELECT COALESCE(MAX(last_id), 0) FROM event_segments WHERE event_segments.project_id = event_chunks.project_id)`,
			`SELECT (SELECT COALESCE(SUM(events), 0) FROM event_blocks WHERE level < 16) + (SELECT COALESCE(SUM(events), 0) FROM event_new_chunks)`},
		{"the blocks and their columns", `SELECT COUNT(*) FROM event_blocks WHERE level < 16`,
			`SELECT COUNT(*) FROM event_columns WHERE first_id NOT IN (SELECT first_id FROM event_blocks WHERE level = 16)`},
		{"the filters and their blocks", `SELECT COUNT(*) FROM event_filters`,
			`SELECT COUNT(*) FROM event_filters f JOIN event_blocks b ON b.first_id = f.first_id`},
		{"the blocks that are not in segments and their hashes", `SELECT COUNT(*) FROM event_blocks WHERE level < 16`,
			`SELECT COUNT(*) FROM event_hashes h JOIN event_blocks b ON b.first_id = h.first_id WHERE b.level < 16`},
		{"nobody's and somebody's ids, and all", `SELECT COUNT(*) FROM distinct_ids`,
			`SELECT COUNT(*) FROM distinct_ids d WHERE d.person_uuid IS NULL OR EXISTS
			(SELECT 1 FROM persons p WHERE p.project_id = d.project_id AND p.uuid = d.person_uuid)`},
	} {
		if one, second := number(t, tx, law.one), number(t, tx, law.other); one != second {
			a.problem("%s do not agree: %d and %d", law.what, one, second)
		}
	}
}

func (a *audit) compare(what string, replay, stored any) {
	if !reflect.DeepEqual(replay, stored) {
		diff := cmp.Diff(replay, stored)
		a.problem("%s (-replay +stored):\n%s", what, diff[:min(len(diff), 4000)])
	}
}

// isIntact runs SQLite's integrity check.
func isIntact(t testing.TB, dir string) {
	t.Helper()
	db := openFolder(t, dir)
	defer func() { _ = db.Close() }()
	var result string
	if err := db.QueryRow(`PRAGMA integrity_check`).Scan(&result); err != nil || result != "ok" {
		t.Fatalf("the file is damaged: %s %v", result, err)
	}
}

// rows runs a query and calls each after every row.
func rows(t testing.TB, tx *sql.Tx, query string, args, into []any, each func()) {
	t.Helper()
	found, err := tx.Query(query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = found.Close() }()
	for found.Next() {
		if err := found.Scan(into...); err != nil {
			t.Fatal(err)
		}
		each()
	}
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
}

func number(t testing.TB, tx *sql.Tx, query string) (n int64) {
	t.Helper()
	rows(t, tx, query, nil, []any{&n}, func() {})
	return n
}

func micros(us int64) time.Time { return time.UnixMicro(us).UTC() }

// parse reads a JSON object. For other text it returns an object that equals no other.
func parse(text string) map[string]any {
	o := map[string]any{}
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return map[string]any{"no JSON object": text}
	}
	return o
}

func cutText(s string) string { return s[:min(len(s), 300)] }

package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/pgtest"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/organizations"
	"github.com/bunting-flags/bunting/management/rooms"
)

// openSeveral opens several stores on one PostgreSQL database at the same time.
func openSeveral(t *testing.T, address string, n int) []*Store {
	t.Helper()
	stores := make([]*Store, n)
	pgtest.Concurrently(t, n, func(i int) (err error) {
		stores[i], err = Open(context.Background(), address, Config{})
		return err
	})
	t.Cleanup(func() {
		for _, s := range stores {
			_ = s.Close()
		}
	})
	return stores
}

// Servers that start at the same time on an empty database migrate it once: each
// version is recorded once, and all stores work.
func TestServers_MigrateOnce(t *testing.T) {
	stores := openSeveral(t, pgtest.Postgres(t), 6)
	var versions, distinct int
	if err := stores[0].db.Read.QueryRow(`SELECT COUNT(*), COUNT(DISTINCT version_id) FROM goose_db_version`).Scan(&versions, &distinct); err != nil {
		t.Fatal(err)
	}
	if versions != distinct {
		t.Errorf("%d versions are written down, %d of them different", versions, distinct)
	}
	for i, s := range stores {
		if err := commitEvents(s, 10*i, 10); err != nil {
			t.Error(err)
		}
	}
}

// A server continues to run after another one has migrated the schema further, as in a
// rolling upgrade; only its next start is refused.
func TestServers_NewerSchemaWhileRunning(t *testing.T) {
	one, other := twoInstances(t, nil)
	if _, err := other.db.Write.Exec(`ALTER TABLE projects ADD COLUMN of_the_future TEXT NOT NULL DEFAULT ''; INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, '1')`); err != nil {
		t.Fatal(err)
	}
	if err := commitEvents(one.Store, 0, 10); err != nil {
		t.Error(err)
	}
	one.apply(t, sharedFile{Cohort: "silver"}.String())
	waitFor(t, other, readDecision, "always")
}

// Of several servers that start at the same time without definitions, one creates the
// first project and returns its keys (decision 21).
func TestServers_Decision21_BootstrapOnce(t *testing.T) {
	stores := openSeveral(t, postgresURL(t), 4)
	made := make([]*BootstrapResult, len(stores))
	pgtest.Concurrently(t, len(stores), func(i int) (err error) {
		if made[i], err = stores[i].Bootstrap(context.Background(), BootstrapConfig{OwnerEmail: "owner@example.com"}); err != nil {
			return err
		}
		m, err := rooms.Open(rooms.Config{Store: managementStore{stores[i]}})
		if err != nil {
			return err
		}
		return m.Organizations.Adopt(context.Background(), organizations.Adoption{Email: "owner@example.com"})
	})
	prints := 0
	for _, b := range made {
		if b != nil {
			prints++
		}
	}
	if prints != 1 {
		t.Errorf("%d servers have a key to print", prints)
	}
	for table, want := range map[string]int{
		"projects": 1, "organizations": 1, "api_keys": 1, "records WHERE kind = 'user'": 1, "records WHERE kind = 'member'": 1,
	} {
		if n := countRows(t, stores[0], table); n != want {
			t.Errorf("%s: %d, want %d", table, n, want)
		}
	}
}

// Servers that start at the same time with the same definitions file apply it once.
func TestServers_SameFileOnce(t *testing.T) {
	for range 4 {
		stores := openSeveral(t, postgresURL(t), 4)
		text := []byte(sharedFile{Keys: `{"key":"phx_new","scopes":["*"]}`, Members: `"ann"`}.String())
		f, err := flags.ParseFile(text)
		if err != nil {
			t.Fatal(err)
		}
		pgtest.Concurrently(t, len(stores), func(i int) error {
			return stores[i].ApplyFile(context.Background(), "a.json", f, text)
		})
		for table, want := range map[string]int{"projects": 1, "organizations": 1, "api_keys": 1, "flag_records": 5, "cohort_members": 1} {
			if n := countRows(t, stores[0], table); n != want {
				t.Errorf("%s: %d, want %d", table, n, want)
			}
		}
		p, err := stores[0].ProjectByKey(t.Context(), "phc_a")
		if err != nil || p.Revision != 1 {
			t.Errorf("revision %d, %v: what has not changed is not written", p.Revision, err)
		}
	}
}

// A start with a file and a start without one at the same time create one project with
// id 1, in either order.
func TestServers_FileAndBootstrap(t *testing.T) {
	stores := openSeveral(t, postgresURL(t), 2)
	text := []byte(`{"projects":[{"id":7,"api_key":"phc_a"}]}`)
	f, err := flags.ParseFile(text)
	if err != nil {
		t.Fatal(err)
	}
	pgtest.Concurrently(t, 2, func(i int) error {
		if i == 0 {
			return stores[0].ApplyFile(context.Background(), "a.json", f, text)
		}
		_, err := stores[1].Bootstrap(context.Background(), BootstrapConfig{OwnerEmail: "owner@example.com"})
		return err
	})
}

// Two servers process due scheduled changes at the same time: each change is applied
// once.
func TestServers_ScheduledChangesOnce(t *testing.T) {
	stores := openSeveral(t, postgresURL(t), 2)
	b, err := stores[0].Bootstrap(t.Context(), BootstrapConfig{OwnerEmail: "owner@example.com"})
	if err != nil {
		t.Fatal(err)
	}
	var managers [2]*rooms.Rooms
	for i, s := range stores {
		if managers[i], err = rooms.Open(rooms.Config{Store: managementStore{s}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := managers[0].Organizations.Adopt(t.Context(), organizations.Adoption{Email: "owner@example.com"}); err != nil {
		t.Fatal(err)
	}
	const changes = 20
	due := schedule(t, managers[0], b.PersonalKey, changes)
	done := make([]int, 8)
	pgtest.Concurrently(t, len(done), func(i int) (err error) {
		done[i], err = managers[i%2].Changes.Scheduled.RunDue(context.Background())
		return err
	})
	sum := 0
	for _, n := range done {
		sum += n
	}
	if sum != changes {
		t.Errorf("%d changes were made, want %d: %v", sum, changes, done)
	}
	conditions, versions := due()
	if conditions != 1+changes || versions != 1+changes {
		t.Errorf("the flag has %d conditions in version %d, want %d", conditions, versions, 1+changes)
	}
}

// Two servers delete old events at the same time, while a person is erased.
func TestServers_RetainTogether(t *testing.T) {
	stores := openSeveral(t, postgresURL(t), 2)
	const events = 3000
	for n := 0; n < events; n += 500 {
		if err := commitEvents(stores[0], n, 500); err != nil {
			t.Fatal(err)
		}
	}
	before := database.FromMicros(int64(events/2) * 1e6)
	pgtest.Concurrently(t, 4, func(i int) error {
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
			if _, err := stores[i%2].DeleteEventsBefore(context.Background(), before, events); err != nil {
				return err
			}
			if n := countEvents(t, stores[0]); n <= events/2 {
				return nil
			}
		}
		return fmt.Errorf("there are still %d events", countEvents(t, stores[0]))
	})
	keys, _ := eventsFrom(0, events)
	if n, keys := countEvents(t, stores[0]), countStored(t, stores[0], keys); n != events/2 || keys != events/2 {
		t.Errorf("%d events and %d keys, want %d", n, keys, events/2)
	}
}

// The events that a server records after another one has erased those before them have the
// properties of their person (§8.3 of capture).
func TestServers_RecordedAfterErasing(t *testing.T) {
	stores := openSeveral(t, postgresURL(t), 2)
	id := capture.PersonID(1, "ann")
	event := func(s *Store, n int) {
		t.Helper()
		e := capture.Record{
			ProjectID: 1, UUID: capture.PersonID(1, fmt.Sprint("event ", n)), Name: "a", DistinctID: "ann", Properties: "{}",
			Timestamp: database.FromMicros(int64(n)), CreatedAt: database.FromMicros(int64(n)), PersonID: id, PersonProperties: `{"plan":"gold"}`,
		}
		p := capture.Person{UUID: id, Version: 1}
		err := s.Commit(t.Context(), []int64{1}, func(tx capture.Tx) error {
			if _, err := tx.Claim([]capture.EventKey{{ProjectID: 1, UUID: e.UUID, Name: e.Name, DistinctID: e.DistinctID}}); err != nil {
				return err
			}
			people, err := tx.People(1, []string{"ann"})
			if err != nil {
				return err
			}
			c := capture.Changes{Events: []capture.Record{e}}
			if people[0].Person == nil {
				c.Persons = []capture.ProjectPerson{{ProjectID: 1, Person: &p, IsNew: true}}
				c.IDs = []capture.ProjectID{{ProjectID: 1, DistinctID: "ann", Person: id}}
			}
			return tx.Save(&c)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for n, erase := range []func(tx capture.Tx) error{
		func(tx capture.Tx) error {
			_, _, err := tx.ErasePerson(1, id, true)
			return err
		},
		func(tx capture.Tx) error { _, err := tx.EraseEvents(1, id); return err },
	} {
		event(stores[0], 10*n)
		event(stores[0], 10*n+1)
		if err := stores[1].Commit(t.Context(), []int64{1}, erase); err != nil {
			t.Fatal(err)
		}
		event(stores[0], 10*n+2)
		found, err := stores[1].Ledger(t.Context(), 1, 0, 10)
		if err != nil || len(found) != 1 || found[0].PersonProperties != `{"plan":"gold"}` {
			t.Errorf("erasing %d: %+v, %v", n, found, err)
		}
	}
}

// Quotas with several servers (flags/serving/quota.go): exactly the limit is allowed.
func TestServers_Decision11_QuotaIsExact(t *testing.T) {
	address := postgresURL(t)
	servers := []*instance{startInstance(t, address, nil), startInstance(t, address, nil)}
	const limit = 1234 // not a multiple of the size of a lot
	servers[0].apply(t, sharedFile{Quota: fmt.Sprint(limit)}.String())
	answered := make([]int, 8)
	pgtest.Concurrently(t, len(answered), func(i int) error {
		var out serving.Answer
		for range 400 {
			err := servers[i%2].decider.Decide(context.Background(), &serving.Request{APIKey: "phc_a", Subject: flags.Subject{DistinctID: "ann"}}, &out)
			if err != nil {
				return err
			}
			if !out.QuotaLimited {
				answered[i]++
			}
		}
		return nil
	})
	sum := 0
	for _, n := range answered {
		sum += n
	}
	if sum != limit {
		t.Errorf("two servers have answered %d requests, the limit is %d", sum, limit)
	}
	used, err := servers[0].Used(t.Context(), "org", "feature_flags", time.Now())
	if err != nil || used != limit {
		t.Errorf("%d are counted, %v", used, err)
	}
}

// schedule creates a flag with n due changes, and returns a function that returns the
// number of the flag's conditions and its version.
func schedule(t *testing.T, m *rooms.Rooms, key string, changes int) func() (conditions, version int) {
	t.Helper()
	caller, err := m.Authenticate(t.Context(), key, "")
	if err != nil {
		t.Fatal(err)
	}
	scope, err := m.Project(t.Context(), caller, "1")
	if err != nil {
		t.Fatal(err)
	}
	body := func(text string) (b management.Body) {
		if err := json.Unmarshal([]byte(text), &b.Members); err != nil {
			t.Fatal(err)
		}
		return b
	}
	f, err := m.FeatureFlags.Create(t.Context(), scope, body(`{"key":"a","name":"","filters":{"groups":[{"rollout_percentage":1}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	for range changes {
		_, err := m.Changes.Scheduled.Create(t.Context(), scope, body(fmt.Sprintf(`{"record_id":%d,"model_name":"FeatureFlag","scheduled_at":"2026-01-01T00:00:00Z",
			"payload":{"operation":"add_release_condition","value":{"groups":[{"rollout_percentage":2}]}}}`, f.ID)))
		if err != nil {
			t.Fatal(err)
		}
	}
	return func() (conditions, version int) {
		t.Helper()
		f, err := m.FeatureFlags.Get(t.Context(), scope, f.ID)
		if err != nil {
			t.Fatal(err)
		}
		var filters struct{ Groups []json.RawMessage }
		if err := json.Unmarshal(f.Filters, &filters); err != nil {
			t.Fatal(err)
		}
		return len(filters.Groups), int(f.Version)
	}
}

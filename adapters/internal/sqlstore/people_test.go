package sqlstore

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/bunting-flags/bunting/adapters/internal/pgtest"
	"github.com/bunting-flags/bunting/adapters/storetest"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
)

// sqliteStores open a new store each time.
var sqliteStores = map[string]func(testing.TB) *Store{
	"memory": func(t testing.TB) *Store { return openStore(t, "sqlite::memory:") },
	"disk":   func(t testing.TB) *Store { return openStore(t, "sqlite:"+filepath.Join(t.TempDir(), "store.db")) },
}

func openStore(t testing.TB, url string) *Store {
	t.Helper()
	s, err := Open(context.Background(), pgtest.SQLiteMigrated(t, url, Open), Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestStore_Reading(t *testing.T) {
	for name, open := range sqliteStores {
		t.Run(name, func(t *testing.T) { readingContract(t, open) })
	}
}

// readingContract are the contract tests for readers.
func readingContract(t *testing.T, open func(testing.TB) *Store) {
	t.Run("People", func(t *testing.T) {
		storetest.People(t, func(t testing.TB) storetest.PeopleStore { return open(t) })
	})
	t.Run("Members", func(t *testing.T) {
		storetest.Members(t, func(t testing.TB) storetest.MembersStore { return open(t) })
	})
	t.Run("Usage", func(t *testing.T) {
		storetest.Usage(t, func(t testing.TB) storetest.UsageStore { return open(t) })
	})
	t.Run("Definitions", func(t *testing.T) {
		storetest.Definitions(t, func(t testing.TB) storetest.DefinitionsStore { return open(t) })
	})
	t.Run("History", func(t *testing.T) {
		storetest.History(t, func(t testing.TB) storetest.HistoryStore { return open(t) })
	})
	t.Run("Management", func(t *testing.T) {
		storetest.Management(t, func(t testing.TB) storetest.ManagementStore { return managementStore{open(t)} })
		storetest.ManagementCalls(t, managementStore{open(t)})
	})
}

// BenchmarkStored measures a cached person, and one that is read from the database.
func BenchmarkStored(b *testing.B) {
	s := sqliteStores["disk"](b)
	ctx := context.Background()
	object, err := capture.ParseObject(`{"plan":"pro","email":"a@example.com","visits":12,"$browser":"Firefox"}`)
	if err != nil {
		b.Fatal(err)
	}
	uuid := capture.PersonID(1, "ann")
	err = s.Commit(ctx, []int64{1}, func(tx capture.Tx) error {
		return tx.Save(&capture.Changes{
			Persons: []capture.ProjectPerson{{ProjectID: 1, IsNew: true, Person: &capture.Person{UUID: uuid, Properties: object}}},
			IDs:     []capture.ProjectID{{ProjectID: 1, DistinctID: "ann", Person: uuid}},
		})
	})
	if err != nil {
		b.Fatal(err)
	}
	q := serving.Query{ProjectID: 1, DistinctID: "ann", Needs: &flags.Needs{Person: []string{"plan"}}}
	for name, forget := range map[string]bool{"remembered": false, "read": true} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if forget {
					s.people.ForgetPersons(1, []capture.UUID{uuid})
				}
				if found, err := s.Stored(ctx, q); err != nil || found.Person["plan"] != "pro" {
					b.Fatal(found, err)
				}
			}
		})
	}
}

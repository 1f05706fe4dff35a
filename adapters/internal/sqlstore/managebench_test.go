package sqlstore

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/rooms"
)

// benchRecords is the number of records of each kind in BenchmarkManagement.
const benchRecords = 100_000

// benchManaged returns a store on disk with 100,000 records of a kind with one parent,
// of about 600 bytes each, and as many flags in a project.
func benchManaged(b *testing.B) managementStore {
	b.Helper()
	s := managementStore{sqliteStores["disk"](b)}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	data := []byte(`{"name":"a dashboard","properties":` + benchProperties[:550] + `"}}`)
	for from := 0; from < benchRecords; from += 5000 {
		err := s.Write(context.Background(), func(tx rooms.Tx) error {
			if from == 0 {
				if err := tx.PutProject(&management.ProjectRecord{ID: 1, Organization: "o", Name: "p", APIKey: "phc_1", CreatedAt: at}); err != nil {
					return err
				}
			}
			for n := from; n < from+5000; n++ {
				id := fmt.Sprintf("%08d", n*7919%benchRecords)
				r := management.Record{Kind: "dashboard", Parent: "1", ID: id, Other: "o", Sort: fmt.Sprintf("%020d", n), Unique: "unique " + id, Data: data}
				if err := tx.Put(&r); err != nil {
					return err
				}
				d := management.Definition{Key: "flag-" + id, Record: data, Meta: []byte("{}")}
				if err := tx.PutDefinition(management.FlagDefinition, 1, &d); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	return s
}

// Reading one of 100,000 records takes less than 2 ms, and a page of 100 of them less
// than 10 ms.
func BenchmarkManagement_Read(b *testing.B) {
	s := benchManaged(b)
	list := func(q management.Query) func(tx rooms.Tx, n int) (int, error) {
		return func(tx rooms.Tx, _ int) (int, error) {
			q.Kind, q.Limit = "dashboard", 100
			page, count, err := tx.List(q)
			if count != benchRecords {
				return 0, fmt.Errorf("%d records are counted, %w", count, err)
			}
			return len(page), err
		}
	}
	for _, bb := range []struct {
		name string
		want int
		read func(tx rooms.Tx, n int) (int, error)
	}{
		{"one record", 1, func(tx rooms.Tx, n int) (int, error) {
			r, err := tx.Get("dashboard", "1", fmt.Sprintf("%08d", n))
			return boolToCount(r != nil), err
		}},
		{"one by its name", 1, func(tx rooms.Tx, n int) (int, error) {
			r, err := tx.Find("dashboard", fmt.Sprintf("unique %08d", n))
			return boolToCount(r != nil), err
		}},
		{"one flag", 1, func(tx rooms.Tx, n int) (int, error) {
			d, err := tx.Definition(management.FlagDefinition, 1, int64(n+1))
			return boolToCount(d != nil), err
		}},
		{"one flag by its key", 1, func(tx rooms.Tx, n int) (int, error) {
			d, err := tx.DefinitionByKey(management.FlagDefinition, 1, fmt.Sprintf("flag-%08d", n))
			return boolToCount(d != nil), err
		}},
		{"100 records", 100, list(management.Query{Parent: "1"})},
		{"the last 100 records", 100, list(management.Query{Parent: "1", Descending: true})},
		{"100 records under another place", 100, list(management.Query{Other: "o"})},
		{"100 flags", 100, func(tx rooms.Tx, _ int) (int, error) {
			page, count, err := tx.Definitions(management.DefinitionQuery{Kind: management.FlagDefinition, Project: 1, Limit: 100})
			if count != benchRecords {
				return 0, fmt.Errorf("%d flags are counted, %w", count, err)
			}
			return len(page), err
		}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			n := 0
			for b.Loop() {
				n = (n*31 + 17) % benchRecords
				err := s.Read(context.Background(), func(tx rooms.Tx) error {
					got, err := bb.read(tx, n)
					if err == nil && got != bb.want {
						err = fmt.Errorf("%d were found, want %d", got, bb.want)
					}
					return err
				})
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A change of a flag of few: it is read, written and logged, like through the API.
func BenchmarkManagement_Write(b *testing.B) {
	s := managementStore{sqliteStores["memory"](b)} // without the waits for a disk
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	d := management.Definition{Key: "flag", Record: []byte(`{"name":"a flag"}`), Meta: []byte("{}")}
	err := s.Write(context.Background(), func(tx rooms.Tx) error {
		if err := tx.PutProject(&management.ProjectRecord{ID: 1, Organization: "o", Name: "p", APIKey: "phc_1", CreatedAt: at}); err != nil {
			return err
		}
		return tx.PutDefinition(management.FlagDefinition, 1, &d)
	})
	if err != nil {
		b.Fatal(err)
	}
	for n := 0; b.Loop(); n++ {
		err := s.Write(context.Background(), func(tx rooms.Tx) error {
			stored, err := tx.DefinitionByKey(management.FlagDefinition, 1, d.Key)
			if err != nil {
				return err
			}
			if err := tx.PutDefinition(management.FlagDefinition, 1, stored); err != nil {
				return err
			}
			id := fmt.Sprintf("%08d", n%1000)
			return tx.Put(&management.Record{Kind: "activity", Parent: "1", ID: id, Sort: id, Data: d.Record})
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

func boolToCount(isFound bool) int {
	if isFound {
		return 1
	}
	return 0
}

package sqlstore

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/capture"
)

// spec/management.md §5.3: every distinct id except one gets a person of its own.
func TestManagement_5_3_Split(t *testing.T) {
	for name, open := range allStores {
		t.Run(name, func(t *testing.T) {
			s, ctx := open(t), context.Background()
			created := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
			id := capture.PersonID(1, "a")
			properties, err := capture.ParseObject(`{"plan":"pro"}`)
			if err != nil {
				t.Fatal(err)
			}
			person := capture.StoredPerson{Person: capture.Person{UUID: id, CreatedAt: created, Properties: properties}, DistinctIDs: []string{"a", "b", "c"}}
			if err := peopleOf(s).Import(ctx, 1, person); err != nil {
				t.Fatal(err)
			}
			split := func(main string, ids ...string) (found bool) {
				if err := s.Commit(ctx, []int64{1}, func(tx capture.Tx) (err error) {
					found, err = capture.SplitPerson(tx, 1, id, ids, main)
					return err
				}); err != nil {
					t.Fatal(err)
				}
				return found
			}
			if split("x", "a", "b", "c", "x") || split("", "x") {
				t.Error("an id of nobody is split")
			}
			if !split("b", "a", "b", "c") {
				t.Fatal("the person is not found")
			}
			uuids := map[capture.UUID]bool{}
			for _, of := range []string{"a", "b", "c"} {
				p, err := s.PersonForDistinctID(ctx, 1, of)
				if err != nil || p == nil {
					t.Fatal(of, err)
				}
				uuids[p.UUID] = true
				if diff := cmp.Diff([]string{of}, p.DistinctIDs); diff != "" {
					t.Error(diff)
				}
				want := "{}"
				if of == "b" {
					want = `{"plan":"pro"}`
				}
				if p.Properties.String() != want || !p.CreatedAt.Equal(created) || (p.UUID == id) != (of == "b") || p.Version != 1 {
					t.Errorf("%s: %+v", of, p)
				}
			}
			if n, err := s.CountPeople(ctx, 1); err != nil || n != 3 || len(uuids) != 3 {
				t.Errorf("%d persons are counted, there are %d, %v; want 3", n, len(uuids), err)
			}
		})
	}
}

// spec/management.md §5.4.
func TestManagement_5_4_UnsetGroupProperty(t *testing.T) {
	for name, open := range allStores {
		t.Run(name, func(t *testing.T) {
			s, ctx := open(t), context.Background()
			group := capture.GroupID{Type: 0, Key: "acme"}
			properties, err := capture.ParseObject(`{"a":1,"b":null}`)
			if err != nil {
				t.Fatal(err)
			}
			people := peopleOf(s)
			if err := people.ImportGroup(ctx, 1, "company", capture.Group{GroupID: group, CreatedAt: time.Unix(1, 0), Properties: properties}); err != nil {
				t.Fatal(err)
			}
			for _, step := range []struct {
				key, name, left string
				found           bool
			}{
				{"acme", "c", `{"a":1,"b":null}`, false},
				{"nobody", "a", `{"a":1,"b":null}`, false},
				{"acme", "b", `{"a":1}`, true},
				{"acme", "b", `{"a":1}`, false},
			} {
				_, err := people.UnsetGroup(ctx, 1, capture.GroupID{Key: step.key}, step.name)
				var rejects *capture.Refusal
				g, readErr := s.Group(ctx, 1, group)
				if (err == nil) != step.found || err != nil && !errors.As(err, &rejects) || readErr != nil || g.Properties.String() != step.left {
					t.Errorf("%+v: %v %v %v", step, g, err, readErr)
				}
			}
		})
	}
}

// transactor changes persons in commits of their own.
type transactor struct{ *Store }

func (b transactor) Transact(ctx context.Context, project int64, work func(capture.Tx) error) error {
	return b.Commit(ctx, []int64{project}, work)
}

func peopleOf(s *Store) *capture.People {
	return &capture.People{History: s, Transactor: transactor{s}}
}

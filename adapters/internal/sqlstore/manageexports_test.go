package sqlstore

import (
	"context"
	"fmt"
	"math/rand"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/events"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/management/batchexports"
)

// exportTime is the time of arrival of an event, in seconds.
func exportTime(second int64) time.Time { return time.Unix(1_700_000_000+second, 0).UTC() }

// openExports returns a store with events of the projects 1 and 2 that arrived about a
// second apart, with their own times in random order; all except the last ones are
// indexed, and sealed if the store has segments.
func openExports(t *testing.T, open func(testing.TB) *Store, total int) (exportStore, []capture.Record) {
	t.Helper()
	s, random := exportStore{Store: open(t)}, rand.New(rand.NewSource(1))
	ctx := context.Background()
	var all []capture.Record
	for first := 0; first < total; first += 500 {
		keys, recorded := eventsFrom(first+1, min(500, total-first))
		var projects []int64
		for i := range recorded {
			e := &recorded[i]
			e.ProjectID = int64(1 + random.Intn(2))
			keys[i].ProjectID = e.ProjectID
			e.CreatedAt = exportTime(int64(first + i - random.Intn(5)))
			e.Timestamp = exportTime(int64(random.Intn(total)))
			if !slices.Contains(projects, e.ProjectID) {
				projects = append(projects, e.ProjectID)
			}
		}
		slices.Sort(projects)
		err := s.Store.Commit(ctx, projects, func(tx capture.Tx) error {
			if _, err := tx.Claim(keys); err != nil {
				return err
			}
			return tx.Save(&capture.Changes{Events: recorded})
		})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, recorded...)
		if first < total-1000 {
			for more := true; more; {
				var err error
				if more, err = s.Store.Index(ctx, false); err != nil {
					t.Fatal(err)
				}
				if s.Store.events.Last.Load()-s.Store.events.Indexed.Load() < events.IndexChunk {
					break
				}
			}
		}
	}
	if s.Store.files != nil {
		sealAll(t, s.Store)
	}
	return s, all
}

// A span contains each of its events exactly once.
func TestExportStore_Events(t *testing.T) {
	const total = 2*events.IndexChunk + 3000
	for name, open := range withSegments(allStores) {
		t.Run(name, func(t *testing.T) {
			s, all := openExports(t, open, total)
			ctx := context.Background()
			horizon, err := s.Horizon(ctx, 1)
			if err != nil || horizon != all[total-1].ID {
				t.Fatalf("horizon %d, %v, want %d", horizon, err, all[total-1].ID)
			}
			for what, span := range map[string]batchexports.Span{
				"everything":    {UpTo: horizon},
				"places":        {After: all[999].ID, UpTo: all[9999].ID},
				"coming in":     {UpTo: horizon, Before: exportTime(12_000), DoneUpTo: all[9999].ID, DoneBefore: exportTime(9_000)},
				"time":          {UpTo: horizon, From: exportTime(500), To: exportTime(5_000)},
				"time, a part":  {UpTo: all[9999].ID, From: exportTime(500), To: exportTime(5_000)},
				"nothing":       {After: horizon, UpTo: horizon},
				"open from":     {UpTo: horizon, To: exportTime(5_000)},
				"not indexed":   {After: all[total-600].ID, UpTo: horizon},
				"time, at once": {UpTo: horizon, From: exportTime(7), To: exportTime(8)},
			} {
				var want, got []int64
				for i := range all {
					e := &batchexports.Event{ID: all[i].ID, Timestamp: all[i].Timestamp, CreatedAt: all[i].CreatedAt}
					if all[i].ProjectID == 1 && span.Contains(e) {
						want = append(want, e.ID)
					}
				}
				err := s.Events(ctx, 1, span, func(e *batchexports.Event) error {
					got = append(got, e.ID)
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				slices.Sort(got)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s: %d events, want %d (-want +got):\n%s", what, len(got), len(want), diff[:min(len(diff), 2000)])
				}
			}
		})
	}
}

func TestExportStore_Places(t *testing.T) {
	const total = 5000
	for name, open := range withSegments(allStores) {
		t.Run(name, func(t *testing.T) {
			s, all := openExports(t, open, total)
			ctx := context.Background()
			horizon := all[total-1].ID
			for _, second := range []int64{-10, 0, 1, 777, 2500, total - 1, total + 10} {
				when := exportTime(second)
				got, err := s.Boundary(ctx, when, horizon)
				if err != nil {
					t.Fatal(err)
				}
				// Times of arrival may differ from the order by up to 5 seconds.
				if want := min(max(second, 0), total); got < all[0].ID-1 || got-(all[0].ID-1) < want-6 || got-(all[0].ID-1) > want+6 {
					t.Errorf("second %d: boundary %d, want about %d", second, got, want+all[0].ID-1)
				}
				after := max(got-100, 0)
				want := horizon
				for i := range all {
					if all[i].ProjectID == 1 && all[i].ID > after && !all[i].CreatedAt.Before(when) {
						want = all[i].ID - 1
						break
					}
				}
				if got, err := s.Passed(ctx, 1, after, horizon, when); err != nil || got != want {
					t.Errorf("second %d: passed %d, %v, want %d", second, got, err, want)
				}
			}
			first := exportTime(total)
			for i := range all {
				if all[i].ProjectID == 1 && all[i].Timestamp.Before(first) {
					first = all[i].Timestamp
				}
			}
			if got, some, err := s.FirstEvent(ctx, 1); err != nil || !some || !got.Equal(first) {
				t.Errorf("first event %s, %v, %v, want %s", got, some, err, first)
			}
			if _, some, err := s.FirstEvent(ctx, 3); err != nil || some {
				t.Errorf("first event of nobody: %v, %v", some, err)
			}
			if _, some, err := s.FirstPerson(ctx, 1); err != nil || some {
				t.Errorf("first person of nobody: %v, %v", some, err)
			}
		})
	}
}

// Persons are found by their changes, including changes without an event, and by the
// time of their creation.
func TestExportStore_Persons(t *testing.T) {
	for name, open := range allStores {
		t.Run(name, func(t *testing.T) {
			s, ctx := exportStore{Store: open(t)}, context.Background()
			var places []int64
			save := func(c *capture.Changes) {
				t.Helper()
				if err := s.Store.Commit(ctx, []int64{1, 2}, func(tx capture.Tx) error { return tx.Save(c) }); err != nil {
					t.Fatal(err)
				}
				place, err := s.Horizon(ctx, 1)
				if err != nil {
					t.Fatal(err)
				}
				places = append(places, place)
			}
			person := func(project int64, n int) capture.ProjectPerson {
				return capture.ProjectPerson{ProjectID: project, IsNew: true, Person: &capture.Person{UUID: capture.UUID{byte(n), 1}, CreatedAt: exportTime(int64(n))}}
			}
			id := func(project int64, name string, n int) capture.ProjectID {
				return capture.ProjectID{ProjectID: project, DistinctID: name, Person: capture.UUID{byte(n), 1}}
			}
			save(&capture.Changes{Persons: []capture.ProjectPerson{person(1, 1), person(1, 2), person(2, 9)}, IDs: []capture.ProjectID{id(1, "a", 1), id(1, "b", 2), id(2, "z", 9)}})
			save(&capture.Changes{IDs: []capture.ProjectID{id(1, "b2", 2)}})
			save(&capture.Changes{Persons: []capture.ProjectPerson{person(1, 1)}})
			save(&capture.Changes{Merges: []capture.Merge{{ProjectID: 1, From: capture.UUID{2, 1}, Into: capture.UUID{1, 1}}}})
			for what, tt := range map[string]struct {
				span batchexports.Span
				want []string
			}{
				"all changes":  {batchexports.Span{UpTo: places[3]}, []string{"a", "b", "b2"}},
				"no change":    {batchexports.Span{After: places[3], UpTo: places[3] + 5}, nil},
				"the third":    {batchexports.Span{After: places[1], UpTo: places[2]}, []string{"a", "b", "b2"}},
				"first seen":   {batchexports.Span{From: exportTime(0), To: exportTime(2)}, []string{"a", "b", "b2"}},
				"seen later":   {batchexports.Span{From: exportTime(2), To: exportTime(20)}, nil},
				"of the other": {batchexports.Span{After: places[3] + 1, UpTo: places[3] + 2}, nil},
			} {
				var got []string
				err := s.Persons(ctx, 1, tt.span, func(p *batchexports.Person) error {
					got = append(got, p.DistinctID)
					if want := (capture.UUID{1, 1}).String(); p.UUID != want || !p.CreatedAt.Equal(exportTime(1)) {
						return fmt.Errorf("person %s of %s, want %s", p.UUID, p.CreatedAt, want)
					}
					return nil
				})
				slices.Sort(got)
				if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
					t.Errorf("%s: %v (-want +got):\n%s", what, err, diff)
				}
			}
		})
	}
}

package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/rooms"
)

// Management is the contract test of rooms.Store.
func Management(t *testing.T, open func(testing.TB) ManagementStore) {
	for name, test := range map[string]func(*testing.T, ManagementStore){
		"records are kept, replaced, deleted": managementRecords,
		"lists":                               managementLists,
		"an error undoes":                     managementUndo,
		"numbers and unique texts":            managementNumbers,
		"writers at the same time":            managementWriters,
		"organizations, projects":             managementProjects,
		"keys":                                managementKeys,
		"definitions":                         managementDefinitions,
		"members of static cohorts":           managementMembers,
		"many at once":                        managementBulk,
		"the clock":                           managementClock,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

// managementClock checks that the clock of the store is not before what was read from it earlier, and
// that it is about that of this process, which runs on the same machine.
func managementClock(t *testing.T, s ManagementStore) {
	var first, second time.Time
	inWrite(t, s, func(tx rooms.Tx) (err error) { first, err = tx.Now(); return err })
	inRead(t, s, func(tx rooms.Tx) (err error) { second, err = tx.Now(); return err })
	if second.Before(first) || time.Since(first).Abs() > time.Minute {
		t.Errorf("the clock says %s, and then %s; it is %s", first, second, time.Now())
	}
}

func managementRecords(t *testing.T, s ManagementStore) {
	first := management.Record{Kind: "thing", Parent: "p", ID: "1", Other: "o", Sort: "b", Unique: "u", Data: []byte(`{"a":1}`)}
	put(t, s, first)
	get := func(id string) (found *management.Record) {
		inRead(t, s, func(tx rooms.Tx) (err error) { found, err = tx.Get("thing", "p", id); return err })
		return found
	}
	equal(t, &first, get("1"), "")
	if get("2") != nil {
		t.Error("a record that was never put is found")
	}
	second := management.Record{Kind: "thing", Parent: "p", ID: "1", Sort: "c", Hidden: true, Data: []byte(`{"a":"x\ny ü"}`)}
	put(t, s, second)
	equal(t, &second, get("1"), "")
	inRead(t, s, func(tx rooms.Tx) error {
		if r, err := tx.Find("thing", "u"); r != nil || err != nil {
			t.Errorf("the unique text that was given up: %v, %v", r, err)
		}
		return nil
	})
	inWrite(t, s, func(tx rooms.Tx) error { return tx.Delete("thing", "p", "1") })
	if get("1") != nil {
		t.Error("a deleted record is found")
	}
	put(t, s, management.Record{Kind: "thing", Parent: "p", ID: "3", Sort: "\x00\xff", Data: []byte(`{}`)})
	if r := get("3"); r == nil || r.Sort == "" {
		t.Errorf("texts that cannot be stored as they are: %+v", r)
	}
}

func managementLists(t *testing.T, s ManagementStore) {
	var all []management.Record
	for i := range 10 {
		all = append(all, management.Record{
			Kind: "thing", Parent: "p", ID: fmt.Sprint(i), Sort: fmt.Sprint(i / 2), Other: fmt.Sprint("o", i%3), Hidden: i == 9, Data: fmt.Appendf(nil, `{"n":%d}`, i),
		})
	}
	put(t, s, all...)
	put(t, s, management.Record{Kind: "thing", Parent: "q", ID: "x", Data: []byte(`{}`)}, management.Record{Kind: "other", Parent: "p", ID: "x", Data: []byte(`{}`)})
	even := func(r *management.Record) bool { return r.ID == "0" || r.ID == "4" || r.ID == "8" }
	for name, c := range map[string]struct {
		q     management.Query
		want  []string
		count int
	}{
		"in order":              {management.Query{Kind: "thing", Parent: "p"}, []string{"0", "1", "2", "3", "4", "5", "6", "7", "8"}, 9},
		"the other way":         {management.Query{Kind: "thing", Parent: "p", Descending: true, Limit: 3}, []string{"8", "7", "6"}, 9},
		"a page":                {management.Query{Kind: "thing", Parent: "p", Offset: 2, Limit: 2}, []string{"2", "3"}, 9},
		"beyond the end":        {management.Query{Kind: "thing", Parent: "p", Offset: 20, Limit: 2}, nil, 9},
		"hidden":                {management.Query{Kind: "thing", Parent: "p", Hidden: true}, []string{"9"}, 1},
		"under another place":   {management.Query{Kind: "thing", Other: "o1"}, []string{"1", "4", "7"}, 3},
		"between":               {management.Query{Kind: "thing", Parent: "p", From: "1", To: "3"}, []string{"2", "3", "4", "5"}, 4},
		"narrowed down":         {management.Query{Kind: "thing", Parent: "p", Match: even, Offset: 1, Limit: 1}, []string{"4"}, 3},
		"of a parent without":   {management.Query{Kind: "thing", Parent: "z"}, nil, 0},
		"of a kind without any": {management.Query{Kind: "nothing", Parent: "p"}, nil, 0},
	} {
		inRead(t, s, func(tx rooms.Tx) error {
			list, count, err := tx.List(c.q)
			var got []string
			for _, r := range list {
				got = append(got, r.ID)
			}
			if diff := cmp.Diff(c.want, got); diff != "" || count != c.count {
				t.Errorf("%s: %d of %d, want %d: %s", name, len(got), count, c.count, diff)
			}
			return err
		})
	}
	inWrite(t, s, func(tx rooms.Tx) error { return tx.DeleteUnder("thing", "p") })
	inRead(t, s, func(tx rooms.Tx) error {
		for _, q := range []management.Query{{Kind: "thing", Parent: "p"}, {Kind: "thing", Other: "o1"}, {Kind: "thing", Parent: "p", Hidden: true}} {
			if list, count, err := tx.List(q); len(list) != 0 || count != 0 || err != nil {
				t.Errorf("after all are deleted: %d, %d, %v", len(list), count, err)
			}
		}
		_, count, err := tx.List(management.Query{Kind: "thing", Parent: "q"})
		if count != 1 {
			t.Errorf("another parent's: %d", count)
		}
		return err
	})
}

func managementUndo(t *testing.T, s ManagementStore) {
	stop := errors.New("stop")
	err := s.Write(context.Background(), func(tx rooms.Tx) error {
		if err := tx.Put(&management.Record{Kind: "thing", ID: "1", Data: []byte(`{}`)}); err != nil {
			return err
		}
		return stop
	})
	if !errors.Is(err, stop) {
		t.Errorf("the error of the work is %v", err)
	}
	inRead(t, s, func(tx rooms.Tx) error {
		r, err := tx.Get("thing", "", "1")
		if _, count, _ := tx.List(management.Query{Kind: "thing"}); r != nil || count != 0 {
			t.Errorf("what was undone is there: %v, counted %d", r, count)
		}
		return err
	})
	if err := s.Read(context.Background(), func(tx rooms.Tx) error { return tx.Put(&management.Record{Kind: "thing", ID: "1"}) }); err == nil {
		t.Error("a transaction that reads has written")
	}
}

func managementNumbers(t *testing.T, s ManagementStore) {
	var got []int64
	inWrite(t, s, func(tx rooms.Tx) error {
		for _, name := range []string{"a", "a", "b", "a"} {
			n, err := tx.Next(name)
			if err != nil {
				return err
			}
			got = append(got, n)
		}
		return nil
	})
	equal(t, []int64{1, 2, 1, 3}, got, "")
	put(t, s, management.Record{Kind: "thing", ID: "1", Unique: "u", Data: []byte(`{}`)}, management.Record{Kind: "other", ID: "1", Unique: "u", Data: []byte(`{}`)})
	for id, want := range map[string]error{"1": nil, "2": management.ErrDuplicate} {
		err := s.Write(context.Background(), func(tx rooms.Tx) error {
			return tx.Put(&management.Record{Kind: "thing", ID: id, Unique: "u", Data: []byte(`{}`)})
		})
		if !errors.Is(err, want) {
			t.Errorf("record %s: %v, want %v", id, err, want)
		}
	}
}

func managementWriters(t *testing.T, s ManagementStore) {
	const writers, each = 4, 5
	var wait sync.WaitGroup
	for range writers {
		wait.Go(func() {
			for range each {
				err := s.Write(context.Background(), func(tx rooms.Tx) error {
					n, err := tx.Next("n")
					if err != nil {
						return err
					}
					return tx.Put(&management.Record{Kind: "thing", Parent: "p", ID: fmt.Sprint(n), Data: []byte(`{}`)})
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	inRead(t, s, func(tx rooms.Tx) error {
		list, count, err := tx.List(management.Query{Kind: "thing", Parent: "p"})
		if len(list) != writers*each || count != writers*each {
			t.Errorf("%d records, counted %d, want %d", len(list), count, writers*each)
		}
		return err
	})
}

var managementTime = time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)

func managementProjects(t *testing.T, s ManagementStore) {
	limit := int64(5)
	org := management.OrganizationRecord{ID: "org", Name: "One", Quotas: map[string]*int64{"events": &limit}, CreatedAt: managementTime, Meta: []byte(`{"a":1}`)}
	p := management.ProjectRecord{Organization: "org", Name: "P", APIKey: "phc_p", CreatedAt: managementTime, Meta: []byte(`{}`), Paused: []string{"events"}, Browser: []byte(`{"a":true}`)}
	inWrite(t, s, func(tx rooms.Tx) error { return errors.Join(tx.PutOrganization(&org), tx.PutProject(&p)) })
	if p.ID <= 0 {
		t.Fatalf("project %d", p.ID)
	}
	err := s.Write(context.Background(), func(tx rooms.Tx) error {
		return tx.PutProject(&management.ProjectRecord{Organization: "org", APIKey: "phc_p", CreatedAt: managementTime})
	})
	if !errors.Is(err, management.ErrDuplicate) {
		t.Errorf("a second project with the key: %v", err)
	}
	inRead(t, s, func(tx rooms.Tx) error {
		gotOrg, err1 := tx.Organization("org")
		got, err2 := tx.Project(p.ID)
		byKey, err3 := tx.ProjectByKey("phc_p")
		list, err4 := tx.Projects("org")
		missing, err5 := tx.Project(p.ID + 1)
		equal(t, &org, gotOrg, "")
		for _, x := range []*management.ProjectRecord{got, byKey} {
			if x == nil || x.ID != p.ID || x.Name != "P" || !x.CreatedAt.Equal(managementTime) || len(x.Paused) != 1 || string(x.Browser) != `{"a":true}` {
				t.Errorf("%+v", x)
			}
		}
		if len(list) != 1 || missing != nil {
			t.Errorf("%d projects, and %v", len(list), missing)
		}
		return errors.Join(err1, err2, err3, err4, err5)
	})
	if browser := project(t, s, "phc_p").Browser; browser != `{"a":true}` {
		t.Errorf("browsers are told %q", browser)
	}
	before := project(t, s, "phc_p").Revision
	p.Deleted = true
	inWrite(t, s, func(tx rooms.Tx) error { return tx.PutProject(&p) })
	if _, err := s.ProjectByKey(context.Background(), "phc_p"); !errors.Is(err, flags.ErrUnknownKey) {
		t.Errorf("the key of a deleted project: %v", err)
	}
	p.Deleted = false
	inWrite(t, s, func(tx rooms.Tx) error { return tx.PutProject(&p) })
	if after := project(t, s, "phc_p").Revision; after <= before {
		t.Errorf("revision %d after %d", after, before)
	}
}

func managementKeys(t *testing.T, s ManagementStore) {
	key := management.KeyRecord{
		ID: "k", Hash: "h1", Mask: "phx_...", Label: "L", User: 7, Scopes: []string{"*"}, Projects: []int64{1}, Organizations: []string{"o"},
		CreatedAt: managementTime, LastUsedAt: managementTime,
	}
	all := management.KeyRecord{ID: "old", Hash: "h0", User: 7, CreatedAt: managementTime.Add(time.Hour)} // an old key: its scopes are nil
	inWrite(t, s, func(tx rooms.Tx) error { return errors.Join(tx.PutKey(&key), tx.PutKey(&all)) })
	key.Hash, key.LastRolledAt = "h2", managementTime
	inWrite(t, s, func(tx rooms.Tx) error { return tx.PutKey(&key) })
	inRead(t, s, func(tx rooms.Tx) error {
		deleted, err1 := tx.Key("h1")
		got, err2 := tx.Key("h2")
		byID, err3 := tx.KeyByID("k")
		list, err4 := tx.Keys(7)
		if deleted != nil {
			t.Error("the old text of a rolled key still opens")
		}
		equal(t, &key, got, "")
		equal(t, &key, byID, "")
		if len(list) != 2 || list[0].ID != "old" || list[0].Scopes != nil {
			t.Errorf("%+v", list)
		}
		return errors.Join(err1, err2, err3, err4)
	})
	inWrite(t, s, func(tx rooms.Tx) error { return tx.DeleteKey("k") })
	inRead(t, s, func(tx rooms.Tx) error {
		got, err := tx.Key("h2")
		if got != nil {
			t.Error("a deleted key opens")
		}
		return err
	})
}

package storetest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/rooms"
)

// managementBulk checks that writing many objects at a time has the same result as
// writing them one by one.
func managementBulk(t *testing.T, s ManagementStore) {
	const many = 450 // more than one statement inserts
	p := management.ProjectRecord{Organization: "org", APIKey: "phc_p", CreatedAt: managementTime}
	inWrite(t, s, func(tx rooms.Tx) error {
		return errors.Join(tx.PutOrganization(&management.OrganizationRecord{ID: "org", CreatedAt: managementTime}), tx.PutProject(&p))
	})
	revision := project(t, s, "phc_p").Revision
	inWrite(t, s, func(tx rooms.Tx) error {
		if err := tx.PutDefinition(management.FlagDefinition, p.ID, &management.Definition{ID: 1000, Key: "of-a-file", Origin: "x.json"}); err != nil {
			return err
		}
		first, err := tx.ReserveDefinitionIDs(management.FlagDefinition, many)
		if err != nil || first <= 1000 {
			t.Errorf("the first new id is %d: %v", first, err)
		}
		var list []*management.Definition
		for i := range int64(many) {
			list = append(list, &management.Definition{ID: first + i, Key: fmt.Sprint("f", i), Record: []byte(`{"v":1}`), Meta: []byte(`{}`), Deleted: i == 7})
		}
		if err := tx.PutDefinitions(management.FlagDefinition, p.ID, list); err != nil {
			return err
		}
		list[3].Record = []byte(`{"v":2}`)
		cohort := management.Definition{ID: 5, Record: []byte(`{"c":1}`), Meta: []byte(`{"m":1}`)}
		return errors.Join(tx.PutDefinitions(management.FlagDefinition, p.ID, list[3:4]), tx.PutDefinitions(management.FlagDefinition, p.ID, nil),
			tx.PutDefinitions(management.CohortDefinition, p.ID, []*management.Definition{&cohort}))
	})
	wantTotals(t, s, p.ID, management.DefinitionTotals{Flags: many, Cohorts: 1, Bytes: int64((many-1)*len(`{"v":1}{}`) + len(`{}{}`) + len(`{"c":1}{"m":1}`))})
	if after := project(t, s, "phc_p").Revision; after <= revision {
		t.Errorf("revision %d after %d", after, revision)
	}
	inWrite(t, s, func(tx rooms.Tx) error {
		list, count, err := tx.Definitions(management.DefinitionQuery{Kind: management.FlagDefinition, Project: p.ID})
		if len(list) != many || count != many { // with the flag from a file, without the deleted flag
			t.Errorf("%d flags, counted %d, want %d", len(list), count, many)
		}
		changed, err1 := tx.DefinitionByKey(management.FlagDefinition, p.ID, "f3")
		if changed == nil || string(changed.Record) != `{"v":2}` {
			t.Errorf("%+v", changed)
		}
		deleted, err2 := tx.DefinitionByKey(management.FlagDefinition, p.ID, "f7")
		if deleted != nil {
			t.Errorf("a deleted flag is found: %+v", deleted)
		}
		c, err3 := tx.Definition(management.CohortDefinition, p.ID, 5)
		if c == nil || string(c.Record) != `{"c":1}` || string(c.Meta) != `{"m":1}` {
			t.Errorf("%+v", c)
		}
		n, err4 := tx.Next("n")
		first, err5 := tx.NextMany("n", 10)
		last, err6 := tx.Next("n")
		if n != 1 || first != 2 || last != 12 {
			t.Errorf("numbers %d, %d, %d, want 1, 2, 12", n, first, last)
		}
		return errors.Join(err, err1, err2, err3, err4, err5, err6)
	})
	addsRecords(t, s, many)
	expandsMembers(t, s, p.ID)
}

func addsRecords(t *testing.T, s ManagementStore, many int) {
	var list []*management.Record
	for i := range many {
		list = append(list, &management.Record{Kind: "thing", Parent: fmt.Sprint("p", i%2), ID: fmt.Sprint(i), Sort: fmt.Sprintf("%05d", i), Other: "o", Data: []byte(`{"a":1}`)})
	}
	inWrite(t, s, func(tx rooms.Tx) error { return errors.Join(tx.AddRecords(list), tx.AddRecords(nil)) })
	inRead(t, s, func(tx rooms.Tx) error {
		got, err := tx.Get("thing", "p1", "3")
		equal(t, list[3], got, "")
		for _, q := range []management.Query{{Kind: "thing", Other: "o"}, {Kind: "thing", Parent: "p0"}, {Kind: "thing", Parent: "p1"}} {
			want := many / 2
			if q.Other != "" {
				want = many
			}
			page, count, err := tx.List(q)
			if len(page) != want || count != want || err != nil {
				t.Errorf("%+v: %d records, counted %d, want %d: %v", q, len(page), count, want, err)
			}
		}
		return err
	})
	inWrite(t, s, func(tx rooms.Tx) error { return tx.DeleteUnder("thing", "p0") })
	inRead(t, s, func(tx rooms.Tx) error {
		_, count, err := tx.List(management.Query{Kind: "thing", Other: "o"})
		if count != many/2 {
			t.Errorf("after half of them are deleted: counted %d", count)
		}
		return err
	})
}

func expandsMembers(t *testing.T, s ManagementStore, project int64) {
	var ids []string
	for i := range 450 {
		ids = append(ids, fmt.Sprintf("m%03d", i))
	}
	inWrite(t, s, func(tx rooms.Tx) error {
		return errors.Join(tx.AddMembers(project, 5, ids), tx.AddMembers(project, 5, ids[:3]), tx.AddMembers(project, 6, []string{"other"}), tx.RemoveMembers(project, 5, ids[1:449]))
	})
	inRead(t, s, func(tx rooms.Tx) error {
		members, err := tx.MembersOf(project, []int64{5, 6, 7}, flags.MembersLimit{IDs: 100, Bytes: 1000})
		equal(t, map[int64][]string{5: {"m000", "m449"}, 6: {"other"}, 7: {}}, members, "")
		empty, err1 := tx.MembersOf(project, nil, flags.MembersLimit{IDs: 100, Bytes: 1000})
		personIDs, err2 := tx.SamePersons(project, []string{"m449", "m000", "m000"}) // without a person
		if diff := cmp.Diff([]string{"m000", "m449"}, personIDs); diff != "" || len(empty) != 0 {
			t.Error(diff, empty)
		}
		return errors.Join(err, err1, err2)
	})
}

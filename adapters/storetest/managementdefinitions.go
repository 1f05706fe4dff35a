package storetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/rooms"
)

func managementDefinitions(t *testing.T, s ManagementStore) {
	p := management.ProjectRecord{Organization: "org", APIKey: "phc_p", CreatedAt: managementTime}
	inWrite(t, s, func(tx rooms.Tx) error {
		return errors.Join(tx.PutOrganization(&management.OrganizationRecord{ID: "org", CreatedAt: managementTime}), tx.PutProject(&p))
	})
	revision := project(t, s, "phc_p").Revision
	flag := management.Definition{Key: "a", Meta: []byte(`{"tags":[]}`)}
	inWrite(t, s, func(tx rooms.Tx) error {
		flag.ID = 0
		if err := tx.PutDefinition(management.FlagDefinition, p.ID, &flag); err != nil {
			return err
		}
		flag.Record = fmt.Appendf(nil, `{"id":%d,"key":"a","active":true,"filters":{"groups":[{"rollout_percentage":100}]}}`, flag.ID)
		return tx.PutDefinition(management.FlagDefinition, p.ID, &flag)
	})
	after := project(t, s, "phc_p")
	d, err := s.Definitions(context.Background(), after)
	if err != nil || len(d.Flags) != 1 || d.Flags[0].Key != "a" || after.Revision <= revision {
		t.Errorf("%d flags, revision %d after %d, %v", len(d.Flags), after.Revision, revision, err)
	}
	cohort := management.Definition{Record: []byte(`{"type":"OR","values":[]}`), Meta: []byte(`{}`)}
	inWrite(t, s, func(tx rooms.Tx) error {
		cohort.ID = 0
		return tx.PutDefinition(management.CohortDefinition, p.ID, &cohort)
	})
	inRead(t, s, func(tx rooms.Tx) error {
		byKey, err1 := tx.DefinitionByKey(management.FlagDefinition, p.ID, "a")
		equal(t, &flag, byKey, "")
		other, err2 := tx.Definition(management.FlagDefinition, p.ID+1, flag.ID)
		list, count, err3 := tx.Definitions(management.DefinitionQuery{Kind: management.CohortDefinition, Project: p.ID, Limit: 10})
		if other != nil || len(list) != 1 || count != 1 || list[0].ID != cohort.ID {
			t.Errorf("%v, %d of %d cohorts", other, len(list), count)
		}
		return errors.Join(err1, err2, err3)
	})
	want := management.DefinitionTotals{Flags: 1, Cohorts: 1, Bytes: int64(len(flag.Record) + len(flag.Meta) + len(cohort.Record) + len(cohort.Meta))}
	wantTotals(t, s, p.ID, want)
	totalsUpdated(t, s, p.ID)
	wantTotals(t, s, p.ID, want)
	flag.Deleted = true
	inWrite(t, s, func(tx rooms.Tx) error { return tx.PutDefinition(management.FlagDefinition, p.ID, &flag) })
	wantTotals(t, s, p.ID, management.DefinitionTotals{Cohorts: 1, Bytes: int64(len(cohort.Record) + len(cohort.Meta))})
	wantTotals(t, s, p.ID+1, management.DefinitionTotals{})
	inRead(t, s, func(tx rooms.Tx) error {
		byKey, err1 := tx.DefinitionByKey(management.FlagDefinition, p.ID, "a")
		still, err2 := tx.Definition(management.FlagDefinition, p.ID, flag.ID)
		_, count, err3 := tx.Definitions(management.DefinitionQuery{Kind: management.FlagDefinition, Project: p.ID})
		if byKey != nil || still == nil || count != 0 {
			t.Errorf("a deleted flag: by key %v, by id %v, %d listed", byKey, still, count)
		}
		return errors.Join(err1, err2, err3)
	})
	if d, err := s.Definitions(context.Background(), after); err != nil || len(d.Flags) != 0 {
		t.Errorf("a deleted flag is served: %d, %v", len(d.Flags), err)
	}
}

// totalsUpdated creates, changes and deletes a flag and checks that the totals follow
// within the transaction.
func totalsUpdated(t *testing.T, s ManagementStore, project int64) {
	t.Helper()
	inWrite(t, s, func(tx rooms.Tx) error {
		before, err1 := tx.DefinitionTotals(project)
		other := management.Definition{Key: "b", Record: []byte(`{"name":"\u00e9é"}`), Meta: []byte(`{}`)}
		err2 := tx.PutDefinition(management.FlagDefinition, project, &other)
		one, err3 := tx.DefinitionTotals(project)
		if one.Flags != before.Flags+1 || one.Bytes != before.Bytes+int64(len(other.Record)+len(other.Meta)) {
			t.Errorf("totals %+v after %+v", one, before)
		}
		other.Record = []byte(`{}`)
		err4 := tx.PutDefinition(management.FlagDefinition, project, &other)
		smaller, err5 := tx.DefinitionTotals(project)
		if smaller.Flags != one.Flags || smaller.Bytes != before.Bytes+4 {
			t.Errorf("totals %+v of a smaller one", smaller)
		}
		err6 := tx.DeleteDefinition(management.FlagDefinition, project, other.ID)
		if after, err := tx.DefinitionTotals(project); after != before || err != nil {
			t.Errorf("totals %+v, want %+v, %v", after, before, err)
		}
		return errors.Join(err1, err2, err3, err4, err5, err6)
	})
}

func wantTotals(t *testing.T, s ManagementStore, project int64, want management.DefinitionTotals) {
	t.Helper()
	inRead(t, s, func(tx rooms.Tx) error {
		got, err := tx.DefinitionTotals(project)
		equal(t, want, got, "totals of project %d", project)
		return err
	})
}

func managementMembers(t *testing.T, s ManagementStore) {
	inWrite(t, s, func(tx rooms.Tx) error {
		return errors.Join(tx.AddMembers(1, 5, []string{"b", "a", "c", "a"}), tx.AddMembers(1, 6, []string{"a"}), tx.RemoveMembers(1, 5, []string{"c", "z"}))
	})
	inRead(t, s, func(tx rooms.Tx) error {
		list, err1 := tx.Members(1, 5, "", 10)
		rest, err2 := tx.Members(1, 5, "a", 10)
		n, err3 := tx.CountMembers(1, 5)
		empty, err4 := tx.CountMembers(1, 7)
		if diff := gocmp.Diff([]string{"a", "b"}, list); diff != "" || len(rest) != 1 || n != 2 || empty != 0 {
			t.Errorf("%s, after a: %v, %d members, %d of none", diff, rest, n, empty)
		}
		return errors.Join(err1, err2, err3, err4)
	})
}

// ManagementCalls checks that a transaction reads the calls of flags that capture has
// counted.
func ManagementCalls(t *testing.T, s interface {
	rooms.Store
	capture.Ledger
}) {
	call := func(project int64, flag, value string, first, last time.Duration) capture.FlagCalls {
		return capture.FlagCalls{ProjectID: project, FlagCall: capture.FlagCall{Flag: flag, Value: value}, Calls: 2, First: epoch.Add(first), Last: epoch.Add(last)}
	}
	save(t, s, capture.Changes{Calls: []capture.FlagCalls{
		call(testProject, "a", "true", 0, time.Hour), call(testProject, "a", "false", 0, time.Minute), call(testProject, "b", "true", 0, time.Second), call(2, "a", "true", 0, 9*time.Hour),
	}})
	inRead(t, s, func(tx rooms.Tx) error {
		calls, err1 := tx.FlagCalls(testProject, "a")
		want := []management.FlagCall{{Value: "false", Calls: 2, First: epoch, Last: epoch.Add(time.Minute)}, {Value: "true", Calls: 2, First: epoch, Last: epoch.Add(time.Hour)}}
		equal(t, want, calls, "of one flag")
		last, err2 := tx.LastCalls(testProject)
		equal(t, map[string]time.Time{"a": epoch.Add(time.Hour), "b": epoch.Add(time.Second)}, last, "last ones")
		empty, err3 := tx.LastCalls(3)
		equal(t, map[string]time.Time{}, empty, "of a project without any")
		return errors.Join(err1, err2, err3)
	})
	flagHours(t, s, testProject)
	unseenEvents(t, s)
}

// unseenEvents checks which names of events a project has not seen.
func unseenEvents(t *testing.T, s interface {
	rooms.Store
	capture.Ledger
}) {
	t.Helper()
	seen := func(project int64, kind capture.SeenKind, name string) capture.SeenName {
		return capture.SeenName{ProjectID: project, Kind: kind, Name: name, At: epoch}
	}
	save(t, s, capture.Changes{Seen: []capture.SeenName{
		seen(testProject, capture.SeenEvent, "buy"), seen(testProject, capture.SeenEventProperty, "amount"), seen(2, capture.SeenEvent, "see"), seen(3, capture.SeenEventProperty, "amount"),
	}})
	inRead(t, s, func(tx rooms.Tx) error {
		for _, c := range []struct {
			project int64
			names   []string
			want    []string
		}{
			{testProject, []string{"see", "buy", "amount"}, []string{"see", "amount"}},
			{testProject, []string{"buy"}, nil},
			{testProject, []string{"see"}, []string{"see"}},
			{testProject, nil, nil},
			{3, []string{"see", "buy"}, nil}, // it has no event
		} {
			unseen, err := tx.UnseenEvents(c.project, c.names)
			equal(t, c.want, unseen, "unseen events")
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// flagHours reads calls of flags by hour.
func flagHours(t *testing.T, s rooms.Store, project int64) {
	t.Helper()
	q := management.HoursQuery{Project: project, Keys: []string{"a", "b"}, From: epoch, To: epoch.Add(2 * time.Hour)}
	hour := func(flag, value string, at time.Duration) management.FlagHour {
		return management.FlagHour{Flag: flag, Value: value, At: epoch.Add(at), N: 2}
	}
	read := func(tx rooms.Tx) []management.FlagHour {
		list, err := tx.FlagHours(q)
		must(t, err)
		slices.SortFunc(list, func(a, b management.FlagHour) int {
			return cmp.Or(strings.Compare(a.Flag, b.Flag), a.At.Compare(b.At), strings.Compare(a.Value, b.Value))
		})
		return list
	}
	inRead(t, s, func(tx rooms.Tx) error {
		equal(t, []management.FlagHour{hour("a", "", 0), hour("a", "", time.Hour), hour("b", "", 0)}, read(tx), "all values")
		q.Values = []string{"true"}
		equal(t, []management.FlagHour{hour("a", "true", time.Hour), hour("b", "true", 0)}, read(tx), "one value")
		totals, err := tx.FlagTotals(q)
		equal(t, map[string]int64{"true": 2, "false": 2}, totals, "totals")
		q.Evaluations = true
		equal(t, []management.FlagHour(nil), read(tx), "answers")
		return err
	})
}

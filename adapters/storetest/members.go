package storetest

import (
	"context"
	"fmt"
	"testing"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
)

// MembersStore is the store for Members.
type MembersStore interface {
	serving.Members
	PeopleStore
}

// Members is the contract test of serving.Members (decision 5): it returns exactly the
// distinct ids for which Stored returns the cohort.
func Members(t *testing.T, open func(testing.TB) MembersStore) {
	t.Run("Decision_5_AllIDsOfEachMember", func(t *testing.T) { allIDs(t, open(t)) })
	t.Run("Decision_5_UpToASize", func(t *testing.T) { boundedMembers(t, open(t)) })
}

func staticMembers(t testing.TB, s serving.Members, limit flags.MembersLimit, cohorts ...int64) map[int64][]string {
	t.Helper()
	got, err := s.StaticMembers(context.Background(), testProject, cohorts, limit)
	must(t, err)
	return got
}

func allIDs(t *testing.T, s MembersStore) {
	const file = `{"projects":[
		{"id":1,"api_key":"phc_a","cohorts":{"7":{"is_static":true,"members":["ann","ann2","bob","Ghost"]},"8":{"is_static":true,"members":["cat"]},"9":{"is_static":true,"members":[]},"10":{"is_static":true,"members":["%s"]}}},
		{"id":2,"api_key":"phc_b","cohorts":{"7":{"is_static":true,"members":["foreign"]}}}]}`
	apply(t, s, "a.json", fmt.Sprintf(file, "not asked for"))
	save(t, s, person(t, `{}`, "ann", "ann2", "Ann3"))
	save(t, s, person(t, `{}`, "cat", "é\u2028\""))
	save(t, s, person(t, `{}`, "else"))
	check := func(name string, want map[int64][]string) {
		t.Helper()
		equal(t, want, staticMembers(t, s, flags.MembersLimit{IDs: 100, Bytes: 1000}, 7, 8, 9), "%s", name)
		for _, id := range []string{"ann", "ann2", "Ann3", "bob", "Ghost", "cat", "é\u2028\"", "else", "foreign"} {
			var in []int64
			for _, cohort := range []int64{7, 8, 9} {
				for _, member := range want[cohort] {
					if member == id {
						in = append(in, cohort)
					}
				}
			}
			got := stored(t, s, serving.Query{DistinctID: id, Needs: allNeeds}).Cohorts
			if fmt.Sprint(in) != fmt.Sprint(got) {
				t.Errorf("%s: flags say that %s is in %v, want %v", name, id, got, in)
			}
		}
	}
	check("at first", map[int64][]string{7: {"Ann3", "Ghost", "ann", "ann2", "bob"}, 8: {"cat", "é\u2028\""}, 9: {}})

	merged := update(t, `{}`, "cat", 1)
	merged.Merges = []capture.Merge{{ProjectID: testProject, From: uuidOf("ann"), Into: uuidOf("cat")}}
	save(t, s, merged)
	both := []string{"Ann3", "ann", "ann2", "cat", "é\u2028\""}
	check("merged", map[int64][]string{7: {"Ann3", "Ghost", "ann", "ann2", "bob", "cat", "é\u2028\""}, 8: both, 9: {}})

	inProject(t, s, func(tx capture.Tx) error {
		_, err := capture.SplitPerson(tx, testProject, uuidOf("cat"), both, "Ann3")
		return err
	})
	check("split", map[int64][]string{7: {"Ghost", "ann", "ann2", "bob"}, 8: {"cat"}, 9: {}})

	save(t, s, person(t, `{}`, "bob", "bob2"))
	check("bob has a person now", map[int64][]string{7: {"Ghost", "ann", "ann2", "bob", "bob2"}, 8: {"cat"}, 9: {}})
	inProject(t, s, func(tx capture.Tx) error {
		_, _, err := tx.ErasePerson(testProject, uuidOf("bob"), false)
		return err
	})
	check("erased", map[int64][]string{7: {"Ghost", "ann", "ann2"}, 8: {"cat"}, 9: {}})
}

func inProject(t testing.TB, s capture.Ledger, work func(capture.Tx) error) {
	t.Helper()
	must(t, s.Commit(context.Background(), []int64{testProject}, work))
}

// Cohorts 1, 2 and 3 have one, two and three members; one of 2 has three ids.
func boundedMembers(t *testing.T, s MembersStore) {
	apply(t, s, "a.json", `{"projects":[{"id":1,"api_key":"phc_a","cohorts":{"1":{"is_static":true,"members":["aaaa"]},
		"2":{"is_static":true,"members":["bbbb","cccc"]},"3":{"is_static":true,"members":["dddd","eeee","ffff"]},"4":{"is_static":true}}}]}`)
	save(t, s, person(t, `{}`, "bbbb", "b222", "b333"))
	all := map[int64][]string{4: {}, 1: {"aaaa"}, 2: {"b222", "b333", "bbbb", "cccc"}, 3: {"dddd", "eeee", "ffff"}}
	for _, tt := range []struct {
		limit flags.MembersLimit
		want  []int64
	}{
		{flags.MembersLimit{IDs: 8, Bytes: 32}, []int64{4, 1, 2, 3}},
		{flags.MembersLimit{IDs: 7, Bytes: 32}, []int64{4, 1, 2}}, // one id of cohort 3 is too many
		{flags.MembersLimit{IDs: 8, Bytes: 31}, []int64{4, 1, 2}}, // one byte of it is too many
		{flags.MembersLimit{IDs: 5, Bytes: 32}, []int64{4, 1, 2}}, // the listed members of cohort 3 are too many already
		{flags.MembersLimit{IDs: 4, Bytes: 32}, []int64{4, 1}},
		{flags.MembersLimit{IDs: 1, Bytes: 4}, []int64{4, 1}},
		{flags.MembersLimit{IDs: 0, Bytes: 0}, []int64{4}},
	} {
		want := map[int64][]string{}
		for _, id := range tt.want {
			want[id] = all[id]
		}
		equal(t, want, staticMembers(t, s, tt.limit, 1, 2, 3, 4), "%+v", tt.limit)
	}
	if got := staticMembers(t, s, flags.MembersLimit{IDs: 9, Bytes: 99}); len(got) > 0 {
		t.Errorf("no cohort: %v", got)
	}
}

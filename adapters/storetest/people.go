package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
)

// PeopleStore is the store for People: the view of package flags, and the ledger that
// fills it.
type PeopleStore interface {
	serving.People
	serving.Continuity
	capture.Ledger
	DefinitionsFiles
}

// testProject is the project of the tests.
const testProject = 1

var (
	epoch    = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	allNeeds = &flags.Needs{Person: []string{"plan"}, CreatedAt: true, Cohorts: []int64{7}, GroupTypes: []string{"company"}, ContinuityMatters: true}
)

// uuidOf returns a UUID derived from a name.
func uuidOf(name string) capture.UUID { return capture.PersonID(testProject, name) }

// save commits changes with events that are all new.
func save(t testing.TB, s capture.Ledger, c capture.Changes) {
	t.Helper()
	err := s.Commit(context.Background(), []int64{testProject}, func(tx capture.Tx) error {
		keys := make([]capture.EventKey, len(c.Events))
		for i, e := range c.Events {
			keys[i] = capture.EventKey{ProjectID: e.ProjectID, UUID: e.UUID, Name: e.Name, DistinctID: e.DistinctID}
		}
		if _, err := tx.Claim(keys); err != nil {
			return err
		}
		return tx.Save(&c)
	})
	must(t, err)
}

func object(t testing.TB, text string) capture.Object {
	t.Helper()
	o, err := capture.ParseObject(text)
	must(t, err)
	return o
}

// person returns the changes that create a person with distinct ids. Its UUID is
// derived from the first id.
func person(t testing.TB, properties string, ids ...string) capture.Changes {
	t.Helper()
	c := capture.Changes{Persons: []capture.ProjectPerson{{
		ProjectID: testProject, IsNew: true,
		Person: &capture.Person{UUID: uuidOf(ids[0]), CreatedAt: epoch, Properties: object(t, properties)},
	}}}
	for _, id := range ids {
		c.IDs = append(c.IDs, capture.ProjectID{ProjectID: testProject, DistinctID: id, Person: uuidOf(ids[0])})
	}
	return c
}

// update returns the changes that replace a person's properties.
func update(t testing.TB, properties, id string, version int64) capture.Changes {
	t.Helper()
	c := person(t, properties, id)
	c.IDs, c.Persons[0].IsNew, c.Persons[0].Version = nil, false, version
	return c
}

func stored(t testing.TB, s serving.People, q serving.Query) flags.Stored {
	t.Helper()
	q.ProjectID = testProject
	found, err := s.Stored(context.Background(), q)
	must(t, err)
	if found == nil {
		return flags.Stored{}
	}
	return *found
}

func overrides(t testing.TB, s serving.Continuity, id, anonymous string, keys ...string) map[string]string {
	t.Helper()
	found, err := s.Overrides(context.Background(), testProject, id, anonymous, keys)
	must(t, err)
	return found
}

// People is the contract test of serving.People and serving.Continuity.
func People(t *testing.T, open func(testing.TB) PeopleStore) {
	t.Run("Flags_8_1_StoredPerson", func(t *testing.T) { storedPerson(t, open(t)) })
	t.Run("Flags_8_1_OnlyWhatIsNeeded", func(t *testing.T) { readsNeededParts(t, open(t)) })
	t.Run("Flags_8_1_WritesAreSeenAtOnce", func(t *testing.T) { seesChanges(t, open(t)) })
	t.Run("Flags_8_1_WritesAreSeenUnderLoad", func(t *testing.T) { seesChangesUnderLoad(t, open(t)) })
	t.Run("Flags_4_2_Numbers", func(t *testing.T) { numbers(t, open(t)) })
	t.Run("Flags_7_StoredGroups", func(t *testing.T) { storedGroups(t, open(t)) })
	t.Run("Flags_5_4_StaticCohorts", func(t *testing.T) { staticCohorts(t, open(t)) })
	t.Run("Flags_8_6_Overrides", func(t *testing.T) { continuity(t, open(t)) })
	t.Run("Flags_8_6_OverridesFollowMerges", func(t *testing.T) { continuityMerge(t, open(t)) })
}

func storedPerson(t *testing.T, s PeopleStore) {
	long := strings.Repeat("é", 250)
	save(t, s, person(t, `{"plan":"pro","n":{"a":[1,2.5,null]}}`, "ann", "ann@work", strings.Repeat("é", 200), "a\uFFFDb"))
	want := flags.Stored{
		Person:    flags.Properties{"plan": "pro", "n": map[string]any{"a": []any{int64(1), 2.5, nil}}},
		CreatedAt: epoch, Cohorts: []int64{},
	}
	for _, id := range []string{"ann", "ann@work", long, "a\x00b"} {
		for range 2 { // from the database, then from the cache
			equal(t, want, stored(t, s, serving.Query{DistinctID: id, Needs: allNeeds}), "%.10q", id)
		}
	}
	for _, id := range []string{"nobody", "", "ANN"} {
		equal(t, flags.Stored{Cohorts: []int64{}}, stored(t, s, serving.Query{DistinctID: id, Needs: allNeeds}), "%q", id)
	}
	if other, err := s.Stored(context.Background(), serving.Query{ProjectID: 2, DistinctID: "ann", Needs: allNeeds}); err != nil || other != nil && other.Person != nil {
		t.Errorf("in another project: %v, %v", other, err)
	}
}

func readsNeededParts(t *testing.T, s PeopleStore) {
	save(t, s, person(t, `{"plan":"pro"}`, "ann"))
	found, err := s.Stored(context.Background(), serving.Query{ProjectID: testProject, DistinctID: "ann", Needs: &flags.Needs{}})
	if err != nil || found != nil {
		t.Errorf("nothing is needed: %+v, %v", found, err)
	}
	if got := stored(t, s, serving.Query{DistinctID: "ann", Needs: &flags.Needs{Cohorts: []int64{7}}}); got.Person != nil {
		t.Errorf("only cohorts are needed: %+v", got)
	}
	if got := stored(t, s, serving.Query{DistinctID: "ann", Needs: &flags.Needs{CreatedAt: true}}); !got.CreatedAt.Equal(epoch) {
		t.Errorf("what was not read before is needed now: %+v", got)
	}
}

func seesChanges(t *testing.T, s PeopleStore) {
	plan := func(id string) any {
		return stored(t, s, serving.Query{DistinctID: id, Needs: allNeeds}).Person["plan"]
	}
	if plan("ann") != nil || plan("bob") != nil {
		t.Fatal("known before")
	}
	save(t, s, person(t, `{"plan":"free"}`, "ann", "ann2"))
	save(t, s, person(t, `{"plan":"basic"}`, "bob"))
	if plan("ann") != "free" || plan("ann2") != "free" || plan("bob") != "basic" {
		t.Errorf("new persons: %v, %v, %v", plan("ann"), plan("ann2"), plan("bob"))
	}
	save(t, s, update(t, `{"plan":"pro"}`, "ann", 1))
	if plan("ann") != "pro" || plan("ann2") != "pro" {
		t.Errorf("changed: %v, %v", plan("ann"), plan("ann2"))
	}
	merged := update(t, `{"plan":"max"}`, "ann", 2)
	merged.Merges = []capture.Merge{{ProjectID: testProject, From: uuidOf("bob"), Into: uuidOf("ann")}}
	save(t, s, merged)
	if plan("ann") != "max" || plan("bob") != "max" {
		t.Errorf("merged: %v, %v", plan("ann"), plan("bob"))
	}
}

// seesChangesUnderLoad checks that after a commit has returned, no reader gets the
// state before it, with any number of concurrent readers.
func seesChangesUnderLoad(t *testing.T, s PeopleStore) {
	save(t, s, person(t, `{"plan":0}`, "ann", "ann2"))
	ctx, stop := context.WithCancel(context.Background())
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for ctx.Err() == nil {
				for _, id := range []string{"ann", "ann2"} {
					if _, err := s.Stored(ctx, serving.Query{ProjectID: testProject, DistinctID: id, Needs: allNeeds}); err != nil && ctx.Err() == nil {
						t.Error(err)
					}
				}
			}
		})
	}
	for version := int64(1); version <= 60; version++ {
		save(t, s, update(t, fmt.Sprintf(`{"plan":%d}`, version), "ann", version))
		for _, id := range []string{"ann", "ann2"} {
			if got := stored(t, s, serving.Query{DistinctID: id, Needs: allNeeds}).Person["plan"]; got != version {
				t.Errorf("%s: %v after version %d was committed", id, got, version)
			}
		}
	}
	stop()
	readers.Wait()
}

// numbers checks that the types of numbers are the types of serde_json, according to
// spec/flags.md §4.2: json.Number where a float64 would be formatted as an integer.
func numbers(t *testing.T, s PeopleStore) {
	want := map[string]any{
		"1": int64(1), "-1": int64(-1), "1.0": json.Number("1.0"), "1e3": json.Number("1000.0"), "1E-2": 0.01, "-0": math.Copysign(0, -1), "0": int64(0), "-0.0": math.Copysign(0, -1),
		"9223372036854775807": int64(math.MaxInt64), "9223372036854775808": uint64(1) << 63,
		"18446744073709551615": uint64(math.MaxUint64), "18446744073709551616": 18446744073709551616.0, "-9223372036854775809": -9223372036854775809.0,
	}
	var list []map[string]any
	for text := range want {
		save(t, s, person(t, `{"v":`+text+`,"list":[{"v":`+text+`}]}`, "n"+text))
		list = append(list, map[string]any{"id": len(list) + 1, "key": "is " + text, "active": true, "filters": map[string]any{
			"groups": []any{map[string]any{"properties": []any{map[string]any{"key": "v", "type": "person", "operator": "exact", "value": text}}}},
		}})
	}
	definitions, err := json.Marshal(map[string]any{"flags": list})
	must(t, err)
	d, err := flags.ParseDefinitions(definitions)
	must(t, err)
	set := flags.Compile(d)
	for text, v := range want {
		got := stored(t, s, serving.Query{DistinctID: "n" + text, Needs: &flags.Needs{Person: []string{"v"}}})
		if f, ok := got.Person["v"].(float64); ok && math.Signbit(f) != math.Signbit(want[text].(float64)) {
			t.Errorf("%s has the wrong sign", text)
		}
		equal(t, flags.Properties{"v": v, "list": []any{map[string]any{"v": v}}}, got.Person, "%s", text)
		var sent, result flags.Decisions
		set.Select(&flags.Subject{DistinctID: "x", Person: flags.Properties{"v": json.Number(text)}}, epoch, &flags.Selection{}, &sent)
		set.Select(&flags.Subject{DistinctID: "x", Stored: &got}, epoch, &flags.Selection{}, &result)
		for i := range sent.List {
			if sent.List[i].Enabled != result.List[i].Enabled {
				t.Errorf("%s: %s is %v when sent, %v when stored", text, sent.List[i].Key, sent.List[i].Enabled, result.List[i].Enabled)
			}
		}
	}
}

func storedGroups(t *testing.T, s PeopleStore) {
	groups := func(keys map[string]string) map[string]flags.Properties {
		return stored(t, s, serving.Query{DistinctID: "ann", Groups: keys, Needs: &flags.Needs{GroupTypes: []string{"company", "team"}}}).Groups
	}
	groupKeys := map[string]string{"company": "acme", "team": "5", "planet": "x"}
	if got := groups(groupKeys); len(got) > 0 {
		t.Errorf("before there is any: %v", got)
	}
	save(t, s, capture.Changes{GroupTypes: []capture.ProjectGroupType{{ProjectID: testProject, Index: 0, Name: "company"}}})
	if got := groups(groupKeys); len(got) > 0 {
		t.Errorf("before there is a group: %v", got)
	}
	acme := capture.ProjectGroup{ProjectID: testProject, Group: capture.Group{GroupID: capture.GroupID{Type: 0, Key: "acme"}, CreatedAt: epoch, Properties: object(t, `{"size":7}`)}}
	team := acme
	team.GroupID, team.Properties = capture.GroupID{Type: 1, Key: "5"}, object(t, `{"name":"five"}`)
	save(t, s, capture.Changes{Groups: []capture.ProjectGroup{acme}})
	save(t, s, capture.Changes{GroupTypes: []capture.ProjectGroupType{{ProjectID: testProject, Index: 1, Name: "team"}}, Groups: []capture.ProjectGroup{team}})
	want := map[string]flags.Properties{"company": {"size": int64(7)}, "team": {"name": "five"}}
	for range 2 {
		equal(t, want, groups(groupKeys), "")
	}
	acme.Properties = object(t, `{"size":8}`)
	save(t, s, capture.Changes{Groups: []capture.ProjectGroup{acme}})
	if got := groups(map[string]string{"company": "acme"}); got["company"]["size"] != int64(8) {
		t.Errorf("changed: %v", got)
	}
}

func staticCohorts(t *testing.T, s PeopleStore) {
	apply(t, s, "a.json", `{"projects":[{"id":1,"api_key":"phc_a","cohorts":{"7":{"is_static":true,"members":["ann","bob","ghost"]},"8":{"is_static":true,"members":["ann2"]}}}]}`)
	cohorts := func(id string) []int64 { return stored(t, s, serving.Query{DistinctID: id, Needs: allNeeds}).Cohorts }
	save(t, s, person(t, `{}`, "ann", "ann2"))
	save(t, s, person(t, `{}`, "cat"))
	for id, want := range map[string][]int64{"ann": {7, 8}, "ann2": {7, 8}, "cat": {}, "ghost": {7}, "other": {}} {
		equal(t, want, cohorts(id), "%s", id)
	}
	merged := update(t, `{}`, "cat", 1)
	merged.Merges = []capture.Merge{{ProjectID: testProject, From: uuidOf("ann"), Into: uuidOf("cat")}}
	save(t, s, merged)
	equal(t, []int64{7, 8}, cohorts("cat"), "merged")
	apply(t, s, "a.json", `{"projects":[{"id":1,"api_key":"phc_a","cohorts":{"7":{"is_static":true,"members":["bob"]}}}]}`)
	if got := cohorts("cat"); len(got) > 0 {
		t.Errorf("after it left the file: %v", got)
	}
}

func continuity(t *testing.T, s PeopleStore) {
	if got := overrides(t, s, "ann", "anon", "f", "g"); len(got) > 0 || got == nil {
		t.Errorf("ids that belong to nobody: %v", got)
	}
	save(t, s, person(t, `{}`, "ann"))
	if got := overrides(t, s, "ann", "", "f"); len(got) > 0 || got == nil {
		t.Errorf("nothing is kept without an anonymous id: %v", got)
	}
	equal(t, map[string]string{"f": "anon"}, overrides(t, s, "ann", "anon", "f"), "first")
	// Existing rows stay; a new flag gets a row.
	equal(t, map[string]string{"f": "anon", "g": "other"}, overrides(t, s, "ann", "other", "f", "g"), "second")
	equal(t, map[string]string{"f": "anon", "g": "other"}, overrides(t, s, "ann", "", "f", "g"), "without")
	// Both persons have rows: the row of the distinct id's person applies.
	save(t, s, person(t, `{}`, "bob"))
	equal(t, map[string]string{"f": "bob", "h": "bob"}, overrides(t, s, "bob", "bob", "f", "h"), "bob")
	want := map[string]string{"f": "bob", "g": "ann", "h": "bob"}
	equal(t, want, overrides(t, s, "bob", "ann", "f", "g", "h"), "both")
	equal(t, map[string]string{"f": "anon", "g": "other", "h": "ann"}, overrides(t, s, "ann", ""), "ann after both")
	for _, bad := range []string{"a\x00b", strings.Repeat("x", 401)} {
		if got := overrides(t, s, "ann", bad, "new"); got["new"] != "" {
			t.Errorf("kept %.10q", bad)
		}
	}
}

func continuityMerge(t *testing.T, s PeopleStore) {
	save(t, s, person(t, `{}`, "anon"))
	save(t, s, person(t, `{}`, "ann"))
	overrides(t, s, "anon", "anon", "f", "g")
	overrides(t, s, "ann", "ann", "g")
	merged := update(t, `{}`, "ann", 1)
	merged.Merges = []capture.Merge{{ProjectID: testProject, From: uuidOf("anon"), Into: uuidOf("ann")}}
	save(t, s, merged)
	for _, id := range []string{"ann", "anon"} {
		equal(t, map[string]string{"f": "anon", "g": "ann"}, overrides(t, s, id, "", "f", "g"), "%s", id)
	}
}

// UsageStore is the store for Usage.
type UsageStore interface {
	serving.Usage
	capture.UsageReader
	capture.Ledger
}

// Usage is the contract test of serving.Usage and capture.UsageReader.
func Usage(t *testing.T, open func(testing.TB) UsageStore) {
	s := open(t)
	spend := func(organization string, at time.Time, n, want int64) {
		t.Helper()
		if got, err := s.Spend(context.Background(), organization, at, n); err != nil || got != want {
			t.Errorf("Spend %d at %v: %d, %v, want %d", n, at, got, err, want)
		}
	}
	east := time.FixedZone("east", 3600)
	spend("o", time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), 100, 100)
	spend("o", time.Date(2026, 11, 30, 23, 59, 59, 0, time.UTC), 7, 107)
	spend("o", time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC), -50, 57)
	spend("o", time.Date(2026, 12, 1, 0, 30, 0, 0, east), 1, 58) // November in UTC
	spend("o", time.Date(2026, 12, 1, 1, 30, 0, 0, east), 3, 3)
	spend("o", time.Date(2025, 11, 30, 12, 0, 0, 0, time.UTC), 5, 5)
	spend("p", epoch, 1, 1)
	save(t, s, capture.Changes{Usage: []capture.Usage{
		{OrganizationID: "o", ProjectID: 1, Resource: capture.ResourceEvents, At: epoch, N: 10},
		{OrganizationID: "o", ProjectID: 2, Resource: capture.ResourceEvents, At: epoch.AddDate(0, 0, 1), N: 5},
		{OrganizationID: "o", ProjectID: 2, Resource: capture.ResourceEvents, At: epoch.AddDate(0, 1, 0), N: 1},
	}})
	for _, tt := range []struct {
		resource capture.Resource
		at       time.Time
		want     int64
	}{
		{capture.ResourceEvents, epoch, 15}, {capture.ResourceEvents, epoch.AddDate(0, 1, 0), 1},
		{capture.ResourceSurveys, epoch, 0}, {"feature_flags", epoch, 58},
	} {
		if got, err := s.Used(context.Background(), "o", tt.resource, tt.at); err != nil || got != tt.want {
			t.Errorf("Used %s at %v: %d, %v, want %d", tt.resource, tt.at, got, err, tt.want)
		}
	}
}

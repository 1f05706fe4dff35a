package storetest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags/wire"
)

// Ledger is the contract test of capture.Ledger.
func Ledger(t *testing.T, open func(testing.TB) Backend) {
	t.Run("Capture_13_3_Duplicates", func(t *testing.T) { duplicates(t, open(t)) })
	t.Run("Capture_8_3_EventsAsSaved", func(t *testing.T) { eventsAsSaved(t, open(t)) })
	t.Run("Capture_9_People", func(t *testing.T) { readsPeople(t, open(t)) })
	t.Run("Capture_10_5_Merges", func(t *testing.T) { mergedPeople(t, open(t)) })
	t.Run("Capture_11_Groups", func(t *testing.T) { readsGroups(t, open(t)) })
	t.Run("Capture_12_3_FlagCalls", func(t *testing.T) { flagCalls(t, open(t)) })
	t.Run("Capture_4_5_Warnings", func(t *testing.T) { warnings(t, open(t)) })
	t.Run("SeenNames", func(t *testing.T) { seenNames(t, open(t)) })
	t.Run("ManyAtOnce", func(t *testing.T) { manyRows(t, open(t)) })
	t.Run("Decision_13_FailureLeavesNothing", func(t *testing.T) { failures(t, open(t)) })
}

// commit runs work in a transaction, which must succeed.
func commit(t testing.TB, s capture.Ledger, work func(tx capture.Tx) error) {
	t.Helper()
	must(t, s.Commit(context.Background(), []int64{testProject, 2}, work))
}

// readPeople reads persons of the test project in a transaction.
func readPeople(t testing.TB, s capture.Ledger, ids ...string) (found []capture.Identity) {
	t.Helper()
	commit(t, s, func(tx capture.Tx) (err error) {
		found, err = tx.People(testProject, ids)
		return err
	})
	if len(found) != len(ids) {
		t.Fatalf("%d answers for %d ids", len(found), len(ids))
	}
	return found
}

// claim claims keys and stores the events of the new ones.
func claim(t testing.TB, s capture.Ledger, keys ...capture.EventKey) (isNew []bool) {
	t.Helper()
	commit(t, s, func(tx capture.Tx) (err error) {
		isNew, err = tx.Claim(keys)
		c := &capture.Changes{}
		for i, ok := range isNew {
			if ok {
				e := event(1, keys[i].Name, keys[i].DistinctID, epoch)
				e.ProjectID, e.UUID = keys[i].ProjectID, keys[i].UUID
				c.Events = append(c.Events, e)
			}
		}
		return errors.Join(err, tx.Save(c))
	})
	return isNew
}

func duplicates(t *testing.T, s Backend) {
	base := capture.EventKey{ProjectID: testProject, UUID: uuidOf("event"), Name: "name", DistinctID: "ann"}
	with := func(change func(*capture.EventKey)) capture.EventKey {
		k := base
		change(&k)
		return k
	}
	others := []capture.EventKey{
		with(func(k *capture.EventKey) { k.ProjectID = 2 }),
		with(func(k *capture.EventKey) { k.UUID = uuidOf("another event") }),
		with(func(k *capture.EventKey) { k.Name = "another name" }),
		with(func(k *capture.EventKey) { k.DistinctID = "bob" }),
	}
	for _, step := range []struct {
		name string
		keys []capture.EventKey
		want []bool
	}{
		{"twice in one call", []capture.EventKey{base, base}, []bool{true, false}},
		{"again", []capture.EventKey{base}, []bool{false}},
		{"others", slices.Concat(others, []capture.EventKey{base}), []bool{true, true, true, true, false}},
		{"the others again", others, []bool{false, false, false, false}},
		{"none", nil, nil},
	} {
		if diff := gocmp.Diff(step.want, claim(t, s, step.keys...), gocmp.Transformer("slice", func(b []bool) []bool { return append([]bool{}, b...) })); diff != "" {
			t.Errorf("%s: %s", step.name, diff)
		}
	}
}

func eventsAsSaved(t *testing.T, s Backend) {
	list := []capture.Record{
		event(1, "first", "ann", epoch.Add(123456*time.Microsecond)),
		event(2, "$pageview é 😀 ' \" \\ %", strings.Repeat("i", 400), time.Date(1999, 12, 31, 23, 59, 59, 999999000, time.UTC)),
		event(3, "", "ann", time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC)),
		event(1, "first", "ann", epoch), // a duplicate
		event(4, "last", "ann", epoch),
	}
	list[0].Properties = `{"a":"\u0000 \ud800","b":1e400,"c":[1.50,{}]}`
	list[1].ElementsChain, list[1].PersonProperties = strings.Repeat("div;", 5000), `{"é":"`+strings.Repeat("x", 100_000)+`"}`
	list[4].Name, list[4].Properties = "$ai_span", `{"$ai_input":"`+strings.Repeat("x", wire.MaxEventOf("$ai_span")-100)+`"}` // the longest event
	list[2].PersonID, list[2].PersonMode = capture.UUID{}, capture.Propertyless
	foreign := event(1, "first", "ann", epoch)
	foreign.ProjectID = 2
	keys := []capture.EventKey{{ProjectID: 2, UUID: foreign.UUID, Name: foreign.Name, DistinctID: foreign.DistinctID}}
	for _, e := range list {
		keys = append(keys, capture.EventKey{ProjectID: e.ProjectID, UUID: e.UUID, Name: e.Name, DistinctID: e.DistinctID})
	}
	want := slices.Delete(slices.Clone(list), 3, 4)
	commit(t, s, func(tx capture.Tx) error {
		isNew, err := tx.Claim(keys)
		if err != nil || !slices.Equal(isNew, []bool{true, true, true, true, false, true}) {
			t.Errorf("fresh are %v, %v", isNew, err)
		}
		return tx.Save(&capture.Changes{Events: append([]capture.Record{foreign}, slices.Clone(want)...)})
	})
	for _, when := range []string{"saved", "indexed"} {
		got, err := s.Ledger(context.Background(), testProject, 0, 100)
		must(t, err)
		last := int64(0)
		for i := range got {
			if got[i].ID <= last {
				t.Errorf("%s: event %d follows %d", when, got[i].ID, last)
			}
			last, got[i].ID = got[i].ID, 0
		}
		equal(t, want, got, "%s", when)
		if got, err = s.Ledger(context.Background(), 2, 0, 100); err != nil || len(got) != 1 || got[0].UUID != foreign.UUID {
			t.Errorf("%s: the other project has %v, %v", when, got, err)
		}
		index(t, s)
	}
}

func readsPeople(t *testing.T, s Backend) {
	ctx := context.Background()
	c := person(t, `{"plan":"pro","n":1.50,"é":null}`, "ann", "ann@example.com")
	c.Persons[0].CreatedAt = epoch.Add(time.Microsecond)
	c.Personless = []capture.ProjectID{{ProjectID: testProject, DistinctID: "ghost"}, {ProjectID: testProject, DistinctID: "ghost"}}
	save(t, s, c)
	// The same id in another project belongs to another person.
	commit(t, s, func(tx capture.Tx) error {
		return tx.Save(&capture.Changes{Personless: []capture.ProjectID{{ProjectID: 2, DistinctID: "bob"}}})
	})
	found := readPeople(t, s, "bob", "ann", "ghost", "ann@example.com", "ann")
	equal(t, []capture.Identity{{}, {Person: c.Persons[0].Person}, {Personless: true}, {Person: c.Persons[0].Person}, {Person: c.Persons[0].Person}}, found, "")
	if found[1].Person != found[3].Person || found[1].Person != found[4].Person {
		t.Error("ids of one person do not share it")
	}

	changed := update(t, `{"plan":"free"}`, "ann", 7)
	changed.Persons[0].Identified = true
	changed.IDs = []capture.ProjectID{{ProjectID: testProject, DistinctID: "ghost", Person: uuidOf("ann")}}
	changed.Personless = []capture.ProjectID{{ProjectID: testProject, DistinctID: "ann"}} // the id has a person and does not lose it
	save(t, s, changed)
	for i, k := range readPeople(t, s, "ghost", "ann") {
		equal(t, capture.Identity{Person: changed.Persons[0].Person}, k, "%d", i)
	}
	if n, err := s.CountPeople(ctx, testProject); err != nil || n != 1 {
		t.Errorf("%d persons, %v, want 1", n, err)
	}
}

func mergedPeople(t *testing.T, s Backend) {
	ctx := context.Background()
	for _, id := range []string{"ann", "bob", "cid", "dan"} {
		save(t, s, person(t, `{"name":"`+id+`"}`, id, id+"2"))
	}
	merged := update(t, `{"name":"ann","merged":true}`, "ann", 1)
	merged.Merges = []capture.Merge{
		{ProjectID: testProject, From: uuidOf("cid"), Into: uuidOf("bob")},
		{ProjectID: testProject, From: uuidOf("bob"), Into: uuidOf("ann")},
		{ProjectID: testProject, From: uuidOf("nobody"), Into: uuidOf("ann")},
		{ProjectID: 2, From: uuidOf("dan"), Into: uuidOf("ann")}, // of another project
	}
	merged.IDs = []capture.ProjectID{{ProjectID: testProject, DistinctID: "new", Person: uuidOf("ann")}}
	save(t, s, merged)
	ids := []string{"ann", "ann2", "bob", "bob2", "cid", "cid2", "new"}
	for i, k := range readPeople(t, s, ids...) {
		equal(t, capture.Identity{Person: merged.Persons[0].Person}, k, "%s", ids[i])
	}
	if dan := readPeople(t, s, "dan2")[0].Person; dan == nil || dan.UUID != uuidOf("dan") {
		t.Errorf("dan is %+v", dan)
	}
	if n, err := s.CountPeople(ctx, testProject); err != nil || n != 2 {
		t.Errorf("%d persons, %v, want 2", n, err)
	}
	if p, err := s.PersonByUUID(ctx, testProject, uuidOf("bob")); p != nil || err != nil {
		t.Errorf("bob is still there: %+v, %v", p, err)
	}
}

func readsGroups(t *testing.T, s Backend) {
	readGroups := func(project int64, ids ...capture.GroupID) (found []*capture.Group, types []string) {
		t.Helper()
		commit(t, s, func(tx capture.Tx) (err error) {
			if found, err = tx.Groups(project, ids); err == nil {
				types, err = tx.GroupTypes(project)
			}
			return err
		})
		return found, types
	}
	group := func(index int, key, properties string) capture.ProjectGroup {
		return capture.ProjectGroup{ProjectID: testProject, Group: capture.Group{
			GroupID: capture.GroupID{Type: index, Key: key}, CreatedAt: epoch, Properties: object(t, properties),
		}}
	}
	acme, own, sales := group(0, "acme", `{"size":10}`), group(0, "ours", `{}`), group(1, "acme", `{"x":"y"}`)
	save(t, s, capture.Changes{
		GroupTypes: []capture.ProjectGroupType{{ProjectID: testProject, Index: 0, Name: "company"}, {ProjectID: testProject, Index: 1, Name: "team"}},
		Groups:     []capture.ProjectGroup{acme, own, sales},
	})
	ids := []capture.GroupID{{Type: 1, Key: "acme"}, {Type: 0, Key: "nobody"}, {Type: 0, Key: "acme"}, {Type: 0, Key: "ours"}, {Type: 0, Key: "acme"}}
	found, types := readGroups(testProject, ids...)
	equal(t, []*capture.Group{&sales.Group, nil, &acme.Group, &own.Group, &acme.Group}, found, "")
	equal(t, []string{"company", "team"}, types, "")
	acme.Properties = object(t, `{"size":11}`)
	save(t, s, capture.Changes{Groups: []capture.ProjectGroup{acme}})
	if found, _ = readGroups(testProject, ids[2]); !gocmp.Equal(found, []*capture.Group{&acme.Group}) {
		t.Errorf("after a change: %+v", found[0])
	}
	if found, types = readGroups(2, ids[2]); found[0] != nil || len(types) != 0 {
		t.Errorf("another project has %+v, %q", found[0], types)
	}
}

func flagCalls(t *testing.T, s Backend) {
	call := func(flag, value string, n int64, first, last time.Duration) capture.FlagCalls {
		return capture.FlagCalls{ProjectID: testProject, FlagCall: capture.FlagCall{Flag: flag, Value: value}, Calls: n, First: epoch.Add(first), Last: epoch.Add(last)}
	}
	save(t, s, capture.Changes{Calls: []capture.FlagCalls{call("a", "true", 2, 5, 6e3), call("a", "false", 1, 0, 0), call("a", "true", 1, 2e3, 2e3)}})
	save(t, s, capture.Changes{Calls: []capture.FlagCalls{call("a", "true", 4, 1e3, 9e3), call("b", "true", 1, 0, 0), call("a", "false", 1, 3e3, 3e3)}})
	got, err := s.FlagCalls(context.Background(), testProject, "a", 10)
	must(t, err)
	slices.SortFunc(got, func(a, b capture.FlagCalls) int { return strings.Compare(a.Value, b.Value) })
	// 5 ns are less than a microsecond: the first call was at the beginning.
	equal(t, []capture.FlagCalls{call("a", "false", 2, 0, 3e3), call("a", "true", 7, 0, 9e3)}, got, "")
}

func warnings(t *testing.T, s Backend) {
	warn := func(id, uuid, detail string, n int64, at time.Duration) capture.Warning {
		return capture.Warning{ProjectID: testProject, Type: capture.WarnGroupSet, DistinctID: id, EventUUID: uuidOf(uuid), Detail: detail, Count: n, At: epoch.Add(at)}
	}
	long := strings.Repeat("é", 40) // 80 bytes
	save(t, s, capture.Changes{Warnings: []capture.Warning{warn("ann", "1", "one", 2, time.Second), warn(long+"x", "2", "", 1, 0)}})
	save(t, s, capture.Changes{Warnings: []capture.Warning{warn("ann", "3", "three", 1, time.Minute), warn("ann", "4", "four", 1, 2*time.Minute), warn(long+"y", "5", "", 1, 0)}})
	got, err := s.Warnings(context.Background(), testProject, 10, 0)
	must(t, err)
	want := []capture.StoredWarning{
		{Warning: warn("ann", "4", "four", 4, 2*time.Minute), First: epoch.Add(time.Second)},
		{Warning: warn(strings.Repeat("é", 32), "5", "", 2, 0), First: epoch}, // 64 bytes
	}
	equal(t, want, got, "")
}

func seenNames(t *testing.T, s Backend) {
	seen := func(kind capture.SeenKind, group int, name, of string, at time.Duration) capture.SeenName {
		return capture.SeenName{ProjectID: testProject, Kind: kind, Group: group, Name: name, Type: of, At: epoch.Add(at)}
	}
	const event, property, group = capture.SeenEvent, capture.SeenEventProperty, capture.SeenGroupProperty
	save(t, s, capture.Changes{Seen: []capture.SeenName{
		seen(event, 0, "a", "", 0), seen(property, 0, "a", "", 0), seen(property, 0, "b", "String", 2e3),
		seen(group, 0, "a", "Numeric", 0), seen(group, 1, "a", "Boolean", 0), seen(event, 0, "a", "", 5e3),
	}})
	save(t, s, capture.Changes{Seen: []capture.SeenName{seen(property, 0, "a", "Numeric", 1e3), seen(property, 0, "b", "Boolean", 1e3)}})
	for kind, want := range map[capture.SeenKind][]capture.SeenName{
		event:    {seen(event, 0, "a", "", 5e3)},
		property: {seen(property, 0, "a", "Numeric", 1e3), seen(property, 0, "b", "String", 2e3)}, // an existing type does not change
		group:    {seen(group, 0, "a", "Numeric", 0), seen(group, 1, "a", "Boolean", 0)},
	} {
		got, err := s.SeenNames(context.Background(), testProject, kind, 10, 0)
		must(t, err)
		slices.SortFunc(got, func(a, b capture.SeenName) int { return strings.Compare(a.Name, b.Name)*2 + a.Group - b.Group })
		equal(t, want, got, "kind %d", kind)
	}
}

// Statements insert rows in chunks; every number of rows must work.
func manyRows(t *testing.T, s Backend) {
	var c capture.Changes
	var ids []string
	for i := range 127 {
		id := strings.Repeat("i", i+1)
		p := person(t, `{}`, id)
		c.Persons, c.IDs = append(c.Persons, p.Persons...), append(c.IDs, p.IDs...)
		c.Events = append(c.Events, event(i, "e", id, epoch))
		ids = append(ids, id)
	}
	save(t, s, c)
	for i, k := range readPeople(t, s, ids...) {
		if k.Person == nil || k.Person.UUID != uuidOf(ids[i]) {
			t.Errorf("id %d is %+v", i, k.Person)
		}
	}
	got, err := s.Ledger(context.Background(), testProject, 0, 1000)
	if err != nil || len(got) != len(ids) {
		t.Fatalf("%d events, %v", len(got), err)
	}
	for i, e := range got {
		if e.UUID != c.Events[i].UUID || e.ID != c.Events[i].ID {
			t.Errorf("event %d is %s with id %d, want %s with %d", i, e.UUID, e.ID, c.Events[i].UUID, c.Events[i].ID)
		}
	}
	if n, err := s.CountPeople(context.Background(), testProject); err != nil || n != int64(len(ids)) {
		t.Errorf("%d persons, %v", n, err)
	}
}

func failures(t *testing.T, s Backend) {
	ctx, cause := context.Background(), errors.New("out of luck")
	c := person(t, `{}`, "ann")
	c.Events = []capture.Record{event(1, "e", "ann", epoch)}
	c.GroupTypes = []capture.ProjectGroupType{{ProjectID: testProject, Name: "company"}}
	c.Usage = []capture.Usage{{OrganizationID: "o", ProjectID: testProject, Resource: capture.ResourceEvents, At: epoch, N: 1}}
	key := capture.EventKey{ProjectID: testProject, UUID: c.Events[0].UUID, Name: "e", DistinctID: "ann"}
	err := s.Commit(ctx, []int64{testProject}, func(tx capture.Tx) error {
		if _, err := tx.Claim([]capture.EventKey{key}); err != nil {
			return err
		}
		if err := tx.Save(&c); err != nil {
			return err
		}
		return cause
	})
	if !errors.Is(err, cause) {
		t.Errorf("%v, want %v", err, cause)
	}
	if k := readPeople(t, s, "ann")[0]; k.Person != nil || k.Personless {
		t.Errorf("ann is known: %+v", k)
	}
	events, err := s.Ledger(ctx, testProject, 0, 10)
	if err != nil || len(events) != 0 {
		t.Errorf("%d events, %v", len(events), err)
	}
	if n, err := s.Used(ctx, "o", capture.ResourceEvents, epoch); err != nil || n != 0 {
		t.Errorf("used %d, %v", n, err)
	}
	if n, err := s.CountPeople(ctx, testProject); err != nil || n != 0 {
		t.Errorf("%d persons, %v", n, err)
	}
	if isNew := claim(t, s, key); !isNew[0] {
		t.Error("the key is still claimed")
	}
}

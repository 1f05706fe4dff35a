package capture

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"

	gocmp "github.com/google/go-cmp/cmp"
)

// TestPlan_Netted proves that a commit saves a person once, and does not save a person
// that is both created and merged in it.
func TestPlan_Netted(t *testing.T) {
	at := planTime(t, "10:00")
	s := newPlanStore(t)
	var events []Event
	for i := range 10 {
		events = append(events, Event{UUID: planUUID(i + 1), Name: "e", DistinctID: "a", Properties: "{}", Timestamp: at,
			Set: Object{{"n", fmt.Sprint(i)}}})
	}
	events = append(events,
		Event{UUID: planUUID(11), Name: "e", DistinctID: "u", Properties: "{}", Timestamp: at},
		Event{UUID: planUUID(12), Name: "$identify", Kind: identifyEvent, DistinctID: "u", Other: "a", HasOther: true, Properties: "{}", Timestamp: at})
	s.commit(events)
	c := s.saved
	if len(c.Persons) != 1 || len(c.Merges) != 0 || len(c.IDs) != 2 || len(c.Events) != 12 {
		t.Fatalf("persons %d, merges %d, ids %d, events %d; want 1, 0, 2, 12", len(c.Persons), len(c.Merges), len(c.IDs), len(c.Events))
	}
	w := c.Persons[0]
	if !w.IsNew || w.UUID != PersonID(1, "u") || w.Version != 10 {
		t.Errorf("person %+v; want that of u, new, version max(9, 0) + 1", *w.Person)
	}
	for _, i := range c.IDs {
		if i.Person != w.UUID {
			t.Errorf("id %s belongs to %s", i.DistinctID, i.Person)
		}
	}
}

// TestPlan_TextOnce proves that events without changes share the JSON text of the person.
func TestPlan_TextOnce(t *testing.T) {
	p := newPlan(1, nil)
	p.loadPerson(p.distinctID("u"), Identity{Person: &Person{UUID: planUUID(1), Properties: Object{{"a", "1"}}}})
	for i := range 2 {
		p.apply(&Event{UUID: planUUID(i), Name: "e", DistinctID: "u", Properties: "{}"})
	}
	a, b := p.events[0].PersonProperties, p.events[1].PersonProperties
	if a != `{"a":1}` || unsafe.StringData(a) != unsafe.StringData(b) {
		t.Errorf("%s, %s: want the same text", a, b)
	}
}

// TestPlan_OwnMemory proves that data that outlives a commit does not share memory with a
// request's body.
func TestPlan_OwnMemory(t *testing.T) {
	body := strings.Clone("user|anon|key|\"value\"|once|2|company|acme")
	part := strings.Split(body, "|")
	events := []Event{{
		UUID: planUUID(1), Name: "$identify", Kind: identifyEvent, DistinctID: part[0], Other: part[1], HasOther: true, Properties: "{}",
		Set: Object{{part[2], part[3]}}, SetOnce: Object{{part[4], part[5]}}, Groups: []GroupKey{{part[6], `"x"`}},
	}}
	p := newPlan(1, nil)
	p.ids(events)
	p.apply(&events[0])
	var c Changes
	p.finish(&c)
	first := uintptr(unsafe.Pointer(unsafe.StringData(body)))
	check := func(s string) {
		t.Helper()
		if at := uintptr(unsafe.Pointer(unsafe.StringData(s))); at >= first && at < first+uintptr(len(body)) {
			t.Errorf("%q is part of the body", s)
		}
	}
	n := 0
	p.each(func(id string, k Identity, _ string) {
		n++
		check(id)
		for _, m := range k.Person.Properties {
			check(m.Key)
			check(m.Value)
		}
	})
	if n != 2 || len(c.GroupTypes) != 1 {
		t.Fatalf("%d ids, %d types", n, len(c.GroupTypes))
	}
	check(c.GroupTypes[0].Name)
}

// TestPlan_Asks proves that the plan loads every id that it needs exactly once, and no
// other ids.
func TestPlan_Asks(t *testing.T) {
	id := func(kind eventKind, id, other string) Event {
		return Event{Kind: kind, DistinctID: id, Other: other, HasOther: other != ""}
	}
	events := []Event{
		id(ordinaryEvent, "a", ""), id(ordinaryEvent, "a", "unused"), id(identifyEvent, "u", "a"), id(aliasEvent, "u", "b"), id(identifyEvent, "u", "null"),
		id(identifyEvent, "guest", "c"), id(mergeDangerouslyEvent, "v", "v"),
	}
	personless := id(identifyEvent, "w", "d")
	personless.Personless = true
	events = append(events, personless)
	p := newPlan(1, []string{"company"})
	var ids []string
	for _, i := range p.ids(events) {
		ids = append(ids, i.id)
	}
	if diff := gocmp.Diff([]string{"a", "u", "b", "guest", "v", "w"}, ids); diff != "" {
		t.Error(diff)
	}
	if again := p.ids(events); len(again) > 0 {
		t.Error("asks again for", again[0].id)
	}
	groups := []Event{
		{Group: &GroupUpdate{Type: "company", Key: "x"}}, {Group: &GroupUpdate{Type: "new", Key: "x"}},
		{Group: &GroupUpdate{Type: "company", Key: "x"}}, {},
	}
	if diff := gocmp.Diff([]GroupID{{0, "x"}}, p.groups(groups, nil)); diff != "" {
		t.Error(diff)
	}
}

// TestPlan_Warnings proves that warnings of the same kind and id are added up, and are
// bounded (decision 15).
func TestPlan_Warnings(t *testing.T) {
	p := newPlan(1, nil)
	for i := range commitWarnings + 50 {
		e := Event{UUID: planUUID(i), Name: "$identify", Kind: identifyEvent, DistinctID: fmt.Sprintf("%d%s", i, strings.Repeat("x", 300)), Other: "guest", HasOther: true}
		p.apply(&e)
		p.apply(&e)
	}
	var c Changes
	p.finish(&c)
	if len(c.Warnings) != commitWarnings+1 {
		t.Fatalf("%d warnings", len(c.Warnings))
	}
	for i, w := range c.Warnings[:commitWarnings] {
		if w.Count != 2 || w.EventUUID != planUUID(i) || len(w.DistinctID) > warningID || strings.Contains(w.Detail, "guest") {
			t.Fatalf("warning %d: %+v", i, w)
		}
	}
	if last := c.Warnings[commitWarnings]; last.Count != 100 || last.DistinctID != "" {
		t.Errorf("last warning: %+v", last)
	}
}

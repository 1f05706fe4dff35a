package capture

import (
	"fmt"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

func mergeEvent(n int, into, other string) Event {
	return Event{UUID: planUUID(n), Name: "$identify", Kind: identifyEvent, DistinctID: into, Other: other, HasOther: true, Properties: "{}", Timestamp: benchTime}
}

// storedPeople returns a store with persons that have one id each.
func storedPeople(t testing.TB, properties string, ids ...string) *planStore {
	s := newPlanStore(t)
	for _, id := range ids {
		uuid := PersonID(1, id)
		s.persons[uuid] = Person{UUID: uuid, CreatedAt: benchTime, Properties: object(t, properties)}
		s.ids[id] = uuid
	}
	return s
}

// TestCapture_18_4_ManyIDs proves that a merge moves all of a person's hundreds of ids,
// including those that are not in the commit.
func TestCapture_18_4_ManyIDs(t *testing.T) {
	s := storedPeople(t, `{}`, "a", "u")
	for i := range 500 {
		s.ids[fmt.Sprint("id-", i)] = PersonID(1, "a")
	}
	s.commit([]Event{mergeEvent(1, "u", "a")})
	if len(s.ids) != 502 || len(s.persons) != 1 {
		t.Fatalf("%d ids, %d persons", len(s.ids), len(s.persons))
	}
	for id, owner := range s.ids {
		if owner != PersonID(1, "u") {
			t.Errorf("id %s belongs to %s", id, owner)
		}
	}
}

// TestPlan_MergeChains proves that stored persons are merged in the order of the events; new
// persons between them are not saved, and pass on the persons that they inherit. The order
// determines which override remains (§10.5).
func TestPlan_MergeChains(t *testing.T) {
	merge := func(from, into string) Merge { return Merge{1, PersonID(1, from), PersonID(1, into)} }
	made := func(n int, id string) Event {
		return Event{UUID: planUUID(n), Name: "e", DistinctID: id, Properties: "{}", Timestamp: benchTime}
	}
	dangerously := func(n int, into, other string) Event {
		e := mergeEvent(n, into, other)
		e.Name, e.Kind = "$merge_dangerously", mergeDangerouslyEvent
		return e
	}
	for _, c := range []struct {
		name   string
		events []Event
		want   []Merge
	}{
		{"stored into stored into stored", []Event{dangerously(1, "b", "a"), dangerously(2, "c", "b")}, []Merge{merge("a", "b"), merge("b", "c")}},
		{"stored into new", []Event{made(1, "new"), dangerously(2, "new", "a"), dangerously(3, "new", "b")}, []Merge{merge("a", "new"), merge("b", "new")}},
		{"new into stored", []Event{made(1, "new"), dangerously(2, "a", "new")}, nil},
		{"stored into new, another into the last, new into the last",
			[]Event{made(1, "new"), dangerously(2, "new", "a"), dangerously(3, "c", "b"), dangerously(4, "c", "new")},
			[]Merge{merge("b", "c"), merge("a", "c")}},
		{"through two new ones", []Event{made(1, "n1"), made(2, "n2"), dangerously(3, "n1", "a"), dangerously(4, "n2", "b"), dangerously(5, "n2", "n1"), dangerously(6, "c", "n2")},
			[]Merge{merge("b", "c"), merge("a", "c")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := storedPeople(t, `{}`, "a", "b", "c")
			s.commit(c.events)
			if diff := gocmp.Diff(c.want, s.saved.Merges); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestPlan_OnePersonManyPointers proves that persons are only distinguished by UUID.
func TestPlan_OnePersonManyPointers(t *testing.T) {
	p := newPlan(1, nil)
	for _, id := range []string{"a", "b"} {
		p.loadPerson(p.distinctID(id), Identity{Person: &Person{UUID: planUUID(1)}})
	}
	e := mergeEvent(1, "a", "b")
	e.Set = Object{{"x", "1"}}
	p.apply(&e)
	var c Changes
	p.finish(&c)
	if len(c.Merges) != 0 || len(c.Persons) != 1 || len(c.IDs) != 0 {
		t.Errorf("%+v", c)
	}
}

// TestCapture_4_6_MergeTooLarge proves that persons whose properties are too large together
// are merged nevertheless, with the properties of into only.
func TestCapture_4_6_MergeTooLarge(t *testing.T) {
	s := newPlanStore(t)
	for i, id := range []string{"a", "u"} {
		uuid := PersonID(1, id)
		s.persons[uuid] = Person{UUID: uuid, CreatedAt: benchTime, Properties: Object{{fmt.Sprint("big", i), `"` + strings.Repeat("x", 400_000) + `"`}}}
		s.ids[id] = uuid
	}
	want := s.persons[PersonID(1, "u")].Properties.String()
	s.commit([]Event{mergeEvent(1, "u", "a")})
	w := s.persons[s.ids["a"]]
	if len(s.persons) != 1 || w.UUID != PersonID(1, "u") || w.Properties.String() != want || w.Version != 1 || !w.Identified {
		t.Errorf("%d persons, %s, version %d, identified %v, %d bytes", len(s.persons), w.UUID, w.Version, w.Identified, w.Properties.size())
	}
	if len(s.saved.Warnings) != 1 || s.saved.Warnings[0].Type != warnPersonTooLarge {
		t.Errorf("warnings %+v", s.saved.Warnings)
	}
}

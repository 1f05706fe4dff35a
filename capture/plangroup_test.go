package capture

import (
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

func groupEvent(n int, groupType, key string, set Object) Event {
	return Event{
		UUID: planUUID(n), Name: "$groupidentify", Kind: groupIdentifyEvent, DistinctID: "u", Properties: "{}", Timestamp: benchTime, ReceivedAt: benchTime,
		Group: &GroupUpdate{groupType, key, set},
	}
}

// TestCapture_11_1_LowestFree proves that a new type is assigned the lowest free number.
func TestCapture_11_1_LowestFree(t *testing.T) {
	s := newPlanStore(t)
	s.types = []string{"a", "", "c"}
	s.commit([]Event{groupEvent(1, "x", "k", nil), groupEvent(2, "y", "k", nil), groupEvent(3, "x", "k2", nil)})
	if diff := gocmp.Diff([]string{"a", "x", "c", "y"}, s.types); diff != "" {
		t.Error(diff)
	}
}

// TestCapture_11_1_WarnsOncePerType proves that the sixth and later types add one warning
// each for a commit.
func TestCapture_11_1_WarnsOncePerType(t *testing.T) {
	s := newPlanStore(t)
	s.types = []string{"a", "b", "c", "d", "e"}
	e := groupEvent(1, "f", "k", nil)
	e.Groups = []GroupKey{{"f", `"k"`}, {"g", `"k"`}, {"", `"k"`}}
	again := e
	again.UUID = planUUID(2)
	s.commit([]Event{e, again})
	if len(s.saved.Warnings) != 1 || s.saved.Warnings[0].Count != 2 || s.saved.Warnings[0].Type != warnGroupTypes {
		t.Errorf("%+v", s.saved.Warnings)
	}
	if s.saved.Events[0].Properties != "{}" || len(s.groups) != 0 {
		t.Errorf("%s, %v", s.saved.Events[0].Properties, s.groups)
	}
}

// TestCapture_11_3_Seen proves that names that are new to the stored group are recorded one
// time for a commit, with their type (management.md, property definitions).
func TestCapture_11_3_Seen(t *testing.T) {
	s := newPlanStore(t)
	s.types = []string{"company"}
	s.groups[GroupID{0, "old"}] = Group{GroupID{0, "old"}, benchTime, Object{{"known", "1"}}}
	s.commit([]Event{
		groupEvent(1, "company", "old", Object{{"known", "2"}, {"n", "1"}, {"s", `"t"`}}),
		groupEvent(2, "company", "new", Object{{"b", "true"}, {"n", "2"}}),
		groupEvent(3, "team", "new", Object{{"n", `"2026-01-01T00:00:00Z"`}}),
	})
	seen := func(group int, name, typ string) SeenName {
		return SeenName{ProjectID: 1, Kind: SeenGroupProperty, Group: group, Name: name, Type: typ, At: benchTime}
	}
	want := []SeenName{seen(0, "n", "Numeric"), seen(0, "s", "String"), seen(0, "b", "Boolean"), seen(1, "n", "DateTime")}
	if diff := gocmp.Diff(want, s.saved.Seen); diff != "" {
		t.Error(diff)
	}
}

// TestCapture_11_2_Columns proves that columns are added to the text of any object.
func TestCapture_11_2_Columns(t *testing.T) {
	for properties, want := range map[string]string{
		"":                   `{"$group_0":7}`,
		"{}":                 `{"$group_0":7}`,
		`{"a":{}}`:           `{"a":{},"$group_0":7}`,
		`{"a":"}","b":null}`: `{"a":"}","b":null,"$group_0":7}`,
	} {
		s := newPlanStore(t)
		s.commit([]Event{{UUID: planUUID(1), Name: "e", DistinctID: "u", Properties: properties, Groups: []GroupKey{{"c", "7"}}}})
		if got := s.saved.Events[0].Properties; got != want {
			t.Errorf("%s: %s, want %s", properties, got, want)
		}
	}
}

func BenchmarkPlan_Groups(b *testing.B) {
	benchPlan(b, Object{}, func(i int) Event {
		return Event{UUID: planUUID(i), Name: "e", DistinctID: "u", Properties: `{"a":1}`, Timestamp: benchTime, Groups: []GroupKey{{"company", `"acme"`}}}
	})
}

package capture

import (
	"fmt"
	"strings"
	"testing"
)

func personOf(distinctID, properties string) *Person {
	o, err := ParseObject(properties)
	if err != nil {
		panic(err)
	}
	return &Person{UUID: PersonID(1, distinctID), Properties: o}
}

// All ids of a person have its newest state, whichever id changed it. After a merge, the ids
// of the merged person are read from the store.
func TestPersonCache_SharedPerson(t *testing.T) {
	m := newPersonCache(0)
	old := personOf("a", `{"v":1}`)
	m.put(1, "a", Identity{Person: old}, "")
	m.put(1, "b", Identity{Person: old}, "")
	changed := *old
	changed.Version = 1
	m.put(1, "a", Identity{Person: &changed}, "")
	if k, _, ok := m.get(1, "b"); !ok || k.Person != &changed {
		t.Errorf("by the other id: %+v %v", k.Person, ok)
	}
	if _, _, ok := m.get(2, "a"); ok {
		t.Error("another project knows the id")
	}
	m.removePerson(1, old.UUID)
	if _, _, ok := m.get(1, "b"); ok {
		t.Error("the id of a person that is gone is not looked up again")
	}
	m.put(1, "nobody", Identity{Personless: true}, "")
	if k, _, ok := m.get(1, "nobody"); !ok || k.Person != nil || !k.Personless {
		t.Errorf("an id without a person: %+v %v", k, ok)
	}
	m.clear()
	if m.bytes.Load() != 0 {
		t.Errorf("%d bytes are left of nothing", m.bytes.Load())
	}
}

// The cache stays within its limit and retains the newest entries.
func TestPersonCache_Bounded(t *testing.T) {
	const limit = 1 << 20
	m := newPersonCache(limit)
	for i := range 20000 {
		id := fmt.Sprint("user-", i)
		m.put(1, id, Identity{Person: personOf(id, `{"text":"`+strings.Repeat("x", i%900)+`"}`)}, "")
		if m.bytes.Load() > limit {
			t.Fatalf("%d bytes after %d people, limit %d", m.bytes.Load(), i+1, limit)
		}
	}
	if _, _, ok := m.get(1, "user-19999"); !ok {
		t.Error("the last one is forgotten")
	}
	if _, _, ok := m.get(1, "user-0"); ok {
		t.Error("the first one is not forgotten")
	}
	if len(m.persons) != m.ids.Len() {
		t.Errorf("%d persons of %d ids", len(m.persons), m.ids.Len())
	}
	if m.bytes.Load() < limit/2 {
		t.Errorf("only %d of %d bytes are used", m.bytes.Load(), limit)
	}
	huge := personOf("huge", `{"text":"`+strings.Repeat("x", maxCachedPerson)+`"}`)
	m.put(1, "huge", Identity{Person: huge}, "")
	if _, _, ok := m.get(1, "huge"); ok {
		t.Error("a person above the largest size is remembered")
	}
}

package insights

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/flags/wire"
)

// memory is a Source of events in memory. It does not process $identify and $set: the test sets
// owner and profiles to the resulting persons.
type memory struct {
	events []memoryEvent
	// owner is the person to whom a distinct id belongs now. A distinct id without an owner is a
	// person of its own.
	owner    map[string]capture.UUID
	profiles []capture.StoredPerson
	groups   map[int][]capture.Group
	members  map[int64][]capture.UUID
	// batch is the number of events of a batch; 0 means 3, so that every test has several batches.
	batch int
}

type memoryEvent struct {
	name, distinctID string
	at               time.Time
	properties       string
	personProperties string
	elements         string
	mode             capture.PersonMode
}

func (m *memory) Open(context.Context, int64) (port.Reader, error) {
	return &memoryReader{memory: m, numbers: map[capture.UUID]uint32{}}, nil
}

type memoryReader struct {
	*memory
	numbers map[capture.UUID]uint32
	people  []port.Person
}

// person returns the number of the person to whom a distinct id belongs now.
func (m *memoryReader) person(distinctID string) uint32 {
	id, ok := m.owner[distinctID]
	if !ok {
		id = capture.PersonID(1, distinctID)
	}
	n, ok := m.numbers[id]
	if !ok {
		n = uint32(len(m.people))
		m.numbers[id] = n
		p := port.Person{UUID: id}
		for i := range m.profiles {
			if m.profiles[i].UUID == id {
				p.Exists, p.CreatedAt = true, m.profiles[i].CreatedAt.UnixMicro()
			}
		}
		m.people = append(m.people, p)
	}
	return n
}

func (m *memoryReader) Person(n uint32) *port.Person { return &m.people[n] }

func (m *memoryReader) Scan(ctx context.Context, s port.Scan, yield func(*port.Batch) error) error {
	b := &port.Batch{}
	flush := func() error {
		full := b
		b = &port.Batch{}
		if full.Len() == 0 {
			return nil
		}
		return yield(full)
	}
	for i, e := range m.events {
		at := e.at.UnixMicro()
		if at < s.From || at > s.To || int64(i+1) <= s.After || s.Names != nil && !slices.Contains(s.Names, e.name) || s.DistinctIDs != nil && !slices.Contains(s.DistinctIDs, e.distinctID) {
			continue
		}
		b.Time = append(b.Time, at)
		m.fill(b, s.Columns, e, int64(i+1))
		if b.Len() == max(m.batch, 3) {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

func (m *memoryReader) fill(b *port.Batch, c port.Columns, e memoryEvent, id int64) {
	put(c, port.IDs, &b.ID, id)
	put(c, port.Names, &b.Name, e.name)
	put(c, port.DistinctIDs, &b.DistinctID, e.distinctID)
	put(c, port.UUIDs, &b.UUID, capture.UUID{15: byte(id), 14: byte(id >> 8)})
	put(c, port.CreatedAt, &b.CreatedAt, e.at.UnixMicro())
	if c&port.People != 0 {
		b.Person = append(b.Person, m.person(e.distinctID))
	}
	put(c, port.PeopleAtEvent, &b.PersonAtEvent, capture.PersonID(1, e.distinctID))
	put(c, port.Modes, &b.Mode, e.mode)
	put(c, port.Elements, &b.Elements, e.elements)
	put(c, port.Properties, &b.Properties, orEmpty(e.properties))
	put(c, port.PersonProperties, &b.PersonProperties, orEmpty(e.personProperties))
}

func put[T any](columns, column port.Columns, to *[]T, value T) {
	if columns&column != 0 {
		*to = append(*to, value)
	}
}

func orEmpty(object string) string {
	if object == "" {
		return "{}"
	}
	return object
}

func (m *memoryReader) Count(_ context.Context, s port.Scan) (int64, error) {
	return int64(len(m.events)), nil
}

func (m *memoryReader) Position() int64 { return int64(len(m.events)) }

func (m *memoryReader) Earliest(_ context.Context, since int64) (first int64, found bool, _ error) {
	for i := range m.events {
		if at := m.events[i].at.UnixMicro(); at >= since && (!found || at < first) {
			first, found = at, true
		}
	}
	return first, found, nil
}

func (m *memoryReader) Profiles(_ context.Context, people []capture.UUID, yield func(*capture.StoredPerson) error) error {
	for i := range m.profiles {
		if people != nil && !slices.Contains(people, m.profiles[i].UUID) {
			continue
		}
		if err := yield(&m.profiles[i]); err != nil {
			return err
		}
	}
	return nil
}

func (m *memoryReader) Groups(_ context.Context, groupType int, keys []string, yield func(*capture.Group) error) error {
	for i := range m.groups[groupType] {
		if g := &m.groups[groupType][i]; keys == nil || slices.Contains(keys, g.Key) {
			if err := yield(g); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *memoryReader) Members(_ context.Context, cohort int64) ([]capture.UUID, error) {
	return m.members[cohort], nil
}

func (m *memoryReader) Close() error { return nil }

// eventsOf reads events in the form of the vectors: name, distinct id, time, properties. $set among
// the properties creates and changes persons as capture does.
func eventsOf(t testing.TB, list json.RawMessage) *memory {
	t.Helper()
	var events [][]any
	if err := wire.Decode(list, &events); err != nil {
		t.Fatal(err)
	}
	m := &memory{owner: map[string]capture.UUID{}}
	people := map[string]map[string]any{}
	for _, g := range events {
		at, err := time.Parse(time.RFC3339Nano, g[2].(string))
		if err != nil {
			t.Fatal(err)
		}
		e := memoryEvent{name: g[0].(string), distinctID: g[1].(string), at: at}
		if len(g) > 3 {
			properties := g[3].(map[string]any)
			nameGroups(properties)
			m.identifyGroup(e.name, at, properties)
			e.properties = string(wire.MustEncode(properties))
			set, _ := properties["$set"].(map[string]any)
			for k, v := range set {
				if people[e.distinctID] == nil {
					people[e.distinctID] = map[string]any{}
				}
				people[e.distinctID][k] = v
			}
		}
		e.personProperties = string(wire.MustEncode(people[e.distinctID]))
		m.setProfile(e.distinctID, at, people[e.distinctID])
		m.identify(e.distinctID, events[len(m.events)])
		m.events = append(m.events, e)
	}
	return m
}

// nameGroups sets $group_0 to the group of the only type that a test has.
func nameGroups(properties map[string]any) {
	groups, _ := properties["$groups"].(map[string]any)
	for _, key := range groups {
		properties["$group_0"] = key
	}
}

// identifyGroup stores the group of a $groupidentify event.
func (m *memory) identifyGroup(name string, created time.Time, properties map[string]any) {
	if name != "$groupidentify" {
		return
	}
	object, _ := capture.ParseObject(string(wire.MustEncode(properties["$group_set"])))
	if m.groups == nil {
		m.groups = map[int][]capture.Group{}
	}
	m.groups[0] = append(m.groups[0], capture.Group{GroupID: capture.GroupID{Key: properties["$group_key"].(string)}, CreatedAt: created, Properties: object})
}

// identify assigns an anonymous id to the person of an $identify event.
func (m *memory) identify(distinctID string, event []any) {
	if event[0] != "$identify" || len(event) < 4 {
		return
	}
	anonymous := event[3].(map[string]any)["$anon_distinct_id"].(string)
	merged, to := m.owner[anonymous], m.owner[distinctID]
	m.owner[anonymous] = to
	m.profiles = slices.DeleteFunc(m.profiles, func(p capture.StoredPerson) bool { return p.UUID == merged })
	i := slices.IndexFunc(m.profiles, func(p capture.StoredPerson) bool { return p.UUID == to })
	m.profiles[i].DistinctIDs = append(m.profiles[i].DistinctIDs, anonymous)
}

// setProfile stores the person of a distinct id.
func (m *memory) setProfile(distinctID string, created time.Time, properties map[string]any) {
	object, _ := capture.ParseObject(orEmpty(string(wire.MustEncode(properties))))
	id, exists := m.owner[distinctID]
	if !exists {
		id = capture.PersonID(1, distinctID)
	}
	m.owner[distinctID] = id
	i := slices.IndexFunc(m.profiles, func(p capture.StoredPerson) bool { return p.UUID == id })
	if i < 0 {
		i = len(m.profiles)
		m.profiles = append(m.profiles, capture.StoredPerson{
			ID: int64(i + 1), Person: capture.Person{UUID: id, CreatedAt: created}, DistinctIDs: []string{distinctID},
		})
	}
	if properties != nil {
		m.profiles[i].Properties = object
	}
	if created.Before(m.profiles[i].CreatedAt) {
		m.profiles[i].CreatedAt = created
	}
}

package capture

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
)

// planStore is a store in maps. It fails the test if a change contradicts the stored state,
// and thereby checks the promises of Changes.
type planStore struct {
	t       testing.TB
	claimed map[EventKey]bool
	persons map[UUID]Person
	// ids are distinct ids and their persons, zero if only personless events have used them.
	ids    map[string]UUID
	types  []string
	groups map[GroupID]Group
	// overrides represent the other data of a person that a merge moves (§10.5).
	overrides map[UUID]map[string]string
	// cache has the results of each. If not nil, it is used in place of the store.
	cache *planCache
	// saved are all changes so far.
	saved Changes
}

// planCache caches ids and persons like a recorder.
type planCache struct {
	ids     map[string]UUID
	persons map[UUID]*Person
}

func newPlanStore(t testing.TB) *planStore {
	return &planStore{
		t: t, claimed: map[EventKey]bool{}, persons: map[UUID]Person{}, ids: map[string]UUID{},
		groups: map[GroupID]Group{}, overrides: map[UUID]map[string]string{},
	}
}

func (s *planStore) withCache() *planStore {
	s.cache = &planCache{map[string]UUID{}, map[UUID]*Person{}}
	return s
}

// claim removes duplicates (§13.3).
func (s *planStore) claim(events []Event) (fresh []Event) {
	for _, e := range events {
		key := EventKey{1, e.UUID, e.Name, e.DistinctID}
		if !s.claimed[key] {
			s.claimed[key] = true
			fresh = append(fresh, e)
		}
	}
	return fresh
}

func (s *planStore) identity(id string) Identity {
	if s.cache != nil {
		if owner, ok := s.cache.ids[id]; ok {
			if owner.IsZero() {
				return Identity{Personless: s.ids[id] == UUID{} && s.has(id)}
			}
			if w := s.cache.persons[owner]; w != nil {
				return Identity{Person: w}
			}
		}
	}
	owner, ok := s.ids[id]
	if !ok || owner.IsZero() {
		return Identity{Personless: ok}
	}
	w := s.persons[owner]
	return Identity{Person: &w} // a different pointer for every id
}

func (s *planStore) has(id string) bool { _, ok := s.ids[id]; return ok }

// commit plans the events that are not duplicates and saves the changes.
func (s *planStore) commit(events []Event) {
	events = s.claim(events)
	p := newPlan(1, s.types)
	before := map[*Person]string{}
	for _, i := range p.ids(events) {
		k := s.identity(i.id)
		if k.Person != nil {
			before[k.Person] = fmt.Sprint(*k.Person)
		}
		p.loadPerson(i, k)
		if s.cache != nil && k.Person != nil && s.cache.persons[k.Person.UUID] == k.Person {
			i.markCached(k.Person.Properties.String())
		}
	}
	groupsBefore := map[*Group]string{}
	for _, id := range p.groups(events, nil) {
		if g, ok := s.groups[id]; ok {
			groupsBefore[&g] = fmt.Sprint(g)
			p.loadGroup(id, &g)
			continue
		}
		p.loadGroup(id, nil)
	}
	for i := range events {
		p.apply(&events[i])
	}
	var c Changes
	p.finish(&c)
	for w, was := range before {
		if now := fmt.Sprint(*w); now != was {
			s.t.Fatalf("a stored person was changed in place: %s, before %s", now, was)
		}
	}
	for g, was := range groupsBefore {
		if now := fmt.Sprint(*g); now != was {
			s.t.Fatalf("a stored group was changed in place: %s, before %s", now, was)
		}
	}
	s.save(&c)
	if s.cache != nil {
		for _, m := range c.Merges {
			delete(s.cache.persons, m.From)
		}
		p.each(func(id string, k Identity, _ string) {
			s.cache.ids[id] = UUID{}
			if k.Person != nil {
				s.cache.ids[id] = k.Person.UUID
				s.cache.persons[k.Person.UUID] = k.Person
			}
		})
	}
	p.each(func(id string, k Identity, _ string) {
		want := Identity{Personless: s.has(id) && s.ids[id].IsZero()}
		if owner := s.ids[id]; !owner.IsZero() {
			w := s.persons[owner]
			want.Person = &w
		}
		same(s.t, "what each tells of "+id, want, k)
	})
	s.check()
}

func (s *planStore) save(c *Changes) {
	for _, n := range c.GroupTypes {
		for len(s.types) <= n.Index {
			s.types = append(s.types, "")
		}
		if s.types[n.Index] != "" {
			s.t.Fatalf("group type %d has a name already", n.Index)
		}
		s.types[n.Index] = n.Name
	}
	for _, g := range c.Groups {
		s.groups[g.GroupID] = g.Group
	}
	for _, w := range c.Persons {
		old, exists := s.persons[w.UUID]
		if exists == w.IsNew {
			s.t.Fatalf("person %s: exists %v, new %v", w.UUID, exists, w.IsNew)
		}
		if exists && w.Version <= old.Version {
			s.t.Fatalf("version %d after %d", w.Version, old.Version)
		}
		s.persons[w.UUID] = *w.Person
	}
	for _, m := range c.Merges {
		_, from := s.persons[m.From]
		_, into := s.persons[m.Into]
		if !from || !into || m.From == m.Into {
			s.t.Fatalf("merge of %s into %s", m.From, m.Into)
		}
		for id, owner := range s.ids {
			if owner == m.From {
				s.ids[id] = m.Into
			}
		}
		for flag, hash := range s.overrides[m.From] {
			s.override(m.Into, flag, hash)
		}
		delete(s.overrides, m.From)
		delete(s.persons, m.From)
	}
	for _, i := range c.IDs {
		if owner := s.ids[i.DistinctID]; !owner.IsZero() {
			s.t.Fatalf("id %s belongs to %s already", i.DistinctID, owner)
		}
		s.ids[i.DistinctID] = i.Person
	}
	for _, i := range c.Personless {
		if s.has(i.DistinctID) {
			s.t.Fatalf("id %s is known already", i.DistinctID)
		}
		s.ids[i.DistinctID] = UUID{}
	}
	s.saved.Merges = append(s.saved.Merges, c.Merges...)
	s.saved.Persons = append(s.saved.Persons, c.Persons...)
	s.saved.IDs = append(s.saved.IDs, c.IDs...)
	s.saved.Events = append(s.saved.Events, c.Events...)
	s.saved.Calls = append(s.saved.Calls, c.Calls...)
	s.saved.Seen = append(s.saved.Seen, c.Seen...)
	s.saved.Warnings = append(s.saved.Warnings, c.Warnings...)
}

// override stores an override unless the person has one for the flag.
func (s *planStore) override(w UUID, flag, hash string) {
	if s.overrides[w] == nil {
		s.overrides[w] = map[string]string{}
	}
	if _, ok := s.overrides[w][flag]; !ok {
		s.overrides[w][flag] = hash
	}
}

// same fails the test if two values differ.
func same(t testing.TB, what string, want, got any) {
	t.Helper()
	if !reflect.DeepEqual(want, got) { // faster than computing the difference
		t.Fatalf("%s (-want +got):\n%s", what, gocmp.Diff(want, got))
	}
}

// check checks that an id belongs to at most one person, that the person exists, and that
// every person has an id.
func (s *planStore) check() {
	owned := map[UUID]bool{}
	for id, owner := range s.ids {
		if _, ok := s.persons[owner]; !ok && !owner.IsZero() {
			s.t.Fatalf("id %s belongs to %s, who is not there", id, owner)
		}
		owned[owner] = true
	}
	for id := range s.persons {
		if !owned[id] {
			s.t.Fatalf("person %s has no distinct id", id)
		}
	}
}

// planSnapshot is the stored state in a form that can be compared.
type planSnapshot struct {
	People     map[string]string
	Personless []string
	Types      []string
	Groups     map[string]string
}

func (s *planStore) snapshot() planSnapshot {
	out := planSnapshot{People: map[string]string{}, Groups: map[string]string{}, Types: append([]string{}, s.types...)}
	ids := map[UUID][]string{}
	for id, owner := range s.ids {
		if owner.IsZero() {
			out.Personless = append(out.Personless, id)
		}
		ids[owner] = append(ids[owner], id)
	}
	slices.Sort(out.Personless)
	for id, w := range s.persons {
		slices.Sort(ids[id])
		out.People[id.String()] = personText(ids[id], w.CreatedAt, w.Identified, w.Version, w.Properties, s.overrides[id])
	}
	for id, g := range s.groups {
		out.Groups[fmt.Sprint(id)] = fmt.Sprintln(g.CreatedAt.UTC(), g.Properties)
	}
	return out
}

func personText(ids []string, created time.Time, identified bool, version int64, o Object, overrides map[string]string) string {
	return fmt.Sprintf("ids %q created %v identified %v version %d properties %s overrides %v", ids, created.UTC(), identified, version, o, overrides)
}

func (s *planStore) byID() map[string]Person {
	out := map[string]Person{}
	for id, owner := range s.ids {
		if !owner.IsZero() {
			out[id] = s.persons[owner]
		}
	}
	return out
}

package scan

import (
	"strings"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// People returns a function that returns the number of an event's person. Numbers begin at 0 and
// are the same in all scans of a run.
func (b *Binder) People() func(*Row) uint32 {
	if b.Mode == ModeNoOverride {
		b.Needs.Columns |= port.PeopleAtEvent
		return func(r *Row) uint32 { return b.numberAtEvent(r.Batch.PersonAtEvent[r.Index]) }
	}
	b.Needs.Columns |= port.People
	return func(r *Row) uint32 { return r.Batch.Person[r.Index] }
}

// PersonSet evaluates test for all persons, with their current properties, and returns the result
// for the person of an event. fallback is the result for persons that no longer exist.
func (b *Binder) PersonSet(fallback bool, test func(*capture.StoredPerson) bool) func(*Row) bool {
	differing := map[capture.UUID]bool{} // persons whose result is not fallback
	b.ReadProfiles(func(p *capture.StoredPerson) error {
		if test(p) == fallback {
			return nil
		}
		differing[p.UUID] = true
		return b.Reserve(64)
	})
	person := b.People()
	var cached []uint8 // by number: 0 not determined, 1 false, 2 true
	return func(r *Row) bool {
		n := person(r)
		for int(n) >= len(cached) {
			_ = b.Reserve(int64(len(cached) + 1024)) // checked after the batch
			cached = append(cached, make([]uint8, len(cached)+1024)...)
		}
		if cached[n] == 0 {
			cached[n] = 1
			if differing[b.PersonID(n)] != fallback {
				cached[n] = 2
			}
		}
		return cached[n] == 2
	}
}

// ReadProfiles calls yield for all persons of the project, unless binding has failed already.
func (b *Binder) ReadProfiles(yield func(*capture.StoredPerson) error) {
	b.Volatile = true
	if b.Err == nil {
		b.Err = b.Reader.Profiles(b.Context, nil, yield)
	}
}

// ReadGroups calls yield for all groups of a type, unless binding has failed already.
func (b *Binder) ReadGroups(groupType int, yield func(key, properties string) error) {
	b.Volatile = true
	if b.Err == nil {
		b.Err = b.Reader.Groups(b.Context, groupType, nil, func(g *capture.Group) error { return yield(g.Key, g.Properties.String()) })
	}
}

// GroupProperty returns a property of the event's group, with its current value. It reads all
// groups of the type when it is bound.
func (b *Binder) GroupProperty(groupType int, name string) Getter {
	values := map[string]string{}
	one, value := Keys{Names: []string{name}}, make([]string, 1)
	b.ReadGroups(groupType, func(key, properties string) error {
		if one.Extract(properties, value); value[0] == "" {
			return nil
		}
		if err := b.Reserve(int64(len(key)+len(value[0])) + 96); err != nil {
			return err
		}
		values[key] = strings.Clone(value[0])
		return nil
	})
	key := b.GroupKey(groupType)
	return func(r *Row) string {
		k, _ := Text(key(r))
		return values[k]
	}
}

// profileProperty returns a property of the event's person, with its current value. It reads all
// persons when it is bound.
func (b *Binder) profileProperty(name string) Getter {
	values := map[capture.UUID]string{}
	b.ReadProfiles(func(p *capture.StoredPerson) error {
		value, ok := p.Properties.Get(name)
		if !ok {
			return nil
		}
		if err := b.Reserve(int64(len(value)) + 96); err != nil {
			return err
		}
		values[p.UUID] = strings.Clone(value) // a copy, so that the other properties can be freed
		return nil
	})
	person := b.People()
	return func(r *Row) string { return values[b.PersonID(person(r))] }
}

// PersonProperty returns the getter of a person property, according to the mode of the run: the
// value at the time of the event or the current one.
func (b *Binder) PersonProperty(name string) Getter {
	if b.Mode == ModeOverrideJoined || b.Mode == ModeDisabled {
		return b.profileProperty(name)
	}
	b.Needs.Columns |= port.PersonProperties
	slot := b.Needs.Person.Slot(name)
	return func(r *Row) string { return r.PersonProperty(slot) }
}

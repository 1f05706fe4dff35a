package scan

import (
	"strings"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

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

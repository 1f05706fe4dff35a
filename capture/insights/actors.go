package insights

import "strconv"

// actors assigns consecutive numbers, from 0, to the actors that a query counts: persons, groups of
// a type, or the values of an expression.
type actors struct {
	// number returns the number of an event's actor, and false if the event has no actor.
	number func(*row) (uint32, bool)
	// keys are the keys of the actors by number; nil if the actors are persons.
	keys *stringTable
}

// anyPeople is the group type that stands for persons: actors with it are persons, not groups.
const anyPeople = -1

// readGroupType reads aggregation_group_type_index; it returns anyPeople if that is absent.
func readGroupType(n node) int {
	return int(n.get("aggregation_group_type_index").intInRange(0, maxGroupTypes-1, anyPeople))
}

// actors returns the actors of a group type: persons for anyPeople, otherwise the groups of that
// type.
func (b *binder) actors(groupType int) *actors {
	if groupType != anyPeople {
		return b.actorsBy(b.groupKey(groupType))
	}
	person := b.people()
	return &actors{number: func(r *row) (uint32, bool) { return person(r), true }}
}

// actorsBy returns actors that are the distinct values of a getter. Events for which the value is
// missing or empty have no actor.
func (b *binder) actorsBy(value getter) *actors {
	keys := newStringTable(b.reserve)
	return &actors{keys: keys, number: func(r *row) (uint32, bool) {
		key, _ := textOf(value(r))
		if key == "" {
			return 0, false
		}
		n, err := keys.number(key)
		b.setErr(err)
		return n, true
	}}
}

// actor returns a function that returns the number of the actor of an event: the person, or the
// group of a type if groupType is not negative. It returns false for an event without such a group.
// The numbers of groups are shared by all series of the binder.
func (b *binder) actor(groupType int) func(*row) (uint32, bool) {
	if groupType >= 0 {
		if b.groupsOf[groupType] == nil {
			b.groupsOf[groupType] = b.newInterner(b.eventProperty("$group_" + strconv.Itoa(groupType)))
		}
		return b.groupsOf[groupType].number
	}
	person := b.people()
	return func(r *row) (uint32, bool) { return person(r), true }
}

// bindInterned returns a function that numbers the distinct strings of a value. It returns false if
// the value is missing or empty.
func (b *binder) bindInterned(value getter) func(*row) (uint32, bool) {
	return b.newInterner(value).number
}

// newInterner returns an interner for a value, without any strings.
func (b *binder) newInterner(value getter) *interner {
	return &interner{newStringTable(b.reserve), value}
}

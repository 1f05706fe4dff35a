package insights

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
)

// actors assigns consecutive numbers, from 0, to the actors that a query counts: persons, groups of
// a type, or the values of an expression.
type actors struct {
	// number returns the number of an event's actor, and false if the event has no actor.
	number func(*row) (uint32, bool)
	// keys are the keys of the actors by number; nil if the actors are persons.
	keys *stringTable
}

// stringTable assigns consecutive numbers, from 0, to distinct strings. Memory that it needs is
// counted with reserve.
type stringTable struct {
	numbers map[string]uint32
	all     []string
	reserve func(bytes int64) error
}

// newStringTable returns an empty table that counts its memory with reserve.
func newStringTable(reserve func(bytes int64) error) *stringTable {
	return &stringTable{numbers: map[string]uint32{}, reserve: reserve}
}

// number returns the number of text and adds it if it is new. The table stores a copy, so the
// caller may reuse the memory of text. The number is valid even if an error is returned.
func (t *stringTable) number(text string) (uint32, error) {
	if n, ok := t.numbers[text]; ok {
		return n, nil
	}
	n := uint32(len(t.all))
	text = strings.Clone(text)
	t.numbers[text] = n
	t.all = append(t.all, text)
	return n, t.reserve(int64(len(text)) + 72)
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

// setErr records an error of binding or evaluating, unless an earlier one is recorded.
func (b *binder) setErr(err error) {
	if b.err == nil {
		b.err = err
	}
}

// memberSize is the approximate size in bytes of a member of an actorSet.
const memberSize = 160

// member returns the actor with a number as a member of an actorSet.
func (a *actors) member(r *run, number uint32) member {
	if a.keys != nil {
		return member{group: a.keys.all[number]}
	}
	return member{person: r.personID(number)}
}

// sort sorts the members by their ids, so that results do not depend on map order.
func (c *actorSet) sort() {
	slices.SortFunc(c.members, func(a, b member) int {
		return cmp.Or(bytes.Compare(a.person[:], b.person[:]), strings.Compare(a.group, b.group))
	})
}

// checkContext returns the error of the context if the query was cancelled. To be cheap, it checks
// only for every 4096th actor.
func (r *run) checkContext(actor uint32) error {
	if actor&0xfff == 0 {
		return r.ctx.Err()
	}
	return nil
}

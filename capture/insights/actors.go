package insights

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
)

// actors numbers those whom a query counts, from 0 on: people, groups of a type, or
// the values of a getter.
type actors struct {
	// number gives the actor of an event, false for none.
	number func(*row) (uint32, bool)
	// keys are the texts of actors that are no people, by number; nil for people.
	keys *stringTable
}

// stringTable numbers different texts from 0 on.
type stringTable struct {
	numbers map[string]uint32
	all     []string
	reserve func(bytes int64) error
}

func newStringTable(reserve func(bytes int64) error) *stringTable {
	return &stringTable{numbers: map[string]uint32{}, reserve: reserve}
}

// number is that of a text, which may change afterwards.
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

// anyPeople is the group type of actors that are people.
const anyPeople = -1

// aggregationGroup reads aggregation_group_type_index.
func (n node) aggregationGroup() int {
	return int(n.get("aggregation_group_type_index").intInRange(0, maxGroupTypes-1, anyPeople))
}

// actors are people or the groups of a type.
func (b *binder) actors(groupType int) *actors {
	if groupType != anyPeople {
		return b.actorsBy(b.groupKey(groupType))
	}
	person := b.people()
	return &actors{number: func(r *row) (uint32, bool) { return person(r), true }}
}

// actorsBy are the values of a getter; events without one have no actor.
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

// setErr keeps the first error.
func (b *binder) setErr(err error) {
	if b.err == nil {
		b.err = err
	}
}

// memberSize is about the bytes of a member of a crowd.
const memberSize = 160

// member is an actor as one of a crowd.
func (a *actors) member(r *run, number uint32) member {
	if a.keys != nil {
		return member{group: a.keys.all[number]}
	}
	return member{person: r.personID(number)}
}

// sort puts the members in order of their ids.
func (c *actorSet) sort() {
	slices.SortFunc(c.members, func(a, b member) int {
		return cmp.Or(bytes.Compare(a.person[:], b.person[:]), strings.Compare(a.group, b.group))
	})
}

// checkContext looks, for some of the actors, whether the query was cancelled.
func (r *run) checkContext(actor uint32) error {
	if actor&0xfff == 0 {
		return r.ctx.Err()
	}
	return nil
}

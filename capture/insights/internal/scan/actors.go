package scan

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights/internal/document"
)

// ActorNumbers assigns consecutive numbers, from 0, to the actors that a query counts: persons, groups of
// a type, or the values of an expression.
type ActorNumbers struct {
	// Number returns the number of an event's actor, and false if the event has no actor.
	Number func(*Row) (uint32, bool)
	// Keys are the keys of the actors by number; nil if the actors are persons.
	Keys *Strings
}

// AnyPeople is the group type that stands for persons: actors with it are persons, not groups.
const AnyPeople = -1

// ReadGroupType reads aggregation_group_type_index; it returns AnyPeople if that is absent.
func ReadGroupType(n document.Node) int {
	return int(n.Get("aggregation_group_type_index").IntInRange(0, MaxGroupTypes-1, AnyPeople))
}

// Actors returns the actors of a group type: persons for AnyPeople, otherwise the groups of that
// type.
func (b *Binder) Actors(groupType int) *ActorNumbers {
	if groupType != AnyPeople {
		return b.ActorsBy(b.GroupKey(groupType))
	}
	person := b.People()
	return &ActorNumbers{Number: func(r *Row) (uint32, bool) { return person(r), true }}
}

// ActorsBy returns actors that are the distinct values of a getter. Events for which the value is
// missing or empty have no actor.
func (b *Binder) ActorsBy(value Getter) *ActorNumbers {
	keys := NewStrings(b.Reserve)
	return &ActorNumbers{Keys: keys, Number: func(r *Row) (uint32, bool) {
		key, _ := Text(value(r))
		if key == "" {
			return 0, false
		}
		n, err := keys.Number(key)
		b.SetErr(err)
		return n, true
	}}
}

// Actor returns a function that returns the number of the actor of an event: the person, or the
// group of a type if groupType is not negative. It returns false for an event without such a group.
// The numbers of groups are shared by all series of the binder.
func (b *Binder) Actor(groupType int) func(*Row) (uint32, bool) {
	if groupType >= 0 {
		if b.GroupsOf[groupType] == nil {
			b.GroupsOf[groupType] = b.NewInterner(b.EventProperty("$group_" + strconv.Itoa(groupType)))
		}
		return b.GroupsOf[groupType].Number
	}
	person := b.People()
	return func(r *Row) (uint32, bool) { return person(r), true }
}

// BindInterned returns a function that numbers the distinct strings of a value. It returns false if
// the value is missing or empty.
func (b *Binder) BindInterned(value Getter) func(*Row) (uint32, bool) {
	return b.NewInterner(value).Number
}

// NewInterner returns an interner for a value, without any strings.
func (b *Binder) NewInterner(value Getter) *Interner {
	return &Interner{NewStrings(b.Reserve), value}
}

// ActorSet is the set of actors behind one number of an insight (§2.9.3).
type ActorSet struct {
	// GroupType is the type of the groups, or AnyPeople if the actors are persons.
	GroupType int
	Members   []Member
}

// Member is an actor of an ActorSet: a person, or the key of a group.
type Member struct {
	Person capture.UUID
	Group  string
	// Events is the number of events of the actor behind the number; DistinctIDs are the distinct
	// ids of these events, at most maxActorDistinctIDs.
	Events      int64
	DistinctIDs []string
	// IDs are the ids of these events, collected only if the run's WantIDs is set.
	IDs []int64
	// Appearances are the columns of retention in which the actor returned, including 0.
	Appearances []int
}

// ActorFinder finds a set of actors in a run.
type ActorFinder func(r *Run) (*ActorSet, error)

// MemberSize is the approximate size in bytes of a member of an ActorSet.
const MemberSize = 160

// Member returns the actor with a number as a member of an ActorSet.
func (a *ActorNumbers) Member(r *Run, number uint32) Member {
	if a.Keys != nil {
		return Member{Group: a.Keys.All[number]}
	}
	return Member{Person: r.PersonID(number)}
}

// Sort sorts the members by their ids, so that results do not depend on map order.
func (c *ActorSet) Sort() {
	slices.SortFunc(c.Members, func(a, b Member) int {
		return cmp.Or(bytes.Compare(a.Person[:], b.Person[:]), strings.Compare(a.Group, b.Group))
	})
}

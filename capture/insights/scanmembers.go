package insights

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/capture"
)

// actorSet is the set of actors behind one number of an insight (§2.9.3).
type actorSet struct {
	// groupType is the type of the groups, or anyPeople if the actors are persons.
	groupType int
	members   []member
}

// member is an actor of an actorSet: a person, or the key of a group.
type member struct {
	person capture.UUID
	group  string
	// events is the number of events of the actor behind the number; distinctIDs are the distinct
	// ids of these events, at most maxActorDistinctIDs.
	events      int64
	distinctIDs []string
	// ids are the ids of these events, collected only if the run's wantIDs is set.
	ids []int64
	// appearances are the columns of retention in which the actor returned, including 0.
	appearances []int
}

// actorFinder finds a set of actors in a run.
type actorFinder func(r *run) (*actorSet, error)

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

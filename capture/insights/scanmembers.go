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
	// GroupType is the type of the groups, or anyPeople if the actors are persons.
	GroupType int
	Members   []member
}

// member is an actor of an actorSet: a person, or the key of a group.
type member struct {
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

// actorFinder finds a set of actors in a run.
type actorFinder func(r *run) (*actorSet, error)

// memberSize is the approximate size in bytes of a member of an actorSet.
const memberSize = 160

// Member returns the actor with a number as a member of an actorSet.
func (a *actors) Member(r *run, number uint32) member {
	if a.Keys != nil {
		return member{Group: a.Keys.All[number]}
	}
	return member{Person: r.PersonID(number)}
}

// Sort sorts the members by their ids, so that results do not depend on map order.
func (c *actorSet) Sort() {
	slices.SortFunc(c.Members, func(a, b member) int {
		return cmp.Or(bytes.Compare(a.Person[:], b.Person[:]), strings.Compare(a.Group, b.Group))
	})
}

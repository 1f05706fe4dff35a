package scan

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/capture"
)

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

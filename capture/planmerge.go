package capture

import (
	"strings"

	"github.com/bunting-flags/bunting/flags/wire"
)

// mergeCheck is the result of checkMerge.
type mergeCheck uint8

// These are the results of checkMerge.
const (
	noMerge mergeCheck = iota
	// validMerge means that the person of Other is to be merged into the event's person.
	validMerge
	// illegalOwn and illegalOther mean that one of the ids must not be merged (§10.4).
	illegalOwn
	illegalOther
)

// detail returns the detail of a warning. It identifies the illegal id without its value.
func (a mergeCheck) detail() string {
	if a == illegalOwn {
		return "distinct_id cannot be merged"
	}
	return "$anon_distinct_id or alias cannot be merged"
}

// checkMerge reports whether an event requests a merge and whether its ids permit one. It
// only depends on the ids, not on persons (§10.1, §10.2).
func checkMerge(e *Event) mergeCheck {
	switch {
	case !e.HasOther, e.Other == e.DistinctID:
		return noMerge
	case e.Kind != identifyEvent && e.Kind != aliasEvent && e.Kind != mergeDangerouslyEvent:
		return noMerge
	case e.Other == "" && e.Kind != identifyEvent: // an alias event without an alias
		return noMerge
	case !isLegalID(e.DistinctID):
		return illegalOwn
	case !isLegalID(e.Other):
		return illegalOther
	}
	return validMerge
}

// merge combines the persons of two ids into one (§10.3), applies the other changes of the
// event, and returns the person. The person is identified afterwards in all cases. If the
// merge is rejected, it is the person of into.
func (p *plan) merge(e *Event, into, other *distinctID) *profile {
	w, from := into.profile(), other.profile()
	changed := false
	switch {
	case w == nil && from == nil:
		first := into
		if other.personless && !into.personless {
			first = other // the events that it already has are attributed to the person that it creates
		}
		w = p.create(e, first)
		into.owner, other.owner = w, w
		w.Identified = true
		return w
	case from == nil:
		other.owner = w
	case w == nil:
		into.owner, w = from, from
	case w == from:
	case from.Identified && e.Kind != mergeDangerouslyEvent:
		p.warn(warnAlreadyIdentified, e, "the person of $anon_distinct_id or alias is identified")
	default:
		p.absorb(e, w, from)
		changed = true
	}
	if !w.Identified {
		w.edit()
		w.Identified, changed = true, true
	}
	p.update(e, w, changed)
	return w
}

// absorb merges the person from into another person (§10.5). If both have a property, that of
// into is used. If the result would be too large, the properties of into stay unchanged.
// absorb does not increment the version; update does.
func (p *plan) absorb(e *Event, into, from *profile) {
	into.edit()
	o, _ := applyUpdate(from.Properties, nil, into.Properties, nil, true)
	if !into.setProperties(o) {
		p.warn(warnPersonTooLarge, e, "the properties of the merged person were left out")
	}
	if from.CreatedAt.Before(into.CreatedAt) {
		into.CreatedAt = from.CreatedAt
	}
	into.Version = max(into.Version, from.Version)
	from.into = into

	// The ledger executes merges of stored persons, in the order of the plan. A person that
	// is new has no stored data yet, so the stored persons that it inherits from are merged
	// into the next one instead.
	moved := from.inherits
	if !from.isNew {
		moved = append(moved, from.UUID)
	}
	if into.isNew {
		into.inherits = append(into.inherits, moved...)
		return
	}
	for _, id := range moved {
		p.merges = append(p.merges, Merge{p.project, id, into.UUID})
	}
}

// maxMergeID is the greatest length of a distinct id that may be merged, in characters
// (§10.4).
const maxMergeID = 400

// illegalAnyCase and illegalExact are ids that programs send if they have no id for the user.
// Merging them would combine different people into one person (§10.4).
var (
	illegalAnyCase = nameSetOf("anonymous", "guest", "distinctid", "distinct_id", "id", "not_authenticated", "email", "undefined", "true", "false", wire.CookielessID)
	illegalExact   = nameSetOf("[object Object]", "NaN", "None", "none", "null", "0", "undefined")
)

// longestIllegal is greater than the length of every illegal id with quotes.
const longestIllegal = 32

// nameSetOf returns the set of names.
func nameSetOf(names ...string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, n := range names {
		set[n] = true
	}
	return set
}

// isLegalID reports whether an id may be merged (§10.4). Illegal ids may still be used for
// events.
func isLegalID(id string) bool {
	switch {
	case isLonger(id, maxMergeID), strings.IndexByte(id, 0) >= 0, strings.TrimSpace(id) == "":
		return false
	case len(id) > longestIllegal:
		return true
	}
	bare := id
	if last := len(id) - 1; last > 0 && id[0] == id[last] && (id[0] == '\'' || id[0] == '"') {
		bare = id[1:last]
	}
	if illegalExact[bare] {
		return false
	}
	// Only ASCII letters are converted to lower case.
	var lower [longestIllegal]byte
	for i := range len(bare) {
		c := bare[i]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		lower[i] = c
	}
	return !illegalAnyCase[string(lower[:len(bare)])]
}

// impersonalV1 are the distinct ids for which protocol v1 does not create a person, in lower
// case (§6.3).
var impersonalV1 = nameSetOf("0", "00000000-0000-0000-0000-000000000000", "[object object]", "anonymous", "anonymous-user",
	"backend", "distinct_id", "distinctid", "email", "false", "guest", "id", "nan", "none", "not_authenticated", "null",
	"system", "true", "undefined", "user")

// IsImpersonalV1 reports whether protocol v1 stores the events of a distinct id without a
// person, because programs send such ids if they have no id for the user (§6.3).
func IsImpersonalV1(distinctID string) bool {
	return len(distinctID) <= 36 && impersonalV1[strings.ToLower(distinctID)]
}

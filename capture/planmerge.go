package capture

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

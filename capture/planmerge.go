package capture

// mergeCheck is what an event asks for besides its own person.
type mergeCheck uint8

const (
	noMerge mergeCheck = iota
	// validMerge: Other is to be merged into the event's person.
	validMerge
	// illegalOwn and illegalOther: one of the ids must not be merged (§10.4).
	illegalOwn
	illegalOther
)

// detail says in a warning which id it is, without showing it.
func (a mergeCheck) detail() string {
	if a == illegalOwn {
		return "distinct_id cannot be merged"
	}
	return "$anon_distinct_id or alias cannot be merged"
}

// checkMerge judges by the ids alone (§10.1, §10.2).
func checkMerge(e *Event) mergeCheck {
	switch {
	case !e.HasOther, e.Other == e.DistinctID:
		return noMerge
	case e.Kind != identifyEvent && e.Kind != aliasEvent && e.Kind != mergeDangerouslyEvent:
		return noMerge
	case e.Other == "" && e.Kind != identifyEvent: // an alias that says nothing
		return noMerge
	case !isLegalID(e.DistinctID):
		return illegalOwn
	case !isLegalID(e.Other):
		return illegalOther
	}
	return validMerge
}

// merge makes one person of two ids (§10.3), applies what else the event says, and
// returns the person. Whatever the case, that person is identified then; where a
// merge is refused, it is the person of into.
func (p *plan) merge(e *Event, into, other *distinctID) *profile {
	w, from := into.profile(), other.profile()
	changed := false
	switch {
	case w == nil && from == nil:
		first := into
		if other.personless && !into.personless {
			first = other // the events that it has are this person's already
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

// absorb merges one person into another (§10.5): where both have a property the
// one of into stays. Properties that would be too large together are those of
// into alone. update makes the version grow.
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

	// The ledger carries merges out between persons that it has, in the order in
	// which they came about. What a new person has inherited goes on with it.
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

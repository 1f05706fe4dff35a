package flags

import "slices"

// cohorts checks the cohort filters that end a condition, up to the first that does
// not hold. One that cannot be used fails the flag, whatever the others say (§5.3).
func (e *evaluation) cohorts(filters []filter) verdict {
	result := e.checkCohorts(filters)
	if e.failure != NoReason {
		return no
	}
	for i := range filters {
		f := &filters[i]
		co := &e.set.cohorts[f.target]
		if co.failure != NoReason {
			continue
		}
		v := e.membership(f)
		if v == no {
			e.behavioural = co.behavioural
			e.trace.skip(filters[i+1:])
			return no
		}
		result = minVerdict(result, v)
	}
	return result
}

// checkCohorts looks for cohorts that fail the flag. It is unknown of one that may exist
// where a partial subject's server is.
func (e *evaluation) checkCohorts(filters []filter) verdict {
	result := yes
	for i := range filters {
		f := &filters[i]
		co := &e.set.cohorts[f.target]
		switch {
		case co.failure == NoReason:
		case co.absent && e.subject.Partial:
			e.unknownFact(co.undecided)
			result, e.mayFail = unknown, true
		default:
			e.trace.filter(f, nil, invalid)
			if e.failure == NoReason {
				e.failure = co.failure
			}
		}
	}
	return result
}

// membership checks whether the subject is in a cohort, or is not, as a filter wants.
func (e *evaluation) membership(f *filter) verdict {
	v := e.member(f.target)
	if f.negated {
		v = v.not()
	}
	e.trace.cohortFilter(f, v)
	return v
}

// member decides membership of a cohort, once in an evaluation.
func (e *evaluation) member(i int32) verdict {
	m := &e.members[i]
	co := &e.set.cohorts[i]
	if m.epoch == e.epoch {
		e.trace.repeatCohort(co, m.in)
	} else {
		e.trace.beginCohort(co)
		before := e.missing
		e.missing = nil
		in := no
		switch {
		case co.static:
			in = e.staticMember(co)
		case co.tree != nil:
			in = e.node(co.tree)
		}
		*m = memberState{epoch: e.epoch, in: in, missing: e.missing}
		e.missing = before
		e.trace.endCohort(in)
	}
	if m.in == unknown {
		e.unknownFact(m.missing)
	}
	return m.in
}

// staticMember looks a person up in a list: the one the definitions carry, or
// what the store says (§5.4).
func (e *evaluation) staticMember(co *compiledCohort) verdict {
	stored := e.subject.Stored
	switch {
	case co.carried:
		_, in := co.members[e.distinct]
		return verdictOf(in)
	case stored != nil && slices.Contains(stored.Cohorts, co.id):
		return yes
	case e.subject.absentState() == factUnknown && (stored == nil || stored.Cohorts == nil || stored.Failure != NoReason):
		return e.unknownFact(co.undecided)
	}
	return no
}

// node evaluates a cohort's tree: all of an AND, any of an OR (§5.2).
func (e *evaluation) node(n *compiledNode) verdict {
	if n.unsupported {
		v := verdictOf(n.leaf.leaf) // no match, and that turned round when negated
		e.trace.filter(n.leaf, nil, v)
		return v
	}
	if n.leaf != nil {
		return e.leaf(n.leaf)
	}
	e.trace.beginNode(n)
	before := e.missing
	stop := verdictOf(n.any)
	result := stop.not()
	for i := range n.children {
		v := e.node(&n.children[i])
		if v == stop {
			result = stop
			break
		}
		if v == unknown {
			result = unknown
		}
	}
	if result != unknown { // then no answer hangs on what was unknown below
		e.missing = before
	}
	e.trace.endNode(result)
	return result
}

// leaf evaluates one requirement of a cohort. What cannot be compared does not
// match, and its negation does (§4.9).
func (e *evaluation) leaf(f *filter) verdict {
	v := e.requirement(f)
	if v == invalid {
		v = no
	}
	if f.leaf {
		v = v.not()
	}
	return v
}

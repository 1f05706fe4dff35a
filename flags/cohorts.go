package flags

import "slices"

// cohorts checks the cohort filters at the end of a condition, up to the first that does not
// hold. A cohort that cannot be evaluated fails the flag, whatever the other filters return
// (§5.3).
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

// checkCohorts finds cohorts that fail the flag, before any membership is checked. It returns
// unknown if the subject is partial and a cohort that is absent here may exist on the server.
func (e *evaluation) checkCohorts(filters []filter) verdict {
	result := yes
	for i := range filters {
		f := &filters[i]
		co := &e.set.cohorts[f.target]
		switch {
		case co.failure == NoReason:
		case co.absent && e.subject.Partial:
			e.recordUnknown(co.undecided)
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

// membership reports whether the subject satisfies a cohort filter: is a member, or is not if
// the filter is negated.
func (e *evaluation) membership(f *filter) verdict {
	v := e.member(f.target)
	if f.negated {
		v = v.not()
	}
	e.trace.cohortFilter(f, v)
	return v
}

// member reports whether the subject is in the cohort at index i. The result is computed at
// most once per evaluation; missing facts are stored with it, so that later uses report
// the same fact.
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
		e.recordUnknown(m.missing)
	}
	return m.in
}

// staticMember checks whether the person is in a static cohort: in the list that the
// definitions carry, or else among the cohorts that the store returned (§5.4).
func (e *evaluation) staticMember(co *compiledCohort) verdict {
	stored := e.subject.Stored
	switch {
	case co.carried:
		_, in := co.members[e.distinct]
		return verdictOf(in)
	case stored != nil && slices.Contains(stored.Cohorts, co.id):
		return yes
	case e.subject.absentState() == factUnknown && (stored == nil || stored.Cohorts == nil || stored.Failure != NoReason):
		return e.recordUnknown(co.undecided)
	}
	return no
}

// node evaluates a cohort's tree: an AND needs all children to match, an OR any of them
// (§5.2).
func (e *evaluation) node(n *compiledNode) verdict {
	if n.unsupported {
		v := verdictOf(n.leaf.leaf) // no match, or a match if the leaf is negated
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
	if result != unknown { // then the result does not depend on the unknown facts below
		e.missing = before
	}
	e.trace.endNode(result)
	return result
}

// leaf evaluates one requirement of a cohort. Values that cannot be compared do not match,
// and the negated requirement does match (§4.9).
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

package flags

import "slices"

// cohorts checks the cohort filters that end a condition. A cohort that cannot
// be used fails the flag, whatever the other filters say (§5.3).
func (e *evaluation) cohorts(filters []filter) verdict {
	result := yes
	for i := range filters {
		f := &filters[i]
		co := &e.set.cohorts[f.target]
		if co.failure != NoReason {
			if co.absent && e.subject.Partial {
				e.unknownFact(co.undecided)
				result, e.mayFail = unknown, true
				continue
			}
			if t := e.trace; t != nil {
				t.filter(e, f, nil, invalid)
			}
			if e.failure == NoReason {
				e.failure = co.failure
			}
		}
	}
	if e.failure != NoReason {
		return no
	}
	for i := range filters {
		f := &filters[i]
		if e.set.cohorts[f.target].failure != NoReason {
			continue
		}
		in, behavioural := e.member(f.target)
		v := in
		if f.negated {
			v = v.not()
		}
		if t := e.trace; t != nil {
			t.cohortFilter(e, f, v)
		}
		if v == no {
			if result != no { // the first that misses gives the reason
				e.behavioural = behavioural
			}
			if e.trace == nil {
				return no
			}
		}
		result = min2(result, v)
	}
	return result
}

// min2 is the and of verdicts: no before unknown before yes.
func min2(a, b verdict) verdict {
	if a == no || b == no {
		return no
	}
	if a == unknown || b == unknown {
		return unknown
	}
	return yes
}

// member decides membership of a cohort, once in an evaluation. The second
// result says that something computed from events is part of it.
func (e *evaluation) member(i int32) (verdict, bool) {
	m := &e.members[i]
	co := &e.set.cohorts[i]
	if m.epoch != e.epoch {
		t := e.trace
		if t != nil {
			t.beginCohort(co)
		}
		before := e.missing
		e.missing = nil
		in := no
		switch {
		case co.static:
			in = e.staticMember(co)
		case co.tree != nil:
			in = e.node(co.tree)
		}
		*m = memberState{epoch: e.epoch, in: in, behavioural: co.behavioural, missing: e.missing}
		e.missing = before
		if t != nil {
			t.endCohort(in)
		}
	} else if t := e.trace; t != nil {
		t.repeatCohort(co, m.in)
	}
	if m.in == unknown {
		e.unknownFact(m.missing)
	}
	return m.in, m.behavioural
}

// staticMember looks a person up in a list: the one the definitions carry, or
// what the store says (§5.4).
func (e *evaluation) staticMember(co *compiledCohort) verdict {
	stored := e.subject.Stored
	switch {
	case co.carried:
		_, in := co.members[e.distinct]
		return is(in)
	case stored != nil && slices.Contains(stored.Cohorts, co.id):
		return yes
	case e.absent() == factUnknown && (stored == nil || stored.Cohorts == nil || stored.Failure != NoReason):
		return e.unknownFact(co.undecided)
	}
	return no
}

// node evaluates a cohort's tree: all of an AND, any of an OR (§5.2).
func (e *evaluation) node(n *compiledNode) verdict {
	if n.unsupported {
		v := is(n.leaf.leaf) // no match, and that turned round when negated
		if t := e.trace; t != nil {
			t.filter(e, n.leaf, nil, v)
		}
		return v
	}
	if n.leaf != nil {
		return e.leaf(n.leaf)
	}
	t := e.trace
	if t != nil {
		t.beginNode(n)
	}
	before := e.missing
	stop := is(n.any)
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
	if t != nil {
		t.endNode(result)
	}
	return result
}

// leaf evaluates one requirement of a cohort. What cannot be compared does not
// match, and its negation does (§4.9).
func (e *evaluation) leaf(f *filter) verdict {
	v := no
	switch f.kind {
	case filterProperty:
		if v = e.property(f); v == invalid {
			v = no
		}
	case filterCohort:
		v, _ = e.member(f.target)
		if f.negated {
			v = v.not()
		}
		if t := e.trace; t != nil {
			t.cohortFilter(e, f, v)
		}
	default:
		if t := e.trace; t != nil {
			t.filter(e, f, nil, invalid)
		}
	}
	if f.leaf {
		v = v.not()
	}
	return v
}

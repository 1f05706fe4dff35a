package flags

// This file checks the requirements of conditions and cohorts.

// requirements checks the requirements of a condition up to the first that fails: flags and
// properties in their order, then cohorts.
func (e *evaluation) requirements(cond *compiledCondition) verdict {
	result := yes
	for i := range cond.filters {
		f := &cond.filters[i]
		if f.kind == filterCohort {
			return e.lastCohorts(result, cond.filters[i:])
		}
		v := invalid
		if f.kind == filterProperty { // the usual case
			v = e.property(f)
		} else {
			v = e.requirement(f)
		}
		switch v {
		case yes:
		case unknown:
			result = unknown
		default:
			e.trace.skip(cond.filters[i+1:])
			return no
		}
	}
	return result
}

// requirement checks one requirement of any kind.
func (e *evaluation) requirement(f *filter) verdict {
	switch f.kind {
	case filterProperty:
		return e.property(f)
	case filterFlag:
		return e.dependency(f)
	case filterCohort:
		return e.membership(f)
	}
	e.trace.filter(f, nil, invalid)
	return invalid
}

// property checks a requirement on a property.
func (e *evaluation) property(f *filter) verdict {
	fact := e.fact(f.target)
	v := no
	switch fact.state {
	case factUnknown:
		v = e.recordUnknown(e.unknownOf(f.target, fact))
	case factMissing:
		v = verdictOf(f.missing)
	default:
		v = f.matcher.match(fact, &e.reader)
		if f.negated {
			v = v.not()
		}
	}
	e.trace.filter(f, fact, v)
	return v
}

// dependency checks a requirement on another flag (§6). A flag that is not evaluated, because
// it is inactive or filtered out, is false.
func (e *evaluation) dependency(f *filter) verdict {
	v := no
	if f.target >= 0 {
		s := &e.states[f.target]
		value, variant := s.value, s.variant
		if s.epoch != e.epoch {
			value, variant = valueOff, ""
		}
		switch {
		case value == valueUnknown:
			v = e.recordUnknown(s.why(e.set.flags[f.target].key()))
		case value == valueNone:
		case f.wantOn:
			v = verdictOf(value == valueOn)
		case f.wantOff:
			v = verdictOf(value == valueOff)
		default:
			v = verdictOf(variant != "" && variant == f.name)
		}
	}
	e.trace.filter(f, nil, v)
	return v
}

// why returns the unknown fact for a flag that depends on an undecided one: the value without
// a form in JSON if that is the cause, at any depth, otherwise the flag.
func (s *flagState) why(key string) *Undecided {
	if s.missing.Problem != "" {
		return s.missing
	}
	return &Undecided{Fact: "flag", Name: key}
}

// lastCohorts checks the requirements on cohorts at the end of a condition. before is the
// result of the other requirements. If it is unknown, a failure is only possible, since the
// cohorts may not be reached.
func (e *evaluation) lastCohorts(before verdict, filters []filter) verdict {
	v := e.cohorts(filters)
	if before == unknown && e.failure != NoReason {
		e.failure, e.mayFail, v = NoReason, true, unknown
	}
	return minVerdict(before, v)
}

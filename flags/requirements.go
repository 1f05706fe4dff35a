package flags

// This file checks what conditions and cohorts require of a subject.

// requirements checks those of a condition: flags and properties in their order,
// cohorts last, up to the first that fails.
func (e *evaluation) requirements(cond *compiledCondition) verdict {
	result := yes
	for i := range cond.filters {
		f := &cond.filters[i]
		if f.kind == filterCohort {
			return e.lastCohorts(result, cond.filters[i:])
		}
		v := invalid
		if f.kind == filterProperty { // nearly always
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

// requirement checks one.
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

// property compares one property.
func (e *evaluation) property(f *filter) verdict {
	fact := e.fact(f.target)
	v := no
	switch fact.state {
	case factUnknown:
		v = e.unknownFact(e.unknownOf(f.target, fact))
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

// dependency compares the value of another flag (§6). A flag that is not
// evaluated, because it is inactive or filtered out, is false.
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
			v = e.unknownFact(s.why(e.set.flags[f.target].key()))
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

// why is what a flag hangs on that depends on an unknown one: the value that has no
// form in JSON, wherever that is, or the flag.
func (s *flagState) why(key string) *Undecided {
	if s.missing.Problem != "" {
		return s.missing
	}
	return &Undecided{Fact: "flag", Name: key}
}

// lastCohorts checks the cohorts that end a condition, behind requirements with a
// result of their own. A failure that those may keep from being reached only may be.
func (e *evaluation) lastCohorts(before verdict, filters []filter) verdict {
	v := e.cohorts(filters)
	if before == unknown && e.failure != NoReason {
		e.failure, e.mayFail, v = NoReason, true, unknown
	}
	return minVerdict(before, v)
}

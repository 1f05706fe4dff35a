package flags

import (
	"maps"
	"slices"
	"time"
)

// Explain evaluates one flag like [Set.Select] and records how it got the result; the Keys of
// sel are ignored. It runs the same code as every other evaluation, with a tracer, so that
// evaluations without one have no overhead. Lists and objects among the properties are shared
// between the subject and the trace.
func (s *Set) Explain(key string, sub *Subject, now time.Time, sel Selection) *Trace {
	s, sub, _ = orEmptyInput(s, sub, nil)
	sel.Keys, sel.Contexts = []string{key}, slices.Clone(sel.Contexts)
	t := &Trace{Flag: key, At: now, Selection: sel}
	var out Decisions
	tracer := &tracer{set: s, trace: t, slots: map[int32]bool{}}
	s.selectTraced(sub, now, &sel, &out, tracer)
	if d := out.Find(key); d != nil {
		t.Found = true
		t.Decision = traceDecision(d)
		t.Decided = t.Flags[len(t.Flags)-1].Decided
	} else {
		t.Decided = s.absence(key, &sel)
	}
	t.Subject = tracer.subject(sub)
	return t
}

// Replay repeats the evaluation of a trace, with the facts in the trace only. With the set
// that the trace is from, the result is the same. It returns false if the flag is not
// evaluated.
func (s *Set) Replay(t *Trace) (Decision, bool) {
	if t == nil {
		return Decision{}, false
	}
	var out Decisions
	s.Select(&t.Subject.Subject, t.At, &t.Selection, &out)
	if d := out.Find(t.Flag); d != nil {
		return *d, true
	}
	return Decision{}, false
}

// absence describes why a flag has no result.
func (s *Set) absence(key string, sel *Selection) string {
	switch s.Status(key) {
	case Absent:
		return "there is no flag " + quote(key)
	case Inactive:
		return "the flag is not active: it has no value, and is false for flags that depend on it"
	case Unanswered:
		return "the flag is in, or depends on, a cycle of dependencies: it has no value"
	}
	if !s.flags[s.byKey[key]].isSelected(sel) {
		return "the flag is left out by the runtime, context or survey filter of the request"
	}
	return "the flag has no value"
}

// traceDecision converts a decision to its form in a trace.
func traceDecision(d *Decision) TraceDecision {
	return TraceDecision{
		Enabled: d.Enabled, Variant: d.Variant, Payload: d.Payload, Code: d.Reason.Code.String(),
		Condition: d.Reason.Condition, Description: d.Reason.Description(), Failed: d.Failed(), Undecided: d.Undecided, ReasonOpen: d.ReasonOpen,
	}
}

// subject copies the facts that the evaluation used, each to its layer, and the identifiers.
func (t *tracer) subject(in *Subject) TraceSubject {
	out := Subject{
		DistinctID: in.DistinctID, AnonymousID: in.anonymousID(), DeviceID: in.deviceID(), Groups: maps.Clone(in.Groups),
		LocatedByPeer: in.LocatedByPeer, Partial: in.Partial,
	}
	from, to := &Stored{}, &Stored{} // used for a subject without stored facts
	if st := in.Stored; st != nil {
		from, to = st, &Stored{
			Failure: st.Failure, OverridesFailure: st.OverridesFailure,
			Cohorts: slices.Clone(st.Cohorts), Overrides: maps.Clone(st.Overrides),
		}
		out.Stored = to
	}
	for i := range t.slots {
		switch s := &t.set.slots[i]; s.kind {
		case slotCreatedAt:
			to.CreatedAt = from.CreatedAt
		case slotGroup:
			copyGroupFact(&out.GroupProperties, in.GroupProperties, s)
			copyGroupFact(&to.Groups, from.Groups, s)
		default:
			for _, key := range []string{s.key, s.initial} {
				copyFact(&out.Person, in.Person, key)
				copyFact(&out.Located, in.Located, key)
				copyFact(&to.Person, from.Person, key)
			}
		}
	}
	return TraceSubject{out}
}

// copyFact copies a property if it is present.
func copyFact(to *Properties, from Properties, key string) {
	v, ok := from[key]
	if !ok {
		return
	}
	if *to == nil {
		*to = Properties{}
	}
	(*to)[key] = v
}

// copyGroupFact copies the property of a group slot if it is present.
func copyGroupFact(to *map[string]Properties, from map[string]Properties, s *slot) {
	group := (*to)[s.groupType]
	if copyFact(&group, from[s.groupType], s.key); group == nil {
		return
	}
	if *to == nil {
		*to = map[string]Properties{}
	}
	(*to)[s.groupType] = group
}

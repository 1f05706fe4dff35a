package flags

import (
	"slices"
	"time"
)

// Decisions is a set of answers with the memory that an evaluation works in.
// The zero value is ready; using one again saves every allocation. It must not
// be used by two evaluations at once, and what it holds is overwritten by the
// next.
type Decisions struct {
	// List holds one Decision for each flag that is answered, dependencies first.
	List []Decision
	// Errors is the errorsWhileComputingFlags of the wire (§3.1).
	Errors bool

	work evaluation
}

// Find returns the decision for a key, nil if the flag is not answered.
func (d *Decisions) Find(key string) *Decision {
	if d == nil {
		return nil
	}
	for i := range d.List {
		if d.List[i].Key == key {
			return &d.List[i]
		}
	}
	return nil
}

// Evaluate decides all flags of the set for a subject at an instant, into out,
// whatever runtime and contexts they are for: that is for [Set.Select] to choose.
// It changes neither set nor subject and may run on any number of goroutines,
// each with its own out. Once out has grown it allocates nothing, but for dates in unusual formats
// and for property values of Go types that a JSON decoder does not make.
func (s *Set) Evaluate(sub *Subject, now time.Time, out *Decisions) {
	s, sub, out = orEmptyInput(s, sub, out)
	e := out.begin(s, sub, now)
	for _, i := range s.order {
		out.List = append(out.List, Decision{})
		e.flag(i, &out.List[len(out.List)-1])
	}
	out.end()
}

// Select decides the flags that sel asks for, and those they depend on (§3.1).
// Otherwise it is like [Set.Evaluate].
func (s *Set) Select(sub *Subject, now time.Time, sel *Selection, out *Decisions) {
	s.selectTraced(sub, now, sel, out, nil)
}

func (s *Set) selectTraced(sub *Subject, now time.Time, sel *Selection, out *Decisions, t *tracer) {
	s, sub, out = orEmptyInput(s, sub, out)
	if sel == nil {
		sel = &Selection{}
	}
	e := out.begin(s, sub, now)
	if e.trace = t; t != nil {
		t.evaluation = e
	}
	if sel.Keys != nil {
		e.markRequested(sel)
	}
	sel = s.narrow(sel)
	for _, i := range s.order {
		f := &s.flags[i]
		if sel.Keys != nil && e.states[i].requested != e.epoch || !f.isSelected(sel) {
			continue
		}
		out.List = append(out.List, Decision{})
		e.flag(i, &out.List[len(out.List)-1])
	}
	out.end()
}

// EvaluateFlag decides one flag and what it depends on, whatever runtime and
// contexts they are for, into out; the flag is the last of out.List. It is false
// for an unknown or inactive flag and for one on or behind a dependency cycle.
func (s *Set) EvaluateFlag(key string, sub *Subject, now time.Time, out *Decisions) (Decision, bool) {
	s, sub, out = orEmptyInput(s, sub, out)
	i, ok := s.byKey[key]
	out.List, out.Errors = out.List[:0], s.cyclic
	if !ok || !s.isAnswered(i) {
		return Decision{}, false
	}
	if out.decideDirect(s, i, sub) {
		return out.List[0], true
	}
	out.begin(s, sub, now)
	out.decide(i)
	out.end()
	return out.List[len(out.List)-1], true
}

// orEmptyInput stands in for what a caller left out: no flags, nobody, memory of its own.
func orEmptyInput(s *Set, sub *Subject, out *Decisions) (*Set, *Subject, *Decisions) {
	if sub == nil {
		sub = &noSubject
	}
	if out == nil {
		out = new(Decisions)
	}
	return s.orEmpty(), sub, out
}

func (s *Set) orEmpty() *Set {
	if s == nil {
		return &noFlags
	}
	return s
}

var (
	noSubject Subject
	noFlags   Set
)

// decide decides a flag after all that it depends on, each once.
func (d *Decisions) decide(i int32) {
	e := &d.work
	for _, dep := range e.set.flags[i].deps {
		if s := &e.states[dep]; s.requested != e.epoch {
			s.requested = e.epoch
			d.decide(dep)
		}
	}
	d.List = append(d.List, Decision{})
	e.flag(i, &d.List[len(d.List)-1])
}

// isSelected applies the survey, runtime and context filters (§9.2, §9.9). A flag
// that fails one is not answered, and is false for those that depend on it.
func (f *compiledFlag) isSelected(sel *Selection) bool {
	if sel.SurveysOnly && !f.has(bitSurvey) {
		return false
	}
	switch f.runtime {
	case runtimeServer:
		if sel.Runtime != "server" && sel.Runtime != "all" {
			return false
		}
	case runtimeClient:
		if sel.Runtime != "client" && sel.Runtime != "all" {
			return false
		}
	}
	if len(sel.Contexts) == 0 || len(f.contexts) == 0 {
		return true
	}
	for _, context := range f.contexts {
		if slices.Contains(sel.Contexts, context) != f.has(bitContextsAll) {
			return !f.has(bitContextsAll)
		}
	}
	return f.has(bitContextsAll)
}

// narrow takes out of a long list of contexts those that no flag names, since
// every flag goes through the list.
func (s *Set) narrow(sel *Selection) *Selection {
	const short = 16
	if len(sel.Contexts) <= short {
		return sel
	}
	narrowed := *sel
	narrowed.Contexts = sel.Contexts[:1:1] // even when no flag names it: an empty list would mean no filtering
	seen := make(map[string]bool, len(s.contexts))
	for _, context := range sel.Contexts[1:] {
		if s.contexts[context] > 0 && !seen[context] {
			seen[context] = true
			narrowed.Contexts = append(narrowed.Contexts, context)
		}
	}
	return &narrowed
}

// evaluation is the memory of one evaluation, used again by the next.
type evaluation struct {
	reader
	set     *Set
	subject *Subject
	epoch   uint32
	trace   *tracer // nil unless somebody asks why
	plain   bool    // decidePlain is right for the subject
	failed  bool    // some flag has failed

	distinct string // the truncated distinct id
	device   string
	facts    []fact
	states   []flagState
	members  []memberState
	sha1     shortHash

	anonymous string // only where a flag has continuity

	// what is known and gathered within one flag
	missing     *Undecided // the first unknown fact
	behavioural bool       // a cohort that missed is computed from events
	failure     ReasonCode
	mayFail     bool // a failure that is reached only if unknown facts allow

	holdoutID     string // whom the cached holdout bucket is for
	holdoutBucket float64
	holdoutKnown  bool
}

// flagState is what other flags see of a flag (§6).
type flagState struct {
	epoch, requested uint32
	value            flagValue
	variant          string
	missing          *Undecided // why the value is unknown
}

type flagValue uint8

const (
	valueOff flagValue = iota
	valueOn
	valueNone    // failed: there is no value
	valueUnknown // not decided
)

type memberState struct {
	epoch   uint32
	in      verdict
	missing *Undecided // why in is unknown
}

func (d *Decisions) begin(s *Set, sub *Subject, now time.Time) *evaluation {
	d.List, d.Errors = d.List[:0], s.cyclic
	e := &d.work
	e.set, e.subject, e.trace = s, sub, nil
	e.at, e.zone, e.timedOut = now, s.zone, false
	if e.epoch++; e.epoch == 0 { // after four thousand million evaluations
		clear(e.facts)
		clear(e.states)
		clear(e.members)
		e.epoch = 1
	}
	e.facts = grow(e.facts, len(s.slots))
	e.states = grow(e.states, len(s.flags))
	e.members = grow(e.members, len(s.cohorts))
	e.distinct, e.device, e.anonymous = truncate(sub.DistinctID), "", ""
	e.plain = sub.hasShortID() && (sub.Stored == nil || len(sub.Stored.Overrides) == 0)
	if s.devices > 0 {
		e.device = sub.deviceID()
	}
	if len(s.needs.Continuity) > 0 {
		e.anonymous = sub.anonymousID()
	}
	e.arena, e.holdoutKnown, e.failed = e.arena[:0], false, false
	return e
}

// end lets go of the subject. What was found in it stays until the next
// evaluation, which forgets every fact first.
func (d *Decisions) end() {
	d.Errors = d.Errors || d.work.failed
	d.work.subject, d.work.trace = nil, nil
}

func grow[T any](s []T, n int) []T {
	if n <= len(s) {
		return s
	}
	return append(s, make([]T, n-len(s))...)
}

// markRequested marks the flags asked for and all they depend on, also those that a
// flag depends on which is itself filtered out (§3.1).
func (e *evaluation) markRequested(sel *Selection) {
	for _, key := range sel.Keys {
		if i, ok := e.set.byKey[key]; ok {
			e.markFlag(i)
		}
	}
}

func (e *evaluation) markFlag(i int32) {
	if e.states[i].requested == e.epoch {
		return
	}
	e.states[i].requested = e.epoch
	for _, dep := range e.set.flags[i].deps {
		e.markFlag(dep)
	}
}

// fact looks a slot up, once in an evaluation.
func (e *evaluation) fact(i int32) *fact {
	f := &e.facts[i]
	if f.epoch == e.epoch {
		return f
	}
	f.epoch, f.numeric, f.textual = e.epoch, 0, 0
	s := &e.set.slots[i]
	// What a request says of a person is the common case and needs no layers.
	if value, ok := e.subject.Person[s.key]; ok && value != nil && s.kind == slotPerson {
		f.value, f.state, f.source = value, factPresent, SourceRequest
	} else {
		f.value, f.state, f.source = s.find(e.subject, e.distinct)
	}
	switch v := f.value.(type) {
	case string:
		if validText(v) {
			f.text, f.textual = v, 1
			return f
		}
	case float64:
		if isFinite(v) {
			return f
		}
	case bool:
		return f
	}
	f.value = normalize(f.value)
	if _, bad := f.value.(noForm); bad {
		f.state = factUnknown
	}
	return f
}

// unknownOf says why a fact is unknown: nobody supplied it, or it has a value
// that has no form in JSON.
func (e *evaluation) unknownOf(slot int32, f *fact) *Undecided {
	u := e.set.slots[slot].undecided
	if bad, ok := f.value.(noForm); ok {
		return &Undecided{u.Fact, u.Name, bad.problem}
	}
	return u
}

// unknownFact remembers the first fact that a flag's answer may hang on.
func (e *evaluation) unknownFact(u *Undecided) verdict {
	if e.missing == nil {
		e.missing = u
	}
	return unknown
}

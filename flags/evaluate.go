package flags

import (
	"slices"
	"time"

	"github.com/bunting-flags/bunting/flags/internal/values"
)

// Decisions are the results of an evaluation, with the memory that the evaluation uses. The
// zero value is ready to use. Reusing it saves all allocations. Two evaluations must not use
// it at the same time, and the next evaluation overwrites its contents.
type Decisions struct {
	// List has one Decision for each evaluated flag, dependencies first.
	List []Decision
	// Errors is the errorsWhileComputingFlags of the wire (§3.1).
	Errors bool

	work evaluation
}

// Find returns the decision for a key, or nil if the flag was not evaluated.
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

// Evaluate evaluates all flags of the set for a subject at the time now and writes the
// results to out. It ignores the runtimes and contexts that flags are restricted to; use
// [Set.Select] to apply them. It modifies neither the set nor the subject and may be called
// concurrently, with a different out for each goroutine. After out has grown, it does not
// allocate, except for dates in unusual formats and for property values of Go types that a
// JSON decoder does not produce.
func (s *Set) Evaluate(sub *Subject, now time.Time, out *Decisions) {
	s, sub, out = orEmptyInput(s, sub, out)
	e := out.begin(s, sub, now)
	for _, i := range s.order {
		out.List = append(out.List, Decision{})
		e.flag(i, &out.List[len(out.List)-1])
	}
	out.end()
}

// Select evaluates the flags that sel selects and the flags that they depend on (§3.1).
// Otherwise it is like [Set.Evaluate].
func (s *Set) Select(sub *Subject, now time.Time, sel *Selection, out *Decisions) {
	s.selectTraced(sub, now, sel, out, nil)
}

// selectTraced is Select with an optional tracer that observes the evaluation.
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

// EvaluateFlag evaluates one flag and the flags that it depends on, whatever their runtimes
// and contexts. The flag is the last one in out.List. The result is false for a flag that is
// unknown, inactive, or on or behind a dependency cycle.
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

// orEmptyInput replaces nil arguments: by a set without flags, an empty subject, and new
// memory.
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

// decide evaluates a flag after the flags that it depends on. It skips flags evaluated
// before.
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

// isSelected applies the survey, runtime and context filters (§9.2, §9.9). A flag that fails
// one of them is not in the result, and is false for flags that depend on it.
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

// narrow removes contexts that no flag names from a long list, since every flag searches the
// list.
func (s *Set) narrow(sel *Selection) *Selection {
	const short = 16
	if len(sel.Contexts) <= short {
		return sel
	}
	narrowed := *sel
	narrowed.Contexts = sel.Contexts[:1:1] // at least one remains: an empty list would disable the filter
	seen := make(map[string]bool, len(s.contexts))
	for _, context := range sel.Contexts[1:] {
		if s.contexts[context] > 0 && !seen[context] {
			seen[context] = true
			narrowed.Contexts = append(narrowed.Contexts, context)
		}
	}
	return &narrowed
}

// evaluation is the state and memory of one evaluation. Its slices are reused by the next
// one; the entries of facts, states and members are valid only if their epoch is that of the
// evaluation, so that they need no clearing.
type evaluation struct {
	reader
	set     *Set
	subject *Subject
	epoch   uint32
	trace   *tracer // nil if there is no tracer
	plain   bool    // the subject allows decidePlain
	failed  bool    // some flag has failed

	distinct string // the truncated distinct id
	device   string
	facts    []fact
	states   []flagState
	members  []memberState
	sha1     shortHash

	anonymous string // set only if a flag has continuity

	// state of the current flag
	missing     *Undecided // the first unknown fact
	behavioural bool       // the cohort that did not match is computed from events
	failure     ReasonCode
	mayFail     bool // a failure that occurs only for some values of unknown facts

	holdoutID     string // the identifier of the cached holdout bucket
	holdoutBucket float64
	holdoutKnown  bool
}

// flagState is the result of a flag for the flags that depend on it (§6).
type flagState struct {
	epoch, requested uint32
	value            flagValue
	variant          string
	missing          *Undecided // the fact because of which the value is unknown
}

type flagValue uint8

const (
	valueOff flagValue = iota
	valueOn
	valueNone    // failed, without a value
	valueUnknown // undecided
)

// memberState is the cached result of a cohort.
type memberState struct {
	epoch   uint32
	in      verdict
	missing *Undecided // the fact because of which in is unknown
}

// begin prepares the memory in d for an evaluation.
func (d *Decisions) begin(s *Set, sub *Subject, now time.Time) *evaluation {
	d.List, d.Errors = d.List[:0], s.cyclic
	e := &d.work
	e.set, e.subject, e.trace = s, sub, nil
	e.at, e.zone, e.timedOut = now, s.zone, false
	if e.epoch++; e.epoch == 0 { // overflow, after 2^32 evaluations
		clear(e.facts)
		clear(e.states)
		clear(e.members)
		e.epoch = 1
	}
	e.facts = grow(e.facts, len(s.slots))
	e.states = grow(e.states, len(s.flags))
	e.members = grow(e.members, len(s.cohorts))
	e.distinct, e.device, e.anonymous = values.TruncateID(sub.DistinctID), "", ""
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

// end releases the subject. Facts found in it remain in memory until the next evaluation,
// which invalidates them first.
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

// markRequested marks the selected flags and all flags that they depend on, including
// dependencies of flags that are themselves filtered out (§3.1).
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

// fact returns the fact of the slot at index i. It is cached for the evaluation.
func (e *evaluation) fact(i int32) *fact {
	f := &e.facts[i]
	if f.epoch == e.epoch {
		return f
	}
	f.epoch, f.numeric, f.textual = e.epoch, 0, 0
	s := &e.set.slots[i]
	// Properties in the request are the usual case and need no search through the layers.
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
		if values.IsFinite(v) {
			return f
		}
	case bool:
		return f
	}
	f.value = values.Normalize(f.value)
	if _, bad := f.value.(values.NoForm); bad {
		f.state = factUnknown
	}
	return f
}

// unknownOf returns the undecided fact for a slot: the fact was not supplied, or its value
// has no form in JSON.
func (e *evaluation) unknownOf(slot int32, f *fact) *Undecided {
	u := e.set.slots[slot].undecided
	if bad, ok := f.value.(values.NoForm); ok {
		return &Undecided{u.Fact, u.Name, bad.Problem}
	}
	return u
}

// recordUnknown records the first unknown fact that the flag's result may depend on. It returns
// unknown.
func (e *evaluation) recordUnknown(u *Undecided) verdict {
	if e.missing == nil {
		e.missing = u
	}
	return unknown
}

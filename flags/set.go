package flags

import (
	"encoding/json"
	"iter"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"
)

// Set contains the compiled flags of a project: checked, sorted and prepared for evaluation.
// It is immutable and safe for concurrent use. A nil Set has no flags.
type Set struct {
	flags []compiledFlag
	// order lists the flags to evaluate, dependencies first. It does not contain inactive
	// flags or flags on or behind a dependency cycle.
	order []int32
	// byKey maps keys to indexes of flags.
	byKey   map[string]int32
	byID    map[int64]int32 // nil if the flags are sorted by unique ids
	slots   []slot
	cohorts []compiledCohort
	zone    *time.Location
	zoneTag string
	faults  []*DefinitionError
	needs   Needs
	// cyclic means that some flags are on a dependency cycle, so that every response of the
	// project has errorsWhileComputingFlags (§6).
	cyclic  bool
	minimal bool
	// Numbers of flags that are bucketed by device, that compare dates, and that name a
	// context.
	devices, dated int32
	contexts       map[string]int32
	fingerprint    fingerprint
}

// Faults returns the problems of flags, cohorts and operands, with their paths, in the order
// of the definitions.
func (s *Set) Faults() []*DefinitionError { return slices.Clone(s.orEmpty().faults) }

// Needs returns the stored facts that results may depend on. The result is shared and must
// not be modified.
func (s *Set) Needs() *Needs { return &s.orEmpty().needs }

// Len returns the number of flags, including inactive ones.
func (s *Set) Len() int { return len(s.orEmpty().flags) }

// HasDates reports whether results may depend on the time of the evaluation, because a flag
// or cohort compares dates. Otherwise callers may pass any time.
func (s *Set) HasDates() bool { return s.orEmpty().dated > 0 }

// MinimalFlagCalledEvents returns the setting of the project that is passed on to clients
// (§10.3).
func (s *Set) MinimalFlagCalledEvents() bool { return s.orEmpty().minimal }

// FlagStatus is the status of a flag in a set, independent of any request.
type FlagStatus uint8

// The statuses of a flag.
const (
	Absent     FlagStatus = iota // there is no such flag
	Inactive                     // the flag is not active, or deleted
	Unanswered                   // the flag is active, but on a cycle of dependencies or behind one
	Answered
)

// Status returns the status of the flag with a key.
func (s *Set) Status(key string) FlagStatus {
	s = s.orEmpty()
	i, ok := s.byKey[key]
	switch {
	case !ok:
		return Absent
	case !s.flags[i].has(bitActive):
		return Inactive
	case !s.isAnswered(i):
		return Unanswered
	}
	return Answered
}

// AbsentDecision returns the decision for a flag that [Set.Select] omits although sel selects it: a
// flag that is not active has [FlagDisabled], a flag on a cycle of dependencies or behind one has
// [FlagCycle]. found is false if there is no such flag; the decision then has the key only.
func (s *Set) AbsentDecision(key string, sel *Selection) (d Decision, found bool) {
	if s = s.orEmpty(); sel == nil {
		sel = &Selection{}
	}
	d = Decision{Key: key, Reason: Reason{Condition: NoCondition}}
	i, ok := s.byKey[key]
	if !ok || !s.flags[i].isSelected(s.narrow(sel)) {
		return d, false
	}
	switch f := &s.flags[i]; {
	case f.has(bitDisabled):
		d.Reason.Code = FlagDisabled
	case f.has(bitActive) && !s.isAnswered(i):
		d.Reason.Code = FlagCycle
	default:
		return d, false
	}
	return d, true
}

// All returns an iterator over the keys of all flags, including inactive ones, in no
// particular order.
func (s *Set) All() iter.Seq[string] { return maps.Keys(s.orEmpty().byKey) }

// compiledFlag is a flag prepared for evaluation.
type compiledFlag struct {
	prefix  string // the key and a dot, which start every hash input
	id      int64
	version int64

	conditions []compiledCondition
	variants   []compiledVariant
	payload    json.RawMessage // payload of the value true
	holdout    *compiledHoldout
	deps       []int32 // indexes of the active flags that this one directly depends on
	contexts   []string
	pins       []compiledPin

	// fixed is the index of the variant that needs no hash, or noVariant, or hashedVariant.
	fixed      int32
	enrollment int32  // slot of the enrollment property, -1 without early access
	group      string // flag-level group type, for holdouts
	failure    ReasonCode
	runtime    runtimeMask
	kind       Kind
	absent     *Undecided // a missing dependency that may exist on the server of a partial subject
	bits       flagBits
}

// flagBits is the set of a flag's properties that need one bit.
type flagBits uint32

const (
	bitActive flagBits = 1 << iota
	bitEarlyExit
	bitContinuity
	bitDevice
	bitMurmur3
	bitExperiment
	bitMissingDependency
	bitSurelyMissing // the dependency does not exist on any server
	bitDependedOn
	bitContextsAll
	bitGrouped // the flag-level aggregation is a group type
	bitSurvey
	bitOrdered  // part of the order of evaluation
	bitDisabled // neither active nor deleted
	bitUnknown  // fails because of its format, but is false for flags that depend on it (§1.10)
	bitPlain    // decided by properties and a bucket of the person, see decidePlain
	bitDirect   // plain, and needs no memory for facts
	bitDepends  // depends on other flags
	bitCohorts  // depends on cohorts
	bitPinned   // has pins
)

func (f *compiledFlag) key() string           { return f.prefix[:len(f.prefix)-1] }
func (f *compiledFlag) has(bit flagBits) bool { return f.bits&bit != 0 }

// runtimeMask is the runtime that a flag is restricted to (§9.9).
type runtimeMask uint8

const (
	runtimeAll runtimeMask = iota
	runtimeServer
	runtimeClient
)

// Special values for the index of a variant: no variant, and a variant that a hash selects.
const (
	noVariant     = -1
	hashedVariant = -2
)

// compiledVariant is a variant with the upper bound of its buckets (§2.2).
type compiledVariant struct {
	key     string
	below   float64 // the variant has the buckets below this value and not below that of the previous one
	payload json.RawMessage
}

// compiledHoldout is a flag's holdout (§3.5).
type compiledHoldout struct {
	variant  string
	share    float64 // from 0 to 1
	everyone bool
	payload  json.RawMessage
}

// compiledCondition is a condition prepared for evaluation.
type compiledCondition struct {
	filters []filter // flags and properties first, cohorts last (§3.6)
	share   float64  // rollout_percentage / 100
	variant int32    // the condition's own variant, or noVariant
	grouped bool
	all     bool   // the rollout is exactly 100, no hash needed
	group   string // group type if grouped, "" if the index has no type
}

// filterKind is the kind of a filter, which selects the meaning of its fields.
type filterKind uint8

const (
	filterNever filterKind = iota
	filterProperty
	filterCohort
	filterFlag
)

// filter is a compiled requirement.
type filter struct {
	matcher matcher
	direct  directMatcher // the matcher, if it implements directMatcher
	name    string        // key of the property, or the required variant for filterFlag
	target  int32         // index of the slot, cohort or flag; -1 for a missing flag
	kind    filterKind
	negated bool // negation by the operator
	leaf    bool // negation by a cohort's leaf
	missing bool // result for a missing property
	// For filterFlag: the required value is on, with or without a variant, or exactly false.
	wantOn, wantOff bool
	operator        *operator
}

// compiledCohort is a cohort prepared for evaluation.
type compiledCohort struct {
	id      int64
	tree    *compiledNode // nil if the cohort is empty
	members map[string]struct{}
	// static means that members or the store decide membership.
	static bool
	// carried means that members is complete.
	carried bool
	// failure is the reason why the cohort cannot be evaluated: not found, on a cycle, or
	// unreadable. If the reason is a cohort that it refers to, culprit is the index of that
	// cohort plus 1, and inner the index plus 1 of the first cohort on the way to it.
	failure        ReasonCode
	inner, culprit int32
	// absent means that the cohort may exist on the server of a partial subject.
	absent bool
	// behavioural means that part of the cohort is computed from events.
	behavioural bool
	height      int32 // depth of the nested cohorts below
	uses        int32 // number of requirements of flags and cohorts that refer to it
	undecided   *Undecided
}

// compiledNode is a node of a cohort's tree.
type compiledNode struct {
	any      bool
	children []compiledNode
	leaf     *filter // nil for inner nodes
	// unsupported leaves do not match, or match if they are negated.
	unsupported bool
}

// share converts a percentage to the fraction that buckets are compared with.
func share(percentage float64) float64 {
	if math.IsNaN(percentage) {
		return 0
	}
	return percentage / 100
}

// isAnswered reports whether a flag is part of the order of evaluation.
func (s *Set) isAnswered(i int32) bool {
	return s.flags[i].has(bitOrdered)
}

// compiledPin is a pin for the members of a cohort or for a group.
type compiledPin struct {
	member          filter
	isOfGroup       bool
	group, groupKey string
	on              bool
	variant         int32
	until           time.Time
}

// Needs lists the facts beyond the request that may affect the results of a set. Other facts
// need not be read.
type Needs struct {
	// Person lists the person properties that conditions use, and those that replace a
	// missing $initial_ one (§8.2), sorted.
	Person []string
	// CreatedAt means that a condition uses the time when the person was first seen.
	CreatedAt bool
	// Located means that a condition uses a $geoip_ property.
	Located bool
	// GroupTypes lists the group types with stored properties that are used, sorted.
	GroupTypes []string
	// Cohorts lists the static cohorts without members in the definitions, sorted.
	Cohorts []int64
	// Continuity lists the keys of active flags with experience continuity. ContinuityMatters
	// means that the result of at least one of them depends on a bucket (§8.6).
	Continuity        []string
	ContinuityMatters bool

	requested []string // Person without the replacements
}

// IsPersonCovered reports whether the request has all properties of the person that are used,
// so that no stored person must be read (§8.1).
func (n *Needs) IsPersonCovered(request Properties) bool {
	if n.CreatedAt || len(n.Cohorts) > 0 || n.ContinuityMatters {
		return false
	}
	for _, key := range n.requested {
		if v, ok := request[key]; !ok || v == nil && locatedKeys[key] {
			return false
		}
	}
	return true
}

// fingerprint is the data of a compilation that the next one compares.
type fingerprint struct {
	context string   // settings that all flags depend on
	sums    []uint64 // sums of the flags; 0 means that the flag cannot be reused
	cohorts uint64   // sum of all cohorts; 0 means that they cannot be reused
	age     int      // recompilations since everything was compiled
}

// cohortProblem describes why the cohort at index i cannot be evaluated: the cohort that has
// the fault, the fault, and the cohorts by which it is reached.
func (s *Set) cohortProblem(i int32) string {
	co := &s.cohorts[i]
	at := i
	if co.culprit != 0 {
		at = co.culprit - 1
	}
	text := "cohort " + strconv.FormatInt(s.cohorts[at].id, 10) + ": " + cohortProblems[co.failure]
	if at == i {
		return text
	}
	text += " (reached by "
	for count := 0; i != at; i = s.cohorts[i].inner - 1 {
		if count++; count > maxNamedCohorts {
			text += "… → "
			break
		}
		text += "cohort " + strconv.FormatInt(s.cohorts[i].id, 10) + " → "
	}
	return text + "cohort " + strconv.FormatInt(s.cohorts[at].id, 10) + ")"
}

package flags

import (
	"encoding/json"
	"iter"
	"maps"
	"math"
	"slices"
	"time"
)

// Set is a project's flags, compiled: checked, ordered and prepared. It never
// changes and may be used by any number of goroutines. Nil has no flags.
type Set struct {
	flags []compiledFlag
	// order holds the flags to evaluate, dependencies first. Inactive flags and
	// those on or behind a dependency cycle are not in it.
	order   []int32
	byKey   map[string]int32
	byID    map[int64]int32 // nil: the flags stand in the order of their ids, each once
	slots   []slot
	cohorts []compiledCohort
	zone    *time.Location
	zoneTag string
	faults  []*DefinitionError
	needs   Needs
	// cyclic: some flags are on a dependency cycle, so every answer of the
	// project says errorsWhileComputingFlags (§6).
	cyclic   bool
	minimal  bool
	revision int64
	// How many flags are bucketed by device, compare dates and name a context.
	devices, dated int32
	contexts       map[string]int32
	fingerprint    fingerprint
}

// Faults are the flags, cohorts and operands that cannot work, with their
// places, in the order of the definitions.
func (s *Set) Faults() []*DefinitionError { return slices.Clone(s.orEmpty().faults) }

// Needs says which stored facts could change an answer. The result is shared and
// must not be changed.
func (s *Set) Needs() *Needs { return &s.orEmpty().needs }

// Len is the number of flags, inactive ones included.
func (s *Set) Len() int { return len(s.orEmpty().flags) }

// Revision is that of the definitions.
func (s *Set) Revision() int64 { return s.orEmpty().revision }

// HasDates reports whether an answer could depend on the instant of its evaluation: some
// flag or cohort compares dates. Otherwise the clock need not be read.
func (s *Set) HasDates() bool { return s.orEmpty().dated > 0 }

// MinimalFlagCalledEvents is passed on to clients (§10.3).
func (s *Set) MinimalFlagCalledEvents() bool { return s.orEmpty().minimal }

// Keys lists the flags that can be answered, dependencies first.
func (s *Set) Keys() []string {
	s = s.orEmpty()
	keys := make([]string, len(s.order))
	for i, f := range s.order {
		keys[i] = s.flags[f].key()
	}
	return keys
}

// FlagStatus is how a flag stands in a set, whoever asks.
type FlagStatus uint8

// The standings of a flag.
const (
	Absent     FlagStatus = iota // the set has no such flag
	Inactive                     // it is not active, or deleted
	Unanswered                   // it is active, and on a cycle of dependencies or behind one
	Answered
)

// Status says how the flag with this key stands.
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

// All are the keys of all flags, inactive ones included, in no order.
func (s *Set) All() iter.Seq[string] { return maps.Keys(s.orEmpty().byKey) }

type compiledFlag struct {
	prefix  string // the key and a dot: the start of every hash input
	id      int64
	version int64

	conditions []compiledCondition
	variants   []compiledVariant
	payload    json.RawMessage // of the value true
	holdout    *compiledHoldout
	deps       []int32 // the active flags that this one depends on directly
	contexts   []string
	pins       []compiledPin

	// fixed is the variant that everybody gets without a hash: an index, or
	// noVariant, or hashedVariant.
	fixed      int32
	enrollment int32  // slot of the enrollment property, -1 for none
	group      string // flag-level group type, for holdouts
	failure    ReasonCode
	runtime    runtimeMask
	kind       Kind
	absent     *Undecided // the dependency that is missing, if it may exist where a partial subject's server is
	bits       flagBits
}

type flagBits uint32

const (
	bitActive flagBits = 1 << iota
	bitEarlyExit
	bitContinuity
	bitDevice
	bitMurmur3
	bitExperiment
	bitMissingDependency
	bitSurelyMissing // no server has the dependency either
	bitDependedOn
	bitContextsAll
	bitGrouped // flag-level aggregation is a group type
	bitSurvey
	bitOrdered  // it is in the order of evaluation
	bitDisabled // neither active nor deleted
	bitUnknown  // it fails for its format, and is false for those that depend on it (§1.10)
	bitPlain    // properties and a bucket of the person decide it, as decidePlain does
	bitDirect   // the same, and it needs no memory for it
	bitDepends  // it asks for other flags
	bitCohorts  // it asks for cohorts
	bitPinned   // it has pins
)

func (f *compiledFlag) key() string           { return f.prefix[:len(f.prefix)-1] }
func (f *compiledFlag) has(bit flagBits) bool { return f.bits&bit != 0 }

type runtimeMask uint8

const (
	runtimeAll runtimeMask = iota
	runtimeServer
	runtimeClient
)

const (
	noVariant     = -1
	hashedVariant = -2
)

type compiledVariant struct {
	key     string
	below   float64 // the variant holds buckets below this
	payload json.RawMessage
}

type compiledHoldout struct {
	variant  string
	share    float64 // 0..1; at 1 everybody is in
	everyone bool
	payload  json.RawMessage
}

type compiledCondition struct {
	filters []filter // flags and properties first, cohorts last (§3.6)
	share   float64  // rollout_percentage / 100
	variant int32    // forced, or noVariant
	grouped bool
	all     bool   // rollout is exactly 100: no hash
	group   string // group type when grouped, "" when the index has no type
}

type filterKind uint8

const (
	filterNever filterKind = iota
	filterProperty
	filterCohort
	filterFlag
)

// filter is one compiled requirement.
type filter struct {
	matcher matcher
	direct  directMatcher // the matcher when it is one
	name    string        // the property's key; filterFlag: the variant wanted
	target  int32         // slot, cohort or flag; -1 for a flag that does not exist
	kind    filterKind
	negated bool // of the operator
	leaf    bool // negation of a cohort's leaf
	missing bool // the answer when the property is missing
	// filterFlag: any value that is on, or exactly false.
	wantOn, wantOff bool
	operator        *operator
}

type compiledCohort struct {
	id      int64
	tree    *compiledNode // nil: nobody
	members map[string]struct{}
	// static: membership comes from members or from the store.
	static bool
	// carried: members is complete.
	carried bool
	// failure is why no flag can use it: not found, on a cycle, unreadable. Where that is
	// said of a cohort that it contains, culprit is the place of that one in the set and
	// inner that of the first on the way to it, both from 1.
	failure        ReasonCode
	inner, culprit int32
	// absent cohorts may exist where a partial subject's server is.
	absent bool
	// behavioural: it contains something that is computed from events.
	behavioural bool
	height      int32 // how deep the cohorts below it are nested
	uses        int32 // how many requirements of flags and cohorts ask for it
	undecided   *Undecided
}

type compiledNode struct {
	any      bool
	children []compiledNode
	leaf     *filter // nil for inner nodes
	// unsupported leaves never match; negated turns that round.
	unsupported bool
}

// share turns a percentage into the fraction that buckets are compared with.
func share(percentage float64) float64 {
	if math.IsNaN(percentage) {
		return 0
	}
	return percentage / 100
}

// isAnswered reports whether a flag is in the order of evaluation.
func (s *Set) isAnswered(i int32) bool {
	return s.flags[i].has(bitOrdered)
}

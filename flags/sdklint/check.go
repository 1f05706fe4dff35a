package sdklint

import "github.com/bunting-flags/bunting/flags"

// check checks definitions. The results of flags and cohorts are cached.
type check struct {
	d        *flags.Definitions
	p        view
	served   map[string]any // cohorts in the payload by id
	verdicts map[int][]Problem
	cohorts  map[int64]ruleSet
}

// ruleSet marks the elements of rules that apply.
type ruleSet []bool

// view is what definitions mean for the payload and the server beyond their exported fields. Package
// flags implements it, see flags/sdkview.go.
type view interface {
	// IsServed reports whether the payload may contain the flag at an index, because it does not
	// fail on the server. IsInPayload reports whether it does, so that SDKs can evaluate
	// dependencies on it.
	IsServed(flag int32) bool
	IsInPayload(flag int32) bool
	// IsFirst reports whether the flag is the one that its key means.
	IsFirst(flag int32) bool
	// IsMurmur3 and NeedsBucket describe the flag with a key.
	IsMurmur3(key string) bool
	NeedsBucket(key string) bool
	// IsFromText reports whether the flag was read from JSON.
	IsFromText(f *flags.Flag) bool
	// Target returns the flag that a dependency refers to, if SDKs have it. HasChain reports
	// whether SDKs know the flags that it depends on in turn.
	Target(p *flags.Property) (flag int32, ok bool)
	HasChain(flag int32) bool
	// IsStatic reports whether a store has the members of a cohort that is not in the
	// definitions. IsFaulty reports whether a cohort in the definitions cannot be read.
	IsStatic(cohort int64) bool
	IsFaulty(cohort int64) bool
	// ServedCohorts returns the trees of the cohorts in the payload, by id as text.
	ServedCohorts() map[string]any
	// Operator returns an operator with its default for the type applied. takesLists means that
	// outside of flags, any element of a list may match, and strict that the operator never
	// matches some values.
	Operator(o flags.Operator, t flags.PropertyType) (name flags.Operator, takesLists, strict bool)
}

// filter is a requirement of a condition or of a cohort, with its context.
type filter struct {
	*flags.Property
	op flags.Operator // with its default applied
	// takesLists and strict describe the operator, see view.
	takesLists, strict bool
	// flag is the flag of the condition, nil for a requirement of a cohort.
	flag *flags.Flag
	// group is the index of the group type that the condition is about, nil for persons.
	group *int
}

// hasValue reports whether the requirement has a value, which may be null.
func (p *filter) hasValue() bool { return p.HasValue || p.Value != nil }

// rule is one difference between an SDK and the server that is visible in a definition.
type rule struct {
	sdks string // "all", or some of "go", "python" and "node"
	kind effect
	why  string
	test
}

// test is the test of a rule. Exactly one of its functions is set.
type test struct {
	flag   func(l *check, f *flags.Flag) bool
	filter filterTest                     // tests a requirement of a condition or a cohort
	node   func(n *flags.CohortNode) bool // tests a node of a cohort's tree
}

// filterTest reports whether a rule applies to a requirement.
type filterTest func(l *check, p *filter) bool

// effect is the effect of a rule. It affects some subjects unless stated otherwise.
type effect uint8

const (
	needsServer       effect = iota // the SDK calls the server for the flag
	alwaysNeedsServer               // the same for all subjects: no other rule matters
	differs                         // the SDK evaluates the flag by other rules
)

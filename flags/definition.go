package flags

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Definitions is everything that decides the flags of one project: what
// [ParseDefinitions] reads and [Compile] takes. It is plain data and may be
// built by hand.
type Definitions struct {
	Flags   []Flag
	Cohorts map[int64]Cohort
	// GroupTypes names the group types by index ("company", "project"): 0 to 4 in
	// PostHog, up to 255 here.
	GroupTypes map[int]string
	// Timezone is the IANA name of the zone in which dates without an offset
	// and relative dates are read (§4.7). Empty means UTC.
	Timezone string
	// BucketingHash is the default of flags that name none. Empty, or any other
	// word than the two, means SHA-1.
	BucketingHash Hash
	// PropertyMatchingVersion is 1 (the default, also 0) or 2 (§4.6).
	PropertyMatchingVersion int
	// MinimalFlagCalledEvents is passed on to clients (§10.3).
	MinimalFlagCalledEvents bool
	// StaticCohorts lists the ids of static cohorts that exist but whose members
	// are not part of these definitions. Nil means that nothing is known of them.
	StaticCohorts []int64
	// Withheld lists flags that exist but are not among these definitions: the server
	// decides them (§1.8). Nil: not known, so that any other flag may exist for a
	// partial subject.
	Withheld []FlagName
	// Revision grows with every change where a store keeps it. Zero: unknown.
	Revision int64

	// faults are the flags and cohorts that could not be read at all.
	faults []*DefinitionError
}

// Hash names a bucketing hash (§2; design decision: SHA-1 is what PostHog's
// SDKs compute, murmur3 is the faster choice for those who own both ends).
type Hash string

// The two bucketing hashes.
const (
	SHA1    Hash = "sha1"
	Murmur3 Hash = "murmur3"
)

// Flag is one feature flag (§1.1, §1.2).
type Flag struct {
	ID      int64
	Key     string
	Name    string
	Version int64
	// Active is false for a flag whose record does not say so.
	Active  bool
	Deleted bool
	// Group is the flag-level aggregation: nil for persons, else the index of a
	// group type.
	Group *int
	// Conditions are tried in order; the first that matches decides.
	Conditions []Condition
	Variants   []Variant
	// Payloads are JSON values by variant key, "true" for a match without a
	// variant, "holdout-<id>" for a holdout. They are returned as they stand.
	Payloads map[string]json.RawMessage
	// Pins are values for single persons and groups, which go before all that follows;
	// the first that holds decides.
	Pins []Pin
	// Enrollment is early access: the person property $feature_enrollment/<key>
	// decides before everything else (§3.4).
	Enrollment bool
	Holdout    *Holdout
	// EarlyExit ends the search at the first condition that matches the person
	// but not the rollout.
	EarlyExit bool
	// Continuity keeps the bucket of the anonymous id across identify (§8.6).
	Continuity bool
	// DeviceBucketing hashes the device id instead of the distinct id (§2.5).
	DeviceBucketing bool
	// Hash overrides the project's bucketing hash. Empty: the project's.
	Hash Hash
	// Runtime restricts the flag to "server" or "client" requests. Empty and
	// "all": both.
	Runtime string
	// Contexts restricts the flag to requests that name one of them, or all of
	// them with ContextsAll (§9.9). Empty: no restriction.
	Contexts    []string
	ContextsAll bool

	HasExperiment        bool
	RemoteConfig         bool
	HasEncryptedPayloads bool

	source   string             // the record's JSON as read, empty for a flag built by hand
	lists    []readList         // of its values, in order
	fault    *DefinitionError   // why the record cannot be evaluated
	unknown  bool               // fault: the filters are of a format that is not read (§1.10)
	warnings []*DefinitionError // what was ignored on reading
}

// Condition is one set of requirements: all properties must match and the
// subject must fall into the rollout (§1.3).
type Condition struct {
	Properties []Property
	// Rollout is a percentage, fractions allowed. Nil means 100.
	Rollout *float64
	// Variant is forced on a match when it names a declared variant.
	Variant string
	// Aggregation says whose condition it is. The zero value takes the flag's.
	Aggregation Aggregation
}

// Aggregation is the three-state aggregation_group_type_index of a condition.
type Aggregation struct {
	// Set is false when the condition takes the flag's aggregation.
	Set bool
	// Group is nil for persons, else the index of a group type.
	Group *int
}

// Variant is one value of a multivariate flag with its share in per cent.
type Variant struct {
	Key     string
	Rollout float64
}

// Holdout excludes a share of everybody from a flag, the same people for every
// flag (§3.5).
type Holdout struct {
	ID        int64
	Exclusion float64 // per cent, clamped to 0..100
}

// PropertyType says where the left side of a [Property] comes from.
type PropertyType string

// The kinds of property a flag's condition may ask for (§1.4).
const (
	PersonProperty PropertyType = "person"
	GroupProperty  PropertyType = "group"
	CohortProperty PropertyType = "cohort"
	FlagProperty   PropertyType = "flag"
	// PersonMetadata reads the person's record; its only key is "created_at".
	PersonMetadata PropertyType = "person_metadata"
)

// Operator is how a property is compared with a value (§4).
type Operator string

// Property is one requirement of a condition, or one leaf of a cohort (§1.4).
type Property struct {
	Key  string
	Type PropertyType
	// Operator is exact when empty; for cohorts "in".
	Operator Operator
	// Value is any JSON value, in the Go types of [Properties]. A list that was read is
	// not to be changed, but replaced by another. HasValue tells a null from no value.
	Value    any
	HasValue bool
	// GroupType is the group type whose property is meant. Nil: the condition's.
	GroupType *int
	// Negated turns the result round, in cohorts only (§4.9).
	Negated bool
	// Chain is the dependency_chain of a served payload. When it is not nil, Key
	// is a flag's key, otherwise first an id and then a key.
	Chain []string
}

func (p *Property) hasValue() bool { return p.HasValue || p.Value != nil }

// cohortID is the id of the cohort that a property is about, false when it is
// about something else or names none.
func (p *Property) cohortID() (int64, bool) {
	if p.Type != CohortProperty {
		return 0, false
	}
	switch v := normalize(p.Value).(type) {
	case int64:
		return v, true
	case float64:
		return int64(v), v == math.Trunc(v) && math.Abs(v) < exactInt
	}
	return 0, false
}

// Cohort is a set of persons: a tree of conditions or a list (§1.6).
type Cohort struct {
	Name    string
	Deleted bool
	Static  bool
	// Members are the distinct ids of a static cohort that these definitions
	// carry. Nil: not carried, membership comes from the store.
	Members []string
	// Tree is nil for a static cohort and for one that nothing describes, which
	// nobody is in.
	Tree *CohortNode
	// Unsupported marks cohorts whose members are computed elsewhere (realtime,
	// behavioral): they count as not matching and the reason says so (§5.5).
	Unsupported bool

	fault *DefinitionError
}

// CohortNode is an inner node (Any or all of Children) or, when Leaf is set, a
// requirement.
type CohortNode struct {
	Any      bool
	Children []CohortNode
	Leaf     *Property
	// Unsupported is a leaf about events, which never matches (§5.5).
	Unsupported bool
}

// cohortDepth is how deep a cohort's tree may be (§5.2).
const cohortDepth = 64

// FlagName names a flag.
type FlagName struct {
	ID  int64  `json:"id"`
	Key string `json:"key"`
}

// canExist reports whether the flag that a dependency names may exist though these
// definitions do not have it.
func (d *Definitions) canExist(name string) bool {
	return d.Withheld == nil || slices.ContainsFunc(d.Withheld, func(f FlagName) bool {
		return f.Key == name || strconv.FormatInt(f.ID, 10) == name
	})
}

// staticCohorts is StaticCohorts as a set.
func (d *Definitions) staticCohorts() map[int64]bool {
	ids := make(map[int64]bool, len(d.StaticCohorts))
	for _, id := range d.StaticCohorts {
		ids[id] = true
	}
	return ids
}

// zone loads the project's time zone; UTC with a fault if it has no such name.
func (d *Definitions) zone() (*time.Location, *DefinitionError) {
	if d.Timezone == "" || d.Timezone == "UTC" {
		return time.UTC, nil
	}
	loc, err := time.LoadLocation(strings.Clone(d.Timezone)) // which keeps the name
	if err != nil || d.Timezone == "Local" {
		return time.UTC, &DefinitionError{Path: "timezone", Problem: "unknown time zone " + quote(d.Timezone) + ", UTC is used"}
	}
	return loc, nil
}

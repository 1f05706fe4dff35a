package flags

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/flags/internal/values"
)

// Definitions are the flags of one project with everything that their values depend on. They
// are the result of [ParseDefinitions] and the input of [Compile]. They are plain data and
// may also be built by hand.
type Definitions struct {
	Flags   []Flag
	Cohorts map[int64]Cohort
	// GroupTypes maps the index of a group type to its name ("company", "project"): 0 to 4 in
	// PostHog, up to 255 here.
	GroupTypes map[int]string
	// Timezone is the IANA name of the zone of dates without an offset and of relative dates
	// (§4.7). If empty, it is UTC.
	Timezone string
	// BucketingHash is the hash of flags that do not name one. If it is neither of the two
	// hashes, it is SHA-1.
	BucketingHash Hash
	// PropertyMatchingVersion is 1 (the default, also 0) or 2 (§4.6).
	PropertyMatchingVersion int
	// MinimalFlagCalledEvents is passed on to clients (§10.3).
	MinimalFlagCalledEvents bool
	// StaticCohorts lists the ids of static cohorts that exist but have their members in a
	// store. If nil, it is unknown which exist.
	StaticCohorts []int64
	// Withheld lists flags that exist but are not part of these definitions, because the
	// server evaluates them (§1.8). If nil, it is unknown which exist, so that for a partial
	// subject any other flag may exist.
	Withheld []FlagName
	// Revision is increased by a store with every change. Zero means unknown.
	Revision int64

	// faults are the flags and cohorts that could not be read at all.
	faults []*DefinitionError
}

// Hash names a bucketing hash (§2). Design decision: SHA-1 is the hash of PostHog's SDKs;
// murmur3 is faster and suits projects whose clients and server are both under their control.
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
	// Active is false if the flag's record does not contain it.
	Active  bool
	Deleted bool
	// Group is the flag-level aggregation: nil for persons, otherwise the index of a group
	// type.
	Group *int
	// Conditions are tried in order; the first that matches decides.
	Conditions []Condition
	Variants   []Variant
	// Payloads are JSON values by the key of a variant, by "true" for a match without a
	// variant, or by "holdout-<id>" for a holdout. They are returned unchanged.
	Payloads map[string]json.RawMessage
	// Pins are values for single persons and groups. They have precedence over everything
	// that follows; the first pin that applies decides.
	Pins []Pin
	// Enrollment enables early access: the person property $feature_enrollment/<key> decides
	// before holdout and conditions (§3.4).
	Enrollment bool
	Holdout    *Holdout
	// EarlyExit ends the search at the first condition for which the subject meets the
	// requirements but is not in the rollout.
	EarlyExit bool
	// Continuity preserves the bucket of the anonymous id across identify (§8.6).
	Continuity bool
	// DeviceBucketing hashes the device id instead of the distinct id (§2.5).
	DeviceBucketing bool
	// Hash overrides the project's bucketing hash. If empty, the project's is used.
	Hash Hash
	// Runtime restricts the flag to "server" or "client" requests. Empty and "all" mean both.
	Runtime string
	// Contexts restricts the flag to requests that name one of them, or all of them if
	// ContextsAll is set (§9.9). If empty, there is no restriction.
	Contexts    []string
	ContextsAll bool

	HasExperiment        bool
	RemoteConfig         bool
	HasEncryptedPayloads bool

	source   string             // the record's JSON as read, empty for a flag built by hand
	lists    []readList         // lists in the values of the record, in order
	fault    *DefinitionError   // why the flag cannot be evaluated
	unknown  bool               // fault is about filters in an unsupported format (§1.10)
	warnings []*DefinitionError // members and values that parsing ignored
}

// Condition is a set of requirements with a rollout. It matches if all properties match and
// the subject is in the rollout (§1.3).
type Condition struct {
	Properties []Property
	// Rollout is a percentage and may have a fraction. If nil, it is 100.
	Rollout *float64
	// Variant is the variant of a match if the flag has a variant of this key, instead of the
	// variant by hash.
	Variant string
	// Aggregation selects whether the condition is about persons or groups. The zero value
	// means the flag's aggregation.
	Aggregation Aggregation
}

// Aggregation is the aggregation_group_type_index of a condition, which has three states:
// absent, null and an index.
type Aggregation struct {
	// Set is false if the condition uses the flag's aggregation.
	Set bool
	// Group is nil for persons, otherwise the index of a group type.
	Group *int
}

// Variant is one value of a flag with several, and its share in per cent.
type Variant struct {
	Key     string
	Rollout float64
}

// Holdout excludes a share of all subjects from a flag, the same subjects for every flag
// (§3.5).
type Holdout struct {
	ID        int64
	Exclusion float64 // per cent, clamped to 0..100
}

// PropertyType is the kind of fact that a [Property] is about.
type PropertyType string

// The property types of a flag's conditions (§1.4).
const (
	PersonProperty PropertyType = "person"
	GroupProperty  PropertyType = "group"
	CohortProperty PropertyType = "cohort"
	FlagProperty   PropertyType = "flag"
	// PersonMetadata is a field of the person's record; its only key is "created_at".
	PersonMetadata PropertyType = "person_metadata"
)

// Operator is the way in which a property is compared with a value (§4).
type Operator string

// Property is one requirement of a condition, or one leaf of a cohort (§1.4).
type Property struct {
	Key  string
	Type PropertyType
	// Operator is the comparison. If empty, it is "exact", and "in" for cohorts.
	Operator Operator
	// Value is any JSON value, in the Go types of [Properties]. A list from
	// [ParseDefinitions] must not be modified in place, only replaced. HasValue distinguishes
	// null from an absent value.
	Value    any
	HasValue bool
	// GroupType is the index of the group type that has the property. If nil, it is the
	// condition's.
	GroupType *int
	// Negated inverts the result, in cohorts only (§4.9).
	Negated bool
	// Chain is the dependency_chain of a payload. If it is not nil, Key is a flag's key;
	// otherwise Key is resolved as an id first and then as a key.
	Chain []string
}

// hasValue reports whether the property has a value, null included.
func (p *Property) hasValue() bool { return p.HasValue || p.Value != nil }

// cohortID returns the id of the cohort that the property is about. It returns false for a
// property of another type and for a value that is not an integer.
func (p *Property) cohortID() (int64, bool) {
	if p.Type != CohortProperty {
		return 0, false
	}
	switch v := values.Normalize(p.Value).(type) {
	case int64:
		return v, true
	case float64:
		return int64(v), v == math.Trunc(v) && math.Abs(v) < values.ExactInt
	}
	return 0, false
}

// Cohort is a set of persons: a tree of requirements, or a list (§1.6).
type Cohort struct {
	Name    string
	Deleted bool
	Static  bool
	// Members are the distinct ids of a static cohort. If nil, the definitions do not include
	// them and the store decides membership.
	Members []string
	// Tree is nil for a static cohort, and for a cohort without a definition, which is empty.
	Tree *CohortNode
	// Unsupported marks cohorts with members that are computed elsewhere (realtime,
	// behavioral). They do not match, and the reason mentions them (§5.5).
	Unsupported bool

	fault *DefinitionError
}

// CohortNode is an inner node of a cohort's tree (all of Children, or any of them if Any is
// set) or, if Leaf is not nil, a requirement.
type CohortNode struct {
	Any      bool
	Children []CohortNode
	Leaf     *Property
	// Unsupported marks a leaf about events, which never matches (§5.5).
	Unsupported bool
}

// cohortDepth is the maximum depth of a cohort's tree (§5.2).
const cohortDepth = 64

// FlagName is the id and key of a flag.
type FlagName struct {
	ID  int64  `json:"id"`
	Key string `json:"key"`
}

// mayExist reports whether a flag that these definitions do not contain may exist on the
// server. name is its id or key, as in a dependency.
func (d *Definitions) mayExist(name string) bool {
	return d.Withheld == nil || slices.ContainsFunc(d.Withheld, func(f FlagName) bool {
		return f.Key == name || strconv.FormatInt(f.ID, 10) == name
	})
}

// staticCohorts returns StaticCohorts as a set.
func (d *Definitions) staticCohorts() map[int64]bool {
	ids := make(map[int64]bool, len(d.StaticCohorts))
	for _, id := range d.StaticCohorts {
		ids[id] = true
	}
	return ids
}

// zone returns the project's time zone. For an unknown name it returns UTC and a fault.
func (d *Definitions) zone() (*time.Location, *DefinitionError) {
	if d.Timezone == "" || d.Timezone == "UTC" {
		return time.UTC, nil
	}
	loc, err := time.LoadLocation(strings.Clone(d.Timezone)) // the Location keeps the name
	if err != nil || d.Timezone == "Local" {
		return time.UTC, &DefinitionError{Path: "timezone", Problem: "unknown time zone " + values.Quote(d.Timezone) + ", UTC is used"}
	}
	return loc, nil
}

// Pin is a value for one person or one group.
type Pin struct {
	// Cohort is the id of a static cohort. All of its members have the value; normally it is
	// one person. The store uses ids below zero for the cohorts of pins, which no other
	// cohort has. Zero means that the pin is for a group.
	Cohort int64
	// GroupType and GroupKey identify the group if Cohort is zero.
	GroupType, GroupKey string
	// Enabled and Variant are the value. If Variant is set, the flag is on. A pin with a
	// variant that the flag does not have is reported and ignored.
	Enabled bool
	Variant string
	// Until is when the pin ends. If zero, it does not end.
	Until time.Time
}

// readList is the sum of a long list in a flag that was parsed. It is computed during
// parsing, while the list's strings have just been read: later they are spread over the
// memory of the document.
type readList struct {
	first *any
	sum   uint64
}

// enrollmentPrefix followed by a flag's key is the name of the person property of §3.4.
const enrollmentPrefix = "$feature_enrollment/"

// addCohort adds a cohort, or replaces the one with the same id.
func (d *Definitions) addCohort(id int64, c Cohort) {
	if d.Cohorts == nil {
		d.Cohorts = map[int64]Cohort{}
	}
	d.Cohorts[id] = c
}

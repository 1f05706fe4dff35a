package flags

import (
	"slices"
	"time"

	"github.com/bunting-flags/bunting/flags/internal/values"
	"github.com/bunting-flags/bunting/flags/wire"
)

// Properties are property values by name. A value of any Go type is converted in the way of
// encoding/json: a time.Time to its RFC 3339 text, a time.Duration to nanoseconds, a pointer
// to the value it points to, nil to null. MarshalJSON and MarshalText are called, String is
// not. The float64 5 is the number 5, since encoding/json writes it so; a json.Number is the
// number as it is written, so that "5.0" has the text 5.0 (§4.2). Request bodies should be
// decoded accordingly. A value without a form in JSON makes every flag undecided that depends
// on it (see [ErrNoJSONForm]). Values of the types of JSON decoders (nil, bool, string,
// int64, float64, and []any and map[string]any of these) need no conversion.
type Properties = map[string]any

// Subject is the entity that flags are evaluated for: the data of the request, and stored and
// located properties. Evaluations do not modify it.
type Subject struct {
	// DistinctID identifies the person. An id of more than 200 bytes is cut to 200 Unicode
	// scalars (§2.4). If empty, see [ErrNoDistinctID]. The id that browsers send without
	// cookies ([wire.CookielessID]) identifies no person, here and in the next two fields.
	DistinctID string
	// AnonymousID is the $anon_distinct_id of the request. If empty, it is the
	// $anon_distinct_id in Person if that is a string.
	AnonymousID string
	// DeviceID is the request's device id. If empty, it is the $device_id in Person if that
	// is a string.
	DeviceID string
	// Groups maps group types to group keys. A group with an empty key is ignored.
	Groups map[string]string
	// Person and GroupProperties (by group type) are the properties in the request. They have
	// precedence over all stored properties, even if they are null.
	Person          Properties
	GroupProperties map[string]Properties

	// Located are the $geoip_ properties of the request's address. Their precedence is
	// between stored and request properties (§8.3).
	Located Properties
	// LocatedByPeer means that the address is that of the connection itself. Located then
	// only replaces missing stored properties (decision 7).
	LocatedByPeer bool

	// Stored are the stored facts, nil without any.
	Stored *Stored

	// Partial means that more facts may be stored than this subject contains. A property that
	// was not supplied is then unknown instead of missing, and a flag whose result could
	// change with it is undecided (decision 2).
	Partial bool
}

// Stored are the stored facts about one subject.
type Stored struct {
	// Person are the stored properties of the person, nil if the person is unknown.
	Person Properties
	// CreatedAt is when the person was first seen, zero if the person is unknown.
	CreatedAt time.Time
	// Groups are the stored group properties by group type.
	Groups map[string]Properties
	// Cohorts are the ids of the static cohorts that contain the person.
	Cohorts []int64
	// Overrides are the identifiers stored for experience continuity, by flag key (§8.6). It
	// is not nil after a lookup, even if the result is empty.
	Overrides map[string]string

	// Failure and OverridesFailure are the reasons why the facts above could not be read.
	// Flags that could depend on them fail with this code.
	Failure          ReasonCode
	OverridesFailure ReasonCode
}

// Selection selects the flags to evaluate. The zero value selects all flags that are not
// restricted to a runtime; for flags restricted to servers or clients, set Runtime.
type Selection struct {
	// Keys restricts the selection to these flags and their dependencies. If nil, all flags
	// are selected; if empty but not nil, no flag is. Unknown keys are ignored.
	Keys []string `json:"keys"`
	// Runtime is "server", "client" or "all". If empty, the runtime is unknown, and only
	// flags without a restriction are selected (§9.9).
	Runtime string `json:"runtime,omitempty"`
	// Contexts are the evaluation contexts of the request. If empty, flags are not filtered
	// by context.
	Contexts []string `json:"contexts,omitempty"`
	// SurveysOnly restricts the selection to flags that surveys create (§9.2).
	SurveysOnly bool `json:"surveys_only,omitempty"`
}

// ValueSource is the layer that a value is from.
type ValueSource uint8

// The layers of §8.1, with SourceNone for values that are missing.
const (
	SourceNone ValueSource = iota // not supplied
	SourceRequest
	SourceLocated
	SourceStored
	SourceIdentity // the distinct id or the group key of the request
	SourceInitial  // the current property x in place of $initial_x (§8.2)
)

// valueSources are the names of the layers.
var valueSources = [...]string{"none", "request", "located", "stored", "identity", "initial"}

// String returns the name of the layer, and "" for an invalid value.
func (s ValueSource) String() string {
	if int(s) < len(valueSources) {
		return valueSources[s]
	}
	return ""
}

// MarshalText returns the name of the layer.
func (s ValueSource) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the name of a layer. An unknown one becomes SourceNone.
func (s *ValueSource) UnmarshalText(text []byte) error {
	*s = ValueSource(max(slices.Index(valueSources[:], string(text)), 0))
	return nil
}

// deviceID returns the identifier for bucketing by device (§8.4), "" if it is missing.
func (sub *Subject) deviceID() string { return sub.ownID(sub.DeviceID, "$device_id") }

// anonymousID returns the id from before the person was identified (§8.6), "" if it is
// missing.
func (sub *Subject) anonymousID() string { return sub.ownID(sub.AnonymousID, "$anon_distinct_id") }

// StoredIDs returns the ids under which facts about the subject may be stored: the distinct id, and
// the id from before the person was identified (§8.6). An id that is missing or means no person is
// empty.
func (sub *Subject) StoredIDs() (distinctID, anonymousID string) {
	if sub.DistinctID != wire.CookielessID {
		distinctID = values.TruncateID(sub.DistinctID)
	}
	return distinctID, sub.anonymousID()
}

// ownID returns an id that the request contains separately or as a property of the person.
// The shared id of visitors without cookies is ignored.
func (sub *Subject) ownID(provided, property string) string {
	if provided != "" && provided != wire.CookielessID {
		return provided
	}
	v := sub.Person[property]
	id, ok := v.(string)
	if !ok && v != nil {
		id, _ = values.Normalize(v).(string)
	}
	if id == wire.CookielessID {
		return ""
	}
	return id
}

// hasShortID reports whether the distinct id is hashed unchanged.
func (sub *Subject) hasShortID() bool {
	return sub.DistinctID != "" && len(sub.DistinctID) <= values.MaxID && sub.DistinctID != wire.CookielessID
}

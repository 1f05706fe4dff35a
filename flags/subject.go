package flags

import (
	"slices"
	"time"

	"github.com/bunting-flags/bunting/flags/wire"
)

// Properties are values by name. A value of any Go type means what encoding/json
// makes of it: a time.Time its RFC 3339 text, a time.Duration nanoseconds, a
// pointer what it points to, nil null; MarshalJSON and MarshalText count, String
// does not. The float64 5 is the number 5, since that is what encoding/json writes;
// a json.Number is the number as it is written, so that "5.0" has the text 5.0
// (§4.2): decode request bodies accordingly. What has no form in JSON leaves every
// flag undecided that it could change (see [ErrNoJSONForm]). Values that JSON
// decoders make (nil, bool, string, int64, float64, []any and map[string]any of
// them) cost nothing to read.
type Properties = map[string]any

// Subject is whom the flags are decided for: what the request says, and what
// is stored and located. Nothing of it is changed.
type Subject struct {
	// DistinctID identifies the person. More than 200 bytes are cut to 200
	// Unicode scalars (§2.4). Empty: see [ErrNoDistinctID]. What browsers send without
	// cookies ([wire.CookielessID]) is nobody's id, here and in the two that follow.
	DistinctID string
	// AnonymousID is $anon_distinct_id. Empty: the $anon_distinct_id of Person, when that
	// is a string.
	AnonymousID string
	// DeviceID is the request's device id. Empty: the $device_id of Person, when
	// that is a string.
	DeviceID string
	// Groups maps group type to group key. An empty key is no group.
	Groups map[string]string
	// Person and GroupProperties, those by group type, are properties as the
	// request gives them. They win over everything stored, null included.
	Person          Properties
	GroupProperties map[string]Properties

	// Located are the $geoip_ properties of the request's address, laid between
	// stored and request (§8.3).
	Located Properties
	// LocatedByPeer says that the address was that of the bare connection: then
	// Located only fills gaps that the stored properties leave (decision 7).
	LocatedByPeer bool

	// Stored is what a store knows. Nil: nothing is stored.
	Stored *Stored

	// Partial says that more may be stored than is given here: a property that
	// nobody supplied is unknown, not missing, and a flag whose answer could
	// change with it is not decided (decision 2).
	Partial bool
}

// Stored is what a store knows about one subject.
type Stored struct {
	// Person are the stored person properties, nil for an unknown person.
	Person Properties
	// CreatedAt is when the person was first seen; zero for an unknown person.
	CreatedAt time.Time
	// Groups are the stored group properties by group type.
	Groups map[string]Properties
	// Cohorts are the static cohorts that hold the person.
	Cohorts []int64
	// Overrides are the identifiers kept for experience continuity by flag key
	// (§8.6). Not nil once looked up.
	Overrides map[string]string

	// Failure and OverridesFailure say why the facts above could not be read.
	// Flags that could depend on them are answered as failed with this code.
	Failure          ReasonCode
	OverridesFailure ReasonCode
}

// Selection says which flags are to be answered. The zero value is for all flags
// that need no particular runtime: flags for servers or clients want Runtime.
type Selection struct {
	// Keys restricts the answer to these flags and what they depend on. Nil:
	// all. Empty: none. Unknown keys are ignored.
	Keys []string `json:"keys"`
	// Runtime is "server", "client" or "all"; empty is an unknown runtime, which
	// sees only flags for all (§9.9).
	Runtime string `json:"runtime,omitempty"`
	// Contexts are the request's evaluation contexts. Empty: no filtering.
	Contexts []string `json:"contexts,omitempty"`
	// SurveysOnly keeps only the flags that surveys create (§9.2).
	SurveysOnly bool `json:"surveys_only,omitempty"`
}

// ValueSource says where a value came from.
type ValueSource uint8

// The layers of §8.1, and the three ways of not having a value.
const (
	SourceNone ValueSource = iota // nobody supplied it
	SourceRequest
	SourceLocated
	SourceStored
	SourceIdentity // the distinct id or the group key of the request itself
	SourceInitial  // $initial_x taken from x (§8.2)
)

var valueSources = [...]string{"none", "request", "located", "stored", "identity", "initial"}

// String is the layer's name, empty for a number that is none.
func (s ValueSource) String() string {
	if int(s) < len(valueSources) {
		return valueSources[s]
	}
	return ""
}

// MarshalText writes the layer's name.
func (s ValueSource) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a layer's name; an unknown one becomes SourceNone.
func (s *ValueSource) UnmarshalText(text []byte) error {
	*s = ValueSource(max(slices.Index(valueSources[:], string(text)), 0))
	return nil
}

// deviceID is the identifier of device bucketing (§8.4), empty when missing.
func (sub *Subject) deviceID() string { return sub.ownID(sub.DeviceID, "$device_id") }

// anonymousID is the id from before the person was known (§8.6), empty when missing.
func (sub *Subject) anonymousID() string { return sub.ownID(sub.AnonymousID, "$anon_distinct_id") }

// storedID is the id under which something may be stored, empty when there is none.
func (sub *Subject) storedID() string {
	if sub.DistinctID == wire.CookielessID {
		return ""
	}
	return truncate(sub.DistinctID)
}

// ownID is an id that the request gives by itself or else as a property of the person.
// The id of all visitors without cookies is none.
func (sub *Subject) ownID(provided, property string) string {
	if provided != "" && provided != wire.CookielessID {
		return provided
	}
	v := sub.Person[property]
	id, ok := v.(string)
	if !ok && v != nil {
		id, _ = normalize(v).(string)
	}
	if id == wire.CookielessID {
		return ""
	}
	return id
}

package capture

import (
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/bunting-flags/bunting/capture/ids"
	"github.com/bunting-flags/bunting/flags/wire"
)

// Submission is the decoded body of one request: its events as the client sent them.
type Submission struct {
	// Tokens are the project keys in the body: only that of the batch if it has one, and
	// otherwise those of the items. It is empty if the body has no token.
	Tokens []string
	// Historical reports whether the batch belongs to a migration (§13.1).
	Historical bool
	// SentAt is the time on the client's clock when it sent the body. It is zero if unknown.
	SentAt time.Time
	// Items are the events in the order of the body.
	Items []Item
	// V1 reports whether the request uses protocol v1 (§6). That protocol trims or rejects
	// values that v0 truncates.
	V1 bool
}

// Item is one event of a body as the client sent it. Its strings may be substrings of the
// body and then keep it alive.
type Item struct {
	// Fault is the reason why the item cannot become an event, or NotDropped.
	Fault DropReason
	// Name is the event's name. It is empty if the item has none.
	Name string
	// DistinctID is normalized (§3.4). It is empty if the item has none.
	DistinctID string
	// UUID is zero if the item has none.
	UUID UUID
	// Timestamp is the time in the item as a string; a number is written in decimal. It is
	// empty if the item has none.
	Timestamp string
	// Offset is the age of the event when it was sent, in milliseconds. It is only valid if
	// HasOffset is true, and then takes precedence over Timestamp.
	Offset    int64
	HasOffset bool
	// Set and SetOnce are the members of these names at the top level of the item. They are
	// nil if absent or not objects.
	Set, SetOnce []Member
	// Properties are in the order of the body, each key at most once. Overrides, from
	// members of protocol v1 outside of the properties, take precedence over Properties.
	Properties, Overrides []Member
	// Size is the length of the item's JSON text, in bytes.
	Size int
}

// Event is an accepted event, ready to be recorded.
type Event struct {
	UUID       UUID
	Name       string
	DistinctID string
	// Properties is the JSON object to be stored (§8.2), without the $group_<n> properties of
	// Groups: the recorder adds these, because the numbers are in the store.
	Properties string
	// ElementsChain describes the clicked element and its parents. It may be empty.
	ElementsChain string
	// Timestamp is the event's time and ReceivedAt the server's time when it arrived. Both
	// are in UTC, with a precision of microseconds.
	Timestamp, ReceivedAt time.Time
	// Historical reports whether the event belongs to a migration and is old enough for one.
	Historical bool

	// Kind determines how the event changes persons and groups.
	Kind eventKind
	// Personless reports whether the event must not create or change a person, for example
	// because $process_person_profile is false (§9.1). In that case Set, SetOnce, Unset and
	// Groups are empty.
	Personless bool
	// Set, SetOnce and Unset change the person, in the order SetOnce, Set, Unset (§9.4). They
	// include the properties copied from the event (§9.5) and its location (§12.1).
	Set, SetOnce Object
	Unset        []string
	// Other is the second distinct id of a merge, $anon_distinct_id or alias, as the client
	// sent it. It is only valid if HasOther is true.
	Other    string
	HasOther bool
	// Groups are the groups in $groups, in the order of the event.
	Groups []GroupKey
	// Group is the change that a $groupidentify event requests. It may be nil.
	Group *GroupUpdate
	// Flag is the flag call of an exposure event ([Exposures]). It may be nil.
	Flag *FlagCall
}

// eventKind is the class of an event by how it changes persons and groups.
type eventKind uint8

// These are the kinds of events.
const (
	// ordinaryEvent changes the person's properties, unless only noisy properties differ
	// (§9.3).
	ordinaryEvent eventKind = iota
	// identifyEvent is $identify: it merges the person of Other into the event's person.
	identifyEvent
	// aliasEvent is $create_alias. It merges like identifyEvent.
	aliasEvent
	// mergeDangerouslyEvent is $merge_dangerously. It merges even a person that is
	// identified.
	mergeDangerouslyEvent
	// setPropertiesEvent is $set. It always changes the person's properties.
	setPropertiesEvent
	// groupIdentifyEvent is $groupidentify, and $group_identify (decision 16).
	groupIdentifyEvent
	// untouchingEvent creates its person if needed, but does not change it. Examples are
	// $exception and $$heatmap.
	untouchingEvent
)

// GroupKey identifies a group that an event belongs to.
type GroupKey struct {
	// Type is the name of the group type.
	Type string
	// Key is the group's key as the JSON text that the client sent.
	Key string
}

// GroupUpdate creates a group or merges properties into it (§11.3).
type GroupUpdate struct {
	Type, Key string
	Set       Object
}

// These are the events that SDKs send when a user has seen a flag's value. Both have the
// properties $feature_flag and $feature_flag_response.
const (
	flagCalled         = "$feature_flag_called"
	experimentExposure = "$experiment_exposure"
)

// exposures is the list of both names. Exposures returns a copy.
var exposures = []string{flagCalled, experimentExposure}

// Exposures returns the names of the events that SDKs send when a user has seen a flag's
// value: $feature_flag_called and $experiment_exposure.
func Exposures() []string { return slices.Clone(exposures) }

// FlagCall is one read of a flag's value (§12.3).
type FlagCall struct {
	// Flag is the flag's key. Value is the response as text: a variant, true, false, or null.
	Flag, Value string
}

// Origin is the information about a request that is not in its body.
type Origin struct {
	// IP is the client's address. It is zero if unknown.
	IP netip.Addr
	// ReceivedAt is the time when the request arrived, in UTC. If zero, the current time is
	// used.
	ReceivedAt time.Time
}

// Project is the part of a project's settings that capture needs.
type Project struct {
	ID int64
	// APIKey is the project's public key.
	APIKey string
	// OrganizationID is the organization that the project's events are charged to. Limits
	// apply to all its projects together.
	OrganizationID string
	// Secret reports whether the token was one of the project's secret keys. Its events are
	// then marked as $verified (§3.6).
	Secret bool
	// Limits are the greatest numbers of events in a calendar month of UTC, by resource. A
	// resource that is not in the map has no limit.
	Limits map[Resource]int64
	// Paused is the list of resources whose events are dropped.
	Paused []Resource
	// AnonymizeIPs reports whether $ip is removed from events after they are located.
	AnonymizeIPs bool
}

// Resource is the category that an event is counted in for limits (§13.4).
type Resource string

// These are the resources of events.
const (
	ResourceEvents     Resource = "events"
	ResourceExceptions Resource = "exceptions"
	ResourceSurveys    Resource = "surveys"
	ResourceLLMEvents  Resource = "llm_events"
	ResourceRecordings Resource = "recordings"
)

// UUID is the ID of an event or a person.
type UUID = wire.UUID

// personNamespace is the namespace of the UUIDs that PersonID returns (§9.2).
var personNamespace = UUID{0x93, 0x29, 0x79, 0xb4, 0x65, 0xc3, 0x44, 0x24, 0x84, 0x67, 0x0b, 0x66, 0xec, 0x27, 0xbc, 0x22}

// PersonID returns the UUID of the person that a distinct id creates. It is a UUID of version
// 5, so that two servers generate the same one (§9.2).
func PersonID(projectID int64, distinctID string) UUID {
	return nameID(personNamespace, projectID, distinctID)
}

// nameID returns the UUID of version 5 of a project's number and a name.
func nameID(namespace UUID, projectID int64, suffix string) UUID {
	name := append(strconv.AppendInt(make([]byte, 0, 128), projectID, 10), ':')
	return ids.OfName(namespace, append(name, suffix...))
}

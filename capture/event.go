package capture

import (
	"net/netip"
	"slices"
	"time"
)

// Submission is the body of one request, decoded: the events that it holds, as
// they were sent.
type Submission struct {
	// Tokens are the project keys that stand in the body: that of the batch alone,
	// or those of the items where the batch has none. Empty: none stands anywhere.
	Tokens []string
	// Historical: the batch belongs to a migration (§13.1).
	Historical bool
	// SentAt is the client's clock when it sent the body, zero when it does not say.
	SentAt time.Time
	// Items are in the order of the body.
	Items []Item
	// V1: the body came over protocol v1 (§6), which trims and refuses where v0
	// cuts.
	V1 bool
}

// Item is one event of a body as it was sent. All strings may be cut from the
// body and keep it alive.
type Item struct {
	// Fault says why the item can be no event, None for no reason.
	Fault DropReason
	// Name is the event's name, empty when there is none.
	Name string
	// DistinctID is normalised (§3.4), empty when there is none.
	DistinctID string
	// UUID is zero when the item has none.
	UUID UUID
	// Timestamp is the time that the item gives, as text (a number is written
	// out); empty when it gives none.
	Timestamp string
	// Offset is the age of the event at sending, in milliseconds. It counts when
	// HasOffset is set, and then wins over Timestamp.
	Offset    int64
	HasOffset bool
	// Set and SetOnce are the top-level objects of these names, nil when they are
	// absent or no objects.
	Set, SetOnce []Member
	// Properties are in the order of the body, each key once. The names of
	// Overrides win over them: what protocol v1 says outside of the properties.
	Properties, Overrides []Member
	// Size is the length of the item's JSON text in bytes.
	Size int
}

// Event is an accepted event, ready to be recorded.
type Event struct {
	UUID       UUID
	Name       string
	DistinctID string
	// Properties is the JSON object to be stored (§8.2). Only the $group_<n> of
	// Groups are missing: the recorder knows their numbers.
	Properties string
	// ElementsChain is the clicked element and its parents, empty for none.
	ElementsChain string
	// Timestamp is the event's time, ReceivedAt ours; both UTC, in microseconds.
	Timestamp, ReceivedAt time.Time
	// Historical: the event belongs to a migration and is old enough for one.
	Historical bool

	// Kind says what the event does beside being stored.
	Kind Kind
	// Personless: $process_person_profile is false (§9.1). Then no person is made
	// or changed, and Set, SetOnce, Unset and Groups are empty.
	Personless bool
	// Set, SetOnce and Unset change the person, in the order SetOnce, Set, Unset
	// (§9.4). What is copied from the event (§9.5) and located (§12.1) is in them.
	Set, SetOnce Object
	Unset        []string
	// Other is the second distinct id of a merge, $anon_distinct_id or alias, as it
	// was sent. It counts when HasOther is set.
	Other    string
	HasOther bool
	// Groups are the groups of $groups in the order of the event.
	Groups []GroupKey
	// Group is what a $groupidentify says, nil for none.
	Group *GroupUpdate
	// Flag is what an exposure ([Exposures]) says, nil for none.
	Flag *FlagCall
}

// Kind is what an event does to people, beside being stored.
type Kind uint8

// The kinds of events.
const (
	// ordinaryEvent: it changes the person's properties, unless only noisy ones differ
	// (§9.3).
	ordinaryEvent Kind = iota
	// identifyEvent is $identify: it merges Other into the event's person.
	identifyEvent
	// aliasEvent is $create_alias: as identifyEvent.
	aliasEvent
	// mergeDangerouslyEvent merges even a person that is identified.
	mergeDangerouslyEvent
	// setPropertiesEvent is $set: its changes are always applied.
	setPropertiesEvent
	// groupIdentifyEvent is $groupidentify, and $group_identify (decision 16).
	groupIdentifyEvent
	// untouchingEvent: it finds or makes its person but changes nothing of it:
	// $exception, $$heatmap.
	untouchingEvent
)

// GroupKey is a group that an event belongs to.
type GroupKey struct {
	Type string
	// Key is the group's key as JSON text, as it was sent.
	Key string
}

// GroupUpdate creates a group or merges properties into it (§11.3).
type GroupUpdate struct {
	Type, Key string
	Set       Object
}

// The events by which SDKs tell that somebody was shown a flag's value. They have the
// same properties: $feature_flag and $feature_flag_response.
const (
	flagCalled         = "$feature_flag_called"
	experimentExposure = "$experiment_exposure"
)

// exposures are both.
var exposures = []string{flagCalled, experimentExposure}

// Exposures returns the names of the events by which SDKs tell that somebody was shown a
// flag's value: $feature_flag_called and $experiment_exposure.
func Exposures() []string { return slices.Clone(exposures) }

// FlagCall is that a flag's value was read (§12.3).
type FlagCall struct {
	// Flag is its key, Value the response as text: a variant, true, false, or null.
	Flag, Value string
}

// Origin is what is known of a request beside its body.
type Origin struct {
	// IP is the client's address, zero when it is not known.
	IP netip.Addr
	// ReceivedAt is when the request came in, UTC. Zero: now.
	ReceivedAt time.Time
}

// Project is what capture has to know of a project.
type Project struct {
	ID int64
	// APIKey is the project's public key.
	APIKey string
	// OrganizationID is who pays: limits are counted for it.
	OrganizationID string
	// Secret: the token was one of the project's secret keys, so that its events
	// are $verified (§3.6).
	Secret bool
	// Limits are the events in a UTC calendar month by resource; one that is absent
	// has no limit.
	Limits map[Resource]int64
	// Paused resources are dropped at once.
	Paused []Resource
	// AnonymizeIPs: $ip is taken out of events once they are located.
	AnonymizeIPs bool
}

// Resource is what events are counted as (§13.4).
type Resource string

// The resources of events.
const (
	ResourceEvents     Resource = "events"
	ResourceExceptions Resource = "exceptions"
	ResourceSurveys    Resource = "surveys"
	ResourceLLMEvents  Resource = "llm_events"
	ResourceRecordings Resource = "recordings"
)

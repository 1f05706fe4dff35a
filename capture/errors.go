package capture

import (
	"errors"

	"github.com/bunting-flags/bunting/flags/wire"
)

var (
	// ErrUnknownKey is returned for tokens that belong to no project. It is the same error as
	// in package flags.
	ErrUnknownKey = wire.ErrUnknownKey
	// ErrIndexing is reported if stored events could not be indexed yet. They can be read,
	// but more slowly.
	ErrIndexing = errors.New("capture: events are stored but not indexed")
	// ErrUnavailable is returned if events cannot be stored at the moment. The caller should
	// send all of them again.
	ErrUnavailable = errors.New("capture: events cannot be stored at the moment")
	// ErrStore is returned if the store itself fails, so that a later attempt may succeed. An
	// error of a Ledger that is not an ErrStore may be caused by the data to be stored.
	ErrStore = errors.New("capture: the store fails")
	// ErrMoved is returned if another reader has advanced the position of a stream's
	// partition.
	ErrMoved = errors.New("capture: another reader has advanced from this position")
)

// Refusal is the error for a request that is rejected as a whole, with the content of the
// response.
type Refusal struct {
	// Kind is the class of the error; callers map it to a status.
	Kind RefusalKind
	// Code is an identifier for programs, Detail a sentence for people (§4.2).
	Code, Detail string
	// Attr is the member of the body that is wrong. It may be empty.
	Attr string
}

func (e *Refusal) Error() string { return e.Detail }

// RefusalKind is the class of a Refusal.
type RefusalKind uint8

// These are the kinds of refusals.
const (
	// Invalid is for bodies that cannot be decoded or contain no events.
	Invalid RefusalKind = iota
	// Unauthorized is for requests without a key or with an invalid one.
	Unauthorized
	// TooLarge is for bodies or events over a limit.
	TooLarge
)

// DropReason is the reason why an event of an accepted request is not stored. All drops are
// counted by reason (decision 15).
type DropReason string

// These are the reasons. The reasons of protocol v1 (§6.3) have the names that it defines.
const (
	NotDropped             DropReason = ""
	MissingEventName       DropReason = "missing_event_name"
	eventNameTooLong       DropReason = "event_name_too_long"
	missingDistinctID      DropReason = "missing_distinct_id"
	distinctIDTooLarge     DropReason = "distinct_id_too_large"
	invalidUUID            DropReason = "invalid_event_uuid"
	invalidTimestamp       DropReason = "invalid_event_timestamp"
	malformedProperties    DropReason = "malformed_event_properties"
	invalidOptions         DropReason = "invalid_options"
	eventTooLarge          DropReason = "event_too_large"
	performanceEvent       DropReason = "dropped_performance_event"
	cookielessOff          DropReason = "cookieless_mode_off"
	snapshotWrongEndpoint  DropReason = "snapshot_belongs_to_s"
	clientIngestionWarning DropReason = "client_ingestion_warning"
	heatmapNotStored       DropReason = "heatmaps_are_not_kept"
	recordingNotStored     DropReason = "recordings_are_not_kept"
	personProfileNeeded    DropReason = "invalid_event_when_process_person_profile_is_false"
	invalidAnonDistinctID  DropReason = "invalid_anon_distinct_id"
	invalidAlias           DropReason = "invalid_alias"
	groupKeyTooLong        DropReason = "group_key_too_long"
	EventsOverQuota        DropReason = "events_over_quota"
	exceptionsOverQuota    DropReason = "exceptions_over_quota"
	surveysOverQuota       DropReason = "survey_responses_over_quota"
	llmEventsOverQuota     DropReason = "llm_events_over_quota"
	Duplicate              DropReason = "duplicate"
)

// IsOverQuota reports whether the reason is an exceeded quota (§13.4).
func (r DropReason) IsOverQuota() bool {
	switch r {
	case EventsOverQuota, exceptionsOverQuota, surveysOverQuota, llmEventsOverQuota:
		return true
	}
	return false
}

// WarningType is the type of an ingestion warning (§4.5). Most drop reasons are also types of
// warnings.
type WarningType string

// These types of warnings are about events that are stored nevertheless.
const (
	warnProcessPersonProfile WarningType = "invalid_process_person_profile"
	warnIllegalDistinctID    WarningType = "cannot_merge_with_illegal_distinct_id"
	warnAlreadyIdentified    WarningType = "cannot_merge_already_identified"
	WarnGroupSet             WarningType = "invalid_group_set"
	warnPersonTooLarge       WarningType = "person_properties_size_violation"
	warnGroupTooLarge        WarningType = "group_properties_size_violation"
	warnGroupTypes           WarningType = "too_many_group_types"
	warnHistoricalTooYoung   WarningType = "historical_event_too_young"
	WarnTimestamp            WarningType = "invalid_timestamp"
	warnUUIDTime             WarningType = "event_uuid_time_differs"
	// warnExceptionList is for exceptions whose list is invalid because an element has no
	// type (spec/clients.md §17).
	warnExceptionList WarningType = "invalid_exception_list"
	// WarnDeadLetter is for events that were accepted, but that the store rejects.
	WarnDeadLetter WarningType = "kept_as_dead_letter"
)

package capture

import (
	"errors"

	"github.com/bunting-flags/bunting/flags/wire"
)

var (
	// ErrUnknownKey is for tokens that belong to no project. It is that of flags.
	ErrUnknownKey = wire.ErrUnknownKey
	// ErrIndexing says that stored events could not be indexed yet, so that reading
	// them back takes longer.
	ErrIndexing = errors.New("capture: events are stored but not indexed")
	// ErrUnavailable says that events cannot be stored now; nothing was accepted.
	ErrUnavailable = errors.New("capture: events cannot be stored at the moment")
	// ErrStore says that the store fails, whatever is to be recorded: another time may
	// be better. A Ledger's error without it may be about what was to be recorded.
	ErrStore = errors.New("capture: the store fails")
	// ErrMoved says that another reader has gone on with a stream's partition.
	ErrMoved = errors.New("capture: another reader has gone on from this place")
)

// Refusal is a request of which nothing is accepted, and what its sender is told.
type Refusal struct {
	Kind RefusalKind
	// Code is a word for programs, Detail a sentence for people (§4.2).
	Code, Detail string
	// Attr is the part of the body that is wrong, empty for none.
	Attr string
}

func (e *Refusal) Error() string { return e.Detail }

// RefusalKind is whose fault a refusal is.
type RefusalKind uint8

// The kinds of refusals.
const (
	// Invalid bodies cannot be read, or hold nothing.
	Invalid RefusalKind = iota
	// Unauthorized bodies have no key, or a bad one.
	Unauthorized
	// TooLarge bodies or events are over a limit.
	TooLarge
)

// DropReason says why an event of an accepted request is not stored. Every one
// is counted (decision 15).
type DropReason string

// The reasons. Those of protocol v1 (§6.3) have its names.
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

// IsOverQuota reports whether a limit was the reason (§13.4).
func (r DropReason) IsOverQuota() bool {
	switch r {
	case EventsOverQuota, exceptionsOverQuota, surveysOverQuota, llmEventsOverQuota:
		return true
	}
	return false
}

// WarningType names a kind of ingestion warning (§4.5). Most of the
// reasons to drop an event are warnings too.
type WarningType string

// The warnings about events that are stored all the same.
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
	// warnExceptionList is about exceptions whose list cannot be read: one of it has
	// no type (spec/clients.md §17).
	warnExceptionList WarningType = "invalid_exception_list"
	// WarnDeadLetter is about events that were accepted and that the store refuses.
	WarnDeadLetter WarningType = "kept_as_dead_letter"
)

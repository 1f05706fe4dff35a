package capture

import (
	"context"
	"time"
)

// History reads what was recorded. Pages are sorted from newest to oldest and are stable:
// After identifies the last item of the previous page, so that items recorded later do not
// shift the following pages.
type History interface {
	// Events returns at most q.Limit events.
	Events(ctx context.Context, projectID int64, q EventQuery) ([]Record, error)
	// Event returns the newest event with a uuid. It returns nil if there is no such event.
	Event(ctx context.Context, projectID int64, id UUID) (*Record, error)
	// Ledger returns at most limit events with an ID greater than after, in the order in
	// which they were recorded. It is for followers and exports.
	Ledger(ctx context.Context, projectID, after int64, limit int) ([]Record, error)
	// Recent returns the newest events recorded after a position, for live views: at most
	// limit, and at most RecentBytes of properties unless a single event is larger. If after
	// is negative, it returns no events, only the current position.
	Recent(ctx context.Context, projectID, after int64, limit int) (Recent, error)

	// People returns at most q.Limit persons, or fewer if they are large. next is the value
	// of After for the next page, or 0 at the end.
	People(ctx context.Context, projectID int64, q PersonQuery) (page []StoredPerson, next int64, err error)
	// PersonForDistinctID returns the person with a distinct id, or nil if there is none.
	PersonForDistinctID(ctx context.Context, projectID int64, distinctID string) (*StoredPerson, error)
	// PersonByUUID returns the person with a UUID, or nil if there is none.
	PersonByUUID(ctx context.Context, projectID int64, id UUID) (*StoredPerson, error)
	// PersonByID returns the person with the ID of a StoredPerson, or nil if there is none.
	PersonByID(ctx context.Context, projectID, id int64) (*StoredPerson, error)
	// CountPeople returns the number of persons of a project, from a stored counter.
	CountPeople(ctx context.Context, projectID int64) (int64, error)

	// GroupTypes returns the names of a project's group types, by their number.
	GroupTypes(ctx context.Context, projectID int64) ([]string, error)
	// Groups returns at most limit groups of a type, sorted by key and beginning after the
	// key after, or fewer if they are large. If search is not empty, it returns only groups
	// whose key or properties contain it, ignoring the case of ASCII letters; it then
	// examines at most SearchScan groups. next is the value of after for the next page. It is
	// empty at the end.
	Groups(ctx context.Context, projectID int64, groupType int, after, search string, limit int) (page []Group, next string, err error)
	// Group returns one group. It returns nil if there is no such group.
	Group(ctx context.Context, projectID int64, id GroupID) (*Group, error)

	// Warnings returns at most limit warnings, beginning with the newest.
	Warnings(ctx context.Context, projectID int64, limit, offset int) ([]StoredWarning, error)
	// SeenNames returns names of one kind that events have used, sorted by name.
	SeenNames(ctx context.Context, projectID int64, kind SeenKind, limit, offset int) ([]SeenName, error)
	// FlagCalls returns the counts of the values of a flag, or of all flags if key is empty.
	FlagCalls(ctx context.Context, projectID int64, key string, limit int) ([]FlagCalls, error)
}

// RecentBytes bounds the total length of the properties that History.Recent returns.
const RecentBytes = 4 << 20

// Recent is the result of History.Recent.
type Recent struct {
	// Events are the newest events, in the order in which they were recorded.
	Events []Record
	// Remaining is the number of events after the position that are not in Events.
	Remaining int64
	// Position is the argument for the next call.
	Position int64
}

// SearchScan is the number of persons or groups that one page of a search examines.
const SearchScan = 10000

// EventQuery selects events. The zero value selects all. The result is sorted from newest to
// oldest by time, then by ID.
type EventQuery struct {
	// From and To bound the event's time: From <= time < To. If zero, there is no bound.
	From, To time.Time
	// Name is the event's name. If empty, all names match.
	Name string
	// DistinctIDs are the distinct ids to match, usually all those of one person. If nil, all
	// ids match. An empty list that is not nil matches no event.
	DistinctIDs []string
	// After is the last event of the previous page. It is nil for the first page.
	After *EventCursor
	Limit int
}

// EventCursor is an event's position in the order of a page.
type EventCursor struct {
	Timestamp time.Time
	ID        int64
}

// PersonQuery selects persons, sorted from newest to oldest by StoredPerson.ID.
type PersonQuery struct {
	// Search selects persons that contain it in a distinct id, the email or the name,
	// ignoring case. Match, if not nil, is called for every person and selects those for
	// which it returns true.
	Search string
	Match  func(*StoredPerson) bool
	// After is the next result of the previous page. It is 0 for the first page.
	After int64
	Limit int
}

// StoredPerson is a person with everything that is stored.
type StoredPerson struct {
	// ID is a number that identifies the person in URLs. It has no other meaning.
	ID int64
	Person
	// DistinctIDs are sorted alphabetically. There are at most MaxReturnedIDs.
	DistinctIDs []string
}

// MaxReturnedIDs bounds StoredPerson.DistinctIDs.
const MaxReturnedIDs = 1000

// StoredWarning is a warning with the time of its first occurrence.
type StoredWarning struct {
	Warning
	First time.Time
}

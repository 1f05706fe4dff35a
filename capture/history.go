package capture

import (
	"context"
	"time"
)

// History reads back what was recorded. Pages are newest first and stable:
// After names the last one of the page before, and what comes in meanwhile does
// not move the rest.
type History interface {
	// Events returns at most q.Limit events.
	Events(ctx context.Context, projectID int64, q EventQuery) ([]Record, error)
	// Event returns the newest event with a uuid, nil for none.
	Event(ctx context.Context, projectID int64, id UUID) (*Record, error)
	// Ledger returns at most limit events with an ID above after, in the order in
	// which they were recorded: for followers and exports.
	Ledger(ctx context.Context, projectID, after int64, limit int) ([]Record, error)
	// Recent returns the newest of the events recorded after a place, for who watches
	// them: at most limit, and no more than RecentBytes of them beside one. Below zero is
	// the end: nothing comes, but the place of it.
	Recent(ctx context.Context, projectID, after int64, limit int) (Recent, error)

	// People returns at most q.Limit persons, fewer where they are large, and where the next
	// page goes on: 0 at the end.
	People(ctx context.Context, projectID int64, q PersonQuery) (page []StoredPerson, next int64, err error)
	// PersonForDistinctID returns the person of a distinct id, PersonByUUID and PersonByID that
	// of an id; nil for none.
	PersonForDistinctID(ctx context.Context, projectID int64, distinctID string) (*StoredPerson, error)
	PersonByUUID(ctx context.Context, projectID int64, id UUID) (*StoredPerson, error)
	PersonByID(ctx context.Context, projectID, id int64) (*StoredPerson, error)
	// CountPeople is the number of persons of a project, from a kept counter.
	CountPeople(ctx context.Context, projectID int64) (int64, error)

	// GroupTypes are a project's group types by their number.
	GroupTypes(ctx context.Context, projectID int64) ([]string, error)
	// Groups returns at most limit groups of a type by key, fewer where they are large, those
	// whose key follows after. Only keys or properties that contain search, in any case of ASCII
	// letters, unless it is empty; at most SearchScan groups are looked at, and next
	// is where to go on, empty at the end.
	Groups(ctx context.Context, projectID int64, groupType int, after, search string, limit int) (page []Group, next string, err error)
	// Group returns one group, nil for none.
	Group(ctx context.Context, projectID int64, id GroupID) (*Group, error)

	// Warnings returns at most limit warnings, newest first.
	Warnings(ctx context.Context, projectID int64, limit, offset int) ([]StoredWarning, error)
	// SeenNames are the names of one kind that events have used, by name.
	SeenNames(ctx context.Context, projectID int64, kind SeenKind, limit, offset int) ([]SeenName, error)
	// FlagCalls are the counts of a flag's values, of all flags when key is empty.
	FlagCalls(ctx context.Context, projectID int64, key string, limit int) ([]FlagCalls, error)
}

// RecentBytes bounds what History.Recent returns, as the bytes of properties.
const RecentBytes = 4 << 20

// Recent is what was recorded since somebody looked.
type Recent struct {
	// Events are the newest, in the order in which they were recorded.
	Events []Record
	// Remaining is how many more there were.
	Remaining int64
	// Position is where to go on.
	Position int64
}

// SearchScan is how many persons or groups one page of a search looks at.
const SearchScan = 10000

// EventQuery chooses events; zero members choose all. Newest first by time,
// then by place in the ledger.
type EventQuery struct {
	// From and To bound the event's time: From <= time < To.
	From, To time.Time
	// Name is the event's name.
	Name string
	// DistinctIDs are the ids of one person, or one id. An empty, not nil list
	// chooses nothing.
	DistinctIDs []string
	// After is the last event of the page before.
	After *EventCursor
	Limit int
}

// EventCursor is an event's place in the order of a page.
type EventCursor struct {
	Timestamp time.Time
	ID        int64
}

// PersonQuery chooses persons, newest first by StoredPerson.ID.
type PersonQuery struct {
	// Search finds persons one of whose distinct ids, or whose email or name, contains
	// it, in any case. Match, when there is one, is asked about every person.
	Search string
	Match  func(*StoredPerson) bool
	// After is where the page before ended, 0 for the first.
	After int64
	Limit int
}

// StoredPerson is a person with all that is stored.
type StoredPerson struct {
	// ID is a number for paths; it says nothing else.
	ID int64
	Person
	// DistinctIDs are in the order of the alphabet, at most MaxReturnedIDs of them.
	DistinctIDs []string
}

// MaxReturnedIDs bounds StoredPerson.DistinctIDs.
const MaxReturnedIDs = 1000

// StoredWarning is a warning with the time of the first one.
type StoredWarning struct {
	Warning
	First time.Time
}

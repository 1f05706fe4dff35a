package capture

import (
	"context"
	"net/netip"
	"time"
)

// This file declares the interfaces that capture requires of its environment, except those of
// streams (stream.go).

// Keys finds projects by the token that clients send.
type Keys interface {
	// Project returns the project of a public or secret key. It returns ErrUnknownKey if
	// there is no such key, and another error if the lookup failed.
	Project(ctx context.Context, token string) (Project, error)
}

// Locator returns the location of an address as a list of $geoip_ properties, each with its
// value as JSON text (§12.1). The list is nil if the location is unknown. It may be shared,
// so the caller must not modify it.
type Locator interface {
	Details(ip netip.Addr) [][2]string
}

// Ledger stores events and the changes that they cause.
type Ledger interface {
	// Commit runs work in one transaction and returns after its changes are durable. No other
	// transaction writes to the given projects at the same time. If Commit or work fails,
	// nothing is changed. projects is sorted and has no duplicates. work may be called again after
	// Tx.Claim has failed.
	Commit(ctx context.Context, projects []int64, work func(Tx) error) error
	// HasSingleWriter reports whether this process is the only one that writes, so that the
	// Recorder may cache persons.
	HasSingleWriter() bool
}

// Tx is one transaction. No other transaction changes its projects until it ends.
type Tx interface {
	// Claim reports for each of some keys whether it is new: no stored event has it. If a key
	// occurs several times in one call, only the first is new. It is called once, before Save,
	// which stores the events of the new keys in the same order.
	Claim(keys []EventKey) (fresh []bool, err error)
	// People returns the identities of distinct ids, in the same order. The identities of ids
	// with the same person have the same pointer.
	People(projectID int64, ids []string) ([]Identity, error)
	// GroupTypes returns the names of a project's group types, by number.
	GroupTypes(projectID int64) ([]string, error)
	// Groups returns stored groups in the order of keys. The element for a group that is not
	// stored is nil.
	Groups(projectID int64, keys []GroupID) ([]*Group, error)
	// Save writes all changes.
	Save(c *Changes) error
	// ErasePerson deletes a person with all distinct ids, the data that flags store about the
	// person, memberships in static cohorts and warnings. If withEvents is true, it also
	// deletes all events of these distinct ids. Only the version is preserved, in case the
	// person is created again (decision 17). If the person does not exist, found is false;
	// events may have been deleted nevertheless.
	ErasePerson(projectID int64, person UUID, withEvents bool) (found bool, events int64, err error)
	// EraseEvents deletes all events of a person's distinct ids and returns their number. The
	// person is not deleted.
	EraseEvents(projectID int64, person UUID) (int64, error)
}

// EventKey identifies an event. Events with equal keys are duplicates (§13.3).
type EventKey struct {
	ProjectID  int64
	UUID       UUID
	Name       string
	DistinctID string
}

// Identity is the stored state of a distinct id.
type Identity struct {
	// Person is the person that the id belongs to, or nil.
	Person *Person
	// Personless reports whether events without a person have used the id.
	Personless bool
}

// Person is a stored person.
type Person struct {
	UUID       UUID
	CreatedAt  time.Time
	Properties Object
	// Identified reports whether the person was identified, for example by $identify. Such a
	// person is only merged into another by $merge_dangerously.
	Identified bool
	// Version is incremented with every change.
	Version int64
}

// GroupID identifies a group by the number of its type and its key.
type GroupID struct {
	Type int
	Key  string
}

// Group is a stored group.
type Group struct {
	GroupID
	CreatedAt  time.Time
	Properties Object
}

// Changes are the changes that a transaction saves. They are executed in the order of the
// fields.
type Changes struct {
	// GroupTypes are new group types.
	GroupTypes []ProjectGroupType
	// Groups are inserted, or replace the stored groups.
	Groups []ProjectGroup
	// Persons are inserted, or replace the stored persons. If a person that is new has the
	// UUID of one that was erased, it is stored with the version of the erased person plus
	// 100, and Save sets Version to that value.
	Persons []ProjectPerson
	// Merges move all data of From to Into and then delete From, in this order.
	Merges []Merge
	// IDs are distinct ids that are new or are assigned to another person.
	IDs []ProjectID
	// Personless are distinct ids that were used without a person.
	Personless []ProjectID
	// Events are stored in this order.
	Events []Record
	// Calls, Seen, Warnings and Usage are added to the stored counts and names.
	Calls    []FlagCalls
	Seen     []SeenName
	Warnings []Warning
	Usage    []Usage
	// Moves are the new positions of streams. Save returns ErrMoved if the stored position of
	// a partition is not the From of its move.
	Moves []Move
}

// ProjectGroupType is a new group type.
type ProjectGroupType struct {
	ProjectID int64
	Index     int
	Name      string
}

// ProjectGroup is a group of a project.
type ProjectGroup struct {
	ProjectID int64
	Group
}

// ProjectPerson is a person of a project.
type ProjectPerson struct {
	ProjectID int64
	*Person
	// IsNew reports whether the person is not stored yet.
	IsNew bool
}

// Merge merges one person into another.
type Merge struct {
	ProjectID  int64
	From, Into UUID
}

// ProjectID is a distinct id and its person. Person is zero if the id has no person.
type ProjectID struct {
	ProjectID  int64
	DistinctID string
	Person     UUID
}

// PersonMode is the way in which an event was attributed to a person (§8.3).
type PersonMode uint8

// Full is for events with a person, Propertyless for events without one, and ForceUpgrade for
// personless events whose distinct id has a person.
const (
	Full PersonMode = iota
	Propertyless
	ForceUpgrade
)

// String returns the name of the mode in PostHog's tables.
func (m PersonMode) String() string {
	return [...]string{"full", "propertyless", "force_upgrade"}[m]
}

// Record is a stored event (§8.3).
type Record struct {
	// ID is the event's position in the ledger. The store assigns it. It increases with every
	// event of a project.
	ID        int64
	ProjectID int64
	UUID      UUID
	Name      string
	// Properties is a JSON object.
	Properties    string
	DistinctID    string
	ElementsChain string
	Timestamp     time.Time
	CreatedAt     time.Time
	// PersonID, PersonCreatedAt and PersonProperties, a JSON object, describe the person as
	// it was after this event. PersonProperties is {} if the properties are longer than 64
	// KiB or the commit is very large.
	PersonID         UUID
	PersonCreatedAt  time.Time
	PersonProperties string
	PersonMode       PersonMode
	Historical       bool
}

// FlagCalls counts the reads of a flag's value, which helps to find flags that are not used
// any more. Stores also count them by the hour of Last.
type FlagCalls struct {
	ProjectID int64
	FlagCall
	Calls int64
	// First and Last are the times of the earliest and latest read.
	First, Last time.Time
}

// SeenKind is the kind of a SeenName.
type SeenKind uint8

// These are the kinds of names that are recorded: events, and properties of events, persons
// and groups.
const (
	SeenEvent SeenKind = iota
	SeenEventProperty
	SeenPersonProperty
	SeenGroupProperty
)

// SeenName is a name that events have used.
type SeenName struct {
	ProjectID int64
	Kind      SeenKind
	// Group is the number of the group type if Kind is SeenGroupProperty.
	Group int
	Name  string
	// Type is the type of the property: String, Numeric, Boolean or DateTime. It is empty for
	// other values and for events.
	Type string
	At   time.Time
}

// Warning is an ingestion warning (§4.5). Warnings of the same type and distinct id are
// counted together.
type Warning struct {
	ProjectID int64
	Type      WarningType
	// DistinctID and EventUUID are those of the last event that the warning is about. A long
	// distinct id is truncated.
	DistinctID string
	EventUUID  UUID
	// Detail has more information, without values of properties. It may be empty.
	Detail string
	Count  int64
	At     time.Time
}

// Usage counts an organization's events of one resource in the month of At.
type Usage struct {
	OrganizationID string
	ProjectID      int64
	Resource       Resource
	At             time.Time
	N              int64
}

// UsageReader reads the stored counts.
type UsageReader interface {
	// Used returns the organization's count of a resource in the UTC month of at.
	Used(ctx context.Context, organizationID string, r Resource, at time.Time) (int64, error)
}

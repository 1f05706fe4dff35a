package capture

import (
	"context"
	"net/netip"
	"time"
)

// This file is all that capture asks of the world, but for a stream (stream.go).

// Keys finds projects by what clients send as a token.
type Keys interface {
	// Project returns the project of a public or secret key: ErrUnknownKey if there
	// is none, another error if that could not be found out.
	Project(ctx context.Context, token string) (Project, error)
}

// Locator tells where an address is: the $geoip_ properties that are known,
// each with its value as JSON text (§12.1), nil for none. The result is shared
// and must not be changed.
type Locator interface {
	Details(ip netip.Addr) [][2]string
}

// Ledger keeps events and what they change, durably.
type Ledger interface {
	// Commit runs work in one transaction, alone among all that write to these
	// projects, and returns once what was saved is durable. When it or work fails
	// nothing has changed. projects are sorted, each once.
	Commit(ctx context.Context, projects []int64, work func(Tx) error) error
	// HasSingleWriter reports whether this process is the only one that writes, so that what
	// was read once may be remembered.
	HasSingleWriter() bool
}

// Tx is one transaction. Nothing else changes these projects while it lasts.
type Tx interface {
	// Claim keeps the keys of events and tells which of them are new. Of two equal
	// ones in the same call the first is.
	Claim(keys []EventKey) (fresh []bool, err error)
	// People returns what is known of distinct ids, in their order. Persons that
	// several ids share are the same pointer.
	People(projectID int64, ids []string) ([]Identity, error)
	// GroupTypes returns the names of a project's group types by their number.
	GroupTypes(projectID int64) ([]string, error)
	// Groups returns stored groups in the order asked for, nil for unknown ones.
	Groups(projectID int64, keys []GroupID) ([]*Group, error)
	// Save writes all changes.
	Save(c *Changes) error
	// ErasePerson takes a person away with all distinct ids, what flags keep of it, its
	// memberships of static cohorts and its warnings, and withEvents with all events of
	// those ids. Only the version is kept, for a person who comes back (decision 17).
	// found is false where there is no such person; events were erased.
	ErasePerson(projectID int64, person UUID, withEvents bool) (found bool, events int64, err error)
	// EraseEvents takes all events of a person's distinct ids away, and says how many;
	// the person stays.
	EraseEvents(projectID int64, person UUID) (int64, error)
}

// EventKey is what makes two events the same one (§13.3): the project, the
// uuid, the name and the distinct id.
type EventKey struct {
	ProjectID  int64
	UUID       UUID
	Name       string
	DistinctID string
}

// Identity is what is known of a distinct id.
type Identity struct {
	// Person is whom the id belongs to, nil for nobody.
	Person *Person
	// Personless: events without a person have used the id.
	Personless bool
}

// Person is a stored person.
type Person struct {
	UUID       UUID
	CreatedAt  time.Time
	Properties Object
	Identified bool
	// Version grows with every change.
	Version int64
}

// GroupID is a group: the number of its type and its key.
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

// Changes are what a transaction saves. They are carried out in the order of
// the fields.
type Changes struct {
	// GroupTypes are new.
	GroupTypes []ProjectGroupType
	// Groups are new, or replace what is stored.
	Groups []ProjectGroup
	// Persons are new, or replace what is stored. A new one whose UUID was erased
	// before is stored with a version of 100 more than it had, and Version is set
	// to it.
	Persons []ProjectPerson
	// Merges move all that belongs to From over to Into, then take From away, in
	// this order.
	Merges []Merge
	// IDs are new distinct ids, or belong to another person from now on.
	IDs []ProjectID
	// Personless ids were used without a person.
	Personless []ProjectID
	// Events are stored in this order.
	Events []Record
	// Calls, Seen, Warnings and Usage are added to what is stored.
	Calls    []FlagCalls
	Seen     []SeenName
	Warnings []Warning
	Usage    []Usage
	// Moves say how far streams are done with. Save fails with ErrMoved when one of
	// them does not begin where its partition stands.
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
	// IsNew: there is no such person yet.
	IsNew bool
}

// Merge takes one person over into another.
type Merge struct {
	ProjectID  int64
	From, Into UUID
}

// ProjectID is a distinct id and the person whom it belongs to (zero where there
// is none).
type ProjectID struct {
	ProjectID  int64
	DistinctID string
	Person     UUID
}

// PersonMode says how an event was attributed (§8.3).
type PersonMode uint8

// The modes.
const (
	Full PersonMode = iota
	Propertyless
	ForceUpgrade
)

// String is the mode's name in PostHog's tables.
func (m PersonMode) String() string {
	return [...]string{"full", "propertyless", "force_upgrade"}[m]
}

// Record is a stored event (§8.3).
type Record struct {
	// ID is the event's place in the ledger; the store gives it. It grows with
	// every event of a project.
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
	// PersonID, PersonCreatedAt and PersonProperties, a JSON object, are the person
	// as it was after this event; where there is no copy, because they are longer
	// than 64 KiB or the commit is very large, {} stands for it.
	PersonID         UUID
	PersonCreatedAt  time.Time
	PersonProperties string
	PersonMode       PersonMode
	Historical       bool
}

// FlagCalls count the reads of a flag's value, for telling stale flags. Stores keep
// them by the hour of Last too.
type FlagCalls struct {
	ProjectID int64
	FlagCall
	Calls int64
	// First and Last are the times of the earliest and latest of them.
	First, Last time.Time
}

// SeenKind is what a name names.
type SeenKind uint8

// What is remembered to have been seen: names of events, and properties of
// events, persons and groups with their types.
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
	// Group is the number of the group type of a SeenGroupProperty.
	Group int
	Name  string
	// Type is the property's: String, Numeric, Boolean, DateTime; empty for other
	// values and for events.
	Type string
	At   time.Time
}

// Warning is an ingestion warning (§4.5), several of one kind and distinct id
// added up.
type Warning struct {
	ProjectID int64
	Type      WarningType
	// DistinctID and EventUUID are of the last event that it is about; of long ids
	// only the beginning is kept.
	DistinctID string
	EventUUID  UUID
	// Detail says more, without values of properties. Empty: nothing more.
	Detail string
	Count  int64
	At     time.Time
}

// Usage counts an organization's events by resource in the month of At.
type Usage struct {
	OrganizationID string
	ProjectID      int64
	Resource       Resource
	At             time.Time
	N              int64
}

// UsageReader tells what has been counted.
type UsageReader interface {
	// Used is the organization's count of a resource in the UTC month of at.
	Used(ctx context.Context, organizationID string, r Resource, at time.Time) (int64, error)
}

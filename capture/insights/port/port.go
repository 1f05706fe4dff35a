package port

import (
	"context"

	"github.com/bunting-flags/bunting/capture"
)

// Source is a store of events that queries can read.
type Source interface {
	// Open begins reading a project. The reader sees the events that were recorded before the call,
	// but not those that are recorded later. The caller must close the reader.
	Open(ctx context.Context, projectID int64) (Reader, error)
}

// Reader reads the events, persons and groups of a project for one query. It is not safe for
// concurrent use.
type Reader interface {
	// Scan calls yield with the events of the scan, in batches and in any order. A batch and its
	// strings are valid only until yield returns. An error of yield ends the scan and is returned.
	// Scan checks ctx between batches.
	Scan(ctx context.Context, s Scan, yield func(*Batch) error) error
	// Count returns approximately how many events a scan would return, to report progress.
	Count(ctx context.Context, s Scan) (int64, error)
	// Position returns the ID of the last event that the reader sees. Every event that another
	// reader sees but not this one has a greater ID. It is 0 if the store has no such order.
	Position() int64
	// Earliest returns the time of the project's first event at or after since, both in
	// microseconds since 1970. It returns false if there is no such event.
	Earliest(ctx context.Context, since int64) (int64, bool, error)

	// Person returns the person with a number of Batch.Person. The result is valid until the next
	// scan.
	Person(number uint32) *Person
	// Profiles calls yield with the stored data of persons, in any order. Persons that no longer
	// exist are skipped. If people is nil, it reads all persons of the project.
	Profiles(ctx context.Context, people []capture.UUID, yield func(*capture.StoredPerson) error) error
	// Groups calls yield with the groups of a type that have one of the keys, in any order. If keys
	// is nil, it reads all groups of the type.
	Groups(ctx context.Context, groupType int, keys []string, yield func(*capture.Group) error) error
	// Members returns the persons in a static cohort, by its id.
	Members(ctx context.Context, cohort int64) ([]capture.UUID, error)

	// Close releases the resources of the reader.
	Close() error
}

// Columns is a set of the columns of a batch that a scan must fill. Time is always filled.
type Columns uint16

// The columns of a batch.
const (
	// Batch.Name.
	Names Columns = 1 << iota
	DistinctIDs
	UUIDs
	CreatedAt
	// Batch.Person: the person to whom the event belongs now.
	People
	// Only with People: Person.Exists and Person.CreatedAt of these persons.
	PeopleCreated
	// Batch.PersonAtEvent: the person to whom the event belonged when it arrived.
	PeopleAtEvent
	Modes      // Batch.Mode
	Elements   // Batch.Elements
	Properties // Batch.Properties
	// Batch.PersonProperties: the properties of the person after the event.
	PersonProperties
	// Batch.ID: the order of recording.
	IDs
)

// Scan selects the events of a time range. Zero fields do not restrict the events; From and To
// select all time if both are zero.
type Scan struct {
	// From and To are the range in microseconds since 1970: From <= time <= To.
	From, To int64
	// After permits only events whose ID is greater, which are those that were recorded later; 0
	// permits all.
	After int64
	// Names are the permitted event names; nil permits any.
	Names []string
	// DistinctIDs are the permitted distinct ids; nil permits any.
	DistinctIDs []string
	// Columns are the columns to fill.
	Columns Columns
	// Detailed are the names of the events that need Elements, Properties and PersonProperties, which
	// may be empty for other events; nil means all events.
	Detailed []string
	// EventProperties are the names of all properties of events that the caller reads, if Columns has
	// Properties; nil means that it reads Batch.Properties itself. Otherwise the reader may fill
	// Batch.EventProperties instead, and leave out other members of Batch.Properties.
	EventProperties []string
	// Reserve is called for the memory that the reader allocates for the query, in bytes; the
	// number is negative if memory is released. If it returns an error, the scan ends with the
	// error. Like yield, it is called in the goroutine of the scan, and may block until the caller is
	// ready for events.
	Reserve func(bytes int64) error
	// HasSpareCPU reports whether a processor is available for reading in parallel with the
	// goroutine that scans. A goroutine of the reader calls it repeatedly. If nil, the reader does
	// not read in parallel.
	HasSpareCPU func() bool
	// Ahead is the memory in bytes for events that a second processor has read before yield is called with
	// them. With 0 it is small.
	Ahead int64
	// Pause is called by every goroutine that reads, about every 100 microseconds of work. It may
	// block, to leave the processor to other work. If nil, there are no pauses.
	Pause func(ctx context.Context)
}

// Batch is a number of events as columns of the same length. Columns that the scan did not request
// are nil.
type Batch struct {
	// Time is in microseconds since 1970.
	Time []int64
	// ID increases in the order in which events are recorded.
	ID   []int64
	Name []string
	// DistinctID is the distinct id that the event was sent with.
	DistinctID []string
	UUID       []capture.UUID
	// CreatedAt is when the event was recorded, in microseconds since 1970.
	CreatedAt []int64
	// Person are numbers of persons, from 0, for [Reader.Person]. A person has the same number in
	// all scans of a reader. It is the person that the distinct id of the event belongs to now. If
	// the distinct id belongs to no person, it is the person id that was stored with the event:
	// that of an erased person, or an id that represents only the distinct id.
	Person        []uint32
	PersonAtEvent []capture.UUID
	Mode          []capture.PersonMode
	Elements      []string
	Properties    []string // JSON objects
	// EventProperties may replace Properties in some batches of a scan with Scan.EventProperties: for each
	// of these names some values as JSON text, "" for events without the property. EventPropertyOf has
	// the index of each event's value in them.
	EventProperties [][]string
	EventPropertyOf [][]uint16
	// Dictionary is a number of EventProperties, from 1: those of other batches of the reader with this
	// number are the same.
	Dictionary       uint64
	PersonProperties []string // JSON objects
}

// Len returns the number of events.
func (b *Batch) Len() int { return len(b.Time) }

// Person is a person that events belong to.
type Person struct {
	UUID capture.UUID
	// Exists reports whether the person exists now; if not, only UUID is set. Exists and CreatedAt
	// are set only if a scan requested PeopleCreated.
	Exists bool
	// CreatedAt is in microseconds since 1970. After a merge of two persons it is the earlier time.
	CreatedAt int64
}

package insights

import (
	"context"

	"github.com/bunting-flags/bunting/capture"
)

// Source is a store of events that can be asked.
type Source interface {
	// Open begins reading a project: what was recorded before is seen, and nothing
	// that is recorded later.
	Open(ctx context.Context, projectID int64) (Reader, error)
}

// Reader reads a project for one query. It is used by one goroutine at a time.
type Reader interface {
	// Scan gives the events that a scan asks for to yield, in batches and in any
	// order. A batch and its texts may be used until yield returns; yield's error
	// ends the scan and is returned. Between batches the context is looked at.
	Scan(ctx context.Context, s Scan, yield func(*Batch) error) error
	// Count is about how many events a scan would give, for progress.
	Count(ctx context.Context, s Scan) (int64, error)
	// Earliest is the time of the project's first event at or after a time, both in
	// microseconds since 1970; false when there is none.
	Earliest(ctx context.Context, since int64) (int64, bool, error)

	// Person is whom a number of Batch.Person stands for. The result may be used until
	// the next scan.
	Person(number uint32) *Person
	// Profiles gives what is stored now of people, in any order; those that are gone
	// are left out. nil asks for all people of the project.
	Profiles(ctx context.Context, people []capture.UUID, yield func(*capture.StoredPerson) error) error
	// Groups gives the groups of a type with one of the keys, in any order; nil asks
	// for all.
	Groups(ctx context.Context, groupType int, keys []string, yield func(*capture.Group) error) error
	// Members are the people with an id in a static cohort.
	Members(ctx context.Context, cohort int64) ([]capture.UUID, error)

	Close() error
}

// Columns are what a scan fills of a batch beside Time, which is always there.
type Columns uint16

// The columns of events.
const (
	Names Columns = 1 << iota
	DistinctIDs
	UUIDs
	CreatedAt
	People           // Batch.Person: to whom the event belongs now
	PeopleCreated    // with People: Person.Exists and Person.CreatedAt of them
	PeopleAtEvent    // Batch.PersonAtEvent: whose it was when it came
	Modes            // Batch.Mode
	Elements         // Batch.Elements
	Properties       // Batch.Properties
	PersonProperties // Batch.PersonProperties: as they were after the event
	IDs              // Batch.ID: the order of recording
)

// Scan asks for the events of a stretch of time. Zero members ask for all.
type Scan struct {
	// From and To bound the time in microseconds since 1970: From <= time <= To.
	From, To int64
	// Names are the names that events may have; nil: any.
	Names []string
	// DistinctIDs are the ids that events may have; nil: any.
	DistinctIDs []string
	Columns     Columns
	// Reserve is asked for the memory that the reader takes for the query, in bytes,
	// less than zero where it gives some back; its error ends the scan.
	Reserve func(bytes int64) error
	// HasSpareCPU says whether there is a processor to spare for reading beside who scans. It
	// is asked again and again by a goroutine of the reader. Nil: there is none.
	HasSpareCPU func() bool
	// Pause is called by whoever reads, now and then: about every tenth of a millisecond of
	// work. It may stand still, to leave the processor to others. Nil: nobody wants that.
	Pause func(ctx context.Context)
}

// Batch is some events as columns of one length. Columns that were not asked for
// are nil.
type Batch struct {
	// Time is in microseconds since 1970.
	Time []int64
	// ID grows from event to event as they are recorded.
	ID   []int64
	Name []string
	// DistinctID is as it was sent.
	DistinctID []string
	UUID       []capture.UUID
	CreatedAt  []int64
	// Person are numbers from 0 on that [Reader.Person] knows, the same for the same
	// person in all scans of one reader: of the person to whom the distinct id belongs
	// now; where it belongs to none, of the id that the event was stored with, which
	// is that of an erased person or stands for the distinct id alone.
	Person           []uint32
	PersonAtEvent    []capture.UUID
	Mode             []capture.PersonMode
	Elements         []string
	Properties       []string // JSON objects
	PersonProperties []string // JSON objects
}

// Len is the number of events.
func (b *Batch) Len() int { return len(b.Time) }

// Person is somebody whom events belong to.
type Person struct {
	UUID capture.UUID
	// Exists: there is a person now. Otherwise UUID is all that is known. It and
	// CreatedAt are filled where a scan has asked for PeopleCreated.
	Exists bool
	// CreatedAt is in microseconds since 1970; after a merge the older one's.
	CreatedAt int64
}

package batchexports

import (
	"context"
	"encoding/json"
	"time"
)

// ColumnType is what a column of an export holds, and the Go type of its values; null is nil.
type ColumnType int

// The types of columns.
const (
	TextColumn ColumnType = iota // string
	JSONColumn                   // json.RawMessage: an object
	TimeColumn                   // time.Time, UTC, microseconds
	BoolColumn                   // bool
	IntColumn                    // int64
	ListColumn                   // []string
)

// Column is a column of an export.
type Column struct {
	Name string
	Type ColumnType
}

// Job is one run: what is to be written where.
type Job struct {
	// Run and Export are ids. A run that is repeated has the same ones, and writes
	// over what it has left behind.
	Run, Export string
	Project     int64
	Model       string // events, persons, sessions
	// Key names the columns that make a row the same one.
	Key []string
	// Newer names the columns that tell which of two such rows holds: what is lower in
	// all of them is older. Empty: the one that came last.
	Newer []string
	// Appended: a table gets no key. Rows that it has are left out by looking.
	Appended bool
	// From <= time < To of the interval, zero for open.
	From, To time.Time
	// Backfill: the interval is one of event time, not of ingestion. The same
	// interval of the other kind has other rows, and leaves what this run writes.
	Backfill    bool
	Destination ExportDestination
	Columns     []Column
	// Rows yields the rows, a value for each column; the slice is used again. An
	// error of yield ends it. It may be called again for another attempt.
	Rows func(ctx context.Context, yield func([]any) error) error
}

// ExportDestination says where an export goes: its type and the settings of the
// type, secrets among them.
type ExportDestination struct {
	Type   string                     `json:"type"`
	Config map[string]json.RawMessage `json:"config"`
	// Integration is always null: all that a destination needs stands in Config
	// (spec/clients.md §16).
	Integration *struct{} `json:"integration"`
}

// RunTotals is what a run has written.
type RunTotals struct{ Rows, Bytes int64 }

// TestStep is a step of the test of a destination.
type TestStep struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// Runner writes exports. Messages of its errors may be shown to people: no
// secret stands in them.
type Runner interface {
	// Run writes a job whole. Permanent errors, which another attempt does not mend,
	// are *Refused.
	Run(ctx context.Context, job *Job) (RunTotals, error)
	// Steps are the steps of the test of a type of destination, in order.
	Steps(destinationType string) []TestStep
	// Test does one step: nil when it has passed, the reason when not.
	Test(ctx context.Context, d ExportDestination, step int) error
}

// PermanentError is an error that lasts until somebody changes something.
type PermanentError struct{ Reason string }

func (e *PermanentError) Error() string { return e.Reason }

// Rows reads what exports write. Its errors are faults of the store. No
// transaction stays open while visit works.
type Rows interface {
	// Horizon is a place in the ledger at or below which nothing of the project can
	// be committed any more.
	Horizon(ctx context.Context, projectID int64) (int64, error)
	// Boundary is about the last place before the first event that came in at a time
	// or later, at most the horizon.
	Boundary(ctx context.Context, when time.Time, horizon int64) (int64, error)
	// Passed is the last place, after < place <= upTo, up to which every event of the
	// project behind after came in before a time; after when there is none.
	Passed(ctx context.Context, projectID, after, upTo int64, when time.Time) (int64, error)
	// FirstEvent is the time of the earliest event, FirstPerson when the earliest
	// person was first seen; false when there is none.
	FirstEvent(ctx context.Context, projectID int64) (time.Time, bool, error)
	FirstPerson(ctx context.Context, projectID int64) (time.Time, bool, error)
	// Events visits events in an order that is always the same. visit must not keep
	// what it is given; an error of it ends the visit.
	Events(ctx context.Context, projectID int64, span Span, visit func(*Event) error) error
	// Persons visits persons as they are now, each with one of its distinct ids: those
	// first seen From <= time < To where these are set, else those changed at the
	// places of the span.
	Persons(ctx context.Context, projectID int64, span Span, visit func(*Person) error) error
}

// Span says which events, or changes of persons, belong to a run.
type Span struct {
	// After < place <= UpTo.
	After int64 `json:"after"`
	UpTo  int64 `json:"up_to"`
	// Before is the time before which they came in, zero for any.
	Before time.Time `json:"before,omitzero"`
	// Those up to DoneUpTo that came in before DoneBefore belong to earlier runs.
	DoneUpTo   int64     `json:"done_up_to,omitempty"`
	DoneBefore time.Time `json:"done_before,omitzero"`
	// From <= their own time < To, zero for open.
	From time.Time `json:"from,omitzero"`
	To   time.Time `json:"to,omitzero"`
	// Back is where the other events of sessions are looked for from on.
	Back int64 `json:"back,omitempty"`
	// Light leaves the properties of persons out.
	Light bool `json:"-"`
}

// Contains reports whether an event belongs to the span.
func (s *Span) Contains(e *Event) bool {
	return e.ID > s.After && e.ID <= s.UpTo &&
		(s.Before.IsZero() || e.CreatedAt.Before(s.Before)) &&
		(e.ID > s.DoneUpTo || !e.CreatedAt.Before(s.DoneBefore)) &&
		(s.From.IsZero() || !e.Timestamp.Before(s.From)) && (s.To.IsZero() || e.Timestamp.Before(s.To))
}

// Event is an event as it is stored. ID is its place in the ledger,
// CreatedAt when it came in. Properties are JSON objects.
type Event struct {
	ID                           int64
	UUID, Name, DistinctID       string
	PersonID                     string
	Properties, PersonProperties string
	ElementsChain                string
	Timestamp, CreatedAt         time.Time
}

// Person is a person with one of its distinct ids.
type Person struct {
	DistinctID, UUID string
	Properties       string
	Version          int64
	Identified       bool
	CreatedAt        time.Time
}

package batchexports

import (
	"context"
	"encoding/json"
	"time"
)

// ColumnType is the type of a column's values. The comments of the constants name the Go types; a
// null value is nil.
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

// Job describes one run for a Runner: the rows, and the destination to which it writes them.
type Job struct {
	// Run and Export are ids. A repeated run has the same ids, and replaces the output of its
	// earlier attempts.
	Run, Export string
	// Project is the number of the project, Model events, persons or sessions.
	Project int64
	Model   string
	// Key are the names of the columns that identify a row. If it is empty, all rows are different.
	Key []string
	// Newer are the names of the columns that determine which of two rows with the same key is
	// stored: a row with lower values in all of them is older. If it is empty, the row that is
	// written last is stored.
	Newer []string
	// Appended reports that a table has no key, so the Runner must look for rows that the table has
	// already.
	Appended bool
	// From and To are the interval, From <= time < To. A zero time is no bound.
	From, To time.Time
	// Backfill reports that the interval is one of event time and not of ingestion time. A run of
	// the same interval and of the other kind has other rows, and must not replace the output of
	// this run.
	Backfill bool
	// Destination includes its secrets. Columns are the columns of the rows, in order.
	Destination ExportDestination
	Columns     []Column
	// Rows calls yield for each row, with a value for each column. yield must not keep the slice.
	// An error of yield ends the iteration and is returned. Rows may be called again for another
	// attempt.
	Rows func(ctx context.Context, yield func([]any) error) error
}

// ExportDestination is the destination of an export: its type and the settings of that type,
// including secrets.
type ExportDestination struct {
	// Type is S3, Postgres, HTTP or Files. Config has the settings by name (§4.3.2).
	Type   string                     `json:"type"`
	Config map[string]json.RawMessage `json:"config"`
	// Integration is always null, because Config has all settings (spec/clients.md §16).
	Integration *struct{} `json:"integration"`
}

// RunTotals is the amount of data that a run has written.
type RunTotals struct{ Rows, Bytes int64 }

// TestStep is a step of the test of a destination.
type TestStep struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// Runner writes exports to their destinations. It may be used concurrently. The messages of its
// errors may be shown to users and must not contain secrets.
type Runner interface {
	// Run writes all rows of a job. It returns a *PermanentError for errors that another attempt
	// cannot resolve.
	Run(ctx context.Context, job *Job) (RunTotals, error)
	// Steps returns the steps of the test of a type of destination, in order. It is empty for types
	// without a test.
	Steps(destinationType string) []TestStep
	// Test performs one step of the test, by its index. It returns the reason if the step fails.
	Test(ctx context.Context, d ExportDestination, step int) error
}

// PermanentError is an error that persists until a user changes the export or the destination.
type PermanentError struct{ Reason string }

func (e *PermanentError) Error() string { return e.Reason }

// Rows reads the data that exports write. It may be used concurrently. Its errors are faults of the
// store. It must not hold a transaction open while it calls visit, since visit can take a long
// time.
type Rows interface {
	// Horizon returns a position of the ledger such that no event of the project can be committed
	// at or below it any more.
	Horizon(ctx context.Context, projectID int64) (int64, error)
	// Boundary returns approximately the last position before the first event that arrived at when
	// or later. It is at most horizon.
	Boundary(ctx context.Context, when time.Time, horizon int64) (int64, error)
	// Passed returns the greatest position with after < position <= upTo such that all events of
	// the project between after and that position arrived before when. It returns after if there is
	// none.
	Passed(ctx context.Context, projectID, after, upTo int64, when time.Time) (int64, error)
	// FirstEvent returns the time of the earliest event, and FirstPerson the time at which the
	// earliest person was first seen. They return false if the project has no data.
	FirstEvent(ctx context.Context, projectID int64) (time.Time, bool, error)
	FirstPerson(ctx context.Context, projectID int64) (time.Time, bool, error)
	// Events calls visit for the events of a span, always in the same order. visit must not keep
	// the event. An error of visit ends the iteration and is returned.
	Events(ctx context.Context, projectID int64, span Span, visit func(*Event) error) error
	// Persons calls visit for persons in their current state, for each of their distinct ids. If
	// From or To of the span is set, these are the persons who were first seen in that range,
	// otherwise the persons who were changed at the span's positions.
	Persons(ctx context.Context, projectID int64, span Span, visit func(*Person) error) error
}

// Span selects the events, or the changes of persons, of a run. All conditions must hold.
type Span struct {
	// After < position <= UpTo.
	After int64 `json:"after"`
	UpTo  int64 `json:"up_to"`
	// Before is the time before which an event arrived; zero for no condition.
	Before time.Time `json:"before,omitzero"`
	// Events at positions up to DoneUpTo that arrived before DoneBefore belong to earlier runs.
	DoneUpTo   int64     `json:"done_up_to,omitempty"`
	DoneBefore time.Time `json:"done_before,omitzero"`
	// From <= Timestamp < To; a zero time is no bound.
	From time.Time `json:"from,omitzero"`
	To   time.Time `json:"to,omitzero"`
	// Back is the position after which the remaining events of sessions are searched.
	Back int64 `json:"back,omitempty"`
}

// Contains reports whether an event belongs to the span.
func (s *Span) Contains(e *Event) bool {
	return e.ID > s.After && e.ID <= s.UpTo &&
		(s.Before.IsZero() || e.CreatedAt.Before(s.Before)) &&
		(e.ID > s.DoneUpTo || !e.CreatedAt.Before(s.DoneBefore)) &&
		(s.From.IsZero() || !e.Timestamp.Before(s.From)) && (s.To.IsZero() || e.Timestamp.Before(s.To))
}

// Event is a stored event. ID is its position in the ledger, CreatedAt the time at which it
// arrived. Properties and PersonProperties are JSON objects; they may be empty.
type Event struct {
	ID                           int64
	UUID, Name, DistinctID       string
	PersonID                     string
	Properties, PersonProperties string
	ElementsChain                string
	Timestamp, CreatedAt         time.Time
}

// Person is a person with one of the person's distinct ids. Properties is a JSON object.
type Person struct {
	DistinctID, UUID string
	Properties       string
	Version          int64
	Identified       bool
	CreatedAt        time.Time
}

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

// Done is what a run has written.
type Done struct{ Rows, Bytes int64 }

// TestStep is a step of the test of a destination.
type TestStep struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// Runner writes exports. Messages of its errors may be shown to people: no
// secret stands in them.
type Runner interface {
	// Run writes a job whole. Permanent errors, which another attempt does not mend,
	// are *ExportRefused.
	Run(ctx context.Context, job *Job) (Done, error)
	// Steps are the steps of the test of a type of destination, in order.
	Steps(destinationType string) []TestStep
	// Test does one step: nil when it has passed, the reason when not.
	Test(ctx context.Context, d ExportDestination, step int) error
}

// Refused is an error that lasts until somebody changes something.
type Refused struct{ Reason string }

func (e *Refused) Error() string { return e.Reason }

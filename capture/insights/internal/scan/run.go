package scan

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// Run is the state of one run of a query. It is used by one goroutine.
type Run struct {
	Context context.Context
	Reader  port.Reader
	Project *port.Project
	Zone    *time.Location
	Now     time.Time
	// Reserved is the memory of the query in bytes, as far as it is counted.
	Reserved int64
	// Retained is the part of reserved that is in use until the query ends, see ReleaseAfter.
	Retained int64
	// Read is the number of events that were read.
	Read     int64
	progress func(int64)
	// memory and rows are the limits, see port.Options.
	memory int64
	rows   int
	// Keeper keeps states between runs; nil: nothing is kept.
	Keeper port.Keeper
	// Volatile is true if a condition or value that was bound does not depend on the event alone:
	// it reads persons, groups or sessions, or compares with the time of the request.
	Volatile bool
	// Mode is modifiers.personsOnEventsMode.
	Mode         string
	EventPersons personNumbers
	// Fault is the error of an expression that failed for an event. It ends the scan after the
	// batch.
	Fault error
	// WantIDs requests the ids of the events behind a set of actors, see member.
	WantIDs bool
}

// NewRun returns a run with the defaults for the time zone and the limits.
func NewRun(ctx context.Context, reader port.Reader, p *port.Project, o port.Options) *Run {
	r := &Run{Context: ctx, Reader: reader, Project: p, Zone: p.Location, Now: o.Now, progress: o.Progress, Keeper: o.Keeper, memory: o.Memory, rows: o.Rows}
	if r.Zone == nil {
		r.Zone = time.UTC
	}
	if r.memory <= 0 {
		r.memory = 256 << 20
	}
	if r.rows <= 0 {
		r.rows = 50_000
	}
	return r
}

// Reserve adds bytes to the memory that the query uses; a negative number releases memory. It fails
// if the memory exceeds the limit. Sizes are estimates.
func (r *Run) Reserve(bytes int64) error {
	r.Reserved += bytes
	if r.Reserved > r.memory {
		return document.NewFault(document.TooLarge, "", "The query needs more than %d MiB of memory: choose a shorter period, a narrower filter or fewer breakdown values, or start the server with a larger --memory or --query-memory.", max(r.memory>>20, 1))
	}
	return nil
}

// ReserveRetained is like reserve for memory that is in use until the query ends.
func (r *Run) ReserveRetained(bytes int64) error {
	r.Retained += bytes
	return r.Reserve(bytes)
}

// ReleaseAfter runs work and then releases the memory that work reserved, except for retained
// memory. After work, only its result may be in use.
func (r *Run) ReleaseAfter(work func() error) error {
	before := r.Reserved - r.Retained
	err := work()
	r.Reserved = before + r.Retained
	return err
}

// Scan reads events and calls yield for each batch. It counts events and memory, reports the
// progress, and checks the context between batches.
func (r *Run) Scan(s port.Scan, yield func(*port.Batch) error) error {
	if s.From > s.To {
		return nil
	}
	return r.scan(r.Context, s, func(context.Context) error { return nil }, yield)
}

// scan implements Scan. It calls wait before it uses the run, and ends with its error.
func (r *Run) scan(ctx context.Context, s port.Scan, wait func(context.Context) error, yield func(*port.Batch) error) error {
	s.Reserve = func(bytes int64) error { // the reader releases memory that it no longer uses
		if err := wait(ctx); err != nil && bytes > 0 {
			return err
		}
		err := r.ReserveRetained(bytes)
		if err != nil && bytes > 0 { // the reader does not allocate what was refused
			r.Retained, r.Reserved = r.Retained-bytes, r.Reserved-bytes
		}
		return err
	}
	return r.Reader.Scan(ctx, s, func(b *port.Batch) error {
		if err := cmp.Or(wait(ctx), ctx.Err()); err != nil {
			return err
		}
		r.Read += int64(b.Len())
		if r.progress != nil {
			r.progress(r.Read)
		}
		if err := yield(b); err != nil {
			return err
		}
		if r.Fault != nil {
			return r.Fault
		}
		return r.Reserve(0) // finds an exceeded limit that was not checked during the batch
	})
}

// Explain returns the cause of the context's cancellation, if the context is canceled, instead of
// the errors that this caused; otherwise err.
func (r *Run) Explain(err error) error {
	if e := r.Context.Err(); e != nil {
		return fmt.Errorf("insights: %w", context.Cause(r.Context))
	}
	return err
}

// Values of modifiers.personsOnEventsMode (§3.3). They determine to which person an event belongs,
// and which of the person's properties are used.
const (
	// The default: the current person, with the properties at the time of the event.
	ModeOverrideOnEvents = "person_id_override_properties_on_events"
	// The current person with its current properties.
	ModeOverrideJoined = "person_id_override_properties_joined"
	ModeDisabled       = "disabled" // the same as ModeOverrideJoined
	// The person and the properties at the time of the event.
	ModeNoOverride = "person_id_no_override_properties_on_events"
)

// personNumbers numbers persons as they were at the time of their events, for ModeNoOverride.
type personNumbers struct {
	byUUID map[capture.UUID]uint32
	uuids  []capture.UUID
}

// numberAtEvent returns the number of a person at the time of an event.
func (r *Run) numberAtEvent(id capture.UUID) uint32 {
	n, ok := r.EventPersons.byUUID[id]
	if !ok {
		if r.EventPersons.byUUID == nil {
			r.EventPersons.byUUID = map[capture.UUID]uint32{}
		}
		n = uint32(len(r.EventPersons.uuids))
		r.EventPersons.byUUID[id] = n
		r.EventPersons.uuids = append(r.EventPersons.uuids, id)
		_ = r.ReserveRetained(64) // checked after the batch
	}
	return n
}

// PersonID returns the UUID of the person with a number.
func (r *Run) PersonID(number uint32) capture.UUID {
	if r.Mode == ModeNoOverride {
		return r.EventPersons.uuids[number]
	}
	return r.Reader.Person(number).UUID
}

// CheckContext returns the error of the context if the query was cancelled. To be cheap, it checks
// only for every 4096th actor.
func (r *Run) CheckContext(actor uint32) error {
	if actor&0xfff == 0 {
		return r.Context.Err()
	}
	return nil
}

// Plan is a parsed query of a particular kind. run must not modify the plan in a way that affects
// other runs.
type Plan interface {
	Run(r *Run) (*port.Result, error)
}

// ActorsPlan is a Plan whose numbers have actors behind them.
type ActorsPlan interface {
	// ActorFinder parses the members of n that select one of the numbers.
	ActorFinder(n document.Node) ActorFinder
	// Options returns the values of each member by which actors are selected.
	Options(r *Run) (map[string]any, error)
}

// Kind is a kind of queries: its name and the parser of its queries.
type Kind struct {
	Name  string
	Parse func(n document.Node, p *port.Project) Plan
}

package insights

import (
	"context"
	"fmt"
	"time"

	"github.com/bunting-flags/bunting/capture"
)

// run is the state of one run of a query. It is used by one goroutine.
type run struct {
	ctx     context.Context
	reader  Reader
	project *Project
	zone    *time.Location
	now     time.Time
	limits  Limits
	// reserved is the memory of the query in bytes, as far as it is counted.
	reserved int64
	// retained is the part of reserved that is in use until the query ends, see releaseAfter.
	retained int64
	// read is the number of events that were read.
	read     int64
	progress func(int64)
	// mode is modifiers.personsOnEventsMode.
	mode         string
	eventPersons personNumbers
	// fault is the error of an expression that failed for an event. It ends the scan after the
	// batch.
	fault error
	// wantIDs requests the ids of the events behind a set of actors, see member.
	wantIDs bool
}

// newRun returns a run with the defaults for the time zone and the limits.
func newRun(ctx context.Context, reader Reader, p *Project, o Options) *run {
	r := &run{ctx: ctx, reader: reader, project: p, zone: p.Location, now: o.Now, limits: o.Limits, progress: o.Progress}
	if r.zone == nil {
		r.zone = time.UTC
	}
	if r.limits.Memory <= 0 {
		r.limits.Memory = 256 << 20
	}
	if r.limits.Rows <= 0 {
		r.limits.Rows = 50_000
	}
	return r
}

// reserve adds bytes to the memory that the query uses; a negative number releases memory. It fails
// if the memory exceeds the limit. Sizes are estimates.
func (r *run) reserve(bytes int64) error {
	r.reserved += bytes
	if r.reserved > r.limits.Memory {
		return newError(tooLarge, "", "The query needs more than %d MiB of memory: choose a shorter period, a narrower filter or fewer breakdown values.", r.limits.Memory>>20)
	}
	return nil
}

// reserveRetained is like reserve for memory that is in use until the query ends.
func (r *run) reserveRetained(bytes int64) error {
	r.retained += bytes
	return r.reserve(bytes)
}

// releaseAfter runs work and then releases the memory that work reserved, except for retained
// memory. After work, only its result may be in use.
func (r *run) releaseAfter(work func() error) error {
	before := r.reserved - r.retained
	err := work()
	r.reserved = before + r.retained
	return err
}

// scan reads events and calls yield for each batch. It counts events and memory, reports the
// progress, and checks the context between batches.
func (r *run) scan(s Scan, yield func(*Batch) error) error {
	if s.From > s.To {
		return nil
	}
	s.Reserve = func(bytes int64) error { // the reader releases memory that it no longer uses
		err := r.reserveRetained(bytes)
		if err != nil && bytes > 0 { // the reader does not allocate what was refused
			r.retained, r.reserved = r.retained-bytes, r.reserved-bytes
		}
		return err
	}
	return r.reader.Scan(r.ctx, s, func(b *Batch) error {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		r.read += int64(b.Len())
		if r.progress != nil {
			r.progress(r.read)
		}
		if err := yield(b); err != nil {
			return err
		}
		if r.fault != nil {
			return r.fault
		}
		return r.reserve(0) // finds an exceeded limit that was not checked during the batch
	})
}

// explain returns the cause of the context's cancellation, if the context is canceled, instead of
// the errors that this caused; otherwise err.
func (r *run) explain(err error) error {
	if e := r.ctx.Err(); e != nil {
		return fmt.Errorf("insights: %w", context.Cause(r.ctx))
	}
	return err
}

// Values of modifiers.personsOnEventsMode (§3.3). They determine to which person an event belongs,
// and which of the person's properties are used.
const (
	// The default: the current person, with the properties at the time of the event.
	modeOverrideOnEvents = "person_id_override_properties_on_events"
	// The current person with its current properties.
	modeOverrideJoined = "person_id_override_properties_joined"
	modeDisabled       = "disabled" // the same as modeOverrideJoined
	// The person and the properties at the time of the event.
	modeNoOverride = "person_id_no_override_properties_on_events"
)

// personNumbers numbers persons as they were at the time of their events, for modeNoOverride.
type personNumbers struct {
	byUUID map[capture.UUID]uint32
	uuids  []capture.UUID
}

// numberAtEvent returns the number of a person at the time of an event.
func (r *run) numberAtEvent(id capture.UUID) uint32 {
	n, ok := r.eventPersons.byUUID[id]
	if !ok {
		if r.eventPersons.byUUID == nil {
			r.eventPersons.byUUID = map[capture.UUID]uint32{}
		}
		n = uint32(len(r.eventPersons.uuids))
		r.eventPersons.byUUID[id] = n
		r.eventPersons.uuids = append(r.eventPersons.uuids, id)
		_ = r.reserveRetained(64) // checked after the batch
	}
	return n
}

// personID returns the UUID of the person with a number.
func (r *run) personID(number uint32) capture.UUID {
	if r.mode == modeNoOverride {
		return r.eventPersons.uuids[number]
	}
	return r.reader.Person(number).UUID
}

// checkContext returns the error of the context if the query was cancelled. To be cheap, it checks
// only for every 4096th actor.
func (r *run) checkContext(actor uint32) error {
	if actor&0xfff == 0 {
		return r.ctx.Err()
	}
	return nil
}

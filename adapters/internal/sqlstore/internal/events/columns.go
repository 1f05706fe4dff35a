package events

import (
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// columnBuffer contains events in columns of equal length, between reading and
// delivery. Columns that were not requested are empty.
type columnBuffer struct {
	// id and time (in microseconds) identify events; ids are distinct ids.
	id, time   []int64
	names, ids []string
	// uuid are UUIDs of events, stored the persons that events were stored with.
	uuid, stored []capture.UUID
	created      []int64
	// person are the numbers of the persons that the distinct ids belong to now.
	person         []uint32
	mode           []capture.PersonMode
	elements       []string
	properties     []string
	personProperty []string

	bytes int // total length of the strings

	*scratch
}

// scratch is the reusable memory of a goroutine that reads events. It stays with the goroutine when
// a buffer that was filled is handed over.
type scratch struct {
	decoder blockDecoder
	block   *block.Columns // the decoded block of decoder
	keep    []int32
	long    Chunks
}

// newColumnBuffer returns an empty buffer for reading.
func newColumnBuffer() *columnBuffer { return &columnBuffer{scratch: &scratch{}} }

// swap exchanges the events of two buffers.
func (e *columnBuffer) swap(other *columnBuffer) {
	*e, *other = *other, *e
	e.scratch, other.scratch = other.scratch, e.scratch
}

// reset empties all columns and keeps their memory.
func (e *columnBuffer) reset() {
	e.id, e.time, e.created = e.id[:0], e.time[:0], e.created[:0]
	for _, texts := range e.texts() {
		clear(*texts) // without the references, the strings can be garbage collected
		*texts = (*texts)[:0]
	}
	e.uuid, e.stored, e.person, e.mode = e.uuid[:0], e.stored[:0], e.person[:0], e.mode[:0]
	e.bytes = 0
}

// texts returns all columns of strings.
func (e *columnBuffer) texts() []*[]string {
	return []*[]string{&e.names, &e.ids, &e.elements, &e.properties, &e.personProperty}
}

// batch returns a range of the events with the requested columns. It shares the memory
// of the buffer.
func (e *columnBuffer) batch(columns port.Columns, from, to int) port.Batch {
	b := port.Batch{
		Time: e.time[from:to], Name: part(e.names, from, to), UUID: part(e.uuid, from, to), CreatedAt: part(e.created, from, to),
		Person: part(e.person, from, to), Mode: part(e.mode, from, to),
		Elements: part(e.elements, from, to), Properties: part(e.properties, from, to), PersonProperties: part(e.personProperty, from, to),
	}
	// Columns that were read for internal use are not delivered unless they were
	// requested.
	if columns&port.DistinctIDs != 0 {
		b.DistinctID = part(e.ids, from, to)
	}
	if columns&port.PeopleAtEvent != 0 {
		b.PersonAtEvent = part(e.stored, from, to)
	}
	if columns&port.IDs != 0 {
		b.ID = part(e.id, from, to)
	}
	return b
}

// part returns a range of a column, or nil for a column that was not requested.
func part[T any](column []T, from, to int) []T {
	if len(column) == 0 {
		return nil
	}
	return column[from:to:to]
}

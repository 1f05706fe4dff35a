package events

import (
	"database/sql/driver"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
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
	block block.Columns
	keep  []int32
	long  LongReader
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

// scanColumn is a column of events: the flags of which any requests it, its SQL
// expression, and a function that appends a value to a buffer.
type scanColumn struct {
	column port.Columns
	text   string
	fill   func(*columnBuffer, driver.Value) error
}

// textColumn returns the function fill for a column of strings. It counts their bytes.
func textColumn(to func(*columnBuffer) *[]string) func(*columnBuffer, driver.Value) error {
	return func(e *columnBuffer, v driver.Value) error {
		list, text := to(e), v.(string)
		*list = append(*list, text)
		e.bytes += len(text)
		return nil
	}
}

// numberColumn returns the function fill for a column of integers.
func numberColumn(to func(*columnBuffer) *[]int64) func(*columnBuffer, driver.Value) error {
	return func(e *columnBuffer, v driver.Value) error {
		list := to(e)
		*list = append(*list, v.(int64))
		return nil
	}
}

// uuidsColumn returns the function fill for a column of UUIDs.
func uuidsColumn(to func(*columnBuffer) *[]capture.UUID) func(*columnBuffer, driver.Value) error {
	return func(e *columnBuffer, v driver.Value) error {
		list := to(e)
		uuid, err := database.UUIDOf(v.([]byte))
		*list = append(*list, uuid)
		return err
	}
}

// alwaysRead marks the column that is read by every scan.
const alwaysRead = ^port.Columns(0)

// scanColumns are the columns of rows. The remaining columns are in chunks.
var scanColumns = []scanColumn{
	{port.IDs, "e.id", numberColumn(func(e *columnBuffer) *[]int64 { return &e.id })},
	{alwaysRead, "e.timestamp", numberColumn(func(e *columnBuffer) *[]int64 { return &e.time })},
	{port.Names, "e.event", textColumn(func(e *columnBuffer) *[]string { return &e.names })},
	{port.DistinctIDs | port.People, "e.distinct_id", textColumn(func(e *columnBuffer) *[]string { return &e.ids })},
	{port.UUIDs, "e.uuid", uuidsColumn(func(e *columnBuffer) *[]capture.UUID { return &e.uuid })},
	{port.CreatedAt, "e.created_at", numberColumn(func(e *columnBuffer) *[]int64 { return &e.created })},
	{port.PeopleAtEvent, "e.person_uuid", uuidsColumn(func(e *columnBuffer) *[]capture.UUID { return &e.stored })},
	{port.Modes, "e.person_mode", func(e *columnBuffer, v driver.Value) error {
		e.mode = append(e.mode, capture.PersonMode(v.(int64)))
		return nil
	}},
}

// columnTexts returns the SQL expressions for the requested columns of a row, and the
// functions that process their values.
func columnTexts(columns port.Columns) (texts []string, fill []func(*columnBuffer, driver.Value) error) {
	for i := range scanColumns {
		if c := &scanColumns[i]; c.column == alwaysRead || columns&c.column != 0 {
			texts, fill = append(texts, c.text), append(fill, c.fill)
		}
	}
	return texts, fill
}

package events

import (
	"slices"
	"unsafe"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/segment"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// columnBuffer contains events of a block in columns of equal length, between reading and
// delivery. Columns that were not requested are empty.
type columnBuffer struct {
	// id and time (in microseconds) identify events.
	id, time []int64
	names    []string
	uuid     []capture.UUID
	created  []int64
	// ids are the distinct ids of the events, without duplicates, and stored the persons that events
	// were stored with. idOf and storedOf have their indexes by event.
	ids            []string
	stored         []capture.UUID
	idOf, storedOf []uint16
	// group is the group of a segment whose distinct ids ids are, all of them in their order, if their owners are
	// to be cached.
	group groupKey
	// owners are the persons of ids, and storedNumbers the numbers of stored. person are the numbers of
	// the persons that the distinct ids belong to now, by event.
	owners, storedNumbers, person []uint32
	mode                          []capture.PersonMode
	// long has the long columns, which are parts of text.
	long [len(longColumns)][]span
	text []byte
	// properties are the columns of the properties of port.Scan.EventProperties in a group of a segment, instead of
	// the long columns, and valueOf has the indexes of the values by event. dictionary is the number of the
	// values, 0 without properties.
	properties []segment.Property
	valueOf    [][]uint16
	dictionary uint64

	bytes int // total length of the strings

	*scratch
}

// span is a part of a text.
type span struct{ from, to int }

// longColumns are the columns that only chunks have.
var longColumns = [...]port.Columns{port.Elements, port.Properties, port.PersonProperties}

const anyLong = port.Elements | port.Properties | port.PersonProperties

// scratch is the reusable memory of a goroutine that reads events. It stays with the goroutine when
// a buffer that was filled is handed over.
type scratch struct {
	decoder blockDecoder
	block   *block.Columns // the decoded block of decoder
	keep    []int32
	numbers []uint16
	chunks  Chunks
	// states are the parts of text with the states of the decoded chunk; they are empty until they are in
	// text.
	states []span
	// needed are the rows of a page of a segment whose long columns are needed, and mentioning those of them that may
	// have a property that the scan reads.
	needed, mentioning []int32
}

// newColumnBuffer returns an empty buffer for reading.
func newColumnBuffer() *columnBuffer {
	return &columnBuffer{scratch: &scratch{chunks: Chunks{isReused: true}}}
}

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
	e.uuid, e.stored, e.idOf, e.storedOf = e.uuid[:0], e.stored[:0], e.idOf[:0], e.storedOf[:0]
	e.person, e.mode = e.person[:0], e.mode[:0]
	for i := range e.long {
		e.long[i] = e.long[i][:0]
	}
	e.dictionary = 0
	e.text, e.states, e.bytes, e.group = e.text[:0], e.states[:0], 0, groupKey{}
	if cap(e.text) > 2*database.PieceBytes { // release the memory of large events
		e.text = nil
	}
}

// release empties all columns and removes the chunks, and keeps the memory for decoding.
func (e *columnBuffer) release() {
	e.reset()
	c := &e.chunks
	clear(c.chunks)
	c.project, c.chunks, c.shortAt, c.longAt, c.erased = 0, c.chunks[:0], -1, -1, nil
}

// texts returns all columns with strings.
func (e *columnBuffer) texts() []*[]string {
	list := []*[]string{&e.names, &e.ids}
	for i := range e.properties {
		list = append(list, &e.properties[i].Values)
	}
	return list
}

// pick appends the values of some events to list, without duplicates, and their indexes in list to of.
// The values of a block are in all, and have the indexes in at by event. numbers is reusable memory.
func pick[T any](list []T, of []uint16, all []T, at []uint16, keep []int32, numbers *[]uint16) ([]T, []uint16) {
	*numbers = append((*numbers)[:0], make([]uint16, len(all))...) // the indexes in list, plus 1
	of = slices.Grow(of, len(keep))
	for _, i := range keep {
		n := &(*numbers)[at[i]]
		if *n == 0 {
			list = append(list, all[at[i]])
			*n = uint16(len(list))
		}
		of = append(of, *n-1)
	}
	return list, of
}

// gather appends the values of some events to dst.
func gather[T any](dst, all []T, keep []int32) []T {
	if len(keep) == len(all) {
		return append(dst, all...)
	}
	dst = slices.Grow(dst, len(keep))
	for _, i := range keep {
		dst = append(dst, all[i])
	}
	return dst
}

// spread sets dst to the values of list with some indexes.
func spread[T any](dst []T, list []T, of []uint16) []T {
	dst = slices.Grow(dst[:0], len(of))
	for _, i := range of {
		dst = append(dst, list[i])
	}
	return dst
}

// batch sets b to a range of the events with the requested columns. It shares the memory of the
// buffer, and reuses that of b.
func (e *columnBuffer) batch(b *port.Batch, columns port.Columns, from, to int) {
	ids, stored, long := b.DistinctID, b.PersonAtEvent, [...][]string{b.Elements, b.Properties, b.PersonProperties}
	values, valueOf := b.EventProperties[:0], b.EventPropertyOf[:0]
	*b = port.Batch{
		Time: e.time[from:to], Name: part(e.names, from, to), UUID: part(e.uuid, from, to), CreatedAt: part(e.created, from, to),
		Person: part(e.person, from, to), Mode: part(e.mode, from, to),
	}
	for i, column := range [...]*[]string{&b.Elements, &b.Properties, &b.PersonProperties} {
		*column = e.strings(long[i], part(e.long[i], from, to))
	}
	if b.Dictionary = e.dictionary; b.Dictionary != 0 {
		for i := range e.properties {
			values, valueOf = append(values, e.properties[i].Values), append(valueOf, e.valueOf[i][from:to])
		}
		b.EventProperties, b.EventPropertyOf = values, valueOf
	}
	// Columns that were read for internal use are not delivered unless they were
	// requested.
	if columns&port.DistinctIDs != 0 {
		b.DistinctID = spread(ids, e.ids, e.idOf[from:to])
	}
	if columns&port.PeopleAtEvent != 0 {
		b.PersonAtEvent = spread(stored, e.stored, e.storedOf[from:to])
	}
	if columns&port.IDs != 0 {
		b.ID = part(e.id, from, to)
	}
}

// strings sets dst to parts of the text, or returns nil if there are none.
func (e *columnBuffer) strings(dst []string, parts []span) []string {
	if len(parts) == 0 {
		return nil
	}
	text := unsafe.String(unsafe.SliceData(e.text), len(e.text))
	dst = dst[:0]
	for _, p := range parts {
		dst = append(dst, text[p.from:p.to])
	}
	return dst
}

// addText appends a text, and returns where it is.
func (e *columnBuffer) addText(text string) span {
	from := len(e.text)
	e.text = append(e.text, text...)
	e.bytes += len(text)
	return span{from, len(e.text)}
}

// addBytes is addText for bytes.
func (e *columnBuffer) addBytes(text []byte) span {
	from := len(e.text)
	e.text = append(e.text, text...)
	e.bytes += len(text)
	return span{from, len(e.text)}
}

// part returns a range of a column, or nil for a column that was not requested.
func part[T any](column []T, from, to int) []T {
	if len(column) == 0 {
		return nil
	}
	return column[from:to:to]
}

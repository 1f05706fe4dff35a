package sqlstore

import (
	"database/sql/driver"
	"fmt"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights"
)

// eventColumnsRead are events as they are read, before they are given away: columns
// of one length, those empty that were not asked for.
type eventColumnsRead struct {
	id, time       []int64
	names, ids     []string
	uuid, stored   []capture.UUID
	created        []int64
	person         []uint32
	mode           []capture.PersonMode
	elements       []string
	properties     []string
	personProperty []string

	bytes int // of texts

	// Memory, nil until it is needed.
	joining *joining
	block   *blockEvents
	keep    []int32
}

// joining is memory for putting the columns of two indexes together.
type joining struct {
	named eventColumnsRead
	// at is the place in named of an event of the epoch, and one; 0: it is not there.
	at [1 << epochBits]uint16
}

func (e *eventColumnsRead) reset() {
	e.id, e.time, e.created = e.id[:0], e.time[:0], e.created[:0]
	for _, texts := range e.texts() {
		clear(*texts) // what was yielded may be collected
		*texts = (*texts)[:0]
	}
	e.uuid, e.stored, e.person, e.mode = e.uuid[:0], e.stored[:0], e.person[:0], e.mode[:0]
	e.bytes = 0
}

func (e *eventColumnsRead) texts() []*[]string {
	return []*[]string{&e.names, &e.ids, &e.elements, &e.properties, &e.personProperty}
}

// drop takes events away.
func (e *eventColumnsRead) drop(gone func(i int) bool) {
	keep := make([]int, 0, len(e.time))
	for i := range e.time {
		if !gone(i) {
			keep = append(keep, i)
		}
	}
	if len(keep) == len(e.time) {
		return
	}
	e.id, e.time, e.created = kept(e.id, keep), kept(e.time, keep), kept(e.created, keep)
	for _, texts := range e.texts() {
		*texts = kept(*texts, keep)
	}
	e.uuid, e.stored, e.person, e.mode = kept(e.uuid, keep), kept(e.stored, keep), kept(e.person, keep), kept(e.mode, keep)
}

// kept are some elements of a column, none of one that is empty.
func kept[T any](column []T, keep []int) []T {
	if len(column) == 0 {
		return column
	}
	for to, from := range keep {
		column[to] = column[from]
	}
	return column[:len(keep)]
}

// batch is some of the events.
func (e *eventColumnsRead) batch(asked insights.Columns, from, to int) insights.Batch {
	b := insights.Batch{
		Time: e.time[from:to], Name: part(e.names, from, to), UUID: part(e.uuid, from, to), CreatedAt: part(e.created, from, to),
		Person: part(e.person, from, to), Mode: part(e.mode, from, to),
		Elements: part(e.elements, from, to), Properties: part(e.properties, from, to), PersonProperties: part(e.personProperty, from, to),
	}
	if asked&insights.DistinctIDs != 0 {
		b.DistinctID = part(e.ids, from, to)
	}
	if asked&insights.PeopleThen != 0 {
		b.PersonThen = part(e.stored, from, to)
	}
	if asked&insights.IDs != 0 {
		b.ID = part(e.id, from, to)
	}
	return b
}

// part is a part of a column, nil of one that was not asked for.
func part[T any](column []T, from, to int) []T {
	if len(column) == 0 {
		return nil
	}
	return column[from:to:to]
}

// scanColumn is a column of events: what has to be asked for, its expression, and
// where it goes.
type scanColumn struct {
	column insights.Columns
	text   string
	fill   func(*eventColumnsRead, driver.Value) error
}

func textColumn(to func(*eventColumnsRead) *[]string) func(*eventColumnsRead, driver.Value) error {
	return func(e *eventColumnsRead, v driver.Value) error {
		list, text := to(e), v.(string)
		*list = append(*list, text)
		e.bytes += len(text)
		return nil
	}
}

func numberColumn(to func(*eventColumnsRead) *[]int64) func(*eventColumnsRead, driver.Value) error {
	return func(e *eventColumnsRead, v driver.Value) error {
		list := to(e)
		*list = append(*list, v.(int64))
		return nil
	}
}

func uuidsColumn(to func(*eventColumnsRead) *[]capture.UUID) func(*eventColumnsRead, driver.Value) error {
	return func(e *eventColumnsRead, v driver.Value) error {
		list := to(e)
		uuid, err := uuidOf(v.([]byte))
		*list = append(*list, uuid)
		return err
	}
}

// everyTime is the column that is read whatever was asked for.
const everyTime = ^insights.Columns(0)

// scanColumns are all columns, of an index too where the table is i.
var scanColumns = []scanColumn{
	{insights.IDs, "%s.id", numberColumn(func(e *eventColumnsRead) *[]int64 { return &e.id })},
	{everyTime, "%s.timestamp", numberColumn(func(e *eventColumnsRead) *[]int64 { return &e.time })},
	{insights.Names, "%s.event", textColumn(func(e *eventColumnsRead) *[]string { return &e.names })},
	{insights.DistinctIDs | insights.People, "%s.distinct_id", textColumn(func(e *eventColumnsRead) *[]string { return &e.ids })},
	{insights.UUIDs, "%s.uuid", uuidsColumn(func(e *eventColumnsRead) *[]capture.UUID { return &e.uuid })},
	{insights.CreatedAt, "%s.created_at", numberColumn(func(e *eventColumnsRead) *[]int64 { return &e.created })},
	{insights.PeopleThen, "%s.person_uuid", uuidsColumn(func(e *eventColumnsRead) *[]capture.UUID { return &e.stored })},
	{insights.Modes, "%s.person_mode", func(e *eventColumnsRead, v driver.Value) error {
		e.mode = append(e.mode, capture.PersonMode(v.(int64)))
		return nil
	}},
	{insights.Elements, "%s.elements_chain", textColumn(func(e *eventColumnsRead) *[]string { return &e.elements })},
	{insights.Properties, "%s.properties", textColumn(func(e *eventColumnsRead) *[]string { return &e.properties })},
	{insights.PersonProperties, `COALESCE((SELECT s.properties FROM person_states s WHERE s.event_id = %s.person_state), '{}')`,
		textColumn(func(e *eventColumnsRead) *[]string { return &e.personProperty })},
}

// columnTexts are the expressions for some columns of a table, and where they go.
func columnTexts(asked insights.Columns, table string) (texts []string, fill []func(*eventColumnsRead, driver.Value) error) {
	for i := range scanColumns {
		if c := &scanColumns[i]; c.column == everyTime || asked&c.column != 0 {
			texts, fill = append(texts, fmt.Sprintf(c.text, table)), append(fill, c.fill)
		}
	}
	return texts, fill
}

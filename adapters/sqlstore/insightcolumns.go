package sqlstore

import (
	"database/sql/driver"
	"fmt"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights"
)

// columnBuffer are events as they are read, before they are given away: columns
// of one length, those empty that were not asked for.
type columnBuffer struct {
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
	join  *indexJoin
	block *blockEvents
	keep  []int32
}

// indexJoin is memory for putting the columns of two indexes together.
type indexJoin struct {
	byName columnBuffer
	// positions is the place in named of an event of the epoch, and one; 0: it is not there.
	positions [1 << epochBits]uint16
}

func (e *columnBuffer) reset() {
	e.id, e.time, e.created = e.id[:0], e.time[:0], e.created[:0]
	for _, texts := range e.texts() {
		clear(*texts) // what was yielded may be collected
		*texts = (*texts)[:0]
	}
	e.uuid, e.stored, e.person, e.mode = e.uuid[:0], e.stored[:0], e.person[:0], e.mode[:0]
	e.bytes = 0
}

func (e *columnBuffer) texts() []*[]string {
	return []*[]string{&e.names, &e.ids, &e.elements, &e.properties, &e.personProperty}
}

// remove takes events away.
func (e *columnBuffer) remove(shouldRemove func(i int) bool) {
	keep := make([]int, 0, len(e.time))
	for i := range e.time {
		if !shouldRemove(i) {
			keep = append(keep, i)
		}
	}
	if len(keep) == len(e.time) {
		return
	}
	e.id, e.time, e.created = pick(e.id, keep), pick(e.time, keep), pick(e.created, keep)
	for _, texts := range e.texts() {
		*texts = pick(*texts, keep)
	}
	e.uuid, e.stored, e.person, e.mode = pick(e.uuid, keep), pick(e.stored, keep), pick(e.person, keep), pick(e.mode, keep)
}

// pick are some elements of a column, none of one that is empty.
func pick[T any](column []T, keep []int) []T {
	if len(column) == 0 {
		return column
	}
	for to, from := range keep {
		column[to] = column[from]
	}
	return column[:len(keep)]
}

// batch is some of the events.
func (e *columnBuffer) batch(columns insights.Columns, from, to int) insights.Batch {
	b := insights.Batch{
		Time: e.time[from:to], Name: part(e.names, from, to), UUID: part(e.uuid, from, to), CreatedAt: part(e.created, from, to),
		Person: part(e.person, from, to), Mode: part(e.mode, from, to),
		Elements: part(e.elements, from, to), Properties: part(e.properties, from, to), PersonProperties: part(e.personProperty, from, to),
	}
	if columns&insights.DistinctIDs != 0 {
		b.DistinctID = part(e.ids, from, to)
	}
	if columns&insights.PeopleAtEvent != 0 {
		b.PersonAtEvent = part(e.stored, from, to)
	}
	if columns&insights.IDs != 0 {
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
	fill   func(*columnBuffer, driver.Value) error
}

func textColumn(to func(*columnBuffer) *[]string) func(*columnBuffer, driver.Value) error {
	return func(e *columnBuffer, v driver.Value) error {
		list, text := to(e), v.(string)
		*list = append(*list, text)
		e.bytes += len(text)
		return nil
	}
}

func numberColumn(to func(*columnBuffer) *[]int64) func(*columnBuffer, driver.Value) error {
	return func(e *columnBuffer, v driver.Value) error {
		list := to(e)
		*list = append(*list, v.(int64))
		return nil
	}
}

func uuidsColumn(to func(*columnBuffer) *[]capture.UUID) func(*columnBuffer, driver.Value) error {
	return func(e *columnBuffer, v driver.Value) error {
		list := to(e)
		uuid, err := uuidOf(v.([]byte))
		*list = append(*list, uuid)
		return err
	}
}

// alwaysRead is the column that is read whatever was asked for.
const alwaysRead = ^insights.Columns(0)

// scanColumns are all columns, of an index too where the table is i.
var scanColumns = []scanColumn{
	{insights.IDs, "%s.id", numberColumn(func(e *columnBuffer) *[]int64 { return &e.id })},
	{alwaysRead, "%s.timestamp", numberColumn(func(e *columnBuffer) *[]int64 { return &e.time })},
	{insights.Names, "%s.event", textColumn(func(e *columnBuffer) *[]string { return &e.names })},
	{insights.DistinctIDs | insights.People, "%s.distinct_id", textColumn(func(e *columnBuffer) *[]string { return &e.ids })},
	{insights.UUIDs, "%s.uuid", uuidsColumn(func(e *columnBuffer) *[]capture.UUID { return &e.uuid })},
	{insights.CreatedAt, "%s.created_at", numberColumn(func(e *columnBuffer) *[]int64 { return &e.created })},
	{insights.PeopleAtEvent, "%s.person_uuid", uuidsColumn(func(e *columnBuffer) *[]capture.UUID { return &e.stored })},
	{insights.Modes, "%s.person_mode", func(e *columnBuffer, v driver.Value) error {
		e.mode = append(e.mode, capture.PersonMode(v.(int64)))
		return nil
	}},
	{insights.Elements, "%s.elements_chain", textColumn(func(e *columnBuffer) *[]string { return &e.elements })},
	{insights.Properties, "%s.properties", textColumn(func(e *columnBuffer) *[]string { return &e.properties })},
	{insights.PersonProperties, `COALESCE((SELECT s.properties FROM person_states s WHERE s.event_id = %s.person_state), '{}')`,
		textColumn(func(e *columnBuffer) *[]string { return &e.personProperty })},
}

// columnTexts are the expressions for some columns of a table, and where they go.
func columnTexts(columns insights.Columns, table string) (texts []string, fill []func(*columnBuffer, driver.Value) error) {
	for i := range scanColumns {
		if c := &scanColumns[i]; c.column == alwaysRead || columns&c.column != 0 {
			texts, fill = append(texts, fmt.Sprintf(c.text, table)), append(fill, c.fill)
		}
	}
	return texts, fill
}

package sqlstore

import (
	"context"
	"database/sql/driver"
	"slices"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights"
)

const (
	// noPerson stands for distinct ids that belong to nobody.
	noPerson = ^uint32(0)
	// askedFor stands for distinct ids that are being asked for.
	askedFor = noPerson - 1
	// knownSize and numberSize are the bytes that a distinct id and a person take in
	// memory beside the text of the id, about.
	knownSize, numberSize = 48, 96
)

// attribute fills in the people of a piece of events. Those of distinct ids that
// belong to nobody have the person that the event was stored with, which is read now
// where it is not there yet.
func (r *insightReader) attribute(ctx context.Context, e *eventColumnsRead, reserve func(int64) error) error {
	if err := r.resolve(ctx, e, reserve); err != nil {
		return err
	}
	var lost []int
	for i, n := range e.person {
		switch {
		case n != noPerson:
		case len(e.stored) == 0:
			lost = append(lost, i)
		default:
			e.person[i] = r.number(insights.Person{UUID: e.stored[i]})
		}
	}
	return r.attributeLost(ctx, e, lost)
}

func (r *insightReader) attributeLost(ctx context.Context, e *eventColumnsRead, lost []int) error {
	at := make(map[int64]int, min(len(lost), profileStep))
	for chunk := range slices.Chunk(lost, profileStep) {
		clear(at)
		for _, i := range chunk {
			at[e.id[i]] = i
			e.person[i] = noPerson
		}
		err := plainRows(ctx, r.store.read, func(row []driver.Value) error {
			uuid, err := uuidOf(row[1].([]byte))
			e.person[at[row[0].(int64)]] = r.number(insights.Person{UUID: uuid})
			return err
		}, `SELECT id, person_uuid FROM events WHERE id IN (`+numbers(chunk, func(i int) int64 { return e.id[i] })+`)`)
		if err != nil {
			return err
		}
	}
	if len(lost) > 0 { // those that were erased since are gone
		e.drop(func(i int) bool { return e.person[i] == noPerson })
	}
	return nil
}

// number is that of a person, a new one where it has none.
func (r *insightReader) number(p insights.Person) uint32 {
	n, ok := r.byUUID[p.UUID]
	if !ok {
		n = uint32(len(r.people))
		r.byUUID[p.UUID], r.people = n, append(r.people, p)
	} else if p.Exists {
		r.people[n] = p
	}
	return n
}

// resolve finds to whom the distinct ids of a piece belong now.
func (r *insightReader) resolve(ctx context.Context, e *eventColumnsRead, reserve func(int64) error) error {
	var unknown []string
	var asked []int // the events of unknown, and of others whose id is one of them
	e.person = e.person[:0]
	before, n := "", uint32(0)
	for i, id := range e.ids {
		if i == 0 || id != before { // indexes are sorted by id
			var known bool
			if n, known = r.numbers[id]; !known {
				n = askedFor
				r.numbers[id] = n
				unknown = append(unknown, id)
			}
			before = id
		}
		if n == askedFor {
			asked = append(asked, i)
		}
		e.person = append(e.person, n)
	}
	for chunk := range slices.Chunk(unknown, profileStep) {
		if err := r.resolveSome(ctx, chunk, reserve); err != nil {
			return err
		}
	}
	for _, i := range asked {
		e.person[i] = r.numbers[e.ids[i]]
	}
	return nil
}

func (r *insightReader) resolveSome(ctx context.Context, ids []string, reserve func(int64) error) error {
	args := make([]any, 1, len(ids)+1)
	args[0] = r.project
	size := int64(0)
	for _, id := range ids {
		args = append(args, id)
		size += int64(len(id)) + knownSize
		r.numbers[id] = noPerson
	}
	known := len(r.people)
	err := plainRows(ctx, r.store.read, func(row []driver.Value) error {
		owner, _ := row[1].([]byte)
		if owner == nil {
			return nil
		}
		uuid, err := uuidOf(owner)
		p := insights.Person{UUID: uuid}
		if r.created {
			p.CreatedAt, p.Exists = row[2].(int64)
		}
		r.numbers[row[0].(string)] = r.number(p)
		return err
	}, ownersOf(r.created, len(ids)), args...)
	if err != nil || reserve == nil {
		return err
	}
	return reserve(size + int64(len(r.people)-known)*numberSize)
}

// ownersOf asks to whom distinct ids belong, with when these were made. Those who are
// nobody are left out by who reads: asked to, SQLite goes through all ids that have
// somebody.
func ownersOf(created bool, n int) string {
	person, join := "", ""
	if created {
		person, join = ", p.created_at", " LEFT JOIN persons p ON p.project_id = d.project_id AND p.uuid = d.person_uuid"
	}
	return `SELECT d.distinct_id, d.person_uuid` + person + ` FROM distinct_ids d` + join + ` WHERE d.project_id = $1 AND d.distinct_id IN (` + places(2, n) + `)`
}

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
}

// each calls one of the functions for each column.
func (e *eventColumnsRead) reset() {
	e.id, e.time, e.created = e.id[:0], e.time[:0], e.created[:0]
	for _, texts := range e.texts() {
		clear(*texts) // what was yielded may be collected
		*texts = (*texts)[:0]
	}
	e.uuid, e.stored, e.person, e.mode = e.uuid[:0], e.stored[:0], e.person[:0], e.mode[:0]
}

func (e *eventColumnsRead) texts() []*[]string {
	return []*[]string{&e.names, &e.ids, &e.elements, &e.properties, &e.personProperty}
}

// drop takes events away.
func (e *eventColumnsRead) drop(gone func(i int) bool) {
	keep := make([]int, 0, len(e.id))
	for i := range e.id {
		if !gone(i) {
			keep = append(keep, i)
		}
	}
	if len(keep) == len(e.id) {
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

package events

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"slices"

	"github.com/bunting-flags/bunting/adapters/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

const (
	// noPerson is the number for distinct ids that belong to no person.
	noPerson = ^uint32(0)
	// pendingPerson is the number for distinct ids whose lookup is in progress.
	pendingPerson = noPerson - 1
	// ownerEntrySize and personEntrySize are the approximate sizes in memory of the
	// entry for a distinct id, without its string, and for a person, in bytes.
	ownerEntrySize, personEntrySize = 64, 96
)

// errWithoutIDs is the error for events that were read without their ids although the
// ids are needed.
var errWithoutIDs = errors.New("the ids of events are needed")

// attribute sets the persons of some events. An event whose distinct id belongs to no
// person gets the person that it was stored with, which is read from its row if it is
// not in the buffer.
func (r *insightReader) attribute(ctx context.Context, e *columnBuffer, s *port.Scan) error {
	r.owners.filling = true
	if err := r.resolve(ctx, e, s); err != nil {
		return err
	}
	r.owners.filling = false
	var unresolved []int
	for i, n := range e.person {
		switch {
		case n != noPerson:
		case len(e.stored) == 0:
			unresolved = append(unresolved, i)
		default:
			e.person[i] = r.owners.number(port.Person{UUID: e.stored[i]})
		}
	}
	if len(unresolved) > 0 && len(e.id) == 0 {
		return errWithoutIDs
	}
	return r.attributeUnresolved(ctx, e, unresolved)
}

// attributeUnresolved reads the stored persons of some events from their rows, by the
// ids of the events.
func (r *insightReader) attributeUnresolved(ctx context.Context, e *columnBuffer, unresolved []int) error {
	indexByID := make(map[int64]int, min(len(unresolved), profileStep))
	for chunk := range slices.Chunk(unresolved, profileStep) {
		clear(indexByID)
		for _, i := range chunk {
			indexByID[e.id[i]] = i
			e.person[i] = noPerson
		}
		err := plainRows(ctx, r.store.db.Read, func(row []driver.Value) error {
			uuid, err := database.UUIDOf(row[1].([]byte))
			e.person[indexByID[row[0].(int64)]] = r.owners.number(port.Person{UUID: uuid})
			return err
		}, `SELECT id, person_uuid FROM events WHERE id IN (`+database.JoinNumbers(chunk, func(i int) int64 { return e.id[i] })+`)`)
		if err != nil {
			return err
		}
	}
	if len(unresolved) > 0 { // events that were erased in the meantime
		e.remove(func(i int) bool { return e.person[i] == noPerson })
	}
	return nil
}

// resolve looks up the current owners of the events' distinct ids, and sets the persons
// of the events, or noPerson.
func (r *insightReader) resolve(ctx context.Context, e *columnBuffer, s *port.Scan) error {
	var unknown []string
	var pending []int // the events with a distinct id in unknown
	e.person = e.person[:0]
	previous, n := "", uint32(0)
	for i, id := range e.ids {
		if i == 0 || id != previous { // indexes are sorted by distinct id
			var ok bool
			if n, ok = r.numbers[id]; !ok {
				n = pendingPerson
				r.numbers[id] = n
				unknown = append(unknown, id)
			}
			previous = id
		}
		if n == pendingPerson {
			pending = append(pending, i)
		}
		e.person = append(e.person, n)
	}
	for chunk := range slices.Chunk(unknown, ownersStep) {
		if err := r.resolveIDs(ctx, chunk, s.Reserve); err != nil {
			return err
		}
		s.Pause(ctx)
	}
	for _, i := range pending {
		e.person[i] = r.numbers[e.ids[i]]
	}
	return nil
}

// OwnersQuery returns the query for the owners of distinct ids, which are one argument,
// a JSON array: hundreds of placeholders take longer than the lookup itself. If created
// is true, it also selects the times when the persons were created.
func OwnersQuery(d *database.Dialect, created bool) string {
	person, join := "", ""
	if created {
		person, join = ", p.created_at", " LEFT JOIN persons p ON p.project_id = d.project_id AND p.uuid = d.person_uuid"
	}
	return `SELECT d.distinct_id, d.person_uuid` + person + ` FROM ` + d.JSONRows + ` j CROSS JOIN distinct_ids d` + join + ` WHERE d.project_id = $1 AND d.distinct_id = j.value`
}

// resolveIDs looks up the owners of distinct ids that are not in numbers, and reserves
// memory for the entries.
func (r *insightReader) resolveIDs(ctx context.Context, ids []string, reserve func(int64) error) error {
	list, err := json.Marshal(ids)
	if err != nil {
		return err
	}
	size := int64(0)
	for _, id := range ids {
		size += int64(len(id)) + ownerEntrySize
	}
	before := len(r.owners.people)
	err = plainRows(ctx, r.store.db.Read, func(row []driver.Value) (err error) {
		n := uint32(noPerson)
		if owner, _ := row[1].([]byte); owner != nil {
			var p port.Person
			p.UUID, err = database.UUIDOf(owner)
			if r.created {
				p.CreatedAt, p.Exists = row[2].(int64)
			}
			n = r.owners.number(p)
		}
		r.numbers[row[0].(string)] = n
		return err
	}, OwnersQuery(&r.store.db.Dialect, r.created), r.project, string(list))
	if err != nil {
		return err
	}
	// Distinct ids that the query did not return have no row.
	for _, id := range ids {
		if r.numbers[id] == pendingPerson {
			r.numbers[id] = noPerson
			r.owners.unknown = append(r.owners.unknown, id)
		}
	}
	size += int64(len(r.owners.people)-before) * personEntrySize
	// Numbers with creation times belong to this reader and are not cached.
	if !r.created {
		r.owners.size += size
	}
	return reserve(size)
}

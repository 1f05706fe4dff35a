package events

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"slices"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
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

// attribute sets the persons of some events. An event whose distinct id belongs to no
// person gets the person that it was stored with.
func (r *insightReader) attribute(ctx context.Context, e *columnBuffer, s *port.Scan) error {
	r.owners.filling = true
	if err := r.resolve(ctx, e, s); err != nil {
		return err
	}
	r.owners.filling = false
	for i, n := range e.person {
		if n == noPerson {
			e.person[i] = r.owners.number(port.Person{UUID: e.stored[i]})
		}
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
		if i == 0 || id != previous {
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

package events

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"slices"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// attribute sets the persons of some events. An event whose distinct id belongs to no
// person gets the person that it was stored with.
func (r *insightReader) attribute(ctx context.Context, e *columnBuffer, s *port.Scan) error {
	if err := r.resolve(ctx, e, s); err != nil {
		return err
	}
	if err := r.keepOwners(e, s.Reserve); err != nil {
		return err
	}
	e.storedNumbers = e.storedNumbers[:0]
	e.person = slices.Grow(e.person[:0], len(e.idOf))
	for i, id := range e.idOf {
		n := e.owners[id]
		if n == noPerson {
			if len(e.storedNumbers) == 0 {
				e.storedNumbers = append(e.storedNumbers, slices.Repeat([]uint32{unresolved}, len(e.stored))...)
			}
			at := e.storedOf[i]
			if e.storedNumbers[at] == unresolved {
				e.storedNumbers[at] = r.owners.number(e.stored[at])
			}
			n = e.storedNumbers[at]
		}
		e.person = append(e.person, n)
	}
	return nil
}

// lookUp sets the owners of the distinct ids of a buffer that were resolved before. Also the goroutine that reads
// ahead does so, since it is a good part of the time of a scan.
func (r *insightReader) lookUp(e *columnBuffer) {
	r.lock.RLock()
	defer r.lock.RUnlock()
	e.owners = r.table.people(slices.Grow(e.owners[:0], len(e.ids)), e.ids)
}

// resolve sets the current owners of the distinct ids of a buffer that are unresolved, or noPerson. They
// are looked up in their order, since the rows of neighbours are on the same pages.
func (r *insightReader) resolve(ctx context.Context, e *columnBuffer, s *port.Scan) error {
	var unknown []string
	for i, n := range e.owners {
		if n != unresolved {
			continue
		}
		if e.owners[i] = r.table.person(e.ids[i]); e.owners[i] == unresolved {
			unknown = append(unknown, e.ids[i])
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	slices.Sort(unknown)
	for chunk := range slices.Chunk(unknown, ownersStep) {
		if err := r.resolveIDs(ctx, chunk, s.Reserve); err != nil {
			return err
		}
		s.Pause(ctx)
	}
	for i, n := range e.owners {
		if n == unresolved {
			e.owners[i] = r.table.person(e.ids[i])
		}
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

// resolveIDs looks up the owners of distinct ids that are not resolved, and reserves
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
	before := r.owners.people.n
	found := make(map[string]uint32, len(ids))
	err = plainRows(ctx, r.store.db.Read, func(row []driver.Value) (err error) {
		n := noPerson
		if owner, _ := row[1].([]byte); owner != nil {
			var person capture.UUID
			if person, err = database.UUIDOf(owner); err != nil {
				return err
			}
			n = r.owners.number(person)
			if r.created {
				r.setDetail(n, person, row[2])
			}
		}
		found[row[0].(string)] = n
		return nil
	}, OwnersQuery(&r.store.db.Dialect, r.created), r.project, string(list))
	if err != nil {
		return err
	}
	var unknown []uint32 // distinct ids that the query did not return have no row
	r.lock.Lock()
	for _, id := range ids {
		if n, ok := found[id]; ok {
			r.table.set(id, n)
		} else {
			unknown = append(unknown, r.table.set(id, noPerson))
		}
	}
	r.lock.Unlock()
	people := int64(r.owners.people.n-before) * personEntrySize
	r.owners.size += people
	// A table with creation times belongs to this reader and is not cached.
	if r.created {
		size += int64(len(found)) * detailSize
	} else {
		r.owners.size += size
		r.owners.tableSize += size
		r.owners.unknown = append(r.owners.unknown, unknown...)
	}
	return reserve(size + people)
}

// setDetail sets the time of creation of a person, nil if the person does not exist.
func (r *insightReader) setDetail(n uint32, person capture.UUID, created driver.Value) {
	for r.details.n <= int(n) {
		r.details.add(port.Person{})
	}
	p := r.details.at(n)
	p.UUID = person
	p.CreatedAt, p.Exists = created.(int64)
}

// groupOwners sets the owners of a buffer to those of the distinct ids of a group, in the order of its dictionary, if
// the reader has them.
func (r *insightReader) groupOwners(e *columnBuffer, key groupKey) bool {
	r.lock.Lock()
	defer r.lock.Unlock()
	list := r.owners.group(key)
	if list != nil {
		e.owners = append(e.owners[:0], list...)
	}
	return list != nil
}

// keepOwners caches the owners of the distinct ids of a group, unless one has no owner, or there is no room.
func (r *insightReader) keepOwners(e *columnBuffer, reserve func(int64) error) error {
	if e.group.file == "" || slices.ContainsFunc(e.owners, isUnowned) {
		return nil
	}
	r.lock.Lock()
	size := r.owners.add(e.group, e.owners, r.store.owners.most)
	r.lock.Unlock()
	return reserve(size)
}

// isUnowned reports whether an owner is noPerson or unresolved.
func isUnowned(owner uint32) bool { return owner >= unresolved }

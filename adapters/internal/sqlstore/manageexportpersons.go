package sqlstore

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"maps"
	"slices"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/management/batchexports"
)

const (
	// changedPersons is the maximum number of changed persons in memory at a time.
	changedPersons = 200_000
	// changedChunk is the number of persons in one lookup.
	changedChunk = 100
)

// Persons implements batchexports.Rows. It visits the persons that were created in the
// span of time or, if the span has no times, the persons that changed in the span of
// ids.
func (s exportStore) Persons(ctx context.Context, projectID int64, span batchexports.Span, visit func(*batchexports.Person) error) error {
	if !span.From.IsZero() || !span.To.IsZero() {
		return s.visitFirstSeen(ctx, projectID, &span, visit)
	}
	// Changed persons are collected by ranges of the first 32 bits of their UUIDs. A
	// range with too many persons is halved until they fit into memory.
	for low, width := uint64(0), uint64(1)<<32; low < 1<<32; low += width {
		width = min(width, 1<<32-low)
		var changed map[capture.UUID]bool
		var err error
		if changed, width, err = s.findChanged(ctx, projectID, &span, low, width); err != nil {
			return s.Store.db.ReadError("persons", err)
		}
		ids := slices.SortedFunc(maps.Keys(changed), func(a, b capture.UUID) int { return bytes.Compare(a[:], b[:]) })
		for chunk := range slices.Chunk(ids, changedChunk) {
			if err := s.visitByUUID(ctx, projectID, chunk, visit); err != nil {
				return err
			}
		}
	}
	return nil
}

// findChanged returns the persons that changed, of the range of UUIDs from low, and the
// width of the range, which is smaller than requested if there were too many persons.
func (s exportStore) findChanged(ctx context.Context, projectID int64, span *batchexports.Span, low, width uint64) (map[capture.UUID]bool, uint64, error) {
	found := map[capture.UUID]bool{}
	contains := func(id capture.UUID) bool {
		prefix := uint64(binary.BigEndian.Uint32(id[:]))
		return prefix >= low && prefix < low+width
	}
	for after := span.After; after < span.UpTo; {
		upTo := min(after+scanStep, span.UpTo)
		err := database.Query(ctx, s.Store.db.Read, func(rows *sql.Rows) error {
			var id capture.UUID
			err := rows.Scan(database.ScanUUID(&id))
			if err == nil && contains(id) {
				found[id] = true
			}
			for len(found) > changedPersons && width > 1 {
				width /= 2
				maps.DeleteFunc(found, func(id capture.UUID, _ bool) bool { return !contains(id) })
			}
			return err
		}, `SELECT uuid FROM person_changes WHERE id > $1 AND id <= $2 AND project_id = $3`, after, upTo, projectID)
		if err != nil {
			return nil, 0, err
		}
		after = upTo
	}
	return found, width, nil
}

// personPosition is the position in a list of persons with their distinct ids.
type personPosition struct {
	id         int64
	distinctID string
}

// exportPersonQuery selects one row for each distinct id of a person. Further
// conditions and the order must follow.
const exportPersonQuery = `SELECT p.id, p.uuid, p.properties, p.version, p.is_identified, p.created_at, d.distinct_id
	FROM persons p CROSS JOIN distinct_ids d WHERE d.project_id = p.project_id AND d.person_uuid = p.uuid AND d.person_uuid IS NOT NULL AND p.project_id = $1`

// visitFirstSeen visits the persons that were created in a span of time.
func (s exportStore) visitFirstSeen(ctx context.Context, projectID int64, span *batchexports.Span, visit func(*batchexports.Person) error) error {
	from, to := timesOf(span)
	return s.visitPages(ctx, visit, func(position personPosition) (string, []any) {
		return exportPersonQuery + ` AND p.id >= $2 AND (p.id > $2 OR d.distinct_id > $3) AND p.created_at >= $4 AND p.created_at < $5
			ORDER BY p.id, d.distinct_id`, []any{projectID, position.id, position.distinctID, from, to}
	})
}

// visitByUUID visits the persons with the given UUIDs.
func (s exportStore) visitByUUID(ctx context.Context, projectID int64, ids []capture.UUID, visit func(*batchexports.Person) error) error {
	return s.visitPages(ctx, visit, func(position personPosition) (string, []any) {
		args := []any{projectID, position.id, position.distinctID}
		for i := range ids {
			args = append(args, ids[i][:])
		}
		return exportPersonQuery + ` AND p.uuid IN (` + database.Placeholders(4, len(ids)) + `) AND (p.id > $2 OR p.id = $2 AND d.distinct_id > $3)
			ORDER BY p.id, d.distinct_id`, args
	})
}

// visitPages visits the rows of queries, page by page. statement returns the query for
// the rows after a position.
func (s exportStore) visitPages(ctx context.Context, visit func(*batchexports.Person) error, statement func(personPosition) (string, []any)) error {
	var page []batchexports.Person
	for position, full := (personPosition{}), true; full; {
		var err error
		text, args := statement(position)
		page, full, err = exportPage(ctx, s.Store.db.Read, page[:0], func(rows *sql.Rows, p *batchexports.Person) (int, error) {
			var uuid capture.UUID
			err := rows.Scan(&position.id, database.ScanUUID(&uuid), &p.Properties, &p.Version, &p.Identified, database.ScanTime(&p.CreatedAt), &position.distinctID)
			p.UUID, p.DistinctID = uuid.String(), position.distinctID
			return len(p.Properties), err
		}, text, args...)
		if err != nil {
			return s.Store.db.ReadError("persons", err)
		}
		for i := range page {
			if err := visit(&page[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

var insertChanged = database.NewInsert(`INSERT INTO person_changes (id, project_id, uuid)`, 3, `ON CONFLICT DO NOTHING`)

// savePersonChanges stores which persons have changed, in their own fields or in their
// distinct ids, with an id of the ledger's sequence. It must run before saveEvents,
// which clears the ids of the events.
func (t *ledgerTx) savePersonChanges(c *capture.Changes) error {
	type key struct {
		project int64
		person  capture.UUID
	}
	var list []key
	seen := map[key]bool{}
	add := func(project int64, person capture.UUID) {
		if k := (key{project, person}); !person.IsZero() && !seen[k] {
			seen[k] = true
			list = append(list, k)
		}
	}
	for i := range c.Persons {
		add(c.Persons[i].ProjectID, c.Persons[i].UUID)
	}
	for i := range c.IDs {
		add(c.IDs[i].ProjectID, c.IDs[i].Person)
	}
	for i := range c.Merges {
		add(c.Merges[i].ProjectID, c.Merges[i].Into)
	}
	if len(list) == 0 {
		return nil
	}
	var id int64
	// The id of the last event of the commit, so that exports advance through events
	// and persons by the same ids. Without events the change gets an id of its own.
	if n := len(t.claimed); n > 0 {
		id = t.claimed[n-1]
	} else {
		ids, err := t.store.events.NextIDs(&t.Tx, 1)
		if err != nil {
			return err
		}
		id = ids[0]
		if t.store.db.Dialect.SingleWriter {
			if _, err := t.Exec(`UPDATE places SET id = $2 WHERE name = $1`, database.PositionEventID, id); err != nil {
				return err
			}
		}
	}
	return t.Insert(&insertChanged, len(list), func(args []any, i int) []any {
		k := &list[i]
		return append(args, id, k.project, k.person[:])
	})
}

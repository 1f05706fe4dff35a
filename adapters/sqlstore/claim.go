package sqlstore

import (
	"database/sql"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/spaolacci/murmur3"

	"github.com/bunting-flags/bunting/capture"
)

// keySize is the length of an event's duplicate key: its UUID, then a hash of the other
// fields that identify it (§13.3). The UUID is first, so that the keys with UUIDs of
// version 7 are ordered by time.
const keySize = 16 + 8

// appendKey appends an event's duplicate key to dst. scratch is a reusable buffer,
// returned as used.
func appendKey(dst, scratch []byte, k *capture.EventKey) (key, used []byte) {
	scratch = binary.BigEndian.AppendUint64(scratch[:0], uint64(k.ProjectID))
	scratch = binary.BigEndian.AppendUint64(scratch, uint64(len(k.Name)))
	scratch = append(scratch, k.Name...)
	scratch = append(scratch, k.DistinctID...)
	dst = append(dst, k.UUID[:]...)
	return binary.BigEndian.AppendUint64(dst, murmur3.Sum64(scratch)), scratch
}

var claimKeys = newInsert(`INSERT INTO event_keys (key, id)`, 2, `ON CONFLICT DO NOTHING RETURNING id`)

// Claim implements capture.Tx. Duplicates consume ids too, so the ids of stored events
// have gaps.
func (t *ledgerTx) Claim(keys []capture.EventKey) ([]bool, error) {
	ids, err := t.nextIDs(len(keys))
	if err != nil {
		return nil, fmt.Errorf("numbering events: %w", err)
	}
	all := make([]byte, 0, keySize*len(keys))
	var scratch []byte
	for i := range keys {
		all, scratch = appendKey(all, scratch, &keys[i])
	}
	indexByID := make(map[int64]int, len(ids)) // the index of the key for each id
	for i, id := range ids {
		indexByID[id] = i
	}
	isNew := make([]bool, len(keys))
	// The statement returns only the ids of rows that it inserted, one for each new
	// key.
	err = t.find(&claimKeys, nil, len(keys),
		func(args []any, i int) []any { return append(args, all[i*keySize:(i+1)*keySize], ids[i]) },
		func(rows *sql.Rows) error {
			var id int64
			if err := rows.Scan(&id); err != nil {
				return err
			}
			isNew[indexByID[id]] = true
			return nil
		})
	if err != nil {
		return nil, fmt.Errorf("claiming the keys of events: %w", err)
	}
	for i, id := range ids {
		if isNew[i] {
			t.claimed = append(t.claimed, id)
		}
	}
	return isNew, nil
}

// nextIDs returns n new ids of events in ascending order. On SQLite they come from a
// counter in memory, because this process is the only writer; on PostgreSQL from a
// sequence.
func (t *ledgerTx) nextIDs(n int) ([]int64, error) {
	ids := make([]int64, 0, n)
	if t.store.dialect.singleWriter {
		last := t.store.ledger.last.Add(int64(n))
		for id := last - int64(n) + 1; id <= last; id++ {
			ids = append(ids, id)
		}
		return ids, nil
	}
	err := t.each(func(rows *sql.Rows) error {
		ids = append(ids, 0)
		return rows.Scan(&ids[len(ids)-1])
	}, `SELECT nextval('event_ids') FROM generate_series(1, $1::bigint)`, n)
	return ids, err
}

var findPeople = newFind(`d.distinct_id, d.person_uuid, p.created_at, p.is_identified, p.version, p.properties`,
	`distinct_ids d LEFT JOIN persons p ON p.project_id = d.project_id AND p.uuid = d.person_uuid WHERE d.project_id = $1`,
	`d.distinct_id`, textKey, 1)

// People implements capture.Tx. Distinct ids of the same person share one Person. An id
// without a person is Personless if it is stored, and the zero Identity otherwise.
func (t *ledgerTx) People(projectID int64, ids []string) ([]capture.Identity, error) {
	found := make(map[string]capture.Identity, len(ids))
	persons := map[capture.UUID]*capture.Person{}
	err := t.find(&findPeople, []any{projectID}, len(ids),
		func(args []any, i int) []any { return append(args, ids[i]) },
		func(rows *sql.Rows) error {
			var id string
			var uuid []byte
			var created, identified, version sql.NullInt64
			var properties sql.NullString
			if err := rows.Scan(&id, &uuid, &created, &identified, &version, &properties); err != nil {
				return err
			}
			if !properties.Valid {
				found[id] = capture.Identity{Personless: true}
				return nil
			}
			u, err := uuidOf(uuid)
			if err != nil {
				return err
			}
			// All distinct ids of one person share a Person, so that a change through
			// one is visible through all.
			if persons[u] == nil {
				object, err := capture.ParseObject(properties.String)
				if err != nil {
					return fmt.Errorf("person %s: %w", u, err)
				}
				persons[u] = &capture.Person{
					UUID: u, CreatedAt: fromMicros(created.Int64), Properties: object,
					Identified: identified.Int64 != 0, Version: version.Int64,
				}
			}
			found[id] = capture.Identity{Person: persons[u]}
			return nil
		})
	if err != nil {
		return nil, fmt.Errorf("reading people: %w", err)
	}
	out := make([]capture.Identity, len(ids))
	for i, id := range ids {
		out[i] = found[id]
	}
	return out, nil
}

// GroupTypes implements capture.Tx. The index in the result is the index of the group
// type.
func (t *ledgerTx) GroupTypes(projectID int64) (names []string, err error) {
	err = t.each(func(rows *sql.Rows) error { return addGroupType(&names, rows) }, groupTypesText, projectID)
	return names, wrapError("reading group types", err)
}

var findGroups = newFind(`g.key, g.created_at, g.properties`, `stored_groups g WHERE g.project_id = $1 AND g.type_index = $2`, `g.key`, textKey, 2)

// Groups implements capture.Tx. Groups that do not exist are nil in the result.
func (t *ledgerTx) Groups(projectID int64, keys []capture.GroupID) ([]*capture.Group, error) {
	byType := map[int][]string{}
	for _, k := range keys {
		byType[k.Type] = append(byType[k.Type], k.Key)
	}
	found := map[capture.GroupID]*capture.Group{}
	for index, list := range byType {
		err := t.find(&findGroups, []any{projectID, index}, len(list),
			func(args []any, i int) []any { return append(args, list[i]) },
			func(rows *sql.Rows) error {
				var key, properties string
				var created int64
				if err := rows.Scan(&key, &created, &properties); err != nil {
					return err
				}
				g, err := storedGroup(capture.GroupID{Type: index, Key: key}, created, properties)
				found[g.GroupID] = &g
				return err
			})
		if err != nil {
			return nil, fmt.Errorf("reading groups: %w", err)
		}
	}
	out := make([]*capture.Group, len(keys))
	for i, k := range keys {
		out[i] = found[k]
	}
	return out, nil
}

// micros returns a time in its stored form: microseconds since 1970 in UTC.
func micros(t time.Time) int64 { return t.UnixMicro() }

// fromMicros returns the time of a stored number of microseconds, in UTC.
func fromMicros(us int64) time.Time { return time.UnixMicro(us).UTC() }

// uuidOf returns the UUID of 16 stored bytes.
func uuidOf(b []byte) (capture.UUID, error) {
	if len(b) != len(capture.UUID{}) {
		return capture.UUID{}, fmt.Errorf("a uuid of %d bytes is stored: the database was changed by another program", len(b))
	}
	return capture.UUID(b), nil
}

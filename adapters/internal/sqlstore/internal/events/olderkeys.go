package events

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"

	"github.com/spaolacci/murmur3"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/capture"
)

// A store of a schema before 19 has the duplicate keys of all events in the table event_keys: the UUID, then a
// hash of the project, the name and the distinct id. Until there are lists of the keys of the events of all projects,
// keys of new events are stored there too, and compared with those of the table only.

// olderKeySize is the length of a key in the table.
const olderKeySize = 16 + 8

// appendOlderKey appends the key of an event to dst. scratch is a reusable buffer, returned as used.
func appendOlderKey(dst, scratch []byte, k *capture.EventKey) (key, used []byte) {
	scratch = binary.BigEndian.AppendUint64(scratch[:0], uint64(k.ProjectID))
	scratch = binary.BigEndian.AppendUint64(scratch, uint64(len(k.Name)))
	scratch = append(scratch, k.Name...)
	scratch = append(scratch, k.DistinctID...)
	dst = append(dst, k.UUID[:]...)
	return binary.BigEndian.AppendUint64(dst, murmur3.Sum64(scratch)), scratch
}

// lockOlderKeys reports whether the table has the keys of all events, and will have them until the end of the
// transaction: saveKeyStep locks the table for itself.
func (l *Log) lockOlderKeys(t *database.Tx) (bool, error) {
	isOlder, err := l.checkOlderKeys(t.Ctx, t.SQL)
	if err != nil || !isOlder || l.db.Dialect.SingleWriter {
		return isOlder, err
	}
	if _, err := t.Exec(`LOCK TABLE event_keys IN ACCESS SHARE MODE`); err != nil {
		return false, err
	}
	return l.checkOlderKeys(t.Ctx, t.SQL)
}

// checkOlderKeys reports whether the table has the keys of all events. Another server may have changed that.
func (l *Log) checkOlderKeys(ctx context.Context, q database.Querier) (bool, error) {
	if !l.hasOlderKeys.Load() {
		return false, nil
	}
	last, err := lastListed(ctx, q)
	if err == nil && last < 0 {
		l.hasOlderKeys.Store(false)
	}
	return err == nil && last >= 0, err
}

var (
	insertOlderKeys = database.NewInsert(`INSERT INTO event_keys (key, id)`, 2, "")
	findOlderKeys   = database.NewLookup(`SELECT key FROM event_keys WHERE key`, 0)
)

// findOlder reports which of some keys are not in the table, and returns these. If a key occurs several times, only the
// first is new.
func findOlder(t *database.Tx, list []capture.EventKey) (older [][]byte, isNew []bool, err error) {
	isNew = make([]bool, len(list))
	all := make([]byte, 0, olderKeySize*len(list))
	var scratch []byte
	for i := range list {
		all, scratch = appendOlderKey(all, scratch, &list[i])
	}
	key := func(i int) []byte { return all[i*olderKeySize : (i+1)*olderKeySize] }
	stored := map[string]bool{}
	err = t.Find(&findOlderKeys, nil, len(list), func(args []any, i int) []any { return append(args, key(i)) }, func(rows *sql.Rows) error {
		var found []byte
		err := rows.Scan(&found)
		stored[string(found)] = true
		return err
	})
	for i := range list {
		if k := key(i); !stored[string(k)] {
			stored[string(k)], isNew[i] = true, true
			older = append(older, k)
		}
	}
	return older, isNew, err
}

// storeOlder inserts the keys of events into the table.
func storeOlder(t *database.Tx, older [][]byte, events []capture.Record) error {
	return t.Insert(&insertOlderKeys, len(events), func(args []any, i int) []any { return append(args, older[i], events[i].ID) })
}

// findOlderUUID returns the ids of the events of all projects with a UUID, if the table has the keys of all events.
func (l *Log) findOlderUUID(ctx context.Context, uuid capture.UUID) (ids []int64, isOlder bool, err error) {
	if !l.hasOlderKeys.Load() {
		return nil, false, nil
	}
	low := uuid[:]
	high := binary.BigEndian.AppendUint64(uuid[:len(uuid):len(uuid)], 1<<64-1)
	ids, err = database.Column[int64](ctx, l.db.Read, `SELECT id FROM event_keys WHERE key >= $1 AND key <= $2 ORDER BY id`, low, high)
	isOlder, placeErr := l.checkOlderKeys(ctx, l.db.Read)
	if placeErr != nil {
		return nil, false, placeErr
	}
	if !isOlder { // the table is not complete any more, or was dropped
		return nil, false, nil
	}
	return ids, true, err
}

// lastListed returns the last project of which all keys are in lists, or -1 if the table is not used any more.
func lastListed(ctx context.Context, q database.Querier) (project int64, err error) {
	err = q.QueryRowContext(ctx, `SELECT id FROM places WHERE name = $1`, database.PositionKeys).Scan(&project)
	if errors.Is(err, sql.ErrNoRows) {
		return -1, nil
	}
	return project, err
}

// hasUnusedKeys reports whether the table is to be deleted.
func hasUnusedKeys(ctx context.Context, q database.Querier) (has bool, err error) {
	err = q.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM places WHERE name = $1)`, database.PositionUnusedKeys).Scan(&has)
	return has, err
}

// dropKeys drops the table and its places.
func dropKeys(ctx context.Context, q database.Querier) error {
	if _, err := q.ExecContext(ctx, `DROP TABLE IF EXISTS event_keys`); err != nil {
		return err
	}
	_, err := q.ExecContext(ctx, `DELETE FROM places WHERE name IN ($1, $2)`, database.PositionKeys, database.PositionUnusedKeys)
	return err
}

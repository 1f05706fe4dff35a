package events

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/capture"
)

const (
	// convertRows and convertBytes limit the events that one transaction converts: their number,
	// and about the length of their long columns.
	convertRows  = 2048
	convertBytes = 8 << 20
	// convertReport is the time between two lines of the log.
	convertReport = 10 * time.Second
)

// Migrate migrates the schema to the newest version and converts the events of a store of an earlier
// schema, which has rows of them, into chunks. It is done in small transactions and continues where
// it was interrupted.
func Migrate(ctx context.Context, db *database.DB, logger *slog.Logger) error {
	if err := db.Migrate(ctx, logger); err != nil {
		return err
	}
	c := converter{db: db}
	for reported, done := time.Now(), false; !done; {
		c.Tx = db.NewTx(ctx, nil)
		err := db.InWrite(ctx, func(tx *sql.Tx) (err error) {
			c.SQL = tx
			done, err = c.step()
			return err
		})
		if err != nil {
			return fmt.Errorf("converting stored events after %d: %w", c.last, err)
		}
		if !done && time.Since(reported) > convertReport {
			reported = time.Now()
			logger.Info("stored events are being converted", "id", c.last)
		}
	}
	return dropEmptyKeys(ctx, db)
}

// dropEmptyKeys drops the table of duplicate keys of a schema before 19 of a store without events.
// Otherwise Start converts it, which may need segments.
func dropEmptyKeys(ctx context.Context, db *database.DB) error {
	return db.InWrite(ctx, func(tx *sql.Tx) error {
		var left bool
		err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM places WHERE name = $1) AND NOT EXISTS (SELECT 1 FROM event_chunks) AND NOT EXISTS (SELECT 1 FROM event_segments)`,
			database.PositionKeys).Scan(&left)
		if err == nil && left {
			_, err = dropKeys(ctx, tx)
		}
		return err
	})
}

// converter converts the events of a store of an earlier schema.
type converter struct {
	db *database.DB
	database.Tx
	last int64 // the last event that was converted
}

// step converts the next events. done is true if there are no further events, and then the older
// tables are dropped.
//
// Schema 16 had the short columns in rows and the long ones in chunks. They are converted first,
// because a store whose conversion from a schema before 16 was interrupted has both.
func (c *converter) step() (done bool, err error) {
	text := `SELECT name, id FROM places WHERE name IN ($1, $2, $3)`
	if !c.db.Dialect.SingleWriter { // servers that start at the same time take turns
		text += ` FOR UPDATE`
	}
	places := map[string]int64{}
	err = c.Each(func(rows *sql.Rows) error {
		var name string
		var id int64
		err := rows.Scan(&name, &id)
		places[name] = id
		return err
	}, text, database.PositionIndexed, database.PositionChunks, database.PositionRows)
	if _, ok := places[database.PositionChunks]; ok && err == nil {
		done, err = c.chunks(places[database.PositionIndexed])
		if !done {
			return false, err
		}
	}
	if after, ok := places[database.PositionRows]; ok && err == nil {
		return c.rows(after)
	}
	return err == nil, err
}

// end drops the tables of a conversion that is done, and deletes places.
func (c *converter) end(tables []string, places ...string) error {
	for _, table := range tables {
		if _, err := c.Exec(`DROP TABLE ` + table); err != nil {
			return err
		}
	}
	for _, name := range places {
		if _, err := c.Exec(`DELETE FROM places WHERE name = $1`, name); err != nil {
			return err
		}
	}
	return nil
}

// chunks converts the next chunks of schema 16, whose events have rows. Events up to the id mark are
// in blocks.
func (c *converter) chunks(mark int64) (done bool, err error) {
	size := 0
	var list []storedChunk
	err = c.Each(func(rows *sql.Rows) error {
		var s storedChunk
		if err := rows.Scan(&s.first, &s.project, &s.last, &s.size, &s.data); err != nil {
			return err
		}
		list = append(list, s)
		if size += s.size; size >= convertBytes {
			return database.ErrPageFull
		}
		return nil
	}, fmt.Sprintf(`SELECT first_id, project_id, last_id, size, data FROM event_chunks_16 ORDER BY first_id LIMIT %d`, convertRows))
	if err != nil && !errors.Is(err, database.ErrPageFull) {
		return false, err
	}
	if len(list) == 0 {
		var left int
		if err := c.SQL.QueryRowContext(c.Ctx, `SELECT COUNT(*) FROM events`).Scan(&left); err != nil {
			return false, err
		}
		if left > 0 {
			return false, fmt.Errorf("%d events are in no chunk: %w", left, block.ErrDamaged)
		}
		return true, c.end([]string{"event_chunks_16", "events"}, database.PositionChunks, database.PositionIndexed)
	}
	for i := range list {
		if err := c.chunk(&list[i], mark); err != nil {
			return false, err
		}
		c.last = max(c.last, list[i].last)
	}
	return false, nil
}

// chunk converts a chunk of schema 16.
func (c *converter) chunk(s *storedChunk, mark int64) (err error) {
	var long block.Chunk
	if err := s.decode(&long, false); err != nil {
		return err
	}
	short := map[int64]block.Event{}
	for ids := range slices.Chunk(long.IDs, 500) {
		list := `(` + database.JoinNumbers(ids, func(id int64) int64 { return id }) + `)`
		err := c.Each(func(rows *sql.Rows) error {
			var e block.Event
			err := rows.Scan(&e.ID, &e.Time, &e.Arrived, &e.Name, &e.DistinctID, database.ScanUUID(&e.UUID), database.ScanUUID(&e.Person), &e.PersonCreated, &e.Mode, &e.Historical)
			short[e.ID] = e
			return err
		}, `SELECT id, timestamp, created_at, event, distinct_id, uuid, person_uuid, person_created_at, person_mode, historical FROM events WHERE project_id = $1 AND id IN `+list, s.project)
		if err == nil {
			_, err = c.Exec(`DELETE FROM events WHERE project_id = $1 AND id IN `+list, s.project)
		}
		if err != nil {
			return err
		}
	}
	if _, err := c.Exec(`DELETE FROM event_chunks_16 WHERE first_id = $1`, s.first); err != nil {
		return err
	}
	// The chunk is divided if only some of its events are in blocks.
	in, out := newChunkSaver(&c.Tx, false), newChunkSaver(&c.Tx, true)
	defer func() { err = errors.Join(err, in.close(), out.close()) }()
	for i, id := range long.IDs {
		e, ok := short[id]
		if !ok {
			return fmt.Errorf("event %d of project %d has no row: %w", id, s.project, block.ErrDamaged)
		}
		saver := in
		if id > mark {
			saver = out
		}
		if err := saver.add(s.project, &e, LongColumns{long.Elements[i], long.Properties[i], long.States[long.StateOf[i]]}); err != nil {
			return err
		}
	}
	return nil
}

// rows converts the next rows of a schema before 16, which have long columns. None is in a block.
func (c *converter) rows(after int64) (done bool, err error) {
	size := 0
	var list []capture.Record
	err = c.Each(func(rows *sql.Rows) error {
		var e capture.Record
		err := rows.Scan(&e.ID, &e.ProjectID, database.ScanUUID(&e.UUID), &e.Name, &e.DistinctID, database.ScanTime(&e.Timestamp), database.ScanTime(&e.CreatedAt),
			database.ScanUUID(&e.PersonID), database.ScanTime(&e.PersonCreatedAt), &e.PersonMode, &e.Historical, &e.ElementsChain, &e.Properties, &e.PersonProperties)
		if err != nil {
			return err
		}
		list = append(list, e)
		if size += len(e.ElementsChain) + len(e.Properties) + len(e.PersonProperties); size >= convertBytes {
			return database.ErrPageFull
		}
		return nil
	}, fmt.Sprintf(`SELECT e.id, e.project_id, e.uuid, e.event, e.distinct_id, e.timestamp, e.created_at, e.person_uuid, e.person_created_at, e.person_mode, e.historical,
		e.elements_chain, e.properties, COALESCE((SELECT s.properties FROM person_states s WHERE s.event_id = e.person_state), '{}')
		FROM event_rows e WHERE e.id > $1 ORDER BY e.id LIMIT %d`, convertRows), after)
	if err != nil && !errors.Is(err, database.ErrPageFull) {
		return false, err
	}
	if len(list) == 0 {
		return true, c.end([]string{"event_rows", "person_states"}, database.PositionRows)
	}
	if _, err := Save(&c.Tx, list); err != nil {
		return false, err
	}
	c.last = list[len(list)-1].ID
	if c.db.Dialect.SingleWriter { // SQLite reuses the freed pages; PostgreSQL frees them with the table
		if _, err := c.Exec(`DELETE FROM event_rows WHERE id <= $1`, c.last); err != nil {
			return false, err
		}
	}
	_, err = c.Exec(`UPDATE places SET id = $2 WHERE name = $1`, database.PositionRows, c.last)
	return false, err
}

// Unconverted are queries for the number of events that are not converted yet, by the table that
// exists until they are.
var Unconverted = map[string]string{
	"events":     `SELECT COUNT(*) FROM events`,
	"event_rows": `SELECT COUNT(*) FROM event_rows WHERE id > (SELECT id FROM places WHERE name = '` + database.PositionRows + `')`,
}

// dropKeys drops the table event_keys and its place. Both are missing in a store that is converted,
// and only the table in a copy of one that was not.
func dropKeys(ctx context.Context, q database.Querier) (done bool, err error) {
	for _, text := range []string{`DROP TABLE IF EXISTS event_keys`, `DELETE FROM places WHERE name = '` + database.PositionKeys + `'`} {
		if _, err := q.ExecContext(ctx, text); err != nil {
			return false, err
		}
	}
	return true, nil
}

package events

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
)

const (
	// startEvents is the maximum number of events that one transaction converts at the start. The bytes of long columns are
	// limited by database.PieceBytes.
	startEvents = 2048
	// convertReport is the time between two lines of the log.
	convertReport = 10 * time.Second
)

// ErrConverting is the error for erasing events of a store of an earlier schema before all of its events
// are converted.
var ErrConverting = errors.New("the events of an earlier version are still being converted, in the background")

// Migrate migrates the schema to the newest version. Of a store of an earlier schema it converts the events that are
// in no block; Log.Convert converts the others while the store is in use.
func Migrate(ctx context.Context, db *database.DB, logger *slog.Logger) error {
	return migrate(ctx, db, logger, false)
}

// MigrateAll is like Migrate, and converts all events.
func MigrateAll(ctx context.Context, db *database.DB, logger *slog.Logger) error {
	return migrate(ctx, db, logger, true)
}

// migrate implements Migrate and MigrateAll. It is done in small transactions and continues where it was interrupted.
func migrate(ctx context.Context, db *database.DB, logger *slog.Logger, all bool) error {
	if err := db.Migrate(ctx, logger); err != nil {
		return err
	}
	c := converter{db: db, events: startEvents, within: func(ctx context.Context, work func(t *database.Tx) error) error {
		t := db.NewTx(ctx, nil)
		return db.InWrite(ctx, func(tx *sql.Tx) error {
			t.SQL = tx
			return work(&t)
		})
	}}
	if err := c.deleteConverted(ctx); err != nil {
		return err
	}
	for reported := time.Now(); ; {
		p, err := readOlderPlaces(ctx, db.Read, "")
		if err != nil {
			return err
		}
		hasMore := !p.isDone
		if hasMore && !all {
			hasMore, err = c.isDue(ctx, &p)
		}
		if hasMore && err == nil {
			p, err = c.step(ctx)
		}
		if err != nil {
			if now, failed := readOlderPlaces(ctx, db.Read, ""); failed == nil && now.isDone {
				continue // another server has ended the conversion and dropped the tables
			}
			return fmt.Errorf("converting stored events up to %d: %w", p.last, err)
		}
		if !hasMore {
			break
		}
		if time.Since(reported) > convertReport {
			reported = time.Now()
			logger.Info("stored events are being converted", "left", p.last)
		}
	}
	if err := c.dropTables(ctx); err != nil {
		return err
	}
	return dropEmptyKeys(ctx, db)
}

// dropEmptyKeys drops the table of duplicate keys of a schema before 19 of a store without events.
func dropEmptyKeys(ctx context.Context, db *database.DB) error {
	return db.InWrite(ctx, func(tx *sql.Tx) error {
		var isEmpty bool
		err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM places WHERE name IN ($1, $2)) AND NOT EXISTS (SELECT 1 FROM event_chunks)
			AND NOT EXISTS (SELECT 1 FROM event_segments) AND NOT EXISTS (SELECT 1 FROM places WHERE name = $3)`,
			database.PositionKeys, database.PositionUnusedKeys, database.PositionUnconverted).Scan(&isEmpty)
		if err == nil && isEmpty {
			err = dropKeys(ctx, tx)
		}
		return err
	})
}

// converter converts the events of a store of an earlier schema.
type converter struct {
	db *database.DB
	// events is the maximum number of events of a transaction, which within runs. It may also not run it.
	events int
	within func(ctx context.Context, work func(t *database.Tx) error) error
}

// isDue reports whether there is something to do before the store is used: events that are in no block, or an earlier version,
// which began with the first event, has converted some, or all are converted.
func (c *converter) isDue(ctx context.Context, p *olderPlaces) (is bool, err error) {
	if p.last > p.indexed || p.last == 0 {
		return true, nil
	}
	err = c.db.Read.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM event_chunks WHERE first_id < $1)`, p.last).Scan(&is)
	return is, err
}

// step converts the last events that are not converted, and returns the places afterwards. They are the same as before if
// another server converts events.
func (c *converter) step(ctx context.Context) (p olderPlaces, err error) {
	if p, err = readOlderPlaces(ctx, c.db.Read, ""); err != nil || p.isDone {
		return p, err
	}
	after := int64(0)
	if p.last > p.indexed {
		after = p.indexed
	}
	list, err := p.older().lastRecords(ctx, c.db.Read, after, p.last, c.events)
	if err != nil {
		return p, err
	}
	slices.Reverse(list)
	next := p
	switch {
	case len(list) > 0:
		next.last = list[0].ID - 1
	default:
		next.last, next.isDone = after, after == 0
	}
	suffix := ""
	if !c.db.Dialect.SingleWriter { // servers take turns
		suffix = ` FOR UPDATE`
	}
	isCurrent := false
	err = c.within(ctx, func(t *database.Tx) error {
		now, err := readOlderPlaces(t.Ctx, t.SQL, suffix)
		if isCurrent = now == p; err != nil || !isCurrent {
			return err
		}
		if _, err := saveEvents(t, list, p.last > p.indexed); err != nil {
			return err
		}
		return p.advance(t, &next)
	})
	if isCurrent && err == nil {
		p = next
	}
	return p, err
}

// advance deletes the rows of events that were converted, and stores the places afterwards.
func (p *olderPlaces) advance(t *database.Tx, next *olderPlaces) (err error) {
	for _, table := range [...]struct {
		name, id string
		exists   bool
	}{
		{"event_rows", "id", p.hasRows}, {"person_states", "event_id", p.hasRows}, // later events do not refer to a state
		{"events", "id", p.hasChunks}, {"event_chunks_16", "first_id", p.hasChunks},
	} {
		if table.exists && err == nil {
			_, err = t.Exec(`DELETE FROM `+table.name+` WHERE `+table.id+` > $1 AND `+table.id+` <= $2`, next.last, p.last)
		}
	}
	switch {
	case err != nil:
		return err
	case next.isDone:
		_, err = t.Exec(`DELETE FROM places WHERE name = $1`, database.PositionUnconverted)
	default:
		_, err = t.Exec(`UPDATE places SET id = $2 WHERE name = $1`, database.PositionUnconverted, next.last)
	}
	return err
}

// deleteConverted deletes rows that an earlier version has converted, on PostgreSQL without deleting them.
func (c *converter) deleteConverted(ctx context.Context) error {
	return c.within(ctx, func(t *database.Tx) error {
		p, err := readOlderPlaces(t.Ctx, t.SQL, "")
		if p.converted > 0 && err == nil {
			if _, err = t.Exec(`DELETE FROM event_rows WHERE id <= $1`, p.converted); err == nil {
				_, err = t.Exec(`UPDATE places SET id = 0 WHERE name = $1`, database.PositionRows)
			}
		}
		return err
	})
}

// dropTables drops the tables of a conversion that is done, and deletes their places.
func (c *converter) dropTables(ctx context.Context) error {
	return c.within(ctx, func(t *database.Tx) error {
		p, err := readOlderPlaces(t.Ctx, t.SQL, "")
		if !p.isDone || !p.hasRows && !p.hasChunks || err != nil {
			return err
		}
		for _, table := range [...]string{"event_rows", "person_states", "events", "event_chunks_16"} {
			if _, err := t.Exec(`DROP TABLE IF EXISTS ` + table); err != nil {
				return err
			}
		}
		_, err = t.Exec(`DELETE FROM places WHERE name IN ($1, $2, $3)`, database.PositionRows, database.PositionChunks, database.PositionIndexed)
		return err
	})
}

// Unconverted are queries for the number of events that are not converted yet, by the table that
// has them.
var Unconverted = map[string]string{
	"events":     `SELECT COUNT(*) FROM events`,
	"event_rows": `SELECT COUNT(*) FROM event_rows WHERE id > COALESCE((SELECT id FROM places WHERE name = '` + database.PositionRows + `'), 0)`,
}

// IsConverting reports whether events or duplicate keys of an earlier schema are not converted.
func (l *Log) IsConverting() bool { return l.older.Load() != nil || l.hasOlderKeys.Load() }

// HasOlder reports whether there is something that Convert converts or deletes.
func (l *Log) HasOlder(ctx context.Context) (bool, error) {
	if l.IsConverting() {
		return true, nil
	}
	return hasUnusedKeys(ctx, l.db.Read)
}

// Convert converts some events, or duplicate keys, of a store of an earlier schema, and reports whether there was
// something to convert. hasMore is true until everything is converted, also while another server does so. left is the id up
// to which events are not converted.
func (l *Log) Convert(ctx context.Context) (did, hasMore bool, left int64, err error) {
	if o := l.older.Load(); o != nil {
		before := o.last.Load()
		c := converter{db: l.db, events: l.OlderEvents, within: l.inBlocks}
		p, err := c.step(ctx)
		if err != nil {
			return false, true, before, fmt.Errorf("converting stored events up to %d: %w", before, err)
		}
		if o.last.Store(p.last); p.isDone {
			l.older.Store(nil)
		}
		return p.isDone || p.last != before, true, p.last, nil
	}
	did, hasMore, err = l.convertKeys(ctx)
	return did, hasMore, 0, database.WrapError("converting duplicate keys", err)
}

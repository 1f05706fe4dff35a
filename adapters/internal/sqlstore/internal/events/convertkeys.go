package events

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
)

// startOlderKeys prepares the conversion of keys in the background. A copy of a store that was not converted has no table:
// its keys are converted at once.
func (l *Log) startOlderKeys(ctx context.Context, logger *slog.Logger) error {
	l.hasOlderKeys.Store(true)
	isOlder, err := l.checkOlderKeys(ctx, l.db.Write)
	if err != nil || !isOlder {
		return err
	}
	hasTable, err := database.HasTable(ctx, l.db.Write, l.db.Dialect.SingleWriter, "event_keys")
	if err != nil || hasTable {
		return err
	}
	for reported := time.Now(); l.hasOlderKeys.Load(); {
		did, _, err := l.convertKeys(ctx)
		if err != nil {
			return fmt.Errorf("converting duplicate keys: %w", err)
		}
		if time.Since(reported) > convertReport {
			reported = time.Now()
			logger.Info("duplicate keys of events are being converted")
		}
		if !did { // another server does it
			time.Sleep(50 * time.Millisecond)
		}
	}
	return nil
}

// keyStep are the keys that convertKeys puts into a list.
type keyStep struct {
	// after is the last project of which all keys are in lists, and project the next one, or 0 if there is none.
	after, project int64
	runs           []*keyRun
	// keys are the next keys of the project, empty if they are few enough to be read when they are needed.
	keys []tailKey
}

// convertKeys makes the next list of keys, or deletes a part of the table when there are enough lists. hasMore is
// true until the table is deleted.
func (l *Log) convertKeys(ctx context.Context) (did, hasMore bool, err error) {
	isOlder, err := l.checkOlderKeys(ctx, l.db.Read)
	if err != nil {
		return false, true, err
	}
	if !isOlder {
		return l.deleteUnusedKeys(ctx)
	}
	s, err := l.nextKeys(ctx)
	if err != nil {
		return false, true, err
	}
	err = l.inBlocks(ctx, func(t *database.Tx) error {
		after, err := lastListed(t.Ctx, t.SQL)
		if err != nil || after != s.after || after < 0 {
			return err
		}
		runs, err := listKeyRuns(t.Ctx, t.SQL, s.project)
		if err != nil || (&projectKeys{runs: runs}).end() != (&projectKeys{runs: s.runs}).end() {
			return err // another server has made the list
		}
		did, s.runs = true, runs
		return l.saveKeyStep(t, &s)
	})
	if did = did && err == nil; did && s.project == 0 {
		l.hasOlderKeys.Store(false)
	}
	return did, true, err
}

// nextKeys reads the next keys. Nothing deletes or moves their events meanwhile.
func (l *Log) nextKeys(ctx context.Context) (s keyStep, err error) {
	if s.after, err = lastListed(ctx, l.db.Read); err != nil {
		return s, err
	}
	projects, err := database.Column[int64](ctx, l.db.Read, `SELECT project_id FROM event_blocks WHERE project_id > $1 UNION SELECT project_id FROM event_new_chunks WHERE project_id > $1 ORDER BY project_id LIMIT 1`, s.after)
	if err != nil || len(projects) == 0 {
		return s, err
	}
	s.project = projects[0]
	if s.runs, err = listKeyRuns(ctx, l.db.Read, s.project); err != nil {
		return s, err
	}
	tail, err := l.readTail(ctx, l.Source(), s.project, (&projectKeys{runs: s.runs}).end(), l.KeyEvents*mergedKeyRuns)
	if err != nil {
		return s, err
	}
	var sealed int64
	if err := l.db.Read.QueryRowContext(ctx, `SELECT `+sealedEnd, s.project).Scan(&sealed); err != nil {
		return s, err
	}
	least := l.KeyEvents
	if len(tail) > 0 && tail[0].id <= sealed { // the keys of events in segments are in lists
		least = 1
	}
	s.keys = tail[:dueKeys(tail, least)]
	return s, nil
}

// saveKeyStep stores a step. After the last one, the table is not used any more.
func (l *Log) saveKeyStep(t *database.Tx, s *keyStep) (err error) {
	switch {
	case s.project == 0:
		hasTable, tableErr := database.HasTable(t.Ctx, t.SQL, l.db.Dialect.SingleWriter, "event_keys")
		if err = tableErr; hasTable && !l.db.Dialect.SingleWriter { // until the claims of other servers have ended
			_, err = t.Exec(`LOCK TABLE event_keys IN ACCESS EXCLUSIVE MODE`)
		}
		if err != nil {
			return err
		}
		_, err = t.Exec(`UPDATE places SET name = $2 WHERE name = $1`, database.PositionKeys, database.PositionUnusedKeys)
	case len(s.keys) == 0:
		_, err = t.Exec(`UPDATE places SET id = $2 WHERE name = $1`, database.PositionKeys, s.project)
	default:
		_, _, err = makeKeyRun(t, s.project, s.keys)
	}
	return err
}

// unusedKeys is the number of keys that a transaction deletes from the table. SQLite overwrites them.
const unusedKeys = 4096

// deleteUnusedKeys deletes a part of the table when there are lists, and drops it when it is empty.
func (l *Log) deleteUnusedKeys(ctx context.Context) (did, hasMore bool, err error) {
	if hasMore, err = hasUnusedKeys(ctx, l.db.Read); err != nil || !hasMore {
		return false, hasMore, err
	}
	err = l.inBlocks(ctx, func(t *database.Tx) error {
		if did, err = hasUnusedKeys(t.Ctx, t.SQL); err != nil || !did {
			return err
		}
		hasTable, err := database.HasTable(t.Ctx, t.SQL, l.db.Dialect.SingleWriter, "event_keys")
		if err != nil {
			return err
		}
		deleted := int64(0)
		if hasTable && l.db.Dialect.SingleWriter { // dropping a large table takes long
			result, err := t.Exec(`DELETE FROM event_keys WHERE key IN (SELECT key FROM event_keys ORDER BY key LIMIT $1)`, unusedKeys)
			if err == nil {
				deleted, err = result.RowsAffected()
			}
			if err != nil {
				return err
			}
		}
		if deleted == 0 {
			return dropKeys(t.Ctx, t.SQL)
		}
		return nil
	})
	return did && err == nil, hasMore, err
}

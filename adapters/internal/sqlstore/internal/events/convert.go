package events

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"time"

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

// Migrate migrates the schema to the newest version and converts the events of a store whose schema
// was older than 16: their long columns become chunks. It is done in small transactions and
// continues where it was interrupted.
func Migrate(ctx context.Context, db *database.DB, logger *slog.Logger) error {
	if err := db.Migrate(ctx, logger); err != nil {
		return err
	}
	var last int64
	for reported, done := time.Now(), false; !done; {
		t := db.NewTx(ctx, nil)
		err := db.InWrite(ctx, func(tx *sql.Tx) (err error) {
			t.SQL = tx
			last, done, err = convertStep(&t, db.Dialect.SingleWriter)
			return err
		})
		if err != nil {
			return fmt.Errorf("converting stored events after %d: %w", last, err)
		}
		if !done && time.Since(reported) > convertReport {
			reported = time.Now()
			logger.Info("stored events are being converted", "id", last)
		}
	}
	return nil
}

// convertStep converts the next events and returns the id of the last one. done is true if there
// are no further events, and then the older tables are dropped.
func convertStep(t *database.Tx, singleWriter bool) (last int64, done bool, err error) {
	text := `SELECT id FROM places WHERE name = $1`
	if !singleWriter { // servers that start at the same time take turns
		text += ` FOR UPDATE`
	}
	marks, err := database.Column[int64](t.Ctx, t.SQL, text, database.PositionRows)
	if err != nil || len(marks) == 0 {
		return 0, true, err
	}
	after := marks[0]
	list, err := readOlder(t, after)
	if err != nil {
		return after, false, err
	}
	if len(list) == 0 {
		for _, text := range []string{`DROP TABLE event_rows`, `DROP TABLE person_states`} {
			if _, err := t.Exec(text); err != nil {
				return after, false, err
			}
		}
		_, err := t.Exec(`DELETE FROM places WHERE name = $1`, database.PositionRows)
		return after, err == nil, err
	}
	last = list[len(list)-1].ID
	if _, err := t.Exec(`INSERT INTO events (id, `+shortColumns+`) SELECT id, `+shortColumns+` FROM event_rows WHERE id > $1 AND id <= $2`, after, last); err != nil {
		return after, false, err
	}
	if err := SaveChunks(t, list); err != nil {
		return after, false, err
	}
	projects := map[int64]bool{}
	for i := range list {
		projects[list[i].ProjectID] = true
	}
	for project := range projects {
		if err := mergeChunks(t, project, after, last); err != nil {
			return after, false, err
		}
	}
	if singleWriter { // SQLite reuses the freed pages; PostgreSQL frees them with the table
		if _, err := t.Exec(`DELETE FROM event_rows WHERE id <= $1`, last); err != nil {
			return after, false, err
		}
	}
	_, err = t.Exec(`UPDATE places SET id = $2 WHERE name = $1`, database.PositionRows, last)
	return last, false, err
}

// readOlder returns the next events with their long columns only.
func readOlder(t *database.Tx, after int64) (list []capture.Record, err error) {
	size := 0
	err = t.Each(func(rows *sql.Rows) error {
		var e capture.Record
		if err := rows.Scan(&e.ID, &e.ProjectID, &e.ElementsChain, &e.Properties, &e.PersonProperties); err != nil {
			return err
		}
		list = append(list, e)
		if size += len(e.ElementsChain) + len(e.Properties) + len(e.PersonProperties); size >= convertBytes {
			return database.ErrPageFull
		}
		return nil
	}, fmt.Sprintf(`SELECT e.id, e.project_id, e.elements_chain, e.properties,
		COALESCE((SELECT s.properties FROM person_states s WHERE s.event_id = e.person_state), '{}')
		FROM event_rows e WHERE e.id > $1 ORDER BY e.id LIMIT %d`, convertRows), after)
	if errors.Is(err, database.ErrPageFull) {
		err = nil
	}
	return list, err
}

package database

import "database/sql"

// The names of rows of the table counters. They are counted by project.
const (
	CounterPersons   = "persons"
	CounterFlagCalls = "flag_calls"
	CounterEvents    = "events"      // events ever recorded
	CounterRewritten = "rewritten"   // changes of stored data that make cached answers of queries wrong
	CounterSealed    = "sealed"      // changes of the list of segments and of their blocks
	CounterSeen      = "seen_names_" // followed by the number of the kind
)

// PositionEventID is the name of the row of the table places that has, on SQLite, the highest id
// that was assigned to an event, so that ids are not reused after the newest events were erased.
const PositionEventID = "event_id"

// PositionSegments is the name of the row of the table places that has the number of the database's
// folder of segment files, which is random.
const PositionSegments = "segments"

// PositionKeySecret is the name of the row of the table places that has the secret number of the
// hashes in lists of duplicate keys, which is random. It has no meaning while there are no lists.
const PositionKeySecret = "event_key_secret"

// The names of rows of the table places of a store of an earlier schema. They are deleted when its
// events are converted.
const (
	// PositionIndexed is the id up to which events that are not converted are in blocks.
	PositionIndexed = "event_index"
	// PositionChunks exists if there are the tables of schema 16.
	PositionChunks = "event_chunks_16"
	// PositionRows exists if there are the tables of a schema before 16. It is the id up to which an
	// earlier version has converted their events.
	PositionRows = "event_rows"
	// PositionUnconverted is an id that no event exceeds that is not converted. It exists until all are.
	PositionUnconverted = "event_unconverted"
	// PositionKeys exists while the table event_keys of a schema before 19 has the duplicate keys of all
	// events. It is the id of the last project whose keys are in lists.
	PositionKeys = "event_keys"
	// PositionUnusedKeys exists after that, until the table is deleted.
	PositionUnusedKeys = "event_keys_unused"
)

// Count adds n to a counter of a project.
func (t *Tx) Count(projectID int64, name string, n int64) error {
	if n == 0 {
		return nil
	}
	_, err := t.Exec(`INSERT INTO counters (project_id, name, n) VALUES ($1, $2, $3)
		ON CONFLICT (project_id, name) DO UPDATE SET n = counters.n + excluded.n`, projectID, name, n)
	return err
}

// ReadCounter returns a counter of a project, 0 if it has no row.
func (t *Tx) ReadCounter(projectID int64, name string) (n int64, err error) {
	err = t.Each(func(rows *sql.Rows) error { return rows.Scan(&n) }, `SELECT n FROM counters WHERE project_id = $1 AND name = $2`, projectID, name)
	return n, err
}

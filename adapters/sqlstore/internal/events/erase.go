package events

import (
	"context"

	"github.com/bunting-flags/bunting/adapters/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/capture"
)

// eraseChunk is the number of events that are erased at a time.
const eraseChunk = 500

// EraseEventsOf erases the events of a person's distinct ids, epoch by epoch, then the
// events that are not indexed yet, and returns their number.
func (l *Log) EraseEventsOf(ctx context.Context, q database.Querier, projectID int64, uuid capture.UUID) (events int64, err error) {
	epochs, err := database.Column[int64](ctx, q, `SELECT epoch FROM event_epochs WHERE project_id = $1 ORDER BY epoch`, projectID)
	if err != nil {
		return 0, err
	}
	const indexed = `SELECT e.id, e.uuid, e.event, e.distinct_id, e.timestamp FROM distinct_ids d
		CROSS JOIN events_by_distinct_id i JOIN events e ON e.id = i.id
		WHERE d.project_id = $1 AND d.person_uuid = $2
		AND i.epoch = $3 AND i.project_id = $1 AND i.distinct_id = d.distinct_id LIMIT $4`
	for _, epoch := range epochs {
		n, err := l.eraseAll(ctx, q, projectID, indexed, projectID, uuid[:], epoch, eraseChunk)
		if events += n; err != nil {
			return events, err
		}
	}
	mark, err := l.LastIndexedID(ctx, q)
	if err != nil || !l.db.Dialect.IndexesLater {
		return events, err
	}
	const rest = `SELECT e.id, e.uuid, e.event, e.distinct_id, e.timestamp FROM events e
		WHERE e.id > $3 AND e.project_id = $1 AND e.distinct_id IN
		(SELECT distinct_id FROM distinct_ids WHERE project_id = $1 AND person_uuid = $2) LIMIT $4`
	n, err := l.eraseAll(ctx, q, projectID, rest, projectID, uuid[:], mark, eraseChunk)
	return events + n, err
}

// eraseAll erases the events that a query finds, in chunks until it finds no more, and
// returns their number.
func (l *Log) eraseAll(ctx context.Context, q database.Querier, projectID int64, text string, args ...any) (events int64, err error) {
	for {
		found, err := readErasedEvents(ctx, q, projectID, text, args...)
		if err != nil || len(found) == 0 {
			return events, err
		}
		if err := l.deleteBlocks(ctx, q, found, false); err != nil {
			return events, err
		}
		if err := eraseEvents(ctx, q, found); err != nil {
			return events, err
		}
		events += int64(len(found))
		for i := range found { // the properties of the first states belong to the person too
			if _, err := q.ExecContext(ctx, `DELETE FROM person_states WHERE event_id = $1`, found[i].id); err != nil {
				return events, err
			}
		}
	}
}

// erasedEvent contains the columns of an event that locate it in all tables.
type erasedEvent struct {
	id, timestamp int64
	key           capture.EventKey
}

// readErasedEvents runs a query for the columns of erasedEvent.
func readErasedEvents(ctx context.Context, q database.Querier, projectID int64, text string, args ...any) ([]erasedEvent, error) {
	return database.List(ctx, q, func(e *erasedEvent) []any {
		e.key.ProjectID = projectID
		return []any{&e.id, database.ScanUUID(&e.key.UUID), &e.key.Name, &e.key.DistinctID, &e.timestamp}
	}, text, args...)
}

// eraseEvents deletes events from all tables. Events that are not indexed yet have no
// index rows, for which the statements delete no rows.
func eraseEvents(ctx context.Context, q database.Querier, events []erasedEvent) error {
	var key, scratch []byte
	for i := range events {
		e := &events[i]
		epoch, project := e.id>>EpochBits, e.key.ProjectID
		key, scratch = AppendKey(key[:0], scratch, &e.key)
		for _, step := range []struct {
			text string
			args []any
		}{
			{`DELETE FROM events_by_time WHERE epoch = $1 AND project_id = $2 AND timestamp = $3 AND id = $4`, []any{epoch, project, e.timestamp, e.id}},
			{`DELETE FROM events_by_name WHERE epoch = $1 AND project_id = $2 AND event = $3 AND timestamp = $4 AND id = $5`, []any{epoch, project, e.key.Name, e.timestamp, e.id}},
			{`DELETE FROM events_by_distinct_id WHERE epoch = $1 AND project_id = $2 AND distinct_id = $3 AND timestamp = $4 AND id = $5`, []any{epoch, project, e.key.DistinctID, e.timestamp, e.id}},
			{`DELETE FROM event_keys WHERE key = $1`, []any{key}},
			{`DELETE FROM events WHERE id = $1`, []any{e.id}},
		} {
			if _, err := q.ExecContext(ctx, step.text, step.args...); err != nil {
				return err
			}
		}
	}
	return nil
}

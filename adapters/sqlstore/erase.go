package sqlstore

import (
	"context"
	"fmt"

	"github.com/bunting-flags/bunting/capture"
)

// eraseChunk is the number of events that are erased at a time.
const eraseChunk = 500

// ErasePerson implements capture.Tx. The person's cache entries for flags are dropped
// after the commit.
func (t *ledgerTx) ErasePerson(projectID int64, uuid capture.UUID, withEvents bool) (found bool, events int64, err error) {
	found, events, err = t.store.erasePerson(t.ctx, t.tx, projectID, uuid, withEvents)
	if err == nil && found && withEvents {
		err = t.count(projectID, counterErasures, 1)
	}
	if err == nil && found {
		err = t.count(projectID, counterRewritten, 1)
	}
	if err != nil {
		return false, 0, fmt.Errorf("erasing a person: %w", err)
	}
	if found {
		t.store.states.Purge() // the same person may be imported later
		t.saved = append(t.saved, &capture.Changes{Persons: []capture.ProjectPerson{{ProjectID: projectID, Person: &capture.Person{UUID: uuid}}}})
	}
	return found, events, nil
}

// EraseEvents implements capture.Tx.
func (t *ledgerTx) EraseEvents(projectID int64, uuid capture.UUID) (int64, error) {
	events, err := t.store.eraseEventsOf(t.ctx, t.tx, projectID, uuid)
	if err == nil {
		err = t.count(projectID, counterErasures, 1)
	}
	if err == nil {
		err = t.count(projectID, counterRewritten, 1)
	}
	if err != nil {
		return 0, fmt.Errorf("erasing events: %w", err)
	}
	t.store.states.Purge() // the states point to properties in the erased events
	return events, nil
}

// erasePerson implements ErasePerson in a transaction that holds the lock of the
// project.
func (s *Store) erasePerson(ctx context.Context, q querier, projectID int64, uuid capture.UUID, withEvents bool) (found bool, events int64, err error) {
	versions, err := column[int64](ctx, q, `SELECT version FROM persons WHERE project_id = $1 AND uuid = $2`, projectID, uuid[:])
	if err != nil || len(versions) == 0 {
		return false, 0, err
	}
	if withEvents {
		if events, err = s.eraseEventsOf(ctx, q, projectID, uuid); err != nil {
			return true, events, fmt.Errorf("erasing events: %w", err)
		}
	}
	// The version stays, so that a person imported with the same UUID later continues
	// from it.
	if _, err := q.ExecContext(ctx, `INSERT INTO erased_persons (project_id, uuid, version) VALUES ($1, $2, $3)
		ON CONFLICT (project_id, uuid) DO UPDATE SET version = excluded.version`, projectID, uuid[:], versions[0]); err != nil {
		return true, events, err
	}
	if err := eraseWarnings(ctx, q, projectID, uuid); err != nil {
		return true, events, fmt.Errorf("erasing warnings: %w", err)
	}
	// Members of static cohorts are stored by distinct id, so the rows go before the
	// distinct ids.
	const ids = `(SELECT distinct_id FROM distinct_ids WHERE project_id = $1 AND person_uuid = $2)`
	for _, text := range []string{
		`DELETE FROM cohort_members WHERE project_id = $1 AND distinct_id IN ` + ids,
		`DELETE FROM flag_overrides WHERE project_id = $1 AND person_uuid = $2`,
		`DELETE FROM distinct_ids WHERE project_id = $1 AND person_uuid = $2`,
		`DELETE FROM persons WHERE project_id = $1 AND uuid = $2`,
	} {
		if _, err := q.ExecContext(ctx, text, projectID, uuid[:]); err != nil {
			return true, events, err
		}
	}
	_, err = q.ExecContext(ctx, `UPDATE counters SET n = n - 1 WHERE project_id = $1 AND name = $2`, projectID, counterPersons)
	return true, events, err
}

// eraseWarnings deletes a person's warnings, which contain the beginnings of distinct
// ids.
func eraseWarnings(ctx context.Context, q querier, projectID int64, uuid capture.UUID) error {
	ids, err := column[string](ctx, q, `SELECT distinct_id FROM distinct_ids WHERE project_id = $1 AND person_uuid = $2`, projectID, uuid[:])
	if err != nil {
		return err
	}
	for _, id := range ids {
		if _, err := q.ExecContext(ctx, `DELETE FROM warnings WHERE project_id = $1 AND distinct_id = $2`, projectID, capture.WarningID(id)); err != nil {
			return err
		}
	}
	return nil
}

// eraseEventsOf erases the events of a person's distinct ids, epoch by epoch, then the
// events that are not indexed yet, and returns their number.
func (s *Store) eraseEventsOf(ctx context.Context, q querier, projectID int64, uuid capture.UUID) (events int64, err error) {
	epochs, err := column[int64](ctx, q, `SELECT epoch FROM event_epochs WHERE project_id = $1 ORDER BY epoch`, projectID)
	if err != nil {
		return 0, err
	}
	const indexed = `SELECT e.id, e.uuid, e.event, e.distinct_id, e.timestamp FROM distinct_ids d
		CROSS JOIN events_by_distinct_id i JOIN events e ON e.id = i.id
		WHERE d.project_id = $1 AND d.person_uuid = $2
		AND i.epoch = $3 AND i.project_id = $1 AND i.distinct_id = d.distinct_id LIMIT $4`
	for _, epoch := range epochs {
		n, err := s.eraseAll(ctx, q, projectID, indexed, projectID, uuid[:], epoch, eraseChunk)
		if events += n; err != nil {
			return events, err
		}
	}
	mark, err := s.lastIndexedID(ctx, q)
	if err != nil || !s.dialect.indexesLater {
		return events, err
	}
	const rest = `SELECT e.id, e.uuid, e.event, e.distinct_id, e.timestamp FROM events e
		WHERE e.id > $3 AND e.project_id = $1 AND e.distinct_id IN
		(SELECT distinct_id FROM distinct_ids WHERE project_id = $1 AND person_uuid = $2) LIMIT $4`
	n, err := s.eraseAll(ctx, q, projectID, rest, projectID, uuid[:], mark, eraseChunk)
	return events + n, err
}

// eraseAll erases the events that a query finds, in chunks until it finds no more, and
// returns their number.
func (s *Store) eraseAll(ctx context.Context, q querier, projectID int64, text string, args ...any) (events int64, err error) {
	for {
		found, err := readErasedEvents(ctx, q, projectID, text, args...)
		if err != nil || len(found) == 0 {
			return events, err
		}
		if err := s.deleteBlocks(ctx, q, found, false); err != nil {
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
func readErasedEvents(ctx context.Context, q querier, projectID int64, text string, args ...any) ([]erasedEvent, error) {
	return list(ctx, q, func(e *erasedEvent) []any {
		e.key.ProjectID = projectID
		return []any{&e.id, scanUUID(&e.key.UUID), &e.key.Name, &e.key.DistinctID, &e.timestamp}
	}, text, args...)
}

// eraseEvents deletes events from all tables. Events that are not indexed yet have no
// index rows, for which the statements delete no rows.
func eraseEvents(ctx context.Context, q querier, events []erasedEvent) error {
	var key, scratch []byte
	for i := range events {
		e := &events[i]
		epoch, project := e.id>>epochBits, e.key.ProjectID
		key, scratch = appendKey(key[:0], scratch, &e.key)
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

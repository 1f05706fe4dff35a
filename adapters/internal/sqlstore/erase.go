package sqlstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/events"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/management"
)

// ErasePerson implements capture.Tx. The person's cache entries for flags are dropped
// after the commit.
func (t *ledgerTx) ErasePerson(projectID int64, uuid capture.UUID, withEvents bool) (found bool, events int64, err error) {
	found, events, err = t.store.erasePerson(&t.Tx, projectID, uuid, withEvents)
	if err == nil && found {
		err = t.Count(projectID, database.CounterRewritten, 1)
	}
	if err != nil {
		return false, 0, fmt.Errorf("erasing a person: %w", eraseError(err))
	}
	if found {
		t.hasErased = true
		t.saved = append(t.saved, &capture.Changes{Persons: []capture.ProjectPerson{{ProjectID: projectID, Person: &capture.Person{UUID: uuid}}}})
	}
	return found, events, nil
}

// EraseEvents implements capture.Tx.
func (t *ledgerTx) EraseEvents(projectID int64, uuid capture.UUID) (int64, error) {
	events, err := t.store.events.EraseEventsOf(&t.Tx, projectID, uuid)
	if err == nil {
		err = t.Count(projectID, database.CounterRewritten, 1)
	}
	if err != nil {
		return 0, fmt.Errorf("erasing events: %w", eraseError(err))
	}
	t.hasErased = true
	return events, nil
}

// eraseError returns an error that clients see if events cannot be erased yet.
func eraseError(err error) error {
	if !errors.Is(err, events.ErrConverting) {
		return err
	}
	return &management.Error{Kind: management.Unavailable, Code: "converting", Message: "Events cannot be deleted yet: the events of an earlier version of the server are still being converted. Nothing was deleted. Try again later."}
}

// erasePerson implements ErasePerson in a transaction that holds the lock of the
// project.
func (s *Store) erasePerson(t *database.Tx, projectID int64, uuid capture.UUID, withEvents bool) (found bool, events int64, err error) {
	ctx, q := t.Ctx, t.SQL
	versions, err := database.Column[int64](ctx, q, `SELECT version FROM persons WHERE project_id = $1 AND uuid = $2`, projectID, uuid[:])
	if err != nil || len(versions) == 0 {
		return false, 0, err
	}
	if withEvents {
		if events, err = s.events.EraseEventsOf(t, projectID, uuid); err != nil {
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
	_, err = q.ExecContext(ctx, `UPDATE counters SET n = n - 1 WHERE project_id = $1 AND name = $2`, projectID, database.CounterPersons)
	return true, events, err
}

// eraseWarnings deletes a person's warnings, which contain the beginnings of distinct
// ids.
func eraseWarnings(ctx context.Context, q database.Querier, projectID int64, uuid capture.UUID) error {
	ids, err := database.Column[string](ctx, q, `SELECT distinct_id FROM distinct_ids WHERE project_id = $1 AND person_uuid = $2`, projectID, uuid[:])
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

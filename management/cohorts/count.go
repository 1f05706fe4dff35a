package cohorts

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/definitions"
	"github.com/bunting-flags/bunting/management/internal/resource"
	"github.com/bunting-flags/bunting/management/internal/storage"
	"github.com/bunting-flags/bunting/management/internal/storedcohorts"
)

// calculateTime is the timeout for counting a cohort after a write.
const calculateTime = 10 * time.Second

// calculate counts the persons of a dynamic cohort and stores the result and an entry in the
// cohort's list of calculations. If counting fails, the failure is recorded and the previous
// count is preserved. The persons are read outside of the transaction, since that may take
// seconds.
func (s Service) calculate(ctx context.Context, scope *management.Scope, id int64) error {
	started := s.Env.Now()
	limited, cancel := context.WithTimeout(ctx, calculateTime)
	defer cancel()
	m, record, failed := s.newMatcher(limited, scope, id)
	n, more := 0, false
	if failed == nil {
		more, failed = s.scan(limited, scope, m, func(*management.Person) bool { n++; return true })
	}
	return s.Env.Store.Write(ctx, func(tx storeTx) error {
		d, err := tx.Definition(management.CohortDefinition, scope.Project.ID, id)
		if err != nil || d == nil || d.Deleted || record != nil && !bytes.Equal(d.Record, record) {
			return err // the cohort was changed concurrently: that write starts its own count
		}
		current, err := storedcohorts.Decode(d)
		if err != nil {
			return err
		}
		run := cohortCalculation{ID: s.Env.NewID(), Filters: definitions.JSONOr(current.Filters, "null"), Started: management.NewStamp(started), Finished: management.NewStamp(s.Env.Now())}
		if failed != nil {
			current.Errors++
			run.Error = countErrorText(failed)
		} else {
			current.Errors, current.Count, current.LastCalculation = 0, &n, management.NewStamp(started)
			exact := !more
			run.Count, run.Exact = &n, &exact
		}
		if err := current.Put(tx, scope); err != nil {
			return err
		}
		if err := s.scheduleNextCount(tx, scope.Project.ID, id); err != nil {
			return err
		}
		return saveCalculation(tx, scope, id, &run)
	})
}

// countErrorText returns the message that is stored for a failed count. It contains no details of
// internal errors, since every reader of the cohort can see it.
func countErrorText(err error) *string {
	text := "The persons could not be read."
	switch {
	case errors.Is(err, errNotEvaluable):
		text = "The cohort cannot be evaluated: a cohort that it refers to no longer exists or cannot be read."
	case errors.Is(err, context.DeadlineExceeded):
		text = "The count took too long."
	}
	return &text
}

// kindCalculation is the kind of records of finished counts. Parent is the cohort (Parent)
// and Sort a sequence number.
const kindCalculation = "cohort_calculation"

// maxCalculations is the number of counts that are stored for each cohort.
const maxCalculations = 100

// cohortCalculation is one finished count of a dynamic cohort.
type cohortCalculation struct {
	ID string `json:"id"`
	// Filters are the filters that were evaluated.
	Filters json.RawMessage `json:"filters"`
	// Count is the number of persons, null if the count failed.
	Count *int `json:"count"`
	// Exact is false if only the newest maxPersons persons were counted. It is null if the count
	// failed.
	Exact    *bool            `json:"exact"`
	Started  management.Stamp `json:"started_at"`
	Finished management.Stamp `json:"finished_at"`
	// Error is the reason of a failure, null if the count succeeded.
	Error *string `json:"error"`
}

// saveCalculation stores a calculation and deletes the oldest records beyond maxCalculations.
func saveCalculation(tx storeTx, scope *management.Scope, cohort int64, run *cohortCalculation) error {
	n, err := tx.Next(kindCalculation)
	if err != nil {
		return err
	}
	parent := storedcohorts.Parent(scope.Project.ID, cohort)
	if err := tx.Put(&management.Record{Kind: kindCalculation, Parent: parent, ID: run.ID, Sort: storage.SortNumber(n), Data: storage.Encode(run)}); err != nil {
		return err
	}
	old, _, err := tx.List(management.Query{Kind: kindCalculation, Parent: parent, Descending: true, Offset: maxCalculations})
	for i := 0; i < len(old) && err == nil; i++ {
		err = tx.Delete(kindCalculation, parent, old[i].ID)
	}
	return err
}

// Calculations returns a page of the stored counts of a cohort, newest first.
func (s Service) Calculations(ctx context.Context, scope *management.Scope, id string, p management.Page) (management.List[cohortCalculation], error) {
	return resource.ReadOne(ctx, s.resource(nil, false), scope, id, func(v *view, c *storedcohorts.Cohort) (management.List[cohortCalculation], error) {
		return management.ListRecords[cohortCalculation](v.Tx, management.Query{
			Kind: kindCalculation, Parent: storedcohorts.Parent(scope.Project.ID, c.ID), Descending: true, Offset: p.Offset, Limit: p.Limit,
		})
	})
}

// scheduleNextCount schedules the next count of a cohort, one countInterval from now.
func (s Service) scheduleNextCount(tx storeTx, project, cohort int64) error {
	return storedcohorts.ScheduleCount(tx, project, cohort, s.Env.Now().Add(countInterval))
}

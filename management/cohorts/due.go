package cohorts

import (
	"context"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/storage"
	"github.com/bunting-flags/bunting/management/internal/storedcohorts"
)

// countInterval is the maximum age of a dynamic cohort's count. Older counts are updated in
// the background by CountDue.
const countInterval = time.Hour

// CountDue counts the cohort whose scheduled count is the oldest, if that time has passed:
// cohorts that have not been counted since they were written, and those whose count is older than
// countInterval. It returns true if more cohorts may be due. Several servers may call it
// concurrently: within the transaction that selects a cohort its next count is scheduled, so that
// no other server selects it.
func (s Service) CountDue(ctx context.Context) (more bool, err error) {
	due, err := management.Read(ctx, &s.Env, s.nextCount)
	if err != nil || due == nil {
		return false, err
	}
	var cohort *storedcohorts.Cohort
	var scope *management.Scope
	var replaced bool
	err = s.Env.Store.Write(ctx, func(tx storeTx) error {
		// The store may run the function again after a conflict, so reset its results.
		cohort, scope, replaced = nil, nil, false
		due, err := s.nextCount(tx)
		if err != nil || due == nil { // another server may have processed it
			return err
		}
		if replaced = len(due.Cohorts) > 0; replaced {
			for _, id := range due.Cohorts {
				if err := storedcohorts.ScheduleCount(tx, due.Project, id, time.Unix(0, 0)); err != nil {
					return err
				}
			}
			return tx.Delete(storedcohorts.KindCountDue, "", due.ID)
		}
		p, c, err := s.loadDue(tx, due)
		if err != nil {
			return err
		}
		if c == nil || !c.IsCountedPeriodically() {
			return tx.Delete(storedcohorts.KindCountDue, "", due.ID)
		}
		cohort, scope = c, &management.Scope{Project: p}
		return s.scheduleNextCount(tx, due.Project, due.Cohort)
	})
	switch {
	case err == nil && replaced:
		return s.CountDue(ctx)
	case err != nil || cohort == nil:
	case cohort.Static:
		err = s.countListed(ctx, scope, cohort.ID)
	default:
		err = s.calculate(ctx, scope, cohort.ID)
	}
	return err == nil, err
}

// countListed counts a large static cohort. Counting runs outside of the write transaction, since
// it may be slow.
func (s Service) countListed(ctx context.Context, scope *management.Scope, id int64) error {
	n, err := management.Read(ctx, &s.Env, func(tx storeTx) (int, error) { return tx.CountMembers(scope.Project.ID, id) })
	if err != nil {
		return err
	}
	return s.Env.Store.Write(ctx, func(tx storeTx) error {
		d, err := tx.Definition(management.CohortDefinition, scope.Project.ID, id)
		if err != nil || d == nil || d.Deleted {
			return err
		}
		c, err := storedcohorts.Decode(d)
		if err != nil || !c.Static {
			return err
		}
		c.Count, c.LastCalculation = &n, management.NewStamp(s.Env.Now())
		if err := c.Put(tx, scope); err != nil {
			return err
		}
		return s.scheduleNextCount(tx, scope.Project.ID, id)
	})
}

// nextCount returns the record that has been due for the longest time, or nil if none is due.
func (s Service) nextCount(tx storeTx) (*storedcohorts.CountDue, error) {
	due, _, err := tx.List(management.Query{Kind: storedcohorts.KindCountDue, To: storage.SortTime(s.Env.Now().Add(time.Microsecond)), Limit: 1})
	if err != nil || len(due) == 0 {
		return nil, err
	}
	next, err := management.Decode[storedcohorts.CountDue](&due[0])
	if err == nil {
		next.ID = due[0].ID
	}
	return next, err
}

// loadDue returns the project and the cohort of a record. The cohort is nil if it or its project
// no longer exists, or if it is defined in a file.
func (s Service) loadDue(tx storeTx, due *storedcohorts.CountDue) (*management.ProjectRecord, *storedcohorts.Cohort, error) {
	p, err := tx.Project(due.Project)
	if err != nil || p == nil {
		return nil, nil, err
	}
	d, err := tx.Definition(management.CohortDefinition, p.ID, due.Cohort)
	if err != nil || d == nil || d.Origin != "" {
		return p, nil, err
	}
	c, err := storedcohorts.Decode(d)
	return p, c, err
}

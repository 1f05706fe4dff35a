package featureflags

import (
	"context"
	"time"

	"github.com/bunting-flags/bunting/management"
)

// CohortCountInterval is the maximum age of a dynamic cohort's count. Older counts are updated in
// the background by CountDue.
const CohortCountInterval = time.Hour

// maxLiveCount is the size up to which a static cohort is counted on each read. Larger static
// cohorts are counted in the background, like dynamic ones.
const maxLiveCount = 100_000

// kindCohortCount is the kind of records that schedule the next count of a cohort. ID is the
// Parent of the cohort's calculations and Sort the time. Static cohorts that are counted on each
// read have no such record.
const kindCohortCount = "cohort_count_due"

// cohortCountDue is the data of such a record. If Cohorts is not empty, as after applying a large
// document, the record stands for one record of each of these cohorts, and it is replaced by them
// when it is due.
type cohortCountDue struct {
	Project int64   `json:"project"`
	Cohort  int64   `json:"cohort"`
	Cohorts []int64 `json:"cohorts,omitempty"`

	id string // of the record
}

// isCountedPeriodically reports whether the cohort is counted periodically in the background.
func (c *storedCohort) isCountedPeriodically() bool {
	return !c.Deleted && (!c.Static || c.Count != nil && *c.Count > maxLiveCount)
}

// scheduleCount schedules a count of a cohort, and replaces an earlier schedule.
func scheduleCount(tx Tx, project, cohort int64, at time.Time) error {
	return tx.Put(&management.Record{
		Kind: kindCohortCount, ID: cohortParent(project, cohort), Sort: management.SortTime(at), Data: management.Encode(cohortCountDue{Project: project, Cohort: cohort}),
	})
}

// scheduleCounts schedules an immediate count of the cohorts of a document. It writes a single
// record for all of them, so that applying a large document stays cheap.
func (s Cohorts) scheduleCounts(tx Tx, project int64, cohorts []*cohortDraft) error {
	var due []int64
	for _, c := range cohorts {
		if c.isCountedPeriodically() {
			due = append(due, c.ID)
		}
	}
	if len(due) == 0 {
		return nil
	}
	return tx.Put(&management.Record{
		Kind: kindCohortCount, ID: cohortParent(project, 0) + "/" + s.Env.NewID(), Sort: management.SortTime(time.Unix(0, 0)),
		Data: management.Encode(cohortCountDue{Project: project, Cohorts: due}),
	})
}

// scheduleNextCount schedules the next count of a cohort, one CohortCountInterval from now.
func (s Cohorts) scheduleNextCount(tx Tx, project, cohort int64) error {
	return scheduleCount(tx, project, cohort, s.Env.Now().Add(CohortCountInterval))
}

// CountDue counts the cohort whose scheduled count is the oldest, if that time has passed:
// cohorts that have not been counted since they were written, and those whose count is older than
// CohortCountInterval. It returns true if more cohorts may be due. Several servers may call it
// concurrently: within the transaction that selects a cohort its next count is scheduled, so that
// no other server selects it.
func (s Cohorts) CountDue(ctx context.Context) (more bool, err error) {
	due, err := management.Read(ctx, &s.Env, s.nextCount)
	if err != nil || due == nil {
		return false, err
	}
	var cohort *storedCohort
	var scope *management.Scope
	var replaced bool
	err = s.Env.Store.Write(ctx, func(tx Tx) error {
		// The store may run the function again after a conflict, so reset its results.
		cohort, scope, replaced = nil, nil, false
		due, err := s.nextCount(tx)
		if err != nil || due == nil { // another server may have processed it
			return err
		}
		if replaced = len(due.Cohorts) > 0; replaced {
			for _, id := range due.Cohorts {
				if err := scheduleCount(tx, due.Project, id, time.Unix(0, 0)); err != nil {
					return err
				}
			}
			return tx.Delete(kindCohortCount, "", due.id)
		}
		p, c, err := s.loadDue(tx, due)
		if err != nil {
			return err
		}
		if c == nil || !c.isCountedPeriodically() {
			return tx.Delete(kindCohortCount, "", due.id)
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
func (s Cohorts) countListed(ctx context.Context, scope *management.Scope, id int64) error {
	n, err := management.Read(ctx, &s.Env, func(tx Tx) (int, error) { return tx.CountMembers(scope.Project.ID, id) })
	if err != nil {
		return err
	}
	return s.Env.Store.Write(ctx, func(tx Tx) error {
		d, err := tx.Definition(CohortDefinition, scope.Project.ID, id)
		if err != nil || d == nil || d.Deleted {
			return err
		}
		c, err := decodeCohort(d)
		if err != nil || !c.Static {
			return err
		}
		c.Count, c.LastCalculation = &n, management.NewStamp(s.Env.Now())
		if err := c.put(tx, scope); err != nil {
			return err
		}
		return s.scheduleNextCount(tx, scope.Project.ID, id)
	})
}

// nextCount returns the record that has been due for the longest time, or nil if none is due.
func (s Cohorts) nextCount(tx Tx) (*cohortCountDue, error) {
	due, _, err := tx.List(management.Query{Kind: kindCohortCount, To: management.SortTime(s.Env.Now().Add(time.Microsecond)), Limit: 1})
	if err != nil || len(due) == 0 {
		return nil, err
	}
	next, err := management.Decode[cohortCountDue](&due[0])
	if err == nil {
		next.id = due[0].ID
	}
	return next, err
}

// loadDue returns the project and the cohort of a record. The cohort is nil if it or its project
// no longer exists, or if it is defined in a file.
func (s Cohorts) loadDue(tx Tx, due *cohortCountDue) (*management.ProjectRecord, *storedCohort, error) {
	p, err := tx.Project(due.Project)
	if err != nil || p == nil {
		return nil, nil, err
	}
	d, err := tx.Definition(CohortDefinition, p.ID, due.Cohort)
	if err != nil || d == nil || d.Origin != "" {
		return p, nil, err
	}
	c, err := decodeCohort(d)
	return p, c, err
}

// memberCount returns the number of persons of a cohort. Static cohorts up to maxLiveCount are
// counted now, because merging and erasing persons changes their number without a write to the
// cohort. For all other cohorts it returns the stored count.
func (s Cohorts) memberCount(v *view, c *storedCohort) (*int, error) {
	if !c.Static || c.Deleted || c.Count == nil || *c.Count > maxLiveCount {
		return c.Count, nil
	}
	n, err := v.Tx.CountMembers(v.Project.ID, c.ID)
	return &n, err
}

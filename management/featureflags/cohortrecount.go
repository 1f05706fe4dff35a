package featureflags

import (
	"context"
	"time"

	"github.com/bunting-flags/bunting/management"
)

// CohortCountInterval is how old the count of a dynamic cohort becomes: then it is counted again.
const CohortCountInterval = time.Hour

// maxLiveCount is up to how many persons a static cohort is counted whenever it is shown.
// Larger ones are counted again like dynamic ones.
const maxLiveCount = 100_000

// kindCohortCount is when a cohort is counted again: ID is that of its calculations, Sort
// the time. Static cohorts that are counted whenever they are shown have none.
const kindCohortCount = "cohort_count_due"

// cohortCountDue is the data of such a record. One with Cohorts, which a document of many
// leaves, stands for a record of each of them: it is replaced by these when it is due.
type cohortCountDue struct {
	Project int64   `json:"project"`
	Cohort  int64   `json:"cohort"`
	Cohorts []int64 `json:"cohorts,omitempty"`

	id string // of the record
}

// recounted reports whether a cohort is counted again as time goes by.
func (c *storedCohort) recounted() bool {
	return !c.Deleted && (!c.Static || c.Count != nil && *c.Count > maxLiveCount)
}

// plantCount makes a cohort due to be counted at a time.
func plantCount(tx Tx, project, cohort int64, at time.Time) error {
	return tx.Put(&management.Record{
		Kind: kindCohortCount, ID: cohortParent(project, cohort), Sort: management.SortTime(at), Data: management.Encode(cohortCountDue{Project: project, Cohort: cohort}),
	})
}

// plantCounts makes those cohorts of a document due at once that are counted as time goes
// by, with one record for all of them.
func (s Cohorts) plantCounts(tx Tx, project int64, cohorts []*cohortDraft) error {
	var due []int64
	for _, c := range cohorts {
		if c.recounted() {
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

// plantNext makes a cohort due to be counted again, an interval from now.
func (s Cohorts) plantNext(tx Tx, project, cohort int64) error {
	return plantCount(tx, project, cohort, s.Env.Now().Add(CohortCountInterval))
}

// CountDue counts the cohort that has been due longest, if one is: those that nobody has
// counted since they were written, and those whose count is older than CohortCountInterval. more:
// others may be. Several servers share the work.
func (s Cohorts) CountDue(ctx context.Context) (more bool, err error) {
	due, err := management.Read(ctx, &s.Env, s.nextCount)
	if err != nil || due == nil {
		return false, err
	}
	var cohort *storedCohort
	var scope *management.Scope
	var replaced bool
	err = s.Env.Store.Write(ctx, func(tx Tx) error {
		cohort, scope, replaced = nil, nil, false
		due, err := s.nextCount(tx)
		if err != nil || due == nil { // another server has taken it
			return err
		}
		if replaced = len(due.Cohorts) > 0; replaced {
			for _, id := range due.Cohorts {
				if err := plantCount(tx, due.Project, id, time.Unix(0, 0)); err != nil {
					return err
				}
			}
			return tx.Delete(kindCohortCount, "", due.id)
		}
		p, c, err := s.loadDue(tx, due)
		if err != nil {
			return err
		}
		if c == nil || !c.recounted() {
			return tx.Delete(kindCohortCount, "", due.id)
		}
		cohort, scope = c, &management.Scope{Project: p}
		return s.plantNext(tx, due.Project, due.Cohort)
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

// countListed counts a large static cohort, outside of the transaction that keeps the count.
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
		return s.plantNext(tx, scope.Project.ID, id)
	})
}

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

// loadDue is the cohort and its project, nil where one of them is gone.
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

// memberCount counts the persons of a static cohort as they are now: persons are merged and
// erased without its being changed. It is the stored count for other cohorts.
func (s Cohorts) memberCount(v *view, c *storedCohort) (*int, error) {
	if !c.Static || c.Deleted || c.Count == nil || *c.Count > maxLiveCount {
		return c.Count, nil
	}
	n, err := v.Tx.CountMembers(v.Project.ID, c.ID)
	return &n, err
}

package featureflags

import (
	"context"
	"time"

	"github.com/bunting-flags/bunting/management"
)

// CohortsEvery is how old the count of a dynamic cohort becomes: then it is counted again.
const CohortsEvery = time.Hour

// liveMembers is up to how many persons a static cohort is counted whenever it is shown.
// Larger ones show the count of their last change.
const liveMembers = 100_000

// kindCohortCount is when a dynamic cohort is counted again: ID is that of its
// calculations, Sort the time.
const kindCohortCount = "cohort_count_due"

type cohortCountDue struct {
	Project int64 `json:"project"`
	Cohort  int64 `json:"cohort"`
}

// plantCount makes a cohort due to be counted again, an interval from now.
func (s Cohorts) plantCount(tx Tx, project, cohort int64) error {
	return tx.Put(&management.Record{
		Kind: kindCohortCount, ID: cohortParent(project, cohort), Sort: management.SortTime(s.Desk.Now().Add(CohortsEvery)), Data: management.Encode(cohortCountDue{project, cohort}),
	})
}

// CountDue counts the dynamic cohort whose count is oldest, if it is older than
// CohortsEvery; more: others may be. Several servers share the work.
func (s Cohorts) CountDue(ctx context.Context) (more bool, err error) {
	due, err := management.Read(ctx, &s.Desk, s.nextCount)
	if err != nil || due == nil {
		return false, err
	}
	var id int64
	var st *management.Standing
	err = s.Desk.Store.Write(ctx, func(tx Tx) error {
		id, st = 0, nil
		due, err := s.nextCount(tx)
		if err != nil || due == nil { // another server has taken it
			return err
		}
		p, c, err := s.dueCohort(tx, due)
		if err != nil {
			return err
		}
		if c == nil || c.Deleted || c.Static {
			return tx.Delete(kindCohortCount, "", cohortParent(due.Project, due.Cohort))
		}
		id, st = c.ID, &management.Standing{Project: p}
		return s.plantCount(tx, due.Project, due.Cohort)
	})
	if err == nil && st != nil {
		err = s.calculate(ctx, st, id)
	}
	return err == nil, err
}

func (s Cohorts) nextCount(tx Tx) (*cohortCountDue, error) {
	due, _, err := tx.List(management.Query{Kind: kindCohortCount, To: management.SortTime(s.Desk.Now().Add(time.Microsecond)), Limit: 1})
	if err != nil || len(due) == 0 {
		return nil, err
	}
	return management.Decode[cohortCountDue](&due[0])
}

// dueCohort is the cohort and its project, nil where one of them is gone.
func (s Cohorts) dueCohort(tx Tx, due *cohortCountDue) (*management.ProjectRecord, *storedCohort, error) {
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

// members counts the persons of a static cohort as they are now: persons are merged and
// erased without its being changed. It is the stored count for other cohorts.
func (s Cohorts) members(v *view, c *storedCohort) (*int, error) {
	if !c.Static || c.Deleted || c.Count == nil || *c.Count > liveMembers {
		return c.Count, nil
	}
	n, err := v.Tx.CountMembers(v.Project.ID, c.ID)
	return &n, err
}

package surveys

import (
	"context"
	"errors"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/definitions"
	"github.com/bunting-flags/bunting/management/internal/records"
	"github.com/bunting-flags/bunting/management/internal/resource"
)

// maxDueIterations limits the iterations that one call of StartDueIterations starts.
const maxDueIterations = 50

// StartDueIterations updates the flags of surveys whose next iteration has begun, each in its own
// transaction, and returns their number. If a flag cannot be changed, it is tried at the next
// iteration.
func (s Service) StartDueIterations(ctx context.Context) (done int, err error) {
	for done < maxDueIterations {
		// Read first: on most calls no iteration is due, and a read needs no lock.
		due, err := management.Read(ctx, &s.Env, s.nextIteration)
		if err != nil || due == nil {
			return done, err
		}
		job, err := management.Write(ctx, &s.Env, s.startNextIteration)
		if err != nil || job == nil {
			return done, err
		}
		job.ReportTo(s.JobDone)
		done++
	}
	return done, nil
}

// nextIteration returns the survey whose iteration has been due for the longest time, or nil if no
// iteration is due.
func (s Service) nextIteration(tx storeTx) (*surveyIteration, error) {
	return records.NextDue[surveyIteration](tx, management.Query{Kind: kindSurveyIteration}, s.Env.Now())
}

// startNextIteration starts the iteration that has been due for the longest time. Several servers
// may call it concurrently, so it reads the record again within its own transaction.
func (s Service) startNextIteration(tx storeTx) (*management.JobDone, error) {
	due, err := s.nextIteration(tx)
	if err != nil || due == nil {
		return nil, err
	}
	done := &management.JobDone{Job: management.JobSurvey, ID: due.Survey, Project: due.Project}
	p, err := tx.Project(due.Project)
	if err != nil {
		return nil, err
	}
	// A survey or project that was deleted needs no further iterations.
	if p == nil {
		return done, tx.Delete(kindSurveyIteration, "", due.Survey)
	}
	x, err := resource.LoadRecord[storedSurvey](tx, kindSurvey, management.ProjectParent(p.ID), due.Survey)
	if err != nil {
		return nil, err
	}
	if x == nil {
		return done, tx.Delete(kindSurveyIteration, "", due.Survey)
	}
	v, err := definitions.JobView(tx, p, x.CreatedBy)
	if err != nil {
		return nil, err
	}
	// A fault of the flag is reported, but does not stop the next iterations.
	err = s.changeFlag(tx, v.Scope, x.InternalTargeting, x.isRunning(), x.unansweredFilters(s.Env.Now()))
	var fault *management.Error
	if errors.As(err, &fault) {
		done.Failure, err = fault.Error(), nil
	}
	if err != nil {
		return nil, err
	}
	return done, s.scheduleIteration(tx, p.ID, x)
}

package surveys

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/definitions"
)

// isRepeated reports whether a survey has iterations, whether it has started or not.
func (s *storedSurvey) isRepeated() bool {
	return s.IterationCount != nil && s.IterationDays != nil && *s.IterationCount > 0 && *s.IterationDays > 0
}

// iterations returns the start times of all iterations of a recurring survey, the number of the
// current iteration, from 1, and the start time of the current iteration. If the survey has not
// started or is not recurring, current is nil.
func (s *storedSurvey) iterations(now time.Time) (starts []management.Stamp, current *int, since management.Stamp) {
	if s.Start.IsZero() || !s.isRepeated() {
		return []management.Stamp{}, nil, management.Stamp{}
	}
	for i := range int(*s.IterationCount) {
		start := management.NewStamp(s.Start.AddDate(0, 0, i*int(*s.IterationDays)))
		starts = append(starts, start)
		// The first iteration is the current one even if its start is in the future.
		if i == 0 || !start.After(now) {
			n := i + 1
			current, since = &n, start
		}
	}
	return starts, current, since
}

// unansweredFilters returns the filters of the internal targeting flag, which exclude persons who
// have responded to or dismissed the survey. For a recurring survey, only responses to the current
// iteration count: SDKs then set properties that end with its number. Before the start, the first
// iteration is the current one.
func (s *storedSurvey) unansweredFilters(now time.Time) json.RawMessage {
	suffix := s.ID
	if s.isRepeated() {
		n := 1
		if _, current, _ := s.iterations(now); current != nil {
			n = *current
		}
		suffix += "/" + strconv.Itoa(n)
	}
	var properties []any
	for _, name := range []string{"$survey_dismissed/", "$survey_responded/"} {
		properties = append(properties, map[string]any{"key": name + suffix, "type": "person", "operator": "is_not_set", "value": "is_not_set"})
	}
	group := map[string]any{"variant": "", "rollout_percentage": 100, "properties": properties}
	return management.Encode(map[string]any{"groups": []any{group}})
}

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
	due, _, err := tx.List(management.Query{Kind: kindSurveyIteration, To: management.SortTime(s.Env.Now().Add(time.Microsecond)), Limit: 1})
	if err != nil || len(due) == 0 {
		return nil, err
	}
	return management.Decode[surveyIteration](&due[0])
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
	x, err := management.LoadRecord[storedSurvey](tx, kindSurvey, management.ProjectParent(p.ID), due.Survey)
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

package featureflags

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/bunting-flags/bunting/management"
)

// kindSurveyIteration is when a survey that is repeated begins its next iteration: ID is the
// survey's, Sort the time. There is none for surveys that do not begin again.
const kindSurveyIteration = "survey_turn"

type surveyIteration struct {
	Project int64  `json:"project"`
	Survey  string `json:"survey"`
}

// repeated reports whether a survey has iterations, also before it has begun.
func (s *storedSurvey) repeated() bool {
	return s.IterationCount != nil && s.IterationDays != nil && *s.IterationCount > 0 && *s.IterationDays > 0
}

// iterations are when a survey that is repeated begins again, and which of them
// it is in.
func (s *storedSurvey) iterations(now time.Time) (starts []management.Stamp, current *int, since management.Stamp) {
	if s.Start.IsZero() || !s.repeated() {
		return []management.Stamp{}, nil, management.Stamp{}
	}
	for i := range int(*s.IterationCount) {
		start := management.NewStamp(s.Start.AddDate(0, 0, i*int(*s.IterationDays)))
		starts = append(starts, start)
		if i == 0 || !start.After(now) {
			n := i + 1
			current, since = &n, start
		}
	}
	return starts, current, since
}

// unansweredFilters are the filters of the flag that leaves out who has answered or dismissed the
// survey: in the current iteration where it is repeated, since SDKs then set properties
// that end with its number, and ever where it is not. Before it has begun the first
// iteration counts.
func (s *storedSurvey) unansweredFilters(now time.Time) json.RawMessage {
	suffix := s.ID
	if s.repeated() {
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

// scheduleIteration keeps when the survey begins its next iteration; nothing where it has none.
func (s Surveys) scheduleIteration(tx Tx, project int64, x *storedSurvey) error {
	if x.isRunning() {
		starts, current, _ := x.iterations(s.Env.Now())
		if current != nil && *current < len(starts) {
			return tx.Put(&management.Record{
				Kind: kindSurveyIteration, ID: x.ID, Sort: management.SortTime(starts[*current].Time), Data: management.Encode(surveyIteration{project, x.ID}),
			})
		}
	}
	return tx.Delete(kindSurveyIteration, "", x.ID)
}

// StartDueIterations gives the flags of surveys that have begun another iteration its filters, each in
// a transaction of its own, and returns how many there were. A flag that cannot be changed
// is tried again with the next iteration.
func (s Surveys) StartDueIterations(ctx context.Context) (done int, err error) {
	for done < maxDueChanges {
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

// nextIteration is the survey whose next iteration began longest ago, nil when there is none.
func (s Surveys) nextIteration(tx Tx) (*surveyIteration, error) {
	due, _, err := tx.List(management.Query{Kind: kindSurveyIteration, To: management.SortTime(s.Env.Now().Add(time.Microsecond)), Limit: 1})
	if err != nil || len(due) == 0 {
		return nil, err
	}
	return management.Decode[surveyIteration](&due[0])
}

// startNextIteration is run by several servers: each sees what the others have left.
func (s Surveys) startNextIteration(tx Tx) (*management.JobDone, error) {
	due, err := s.nextIteration(tx)
	if err != nil || due == nil {
		return nil, err
	}
	done := &management.JobDone{Job: management.JobSurvey, ID: due.Survey, Project: due.Project}
	p, err := tx.Project(due.Project)
	if err != nil {
		return nil, err
	}
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
	v, err := jobView(tx, p, x.CreatedBy)
	if err != nil {
		return nil, err
	}
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

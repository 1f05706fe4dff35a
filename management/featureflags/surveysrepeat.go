package featureflags

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/bunting-flags/bunting/management"
)

// kindSurveyTurn is when a survey that is repeated begins its next iteration: ID is the
// survey's, Sort the time. There is none for surveys that do not begin again.
const kindSurveyTurn = "survey_turn"

type surveyTurn struct {
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
		at := management.At(s.Start.AddDate(0, 0, i*int(*s.IterationDays)))
		starts = append(starts, at)
		if i == 0 || !at.After(now) {
			n := i + 1
			current, since = &n, at
		}
	}
	return starts, current, since
}

// unanswered are the filters of the flag that leaves out who has answered or dismissed the
// survey: in the current iteration where it is repeated, since SDKs then set properties
// that end with its number, and ever where it is not. Before it has begun the first
// iteration counts.
func (s *storedSurvey) unanswered(now time.Time) json.RawMessage {
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

// plant keeps when the survey begins its next iteration; nothing where it has none.
func (s Surveys) plant(tx Tx, project int64, x *storedSurvey) error {
	if x.running() {
		starts, current, _ := x.iterations(s.Desk.Now())
		if current != nil && *current < len(starts) {
			return tx.Put(&management.Record{
				Kind: kindSurveyTurn, ID: x.ID, Sort: management.SortTime(starts[*current].Time), Data: management.Encode(surveyTurn{project, x.ID}),
			})
		}
	}
	return tx.Delete(kindSurveyTurn, "", x.ID)
}

// TurnDue gives the flags of surveys that have begun another iteration its filters, each in
// a transaction of its own, and returns how many there were. A flag that cannot be changed
// is tried again with the next iteration.
func (s Surveys) TurnDue(ctx context.Context) (done int, err error) {
	for done < dueAtOnce {
		turn, err := management.Read(ctx, &s.Desk, s.nextTurn)
		if err != nil || turn == nil {
			return done, err
		}
		made, err := management.Write(ctx, &s.Desk, s.turnNext)
		if err != nil || made == nil {
			return done, err
		}
		made.TellTo(s.JobDone)
		done++
	}
	return done, nil
}

// nextTurn is the survey whose next iteration began longest ago, nil when there is none.
func (s Surveys) nextTurn(tx Tx) (*surveyTurn, error) {
	due, _, err := tx.List(management.Query{Kind: kindSurveyTurn, To: management.SortTime(s.Desk.Now().Add(time.Microsecond)), Limit: 1})
	if err != nil || len(due) == 0 {
		return nil, err
	}
	return management.Decode[surveyTurn](&due[0])
}

// turnNext is run by several servers: each sees what the others have left.
func (s Surveys) turnNext(tx Tx) (*management.JobDone, error) {
	turn, err := s.nextTurn(tx)
	if err != nil || turn == nil {
		return nil, err
	}
	done := &management.JobDone{Job: management.JobSurvey, ID: turn.Survey, Project: turn.Project}
	p, err := tx.Project(turn.Project)
	if err != nil {
		return nil, err
	}
	if p == nil {
		return done, tx.Delete(kindSurveyTurn, "", turn.Survey)
	}
	x, err := management.LoadRecord[storedSurvey](tx, kindSurvey, management.ProjectParent(p.ID), turn.Survey)
	if err != nil {
		return nil, err
	}
	if x == nil {
		return done, tx.Delete(kindSurveyTurn, "", turn.Survey)
	}
	v, err := standingOf(tx, p, x.CreatedBy)
	if err != nil {
		return nil, err
	}
	err = s.changeFlag(tx, v.Standing, x.InternalTargeting, x.running(), x.unanswered(s.Desk.Now()))
	var told *management.Error
	if errors.As(err, &told) {
		done.Failure, err = told.Error(), nil
	}
	if err != nil {
		return nil, err
	}
	return done, s.plant(tx, p.ID, x)
}

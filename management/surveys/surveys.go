package surveys

import (
	"context"
	"slices"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/lists"
	"github.com/bunting-flags/bunting/management/internal/resource"
)

// Query selects surveys. A field with its zero value does not restrict the list.
type Query struct {
	management.Page
	Search string // substring of name or description, ignoring case; at most 200 characters
	// Archived selects by the state of the archive, if not nil.
	Archived *bool
	// IDs and Type select surveys with one of these ids, and of this type.
	IDs  []string
	Type string
}

// match reports whether a record is a survey that the query selects.
func (q *Query) match(r *management.Record) bool {
	x, err := management.Decode[storedSurvey](r)
	return err == nil && (lists.ContainsFold(x.Name, q.Search) || lists.ContainsFold(x.Description, q.Search)) && lists.MatchesBool(q.Archived, x.Archived) &&
		lists.MatchesValue(q.IDs, x.ID) && (q.Type == "" || x.Type == q.Type)
}

// List returns a page of surveys, newest first.
func (s Service) List(ctx context.Context, scope *management.Scope, q Query) (management.List[Survey], error) {
	if err := lists.CheckSearch(q.Search); err != nil {
		return management.List[Survey]{}, err
	}
	for i, id := range q.IDs {
		q.IDs[i], _ = management.NormalizeUUID(id) // an invalid id becomes "", which no survey has
	}
	// Match decodes every record, so it is set only if the query has filters.
	query := management.Query{Offset: q.Offset, Limit: q.Limit}
	if q.Search != "" || q.Archived != nil || q.IDs != nil || q.Type != "" {
		query.Match = q.match
	}
	return s.Query(ctx, scope, query)
}

// rules checks a survey, and creates or changes its flags.
func (s Service) rules(e *resource.Edit[storeTx, storedSurvey]) (err error) {
	// An insight that was deleted later does not prevent changes of the survey.
	if id := e.After.LinkedInsight; id != nil && e.Values.Has("linked_insight_id") {
		exists, err := s.HasInsight(e.Tx, e.Project.ID, *id)
		if err == nil && !exists {
			err = management.ErrNoObject("linked_insight_id", *id)
		}
		if err != nil {
			return err
		}
	}
	// Only questions that were sent are checked, but the conditions are always checked.
	if e.Values.Has("questions") {
		if e.After.Questions, err = s.questions(e.Values.Objects("questions")); err != nil {
			return err
		}
	}
	if err := checkConditions(e.After.Conditions); err != nil {
		return err
	}
	return s.saveFlags(e.Tx, e.Scope, e.After, &e.Before, e.Values)
}

// HasRunning reports whether a project has a running survey that is not archived.
func HasRunning(tx management.Tx, project int64) (bool, error) {
	// All surveys are read, since records have no index of running surveys.
	list, err := management.ListRecords[storedSurvey](tx, management.Query{Kind: kindSurvey, Parent: management.ProjectParent(project)})
	return slices.ContainsFunc(list.Results, func(x storedSurvey) bool { return x.isRunning() && !x.Archived }), err
}

// Launch starts a survey now (spec/clients.md §8.1). It returns an error if the survey has started
// already.
func (s Service) Launch(ctx context.Context, scope *management.Scope, id string) (*Survey, error) {
	return s.changeTimes(ctx, scope, id, func(x *storedSurvey, now management.Stamp) error {
		if !x.Start.IsZero() {
			return management.Fault("", "The survey has been launched already.")
		}
		x.Start = now
		return nil
	})
}

// Stop ends a survey now. It returns an error if the survey is not running.
func (s Service) Stop(ctx context.Context, scope *management.Scope, id string) (*Survey, error) {
	return s.changeTimes(ctx, scope, id, func(x *storedSurvey, now management.Stamp) error {
		switch {
		case x.Start.IsZero():
			return management.Fault("", "The survey has not been launched yet.")
		case !x.End.IsZero():
			return management.Fault("", "The survey has been stopped already.")
		}
		x.End = now
		return nil
	})
}

// changeTimes applies change to a survey and updates its flags.
func (s Service) changeTimes(ctx context.Context, scope *management.Scope, id string, change func(*storedSurvey, management.Stamp) error) (*Survey, error) {
	return resource.RunAction(ctx, s.Resource, scope, id, func(e *resource.Edit[storeTx, storedSurvey]) error {
		if err := change(e.After, management.NewStamp(s.Env.Now())); err != nil {
			return err
		}
		// No values were sent, so rules changes only the flags.
		e.Values = management.Values{}
		return s.rules(e)
	})
}

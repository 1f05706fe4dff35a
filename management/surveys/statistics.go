package surveys

import (
	"context"
	"encoding/json"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// surveyStatistics is a query for the events of one survey, or of all surveys.
type surveyStatistics struct {
	Survey *Survey // nil for all surveys
	// Query is a SurveyStatsQuery of capture/insights.
	Query json.RawMessage
}

// firstTime and lastTime are the bounds of a period without bounds.
var (
	firstTime = time.Unix(0, 0).UTC()
	lastTime  = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)
)

// surveyWindow is the period in which the events of a survey count.
type surveyWindow struct {
	// ID is the id of the survey.
	ID   string    `json:"id"`
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// Statistics returns the query for the survey with an id. If id is empty, the query is for all
// surveys that are not archived. from and to are times in ISO 8601 with a zone; if empty, the
// period has no such bound (clients.md §8.2).
func (s Service) Statistics(ctx context.Context, scope *management.Scope, id, from, to string) (*surveyStatistics, error) {
	window, err := windowOf(from, to)
	if err != nil {
		return nil, err
	}
	out := &surveyStatistics{}
	var surveys []Survey
	if id != "" {
		if out.Survey, err = s.Get(ctx, scope, id); err != nil {
			return nil, err
		}
		surveys = []Survey{*out.Survey}
	} else {
		// Archived surveys have no statistics, except on request by id.
		archived := false
		list, err := s.List(ctx, scope, Query{Archived: &archived})
		if err != nil {
			return nil, err
		}
		surveys = list.Results
	}
	windows := []surveyWindow{}
	// Each survey has its own period: events before its start or after its end do not count.
	for i := range surveys {
		w := surveys[i].clip(window)
		if w.From.After(w.To) { // outside of the survey's time: an inverted period matches no events
			w.To, w.From = w.From, w.From.Add(time.Microsecond)
		}
		windows = append(windows, w)
	}
	out.Query = storage.Encode(map[string]any{"kind": "SurveyStatsQuery", "surveys": windows})
	return out, nil
}

// windowOf decodes and checks the period of a request.
func windowOf(from, to string) (w surveyWindow, err error) {
	w = surveyWindow{From: firstTime, To: lastTime}
	for _, bound := range []struct {
		name, text string
		at         *time.Time
	}{{"date_from", from, &w.From}, {"date_to", to, &w.To}} {
		if bound.text == "" {
			continue
		}
		t, err := time.Parse(time.RFC3339Nano, bound.text)
		if err != nil {
			return w, management.Fault(bound.name, "Invalid date format. Please use ISO 8601 format with timezone info (e.g. 2026-01-31T00:00:00Z).")
		}
		switch t = t.UTC(); { // there are no events outside of these bounds
		case t.Before(firstTime):
			t = firstTime
		case t.After(lastTime):
			t = lastTime
		}
		*bound.at = t
	}
	// The order matters only if the request has both bounds.
	if from != "" && to != "" && !w.From.Before(w.To) {
		return w, management.Fault("", "date_from must be before date_to")
	}
	return w, nil
}

// clip returns the part of a period in which the survey ran. A survey that has not started counts
// from its creation.
func (x *Survey) clip(w surveyWindow) surveyWindow {
	start := x.Start.Time
	if start.IsZero() {
		start = x.CreatedAt.Time
	}
	w.ID = x.ID
	if w.From.Before(start) {
		w.From = start
	}
	if end := x.End.Time; !end.IsZero() && w.To.After(end) {
		w.To = end
	}
	return w
}

package results

import (
	"maps"
	"net/http"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/capture/queries"
	"github.com/bunting-flags/bunting/management"
)

// surveyStatEndpoints return statistics of surveys (clients.md §8.2). The path without an id must
// precede the path with an id.
var surveyStatEndpoints = func() []frame.Endpoint {
	asks := []frame.Parameter{
		frame.Param("date_from", "string", "ISO 8601 with a time zone; start of the survey by default"),
		frame.Param("date_to", "string", "ISO 8601 with a time zone; end of the survey by default"),
	}
	return frame.Resource(frame.InProject, "survey", Of, []frame.Row[*Service]{
		frame.Handle(http.MethodGet, "/surveys/stats", "Read the response statistics of all surveys that are not archived", surveyStats).WithQuery(asks...).WithResponse(surveyStatistics{}).WithoutTimeout(),
		frame.Handle(http.MethodGet, "/surveys/{id}/stats", "Read the response statistics of a survey", surveyStats).WithQuery(asks...).WithResponse(surveyStatistics{}).WithoutTimeout(),
	})
}()

// surveyStatistics is the response, for the description of the API. Most of it is the result of
// the query (capture/insights).
type surveyStatistics struct {
	ID    string                  `json:"survey_id,omitempty"`
	Start management.Stamp        `json:"start_date"`
	End   management.Stamp        `json:"end_date"`
	Stats map[string]frame.Object `json:"stats"`
	Rates map[string]any          `json:"rates"`
}

func surveyStats(svc *Service, c *frame.Call) (any, error) {
	params := c.Query()
	stats, err := svc.surveys.Statistics(c.Ctx, c.Scope, c.Part("id"), params.Get("date_from"), params.Get("date_to"))
	if err != nil {
		return nil, err
	}
	request, err := svc.request(c, stats.Query, queries.Overrides{})
	if err != nil {
		return nil, err
	}
	request.Mode, request.Name = queries.Blocking, "surveys"
	found, err := svc.Runner.Execute(c.Ctx, request)
	if err != nil {
		return nil, Problem(err)
	}
	out := maps.Clone(found.Result)
	if s := stats.Survey; s != nil {
		out["survey_id"], out["start_date"], out["end_date"] = s.ID, s.Start, s.End
	}
	return out, nil
}

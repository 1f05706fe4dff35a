package httpapi

import (
	"maps"
	"net/http"

	"github.com/bunting-flags/bunting/capture/queries"
	"github.com/bunting-flags/bunting/management"
)

// surveyStatEndpoints return statistics of surveys (clients.md §8.2). The path without an id must
// precede the path with an id.
var surveyStatEndpoints = func() []endpoint {
	asks := []parameterDoc{
		param("date_from", "string", "ISO 8601 with a time zone; start of the survey by default"),
		param("date_to", "string", "ISO 8601 with a time zone; end of the survey by default"),
	}
	return resource(inProject, "survey", queryServiceOf, []row[*queryService]{
		handle(http.MethodGet, "/surveys/stats", "Read the response statistics of all surveys that are not archived", surveyStats).withQuery(asks...).withResponse(surveyStatistics{}).withoutTimeout(),
		handle(http.MethodGet, "/surveys/{id}/stats", "Read the response statistics of a survey", surveyStats).withQuery(asks...).withResponse(surveyStatistics{}).withoutTimeout(),
	})
}()

// surveyStatistics is the response, for the description of the API. Most of it is the result of
// the query (capture/insights).
type surveyStatistics struct {
	ID    string            `json:"survey_id,omitempty"`
	Start management.Stamp  `json:"start_date"`
	End   management.Stamp  `json:"end_date"`
	Stats map[string]object `json:"stats"`
	Rates map[string]any    `json:"rates"`
}

func surveyStats(svc *queryService, c *call) (any, error) {
	params := c.query()
	stats, err := svc.surveys.Statistics(c.ctx, c.scope, c.part("id"), params.Get("date_from"), params.Get("date_to"))
	if err != nil {
		return nil, err
	}
	request, err := svc.request(c, stats.Query, queries.Overrides{})
	if err != nil {
		return nil, err
	}
	request.Mode, request.Name = queries.Blocking, "surveys"
	found, err := svc.runner.Execute(c.ctx, request)
	if err != nil {
		return nil, queryProblem(err)
	}
	out := maps.Clone(found.Result)
	if s := stats.Survey; s != nil {
		out["survey_id"], out["start_date"], out["end_date"] = s.ID, s.Start, s.End
	}
	return out, nil
}

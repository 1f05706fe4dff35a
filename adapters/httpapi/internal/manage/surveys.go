package manage

import (
	"net/http"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/featureflags"
)

// surveyEndpoints are the endpoints of §5.6, except the public list.
var surveyEndpoints = frame.Resource(frame.InProject, "survey", func(s *frame.Server) featureflags.Surveys { return *s.Management.Surveys }, []frame.Row[featureflags.Surveys]{
	frame.Handle(http.MethodGet, "/surveys", "List surveys", listSurveys),
	frame.Create("/surveys", "Create a survey and its flags", featureflags.SurveyFields, featureflags.Surveys.Create),
	frame.Get("/surveys/{id}", "Read a survey", featureflags.Surveys.Get),
	frame.Update("/surveys/{id}", "Change a survey", "Replace a survey", featureflags.SurveyFields, featureflags.Surveys.Update),
	frame.Act(http.MethodPost, "/surveys/{id}/launch", "Launch a survey", featureflags.Surveys.Launch),
	frame.Act(http.MethodPost, "/surveys/{id}/stop", "Stop a survey", featureflags.Surveys.Stop),
	frame.Remove("/surveys/{id}", "Delete a survey and its flags", featureflags.Surveys.Delete),
})

func listSurveys(svc featureflags.Surveys, c *frame.Call) (management.List[featureflags.Survey], error) {
	v := c.ListValues
	return svc.List(c.Ctx, c.Scope, featureflags.SurveyQuery{
		Page: c.Page(), Search: v.Text("search"), Archived: v.OptionalBool("archived"), IDs: v.Texts("ids"), Type: v.Text("type"),
	})
}

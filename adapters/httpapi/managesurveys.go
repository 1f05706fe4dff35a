package httpapi

import (
	"net/http"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/featureflags"
)

// surveyEndpoints are the endpoints of §5.6, except the public list.
var surveyEndpoints = resource(inProject, "survey", func(s *server) featureflags.Surveys { return s.Management.FeatureFlags.Surveys }, []row[featureflags.Surveys]{
	handle(http.MethodGet, "/surveys", "List surveys", listSurveys),
	create("/surveys", "Create a survey and its flags", featureflags.SurveyFields, featureflags.Surveys.Create),
	get("/surveys/{id}", "Read a survey", featureflags.Surveys.Get),
	update("/surveys/{id}", "Change a survey", "Replace a survey", featureflags.SurveyFields, featureflags.Surveys.Update),
	act(http.MethodPost, "/surveys/{id}/launch", "Launch a survey", featureflags.Surveys.Launch),
	act(http.MethodPost, "/surveys/{id}/stop", "Stop a survey", featureflags.Surveys.Stop),
	remove("/surveys/{id}", "Delete a survey and its flags", featureflags.Surveys.Delete),
})

func listSurveys(svc featureflags.Surveys, c *call) (management.List[featureflags.Survey], error) {
	v := c.listValues
	return svc.List(c.ctx, c.scope, featureflags.SurveyQuery{
		Page: c.page(), Search: v.Text("search"), Archived: v.OptionalBool("archived"), IDs: v.Texts("ids"), Type: v.Text("type"),
	})
}

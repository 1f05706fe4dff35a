package httpapi

import (
	"net/http"

	"github.com/bunting-flags/bunting/management"
)

// surveyEndpoints are those of §5.6, without the public list.
var surveyEndpoints = resource(inProject, "survey", func(s *server) management.Surveys { return s.Management.Surveys }, []row[management.Surveys]{
	by(http.MethodGet, "/surveys", "List surveys", listSurveys),
	create("/surveys", "Make a survey and its flags", management.SurveyFields, management.Surveys.Create),
	get("/surveys/{id}", "Read a survey", management.Surveys.Get),
	update("/surveys/{id}", "Change a survey", "Replace a survey", management.SurveyFields, management.Surveys.Update),
	remove("/surveys/{id}", "Remove a survey and its flags", management.Surveys.Delete),
})

func listSurveys(of management.Surveys, c *call) (management.List[management.Survey], error) {
	v := c.listed
	return of.List(c.ctx, c.standing, management.SurveyQuery{
		Page: c.page(), Search: v.Text("search"), Archived: v.Either("archived"), IDs: v.Texts("ids"), Type: v.Text("type"),
	})
}

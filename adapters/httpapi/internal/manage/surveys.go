package manage

import (
	"net/http"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/surveys"
)

// surveyEndpoints are the endpoints of §5.6, except the public list.
var surveyEndpoints = frame.Resource(frame.InProject, "survey", func(s *frame.Server) surveys.Service { return *s.Management.Surveys }, []frame.Row[surveys.Service]{
	frame.Handle(http.MethodGet, "/surveys", "List surveys", listSurveys),
	frame.Create("/surveys", "Create a survey and its flags", surveys.Fields, surveys.Service.Create),
	frame.Get("/surveys/{id}", "Read a survey", surveys.Service.Get),
	frame.Update("/surveys/{id}", "Change a survey", "Replace a survey", surveys.Fields, surveys.Service.Update),
	frame.Act(http.MethodPost, "/surveys/{id}/launch", "Launch a survey", surveys.Service.Launch),
	frame.Act(http.MethodPost, "/surveys/{id}/stop", "Stop a survey", surveys.Service.Stop),
	frame.Remove("/surveys/{id}", "Delete a survey and its flags", surveys.Service.Delete),
})

func listSurveys(svc surveys.Service, c *frame.Call) (management.List[surveys.Survey], error) {
	v := c.ListValues
	return svc.List(c.Ctx, c.Scope, surveys.Query{
		Page: c.Page(), Search: v.Text("search"), Archived: v.OptionalBool("archived"), IDs: v.Texts("ids"), Type: v.Text("type"),
	})
}

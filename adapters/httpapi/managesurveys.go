package httpapi

import "github.com/bunting-flags/bunting/management"

// surveyEndpoints are those of §5.6, without the public list.
var surveyEndpoints = []endpoint{
	{
		method: "GET", area: inProject, path: "/surveys", scope: "survey:read", summary: "List surveys",
		gives: management.List[management.Survey]{},
		do: func(c *call) (any, error) {
			return c.service.Surveys.List(c.ctx, c.standing, management.SurveyQuery{
				Page: c.page(), Search: c.listed.Text("search"), Archived: c.listed.Either("archived"),
				IDs: c.listed.Texts("ids"), Type: c.listed.Text("type"),
			})
		},
	},
	{
		method: "POST", area: inProject, path: "/surveys", scope: "survey:write", summary: "Make a survey and its flags",
		takes: management.SurveyFields, status: 201, gives: management.Survey{},
		do: func(c *call) (any, error) { return c.service.Surveys.Create(c.ctx, c.standing, c.body) },
	},
	{
		method: "GET", area: inProject, path: "/surveys/{id}", scope: "survey:read", summary: "Read a survey",
		gives: management.Survey{},
		do:    func(c *call) (any, error) { return c.service.Surveys.Get(c.ctx, c.standing, c.part("id")) },
	},
	{
		method: "PATCH", area: inProject, path: "/surveys/{id}", scope: "survey:write", summary: "Change a survey",
		takes: management.SurveyFields, gives: management.Survey{}, do: updateSurvey,
	},
	{
		method: "PUT", area: inProject, path: "/surveys/{id}", scope: "survey:write", summary: "Replace a survey",
		takes: management.SurveyFields, gives: management.Survey{}, do: updateSurvey,
	},
	{
		method: "DELETE", area: inProject, path: "/surveys/{id}", scope: "survey:write", summary: "Remove a survey and its flags",
		status: 204,
		do:     func(c *call) (any, error) { return nil, c.service.Surveys.Delete(c.ctx, c.standing, c.part("id")) },
	},
}

func updateSurvey(c *call) (any, error) {
	return c.service.Surveys.Update(c.ctx, c.standing, c.part("id"), c.body, c.r.Method == "PUT")
}

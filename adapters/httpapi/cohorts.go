package httpapi

import (
	"net/http"
	"strconv"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/management"
)

// cohortEndpoints are those of §5.2.
var cohortEndpoints = []endpoint{
	{
		method: "GET", area: inProject, path: "/cohorts", scope: "cohort:read", summary: "List cohorts",
		gives: management.List[management.Cohort]{}, do: listCohorts,
	},
	{
		method: "POST", area: inProject, path: "/cohorts", scope: "cohort:write", summary: "Make a cohort",
		takes: management.CohortFields, status: 201, gives: management.Cohort{}, do: createCohort,
	},
	{
		method: "GET", area: inProject, path: "/cohorts/activity", scope: "activity_log:read", summary: "List changes of cohorts",
		query: activityQuery, gives: activityBody{},
		do: func(c *call) (any, error) { return activityAnswer(c, "Cohort", "") },
	},
	{
		method: "GET", area: inProject, path: "/cohorts/{id}", scope: "cohort:read", summary: "Read a cohort",
		gives: management.Cohort{},
		do:    func(c *call) (any, error) { return c.service.Cohorts.Get(c.ctx, c.standing, c.part("id")) },
	},
	{
		method: "PATCH", area: inProject, path: "/cohorts/{id}", scope: "cohort:write", summary: "Change a cohort",
		takes: management.CohortFields, gives: management.Cohort{}, do: updateCohort,
	},
	{
		method: "PUT", area: inProject, path: "/cohorts/{id}", scope: "cohort:write", summary: "Replace a cohort",
		takes: management.CohortFields, gives: management.Cohort{}, do: updateCohort,
	},
	{
		method: "DELETE", area: inProject, path: "/cohorts/{id}", scope: "cohort:write", summary: "Refused: cohorts are deleted with PATCH and deleted: true",
		status: 405,
		do:     func(*call) (any, error) { return nil, nil },
	},
	{
		method: "GET", area: inProject, path: "/cohorts/{id}/persons", scope: "cohort:read", summary: "List the persons of a cohort",
		query: []parameterDoc{{"limit", "integer", "persons a page, 100 by default"}, {"cursor", "string", "where the page begins: as in the next link"}},
		gives: uncounted[person]{}, do: cohortPersons,
	},
	{
		method: "PATCH", area: inProject, path: "/cohorts/{id}/add_persons_to_static_cohort", scope: "cohort:write", summary: "Put persons into a static cohort",
		takes: management.CohortAddFields, gives: management.Done{},
		do: func(c *call) (any, error) {
			return c.service.Cohorts.AddPersons(c.ctx, c.standing, c.part("id"), c.body)
		},
	},
	{
		method: "PATCH", area: inProject, path: "/cohorts/{id}/remove_person_from_static_cohort", scope: "cohort:write", summary: "Take a person out of a static cohort",
		takes: management.CohortRemoveFields, gives: management.Done{},
		do: func(c *call) (any, error) {
			return c.service.Cohorts.RemovePerson(c.ctx, c.standing, c.part("id"), c.body)
		},
	},
	{
		method: "GET", area: inProject, path: "/cohorts/{id}/duplicate_as_static_cohort", scope: "cohort:write", summary: "Make a static cohort of the persons in a dynamic one",
		gives: management.Cohort{},
		do: func(c *call) (any, error) {
			if c.r.Method == http.MethodHead { // asks, and must not make anything
				return nil, problemMethod.with("", "").say("Method %q not allowed.", c.r.Method)
			}
			return c.service.Cohorts.DuplicateStatic(c.ctx, c.standing, c.part("id"))
		},
	},
	{
		method: "GET", area: inProject, path: "/cohorts/{id}/calculation_history", scope: "cohort:read", summary: "List the last counts of a cohort",
		gives: management.List[management.CohortCalculation]{},
		do: func(c *call) (any, error) {
			return c.service.Cohorts.Calculations(c.ctx, c.standing, c.part("id"), c.page())
		},
	},
	{
		method: "GET", area: inProject, path: "/cohorts/{id}/activity", scope: "activity_log:read", summary: "List changes of a cohort",
		query: activityQuery, gives: activityBody{},
		do: func(c *call) (any, error) {
			if _, err := c.service.Cohorts.Get(c.ctx, c.standing, c.part("id")); err != nil {
				return nil, err
			}
			return activityAnswer(c, "Cohort", c.part("id"))
		},
	},
}

func listCohorts(c *call) (any, error) {
	v := c.listed
	return c.service.Cohorts.List(c.ctx, c.standing, management.CohortQuery{
		Page: c.page(), Type: v.Text("type"), Search: v.Text("search"), CreatedBy: v.Int("created_by_id"), HideBehavioral: v.Bool("hide_behavioral_cohorts"),
	})
}

func createCohort(c *call) (any, error) {
	list, err := c.memberFile()
	if err != nil {
		return nil, err
	}
	return c.service.Cohorts.Create(c.ctx, c.standing, c.body, list)
}

func updateCohort(c *call) (any, error) {
	list, err := c.memberFile()
	if err != nil {
		return nil, err
	}
	return c.service.Cohorts.Update(c.ctx, c.standing, c.part("id"), c.body, c.r.Method == http.MethodPut, list)
}

// memberFile reads the file of a multipart body, nil when there is none.
func (c *call) memberFile() (*management.MemberList, error) {
	if c.r.MultipartForm == nil || len(c.r.MultipartForm.File["csv"]) == 0 {
		return nil, nil
	}
	defer func() { _ = c.r.MultipartForm.RemoveAll() }() // what is left is taken away with the request
	file, err := c.r.MultipartForm.File["csv"][0].Open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return management.ReadMembers(file)
}

// cohortPersons needs the scope of persons as well.
func cohortPersons(c *call) (any, error) {
	if err := c.standing.Require("person:read"); err != nil {
		return nil, err
	}
	p := pageOf(c.query())
	from, err := parseTextCursor(p.cursor)
	if err != nil {
		return nil, err
	}
	page, err := c.service.Cohorts.Persons(c.ctx, c.standing, c.part("id"), p.limit, from)
	if err != nil {
		return nil, err
	}
	out := uncounted[person]{Results: []person{}}
	rd := &reader{server: c.server}
	for _, uuid := range page.UUIDs {
		id, ok := capture.ParseUUID(uuid)
		if !ok || c.History == nil {
			continue
		}
		found, err := c.History.PersonByUUID(c.ctx, c.standing.Project.ID, id)
		if err != nil {
			return nil, err
		}
		if found != nil { // nobody has erased it meanwhile
			out.Results = append(out.Results, showPerson(found))
		}
	}
	if page.Next != "" {
		out.Next = rd.link(c.r, map[string]string{"cursor": textCursor(page.Next), "limit": strconv.Itoa(p.limit)})
	}
	return out, nil
}

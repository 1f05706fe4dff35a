package manage

import (
	"context"
	"net/http"
	"slices"
	"strconv"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/history"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/cohorts"
)

// cohortService handles requests about cohorts and their persons.
type cohortService struct {
	cohorts.Service
	history capture.History // if nil, no persons are stored
}

// cohortEndpoints are the endpoints of §5.2.
var cohortEndpoints = slices.Concat(frame.Resource(frame.InProject, "cohort", cohortsOf, []frame.Row[cohortService]{
	frame.Handle(http.MethodGet, "/cohorts", "List cohorts", listCohorts),
	frame.Handle(http.MethodPost, "/cohorts", "Create a cohort", createCohort).WithBody(cohorts.Bodies.Cohort).Created(),
	frame.Get("/cohorts/{id}", "Read a cohort", cohortService.Get),
	frame.Handle(http.MethodPatch, "/cohorts/{id}", "Change a cohort", updateCohort).WithPut("Replace a cohort").WithBody(cohorts.Bodies.Cohort),
	frame.Handle(http.MethodDelete, "/cohorts/{id}", "Not allowed: use PATCH with deleted: true to delete a cohort", frame.NoBody[cohortService]).WithStatus(http.StatusMethodNotAllowed),
	personsOfCohort("/cohorts/{id}/persons", "List the persons of a cohort"),
	frame.Change(http.MethodPatch, "/cohorts/{id}/add_persons_to_static_cohort", "Add persons to a static cohort", cohorts.Bodies.Add, cohortService.AddPersons),
	frame.Change(http.MethodPatch, "/cohorts/{id}/remove_person_from_static_cohort", "Remove a person from a static cohort", cohorts.Bodies.Remove, cohortService.RemovePerson),
	frame.Handle(http.MethodGet, "/cohorts/{id}/duplicate_as_static_cohort", "Create a static cohort from the members of a dynamic cohort", duplicateCohort).WithScope("cohort:write"),
	frame.Handle(http.MethodPost, "/cohorts/{id}/duplicate_as_static_cohort", "Create a static cohort from the members of a dynamic cohort", duplicateCohort).Created(),
	readPersonsRow(frame.Handle(http.MethodPost, "/cohorts/preview", "Preview the members of a cohort that is not saved", previewCohort).WithBody(cohorts.Bodies.Preview)),
	readPersonsRow(frame.Handle(http.MethodPost, "/cohorts/match", "Find persons by distinct ids, email addresses and UUIDs", func(svc cohortService, c *frame.Call) (*cohorts.MatchResult, error) {
		return svc.Match(c.Ctx, c.Scope, c.Body)
	}).WithBody(cohorts.Bodies.Match)),
	frame.PagedOf("/cohorts/{id}/calculation_history", "List the latest calculations of a cohort's size", cohortService.Calculations),
}), frame.Resource(frame.InCurrent, "cohort", cohortsOf, []frame.Row[cohortService]{
	// Spec/clients.md §16.
	personsOfCohort("/cohort/{id}/persons", "List the persons of a cohort, by an older path"),
}))

// ofIDs adapts a method to the parameter ids.
func ofIDs[T any](do func(flagService, context.Context, *management.Scope, []int64) (T, error)) func(flagService, *frame.Call) (T, error) {
	return func(svc flagService, c *frame.Call) (T, error) {
		return do(svc, c.Ctx, c.Scope, c.ListValues.Ints("ids"))
	}
}

// cohortUserEndpoints return which flags use cohorts.
var cohortUserEndpoints = frame.Resource(frame.InProject, "cohort", flagServiceOf, func() []frame.Row[flagService] {
	r := frame.Handle(http.MethodGet, "/cohorts/flags", "Count the feature flags that use cohorts, directly or through other cohorts", ofIDs(flagService.CountCohortUsers))
	r.SecondScope = readFlags
	return []frame.Row[flagService]{r}
}())

// readPersonsRow marks a row that only reads and returns persons, so it requires the scopes
// cohort:read and person:read.
func readPersonsRow(r frame.Row[cohortService]) frame.Row[cohortService] {
	r.KeyScope, r.SecondScope, r.Reads = "cohort:read", "person:read", true
	return r
}

// cohortPreviewed lists the persons who would be in a cohort.
type cohortPreviewed struct {
	Count   int              `json:"count"`
	Exact   bool             `json:"exact"`
	Results []history.Person `json:"results"`
}

// previewCohort evaluates the filters in the body without saving a cohort.
func previewCohort(svc cohortService, c *frame.Call) (*cohortPreviewed, error) {
	found, err := svc.Preview(c.Ctx, c.Scope, c.Body)
	if err != nil {
		return nil, err
	}
	out := &cohortPreviewed{Count: found.Count, Exact: found.Exact}
	out.Results, err = svc.showPersons(c, found.UUIDs)
	return out, err
}

func cohortsOf(s *frame.Server) cohortService {
	return cohortService{*s.Management.Cohorts, s.History}
}

func personsOfCohort(path, summary string) frame.Row[cohortService] {
	return frame.Handle(http.MethodGet, path, summary, cohortPersons).
		WithQuery(frame.Param("limit", "integer", "persons per page, 100 by default"), frame.Param("cursor", "string", "cursor from the next link"))
}

func listCohorts(svc cohortService, c *frame.Call) (management.List[cohorts.Cohort], error) {
	v := c.ListValues
	return svc.List(c.Ctx, c.Scope, cohorts.Query{
		Page: c.Page(), Type: v.Text("type"), Search: v.Text("search"), CreatedBy: v.Int("created_by_id"), HideBehavioral: v.Bool("hide_behavioral_cohorts"),
	})
}

func createCohort(svc cohortService, c *frame.Call) (*cohorts.Cohort, error) {
	list, err := memberFile(c)
	if err != nil {
		return nil, err
	}
	return svc.Create(c.Ctx, c.Scope, c.Body, list)
}

func updateCohort(svc cohortService, c *frame.Call) (*cohorts.Cohort, error) {
	list, err := memberFile(c)
	if err != nil {
		return nil, err
	}
	return svc.Update(c.Ctx, c.Scope, c.Part("id"), c.Body, c.Replaces(), list)
}

func duplicateCohort(svc cohortService, c *frame.Call) (*cohorts.Cohort, error) {
	if c.R.Method == http.MethodHead { // HEAD must not create a cohort
		return nil, problem.Method.With("", "").Detailed("Method %q not allowed.", c.R.Method)
	}
	return svc.DuplicateStatic(c.Ctx, c.Scope, c.Part("id"))
}

// memberFile reads the file csv of a multipart body. It returns nil if there is no such file.
func memberFile(c *frame.Call) (*cohorts.MemberList, error) {
	if c.R.MultipartForm == nil || len(c.R.MultipartForm.File["csv"]) == 0 {
		return nil, nil
	}
	// Errors are ignored: the files are removed with the request.
	defer func() { _ = c.R.MultipartForm.RemoveAll() }()
	file, err := c.R.MultipartForm.File["csv"][0].Open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return cohorts.ReadMembers(file)
}

// cohortPersons lists the persons of a cohort. It requires the scope person:read in addition to
// that of the endpoint.
func cohortPersons(svc cohortService, c *frame.Call) (out frame.Uncounted[history.Person], err error) {
	out.Results = []history.Person{}
	if err := c.Scope.Require("person:read"); err != nil {
		return out, err
	}
	p := frame.RangeOf(c.Query())
	from, err := frame.ParseTextCursor(p.Cursor)
	if err != nil {
		return out, err
	}
	page, err := svc.Persons(c.Ctx, c.Scope, c.Part("id"), p.Limit, from)
	if err != nil {
		return out, err
	}
	if out.Results, err = svc.showPersons(c, page.UUIDs); err != nil {
		return out, err
	}
	if page.Next != "" {
		out.Next = c.Link(map[string]string{"cursor": frame.TextCursor(page.Next), "limit": strconv.Itoa(p.Limit)})
	}
	return out, nil
}

// showPersons returns the persons with the given UUIDs, without those that have been erased in the
// meantime.
func (svc cohortService) showPersons(c *frame.Call, uuids []string) ([]history.Person, error) {
	out := []history.Person{}
	for _, uuid := range uuids {
		id, ok := wire.ParseUUID(uuid)
		if !ok || svc.history == nil {
			continue
		}
		found, err := svc.history.PersonByUUID(c.Ctx, c.Project(), id)
		if err != nil {
			return out, err
		}
		if found != nil {
			out = append(out, history.ShowPerson(found))
		}
	}
	return out, nil
}

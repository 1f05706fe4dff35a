package httpapi

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/featureflags"
)

// cohortService handles requests about cohorts and their persons.
type cohortService struct {
	featureflags.Cohorts
	history capture.History // if nil, no persons are stored
}

// cohortEndpoints are the endpoints of §5.2.
var cohortEndpoints = slices.Concat(resource(inProject, "cohort", cohortsOf, []row[cohortService]{
	handle(http.MethodGet, "/cohorts", "List cohorts", listCohorts),
	handle(http.MethodPost, "/cohorts", "Create a cohort", createCohort).withBody(featureflags.CohortFields).created(),
	get("/cohorts/{id}", "Read a cohort", cohortService.Get),
	handle(http.MethodPatch, "/cohorts/{id}", "Change a cohort", updateCohort).withPut("Replace a cohort").withBody(featureflags.CohortFields),
	handle(http.MethodDelete, "/cohorts/{id}", "Not allowed: use PATCH with deleted: true to delete a cohort", noBody[cohortService]).withStatus(http.StatusMethodNotAllowed),
	personsOfCohort("/cohorts/{id}/persons", "List the persons of a cohort"),
	change(http.MethodPatch, "/cohorts/{id}/add_persons_to_static_cohort", "Add persons to a static cohort", featureflags.CohortAddFields, cohortService.AddPersons),
	change(http.MethodPatch, "/cohorts/{id}/remove_person_from_static_cohort", "Remove a person from a static cohort", featureflags.CohortRemoveFields, cohortService.RemovePerson),
	handle(http.MethodGet, "/cohorts/{id}/duplicate_as_static_cohort", "Create a static cohort from the members of a dynamic cohort", duplicateCohort).withScope("cohort:write"),
	handle(http.MethodPost, "/cohorts/{id}/duplicate_as_static_cohort", "Create a static cohort from the members of a dynamic cohort", duplicateCohort).created(),
	readPersonsRow(handle(http.MethodPost, "/cohorts/preview", "Preview the members of a cohort that is not saved", previewCohort).withBody(featureflags.CohortPreviewFields)),
	readPersonsRow(handle(http.MethodPost, "/cohorts/match", "Find persons by distinct ids, email addresses and UUIDs", func(svc cohortService, c *call) (*featureflags.MatchResult, error) {
		return svc.Match(c.ctx, c.scope, c.body)
	}).withBody(featureflags.CohortMatchFields)),
	pagedOf("/cohorts/{id}/calculation_history", "List the latest calculations of a cohort's size", cohortService.Calculations),
}), resource(inCurrent, "cohort", cohortsOf, []row[cohortService]{
	// Spec/clients.md §16.
	personsOfCohort("/cohort/{id}/persons", "List the persons of a cohort, by an older path"),
}))

// readPersonsRow marks a row that only reads and returns persons, so it requires the scopes
// cohort:read and person:read.
func readPersonsRow(r row[cohortService]) row[cohortService] {
	r.keyScope, r.secondScope, r.reads = "cohort:read", "person:read", true
	return r
}

// cohortPreviewed lists the persons who would be in a cohort.
type cohortPreviewed struct {
	Count   int      `json:"count"`
	Exact   bool     `json:"exact"`
	Results []person `json:"results"`
}

// previewCohort evaluates the filters in the body without saving a cohort.
func previewCohort(svc cohortService, c *call) (*cohortPreviewed, error) {
	found, err := svc.Preview(c.ctx, c.scope, c.body)
	if err != nil {
		return nil, err
	}
	out := &cohortPreviewed{Count: found.Count, Exact: found.Exact}
	out.Results, err = svc.showPersons(c, found.UUIDs)
	return out, err
}

func cohortsOf(s *server) cohortService {
	return cohortService{s.Management.FeatureFlags.Cohorts, s.History}
}

func personsOfCohort(path, summary string) row[cohortService] {
	return handle(http.MethodGet, path, summary, cohortPersons).
		withQuery(param("limit", "integer", "persons per page, 100 by default"), param("cursor", "string", "cursor from the next link"))
}

func listCohorts(svc cohortService, c *call) (management.List[featureflags.Cohort], error) {
	v := c.listValues
	return svc.List(c.ctx, c.scope, featureflags.CohortQuery{
		Page: c.page(), Type: v.Text("type"), Search: v.Text("search"), CreatedBy: v.Int("created_by_id"), HideBehavioral: v.Bool("hide_behavioral_cohorts"),
	})
}

func createCohort(svc cohortService, c *call) (*featureflags.Cohort, error) {
	list, err := memberFile(c)
	if err != nil {
		return nil, err
	}
	return svc.Create(c.ctx, c.scope, c.body, list)
}

func updateCohort(svc cohortService, c *call) (*featureflags.Cohort, error) {
	list, err := memberFile(c)
	if err != nil {
		return nil, err
	}
	return svc.Update(c.ctx, c.scope, c.part("id"), c.body, c.replaces(), list)
}

func duplicateCohort(svc cohortService, c *call) (*featureflags.Cohort, error) {
	if c.r.Method == http.MethodHead { // HEAD must not create a cohort
		return nil, problem.Method.With("", "").Detailed("Method %q not allowed.", c.r.Method)
	}
	return svc.DuplicateStatic(c.ctx, c.scope, c.part("id"))
}

// memberFile reads the file csv of a multipart body. It returns nil if there is no such file.
func memberFile(c *call) (*featureflags.MemberList, error) {
	if c.r.MultipartForm == nil || len(c.r.MultipartForm.File["csv"]) == 0 {
		return nil, nil
	}
	// Errors are ignored: the files are removed with the request.
	defer func() { _ = c.r.MultipartForm.RemoveAll() }()
	file, err := c.r.MultipartForm.File["csv"][0].Open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return featureflags.ReadMembers(file)
}

// cohortPersons lists the persons of a cohort. It requires the scope person:read in addition to
// that of the endpoint.
func cohortPersons(svc cohortService, c *call) (out uncounted[person], err error) {
	out.Results = []person{}
	if err := c.scope.Require("person:read"); err != nil {
		return out, err
	}
	p := pageOf(c.query())
	from, err := parseTextCursor(p.cursor)
	if err != nil {
		return out, err
	}
	page, err := svc.Persons(c.ctx, c.scope, c.part("id"), p.limit, from)
	if err != nil {
		return out, err
	}
	if out.Results, err = svc.showPersons(c, page.UUIDs); err != nil {
		return out, err
	}
	if page.Next != "" {
		out.Next = c.link(map[string]string{"cursor": textCursor(page.Next), "limit": strconv.Itoa(p.limit)})
	}
	return out, nil
}

// showPersons returns the persons with the given UUIDs, without those that have been erased in the
// meantime.
func (svc cohortService) showPersons(c *call, uuids []string) ([]person, error) {
	out := []person{}
	for _, uuid := range uuids {
		id, ok := wire.ParseUUID(uuid)
		if !ok || svc.history == nil {
			continue
		}
		found, err := svc.history.PersonByUUID(c.ctx, c.project(), id)
		if err != nil {
			return out, err
		}
		if found != nil {
			out = append(out, showPerson(found))
		}
	}
	return out, nil
}

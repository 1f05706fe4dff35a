package manage

import (
	"net/http"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/history"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/cohorts"
	"github.com/bunting-flags/bunting/management/featureflags"
)

// personFlagEndpoints evaluate the flags of one person (spec/console.md N16).
var personFlagEndpoints = func() []frame.Endpoint {
	r := frame.Handle(http.MethodGet, "/persons/{person}/flags", "List feature flags with their current and last reported values for a person", flagsOfPerson).WithScope(readFlags).
		WithQuery(frame.Param("search", "string", "text that the key or name contains"), frame.Param("limit", "integer", "maximum number of flags, 100 by default"), frame.Param("offset", "integer", "number of flags to skip"))
	r.SecondScope, r.Reads = "person:read", true
	return frame.Resource(frame.InProject, "feature_flag", flagServiceOf, []frame.Row[flagService]{r})
}()

// personCohortEndpoints list the cohorts of one person (§5.3).
var personCohortEndpoints = frame.Resource(frame.InProject, "cohort", cohortsOf, []frame.Row[cohortService]{
	readPersonsRow(frame.Handle(http.MethodGet, "/persons/cohorts", "List the cohorts that currently include a person", cohortsOfPerson).
		WithQuery(frame.Param("person_id", "string", "uuid or numeric id of the person; required"))),
})

// personCohorts is the response with the cohorts of a person.
type personCohorts struct {
	Results []cohorts.Cohort `json:"results"`
}

func cohortsOfPerson(svc cohortService, c *frame.Call) (*personCohorts, error) {
	named := c.Query().Get("person_id")
	if named == "" {
		return nil, problem.Invalid("person_id", "This field is required.")
	}
	if svc.history == nil {
		return nil, management.ErrNotFound()
	}
	p, err := (&history.Reader{History: svc.history}).Person(c.Ctx, c.Project(), named)
	switch {
	case err != nil:
		return nil, err
	case p == nil:
		return nil, management.ErrNotFound()
	}
	out := &personCohorts{Results: []cohorts.Cohort{}}
	list, err := svc.ListForPerson(c.Ctx, c.Scope, history.FeaturePerson(p))
	out.Results = append(out.Results, list...)
	return out, err
}

// personFlags are the unarchived flags of a person, newest first.
type personFlags struct {
	Results []personFlag `json:"results"`
}

type personFlag struct {
	ID        int64         `json:"id"`
	Key       string        `json:"key"`
	Value     any           `json:"value"` // null if it could not be decided
	Reason    string        `json:"reason"`
	Condition *int          `json:"condition_index"`
	Assigned  *lastAssigned `json:"assigned"` // null if no SDK has reported an evaluation
	// Differs is the reason why Value differs from the value of Assigned, as in
	// explained.Differs.
	Differs *string `json:"differs"`
	Pinned  bool    `json:"pinned"`
}

// lastAssigned is the value that an SDK reported last.
type lastAssigned struct {
	Value   any              `json:"value"`
	At      management.Stamp `json:"at"`
	Version *int64           `json:"version"`
}

// flagsOfPerson evaluates flags with the stored properties of the person. The evaluations are not
// counted.
func flagsOfPerson(svc flagService, c *frame.Call) (*personFlags, error) {
	if svc.history == nil {
		return nil, management.ErrNotFound()
	}
	person, err := (&history.Reader{History: svc.history}).NamedPerson(c)
	if err != nil {
		return nil, err
	}
	rows, err := svc.Rows(c.Ctx, c.Scope, featureflags.FlagQuery{Page: c.Page(), Search: c.Query().Get("search")})
	if err != nil {
		return nil, err
	}
	keys, ids := []string{}, map[string]int64{}
	for i := range rows.Results {
		keys, ids[rows.Results[i].Key] = append(keys, rows.Results[i].Key), rows.Results[i].ID
	}
	subject := flags.Subject{}
	if best := person.BestIDs(); len(best) > 0 {
		subject.DistinctID = best[0]
	}
	var now serving.Answer
	err = svc.decider.Preview(c.Ctx, &serving.Request{
		APIKey: c.Scope.Project.APIKey, Subject: subject, GeoIPDisable: true, Selection: flags.Selection{Runtime: "all", Keys: keys},
	}, &now)
	if err != nil {
		return nil, err
	}
	calls, err := svc.lastCalls(c, person.DistinctIDs, person, ids)
	out := &personFlags{Results: []personFlag{}}
	for i := range rows.Results {
		r := &rows.Results[i]
		view := personFlag{ID: r.ID, Key: r.Key, Value: false, Reason: flags.FlagDisabled.String()}
		if d := now.Decisions.Find(r.Key); d != nil {
			view.setDecision(d)
		}
		if last := calls[r.ID]; last != nil {
			full := showCall(last)
			q := featureflags.Question{Flag: featureflags.ExplainedFlag{Version: r.Version}, Subject: subject, Pinned: view.Pinned}
			view.Assigned, view.Differs = &lastAssigned{full.Value, full.At, full.Version}, q.DifferenceReason(view.Value, last)
		}
		out.Results = append(out.Results, view)
	}
	return out, err
}

func (p *personFlag) setDecision(d *flags.Decision) {
	p.Value, p.Reason, p.Pinned = d.Value(), d.Reason.Code.String(), d.Reason.Code == flags.Pinned
	if d.Undecided != nil {
		p.Value = nil
	}
	if d.Reason.Condition != flags.NoCondition {
		condition := d.Reason.Condition
		p.Condition = &condition
	}
}

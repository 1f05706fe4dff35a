package experiments

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/cohorts"
	"github.com/bunting-flags/bunting/management/internal/resource"
	"github.com/bunting-flags/bunting/management/internal/storage"
	"github.com/bunting-flags/bunting/management/internal/storedcohorts"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// exposedPeople are the people who were exposed to an experiment: the evidence of an
// ExperimentPeopleQuery (capture/insights).
type exposedPeople struct {
	People int64 `json:"people"`
	// WithoutProfile is the number of people who cannot be members of a cohort.
	WithoutProfile int64 `json:"without_profile"`
	// IDs are the distinct ids of all people with a profile, empty if there are too many people.
	IDs []string `json:"distinct_ids"`
}

// maxExposedPeople is the maximum number of people in a cohort of exposed people (experiments.md
// §3.7). The query returns no distinct ids of more people.
const maxExposedPeople = 100_000

// findExposed returns the people who were exposed to an experiment. check is called with the
// experiment and its flag before the query runs. The caller needs permission to edit the experiment.
func (s Service) findExposed(ctx context.Context, scope *management.Scope, id string, check func(*storedExperiment, *storedflags.Flag) error) (*exposedPeople, error) {
	question, err := resource.ReadOne(ctx, s.Resource, scope, id, func(v *view, x *storedExperiment) (json.RawMessage, error) {
		if err := v.RequireAccess(management.Editor, x.accessObject()); err != nil {
			return nil, err
		}
		flag, err := s.linkedFlag(v, x)
		if err != nil {
			return nil, err
		}
		return x.peopleQuery(flag), check(x, flag)
	})
	if err != nil {
		return nil, err
	}
	if s.measure == nil {
		return nil, &management.Error{Kind: management.Unavailable, Code: "unavailable", Message: "Queries are not available on this server at the moment."}
	}
	raw, err := s.measure(ctx, scope.Project, question)
	if err != nil {
		return nil, err
	}
	out := &exposedPeople{}
	if err := json.Unmarshal(raw, out); err != nil {
		return nil, fmt.Errorf("exposed people: %w", err)
	}
	if out.People > maxExposedPeople {
		return nil, experimentFault("%d people have been exposed to the experiment: a cohort of them may have at most %d.", out.People, maxExposedPeople)
	}
	return out, nil
}

// peopleQuery returns the query for the people who were exposed to the experiment.
func (x *storedExperiment) peopleQuery(flag *storedflags.Flag) json.RawMessage {
	q := map[string]any{
		"kind": "ExperimentPeopleQuery", "start_date": x.Start, "end_date": x.End,
		"feature_flag": map[string]any{"key": flag.Key, "filters": flag.Filters},
	}
	if !management.EmptyJSON(x.Exposure) {
		q["exposure_criteria"] = x.Exposure
	}
	return storage.Encode(q)
}

// checkFreeze returns an error if the exposure of the experiment cannot be frozen, whoever was
// exposed (experiments.md §3.7).
func checkFreeze(x *storedExperiment, flag *storedflags.Flag, _ management.Values) error {
	switch err := x.checkRunning("Experiment exposure is already frozen.", x.Frozen != nil); {
	case err != nil:
		return err
	case !flag.Active:
		return experimentFault("Experiment is paused: resume it before you freeze its exposure.")
	case isAboutGroups(flag):
		return experimentFault("The exposure of an experiment about groups cannot be frozen.")
	case x.HoldoutID != nil:
		return experimentFault("The exposure of an experiment with a holdout cannot be frozen.")
	}
	return nil
}

// isAboutGroups reports whether a flag, or one of its conditions, is about groups.
func isAboutGroups(flag *storedflags.Flag) bool {
	filters := management.JSONObject(flag.Filters)
	var groups []map[string]json.RawMessage
	_ = json.Unmarshal(filters["groups"], &groups) // stored flags have been validated
	for _, part := range append(groups, filters) {
		if !isAbsent(part["aggregation_group_type_index"]) {
			return true
		}
	}
	return false
}

// freeze stores the exposed people as a static cohort, and adds the cohort to each condition of the
// flag.
func (s Service) freeze(e *experimentEdit, flag *storedflags.Flag, exposed *exposedPeople) error {
	switch {
	case exposed.People == 0:
		return experimentFault("Nobody has been exposed to the experiment yet.")
	case exposed.WithoutProfile*100 >= exposed.People:
		return experimentFault("%d of %d exposed people have no profile, so they would lose their variant: this must be less than 1 percent of them.", exposed.WithoutProfile, exposed.People)
	}
	cohort, err := s.cohorts.CreateStatic(e.View, cohortTitle("Frozen exposure of experiment", e.After.Name), exposed.IDs)
	if err != nil {
		return err
	}
	e.After.Frozen = &cohort.ID
	return flag.EditConditions(func(groups []json.RawMessage) ([]json.RawMessage, error) {
		for i, raw := range groups {
			group := management.JSONObject(raw)
			var properties []json.RawMessage
			_ = json.Unmarshal(group["properties"], &properties) // stored flags have been validated
			filter := storage.Encode(map[string]any{"key": "id", "type": "cohort", "operator": "in", "value": cohort.ID})
			group["properties"] = storage.Encode(append(properties, filter))
			group["exposure_frozen"], group["exposure_frozen_cohort"] = storage.Encode(true), storage.Encode(cohort.ID)
			groups[i] = storage.Encode(group)
		}
		return groups, nil
	})
}

// unfreeze removes the cohort of the exposed people from the conditions of the flag. Call deletes
// the cohort.
func unfreeze(x *storedExperiment, flag *storedflags.Flag, _ management.Values, _ management.Stamp) {
	cohort := string(storage.Encode(*x.Frozen))
	x.Frozen = nil
	// The change returns no error, and stored flags have been validated.
	_ = flag.EditConditions(func(groups []json.RawMessage) ([]json.RawMessage, error) {
		for i, raw := range groups {
			group := management.JSONObject(raw)
			var properties []json.RawMessage
			_ = json.Unmarshal(group["properties"], &properties)
			remaining := make([]json.RawMessage, 0, len(properties))
			for _, property := range properties {
				filter := management.JSONObject(property)
				if management.JSONText(filter["type"]) != "cohort" || string(filter["value"]) != cohort {
					remaining = append(remaining, property)
				}
			}
			group["properties"] = storage.Encode(remaining)
			// The flag may have been frozen by another experiment, too.
			if string(group["exposure_frozen_cohort"]) == cohort {
				delete(group, "exposure_frozen")
				delete(group, "exposure_frozen_cohort")
			}
			groups[i] = storage.Encode(group)
		}
		return groups, nil
	})
}

// exposureCohort is the response of CreateExposureCohort.
type exposureCohort struct {
	Cohort *cohorts.Cohort `json:"cohort"`
}

// CreateExposureCohort creates a static cohort of the people who have been exposed to an experiment
// until now, and stores it as the experiment's exposure_cohort (clients.md §13). It returns an error
// if the experiment already has such a cohort.
func (s Service) CreateExposureCohort(ctx context.Context, scope *management.Scope, id string) (*exposureCohort, error) {
	exposed, err := s.findExposed(ctx, scope, id, checkCohort)
	if err != nil {
		return nil, err
	}
	experiment, err := resource.RunAction(ctx, s.Resource, scope, id, func(e *experimentEdit) error {
		flag, err := s.linkedFlag(e.View, e.After)
		if err != nil {
			return err
		}
		if err := checkCohort(e.After, flag); err != nil { // meanwhile another request may have created it
			return err
		}
		cohort, err := s.cohorts.CreateStatic(e.View, cohortTitle("Users exposed to experiment", e.After.Name), exposed.IDs)
		if err != nil {
			return err
		}
		e.After.Cohort, e.After.UpdatedAt = &cohort.ID, management.NewStamp(s.env.Now())
		return nil
	})
	if err != nil {
		return nil, err
	}
	// The cohort names the experiment only after the transaction.
	cohort, err := s.cohorts.Get(ctx, scope, fmt.Sprint(*experiment.Cohort))
	return &exposureCohort{cohort}, err
}

// checkCohort returns an error if no cohort of the exposed people can be created.
func checkCohort(x *storedExperiment, flag *storedflags.Flag) error {
	switch {
	case x.isDraft():
		return experimentFault("Experiment does not have a start date")
	case x.Cohort != nil:
		return experimentFault("Experiment already has an exposure cohort")
	case isAboutGroups(flag):
		return experimentFault("An experiment about groups has no cohort of exposed people.")
	}
	return nil
}

// cohortTitle returns the name of a cohort, which may have at most 400 characters.
func cohortTitle(what, experiment string) string {
	name := []rune(experiment)
	return fmt.Sprintf("%s %q", what, string(name[:min(len(name), 300)]))
}

// deleteCohort deletes the cohort of the exposed people. It returns an error if other flags use the
// cohort. A cohort that no longer exists is no error.
func (s Service) deleteCohort(v *view, id int64) error {
	d, err := v.Tx.Definition(management.CohortDefinition, v.Project.ID, id)
	if err != nil || d == nil {
		return err
	}
	c, err := storedcohorts.Decode(d)
	if err != nil || c.Deleted {
		return err
	}
	before := *c
	c.Deleted = true
	if err := c.Check(&storedcohorts.Usage{Tx: v.Tx, Scope: v.Scope}, &before, management.Values{"deleted": true}); err != nil {
		return err
	}
	if err := c.Put(v.Tx, v.Scope); err != nil {
		return err
	}
	return s.env.LogActivity(v.Tx, v.Caller, v.Parent(), storedcohorts.ActivityScope, c.ItemID(), c.Title(), cohorts.ViewOf(&before), cohorts.ViewOf(c))
}

package storedcohorts

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/definitions"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// Usage caches the cohorts of a project and the flags that reference them for one
// transaction. Both are read at most once, when they are first needed.
type Usage struct {
	Tx    definitions.Tx
	Scope *management.Scope
	Graph cohortGraph
	uses  map[int64][]string // keys of active flags, by referenced cohort
}

// cohorts returns the graph of the project's cohorts.
func (a *Usage) cohorts() (_ cohortGraph, err error) {
	if a.Graph == nil {
		a.Graph, err = ReadGraph(a.Tx, a.Scope)
	}
	return a.Graph, err
}

// flagsUsing returns the sorted keys of the active flags that reference one of the cohorts.
func (a *Usage) flagsUsing(cohorts map[int64]bool) (keys []string, err error) {
	if a.uses == nil {
		a.uses = map[int64][]string{}
		// The query visits all flags but returns none: Match collects the ids and reports false.
		_, _, err = a.Tx.Definitions(management.DefinitionQuery{Kind: management.FlagDefinition, Project: a.Scope.Project.ID, Limit: 1, Match: func(d *management.Definition) bool {
			record := management.JSONObject(d.Record)
			if string(record["active"]) == "true" {
				for _, id := range PartsOf(record["filters"]).Cohorts {
					a.uses[id] = append(a.uses[id], d.Key)
				}
			}
			return false
		}})
	}
	for id := range cohorts {
		keys = append(keys, a.uses[id]...)
	}
	slices.Sort(keys)
	return slices.Compact(keys), err
}

// maxNamedFlags is the maximum number of flags that an error message lists.
const maxNamedFlags = 50

// Check returns an error if the cohort may not be stored. before is the cohort before the change
// and v contains the values of the request. Besides the form of the filters it checks that
// referenced cohorts exist, that there are no cycles, and that a cohort used by active flags is
// neither deleted nor extended with filters on events.
func (c *Cohort) Check(usage *Usage, before *Cohort, v management.Values) error {
	if err := checkQuery(c); err != nil {
		return err
	}
	// A cohort that is being deleted does not need valid filters.
	if c.Deleted && !before.Deleted && c.ID != 0 {
		return c.checkDelete(usage)
	}
	// Filters are only checked if the request contains them, or if a static cohort becomes
	// dynamic, so that older cohorts with invalid filters can still be renamed.
	if c.Static || !v.Has("filters") && !v.Has("groups") && c.Static == before.Static {
		return nil
	}
	if !management.EmptyJSON(c.Filters) || v.Has("filters") && !v.IsNull("filters") {
		if err := CheckFilters(c.Filters); err != nil {
			return err
		}
	}
	graph, err := usage.cohorts()
	if err != nil {
		return err
	}
	own := c.Parts()
	for _, id := range own.Cohorts {
		if _, ok := graph[id]; !ok && id != c.ID {
			return management.Fault("filters", "Invalid Cohort ID in filter")
		}
	}
	// A cycle exists if one of the referenced cohorts leads back to this one. A new cohort has no
	// id yet, so it cannot be part of a cycle.
	inner := graph.Reach(own.Cohorts...)
	if c.ID != 0 && inner[c.ID] {
		return management.Fault("filters", "Cohorts cannot reference other cohorts in a loop.")
	}
	if err := checkEvaluable(c); err != nil {
		return err
	}
	behavioral := own.Behavioral
	for id := range inner {
		behavioral = behavioral || graph[id].Behavioral
	}
	if !behavioral || c.ID == 0 {
		return nil
	}
	// Flags cannot evaluate filters on events, so a cohort that an active flag uses must not get
	// any.
	keys, err := usage.flagsUsing(graph.Dependents(c.ID))
	if err == nil && len(keys) > 0 {
		err = management.CodedFault("behavioral_cohort_found", "filters", "Behavioral filters cannot be added to cohorts used in feature flags.")
	}
	return err
}

// checkQuery checks the query of a cohort. Queries are stored for compatibility and never run, so
// only static cohorts may have one.
func checkQuery(c *Cohort) error {
	if management.EmptyJSON(c.Query) {
		return nil
	}
	switch kind := management.JSONText(management.JSONObject(c.Query)["kind"]); {
	case !management.EmptyJSON(c.Filters):
		return management.Fault("", "Cannot set both query and filters at the same time.")
	case !c.Static:
		return management.Fault("", "Cannot create a dynamic cohort with a query. Set is_static to true.")
	case kind != "ActorsQuery" && kind != "HogQLQuery":
		return management.Fault("query", "Query must be an ActorsQuery or HogQLQuery. Got: %s", kind)
	}
	return nil
}

// checkDelete returns an error if active flags use the cohort, directly or through other cohorts.
func (c *Cohort) checkDelete(usage *Usage) error {
	graph, err := usage.cohorts()
	if err != nil {
		return err
	}
	keys, err := usage.flagsUsing(graph.Dependents(c.ID))
	if err != nil || len(keys) == 0 {
		return err
	}
	// The number in the message counts all flags, the list only the first.
	names := strings.Join(keys[:min(len(keys), maxNamedFlags)], ", ")
	return management.Fault("", "This cohort is used in %d active feature flag(s): %s. Please remove the cohort from these feature flags before deleting it.", len(keys), names)
}

// checkEvaluable compiles the cohort with the evaluation engine, which reports invalid operators
// and values, and returns its first fault.
func checkEvaluable(c *Cohort) error {
	// The engine needs an id and skips deleted cohorts.
	record := c.Record
	record.ID, record.Deleted = max(c.ID, 1), false
	definitions, err := flags.ParseDefinitions(storage.Encode(map[string]any{"flags": []any{}, "cohorts": map[int64]any{record.ID: record}}))
	if err != nil {
		return management.Fault("filters", "The filters cannot be read.")
	}
	for _, fault := range flags.Compile(definitions).Faults() {
		return management.Fault("filters", "%s: %s", strings.TrimPrefix(fault.Path, fmt.Sprintf("cohorts.%d.", record.ID)), fault.Problem)
	}
	return nil
}

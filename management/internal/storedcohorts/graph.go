package storedcohorts

import (
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/definitions"
)

// cohortGraph contains the cohorts of a project that are not deleted, by id. Each entry has the
// ids of the cohorts that the cohort references.
type cohortGraph map[int64]parts

// ReadGraph reads all cohorts of the project and returns their graph. A project has at most
// MaxCohorts, so this is cheap enough for writes.
func ReadGraph(tx definitions.Tx, scope *management.Scope) (cohortGraph, error) {
	list, _, err := tx.Definitions(management.DefinitionQuery{Kind: management.CohortDefinition, Project: scope.Project.ID})
	if err != nil {
		return nil, err
	}
	out := cohortGraph{}
	for i := range list {
		c, err := Decode(&list[i])
		if err != nil {
			return nil, err
		}
		out[c.ID] = c.Parts()
	}
	return out, nil
}

// Parts returns the parts of the cohort's filters. Static cohorts have no filters that count.
func (c *Cohort) Parts() parts {
	if c.Static {
		return parts{}
	}
	// Filters take precedence over groups, the oldest format.
	if !management.EmptyJSON(c.Filters) {
		return PartsOf(c.Filters)
	}
	return PartsOf(c.Groups)
}

// Reach returns the given cohorts and all cohorts that they reference, directly or indirectly.
func (g cohortGraph) Reach(ids ...int64) map[int64]bool {
	out := map[int64]bool{}
	for len(ids) > 0 {
		id := ids[len(ids)-1]
		ids = ids[:len(ids)-1]
		if out[id] {
			continue
		}
		out[id] = true
		ids = append(ids, g[id].Cohorts...)
	}
	return out
}

// Dependents returns the given cohort and all cohorts that reference it, directly or indirectly.
func (g cohortGraph) Dependents(id int64) map[int64]bool {
	// Reverse the edges of the graph, and search from the cohort.
	outer := cohortGraph{}
	for container, p := range g {
		for _, member := range p.Cohorts {
			outer[member] = parts{Cohorts: append(outer[member].Cohorts, container)}
		}
	}
	return outer.Reach(id)
}

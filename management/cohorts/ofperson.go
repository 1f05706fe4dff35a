package cohorts

import (
	"context"
	"strconv"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/storage"
	"github.com/bunting-flags/bunting/management/internal/storedcohorts"
)

// ListForPerson returns the cohorts that contain a person now, newest first, restricted to those
// that the caller may see (§5.3). Cohorts that cannot be evaluated contain no person.
func (s Service) ListForPerson(ctx context.Context, scope *management.Scope, p *management.Person) ([]Cohort, error) {
	list, err := management.Read(ctx, &s.Env, func(tx storeTx) (management.List[Cohort], error) {
		all, _, err := tx.Definitions(management.DefinitionQuery{Kind: management.CohortDefinition, Project: scope.Project.ID})
		if err != nil {
			return management.List[Cohort]{}, err
		}
		matching, err := s.filterForPerson(tx, scope, all, p)
		if err != nil {
			return management.List[Cohort]{}, err
		}
		// Access rules are applied to the result: cohorts that the caller may not see can still
		// be part of cohorts that they may see.
		rows := management.List[storedcohorts.Cohort]{Count: len(matching)}
		for _, c := range matching {
			if scope.CanSee(c.AccessObject()) {
				rows.Results = append(rows.Results, *c)
			}
		}
		return s.resource(nil, false).Rows(&view{Tx: tx, Scope: scope}, rows)
	})
	return list.Results, err
}

// filterForPerson returns the cohorts that contain the person. It evaluates all of them in one
// pass, with one temporary flag for each cohort. Static cohorts are looked up in the store,
// because only one person has to be found in their lists.
func (s Service) filterForPerson(tx storeTx, scope *management.Scope, all []management.Definition, p *management.Person) (out []*storedcohorts.Cohort, err error) {
	project, err := tx.Project(scope.Project.ID)
	switch {
	case err != nil:
		return nil, err
	case project == nil:
		return nil, management.ErrNoProject()
	}
	stored := flags.Stored{Person: p.Properties, CreatedAt: p.CreatedAt, Cohorts: []int64{}}
	// The document has the format of /flags: one flag for each cohort, and all cohorts.
	document, list, cohorts := map[string]any{}, []any{}, map[int64]any{}
	for name, value := range project.Settings {
		document[name] = value
	}
	candidates := make([]*storedcohorts.Cohort, 0, len(all))
	for i := range all {
		c, err := storedcohorts.Decode(&all[i])
		if err != nil {
			return nil, err
		}
		candidates, cohorts[c.ID] = append(candidates, c), all[i].Record
		list = append(list, memberFlag(memberKeyOf(c), c.ID))
		if !c.Static {
			continue
		}
		members, err := tx.FilterMembers(scope.Project.ID, c.ID, p.DistinctIDs)
		if err != nil {
			return nil, err
		}
		if len(members) > 0 {
			stored.Cohorts = append(stored.Cohorts, c.ID)
		}
	}
	document["flags"], document["cohorts"] = list, cohorts
	definitions, err := flags.ParseDefinitions(storage.Encode(document))
	if err != nil {
		return nil, err
	}
	subject := flags.Subject{Stored: &stored}
	// As in matcher.match, a person is evaluated with the first distinct id.
	if len(p.DistinctIDs) > 0 {
		subject.DistinctID = p.DistinctIDs[0]
	}
	var decisions flags.Decisions
	flags.Compile(definitions).Evaluate(&subject, s.Env.Now(), &decisions)
	// A cohort that cannot be evaluated results in a failed decision and is left out.
	for _, c := range candidates {
		if d := decisions.Find(memberKeyOf(c)); d != nil && !d.Failed() && d.Enabled {
			out = append(out, c)
		}
	}
	return out, nil
}

// memberKeyOf returns the key of the temporary flag for a cohort.
func memberKeyOf(c *storedcohorts.Cohort) string { return memberKey + strconv.FormatInt(c.ID, 10) }

package featureflags

import (
	"context"
	"strconv"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management"
)

// OfPerson returns the cohorts that a person is in now, newest first, of those that the
// caller may see (§5.3). One that cannot be evaluated has nobody in it.
func (s Cohorts) OfPerson(ctx context.Context, st *management.Standing, p *Person) ([]Cohort, error) {
	list, err := management.Read(ctx, &s.Desk, func(tx Tx) (management.List[Cohort], error) {
		all, _, err := tx.Definitions(DefinitionQuery{Kind: CohortDefinition, Project: st.Project.ID})
		if err != nil {
			return management.List[Cohort]{}, err
		}
		in, err := s.amongCohorts(tx, st, all, p)
		if err != nil {
			return management.List[Cohort]{}, err
		}
		rows := management.List[storedCohort]{Count: len(in)}
		for _, c := range in {
			if st.Sees(c.thing()) {
				rows.Results = append(rows.Results, *c)
			}
		}
		return s.resource(nil, false).Rows(&view{Tx: tx, Standing: st}, rows)
	})
	return list.Results, err
}

// amongCohorts are those of some cohorts that a person is in: all are decided at once, by a
// flag for each.
func (s Cohorts) amongCohorts(tx Tx, st *management.Standing, all []Definition, p *Person) (out []*storedCohort, err error) {
	place, err := tx.Project(st.Project.ID)
	switch {
	case err != nil:
		return nil, err
	case place == nil:
		return nil, management.ErrNoProject()
	}
	stored := flags.Stored{Person: p.Properties, CreatedAt: p.CreatedAt, Cohorts: []int64{}}
	document, list, cohorts := map[string]any{}, []any{}, map[int64]any{}
	for name, value := range place.Settings {
		document[name] = value
	}
	read := make([]*storedCohort, 0, len(all))
	for i := range all {
		c, err := decodeCohort(&all[i])
		if err != nil {
			return nil, err
		}
		read, cohorts[c.ID] = append(read, c), all[i].Record
		list = append(list, memberFlag(memberKeyOf(c), c.ID))
		if !c.Static {
			continue
		}
		among, err := tx.MembersAmong(st.Project.ID, c.ID, p.DistinctIDs)
		if err != nil {
			return nil, err
		}
		if len(among) > 0 {
			stored.Cohorts = append(stored.Cohorts, c.ID)
		}
	}
	document["flags"], document["cohorts"] = list, cohorts
	definitions, err := flags.ParseDefinitions(management.Encode(document))
	if err != nil {
		return nil, err
	}
	subject := flags.Subject{Stored: &stored}
	if len(p.DistinctIDs) > 0 {
		subject.DistinctID = p.DistinctIDs[0]
	}
	var decisions flags.Decisions
	flags.Compile(definitions).Evaluate(&subject, s.Desk.Now(), &decisions)
	for _, c := range read {
		if d := decisions.Find(memberKeyOf(c)); d != nil && !d.Failed() && d.Enabled {
			out = append(out, c)
		}
	}
	return out, nil
}

func memberKeyOf(c *storedCohort) string { return memberKey + strconv.FormatInt(c.ID, 10) }

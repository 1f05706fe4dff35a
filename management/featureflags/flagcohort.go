package featureflags

import (
	"context"
	"fmt"
	"time"

	"github.com/bunting-flags/bunting/management"
)

// cohortOfFlag is the answer with the cohort that was made of a flag.
type cohortOfFlag struct {
	Cohort *Cohort `json:"cohort"`
}

// StaticCohort makes a static cohort of the persons for whom a flag is on now, as it is
// for the first of their distinct ids (spec/clients.md §7.2).
func (s Flags) StaticCohort(ctx context.Context, scope *management.Scope, id int64) (*cohortOfFlag, error) {
	p := &preview{people: s.People, core: s.core}
	f, err := management.Read(ctx, &s.Env, func(tx Tx) (*storedFlag, error) {
		f, err := findFlag(tx, scope, s, id)
		if err == nil && f == nil {
			err = management.ErrNotFound()
		}
		if err == nil && f.shape().Aggregation != nil {
			err = management.Fault("", "This feature flag is about groups: no persons are in it.")
		}
		if err != nil || !f.Active {
			return f, err
		}
		p.key = f.Key
		if p.set, err = s.compile(tx, scope, f); err != nil {
			return nil, err
		}
		return f, p.readMembers(tx, scope.Project.ID)
	})
	if err != nil {
		return nil, err
	}
	var ids []string
	if p.set != nil && p.people != nil {
		if ids, err = p.enabledIDs(ctx, scope.Project.ID); err != nil {
			return nil, err
		}
	}
	name := fmt.Sprintf("Users with feature flag %s enabled at %s", f.Key, s.Env.Now().Format(time.DateTime))
	return management.Write(ctx, &s.Env, func(tx Tx) (*cohortOfFlag, error) {
		c, err := Cohorts(s).resource(ids, false).CreateFrom(&view{Tx: tx, Scope: scope}, management.Values{"name": name, "is_static": true})
		return &cohortOfFlag{c}, err
	})
}

// enabledIDs are the distinct ids of the persons for whom the flag is on, at most maxMembers.
func (p *preview) enabledIDs(ctx context.Context, project int64) (ids []string, err error) {
	err = p.people.Persons(ctx, project, func(person *Person) bool {
		if sub := p.subject(person); p.matches(&sub) {
			ids = append(ids, person.DistinctIDs...)
		}
		return len(ids) <= maxMembers && ctx.Err() == nil
	})
	switch {
	case err != nil:
		return nil, err
	case len(ids) > maxMembers:
		return nil, management.Fault("", "The feature flag is on for more than %d distinct ids: a cohort of them is not made at once.", maxMembers)
	}
	return ids, ctx.Err()
}

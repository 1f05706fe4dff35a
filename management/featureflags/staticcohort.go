package featureflags

import (
	"context"
	"fmt"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/cohorts"
	"github.com/bunting-flags/bunting/management/internal/records"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// cohortOfFlag is the response with the cohort that was created from a flag.
type cohortOfFlag struct {
	Cohort *cohorts.Cohort `json:"cohort"`
}

// StaticCohort creates a static cohort with the persons for whom a flag is on now. The flag is
// evaluated with the first of a person's distinct ids (spec/clients.md §7.2). Flags about groups
// result in an error, and flags that are off in an empty cohort. The cohort's name contains the
// key of the flag and the time.
func (s Flags) StaticCohort(ctx context.Context, scope *management.Scope, id int64) (*cohortOfFlag, error) {
	// The flag is evaluated like in a preview of its conditions.
	p := &preview{people: s.People, core: s.core}
	f, err := management.Read(ctx, &s.Env, func(tx storeTx) (*storedflags.Flag, error) {
		f, err := records.Existing(s.stored.Find(tx, scope, id))
		if err == nil {
			err = scope.RequireAccess(management.Viewer, f.AccessObject())
		}
		if err == nil && f.Shape().Aggregation != nil {
			err = management.Fault("", "This feature flag is evaluated for groups and has no persons.")
		}
		// A flag that is off is not compiled: p.set stays nil and the cohort empty.
		if err != nil || !f.Active {
			return f, err
		}
		p.key = f.Key
		if p.set, err = s.stored.Compile(tx, scope, f); err != nil {
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
	return management.Write(ctx, &s.Env, func(tx storeTx) (*cohortOfFlag, error) {
		// The persons were read before, outside of this transaction.
		c, err := s.Cohorts.CreateStatic(&view{Tx: tx, Scope: scope}, name, ids)
		return &cohortOfFlag{c}, err
	})
}

// enabledIDs returns the distinct ids of the persons for whom the flag is on. It returns an error
// if there are more than maxMembers.
func (p *preview) enabledIDs(ctx context.Context, project int64) (ids []string, err error) {
	err = p.people.Persons(ctx, project, func(person *management.Person) bool {
		if sub := p.subject(person); p.matches(&sub) {
			ids = append(ids, person.DistinctIDs...)
		}
		return len(ids) <= maxMembers && ctx.Err() == nil
	})
	switch {
	case err != nil:
		return nil, err
	case len(ids) > maxMembers:
		return nil, management.Fault("", "The feature flag is enabled for more than %d distinct ids, the maximum for a new cohort.", maxMembers)
	}
	return ids, ctx.Err()
}

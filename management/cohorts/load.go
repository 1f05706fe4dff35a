package cohorts

import (
	"context"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/storedcohorts"
)

// resolveMembers converts a list of members into distinct ids. For UUIDs and e-mail addresses
// these are all distinct ids of the matching persons; identifiers without a person are skipped.
// E-mail addresses are searched among the newest maxPersons persons only.
func (s Service) resolveMembers(ctx context.Context, scope *management.Scope, list *MemberList) (out []string, err error) {
	switch {
	case list == nil:
		return nil, nil
	case list.Kind == distinctIDs:
		return list.Values, nil
	case s.People == nil:
		return nil, nil
	case list.Kind == personIDs:
		for _, uuid := range list.Values {
			p, err := s.People.PersonByUUID(ctx, scope.Project.ID, uuid)
			if err != nil {
				return nil, err
			}
			if p != nil {
				out = append(out, p.DistinctIDs...)
			}
		}
		return out, nil
	}
	// Persons have no index by e-mail address, so all of them are searched.
	emails := make(map[string]bool, len(list.Values))
	for _, email := range list.Values {
		emails[email] = true
	}
	scanned := 0
	err = s.People.Persons(ctx, scope.Project.ID, func(p *management.Person) bool {
		scanned++
		if email, ok := p.Properties["email"].(string); ok && emails[email] {
			out = append(out, p.DistinctIDs...)
		}
		return scanned < maxPersons
	})
	return out, err
}

// addMembers adds distinct ids to a stored static cohort and updates its count.
func (s Service) addMembers(tx storeTx, scope *management.Scope, c *storedcohorts.Cohort, ids []string) error {
	if len(ids) > 0 {
		if err := tx.AddMembers(scope.Project.ID, c.ID, ids); err != nil {
			return err
		}
	}
	return s.recount(tx, scope, c)
}

// recount counts the persons of a static cohort and stores the cohort if the count has changed.
func (s Service) recount(tx storeTx, scope *management.Scope, c *storedcohorts.Cohort) error {
	n, err := tx.CountMembers(scope.Project.ID, c.ID)
	if err != nil {
		return err
	}
	if c.Count != nil && *c.Count == n {
		return nil
	}
	c.Count, c.LastCalculation = &n, management.NewStamp(s.Env.Now())
	return c.Put(tx, scope)
}

// loadStatic loads a cohort for writing. It returns an error with the message msg if the cohort
// is not static.
func (s Service) loadStatic(v *view, id, msg string) (*storedcohorts.Cohort, error) {
	c, err := s.resource(nil, false).LoadWritable(v, id)
	if err == nil && !c.Static {
		err = management.Fault("", "%s", msg)
	}
	return c, err
}

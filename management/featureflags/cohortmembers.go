package featureflags

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/management"
)

// maxAdded is how many persons one call may add to a static cohort.
const maxAdded = 1000

// CohortAddFields and CohortRemoveFields are the bodies of the calls that change a
// static cohort's list.
var (
	CohortAddFields    = management.Fields{{Name: "person_ids", Type: management.Any, Help: "uuids of persons, at most 1000"}}
	CohortRemoveFields = management.Fields{{Name: "person_id", Type: management.Any, Help: "uuid of a person"}}
)

// successResult is the answer of calls that only say that it is done.
type successResult struct {
	Success bool `json:"success"`
}

// resolveMembers turns a list into distinct ids: all of every person that is known.
// Persons of e-mail addresses are looked for among the newest maxPersons.
func (s Cohorts) resolveMembers(ctx context.Context, scope *management.Scope, list *MemberList) (out []string, err error) {
	switch {
	case list == nil:
		return nil, nil
	case list.Kind == DistinctIDs:
		return list.Values, nil
	case s.People == nil:
		return nil, nil
	case list.Kind == PersonIDs:
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
	emails := make(map[string]bool, len(list.Values))
	for _, email := range list.Values {
		emails[email] = true
	}
	scanned := 0
	err = s.People.Persons(ctx, scope.Project.ID, func(p *Person) bool {
		scanned++
		if email, ok := p.Properties["email"].(string); ok && emails[email] {
			out = append(out, p.DistinctIDs...)
		}
		return scanned < maxPersons
	})
	return out, err
}

// addMembers puts distinct ids into a static cohort that is stored and counts it.
func (s Cohorts) addMembers(tx Tx, scope *management.Scope, c *storedCohort, ids []string) error {
	if len(ids) > 0 {
		if err := tx.AddMembers(scope.Project.ID, c.ID, ids); err != nil {
			return err
		}
	}
	return s.recount(tx, scope, c)
}

// recount counts the persons of a static cohort.
func (s Cohorts) recount(tx Tx, scope *management.Scope, c *storedCohort) error {
	n, err := tx.CountMembers(scope.Project.ID, c.ID)
	if err != nil {
		return err
	}
	if c.Count != nil && *c.Count == n {
		return nil
	}
	c.Count, c.LastCalculation = &n, management.NewStamp(s.Env.Now())
	return c.put(tx, scope)
}

// loadStatic is a cohort that may be changed and is static.
func (s Cohorts) loadStatic(v *view, id, msg string) (*storedCohort, error) {
	c, err := s.resource(nil, false).LoadWritable(v, id)
	if err == nil && !c.Static {
		err = management.Fault("", "%s", msg)
	}
	return c, err
}

// AddPersons puts persons into a static cohort.
func (s Cohorts) AddPersons(ctx context.Context, scope *management.Scope, id string, b management.Body) (*successResult, error) {
	v, err := CohortAddFields.Change(b)
	if err != nil {
		return nil, err
	}
	const msg = "Can only add users to static cohorts"
	_, err = management.Read(ctx, &s.Env, func(tx Tx) (*storedCohort, error) {
		return s.loadStatic(&view{Tx: tx, Scope: scope}, id, msg)
	})
	if err != nil {
		return nil, err
	}
	var uuids []json.RawMessage
	switch {
	case management.JSONKind(v.Raw("person_ids")) != "list" || json.Unmarshal(v.Raw("person_ids"), &uuids) != nil:
		return nil, management.Fault("", "person_ids must be a list")
	case len(uuids) == 0:
		return nil, management.Fault("", "person_ids cannot be empty")
	case len(uuids) > maxAdded:
		return nil, management.Fault("", "List size exceeds limit")
	}
	list := MemberList{Kind: PersonIDs}
	for _, raw := range uuids {
		if uuid, ok := management.NormalizeUUID(management.JSONText(raw)); ok {
			list.Values = append(list.Values, uuid)
		}
	}
	ids, err := s.resolveMembers(ctx, scope, &list)
	if err != nil {
		return nil, err
	}
	if len(ids) == 0 {
		return nil, management.Fault("", "No valid users to add to cohort")
	}
	return s.changeMembers(ctx, scope, id, msg, func(tx Tx, c *storedCohort) error { return s.addMembers(tx, scope, c, ids) })
}

// changeMembers changes the list of a static cohort and notes it.
func (s Cohorts) changeMembers(ctx context.Context, scope *management.Scope, id, msg string, change func(Tx, *storedCohort) error) (*successResult, error) {
	return management.Write(ctx, &s.Env, func(tx Tx) (*successResult, error) {
		v := &view{Tx: tx, Scope: scope}
		c, err := s.loadStatic(v, id, msg)
		if err != nil {
			return nil, err
		}
		return &successResult{true}, s.resource(nil, false).LogChanges(v, c, func() error { return change(tx, c) })
	})
}

// RemovePerson takes a person out of a static cohort.
func (s Cohorts) RemovePerson(ctx context.Context, scope *management.Scope, id string, b management.Body) (*successResult, error) {
	v, err := CohortRemoveFields.Change(b)
	if err != nil {
		return nil, err
	}
	raw := v.Raw("person_id")
	if !isPresent(raw) {
		return nil, management.Fault("", "person_id is required")
	}
	uuid, ok := management.NormalizeUUID(management.JSONText(raw))
	if !ok {
		return nil, management.Fault("", "person_id must be a valid UUID")
	}
	var p *Person
	if s.People != nil {
		if p, err = s.People.PersonByUUID(ctx, scope.Project.ID, uuid); err != nil {
			return nil, err
		}
	}
	const msg = "Can only remove users from static cohorts"
	return s.changeMembers(ctx, scope, id, msg, func(tx Tx, c *storedCohort) error {
		if p == nil {
			return management.Missing("Person with this UUID does not exist in the cohort's team")
		}
		members, err := tx.FilterMembers(scope.Project.ID, c.ID, p.DistinctIDs)
		if err != nil {
			return err
		}
		if len(members) == 0 {
			return management.Missing("Person is not part of the cohort")
		}
		if err := tx.RemoveMembers(scope.Project.ID, c.ID, members); err != nil {
			return err
		}
		return s.recount(tx, scope, c)
	})
}

// cohortPersons is a page of the persons of a cohort.
type cohortPersons struct {
	UUIDs []string
	Next  string // where the next page begins, empty at the end
}

// Persons returns the persons of a cohort that are known: of a static one in the
// order of their distinct ids, of a dynamic one newest first. from is Next of the
// page before, empty for the first.
func (s Cohorts) Persons(ctx context.Context, scope *management.Scope, id string, limit int, cursor string) (*cohortPersons, error) {
	c, err := management.Read(ctx, &s.Env, func(tx Tx) (*storedCohort, error) { return s.load(tx, scope, id) })
	switch {
	case err != nil:
		return nil, err
	case s.People == nil || c.Deleted:
		return &cohortPersons{}, nil
	case c.Static:
		return s.listStatic(ctx, scope, c, limit, cursor)
	}
	skip, err := strconv.Atoi(cursor)
	if cursor != "" && (err != nil || skip < 0) {
		return nil, management.Fault("cursor", "Invalid cursor: use the one of the next link as it stands.")
	}
	out, seen := &cohortPersons{}, 0
	m, _, err := s.newMatcher(ctx, scope, c.ID)
	if err != nil {
		return nil, err
	}
	err = s.scan(ctx, scope, m, func(p *Person) bool {
		if seen == skip+limit {
			out.Next = strconv.Itoa(seen)
			return false
		}
		if seen >= skip {
			out.UUIDs = append(out.UUIDs, p.UUID)
		}
		seen++
		return true
	})
	if errors.Is(err, errNotEvaluable) {
		return nil, management.Fault("", "The cohort cannot be evaluated.")
	}
	return out, err
}

// Membership tells who is in a cohort now; in one that is not there nobody
// is. What it makes is for one goroutine.
func (s Cohorts) Membership(ctx context.Context, scope *management.Scope, id string) (func(*Person) bool, error) {
	c, err := management.Read(ctx, &s.Env, func(tx Tx) (*storedCohort, error) { return s.load(tx, scope, id) })
	var fault *management.Error
	switch {
	case errors.As(err, &fault) && fault.Kind == management.NotFound, err == nil && c.Deleted:
		return func(*Person) bool { return false }, nil
	case err != nil:
		return nil, err
	}
	m, _, err := s.newMatcher(ctx, scope, c.ID)
	if err != nil {
		return nil, err
	}
	if _, err := m.match(&Person{}); err != nil { // then it fails for everybody
		return nil, management.Fault("cohort", "The cohort cannot be evaluated.")
	}
	return func(p *Person) bool {
		isMember, err := m.match(p)
		return err == nil && isMember
	}, nil
}

// listStatic is a page of a static cohort. A person is shown at the first of the
// distinct ids that are members, so that nobody comes twice.
func (s Cohorts) listStatic(ctx context.Context, scope *management.Scope, c *storedCohort, limit int, after string) (*cohortPersons, error) {
	out := &cohortPersons{}
	for {
		page, err := management.Read(ctx, &s.Env, func(tx Tx) ([]string, error) { return tx.Members(scope.Project.ID, c.ID, after, limit) })
		if err != nil {
			return nil, err
		}
		for _, id := range page {
			if len(out.UUIDs) == limit {
				out.Next = after
				return out, nil
			}
			after = id
			p, err := s.People.PersonByDistinctID(ctx, scope.Project.ID, id)
			if err != nil {
				return nil, err
			}
			if p == nil {
				continue
			}
			members, err := management.Read(ctx, &s.Env, func(tx Tx) ([]string, error) { return tx.FilterMembers(scope.Project.ID, c.ID, p.DistinctIDs) })
			if err != nil {
				return nil, err
			}
			if len(members) == 0 || members[0] == id {
				out.UUIDs = append(out.UUIDs, p.UUID)
			}
		}
		if len(page) < limit {
			return out, nil
		}
	}
}

// DuplicateStatic makes a static cohort of the persons that a dynamic one has now.
func (s Cohorts) DuplicateStatic(ctx context.Context, scope *management.Scope, id string) (*Cohort, error) {
	c, err := management.Read(ctx, &s.Env, func(tx Tx) (*storedCohort, error) { return s.load(tx, scope, id) })
	switch {
	case err != nil:
		return nil, err
	case c.Deleted:
		return nil, management.ErrNotFound()
	case c.Static:
		return nil, management.Fault("", "Cannot duplicate a static cohort as a static cohort.")
	}
	m, _, err := s.newMatcher(ctx, scope, c.ID)
	if err != nil {
		return nil, err
	}
	var ids []string
	err = s.scan(ctx, scope, m, func(p *Person) bool { ids = append(ids, p.DistinctIDs...); return true })
	if errors.Is(err, errNotEvaluable) {
		return nil, management.Fault("", "The cohort cannot be evaluated.")
	}
	if err != nil {
		return nil, err
	}
	name := strings.TrimSpace(c.title() + " (static copy)")
	out, err := management.Write(ctx, &s.Env, func(tx Tx) (*Cohort, error) {
		return s.resource(slices.Clone(ids), false).CreateFrom(&view{Tx: tx, Scope: scope}, management.Values{"name": name, "is_static": true})
	})
	return s.countSaved(ctx, scope, out, err)
}

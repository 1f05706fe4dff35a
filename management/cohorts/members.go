package cohorts

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/definitions"
	"github.com/bunting-flags/bunting/management/internal/storedcohorts"
)

// maxAdded is the maximum number of persons that one call may add to a static cohort.
const maxAdded = 1000

// addFields and removeFields are the request bodies that add persons to a static
// cohort and remove one.
var (
	addFields    = management.Fields{{Name: "person_ids", Type: management.Any, Help: "uuids of persons, at most 1000"}}
	removeFields = management.Fields{{Name: "person_id", Type: management.Any, Help: "uuid of a person"}}
)

// AddPersons adds persons to a static cohort. The body contains their UUIDs (addFields), at
// least one and at most 1,000; unknown persons are ignored, but at least one must exist.
func (s Service) AddPersons(ctx context.Context, scope *management.Scope, id string, b management.Body) (*definitions.SuccessResult, error) {
	v, err := addFields.Change(b)
	if err != nil {
		return nil, err
	}
	const msg = "Can only add users to static cohorts"
	// Check the cohort first: errors about it take precedence over errors in the body. It is
	// loaded again in the write transaction, since it may be changed in the meantime.
	_, err = management.Read(ctx, &s.Env, func(tx storeTx) (*storedcohorts.Cohort, error) {
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
	list := MemberList{Kind: personIDs}
	// Invalid UUIDs are ignored, like those of unknown persons.
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
	return s.changeMembers(ctx, scope, id, msg, func(tx storeTx, c *storedcohorts.Cohort) error {
		return s.addMembers(tx, scope, c, ids)
	})
}

// changeMembers runs change with a static cohort in a write transaction and records the result in
// the activity log. msg is the error message for dynamic cohorts.
func (s Service) changeMembers(ctx context.Context, scope *management.Scope, id, msg string, change func(storeTx, *storedcohorts.Cohort) error) (*definitions.SuccessResult, error) {
	return management.Write(ctx, &s.Env, func(tx storeTx) (*definitions.SuccessResult, error) {
		v := &view{Tx: tx, Scope: scope}
		c, err := s.loadStatic(v, id, msg)
		if err != nil {
			return nil, err
		}
		return &definitions.SuccessResult{Success: true}, s.resource(nil, false).LogChanges(v, c, func() error { return change(tx, c) })
	})
}

// RemovePerson removes a person, with all distinct ids, from a static cohort. The body contains
// the person's UUID (removeFields). It returns a NotFound error if the person does not
// exist or is not in the cohort.
func (s Service) RemovePerson(ctx context.Context, scope *management.Scope, id string, b management.Body) (*definitions.SuccessResult, error) {
	v, err := removeFields.Change(b)
	if err != nil {
		return nil, err
	}
	raw := v.Raw("person_id")
	if management.EmptyJSON(raw) {
		return nil, management.Fault("", "person_id is required")
	}
	uuid, ok := management.NormalizeUUID(management.JSONText(raw))
	if !ok {
		return nil, management.Fault("", "person_id must be a valid UUID")
	}
	var p *management.Person
	// Persons are read outside of the write transaction.
	if s.People != nil {
		if p, err = s.People.PersonByUUID(ctx, scope.Project.ID, uuid); err != nil {
			return nil, err
		}
	}
	const msg = "Can only remove users from static cohorts"
	return s.changeMembers(ctx, scope, id, msg, func(tx storeTx, c *storedcohorts.Cohort) error {
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
	Next  string // cursor of the next page, empty on the last page
}

// Persons returns a page of at most limit persons of a cohort: of a static cohort in the order of
// their distinct ids, of a dynamic cohort newest first. Members of static cohorts without a
// person are left out. cursor is Next of the previous page, or empty for the first page.
func (s Service) Persons(ctx context.Context, scope *management.Scope, id string, limit int, cursor string) (*cohortPersons, error) {
	c, err := s.readVisible(ctx, scope, id)
	switch {
	case err != nil:
		return nil, err
	case s.People == nil || c.Deleted:
		return &cohortPersons{}, nil
	case c.Static:
		return s.listStatic(ctx, scope, c, limit, cursor)
	}
	// The cursor of a dynamic cohort is the number of persons to skip: the cohort is evaluated
	// again for each page. The cursor of a static cohort is the last distinct id.
	skip, err := strconv.Atoi(cursor)
	if cursor != "" && (err != nil || skip < 0) {
		return nil, management.Fault("cursor", "Invalid cursor: use the cursor of the next link unchanged.")
	}
	out, seen := &cohortPersons{}, 0
	m, _, err := s.newMatcher(ctx, scope, c.ID)
	if err != nil {
		return nil, err
	}
	_, err = s.scan(ctx, scope, m, func(p *management.Person) bool {
		// There is at least one person after this page.
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

// readVisible reads a cohort, deleted or not. It returns an error if the caller may not view it.
func (s Service) readVisible(ctx context.Context, scope *management.Scope, id string) (*storedcohorts.Cohort, error) {
	return management.Read(ctx, &s.Env, func(tx storeTx) (*storedcohorts.Cohort, error) {
		c, err := storedcohorts.Load(tx, scope, id)
		if err == nil {
			err = scope.RequireAccess(management.Viewer, c.AccessObject())
		}
		return c, err
	})
}

// Membership returns a function that reports whether a person belongs to a cohort now. For a
// cohort that does not exist, is deleted or may not be viewed by the caller, it always returns
// false. The function must not be called concurrently.
func (s Service) Membership(ctx context.Context, scope *management.Scope, id string) (func(*management.Person) bool, error) {
	c, err := management.Read(ctx, &s.Env, func(tx storeTx) (*storedcohorts.Cohort, error) {
		return storedcohorts.Load(tx, scope, id)
	})
	var fault *management.Error
	switch {
	case errors.As(err, &fault) && fault.Kind == management.NotFound, err == nil && (c.Deleted || !scope.CanSee(c.AccessObject())):
		return func(*management.Person) bool { return false }, nil
	case err != nil:
		return nil, err
	}
	m, _, err := s.newMatcher(ctx, scope, c.ID)
	if err != nil {
		return nil, err
	}
	if _, err := m.match(&management.Person{}); err != nil { // evaluation fails for all persons or for no person
		return nil, management.Fault("cohort", "The cohort cannot be evaluated.")
	}
	return func(p *management.Person) bool {
		isMember, err := m.match(p)
		return err == nil && isMember
	}, nil
}

// listStatic returns a page of a static cohort. Several distinct ids of a person may be members;
// the person is returned only for the first of them, so that no person appears twice.
func (s Service) listStatic(ctx context.Context, scope *management.Scope, c *storedcohorts.Cohort, limit int, after string) (*cohortPersons, error) {
	out := &cohortPersons{}
	for {
		page, err := management.Read(ctx, &s.Env, func(tx storeTx) ([]string, error) {
			return tx.Members(scope.Project.ID, c.ID, after, limit)
		})
		if err != nil {
			return nil, err
		}
		for _, id := range page {
			if len(out.UUIDs) == limit {
				out.Next = after
				return out, nil
			}
			after = id
			person, err := s.personOfMember(ctx, scope, c, id)
			if err != nil {
				return nil, err
			}
			if person != "" {
				out.UUIDs = append(out.UUIDs, person)
			}
		}
		if len(page) < limit {
			return out, nil
		}
	}
}

// personOfMember returns the uuid of the person of a distinct id in a static cohort. It is empty if
// the id has no person, because no event with it has been received, or if another id of the same
// person comes before it in the cohort.
func (s Service) personOfMember(ctx context.Context, scope *management.Scope, c *storedcohorts.Cohort, id string) (string, error) {
	p, err := s.People.PersonByDistinctID(ctx, scope.Project.ID, id)
	if err != nil || p == nil {
		return "", err
	}
	// FilterMembers returns the ids in order.
	members, err := management.Read(ctx, &s.Env, func(tx storeTx) ([]string, error) {
		return tx.FilterMembers(scope.Project.ID, c.ID, p.DistinctIDs)
	})
	if err != nil || len(members) > 0 && members[0] != id {
		return "", err
	}
	return p.UUID, nil
}

// DuplicateStatic creates a static cohort with the persons that a dynamic cohort contains now. It
// returns an error if the cohort is static or cannot be evaluated.
func (s Service) DuplicateStatic(ctx context.Context, scope *management.Scope, id string) (*Cohort, error) {
	// The cohort is evaluated outside of the write transaction, since that may take seconds.
	c, err := s.readVisible(ctx, scope, id)
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
	_, err = s.scan(ctx, scope, m, func(p *management.Person) bool { ids = append(ids, p.DistinctIDs...); return true })
	if errors.Is(err, errNotEvaluable) {
		return nil, management.Fault("", "The cohort cannot be evaluated.")
	}
	if err != nil {
		return nil, err
	}
	name := strings.TrimSpace(c.Title() + " (static copy)")
	out, err := management.Write(ctx, &s.Env, func(tx storeTx) (*Cohort, error) {
		return s.CreateStatic(&view{Tx: tx, Scope: scope}, name, slices.Clone(ids))
	})
	return s.countSaved(ctx, scope, out, err)
}

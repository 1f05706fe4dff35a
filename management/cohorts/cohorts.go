package cohorts

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/storedcohorts"
)

// CreateStatic creates a static cohort with distinct ids, within a transaction.
func (s Service) CreateStatic(v *view, name string, ids []string) (*Cohort, error) {
	return s.resource(ids, false).CreateFrom(v, management.Values{"name": name, "is_static": true})
}

// Query filters a list of cohorts. Zero values of its members do not filter.
type Query struct {
	management.Page
	Type string // static or dynamic; any other value is ignored
	// CreatedBy is the id of the author.
	CreatedBy int64
	Search    string // in the name, case-insensitive
	// HideBehavioral leaves out dynamic cohorts with filters on events.
	HideBehavioral bool
}

// List returns a page of the cohorts that are not deleted, newest first. Cohorts that the caller
// may not see are left out.
func (s Service) List(ctx context.Context, scope *management.Scope, q Query) (management.List[Cohort], error) {
	return management.Read(ctx, &s.Env, func(tx storeTx) (out management.List[Cohort], err error) {
		var failed error
		// Match is set only if it is needed: without it the store returns just one page.
		query := management.DefinitionQuery{Kind: management.CohortDefinition, Project: scope.Project.ID, Offset: q.Offset, Limit: q.Limit}
		if q.Type == "static" || q.Type == "dynamic" || q.CreatedBy != 0 || q.Search != "" || q.HideBehavioral || scope.IsRestricted() {
			search := strings.ToLower(q.Search)
			query.Match = func(d *management.Definition) bool {
				c, err := storedcohorts.Decode(d)
				if err != nil {
					failed = err
					return false
				}
				return scope.CanSee(c.AccessObject()) && (q.Type != "static" || c.Static) && (q.Type != "dynamic" || !c.Static) && (q.CreatedBy == 0 || q.CreatedBy == c.CreatedBy) &&
					strings.Contains(strings.ToLower(c.Title()), search) && (!q.HideBehavioral || c.Static || !storedcohorts.PartsOf(d.Record).Behavioral)
			}
		}
		page, count, err := tx.Definitions(query)
		if err == nil {
			err = failed
		}
		list := management.List[storedcohorts.Cohort]{Count: count}
		for i := 0; i < len(page) && err == nil; i++ {
			var c *storedcohorts.Cohort
			if c, err = storedcohorts.Decode(&page[i]); err == nil {
				list.Results = append(list.Results, *c)
			}
		}
		if err != nil {
			return out, err
		}
		return s.resource(nil, false).Rows(&view{Tx: tx, Scope: scope}, list)
	})
}

// Get returns a cohort. It also returns deleted cohorts.
func (s Service) Get(ctx context.Context, scope *management.Scope, id string) (*Cohort, error) {
	return s.resource(nil, false).Get(ctx, scope, id)
}

// Create creates a cohort. list contains the first members of a static cohort and may be nil. The
// persons of a dynamic cohort are counted before Create returns.
func (s Service) Create(ctx context.Context, scope *management.Scope, b management.Body, list *MemberList) (*Cohort, error) {
	v, err := storedcohorts.Fields.Create(b)
	if err != nil {
		return s.resource(nil, false).Create(ctx, scope, b) // reports the errors in the usual order
	}
	if list != nil && !v.Bool("is_static") {
		return nil, errNotStaticFile()
	}
	ids, err := s.resolveMembers(ctx, scope, list)
	if err != nil {
		return nil, err
	}
	// Persons may be listed in the body, too.
	if uuids := v.Texts("_create_static_person_ids"); v.Bool("is_static") && len(uuids) > 0 {
		more, err := s.resolveMembers(ctx, scope, &MemberList{Kind: personIDs, Values: uuids})
		if err != nil {
			return nil, err
		}
		ids = slices.Concat(ids, more)
	}
	c, err := s.resource(ids, list != nil).Create(ctx, scope, b)
	return s.countSaved(ctx, scope, c, err)
}

// Update changes a cohort. If put is true, required fields must be present (PUT), else absent
// fields are unchanged (PATCH). list contains members to add to a static cohort and may be nil.
func (s Service) Update(ctx context.Context, scope *management.Scope, id string, b management.Body, put bool, list *MemberList) (*Cohort, error) {
	ids, err := s.resolveMembers(ctx, scope, list)
	if err != nil {
		return nil, err
	}
	c, err := s.resource(ids, list != nil).Update(ctx, scope, id, b, put)
	return s.countSaved(ctx, scope, c, err)
}

// countSaved counts the persons of a dynamic cohort that was just stored, outside of the write
// transaction, and returns the cohort with its count. Other cohorts and err are returned as is.
func (s Service) countSaved(ctx context.Context, scope *management.Scope, c *Cohort, err error) (*Cohort, error) {
	if err != nil || c.Static || c.Deleted {
		return c, err
	}
	if err := s.calculate(ctx, scope, c.ID); err != nil {
		return nil, err
	}
	return s.Get(ctx, scope, strconv.FormatInt(c.ID, 10))
}

package featureflags

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management"
)

// Cohorts manages cohorts (§5.2): sets of persons, defined by filters (dynamic) or by a list
// (static).
type Cohorts struct{ *core }

// cohortActivityScope is the scope of cohorts in the activity log.
const cohortActivityScope = "Cohort"

// Cohort is a cohort as the API returns it.
type Cohort struct {
	ID              int64                  `json:"id"`
	Name            *string                `json:"name"`
	Description     string                 `json:"description"`
	Groups          json.RawMessage        `json:"groups"`
	Deleted         bool                   `json:"deleted"`
	Filters         json.RawMessage        `json:"filters"`
	Query           json.RawMessage        `json:"query"`
	IsCalculating   bool                   `json:"is_calculating"` // always false: writes count the persons before they return
	CreatedBy       *management.UserView   `json:"created_by"`
	CreatedAt       management.Stamp       `json:"created_at"`
	LastCalculation management.Stamp       `json:"last_calculation"`
	Errors          int                    `json:"errors_calculating"` // failed counts since the last successful one
	Count           *int                   `json:"count"`              // number of persons, null before the first count
	Static          bool                   `json:"is_static"`
	Type            *string                `json:"cohort_type"`
	Experiments     []linkID               `json:"experiment_set"`
	Access          management.AccessLevel `json:"user_access_level"`
}

// cohortTypes are the values of cohort_type (spec/flags.md §1.6).
var cohortTypes = []string{"static", "person_property", "behavioral", "realtime", "analytical"}

// CohortFields are the writable fields of a cohort. A CSV file with members is passed separately.
var CohortFields = management.Fields{
	{Name: "name", Type: management.Text, Null: true, Blank: true, MaxLength: 400},
	{Name: "description", Type: management.Text, Blank: true, MaxLength: 1000},
	{Name: "groups", Type: management.Array, Custom: true, Help: "oldest form of filters"},
	{Name: "deleted", Type: management.Bool, Help: "true deletes the cohort, false restores it"},
	{Name: "filters", Type: management.Object, Null: true, Help: "object with properties: a tree of person, cohort and behavioral filters"},
	{Name: "query", Type: management.Object, Null: true, Help: "query of a static cohort; it is stored but never run"},
	{Name: "is_static", Type: management.Bool},
	{Name: "cohort_type", Type: management.Choice, Null: true, Choices: cohortTypes, Custom: true, Help: "type of the cohort; derived from its contents"},
	{Name: "_create_in_folder", Type: management.Text, Null: true, Blank: true, Custom: true, Help: "has no effect"},
	{Name: "_create_static_person_ids", Type: management.TextList, Custom: true, Help: "uuids of the initial members of a new static cohort"},
}

// cohortRecord is the part of a cohort that /flags reads.
type cohortRecord struct {
	ID          int64           `json:"id"`
	Team        int64           `json:"team_id"`
	Name        *string         `json:"name"`
	Description string          `json:"description"`
	Deleted     bool            `json:"deleted"`
	Static      bool            `json:"is_static"`
	Filters     json.RawMessage `json:"filters"`
	Groups      json.RawMessage `json:"groups"`
	Query       json.RawMessage `json:"query"`
	Type        *string         `json:"cohort_type"`
}

// cohortMeta is the part of a cohort that only this package reads.
type cohortMeta struct {
	CreatedAt       management.Stamp `json:"created_at,omitzero"`
	CreatedBy       int64            `json:"created_by,omitempty"`
	LastCalculation management.Stamp `json:"last_calculation,omitzero"`
	Errors          int              `json:"errors_calculating,omitempty"`
	Count           *int             `json:"count,omitempty"`
}

// storedCohort is the stored form of a cohort.
type storedCohort struct {
	cohortRecord
	cohortMeta
	// origin is the definitions file that contains the cohort, empty if it is not from a file.
	origin string
}

// decodeCohort decodes a stored cohort. Records from definitions files may have any shape; their
// unreadable members are ignored.
func decodeCohort(d *Definition) (*storedCohort, error) {
	c := &storedCohort{origin: d.Origin}
	if err := json.Unmarshal(d.Record, &c.cohortRecord); err != nil && d.Origin == "" {
		return nil, fmt.Errorf("the stored cohort %d is invalid: %w", d.ID, err)
	}
	if len(d.Meta) > 0 {
		if err := json.Unmarshal(d.Meta, &c.cohortMeta); err != nil {
			return nil, fmt.Errorf("the stored cohort %d is invalid: %w", d.ID, err)
		}
	}
	// Files may mark static cohorts by their type only.
	c.Static = c.Static || c.Type != nil && *c.Type == "static"
	// In a file, the record may be the tree of filters itself.
	if bare := management.JSONObject(d.Record); bare["values"] != nil {
		c.Filters = management.Encode(map[string]json.RawMessage{"properties": d.Record})
	}
	c.ID, c.Deleted = d.ID, d.Deleted
	return c, nil
}

// put stores a cohort and, if it is counted periodically, schedules an immediate count. Callers
// that count the cohort themselves replace that schedule afterwards.
func (c *storedCohort) put(tx Tx, scope *management.Scope) error {
	if err := c.store(tx, scope); err != nil || !c.isCountedPeriodically() {
		return err
	}
	return scheduleCount(tx, scope.Project.ID, c.ID, time.Unix(0, 0))
}

// store is like put but does not schedule a count.
func (c *storedCohort) store(tx Tx, scope *management.Scope) error {
	c.Team = scope.Project.ID
	c.Type = c.kind()
	for ok := false; !ok; { // a new cohort is stored twice: the record contains the id, which the store assigns
		ok = c.ID != 0
		d := &Definition{ID: c.ID, Record: management.Encode(c.cohortRecord), Meta: management.Encode(c.cohortMeta), Deleted: c.Deleted}
		if err := putDefinition(tx, CohortDefinition, scope.Project.ID, d); err != nil {
			return err
		}
		c.ID = d.ID
	}
	return nil
}

// kind returns the value of cohort_type, derived from the cohort's contents. It returns nil for a
// dynamic cohort without filters.
func (c *storedCohort) kind() *string {
	kind := "person_property"
	switch {
	case isPresent(c.Query):
		kind = "analytical"
	case c.Static:
		kind = "static"
	case c.Type != nil && *c.Type == realtime:
		kind = realtime
	case partsOf(c.Filters).behavioral || partsOf(c.Groups).behavioral:
		kind = "behavioral"
	case !isPresent(c.Filters) && management.EmptyJSON(c.Groups):
		return nil
	}
	return &kind
}

// isPresent reports whether a JSON value is neither absent, null nor empty.
func isPresent(raw json.RawMessage) bool { return !management.EmptyJSON(raw) }

// title returns the name of the cohort, or "" if it has no name.
func (c *storedCohort) title() string {
	if c.Name == nil {
		return ""
	}
	return *c.Name
}

// accessObject identifies the cohort for access rules.
func (c *storedCohort) accessObject() management.AccessObject {
	return management.AccessObject{Kind: kindCohort, ID: c.itemID(), Author: c.CreatedBy}
}

// itemID returns the cohort's id as used in URLs and in the activity log.
func (c *storedCohort) itemID() string { return strconv.FormatInt(c.ID, 10) }

// resource returns the generic operations on the project's cohorts. ids are added to the static
// cohort that a write creates or changes. If ofFile is true they are from a CSV file, and a write
// to a dynamic cohort returns an error.
func (s Cohorts) resource(ids []string, fromFile bool) management.Resource[Tx, storedCohort, Cohort] {
	return management.NewResource(&s.Env, management.Spec[Tx, storedCohort, Cohort]{
		ActivityScope: cohortActivityScope, Fields: CohortFields, Object: (*storedCohort).accessObject,
		Body: func(b *management.Body) error { return checkBody(b, flags.CohortPart) },
		Header: func(_ *management.Scope, c *storedCohort) management.RecordHeader {
			return management.RecordHeader{ID: c.itemID(), Title: c.title()}
		},
		Load: func(v *view, id string, _ *management.Body) (*storedCohort, error) {
			return s.load(v.Tx, v.Scope, id)
		},
		AuthorizeChange: func(_ *view, c *storedCohort) error {
			if c.origin != "" {
				return management.Clash("The cohort %d is defined in the file %s and can only be changed there.", c.ID, c.origin)
			}
			return nil
		},
		New: func(v *view) (*storedCohort, error) {
			return &storedCohort{cohortMeta: cohortMeta{CreatedAt: management.NewStamp(s.Env.Now()), CreatedBy: v.User.ID}}, nil
		},
		Rules: func(e *management.Edit[Tx, storedCohort]) error {
			e.After.assign(e.Values)
			return e.After.check(&cohortUsage{tx: e.Tx, scope: e.Scope}, &e.Before, e.Values)
		},
		Put: func(v *view, c *storedCohort) error { return c.put(v.Tx, v.Scope) },
		AfterSave: func(e *management.Edit[Tx, storedCohort]) error {
			switch {
			// A static cohort is counted even without new members, since it may just have become
			// static.
			case e.After.Static:
				return s.addMembers(e.Tx, e.Scope, e.After, ids)
			case fromFile:
				return errNotStaticFile()
			}
			return nil
		},
		Show: s.show,
	})
}

// show returns a cohort as the API returns it, with its author, its experiments and its count.
func (s Cohorts) show(v *view, c *storedCohort) (*Cohort, error) {
	creator, err := v.Author(c.CreatedBy)
	if err != nil {
		return nil, err
	}
	experiments, err := experimentsOfCohort(v.Tx, v.Scope, c.ID)
	if err != nil {
		return nil, err
	}
	out := c.toView()
	if out.Count, err = s.memberCount(v, c); err != nil {
		return nil, err
	}
	out.Access = v.AccessTo(c.accessObject())
	out.CreatedBy, out.Experiments = creator, experiments
	return out, nil
}

// toView returns the cohort without the members that depend on other records.
func (c *storedCohort) toView() *Cohort {
	return &Cohort{
		ID: c.ID, Name: c.Name, Description: c.Description, Groups: rawOr(c.Groups, "[]"), Deleted: c.Deleted,
		Filters: rawOr(c.Filters, "null"), Query: rawOr(c.Query, "null"), CreatedAt: c.CreatedAt,
		LastCalculation: c.LastCalculation, Errors: c.Errors, Count: c.Count, Static: c.Static, Type: c.Type,
	}
}

// rawOr returns raw, or fallback if raw is empty or null.
func rawOr(raw json.RawMessage, fallback string) json.RawMessage {
	if len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage(fallback)
	}
	return raw
}

// CohortQuery filters a list of cohorts. Zero values of its members do not filter.
type CohortQuery struct {
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
func (s Cohorts) List(ctx context.Context, scope *management.Scope, q CohortQuery) (management.List[Cohort], error) {
	return management.Read(ctx, &s.Env, func(tx Tx) (out management.List[Cohort], err error) {
		var failed error
		// Match is set only if it is needed: without it the store returns just one page.
		query := DefinitionQuery{Kind: CohortDefinition, Project: scope.Project.ID, Offset: q.Offset, Limit: q.Limit}
		if q.Type == "static" || q.Type == "dynamic" || q.CreatedBy != 0 || q.Search != "" || q.HideBehavioral || scope.IsRestricted() {
			search := strings.ToLower(q.Search)
			query.Match = func(d *Definition) bool {
				c, err := decodeCohort(d)
				if err != nil {
					failed = err
					return false
				}
				return scope.CanSee(c.accessObject()) && (q.Type != "static" || c.Static) && (q.Type != "dynamic" || !c.Static) && (q.CreatedBy == 0 || q.CreatedBy == c.CreatedBy) &&
					strings.Contains(strings.ToLower(c.title()), search) && (!q.HideBehavioral || c.Static || !partsOf(d.Record).behavioral)
			}
		}
		page, count, err := tx.Definitions(query)
		if err == nil {
			err = failed
		}
		list := management.List[storedCohort]{Count: count}
		for i := 0; i < len(page) && err == nil; i++ {
			var c *storedCohort
			if c, err = decodeCohort(&page[i]); err == nil {
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
func (s Cohorts) Get(ctx context.Context, scope *management.Scope, id string) (*Cohort, error) {
	return s.resource(nil, false).Get(ctx, scope, id)
}

// load reads a cohort, deleted or not. It returns a NotFound error if the id is invalid.
func (s Cohorts) load(tx Tx, scope *management.Scope, idText string) (*storedCohort, error) {
	id, err := strconv.ParseInt(idText, 10, 64)
	if err != nil || id <= 0 {
		return nil, management.ErrNotFound()
	}
	d, err := tx.Definition(CohortDefinition, scope.Project.ID, id)
	if err == nil && d == nil {
		err = management.ErrNotFound()
	}
	if err != nil {
		return nil, err
	}
	return decodeCohort(d)
}

// Create creates a cohort. list contains the first members of a static cohort and may be nil. The
// persons of a dynamic cohort are counted before Create returns.
func (s Cohorts) Create(ctx context.Context, scope *management.Scope, b management.Body, list *MemberList) (*Cohort, error) {
	v, err := CohortFields.Create(b)
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
		more, err := s.resolveMembers(ctx, scope, &MemberList{Kind: PersonIDs, Values: uuids})
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
func (s Cohorts) Update(ctx context.Context, scope *management.Scope, id string, b management.Body, put bool, list *MemberList) (*Cohort, error) {
	ids, err := s.resolveMembers(ctx, scope, list)
	if err != nil {
		return nil, err
	}
	c, err := s.resource(ids, list != nil).Update(ctx, scope, id, b, put)
	return s.countSaved(ctx, scope, c, err)
}

// errNotStaticFile returns the error for a CSV file that is sent to a dynamic cohort.
func errNotStaticFile() error {
	return management.Fault("csv", "Only static cohorts can be filled from a file.")
}

// assign applies the values of a request to the cohort. Filters in the oldest format (groups) are
// converted, unless the request also contains filters in the current format.
func (c *storedCohort) assign(v management.Values) {
	CohortFields.Apply(v, c)
	if v.Has("filters") || v.Has("groups") {
		c.Type = nil // derived from the new filters
	}
	if groups := anyList(wire.Value(v.Raw("groups"))); len(groups) > 0 && !isPresent(v.Raw("filters")) && !c.Static {
		c.Filters = wire.MustEncode(map[string]any{"properties": legacyTree(groups)})
	}
	// Only one of the two formats is stored.
	if v.Has("groups") || isPresent(c.Filters) {
		c.Groups = nil
	}
}

// countSaved counts the persons of a dynamic cohort that was just stored, outside of the write
// transaction, and returns the cohort with its count. Other cohorts and err are returned as is.
func (s Cohorts) countSaved(ctx context.Context, scope *management.Scope, c *Cohort, err error) (*Cohort, error) {
	if err != nil || c.Static || c.Deleted {
		return c, err
	}
	if err := s.calculate(ctx, scope, c.ID); err != nil {
		return nil, err
	}
	return s.Get(ctx, scope, strconv.FormatInt(c.ID, 10))
}

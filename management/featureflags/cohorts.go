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

// Cohorts are cohorts (§5.2): sets of persons, by rule or by list.
type Cohorts struct{ *core }

// cohortActivityScope is what changes of cohorts are noted under.
const cohortActivityScope = "Cohort"

// Cohort is a cohort as it is shown.
type Cohort struct {
	ID              int64                  `json:"id"`
	Name            *string                `json:"name"`
	Description     string                 `json:"description"`
	Groups          json.RawMessage        `json:"groups"`
	Deleted         bool                   `json:"deleted"`
	Filters         json.RawMessage        `json:"filters"`
	Query           json.RawMessage        `json:"query"`
	IsCalculating   bool                   `json:"is_calculating"` // always false: a write counts before it answers
	CreatedBy       *management.UserView   `json:"created_by"`
	CreatedAt       management.Stamp       `json:"created_at"`
	LastCalculation management.Stamp       `json:"last_calculation"`
	Errors          int                    `json:"errors_calculating"` // failed counts since the last good one
	Count           *int                   `json:"count"`              // persons, null while nobody has counted
	Static          bool                   `json:"is_static"`
	Type            *string                `json:"cohort_type"`
	Experiments     []linkID               `json:"experiment_set"`
	Access          management.AccessLevel `json:"user_access_level"`
}

// cohortTypes are what cohorts may be called (spec/flags.md §1.6).
var cohortTypes = []string{"static", "person_property", "behavioral", "realtime", "analytical"}

// CohortFields are the writable fields of a cohort. The file of a static cohort
// comes beside them.
var CohortFields = management.Fields{
	{Name: "name", Type: management.Text, Null: true, Blank: true, MaxLength: 400},
	{Name: "description", Type: management.Text, Blank: true, MaxLength: 1000},
	{Name: "groups", Type: management.Array, Custom: true, Help: "the oldest form of filters"},
	{Name: "deleted", Type: management.Bool, Help: "true hides the cohort, false brings it back"},
	{Name: "filters", Type: management.Object, Null: true, Help: "a tree of person, cohort and behavioral filters below properties"},
	{Name: "query", Type: management.Object, Null: true, Help: "of static cohorts; it is kept and never run"},
	{Name: "is_static", Type: management.Bool},
	{Name: "cohort_type", Type: management.Choice, Null: true, Choices: cohortTypes, Custom: true, Help: "follows from what the cohort consists of"},
	{Name: "_create_in_folder", Type: management.Text, Null: true, Blank: true, Custom: true, Help: "has no effect"},
	{Name: "_create_static_person_ids", Type: management.TextList, Custom: true, Help: "uuids of the first members of a new static cohort"},
}

// cohortRecord is what /flags reads of a cohort.
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

// cohortMeta is what this room keeps of a cohort.
type cohortMeta struct {
	CreatedAt       management.Stamp `json:"created_at,omitzero"`
	CreatedBy       int64            `json:"created_by,omitempty"`
	LastCalculation management.Stamp `json:"last_calculation,omitzero"`
	Errors          int              `json:"errors_calculating,omitempty"`
	Count           *int             `json:"count,omitempty"`
}

// storedCohort is a cohort as it is kept.
type storedCohort struct {
	cohortRecord
	cohortMeta
	origin string
}

// decodeCohort reads a cohort as it is stored. Records of files may be of any
// shape: of those what cannot be read is left out.
func decodeCohort(d *Definition) (*storedCohort, error) {
	c := &storedCohort{origin: d.Origin}
	if err := json.Unmarshal(d.Record, &c.cohortRecord); err != nil && d.Origin == "" {
		return nil, fmt.Errorf("the cohort %d is not stored as it should be: %w", d.ID, err)
	}
	if len(d.Meta) > 0 {
		if err := json.Unmarshal(d.Meta, &c.cohortMeta); err != nil {
			return nil, fmt.Errorf("the cohort %d is not stored as it should be: %w", d.ID, err)
		}
	}
	c.Static = c.Static || c.Type != nil && *c.Type == "static"
	if bare := management.JSONObject(d.Record); bare["values"] != nil {
		c.Filters = management.Encode(map[string]json.RawMessage{"properties": d.Record})
	}
	c.ID, c.Deleted = d.ID, d.Deleted
	return c, nil
}

// put stores a cohort. If it is counted as time goes by it is due at once, unless whoever
// writes it counts it.
func (c *storedCohort) put(tx Tx, scope *management.Scope) error {
	if err := c.store(tx, scope); err != nil || !c.recounted() {
		return err
	}
	return plantCount(tx, scope.Project.ID, c.ID, time.Unix(0, 0))
}

// store is put without the count.
func (c *storedCohort) store(tx Tx, scope *management.Scope) error {
	c.Team = scope.Project.ID
	c.Type = c.kind()
	for ok := false; !ok; { // a new one is given its id by the store, and then the record needs it
		ok = c.ID != 0
		d := &Definition{ID: c.ID, Record: management.Encode(c.cohortRecord), Meta: management.Encode(c.cohortMeta), Deleted: c.Deleted}
		if err := putDefinition(tx, CohortDefinition, scope.Project.ID, d); err != nil {
			return err
		}
		c.ID = d.ID
	}
	return nil
}

// kind is the cohort's type, which follows from what it consists of.
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

// isPresent reports whether a JSON value is there and not null or empty.
func isPresent(raw json.RawMessage) bool { return !management.EmptyJSON(raw) }

func (c *storedCohort) title() string {
	if c.Name == nil {
		return ""
	}
	return *c.Name
}

func (c *storedCohort) accessObject() management.AccessObject {
	return management.AccessObject{Kind: kindCohort, ID: c.itemID(), Author: c.CreatedBy}
}

func (c *storedCohort) itemID() string { return strconv.FormatInt(c.ID, 10) }

// resource are the cohorts of a project. ids are put into a static one that is made or
// changed; those of a file are only for static ones.
func (s Cohorts) resource(ids []string, ofFile bool) management.Resource[Tx, storedCohort, Cohort] {
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
				return management.Clash("The cohort %d stands in the file %s and can only be changed there.", c.ID, c.origin)
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
			case e.After.Static:
				return s.addMembers(e.Tx, e.Scope, e.After, ids)
			case ofFile:
				return errNotStaticFile()
			}
			return nil
		},
		Show: s.show,
	})
}

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

// toView is a cohort as it is shown, without what other records say of it.
func (c *storedCohort) toView() *Cohort {
	return &Cohort{
		ID: c.ID, Name: c.Name, Description: c.Description, Groups: rawOr(c.Groups, "[]"), Deleted: c.Deleted,
		Filters: rawOr(c.Filters, "null"), Query: rawOr(c.Query, "null"), CreatedAt: c.CreatedAt,
		LastCalculation: c.LastCalculation, Errors: c.Errors, Count: c.Count, Static: c.Static, Type: c.Type,
	}
}

// rawOr is a JSON value, or another one in the place of none.
func rawOr(raw json.RawMessage, fallback string) json.RawMessage {
	if len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage(fallback)
	}
	return raw
}

// CohortQuery says which cohorts are listed: zero members are all.
type CohortQuery struct {
	management.Page
	Type           string // static, dynamic; others count as empty
	CreatedBy      int64
	Search         string // in the name, in any case
	HideBehavioral bool
}

// List returns a page of the cohorts that are not deleted, newest first.
func (s Cohorts) List(ctx context.Context, scope *management.Scope, q CohortQuery) (management.List[Cohort], error) {
	return management.Read(ctx, &s.Env, func(tx Tx) (out management.List[Cohort], err error) {
		var failed error
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

// Get returns a cohort, also one that is deleted.
func (s Cohorts) Get(ctx context.Context, scope *management.Scope, id string) (*Cohort, error) {
	return s.resource(nil, false).Get(ctx, scope, id)
}

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

// Create makes a cohort. list are the first members of a static one, nil for none.
// Persons are counted before it returns.
func (s Cohorts) Create(ctx context.Context, scope *management.Scope, b management.Body, list *MemberList) (*Cohort, error) {
	v, err := CohortFields.Create(b)
	if err != nil {
		return s.resource(nil, false).Create(ctx, scope, b) // which tells what is wrong, in its order
	}
	if list != nil && !v.Bool("is_static") {
		return nil, errNotStaticFile()
	}
	ids, err := s.resolveMembers(ctx, scope, list)
	if err != nil {
		return nil, err
	}
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

// Update changes a cohort. list are more members of a static one, nil for none.
func (s Cohorts) Update(ctx context.Context, scope *management.Scope, id string, b management.Body, put bool, list *MemberList) (*Cohort, error) {
	ids, err := s.resolveMembers(ctx, scope, list)
	if err != nil {
		return nil, err
	}
	c, err := s.resource(ids, list != nil).Update(ctx, scope, id, b, put)
	return s.countSaved(ctx, scope, c, err)
}

func errNotStaticFile() error {
	return management.Fault("csv", "Only static cohorts can be filled from a file.")
}

// assign lays values over a cohort. The oldest form of filters becomes the one of
// today; filters of today go before it.
func (c *storedCohort) assign(v management.Values) {
	CohortFields.Apply(v, c)
	if v.Has("filters") || v.Has("groups") {
		c.Type = nil // follows from them
	}
	if groups := anyList(wire.Value(v.Raw("groups"))); len(groups) > 0 && !isPresent(v.Raw("filters")) && !c.Static {
		c.Filters = wire.MustEncode(map[string]any{"properties": legacyTree(groups)})
	}
	if v.Has("groups") || isPresent(c.Filters) {
		c.Groups = nil
	}
}

// countSaved is a cohort that was stored, with its persons: they are counted outside of
// the transaction.
func (s Cohorts) countSaved(ctx context.Context, scope *management.Scope, c *Cohort, err error) (*Cohort, error) {
	if err != nil || c.Static || c.Deleted {
		return c, err
	}
	if err := s.calculate(ctx, scope, c.ID); err != nil {
		return nil, err
	}
	return s.Get(ctx, scope, strconv.FormatInt(c.ID, 10))
}

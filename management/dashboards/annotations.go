package dashboards

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/lists"
	"github.com/bunting-flags/bunting/management/internal/plain"
	"github.com/bunting-flags/bunting/management/internal/resource"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// kindAnnotation is the kind of the records of annotations. Parent is the project in which it was
// created, Other the organization, ID and Unique its number, Sort its date. Hidden means that it is
// deleted.
const kindAnnotation = "annotation"

// Bounds of annotations, in characters.
const (
	maxAnnotation = 8192
	maxEmoji      = 16
)

// The scopes of annotations: where an annotation is visible.
const (
	onInsight      = "dashboard_item"
	onDashboard    = "dashboard"
	onProject      = "project"
	onOrganization = "organization"
)

// annotationScopes are the values that a body may have for scope.
var annotationScopes = []string{onInsight, onDashboard, onProject, onOrganization}

// Annotations manages annotations, which are remarks about dates in charts (clients.md §6).
type Annotations struct {
	*core
	resource.Resource[management.Tx, storedAnnotation, Annotation]
}

// annotationFields are the writable fields of an annotation.
var annotationFields = management.Fields{
	{Name: "content", Type: management.Text, Null: true, Blank: true, MaxLength: maxAnnotation},
	{Name: "date_marker", Type: management.Time, Null: true, Help: "time that the annotation marks"},
	{Name: "creation_type", Type: management.Choice, Choices: []string{"USR", "GIT"}},
	{Name: "dashboard_item", Type: management.Any, Custom: true, Help: "id of an insight, or null"},
	{Name: "dashboard_id", Type: management.Int, Null: true, Help: "id of a dashboard"},
	{Name: "scope", Type: management.Text, Custom: true, Help: "where the annotation is shown: dashboard_item, dashboard, project or organization"},
	{Name: "emoji", Type: management.Text, Null: true, Blank: true, MaxLength: maxEmoji},
	{Name: "hidden_in_user_interface", Type: management.Bool, Null: true},
	{Name: "deleted", Type: management.Bool, Help: "true soft-deletes the object; a body of exactly {\"deleted\": false} restores it"},
}

// annotationSettings are the fields of an annotation that are stored and returned unchanged. Marks
// is the time that the annotation is about. CreationType is USR if a user has created it and GIT for a
// program.
type annotationSettings struct {
	ID           int64             `json:"id"`
	Content      *string           `json:"content"`
	Date         *management.Stamp `json:"date_marker"`
	CreationType string            `json:"creation_type"`
	Dashboard    *int64            `json:"dashboard_id"`
	Scope        string            `json:"scope"`
	Emoji        *string           `json:"emoji"`
	Unseen       *bool             `json:"hidden_in_user_interface"`
	Deleted      bool              `json:"deleted"`
	Created      management.Stamp  `json:"created_at"`
	Updated      management.Stamp  `json:"updated_at"`
}

// storedAnnotation is the stored form of an annotation.
type storedAnnotation struct {
	annotationSettings
	Project int64  `json:"project"`
	Insight string `json:"insight,omitempty"` // the insight's number, or empty
	Author  int64  `json:"created_by"`        // the user's number
}

// Annotation is the form of an annotation in responses. The fields about an insight or a dashboard
// are nil if the caller may not view it.
type Annotation struct {
	annotationSettings
	Insight       *int64               `json:"dashboard_item"`
	ShortID       *string              `json:"insight_short_id"`
	InsightName   *string              `json:"insight_name"`
	Derived       *string              `json:"insight_derived_name"`
	DashboardName *string              `json:"dashboard_name"`
	CreatedBy     *management.UserView `json:"created_by"`
}

// newAnnotations returns the resource of annotations. Its records are found by Unique, since a
// number may belong to another project of the organization.
func newAnnotations(c *core) (s Annotations) {
	s.core = c
	s.Resource = resource.NewResource(&c.Env, resource.Spec[management.Tx, storedAnnotation, Annotation]{
		Kind: kindAnnotation, ActivityScope: "Annotation", Fields: annotationFields, NewestFirst: true,
		Header: func(scope *management.Scope, a *storedAnnotation) resource.RecordHeader {
			id := strconv.FormatInt(a.ID, 10)
			return resource.RecordHeader{Parent: management.ProjectParent(a.Project), ID: id, Unique: id, Other: scope.Organization.ID, Title: plain.ShortText(a.title()), Hidden: a.Deleted, Sort: a.sort()}
		},
		Load: loadAnnotation,
		New: func(v *view) (*storedAnnotation, error) {
			id, err := v.Tx.Next(kindAnnotation)
			return &storedAnnotation{Author: v.User.ID, Project: v.Project.ID, annotationSettings: annotationSettings{ID: id, CreationType: "USR", Scope: onInsight, Created: management.NewStamp(c.Env.Now())}}, err
		},
		Rules: s.rules, Show: showAnnotation,
		Audit: func(a *storedAnnotation) any { return a.annotationSettings },
	})
	return s
}

// loadAnnotation returns an annotation of the project, or one of another project of the
// organization if its scope is the organization. A deleted one is found only by a body that
// restores it.
func loadAnnotation(v *view, id string, change *management.Body) (*storedAnnotation, error) {
	// The number is unique in the whole store; the organization must be checked.
	r, err := v.Tx.Find(kindAnnotation, strconv.FormatInt(dashboardNumber(id), 10))
	if err != nil || r == nil || r.Other != v.Organization.ID {
		return nil, err
	}
	a, err := management.Decode[storedAnnotation](r)
	if err != nil || !a.isVisibleIn(v.Project.ID) || a.Deleted && !isRestore(change) {
		return nil, err
	}
	return a, nil
}

// isVisibleIn reports whether a project of the same organization shows the annotation.
func (a *storedAnnotation) isVisibleIn(project int64) bool {
	return a.Project == project || a.Scope == onOrganization
}

// title returns the content, or "" if there is none.
func (a *storedAnnotation) title() string { return plain.OrZero(a.Content) }

// sort returns the Record.Sort, which is the date. Annotations without a date count as the newest.
func (a *storedAnnotation) sort() string {
	if a.Date == nil {
		return "~"
	}
	return storage.SortTime(a.Date.Time)
}

// rules validates the scope, and the dashboard and the insight that the annotation refers to.
func (s Annotations) rules(e *resource.Edit[management.Tx, storedAnnotation]) error {
	a := e.After
	a.Updated = management.NewStamp(s.Env.Now())
	// An empty string removes the emoji.
	if a.Emoji != nil && *a.Emoji == "" {
		a.Emoji = nil
	}
	if scope, found := management.Value[string](e.Values, "scope"); found {
		switch {
		case scope == "recording":
			return management.Fault("scope", "Recording scope is deprecated")
		case !slices.Contains(annotationScopes, scope):
			return management.NotAChoice("scope", scope, annotationScopes)
		}
		a.Scope = scope
	}
	// The dashboard and the insight must belong to the project of the annotation.
	if a.Dashboard != nil && e.Values.Has("dashboard_id") {
		if found, err := Exists(e.Tx, a.Project, *a.Dashboard); err != nil || !found {
			if err == nil {
				err = management.Fault("dashboard_id", "Dashboard not found.")
			}
			return err
		}
	}
	if !e.Values.Has("dashboard_item") {
		return nil
	}
	i, err := insightOfBody(e.Tx, a.Project, "dashboard_item", e.Values.Raw("dashboard_item"))
	if a.Insight = ""; i != nil {
		a.Insight = i.id()
	}
	return err
}

// insightOfBody returns the insight that a member of a body refers to by its number or its short
// id. It returns nil for null.
func insightOfBody(tx management.Tx, project int64, name string, raw json.RawMessage) (*insightRecord, error) {
	if management.JSONKind(raw) == "NoneType" {
		return nil, nil
	}
	id := strings.Trim(string(raw), `"`)
	i, err := findInsight(&view{Tx: tx, Scope: &management.Scope{Project: &management.ProjectRecord{ID: project}}}, id, false)
	if err == nil && i == nil {
		err = management.ErrNoObject(name, plain.ShortText(id))
	}
	return i, err
}

// showAnnotation returns the form of an annotation in responses. It omits the names of objects that
// the caller may not view.
func showAnnotation(v *view, a *storedAnnotation) (out *Annotation, err error) {
	out = &Annotation{annotationSettings: a.annotationSettings}
	if out.CreatedBy, err = v.Author(a.Author); err != nil {
		return nil, err
	}
	if a.Insight != "" {
		i, err := insightOf(v.Tx, a.Project, a.Insight)
		if err != nil {
			return nil, err
		}
		if i != nil && v.CanSee(i.accessObject()) {
			out.Insight, out.ShortID, out.InsightName, out.Derived = &i.ID, &i.ShortID, i.Name, i.Derived
		}
	}
	if a.Dashboard != nil {
		d, err := anyDashboardOf(v.Tx, a.Project, *a.Dashboard)
		if err != nil {
			return nil, err
		}
		if d != nil && v.CanSee(d.accessObject()) {
			out.DashboardName = d.Name
		}
	}
	return out, nil
}

// AnnotationQuery filters a list of annotations. Fields with zero values are ignored.
type AnnotationQuery struct {
	management.Page
	// Search is a part of the content.
	Search string
	Scope  string
	// From and To are the ends of the range of dates, in ISO 8601. The range includes both.
	From, To string
	// Emoji selects annotations with or without an emoji.
	Emoji *bool
	// Unseen selects annotations that user interfaces hide, or those that they show.
	Unseen *bool
}

// List returns a page of annotations, latest dates first.
func (s Annotations) List(ctx context.Context, scope *management.Scope, q AnnotationQuery) (management.List[Annotation], error) {
	match, err := q.match(scope.Project.ID)
	if err != nil {
		return management.List[Annotation]{}, err
	}
	return s.Query(ctx, scope, management.Query{Other: scope.Organization.ID, Match: match, Offset: q.Offset, Limit: q.Limit})
}

// match returns the filter for the records of an organization, or an error if the query is invalid.
func (q *AnnotationQuery) match(project int64) (func(*management.Record) bool, error) {
	scope := q.Scope
	if scope == "insight" {
		scope = onInsight
	}
	if scope != "" && !slices.Contains(annotationScopes, scope) {
		return nil, management.Fault("scope", "Invalid scope: %s", plain.ShortText(scope))
	}
	from, err := readMarkedDate("date_from", q.From)
	if err != nil {
		return nil, err
	}
	to, err := readMarkedDate("date_to", q.To)
	if err != nil {
		return nil, err
	}
	if !from.IsZero() && !to.IsZero() && from.After(to) {
		return nil, management.Fault("", "Invalid date range: date_from must be before date_to")
	}
	if err := lists.CheckSearch(q.Search); err != nil {
		return nil, err
	}
	return func(r *management.Record) bool {
		a, err := management.Decode[storedAnnotation](r)
		return err == nil && a.isVisibleIn(project) && (scope == "" || a.Scope == scope) && lists.ContainsFold(a.title(), q.Search) &&
			a.isMarked(from, to) && lists.MatchesBool(q.Emoji, a.Emoji != nil) && lists.MatchesBool(q.Unseen, a.Unseen != nil && *a.Unseen)
	}, nil
}

// isMarked reports whether the date is in a range. A zero from or to is no bound.
func (a *storedAnnotation) isMarked(from, to time.Time) bool {
	if from.IsZero() && to.IsZero() {
		return true
	}
	return a.Date != nil && !a.Date.Before(from) && (to.IsZero() || !a.Date.After(to))
}

// readMarkedDate reads the beginning or the end of a range: a date, or a time with a zone. It
// returns the zero time if text is empty.
func readMarkedDate(name, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if at, ok := plain.QueryTime(text); ok {
		return at, nil
	}
	return time.Time{}, management.Fault(name, "Invalid date range: %s must be a valid ISO 8601 date", name)
}

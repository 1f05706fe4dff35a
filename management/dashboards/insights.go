package dashboards

import (
	"context"
	"encoding/json"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/lists"
	"github.com/bunting-flags/bunting/management/internal/resource"
)

// insightFields are the writable fields of an insight.
var insightFields = management.Fields{
	{Name: "name", Type: management.Text, Null: true, Blank: true, MaxLength: maxInsightName},
	{Name: "derived_name", Type: management.Text, Null: true, Blank: true, MaxLength: maxInsightName, Help: "name that clients derive from the query, shown if there is no name"},
	{Name: "description", Type: management.Text, Null: true, Blank: true, MaxLength: maxDashboardText},
	{Name: "query", Type: management.Any, Help: "stored as sent; if the query cannot be run, the error is in place of the result"},
	{Name: "filters", Type: management.Object, Help: "older form of a query, stored as sent; query takes precedence"},
	{Name: "dashboards", Type: management.IntList, Custom: true, Help: "ids of the dashboards with this insight"},
	{Name: "tags", Type: management.TextList, MaxLength: maxDashboardTag, Blank: true, Help: "tags are trimmed, converted to lower case and deduplicated"},
	{Name: "favorited", Type: management.Bool},
	{Name: "saved", Type: management.Bool},
	{Name: "order", Type: management.Int, Null: true},
	{Name: "_create_in_folder", Type: management.Text, Null: true, Blank: true, MaxLength: 1000, Custom: true, Help: "has no effect"},
	{Name: "deleted", Type: management.Bool, Help: "true soft-deletes the object; a body of exactly {\"deleted\": false} restores it"},
}

// resource returns the resource of insights. A change of the query deletes alerts that no longer
// fit it. The dashboards that a body names are applied after the insight is stored.
func (s Insights) resource() resource.Resource[management.Tx, insightRecord, Insight] {
	return resource.NewResource(&s.Env, resource.Spec[management.Tx, insightRecord, Insight]{
		Kind: kindInsight, ActivityScope: "Insight", Fields: insightFields, ObjectName: "an insight", NewestFirst: true, Object: (*insightRecord).accessObject,
		Header: func(_ *management.Scope, i *insightRecord) resource.RecordHeader {
			return resource.RecordHeader{ID: i.id(), Title: i.title()}
		},
		Load: func(v *view, id string, change *management.Body) (*insightRecord, error) {
			return findInsight(v, id, isRestore(change))
		},
		New:   s.newInsight,
		Rules: s.rules,
		Put:   func(v *view, i *insightRecord) error { return putInsight(v.Tx, v.Project.ID, i) },
		AfterSave: func(e *resource.Edit[management.Tx, insightRecord]) error {
			if !e.IsNew && e.Values.Has("query") {
				if err := s.deleteAlerts(e.View, e.After.id(), e.After.Query); err != nil {
					return err
				}
			}
			if !e.Values.Has("dashboards") {
				return nil
			}
			return s.setDashboards(e.Tx, e.Scope, e.After, e.Values.Ints("dashboards"))
		},
		Show:  func(v *view, i *insightRecord) (*Insight, error) { return i.showFull(v) },
		Audit: func(i *insightRecord) any { return i },
	})
}

// show returns the form of the insight in responses, without dashboards, tiles and alerts.
func (i *insightRecord) show(v *view) (_ *Insight, err error) {
	out := &Insight{
		insightSettings: i.insightSettings, question: i.insightSettings, Tags: management.NonNilStrings(i.Tags), Favorited: i.Favorited, Saved: i.Saved,
		LastModified: i.Modified, Updated: i.Modified, Restriction: everyoneEdits, Privilege: canView, UserAccessLevel: v.AccessTo(i.accessObject()),
	}
	if v.Scope != nil && out.UserAccessLevel.Allows(management.Editor) {
		out.Privilege = canEdit
	}
	if out.LastViewed, err = i.viewed(v); err != nil {
		return nil, err
	}
	if out.CreatedBy, err = v.Author(i.Author); err != nil {
		return nil, err
	}
	out.LastModifiedBy, err = v.Author(i.Modifier)
	return out, err
}

// showFull returns the complete form of the insight in responses.
func (i *insightRecord) showFull(v *view) (*Insight, error) {
	out, err := i.show(v)
	if err != nil {
		return nil, err
	}
	if out.Tiles, err = tilesOfInsight(v.Tx, i.id()); err != nil {
		return nil, err
	}
	out.Dashboards = dashboardsOf(out.Tiles)
	out.Alerts, err = showAlerts(v, i.ID)
	return out, err
}

// viewable returns the insight that a path names, or an error if it does not exist or the caller
// may not view it.
func (s Insights) viewable(v *view, ref string) (*insightRecord, error) {
	i, err := s.insights.Load(v, ref)
	if err == nil {
		err = v.RequireAccess(management.Viewer, i.accessObject())
	}
	return i, err
}

// Get returns an insight.
func (s Insights) Get(ctx context.Context, scope *management.Scope, id string) (*Insight, error) {
	return s.insights.Get(ctx, scope, id)
}

// Create creates an insight.
func (s Insights) Create(ctx context.Context, scope *management.Scope, b management.Body) (*Insight, error) {
	return s.insights.Create(ctx, scope, b)
}

// Update changes an insight, deletes it softly, or restores it.
func (s Insights) Update(ctx context.Context, scope *management.Scope, id string, b management.Body) (*Insight, error) {
	return s.insights.Update(ctx, scope, id, b, false)
}

// newInsight returns an empty insight with a new number. It does not store it.
func (s Insights) newInsight(v *view) (*insightRecord, error) {
	now := management.NewStamp(s.Env.Now())
	id, err := v.Tx.Next(kindInsight)
	return &insightRecord{UUID: s.Env.NewID(), Author: v.User.ID, Modified: now, Modifier: v.User.ID, insightSettings: insightSettings{
		ID: id, Query: json.RawMessage("null"), Filters: json.RawMessage("{}"), Created: now,
	}}, err
}

// rules validates the sizes of an insight's members and sets who changed it.
func (s Insights) rules(e *resource.Edit[management.Tx, insightRecord]) error {
	i := e.After
	i.Modified, i.Modifier = management.NewStamp(s.Env.Now()), e.User.ID
	if e.Values.Has("tags") {
		if i.Tags = lists.NormalizeTags(i.Tags); len(i.Tags) > maxDashboardTags {
			return errTooManyTags()
		}
	}
	for name, raw := range map[string]json.RawMessage{"query": i.Query, "filters": i.Filters} {
		if len(raw) > maxInsightJSON {
			return overBytes(name, maxInsightJSON)
		}
	}
	return nil
}

// Duplicate creates a copy of an insight. The copy is on no dashboard.
func (s Insights) Duplicate(ctx context.Context, scope *management.Scope, id string) (*Insight, error) {
	return management.Write(ctx, &s.Env, func(tx management.Tx) (*Insight, error) {
		v := &view{Tx: tx, Scope: scope}
		i, err := s.viewable(v, id)
		if err != nil {
			return nil, err
		}
		return s.copyOf(v, i)
	})
}

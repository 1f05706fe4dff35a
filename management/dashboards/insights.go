package dashboards

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/management"
)

// kindInsight is the kind of the records of insights. Parent is the project, ID the number of the
// insight, Unique its short id, Sort the time of creation. Hidden means that it is deleted. The
// tiles that show it refer to it by Other (kindTile).
const kindInsight = "insight"

// Bounds of insights.
const (
	maxInsightName = 400       // characters
	maxInsightJSON = 256 << 10 // bytes of query and filters, each
	// maxInsightPlaces is the greatest number of dashboards that a body may name.
	maxInsightPlaces = 1000
)

// Insights manages insights, which are stored queries. It does not run them.
type Insights struct{ *core }

// Insight is the form of an insight in responses. Dashboards are the numbers of the dashboards that
// show it; they are omitted inside tiles.
type Insight struct {
	insightSettings
	InsightResult
	Dashboards []int64        `json:"dashboards,omitzero"`
	Tiles      []insightPlace `json:"dashboard_tiles,omitzero"` // omitted inside tiles
	Alerts     []insightAlert `json:"alerts,omitzero"`          // omitted inside tiles
	Tags       []string       `json:"tags"`
	Favorited  bool           `json:"favorited"`
	// Saved reports whether a user has saved the insight. Clients create an insight before it is
	// saved.
	Saved     bool                 `json:"saved"`
	CreatedBy *management.UserView `json:"created_by"`
	// LastModified is the time of the last change by LastModifiedBy. Updated is equal to it.
	LastModified   management.Stamp     `json:"last_modified_at"`
	Updated        management.Stamp     `json:"updated_at"`
	LastModifiedBy *management.UserView `json:"last_modified_by"`
	LastViewed     management.Stamp     `json:"last_viewed_at"` // by the caller
	Sample         bool                 `json:"is_sample"`      // always false
	// Restriction and Privilege have the values that they have for dashboards. Insights have no
	// restriction level, so Privilege follows from UserAccessLevel.
	Restriction     int64                  `json:"effective_restriction_level"`
	Privilege       int64                  `json:"effective_privilege_level"`
	UserAccessLevel management.AccessLevel `json:"user_access_level"`

	question insightSettings // the stored form; see Question
}

// InsightFields are the writable fields of an insight.
var InsightFields = management.Fields{
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

// insightSettings are the fields of an insight that are stored and returned unchanged.
type insightSettings struct {
	ID      int64   `json:"id"`
	ShortID string  `json:"short_id"` // paths accept it in place of the id
	Name    *string `json:"name"`
	// Derived is the name that a client has derived from the query.
	Derived     *string `json:"derived_name"`
	Description string  `json:"description"`
	// Query is stored as it was sent, or null. Filters is the older form of a query, by default {}.
	Query   json.RawMessage `json:"query"`
	Filters json.RawMessage `json:"filters"`
	// Order is stored for clients and has no effect on lists.
	Order   *int64           `json:"order"`
	Deleted bool             `json:"deleted"`
	Created management.Stamp `json:"created_at"`
}

// insightRecord is the stored form of an insight. Records without a ShortID were created before
// insights had one, which is then derived from the UUID.
type insightRecord struct {
	insightSettings
	UUID      string           `json:"uuid"`
	Tags      []string         `json:"tags,omitempty"`
	Favorited bool             `json:"favorited,omitempty"`
	Saved     bool             `json:"saved,omitempty"`
	Author    int64            `json:"created_by"` // the user's number
	Modified  management.Stamp `json:"updated_at"`
	Modifier  int64            `json:"last_modified_by"` // the user's number
}

// resource returns the resource of insights. A change of the query deletes alerts that no longer
// fit it. The dashboards that a body names are applied after the insight is stored.
func (s Insights) resource() management.Resource[management.Tx, insightRecord, Insight] {
	return management.NewResource(&s.Env, management.Spec[management.Tx, insightRecord, Insight]{
		Kind: kindInsight, ActivityScope: "Insight", Fields: InsightFields, ObjectName: "an insight", NewestFirst: true, Object: (*insightRecord).accessObject,
		Header: func(_ *management.Scope, i *insightRecord) management.RecordHeader {
			return management.RecordHeader{ID: i.id(), Title: i.title()}
		},
		Load: func(v *view, id string, change *management.Body) (*insightRecord, error) {
			return findInsight(v, id, isRestore(change))
		},
		New:   s.newInsight,
		Rules: s.rules,
		Put:   func(v *view, i *insightRecord) error { return putInsight(v.Tx, v.Project.ID, i) },
		AfterSave: func(e *management.Edit[management.Tx, insightRecord]) error {
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

// insightOf returns an insight by its number, deleted or not, or nil if it does not exist.
func insightOf(tx management.Tx, project int64, id string) (*insightRecord, error) {
	r, err := tx.Get(kindInsight, management.ProjectParent(project), id)
	if err != nil {
		return nil, err
	}
	return readInsight(r)
}

// InsightExists reports whether a project has an insight with a number. Deleted insights do not
// count.
func InsightExists(tx management.Tx, project, id int64) (bool, error) {
	i, err := insightOf(tx, project, strconv.FormatInt(id, 10))
	return i != nil && !i.Deleted, err
}

// findInsight returns the insight that a path names by its number, its former UUID or its short id,
// or nil if there is none. If deleted is true, deleted insights are found too.
func findInsight(v *view, ref string, deleted bool) (*insightRecord, error) {
	find := insightByShortID
	id, err := management.ResolveNumber(v.Tx, kindInsight, v.Parent(), ref)
	if err != nil {
		return nil, err
	}
	if id != "" {
		ref, find = id, insightOf
	}
	i, err := find(v.Tx, v.Project.ID, ref)
	if i != nil && i.Deleted && !deleted {
		i = nil
	}
	return i, err
}

// accessObject returns the insight as access rules name it.
func (i *insightRecord) accessObject() management.AccessObject {
	return management.AccessObject{Kind: kindInsight, ID: i.id(), Author: i.Author}
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

// insightPlace is a tile that shows an insight, and the dashboard of the tile.
type insightPlace struct {
	ID        int64 `json:"id"` // the tile's number
	Dashboard int64 `json:"dashboard_id"`
}

// dashboardsOfInsight returns the numbers of the dashboards that show an insight, in ascending
// order.
func dashboardsOfInsight(tx management.Tx, id string) ([]int64, error) {
	tiles, err := tilesOfInsight(tx, id)
	return dashboardsOf(tiles), err
}

// dashboardsOf returns the numbers of the dashboards of tiles, in ascending order without
// duplicates.
func dashboardsOf(tiles []insightPlace) []int64 {
	out := []int64{}
	for _, t := range tiles {
		out = append(out, t.Dashboard)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// tilesOfInsight returns the tiles that show an insight. It omits deleted tiles.
func tilesOfInsight(tx management.Tx, id string) ([]insightPlace, error) {
	list, _, err := tx.List(management.Query{Kind: kindTile, Other: tileOfInsight(id)})
	if err != nil {
		return nil, err
	}
	out := []insightPlace{}
	for i := range list {
		dashboard, err := strconv.ParseInt(strings.TrimPrefix(list[i].Parent, dashboardParentPrefix), 10, 64)
		number, err2 := strconv.ParseInt(list[i].ID, 10, 64)
		if err = errors.Join(err, err2); err != nil {
			return nil, fmt.Errorf("the stored tile %s is invalid: %w", list[i].ID, err)
		}
		out = append(out, insightPlace{number, dashboard})
	}
	return out, nil
}

// tileOfInsightOn returns the tile that shows an insight on a dashboard. If there is none, it
// returns a deleted one, or nil.
func tileOfInsightOn(tx management.Tx, dashboard int64, id string) (*tileRecord, error) {
	for _, deleted := range []bool{false, true} {
		t, err := management.First[tileRecord](tx, management.Query{
			Kind: kindTile, Other: tileOfInsight(id), Hidden: deleted,
			Match: func(r *management.Record) bool { return r.Parent == dashboardParent(dashboard) },
		})
		if err != nil || t != nil {
			return t, err
		}
	}
	return nil, nil
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

// id returns the number as the ID of the record.
func (i *insightRecord) id() string { return strconv.FormatInt(i.ID, 10) }

// rules validates the sizes of an insight's members and sets who changed it.
func (s Insights) rules(e *management.Edit[management.Tx, insightRecord]) error {
	i := e.After
	i.Modified, i.Modifier = management.NewStamp(s.Env.Now()), e.User.ID
	if e.Values.Has("tags") {
		if i.Tags = management.NormalizeTags(i.Tags); len(i.Tags) > maxDashboardTags {
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

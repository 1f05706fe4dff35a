package dashboards

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/lists"
	"github.com/bunting-flags/bunting/management/internal/resource"
)

// dashboardFields are the writable fields of a dashboard (§4.1.1), and the members of the body that control
// how its tiles are created, copied or deleted (§4.1.4).
var dashboardFields = management.Fields{
	{Name: "name", Type: management.Text, Null: true, Blank: true, MaxLength: 400},
	{Name: "description", Type: management.Text, Blank: true, MaxLength: maxDashboardText},
	{Name: "pinned", Type: management.Bool},
	{Name: "deleted", Type: management.Bool, Custom: true, Help: "true soft-deletes the object; a body of exactly {\"deleted\": false} restores it"},
	{Name: "use_template", Type: management.Text, Blank: true, MaxLength: 400, Custom: true, Help: "only on creation: DEFAULT_APP or WEBSITE_TRAFFIC"},
	{Name: "use_dashboard", Type: management.Int, Null: true, Custom: true, Help: "only on creation: id of a dashboard whose tiles are copied"},
	{Name: "delete_insights", Type: management.Bool, Custom: true, Help: "with deleted: also delete insights that are on no other dashboard"},
	{Name: "breakdown_colors", Type: management.Any},
	{Name: "data_color_theme_id", Type: management.Int, Null: true},
	{Name: "tags", Type: management.TextList, MaxLength: maxDashboardTag, Blank: true, Help: "tags are trimmed, converted to lower case and deduplicated"},
	{Name: "restriction_level", Type: management.IntChoice, Numbers: []int64{everyoneEdits, collaboratorsEdit}, Custom: true, Help: "who may edit: 21 everyone in the project, 37 only collaborators"},
	{Name: "_create_in_folder", Type: management.Text, Blank: true, MaxLength: 1000, Custom: true, Help: "has no effect"},
	{Name: "filters", Type: management.Any, Custom: true, Help: "object with filters; an empty object changes nothing"},
	{Name: "variables", Type: management.Any, Custom: true, Help: "object with filters; an empty object changes nothing"},
	{Name: "tiles", Type: management.Any, Custom: true, Help: "only for changes: tiles to change, and text tiles to add"},
	{Name: "duplicate_tiles", Type: management.Any, Custom: true, Help: "for changes: tiles to copy, as objects with an id; on creation with use_dashboard: true also copies the insights"},
}

// Filter filters a list of dashboards (§3). Fields with zero values are ignored.
type Filter struct {
	// Tags selects dashboards that have at least one of the tags.
	Tags []string
	// ExcludeGenerated omits dashboards whose names begin with Generated Dashboard.
	ExcludeGenerated bool
	Pinned           *bool
	// Creators are numbers of users.
	Creators []int64
	// Search is a part of the name or the description.
	Search string
}

// List returns a page of dashboards, pinned ones first, then by name.
func (s Dashboards) List(ctx context.Context, scope *management.Scope, f Filter, p management.Page) (management.List[Dashboard], error) {
	q := management.Query{Offset: p.Offset, Limit: p.Limit}
	if err := lists.CheckSearch(f.Search); err != nil {
		return management.List[Dashboard]{}, err
	}
	if len(f.Tags) > maxDashboardTags {
		return management.List[Dashboard]{}, errTooManyTags()
	}
	if len(f.Tags) > 0 || f.ExcludeGenerated || f.Search != "" || f.Pinned != nil || f.Creators != nil {
		q.Match = f.match()
	}
	return s.dashboards.Query(ctx, scope, q)
}

// match returns the filter for the records of dashboards.
func (f Filter) match() func(*management.Record) bool {
	tags := lists.NormalizeTags(f.Tags)
	return func(r *management.Record) bool {
		d, err := management.Decode[dashboardRecord](r)
		if err != nil {
			return false
		}
		return lists.MatchesAny(tags, d.Tags) && lists.MatchesBool(f.Pinned, d.Pinned) && lists.MatchesValue(f.Creators, d.Author) &&
			(!f.ExcludeGenerated || !strings.HasPrefix(d.title(), "Generated Dashboard")) &&
			(f.Search == "" || lists.ContainsFold(d.title(), f.Search) || lists.ContainsFold(d.Description, f.Search))
	}
}

// resource returns the resource of dashboards. Load returns a deleted dashboard only for a body
// that restores it, rows of lists omit the large members, and the log includes the numbers of the
// tiles that an operation has changed.
func (s Dashboards) resource() resource.Resource[management.Tx, dashboardRecord, Dashboard] {
	return resource.NewResource(&s.Env, resource.Spec[management.Tx, dashboardRecord, Dashboard]{
		Kind: kindDashboard, ActivityScope: dashboardScope, Fields: dashboardFields, ObjectName: "a dashboard", Body: bodyShape.Body, Object: (*dashboardRecord).accessObject,
		Header: func(_ *management.Scope, d *dashboardRecord) resource.RecordHeader {
			return resource.RecordHeader{ID: strconv.FormatInt(d.ID, 10), Title: d.title(), Sort: d.sort(), Hidden: d.Deleted}
		},
		Load: func(v *view, id string, change *management.Body) (*dashboardRecord, error) {
			d, err := anyDashboardOf(v.Tx, v.Project.ID, dashboardNumber(id))
			if d != nil && d.Deleted && !isRestore(change) {
				d = nil
			}
			return d, err
		},
		AuthorizeChange: func(v *view, d *dashboardRecord) error { return d.checkEdit(v.Tx, v.Scope) },
		New:             s.newDashboard, Rules: s.rules,
		Show: func(v *view, d *dashboardRecord) (*Dashboard, error) { return d.showFull(v) },
		Row: func(v *view, d *dashboardRecord) (*Dashboard, error) {
			out, err := d.show(v)
			if err == nil {
				out.Filters, out.Variables = nil, nil
			}
			return out, err
		},
		// The log lists changed tiles by their numbers.
		Audit: func(d *dashboardRecord) any {
			return struct {
				*dashboardRecord
				Tiles []int64 `json:"tiles,omitempty"`
			}{d, d.changedTiles}
		},
	})
}

// Get returns a dashboard with its tiles.
func (s Dashboards) Get(ctx context.Context, scope *management.Scope, id string) (*Dashboard, error) {
	return s.dashboards.Get(ctx, scope, id)
}

// Create creates a dashboard, empty or from a template or another dashboard (§4.1.3).
func (s Dashboards) Create(ctx context.Context, scope *management.Scope, b management.Body) (*Dashboard, error) {
	return s.dashboards.Create(ctx, scope, b)
}

// Update changes a dashboard, deletes it softly, or restores it (§4.1.4, §4.1.5).
func (s Dashboards) Update(ctx context.Context, scope *management.Scope, id string, b management.Body) (*Dashboard, error) {
	return s.dashboards.Update(ctx, scope, id, b, false)
}

// newDashboard returns a dashboard with the default values and a new number. It does not store it.
func (s Dashboards) newDashboard(v *view) (*dashboardRecord, error) {
	id, err := v.Tx.Next(kindDashboard)
	if err != nil {
		return nil, err
	}
	return &dashboardRecord{Author: v.User.ID, dashboardSettings: dashboardSettings{
		ID: id, Created: management.NewStamp(s.Env.Now()), CreationMode: madeByHand, Tags: []string{}, RestrictionLevel: everyoneEdits,
		Filters: json.RawMessage("{}"), Variables: json.RawMessage("{}"), BreakdownColors: json.RawMessage("[]"),
	}}, nil
}

// rules validates a dashboard, and creates, changes, deletes or restores its tiles as the body
// requires.
func (s Dashboards) rules(e *resource.Edit[management.Tx, dashboardRecord]) (err error) {
	d, change := e.After, s.change
	if e.IsNew {
		change = s.fill
	}
	// The caller's access was checked before the body was read (AuthorizeChange).
	if err := d.check(e.Scope, e.Values); err != nil {
		return err
	}
	// Such a body has no other members to apply.
	if isRestore(e.Body) {
		d.Deleted = false
		return s.restoreTiles(e.Tx, e.Scope, d)
	}
	if d.changedTiles, err = change(e.Tx, e.Scope, d, e.Values); err != nil || !e.Values.Bool("deleted") {
		return err
	}
	d.Deleted = true
	return s.hideTiles(e.Tx, e.Scope, d, e.Values.Bool("delete_insights"))
}

// fill creates the tiles of a new dashboard from a template or another dashboard, and returns their
// numbers.
func (s Dashboards) fill(tx management.Tx, scope *management.Scope, d *dashboardRecord, v management.Values) ([]int64, error) {
	template, from := v.Text("use_template"), v.Int("use_dashboard")
	switch {
	case template != "" && from != 0:
		return nil, management.Fault("", "`use_dashboard` and `use_template` cannot be used together")
	case template != "":
		plan, ok := dashboardTemplates[template]
		if !ok {
			return nil, management.Fault("use_template", "Invalid template provided: %s", template)
		}
		d.CreationMode = madeFromTemplate
		return s.addPlanned(tx, scope, d, plan)
	case from != 0:
		// A dashboard that the caller may not view is reported like one that does not exist.
		origin, err := dashboardOf(tx, scope.Project.ID, from)
		if origin != nil && !scope.CanSee(origin.accessObject()) {
			origin = nil
		}
		if err == nil && origin == nil {
			err = management.Fault("use_dashboard", "Invalid value provided")
		}
		if err != nil {
			return nil, err
		}
		d.CreationMode = madeByCopying
		return s.copyTiles(tx, scope, origin, d, isTruthy(v.Raw("duplicate_tiles")))
	}
	return nil, nil
}

// change applies the members tiles and duplicate_tiles of a body to an existing dashboard, and
// returns the numbers of the tiles that it created or changed.
func (s Dashboards) change(tx management.Tx, scope *management.Scope, d *dashboardRecord, v management.Values) ([]int64, error) {
	changed, err := s.changeTiles(tx, scope, d, v.Raw("tiles"))
	if err != nil {
		return nil, err
	}
	copied, err := s.duplicateTiles(tx, scope, d, v.Raw("duplicate_tiles"))
	return append(changed, copied...), err
}

// logDashboard logs a change of an object that belongs to a dashboard. before and after are
// compared member by member.
func (s Dashboards) logDashboard(tx management.Tx, scope *management.Scope, d *dashboardRecord, before, after any) error {
	return s.Env.LogActivity(tx, scope.Caller, scope.Parent(), dashboardScope, strconv.FormatInt(d.ID, 10), d.title(), before, after)
}

// isRestore reports whether the body is exactly {"deleted": false}, which restores a deleted
// dashboard, insight or annotation. With further members it would be a change of an object that
// does not exist. b may be nil.
func isRestore(b *management.Body) bool {
	if b == nil {
		return false
	}
	raw, ok := b.Members["deleted"]
	if !ok || len(b.Members) != 1 {
		return false
	}
	deleted, err := management.ReadBool(&management.Field{Name: "deleted"}, raw, management.JSONKind(raw))
	return err == nil && deleted == false
}

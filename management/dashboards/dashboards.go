package dashboards

import (
	"context"
	"encoding/json"
	"github.com/bunting-flags/bunting/management"
	"strconv"
	"strings"
)

// kindDashboard is a dashboard: Parent is the project, ID its number, Hidden when
// it is deleted.
const kindDashboard = "dashboard"

// The restriction levels of a dashboard: who of a project may edit it.
const (
	EveryoneEdits     int64 = 21
	CollaboratorsEdit int64 = 37
)

// The privilege levels of a caller on a dashboard.
const (
	CanView int64 = 21
	CanEdit int64 = 37
)

// Bounds of dashboards.
const (
	maxDashboardText = 10_000   // characters
	maxDashboardJSON = 64 << 10 // bytes of filters, variables and breakdown_colors, each
	maxDashboardTags = 100
	maxDashboardTag  = 255 // characters
)

// How a dashboard was made.
const (
	madeByHand       = "default"
	madeFromTemplate = "template"
	madeByCopying    = "duplicate"
)

// Dashboards are dashboards with their tiles, collaborators and sharing (§4.1).
type Dashboards struct{ *core }

// Dashboard is a dashboard as it is shown (§2.2 of the interface). Lists leave
// Filters, Variables and Tiles out.
type Dashboard struct {
	ID                   int64                `json:"id"`
	Name                 *string              `json:"name"`
	Description          string               `json:"description"`
	Pinned               bool                 `json:"pinned"`
	Created              management.Stamp     `json:"created_at"`
	CreatedBy            *management.UserView `json:"created_by"`
	Shared               bool                 `json:"is_shared"`
	Deleted              bool                 `json:"deleted"`
	CreationMode         string               `json:"creation_mode"`
	Filters              json.RawMessage      `json:"filters,omitempty"`
	Variables            json.RawMessage      `json:"variables,omitempty"`
	BreakdownColors      json.RawMessage      `json:"breakdown_colors"`
	ColorTheme           *int64               `json:"data_color_theme_id"`
	Tags                 []string             `json:"tags"`
	Tiles                []Tile               `json:"tiles,omitzero"`
	RestrictionLevel     int64                `json:"restriction_level"`
	EffectiveRestriction int64                `json:"effective_restriction_level"`
	EffectivePrivilege   int64                `json:"effective_privilege_level"`
	UserAccessLevel      string               `json:"user_access_level"`
	AccessControlVersion string               `json:"access_control_version"`
}

// Fields are the writable fields of a dashboard (§4.1.1), and what is
// read of the body beside them (§4.1.4).
var Fields = management.Fields{
	{Name: "name", Type: management.Text, Null: true, Blank: true, Max: 400},
	{Name: "description", Type: management.Text, Blank: true, Max: maxDashboardText},
	{Name: "pinned", Type: management.Bool},
	{Name: "deleted", Type: management.Bool, Help: "true deletes it softly; a body of exactly {\"deleted\": false} brings it back"},
	{Name: "use_template", Type: management.Text, Blank: true, Max: 400, Help: "only when it is made: DEFAULT_APP or WEBSITE_TRAFFIC"},
	{Name: "use_dashboard", Type: management.Int, Null: true, Help: "only when it is made: the dashboard whose tiles it gets"},
	{Name: "delete_insights", Type: management.Bool, Help: "with deleted: also the insights that have no other tile"},
	{Name: "breakdown_colors", Type: management.Any},
	{Name: "data_color_theme_id", Type: management.Int, Null: true},
	{Name: "tags", Type: management.TextList, Max: maxDashboardTag, Help: "trimmed, in lower case, without duplicates"},
	{Name: "restriction_level", Type: management.IntChoice, Numbers: []int64{EveryoneEdits, CollaboratorsEdit}, Help: "21: everyone edits, 37: only collaborators"},
	{Name: "_create_in_folder", Type: management.Text, Blank: true, Max: 1000, Help: "without effect"},
	{Name: "filters", Type: management.Any, Help: "an object; an empty one changes nothing"},
	{Name: "variables", Type: management.Any, Help: "an object; an empty one changes nothing"},
	{Name: "tiles", Type: management.Any, Help: "only changes: tiles to change, and texts to add"},
	{Name: "duplicate_tiles", Type: management.Any, Help: "changes: tiles to copy, as objects with an id; with use_dashboard: true copies the insights too"},
}

// Filter narrows a list of dashboards down (§3).
type Filter struct {
	Tags             []string // any of them
	ExcludeGenerated bool     // names that begin with Generated Dashboard
	Pinned           *bool
	Creators         []int64
	Search           string // in name and description
}

// List returns a page of dashboards, pinned ones first, then by name.
func (s Dashboards) List(ctx context.Context, st *management.Standing, f Filter, p management.Page) (management.List[Dashboard], error) {
	q := management.Query{Kind: kindDashboard, Parent: management.ProjectParent(st.Project.ID), Offset: p.Offset, Limit: p.Limit}
	if err := management.CheckSearch(f.Search); err != nil {
		return management.List[Dashboard]{}, err
	}
	if len(f.Tags) > maxDashboardTags {
		return management.List[Dashboard]{}, tooManyTags()
	}
	if len(f.Tags) > 0 || f.ExcludeGenerated || f.Search != "" || f.Pinned != nil || f.Creators != nil {
		q.Match = f.match()
	}
	return management.Read(ctx, &s.Desk, func(tx management.Tx) (management.List[Dashboard], error) {
		records, count, err := tx.List(q)
		if err != nil {
			return management.List[Dashboard]{}, err
		}
		out, users := management.List[Dashboard]{Count: count}, newAuthorViews(tx)
		for i := range records {
			d, err := management.Decode[dashboardRecord](&records[i])
			if err != nil {
				return management.List[Dashboard]{}, err
			}
			shown, err := d.show(tx, st, users)
			if err != nil {
				return management.List[Dashboard]{}, err
			}
			shown.Filters, shown.Variables = nil, nil
			out.Results = append(out.Results, *shown)
		}
		return out, nil
	})
}

func (f Filter) match() func(*management.Record) bool {
	tags := management.TidyTags(f.Tags)
	return func(r *management.Record) bool {
		d, err := management.Decode[dashboardRecord](r)
		if err != nil {
			return false
		}
		return management.Shares(tags, d.Tags) && management.Is(f.Pinned, d.Pinned) && management.Among(f.Creators, d.Author) &&
			(!f.ExcludeGenerated || !strings.HasPrefix(d.title(), "Generated Dashboard")) &&
			(f.Search == "" || management.HoldsText(d.title(), f.Search) || management.HoldsText(d.Description, f.Search))
	}
}

// Get returns a dashboard with its tiles.
func (s Dashboards) Get(ctx context.Context, st *management.Standing, id string) (*Dashboard, error) {
	return management.Read(ctx, &s.Desk, func(tx management.Tx) (*Dashboard, error) {
		d, err := dashboardNamed(tx, st, id)
		if err != nil {
			return nil, err
		}
		return d.showFull(tx, st)
	})
}

// Create makes a dashboard, also out of a template or another dashboard (§4.1.3).
func (s Dashboards) Create(ctx context.Context, st *management.Standing, b management.Body) (*Dashboard, error) {
	v, err := Fields.Create(b)
	if err != nil {
		return nil, err
	}
	return management.Write(ctx, &s.Desk, func(tx management.Tx) (*Dashboard, error) { return s.create(tx, st, v) })
}

func (s Dashboards) create(tx management.Tx, st *management.Standing, v management.Values) (*Dashboard, error) {
	template, from := v.Text("use_template"), v.Int("use_dashboard")
	if template != "" && from != 0 {
		return nil, management.Fault("", "`use_dashboard` and `use_template` cannot be used together")
	}
	d, err := s.newDashboard(tx, st)
	if err != nil {
		return nil, err
	}
	if err := d.set(st, v); err != nil {
		return nil, err
	}
	var tiles []int64
	switch {
	case template != "":
		plan, known := dashboardTemplates[template]
		if !known {
			return nil, management.Fault("use_template", "Invalid template provided: %s", template)
		}
		d.Mode = madeFromTemplate
		tiles, err = s.addPlanned(tx, st, d, plan)
	case from != 0:
		var origin *dashboardRecord
		if origin, err = dashboardOf(tx, st.Project.ID, from); err == nil && origin == nil {
			err = management.Fault("use_dashboard", "Invalid value provided")
		}
		if err == nil {
			d.Mode = madeByCopying
			tiles, err = s.copyTiles(tx, st, origin, d, pythonTrue(v.Raw("duplicate_tiles")))
		}
	}
	if err != nil {
		return nil, err
	}
	return s.finish(tx, st, nil, d, v, tiles)
}

func (s Dashboards) newDashboard(tx management.Tx, st *management.Standing) (*dashboardRecord, error) {
	id, err := tx.Next(kindDashboard)
	if err != nil {
		return nil, err
	}
	return &dashboardRecord{
		ID: id, Created: management.At(s.Desk.Now()), Author: st.User.ID, Mode: madeByHand, Tags: []string{}, Restriction: EveryoneEdits,
		Filters: json.RawMessage("{}"), Variables: json.RawMessage("{}"), Colors: json.RawMessage("[]"),
	}, nil
}

// finish deletes what is to be deleted, saves the dashboard, notes what has
// changed and shows it. before is nil for a new one.
func (s Dashboards) finish(tx management.Tx, st *management.Standing, before, d *dashboardRecord, v management.Values, tiles []int64) (*Dashboard, error) {
	if v.Bool("deleted") && !d.Deleted {
		d.Deleted = true
		if err := s.hideTiles(tx, st, d, v.Bool("delete_insights")); err != nil {
			return nil, err
		}
	}
	if err := putDashboard(tx, st.Project.ID, d); err != nil {
		return nil, err
	}
	var was any
	if before != nil {
		was = before
	}
	is := struct {
		*dashboardRecord
		Tiles []int64 `json:"tiles,omitempty"` // those that were made or changed
	}{d, tiles}
	if err := s.noteDashboard(tx, st, d, was, is); err != nil {
		return nil, err
	}
	return d.showFull(tx, st)
}

// noteDashboard notes a change of a dashboard or of something that belongs to it.
func (s Dashboards) noteDashboard(tx management.Tx, st *management.Standing, d *dashboardRecord, before, after any) error {
	return s.Desk.Note(tx, st.Caller, management.ProjectParent(st.Project.ID), "Dashboard", strconv.FormatInt(d.ID, 10), d.title(), before, after)
}

// Update changes a dashboard, deletes it softly or brings it back (§4.1.4, §4.1.5).
func (s Dashboards) Update(ctx context.Context, st *management.Standing, id string, b management.Body) (*Dashboard, error) {
	return management.Write(ctx, &s.Desk, func(tx management.Tx) (*Dashboard, error) { return s.update(tx, st, id, b) })
}

func (s Dashboards) update(tx management.Tx, st *management.Standing, named string, b management.Body) (*Dashboard, error) {
	back := bringsBack(b)
	d, err := anyDashboardOf(tx, st.Project.ID, dashboardNumber(named))
	if err == nil && (d == nil || d.Deleted && !back) {
		err = management.ErrNotFound()
	}
	if err != nil {
		return nil, err
	}
	if err := d.mayEdit(tx, st); err != nil {
		return nil, err
	}
	v, err := Fields.Change(b)
	if err != nil {
		return nil, err
	}
	before := *d
	if err := d.set(st, v); err != nil {
		return nil, err
	}
	if back {
		d.Deleted = false
		if err := s.restoreTiles(tx, st, d); err != nil {
			return nil, err
		}
		return s.finish(tx, st, &before, d, v, nil)
	}
	changed, err := s.changeTiles(tx, st, d, v.Raw("tiles"))
	if err != nil {
		return nil, err
	}
	copied, err := s.duplicateTiles(tx, st, d, v.Raw("duplicate_tiles"))
	if err != nil {
		return nil, err
	}
	return s.finish(tx, st, &before, d, v, append(changed, copied...))
}

// bringsBack reports whether a body is exactly {"deleted": false}.
func bringsBack(b management.Body) bool {
	raw, there := b.Members["deleted"]
	if !there || len(b.Members) != 1 {
		return false
	}
	no, err := management.ReadBool(&management.Field{Name: "deleted"}, raw, management.JSONKind(raw))
	return err == nil && no == false
}

package dashboards

import (
	"bytes"
	"encoding/json"
	"github.com/bunting-flags/bunting/management"
	"strconv"
)

// dashboardRecord is a dashboard as it is stored.
type dashboardRecord struct {
	ID          int64            `json:"id"`
	Name        *string          `json:"name"`
	Description string           `json:"description"`
	Pinned      bool             `json:"pinned"`
	Created     management.Stamp `json:"created_at"`
	Author      int64            `json:"created_by"` // a user's number
	Shared      bool             `json:"is_shared"`  // as the sharing configuration says
	Deleted     bool             `json:"deleted"`
	Mode        string           `json:"creation_mode"`
	Filters     json.RawMessage  `json:"filters"`
	Variables   json.RawMessage  `json:"variables"`
	Colors      json.RawMessage  `json:"breakdown_colors"`
	Theme       *int64           `json:"data_color_theme_id"`
	Tags        []string         `json:"tags"`
	Restriction int64            `json:"restriction_level"`
}

// title is the name, empty for none.
func (d *dashboardRecord) title() string {
	if d.Name == nil {
		return ""
	}
	return *d.Name
}

// dashboardParentPrefix begins the Parent of what belongs to a dashboard.
const dashboardParentPrefix = "dashboard:"

func dashboardParent(id int64) string { return dashboardParentPrefix + strconv.FormatInt(id, 10) }

// sort puts pinned dashboards first, then goes by name; those without one are last.
func (d *dashboardRecord) sort() string {
	first, named := "1", "1"
	if d.Pinned {
		first = "0"
	}
	if d.Name != nil {
		named = "0" + *d.Name
	}
	return first + named
}

func putDashboard(tx management.Tx, project int64, d *dashboardRecord) error {
	return tx.Put(&management.Record{
		Kind: kindDashboard, Parent: management.ProjectParent(project), ID: strconv.FormatInt(d.ID, 10), Sort: d.sort(), Hidden: d.Deleted, Data: management.Encode(d),
	})
}

// Exists reports whether a project has a dashboard of a number.
func Exists(tx management.Tx, project, id int64) (bool, error) {
	d, err := dashboardOf(tx, project, id)
	return d != nil, err
}

// dashboardOf returns a dashboard, nil when there is none or it is deleted.
func dashboardOf(tx management.Tx, project, id int64) (*dashboardRecord, error) {
	d, err := anyDashboardOf(tx, project, id)
	if d != nil && d.Deleted {
		d = nil
	}
	return d, err
}

func anyDashboardOf(tx management.Tx, project, id int64) (*dashboardRecord, error) {
	r, err := tx.Get(kindDashboard, management.ProjectParent(project), strconv.FormatInt(id, 10))
	if err != nil {
		return nil, err
	}
	return management.Decode[dashboardRecord](r)
}

// dashboardNumber reads the id of a path, 0 for what is none.
func dashboardNumber(named string) int64 {
	id, err := strconv.ParseInt(named, 10, 64)
	if err != nil || strconv.FormatInt(id, 10) != named {
		return 0
	}
	return id
}

// dashboardNamed finds the dashboard of a path.
func dashboardNamed(tx management.Tx, st *management.Standing, named string) (*dashboardRecord, error) {
	d, err := dashboardOf(tx, st.Project.ID, dashboardNumber(named))
	if err == nil && d == nil {
		err = management.ErrNotFound()
	}
	return d, err
}

// parentDashboard is dashboardNamed for what stands below a dashboard.
func parentDashboard(tx management.Tx, st *management.Standing, named string) (*dashboardRecord, error) {
	d, err := dashboardOf(tx, st.Project.ID, dashboardNumber(named))
	if err == nil && d == nil {
		err = management.Missing("Dashboard not found.")
	}
	return d, err
}

// inherent reports whether the caller edits the dashboard whoever else may: its
// creator, and who administers the project.
func (d *dashboardRecord) inherent(st *management.Standing) bool {
	return d.Author == st.User.ID || st.Access() == management.AdminAccess
}

// privilege is what the caller may do with the dashboard: CanView or CanEdit.
func (d *dashboardRecord) privilege(tx management.Tx, st *management.Standing) (int64, error) {
	if d.Restriction == EveryoneEdits || d.inherent(st) {
		return CanEdit, nil
	}
	r, err := tx.Get(kindCollaborator, dashboardParent(d.ID), st.User.UUID)
	if err != nil || r == nil {
		return CanView, err
	}
	return CanEdit, nil
}

// mayEdit refuses who may only look at the dashboard.
func (d *dashboardRecord) mayEdit(tx management.Tx, st *management.Standing) error {
	level, err := d.privilege(tx, st)
	if err == nil && level < CanEdit {
		err = management.Denied("You don't have edit permissions for this dashboard.")
	}
	return err
}

// show is the dashboard without its tiles. st is nil for who looks at it through
// a link.
func (d *dashboardRecord) show(tx management.Tx, st *management.Standing, users *authorViews) (*Dashboard, error) {
	out := &Dashboard{
		ID: d.ID, Name: d.Name, Description: d.Description, Pinned: d.Pinned, Created: d.Created, Shared: d.Shared, Deleted: d.Deleted,
		CreationMode: d.Mode, Filters: d.Filters, Variables: d.Variables, BreakdownColors: d.Colors, ColorTheme: d.Theme, Tags: d.Tags,
		RestrictionLevel: d.Restriction, EffectiveRestriction: d.Restriction, UserAccessLevel: "editor", AccessControlVersion: "v2",
	}
	if d.Restriction > EveryoneEdits {
		out.AccessControlVersion = "v1"
	}
	if st == nil {
		out.EffectiveRestriction, out.EffectivePrivilege, out.UserAccessLevel = CollaboratorsEdit, CanView, "viewer"
		return out, nil
	}
	if d.Author == st.User.ID || st.Admin() {
		out.UserAccessLevel = "manager"
	}
	var err error
	if out.CreatedBy, err = users.of(d.Author); err != nil {
		return nil, err
	}
	out.EffectivePrivilege, err = d.privilege(tx, st)
	return out, err
}

// showFull is the dashboard with its tiles.
func (d *dashboardRecord) showFull(tx management.Tx, st *management.Standing) (*Dashboard, error) {
	users := newAuthorViews(tx)
	out, err := d.show(tx, st, users)
	if err != nil {
		return nil, err
	}
	out.Tiles, err = d.showTiles(tx, st.Project.ID, users)
	return out, err
}

// authorViews remembers the users of one answer.
type authorViews struct {
	tx    management.Tx
	known map[int64]*management.UserView
}

func newAuthorViews(tx management.Tx) *authorViews {
	return &authorViews{tx, map[int64]*management.UserView{}}
}

// of is the user of a number, nil for nobody. A nil authorViews names nobody: who
// looks through a link is not told who works here.
func (a *authorViews) of(id int64) (*management.UserView, error) {
	if a == nil {
		return nil, nil
	}
	view, known := a.known[id]
	if known {
		return view, nil
	}
	view, err := management.ViewOfUser(a.tx, id)
	a.known[id] = view
	return view, err
}

// set takes the fields of a body over.
func (d *dashboardRecord) set(st *management.Standing, v management.Values) error {
	management.SetNull(v, "name", &d.Name)
	management.Set(v, "description", &d.Description)
	management.Set(v, "pinned", &d.Pinned)
	management.SetNull(v, "data_color_theme_id", &d.Theme)
	if v.Has("breakdown_colors") {
		d.Colors = v.Raw("breakdown_colors")
		if d.Colors == nil {
			d.Colors = json.RawMessage("null")
		}
		if len(d.Colors) > maxDashboardJSON {
			return overBytes("breakdown_colors", maxDashboardJSON)
		}
	}
	if v.Has("tags") {
		if d.Tags = management.TidyTags(v.Texts("tags")); len(d.Tags) > maxDashboardTags {
			return tooManyTags()
		}
	}
	if level := v.Int("restriction_level"); level != 0 && level != d.Restriction {
		if !d.inherent(st) {
			return management.Denied("Only the dashboard owner and project admins have the restriction rights required to change the dashboard's restriction level.")
		}
		d.Restriction = level
	}
	if err := setDictionary(v, "filters", &d.Filters); err != nil {
		return err
	}
	return setDictionary(v, "variables", &d.Variables)
}

// setDictionary takes an object over; what counts as nothing changes nothing (§4.1.4).
func setDictionary(v management.Values, name string, to *json.RawMessage) error {
	raw := v.Raw(name)
	switch {
	case !pythonTrue(raw):
		return nil
	case management.JSONKind(raw) != "dict":
		return management.Fault("", "Filters must be a dictionary")
	case len(raw) > maxDashboardJSON:
		return overBytes(name, maxDashboardJSON)
	}
	*to = raw
	return nil
}

func overBytes(field string, most int) error {
	return management.Coded(management.CodeMaxLength, field, "Ensure this field has no more than %d bytes.", most)
}

// pythonTrue reports whether a JSON value is more than null, false, 0 and the
// empty text, list and object.
func pythonTrue(raw json.RawMessage) bool {
	var compact bytes.Buffer
	if raw == nil || json.Compact(&compact, raw) != nil {
		return false
	}
	switch text := compact.String(); text {
	case "null", "false", `""`, "[]", "{}":
		return false
	default:
		n, err := strconv.ParseFloat(text, 64)
		return err != nil || n != 0
	}
}

func tooManyTags() error {
	return management.Coded(management.CodeMaxLength, "tags", "Ensure this field has no more than %d elements.", maxDashboardTags)
}

package dashboards

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/bunting-flags/bunting/management"
)

// dashboardSettings are what is kept of a dashboard and shown as it is.
type dashboardSettings struct {
	ID               int64            `json:"id"`
	Name             *string          `json:"name"`
	Description      string           `json:"description"`
	Pinned           bool             `json:"pinned"`
	Created          management.Stamp `json:"created_at"`
	Shared           bool             `json:"is_shared"` // as the sharing configuration says
	Deleted          bool             `json:"deleted"`
	CreationMode     string           `json:"creation_mode"`
	Filters          json.RawMessage  `json:"filters,omitempty"`
	Variables        json.RawMessage  `json:"variables,omitempty"`
	BreakdownColors  json.RawMessage  `json:"breakdown_colors"`
	ColorTheme       *int64           `json:"data_color_theme_id"`
	Tags             []string         `json:"tags"`
	RestrictionLevel int64            `json:"restriction_level"`
}

// dashboardRecord is a dashboard as it is stored.
type dashboardRecord struct {
	dashboardSettings
	Author int64 `json:"created_by"` // a user's number
	// changedTiles are the tiles that a call has made or changed.
	changedTiles []int64
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
	first, ref := "1", "1"
	if d.Pinned {
		first = "0"
	}
	if d.Name != nil {
		ref = "0" + *d.Name
	}
	return first + ref
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
func dashboardNumber(ref string) int64 {
	id, err := strconv.ParseInt(ref, 10, 64)
	if err != nil || strconv.FormatInt(id, 10) != ref {
		return 0
	}
	return id
}

// parentDashboard finds the dashboard of a path for what stands below it.
func parentDashboard(tx management.Tx, scope *management.Scope, ref string) (*dashboardRecord, error) {
	d, err := dashboardOf(tx, scope.Project.ID, dashboardNumber(ref))
	if err == nil && d == nil {
		err = management.Missing("Dashboard not found.")
	}
	return d, err
}

// hasInherentAccess reports whether the caller edits the dashboard whoever else may: its
// creator, and who administers the project.
func (d *dashboardRecord) hasInherentAccess(scope *management.Scope) bool {
	return d.Author == scope.User.ID || scope.CanAdminister()
}

func (d *dashboardRecord) accessObject() management.AccessObject {
	return management.AccessObject{Kind: kindDashboard, ID: strconv.FormatInt(d.ID, 10), Author: d.Author}
}

// privilege is what the caller may do with the dashboard: canView or canEdit.
func (d *dashboardRecord) privilege(tx management.Tx, scope *management.Scope) (int64, error) {
	if !scope.AccessTo(d.accessObject()).Allows(management.Editor) {
		return canView, nil
	}
	if d.RestrictionLevel == everyoneEdits || d.hasInherentAccess(scope) {
		return canEdit, nil
	}
	r, err := tx.Get(kindCollaborator, dashboardParent(d.ID), scope.User.UUID)
	if err != nil || r == nil {
		return canView, err
	}
	return canEdit, nil
}

// checkEdit refuses who may only look at the dashboard.
func (d *dashboardRecord) checkEdit(tx management.Tx, scope *management.Scope) error {
	if err := scope.RequireAccess(management.Editor, d.accessObject()); err != nil {
		return err
	}
	level, err := d.privilege(tx, scope)
	if err == nil && level < canEdit {
		err = management.Denied("You don't have edit permissions for this dashboard.")
	}
	return err
}

// show is the dashboard without its tiles. v has no standing for who looks at it
// through a link.
func (d *dashboardRecord) show(v *view) (*Dashboard, error) {
	out := &Dashboard{dashboardSettings: d.dashboardSettings, EffectiveRestriction: d.RestrictionLevel, UserAccessLevel: v.AccessTo(d.accessObject()), AccessControlVersion: "v2"}
	if d.RestrictionLevel > everyoneEdits {
		out.AccessControlVersion = "v1"
	}
	if v.Scope == nil {
		out.EffectiveRestriction, out.EffectivePrivilege = collaboratorsEdit, canView
		return out, nil
	}
	var err error
	if out.CreatedBy, err = v.Author(d.Author); err != nil {
		return nil, err
	}
	out.EffectivePrivilege, err = d.privilege(v.Tx, v.Scope)
	return out, err
}

// showFull is the dashboard with its tiles.
func (d *dashboardRecord) showFull(v *view) (*Dashboard, error) {
	out, err := d.show(v)
	if err != nil {
		return nil, err
	}
	out.Tiles, err = d.showTiles(v, v.Project.ID)
	return out, err
}

// check looks at a dashboard that a body was laid over, and takes the rest of it over.
func (d *dashboardRecord) check(scope *management.Scope, v management.Values) error {
	if v.Has("breakdown_colors") && len(d.BreakdownColors) > maxDashboardJSON {
		return overBytes("breakdown_colors", maxDashboardJSON)
	}
	if v.Has("tags") {
		if d.Tags = management.NormalizeTags(d.Tags); len(d.Tags) > maxDashboardTags {
			return errTooManyTags()
		}
	}
	if level := v.Int("restriction_level"); level != 0 && level != d.RestrictionLevel {
		if !d.hasInherentAccess(scope) {
			return management.Denied("Only the dashboard owner and project admins have the restriction rights required to change the dashboard's restriction level.")
		}
		d.RestrictionLevel = level
	}
	if err := setDictionary(v, "filters", &d.Filters); err != nil {
		return err
	}
	return setDictionary(v, "variables", &d.Variables)
}

// setDictionary takes an object over; what counts as nothing changes nothing (§4.1.4).
func setDictionary(v management.Values, name string, dst *json.RawMessage) error {
	raw := v.Raw(name)
	switch {
	case !isTruthy(raw):
		return nil
	case management.JSONKind(raw) != "dict":
		return management.Fault("", "Filters must be a dictionary")
	case len(raw) > maxDashboardJSON:
		return overBytes(name, maxDashboardJSON)
	}
	*dst = raw
	return nil
}

func overBytes(field string, limit int) error {
	return management.CodedFault(management.CodeMaxLength, field, "Ensure this field has no more than %d bytes.", limit)
}

// isTruthy reports whether a JSON value is more than null, false, 0 and the
// empty text, list and object.
func isTruthy(raw json.RawMessage) bool {
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

func errTooManyTags() error {
	return management.CodedFault(management.CodeMaxLength, "tags", "Ensure this field has no more than %d elements.", maxDashboardTags)
}

// kindCollaborator is somebody who edits a restricted dashboard: Parent is the
// dashboard, ID the user's uuid, Sort the time of adding.
const kindCollaborator = "dashboard_collaborator"

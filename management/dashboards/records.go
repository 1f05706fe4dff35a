package dashboards

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/lists"
	"github.com/bunting-flags/bunting/management/internal/plain"
	"github.com/bunting-flags/bunting/management/internal/resource"
)

// kindDashboard is the kind of the records of dashboards. Parent is the project and ID the number
// of the dashboard. Hidden means that it is deleted.
const kindDashboard = "dashboard"

// dashboardScope is the Activity.Scope of dashboards in the log.
const dashboardScope = "Dashboard"

// The restriction levels of a dashboard: who in the project may edit it.
const (
	everyoneEdits     int64 = 21
	collaboratorsEdit int64 = 37
)

// The privilege levels of a caller on a dashboard.
const (
	canView int64 = 21
	canEdit int64 = 37
)

// Bounds of dashboards.
const (
	maxDashboardText = 10_000   // characters
	maxDashboardJSON = 64 << 10 // bytes of filters, variables and breakdown_colors, each
	maxDashboardTags = 100
	maxDashboardTag  = 255 // characters
)

// The values of creation_mode: how a dashboard was created.
const (
	madeByHand       = "default"
	madeFromTemplate = "template"
	madeByCopying    = "duplicate"
)

// Dashboard is the form of a dashboard in responses (§2.2 of the interface). Lists omit Filters,
// Variables and Tiles. CreatedBy is nil if the dashboard is opened through a link.
type Dashboard struct {
	dashboardSettings
	CreatedBy *management.UserView `json:"created_by"`
	Tiles     []tile               `json:"tiles,omitzero"`
	// EffectiveRestriction and EffectivePrivilege are the restriction level of the dashboard and
	// the privilege level of the caller. A visitor of a link may view a restricted dashboard.
	EffectiveRestriction int64                  `json:"effective_restriction_level"`
	EffectivePrivilege   int64                  `json:"effective_privilege_level"`
	UserAccessLevel      management.AccessLevel `json:"user_access_level"`
	// AccessControlVersion is v1 for dashboards with a restriction level, otherwise v2.
	AccessControlVersion string `json:"access_control_version"`
}

// dashboardSettings are the fields of a dashboard that are stored and returned unchanged.
type dashboardSettings struct {
	ID          int64            `json:"id"`
	Name        *string          `json:"name"`
	Description string           `json:"description"`
	Pinned      bool             `json:"pinned"`
	Created     management.Stamp `json:"created_at"`
	Shared      bool             `json:"is_shared"` // a copy of sharingRecord.Enabled
	Deleted     bool             `json:"deleted"`
	// CreationMode is one of madeByHand, madeFromTemplate and madeByCopying.
	CreationMode string `json:"creation_mode"`
	// Filters and Variables are JSON objects for the queries of the insights. Both are nil in
	// lists.
	Filters   json.RawMessage `json:"filters,omitempty"`
	Variables json.RawMessage `json:"variables,omitempty"`
	// BreakdownColors are the colors of the values of breakdowns; clients define their form.
	BreakdownColors json.RawMessage `json:"breakdown_colors"`
	ColorTheme      *int64          `json:"data_color_theme_id"`
	Tags            []string        `json:"tags"`
	// RestrictionLevel is everyoneEdits or collaboratorsEdit.
	RestrictionLevel int64 `json:"restriction_level"`
}

// dashboardRecord is the stored form of a dashboard.
type dashboardRecord struct {
	dashboardSettings
	Author int64 `json:"created_by"` // the user's number
	// changedTiles are the numbers of the tiles that the current operation has created or changed.
	// They are logged and not stored.
	changedTiles []int64
}

// title returns the name, or "" if there is none.
func (d *dashboardRecord) title() string { return plain.OrZero(d.Name) }

// dashboardParentPrefix is the prefix of the Record.Parent of objects that belong to a dashboard.
const dashboardParentPrefix = "dashboard:"

// dashboardParent returns the Record.Parent of objects that belong to a dashboard.
func dashboardParent(id int64) string { return dashboardParentPrefix + strconv.FormatInt(id, 10) }

// sort returns the Record.Sort: pinned dashboards first, then by name. Dashboards without a name
// are the last of their group.
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

// Exists reports whether a project has a dashboard with a number. Deleted dashboards do not count.
// Package featureflags calls it for the dashboards that flags refer to.
func Exists(tx management.Tx, project, id int64) (bool, error) {
	d, err := dashboardOf(tx, project, id)
	return d != nil, err
}

// dashboardOf returns a dashboard, or nil if it does not exist or is deleted.
func dashboardOf(tx management.Tx, project, id int64) (*dashboardRecord, error) {
	d, err := anyDashboardOf(tx, project, id)
	if d != nil && d.Deleted {
		d = nil
	}
	return d, err
}

// anyDashboardOf returns a dashboard, deleted or not, or nil if it does not exist.
func anyDashboardOf(tx management.Tx, project, id int64) (*dashboardRecord, error) {
	return management.Found[dashboardRecord](tx.Get(kindDashboard, management.ProjectParent(project), strconv.FormatInt(id, 10)))
}

// dashboardNumber parses the id of a path. It returns 0, which no object has, if ref is not the
// canonical form of a number.
func dashboardNumber(ref string) int64 {
	id, err := strconv.ParseInt(ref, 10, 64)
	if err != nil || strconv.FormatInt(id, 10) != ref {
		return 0
	}
	return id
}

// parentDashboard returns the dashboard that a path names for an object below it, or an error of
// kind NotFound. It returns an error of kind Forbidden if the caller may not view the dashboard.
func parentDashboard(tx management.Tx, scope *management.Scope, ref string) (*dashboardRecord, error) {
	d, err := dashboardOf(tx, scope.Project.ID, dashboardNumber(ref))
	switch {
	case err != nil:
		return nil, err
	case d == nil:
		return nil, management.Missing("Dashboard not found.")
	}
	return d, scope.RequireAccess(management.Viewer, d.accessObject())
}

// hasInherentAccess reports whether the caller may edit the dashboard at each restriction level.
// This is true for its creator and for administrators of the project.
func (d *dashboardRecord) hasInherentAccess(scope *management.Scope) bool {
	return d.Author == scope.User.ID || scope.CanAdminister()
}

// accessObject returns the dashboard as access rules name it.
func (d *dashboardRecord) accessObject() management.AccessObject {
	return management.AccessObject{Kind: kindDashboard, ID: strconv.FormatInt(d.ID, 10), Author: d.Author}
}

// privilege returns the caller's privilege level on the dashboard, canView or canEdit. It is
// canEdit if access rules allow editing, and if everyone edits the dashboard, the caller has
// inherent access or is a collaborator.
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

// checkEdit returns an error if the caller may not edit the dashboard.
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

// show returns the form of the dashboard in responses, without its tiles. The scope of v is nil for
// visitors who open a link.
func (d *dashboardRecord) show(v *view) (*Dashboard, error) {
	out := &Dashboard{dashboardSettings: d.dashboardSettings, EffectiveRestriction: d.RestrictionLevel, UserAccessLevel: v.AccessTo(d.accessObject()), AccessControlVersion: "v2"}
	if d.RestrictionLevel > everyoneEdits {
		out.AccessControlVersion = "v1"
	}
	// Visitors receive no names of users, and see the dashboard as restricted.
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

// check validates a dashboard after the values of a body were applied, and applies the values that
// need rules of their own.
func (d *dashboardRecord) check(scope *management.Scope, v management.Values) error {
	if v.Has("breakdown_colors") && len(d.BreakdownColors) > maxDashboardJSON {
		return overBytes("breakdown_colors", maxDashboardJSON)
	}
	if v.Has("tags") {
		if d.Tags = lists.NormalizeTags(d.Tags); len(d.Tags) > maxDashboardTags {
			return errTooManyTags()
		}
	}
	// A collaborator may edit the dashboard, but not change who else may.
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

// setDictionary copies a JSON object from a body to dst. An empty value changes nothing (§4.1.4).
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

// overBytes returns the error for a field with more than limit bytes.
func overBytes(field string, limit int) error {
	return management.CodedFault(management.CodeMaxLength, field, "Ensure this field has no more than %d bytes.", limit)
}

// isTruthy reports whether a JSON value is not null, false, 0, or an empty string, list or object.
func isTruthy(raw json.RawMessage) bool {
	var compact bytes.Buffer
	if raw == nil || json.Compact(&compact, raw) != nil {
		return false
	}
	switch text := compact.String(); text {
	case "null", "false", `""`, "[]", "{}":
		return false
	// A number is empty if it is 0, in each of its forms.
	default:
		n, err := strconv.ParseFloat(text, 64)
		return err != nil || n != 0
	}
}

// errTooManyTags returns the error for an object or a query with more than maxDashboardTags tags.
func errTooManyTags() error {
	return management.CodedFault(management.CodeMaxLength, "tags", "Ensure this field has no more than %d elements.", maxDashboardTags)
}

// kindCollaborator is the kind of the records of collaborators, who may edit a restricted
// dashboard. Parent is the dashboard, ID the user's UUID, Sort the time at which the collaborator
// was added.
const kindCollaborator = "dashboard_collaborator"

// view is a transaction with the scope of the caller. The scope is nil for visitors who open a
// link.
type view = resource.View[management.Tx]

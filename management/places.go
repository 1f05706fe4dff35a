package management

import (
	"encoding/json"
	"fmt"
	"slices"
)

// OrganizationMeta is this package's part of an organization's record: OrganizationRecord.Meta.
// Switches are named so that false is their default.
type OrganizationMeta struct {
	Slug              string          `json:"slug,omitempty"`
	Updated           Stamp           `json:"updated_at,omitzero"`
	NoMemberKeys      bool            `json:"no_member_keys,omitempty"`
	NoMemberInvites   bool            `json:"no_member_invites,omitempty"`
	NoPublicSharing   bool            `json:"no_public_sharing,omitempty"`
	NoMemberJoinEmail bool            `json:"no_member_join_email,omitempty"`
	Enforce2FA        *bool           `json:"enforce_2fa,omitempty"`
	Metadata          json.RawMessage `json:"metadata,omitempty"`
	AIDataProcessing  *bool           `json:"is_ai_data_processing_approved,omitempty"`
	ExperimentStats   *string         `json:"default_experiment_stats_method,omitempty"`
	DefaultRole       *string         `json:"default_role_id,omitempty"`
	LogoMedia         *string         `json:"logo_media_id,omitempty"`
	SuspendedQuotas   json.RawMessage `json:"suspended_quotas,omitempty"`
}

// MetaOfOrganization returns the Meta of an organization, which is zero if o is nil.
func MetaOfOrganization(o *OrganizationRecord) (m OrganizationMeta, err error) {
	if o == nil || len(o.Meta) == 0 {
		return m, nil
	}
	if err := json.Unmarshal(o.Meta, &m); err != nil {
		return m, fmt.Errorf("the stored organization %s is invalid: %w", o.ID, err)
	}
	return m, nil
}

// ProjectMeta is this package's part of a project's record: ProjectRecord.Meta.
type ProjectMeta struct {
	UUID    string `json:"uuid,omitempty"`
	Updated Stamp  `json:"updated_at,omitzero"`
	// Default is the access of members without a rule of their own; empty means AdminAccess.
	// Members are the levels of rules for members, by the uuid of the user, and Roles those of
	// rules for roles, by the id of the role.
	Default AccessLevel            `json:"default_access,omitempty"`
	Members map[string]AccessLevel `json:"members,omitempty"`
	Roles   map[string]AccessLevel `json:"roles,omitempty"`
	// RuleTimes are the times of these rules, by user or role; the key of Default is empty.
	RuleTimes map[string]ruleTimes `json:"rules_made,omitempty"`
	// HasRules reports whether the project may have access rules about objects. If it is false, no
	// query for them is necessary.
	HasRules bool `json:"ruled,omitempty"`
	// Settings are the settings that SDKs and pages read, by name.
	Settings map[string]json.RawMessage `json:"settings,omitempty"`
}

// MetaOfProject returns the Meta of a project.
func MetaOfProject(p *ProjectRecord) (m ProjectMeta, err error) {
	if len(p.Meta) == 0 {
		return m, nil
	}
	if err := json.Unmarshal(p.Meta, &m); err != nil {
		return m, fmt.Errorf("the stored project %d is invalid: %w", p.ID, err)
	}
	return m, nil
}

// Access returns the caller's access to the scope's project, NoAccess outside of projects.
func (scope *Scope) Access() AccessLevel {
	if scope.Project == nil {
		return NoAccess
	}
	return scope.Caller.Access(scope.Project)
}

// Parent returns the Record.Parent of records in the scope: that of the project, outside of
// projects the organization's id, and outside of both "".
func (scope *Scope) Parent() string {
	switch {
	case scope.Project != nil:
		return ProjectParent(scope.Project.ID)
	case scope.Organization != nil:
		return scope.Organization.ID
	}
	return ""
}

// CanReach reports whether the caller has any access to a project.
func (c *Caller) CanReach(p *ProjectRecord) bool {
	return c.Access(p) != NoAccess
}

// CanOpenProject reports whether the list of projects of the key allows a project (§1.6).
func (c *Caller) CanOpenProject(id int64) bool {
	return len(c.Key.Projects) == 0 || c.HasAllScopes() || slices.Contains(c.Key.Projects, id)
}

// ProjectParent returns the Record.Parent of records that belong to a project.
func ProjectParent(id int64) string { return fmt.Sprintf("project:%d", id) }

// ruleTimes are the times when a rule was created and last changed.
type ruleTimes struct {
	Created Stamp `json:"made"`
	Updated Stamp `json:"changed"`
}

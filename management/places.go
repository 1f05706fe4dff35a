package management

import (
	"encoding/json"
	"fmt"
)

// OrganizationMeta is what this room keeps of an organization: OrganizationRecord.Meta.
// Switches are named so that false is the default.
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

// MetaOfOrganization reads an organization's Meta; that of nil is the zero one.
func MetaOfOrganization(o *OrganizationRecord) (m OrganizationMeta, err error) {
	if o == nil || len(o.Meta) == 0 {
		return m, nil
	}
	if err := json.Unmarshal(o.Meta, &m); err != nil {
		return m, fmt.Errorf("the organization %s is not stored as it should be: %w", o.ID, err)
	}
	return m, nil
}

// ProjectMeta is what this room keeps of a project: ProjectRecord.Meta.
type ProjectMeta struct {
	UUID    string `json:"uuid,omitempty"`
	Updated Stamp  `json:"updated_at,omitzero"`
	// Default is what members may do who have no rule of their own, empty for
	// AdminAccess; Members are those who have, by user uuid, and Roles, by role.
	Default AccessLevel            `json:"default_access,omitempty"`
	Members map[string]AccessLevel `json:"members,omitempty"`
	Roles   map[string]AccessLevel `json:"roles,omitempty"`
	// RuleTimes is when a rule was made and last changed, by user or role, empty for Default.
	RuleTimes map[string]ruleTimes `json:"rules_made,omitempty"`
	// HasRules: there may be access rules about things in the project.
	HasRules bool `json:"ruled,omitempty"`
	// Settings are those that SDKs and pages read, by name.
	Settings map[string]json.RawMessage `json:"settings,omitempty"`
}

// MetaOfProject reads a project's Meta.
func MetaOfProject(p *ProjectRecord) (m ProjectMeta, err error) {
	if len(p.Meta) == 0 {
		return m, nil
	}
	if err := json.Unmarshal(p.Meta, &m); err != nil {
		return m, fmt.Errorf("the project %d is not stored as it should be: %w", p.ID, err)
	}
	return m, nil
}

// Access is what the caller may do in the project.
func (scope *Scope) Access() AccessLevel {
	if scope.Project == nil {
		return NoAccess
	}
	return scope.Caller.Access(scope.Project)
}

// Parent is the Parent of records that belong where the caller is: in the project, or
// outside of projects in the organization. Outside of both it is empty.
func (scope *Scope) Parent() string {
	switch {
	case scope.Project != nil:
		return ProjectParent(scope.Project.ID)
	case scope.Organization != nil:
		return scope.Organization.ID
	}
	return ""
}

// CanReach reports whether the caller may be in a project at all.
func (c *Caller) CanReach(p *ProjectRecord) bool {
	return c.Access(p) != NoAccess
}

// ProjectParent is the Parent of records that belong to a project.
func ProjectParent(id int64) string { return fmt.Sprintf("project:%d", id) }

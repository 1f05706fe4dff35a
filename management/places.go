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

// ProjectAccess is what a user may do in a project (§1.8).
type ProjectAccess string

// The levels of access to projects.
const (
	NoAccess     ProjectAccess = "none"
	MemberAccess ProjectAccess = "member"
	AdminAccess  ProjectAccess = "admin"
)

// ProjectMeta is what this room keeps of a project: ProjectRecord.Meta.
type ProjectMeta struct {
	UUID    string `json:"uuid,omitempty"`
	Updated Stamp  `json:"updated_at,omitzero"`
	// Default is what members may do who have no rule of their own, empty for
	// AdminAccess; Members are those who have, by user uuid.
	Default ProjectAccess            `json:"default_access,omitempty"`
	Members map[string]ProjectAccess `json:"members,omitempty"`
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

// Access is what a user of a level may do in a project: administrators of the
// organization everything, others what their rule says or the project's default.
func (p *ProjectRecord) Access(user string, level Level) ProjectAccess {
	switch {
	case level == 0:
		return NoAccess
	case level >= Admin:
		return AdminAccess
	}
	meta, err := MetaOfProject(p)
	if err != nil {
		return NoAccess
	}
	if rule, ok := meta.Members[user]; ok {
		return rule
	}
	if meta.Default != "" {
		return meta.Default
	}
	return AdminAccess
}

// Access is what the caller may do in the project.
func (st *Standing) Access() ProjectAccess {
	if st.Project == nil {
		return NoAccess
	}
	return st.Project.Access(st.User.UUID, st.Caller.Level(st.Project.Organization))
}

// Parent is the Parent of records that belong where the caller is: in the project, or
// outside of projects in the organization. Outside of both it is empty.
func (st *Standing) Parent() string {
	switch {
	case st.Project != nil:
		return ProjectParent(st.Project.ID)
	case st.Organization != nil:
		return st.Organization.ID
	}
	return ""
}

// Reaches reports whether the caller may be in a project at all.
func (c *Caller) Reaches(p *ProjectRecord) bool {
	return p.Access(c.User.UUID, c.Level(p.Organization)) != NoAccess
}

// ProjectParent is the Parent of records that belong to a project.
func ProjectParent(id int64) string { return fmt.Sprintf("project:%d", id) }

package organizations

import (
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/records"
	"github.com/bunting-flags/bunting/management/internal/resource"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// organization is an organization in responses (§5.9). MembershipLevel, Teams and Projects depend
// on the caller.
type organization struct {
	ID              string           `json:"id"`
	Name            string           `json:"name"`
	Slug            string           `json:"slug"`
	LogoMedia       *string          `json:"logo_media_id"`
	CreatedAt       management.Stamp `json:"created_at"`
	UpdatedAt       management.Stamp `json:"updated_at"`
	MembershipLevel management.Level `json:"membership_level"`
	PluginsAccess   int              `json:"plugins_access_level"` // always 0: there are no plugins
	// Teams and Projects are the same list, for older and newer clients.
	Teams           []ProjectBasic   `json:"teams"`
	Projects        []ProjectBasic   `json:"projects"`
	Features        []productFeature `json:"available_product_features"`
	MemberJoinEmail bool             `json:"is_member_join_email_enabled"`
	Metadata        map[string]any   `json:"metadata"`    // always empty
	CustomerID      *string          `json:"customer_id"` // always null: there is no billing
	Enforce2FA      *bool            `json:"enforce_2fa"`
	MembersInvite   bool             `json:"members_can_invite"`
	MembersUseKeys  bool             `json:"members_can_use_personal_api_keys"`
	PublicSharing   bool             `json:"allow_publicly_shared_resources"`
	// MemberCount includes inactive members.
	MemberCount     int     `json:"member_count"`
	AIDataApproved  *bool   `json:"is_ai_data_processing_approved"`
	ExperimentStats string  `json:"default_experiment_stats_method"`
	DefaultRole     *string `json:"default_role_id"`
	// Quotas are the limits for a UTC month by resource, null for no limit (§5.12).
	Quotas map[string]*int64 `json:"quotas"`
}

// productFeature is a feature that an organization may use. All features are on (§8).
type productFeature struct {
	Key  string `json:"key"`
	Name string `json:"name"`
}

// features are the features in every organization's response.
var features = []productFeature{
	{"access_control", "Access control"}, {"advanced_permissions", "Advanced permissions"}, {"tagging", "Tagging"},
	{"automatic_provisioning", "Automatic provisioning"}, {"sso_enforcement", "SSO enforcement"}, {"saml", "SAML"},
	{"organization_invite_settings", "Organization invite settings"}, {"organization_security_settings", "Organization security settings"},
	{"organizations_projects", "Several projects and organizations"}, {"data_pipelines", "Data pipelines"},
	{"white_labelling", "White labelling"}, {"role_based_access", "Role based access"},
}

// organizationFields are the writable fields of an organization.
var organizationFields = custom(management.Fields{
	{Name: "name", Type: management.Text, Required: true, MaxLength: 64},
	{Name: "logo_media_id", Type: management.UUID, Null: true},
	{Name: "is_member_join_email_enabled", Type: management.Bool, Help: "whether members are notified by email when a member joins"},
	{Name: "enforce_2fa", Type: management.Bool, Null: true, Help: "stored without effect, because there is no two-factor authentication"},
	{Name: "members_can_invite", Type: management.Bool},
	{Name: "members_can_use_personal_api_keys", Type: management.Bool, Help: "whether members can use personal API keys; administrators always can"},
	{Name: "allow_publicly_shared_resources", Type: management.Bool},
	{Name: "is_ai_data_processing_approved", Type: management.Bool, Null: true},
	{Name: "default_experiment_stats_method", Type: management.Choice, Choices: []string{"bayesian", "frequentist"}},
	{Name: "default_role_id", Type: management.UUID, Null: true},
	{Name: "quotas", Type: management.Object, Help: "limits per UTC month by resource, null for no limit; resources that are absent do not change; only owners may set them"},
})

// newOrganizations returns the resource of organizations. The methods for one organization ignore ids:
// it is that of the scope. A new organization has a first project and the caller as its owner, and both
// become the caller's current organization and project.
func newOrganizations(c *core, projects Projects) resource.Resource[Tx, management.OrganizationRecord, organization] {
	return resource.NewResource(&c.Env, resource.Spec[Tx, management.OrganizationRecord, organization]{
		ActivityScope: "Organization", Fields: organizationFields,
		// A deleted organization has no ID, and no log any more.
		Parent: func(*management.Scope) string { return "" },
		Header: func(_ *management.Scope, o *management.OrganizationRecord) resource.RecordHeader {
			return resource.RecordHeader{Parent: o.ID, ID: o.ID, Title: o.Name}
		},
		All:             allOrganizations,
		Load:            loadOrganization,
		AuthorizeCreate: checkNewOrganization,
		AuthorizeChange: func(v *view, _ *management.OrganizationRecord) error {
			if !v.IsAdmin() {
				return management.Denied(management.MsgLevel)
			}
			return nil
		},
		New: func(*view) (*management.OrganizationRecord, error) {
			return &management.OrganizationRecord{ID: c.Env.NewID(), CreatedAt: c.Env.Now()}, nil
		},
		Rules:        c.organizationRules,
		BeforeDelete: c.emptyOrganization,
		Put:          func(v *view, o *management.OrganizationRecord) error { return v.Tx.PutOrganization(o) },
		Delete: func(v *view, o *management.OrganizationRecord) error {
			id := o.ID
			o.ID = ""
			return v.Tx.DeleteOrganization(id)
		},
		AfterSave: func(e *resource.Edit[Tx, management.OrganizationRecord]) error {
			if !e.IsNew {
				return nil
			}
			return c.fillOrganization(e, projects)
		},
		Show: func(v *view, o *management.OrganizationRecord) (*organization, error) {
			return c.organization(v.Tx, v.Caller, o)
		},
	})
}

// organization returns an organization in the form of responses.
func (s *core) organization(tx Tx, c *management.Caller, o *management.OrganizationRecord) (*organization, error) {
	meta, err := management.MetaOfOrganization(o)
	if err != nil {
		return nil, err
	}
	projects, err := s.projectsIn(tx, c, o.ID)
	if err != nil {
		return nil, err
	}
	_, members, err := tx.List(management.Query{Kind: storage.KindMember, Parent: o.ID, Limit: 1})
	if err != nil {
		return nil, err
	}
	out := &organization{
		ID: o.ID, Name: o.Name, Slug: organizationSlug(&meta, o), LogoMedia: meta.LogoMedia, CreatedAt: management.NewStamp(o.CreatedAt), UpdatedAt: meta.Updated,
		MembershipLevel: c.Level(o.ID), Teams: projects, Projects: projects, Features: features, Metadata: map[string]any{},
		MemberJoinEmail: !meta.NoMemberJoinEmail, Enforce2FA: meta.Enforce2FA, MembersInvite: !meta.NoMemberInvites,
		MembersUseKeys: !meta.NoMemberKeys, PublicSharing: !meta.NoPublicSharing, MemberCount: members,
		AIDataApproved: meta.AIDataProcessing, ExperimentStats: "bayesian", DefaultRole: meta.DefaultRole, Quotas: allQuotas(o.Quotas),
	}
	// The organization was never changed, or before the time of changes was stored.
	if out.UpdatedAt.IsZero() {
		out.UpdatedAt = out.CreatedAt
	}
	if meta.ExperimentStats != nil {
		out.ExperimentStats = *meta.ExperimentStats
	}
	return out, nil
}

// maxSlug is the greatest length of a slug, in characters.
const maxSlug = 48

// organizationSlug returns the stored slug, or for organizations without one that of the name.
func organizationSlug(m *management.OrganizationMeta, o *management.OrganizationRecord) string {
	if m.Slug != "" {
		return m.Slug
	}
	return slugOf(o.Name)
}

// slugOf returns a name in lower case letters, digits and single dashes.
func slugOf(name string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			b.WriteRune(r)
		} else if text := b.String(); text != "" && !strings.HasSuffix(text, "-") {
			b.WriteByte('-')
		}
		if b.Len() >= maxSlug {
			break
		}
	}
	if slug := strings.Trim(b.String(), "-"); slug != "" {
		return slug
	}
	return "organization"
}

// freeSlug returns the slug of a name, with a random suffix if another organization has it.
func (s *core) freeSlug(tx Tx, name string) (string, error) {
	all, err := tx.Organizations()
	if err != nil {
		return "", err
	}
	slug := slugOf(name)
	for i := range all {
		meta, err := management.MetaOfOrganization(&all[i])
		if err != nil {
			return "", err
		}
		if organizationSlug(&meta, &all[i]) == slug {
			return slug + "-" + strings.ToLower(management.RandomText(4)), nil
		}
	}
	return slug, nil
}

// allOrganizations returns the caller's organizations, oldest membership first.
func allOrganizations(v *view) ([]management.OrganizationRecord, error) {
	if err := v.DenyProjectKeys(); err != nil {
		return nil, err
	}
	return organizationsOf(v.Tx, v.Caller)
}

// loadOrganization returns the organization of the scope. Administrators may change everything except
// quotas.
func loadOrganization(v *view, _ string, change *management.Body) (*management.OrganizationRecord, error) {
	if change != nil && change.Members["quotas"] != nil && v.Level < management.Owner {
		return nil, management.Denied(management.MsgLevel)
	}
	return v.Tx.Organization(v.Organization.ID)
}

// checkNewOrganization returns an error if the caller may not create an organization.
func checkNewOrganization(v *view) error {
	if err := v.DenyProjectKeys(); err != nil {
		return err
	}
	// The key could not open the new organization.
	if len(v.Key.Organizations) > 0 && !v.HasAllScopes() {
		return management.Denied(management.MsgNoPermission)
	}
	return nil
}

// organizationRules apply a body to an organization. The slug stays the same when it is renamed.
func (s *core) organizationRules(e *resource.Edit[Tx, management.OrganizationRecord]) error {
	o := e.After
	meta, err := management.MetaOfOrganization(o)
	if err != nil {
		return err
	}
	meta.Updated = management.NewStamp(s.Env.Now())
	if e.IsNew {
		meta.Slug, err = s.freeSlug(e.Tx, e.Values.Text("name"))
	} else {
		meta.Slug = organizationSlug(&meta, o)
	}
	if err != nil {
		return err
	}
	if err := changeOrganization(e.Tx, o, &meta, e.Values); err != nil {
		return err
	}
	// A definitions file declares only the name and the quotas.
	if o.Origin != "" && (o.Name != e.Before.Name || !sameQuotas(o.Quotas, e.Before.Quotas)) {
		return errFromFile("organization", o.Origin)
	}
	return nil
}

// fillOrganization adds the caller and a first project to a new organization. The rest of the
// operation is by a caller with the new membership.
func (s *core) fillOrganization(e *resource.Edit[Tx, management.OrganizationRecord], projects Projects) error {
	now, o := management.NewStamp(s.Env.Now()), e.After
	m := management.Membership{ID: s.Env.NewID(), Organization: o.ID, User: e.User.UUID, Level: management.Owner, Joined: now, Updated: now}
	if err := records.PutMembership(e.Tx, &m); err != nil {
		return err
	}
	p, err := s.newProject(o.ID)
	if err == nil {
		err = projects.Put(e.View, p)
	}
	if err == nil {
		err = s.moveTo(e.Tx, e.Caller, o.ID, p.ID)
	}
	c := *e.Caller
	c.Memberships = append(slices.Clone(c.Memberships), m)
	e.Scope = &management.Scope{Caller: &c, Organization: o, Level: management.Owner}
	return err
}

// moveTo selects the caller's current organization and project.
func (s *core) moveTo(tx Tx, c *management.Caller, organization string, project int64) error {
	u, err := management.UserByUUID(tx, c.User.UUID)
	if err != nil || u == nil {
		return err
	}
	u.Organization, u.Project = organization, project
	return records.PutUser(tx, u)
}

// changeOrganization applies the fields of a body to an organization and its Meta.
func changeOrganization(tx Tx, o *management.OrganizationRecord, meta *management.OrganizationMeta, v management.Values) error {
	// A role of another organization is treated as not existing.
	if id := v.Text("default_role_id"); id != "" {
		r, err := tx.Get(storage.KindRole, o.ID, id)
		if err != nil {
			return err
		}
		if r == nil {
			return management.CodedFault(management.CodeDoesNotExist, "default_role_id", "Invalid pk %q - object does not exist.", id)
		}
	}
	if v.Has("quotas") {
		quotas, err := readQuotas(v.Raw("quotas"), o.Quotas)
		if err != nil {
			return err
		}
		o.Quotas = quotas
	}
	management.Set(v, "name", &o.Name)
	management.SetNull(v, "logo_media_id", &meta.LogoMedia)
	management.SetNull(v, "enforce_2fa", &meta.Enforce2FA)
	management.SetNull(v, "is_ai_data_processing_approved", &meta.AIDataProcessing)
	management.SetNull(v, "default_experiment_stats_method", &meta.ExperimentStats)
	management.SetNull(v, "default_role_id", &meta.DefaultRole)
	// These switches are stored inverted, so that false is the default.
	for name, no := range map[string]*bool{
		"is_member_join_email_enabled": &meta.NoMemberJoinEmail, "members_can_invite": &meta.NoMemberInvites,
		"members_can_use_personal_api_keys": &meta.NoMemberKeys, "allow_publicly_shared_resources": &meta.NoPublicSharing,
	} {
		if yes, ok := management.Value[bool](v, name); ok {
			*no = !yes
		}
	}
	o.Meta = storage.Encode(meta)
	return nil
}

// reloadOrganization returns the scope with the organization as it is in the transaction.
func (s *core) reloadOrganization(tx Tx, scope *management.Scope) (*management.Scope, error) {
	o, err := records.Existing(tx.Organization(scope.Organization.ID))
	reloaded := *scope
	reloaded.Organization = o
	return &reloaded, err
}

// emptyOrganization deletes the projects, members, roles, domains and invitations of an organization
// that is deleted.
func (s *core) emptyOrganization(e *resource.Edit[Tx, management.OrganizationRecord]) error {
	id := e.After.ID
	switch {
	case e.Level < management.Owner:
		return management.Denied(management.MsgLevel)
	case e.After.Origin != "":
		return errFromFile("organization", e.After.Origin)
	}
	projects, err := e.Tx.Projects(id)
	if err != nil {
		return err
	}
	for i := range projects {
		if err := s.deleteProject(e.Tx, &projects[i]); err != nil {
			return err
		}
	}
	members, _, err := e.Tx.List(management.Query{Kind: storage.KindMember, Parent: id})
	if err != nil {
		return err
	}
	// removeMember also selects another current organization for the users.
	for i := range members {
		if err := s.removeMember(e.Tx, id, members[i].ID); err != nil {
			return err
		}
	}
	// The projects stay in the store, marked as deleted; all other records are removed.
	for _, kind := range []string{storage.KindRole, kindDomain, kindInvite} {
		if err := e.Tx.DeleteUnder(kind, id); err != nil {
			return err
		}
	}
	return nil
}

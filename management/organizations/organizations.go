package organizations

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/records"
	"github.com/bunting-flags/bunting/management/internal/resource"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// scopeOrganization is the Activity.Scope of organizations.
const scopeOrganization = "Organization"

// Organization is an organization in responses (§5.9). MembershipLevel, Teams and Projects depend
// on the caller.
type Organization struct {
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

// Fields are the writable fields of an organization.
var Fields = management.Fields{
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
}

// organization returns the organization of the scope in the form of responses.
func (s *core) organization(tx Tx, scope *management.Scope) (*Organization, error) {
	o := scope.Organization
	meta, err := management.MetaOfOrganization(o)
	if err != nil {
		return nil, err
	}
	projects, err := s.projectsIn(tx, scope.Caller, o.ID)
	if err != nil {
		return nil, err
	}
	_, members, err := tx.List(management.Query{Kind: storage.KindMember, Parent: o.ID, Limit: 1})
	if err != nil {
		return nil, err
	}
	out := &Organization{
		ID: o.ID, Name: o.Name, Slug: organizationSlug(&meta, o), LogoMedia: meta.LogoMedia, CreatedAt: management.NewStamp(o.CreatedAt), UpdatedAt: meta.Updated,
		MembershipLevel: scope.Level, Teams: projects, Projects: projects, Features: features, Metadata: map[string]any{},
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

// List returns a page of the caller's organizations, oldest membership first.
func (s Service) List(ctx context.Context, scope *management.Scope, p management.Page) (management.List[Organization], error) {
	if err := scope.DenyProjectKeys(); err != nil {
		return management.List[Organization]{}, err
	}
	return management.Read(ctx, &s.Env, func(tx Tx) (management.List[Organization], error) {
		all, err := organizationsOf(tx, scope.Caller)
		if err != nil {
			return management.List[Organization]{}, err
		}
		out := management.List[Organization]{Count: len(all)}
		from := min(p.Offset, len(all))
		for i := range all[from:min(from+p.Limit, len(all))] {
			o, err := s.organization(tx, &all[from+i])
			if err != nil {
				return management.List[Organization]{}, err
			}
			out.Results = append(out.Results, *o)
		}
		return out, nil
	})
}

// Get returns the organization of the scope.
func (s Service) Get(ctx context.Context, scope *management.Scope) (*Organization, error) {
	return management.Read(ctx, &s.Env, func(tx Tx) (*Organization, error) { return s.organization(tx, scope) })
}

// Create creates an organization with a first project, and makes the caller its owner. Both become
// the caller's current organization and project.
func (s Service) Create(ctx context.Context, scope *management.Scope, b management.Body) (*Organization, error) {
	if err := scope.DenyProjectKeys(); err != nil {
		return nil, err
	}
	// The key could not open the new organization.
	if len(scope.Key.Organizations) > 0 && !scope.HasAllScopes() {
		return nil, management.Denied(management.MsgNoPermission)
	}
	return management.Write(ctx, &s.Env, func(tx Tx) (*Organization, error) {
		now := s.Env.Now()
		o := &management.OrganizationRecord{ID: s.Env.NewID(), CreatedAt: now}
		// The slug stays the same when the organization is renamed.
		slug, err := s.freeSlug(tx, sentText(b, "name"))
		if err != nil {
			return nil, err
		}
		meta := management.OrganizationMeta{Slug: slug, Updated: management.NewStamp(now)}
		v, err := Fields.Create(b)
		if err != nil {
			return nil, err
		}
		if err := changeOrganization(tx, o, &meta, v); err != nil {
			return nil, err
		}
		if err := tx.PutOrganization(o); err != nil {
			return nil, err
		}
		m := management.Membership{ID: s.Env.NewID(), Organization: o.ID, User: scope.User.UUID, Level: management.Owner, Joined: management.NewStamp(now), Updated: management.NewStamp(now)}
		if err := records.PutMembership(tx, &m); err != nil {
			return nil, err
		}
		p, err := s.newProject(o.ID, "", nil)
		if err == nil {
			err = s.Projects.projects.Put(&view{Tx: tx, Scope: scope}, p)
		}
		if err != nil {
			return nil, err
		}
		if err := s.moveTo(tx, scope.Caller, o.ID, p.ID); err != nil {
			return nil, err
		}
		// The response is for a caller with the new membership, which scope does not have.
		c := *scope.Caller
		c.Memberships = append(slices.Clone(c.Memberships), m)
		out, err := s.organization(tx, &management.Scope{Caller: &c, Organization: o, Level: management.Owner})
		if err != nil {
			return nil, err
		}
		return out, s.Env.LogActivity(tx, &c, o.ID, scopeOrganization, o.ID, o.Name, nil, out)
	})
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

// sentText returns a string member of a body, or "".
func sentText(b management.Body, name string) string {
	var text string
	_ = json.Unmarshal(b.Members[name], &text) // other types are refused later
	return text
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

// Update changes the organization of the scope. If put is true, all required fields must be
// present.
func (s Service) Update(ctx context.Context, scope *management.Scope, b management.Body, put bool) (*Organization, error) {
	if !scope.IsAdmin() {
		return nil, management.Denied(management.MsgLevel)
	}
	// Administrators may change everything except quotas.
	if _, ok := b.Members["quotas"]; ok && scope.Level < management.Owner {
		return nil, management.Denied(management.MsgLevel)
	}
	return management.Write(ctx, &s.Env, func(tx Tx) (*Organization, error) {
		reloaded, err := s.reloadOrganization(tx, scope)
		if err != nil {
			return nil, err
		}
		before, err := s.organization(tx, reloaded)
		if err != nil {
			return nil, err
		}
		meta, err := management.MetaOfOrganization(reloaded.Organization)
		if err != nil {
			return nil, err
		}
		// The stored slug is independent of the new name.
		meta.Slug, meta.Updated = organizationSlug(&meta, reloaded.Organization), management.NewStamp(s.Env.Now())
		v, err := resource.ReadUpdate(Fields, b, put)
		if err != nil {
			return nil, err
		}
		o := reloaded.Organization
		if err := changeOrganization(tx, o, &meta, v); err != nil {
			return nil, err
		}
		// A definitions file declares only the name and the quotas.
		if o.Origin != "" && (o.Name != before.Name || !sameQuotas(o.Quotas, before.Quotas)) {
			return nil, errFromFile("organization", o.Origin)
		}
		if err := tx.PutOrganization(o); err != nil {
			return nil, err
		}
		after, err := s.organization(tx, reloaded)
		if err != nil {
			return nil, err
		}
		return after, s.Env.LogActivity(tx, scope.Caller, o.ID, scopeOrganization, o.ID, o.Name, before, after)
	})
}

// reloadOrganization returns the scope with the organization as it is in the transaction.
func (s *core) reloadOrganization(tx Tx, scope *management.Scope) (*management.Scope, error) {
	o, err := records.Existing(tx.Organization(scope.Organization.ID))
	reloaded := *scope
	reloaded.Organization = o
	return &reloaded, err
}

// Delete deletes the organization of the scope, with its projects, members, roles, domains and
// invitations.
func (s Service) Delete(ctx context.Context, scope *management.Scope) error {
	if scope.Level < management.Owner {
		return management.Denied(management.MsgLevel)
	}
	return s.Env.Store.Write(ctx, func(tx Tx) error {
		reloaded, err := s.reloadOrganization(tx, scope)
		if err != nil {
			return err
		}
		id := reloaded.Organization.ID
		if reloaded.Organization.Origin != "" {
			return errFromFile("organization", reloaded.Organization.Origin)
		}
		projects, err := tx.Projects(id)
		if err != nil {
			return err
		}
		for i := range projects {
			if err := s.deleteProject(tx, &projects[i]); err != nil {
				return err
			}
		}
		members, _, err := tx.List(management.Query{Kind: storage.KindMember, Parent: id})
		if err != nil {
			return err
		}
		// removeMember also selects another current organization for the users.
		for i := range members {
			if err := s.removeMember(tx, id, members[i].ID); err != nil {
				return err
			}
		}
		// The projects stay in the store, marked as deleted; all other records are removed.
		for _, kind := range []string{storage.KindRole, kindDomain, kindInvite} {
			if err := tx.DeleteUnder(kind, id); err != nil {
				return err
			}
		}
		return tx.DeleteOrganization(id)
	})
}

package organizations

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/approvals"
	"github.com/bunting-flags/bunting/management/internal/resource"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// Projects manages projects and their keys (§5.8, §1.11). The methods for one project ignore ids: it is
// that of the scope. Create creates a project in the scope's organization, or in the caller's current
// one; unlike in §5.8, the caller's current project does not change, so that later writes to the
// current project still reach the same one. Delete makes the keys of a project invalid; its data stay
// in the store but are not accessible.
type Projects struct {
	*core
	resource.Resource[Tx, management.ProjectRecord, project]
}

// newProjects returns the service. Each stored project also gets its browser settings.
func newProjects(c *core) Projects {
	return Projects{c, resource.NewResource(&c.Env, resource.Spec[Tx, management.ProjectRecord, project]{
		ActivityScope: "Project", Fields: newProjectFields, Changes: projectFields,
		Header: func(_ *management.Scope, p *management.ProjectRecord) resource.RecordHeader {
			header := resource.RecordHeader{Parent: management.ProjectParent(p.ID), ID: strconv.FormatInt(p.ID, 10), Title: p.Name}
			// The log of a deleted project is not readable, so the line is in that of the organization.
			if p.Deleted {
				header.Parent = p.Organization
			}
			return header
		},
		Load: func(v *view, _ string, _ *management.Body) (*management.ProjectRecord, error) {
			p, err := v.Tx.Project(v.Project.ID)
			if err == nil && p == nil {
				err = management.ErrNoProject()
			}
			return p, err
		},
		AuthorizeCreate: checkNewProject,
		New: func(v *view) (*management.ProjectRecord, error) {
			return c.newProject(organizationOfNew(v.Scope))
		},
		Rules: c.projectRules,
		BeforeDelete: func(e *resource.Edit[Tx, management.ProjectRecord]) error {
			if e.Access() != management.AdminAccess {
				return errNoProjectAdmin()
			}
			return nil
		},
		Put: func(v *view, p *management.ProjectRecord) error {
			if _, err := c.updateBrowserSettings(v.Tx, p); err != nil {
				return err
			}
			return v.Tx.PutProject(p)
		},
		Delete:      func(v *view, p *management.ProjectRecord) error { return c.deleteProject(v.Tx, p) },
		OnDuplicate: func(bool) error { return errDuplicateToken() },
		Show:        func(v *view, p *management.ProjectRecord) (*project, error) { return c.view(v.Tx, v.Caller, p) },
	})}
}

// ProjectBasic is a project in lists (§5.8).
type ProjectBasic struct {
	ID                int64           `json:"id"`
	UUID              string          `json:"uuid"`
	Organization      string          `json:"organization"`
	APIToken          string          `json:"api_token"`
	Name              string          `json:"name"`
	SnippetOnboarding json.RawMessage `json:"completed_snippet_onboarding"`
	Onboarding        json.RawMessage `json:"has_completed_onboarding_for"`
	IngestedEvent     bool            `json:"ingested_event"`
	IsDemo            bool            `json:"is_demo"`
	Timezone          json.RawMessage `json:"timezone"`
	AccessControl     bool            `json:"access_control"`
}

// project is the complete form of a project in responses.
type project struct {
	ProjectBasic
	Description    json.RawMessage        `json:"product_description"`
	CreatedAt      management.Stamp       `json:"created_at"`
	UpdatedAt      management.Stamp       `json:"updated_at"`
	EffectiveLevel management.Level       `json:"effective_membership_level"`
	UserAccess     management.AccessLevel `json:"user_access_level"`
	HasGroupTypes  bool                   `json:"has_group_types"`
	GroupTypes     []projectGroupType     `json:"group_types"`
	// LiveEventsToken is always null, since there is no live stream of events.
	LiveEventsToken *string         `json:"live_events_token"`
	AnonymizeIPs    bool            `json:"anonymize_ips"`
	BucketingHash   json.RawMessage `json:"bucketing_hash"`
	MatchingVersion json.RawMessage `json:"property_matching_version"`
	// Approvals are the rules about the approval of changes of flags.
	Approvals approvals.Settings `json:"flag_approvals"`
	// SecretToken is masked, except in the response of RotateSecret.
	SecretToken       *string `json:"secret_api_token"`
	SecretTokenBackup *string `json:"secret_api_token_backup"`
	projectSettings
	// Warnings describe settings that have no effect on this server.
	Warnings []string `json:"warnings"`
}

// projectGroupType is a group type of a project.
type projectGroupType struct {
	Type  string `json:"group_type"`
	Index int    `json:"group_type_index"`
}

// orDefault returns raw, or fallback if raw is empty.
func orDefault(raw json.RawMessage, fallback string) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage(fallback)
	}
	return raw
}

// basicOf returns the form of a project in lists, and its Meta. ingested is the result of
// ingestedIn.
func basicOf(p *management.ProjectRecord, ingested map[int64]bool) (ProjectBasic, *management.ProjectMeta, error) {
	meta, err := management.MetaOfProject(p)
	if err != nil {
		return ProjectBasic{}, nil, err
	}
	return ProjectBasic{
		ID: p.ID, UUID: projectUUID(p, &meta), Organization: p.Organization, APIToken: p.APIKey, Name: p.Name,
		SnippetOnboarding: orDefault(meta.Settings["completed_snippet_onboarding"], "false"),
		Onboarding:        orDefault(meta.Settings["has_completed_onboarding_for"], "null"),
		IngestedEvent:     ingested[p.ID], Timezone: engineSetting(p, "timezone"), AccessControl: meta.Default == management.NoAccess,
	}, &meta, nil
}

// projectUUID returns the stored UUID, or for projects without one a constant UUID that is derived
// from the organization and the number.
func projectUUID(p *management.ProjectRecord, meta *management.ProjectMeta) string {
	if meta.UUID != "" {
		return meta.UUID
	}
	hash := management.HashKey(p.Organization + "/" + strconv.FormatInt(p.ID, 10))
	id, _ := management.NormalizeUUID(hash[len(hash)-32:])
	return id
}

// ingestedIn returns the projects of an organization that have received events in the last year.
func (s *core) ingestedIn(tx Tx, organization string) (map[int64]bool, error) {
	days, err := tx.Usage(organization, "events", s.Env.Now().AddDate(-1, 0, 0))
	out := map[int64]bool{}
	for _, d := range days {
		out[d.Project] = true
	}
	return out, err
}

// view returns the complete form of a project for the caller, with masked keys.
func (s *core) view(tx Tx, c *management.Caller, p *management.ProjectRecord) (*project, error) {
	ingested, err := s.ingestedIn(tx, p.Organization)
	if err != nil {
		return nil, err
	}
	basic, meta, err := basicOf(p, ingested)
	if err != nil {
		return nil, err
	}
	out := &project{
		ProjectBasic: basic, Description: orDefault(meta.Settings["product_description"], "null"), CreatedAt: management.NewStamp(p.CreatedAt), UpdatedAt: meta.Updated,
		AnonymizeIPs: p.AnonymizeIPs, BucketingHash: engineSetting(p, "bucketing_hash"), MatchingVersion: engineSetting(p, "property_matching_version"),
		UserAccess: c.Access(p), EffectiveLevel: management.Member, GroupTypes: []projectGroupType{},
	}
	if out.UpdatedAt.IsZero() {
		out.UpdatedAt = out.CreatedAt
	}
	// effective_membership_level has only two values for projects.
	if out.UserAccess == management.AdminAccess {
		out.EffectiveLevel = management.Admin
	}
	if out.projectSettings, err = settingsOf(meta); err != nil {
		return nil, err
	}
	if out.Approvals, err = approvals.Of(meta); err != nil {
		return nil, err
	}
	out.Warnings = out.projectSettings.warnings()
	types, err := tx.GroupTypes(p.ID)
	if err != nil {
		return nil, err
	}
	// Maps have no order, so the list is sorted by index below.
	for i, name := range types {
		out.GroupTypes = append(out.GroupTypes, projectGroupType{name, i})
	}
	slices.SortFunc(out.GroupTypes, func(a, b projectGroupType) int { return a.Index - b.Index })
	out.HasGroupTypes = len(types) > 0
	secret, backup, err := secretsOf(tx, p.ID)
	if secret != nil {
		out.SecretToken = &secret.Mask
	}
	if backup != nil {
		out.SecretTokenBackup = &backup.Mask
	}
	return out, err
}

// organizationsOf returns the organizations that both the caller and the key can access, oldest
// membership first.
func organizationsOf(tx Tx, c *management.Caller) (out []management.OrganizationRecord, err error) {
	for _, m := range c.Memberships {
		o, err := tx.Organization(m.Organization)
		if err != nil {
			return nil, err
		}
		scope := management.Scope{Caller: c, Organization: o, Level: m.Level}
		if o != nil && c.CanOpenOrganization(o.ID) && management.CheckMemberKeys(&scope) == nil {
			out = append(out, *o)
		}
	}
	return out, nil
}

// projectsIn returns the projects of an organization that the caller can access.
func (s *core) projectsIn(tx Tx, c *management.Caller, organization string) ([]ProjectBasic, error) {
	list, err := tx.Projects(organization)
	if err != nil {
		return nil, err
	}
	ingested, err := s.ingestedIn(tx, organization)
	if err != nil {
		return nil, err
	}
	out := []ProjectBasic{}
	for i := range list {
		if !c.CanReach(&list[i]) {
			continue
		}
		basic, _, err := basicOf(&list[i], ingested)
		if err != nil {
			return nil, err
		}
		out = append(out, basic)
	}
	return out, nil
}

// List returns a page of the projects that the caller can access, by number: those of the scope's
// organization, or those of all.
func (s Projects) List(ctx context.Context, scope *management.Scope, p management.Page) (management.List[ProjectBasic], error) {
	if err := scope.DenyProjectKeys(); err != nil {
		return management.List[ProjectBasic]{}, err
	}
	return management.Read(ctx, &s.Env, func(tx Tx) (management.List[ProjectBasic], error) {
		organizations, err := organizationsOf(tx, scope.Caller)
		if err != nil {
			return management.List[ProjectBasic]{}, err
		}
		var all []ProjectBasic
		for i := range organizations {
			if scope.Organization != nil && scope.Organization.ID != organizations[i].ID {
				continue
			}
			list, err := s.projectsIn(tx, scope.Caller, organizations[i].ID)
			if err != nil {
				return management.List[ProjectBasic]{}, err
			}
			all = append(all, list...)
		}
		slices.SortFunc(all, func(a, b ProjectBasic) int { return int(a.ID - b.ID) })
		from := min(p.Offset, len(all))
		return management.List[ProjectBasic]{Count: len(all), Results: all[from:min(from+p.Limit, len(all))]}, nil
	})
}

// organizationOfNew returns the id of the organization of a new project.
func organizationOfNew(scope *management.Scope) string {
	if scope.Organization != nil {
		return scope.Organization.ID
	}
	return scope.CurrentOrganization()
}

// checkNewProject returns an error if the caller may not create a project.
func checkNewProject(v *view) error {
	if err := v.DenyProjectKeys(); err != nil {
		return err
	}
	o, err := v.Tx.Organization(organizationOfNew(v.Scope))
	switch {
	case err != nil:
		return err
	case o == nil:
		return management.Missing("Organization not found.")
	case !v.CanOpenOrganization(o.ID):
		return management.Denied("API key does not have access to the requested organization: ID %s.", o.ID)
	case v.Caller.Level(o.ID) < management.Admin:
		return management.Denied(management.MsgLevel)
	}
	return nil
}

// newProject returns a project with a random key, without storing it.
func (s *core) newProject(organization string) (*management.ProjectRecord, error) {
	now := s.Env.Now()
	p := &management.ProjectRecord{Organization: organization, Name: "Default project", APIKey: "phc_" + management.RandomText(32), CreatedAt: now}
	return p, configure(p, &management.ProjectMeta{UUID: s.Env.NewID(), Updated: management.NewStamp(now)}, nil)
}

// projectRules apply a body to a project.
func (s *core) projectRules(e *resource.Edit[Tx, management.ProjectRecord]) error {
	p, v, before := e.After, e.Values, e.Before
	if e.IsNew {
		if err := setToken(e.Tx, e.Caller.Level(p.Organization), p, v.Text("api_token")); err != nil {
			return err
		}
	}
	return s.changeMeta(p, func(meta *management.ProjectMeta) error {
		// Changing who has access, or who must approve, requires more than changing settings.
		private := v.Has("access_control") && v.Bool("access_control") != (meta.Default == management.NoAccess)
		if !e.IsNew && (private || v.Has(approvals.Field.Name)) && !e.CanAdminister() {
			return errNoProjectAdmin()
		}
		if err := configure(p, meta, v); err != nil {
			return err
		}
		if !e.IsNew {
			if err := warnOfSettings(e.Body, meta); err != nil {
				return err
			}
		}
		if p.Origin == "" {
			return nil
		}
		// A definitions file declares the name and the engine settings: both must stay the same.
		// The other fields can be changed here.
		for name := range engineSettings {
			if string(engineSetting(&before, name)) != string(engineSetting(p, name)) {
				return errFromFile("project", p.Origin)
			}
		}
		if before.Name != p.Name {
			return errFromFile("project", p.Origin)
		}
		return nil
	})
}

// errNoProjectAdmin is the error for actions that require an administrator of the project.
func errNoProjectAdmin() error {
	return management.Denied("You don't have sufficient permissions in the project.")
}

// errFromFile is the error for changes of objects that a definitions file declares. what is the
// noun for the object.
func errFromFile(what, origin string) error {
	return management.Clash("This %s is defined in the file %s and can only be changed there.", what, origin)
}

// changeMeta applies change to the Meta of a project.
func (s *core) changeMeta(p *management.ProjectRecord, change func(meta *management.ProjectMeta) error) error {
	meta, err := management.MetaOfProject(p)
	if err != nil {
		return err
	}
	// The stored UUID is independent of the organization, which can change.
	meta.UUID, meta.Updated = projectUUID(p, &meta), management.NewStamp(s.Env.Now())
	if err := change(&meta); err != nil {
		return err
	}
	p.Meta = storage.Encode(meta)
	return nil
}

// change calls work with the project of the scope, and stores and logs it.
func (s Projects) change(ctx context.Context, scope *management.Scope, work func(tx Tx, p *management.ProjectRecord) error) (*project, error) {
	return resource.RunAction(ctx, s.Resource, scope, "", func(e *resource.Edit[Tx, management.ProjectRecord]) error {
		return s.changeMeta(e.After, func(*management.ProjectMeta) error { return work(e.Tx, e.After) })
	})
}

// deleteProject marks a project as deleted, and deletes its secret keys.
func (s *core) deleteProject(tx Tx, p *management.ProjectRecord) error {
	if p.Origin != "" {
		return errFromFile("project", p.Origin)
	}
	keys, err := tx.SecretKeys(p.ID)
	if err != nil {
		return err
	}
	for i := range keys {
		if err := tx.DeleteKey(keys[i].ID); err != nil {
			return err
		}
	}
	p.Deleted = true
	return tx.PutProject(p)
}

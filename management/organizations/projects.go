package organizations

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/bunting-flags/bunting/management"
)

// Projects are projects and their keys (§5.8, §1.11).
type Projects struct {
	*core
	projects management.Resource[Tx, management.ProjectRecord, Project]
}

func newProjects(c *core) Projects {
	return Projects{c, management.NewResource(&c.Env, management.Spec[Tx, management.ProjectRecord, Project]{
		ActivityScope: "Project",
		Header: func(_ *management.Scope, p *management.ProjectRecord) management.RecordHeader {
			place := management.RecordHeader{Parent: management.ProjectParent(p.ID), ID: strconv.FormatInt(p.ID, 10), Title: p.Name}
			if p.Deleted {
				place.Parent = p.Organization
			}
			return place
		},
		Load: func(v *view, _ string, _ *management.Body) (*management.ProjectRecord, error) {
			p, err := v.Tx.Project(v.Project.ID)
			if err == nil && p == nil {
				err = management.ErrNoProject()
			}
			return p, err
		},
		Put: func(v *view, p *management.ProjectRecord) error {
			if _, err := c.updateBrowserSettings(v.Tx, p); err != nil {
				return err
			}
			return v.Tx.PutProject(p)
		},
		Delete:      func(v *view, p *management.ProjectRecord) error { return c.deleteProject(v.Tx, p) },
		OnDuplicate: func(bool) error { return errDuplicateToken() },
		Show:        func(v *view, p *management.ProjectRecord) (*Project, error) { return c.view(v.Tx, v.Caller, p) },
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

// Project is a project with all that it has.
type Project struct {
	ProjectBasic
	Description    json.RawMessage        `json:"product_description"`
	CreatedAt      management.Stamp       `json:"created_at"`
	UpdatedAt      management.Stamp       `json:"updated_at"`
	EffectiveLevel management.Level       `json:"effective_membership_level"`
	UserAccess     management.AccessLevel `json:"user_access_level"`
	HasGroupTypes  bool                   `json:"has_group_types"`
	GroupTypes     []projectGroupType     `json:"group_types"`
	// LiveEventsToken is always null: there is no live stream of events.
	LiveEventsToken *string         `json:"live_events_token"`
	AnonymizeIPs    bool            `json:"anonymize_ips"`
	BucketingHash   json.RawMessage `json:"bucketing_hash"`
	MatchingVersion json.RawMessage `json:"property_matching_version"`
	// Approvals say which changes of flags somebody else has to approve.
	Approvals management.FlagApprovals `json:"flag_approvals"`
	// SecretToken is masked, but for the answer to the call that made it.
	SecretToken       *string `json:"secret_api_token"`
	SecretTokenBackup *string `json:"secret_api_token_backup"`
	ProjectSettings
	// Warnings say which settings cannot do what they say.
	Warnings []string `json:"warnings"`
}

// projectGroupType is a type of groups.
type projectGroupType struct {
	Type  string `json:"group_type"`
	Index int    `json:"group_type_index"`
}

func orDefault(raw json.RawMessage, fallback string) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage(fallback)
	}
	return raw
}

// basicOf is a project as lists show it. ingested are the projects that have had
// events.
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

// projectUUID is the project's own, or, for one that was made without, a name made of
// its organization and number, which stays the same.
func projectUUID(p *management.ProjectRecord, meta *management.ProjectMeta) string {
	if meta.UUID != "" {
		return meta.UUID
	}
	hash := management.HashKey(p.Organization + "/" + strconv.FormatInt(p.ID, 10))
	id, _ := management.NormalizeUUID(hash[len(hash)-32:])
	return id
}

// ingestedIn are the projects of an organization that have had events within the
// last year.
func (s *core) ingestedIn(tx Tx, organization string) (map[int64]bool, error) {
	days, err := tx.Usage(organization, "events", s.Env.Now().AddDate(-1, 0, 0))
	out := map[int64]bool{}
	for _, d := range days {
		out[d.Project] = true
	}
	return out, err
}

// view is a project as the caller sees it.
func (s *core) view(tx Tx, c *management.Caller, p *management.ProjectRecord) (*Project, error) {
	ingested, err := s.ingestedIn(tx, p.Organization)
	if err != nil {
		return nil, err
	}
	basic, meta, err := basicOf(p, ingested)
	if err != nil {
		return nil, err
	}
	out := &Project{
		ProjectBasic: basic, Description: orDefault(meta.Settings["product_description"], "null"), CreatedAt: management.NewStamp(p.CreatedAt), UpdatedAt: meta.Updated,
		AnonymizeIPs: p.AnonymizeIPs, BucketingHash: engineSetting(p, "bucketing_hash"), MatchingVersion: engineSetting(p, "property_matching_version"),
		UserAccess: c.Access(p), EffectiveLevel: management.Member, GroupTypes: []projectGroupType{},
	}
	if out.UpdatedAt.IsZero() {
		out.UpdatedAt = out.CreatedAt
	}
	if out.UserAccess == management.AdminAccess {
		out.EffectiveLevel = management.Admin
	}
	if out.ProjectSettings, err = settingsOf(meta); err != nil {
		return nil, err
	}
	if out.Approvals, err = meta.Approvals(); err != nil {
		return nil, err
	}
	out.Warnings = out.ProjectSettings.warnings()
	types, err := tx.GroupTypes(p.ID)
	if err != nil {
		return nil, err
	}
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

// organizationsOf are those that the caller and the key reach, oldest membership
// first.
func organizationsOf(tx Tx, c *management.Caller) (out []management.Scope, err error) {
	for _, m := range c.Memberships {
		o, err := tx.Organization(m.Organization)
		if err != nil {
			return nil, err
		}
		scope := management.Scope{Caller: c, Organization: o, Level: m.Level}
		if o != nil && c.CanOpenOrganization(o.ID) && management.CheckMemberKeys(&scope) == nil {
			out = append(out, scope)
		}
	}
	return out, nil
}

// projectsIn are the projects of an organization that the caller may be in.
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

// List returns a page of the projects that the caller may be in, by number: those
// of the organization of the standing, or of all.
func (s Projects) List(ctx context.Context, scope *management.Scope, p management.Page) (management.List[ProjectBasic], error) {
	if err := scope.DenyProjectKeys(); err != nil {
		return management.List[ProjectBasic]{}, err
	}
	return management.Read(ctx, &s.Env, func(tx Tx) (management.List[ProjectBasic], error) {
		places, err := organizationsOf(tx, scope.Caller)
		if err != nil {
			return management.List[ProjectBasic]{}, err
		}
		var all []ProjectBasic
		for i := range places {
			if scope.Organization != nil && scope.Organization.ID != places[i].Organization.ID {
				continue
			}
			list, err := s.projectsIn(tx, scope.Caller, places[i].Organization.ID)
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

// Get returns the project of the standing.
func (s Projects) Get(ctx context.Context, scope *management.Scope) (*Project, error) {
	return management.Read(ctx, &s.Env, func(tx Tx) (*Project, error) { return s.view(tx, scope.Caller, scope.Project) })
}

// Create makes a project in the organization of the standing, or in the caller's
// current one. The caller's current project stays what it is, unlike §5.8: what is
// written next goes where it went before.
func (s Projects) Create(ctx context.Context, scope *management.Scope, b management.Body) (*Project, error) {
	if err := scope.DenyProjectKeys(); err != nil {
		return nil, err
	}
	return management.Write(ctx, &s.Env, func(tx Tx) (*Project, error) {
		organization := scope.CurrentOrganization()
		if scope.Organization != nil {
			organization = scope.Organization.ID
		}
		o, err := tx.Organization(organization)
		switch {
		case err != nil:
			return nil, err
		case o == nil:
			return nil, management.Missing("Organization not found.")
		case !scope.CanOpenOrganization(o.ID):
			return nil, management.Denied("API key does not have access to the requested organization: ID %s.", o.ID)
		case scope.Caller.Level(o.ID) < management.Admin:
			return nil, management.Denied(management.MsgLevel)
		}
		v, err := ProjectFields.Create(b)
		if err != nil {
			return nil, err
		}
		token, err := readToken(tx, scope.Caller.Level(o.ID), b)
		if err != nil {
			return nil, err
		}
		p, err := s.newProject(o.ID, token, v)
		if err != nil {
			return nil, err
		}
		return s.projects.Add(&view{Tx: tx, Scope: scope}, p)
	})
}

// newProject is a project that is not stored, with a key of its own where no token is
// given.
func (s *core) newProject(organization, token string, v management.Values) (*management.ProjectRecord, error) {
	now := s.Env.Now()
	p := &management.ProjectRecord{Organization: organization, Name: "Default project", APIKey: "phc_" + management.RandomText(32), CreatedAt: now}
	if token != "" {
		p.APIKey = token
	}
	return p, configure(p, &management.ProjectMeta{UUID: s.Env.NewID(), Updated: management.NewStamp(now)}, v)
}

// Update changes the project of the standing.
func (s Projects) Update(ctx context.Context, scope *management.Scope, b management.Body) (*Project, error) {
	return s.change(ctx, scope, func(_ Tx, p *management.ProjectRecord, meta *management.ProjectMeta) error {
		v, err := ProjectFields.Change(b)
		if err != nil {
			return err
		}
		private := v.Has("access_control") && v.Bool("access_control") != (meta.Default == management.NoAccess)
		if (private || v.Has(management.FlagApprovalsField.Name)) && !scope.CanAdminister() {
			return errNoProjectAdmin()
		}
		before := *p
		if err := configure(p, meta, v); err != nil || p.Origin == "" {
			return err
		}
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

func errNoProjectAdmin() error {
	return management.Denied("You don't have sufficient permissions in the project.")
}

// errFromFile refuses changes of what a definitions file says.
func errFromFile(what, origin string) error {
	return management.Clash("This %s is kept in the file %s and can only be changed there.", what, origin)
}

// change does something to the project of the standing and notes it.
func (s Projects) change(ctx context.Context, scope *management.Scope, work func(tx Tx, p *management.ProjectRecord, meta *management.ProjectMeta) error) (*Project, error) {
	return management.RunAction(ctx, s.projects, scope, "", func(e *management.Edit[Tx, management.ProjectRecord]) error {
		meta, err := management.MetaOfProject(e.After)
		if err != nil {
			return err
		}
		meta.UUID, meta.Updated = projectUUID(e.After, &meta), management.NewStamp(s.Env.Now())
		if err := work(e.Tx, e.After, &meta); err != nil {
			return err
		}
		e.After.Meta = management.Encode(meta)
		return nil
	})
}

// Delete takes the project of the standing away: its keys open nothing from then
// on, and nobody reaches what is inside, which stays in the store.
func (s Projects) Delete(ctx context.Context, scope *management.Scope) error {
	if scope.Access() != management.AdminAccess {
		return errNoProjectAdmin()
	}
	return s.projects.Delete(ctx, scope, "")
}

// deleteProject deletes a project softly, and its secret keys for good.
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

package organizations

import (
	"context"
	"encoding/json"
	"maps"
	"strconv"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/plain"
	"github.com/bunting-flags/bunting/management/internal/records"
	"github.com/bunting-flags/bunting/management/internal/resource"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// Account manages the caller's own user, /api/users/@me (§1.9): there is one, so its methods ignore
// ids. A new e-mail address is pending until it is confirmed with the link that is mailed to it;
// without a Mailer it replaces the old address immediately and is unverified. Delete deletes the user
// with keys, sessions, passkeys and linked accounts, and is a Conflict if the user is still a member
// of an organization or has a key of a definitions file.
type Account struct {
	*core
	resource.Resource[Tx, management.Caller, me]
}

func newAccount(c *core) (s Account) {
	s.core = c
	s.Resource = resource.NewResource(&c.Env, resource.Spec[Tx, management.Caller, me]{
		Kind: storage.KindUser, Changes: accountFields,
		Load: func(v *view, _ string, _ *management.Body) (*management.Caller, error) {
			return c.reloadCaller(v.Tx, v.Caller)
		},
		Rules:        s.rules,
		BeforeDelete: deleteSignIns,
		Put:          func(v *view, x *management.Caller) error { return records.PutUser(v.Tx, x.User) },
		Delete:       func(v *view, x *management.Caller) error { return v.Tx.Delete(storage.KindUser, "", x.User.UUID) },
		OnDuplicate:  func(bool) error { return errDuplicateEmail() },
		Show:         func(v *view, x *management.Caller) (*me, error) { return c.me(v.Tx, x) },
	})
	return s
}

// me is the response with a user's own data (§1.9). The fields about passwords, second factors,
// staff and impersonation are constant, since there is no such sign-in (decision 19).
type me struct {
	Joined     management.Stamp `json:"date_joined"`
	UUID       string           `json:"uuid"`
	DistinctID string           `json:"distinct_id"`
	FirstName  string           `json:"first_name"`
	LastName   string           `json:"last_name"`
	Email      string           `json:"email"`
	// PendingEmail is the new address that is not confirmed yet, or null.
	PendingEmail  *string `json:"pending_email"`
	EmailVerified *bool   `json:"is_email_verified"`
	// Notifications and the other JSON fields are settings of the user: see userSettings.
	Notifications     json.RawMessage `json:"notification_settings"`
	AnonymizeData     json.RawMessage `json:"anonymize_data"`
	ToolbarMode       json.RawMessage `json:"toolbar_mode"`
	HasPassword       bool            `json:"has_password"`
	ID                int64           `json:"id"`
	IsStaff           bool            `json:"is_staff"`
	IsImpersonated    bool            `json:"is_impersonated"`
	ImpersonatedUntil *string         `json:"is_impersonated_until"`
	// SessionExpiresAt and ImpersonatedUntil are always null.
	SessionExpiresAt *string `json:"sensitive_session_expires_at"`
	// Team is the current project and Organization the current organization, null if the user has
	// no access to any. Organizations are all organizations of the user.
	Team              *ProjectBasic       `json:"team"`
	Organization      *organization       `json:"organization"`
	Organizations     []organizationBasic `json:"organizations"`
	EventsColumns     json.RawMessage     `json:"events_column_config"`
	Has2FA            bool                `json:"is_2fa_enabled"`
	HasSocialAuth     bool                `json:"has_social_auth"`
	HasSSOEnforcement bool                `json:"has_sso_enforcement"`
	SeenIntroductions json.RawMessage     `json:"has_seen_product_intro_for"`
	// ScenePersonalisings is always empty.
	ScenePersonalisings []any           `json:"scene_personalisation"`
	ThemeMode           json.RawMessage `json:"theme_mode"`
	// Language is that of the console's pages, or null if it is that of the browser.
	Language json.RawMessage `json:"language"`
	Hedgehog json.RawMessage `json:"hedgehog_config"`
	Role     *string         `json:"role_at_organization"`
}

// organizationBasic is the short form of an organization inside me.
type organizationBasic struct {
	ID              string           `json:"id"`
	Name            string           `json:"name"`
	Slug            string           `json:"slug"`
	LogoMedia       *string          `json:"logo_media_id"`
	MembershipLevel management.Level `json:"membership_level"`
	MembersUseKeys  bool             `json:"members_can_use_personal_api_keys"`
}

// rolesAtOrganization are the values of a user's role_at_organization (§B).
var rolesAtOrganization = []string{"engineering", "data", "product", "founder", "leadership", "marketing", "sales", "other"}

// accountFields are the writable fields of a user.
var accountFields = custom(management.Fields{
	{Name: "first_name", Type: management.Text, MaxLength: 150},
	{Name: "last_name", Type: management.Text, Blank: true, MaxLength: 150},
	{Name: "email", Type: management.Email, MaxLength: plain.MaxEmail},
	{Name: "notification_settings", Type: management.Object},
	{Name: "anonymize_data", Type: management.Bool, Null: true},
	{Name: "toolbar_mode", Type: management.Choice, Choices: []string{"disabled", "toolbar"}, Null: true},
	{Name: "events_column_config", Type: management.Object},
	{Name: "has_seen_product_intro_for", Type: management.Object, Null: true},
	{Name: "theme_mode", Type: management.Choice, Choices: []string{"light", "dark", "system"}, Null: true},
	{Name: "language", Type: management.Choice, Choices: []string{"en", "de"}, Null: true, Help: "of the console's pages; null: that of the browser"},
	{Name: "hedgehog_config", Type: management.Object, Null: true},
	{Name: "role_at_organization", Type: management.Choice, Choices: rolesAtOrganization, Null: true},
	{Name: "set_current_organization", Type: management.Text, Help: "id of an organization of the user"},
	{Name: "set_current_team", Type: management.Text, Help: "id of a project that the user can access"},
})

// userSettings are the fields that are stored by name in User.Settings, with their defaults as
// JSON.
var userSettings = map[string]string{
	"notification_settings": "{}", "anonymize_data": "false", "toolbar_mode": `"toolbar"`, "events_column_config": `{"active":"DEFAULT"}`,
	"has_seen_product_intro_for": "null", "theme_mode": "null", "language": "null", "hedgehog_config": "null",
}

// setting returns a stored setting of a user, or its default.
func setting(u *management.User, name string) json.RawMessage {
	return orDefault(u.Settings[name], userSettings[name])
}

// maxUserSettings is the greatest size of the JSON of all settings of a user, in bytes.
const maxUserSettings = 64 << 10

// findCurrent returns the user's current organization and project: the selected ones, or the first
// ones that the user can access. Both are nil if there are none; the project alone is nil if the
// organization has no accessible project.
func findCurrent(tx Tx, c *management.Caller) (*management.OrganizationRecord, *management.ProjectRecord, error) {
	if c.User.Project != 0 {
		p, err := tx.Project(c.User.Project)
		if err != nil {
			return nil, nil, err
		}
		if p != nil && c.CanReach(p) {
			o, err := tx.Organization(p.Organization)
			return o, p, err
		}
	}
	// A selected organization is preferred, even if none of its projects is accessible; without one
	// the first that exists counts.
	hasCurrent := c.Level(c.User.Organization) > 0
	for _, m := range c.Memberships {
		if hasCurrent && m.Organization != c.User.Organization {
			continue
		}
		o, err := tx.Organization(m.Organization)
		if err != nil {
			return nil, nil, err
		}
		if o == nil {
			continue
		}
		p, err := firstProject(tx, c, o.ID)
		return o, p, err
	}
	return nil, nil, nil
}

// firstProject returns the first project of an organization that the caller can access, or nil.
func firstProject(tx Tx, c *management.Caller, organization string) (*management.ProjectRecord, error) {
	projects, err := tx.Projects(organization)
	for i := range projects {
		if c.CanReach(&projects[i]) {
			return &projects[i], nil
		}
	}
	return nil, err
}

// me returns a user's own data. It skips memberships of organizations that do not exist any more.
func (s *core) me(tx Tx, c *management.Caller) (*me, error) {
	u := c.User
	out := &me{
		Joined: u.Joined, UUID: u.UUID, DistinctID: u.DistinctID, FirstName: u.FirstName, LastName: u.LastName, Email: u.Email,
		PendingEmail: pendingAddress(u, s.Env.Now()), EmailVerified: u.EmailVerified, Notifications: setting(u, "notification_settings"), AnonymizeData: setting(u, "anonymize_data"),
		ToolbarMode: setting(u, "toolbar_mode"), ID: u.ID, Organizations: []organizationBasic{}, EventsColumns: setting(u, "events_column_config"),
		SeenIntroductions: setting(u, "has_seen_product_intro_for"), ScenePersonalisings: []any{}, ThemeMode: setting(u, "theme_mode"), Language: setting(u, "language"),
		Hedgehog: setting(u, "hedgehog_config"), Role: u.Role,
	}
	var err error
	if out.HasSocialAuth, err = hasIdentity(tx, u.UUID); err != nil {
		return nil, err
	}
	enforced, err := enforcedDomainOf(tx, u.Email)
	if err != nil {
		return nil, err
	}
	out.HasSSOEnforcement = enforced != nil
	for _, m := range c.Memberships {
		o, err := tx.Organization(m.Organization)
		if err != nil {
			return nil, err
		}
		if o == nil {
			continue
		}
		meta, err := management.MetaOfOrganization(o)
		if err != nil {
			return nil, err
		}
		out.Organizations = append(out.Organizations, organizationBasic{o.ID, o.Name, organizationSlug(&meta, o), meta.LogoMedia, m.Level, !meta.NoMemberKeys})
	}
	o, p, err := findCurrent(tx, c)
	if err != nil || o == nil {
		return out, err
	}
	if out.Organization, err = s.organization(tx, c, o); err != nil || p == nil {
		return out, err
	}
	ingested, err := s.ingestedIn(tx, o.ID)
	if err != nil {
		return nil, err
	}
	team, _, err := basicOf(p, ingested)
	out.Team = &team
	return out, err
}

// Update changes the caller's user.
func (s Account) Update(ctx context.Context, scope *management.Scope, id string, b management.Body, put bool) (*me, error) {
	out, err := s.Resource.Update(ctx, scope, id, b, put)
	return out, s.notifyQueued(err)
}

// rules apply a body to the user. The mail that setEmail may queue is sent only if the transaction
// commits.
func (s Account) rules(e *resource.Edit[Tx, management.Caller]) error {
	u, v := e.After.User, e.Values
	management.Set(v, "first_name", &u.FirstName)
	management.Set(v, "last_name", &u.LastName)
	management.SetNull(v, "role_at_organization", &u.Role)
	if err := s.setEmail(e.Tx, e.Scope, u, v.Text("email")); err != nil {
		return err
	}
	if err := setUserSettings(u, v); err != nil {
		return err
	}
	return setCurrent(e.Tx, e.After, v)
}

// setEmail changes the e-mail address, which requires a recent proof of identity. The present
// address cancels a pending change, and "" has no effect.
func (s Account) setEmail(tx Tx, scope *management.Scope, u *management.User, email string) error {
	switch email {
	case "":
		return nil
	// This is how clients cancel a pending change.
	case u.Email:
		u.Pending = nil
		return nil
	}
	// Links for signing in are mailed to this address, so a stolen session must not change
	// it.
	if err := scope.RequireProof(s.Env.Now()); err != nil {
		return err
	}
	return s.changeEmail(tx, u, email)
}

// setUserSettings merges the settings of a body into those of the user. It copies the map first,
// since the caller's User may be in use by other goroutines.
func setUserSettings(u *management.User, v management.Values) error {
	u.Settings = maps.Clone(u.Settings)
	if u.Settings == nil {
		u.Settings = map[string]json.RawMessage{}
	}
	for name := range userSettings {
		if v.Has(name) {
			u.Settings[name] = storage.Encode(v[name])
		}
	}
	if len(storage.Encode(u.Settings)) > maxUserSettings {
		return management.CodedFault(management.CodeMaxLength, "", "The settings of a user may have no more than %d bytes.", maxUserSettings)
	}
	return nil
}

// reloadCaller returns the caller with the user, memberships and roles of the transaction's state.
// The caller of a request was read in an earlier transaction and may be outdated.
func (s *core) reloadCaller(tx Tx, c *management.Caller) (*management.Caller, error) {
	u, err := records.Existing(management.UserByUUID(tx, c.User.UUID))
	if err != nil {
		return nil, err
	}
	reloaded, err := management.CallerFor(tx, u)
	if err == nil {
		reloaded.Key, reloaded.Session = c.Key, c.Session
	}
	return reloaded, err
}

// setCurrent selects the current organization and project from a body. Selecting an organization
// also selects its first accessible project, and selecting a project also its organization.
func setCurrent(tx Tx, c *management.Caller, v management.Values) error {
	errUnknown := func(name string) error {
		return management.CodedFault(management.CodeDoesNotExist, name, "Object with id=`%s` does not exist.", v.Text(name))
	}
	if v.Has("set_current_organization") {
		id, _ := management.NormalizeUUID(v.Text("set_current_organization"))
		if c.Level(id) == 0 {
			return errUnknown("set_current_organization")
		}
		p, err := firstProject(tx, c, id)
		if err != nil {
			return err
		}
		// The project of another organization cannot stay selected.
		if c.User.Organization, c.User.Project = id, 0; p != nil {
			c.User.Project = p.ID
		}
	}
	if v.Has("set_current_team") {
		id, err := strconv.ParseInt(v.Text("set_current_team"), 10, 64)
		if err != nil {
			return errUnknown("set_current_team")
		}
		// Projects without access are reported like projects that do not exist.
		p, err := tx.Project(id)
		if err != nil {
			return err
		}
		if p == nil || !c.CanReach(p) {
			return errUnknown("set_current_team")
		}
		c.User.Organization, c.User.Project = p.Organization, p.ID
	}
	return nil
}

// deleteSignIns checks that a user may be deleted, and deletes everything that signs the user in.
func deleteSignIns(e *resource.Edit[Tx, management.Caller]) error {
	// Organizations would otherwise lose a member, or their last owner, without a check.
	if len(e.After.Memberships) > 0 {
		return management.Clash("Cannot delete user with organization memberships.")
	}
	keys, err := e.Tx.Keys(e.After.User.ID)
	if err != nil {
		return err
	}
	for i := range keys {
		// The file would recreate the key at the next start.
		if keys[i].Origin != "" {
			return errFromFile("key", keys[i].Origin)
		}
		if err := e.Tx.DeleteKey(keys[i].ID); err != nil {
			return err
		}
	}
	// If a linked account stayed, the person could not sign in with it after a new invitation.
	for _, kind := range signInKinds {
		if err := e.Tx.DeleteUnder(kind, e.After.User.UUID); err != nil {
			return err
		}
	}
	return nil
}

// newUser returns a new user with the next number, without storing it.
func (s *core) newUser(tx Tx, email, firstName string) (*management.User, error) {
	// Users have a number for the API, and a uuid under which they are stored.
	id, err := tx.Next(storage.KindUser)
	if err != nil {
		return nil, err
	}
	return &management.User{ID: id, UUID: s.Env.NewID(), DistinctID: management.RandomText(24), Email: email, FirstName: firstName, Joined: management.NewStamp(s.Env.Now())}, nil
}

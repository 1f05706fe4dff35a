package management

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Caller is who sends a request: a user, with one of the user's keys, or with one
// without ID and for this request alone where a service has let the user in (Admit).
type Caller struct {
	User        *User
	Key         *KeyRecord
	Memberships []Membership
	// Session is the browser's session that the request came with, nil without one. Key
	// then has the rights of the session, and no ID where it was not made from a key.
	Session *Session

	roles []string // all of the user's, of whatever organization
}

// CallerFor is a user with what belongs to one, and without a key.
func CallerFor(tx Tx, u *User) (c *Caller, err error) {
	c = &Caller{User: u}
	if c.Memberships, err = MembershipsOf(tx, u.UUID); err == nil {
		c.roles, err = rolesOf(tx, u.UUID)
	}
	return c, err
}

// Level is the caller's level in an organization, 0 for no member.
func (c *Caller) Level(organization string) Level {
	for i := range c.Memberships {
		if c.Memberships[i].Organization == organization {
			return c.Memberships[i].Level
		}
	}
	return 0
}

// Scope is a caller in a place. Project is nil outside of projects.
type Scope struct {
	*Caller
	Organization *OrganizationRecord
	Project      *ProjectRecord
	Level        Level // in the organization

	rules accessRules // of the project, about the caller; nil: none
}

// IsAdmin reports whether the caller has at least the level of an administrator.
func (scope *Scope) IsAdmin() bool { return scope.Level >= Admin }

// HashKey is how a key is kept: §1.3.
func HashKey(key string) string {
	sum := sha256.Sum256([]byte(key))
	return "sha256$" + hex.EncodeToString(sum[:])
}

// MaskKey is what may be shown of a key.
func MaskKey(key string) string {
	if len(key) < 16 {
		return "********"
	}
	return strings.ToValidUTF8(key[:4]+"..."+key[len(key)-4:], "?")
}

// Service lets callers in: it knows whose a key is, and where its user may be.
type Service struct {
	Env Env[Tx]
	// Finders find the things of paths that access rules may be about, by kind.
	Finders map[string]Finder
}

// lastUsedPrecision is how exactly the time of a key's last use is kept (§1.2).
const lastUsedPrecision = time.Hour

// Authenticate finds out whose key it is. place is where the key stood, for the
// error: Authorization header, body or query string.
func (s *Service) Authenticate(ctx context.Context, key, location string) (*Caller, error) {
	c := &Caller{}
	hash := HashKey(key)
	err := s.Env.Store.Read(ctx, func(tx Tx) error {
		k, err := tx.Key(hash)
		if c.Key = k; err != nil || k == nil || k.Secret {
			return err
		}
		u, err := UserByNumber(tx, k.User)
		if err != nil || u == nil {
			return err
		}
		if c, err = CallerFor(tx, u); err == nil {
			c.Key = k
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if c.Key == nil || c.Key.Secret || c.User == nil || c.User.Inactive {
		return nil, &Error{Kind: Unauthenticated, Code: "authentication_failed", Message: strings.TrimSpace("Personal API key found in request " + location + " is invalid. " + KeyHint(key))}
	}
	if now := s.Env.Now(); now.Sub(c.Key.LastUsedAt) > lastUsedPrecision {
		err = s.Env.Store.Write(ctx, func(tx Tx) error {
			k, err := tx.Key(hash)
			if err != nil || k == nil {
				return err
			}
			k.LastUsedAt = now
			return tx.PutKey(k)
		})
	}
	return c, err
}

// KeyHint says of a key that is no personal one what it is, empty where it
// may be one.
func KeyHint(key string) string {
	switch {
	case strings.HasPrefix(key, "phc_"):
		return "A key that begins with phc_ is a project's public one, for SDKs: here a personal API key is wanted, which begins with phx_."
	case strings.HasPrefix(key, "phs_"):
		return "A key that begins with phs_ is a project's secret one, for definitions: here a personal API key is wanted, which begins with phx_."
	}
	return ""
}

// InternalScope is the scope that no key can be given, but a key of all scopes has.
const InternalScope = "INTERNAL"

// Require looks whether the key has a scope: write holds read (§1.4). An empty
// scope is one that every key has.
func (c *Caller) Require(keyScope string) error {
	if keyScope == "" || c.Key.Scopes == nil {
		return nil
	}
	object, read := strings.CutSuffix(keyScope, ":read")
	has := slices.ContainsFunc(c.Key.Scopes, func(has string) bool {
		return has == "*" || has == keyScope && keyScope != InternalScope || read && has == object+":write"
	})
	if !has {
		return Denied("API key missing required scope '%s'", keyScope)
	}
	return nil
}

// HasAllScopes reports whether a key skips the lists of §1.6: one of old, without
// scopes.
func (c *Caller) HasAllScopes() bool { return c.Key.Scopes == nil }

// DenyProjectKeys refuses keys of single projects where there is no project.
func (c *Caller) DenyProjectKeys() error {
	if len(c.Key.Projects) > 0 && !c.HasAllScopes() {
		return Denied("API keys with scoped projects are only supported on project-based endpoints.")
	}
	return nil
}

// CurrentRef is how paths name what the caller works in now.
const CurrentRef = "@current"

// Project finds the project of a path: its number or @current.
func (s *Service) Project(ctx context.Context, c *Caller, ref string) (*Scope, error) {
	scope, err := s.findProject(ctx, c, ref)
	if err != nil {
		return nil, err
	}
	return scope, c.checkEntry(scope)
}

// VisibleProject is Project for paths that are a project's own: one that the
// caller may not be in is not there (§5.8).
func (s *Service) VisibleProject(ctx context.Context, c *Caller, ref string) (*Scope, error) {
	scope, err := s.findProject(ctx, c, ref)
	if err != nil {
		return nil, err
	}
	if err := c.checkKey(scope); err != nil {
		return nil, err
	}
	if scope.Organization == nil || !c.CanReach(scope.Project) {
		return nil, ErrNoProject()
	}
	return scope, c.checkEntry(scope)
}

func (s *Service) findProject(ctx context.Context, c *Caller, ref string) (*Scope, error) {
	var scope *Scope
	err := s.Env.Store.Read(ctx, func(tx Tx) error {
		p, err := s.resolveProject(tx, c, ref)
		if err == nil {
			scope, err = NewScope(tx, c, p)
		}
		return err
	})
	return scope, err
}

// NewScope is a caller in a project, let in or not, as it is now.
func NewScope(tx Tx, c *Caller, p *ProjectRecord) (scope *Scope, err error) {
	scope = &Scope{Caller: c, Project: p, Level: c.Level(p.Organization)}
	if scope.Organization, err = tx.Organization(p.Organization); err == nil {
		scope.rules, err = rulesForCaller(tx, c, p)
	}
	return scope, err
}

// NewUserScope is a user in a project without a key, as jobs stand there for whoever has asked
// for them: nil for one who may not be in it, or is gone.
func NewUserScope(tx Tx, user int64, p *ProjectRecord) (*Scope, error) {
	u, err := UserByNumber(tx, user)
	if err != nil || u == nil || u.Inactive {
		return nil, err
	}
	c, err := CallerFor(tx, u)
	if err != nil || !c.CanReach(p) {
		return nil, err
	}
	c.Key = &KeyRecord{}
	return NewScope(tx, c, p)
}

// checkKey looks whether the lists of the key have a project (§1.6).
func (c *Caller) checkKey(scope *Scope) error {
	if len(c.Key.Projects) > 0 && !c.HasAllScopes() && !slices.Contains(c.Key.Projects, scope.Project.ID) {
		return Denied("API key does not have access to the requested project: ID %d.", scope.Project.ID)
	}
	if !c.CanOpenOrganization(scope.Project.Organization) {
		return Denied("API key does not have access to the requested organization: ID %s.", scope.Project.Organization)
	}
	return nil
}

// checkEntry looks whether the caller may be in a project (§1.5).
func (c *Caller) checkEntry(scope *Scope) error {
	if err := c.checkKey(scope); err != nil {
		return err
	}
	if scope.Organization == nil || !c.CanReach(scope.Project) {
		return Denied("You don't have access to the project.")
	}
	return CheckMemberKeys(scope)
}

// CheckMemberKeys refuses the keys of members where the organization does not want
// them (§1.5).
func CheckMemberKeys(scope *Scope) error {
	if scope.Key.ID == "" { // no personal key
		return nil
	}
	meta, err := MetaOfOrganization(scope.Organization)
	if err != nil || !meta.NoMemberKeys || scope.IsAdmin() {
		return err
	}
	return Denied("Organization '%s' does not allow using personal API keys. Contact an admin to enable personal API keys for this organization.", scope.Organization.Name)
}

// ErrNoProject is the answer where there is no such project, or none that may be seen.
func ErrNoProject() error { return Missing("Project not found.") }

func (s *Service) resolveProject(tx Tx, c *Caller, ref string) (*ProjectRecord, error) {
	id, err := strconv.ParseInt(ref, 10, 64)
	if ref == CurrentRef {
		return s.currentProject(tx, c)
	}
	if err != nil || id <= 0 || strconv.FormatInt(id, 10) != ref {
		return nil, ErrNoProject()
	}
	p, err := tx.Project(id)
	if err == nil && p == nil {
		err = ErrNoProject()
	}
	return p, err
}

// ProjectByKey finds the project of a public key that stands in a request beside
// the path (§1.7).
func (s *Service) ProjectByKey(ctx context.Context, c *Caller, apiKey string) (*Scope, error) {
	var scope *Scope
	err := s.Env.Store.Read(ctx, func(tx Tx) error {
		p, err := tx.ProjectByKey(apiKey)
		if err == nil && p != nil {
			scope, err = NewScope(tx, c, p)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if scope == nil {
		return nil, &Error{Kind: Unauthenticated, Code: "authentication_failed", Message: "Project token is invalid."}
	}
	return scope, c.checkEntry(scope)
}

// currentProject is the one that the user has chosen, or the first that the user
// and the key reach.
func (s *Service) currentProject(tx Tx, c *Caller) (*ProjectRecord, error) {
	isUsable := func(p *ProjectRecord) bool {
		return p != nil && c.CanReach(p) && c.checkKey(&Scope{Project: p}) == nil
	}
	if c.User.Project != 0 {
		if p, err := tx.Project(c.User.Project); err != nil || isUsable(p) {
			return p, err
		}
	}
	for _, m := range c.Memberships {
		list, err := tx.Projects(m.Organization)
		if err != nil {
			return nil, err
		}
		for i := range list {
			if isUsable(&list[i]) {
				return &list[i], nil
			}
		}
	}
	return nil, ErrNoProject()
}

// Organization finds the organization of a path: its id or @current. Only
// members get in, whose level st.Level is.
func (s *Service) Organization(ctx context.Context, c *Caller, ref string) (*Scope, error) {
	if err := c.DenyProjectKeys(); err != nil {
		return nil, err
	}
	scope := &Scope{Caller: c}
	err := s.Env.Store.Read(ctx, func(tx Tx) (err error) {
		id := ref
		if ref == CurrentRef {
			id = c.CurrentOrganization()
		}
		id, ok := NormalizeUUID(id)
		if !ok {
			return Missing("Organization not found.")
		}
		if scope.Organization, err = tx.Organization(id); err == nil && scope.Organization == nil {
			err = Missing("Organization not found.")
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if !c.CanOpenOrganization(scope.Organization.ID) {
		return nil, Denied("API key does not have access to the requested organization: ID %s.", scope.Organization.ID)
	}
	if scope.Level = c.Level(scope.Organization.ID); scope.Level == 0 {
		return nil, Denied(MsgNoPermission)
	}
	return scope, CheckMemberKeys(scope)
}

// VisibleOrganization is Organization for paths that are an organization's own:
// one that the caller or the key does not reach is not there (§1.5, §1.6).
func (s *Service) VisibleOrganization(ctx context.Context, c *Caller, ref string) (*Scope, error) {
	if err := c.DenyProjectKeys(); err != nil {
		return nil, err
	}
	id, ok := NormalizeUUID(ref)
	if ref == CurrentRef {
		if id = c.CurrentOrganization(); id == "" {
			return nil, Missing("Current organization not found.")
		}
	} else if !ok {
		return nil, ErrNotFound()
	}
	if c.Level(id) == 0 || !c.CanOpenOrganization(id) {
		return nil, ErrNotFound()
	}
	return s.Organization(ctx, c, id)
}

// CanOpenOrganization reports whether the list of the key has an organization
// (§1.6).
func (c *Caller) CanOpenOrganization(id string) bool {
	return len(c.Key.Organizations) == 0 || c.HasAllScopes() || slices.Contains(c.Key.Organizations, id)
}

// CurrentOrganization is the one that the user has chosen, or the first that the
// key opens.
func (c *Caller) CurrentOrganization() string {
	if c.Level(c.User.Organization) > 0 {
		return c.User.Organization
	}
	for _, m := range c.Memberships {
		if c.CanOpenOrganization(m.Organization) {
			return m.Organization
		}
	}
	return ""
}

// GlobalScope is a place without project and organization.
func (c *Caller) GlobalScope() *Scope { return &Scope{Caller: c} }

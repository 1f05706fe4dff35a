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

// Caller is the sender of a request: a user with one of the user's keys. If Service.Admit has let
// the user in, the key has no ID and is valid for this request only.
type Caller struct {
	User        *User
	Key         *KeyRecord
	Memberships []Membership
	// Session is the browser session of the request, or nil. Key then has the rights of the
	// session, and no ID unless the session was created from a key.
	Session *Session

	roles []string // all roles of the user, of any organization
}

// CallerFor returns a user with memberships and roles, but without a key.
func CallerFor(tx Tx, u *User) (c *Caller, err error) {
	c = &Caller{User: u}
	if c.Memberships, err = MembershipsOf(tx, u.UUID); err == nil {
		c.roles, err = rolesOf(tx, u.UUID)
	}
	return c, err
}

// Level returns the caller's level in an organization, or 0 if the caller is no member.
func (c *Caller) Level(organization string) Level {
	for i := range c.Memberships {
		if c.Memberships[i].Organization == organization {
			return c.Memberships[i].Level
		}
	}
	return 0
}

// Scope is a caller in an organization and a project. Project is nil outside of projects.
type Scope struct {
	*Caller
	Organization *OrganizationRecord
	Project      *ProjectRecord
	Level        Level // in the organization

	rules accessRules // the project's rules for the caller; nil if there are no rules
}

// IsAdmin reports whether the caller has at least the level of an administrator.
func (scope *Scope) IsAdmin() bool { return scope.Level >= Admin }

// HashKey returns the form in which a key is stored: §1.3.
func HashKey(key string) string {
	sum := sha256.Sum256([]byte(key))
	return "sha256$" + hex.EncodeToString(sum[:])
}

// MaskKey returns the part of a key that may be displayed.
func MaskKey(key string) string {
	if len(key) < 16 {
		return "********"
	}
	return strings.ToValidUTF8(key[:4]+"..."+key[len(key)-4:], "?")
}

// Service authenticates callers and finds the projects and organizations that they may use. It may
// be used concurrently.
type Service struct {
	Env Env[Tx]
	// Finders find the objects that paths name and access rules may be about, by kind.
	Finders map[string]Finder
}

// lastUsedPrecision is the precision of a key's stored time of last use (§1.2).
const lastUsedPrecision = time.Hour

// Authenticate returns the caller of a personal key, and saves the time of its use. location is the
// part of the request that had the key, for the message of the error: Authorization header, body or
// query string. The error is Unauthenticated for unknown and secret keys and for inactive users.
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

// KeyHint explains which type of key was sent in place of a personal one. It is empty if the key
// may be a personal one.
func KeyHint(key string) string {
	switch {
	case strings.HasPrefix(key, "phc_"):
		return "Keys that begin with phc_ are public project keys for SDKs. Send a personal API key, which begins with phx_."
	case strings.HasPrefix(key, "phs_"):
		return "Keys that begin with phs_ are secret project keys for flag definitions. Send a personal API key, which begins with phx_."
	}
	return ""
}

// InternalScope is a scope that no key can list; keys with all scopes have it.
const InternalScope = "INTERNAL"

// Require returns an error unless the key has a scope; a write scope includes read (§1.4). Every
// key has the empty scope.
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

// HasAllScopes reports whether the lists of §1.6 do not apply to the key, since it is an old one
// without scopes.
func (c *Caller) HasAllScopes() bool { return c.Key.Scopes == nil }

// DenyProjectKeys refuses keys that are limited to projects; for paths outside of projects.
func (c *Caller) DenyProjectKeys() error {
	if len(c.Key.Projects) > 0 && !c.HasAllScopes() {
		return Denied("API keys with scoped projects are only supported on project-based endpoints.")
	}
	return nil
}

// CurrentRef stands in paths for the caller's current project or organization.
const CurrentRef = "@current"

// Project finds the project of a path, by its number or @current, and checks access (§1.5).
func (s *Service) Project(ctx context.Context, c *Caller, ref string) (*Scope, error) {
	scope, err := s.findProject(ctx, c, ref)
	if err != nil {
		return nil, err
	}
	return scope, c.checkAccess(scope)
}

// VisibleProject is like Project for the endpoints of projects themselves: it returns ErrNoProject
// for a project that the caller may not access (§5.8).
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
	return scope, c.checkAccess(scope)
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

// NewScope returns the caller's scope in a project from the current state. It does not check
// access.
func NewScope(tx Tx, c *Caller, p *ProjectRecord) (scope *Scope, err error) {
	scope = &Scope{Caller: c, Project: p, Level: c.Level(p.Organization)}
	if scope.Organization, err = tx.Organization(p.Organization); err == nil {
		scope.rules, err = rulesForCaller(tx, c, p)
	}
	return scope, err
}

// checkKey checks that the lists of the key allow the project (§1.6).
func (c *Caller) checkKey(scope *Scope) error {
	if !c.CanOpenProject(scope.Project.ID) {
		return Denied("API key does not have access to the requested project: ID %d.", scope.Project.ID)
	}
	if !c.CanOpenOrganization(scope.Project.Organization) {
		return Denied("API key does not have access to the requested organization: ID %s.", scope.Project.Organization)
	}
	return nil
}

// checkAccess checks that the caller and the key may access the project (§1.5).
func (c *Caller) checkAccess(scope *Scope) error {
	if err := c.checkKey(scope); err != nil {
		return err
	}
	if scope.Organization == nil || !c.CanReach(scope.Project) {
		return Denied("You don't have access to the project.")
	}
	return CheckMemberKeys(scope)
}

// CheckMemberKeys refuses personal keys of members if the organization forbids them (§1.5).
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

// ErrNoProject is the error for projects that do not exist or are not visible to the caller.
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

// ProjectByKey finds the project of a public key that a request has in addition to its path (§1.7).
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
	return scope, c.checkAccess(scope)
}

// currentProject returns the project that the user has selected, or the first that both the user
// and the key can access.
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

// Organization finds the organization of a path, by its id or @current. It is Forbidden for users
// that are not members.
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

// VisibleOrganization is like Organization for the endpoints of organizations themselves: it is
// NotFound if the user or the key cannot access the organization (§1.5, §1.6).
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

// CanOpenOrganization reports whether the lists of the key allow an organization (§1.6).
func (c *Caller) CanOpenOrganization(id string) bool {
	return len(c.Key.Organizations) == 0 || c.HasAllScopes() || slices.Contains(c.Key.Organizations, id)
}

// CurrentOrganization returns the id of the organization that the user has selected, or of the
// first that the key allows, or "".
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

// GlobalScope returns a scope without project and organization.
func (c *Caller) GlobalScope() *Scope { return &Scope{Caller: c} }

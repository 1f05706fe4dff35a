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

// Standing is a caller in a place. Project is nil outside of projects.
type Standing struct {
	*Caller
	Organization *OrganizationRecord
	Project      *ProjectRecord
	Level        Level // in the organization

	rules accessRules // of the project, about the caller; nil: none
}

// Admin reports whether the caller has at least the level of an administrator.
func (st *Standing) Admin() bool { return st.Level >= Admin }

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
	Desk Desk[Tx]
	// Things find the things of paths that access rules may be about, by kind.
	Things map[string]Finder
}

// usedEvery is how exactly the time of a key's last use is kept (§1.2).
const usedEvery = time.Hour

// Authenticate finds out whose key it is. place is where the key stood, for the
// error: Authorization header, body or query string.
func (s *Service) Authenticate(ctx context.Context, key, place string) (*Caller, error) {
	c := &Caller{}
	hash := HashKey(key)
	err := s.Desk.Store.Read(ctx, func(tx Tx) error {
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
		return nil, &Error{Kind: Unauthenticated, Code: "authentication_failed", Message: strings.TrimSpace("Personal API key found in request " + place + " is invalid. " + WrongKindOfKey(key))}
	}
	if now := s.Desk.Now(); now.Sub(c.Key.LastUsedAt) > usedEvery {
		err = s.Desk.Store.Write(ctx, func(tx Tx) error {
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

// WrongKindOfKey says of a key that is no personal one what it is, empty where it
// may be one.
func WrongKindOfKey(key string) string {
	switch {
	case strings.HasPrefix(key, "phc_"):
		return "A key that begins with phc_ is a project's public one, for SDKs: here a personal API key is wanted, which begins with phx_."
	case strings.HasPrefix(key, "phs_"):
		return "A key that begins with phs_ is a project's secret one, for definitions: here a personal API key is wanted, which begins with phx_."
	}
	return ""
}

// Internal is the scope that no key can be given, but a key of all scopes has.
const Internal = "INTERNAL"

// Require looks whether the key has a scope: write holds read (§1.4). An empty
// scope is one that every key has.
func (c *Caller) Require(scope string) error {
	if scope == "" || c.Key.Scopes == nil {
		return nil
	}
	object, read := strings.CutSuffix(scope, ":read")
	has := slices.ContainsFunc(c.Key.Scopes, func(has string) bool {
		return has == "*" || has == scope && scope != Internal || read && has == object+":write"
	})
	if !has {
		return Denied("API key missing required scope '%s'", scope)
	}
	return nil
}

// ScopedAll reports whether a key skips the lists of §1.6: one of old, without
// scopes.
func (c *Caller) ScopedAll() bool { return c.Key.Scopes == nil }

// WithoutProject refuses keys of single projects where there is no project.
func (c *Caller) WithoutProject() error {
	if len(c.Key.Projects) > 0 && !c.ScopedAll() {
		return Denied("API keys with scoped projects are only supported on project-based endpoints.")
	}
	return nil
}

// Current is how paths name what the caller works in now.
const Current = "@current"

// Project finds the project of a path: its number or @current.
func (s *Service) Project(ctx context.Context, c *Caller, named string) (*Standing, error) {
	st, err := s.findProject(ctx, c, named)
	if err != nil {
		return nil, err
	}
	return st, c.enter(st)
}

// VisibleProject is Project for paths that are a project's own: one that the
// caller may not be in is not there (§5.8).
func (s *Service) VisibleProject(ctx context.Context, c *Caller, named string) (*Standing, error) {
	st, err := s.findProject(ctx, c, named)
	if err != nil {
		return nil, err
	}
	if err := c.keyOpens(st); err != nil {
		return nil, err
	}
	if st.Organization == nil || !c.Reaches(st.Project) {
		return nil, ErrNoProject()
	}
	return st, c.enter(st)
}

func (s *Service) findProject(ctx context.Context, c *Caller, named string) (*Standing, error) {
	var st *Standing
	err := s.Desk.Store.Read(ctx, func(tx Tx) error {
		p, err := s.projectNamed(tx, c, named)
		if err == nil {
			st, err = StandIn(tx, c, p)
		}
		return err
	})
	return st, err
}

// StandIn is a caller in a project, let in or not, as it is now.
func StandIn(tx Tx, c *Caller, p *ProjectRecord) (st *Standing, err error) {
	st = &Standing{Caller: c, Project: p, Level: c.Level(p.Organization)}
	if st.Organization, err = tx.Organization(p.Organization); err == nil {
		st.rules, err = rulesAbout(tx, c, p)
	}
	return st, err
}

// UserIn is a user in a project without a key, as jobs stand there for whoever has asked
// for them: nil for one who may not be in it, or is gone.
func UserIn(tx Tx, user int64, p *ProjectRecord) (*Standing, error) {
	u, err := UserByNumber(tx, user)
	if err != nil || u == nil || u.Inactive {
		return nil, err
	}
	c, err := CallerFor(tx, u)
	if err != nil || !c.Reaches(p) {
		return nil, err
	}
	c.Key = &KeyRecord{}
	return StandIn(tx, c, p)
}

// keyOpens looks whether the lists of the key have a project (§1.6).
func (c *Caller) keyOpens(st *Standing) error {
	if len(c.Key.Projects) > 0 && !c.ScopedAll() && !slices.Contains(c.Key.Projects, st.Project.ID) {
		return Denied("API key does not have access to the requested project: ID %d.", st.Project.ID)
	}
	if !c.OpensOrganization(st.Project.Organization) {
		return Denied("API key does not have access to the requested organization: ID %s.", st.Project.Organization)
	}
	return nil
}

// enter looks whether the caller may be in a project (§1.5).
func (c *Caller) enter(st *Standing) error {
	if err := c.keyOpens(st); err != nil {
		return err
	}
	if st.Organization == nil || !c.Reaches(st.Project) {
		return Denied("You don't have access to the project.")
	}
	return KeysAllowed(st)
}

// KeysAllowed refuses the keys of members where the organization does not want
// them (§1.5).
func KeysAllowed(st *Standing) error {
	if st.Key.ID == "" { // no personal key
		return nil
	}
	meta, err := MetaOfOrganization(st.Organization)
	if err != nil || !meta.NoMemberKeys || st.Admin() {
		return err
	}
	return Denied("Organization '%s' does not allow using personal API keys. Contact an admin to enable personal API keys for this organization.", st.Organization.Name)
}

// ErrNoProject is the answer where there is no such project, or none that may be seen.
func ErrNoProject() error { return Missing("Project not found.") }

func (s *Service) projectNamed(tx Tx, c *Caller, named string) (*ProjectRecord, error) {
	id, err := strconv.ParseInt(named, 10, 64)
	if named == Current {
		return s.currentProject(tx, c)
	}
	if err != nil || id <= 0 || strconv.FormatInt(id, 10) != named {
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
func (s *Service) ProjectByKey(ctx context.Context, c *Caller, apiKey string) (*Standing, error) {
	var st *Standing
	err := s.Desk.Store.Read(ctx, func(tx Tx) error {
		p, err := tx.ProjectByKey(apiKey)
		if err == nil && p != nil {
			st, err = StandIn(tx, c, p)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if st == nil {
		return nil, &Error{Kind: Unauthenticated, Code: "authentication_failed", Message: "Project token is invalid."}
	}
	return st, c.enter(st)
}

// currentProject is the one that the user has chosen, or the first that the user
// and the key reach.
func (s *Service) currentProject(tx Tx, c *Caller) (*ProjectRecord, error) {
	usable := func(p *ProjectRecord) bool {
		return p != nil && c.Reaches(p) && c.keyOpens(&Standing{Project: p}) == nil
	}
	if c.User.Project != 0 {
		if p, err := tx.Project(c.User.Project); err != nil || usable(p) {
			return p, err
		}
	}
	for _, m := range c.Memberships {
		list, err := tx.Projects(m.Organization)
		if err != nil {
			return nil, err
		}
		for i := range list {
			if usable(&list[i]) {
				return &list[i], nil
			}
		}
	}
	return nil, ErrNoProject()
}

// OrganizationNamed finds the organization of a path: its id or @current. Only
// members get in, whose level st.Level is.
func (s *Service) OrganizationNamed(ctx context.Context, c *Caller, named string) (*Standing, error) {
	if err := c.WithoutProject(); err != nil {
		return nil, err
	}
	st := &Standing{Caller: c}
	err := s.Desk.Store.Read(ctx, func(tx Tx) (err error) {
		id := named
		if named == Current {
			id = c.CurrentOrganization()
		}
		id, ok := NormalUUID(id)
		if !ok {
			return Missing("Organization not found.")
		}
		if st.Organization, err = tx.Organization(id); err == nil && st.Organization == nil {
			err = Missing("Organization not found.")
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if !c.OpensOrganization(st.Organization.ID) {
		return nil, Denied("API key does not have access to the requested organization: ID %s.", st.Organization.ID)
	}
	if st.Level = c.Level(st.Organization.ID); st.Level == 0 {
		return nil, Denied(MsgNoPermission)
	}
	return st, KeysAllowed(st)
}

// OwnOrganization is OrganizationNamed for paths that are an organization's own:
// one that the caller or the key does not reach is not there (§1.5, §1.6).
func (s *Service) OwnOrganization(ctx context.Context, c *Caller, named string) (*Standing, error) {
	if err := c.WithoutProject(); err != nil {
		return nil, err
	}
	id, ok := NormalUUID(named)
	if named == Current {
		if id = c.CurrentOrganization(); id == "" {
			return nil, Missing("Current organization not found.")
		}
	} else if !ok {
		return nil, ErrNotFound()
	}
	if c.Level(id) == 0 || !c.OpensOrganization(id) {
		return nil, ErrNotFound()
	}
	return s.OrganizationNamed(ctx, c, id)
}

// OpensOrganization reports whether the list of the key has an organization
// (§1.6).
func (c *Caller) OpensOrganization(id string) bool {
	return len(c.Key.Organizations) == 0 || c.ScopedAll() || slices.Contains(c.Key.Organizations, id)
}

// CurrentOrganization is the one that the user has chosen, or the first that the
// key opens.
func (c *Caller) CurrentOrganization() string {
	if c.Level(c.User.Organization) > 0 {
		return c.User.Organization
	}
	for _, m := range c.Memberships {
		if c.OpensOrganization(m.Organization) {
			return m.Organization
		}
	}
	return ""
}

// Anywhere is a place without project and organization.
func (c *Caller) Anywhere() *Standing { return &Standing{Caller: c} }

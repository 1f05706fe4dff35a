package organizations

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/lists"
	"github.com/bunting-flags/bunting/management/internal/records"
	"github.com/bunting-flags/bunting/management/internal/resource"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// Members manages the members of organizations (§4.6). The id of a member is the uuid of the user, or
// @me. Update changes the level; demoting an owner requires a recent proof of identity. Delete ends a
// membership, the caller's own or that of another member; owners cannot be removed.
type Members struct {
	*core
	resource.Resource[Tx, member, organizationMember]
}

// member is a membership with its user, and the caller's own membership.
type member struct {
	management.Membership
	user *management.User
	own  *management.Membership
}

func newMembers(c *core) (s Members) {
	s.core = c
	s.Resource = resource.NewResource(&c.Env, resource.Spec[Tx, member, organizationMember]{
		ActivityScope: scopeMember, Changes: memberFields, Parent: organizationParent,
		Header: func(_ *management.Scope, m *member) resource.RecordHeader {
			return resource.RecordHeader{ID: m.ID, Title: m.user.Email}
		},
		Load:            func(v *view, id string, _ *management.Body) (*member, error) { return loadMember(v, id) },
		AuthorizeChange: checkMemberEdit,
		Rules:           s.changeLevel,
		BeforeDelete: func(e *resource.Edit[Tx, member]) error {
			if e.After.Level == management.Owner {
				return management.Fault("", "Cannot leave the organization as its owner!")
			}
			return nil
		},
		Put:    func(v *view, m *member) error { return records.PutMembership(v.Tx, &m.Membership) },
		Delete: func(v *view, m *member) error { return c.removeMember(v.Tx, m.Organization, m.User) },
		Show: func(v *view, m *member) (*organizationMember, error) {
			out := viewMember(&m.Membership, m.user)
			return out, out.setSocialAuth(v.Tx)
		},
		Audit: func(m *member) any { return viewMember(&m.Membership, m.user) },
	})
	return s
}

// scopeMember is the Activity.Scope of members.
const scopeMember = "OrganizationMembership"

// organizationMember is a member in responses (§2.9 of the interface). Has2FA is
// constant. SocialAuth reports whether an account at a provider is linked; it is always false in the
// log. LastLogin is the time of the last sign-in with a browser, null if there was none.
type organizationMember struct {
	// ID is the id of the membership; paths name members by the uuid of the user.
	ID         string               `json:"id"`
	User       *management.UserView `json:"user"`
	Level      management.Level     `json:"level"`
	Joined     management.Stamp     `json:"joined_at"`
	Updated    management.Stamp     `json:"updated_at"`
	Has2FA     bool                 `json:"is_2fa_enabled"`
	SocialAuth bool                 `json:"has_social_auth"`
	LastLogin  management.Stamp     `json:"last_login"`
}

// levels are the valid levels of members.
var levels = []int64{int64(management.Member), int64(management.Admin), int64(management.Owner)}

// memberFields are the writable fields of a member.
var memberFields = management.Fields{{Name: "level", Type: management.IntChoice, Numbers: levels, Custom: true, Help: "membership level: 1 member, 8 administrator, 15 owner"}}

// viewMember returns the form of a member in responses.
func viewMember(m *management.Membership, u *management.User) *organizationMember {
	out := &organizationMember{ID: m.ID, User: u.View(), Level: m.Level, Joined: m.Joined, Updated: m.Updated}
	if u != nil {
		out.LastLogin = u.LastLogin
	}
	return out
}

// setSocialAuth sets SocialAuth of a member.
func (m *organizationMember) setSocialAuth(tx Tx) (err error) {
	m.SocialAuth, err = hasIdentity(tx, m.User.UUID)
	return err
}

// MemberQuery selects members of a list. Zero fields select all.
type MemberQuery struct {
	management.Page
	Email        string // in any case
	Search       string // part of the address or a name, at most MaxSearch characters
	UpdatedAfter time.Time
	Latest       bool // newest members first
}

// match reports whether the query selects a member.
func (q *MemberQuery) match(m *organizationMember) bool {
	return (q.Email == "" || strings.EqualFold(m.User.Email, q.Email)) &&
		(lists.ContainsFold(m.User.Email, q.Search) || lists.ContainsFold(m.User.FirstName, q.Search) || lists.ContainsFold(m.User.LastName, q.Search)) &&
		lists.IsBetween(m.Updated, q.UpdatedAfter, time.Time{})
}

// List returns a page of the active members, in the order in which they joined.
func (s Members) List(ctx context.Context, scope *management.Scope, q MemberQuery) (management.List[organizationMember], error) {
	if err := lists.CheckSearch(q.Search); err != nil {
		return management.List[organizationMember]{}, err
	}
	return management.Read(ctx, &s.Env, func(tx Tx) (out management.List[organizationMember], err error) {
		// The filters need the users, so all memberships are read, and the page is cut afterwards.
		records, _, err := tx.List(management.Query{Kind: storage.KindMember, Parent: scope.Organization.ID, Descending: q.Latest})
		if err != nil {
			return out, err
		}
		for i := range records {
			m, u, err := memberOf(tx, scope.Organization.ID, records[i].ID)
			if isMissing(err) { // inactive user
				continue
			}
			if err != nil {
				return out, err
			}
			if view := viewMember(m, u); q.match(view) {
				out.Results = append(out.Results, *view)
			}
		}
		out.Results, out.Count = lists.PageOf(out.Results, q.Page)
		for i := range out.Results {
			if err := out.Results[i].setSocialAuth(tx); err != nil {
				return out, err
			}
		}
		return out, nil
	})
}

// isMissing reports whether an error is a management.Error of kind NotFound.
func isMissing(err error) bool {
	var apiErr *management.Error
	return errors.As(err, &apiErr) && apiErr.Kind == management.NotFound
}

// self is the name of the caller in paths.
const self = "@me"

// memberOf returns a member by the uuid of the user. Inactive users are hidden, so they are
// NotFound (§4.6).
func memberOf(tx Tx, organization, uuid string) (*management.Membership, *management.User, error) {
	m, err := records.Existing(management.MembershipOf(tx, organization, uuid))
	if err != nil {
		return nil, nil, err
	}
	u, err := management.UserByUUID(tx, m.User)
	if err == nil && (u == nil || u.Inactive) {
		err = management.ErrNotFound()
	}
	return m, u, err
}

// loadMember returns the member that a path names. The caller must be a member, too.
func loadMember(v *view, ref string) (*member, error) {
	// The membership may have ended since the request was admitted.
	own, err := management.MembershipOf(v.Tx, v.Organization.ID, v.User.UUID)
	if err == nil && own == nil {
		err = management.Denied(management.MsgNoPermission)
	}
	if err != nil {
		return nil, err
	}
	if ref == self {
		ref = v.User.UUID
	}
	id, ok := management.NormalizeUUID(ref)
	if !ok {
		return nil, nil
	}
	m, u, err := memberOf(v.Tx, v.Organization.ID, id)
	if err != nil {
		return nil, err
	}
	return &member{*m, u, own}, nil
}

// checkMemberEdit returns an error if the caller may not change a member at all.
func checkMemberEdit(_ *view, m *member) error {
	switch {
	// Members may leave; changeLevel has its own check of the own level.
	case m.own.User == m.User:
		return nil
	case m.own.Level < management.Admin:
		return management.Denied("You can only edit others if you are an admin.")
	case m.Level > m.own.Level:
		return management.Denied("You can only edit others with level lower or equal to you.")
	}
	return nil
}

// changeLevel applies a body to a member. A body without a level is valid and changes nothing.
func (s Members) changeLevel(e *resource.Edit[Tx, member]) error {
	m, level := e.After, management.Level(e.Values.Int("level"))
	switch {
	case !e.Values.Has("level"):
		return nil
	// Otherwise the last owner could give up the level and leave the organization without one.
	case m.own.User == m.User:
		return management.Denied("You can't change your own access level.")
	case level == management.Owner && m.own.Level < management.Owner:
		return management.Denied("You can only make another member owner if you're this organization's owner.")
	case level > m.own.Level:
		return management.Denied("You can only change access level of others to lower or equal to your current one.")
	}
	// Demoting an owner can lock people out, so a stolen session must not be enough.
	if m.Level == management.Owner && level < management.Owner {
		if err := e.RequireProof(s.Env.Now()); err != nil {
			return err
		}
	}
	m.Level, m.Updated = level, management.NewStamp(s.Env.Now())
	return nil
}

// removeMember removes a user from an organization, with the user's roles and rules there. If the
// user's current organization or project was there, another one is selected.
func (s *core) removeMember(tx Tx, organization, uuid string) error {
	m, err := management.MembershipOf(tx, organization, uuid)
	if err != nil || m == nil {
		return err
	}
	// Rules name the membership or the user. They must not apply if the user rejoins later.
	if err := management.DeleteMemberRules(tx, m); err != nil {
		return err
	}
	if err := tx.Delete(storage.KindMember, organization, uuid); err != nil {
		return err
	}
	if err := removeRoles(tx, organization, uuid); err != nil {
		return err
	}
	projects, err := tx.Projects(organization)
	if err != nil {
		return err
	}
	u, err := management.UserByUUID(tx, uuid)
	if err != nil || u == nil {
		return err
	}
	// The current project may belong to this organization although another one is selected.
	leavesProject := slices.ContainsFunc(projects, func(p management.ProjectRecord) bool { return p.ID == u.Project })
	if u.Organization != organization && !leavesProject {
		return nil
	}
	// CallerFor reads the memberships without the deleted one.
	c, err := management.CallerFor(tx, u)
	if err != nil {
		return err
	}
	u.Organization, u.Project = "", 0
	o, p, err := findCurrent(tx, c)
	if err != nil {
		return err
	}
	if o != nil {
		u.Organization = o.ID
	}
	if p != nil {
		u.Project = p.ID
	}
	return records.PutUser(tx, u)
}

// memberKeys is the response with the keys of a member that open the organization (§4.6).
type memberKeys struct {
	// ActiveWeek reports whether one of the keys was used within the last seven days.
	HasKeys    bool        `json:"has_keys"`
	ActiveWeek bool        `json:"has_keys_active_last_week"`
	Keys       []memberKey `json:"keys"`
}

// memberKey is a key in that response.
type memberKey struct {
	Name       string           `json:"name"`
	LastUsedAt management.Stamp `json:"last_used_at"`
}

// Keys returns the keys of a member that open the organization or a project of it. Only
// administrators may read the keys of other members.
func (s Members) Keys(ctx context.Context, scope *management.Scope, ref string) (*memberKeys, error) {
	return resource.ReadOne(ctx, s.Resource, scope, ref, func(v *view, m *member) (*memberKeys, error) {
		if m.own.User != m.User && m.own.Level < management.Admin {
			return nil, management.Denied(management.MsgLevel)
		}
		// All keys of the user are read, and filtered by their lists below.
		keys, err := v.Tx.Keys(m.user.ID)
		if err != nil {
			return nil, err
		}
		projects, err := v.Tx.Projects(m.Organization)
		if err != nil {
			return nil, err
		}
		out := &memberKeys{Keys: []memberKey{}}
		for i := range keys {
			k := &keys[i]
			// A Caller without user is enough to check the lists of the key.
			c := management.Caller{Key: k}
			// A key that is limited to projects opens the organization through any of its projects,
			// and only if its list of organizations allows it. The lists of a key without scopes do
			// not count.
			opens := len(k.Projects) == 0 || c.HasAllScopes() || slices.ContainsFunc(projects, func(p management.ProjectRecord) bool { return slices.Contains(k.Projects, p.ID) })
			if !opens || !c.CanOpenOrganization(m.Organization) {
				continue
			}
			out.Keys = append(out.Keys, memberKey{k.Label, management.NewStamp(k.LastUsedAt)})
			out.ActiveWeek = out.ActiveWeek || !k.LastUsedAt.IsZero() && s.Env.Now().Sub(k.LastUsedAt) < 7*24*time.Hour
		}
		out.HasKeys = len(out.Keys) > 0
		return out, nil
	})
}

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
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// Members manages the members of organizations (§4.6).
type Members struct{ *core }

// scopeMember is the Activity.Scope of members.
const scopeMember = "OrganizationMembership"

// OrganizationMember is a member in responses (§2.9 of the interface). Has2FA is
// constant. SocialAuth reports whether an account at a provider is linked; it is always false in the
// log. LastLogin is the time of the last sign-in with a browser, null if there was none.
type OrganizationMember struct {
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

// MemberFields are the writable fields of a member.
var MemberFields = management.Fields{{Name: "level", Type: management.IntChoice, Numbers: levels, Help: "membership level: 1 member, 8 administrator, 15 owner"}}

// viewMember returns the form of a member in responses.
func viewMember(m *management.Membership, u *management.User) *OrganizationMember {
	out := &OrganizationMember{ID: m.ID, User: u.View(), Level: m.Level, Joined: m.Joined, Updated: m.Updated}
	if u != nil {
		out.LastLogin = u.LastLogin
	}
	return out
}

// setSocialAuth sets SocialAuth of a member.
func (m *OrganizationMember) setSocialAuth(tx Tx) (err error) {
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
func (q *MemberQuery) match(m *OrganizationMember) bool {
	return (q.Email == "" || strings.EqualFold(m.User.Email, q.Email)) &&
		(lists.ContainsFold(m.User.Email, q.Search) || lists.ContainsFold(m.User.FirstName, q.Search) || lists.ContainsFold(m.User.LastName, q.Search)) &&
		lists.IsBetween(m.Updated, q.UpdatedAfter, time.Time{})
}

// List returns a page of the active members, in the order in which they joined.
func (s Members) List(ctx context.Context, scope *management.Scope, q MemberQuery) (management.List[OrganizationMember], error) {
	if err := lists.CheckSearch(q.Search); err != nil {
		return management.List[OrganizationMember]{}, err
	}
	return management.Read(ctx, &s.Env, func(tx Tx) (out management.List[OrganizationMember], err error) {
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

// me is the name of the caller in paths.
const me = "@me"

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

// loadMembers returns the caller's own membership, and the membership and user that a path names.
func loadMembers(tx Tx, scope *management.Scope, ref string) (own, other *management.Membership, u *management.User, err error) {
	// The membership may have ended since the request was admitted.
	if own, err = management.MembershipOf(tx, scope.Organization.ID, scope.User.UUID); err == nil && own == nil {
		err = management.Denied(management.MsgNoPermission)
	}
	if err != nil {
		return nil, nil, nil, err
	}
	if ref == me {
		ref = scope.User.UUID
	}
	id, ok := management.NormalizeUUID(ref)
	if !ok {
		return nil, nil, nil, management.ErrNotFound()
	}
	other, u, err = memberOf(tx, scope.Organization.ID, id)
	return own, other, u, err
}

// checkMemberEdit returns an error if the member m may not change the member other at all.
func checkMemberEdit(m, other *management.Membership) error {
	switch {
	// Members may leave; Update has its own check of the own level.
	case m.User == other.User:
		return nil
	case m.Level < management.Admin:
		return management.Denied("You can only edit others if you are an admin.")
	case other.Level > m.Level:
		return management.Denied("You can only edit others with level lower or equal to you.")
	}
	return nil
}

// Update changes the level of a member. ref is the uuid of the user or @me. Demoting an owner
// requires a recent proof of identity.
func (s Members) Update(ctx context.Context, scope *management.Scope, ref string, b management.Body) (*OrganizationMember, error) {
	return management.Write(ctx, &s.Env, func(tx Tx) (*OrganizationMember, error) {
		own, other, u, err := loadMembers(tx, scope, ref)
		if err != nil {
			return nil, err
		}
		if err := checkMemberEdit(own, other); err != nil {
			return nil, err
		}
		// A body without a level is valid and changes nothing.
		v, err := MemberFields.Change(b)
		if err != nil {
			return nil, err
		}
		before := viewMember(other, u)
		if err := before.setSocialAuth(tx); err != nil || !v.Has("level") {
			return before, err
		}
		level := management.Level(v.Int("level"))
		switch {
		// Otherwise the last owner could give up the level and leave the organization without one.
		case own.User == other.User:
			return nil, management.Denied("You can't change your own access level.")
		case level == management.Owner && own.Level < management.Owner:
			return nil, management.Denied("You can only make another member owner if you're this organization's owner.")
		case level > own.Level:
			return nil, management.Denied("You can only change access level of others to lower or equal to your current one.")
		}
		// Demoting an owner can lock people out, so a stolen session must not be enough.
		if other.Level == management.Owner && level < management.Owner {
			if err := scope.RequireProof(s.Env.Now()); err != nil {
				return nil, err
			}
		}
		other.Level, other.Updated = level, management.NewStamp(s.Env.Now())
		if err := records.PutMembership(tx, other); err != nil {
			return nil, err
		}
		after := viewMember(other, u)
		after.SocialAuth = before.SocialAuth
		return after, s.Env.LogActivity(tx, scope.Caller, scope.Organization.ID, scopeMember, other.ID, u.Email, before, after)
	})
}

// Delete ends a membership, the caller's own or that of another member. Owners cannot be removed.
func (s Members) Delete(ctx context.Context, scope *management.Scope, ref string) error {
	return s.Env.Store.Write(ctx, func(tx Tx) error {
		own, other, u, err := loadMembers(tx, scope, ref)
		if err != nil {
			return err
		}
		if err := checkMemberEdit(own, other); err != nil {
			return err
		}
		if other.Level == management.Owner {
			return management.Fault("", "Cannot leave the organization as its owner!")
		}
		if err := s.removeMember(tx, scope.Organization.ID, other.User); err != nil {
			return err
		}
		return s.Env.LogActivity(tx, scope.Caller, scope.Organization.ID, scopeMember, other.ID, u.Email, viewMember(other, u), nil)
	})
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
	return management.Read(ctx, &s.Env, func(tx Tx) (*memberKeys, error) {
		own, other, u, err := loadMembers(tx, scope, ref)
		if err != nil {
			return nil, err
		}
		if own.User != other.User && own.Level < management.Admin {
			return nil, management.Denied(management.MsgLevel)
		}
		// All keys of the user are read, and filtered by their lists below.
		keys, err := tx.Keys(u.ID)
		if err != nil {
			return nil, err
		}
		projects, err := tx.Projects(scope.Organization.ID)
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
			if !opens || !c.CanOpenOrganization(scope.Organization.ID) {
				continue
			}
			out.Keys = append(out.Keys, memberKey{k.Label, management.NewStamp(k.LastUsedAt)})
			out.ActiveWeek = out.ActiveWeek || !k.LastUsedAt.IsZero() && s.Env.Now().Sub(k.LastUsedAt) < 7*24*time.Hour
		}
		out.HasKeys = len(out.Keys) > 0
		return out, nil
	})
}

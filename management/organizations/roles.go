package organizations

import (
	"context"
	"errors"
	"github.com/bunting-flags/bunting/management"
	"strings"
)

// The kinds of records of this file. The Parent of a role is its organization,
// that of a membership of a role the role; Other is the user's uuid.
const (
	kindRoleMember = "role_member"
)

// scopeRole is what the log calls a role.
const scopeRole = "Role"

// Role is a group of members of an organization (§5.1.3).
type Role struct {
	ID        string               `json:"id"`
	Name      string               `json:"name"`
	CreatedAt management.Stamp     `json:"created_at"`
	CreatedBy *management.UserView `json:"created_by"`
	Members   []RoleMember         `json:"members"`
	Default   bool                 `json:"is_default"`
}

// RoleMember is a member's place in a role.
type RoleMember struct {
	ID      string               `json:"id"`
	Role    string               `json:"role_id"`
	Member  *OrganizationMember  `json:"organization_member"`
	User    *management.UserView `json:"user"`
	Joined  management.Stamp     `json:"joined_at"`
	Updated management.Stamp     `json:"updated_at"`
}

// RoleFields are the writable fields of a role, RoleMemberFields those of a place
// in one.
var (
	RoleFields       = management.Fields{{Name: "name", Type: management.Text, Required: true, Max: 200}}
	RoleMemberFields = management.Fields{{Name: "user_uuid", Type: management.UUID, Required: true, Help: "a member of the organization"}}
)

// storedRole and storedRoleMember are how they are stored.
type storedRole struct {
	ID        string           `json:"id"`
	Name      string           `json:"name"`
	CreatedAt management.Stamp `json:"created_at"`
	// By is the number of who made it, 0 where a key did: whom a key stands for is
	// not told (spec/clients.md §1.2). What stands under created_by was always made
	// by one.
	By int64 `json:"by,omitempty"`
}

type storedRoleMember struct {
	ID           string           `json:"id"`
	Organization string           `json:"organization"`
	Role         string           `json:"role"`
	User         string           `json:"user"` // uuid
	Joined       management.Stamp `json:"joined_at"`
}

// role is a role as it is shown.
func (r *storedRole) view(tx Tx, o *management.OrganizationRecord) (*Role, error) {
	meta, err := management.MetaOfOrganization(o)
	if err != nil {
		return nil, err
	}
	out := &Role{ID: r.ID, Name: r.Name, CreatedAt: r.CreatedAt, Default: meta.DefaultRole != nil && *meta.DefaultRole == r.ID}
	if out.CreatedBy, err = management.ViewOfUser(tx, r.By); err != nil {
		return nil, err
	}
	members, err := roleMembers(tx, management.Query{Kind: kindRoleMember, Parent: r.ID})
	out.Members = members.Results
	return out, err
}

func roleMembers(tx Tx, q management.Query) (management.List[RoleMember], error) {
	records, count, err := tx.List(q)
	if err != nil {
		return management.List[RoleMember]{}, err
	}
	out := management.List[RoleMember]{Count: count, Results: make([]RoleMember, 0, len(records))}
	for i := range records {
		m, err := management.Decode[storedRoleMember](&records[i])
		if err != nil {
			return management.List[RoleMember]{}, err
		}
		v, err := m.view(tx)
		if err != nil {
			return management.List[RoleMember]{}, err
		}
		out.Results = append(out.Results, *v)
	}
	return out, nil
}

func (m *storedRoleMember) view(tx Tx) (*RoleMember, error) {
	out := &RoleMember{ID: m.ID, Role: m.Role, Joined: m.Joined, Updated: m.Joined}
	u, err := management.UserByUUID(tx, m.User)
	if err != nil {
		return nil, err
	}
	out.User = u.View()
	if member, err := management.MembershipOf(tx, m.Organization, m.User); err != nil {
		return nil, err
	} else if member != nil {
		out.Member = viewMember(member, u)
	}
	return out, nil
}

// storedRoleOf finds a role, nil for none.
func storedRoleOf(tx Tx, st *management.Standing, id string) (*storedRole, error) {
	id, ok := management.NormalUUID(id)
	if !ok {
		return nil, nil
	}
	r, err := tx.Get(management.KindRole, st.Organization.ID, id)
	if err != nil {
		return nil, err
	}
	return management.Decode[storedRole](r)
}

func foundRole(tx Tx, st *management.Standing, id string) (*storedRole, error) {
	r, err := storedRoleOf(tx, st, id)
	if err == nil && r == nil {
		err = management.ErrNotFound()
	}
	return r, err
}

func putRole(tx Tx, organization string, r *storedRole) error {
	err := tx.Put(&management.Record{
		Kind: management.KindRole, Parent: organization, ID: r.ID, Sort: strings.ToLower(r.Name),
		Unique: organization + "/" + strings.ToLower(r.Name), Data: management.Encode(r),
	})
	if errors.Is(err, management.ErrTaken) {
		return management.Coded(management.CodeUnique, "name", "There is already a role with this name.")
	}
	return err
}

// Roles returns a page of the roles of the organization, by name.
func (s Service) Roles(ctx context.Context, st *management.Standing, p management.Page) (management.List[Role], error) {
	return management.Read(ctx, &s.Desk, func(tx Tx) (management.List[Role], error) {
		stored, err := management.ListRecords[storedRole](tx, management.Query{Kind: management.KindRole, Parent: st.Organization.ID, Offset: p.Offset, Limit: p.Limit})
		out := management.List[Role]{Count: stored.Count}
		for i := range stored.Results {
			r, err := stored.Results[i].view(tx, st.Organization)
			if err != nil {
				return management.List[Role]{}, err
			}
			out.Results = append(out.Results, *r)
		}
		return out, err
	})
}

// Role returns one role.
func (s Service) Role(ctx context.Context, st *management.Standing, id string) (*Role, error) {
	return management.Read(ctx, &s.Desk, func(tx Tx) (*Role, error) {
		r, err := foundRole(tx, st, id)
		if err != nil {
			return nil, err
		}
		return r.view(tx, st.Organization)
	})
}

// CreateRole makes a role.
func (s Service) CreateRole(ctx context.Context, st *management.Standing, b management.Body) (*Role, error) {
	if !st.Admin() {
		return nil, management.Denied(management.MsgLevel)
	}
	return management.Write(ctx, &s.Desk, func(tx Tx) (*Role, error) {
		v, err := RoleFields.Create(b)
		if err != nil {
			return nil, err
		}
		r := &storedRole{ID: s.Desk.NewID(), Name: v.Text("name"), CreatedAt: management.At(s.Desk.Now())}
		if st.Key == nil {
			r.By = st.User.ID
		}
		if err := putRole(tx, st.Organization.ID, r); err != nil {
			return nil, err
		}
		out, err := r.view(tx, st.Organization)
		if err != nil {
			return nil, err
		}
		return out, s.Desk.Note(tx, st.Caller, st.Organization.ID, scopeRole, r.ID, r.Name, nil, out)
	})
}

// UpdateRole changes a role. put: all required fields have to be there.
func (s Service) UpdateRole(ctx context.Context, st *management.Standing, id string, b management.Body, put bool) (*Role, error) {
	if !st.Admin() {
		return nil, management.Denied(management.MsgLevel)
	}
	return management.Write(ctx, &s.Desk, func(tx Tx) (*Role, error) {
		r, err := foundRole(tx, st, id)
		if err != nil {
			return nil, err
		}
		v, err := RoleFields.Update(b, put)
		if err != nil {
			return nil, err
		}
		before, err := r.view(tx, st.Organization)
		if err != nil {
			return nil, err
		}
		management.Set(v, "name", &r.Name)
		if err := putRole(tx, st.Organization.ID, r); err != nil {
			return nil, err
		}
		after := *before
		after.Name = r.Name
		return &after, s.Desk.Note(tx, st.Caller, st.Organization.ID, scopeRole, r.ID, r.Name, before, &after)
	})
}

// DeleteRole takes a role away, and everybody out of it.
func (s Service) DeleteRole(ctx context.Context, st *management.Standing, id string) error {
	if !st.Admin() {
		return management.Denied(management.MsgLevel)
	}
	return s.Desk.Store.Write(ctx, func(tx Tx) error {
		r, err := foundRole(tx, st, id)
		if err != nil {
			return err
		}
		before, err := r.view(tx, st.Organization)
		if err != nil {
			return err
		}
		if err := tx.DeleteUnder(kindRoleMember, r.ID); err != nil {
			return err
		}
		if err := tx.Delete(management.KindRole, st.Organization.ID, r.ID); err != nil {
			return err
		}
		if before.Default {
			if err := s.noDefaultRole(tx, st); err != nil {
				return err
			}
		}
		return s.Desk.Note(tx, st.Caller, st.Organization.ID, scopeRole, r.ID, r.Name, before, nil)
	})
}

func (s Service) noDefaultRole(tx Tx, st *management.Standing) error {
	now, err := s.again(tx, st)
	if err != nil {
		return err
	}
	meta, err := management.MetaOfOrganization(now.Organization)
	if err != nil {
		return err
	}
	meta.DefaultRole = nil
	now.Organization.Meta = management.Encode(meta)
	return tx.PutOrganization(now.Organization)
}

// RoleMembers returns a page of those who have a role, in the order in which they
// got it.
func (s Service) RoleMembers(ctx context.Context, st *management.Standing, role string, p management.Page) (management.List[RoleMember], error) {
	return management.Read(ctx, &s.Desk, func(tx Tx) (management.List[RoleMember], error) {
		r, err := foundRole(tx, st, role)
		if err != nil {
			return management.List[RoleMember]{}, err
		}
		return roleMembers(tx, management.Query{Kind: kindRoleMember, Parent: r.ID, Offset: p.Offset, Limit: p.Limit})
	})
}

// JoinRole gives a role to a member of the organization.
func (s Service) JoinRole(ctx context.Context, st *management.Standing, role string, b management.Body) (*RoleMember, error) {
	if !st.Admin() {
		return nil, management.Denied(management.MsgLevel)
	}
	return management.Write(ctx, &s.Desk, func(tx Tx) (*RoleMember, error) {
		v, err := RoleMemberFields.Create(b)
		if err != nil {
			return nil, err
		}
		r, err := storedRoleOf(tx, st, role)
		if err == nil && r == nil {
			err = management.Fault("", "Role does not exist.")
		}
		if err != nil {
			return nil, err
		}
		member, err := management.MembershipOf(tx, st.Organization.ID, v.Text("user_uuid"))
		if err == nil && member == nil {
			err = management.Fault("", "User does not exist.")
		}
		if err != nil {
			return nil, err
		}
		m := &storedRoleMember{ID: s.Desk.NewID(), Organization: st.Organization.ID, Role: r.ID, User: member.User, Joined: management.At(s.Desk.Now())}
		err = tx.Put(&management.Record{
			Kind: kindRoleMember, Parent: r.ID, ID: m.ID, Other: m.User, Sort: management.SortTime(m.Joined.Time), Unique: r.ID + "/" + m.User, Data: management.Encode(m),
		})
		if errors.Is(err, management.ErrTaken) {
			err = management.Fault("", "User is already part of the role.")
		}
		if err != nil {
			return nil, err
		}
		return m.view(tx)
	})
}

// RoleMember returns the place of a member in a role. id is that of the place.
func (s Service) RoleMember(ctx context.Context, st *management.Standing, role, id string) (*RoleMember, error) {
	return management.Read(ctx, &s.Desk, func(tx Tx) (*RoleMember, error) {
		m, err := placeInRole(tx, st, role, id)
		if err != nil {
			return nil, err
		}
		return m.view(tx)
	})
}

func placeInRole(tx Tx, st *management.Standing, role, id string) (*storedRoleMember, error) {
	r, err := foundRole(tx, st, role)
	if err != nil {
		return nil, err
	}
	id, ok := management.NormalUUID(id)
	if !ok {
		return nil, management.ErrNotFound()
	}
	record, err := tx.Get(kindRoleMember, r.ID, id)
	if err == nil && record == nil {
		err = management.ErrNotFound()
	}
	if err != nil {
		return nil, err
	}
	return management.Decode[storedRoleMember](record)
}

// LeaveRole takes a role from a member. id is that of the place in the role.
func (s Service) LeaveRole(ctx context.Context, st *management.Standing, role, id string) error {
	if !st.Admin() {
		return management.Denied(management.MsgLevel)
	}
	return s.Desk.Store.Write(ctx, func(tx Tx) error {
		m, err := placeInRole(tx, st, role, id)
		if err != nil {
			return err
		}
		return tx.Delete(kindRoleMember, m.Role, m.ID)
	})
}

// leaveRoles takes all roles of an organization from a user.
func leaveRoles(tx Tx, organization, uuid string) error {
	list, _, err := tx.List(management.Query{Kind: kindRoleMember, Other: uuid})
	if err != nil {
		return err
	}
	for i := range list {
		m, err := management.Decode[storedRoleMember](&list[i])
		if err != nil {
			return err
		}
		if m.Organization != organization {
			continue
		}
		if err := tx.Delete(kindRoleMember, m.Role, m.ID); err != nil {
			return err
		}
	}
	return nil
}

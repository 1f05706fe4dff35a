package management

import (
	"context"
	"errors"
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
	ID        string       `json:"id"`
	Name      string       `json:"name"`
	CreatedAt Stamp        `json:"created_at"`
	CreatedBy *UserView    `json:"created_by"`
	Members   []RoleMember `json:"members"`
	Default   bool         `json:"is_default"`
}

// RoleMember is a member's place in a role.
type RoleMember struct {
	ID      string    `json:"id"`
	Role    string    `json:"role_id"`
	User    *UserView `json:"user"`
	Joined  Stamp     `json:"joined_at"`
	Updated Stamp     `json:"updated_at"`
}

// RoleFields are the writable fields of a role, RoleMemberFields those of a place
// in one.
var (
	RoleFields       = Fields{{Name: "name", Type: Text, Required: true, Max: 200}}
	RoleMemberFields = Fields{{Name: "user_uuid", Type: UUID, Required: true, Help: "a member of the organization"}}
)

// storedRole and storedRoleMember are how they are stored.
type storedRole struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	CreatedAt Stamp  `json:"created_at"`
	// By is the number of who made it, 0 where a key did: whom a key stands for is
	// not told (spec/clients.md §1.2). What stands under created_by was always made
	// by one.
	By int64 `json:"by,omitempty"`
}

type storedRoleMember struct {
	ID           string `json:"id"`
	Organization string `json:"organization"`
	Role         string `json:"role"`
	User         string `json:"user"` // uuid
	Joined       Stamp  `json:"joined_at"`
}

// role is a role as it is shown.
func (r *storedRole) view(tx Tx, o *OrganizationRecord) (*Role, error) {
	meta, err := MetaOfOrganization(o)
	if err != nil {
		return nil, err
	}
	out := &Role{ID: r.ID, Name: r.Name, CreatedAt: r.CreatedAt, Default: meta.DefaultRole != nil && *meta.DefaultRole == r.ID}
	if out.CreatedBy, err = ViewOfUser(tx, r.By); err != nil {
		return nil, err
	}
	members, err := roleMembers(tx, Query{Kind: kindRoleMember, Parent: r.ID})
	out.Members = members.Results
	return out, err
}

func roleMembers(tx Tx, q Query) (List[RoleMember], error) {
	records, count, err := tx.List(q)
	if err != nil {
		return List[RoleMember]{}, err
	}
	out := List[RoleMember]{Count: count, Results: make([]RoleMember, 0, len(records))}
	for i := range records {
		m, err := Decode[storedRoleMember](&records[i])
		if err != nil {
			return List[RoleMember]{}, err
		}
		v, err := m.view(tx)
		if err != nil {
			return List[RoleMember]{}, err
		}
		out.Results = append(out.Results, *v)
	}
	return out, nil
}

func (m *storedRoleMember) view(tx Tx) (*RoleMember, error) {
	u, err := UserByUUID(tx, m.User)
	return &RoleMember{ID: m.ID, Role: m.Role, User: u.View(), Joined: m.Joined, Updated: m.Joined}, err
}

// storedRoleOf finds a role, nil for none.
func storedRoleOf(tx Tx, st *Standing, id string) (*storedRole, error) {
	id, ok := NormalUUID(id)
	if !ok {
		return nil, nil
	}
	r, err := tx.Get(KindRole, st.Organization.ID, id)
	if err != nil {
		return nil, err
	}
	return Decode[storedRole](r)
}

func foundRole(tx Tx, st *Standing, id string) (*storedRole, error) {
	r, err := storedRoleOf(tx, st, id)
	if err == nil && r == nil {
		err = ErrNotFound()
	}
	return r, err
}

func putRole(tx Tx, organization string, r *storedRole) error {
	err := tx.Put(&Record{
		Kind: KindRole, Parent: organization, ID: r.ID, Sort: strings.ToLower(r.Name),
		Unique: organization + "/" + strings.ToLower(r.Name), Data: Encode(r),
	})
	if errors.Is(err, ErrTaken) {
		return Coded(CodeUnique, "name", "There is already a role with this name.")
	}
	return err
}

// Roles returns a page of the roles of the organization, by name.
func (s Organizations) Roles(ctx context.Context, st *Standing, p Page) (List[Role], error) {
	return Read(ctx, &s.Desk, func(tx Tx) (List[Role], error) {
		stored, err := ListRecords[storedRole](tx, Query{Kind: KindRole, Parent: st.Organization.ID, Offset: p.Offset, Limit: p.Limit})
		out := List[Role]{Count: stored.Count}
		for i := range stored.Results {
			r, err := stored.Results[i].view(tx, st.Organization)
			if err != nil {
				return List[Role]{}, err
			}
			out.Results = append(out.Results, *r)
		}
		return out, err
	})
}

// Role returns one role.
func (s Organizations) Role(ctx context.Context, st *Standing, id string) (*Role, error) {
	return Read(ctx, &s.Desk, func(tx Tx) (*Role, error) {
		r, err := foundRole(tx, st, id)
		if err != nil {
			return nil, err
		}
		return r.view(tx, st.Organization)
	})
}

// CreateRole makes a role.
func (s Organizations) CreateRole(ctx context.Context, st *Standing, b Body) (*Role, error) {
	if !st.Admin() {
		return nil, Denied(msgLevel)
	}
	return Write(ctx, &s.Desk, func(tx Tx) (*Role, error) {
		v, err := RoleFields.Create(b)
		if err != nil {
			return nil, err
		}
		r := &storedRole{ID: s.Desk.NewID(), Name: v.Text("name"), CreatedAt: At(s.Desk.Now())}
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
func (s Organizations) UpdateRole(ctx context.Context, st *Standing, id string, b Body, put bool) (*Role, error) {
	if !st.Admin() {
		return nil, Denied(msgLevel)
	}
	return Write(ctx, &s.Desk, func(tx Tx) (*Role, error) {
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
		Set(v, "name", &r.Name)
		if err := putRole(tx, st.Organization.ID, r); err != nil {
			return nil, err
		}
		after := *before
		after.Name = r.Name
		return &after, s.Desk.Note(tx, st.Caller, st.Organization.ID, scopeRole, r.ID, r.Name, before, &after)
	})
}

// DeleteRole takes a role away, and everybody out of it.
func (s Organizations) DeleteRole(ctx context.Context, st *Standing, id string) error {
	if !st.Admin() {
		return Denied(msgLevel)
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
		if err := tx.Delete(KindRole, st.Organization.ID, r.ID); err != nil {
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

func (s Organizations) noDefaultRole(tx Tx, st *Standing) error {
	now, err := s.again(tx, st)
	if err != nil {
		return err
	}
	meta, err := MetaOfOrganization(now.Organization)
	if err != nil {
		return err
	}
	meta.DefaultRole = nil
	now.Organization.Meta = Encode(meta)
	return tx.PutOrganization(now.Organization)
}

// RoleMembers returns a page of those who have a role, in the order in which they
// got it.
func (s Organizations) RoleMembers(ctx context.Context, st *Standing, role string, p Page) (List[RoleMember], error) {
	return Read(ctx, &s.Desk, func(tx Tx) (List[RoleMember], error) {
		r, err := foundRole(tx, st, role)
		if err != nil {
			return List[RoleMember]{}, err
		}
		return roleMembers(tx, Query{Kind: kindRoleMember, Parent: r.ID, Offset: p.Offset, Limit: p.Limit})
	})
}

// JoinRole gives a role to a member of the organization.
func (s Organizations) JoinRole(ctx context.Context, st *Standing, role string, b Body) (*RoleMember, error) {
	if !st.Admin() {
		return nil, Denied(msgLevel)
	}
	return Write(ctx, &s.Desk, func(tx Tx) (*RoleMember, error) {
		v, err := RoleMemberFields.Create(b)
		if err != nil {
			return nil, err
		}
		r, err := storedRoleOf(tx, st, role)
		if err == nil && r == nil {
			err = Fault("", "Role does not exist.")
		}
		if err != nil {
			return nil, err
		}
		member, err := MembershipOf(tx, st.Organization.ID, v.Text("user_uuid"))
		if err == nil && member == nil {
			err = Fault("", "User does not exist.")
		}
		if err != nil {
			return nil, err
		}
		m := &storedRoleMember{ID: s.Desk.NewID(), Organization: st.Organization.ID, Role: r.ID, User: member.User, Joined: At(s.Desk.Now())}
		err = tx.Put(&Record{
			Kind: kindRoleMember, Parent: r.ID, ID: m.ID, Other: m.User, Sort: SortTime(m.Joined.Time), Unique: r.ID + "/" + m.User, Data: Encode(m),
		})
		if errors.Is(err, ErrTaken) {
			err = Fault("", "User is already part of the role.")
		}
		if err != nil {
			return nil, err
		}
		return m.view(tx)
	})
}

// RoleMember returns the place of a member in a role. id is that of the place.
func (s Organizations) RoleMember(ctx context.Context, st *Standing, role, id string) (*RoleMember, error) {
	return Read(ctx, &s.Desk, func(tx Tx) (*RoleMember, error) {
		m, err := placeInRole(tx, st, role, id)
		if err != nil {
			return nil, err
		}
		return m.view(tx)
	})
}

func placeInRole(tx Tx, st *Standing, role, id string) (*storedRoleMember, error) {
	r, err := foundRole(tx, st, role)
	if err != nil {
		return nil, err
	}
	id, ok := NormalUUID(id)
	if !ok {
		return nil, ErrNotFound()
	}
	record, err := tx.Get(kindRoleMember, r.ID, id)
	if err == nil && record == nil {
		err = ErrNotFound()
	}
	if err != nil {
		return nil, err
	}
	return Decode[storedRoleMember](record)
}

// LeaveRole takes a role from a member. id is that of the place in the role.
func (s Organizations) LeaveRole(ctx context.Context, st *Standing, role, id string) error {
	if !st.Admin() {
		return Denied(msgLevel)
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
	list, _, err := tx.List(Query{Kind: kindRoleMember, Other: uuid})
	if err != nil {
		return err
	}
	for i := range list {
		m, err := Decode[storedRoleMember](&list[i])
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

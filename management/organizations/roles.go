package organizations

import (
	"context"
	"strings"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/resource"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// RoleFields are the writable fields of a role, RoleMemberFields those of the assignment of a role
// to a member.
var (
	RoleFields       = management.Fields{{Name: "name", Type: management.Text, Required: true, MaxLength: 200}}
	RoleMemberFields = management.Fields{{Name: "user_uuid", Type: management.UUID, Required: true, Custom: true, Help: "uuid of a member of the organization"}}
)

// storedRoleMember is the stored form of an assignment.
type storedRoleMember struct {
	ID           string           `json:"id"`
	Organization string           `json:"organization"`
	Role         string           `json:"role"`
	User         string           `json:"user"` // uuid
	Joined       management.Stamp `json:"joined_at"`
}

// roleResource returns the resource of roles. Names are unique in an organization, regardless of
// case.
func (s *core) roleResource() resource.Resource[Tx, storedRole, role] {
	return resource.NewResource(&s.Env, resource.Spec[Tx, storedRole, role]{
		Kind: storage.KindRole, ActivityScope: "Role", Fields: RoleFields, AdminsOnly: true, Parent: organizationParent,
		Header: func(scope *management.Scope, r *storedRole) resource.RecordHeader {
			name := strings.ToLower(r.Name)
			return resource.RecordHeader{ID: r.ID, Title: r.Name, Sort: name, Unique: scope.Organization.ID + "/" + name}
		},
		New: func(v *view) (*storedRole, error) {
			r := &storedRole{roleSettings: roleSettings{ID: s.Env.NewID(), CreatedAt: management.NewStamp(s.Env.Now())}}
			// The creator is recorded only without a key: see By.
			if v.Key == nil {
				r.By = v.User.ID
			}
			return r, nil
		},
		OnDuplicate: func(bool) error {
			return management.CodedFault(management.CodeUnique, "name", "There is already a role with this name.")
		},
		BeforeDelete: s.beforeRoleDelete, Show: showRole,
	})
}

// showRole returns a role with its members in the form of responses.
func showRole(v *view, r *storedRole) (*role, error) {
	meta, err := management.MetaOfOrganization(v.Organization)
	if err != nil {
		return nil, err
	}
	out := &role{roleSettings: r.roleSettings, Default: meta.DefaultRole != nil && *meta.DefaultRole == r.ID}
	if out.CreatedBy, err = v.Author(r.By); err != nil {
		return nil, err
	}
	members, err := roleMembers(v, management.Query{Kind: storage.KindRoleMember, Parent: r.ID})
	out.Members = members.Results
	return out, err
}

// roleMembers returns the assignments that q selects in the form of responses.
func roleMembers(v *view, q management.Query) (management.List[roleMember], error) {
	// Count is that of all assignments, Results has only the page.
	list, err := management.ListRecords[storedRoleMember](v.Tx, q)
	out := management.List[roleMember]{Count: list.Count, Results: make([]roleMember, 0, len(list.Results))}
	for i := 0; i < len(list.Results) && err == nil; i++ {
		var entry *roleMember
		if entry, err = showRoleMember(v, &list.Results[i]); err == nil {
			out.Results = append(out.Results, *entry)
		}
	}
	return out, err
}

// showRoleMember returns an assignment in the form of responses.
func showRoleMember(v *view, m *storedRoleMember) (*roleMember, error) {
	out := &roleMember{ID: m.ID, Role: m.Role, Joined: m.Joined, Updated: m.Joined}
	u, err := management.UserByUUID(v.Tx, m.User)
	if err != nil {
		return nil, err
	}
	out.User = u.View()
	member, err := management.MembershipOf(v.Tx, m.Organization, m.User)
	if err != nil || member == nil {
		return out, err
	}
	if out.Member = viewMember(member, u); u != nil {
		err = out.Member.setSocialAuth(v.Tx)
	}
	return out, err
}

// Roles returns a page of the organization's roles, by name.
func (s Service) Roles(ctx context.Context, scope *management.Scope, p management.Page) (management.List[role], error) {
	return s.roles.List(ctx, scope, p)
}

// Role returns a role.
func (s Service) Role(ctx context.Context, scope *management.Scope, id string) (*role, error) {
	return s.roles.Get(ctx, scope, id)
}

// CreateRole creates a role.
func (s Service) CreateRole(ctx context.Context, scope *management.Scope, b management.Body) (*role, error) {
	return s.roles.Create(ctx, scope, b)
}

// UpdateRole changes a role. If put is true, all required fields must be present.
func (s Service) UpdateRole(ctx context.Context, scope *management.Scope, id string, b management.Body, put bool) (*role, error) {
	return s.roles.Update(ctx, scope, id, b, put)
}

// DeleteRole deletes a role, and removes it from all members.
func (s Service) DeleteRole(ctx context.Context, scope *management.Scope, id string) error {
	return s.roles.Delete(ctx, scope, id)
}

// beforeRoleDelete deletes the assignments and access rules of a role, and the organization's
// default role if it is this one.
func (s *core) beforeRoleDelete(e *resource.Edit[Tx, storedRole]) error {
	if err := e.Tx.DeleteUnder(storage.KindRoleMember, e.After.ID); err != nil {
		return err
	}
	if err := management.DeleteRoleRules(e.Tx, e.Organization.ID, e.After.ID); err != nil {
		return err
	}
	reloaded, err := s.reloadOrganization(e.Tx, e.Scope)
	if err != nil {
		return err
	}
	meta, err := management.MetaOfOrganization(reloaded.Organization)
	if err != nil || meta.DefaultRole == nil || *meta.DefaultRole != e.After.ID {
		return err
	}
	// The setting must not refer to a role that does not exist.
	meta.DefaultRole = nil
	reloaded.Organization.Meta = storage.Encode(meta)
	return e.Tx.PutOrganization(reloaded.Organization)
}

// roleMemberResource returns the resource of the assignments of one role, whose id is from a path.
func (s Service) roleMemberResource(role string) resource.Resource[Tx, storedRoleMember, roleMember] {
	return resource.NewResource(&s.Env, resource.Spec[Tx, storedRoleMember, roleMember]{
		Kind: storage.KindRoleMember, Fields: RoleMemberFields, AdminsOnly: true,
		Header: func(_ *management.Scope, m *storedRoleMember) resource.RecordHeader { return m.header() },
		Load: func(v *view, id string, _ *management.Body) (*storedRoleMember, error) {
			// Load checks that the role belongs to the caller's organization.
			r, err := s.roles.Load(v, role)
			id, ok := management.NormalizeUUID(id)
			if err != nil || !ok {
				return nil, err
			}
			return resource.LoadRecord[storedRoleMember](v.Tx, storage.KindRoleMember, r.ID, id)
		},
		New: func(v *view) (*storedRoleMember, error) {
			return &storedRoleMember{ID: s.Env.NewID(), Organization: v.Organization.ID, Joined: management.NewStamp(s.Env.Now())}, nil
		},
		Rules: func(e *resource.Edit[Tx, storedRoleMember]) error {
			r, err := s.roles.Load(e.View, role)
			// An unknown role is Invalid here and not NotFound.
			if isMissing(err) {
				err = management.Fault("", "Role does not exist.")
			}
			if err != nil {
				return err
			}
			member, err := management.MembershipOf(e.Tx, e.Organization.ID, e.Values.Text("user_uuid"))
			if err == nil && member == nil {
				err = management.Fault("", "User does not exist.")
			}
			if err != nil {
				return err
			}
			e.After.Role, e.After.User = r.ID, member.User
			return nil
		},
		OnDuplicate: func(bool) error { return management.Fault("", "User is already part of the role.") },
		Show:        showRoleMember,
	})
}

// header returns the indexed columns of an assignment.
func (m *storedRoleMember) header() resource.RecordHeader {
	return resource.RecordHeader{Parent: m.Role, ID: m.ID, Other: m.User, Sort: storage.SortTime(m.Joined.Time), Unique: m.Role + "/" + m.User}
}

// assignDefaultRole assigns the organization's default_role_id, if there is one, to a new member.
func (s *core) assignDefaultRole(tx Tx, org *management.OrganizationRecord, user string, now management.Stamp) error {
	meta, err := management.MetaOfOrganization(org)
	if err != nil || meta.DefaultRole == nil {
		return err
	}
	m := &storedRoleMember{ID: s.Env.NewID(), Organization: org.ID, Role: *meta.DefaultRole, User: user, Joined: now}
	h := m.header()
	return tx.Put(&management.Record{Kind: storage.KindRoleMember, Parent: h.Parent, ID: h.ID, Other: h.Other, Sort: h.Sort, Unique: h.Unique, Data: storage.Encode(m)})
}

// RoleMembers returns a page of the members with a role, in the order in which they got it.
func (s Service) RoleMembers(ctx context.Context, scope *management.Scope, role string, p management.Page) (management.List[roleMember], error) {
	return resource.ReadOne(ctx, s.roles, scope, role, func(v *view, r *storedRole) (management.List[roleMember], error) {
		return roleMembers(v, management.Query{Kind: storage.KindRoleMember, Parent: r.ID, Offset: p.Offset, Limit: p.Limit})
	})
}

// AddRoleMember assigns a role to a member of the organization.
func (s Service) AddRoleMember(ctx context.Context, scope *management.Scope, role string, b management.Body) (*roleMember, error) {
	return s.roleMemberResource(role).Create(ctx, scope, b)
}

// RoleMember returns an assignment by its id.
func (s Service) RoleMember(ctx context.Context, scope *management.Scope, role, id string) (*roleMember, error) {
	return s.roleMemberResource(role).Get(ctx, scope, id)
}

// RemoveRoleMember removes a role from a member. id is that of the assignment.
func (s Service) RemoveRoleMember(ctx context.Context, scope *management.Scope, role, id string) error {
	return s.roleMemberResource(role).Delete(ctx, scope, id)
}

// removeRoles removes all roles of an organization from a user.
func removeRoles(tx Tx, organization, uuid string) error {
	list, err := management.ListRecords[storedRoleMember](tx, management.Query{Kind: storage.KindRoleMember, Other: uuid})
	if err != nil {
		return err
	}
	for _, m := range list.Results {
		// Other lists the user's assignments in all organizations.
		if m.Organization != organization {
			continue
		}
		if err := tx.Delete(storage.KindRoleMember, m.Role, m.ID); err != nil {
			return err
		}
	}
	return nil
}

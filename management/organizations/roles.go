package organizations

import (
	"strings"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/resource"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// roleFields are the writable fields of a role, roleMemberFields those of the assignment of a role
// to a member.
var (
	roleFields       = management.Fields{{Name: "name", Type: management.Text, Required: true, MaxLength: 200}}
	roleMemberFields = management.Fields{{Name: "user_uuid", Type: management.UUID, Required: true, Custom: true, Help: "uuid of a member of the organization"}}
)

// storedRoleMember is the stored form of an assignment.
type storedRoleMember struct {
	ID           string           `json:"id"`
	Organization string           `json:"organization"`
	Role         string           `json:"role"`
	User         string           `json:"user"` // uuid
	Joined       management.Stamp `json:"joined_at"`
}

// Roles manages the roles of organizations (§5.1.3). Names are unique in an organization, regardless
// of case.
type Roles struct {
	*core
	resource.Resource[Tx, storedRole, role]
}

// RoleMembers manages the members with one role, in the order in which they got it. The ids are
// those of the assignments.
type RoleMembers struct {
	resource.Resource[Tx, storedRoleMember, roleMember]
}

func newRoles(c *core) Roles {
	return Roles{c, resource.NewResource(&c.Env, resource.Spec[Tx, storedRole, role]{
		Kind: storage.KindRole, ActivityScope: "Role", Fields: roleFields, AdminsOnly: true, Parent: organizationParent,
		Header: func(scope *management.Scope, r *storedRole) resource.RecordHeader {
			name := strings.ToLower(r.Name)
			return resource.RecordHeader{ID: r.ID, Title: r.Name, Sort: name, Unique: scope.Organization.ID + "/" + name}
		},
		New: func(v *view) (*storedRole, error) {
			r := &storedRole{roleSettings: roleSettings{ID: c.Env.NewID(), CreatedAt: management.NewStamp(c.Env.Now())}}
			// The creator is recorded only without a key: see By.
			if v.Key == nil {
				r.By = v.User.ID
			}
			return r, nil
		},
		OnDuplicate: func(bool) error {
			return management.CodedFault(management.CodeUnique, "name", "There is already a role with this name.")
		},
		BeforeDelete: c.beforeRoleDelete, Show: showRole,
	})}
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
	members, err := assignmentsOf(v.Tx, r.ID)
	out.Members = make([]roleMember, len(members))
	for i := 0; i < len(members) && err == nil; i++ {
		var entry *roleMember
		if entry, err = showRoleMember(v, &members[i]); err == nil {
			out.Members[i] = *entry
		}
	}
	return out, err
}

// assignmentsOf returns the assignments of a role, oldest first.
func assignmentsOf(tx Tx, role string) ([]storedRoleMember, error) {
	list, err := management.ListRecords[storedRoleMember](tx, management.Query{Kind: storage.KindRoleMember, Parent: role})
	return list.Results, err
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

// Members returns the members with a role. Their methods check that the organization has it.
func (s Roles) Members(role string) RoleMembers {
	return RoleMembers{resource.NewResource(&s.Env, resource.Spec[Tx, storedRoleMember, roleMember]{
		Kind: storage.KindRoleMember, Fields: roleMemberFields, AdminsOnly: true,
		Header: func(_ *management.Scope, m *storedRoleMember) resource.RecordHeader { return m.header() },
		All: func(v *view) ([]storedRoleMember, error) {
			r, err := s.Load(v, role)
			if err != nil {
				return nil, err
			}
			return assignmentsOf(v.Tx, r.ID)
		},
		Load: func(v *view, id string, _ *management.Body) (*storedRoleMember, error) {
			// Load checks that the role belongs to the caller's organization.
			r, err := s.Load(v, role)
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
			r, err := s.Load(e.View, role)
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
	})}
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

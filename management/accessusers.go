package management

import (
	"context"

	"github.com/bunting-flags/bunting/management/internal/storage"
)

// userAccess is a user who can see an object (clients.md §11.3).
type userAccess struct {
	User       int64       `json:"user_id"`
	Level      AccessLevel `json:"access_level"`
	Source     string      `json:"access_source"`
	Membership string      `json:"organization_membership_id"`
	OrgLevel   Level       `json:"organization_membership_level"`
}

// usersWithAccess is the response with all users who can see an object.
type usersWithAccess struct {
	Users []userAccess `json:"users"`
	Total int          `json:"total_count"`
}

// Users returns the active members of the organization who can see an object of the scope's
// project, in the order in which they joined. If id is empty it returns the access to objects of the
// kind without rules of their own, which another user has created. If kind is empty too, it returns
// the access to the project itself.
func (s *Service) Users(ctx context.Context, scope *Scope, kind, id string) (*usersWithAccess, error) {
	switch _, ok := levelsByKind[kind]; {
	case kind == "":
		return s.usersWith(ctx, scope, func(member *Scope) (AccessLevel, string) { return member.projectAccess(member.Project) })
	case id == "" && !ok:
		return nil, CodedFault(codeInvalidChoice, "resource", "%q is not a valid choice.", kind)
	case id == "":
		return s.usersWith(ctx, scope, func(member *Scope) (AccessLevel, string) { return member.accessTo(AccessObject{Kind: kind}) })
	}
	target, err := s.findTarget(ctx, scope, kind, id)
	if err != nil {
		return nil, err
	}
	return s.usersWith(ctx, scope, func(member *Scope) (AccessLevel, string) { return member.accessTo(*target.object) })
}

// usersWith returns the active members of the organization who have access to the scope's project,
// and for whom access returns another level than NoAccess.
func (s *Service) usersWith(ctx context.Context, scope *Scope, access func(member *Scope) (AccessLevel, string)) (*usersWithAccess, error) {
	return Read(ctx, &s.Env, func(tx Tx) (*usersWithAccess, error) {
		members, err := ListRecords[Membership](tx, Query{Kind: storage.KindMember, Parent: scope.Project.Organization})
		if err != nil {
			return nil, err
		}
		out := &usersWithAccess{Users: []userAccess{}}
		for i := range members.Results {
			m := &members.Results[i]
			u, err := UserByUUID(tx, m.User)
			if err != nil || u == nil || u.Inactive {
				if err != nil {
					return nil, err
				}
				continue
			}
			c, err := CallerFor(tx, u)
			if err != nil {
				return nil, err
			}
			memberScope, err := NewScope(tx, c, scope.Project)
			if err != nil {
				return nil, err
			}
			if level, from := access(memberScope); level != NoAccess && c.CanReach(scope.Project) {
				out.Users = append(out.Users, userAccess{u.ID, level, from, m.ID, m.Level})
			}
		}
		out.Total = len(out.Users)
		return out, nil
	})
}

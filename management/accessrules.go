package management

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
)

// kindAccessRule is a rule about a kind of things of a project, its Parent, or about one
// of them: Other is whom it is about (everybody, memberSubject, roleSubject), Sort where it is
// listed. What is said of projects themselves stands in ProjectMeta.
const kindAccessRule = "access_rule"

// KindRoleMember is a member's place in a role, its Parent; Other is the user's uuid.
const KindRoleMember = "role_member"

// maxAccessRules is how many rules a project may have. More are refused.
const maxAccessRules = 10_000

// accessRule is a rule as it is shown (clients.md §11.1), and as it is stored.
type accessRule struct {
	Level      AccessLevel `json:"access_level"`
	Resource   string      `json:"resource"`
	ResourceID *string     `json:"resource_id"`
	Member     *string     `json:"organization_member"` // the membership
	Role       *string     `json:"role"`
	CreatedBy  *string     `json:"created_by"` // always null
	Created    Stamp       `json:"created_at"`
	Updated    Stamp       `json:"updated_at"`
}

// ruleTimes is when something was made and last changed.
type ruleTimes struct {
	Created Stamp `json:"made"`
	Updated Stamp `json:"changed"`
}

// Whom rules are about, as Record.Other.
func everybodySubject(project int64) string  { return ProjectParent(project) + "/everybody" }
func memberSubject(membership string) string { return "member:" + membership }
func roleSubject(role string) string         { return "role:" + role }

func (r *accessRule) subject(project int64) string {
	switch {
	case r.Member != nil:
		return memberSubject(*r.Member)
	case r.Role != nil:
		return roleSubject(*r.Role)
	}
	return everybodySubject(project)
}

// targetSort is where the rules about a place are listed: those about kinds first.
func targetSort(p ruleTarget) string {
	if p.id == "" {
		return "0/" + p.kind + "/"
	}
	return "1/" + p.kind + "/" + p.id + "/"
}

func (r *accessRule) record(project int64) *Record {
	target := ruleTarget{kind: r.Resource}
	if r.ResourceID != nil {
		target.id = *r.ResourceID
	}
	subject := r.subject(project)
	return &Record{
		Kind: kindAccessRule, Parent: ProjectParent(project), ID: targetSort(target) + subject, Other: subject,
		Sort: targetSort(target) + SortTime(r.Created.Time), Data: Encode(r),
	}
}

// rolesOf are the roles of a user.
func rolesOf(tx Tx, user string) ([]string, error) {
	list, _, err := tx.List(Query{Kind: KindRoleMember, Other: user})
	out := make([]string, len(list))
	for i := range list {
		out[i] = list[i].Parent
	}
	return out, err
}

// rulesForCaller are the rules of a project that are about a user: one lookup for everybody,
// one for the membership and one for each role, and none where there are no rules.
func rulesForCaller(tx Tx, c *Caller, p *ProjectRecord) (accessRules, error) {
	meta, err := MetaOfProject(p)
	if err != nil || !meta.HasRules || c.Level(p.Organization) == 0 {
		return nil, err
	}
	subjects := []string{everybodySubject(p.ID)}
	for _, m := range c.Memberships {
		if m.Organization == p.Organization {
			subjects = append(subjects, memberSubject(m.ID))
		}
	}
	for _, role := range c.roles {
		subjects = append(subjects, roleSubject(role))
	}
	out, parent := accessRules{}, ProjectParent(p.ID)
	for _, subject := range subjects {
		list, err := ListRecords[accessRule](tx, Query{Kind: kindAccessRule, Other: subject, Match: func(r *Record) bool { return r.Parent == parent }})
		if err != nil {
			return nil, err
		}
		for i := range list.Results {
			out.add(&list.Results[i])
		}
	}
	return out, nil
}

// rulesForTarget are the rules of a project about one place, or about kinds of things where that
// is the zero one, as they are listed.
func rulesForTarget(tx Tx, project int64, target ruleTarget) ([]accessRule, error) {
	from, to := targetSort(target), targetSort(target)+"\x7f"
	if target.kind == "" {
		from, to = "0/", "1/"
	}
	list, err := ListRecords[accessRule](tx, Query{Kind: kindAccessRule, Parent: ProjectParent(project), From: from, To: to})
	return list.Results, err
}

// projectRules are the rules about a project itself.
func projectRules(tx Tx, p *ProjectRecord) ([]accessRule, error) {
	meta, err := MetaOfProject(p)
	if err != nil {
		return nil, err
	}
	id, out := strconv.FormatInt(p.ID, 10), []accessRule{}
	rule := func(subjectID string, level AccessLevel) *accessRule {
		times, ok := meta.RuleTimes[subjectID]
		if !ok { // an invitation has brought it, or a switch
			times = ruleTimes{NewStamp(p.CreatedAt), NewStamp(p.CreatedAt)}
		}
		out = append(out, accessRule{Level: level, Resource: KindProject, ResourceID: &id, Created: times.Created, Updated: times.Updated})
		return &out[len(out)-1]
	}
	if meta.Default != "" {
		rule("", meta.Default)
	}
	for _, user := range slices.Sorted(maps.Keys(meta.Members)) {
		m, err := MembershipOf(tx, p.Organization, user)
		if err != nil {
			return nil, err
		}
		if m != nil {
			rule(user, meta.Members[user]).Member = &m.ID
		}
	}
	for _, role := range slices.Sorted(maps.Keys(meta.Roles)) {
		rule(role, meta.Roles[role]).Role = &role
	}
	return out, nil
}

// DeleteMemberRules takes away the rules that name a membership that ends.
func DeleteMemberRules(tx Tx, m *Membership) error {
	return deleteRules(tx, m.Organization, memberSubject(m.ID), func(meta *ProjectMeta) bool { return meta.removeRule(meta.Members, m.User) })
}

// DeleteRoleRules takes away the rules that name a role that goes.
func DeleteRoleRules(tx Tx, organization, role string) error {
	return deleteRules(tx, organization, roleSubject(role), func(meta *ProjectMeta) bool { return meta.removeRule(meta.Roles, role) })
}

func (m *ProjectMeta) removeRule(levels map[string]AccessLevel, subjectID string) (existed bool) {
	_, existed = levels[subjectID]
	delete(levels, subjectID)
	delete(m.RuleTimes, subjectID)
	return existed
}

func deleteRules(tx Tx, organization, subject string, remove func(*ProjectMeta) bool) error {
	list, _, err := tx.List(Query{Kind: kindAccessRule, Other: subject})
	if err != nil {
		return err
	}
	for i := range list {
		if err := tx.Delete(kindAccessRule, list[i].Parent, list[i].ID); err != nil {
			return err
		}
	}
	projects, err := tx.Projects(organization)
	if err != nil {
		return err
	}
	for i := range projects {
		meta, err := MetaOfProject(&projects[i])
		if err != nil {
			return err
		}
		if !remove(&meta) {
			continue
		}
		projects[i].Meta = Encode(meta)
		if err := tx.PutProject(&projects[i]); err != nil {
			return err
		}
	}
	return nil
}

// Finder finds the thing of a path in the caller's project, deleted or not: nil for none.
type Finder func(ctx context.Context, scope *Scope, id string) (*AccessObject, error)

func (r *resource[T, Stored, Out]) Finder() Finder {
	includeDeleted := &Body{Members: map[string]json.RawMessage{"deleted": json.RawMessage("false")}} // which finds those too
	return func(ctx context.Context, scope *Scope, id string) (*AccessObject, error) {
		return Read(ctx, r.env, func(tx T) (*AccessObject, error) {
			x, err := r.load(&View[T]{Tx: tx, Scope: scope}, id, includeDeleted)
			var apiErr *Error
			if errors.As(err, &apiErr) && apiErr.Kind == NotFound {
				return nil, nil
			}
			if err != nil {
				return nil, err
			}
			o := r.spec.Object(x)
			return &o, nil
		})
	}
}

// Permit refuses a caller who may do less than is needed with the thing that a path
// names. What is not there is left to who looks for it.
func (s *Service) Permit(ctx context.Context, scope *Scope, kind, id string, need AccessLevel) error {
	if len(scope.rules) == 0 || scope.IsAdmin() {
		return nil // whoever is let in edits
	}
	if id == "" {
		return scope.RequireAccess(need, AccessObject{Kind: kind})
	}
	o, err := s.Finders[kind](ctx, scope, id)
	if err != nil || o == nil {
		return err
	}
	return scope.RequireAccess(need, *o)
}

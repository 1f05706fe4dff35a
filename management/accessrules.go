package management

import (
	"context"
	"maps"
	"slices"
	"strconv"

	"github.com/bunting-flags/bunting/management/internal/plain"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// kindAccessRule is the kind of records of rules about a kind of objects or about one object;
// Parent is the project. Other is the subject (everybodySubject, memberSubject, roleSubject) and
// Sort the position in lists. Rules about projects themselves are stored in ProjectMeta.
const kindAccessRule = "access_rule"

// maxAccessRules is the greatest number of rules of a project; setting more is an error.
const maxAccessRules = 10_000

// accessRule is a rule in responses (clients.md §11.1) and in its record.
type accessRule struct {
	Level      AccessLevel `json:"access_level"`
	Resource   string      `json:"resource"`
	ResourceID *string     `json:"resource_id"`
	Member     *string     `json:"organization_member"` // the id of the membership
	Role       *string     `json:"role"`
	CreatedBy  *string     `json:"created_by"` // always null
	Created    Stamp       `json:"created_at"`
	Updated    Stamp       `json:"updated_at"`
}

// everybodySubject, memberSubject and roleSubject return the Record.Other of rules: the users that
// a rule is about, so that all rules for a user can be found with few queries.
func everybodySubject(project int64) string  { return ProjectParent(project) + "/everybody" }
func memberSubject(membership string) string { return "member:" + membership }
func roleSubject(role string) string         { return "role:" + role }

// subject returns the Record.Other of the rule.
func (r *accessRule) subject(project int64) string {
	switch {
	case r.Member != nil:
		return memberSubject(*r.Member)
	case r.Role != nil:
		return roleSubject(*r.Role)
	}
	return everybodySubject(project)
}

// targetSort returns the prefix of the Record.Sort of rules about a target: rules about kinds come
// before rules about single objects.
func targetSort(p ruleTarget) string {
	if p.id == "" {
		return "0/" + p.kind + "/"
	}
	return "1/" + p.kind + "/" + p.id + "/"
}

// record returns the record of the rule. Its ID is the target and the subject, so that a subject
// has at most one rule for a target.
func (r *accessRule) record(project int64) *Record {
	target := ruleTarget{kind: r.Resource, id: plain.OrZero(r.ResourceID)}
	subject := r.subject(project)
	return &Record{
		Kind: kindAccessRule, Parent: ProjectParent(project), ID: targetSort(target) + subject, Other: subject,
		Sort: targetSort(target) + storage.SortTime(r.Created.Time), Data: storage.Encode(r),
	}
}

// rolesOf returns the ids of a user's roles.
func rolesOf(tx Tx, user string) ([]string, error) {
	list, _, err := tx.List(Query{Kind: storage.KindRoleMember, Other: user})
	out := make([]string, len(list))
	for i := range list {
		out[i] = list[i].Parent
	}
	return out, err
}

// rulesForCaller returns the rules of a project that apply to a user. It runs one query for
// everybody, one for the membership and one for each role, and no query if the project has no
// rules.
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

// rulesForTarget returns the rules of a project about one target in their order in lists. For the
// zero target it returns all rules about kinds.
func rulesForTarget(tx Tx, project int64, target ruleTarget) ([]accessRule, error) {
	from, to := targetSort(target), targetSort(target)+"\x7f"
	if target.kind == "" {
		from, to = "0/", "1/"
	}
	list, err := ListRecords[accessRule](tx, Query{Kind: kindAccessRule, Parent: ProjectParent(project), From: from, To: to})
	return list.Results, err
}

// projectRules returns the rules about a project itself.
func projectRules(tx Tx, p *ProjectRecord) ([]accessRule, error) {
	meta, err := MetaOfProject(p)
	if err != nil {
		return nil, err
	}
	id, out := strconv.FormatInt(p.ID, 10), []accessRule{}
	rule := func(subjectID string, level AccessLevel) *accessRule {
		times, ok := meta.RuleTimes[subjectID]
		if !ok { // the rule was set by an invitation or by a switch, without times
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

// DeleteMemberRules deletes the rules that name a membership. It must be called when the membership
// ends.
func DeleteMemberRules(tx Tx, m *Membership) error {
	return deleteRules(tx, m.Organization, memberSubject(m.ID), func(meta *ProjectMeta) bool { return meta.removeRule(meta.Members, m.User) })
}

// DeleteRoleRules deletes the rules that name a role. It must be called when the role is deleted.
func DeleteRoleRules(tx Tx, organization, role string) error {
	return deleteRules(tx, organization, roleSubject(role), func(meta *ProjectMeta) bool { return meta.removeRule(meta.Roles, role) })
}

// removeRule deletes the rule about the project for a user or a role, and reports whether there was
// one.
func (m *ProjectMeta) removeRule(levels map[string]AccessLevel, subjectID string) (existed bool) {
	_, existed = levels[subjectID]
	delete(levels, subjectID)
	delete(m.RuleTimes, subjectID)
	return existed
}

// deleteRules deletes the records of rules of a subject, and calls remove for the Meta of each
// project of the organization; remove reports whether it changed the Meta.
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
		projects[i].Meta = storage.Encode(meta)
		if err := tx.PutProject(&projects[i]); err != nil {
			return err
		}
	}
	return nil
}

// Finder finds the object that a path names in the caller's project, deleted objects too. It
// returns nil if there is no such object.
type Finder func(ctx context.Context, scope *Scope, id string) (*AccessObject, error)

// Permit returns an error if the caller's access to the object that a path names is below need. It
// returns nil for objects that do not exist: the handler reports them.
func (s *Service) Permit(ctx context.Context, scope *Scope, kind, id string, need AccessLevel) error {
	if len(scope.rules) == 0 || scope.IsAdmin() {
		return nil // without rules everybody with access to the project may edit
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

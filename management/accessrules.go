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
// of them: Other is whom it is about (everybody, ofMember, ofRole), Sort where it is
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

// span is when something was made and last changed.
type span struct {
	Made    Stamp `json:"made"`
	Changed Stamp `json:"changed"`
}

// Whom rules are about, as Record.Other.
func everybody(project int64) string    { return ProjectParent(project) + "/everybody" }
func ofMember(membership string) string { return "member:" + membership }
func ofRole(role string) string         { return "role:" + role }

func (r *accessRule) about(project int64) string {
	switch {
	case r.Member != nil:
		return ofMember(*r.Member)
	case r.Role != nil:
		return ofRole(*r.Role)
	}
	return everybody(project)
}

// placeSort is where the rules about a place are listed: those about kinds first.
func placeSort(p rulePlace) string {
	if p.id == "" {
		return "0/" + p.kind + "/"
	}
	return "1/" + p.kind + "/" + p.id + "/"
}

func (r *accessRule) record(project int64) *Record {
	place := rulePlace{kind: r.Resource}
	if r.ResourceID != nil {
		place.id = *r.ResourceID
	}
	whom := r.about(project)
	return &Record{
		Kind: kindAccessRule, Parent: ProjectParent(project), ID: placeSort(place) + whom, Other: whom,
		Sort: placeSort(place) + SortTime(r.Created.Time), Data: Encode(r),
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

// rulesAbout are the rules of a project that are about a user: one lookup for everybody,
// one for the membership and one for each role, and none where there are no rules.
func rulesAbout(tx Tx, c *Caller, p *ProjectRecord) (accessRules, error) {
	meta, err := MetaOfProject(p)
	if err != nil || !meta.Ruled || c.Level(p.Organization) == 0 {
		return nil, err
	}
	whom := []string{everybody(p.ID)}
	for _, m := range c.Memberships {
		if m.Organization == p.Organization {
			whom = append(whom, ofMember(m.ID))
		}
	}
	for _, role := range c.roles {
		whom = append(whom, ofRole(role))
	}
	out, parent := accessRules{}, ProjectParent(p.ID)
	for _, other := range whom {
		list, err := ListRecords[accessRule](tx, Query{Kind: kindAccessRule, Other: other, Match: func(r *Record) bool { return r.Parent == parent }})
		if err != nil {
			return nil, err
		}
		for i := range list.Results {
			out.add(&list.Results[i])
		}
	}
	return out, nil
}

// rulesOn are the rules of a project about one place, or about kinds of things where that
// is the zero one, as they are listed.
func rulesOn(tx Tx, project int64, place rulePlace) ([]accessRule, error) {
	from, to := placeSort(place), placeSort(place)+"\x7f"
	if place.kind == "" {
		from, to = "0/", "1/"
	}
	list, err := ListRecords[accessRule](tx, Query{Kind: kindAccessRule, Parent: ProjectParent(project), From: from, To: to})
	return list.Results, err
}

// rulesOf are the rules about a project itself.
func rulesOf(tx Tx, p *ProjectRecord) ([]accessRule, error) {
	meta, err := MetaOfProject(p)
	if err != nil {
		return nil, err
	}
	id, out := strconv.FormatInt(p.ID, 10), []accessRule{}
	rule := func(named string, level AccessLevel) *accessRule {
		made, known := meta.Made[named]
		if !known { // an invitation has brought it, or a switch
			made = span{At(p.CreatedAt), At(p.CreatedAt)}
		}
		out = append(out, accessRule{Level: level, Resource: KindProject, ResourceID: &id, Created: made.Made, Updated: made.Changed})
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

// DropMemberRules takes away the rules that name a membership that ends.
func DropMemberRules(tx Tx, m *Membership) error {
	return dropRules(tx, m.Organization, ofMember(m.ID), func(meta *ProjectMeta) bool { return meta.forget(meta.Members, m.User) })
}

// DropRoleRules takes away the rules that name a role that goes.
func DropRoleRules(tx Tx, organization, role string) error {
	return dropRules(tx, organization, ofRole(role), func(meta *ProjectMeta) bool { return meta.forget(meta.Roles, role) })
}

func (m *ProjectMeta) forget(from map[string]AccessLevel, named string) (was bool) {
	_, was = from[named]
	delete(from, named)
	delete(m.Made, named)
	return was
}

func dropRules(tx Tx, organization, whom string, forget func(*ProjectMeta) bool) error {
	list, _, err := tx.List(Query{Kind: kindAccessRule, Other: whom})
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
		if !forget(&meta) {
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
type Finder func(ctx context.Context, st *Standing, id string) (*Thing, error)

func (r *resource[T, Stored, Shown]) Finder() Finder {
	deleted := &Body{Members: map[string]json.RawMessage{"deleted": json.RawMessage("false")}} // which finds those too
	return func(ctx context.Context, st *Standing, id string) (*Thing, error) {
		return Read(ctx, r.desk, func(tx T) (*Thing, error) {
			x, err := r.load(&View[T]{Tx: tx, Standing: st}, id, deleted)
			var told *Error
			if errors.As(err, &told) && told.Kind == NotFound {
				return nil, nil
			}
			if err != nil {
				return nil, err
			}
			o := r.spec.Thing(x)
			return &o, nil
		})
	}
}

// Permit refuses a caller who may do less than is needed with the thing that a path
// names. What is not there is left to who looks for it.
func (s *Service) Permit(ctx context.Context, st *Standing, kind, id string, need AccessLevel) error {
	if len(st.rules) == 0 || st.Admin() {
		return nil // whoever is let in edits
	}
	if id == "" {
		return st.Needs(need, Thing{Kind: kind})
	}
	o, err := s.Things[kind](ctx, st, id)
	if err != nil || o == nil {
		return err
	}
	return st.Needs(need, *o)
}

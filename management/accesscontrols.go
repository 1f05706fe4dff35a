package management

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/management/internal/storage"
)

// AccessFields are the fields of the request body that sets an access rule.
var AccessFields = Fields{
	{Name: "access_level", Type: Text, Required: true, Null: true, MaxLength: 20, Help: "null removes the rule"},
	{Name: "resource", Type: Text, Null: true, MaxLength: 100, Help: "type of object, for rules about all objects of one type"},
	{Name: "organization_member", Type: UUID, Null: true, Help: "uuid of the membership that the rule applies to; a rule without organization_member and role is the default"},
	{Name: "role", Type: UUID, Null: true, Help: "uuid of the role that the rule applies to"},
}

// accessControls is the response with the rules about one target (clients.md §11.1).
type accessControls struct {
	Rules     []accessRule  `json:"access_controls"`
	Available []AccessLevel `json:"available_access_levels"`
	Default   AccessLevel   `json:"default_access_level"`
	Lowest    AccessLevel   `json:"minimum_access_level"`
	Highest   AccessLevel   `json:"maximum_access_level"`
	UserLevel AccessLevel   `json:"user_access_level"`
	CanEdit   bool          `json:"user_can_edit_access_levels"`
}

// levelsOf returns the levels that rules about a kind may have, the level of users without a rule,
// and the bounds.
func levelsOf(kind string) (all []AccessLevel, fallback, lowest, highest AccessLevel) {
	if kind == KindProject {
		return projectLevels, AdminAccess, NoAccess, AdminAccess
	}
	bounds := levelsByKind[kind]
	if lowest, highest = bounds.lowest, bounds.highest; lowest == "" {
		lowest = NoAccess
	}
	if highest == "" {
		highest = Manager
	}
	fallback = Editor
	if !highest.Allows(fallback) {
		fallback = highest
	}
	return objectLevels, fallback, lowest, highest
}

// accessTarget is the subject of rules: a project itself, all kinds of objects of a project (empty
// kind), or one object.
type accessTarget struct {
	kind   string
	object *AccessObject
}

// findTarget returns the target that a path names. It is ErrNotFound if the object does not exist.
func (s *Service) findTarget(ctx context.Context, scope *Scope, kind, id string) (p accessTarget, err error) {
	p.kind = kind
	if s.Finders[kind] == nil {
		return p, nil
	}
	if p.object, err = s.Finders[kind](ctx, scope, id); err == nil && p.object == nil {
		err = ErrNotFound()
	}
	return p, err
}

// canEdit reports whether the caller may change the rules.
func (p accessTarget) canEdit(scope *Scope) bool {
	return scope.CanAdminister() || p.object != nil && scope.AccessTo(*p.object) == Manager
}

func (p accessTarget) refusal() error {
	if p.object != nil {
		return Denied("Must be manager to modify %s permissions.", p.kind)
	}
	return Denied("Must be an Organization admin to modify project-wide permissions.")
}

// Controls returns the rules about an object of a kind. If kind is KindProject they are about the
// scope's project, and if it is empty about the kinds of objects in that project.
func (s *Service) Controls(ctx context.Context, scope *Scope, kind, id string) (*accessControls, error) {
	target, err := s.findTarget(ctx, scope, kind, id)
	if err != nil {
		return nil, err
	}
	out := &accessControls{UserLevel: scope.Access(), CanEdit: target.canEdit(scope)}
	out.Available, out.Default, out.Lowest, out.Highest = levelsOf(kind)
	out.Rules, err = Read(ctx, &s.Env, func(tx Tx) ([]accessRule, error) {
		switch {
		case kind == KindProject:
			return projectRules(tx, scope.Project)
		case target.object == nil:
			return rulesForTarget(tx, scope.Project.ID, ruleTarget{})
		}
		return rulesForTarget(tx, scope.Project.ID, ruleTarget{kind, target.object.ID})
	})
	if target.object != nil {
		out.UserLevel = scope.AccessTo(*target.object)
	}
	return out, err
}

// SetControl creates or changes a rule, or deletes it if the level is null and then returns nil.
// kind and id are as for Controls.
func (s *Service) SetControl(ctx context.Context, scope *Scope, kind, id string, b Body) (*accessRule, error) {
	target, err := s.findTarget(ctx, scope, kind, id)
	if err != nil {
		return nil, err
	}
	if !target.canEdit(scope) {
		return nil, target.refusal()
	}
	r, err := target.read(scope, b)
	if err != nil {
		return nil, err
	}
	return Write(ctx, &s.Env, func(tx Tx) (*accessRule, error) {
		rule := r // a copy: work may run more than once
		user, subject, err := checkSubject(tx, scope.Project.Organization, &rule)
		if err != nil {
			return nil, err
		}
		set := s.setRule
		if kind == KindProject {
			set = s.setProjectRule
		}
		before, after, err := set(tx, scope, rule, user)
		if err != nil {
			return nil, err
		}
		var oldRule, newRule any
		if before != nil {
			oldRule = *before
		}
		if after != nil {
			newRule = *after
		}
		if oldRule == nil && newRule == nil {
			return nil, nil
		}
		return after, s.Env.LogActivity(tx, scope.Caller, scope.Parent(), "AccessControl", rule.item(), target.title(scope, &rule, subject), oldRule, newRule)
	})
}

// item is the rule's item id in the log: its kind, or kind/id.
func (r *accessRule) item() string {
	if r.ResourceID == nil {
		return r.Resource
	}
	return r.Resource + "/" + *r.ResourceID
}

// title is the name of a rule in the log: the object, or the kind, and the user or the role that the
// rule is for.
func (p accessTarget) title(scope *Scope, r *accessRule, subject string) string {
	name := r.item()
	switch {
	case p.object != nil && p.object.Title != "":
		name = p.object.Title
	case p.kind == KindProject:
		name = scope.Project.Name
	}
	if subject != "" {
		name += ": " + subject
	}
	return name
}

// read returns the rule of a body, without its times.
func (p accessTarget) read(scope *Scope, b Body) (r accessRule, err error) {
	v, err := AccessFields.Create(b)
	if err != nil {
		return r, err
	}
	r.Level, r.Resource = AccessLevel(v.Text("access_level")), p.kind
	SetNull(v, "organization_member", &r.Member)
	SetNull(v, "role", &r.Role)
	switch {
	case p.object != nil:
		r.ResourceID = &p.object.ID
	case p.kind == KindProject:
		id := strconv.FormatInt(scope.Project.ID, 10)
		r.ResourceID = &id
	default:
		r.Resource = v.Text("resource")
		if r.Resource == "" {
			return r, CodedFault(CodeRequired, "resource", "This field is required.")
		}
		if _, ok := levelsByKind[r.Resource]; !ok {
			return r, CodedFault(codeInvalidChoice, "resource", "%q is not a valid choice.", r.Resource)
		}
	}
	if r.Member != nil && r.Role != nil {
		return r, Fault("", "You can not scope an access control to both a member and a role.")
	}
	return r, checkLevel(r.Resource, r.Level)
}

// checkLevel refuses a level that rules about a kind cannot have; an empty level is valid.
func checkLevel(kind string, level AccessLevel) error {
	all, _, lowest, highest := levelsOf(kind)
	switch {
	case level == "":
		return nil
	case !slices.Contains(all, level):
		names := make([]string, len(all))
		for i := range all {
			names[i] = string(all[i])
		}
		return Fault("", "Invalid access level. Must be one of: %s", strings.Join(names, ", "))
	case !level.Allows(lowest):
		return Fault("", "Access level cannot be set below the minimum '%s' for %s.", lowest, kind)
	case !highest.Allows(level):
		return Fault("", "Access level cannot be set above the maximum '%s' for %s.", highest, kind)
	}
	return nil
}

// checkSubject refuses members and roles of other organizations. It returns the uuid of the member's
// user, empty for roles and defaults, and the e-mail address of the user or the name of the role.
func checkSubject(tx Tx, organization string, r *accessRule) (user, name string, err error) {
	switch {
	case r.Member != nil:
		member, err := First[Membership](tx, Query{Kind: storage.KindMember, Parent: organization, Match: func(x *Record) bool {
			m, err := Decode[Membership](x)
			return err == nil && m.ID == *r.Member
		}})
		if err == nil && member == nil {
			err = ErrNoObject("organization_member", *r.Member)
		}
		if err != nil {
			return "", "", err
		}
		u, err := UserByUUID(tx, member.User)
		if err != nil || u == nil {
			return member.User, "", err
		}
		return u.UUID, u.Email, nil
	case r.Role != nil:
		x, err := tx.Get(storage.KindRole, organization, *r.Role)
		if err == nil && x == nil {
			err = ErrNoObject("role", *r.Role)
		}
		if err != nil {
			return "", "", err
		}
		role, err := Decode[struct{ Name string }](x)
		if err != nil {
			return "", "", err
		}
		return "", role.Name, nil
	}
	return "", "", nil
}

// setRule stores a rule, or deletes it if it has no level. It returns the rule before and after,
// nil if there is no rule.
func (s *Service) setRule(tx Tx, scope *Scope, r accessRule, _ string) (before, after *accessRule, err error) {
	now, project := NewStamp(s.Env.Now()), scope.Project.ID
	r.Created, r.Updated = now, now
	record := r.record(project)
	old, err := tx.Get(kindAccessRule, record.Parent, record.ID)
	if err != nil {
		return nil, nil, err
	}
	if before, err = Decode[accessRule](old); err != nil {
		return nil, nil, err
	}
	if r.Level == "" {
		return before, nil, tx.Delete(kindAccessRule, record.Parent, record.ID)
	}
	if before != nil {
		r.Created = before.Created
	} else if err := s.makeRoomForRule(tx, project); err != nil {
		return nil, nil, err
	}
	return before, &r, tx.Put(r.record(project))
}

// makeRoomForRule checks that the project may have one more rule, and sets its HasRules.
func (s *Service) makeRoomForRule(tx Tx, project int64) error {
	_, count, err := tx.List(Query{Kind: kindAccessRule, Parent: ProjectParent(project), Limit: 1})
	if err == nil && count >= maxAccessRules {
		err = Fault("", "A project has at most %d access rules.", maxAccessRules)
	}
	if err != nil {
		return err
	}
	p, meta, err := projectNow(tx, project)
	if err != nil || meta.HasRules {
		return err
	}
	meta.HasRules = true
	p.Meta = storage.Encode(meta)
	return tx.PutProject(p)
}

func projectNow(tx Tx, id int64) (*ProjectRecord, ProjectMeta, error) {
	p, err := tx.Project(id)
	if err == nil && p == nil {
		err = ErrNoProject()
	}
	if err != nil {
		return nil, ProjectMeta{}, err
	}
	meta, err := MetaOfProject(p)
	return p, meta, err
}

// setProjectRule is setRule for a rule about the project itself, which is stored in ProjectMeta.
// user is the uuid of the member's user.
func (s *Service) setProjectRule(tx Tx, scope *Scope, r accessRule, user string) (before, after *accessRule, err error) {
	p, meta, err := projectNow(tx, scope.Project.ID)
	if err != nil {
		return nil, nil, err
	}
	subjectID, oldLevel := user, meta.Default
	switch {
	case r.Member != nil:
		oldLevel = meta.Members[subjectID]
	case r.Role != nil:
		subjectID = *r.Role
		oldLevel = meta.Roles[subjectID]
	}
	now := NewStamp(s.Env.Now())
	times, ok := meta.RuleTimes[subjectID]
	if !ok && oldLevel != "" { // as in projectRules
		times = ruleTimes{NewStamp(p.CreatedAt), NewStamp(p.CreatedAt)}
	} else if !ok {
		times.Created = now
	}
	if oldLevel != "" {
		old := r
		old.Level, old.Created, old.Updated = oldLevel, times.Created, times.Updated
		before = &old
	}
	times.Updated = now
	meta.setRule(&r, subjectID, times)
	if r.Level != "" {
		r.Created, r.Updated = times.Created, now
		after = &r
	}
	p.Meta = storage.Encode(meta)
	return before, after, tx.PutProject(p)
}

// setRule sets or deletes the project's rule for a user or role, or its default.
func (m *ProjectMeta) setRule(r *accessRule, subjectID string, times ruleTimes) {
	levels := &m.Members
	if r.Role != nil {
		levels = &m.Roles
	}
	switch {
	case r.Member == nil && r.Role == nil:
		m.Default = r.Level
	case r.Level == "":
		delete(*levels, subjectID)
	default:
		if *levels == nil {
			*levels = map[string]AccessLevel{}
		}
		(*levels)[subjectID] = r.Level
	}
	if r.Level == "" {
		delete(m.RuleTimes, subjectID)
		return
	}
	if m.RuleTimes == nil {
		m.RuleTimes = map[string]ruleTimes{}
	}
	m.RuleTimes[subjectID] = times
}

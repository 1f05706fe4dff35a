package management

import "github.com/bunting-flags/bunting/management/internal/plain"

// AccessLevel is a degree of access: to a project none, member or admin, to all other objects none,
// viewer, editor or manager (clients.md §11.1).
type AccessLevel string

// The levels of access.
const (
	NoAccess     AccessLevel = "none"
	MemberAccess AccessLevel = "member"
	AdminAccess  AccessLevel = "admin"
	Viewer       AccessLevel = "viewer"
	Editor       AccessLevel = "editor"
	Manager      AccessLevel = "manager"
)

var (
	projectLevels = []AccessLevel{NoAccess, MemberAccess, AdminAccess}
	objectLevels  = []AccessLevel{NoAccess, Viewer, Editor, Manager}
)

// ranks order the levels; the empty level has the rank 0, below NoAccess.
var ranks = map[AccessLevel]int{NoAccess: 1, MemberAccess: 2, AdminAccess: 3, Viewer: 2, Editor: 3, Manager: 4}

// Allows reports whether the level is at least another one.
func (l AccessLevel) Allows(need AccessLevel) bool { return ranks[l] >= ranks[need] }

// levelBounds are the lowest and the highest level that rules about a kind may set; empty means no
// bound.
type levelBounds struct{ lowest, highest AccessLevel }

// levelsByKind lists the kinds of objects that rules may be about. Some kinds, such as notebooks,
// do not exist on this server: rules about them are stored all the same, so that a Terraform
// configuration with such rules can be applied unchanged.
var levelsByKind = map[string]levelBounds{
	"action": {lowest: Viewer}, "activity_log": {highest: Viewer}, "alert": {}, "annotation": {}, "cohort": {}, "dashboard": {},
	"early_access_feature": {}, "error_tracking": {}, "experiment": {}, "external_data_source": {}, "feature_flag": {},
	"insight": {}, "llm_analytics": {}, "logs": {}, "notebook": {}, "property_definition": {}, "revenue_analytics": {},
	"session_recording": {}, "survey": {}, "web_analytics": {},
}

// KindProject is the kind of a project itself in access rules.
const KindProject = "project"

// ruleTarget is the target of a rule: all objects of a kind, or if ID is set one of them.
type ruleTarget struct{ kind, id string }

// userLevels are the levels that the rules about one target set for one user: by the rule for
// everybody, by the rule for the member, and the highest of the rules for the user's roles. An
// empty level means that there is no such rule.
type userLevels struct{ everybody, member, role AccessLevel }

// explicit is the level of the rules that name the user or one of the user's roles.
func (l userLevels) explicit() AccessLevel { return higher(l.member, l.role) }

// higher returns the higher of two levels.
func higher(a, b AccessLevel) AccessLevel {
	if b.Allows(a) {
		return b
	}
	return a
}

// accessRules are the rules of a project that apply to one user, by target.
type accessRules map[ruleTarget]userLevels

// add adds a rule, which must apply to the user.
func (rules accessRules) add(r *accessRule) {
	target := ruleTarget{kind: r.Resource, id: plain.OrZero(r.ResourceID)}
	levels := rules[target]
	switch {
	case r.Member != nil:
		levels.member = r.Level
	case r.Role != nil:
		levels.role = higher(levels.role, r.Level)
	default:
		levels.everybody = r.Level
	}
	rules[target] = levels
}

// The sources of a level.
const (
	fromCreator   = "creator"
	fromOwnLevel  = "organization_admin"
	fromMember    = "explicit_member"
	fromRole      = "explicit_role"
	fromEverybody = "default"
)

// level returns the user's access to an object, or with an empty id to a kind, and its source. It
// applies steps 2 to 5 of clients.md §11.2: rules on the object that name the user, rules on the
// kind, the object's default, and Editor. Callers must have checked step 1, creators and
// administrators.
func (rules accessRules) level(kind, id string) (AccessLevel, string) {
	object, all := rules[ruleTarget{kind, id}], rules[ruleTarget{kind: kind}]
	switch {
	case id != "" && object.explicit() != "":
		return object.explicit(), object.source(object.explicit())
	case higher(all.everybody, all.explicit()) != "":
		level := higher(all.everybody, all.explicit())
		return level, all.source(level)
	case id != "" && object.everybody != "":
		return object.everybody, fromEverybody
	}
	// Without rules everybody is an editor, or has the highest level of the kind if that is lower.
	if highest := levelsByKind[kind].highest; highest != "" && Editor.Allows(highest) {
		return highest, fromEverybody
	}
	return Editor, fromEverybody
}

// source returns which of the rules has set the level.
func (l userLevels) source(level AccessLevel) string {
	switch level {
	case l.member:
		return fromMember
	case l.role:
		return fromRole
	}
	return fromEverybody
}

// AccessObject is an object that rules may be about, with the number of the user who created it. If
// ID is empty it stands for all objects of the kind. Title is its name in the log, which Finders set.
type AccessObject struct {
	Kind, ID string
	Author   int64
	Title    string
}

// AccessTo returns the caller's access to an object, or if o.ID is empty to a kind: clients.md
// §11.2. A scope without a user may only view.
func (scope *Scope) AccessTo(o AccessObject) AccessLevel {
	level, _ := scope.accessTo(o)
	return level
}

// accessTo also returns the source of the level.
func (scope *Scope) accessTo(o AccessObject) (AccessLevel, string) {
	switch {
	case scope == nil || scope.Caller == nil || scope.User == nil:
		return Viewer, fromEverybody
	case scope.IsAdmin():
		return Manager, fromOwnLevel
	case o.ID != "" && o.Author == scope.User.ID:
		return Manager, fromCreator
	}
	return scope.rules.level(o.Kind, o.ID)
}

// CanSee reports whether the caller may view an object.
func (scope *Scope) CanSee(o AccessObject) bool { return scope.AccessTo(o) != NoAccess }

// RequireAccess returns an error of kind Forbidden if the caller's access to an object is below
// level.
func (scope *Scope) RequireAccess(level AccessLevel, o AccessObject) error {
	if scope.AccessTo(o).Allows(level) {
		return nil
	}
	return Denied("You do not have %s access to this resource.", level)
}

// IsRestricted reports whether rules of the project may hide objects from the caller.
func (scope *Scope) IsRestricted() bool { return len(scope.rules) > 0 && !scope.IsAdmin() }

// Access returns the caller's access to a project. Administrators of the organization have
// AdminAccess. For other members it is the highest level of the rules that name the member or one
// of the member's roles; without such rules it is the project's default.
func (c *Caller) Access(p *ProjectRecord) AccessLevel {
	level, _ := c.projectAccess(p)
	return level
}

// projectAccess also returns the source of the level.
func (c *Caller) projectAccess(p *ProjectRecord) (AccessLevel, string) {
	switch orgLevel := c.Level(p.Organization); {
	case orgLevel == 0:
		return NoAccess, fromEverybody
	case orgLevel >= Admin:
		return AdminAccess, fromOwnLevel
	}
	meta, err := MetaOfProject(p)
	if err != nil {
		return NoAccess, fromEverybody
	}
	levels := userLevels{member: meta.Members[c.User.UUID]}
	for _, role := range c.roles {
		levels.role = higher(levels.role, meta.Roles[role])
	}
	switch own := levels.explicit(); {
	case own != "":
		return own, levels.source(own)
	case meta.Default != "":
		return meta.Default, fromEverybody
	}
	return AdminAccess, fromEverybody
}

// CanAdminister reports whether the caller is an administrator of the organization, or of the
// project by a rule that names the caller or one of the caller's roles. The project's default does
// not count, since all members have it.
func (scope *Scope) CanAdminister() bool {
	if scope.Project == nil {
		return scope.IsAdmin()
	}
	level, from := scope.projectAccess(scope.Project)
	return from != fromEverybody && level == AdminAccess
}

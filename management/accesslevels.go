package management

// AccessLevel is what somebody may do: with a project none, member or admin, with
// everything else none, viewer, editor or manager (clients.md §11.1).
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

// ranks order levels; that of no level at all is 0.
var ranks = map[AccessLevel]int{NoAccess: 1, MemberAccess: 2, AdminAccess: 3, Viewer: 2, Editor: 3, Manager: 4}

// Allows reports whether a level is another one or above it.
func (l AccessLevel) Allows(need AccessLevel) bool { return ranks[l] >= ranks[need] }

// levelBounds is a kind of things that rules may be about: their levels are least to most,
// empty for no bound.
type levelBounds struct{ lowest, highest AccessLevel }

// levelsByKind are the kinds of things that rules may be about. Some there are not here,
// such as notebooks: rules about them are stored, so that whoever manages them by
// Terraform need not leave them out.
var levelsByKind = map[string]levelBounds{
	"action": {lowest: Viewer}, "activity_log": {highest: Viewer}, "alert": {}, "annotation": {}, "cohort": {}, "dashboard": {},
	"early_access_feature": {}, "error_tracking": {}, "experiment": {}, "external_data_source": {}, "feature_flag": {},
	"insight": {}, "llm_analytics": {}, "logs": {}, "notebook": {}, "property_definition": {}, "revenue_analytics": {},
	"session_recording": {}, "survey": {}, "web_analytics": {},
}

// KindProject is what access rules call a project itself.
const KindProject = "project"

// ruleTarget is what a rule is about: a kind of things, or with an ID one of them.
type ruleTarget struct{ kind, id string }

// userLevels are the levels that the rules about one place give to one user: those for
// everybody, those that name the user and those that name a role of the user. Empty
// ones are not given.
type userLevels struct{ everybody, member, role AccessLevel }

func (l userLevels) explicit() AccessLevel { return higher(l.member, l.role) }

func higher(a, b AccessLevel) AccessLevel {
	if b.Allows(a) {
		return b
	}
	return a
}

// accessRules are the rules of a project that are about one user.
type accessRules map[ruleTarget]userLevels

// add counts a rule in, which has to be about the user.
func (rules accessRules) add(r *accessRule) {
	target := ruleTarget{kind: r.Resource}
	if r.ResourceID != nil {
		target.id = *r.ResourceID
	}
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

// Where a level comes from.
const (
	fromCreator   = "creator"
	fromOwnLevel  = "organization_admin"
	fromMember    = "explicit_member"
	fromRole      = "explicit_role"
	fromEverybody = "default"
)

// level is what the rules let the user do with a thing, or without an id with a kind of
// things, where the user is neither its creator nor an administrator (clients.md §11.2, 2
// to 5), and where that comes from.
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
	return Editor, fromEverybody
}

func (l userLevels) source(level AccessLevel) string {
	switch level {
	case l.member:
		return fromMember
	case l.role:
		return fromRole
	}
	return fromEverybody
}

// AccessObject is what rules may be about, and the number of who made it; without an ID it is all
// things of the kind.
type AccessObject struct {
	Kind, ID string
	Author   int64
}

// AccessTo is what the caller may do with a thing, without an ID with a kind of things:
// clients.md §11.2. Who is not let in only looks.
func (scope *Scope) AccessTo(o AccessObject) AccessLevel {
	level, _ := scope.accessTo(o)
	return level
}

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

// CanSee reports whether the caller may look at a thing.
func (scope *Scope) CanSee(o AccessObject) bool { return scope.AccessTo(o) != NoAccess }

// RequireAccess refuses a caller who may do less with a thing.
func (scope *Scope) RequireAccess(level AccessLevel, o AccessObject) error {
	if scope.AccessTo(o).Allows(level) {
		return nil
	}
	return Denied("You do not have %s access to this resource.", level)
}

// IsRestricted reports whether rules of the project may hide something from the caller.
func (scope *Scope) IsRestricted() bool { return len(scope.rules) > 0 && !scope.IsAdmin() }

// Access is what the caller may do in a project: administrators of the organization
// everything, others what a rule says that names them or a role of theirs, the highest of
// them, or else the project's default.
func (c *Caller) Access(p *ProjectRecord) AccessLevel {
	level, _ := c.projectAccess(p)
	return level
}

// projectAccess tells besides whether the level is the caller's own, and not one that
// everybody has.
func (c *Caller) projectAccess(p *ProjectRecord) (level AccessLevel, own bool) {
	switch orgLevel := c.Level(p.Organization); {
	case orgLevel == 0:
		return NoAccess, false
	case orgLevel >= Admin:
		return AdminAccess, true
	}
	meta, err := MetaOfProject(p)
	if err != nil {
		return NoAccess, false
	}
	level = meta.Members[c.User.UUID]
	for _, role := range c.roles {
		level = higher(level, meta.Roles[role])
	}
	switch {
	case level != "":
		return level, true
	case meta.Default != "":
		return meta.Default, false
	}
	return AdminAccess, false
}

// CanAdminister reports whether the caller is an administrator of the organization, or of
// the project by a rule that names the caller or a role, and not by the default, which
// everybody has.
func (scope *Scope) CanAdminister() bool {
	if scope.Project == nil {
		return scope.IsAdmin()
	}
	level, own := scope.projectAccess(scope.Project)
	return own && level == AdminAccess
}

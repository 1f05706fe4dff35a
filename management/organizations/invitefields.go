package organizations

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/management"
)

// inviteFields are the writable fields of an invitation (§4.5).
var inviteFields = management.Fields{
	{Name: "target_email", Type: management.Email, Required: true, Help: "email address of the invited person"},
	{Name: "first_name", Type: management.Text, Blank: true, MaxLength: 30},
	{Name: "level", Type: management.IntChoice, Numbers: levels, Help: "membership level: 1 member (default), 8 administrator, 15 owner; at most the caller's own level"},
	{Name: "message", Type: management.Text, Null: true, Blank: true, MaxLength: 10_000, Help: "text to include in the email"},
	{Name: "private_project_access", Type: management.Any, Help: `access to projects, such as [{"id": 1, "level": "member"}]; levels are none, member, admin`},
	{Name: "send_email", Type: management.Bool, Help: "true (default): send the invitation by email"},
	{Name: "combine_pending_invites", Type: management.Bool, Help: "true: use the highest level and access of all pending invitations for the address; false by default"},
}

// acceptFields are the fields of a person without an account who accepts an invitation. A caller
// with a key needs only the secret.
var acceptFields = management.Fields{
	{Name: "first_name", Type: management.Text, Required: true, MaxLength: 128, Help: "first name for the new account"},
	{Name: "role_at_organization", Type: management.Choice, Null: true, Blank: true, Choices: rolesAtOrganization},
	{Name: "secret", Type: management.Text, Null: true, Blank: true, MaxLength: 200, Help: "secret of the link; may be in the query string instead"},
}

// maxGrants is the greatest number of projects of one invitation.
const maxGrants = 1000

// projectGrant is the access to one project that an invitation grants.
type projectGrant struct {
	ID    int64                  `json:"id"`
	Level management.AccessLevel `json:"level"`
}

// grantLevels are the levels of a grant by their JSON: names, and the numbers of older clients.
var grantLevels = map[string]management.AccessLevel{
	`"none"`: management.NoAccess, `"member"`: management.MemberAccess, `"admin"`: management.AdminAccess, "1": management.MemberAccess, "8": management.AdminAccess,
}

// fieldAccess is the field with the grants of an invitation.
const fieldAccess = "private_project_access"

// readGrants reads private_project_access. The result is an empty list if the field is absent, and
// nil if it is null or empty, since responses distinguish the two.
func readGrants(v management.Values) ([]projectGrant, error) {
	if !v.Has(fieldAccess) {
		return []projectGrant{}, nil
	}
	raw := v.Raw(fieldAccess)
	if raw == nil {
		return nil, nil
	}
	var list []json.RawMessage
	if management.JSONKind(raw) != "list" || json.Unmarshal(raw, &list) != nil {
		return nil, management.Fault(fieldAccess, "The field must be a list of dictionaries.")
	}
	// Each grant needs a lookup of its project.
	if len(list) > maxGrants {
		return nil, management.CodedFault(management.CodeMaxLength, fieldAccess, "Ensure this field has no more than %d elements.", maxGrants)
	}
	var out []projectGrant
	for _, item := range list {
		g, err := readGrant(item)
		if err != nil {
			return nil, err
		}
		out = append(out, g)
	}
	return out, nil
}

// readGrant reads one grant, an object with id and level.
func readGrant(raw json.RawMessage) (g projectGrant, err error) {
	var entry map[string]json.RawMessage
	if management.JSONKind(raw) != "dict" || json.Unmarshal(raw, &entry) != nil {
		return g, management.Fault(fieldAccess, "Each item in the list must be a dictionary.")
	}
	id, hasID := entry["id"]
	level, hasLevel := entry["level"]
	if !hasID || !hasLevel {
		return g, management.Fault(fieldAccess, `Each dictionary must contain "id" and "level" keys.`)
	}
	id, level = bytes.TrimSpace(id), bytes.TrimSpace(level)
	if g.ID, err = strconv.ParseInt(string(id), 10, 64); err != nil {
		if management.JSONKind(id) == "int" { // out of range, so there is no such project
			return g, errNoSuchGrant()
		}
		return g, management.Fault(fieldAccess, `The "id" field must be an integer.`)
	}
	var ok bool
	if g.Level, ok = grantLevels[string(level)]; !ok {
		return g, management.Fault(fieldAccess, `The "level" field must be a valid access level.`)
	}
	return g, nil
}

// errNoSuchGrant is also the error for private projects, in order not to disclose that they exist.
func errNoSuchGrant() error {
	return management.Fault(fieldAccess, "Project does not exist on this organization, or it is private and you do not have access to it.")
}

// checkGrants returns an error if the caller may not grant such access.
func checkGrants(tx Tx, scope *management.Scope, grants []projectGrant) error {
	for _, g := range grants {
		p, err := tx.Project(g.ID)
		if err != nil {
			return err
		}
		if p == nil || p.Organization != scope.Organization.ID {
			return errNoSuchGrant()
		}
		meta, err := management.MetaOfProject(p)
		if err != nil {
			return err
		}
		own := scope.Caller.Access(p)
		// Only administrators of a private project may invite to it.
		if meta.Default == management.NoAccess && own != management.AdminAccess {
			return errNoSuchGrant()
		}
		projectScope := management.Scope{Caller: scope.Caller, Project: p}
		if !own.Allows(g.Level) || g.Level == management.AdminAccess && !projectScope.CanAdminister() { // an administrator by rule may change rules
			return management.Fault(fieldAccess, "You cannot invite to a private project with a higher level than your own.")
		}
	}
	return nil
}

// joinGrants returns for each project of both lists the higher access, sorted by project.
func joinGrants(a, b []projectGrant) []projectGrant {
	if len(a)+len(b) == 0 {
		return a
	}
	best := map[int64]management.AccessLevel{}
	// A project may be in both lists, or several times in one of them.
	for _, g := range slices.Concat(a, b) {
		if has, ok := best[g.ID]; !ok || !has.Allows(g.Level) {
			best[g.ID] = g.Level
		}
	}
	out := make([]projectGrant, 0, len(best))
	for id, level := range best {
		out = append(out, projectGrant{id, level})
	}
	slices.SortFunc(out, func(a, b projectGrant) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// oneLine replaces runs of spaces and line breaks by one space, for subjects and names.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

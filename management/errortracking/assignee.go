package errortracking

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// assignee is the user or the role that an issue is assigned to. Its form in responses is the
// string user:<id> or role:<uuid> (A7).
type assignee struct {
	Type string // user or role
	ID   string // the user's number or the role's UUID
}

// The types of assignees.
const (
	assigneeUser = "user"
	assigneeRole = "role"
)

// MarshalText implements encoding.TextMarshaler.
func (a assignee) MarshalText() ([]byte, error) { return []byte(a.Type + ":" + a.ID), nil }

// UnmarshalText implements encoding.TextUnmarshaler. It accepts every string.
func (a *assignee) UnmarshalText(text []byte) error {
	a.Type, a.ID, _ = strings.Cut(string(text), ":")
	return nil
}

// name returns the e-mail address of the user or the name of the role. It is empty for nil, and if
// there is no such user or role any more.
func (a *assignee) name(v *view) (string, error) {
	switch {
	case a == nil:
		return "", nil
	case a.Type == assigneeUser:
		number, _ := strconv.ParseInt(a.ID, 10, 64) // 0 is not the number of a user
		u, err := management.UserByNumber(v.Tx, number)
		if err != nil || u == nil {
			return "", err
		}
		return u.Email, nil
	case v.Organization == nil: // a scope without a user
		return "", nil
	}
	r, err := v.Tx.Get(storage.KindRole, v.Organization.ID, a.ID)
	if err != nil || r == nil {
		return "", err
	}
	role, err := management.Decode[struct{ Name string }](r)
	if err != nil {
		return "", err
	}
	return role.Name, nil
}

// assigneeType is the field for the type of an assignee.
var assigneeType = management.Field{Name: "assignee__type", Type: management.Choice, Choices: []string{assigneeUser, assigneeRole}}

// readAssignee reads an assignee as an object with type and id, or in the form of responses. It
// returns nil for null. A user must be a member of the organization, and a role must be one of its
// roles.
func readAssignee(tx management.Tx, scope *management.Scope, raw json.RawMessage) (*assignee, error) {
	kind := management.JSONKind(raw)
	parts := map[string]json.RawMessage{}
	switch kind {
	case "NoneType":
		return nil, nil
	case "dict":
		if err := json.Unmarshal(raw, &parts); err != nil {
			return nil, management.Fault("assignee", "Invalid assignee.")
		}
	case "str":
		var text string
		_ = json.Unmarshal(raw, &text) // raw is a valid string
		if typeName, id, ok := strings.Cut(text, ":"); ok {
			parts["type"], parts["id"] = storage.Encode(typeName), storage.Encode(id)
			break
		}
		fallthrough
	default:
		return nil, management.Fault("assignee", "Invalid data. Expected a dictionary, but got %s.", kind)
	}
	for _, name := range []string{"type", "id"} {
		if _, exists := parts[name]; !exists {
			return nil, management.CodedFault(management.CodeRequired, "assignee__"+name, "This field is required.")
		}
	}
	typeName, err := assigneeType.Read(parts["type"])
	if err != nil {
		return nil, err
	}
	return readAssigneeID(tx, scope, typeName.(string), parts["id"])
}

// readAssigneeID reads the id of an assignee of a type, and checks that the user or the role
// exists.
func readAssigneeID(tx management.Tx, scope *management.Scope, typeName string, raw json.RawMessage) (*assignee, error) {
	const field = "assignee__id"
	text := string(raw)
	kind := management.JSONKind(raw)
	if kind == "str" {
		_ = json.Unmarshal(raw, &text) // raw is a valid string
	}
	number, err := strconv.ParseInt(text, 10, 64)
	uuid, isUUID := management.NormalizeUUID(text)
	isInt := err == nil && (kind == "int" || kind == "str")
	switch {
	case isInt && typeName == assigneeRole:
		return nil, management.Fault(field, "Role assignee IDs must be UUIDs.")
	case isInt:
		return userAssignee(tx, scope, number)
	case kind != "str" || !isUUID:
		return nil, management.Fault(field, "Expected an integer user ID or UUID role ID.")
	case typeName == assigneeUser:
		return nil, management.Fault(field, "User assignee IDs must be integers.")
	}
	r, err := tx.Get(storage.KindRole, scope.Organization.ID, uuid)
	if err == nil && r == nil {
		err = management.CodedFault(management.CodeDoesNotExist, field, "Invalid pk %q - object does not exist.", uuid)
	}
	return &assignee{assigneeRole, uuid}, err
}

// userAssignee returns the user with a number as an assignee, if the user is a member of the
// organization.
func userAssignee(tx management.Tx, scope *management.Scope, number int64) (*assignee, error) {
	u, err := management.UserByNumber(tx, number)
	if err != nil {
		return nil, err
	}
	var m *management.Membership
	if u != nil {
		if m, err = management.MembershipOf(tx, scope.Organization.ID, u.UUID); err != nil {
			return nil, err
		}
	}
	if m == nil {
		return nil, management.CodedFault(management.CodeDoesNotExist, "assignee__id", "Invalid pk \"%d\" - object does not exist.", number)
	}
	return &assignee{assigneeUser, strconv.FormatInt(number, 10)}, nil
}

package history

import (
	"encoding/json"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags/wire"
)

// groupTypeName returns the name of the group type with the given index.
func (rd *Reader) groupTypeName(c *frame.Call, index int) (string, error) {
	names, err := rd.History.GroupTypes(c.Ctx, c.Project())
	if err != nil {
		return "", err
	}
	if index >= len(names) || names[index] == "" {
		p := problem.Problem{Status: 400, Type: "validation_error", Code: "does_not_exist"}
		return "", p.With("", "group_type_index").Detailed("Invalid pk \"%d\" - object does not exist.", index)
	}
	return names[index], nil
}

// createGroup creates a group (§5.4).
func (rd *Reader) createGroup(c *frame.Call) (any, error) {
	members, err := c.ReadMembers()
	if err != nil {
		return nil, err
	}
	raw, there := members["group_type_index"]
	if !there {
		return nil, problem.Required.With("", "group_type_index")
	}
	var index int
	if json.Unmarshal(raw, &index) != nil || index < 0 {
		return nil, problem.Invalid("group_type_index", "A valid integer is required.")
	}
	key, err := textIn(members, "group_key")
	if err != nil {
		return nil, err
	}
	set := members["group_properties"]
	switch {
	case isMissingValue(set):
		set = json.RawMessage("{}")
	case !isObject(set):
		return nil, notADict("group_properties")
	}
	name, err := rd.groupTypeName(c, index)
	if err != nil {
		return nil, err
	}
	text, err := wire.Encode(set)
	if err != nil {
		return nil, err
	}
	return showFoundGroup(rd.people.NewGroup(c.Ctx, captureProject(c), capture.GroupID{Type: index, Key: key}, name, string(text)))
}

// showFoundGroup converts a group to its response, or to a 404 error if g is nil.
func showFoundGroup(g *capture.Group, err error) (any, error) {
	switch {
	case err != nil:
		return nil, err
	case g == nil:
		return nil, &problem.NotFound
	}
	return showGroup(g), nil
}

// namedGroup returns the group that the query parameters identify, or a 404 error.
func (rd *Reader) namedGroup(c *frame.Call) (*capture.Group, error) {
	index, err := groupTypeIndex(c.Query())
	if err != nil {
		return nil, err
	}
	if !c.Query().Has("group_key") {
		return nil, problem.Required.With("", "group_key")
	}
	g, err := rd.History.Group(c.Ctx, c.Project(), capture.GroupID{Type: index, Key: c.Query().Get("group_key")})
	if err == nil && g == nil {
		err = &problem.NotFound
	}
	return g, err
}

// findGroup returns one group, or a 404 error.
func (rd *Reader) findGroup(c *frame.Call) (any, error) { return showFoundGroup(rd.namedGroup(c)) }

// updateGroupProperty sets one property of a group.
func (rd *Reader) updateGroupProperty(c *frame.Call) (any, error) {
	g, err := rd.namedGroup(c)
	if err != nil {
		return nil, err
	}
	members, err := c.ReadMembers()
	if err != nil {
		return nil, err
	}
	key, err := textIn(members, "key")
	if err != nil {
		return nil, err
	}
	value, there := members["value"]
	if !there {
		return nil, problem.Required.With("", "value")
	}
	set, err := wire.Encode(map[string]json.RawMessage{key: value})
	if err != nil {
		return nil, err
	}
	name, err := rd.groupTypeName(c, g.Type)
	if err != nil {
		return nil, err
	}
	return showFoundGroup(rd.people.SetGroup(c.Ctx, captureProject(c), g.GroupID, name, string(set)))
}

// deleteGroupProperty removes one property of a group.
func (rd *Reader) deleteGroupProperty(c *frame.Call) (any, error) {
	g, err := rd.namedGroup(c)
	if err != nil {
		return nil, err
	}
	members, err := c.ReadMembers()
	if err != nil {
		return nil, err
	}
	key, err := textIn(members, "$unset")
	if err != nil {
		return nil, err
	}
	return showFoundGroup(rd.people.UnsetGroup(c.Ctx, c.Project(), g.GroupID, key))
}

// updateGroupTypes changes the labels of group types and returns all group types.
func (rd *Reader) updateGroupTypes(c *frame.Call) (any, error) {
	var body json.RawMessage
	if err := c.ReadJSONBody(&body); err != nil {
		return nil, err
	}
	var changes []json.RawMessage
	if json.Unmarshal(body, &changes) != nil {
		p := problem.Problem{Status: 400, Type: "validation_error", Code: "not_a_list", Detail: "Expected a list of items."}
		return nil, &p
	}
	labels, err := rd.management.Organizations.LabelGroupTypes(c.Ctx, c.Project(), changes)
	if err != nil {
		return nil, err
	}
	names, err := rd.History.GroupTypes(c.Ctx, c.Project())
	if err != nil {
		return nil, err
	}
	return showGroupTypes(names, labels), nil
}

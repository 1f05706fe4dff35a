package httpapi

import (
	"encoding/json"
	"net/http"

	"github.com/bunting-flags/bunting/capture"
)

// sendGroup changes a group as a $groupidentify does, and returns it.
func (rd *reader) sendGroup(r *http.Request, project int64, id capture.GroupID, typeName string, set json.RawMessage) (*capture.Group, error) {
	properties := map[string]json.RawMessage{"$group_set": set, "$process_person_profile": json.RawMessage("false")}
	for name, text := range map[string]string{"$group_type": typeName, "$group_key": id.Key} {
		raw, err := encode(text)
		if err != nil {
			return nil, err
		}
		properties[name] = raw
	}
	if err := rd.sendEvent(r, "$groupidentify", "$"+typeName+"_"+id.Key, properties); err != nil {
		return nil, err
	}
	return rd.history.Group(r.Context(), project, id)
}

// groupTypeName is the name of a group type of a number.
func (rd *reader) groupTypeName(r *http.Request, project int64, index int) (string, error) {
	names, err := rd.history.GroupTypes(r.Context(), project)
	if err != nil {
		return "", err
	}
	if index >= len(names) || names[index] == "" {
		p := problem{Status: 400, Type: "validation_error", Code: "does_not_exist"}
		return "", p.with("", "group_type_index").say("Invalid pk \"%d\" - object does not exist.", index)
	}
	return names[index], nil
}

// createGroup makes a group (§5.4).
func createGroup(rd *reader, w http.ResponseWriter, r *http.Request, project int64) error {
	body, err := rd.readMembers(w, r)
	if err != nil {
		return err
	}
	raw, there := body["group_type_index"]
	if !there {
		return problemRequired.with("", "group_type_index")
	}
	var index int
	if json.Unmarshal(raw, &index) != nil || index < 0 {
		return invalid("group_type_index", "A valid integer is required.")
	}
	key, err := textIn(body, "group_key")
	if err != nil {
		return err
	}
	set := body["group_properties"]
	switch {
	case missingValue(set):
		set = json.RawMessage("{}")
	case !isObject(set):
		return notADict("group_properties")
	}
	name, err := rd.groupTypeName(r, project, index)
	if err != nil {
		return err
	}
	id := capture.GroupID{Type: index, Key: key}
	switch there, err := rd.history.Group(r.Context(), project, id); {
	case err != nil:
		return err
	case there != nil:
		return invalid("detail", "A group with this key already exists")
	}
	g, err := rd.sendGroup(r, project, id, name, set)
	return rd.replyGroup(w, http.StatusCreated, g, err)
}

// replyGroup answers with a group as it is now.
func (rd *reader) replyGroup(w http.ResponseWriter, status int, g *capture.Group, err error) error {
	switch {
	case err != nil:
		return err
	case g == nil:
		return &problemNotFound
	}
	return rd.reply(w, status, showGroup(g))
}

// namedGroup is the group that the query names.
func (rd *reader) namedGroup(r *http.Request, project int64) (*capture.Group, error) {
	params := r.URL.Query()
	index, err := groupTypeIndex(params)
	if err != nil {
		return nil, err
	}
	if !params.Has("group_key") {
		return nil, problemRequired.with("", "group_key")
	}
	g, err := rd.history.Group(r.Context(), project, capture.GroupID{Type: index, Key: params.Get("group_key")})
	if err == nil && g == nil {
		err = &problemNotFound
	}
	return g, err
}

// updateGroupProperty sets one property of a group.
func updateGroupProperty(rd *reader, w http.ResponseWriter, r *http.Request, project int64) error {
	g, err := rd.namedGroup(r, project)
	if err != nil {
		return err
	}
	body, err := rd.readMembers(w, r)
	if err != nil {
		return err
	}
	key, err := textIn(body, "key")
	if err != nil {
		return err
	}
	value, there := body["value"]
	if !there {
		return problemRequired.with("", "value")
	}
	set, err := encode(map[string]json.RawMessage{key: value})
	if err != nil {
		return err
	}
	name, err := rd.groupTypeName(r, project, g.Type)
	if err != nil {
		return err
	}
	g, err = rd.sendGroup(r, project, g.GroupID, name, set)
	return rd.replyGroup(w, http.StatusOK, g, err)
}

// deleteGroupProperty takes one property of a group away.
func deleteGroupProperty(rd *reader, w http.ResponseWriter, r *http.Request, project int64) error {
	g, err := rd.namedGroup(r, project)
	if err != nil {
		return err
	}
	body, err := rd.readMembers(w, r)
	if err != nil {
		return err
	}
	key, err := textIn(body, "$unset")
	switch {
	case err != nil:
		return err
	case rd.people == nil:
		return &problemReadOnly
	}
	switch found, err := rd.people.UnsetGroupProperty(r.Context(), project, g.GroupID, key); {
	case err != nil:
		return err
	case !found:
		return invalid("$unset", "The group has no property \"%s\".", shorten(key))
	}
	g, err = rd.history.Group(r.Context(), project, g.GroupID)
	return rd.replyGroup(w, http.StatusOK, g, err)
}

// updateGroupTypes changes what people call group types, and answers with all of
// them.
func updateGroupTypes(rd *reader, w http.ResponseWriter, r *http.Request, project int64) error {
	if rd.Management == nil {
		return &problemReadOnly
	}
	var body json.RawMessage
	if err := rd.readJSON(w, r, &body); err != nil {
		return err
	}
	var changes []json.RawMessage
	if json.Unmarshal(body, &changes) != nil {
		p := problem{Status: 400, Type: "validation_error", Code: "not_a_list", Detail: "Expected a list of items."}
		return &p
	}
	labels, err := rd.Management.LabelGroupTypes(r.Context(), project, changes)
	if err != nil {
		return managementProblem(err)
	}
	names, err := rd.history.GroupTypes(r.Context(), project)
	if err != nil {
		return err
	}
	return rd.reply(w, http.StatusOK, showGroupTypes(names, labels))
}

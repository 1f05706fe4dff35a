package httpapi

import (
	"net/http"
	"slices"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/organizations"
	"github.com/bunting-flags/bunting/management/rooms"
)

// groupTypeEndpoints say how group types are called, which organizations keeps.
var groupTypeEndpoints = history("group", []row[*reader]{
	by("GET", "/groups_types", "List group types", (*reader).listGroupTypes).giving([]groupType{}),
	by("PATCH", "/groups_types/update_metadata", "Change how group types are called", (*reader).updateGroupTypes).
		taking(organizations.GroupTypeFields).giving([]groupType{}).arrays(),
})

// THE TABLE: every endpoint that is served with a History (§1.7).
var historyEndpoints = slices.Concat(
	history("query", limited([]row[*reader]{
		by("GET", "/events", "List events", (*reader).listEvents).giving(uncounted[event]{}),
		by("GET", "/events/{event}", "Read an event", (*reader).getEvent).giving(event{}),
	})),
	history("person", limited([]row[*reader]{
		by("GET", "/persons", "List persons", (*reader).listPersons).giving(personPage{}),
		by("GET", "/persons/values", "List values of a property of persons", (*reader).personValues).giving([]personValue{}).
			asking(parameterDoc{"key", "string", "the property; required"}, parameterDoc{"value", "string", "a part of the values, in any case"}),
		by("GET", "/persons/{person}", "Read a person", (*reader).getPerson).giving(person{}),
		by("POST", "/persons/bulk_delete", "Erase persons", (*reader).bulkDeletePersons).taking(bulkDeleteFields).asking(eventsToo).answering(http.StatusAccepted),
		by("DELETE", "/persons/{person}", "Erase a person", (*reader).deletePerson).asking(eventsToo).answering(http.StatusAccepted),
		by("PATCH", "/persons/{person}", "Set properties of a person", (*reader).patchPerson).
			taking(personFields).orPut("Set properties of a person").answering(http.StatusAccepted),
		by("POST", "/persons/{person}/update_property", "Set a property of a person", (*reader).updatePersonProperty).taking(propertyFields).answering(http.StatusAccepted),
		by("POST", "/persons/{person}/delete_property", "Remove a property of a person", (*reader).deletePersonProperty).taking(unsetFields).giving(success{}).created(),
		by("POST", "/persons/{person}/delete_events", "Erase the events of a person", (*reader).deletePersonEvents).answering(http.StatusAccepted),
		by("POST", "/persons/{person}/split", "Split a person into one for each distinct id", (*reader).splitPerson).taking(splitFields).giving(success{}).created(),
		by("POST", "/import", "Import persons and groups, as lines of JSON", (*reader).importLines).takingLines().giving(imported{}),
	})),
	history("group", []row[*reader]{
		by("GET", "/groups", "List groups", (*reader).listGroups).giving(uncounted[group]{}),
		by("POST", "/groups", "Make a group", (*reader).createGroup).taking(groupFields).giving(group{}).created(),
		by("GET", "/groups/find", "Read a group", (*reader).findGroup).asking(whichGroup...).giving(group{}),
		by("POST", "/groups/update_property", "Set a property of a group", (*reader).updateGroupProperty).asking(whichGroup...).taking(propertyFields).giving(group{}),
		by("POST", "/groups/delete_property", "Remove a property of a group", (*reader).deleteGroupProperty).asking(whichGroup...).taking(unsetFields).giving(group{}),
	}),
	history("property_definition", []row[*reader]{
		by("GET", "/property_definitions", "List properties that were seen", (*reader).listPropertyDefinitions).giving(management.List[propertyDefinition]{}),
	}),
	history("event_definition", []row[*reader]{
		by("GET", "/event_definitions", "List names of events that were seen", (*reader).listEventDefinitions).giving(management.List[eventDefinition]{}),
	}),
	history("project", []row[*reader]{by("GET", "/ingestion_warnings", "List warnings of the intake", (*reader).listWarnings).giving(uncounted[warning]{})}),
)

// What bodies may have, for the description: the handlers read them themselves.
var (
	personFields   = management.Fields{{Name: "properties", Type: management.Object, Required: true, Help: "set beside those that there are"}}
	propertyFields = management.Fields{
		{Name: "key", Type: management.Text, Required: true, Help: "the name of the property"},
		{Name: "value", Type: management.Any, Required: true},
	}
	unsetFields      = management.Fields{{Name: "$unset", Type: management.Text, Required: true, Help: "the name of the property"}}
	splitFields      = management.Fields{{Name: "main_distinct_id", Type: management.Text, Null: true, Help: "the distinct id that keeps the person"}}
	bulkDeleteFields = management.Fields{
		{Name: "ids", Type: management.TextList, Help: "uuids, at most 1,000"},
		{Name: "distinct_ids", Type: management.TextList, Help: "at most 1,000, in the place of ids or beside them"},
		{Name: "delete_events", Type: management.Bool, Help: "erase their events too"},
	}
	groupFields = management.Fields{
		{Name: "group_type_index", Type: management.Int, Required: true, Help: "the number of the group type"},
		{Name: "group_key", Type: management.Text, Required: true},
		{Name: "group_properties", Type: management.Object, Null: true},
	}
	eventsToo  = parameterDoc{"delete_events", "boolean", "erase their events too"}
	whichGroup = []parameterDoc{{"group_type_index", "integer", "the number of the group type; required"}, {"group_key", "string", "the key of the group; required"}}
)

// success is the answer of calls that say no more.
type success struct {
	Success bool `json:"success"`
}

// readBack are the endpoints that are served with a History.
func readBack(by *rooms.Rooms) []endpoint {
	out := slices.Concat(historyEndpoints, erasureEndpoints, liveEndpoints)
	if by.Organizations == nil {
		return out
	}
	return slices.Concat(out, groupTypeEndpoints, definitionEndpoints)
}

// history makes endpoints of rows, which read bodies themselves.
func history(object string, rows []row[*reader]) []endpoint {
	for i := range rows {
		rows[i].unread = true
	}
	return resource(inHistory, object, readerOf, rows)
}

// limited are rows that read with limits of their own (§2.6).
func limited[S any](rows []row[S]) []row[S] {
	for i := range rows {
		rows[i].reads = rows[i].method == http.MethodGet
	}
	return rows
}

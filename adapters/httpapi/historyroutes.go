package httpapi

import (
	"net/http"
	"slices"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/organizations"
	"github.com/bunting-flags/bunting/management/rooms"
)

// groupTypeEndpoints are the endpoints for group types and their labels, which package
// organizations stores.
var groupTypeEndpoints = history("group", []row[*reader]{
	handle("GET", "/groups_types", "List group types", (*reader).listGroupTypes).withResponse([]groupType{}),
	handle("PATCH", "/groups_types/update_metadata", "Change the names of group types", (*reader).updateGroupTypes).
		withBody(organizations.GroupTypeFields).withResponse([]groupType{}).withArrayBody(),
})

// historyEndpoints are the endpoints that are served if the server has a History (§1.7).
var historyEndpoints = slices.Concat(
	history("query", withReadLimits([]row[*reader]{
		handle("GET", "/events", "List events", (*reader).listEvents).withResponse(uncounted[event]{}),
		handle("GET", "/events/{event}", "Read an event", (*reader).getEvent).withResponse(event{}),
	})),
	history("person", withReadLimits([]row[*reader]{
		handle("GET", "/persons", "List persons", (*reader).listPersons).withResponse(personPage{}),
		handle("GET", "/persons/values", "List the values of a person property", (*reader).personValues).withResponse([]personValue{}).
			withQuery(param("key", "string", "name of the property; required"), param("value", "string", "text that values contain, ignoring case")),
		handle("GET", "/persons/{person}", "Read a person", (*reader).getPerson).withResponse(person{}),
		handle("POST", "/persons/bulk_delete", "Delete persons", (*reader).bulkDeletePersons).withBody(bulkDeleteFields).withQuery(deleteEventsParameter).withStatus(http.StatusAccepted),
		handle("DELETE", "/persons/{person}", "Delete a person", (*reader).deletePerson).withQuery(deleteEventsParameter).withStatus(http.StatusAccepted),
		handle("PATCH", "/persons/{person}", "Set properties of a person", (*reader).patchPerson).
			withBody(personFields).withPut("Set properties of a person").withStatus(http.StatusAccepted),
		handle("POST", "/persons/{person}/update_property", "Set a property of a person", (*reader).updatePersonProperty).withBody(propertyFields).withStatus(http.StatusAccepted),
		handle("POST", "/persons/{person}/delete_property", "Remove a property of a person", (*reader).deletePersonProperty).withBody(unsetFields).withResponse(success{}).created(),
		handle("POST", "/persons/{person}/delete_events", "Delete the events of a person", (*reader).deletePersonEvents).withStatus(http.StatusAccepted),
		handle("POST", "/persons/{person}/split", "Split a person into one person for each distinct id", (*reader).splitPerson).withBody(splitFields).withResponse(success{}).created(),
		handle("POST", "/import", "Import persons and groups as lines of JSON", (*reader).importLines).withLinesBody().withResponse(imported{}),
	})),
	history("group", []row[*reader]{
		handle("GET", "/groups", "List groups", (*reader).listGroups).withResponse(uncounted[group]{}),
		handle("POST", "/groups", "Create a group", (*reader).createGroup).withBody(groupFields).withResponse(group{}).created(),
		handle("GET", "/groups/find", "Read a group", (*reader).findGroup).withQuery(groupParameters...).withResponse(group{}),
		handle("POST", "/groups/update_property", "Set a property of a group", (*reader).updateGroupProperty).withQuery(groupParameters...).withBody(propertyFields).withResponse(group{}),
		handle("POST", "/groups/delete_property", "Remove a property of a group", (*reader).deleteGroupProperty).withQuery(groupParameters...).withBody(unsetFields).withResponse(group{}),
	}),
	history("property_definition", []row[*reader]{
		handle("GET", "/property_definitions", "List property definitions", (*reader).listPropertyDefinitions).withResponse(management.List[propertyDefinition]{}),
	}),
	history("event_definition", []row[*reader]{
		handle("GET", "/event_definitions", "List event definitions", (*reader).listEventDefinitions).withResponse(management.List[eventDefinition]{}),
	}),
	history("project", []row[*reader]{handle("GET", "/ingestion_warnings", "List ingestion warnings", (*reader).listWarnings).withResponse(uncounted[warning]{})}),
)

// The fields of bodies, only for the OpenAPI document: the handlers parse the bodies themselves.
var (
	personFields   = management.Fields{{Name: "properties", Type: management.Object, Required: true, Help: "properties to set; others do not change"}}
	propertyFields = management.Fields{
		{Name: "key", Type: management.Text, Required: true, Help: "name of the property"},
		{Name: "value", Type: management.Any, Required: true},
	}
	unsetFields      = management.Fields{{Name: "$unset", Type: management.Text, Required: true, Help: "name of the property"}}
	splitFields      = management.Fields{{Name: "main_distinct_id", Type: management.Text, Null: true, Help: "the distinct id that stays with the original person"}}
	bulkDeleteFields = management.Fields{
		{Name: "ids", Type: management.TextList, Help: "uuids of persons, at most 1,000"},
		{Name: "distinct_ids", Type: management.TextList, Help: "distinct ids of persons, at most 1,000, instead of ids or in addition"},
		{Name: "delete_events", Type: management.Bool, Help: "also delete their events"},
	}
	groupFields = management.Fields{
		{Name: "group_type_index", Type: management.Int, Required: true, Help: "index of the group type"},
		{Name: "group_key", Type: management.Text, Required: true},
		{Name: "group_properties", Type: management.Object, Null: true},
	}
	deleteEventsParameter = param("delete_events", "boolean", "also delete their events")
	groupParameters       = []parameterDoc{param("group_type_index", "integer", "index of the group type; required"), param("group_key", "string", "key of the group; required")}
)

// historyRows returns the endpoints that are served if the server has a History.
func historyRows(services *rooms.Rooms, t *streams) []endpoint {
	out := slices.Concat(historyEndpoints, erasureEndpoints, liveEndpoints(t))
	if services.Organizations == nil {
		return out
	}
	return slices.Concat(out, groupTypeEndpoints, definitionEndpoints)
}

// history returns endpoints for rows whose handlers read the body themselves.
func history(object string, rows []row[*reader]) []endpoint {
	for i := range rows {
		rows[i].unread = true
	}
	return resource(inHistory, object, readerOf, rows)
}

// withReadLimits marks the rows with GET as endpoints with rate limits for reading (§2.6).
func withReadLimits[S any](rows []row[S]) []row[S] {
	for i := range rows {
		rows[i].reads = rows[i].method == http.MethodGet
	}
	return rows
}

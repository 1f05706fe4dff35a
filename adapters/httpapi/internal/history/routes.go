package history

import (
	"net/http"
	"slices"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/streams"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/organizations"
	"github.com/bunting-flags/bunting/management/rooms"
)

// groupTypeEndpoints are the endpoints for group types and their labels, which package
// organizations stores.
var groupTypeEndpoints = history("group", []frame.Row[*Reader]{
	frame.Handle("GET", "/groups_types", "List group types", (*Reader).listGroupTypes).WithResponse([]groupType{}),
	frame.Handle("PATCH", "/groups_types/update_metadata", "Change the names of group types", (*Reader).updateGroupTypes).
		WithBody(organizations.Bodies.GroupType).WithResponse([]groupType{}).WithArrayBody(),
})

// historyEndpoints are the endpoints that are served if the server has a History (§1.7).
var historyEndpoints = slices.Concat(
	history("query", withReadLimits([]frame.Row[*Reader]{
		frame.Handle("GET", "/events", "List events", (*Reader).listEvents).WithResponse(frame.Uncounted[event]{}),
		frame.Handle("GET", "/events/{event}", "Read an event", (*Reader).getEvent).WithResponse(event{}),
	})),
	history("person", withReadLimits([]frame.Row[*Reader]{
		frame.Handle("GET", "/persons", "List persons", (*Reader).listPersons).WithResponse(personPage{}),
		frame.Handle("GET", "/persons/values", "List the values of a person property", (*Reader).personValues).WithResponse([]personValue{}).
			WithQuery(frame.Param("key", "string", "name of the property; required"), frame.Param("value", "string", "text that values contain, ignoring case")),
		frame.Handle("GET", "/persons/{person}", "Read a person", (*Reader).getPerson).WithResponse(Person{}),
		frame.Handle("POST", "/persons/bulk_delete", "Delete persons", (*Reader).bulkDeletePersons).WithBody(bulkDeleteFields).WithQuery(deleteEventsParameter).WithStatus(http.StatusAccepted),
		frame.Handle("DELETE", "/persons/{person}", "Delete a person", (*Reader).deletePerson).WithQuery(deleteEventsParameter).WithStatus(http.StatusAccepted),
		frame.Handle("PATCH", "/persons/{person}", "Set properties of a person", (*Reader).patchPerson).
			WithBody(personFields).WithPut("Set properties of a person").WithStatus(http.StatusAccepted),
		frame.Handle("POST", "/persons/{person}/update_property", "Set a property of a person", (*Reader).updatePersonProperty).WithBody(propertyFields).WithStatus(http.StatusAccepted),
		frame.Handle("POST", "/persons/{person}/delete_property", "Remove a property of a person", (*Reader).deletePersonProperty).WithBody(unsetFields).WithResponse(frame.Success{}).Created(),
		frame.Handle("POST", "/persons/{person}/delete_events", "Delete the events of a person", (*Reader).deletePersonEvents).WithStatus(http.StatusAccepted),
		frame.Handle("POST", "/persons/{person}/split", "Split a person into one person for each distinct id", (*Reader).splitPerson).WithBody(splitFields).WithResponse(frame.Success{}).Created(),
		frame.Handle("POST", "/import", "Import persons and groups as lines of JSON", (*Reader).importLines).WithLinesBody().WithResponse(imported{}),
	})),
	history("group", []frame.Row[*Reader]{
		frame.Handle("GET", "/groups", "List groups", (*Reader).listGroups).WithResponse(frame.Uncounted[group]{}),
		frame.Handle("POST", "/groups", "Create a group", (*Reader).createGroup).WithBody(groupFields).WithResponse(group{}).Created(),
		frame.Handle("GET", "/groups/find", "Read a group", (*Reader).findGroup).WithQuery(groupParameters...).WithResponse(group{}),
		frame.Handle("POST", "/groups/update_property", "Set a property of a group", (*Reader).updateGroupProperty).WithQuery(groupParameters...).WithBody(propertyFields).WithResponse(group{}),
		frame.Handle("POST", "/groups/delete_property", "Remove a property of a group", (*Reader).deleteGroupProperty).WithQuery(groupParameters...).WithBody(unsetFields).WithResponse(group{}),
	}),
	history("property_definition", []frame.Row[*Reader]{
		frame.Handle("GET", "/property_definitions", "List property definitions", (*Reader).listPropertyDefinitions).WithResponse(management.List[propertyDefinition]{}),
	}),
	history("event_definition", []frame.Row[*Reader]{
		frame.Handle("GET", "/event_definitions", "List event definitions", (*Reader).listEventDefinitions).WithResponse(management.List[eventDefinition]{}),
	}),
	history("project", []frame.Row[*Reader]{frame.Handle("GET", "/ingestion_warnings", "List ingestion warnings", (*Reader).listWarnings).WithResponse(frame.Uncounted[warning]{})}),
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
	deleteEventsParameter = frame.Param("delete_events", "boolean", "also delete their events")
	groupParameters       = []frame.Parameter{frame.Param("group_type_index", "integer", "index of the group type; required"), frame.Param("group_key", "string", "key of the group; required")}
)

// Endpoints returns the endpoints that are served if the server has a History.
func Endpoints(services *rooms.Rooms, t *streams.Streams) []frame.Endpoint {
	out := slices.Concat(historyEndpoints, erasureEndpoints, liveEndpoints(t))
	if services.Organizations == nil {
		return out
	}
	return slices.Concat(out, groupTypeEndpoints, definitionEndpoints)
}

// history returns endpoints for rows whose handlers read the body themselves.
func history(object string, rows []frame.Row[*Reader]) []frame.Endpoint {
	for i := range rows {
		rows[i].Unread = true
	}
	return frame.Resource(frame.InHistory, object, readerOf, rows)
}

// withReadLimits marks the rows with GET as endpoints with rate limits for reading (§2.6).
func withReadLimits[S any](rows []frame.Row[S]) []frame.Row[S] {
	for i := range rows {
		rows[i].Reads = rows[i].Method == http.MethodGet
	}
	return rows
}

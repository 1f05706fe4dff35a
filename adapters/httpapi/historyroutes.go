package httpapi

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/bunting-flags/bunting/management/rooms"
)

// groupTypeEndpoints say how group types are called, which organizations keeps.
var groupTypeEndpoints = history("group", []row[*reader]{
	by("GET", "/groups_types", "List group types", (*reader).listGroupTypes),
	by("PATCH", "/groups_types/update_metadata", "Change how group types are called", (*reader).updateGroupTypes),
})

// THE TABLE: every endpoint that is served with a History (§1.7).
var historyEndpoints = slices.Concat(
	history("query", limited([]row[*reader]{
		by("GET", "/events", "List events", (*reader).listEvents),
		by("GET", "/events/{event}", "Read an event", (*reader).getEvent),
	})),
	history("person", limited([]row[*reader]{
		by("GET", "/persons", "List persons", (*reader).listPersons),
		by("GET", "/persons/values", "List values of a property of persons", (*reader).personValues),
		by("GET", "/persons/{person}", "Read a person", (*reader).getPerson),
		by("POST", "/persons/bulk_delete", "Erase persons", (*reader).bulkDeletePersons).answering(http.StatusAccepted),
		by("DELETE", "/persons/{person}", "Erase a person", (*reader).deletePerson).answering(http.StatusAccepted),
		by("PATCH", "/persons/{person}", "Set properties of a person", (*reader).patchPerson).orPut("Set properties of a person").answering(http.StatusAccepted),
		by("POST", "/persons/{person}/update_property", "Set a property of a person", (*reader).updatePersonProperty).answering(http.StatusAccepted),
		by("POST", "/persons/{person}/delete_property", "Remove a property of a person", (*reader).deletePersonProperty).created(),
		by("POST", "/persons/{person}/delete_events", "Erase the events of a person", (*reader).deletePersonEvents).answering(http.StatusAccepted),
		by("POST", "/persons/{person}/split", "Split a person into one for each distinct id", (*reader).splitPerson).created(),
		by("POST", "/import", "Import persons and groups", (*reader).importLines),
	})),
	history("group", []row[*reader]{
		by("GET", "/groups", "List groups", (*reader).listGroups),
		by("POST", "/groups", "Make a group", (*reader).createGroup).created(),
		by("GET", "/groups/find", "Read a group", (*reader).findGroup),
		by("POST", "/groups/update_property", "Set a property of a group", (*reader).updateGroupProperty),
		by("POST", "/groups/delete_property", "Remove a property of a group", (*reader).deleteGroupProperty),
	}),
	history("property_definition", []row[*reader]{by("GET", "/property_definitions", "List properties that were seen", (*reader).listPropertyDefinitions)}),
	history("event_definition", []row[*reader]{by("GET", "/event_definitions", "List names of events that were seen", (*reader).listEventDefinitions)}),
	history("project", []row[*reader]{by("GET", "/ingestion_warnings", "List warnings of the intake", (*reader).listWarnings)}),
)

// readBack are the endpoints that are served with a History.
func readBack(by *rooms.Rooms) []endpoint {
	if by.Organizations == nil {
		return historyEndpoints
	}
	return slices.Concat(historyEndpoints, groupTypeEndpoints)
}

// history makes endpoints of rows, which read bodies themselves. Their answers are not
// described.
func history(object string, rows []row[*reader]) []endpoint {
	for i := range rows {
		rows[i].unread = true
		if rows[i].status != http.StatusAccepted {
			rows[i].gives = json.RawMessage{}
		}
	}
	return resource(inHistory, object, readerOf, rows)
}

// limited are rows that read with limits of their own (§2.6).
func limited(rows []row[*reader]) []row[*reader] {
	for i := range rows {
		rows[i].reads = rows[i].method == http.MethodGet
	}
	return rows
}

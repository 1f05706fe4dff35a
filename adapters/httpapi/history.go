package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/rooms"
)

// reader is what the endpoints of people, groups and events stand on.
type reader struct {
	history    capture.History
	people     *capture.People // nil: nothing can be changed
	management *rooms.Rooms
	now        func() time.Time
}

func readerOf(s *server) *reader {
	return &reader{s.History, s.People, s.Management, s.Decider.Now}
}

// readBack are the endpoints that are served with a History.
func readBack(by *rooms.Rooms) []endpoint {
	if by.Organizations == nil {
		return historyEndpoints
	}
	return slices.Concat(historyEndpoints, groupTypeEndpoints)
}

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

// THE TABLE: errors of access (§1.5) and of the resources.
var (
	problemProject       = problem{Status: 404, Type: "invalid_request", Code: "not_found", Detail: "Project not found."}
	problemRequired      = problem{Status: 400, Type: "validation_error", Code: "required", Detail: "This field is required."}
	problemInvalidInput  = problem{Status: 400, Type: "validation_error", Code: "invalid_input"}
	problemParse         = problem{Status: 400, Type: "invalid_request", Code: "parse_error", Detail: "JSON parse error -"}
	problemInvalidChoice = problem{Status: 400, Type: "validation_error", Code: "invalid_choice"}
	problemEventQuota    = problem{Status: 402, Type: "server_error", Code: "payment_required", Detail: "You have exceeded your event quota."}
	problemReadOnly      = problem{Status: 503, Type: "server_error", Code: "service_unavailable", Detail: "This server cannot change people."}
)

// invalid is a value that cannot be used, and where it stands.
func invalid(attr, format string, args ...any) *problem {
	return problemInvalidInput.with("", attr).say(format, args...)
}

// say replaces the detail.
func (p *problem) say(format string, args ...any) *problem {
	p.Detail = fmt.Sprintf(format, args...)
	return p
}

// storeProblem puts the errors of the store into words. The cause stays for the
// log.
func storeProblem(err error) error {
	var target *problem
	var refusal *capture.Refusal
	switch {
	case err == nil || errors.As(err, &target):
		return err
	case errors.As(err, &refusal):
		return invalid(refusal.Attr, "%s", refusal.Detail)
	case errors.Is(err, capture.ErrReadOnly):
		return &problemReadOnly
	case errors.Is(err, capture.ErrOverQuota):
		return &problemEventQuota
	case errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, capture.ErrUnavailable), errors.Is(err, context.Canceled):
		return fmt.Errorf("%w: %w", flags.ErrUnavailable, err)
	}
	return err
}

// instant is a time that is always there: the zero time is the first moment of the
// year 1, which an event may have.
type instant time.Time

// MarshalJSON implements json.Marshaler.
func (t instant) MarshalJSON() ([]byte, error) {
	if time.Time(t).IsZero() {
		return []byte(`"0001-01-01T00:00:00Z"`), nil
	}
	return management.Stamp{Time: time.Time(t)}.MarshalJSON()
}

// boolParameter reads a switch of the query: there without a value, or with any
// but false, 0 and no, it is on.
func boolParameter(q url.Values, name string) bool {
	if !q.Has(name) {
		return false
	}
	switch strings.ToLower(q.Get(name)) {
	case "false", "0", "no":
		return false
	}
	return true
}

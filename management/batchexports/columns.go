package batchexports

import (
	"encoding/json"
	"strings"

	"github.com/bunting-flags/bunting/management"
)

// exportColumns are the columns of each model, with PostHog's names. Properties, person_properties,
// set and set_once are JSON objects; set and set_once are null if the event has none.
var exportColumns = map[string][]Column{
	modelEvents: {
		{"uuid", TextColumn}, {"team_id", IntColumn}, {"timestamp", TimeColumn}, {"created_at", TimeColumn}, {"event", TextColumn},
		{"distinct_id", TextColumn}, {"properties", JSONColumn}, {"elements_chain", TextColumn}, {"person_id", TextColumn},
		{"person_properties", JSONColumn}, {"set", JSONColumn}, {"set_once", JSONColumn},
	},
	modelPersons: {
		{"team_id", IntColumn}, {"distinct_id", TextColumn}, {"person_id", TextColumn}, {"properties", JSONColumn},
		{"person_version", IntColumn}, {"person_distinct_id_version", IntColumn}, {"created_at", TimeColumn}, {"is_identified", BoolColumn},
	},
	modelSessions: {
		{"session_id", TextColumn}, {"team_id", IntColumn}, {"distinct_id", TextColumn}, {"person_id", TextColumn},
		{"start_timestamp", TimeColumn}, {"end_timestamp", TimeColumn}, {"duration", IntColumn}, {"event_count", IntColumn},
		{"pageview_count", IntColumn}, {"autocapture_count", IntColumn}, {"entry_current_url", TextColumn}, {"exit_current_url", TextColumn},
	},
}

// exportKeys are the columns that identify a row. Events with the same uuid are the same event only
// if their name and distinct id are equal too.
var exportKeys = map[string][]string{
	modelEvents:   {"team_id", "uuid", "event", "distinct_id"},
	modelPersons:  {"team_id", "distinct_id"},
	modelSessions: {"team_id", "session_id"},
}

// exportNewer are the columns that determine which of two rows with the same key is newer.
var exportNewer = map[string][]string{
	modelPersons:  {"person_version", "person_distinct_id_version"},
	modelSessions: {"end_timestamp"},
}

// tableColumns are the columns of tables in PostgreSQL, in PostHog's order, for the models for
// which they differ from exportColumns (spec/clients.md §16).
var tableColumns = map[string][]Column{
	modelEvents: {
		{"uuid", TextColumn}, {"event", TextColumn}, {"properties", JSONColumn}, {"elements", JSONColumn}, {"set", JSONColumn},
		{"set_once", JSONColumn}, {"distinct_id", TextColumn}, {"team_id", IntColumn}, {"ip", TextColumn}, {"site_url", TextColumn},
		{"timestamp", TimeColumn},
	},
	modelPersons: exportColumns[modelPersons][:7], // all except is_identified
}

// tableRow appends the values of an event in the form in which PostHog writes it to a table. The
// elements are a JSON string that contains a JSON string.
func tableRow(row []any, team int64, e *Event) ([]any, error) {
	elements := management.Encode(string(management.Encode(e.ElementsChain)))
	set, once, err := setsOf(e.Properties)
	if err != nil {
		return row, err
	}
	var sent struct {
		IP any `json:"$ip"`
	}
	if strings.Contains(e.Properties, `"$ip"`) {
		if err := json.Unmarshal([]byte(e.Properties), &sent); err != nil {
			return row, err
		}
	}
	if text, is := sent.IP.(string); !is || text == "" {
		sent.IP = nil
	}
	return append(row, e.UUID, e.Name, objectOf(e.Properties), elements, set, once, e.DistinctID, team, sent.IP, nil, e.Timestamp), nil
}

// objectOf returns a stored JSON object, or {} if text is empty.
func objectOf(text string) json.RawMessage {
	if text == "" {
		return json.RawMessage("{}")
	}
	return json.RawMessage(text)
}

// setsOf returns $set and $set_once of an event's properties, or nil for members that are not
// objects.
func setsOf(properties string) (set, once json.RawMessage, err error) {
	// Most events have neither, and a search is much faster than parsing.
	if !strings.Contains(properties, `"$set`) {
		return nil, nil, nil
	}
	var p map[string]json.RawMessage
	if err := json.Unmarshal([]byte(properties), &p); err != nil {
		return nil, nil, err
	}
	object := func(raw json.RawMessage) json.RawMessage {
		if raw != nil && management.JSONKind(raw) == "dict" {
			return raw
		}
		return nil
	}
	return object(p["$set"]), object(p["$set_once"]), nil
}

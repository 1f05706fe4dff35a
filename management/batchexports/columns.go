package batchexports

import (
	"encoding/json"
	"strings"

	"github.com/bunting-flags/bunting/management"
)

// exportColumns are the columns of a model, under PostHog's names. Properties,
// person_properties, set and set_once are JSON objects; set and set_once are null
// where an event has none.
var exportColumns = map[string][]Column{
	modelEvents: {
		{"uuid", TextColumn}, {"team_id", IntColumn}, {"timestamp", TimeColumn}, {"created_at", TimeColumn}, {"event", TextColumn},
		{"distinct_id", TextColumn}, {"properties", JSONColumn}, {"elements_chain", TextColumn}, {"person_id", TextColumn},
		{"person_properties", JSONColumn}, {"set", JSONColumn}, {"set_once", JSONColumn},
	},
	modelPersons: {
		{"team_id", IntColumn}, {"distinct_id", TextColumn}, {"person_id", TextColumn}, {"properties", JSONColumn},
		{"person_version", IntColumn}, {"is_identified", BoolColumn}, {"created_at", TimeColumn},
	},
	modelSessions: {
		{"session_id", TextColumn}, {"team_id", IntColumn}, {"distinct_id", TextColumn}, {"person_id", TextColumn},
		{"start_timestamp", TimeColumn}, {"end_timestamp", TimeColumn}, {"duration", IntColumn}, {"event_count", IntColumn},
		{"pageview_count", IntColumn}, {"autocapture_count", IntColumn}, {"entry_current_url", TextColumn}, {"exit_current_url", TextColumn},
	},
}

// exportKeys are the columns that make a row the same one. Events of one uuid are
// the same when name and distinct id are too.
var exportKeys = map[string][]string{
	modelEvents:   {"team_id", "uuid", "event", "distinct_id"},
	modelPersons:  {"team_id", "distinct_id"},
	modelSessions: {"team_id", "session_id"},
}

// objectOf is a JSON object that is stored, {} where nothing is.
func objectOf(text string) json.RawMessage {
	if text == "" {
		return json.RawMessage("{}")
	}
	return json.RawMessage(text)
}

// setsOf are $set and $set_once of an event, nil where it has none.
func setsOf(properties string) (set, once json.RawMessage, err error) {
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

package batchexports

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// job returns the Job of a run. Its columns and its key depend on the model, on the query, and on
// whether the destination is a table.
func (s Service) job(h *claimedRun) *Job {
	e, span := h.export, h.run.Span
	j := &Job{
		Run: h.run.Writes, Export: e.ID, Project: e.Team, Model: e.Model, Key: exportKeys[e.Model],
		From: h.run.From.Time, To: h.run.To.Time, Backfill: !span.From.IsZero(), Destination: e.Destination, Columns: exportColumns[e.Model],
	}
	query, table := e.query(), e.Destination.Type == destinationPostgres
	if columns := tableColumns[e.Model]; table && columns != nil {
		j.Columns = columns
	}
	j.Newer, j.Appended = exportNewer[e.Model], table && query == nil && e.Model == modelEvents
	if query != nil {
		j.Columns = query.columns()
		if j.Key = query.keyAliases(j.Key); len(j.Key) < len(exportKeys[e.Model]) {
			j.Key = nil // the remaining columns do not identify a row
		}
	}
	// Filters are compiled for each attempt, because the project's settings may change in between.
	j.Rows = func(ctx context.Context, yield func([]any) error) error {
		project, err := management.Read(ctx, &s.Env, func(tx management.Tx) (*management.ProjectRecord, error) { return tx.Project(e.Team) })
		if err != nil {
			return err
		}
		if project == nil {
			return &PermanentError{Reason: "The project is deleted."}
		}
		filters, err := compileExportFilters(e.Filters, e.Model, project.FilterSettings())
		if err != nil {
			return &PermanentError{Reason: err.Error()}
		}
		r := &rowMaker{export: e, filters: filters, query: query, now: s.Env.Now(), yield: yield, columns: len(j.Columns), appended: j.Appended,
			include: e.Destination.texts("include_events"), exclude: e.Destination.texts("exclude_events")}
		switch e.Model {
		case modelPersons:
			return s.Rows.Persons(ctx, e.Team, span, r.person)
		case modelSessions:
			return s.sessions(ctx, e, span, yield)
		}
		return s.Rows.Events(ctx, e.Team, span, r.event)
	}
	return j
}

// rowMaker converts events or persons to rows and passes them to yield. It reuses the slice of a
// row.
type rowMaker struct {
	export  *exportRecord
	filters *exportFilters
	// query is nil if the export has all columns. appended reports that the rows have the columns
	// of PostHog's table.
	query *exportQuery
	// include and exclude are names of events. An empty include includes all.
	include, exclude []string
	// now is the time to which relative dates of filters refer.
	now   time.Time
	yield func([]any) error
	// row is the buffer for rows, and columns the number of columns of the model's rows.
	row      []any
	columns  int
	appended bool
}

// event yields the row of an event, unless the export excludes it.
func (r *rowMaker) event(e *Event) error {
	if len(r.include) > 0 && !slices.Contains(r.include, e.Name) || slices.Contains(r.exclude, e.Name) {
		return nil
	}
	holds, err := r.filters.matches(e.Properties, e.PersonProperties, r.now)
	if err != nil || !holds {
		return err
	}
	r.row = r.row[:0]
	if r.query != nil {
		if r.row, err = r.query.row(r.row, r.export.Team, e); err != nil {
			return err
		}
		return r.yield(r.row)
	}
	if r.appended {
		if r.row, err = tableRow(r.row, r.export.Team, e); err != nil {
			return err
		}
		return r.yield(r.row)
	}
	set, once, err := setsOf(e.Properties)
	if err != nil {
		return err
	}
	r.row = append(r.row, e.UUID, r.export.Team, e.Timestamp, e.CreatedAt, e.Name, e.DistinctID, objectOf(e.Properties), e.ElementsChain,
		e.PersonID, objectOf(e.PersonProperties), set, once)
	return r.yield(r.row)
}

// person yields the row of a person, unless a filter does not match.
func (r *rowMaker) person(p *Person) error {
	holds, err := r.filters.matches("", p.Properties, r.now)
	if err != nil || !holds {
		return err
	}
	// The version of a person also serves as that of the distinct id: a distinct id only moves to a
	// person with a higher version.
	r.row = append(r.row[:0], r.export.Team, p.DistinctID, p.UUID, objectOf(p.Properties), p.Version, p.Version, p.CreatedAt, p.Identified)
	return r.yield(r.row[:r.columns])
}

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
	elements := storage.Encode(string(storage.Encode(e.ElementsChain)))
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

package batchexports

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management"
)

// Rows reads what exports write. Its errors are faults of the store. No
// transaction stays open while visit works.
type Rows interface {
	// Horizon is a place in the ledger at or below which nothing of the project can
	// be committed any more.
	Horizon(ctx context.Context, projectID int64) (int64, error)
	// Boundary is about the last place before the first event that came in at a time
	// or later, at most the horizon.
	Boundary(ctx context.Context, at time.Time, horizon int64) (int64, error)
	// Passed is the last place, after < place <= upTo, up to which every event of the
	// project behind after came in before a time; after when there is none.
	Passed(ctx context.Context, projectID, after, upTo int64, at time.Time) (int64, error)
	// FirstEvent is the time of the earliest event, FirstPerson when the earliest
	// person was first seen; false when there is none.
	FirstEvent(ctx context.Context, projectID int64) (time.Time, bool, error)
	FirstPerson(ctx context.Context, projectID int64) (time.Time, bool, error)
	// Events visits events in an order that is always the same. visit must not keep
	// what it is given; an error of it ends the visit.
	Events(ctx context.Context, projectID int64, span Span, visit func(*Event) error) error
	// Persons visits persons as they are now, each with one of its distinct ids: those
	// first seen From <= time < To where these are set, else those changed at the
	// places of the span.
	Persons(ctx context.Context, projectID int64, span Span, visit func(*Person) error) error
}

// Span says which events, or changes of persons, belong to a run.
type Span struct {
	// After < place <= UpTo.
	After int64 `json:"after"`
	UpTo  int64 `json:"up_to"`
	// Before is the time before which they came in, zero for any.
	Before time.Time `json:"before,omitzero"`
	// Those up to DoneUpTo that came in before DoneBefore belong to earlier runs.
	DoneUpTo   int64     `json:"done_up_to,omitempty"`
	DoneBefore time.Time `json:"done_before,omitzero"`
	// From <= their own time < To, zero for open.
	From time.Time `json:"from,omitzero"`
	To   time.Time `json:"to,omitzero"`
	// Back is where the other events of sessions are looked for from on.
	Back int64 `json:"back,omitempty"`
	// Light leaves the properties of persons out.
	Light bool `json:"-"`
}

// Holds reports whether an event belongs to the span.
func (s *Span) Holds(e *Event) bool {
	return e.ID > s.After && e.ID <= s.UpTo &&
		(s.Before.IsZero() || e.CreatedAt.Before(s.Before)) &&
		(e.ID > s.DoneUpTo || !e.CreatedAt.Before(s.DoneBefore)) &&
		(s.From.IsZero() || !e.Timestamp.Before(s.From)) && (s.To.IsZero() || e.Timestamp.Before(s.To))
}

// Event is an event as it is stored. ID is its place in the ledger,
// CreatedAt when it came in. Properties are JSON objects.
type Event struct {
	ID                           int64
	UUID, Name, DistinctID       string
	PersonID                     string
	Properties, PersonProperties string
	ElementsChain                string
	Timestamp, CreatedAt         time.Time
}

// Person is a person with one of its distinct ids.
type Person struct {
	DistinctID, UUID string
	Properties       string
	Version          int64
	Identified       bool
	CreatedAt        time.Time
}

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

// job is the work of a run.
func (s Service) job(h *held) *Job {
	e, span := h.export, h.run.Span
	j := &Job{
		Run: h.run.Writes, Export: e.ID, Project: e.Team, Model: e.Model, Key: exportKeys[e.Model],
		From: h.run.From.Time, To: h.run.To.Time, Backfill: !span.From.IsZero(), Destination: e.Destination, Columns: exportColumns[e.Model],
	}
	query := e.query()
	if query != nil {
		j.Columns = query.columns()
		if j.Key = query.keep(j.Key); len(j.Key) < len(exportKeys[e.Model]) {
			j.Key = nil // what is left of it tells no rows apart
		}
	}
	j.Rows = func(ctx context.Context, yield func([]any) error) error {
		filters, err := compileExportFilters(e.Filters, e.Model)
		if err != nil {
			return &Refused{Reason: err.Error()}
		}
		r := &rowMaker{export: e, filters: filters, query: query, now: s.Desk.Now(), yield: yield,
			include: e.Destination.texts("include_events"), exclude: e.Destination.texts("exclude_events")}
		switch e.Model {
		case modelPersons:
			return s.Rows.Persons(ctx, e.Team, span, r.person)
		case modelSessions:
			return s.sessions(ctx, e, span, yield)
		}
		span.Light = !r.wantsPerson()
		return s.Rows.Events(ctx, e.Team, span, r.event)
	}
	return j
}

// rowMaker makes rows of a model.
type rowMaker struct {
	export           *exportRecord
	filters          *exportFilters
	query            *exportQuery // nil: all columns
	include, exclude []string
	now              time.Time
	yield            func([]any) error
	row              []any
}

// wantsPerson reports whether the properties of persons are looked at.
func (r *rowMaker) wantsPerson() bool {
	return r.query == nil || r.query.wantsPerson() || r.filters.person != nil
}

func (r *rowMaker) event(e *Event) error {
	if len(r.include) > 0 && !slices.Contains(r.include, e.Name) || slices.Contains(r.exclude, e.Name) {
		return nil
	}
	holds, err := r.filters.hold(e.Properties, e.PersonProperties, r.now)
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
	set, once, err := setsOf(e.Properties)
	if err != nil {
		return err
	}
	r.row = append(r.row, e.UUID, r.export.Team, e.Timestamp, e.CreatedAt, e.Name, e.DistinctID, objectOf(e.Properties), e.ElementsChain,
		e.PersonID, objectOf(e.PersonProperties), set, once)
	return r.yield(r.row)
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

func (r *rowMaker) person(p *Person) error {
	holds, err := r.filters.hold("", p.Properties, r.now)
	if err != nil || !holds {
		return err
	}
	r.row = append(r.row[:0], r.export.Team, p.DistinctID, p.UUID, objectOf(p.Properties), p.Version, p.Identified, p.CreatedAt)
	return r.yield(r.row)
}

// exportFilters are the property filters of an export, made ready: those of the
// event and those of its person. nil: there are none. For one goroutine.
type exportFilters struct {
	event, person *flags.Set
	out           flags.Decisions
}

// exportFlag is the flag whose condition holds the filters: operators mean the
// same here as in flags.
const exportFlag = "export"

// maxExportFilters is how many filters an export may have.
const maxExportFilters = 100

// compileExportFilters reads the filters of an export, all of which have to hold.
// What cannot be evaluated is refused.
func compileExportFilters(raw json.RawMessage, model string) (*exportFilters, error) {
	out := &exportFilters{}
	if len(raw) == 0 || management.JSONKind(raw) == "NoneType" {
		return out, nil
	}
	var list []json.RawMessage
	if management.JSONKind(raw) != "list" || json.Unmarshal(raw, &list) != nil {
		return nil, management.Fault("filters", "'filters' should be an array of filters")
	}
	if len(list) > maxExportFilters {
		return nil, management.Coded(management.CodeMaxLength, "filters", "Ensure this field has no more than %d elements.", maxExportFilters)
	}
	byType := map[string][]flags.Property{}
	for _, item := range list {
		var f map[string]json.RawMessage
		if management.JSONKind(item) != "dict" || json.Unmarshal(item, &f) != nil {
			return nil, management.Fault("filters", "Each filter must be an object")
		}
		kind, p, err := exportFilter(f)
		if err != nil {
			return nil, err
		}
		if model == modelSessions || model == modelPersons && kind != "person" {
			return nil, management.Fault("filters", "Filters of type %q cannot be evaluated for the model %s.", kind, model)
		}
		byType[kind] = append(byType[kind], p)
	}
	var err error
	if out.event, err = exportSet(byType["event"]); err == nil {
		out.person, err = exportSet(byType["person"])
	}
	return out, err
}

func exportFilter(f map[string]json.RawMessage) (kind string, p flags.Property, err error) {
	kind = "event"
	if raw, there := f["type"]; there {
		if err := json.Unmarshal(raw, &kind); err != nil || kind != "event" && kind != "person" {
			return "", p, management.Fault("filters", "Filters of type %s cannot be evaluated: use event or person.", raw)
		}
	}
	if json.Unmarshal(f["key"], &p.Key) != nil || p.Key == "" {
		return "", p, management.Fault("filters", "Each filter must have a key.")
	}
	if raw, there := f["operator"]; there && management.JSONKind(raw) != "NoneType" {
		if err := json.Unmarshal(raw, &p.Operator); err != nil {
			return "", p, management.Fault("filters", "The operator of a filter must be a text.")
		}
	}
	p.Type = flags.PersonProperty // whichever it is: it is looked up by its key
	if raw, there := f["value"]; there {
		p.Value, p.HasValue = wire.Value(raw), true
	}
	return kind, p, nil
}

func exportSet(list []flags.Property) (*flags.Set, error) {
	if len(list) == 0 {
		return nil, nil
	}
	set := flags.Compile(flags.Definitions{Flags: []flags.Flag{{ID: 1, Key: exportFlag, Active: true, Conditions: []flags.Condition{{Properties: list}}}}})
	if faults := set.Faults(); len(faults) > 0 {
		return nil, management.Fault("filters", "The filters cannot be evaluated: %s.", faults[0].Problem)
	}
	return set, nil
}

// hold reports whether the filters hold.
func (f *exportFilters) hold(event, person string, at time.Time) (bool, error) {
	for _, part := range []struct {
		set  *flags.Set
		text string
	}{{f.event, event}, {f.person, person}} {
		if part.set == nil {
			continue
		}
		properties, err := flagProperties(part.text)
		if err != nil {
			return false, err
		}
		decision, ok := part.set.EvaluateFlag(exportFlag, &flags.Subject{Person: properties}, at, &f.out)
		if !ok || !decision.Enabled {
			return false, nil
		}
	}
	return true, nil
}

// flagProperties are the properties of a JSON object as flags read them.
func flagProperties(text string) (flags.Properties, error) {
	if text == "" {
		return nil, nil
	}
	var p map[string]any
	err := wire.Decode([]byte(text), &p)
	return p, err
}

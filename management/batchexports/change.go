package batchexports

import (
	"context"
	"encoding/json"
	"github.com/bunting-flags/bunting/management"
	"slices"
	"strconv"
	"time"
)

// Create makes an export. Its first run covers the interval that holds this
// moment, or the one that ends with start_at when that is later.
func (s Service) Create(ctx context.Context, st *management.Standing, b management.Body) (*BatchExport, error) {
	return management.Write(ctx, &s.Desk, func(tx management.Tx) (*BatchExport, error) {
		e, err := s.draft(b)
		if err != nil {
			return nil, err
		}
		project, err := s.projectFor(tx, st, b)
		if err != nil {
			return nil, err
		}
		now := management.At(s.Desk.Now())
		e.ID, e.Team, e.Organization, e.Created, e.Updated = s.Desk.NewID(), project.ID, st.Organization.ID, now, now
		if e.Number, err = tx.Next(kindBatchExport); err != nil {
			return nil, err
		}
		if err := putExport(tx, e); err != nil {
			return nil, err
		}
		t := &exportTask{Export: e.ID, Place: exportPlace{To: management.At(e.schedule().floor(now.Time)), Fresh: true}}
		if err := s.putTask(tx, e, t); err != nil {
			return nil, err
		}
		if err := s.Desk.Note(tx, st.Caller, management.ProjectParent(e.Team), "BatchExport", e.ID, e.Name, nil, e.logged()); err != nil {
			return nil, err
		}
		return e.view(tx)
	})
}

// draft is the export that a body describes, not saved.
func (s Service) draft(b management.Body) (*exportRecord, error) {
	v, err := Fields.Create(b)
	if err != nil {
		return nil, err
	}
	e := &exportRecord{BatchExport: BatchExport{Model: modelEvents, Schema: json.RawMessage("null"), Filters: json.RawMessage("null"), Timezone: "UTC"}}
	return e, e.set(v)
}

// projectFor is the project in which an export is made: that of the path, else
// the one that the body names, else the caller's current one in the organization,
// else its first.
func (s Service) projectFor(tx management.Tx, st *management.Standing, b management.Body) (*management.ProjectRecord, error) {
	if st.Project != nil {
		return st.Project, nil
	}
	v, err := exportPlaceFields.Create(b)
	if err != nil {
		return nil, err
	}
	list, err := tx.Projects(st.Organization.ID)
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(p management.ProjectRecord) bool { return !st.Reaches(&p) })
	find := func(id int64) *management.ProjectRecord {
		if i := slices.IndexFunc(list, func(p management.ProjectRecord) bool { return p.ID == id }); i >= 0 {
			return &list[i]
		}
		return nil
	}
	for _, name := range []string{"team_id", "project_id"} {
		if id, named := management.Value[int64](v, name); named {
			if p := find(id); p != nil {
				return p, nil
			}
			return nil, management.Coded(management.CodeDoesNotExist, name, "Invalid pk %q - object does not exist.", strconv.FormatInt(id, 10))
		}
	}
	if p := find(st.User.Project); p != nil {
		return p, nil
	}
	if len(list) == 0 {
		return nil, management.ErrNoProject()
	}
	return &list[0], nil
}

// set takes the fields that were given, and checks what they mean together.
func (e *exportRecord) set(v management.Values) error {
	management.Set(v, "name", &e.Name)
	management.Set(v, "model", &e.Model)
	if v.Null("model") {
		e.Model = modelEvents
	}
	if v.Has("destination") {
		if v.Null("destination") {
			return management.Coded(management.CodeNull, "destination", "This field may not be null.")
		}
		var stored *ExportDestination
		if e.Destination.Type != "" {
			stored = &e.Destination
		}
		d, err := readDestination(v.Raw("destination"), stored)
		if err != nil {
			return err
		}
		e.Destination = *d
	}
	management.Set(v, "interval", &e.Interval)
	management.Set(v, "paused", &e.Paused)
	for name, to := range map[string]*management.Stamp{"start_at": &e.Start, "end_at": &e.End} {
		if v.Has(name) {
			*to = management.At(v.Time(name))
		}
	}
	if v.Has("timezone") {
		e.Timezone = v.Text("timezone")
		if e.Timezone == "" {
			e.Timezone = "UTC"
		}
		if _, err := loadZone(e.Timezone); err != nil {
			return management.NotATimezone(e.Timezone)
		}
	}
	management.SetNull(v, "offset_day", &e.OffsetDay)
	management.SetNull(v, "offset_hour", &e.OffsetHour)
	if v.Has("hogql_query") {
		e.Schema = json.RawMessage("null")
		if query := v.Text("hogql_query"); query != "" {
			q, err := readExportQuery(query)
			if err != nil {
				return err
			}
			e.Schema = management.Encode(q)
		}
	}
	if v.Has("filters") {
		e.Filters = json.RawMessage("null")
		if raw := v.Raw("filters"); raw != nil {
			e.Filters = raw
		}
	}
	return e.check()
}

// check looks at what the fields mean together.
func (e *exportRecord) check() error {
	_, daily := evenIntervals[e.Interval]
	switch {
	case e.OffsetDay != nil && e.Interval != everyWeek:
		return management.Fault("offset_day", "offset_day is not applicable for non-weekly intervals")
	case e.OffsetHour != nil && daily:
		return management.Fault("offset_hour", "offset_hour is not applicable for non-daily/weekly intervals")
	case e.Destination.Type == destinationHTTP && e.Model != modelEvents:
		return management.Fault("model", "HTTP batch exports only support the events model")
	case string(e.Schema) != "null" && e.Model != modelEvents:
		return management.Fault("hogql_query", "Invalid HogQL query: only the events model can be queried")
	case string(e.Schema) != "null" && e.Destination.Type == destinationHTTP:
		return management.Fault("hogql_query", "Invalid HogQL query: HTTP destinations take whole events")
	case e.Model != modelEvents && len(e.Destination.Texts("include_events"))+len(e.Destination.Texts("exclude_events")) > 0:
		return destinationFault("'include_events' and 'exclude_events' are for the events model.")
	}
	_, err := compileExportFilters(e.Filters, e.Model)
	return err
}

// Update changes an export. put: all required fields have to be there. Where
// paused changes it is as with Pause and Unpause.
func (s Service) Update(ctx context.Context, st *management.Standing, id string, b management.Body, put bool) (*BatchExport, error) {
	return management.Write(ctx, &s.Desk, func(tx management.Tx) (*BatchExport, error) {
		e, err := exportIn(tx, st, id)
		if err != nil {
			return nil, err
		}
		v, err := Fields.Update(b, put)
		if err != nil {
			return nil, err
		}
		before, paused, model := e.logged(), e.Paused, e.Model
		if err := e.set(v); err != nil {
			return nil, err
		}
		t, err := taskOf(tx, e.ID)
		if err != nil {
			return nil, err
		}
		now := management.At(s.Desk.Now())
		e.Updated = now
		if e.Paused && !paused {
			e.LastPaused = now
		}
		if paused && !e.Paused {
			t.resume(e.schedule(), now.Time)
		}
		if e.Model != model { // places of models are not the same
			t.Place.Fresh = true
		}
		if err := putExport(tx, e); err != nil {
			return nil, err
		}
		if err := s.putTask(tx, e, t); err != nil {
			return nil, err
		}
		if err := s.Desk.Note(tx, st.Caller, management.ProjectParent(e.Team), "BatchExport", e.ID, e.Name, before, e.logged()); err != nil {
			return nil, err
		}
		return e.view(tx)
	})
}

// Delete takes an export out of sight. What runs is cancelled.
func (s Service) Delete(ctx context.Context, st *management.Standing, id string) error {
	return s.Desk.Store.Write(ctx, func(tx management.Tx) error {
		e, err := exportIn(tx, st, id)
		if err != nil {
			return err
		}
		t, err := taskOf(tx, e.ID)
		if err != nil {
			return err
		}
		if err := s.cancelAll(tx, t); err != nil {
			return err
		}
		before := e.logged()
		e.Deleted, e.Updated = true, management.At(s.Desk.Now())
		if err := putExport(tx, e); err != nil {
			return err
		}
		if err := tx.Delete(kindExportTask, "", e.ID); err != nil {
			return err
		}
		return s.Desk.Note(tx, st.Caller, management.ProjectParent(e.Team), "BatchExport", e.ID, e.Name, before, nil)
	})
}

// Paused is the answer to pause and unpause (A1).
type Paused struct {
	Paused bool `json:"paused"`
}

// Pause stops the schedule. A run that is under way ends as usual.
func (s Service) Pause(ctx context.Context, st *management.Standing, id string) (*Paused, error) {
	return management.Write(ctx, &s.Desk, func(tx management.Tx) (*Paused, error) {
		e, err := exportIn(tx, st, id)
		if err != nil || e.Paused {
			return &Paused{true}, err
		}
		t, err := taskOf(tx, e.ID)
		if err != nil {
			return nil, err
		}
		before := e.logged()
		e.Paused, e.LastPaused, e.Updated = true, management.At(s.Desk.Now()), management.At(s.Desk.Now())
		return &Paused{true}, s.saveWith(tx, st, e, t, before)
	})
}

// Unpause starts the schedule again, with the interval that holds this moment.
// With {"backfill": true} a backfill takes over what has come in since the last
// run: it covers that by the time of coming in, so that with the schedule nothing
// is left out and nothing comes twice.
func (s Service) Unpause(ctx context.Context, st *management.Standing, id string, b management.Body) (*Paused, error) {
	v, err := UnpauseFields.Change(b)
	if err != nil {
		return nil, err
	}
	var horizon, low int64
	if v.Bool("backfill") {
		e, err := s.Get(ctx, st, id)
		if err != nil {
			return nil, err
		}
		if s.Rows == nil {
			return nil, errNoExports()
		}
		if horizon, err = s.Rows.Horizon(ctx, e.Team); err != nil {
			return nil, err
		}
		if low, err = s.Rows.Boundary(ctx, s.Desk.Now().Add(-lateness), horizon); err != nil {
			return nil, err
		}
	}
	return management.Write(ctx, &s.Desk, func(tx management.Tx) (*Paused, error) {
		e, err := exportIn(tx, st, id)
		if err != nil || !e.Paused {
			return &Paused{}, err
		}
		t, err := taskOf(tx, e.ID)
		if err != nil {
			return nil, err
		}
		now, before := s.Desk.Now(), e.logged()
		if v.Bool("backfill") {
			if err := s.takeOver(tx, e, t, horizon, low); err != nil {
				return nil, err
			}
		} else {
			t.resume(e.schedule(), now)
		}
		e.Paused, e.Updated = false, management.At(now)
		return &Paused{}, s.saveWith(tx, st, e, t, before)
	})
}

func (s Service) saveWith(tx management.Tx, st *management.Standing, e *exportRecord, t *exportTask, before *BatchExport) error {
	if err := putExport(tx, e); err != nil {
		return err
	}
	if err := s.putTask(tx, e, t); err != nil {
		return err
	}
	return s.Desk.Note(tx, st.Caller, management.ProjectParent(e.Team), "BatchExport", e.ID, e.Name, before, e.logged())
}

// errNoExports says that this server runs no exports.
func errNoExports() error {
	return &management.Error{Kind: management.Unavailable, Code: "unavailable", Message: "This server runs no batch exports."}
}

// resume makes the schedule go on with the interval that holds a time, unless it
// has come as far already.
func (t *exportTask) resume(s schedule, at time.Time) {
	if begin := s.floor(at); begin.After(t.Place.To.Time) {
		t.Place = exportPlace{To: management.At(begin), Fresh: true}
	}
}

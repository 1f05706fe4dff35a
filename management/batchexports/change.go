package batchexports

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/resource"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// Create creates an export. Its first run covers the current interval, or the interval that ends
// with start_at if that is later.
func (s Service) Create(ctx context.Context, scope *management.Scope, b management.Body) (*batchExport, error) {
	return s.exports.Create(ctx, scope, b)
}

// newExport returns an export with the default values.
func newExport() *exportRecord {
	return &exportRecord{batchExport: batchExport{Model: modelEvents, Schema: json.RawMessage("null"), Filters: json.RawMessage("null"), Timezone: "UTC"}}
}

// rules validates an export, and updates its task so that the schedule follows the change.
func (s Service) rules(e *exportEdit) error {
	x, now := e.After, management.NewStamp(s.Env.Now())
	if err := x.set(e.Values); err != nil {
		return err
	}
	x.Updated = now
	if e.IsNew {
		return s.initialize(e)
	}
	t, err := taskOf(e.Tx, x.ID)
	if err != nil {
		return err
	}
	if !x.Destination.hasSecretsOf(&e.Before.Destination) {
		x.SecretsChanged = now
	}
	if x.Paused && !e.Before.Paused {
		x.LastPaused = now
	}
	if e.Before.Paused && !x.Paused {
		t.resume(x.schedule(), now.Time)
	}
	if x.Model != e.Before.Model { // positions of one model do not apply to another
		t.Position.IsNew = true
	}
	return s.putTask(e.Tx, x, t)
}

// initialize sets the project and the id of a new export, and creates its task.
func (s Service) initialize(e *exportEdit) error {
	x := e.After
	project, err := s.projectFor(e.Tx, e.Scope, *e.Body)
	if err != nil {
		return err
	}
	x.ID, x.Team, x.Organization, x.Created = s.Env.NewID(), project.ID, e.Organization.ID, x.Updated
	if x.Number, err = e.Tx.Next(kindBatchExport); err != nil {
		return err
	}
	return s.putTask(e.Tx, x, &exportTask{Export: x.ID, Position: exportPosition{To: management.NewStamp(x.schedule().floor(x.Created.Time)), IsNew: true}})
}

// projectFor returns the project of a new export: that of the path, otherwise the one that the body
// names, otherwise the caller's current project if it is in the organization, otherwise the first
// one.
func (s Service) projectFor(tx management.Tx, scope *management.Scope, b management.Body) (*management.ProjectRecord, error) {
	if scope.Project != nil {
		return scope.Project, nil
	}
	v, err := exportProjectFields.Create(b)
	if err != nil {
		return nil, err
	}
	list, err := tx.Projects(scope.Organization.ID)
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(p management.ProjectRecord) bool { return !scope.CanReach(&p) })
	find := func(id int64) *management.ProjectRecord {
		if i := slices.IndexFunc(list, func(p management.ProjectRecord) bool { return p.ID == id }); i >= 0 {
			return &list[i]
		}
		return nil
	}
	for _, name := range []string{"team_id", "project_id"} {
		if id, ok := management.Value[int64](v, name); ok {
			if p := find(id); p != nil {
				return p, nil
			}
			return nil, management.CodedFault(management.CodeDoesNotExist, name, "Invalid pk %q - object does not exist.", strconv.FormatInt(id, 10))
		}
	}
	if p := find(scope.User.Project); p != nil {
		return p, nil
	}
	if len(list) == 0 {
		return nil, management.ErrNoProject()
	}
	return &list[0], nil
}

// set applies the Custom fields of a body to the export, and validates all fields together.
func (e *exportRecord) set(v management.Values) error {
	management.Set(v, "model", &e.Model)
	if v.IsNull("model") {
		e.Model = modelEvents
	}
	if v.Has("destination") {
		if v.IsNull("destination") {
			return management.CodedFault(management.CodeNull, "destination", "This field may not be null.")
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
	if v.Has("timezone") {
		e.Timezone = v.Text("timezone")
		if e.Timezone == "" {
			e.Timezone = "UTC"
		}
		if _, err := loadZone(e.Timezone); err != nil {
			return management.NotATimezone(e.Timezone)
		}
	}
	if v.Has("hogql_query") {
		e.Schema = json.RawMessage("null")
		if query := v.Text("hogql_query"); query != "" {
			q, err := readExportQuery(query)
			if err != nil {
				return err
			}
			e.Schema = storage.Encode(q)
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

// check validates the fields that depend on each other.
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
		return management.Fault("hogql_query", "Invalid HogQL query: HTTP destinations receive complete events and do not support queries")
	case e.Model != modelEvents && len(e.Destination.texts("include_events"))+len(e.Destination.texts("exclude_events")) > 0:
		return destinationFault("'include_events' and 'exclude_events' are only supported for the events model.")
	}
	_, err := compileExportFilters(e.Filters, e.Model, flags.FilterSettings{}) // whether filters are valid does not depend on the settings
	return err
}

// Update changes an export. If put is true, all required fields must be present. Changing paused
// has the effect of Pause or Unpause.
func (s Service) Update(ctx context.Context, scope *management.Scope, id string, b management.Body, put bool) (*batchExport, error) {
	return s.exports.Update(ctx, scope, id, b, put)
}

// Delete deletes an export softly and cancels its runs and backfills.
func (s Service) Delete(ctx context.Context, scope *management.Scope, id string) error {
	return s.exports.Delete(ctx, scope, id)
}

// beforeDelete cancels the runs and backfills of an export, and marks it as deleted.
func (s Service) beforeDelete(e *exportEdit) error {
	t, err := taskOf(e.Tx, e.After.ID)
	if err != nil {
		return err
	}
	if err := s.cancelAll(e.Tx, t); err != nil {
		return err
	}
	e.After.Deleted, e.After.Updated = true, management.NewStamp(s.Env.Now())
	return e.Tx.Delete(kindExportTask, "", e.After.ID)
}

// pauseState is the response to pause and unpause (A1).
type pauseState struct {
	Paused bool `json:"paused"`
}

// Pause stops the schedule. A run in progress is completed.
func (s Service) Pause(ctx context.Context, scope *management.Scope, id string) (*pauseState, error) {
	_, err := resource.RunAction(ctx, s.exports, scope, id, func(e *exportEdit) error {
		x := e.After
		if x.Paused {
			return nil
		}
		x.Paused, x.LastPaused, x.Updated = true, management.NewStamp(s.Env.Now()), management.NewStamp(s.Env.Now())
		return s.wake(e.Tx, x)
	})
	return &pauseState{true}, err
}

// Unpause restarts the schedule with the current interval. With {"backfill": true}, a backfill also
// exports the data that have arrived since the last run. It covers them by ingestion time, so that
// the backfill and the schedule together omit and repeat no event.
func (s Service) Unpause(ctx context.Context, scope *management.Scope, id string, b management.Body) (*pauseState, error) {
	v, err := unpauseFields.Change(b)
	if err != nil {
		return nil, err
	}
	var horizon, low int64
	if v.Bool("backfill") {
		e, err := s.Get(ctx, scope, id)
		if err != nil {
			return nil, err
		}
		if s.Rows == nil {
			return nil, errNoExports()
		}
		// The ledger is read before the transaction.
		if horizon, err = s.Rows.Horizon(ctx, e.Team); err != nil {
			return nil, err
		}
		if low, err = s.Rows.Boundary(ctx, s.Env.Now().Add(-maxLateness), horizon); err != nil {
			return nil, err
		}
	}
	_, err = resource.RunAction(ctx, s.exports, scope, id, func(e *exportEdit) error {
		x, now := e.After, s.Env.Now()
		if !x.Paused {
			return nil
		}
		t, err := taskOf(e.Tx, x.ID)
		if err != nil {
			return err
		}
		if v.Bool("backfill") {
			if err := s.addCatchUp(e.Tx, x, t, horizon, low); err != nil {
				return err
			}
		} else {
			t.resume(x.schedule(), now)
		}
		x.Paused, x.Updated = false, management.NewStamp(now)
		return s.putTask(e.Tx, x, t)
	})
	return &pauseState{}, err
}

// resume continues the schedule with the interval that contains now, unless it has reached that
// interval already.
func (t *exportTask) resume(s schedule, now time.Time) {
	if begin := s.floor(now); begin.After(t.Position.To.Time) {
		t.Position = exportPosition{To: management.NewStamp(begin), IsNew: true}
	}
}

package batchexports

import (
	"encoding/json"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/records"
	"github.com/bunting-flags/bunting/management/internal/resource"
)

// kindBatchExport is the kind of the records of exports. Parent is the project and Other the
// organization. Unique is the ID, by which an export is found without its project.
const kindBatchExport = "batch_export"

// The models that can be exported.
const (
	modelEvents   = "events"
	modelPersons  = "persons"
	modelSessions = "sessions"
)

// latestRuns is the number of runs in the response for an export.
const latestRuns = 10

// batchExport is the form of an export in responses (§4.3.1), without the secrets of its
// destination.
type batchExport struct {
	ID   string `json:"id"`
	Team int64  `json:"team_id"`
	// Name is the name of the export, Model one of the models, and Interval one of exportIntervals.
	Name        string            `json:"name"`
	Model       string            `json:"model"`
	Destination ExportDestination `json:"destination"`
	Interval    string            `json:"interval"`
	// Paused reports that the schedule is stopped, LastPaused when it was stopped the last time.
	Paused     bool             `json:"paused"`
	Created    management.Stamp `json:"created_at"`
	Updated    management.Stamp `json:"last_updated_at"`
	LastPaused management.Stamp `json:"last_paused_at"`
	// Start and End limit the schedule: no run is planned before Start or after End. Zero is no
	// limit.
	Start management.Stamp `json:"start_at"`
	End   management.Stamp `json:"end_at"`
	// LatestRuns are the newest runs, at most latestRuns.
	LatestRuns []BatchExportRun `json:"latest_runs"`
	// Schema is the query in parsed form (exportQuery), Filters the property filters. Both may be
	// null.
	Schema  json.RawMessage `json:"schema"`
	Filters json.RawMessage `json:"filters"`
	// Timezone, OffsetDay and OffsetHour determine when days and weeks begin (schedule).
	Timezone   string `json:"timezone"`
	OffsetDay  *int64 `json:"offset_day"`
	OffsetHour *int64 `json:"offset_hour"`
}

// exportRecord is the stored form of an export. It has the secrets of the destination in clear, so
// anyone who can read the database can read them.
type exportRecord struct {
	batchExport
	Organization string `json:"organization"`
	Number       int64  `json:"number"` // a sequence number
	Deleted      bool   `json:"deleted,omitempty"`
	// SecretsChanged is the time of the last change of the destination's secrets. Only the log shows
	// it: the secrets themselves are in no line.
	SecretsChanged management.Stamp `json:"secrets_changed_at"`
}

// Config has the dependencies of a Service. Only Env is required.
type Config struct {
	Env management.Env[management.Tx]
	// Rows reads the exported data and Runner writes them. If one of them is nil, this server runs
	// no exports.
	Rows   Rows
	Runner Runner
	// Watch is the interval at which the lease of a run is renewed, and at which the server notices
	// that a run was cancelled. It must be well below a minute; zero means 10 seconds.
	Watch time.Duration
	// JobDone is called with the outcome of each run. It may be called concurrently. If nil,
	// outcomes are not reported.
	JobDone func(management.JobDone)
}

// Service manages the exports of all projects, with their runs and backfills (§4.3, decision 23).
// The scopes of its methods are for a project, or for an organization with all its projects. It may
// be used concurrently. New creates one.
type Service struct {
	Config
	exports resource.Resource[management.Tx, exportRecord, batchExport]
}

// view is a transaction with the scope of the caller.
type view = resource.View[management.Tx]

// exportEdit is an operation that creates, changes or deletes an export.
type exportEdit = resource.Edit[management.Tx, exportRecord]

// exportByID returns an export, or nil if it does not exist or is deleted.
func exportByID(tx management.Tx, id string) (*exportRecord, error) {
	r, err := tx.Find(kindBatchExport, id)
	if err != nil || r == nil || r.Hidden {
		return nil, err
	}
	return management.Decode[exportRecord](r)
}

// findExport returns an export of the scope's project, or of a project of the organization that the
// caller can reach. Otherwise it returns ErrNotFound.
func findExport(tx management.Tx, scope *management.Scope, id string) (*exportRecord, error) {
	id, ok := management.NormalizeUUID(id)
	if !ok {
		return nil, management.ErrNotFound()
	}
	e, err := exportByID(tx, id)
	switch {
	case err != nil:
		return nil, err
	case e == nil || e.Organization != scope.Organization.ID || scope.Project != nil && e.Team != scope.Project.ID:
		return nil, management.ErrNotFound()
	case scope.Project != nil:
		return e, nil
	}
	p, err := tx.Project(e.Team)
	if err == nil && (p == nil || !scope.CanReach(p)) {
		err = management.ErrNotFound()
	}
	return e, err
}

// findInExport returns an export and an object of a kind that belongs to it, such as a run.
func findInExport[T any](tx management.Tx, scope *management.Scope, kind, export, id string) (*exportRecord, *T, error) {
	e, err := findExport(tx, scope, export)
	if err != nil {
		return nil, nil, err
	}
	id, _ = management.NormalizeUUID(id) // an invalid id becomes "", which no object has
	x, err := records.Existing(resource.LoadRecord[T](tx, kind, e.ID, id))
	return e, x, err
}

// view returns the form of the export in responses, with its newest runs.
func (e *exportRecord) view(tx management.Tx) (*batchExport, error) {
	out := e.plain()
	list, err := management.ListRecords[BatchExportRun](tx, management.Query{Kind: kindExportRun, Parent: e.ID, Descending: true, Limit: latestRuns})
	out.LatestRuns = list.Results
	return out, err
}

// plain returns the form of the export in responses, without runs.
func (e *exportRecord) plain() *batchExport {
	out := e.batchExport
	out.Destination = e.Destination.view()
	out.LatestRuns = []BatchExportRun{}
	return &out
}

// auditView returns the form of the export that the log compares.
func (e *exportRecord) auditView() any {
	out := e.plain()
	out.Updated = management.Stamp{}
	return struct {
		*batchExport
		SecretsChanged management.Stamp `json:"secrets_changed_at"`
	}{out, e.SecretsChanged}
}

// errNoExports returns the error for requests that need a server that runs exports.
func errNoExports() error {
	return &management.Error{Kind: management.Unavailable, Code: "unavailable", Message: "This server does not run batch exports."}
}

// kindExportRun is the kind of the records of runs. Parent is the export. Sort is the time of
// creation and a number, so that it is unique.
const kindExportRun = "batch_export_run"

// BatchExportRun is the form of a run in responses (§4.3.5).
type BatchExportRun struct {
	ID          string `json:"id"`
	BatchExport string `json:"batch_export"`
	// Status is one of the states above. Completed, Failed and Total are numbers of rows, which are
	// null until the run has succeeded.
	Status    string `json:"status"`
	Completed *int64 `json:"records_completed"`
	Failed    *int64 `json:"records_failed"`
	// LatestError is the error of the last attempt, without secrets.
	LatestError *string `json:"latest_error"`
	// From and To are the interval that the run covers.
	From management.Stamp `json:"data_interval_start"`
	To   management.Stamp `json:"data_interval_end"`
	// Cursor is always null.
	Cursor   *string          `json:"cursor"`
	Created  management.Stamp `json:"created_at"`
	Finished management.Stamp `json:"finished_at"`
	Updated  management.Stamp `json:"last_updated_at"`
	Total    *int64           `json:"records_total_count"`
	Bytes    *int64           `json:"bytes_exported"`
	// Backfill is the id of the backfill, null for a run of the schedule.
	Backfill *string `json:"backfill"`
}

package batchexports

import (
	"encoding/json"
	"time"

	"github.com/bunting-flags/bunting/management"
)

// The kinds of records of exports. An export is Unique by its ID, so that it is
// found without its project; its Other is the organization.
const kindBatchExport = "batch_export"

// The models that can be exported.
const (
	modelEvents   = "events"
	modelPersons  = "persons"
	modelSessions = "sessions"
)

// latestRuns is how many runs are shown in an export.
const latestRuns = 10

// BatchExport is an export as it is shown (§4.3.1). Secrets of its destination
// are left out.
type BatchExport struct {
	ID          string            `json:"id"`
	Team        int64             `json:"team_id"`
	Name        string            `json:"name"`
	Model       string            `json:"model"`
	Destination ExportDestination `json:"destination"`
	Interval    string            `json:"interval"`
	Paused      bool              `json:"paused"`
	Created     management.Stamp  `json:"created_at"`
	Updated     management.Stamp  `json:"last_updated_at"`
	LastPaused  management.Stamp  `json:"last_paused_at"`
	Start       management.Stamp  `json:"start_at"`
	End         management.Stamp  `json:"end_at"`
	LatestRuns  []BatchExportRun  `json:"latest_runs"`
	Schema      json.RawMessage   `json:"schema"`
	Filters     json.RawMessage   `json:"filters"`
	Timezone    string            `json:"timezone"`
	OffsetDay   *int64            `json:"offset_day"`
	OffsetHour  *int64            `json:"offset_hour"`
}

// exportRecord is an export as it is stored, with the secrets of its destination
// as they were sent: whoever can read the database can read them.
type exportRecord struct {
	BatchExport
	Organization string `json:"organization"`
	Number       int64  `json:"number"` // in the order of making
	Deleted      bool   `json:"deleted,omitempty"`
}

// Config says what a Service stands on. Only Desk is required.
type Config struct {
	Env management.Env[management.Tx]
	// Rows reads what exports write, Runner writes it. Nil: this server runs none.
	Rows   Rows
	Runner Runner
	// Watch is how often the lease of a run is renewed, and looked whether it was
	// cancelled: defaultWatch when zero, well below a minute.
	Watch time.Duration
	// JobDone is told what became of runs. It may be called by several goroutines.
	// Nil: nobody is told.
	JobDone func(management.JobDone)
}

// Service has the exports of all projects, their runs and backfills (§4.3, decision
// 23). A standing is in a project, or in an organization with all its projects. New
// makes one.
type Service struct {
	Config
	exports management.Resource[management.Tx, exportRecord, BatchExport]
}

// view is a transaction and in whose name it runs.
type view = management.View[management.Tx]

type exportEdit = management.Edit[management.Tx, exportRecord]

// exportByID returns an export that is not deleted, nil for none.
func exportByID(tx management.Tx, id string) (*exportRecord, error) {
	r, err := tx.Find(kindBatchExport, id)
	if err != nil || r == nil || r.Hidden {
		return nil, err
	}
	return management.Decode[exportRecord](r)
}

// findExport finds an export in a place.
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

// findInExport finds an export and a thing of a kind that belongs to it.
func findInExport[T any](tx management.Tx, scope *management.Scope, kind, export, id string) (*exportRecord, *T, error) {
	e, err := findExport(tx, scope, export)
	if err != nil {
		return nil, nil, err
	}
	id, _ = management.NormalizeUUID(id) // what is none names nothing
	x, err := management.LoadRecord[T](tx, kind, e.ID, id)
	if err == nil && x == nil {
		err = management.ErrNotFound()
	}
	return e, x, err
}

// view is the export with its newest runs.
func (e *exportRecord) view(tx management.Tx) (*BatchExport, error) {
	out := e.plain()
	list, err := management.ListRecords[BatchExportRun](tx, management.Query{Kind: kindExportRun, Parent: e.ID, Descending: true, Limit: latestRuns})
	out.LatestRuns = list.Results
	return out, err
}

// plain is the export without its runs and its secrets.
func (e *exportRecord) plain() *BatchExport {
	out := e.BatchExport
	out.Destination = e.Destination.view()
	out.LatestRuns = []BatchExportRun{}
	return &out
}

// logged is the export as the log of changes compares it.
func (e *exportRecord) logged() *BatchExport {
	out := e.plain()
	out.Updated = management.Stamp{}
	return out
}

// errNoExports says that this server runs no exports.
func errNoExports() error {
	return &management.Error{Kind: management.Unavailable, Code: "unavailable", Message: "This server runs no batch exports."}
}

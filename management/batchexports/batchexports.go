package batchexports

import (
	"context"
	"encoding/json"
	"github.com/bunting-flags/bunting/management"
	"slices"
	"time"
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

// latestRuns is how many runs are shown in an export.
const latestRuns = 10

// Fields are the writable fields of an export.
var Fields = management.Fields{
	{Name: "name", Type: management.Text, Required: true, Max: 1000},
	{Name: "model", Type: management.Choice, Null: true, Choices: []string{modelEvents, modelPersons, modelSessions}, Ruled: true, Help: "events unless said"},
	{Name: "destination", Type: management.Any, Required: true, Ruled: true, Help: "{type, config}: S3, Postgres, HTTP or Files with their settings"},
	{Name: "interval", Type: management.Choice, Required: true, Choices: exportIntervals},
	{Name: "paused", Type: management.Bool},
	{Name: "start_at", Type: management.Time, Null: true, Help: "no run before"},
	{Name: "end_at", Type: management.Time, Null: true, Help: "no run after"},
	{Name: "hogql_query", Type: management.Text, Null: true, Blank: true, Max: maxExportQuery, Ruled: true, Help: "SELECT of columns and properties FROM events; nothing else can be run"},
	{Name: "filters", Type: management.Any, Ruled: true, Help: "property filters of the type event or person"},
	{Name: "timezone", Type: management.Text, Null: true, Max: 100, Ruled: true, Help: "of days and weeks; UTC unless said"},
	{Name: "offset_day", Type: management.Int, Null: true, Most: 6, Help: "the day at which weeks begin, 0 is Sunday"},
	{Name: "offset_hour", Type: management.Int, Null: true, Most: 23, Help: "the hour at which days and weeks begin"},
}

// exportPlaceFields say where an export goes that is made in an organization.
var exportPlaceFields = management.Fields{
	{Name: "team_id", Type: management.Int, Null: true},
	{Name: "project_id", Type: management.Int, Null: true},
}

// UnpauseFields are what unpause looks at.
var UnpauseFields = management.Fields{{Name: "backfill", Type: management.Bool, Help: "also export what came in while it was paused"}}

// Service has the exports of all projects, their runs and backfills (§4.3, decision
// 23). A standing is in a project, or in an organization with all its projects.
type Service struct {
	Desk management.Desk[management.Tx]
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

// view is a transaction and in whose name it runs.
type view = management.View[management.Tx]

type exportEdit = management.Edit[management.Tx, exportRecord]

func (s Service) exports() *management.Resource[management.Tx, exportRecord, BatchExport] {
	return management.NewResource(&s.Desk, management.Spec[management.Tx, exportRecord, BatchExport]{
		Kind: kindBatchExport, Scope: "BatchExport", Fields: Fields, Newest: true,
		Place: func(_ *management.Standing, e *exportRecord) management.Place {
			return management.Place{
				Parent: management.ProjectParent(e.Team), ID: e.ID, Title: e.Name, Other: e.Organization, Unique: e.ID,
				Sort: management.SortTime(e.Created.Time) + "/" + management.SortNumber(e.Number), Hidden: e.Deleted,
			}
		},
		Load: func(v *view, id string, _ *management.Body) (*exportRecord, error) {
			return exportIn(v.Tx, v.Standing, id)
		},
		New:   func(*view) (*exportRecord, error) { return newExport(), nil },
		Rules: s.rules, Leave: s.leave,
		Show:  func(v *view, e *exportRecord) (*BatchExport, error) { return e.view(v.Tx) },
		Noted: func(e *exportRecord) any { return e.logged() },
	})
}

// List returns a page of exports, newest first.
func (s Service) List(ctx context.Context, st *management.Standing, p management.Page) (management.List[BatchExport], error) {
	q := management.Query{Offset: p.Offset, Limit: p.Limit}
	if st.Project == nil {
		parents, all, err := s.reached(ctx, st)
		if err != nil {
			return management.List[BatchExport]{}, err
		}
		if q.Other = st.Organization.ID; !all {
			q.Match = func(r *management.Record) bool { return slices.Contains(parents, r.Parent) }
		}
	}
	return s.exports().Query(ctx, st, q)
}

// reached are the projects of the organization that the caller may see, as
// parents; all says that these are all that there are.
func (s Service) reached(ctx context.Context, st *management.Standing) (parents []string, all bool, err error) {
	list, err := management.Read(ctx, &s.Desk, func(tx management.Tx) ([]management.ProjectRecord, error) { return tx.Projects(st.Organization.ID) })
	all = true
	for i := range list {
		if !st.Reaches(&list[i]) {
			all = false
			continue
		}
		parents = append(parents, management.ProjectParent(list[i].ID))
	}
	return parents, all, err
}

// Get returns one export.
func (s Service) Get(ctx context.Context, st *management.Standing, id string) (*BatchExport, error) {
	return s.exports().Get(ctx, st, id)
}

// exportByID returns an export that is not deleted, nil for none.
func exportByID(tx management.Tx, id string) (*exportRecord, error) {
	r, err := tx.Find(kindBatchExport, id)
	if err != nil || r == nil || r.Hidden {
		return nil, err
	}
	return management.Decode[exportRecord](r)
}

// exportIn finds an export in a place.
func exportIn(tx management.Tx, st *management.Standing, id string) (*exportRecord, error) {
	id, ok := management.NormalUUID(id)
	if !ok {
		return nil, management.ErrNotFound()
	}
	e, err := exportByID(tx, id)
	switch {
	case err != nil:
		return nil, err
	case e == nil || e.Organization != st.Organization.ID || st.Project != nil && e.Team != st.Project.ID:
		return nil, management.ErrNotFound()
	case st.Project != nil:
		return e, nil
	}
	p, err := tx.Project(e.Team)
	if err == nil && (p == nil || !st.Reaches(p)) {
		err = management.ErrNotFound()
	}
	return e, err
}

// export is exportIn outside of a transaction.
func (s Service) export(ctx context.Context, st *management.Standing, id string) (*exportRecord, error) {
	return management.Read(ctx, &s.Desk, func(tx management.Tx) (*exportRecord, error) { return exportIn(tx, st, id) })
}

// within finds an export and a thing of a kind that belongs to it.
func within[T any](tx management.Tx, st *management.Standing, kind, export, id string) (*exportRecord, *T, error) {
	e, err := exportIn(tx, st, export)
	if err != nil {
		return nil, nil, err
	}
	id, _ = management.NormalUUID(id) // what is none names nothing
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
	out.Destination = e.Destination.shown()
	out.LatestRuns = []BatchExportRun{}
	return &out
}

// logged is the export as the log of changes compares it.
func (e *exportRecord) logged() *BatchExport {
	out := e.plain()
	out.Updated = management.Stamp{}
	return out
}

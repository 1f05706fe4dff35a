package management

import (
	"context"
	"encoding/json"
	"slices"
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
	Created     Stamp             `json:"created_at"`
	Updated     Stamp             `json:"last_updated_at"`
	LastPaused  Stamp             `json:"last_paused_at"`
	Start       Stamp             `json:"start_at"`
	End         Stamp             `json:"end_at"`
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

// BatchExportFields are the writable fields of an export.
var BatchExportFields = Fields{
	{Name: "name", Type: Text, Required: true, Max: 1000},
	{Name: "model", Type: Choice, Null: true, Choices: []string{modelEvents, modelPersons, modelSessions}, Help: "events unless said"},
	{Name: "destination", Type: Any, Required: true, Help: "{type, config}: S3, Postgres, HTTP or Files with their settings"},
	{Name: "interval", Type: Choice, Required: true, Choices: exportIntervals},
	{Name: "paused", Type: Bool},
	{Name: "start_at", Type: Time, Null: true, Help: "no run before"},
	{Name: "end_at", Type: Time, Null: true, Help: "no run after"},
	{Name: "hogql_query", Type: Text, Null: true, Blank: true, Max: maxExportQuery, Help: "SELECT of columns and properties FROM events; nothing else can be run"},
	{Name: "filters", Type: Any, Help: "property filters of the type event or person"},
	{Name: "timezone", Type: Text, Null: true, Max: 100, Help: "of days and weeks; UTC unless said"},
	{Name: "offset_day", Type: Int, Null: true, Most: 6, Help: "the day at which weeks begin, 0 is Sunday"},
	{Name: "offset_hour", Type: Int, Null: true, Most: 23, Help: "the hour at which days and weeks begin"},
}

// exportPlaceFields say where an export goes that is made in an organization.
var exportPlaceFields = Fields{
	{Name: "team_id", Type: Int, Null: true},
	{Name: "project_id", Type: Int, Null: true},
}

// ExportUnpauseFields are what unpause looks at.
var ExportUnpauseFields = Fields{{Name: "backfill", Type: Bool, Help: "also export what came in while it was paused"}}

// BatchExports are batch exports, their runs and backfills (§4.3, decision 23).
// A place is a project, or an organization with all its projects.
type BatchExports struct{ *core }

// List returns a page of exports, newest first.
func (s BatchExports) List(ctx context.Context, st *Standing, p Page) (List[BatchExport], error) {
	return read(ctx, &s.desk, func(tx Tx) (out List[BatchExport], err error) {
		q := Query{Kind: kindBatchExport, Descending: true, Offset: p.Offset, Limit: p.Limit}
		if st.Project != nil {
			q.Parent = ProjectParent(st.Project.ID)
		} else {
			q.Other = st.Organization.ID
			parents, all, err := reached(tx, st)
			if err != nil {
				return out, err
			}
			if !all {
				q.Match = func(r *Record) bool { return slices.Contains(parents, r.Parent) }
			}
		}
		list, count, err := tx.List(q)
		if err != nil {
			return out, err
		}
		out = List[BatchExport]{Count: count, Results: make([]BatchExport, 0, len(list))}
		for i := range list {
			e, err := decode[exportRecord](&list[i])
			if err != nil {
				return out, err
			}
			view, err := e.view(tx)
			if err != nil {
				return out, err
			}
			out.Results = append(out.Results, *view)
		}
		return out, nil
	})
}

// reached are the projects of the organization that the caller may see, as
// parents; all says that these are all that there are.
func reached(tx Tx, st *Standing) (parents []string, all bool, err error) {
	list, err := tx.Projects(st.Organization.ID)
	all = true
	for i := range list {
		if !st.reaches(&list[i]) {
			all = false
			continue
		}
		parents = append(parents, ProjectParent(list[i].ID))
	}
	return parents, all, err
}

// Get returns one export.
func (s BatchExports) Get(ctx context.Context, st *Standing, id string) (*BatchExport, error) {
	return read(ctx, &s.desk, func(tx Tx) (*BatchExport, error) {
		e, err := exportIn(tx, st, id)
		if err != nil {
			return nil, err
		}
		return e.view(tx)
	})
}

// exportByID returns an export that is not deleted, nil for none.
func exportByID(tx Tx, id string) (*exportRecord, error) {
	r, err := tx.Find(kindBatchExport, id)
	if err != nil || r == nil || r.Hidden {
		return nil, err
	}
	return decode[exportRecord](r)
}

// exportIn finds an export in a place.
func exportIn(tx Tx, st *Standing, id string) (*exportRecord, error) {
	id, ok := NormalUUID(id)
	if !ok {
		return nil, errNotFound()
	}
	e, err := exportByID(tx, id)
	switch {
	case err != nil:
		return nil, err
	case e == nil || e.Organization != st.Organization.ID || st.Project != nil && e.Team != st.Project.ID:
		return nil, errNotFound()
	case st.Project != nil:
		return e, nil
	}
	p, err := tx.Project(e.Team)
	if err == nil && (p == nil || !st.reaches(p)) {
		err = errNotFound()
	}
	return e, err
}

func putExport(tx Tx, e *exportRecord) error {
	e.LatestRuns = nil
	return tx.Put(&Record{
		Kind: kindBatchExport, Parent: ProjectParent(e.Team), ID: e.ID, Other: e.Organization, Unique: e.ID,
		Sort: sortTime(e.Created.Time) + "/" + sortNumber(e.Number), Hidden: e.Deleted, Data: encode(e),
	})
}

// view is the export with its newest runs.
func (e *exportRecord) view(tx Tx) (*BatchExport, error) {
	out := e.plain()
	list, err := listOfRecords[BatchExportRun](tx, Query{Kind: kindExportRun, Parent: e.ID, Descending: true, Limit: latestRuns})
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
	out.Updated = Stamp{}
	return out
}

package batchexports

import (
	"context"
	"slices"

	"github.com/bunting-flags/bunting/management"
)

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

// New makes a Service.
func New(c Config) *Service {
	s := Service{Config: c}
	s.exports = s.resource()
	return &s
}

func (s Service) resource() management.Resource[management.Tx, exportRecord, BatchExport] {
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
	return s.exports.Query(ctx, st, q)
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
	return s.exports.Get(ctx, st, id)
}

// export is exportIn outside of a transaction.
func (s Service) export(ctx context.Context, st *management.Standing, id string) (*exportRecord, error) {
	return management.Read(ctx, &s.Desk, func(tx management.Tx) (*exportRecord, error) { return exportIn(tx, st, id) })
}

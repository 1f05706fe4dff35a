package batchexports

import (
	"context"
	"slices"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/resource"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// exportFields are the writable fields of an export.
var exportFields = management.Fields{
	{Name: "name", Type: management.Text, Required: true, MaxLength: 1000},
	{Name: "model", Type: management.Choice, Null: true, Choices: []string{modelEvents, modelPersons, modelSessions}, Custom: true, Help: "type of data to export, events by default"},
	{Name: "destination", Type: management.Any, Required: true, Custom: true, Help: "object with type (S3, Postgres, HTTP or Files) and config with its settings"},
	{Name: "interval", Type: management.Choice, Required: true, Choices: exportIntervals},
	{Name: "paused", Type: management.Bool},
	{Name: "start_at", Type: management.Time, Null: true, Help: "no run is triggered before this time"},
	{Name: "end_at", Type: management.Time, Null: true, Help: "no run is triggered after this time"},
	{Name: "hogql_query", Type: management.Text, Null: true, Blank: true, MaxLength: maxExportQuery, Custom: true, Help: "SELECT of columns and properties FROM events; other queries are not supported"},
	{Name: "filters", Type: management.Any, Custom: true, Help: "property filters of type event or person"},
	{Name: "timezone", Type: management.Text, Null: true, MaxLength: 100, Custom: true, Help: "time zone of days and weeks, UTC by default"},
	{Name: "offset_day", Type: management.Int, Null: true, MaxValue: 6, Help: "day on which weeks begin; 0 is Sunday"},
	{Name: "offset_hour", Type: management.Int, Null: true, MaxValue: 23, Help: "hour at which days and weeks begin"},
}

// exportProjectFields are the fields that select the project of an export if the path names only an
// organization.
var exportProjectFields = management.Fields{
	{Name: "team_id", Type: management.Int, Null: true},
	{Name: "project_id", Type: management.Int, Null: true},
}

// unpauseFields are the fields of Unpause.
var unpauseFields = management.Fields{{Name: "backfill", Type: management.Bool, Help: "true: also export data from while the export was paused"}}

// New returns a Service.
func New(c Config) *Service {
	s := Service{Config: c}
	s.exports = s.resource()
	return &s
}

// resource returns the resource of exports. Its records are found by Unique, since a path may name
// only the organization. Deleted exports are hidden.
func (s Service) resource() resource.Resource[management.Tx, exportRecord, batchExport] {
	return resource.NewResource(&s.Env, resource.Spec[management.Tx, exportRecord, batchExport]{
		Kind: kindBatchExport, ActivityScope: "BatchExport", Fields: exportFields, NewestFirst: true,
		Header: func(_ *management.Scope, e *exportRecord) resource.RecordHeader {
			return resource.RecordHeader{
				Parent: management.ProjectParent(e.Team), ID: e.ID, Title: e.Name, Other: e.Organization, Unique: e.ID,
				Sort: storage.SortTime(e.Created.Time) + "/" + storage.SortNumber(e.Number), Hidden: e.Deleted,
			}
		},
		Load: func(v *view, id string, _ *management.Body) (*exportRecord, error) {
			return findExport(v.Tx, v.Scope, id)
		},
		New:   func(*view) (*exportRecord, error) { return newExport(), nil },
		Rules: s.rules, BeforeDelete: s.beforeDelete,
		Show:  func(v *view, e *exportRecord) (*batchExport, error) { return e.view(v.Tx) },
		Audit: func(e *exportRecord) any { return e.auditView() },
	})
}

// List returns a page of exports, newest first. Without a project in the scope, it lists the
// exports of all projects of the organization that the caller can reach.
func (s Service) List(ctx context.Context, scope *management.Scope, p management.Page) (management.List[batchExport], error) {
	q := management.Query{Offset: p.Offset, Limit: p.Limit}
	if scope.Project == nil {
		parents, all, err := s.visibleParents(ctx, scope)
		if err != nil {
			return management.List[batchExport]{}, err
		}
		if q.Other = scope.Organization.ID; !all {
			q.Match = func(r *management.Record) bool { return slices.Contains(parents, r.Parent) }
		}
	}
	return s.exports.Query(ctx, scope, q)
}

// visibleParents returns the projects of the organization that the caller can reach, as parents of
// records. all reports whether these are all projects.
func (s Service) visibleParents(ctx context.Context, scope *management.Scope) (parents []string, all bool, err error) {
	list, err := management.Read(ctx, &s.Env, func(tx management.Tx) ([]management.ProjectRecord, error) { return tx.Projects(scope.Organization.ID) })
	all = true
	for i := range list {
		if !scope.CanReach(&list[i]) {
			all = false
			continue
		}
		parents = append(parents, management.ProjectParent(list[i].ID))
	}
	return parents, all, err
}

// Get returns one export.
func (s Service) Get(ctx context.Context, scope *management.Scope, id string) (*batchExport, error) {
	return s.exports.Get(ctx, scope, id)
}

// export is findExport in a transaction of its own.
func (s Service) export(ctx context.Context, scope *management.Scope, id string) (*exportRecord, error) {
	return management.Read(ctx, &s.Env, func(tx management.Tx) (*exportRecord, error) { return findExport(tx, scope, id) })
}

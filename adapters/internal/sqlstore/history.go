package sqlstore

import (
	"context"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/capture"
)

// Warnings implements capture.History. The warning that occurred last is first.
func (s *Store) Warnings(ctx context.Context, projectID int64, limit, offset int) ([]capture.StoredWarning, error) {
	out, err := database.List(ctx, s.db.Read, func(w *capture.StoredWarning) []any {
		w.ProjectID = projectID
		return []any{&w.Type, &w.DistinctID, database.ScanUUID(&w.EventUUID), &w.Detail, &w.Count, database.ScanTime(&w.First), database.ScanTime(&w.At)}
	}, `SELECT type, distinct_id, event_uuid, detail, count, first_at, last_at FROM warnings
		WHERE project_id = $1 ORDER BY last_at DESC, type, distinct_id LIMIT $2 OFFSET $3`, projectID, max(limit, 0), max(offset, 0))
	return out, s.db.ReadError("warnings", err)
}

// SeenNames implements capture.History.
func (s *Store) SeenNames(ctx context.Context, projectID int64, kind capture.SeenKind, limit, offset int) ([]capture.SeenName, error) {
	out, err := database.List(ctx, s.db.Read, func(n *capture.SeenName) []any {
		n.ProjectID, n.Kind = projectID, kind
		return []any{&n.Group, &n.Name, &n.Type, database.ScanTime(&n.At)}
	}, `SELECT group_index, name, type, seen_at FROM seen_names
		WHERE project_id = $1 AND kind = $2 ORDER BY name, group_index LIMIT $3 OFFSET $4`, projectID, int(kind), max(limit, 0), max(offset, 0))
	return out, s.db.ReadError("names", err)
}

// FlagCalls implements capture.History. An empty key selects the calls of all flags.
func (s *Store) FlagCalls(ctx context.Context, projectID int64, key string, limit int) ([]capture.FlagCalls, error) {
	out, err := database.List(ctx, s.db.Read, func(c *capture.FlagCalls) []any {
		c.ProjectID = projectID
		return []any{&c.Flag, &c.Value, &c.Calls, database.ScanTime(&c.First), database.ScanTime(&c.Last)}
	}, `SELECT flag_key, value, calls, first_called_at, last_called_at FROM flag_calls
		WHERE project_id = $1 AND ($2 = '' OR flag_key = $2) ORDER BY flag_key, value LIMIT $3`, projectID, database.CleanText(key), max(limit, 0))
	return out, s.db.ReadError("calls of flags", err)
}

var _ capture.History = (*Store)(nil)

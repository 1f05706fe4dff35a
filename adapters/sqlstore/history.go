package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/bunting-flags/bunting/capture"
)

// GroupTypes implements capture.History.
func (s *Store) GroupTypes(ctx context.Context, projectID int64) ([]string, error) {
	names, err := readGroupTypes(ctx, s.read, projectID)
	return names, s.readError("group types", err)
}

// searchStep is the number of persons or groups that a search reads in one query.
const searchStep = 500

// Groups implements capture.History. A page ends early after pieceBytes of properties.
func (s *Store) Groups(ctx context.Context, projectID int64, groupType int, after, search string, limit int) (page []capture.Group, next string, err error) {
	if limit <= 0 {
		return nil, "", nil
	}
	search = lowerASCII(search)
	// from is the last key that was examined: the next query starts after it.
	from := after
	var held byteLimit
	for scanned := 0; scanned < capture.SearchScan; {
		// A filtered query reads more rows than the page needs, up to
		// capture.SearchScan in all, so that a search without results ends. Without a
		// search, one more row than the limit shows whether there is a next page.
		step := min(limit+1, searchStep)
		if search != "" {
			step = min(searchStep, capture.SearchScan-scanned)
		}
		read := 0
		err = query(ctx, s.read, func(rows *sql.Rows) error {
			var key, properties string
			var created int64
			if err := rows.Scan(&key, &created, &properties); err != nil {
				return err
			}
			read++
			if len(page) == limit {
				next = page[limit-1].Key // there is at least one more
				return nil
			}
			from = key
			if search != "" && !containsFold(key, search) && !containsFold(properties, search) {
				return nil
			}
			g, err := storedGroup(capture.GroupID{Type: groupType, Key: key}, created, properties)
			if err != nil {
				return err
			}
			page = append(page, g)
			return held.hold(len(properties))
		}, `SELECT key, created_at, properties FROM stored_groups
			WHERE project_id = $1 AND type_index = $2 AND key > $3 ORDER BY key LIMIT $4`, projectID, groupType, from, step)
		if errors.Is(err, errPageFull) {
			return page, from, nil
		}
		if err != nil {
			return nil, "", s.readError("groups", err)
		}
		scanned += read
		if next != "" || read < step {
			return page, next, nil
		}
	}
	return page, from, nil
}

// Group implements capture.History. It returns nil if the group does not exist.
func (s *Store) Group(ctx context.Context, projectID int64, id capture.GroupID) (found *capture.Group, err error) {
	err = query(ctx, s.read, func(rows *sql.Rows) error {
		var created int64
		var properties string
		if err := rows.Scan(&created, &properties); err != nil {
			return err
		}
		g, err := storedGroup(id, created, properties)
		found = &g
		return err
	}, `SELECT created_at, properties FROM stored_groups WHERE project_id = $1 AND type_index = $2 AND key = $3`, projectID, id.Type, cleanText(id.Key))
	return found, s.readError("a group", err)
}

// storedGroup returns the group of a row.
func storedGroup(id capture.GroupID, created int64, properties string) (capture.Group, error) {
	object, err := capture.ParseObject(properties)
	if err != nil {
		err = fmt.Errorf("the stored properties of group %q: %w", id.Key, err)
	}
	return capture.Group{GroupID: id, CreatedAt: fromMicros(created), Properties: object}, err
}

// Warnings implements capture.History. The warning that occurred last is first.
func (s *Store) Warnings(ctx context.Context, projectID int64, limit, offset int) ([]capture.StoredWarning, error) {
	out, err := list(ctx, s.read, func(w *capture.StoredWarning) []any {
		w.ProjectID = projectID
		return []any{&w.Type, &w.DistinctID, scanUUID(&w.EventUUID), &w.Detail, &w.Count, scanTime(&w.First), scanTime(&w.At)}
	}, `SELECT type, distinct_id, event_uuid, detail, count, first_at, last_at FROM warnings
		WHERE project_id = $1 ORDER BY last_at DESC, type, distinct_id LIMIT $2 OFFSET $3`, projectID, max(limit, 0), max(offset, 0))
	return out, s.readError("warnings", err)
}

// SeenNames implements capture.History.
func (s *Store) SeenNames(ctx context.Context, projectID int64, kind capture.SeenKind, limit, offset int) ([]capture.SeenName, error) {
	out, err := list(ctx, s.read, func(n *capture.SeenName) []any {
		n.ProjectID, n.Kind = projectID, kind
		return []any{&n.Group, &n.Name, &n.Type, scanTime(&n.At)}
	}, `SELECT group_index, name, type, seen_at FROM seen_names
		WHERE project_id = $1 AND kind = $2 ORDER BY name, group_index LIMIT $3 OFFSET $4`, projectID, int(kind), max(limit, 0), max(offset, 0))
	return out, s.readError("names", err)
}

// FlagCalls implements capture.History. An empty key selects the calls of all flags.
func (s *Store) FlagCalls(ctx context.Context, projectID int64, key string, limit int) ([]capture.FlagCalls, error) {
	out, err := list(ctx, s.read, func(c *capture.FlagCalls) []any {
		c.ProjectID = projectID
		return []any{&c.Flag, &c.Value, &c.Calls, scanTime(&c.First), scanTime(&c.Last)}
	}, `SELECT flag_key, value, calls, first_called_at, last_called_at FROM flag_calls
		WHERE project_id = $1 AND ($2 = '' OR flag_key = $2) ORDER BY flag_key, value LIMIT $3`, projectID, cleanText(key), max(limit, 0))
	return out, s.readError("calls of flags", err)
}

var _ capture.History = (*Store)(nil)

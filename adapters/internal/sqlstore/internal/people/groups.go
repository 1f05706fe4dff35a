package people

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/capture"
)

// GroupTypes implements capture.History.
func (s *Store) GroupTypes(ctx context.Context, projectID int64) ([]string, error) {
	names, err := ReadGroupTypes(ctx, s.db.Read, projectID)
	return names, s.db.ReadError("group types", err)
}

// searchStep is the number of persons or groups that a search reads in one query.
const searchStep = 500

// Groups implements capture.History. A page ends early after database.PieceBytes of properties.
func (s *Store) Groups(ctx context.Context, projectID int64, groupType int, after, search string, limit int) (page []capture.Group, next string, err error) {
	if limit <= 0 {
		return nil, "", nil
	}
	search = lowerASCII(search)
	// from is the last key that was examined: the next query starts after it.
	from := after
	var held database.ByteLimit
	for scanned := 0; scanned < capture.SearchScan; {
		// A filtered query reads more rows than the page needs, up to
		// capture.SearchScan in all, so that a search without results ends. Without a
		// search, one more row than the limit shows whether there is a next page.
		step := min(limit+1, searchStep)
		if search != "" {
			step = min(searchStep, capture.SearchScan-scanned)
		}
		read := 0
		err = database.Query(ctx, s.db.Read, func(rows *sql.Rows) error {
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
			g, err := StoredGroup(capture.GroupID{Type: groupType, Key: key}, created, properties)
			if err != nil {
				return err
			}
			page = append(page, g)
			return held.Hold(len(properties))
		}, `SELECT key, created_at, properties FROM stored_groups
			WHERE project_id = $1 AND type_index = $2 AND key > $3 ORDER BY key LIMIT $4`, projectID, groupType, from, step)
		if errors.Is(err, database.ErrPageFull) {
			return page, from, nil
		}
		if err != nil {
			return nil, "", s.db.ReadError("groups", err)
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
	err = database.Query(ctx, s.db.Read, func(rows *sql.Rows) error {
		var created int64
		var properties string
		if err := rows.Scan(&created, &properties); err != nil {
			return err
		}
		g, err := StoredGroup(id, created, properties)
		found = &g
		return err
	}, `SELECT created_at, properties FROM stored_groups WHERE project_id = $1 AND type_index = $2 AND key = $3`, projectID, id.Type, database.CleanText(id.Key))
	return found, s.db.ReadError("a group", err)
}

// StoredGroup returns the group of a row.
func StoredGroup(id capture.GroupID, created int64, properties string) (capture.Group, error) {
	object, err := capture.ParseObject(properties)
	if err != nil {
		err = fmt.Errorf("the stored properties of group %q: %w", id.Key, err)
	}
	return capture.Group{GroupID: id, CreatedAt: database.FromMicros(created), Properties: object}, err
}

// ReadGroupTypes reads the names of a project's group types by their index.
func ReadGroupTypes(ctx context.Context, db database.Querier, projectID int64) (names []string, err error) {
	err = database.Query(ctx, db, func(rows *sql.Rows) error { return AddGroupType(&names, rows) }, GroupTypesText, projectID)
	return names, err
}

// GroupTypesText selects the rows for AddGroupType.
const GroupTypesText = `SELECT type_index, name FROM group_types WHERE project_id = $1 ORDER BY type_index`

// AddGroupType adds a row to names, at the index of the type. Unused indexes have empty
// names.
func AddGroupType(names *[]string, rows *sql.Rows) error {
	var index int
	var name string
	if err := rows.Scan(&index, &name); err != nil {
		return err
	}
	*names = append(append(*names, make([]string, max(index-len(*names), 0))...), name)
	return nil
}

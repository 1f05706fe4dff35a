package people

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/capture"
)

// PersonColumns are the columns for ScanPerson.
const PersonColumns = `p.id, p.uuid, p.created_at, p.is_identified, p.version, p.properties`

// ScanPerson reads a person without distinct ids, and returns the size of the
// properties in bytes.
func ScanPerson(rows *sql.Rows) (_ *capture.StoredPerson, size int, err error) {
	var p capture.StoredPerson
	var properties string
	err = rows.Scan(&p.ID, database.ScanUUID(&p.UUID), database.ScanTime(&p.CreatedAt), &p.Identified, &p.Version, &properties)
	if err != nil {
		return nil, 0, err
	}
	if p.Properties, err = capture.ParseObject(properties); err != nil {
		return nil, 0, fmt.Errorf("the stored properties of person %s: %w", p.UUID, err)
	}
	return &p, len(properties), nil
}

// People implements capture.History. A search compares only the first
// capture.MaxReturnedIDs distinct ids of a person. A page ends early after database.PieceBytes
// of properties.
func (s *Store) People(ctx context.Context, projectID int64, q capture.PersonQuery) (page []capture.StoredPerson, next int64, err error) {
	if q.Limit <= 0 {
		return nil, 0, nil
	}
	search := strings.ToLower(q.Search)
	filtered := search != "" || q.Match != nil
	// Pages are in descending order of ids: from is the last id that was examined.
	from := q.After
	if from <= 0 {
		from = math.MaxInt64
	}
	var held database.ByteLimit
	for scanned := 0; scanned < capture.SearchScan; {
		step := min(q.Limit+1, searchStep)
		if filtered {
			step = min(searchStep, capture.SearchScan-scanned)
		}
		found, sizes, more, err := Below(ctx, s.db, projectID, from, step)
		if err != nil {
			return nil, 0, s.db.ReadError("persons", err)
		}
		full := false
		for i, p := range found {
			if len(page) == q.Limit || full {
				return page, from, nil
			}
			from = p.ID
			if matchesSearch(p, search) && (q.Match == nil || q.Match(p)) {
				page = append(page, *p)
				full = held.Hold(sizes[i]) != nil
			}
		}
		switch {
		case !more:
			return page, 0, nil
		case full:
			return page, from, nil
		}
		scanned += len(found)
	}
	return page, from, nil
}

// matchesSearch reports whether the email, the name or a distinct id of a person
// contains search, which must be in lower case.
func matchesSearch(p *capture.StoredPerson, search string) bool {
	if search == "" {
		return true
	}
	email, _ := p.Properties.Text("email")
	name, _ := p.Properties.Text("name")
	return slices.ContainsFunc(append([]string{email, name}, p.DistinctIDs...), func(text string) bool {
		return strings.Contains(strings.ToLower(text), search)
	})
}

// Below reads the next persons with their distinct ids, and the sizes of their
// properties in bytes: at most limit persons, and fewer if their properties reach
// database.PieceBytes. It reports whether there may be more.
func Below(ctx context.Context, db *database.DB, projectID, below int64, limit int) (out []*capture.StoredPerson, sizes []int, more bool, err error) {
	var held database.ByteLimit
	err = database.Query(ctx, db.Read, func(rows *sql.Rows) error {
		p, size, err := ScanPerson(rows)
		if err != nil {
			return err
		}
		out, sizes = append(out, p), append(sizes, size)
		return held.Hold(size)
	}, `SELECT `+PersonColumns+` FROM persons p WHERE p.project_id = $1 AND p.id < $2 ORDER BY p.id DESC LIMIT $3`, projectID, below, limit)
	more = errors.Is(err, database.ErrPageFull) || len(out) == limit
	if err != nil && !errors.Is(err, database.ErrPageFull) {
		return nil, nil, false, err
	}
	return out, sizes, more, AddIDs(ctx, db, projectID, out)
}

// AddIDs reads the first capture.MaxReturnedIDs distinct ids of each person.
func AddIDs(ctx context.Context, db *database.DB, projectID int64, people []*capture.StoredPerson) error {
	if len(people) == 0 {
		return nil
	}
	byUUID := make(map[capture.UUID]*capture.StoredPerson, len(people))
	args := []any{projectID}
	for _, p := range people {
		byUUID[p.UUID] = p
		args = append(args, p.UUID[:])
	}
	return database.Query(ctx, db.Read, func(rows *sql.Rows) error {
		var uuid capture.UUID
		var id string
		err := rows.Scan(database.ScanUUID(&uuid), &id)
		if p := byUUID[uuid]; p != nil && err == nil {
			p.DistinctIDs = append(p.DistinctIDs, id)
		}
		return err
	}, `SELECT person_uuid, distinct_id FROM (
		SELECT person_uuid, distinct_id, ROW_NUMBER() OVER (PARTITION BY person_uuid ORDER BY distinct_id) AS place
		FROM distinct_ids WHERE project_id = $1 AND person_uuid IN (`+database.Placeholders(2, len(people))+`)) AS numbered
		WHERE place <= `+strconv.Itoa(capture.MaxReturnedIDs)+` ORDER BY person_uuid, distinct_id`, args...)
}

// PersonForDistinctID implements capture.History.
func (s *Store) PersonForDistinctID(ctx context.Context, projectID int64, distinctID string) (*capture.StoredPerson, error) {
	return s.onePerson(ctx, projectID, `SELECT `+PersonColumns+` FROM distinct_ids d
		JOIN persons p ON p.project_id = d.project_id AND p.uuid = d.person_uuid
		WHERE d.project_id = $1 AND d.distinct_id = $2`, capture.StoredDistinctID(distinctID))
}

// PersonByUUID implements capture.History.
func (s *Store) PersonByUUID(ctx context.Context, projectID int64, id capture.UUID) (*capture.StoredPerson, error) {
	return s.onePerson(ctx, projectID, `SELECT `+PersonColumns+` FROM persons p WHERE p.project_id = $1 AND p.uuid = $2`, id[:])
}

// PersonByID implements capture.History.
func (s *Store) PersonByID(ctx context.Context, projectID, id int64) (*capture.StoredPerson, error) {
	return s.onePerson(ctx, projectID, `SELECT `+PersonColumns+` FROM persons p WHERE p.project_id = $1 AND p.id = $2`, id)
}

// onePerson returns the person that a query finds by key, or nil.
func (s *Store) onePerson(ctx context.Context, projectID int64, text string, key any) (found *capture.StoredPerson, err error) {
	err = database.Query(ctx, s.db.Read, func(rows *sql.Rows) error {
		found, _, err = ScanPerson(rows)
		return err
	}, text, projectID, key)
	if err == nil && found != nil {
		err = AddIDs(ctx, s.db, projectID, []*capture.StoredPerson{found})
	}
	if err != nil {
		return nil, s.db.ReadError("a person", err)
	}
	return found, nil
}

// CountPeople implements capture.History.
func (s *Store) CountPeople(ctx context.Context, projectID int64) (n int64, err error) {
	err = database.Query(ctx, s.db.Read, func(rows *sql.Rows) error { return rows.Scan(&n) },
		`SELECT n FROM counters WHERE project_id = $1 AND name = $2`, projectID, database.CounterPersons)
	return n, s.db.ReadError("the number of persons", err)
}

// containsFold reports whether text contains search, ignoring the case of ASCII
// letters. search must be in lower case.
func containsFold(text, search string) bool { return strings.Contains(lowerASCII(text), search) }

// lowerASCII returns s with ASCII letters in lower case. Other characters are
// unchanged.
func lowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + ('a' - 'A')
		}
		return r
	}, s)
}

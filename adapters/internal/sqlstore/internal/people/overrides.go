package people

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"strings"
	"unicode/utf8"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags/serving"
)

// maxHashKey is the maximum length of an identifier that is stored for a person, in
// characters.
const maxHashKey = 400

// Overrides implements serving.Continuity (spec/flags.md §8.6). It reads first and writes
// only if rows are missing. An anonymous id that is longer than 400 characters or
// contains U+0000 is not stored. The result is shared and must not be changed.
func (s *Store) Overrides(ctx context.Context, projectID int64, distinctID, anonymousID string, flagKeys []string) (map[string]string, error) {
	person, err := s.loadPerson(ctx, projectID, distinctID, withOverrides)
	if err != nil {
		return nil, fmt.Errorf("reading the identifiers of flags: %w", err)
	}
	if anonymousID == "" {
		return person.overrides, nil
	}
	anonymous, err := s.loadPerson(ctx, projectID, anonymousID, withOverrides)
	if err != nil {
		return nil, fmt.Errorf("reading the identifiers of flags: %w", err)
	}
	// There are no rows to insert.
	if !isStorable(anonymousID) || len(person.missingFlags(flagKeys))+len(anonymous.missingFlags(flagKeys)) == 0 {
		return mergeOverrides(anonymous, person), nil
	}
	var out map[string]string
	err = s.db.LookUp(ctx, database.LookupTime, func(ctx context.Context) error {
		return s.db.InQuickWrite(ctx, func(tx *sql.Tx) (err error) {
			out, err = s.saveOverrides(ctx, tx, projectID, distinctID, anonymousID, flagKeys)
			return err
		})
	})
	// The cached persons lack the new rows. They are dropped even after an error, since
	// the commit may have succeeded without a response.
	for _, k := range []*cachedPerson{person, anonymous} {
		if !k.uuid.IsZero() {
			s.cache.ForgetPersons(projectID, []capture.UUID{k.uuid})
		}
	}
	if err != nil {
		return nil, fmt.Errorf("keeping the identifiers of flags: %w", err)
	}
	return out, nil
}

// isStorable reports whether an anonymous id can be stored as an identifier.
func isStorable(id string) bool {
	return strings.IndexByte(id, 0) < 0 && utf8.RuneCountInString(id) <= maxHashKey
}

// missingFlags returns the keys of flagKeys for which a person has no row, without keys
// that cannot be stored. It returns nil if there is no person.
func (k *cachedPerson) missingFlags(flagKeys []string) (out []string) {
	if k.uuid.IsZero() {
		return nil
	}
	for _, key := range flagKeys {
		if _, ok := k.overrides[key]; !ok && key != "" && strings.IndexByte(key, 0) < 0 {
			out = append(out, key)
		}
	}
	return out
}

// mergeOverrides returns the rows of both persons; for the same flag the row of second
// applies.
func mergeOverrides(first, second *cachedPerson) map[string]string {
	if len(first.overrides) == 0 || first.uuid == second.uuid {
		return second.overrides
	}
	out := maps.Clone(first.overrides)
	maps.Copy(out, second.overrides)
	return out
}

var insertOverrides = database.NewInsert(`INSERT INTO flag_overrides (project_id, person_uuid, flag_key, hash_key)`, 4, `ON CONFLICT DO NOTHING`)

// saveOverrides reads both persons in the transaction, inserts the rows that are
// missing, and returns the merged rows.
func (s *Store) saveOverrides(ctx context.Context, tx database.Querier, projectID int64, distinctID, anonymousID string, flagKeys []string) (map[string]string, error) {
	var persons [2]*cachedPerson
	for i, id := range []string{anonymousID, distinctID} {
		k, err := readPerson(ctx, tx, projectID, capture.StoredDistinctID(id), withOverrides)
		if err != nil {
			return nil, err
		}
		persons[i] = k
		missing := k.missingFlags(flagKeys)
		if len(missing) == 0 {
			continue
		}
		row := func(args []any, i int) []any { return append(args, projectID, k.uuid[:], missing[i], anonymousID) }
		err = insertOverrides.Run(&s.db.Dialect, nil, len(missing), row, func(text string, args ...any) error {
			_, err := tx.ExecContext(ctx, text, args...)
			return err
		})
		if err != nil {
			return nil, err
		}
		// Another server may have inserted rows first: the stored rows apply.
		if persons[i], err = readPerson(ctx, tx, projectID, capture.StoredDistinctID(id), withOverrides); err != nil {
			return nil, err
		}
	}
	return mergeOverrides(persons[0], persons[1]), nil
}

var _ serving.Continuity = (*Store)(nil)

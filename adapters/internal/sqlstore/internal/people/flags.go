package people

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
	"github.com/bunting-flags/bunting/flags/wire"
)

// parts is a set of the data of a person. Each part is read only when the evaluation of
// flags needs it.
type parts uint8

const (
	withProperties parts = 1 << iota // and the creation time
	withCohorts
	withOverrides

	allParts = withProperties | withCohorts | withOverrides
)

// neededParts returns the parts on which an evaluation with the given needs may depend.
// nil means that the needs are unknown.
func neededParts(n *flags.Needs) (p parts) {
	if n == nil {
		return withProperties | withCohorts
	}
	if len(n.Person) > 0 || n.CreatedAt {
		p |= withProperties
	}
	if len(n.Cohorts) > 0 {
		p |= withCohorts
	}
	if n.ContinuityMatters {
		p |= withOverrides // Overrides is called next
	}
	return p
}

// Stored implements serving.People. It runs one indexed query for the person and one for
// the groups, only for the data in q.Needs and only for data that is not cached. The
// result is shared and must not be changed.
func (s *Store) Stored(ctx context.Context, q serving.Query) (*flags.Stored, error) {
	var person *flags.Stored
	if want := neededParts(q.Needs); want != 0 {
		k, err := s.loadPerson(ctx, q.ProjectID, q.DistinctID, want)
		if err != nil {
			return nil, fmt.Errorf("reading a person: %w", err)
		}
		person = &k.stored
	}
	if len(q.Groups) == 0 {
		return person, nil
	}
	groups, err := s.groupsOf(ctx, q.ProjectID, q.Groups)
	if err != nil {
		return person, fmt.Errorf("reading groups: %w", err)
	}
	if len(groups) == 0 {
		return person, nil
	}
	// The cached person is shared, so the groups are added to a copy.
	var out flags.Stored
	if person != nil {
		out = *person
	}
	out.Groups = groups
	return &out, nil
}

// loadPerson returns the person of a distinct id with at least the wanted parts, from
// the cache or from the database.
func (s *Store) loadPerson(ctx context.Context, projectID int64, distinctID string, want parts) (*cachedPerson, error) {
	id := capture.StoredDistinctID(distinctID)
	now := s.now()
	since := s.cacheValidSince(now)
	if k := s.cache.get(projectID, id, want, since); k != nil {
		return k, nil
	}
	// The clock is read before the database, so that the cache can reject data from
	// before a change.
	before := s.cache.clock.Load()
	var k *cachedPerson
	err := s.db.LookUp(ctx, database.LookupTime, func(ctx context.Context) (err error) {
		k, err = readPerson(ctx, s.db.Quick, projectID, id, want)
		return err
	})
	if err != nil {
		return nil, err
	}
	k.readAt = now
	s.cache.put(projectID, id, k, before, since)
	return k, nil
}

// maxSharedAge is the maximum age of cache entries if several servers write. Together
// with the time of a lookup, changes of another server are visible within a second.
const maxSharedAge = 900 * time.Millisecond

// cacheValidSince returns the time before which data must not have been read to be used
// now. It is zero if this process is the only writer, so that entries do not expire.
func (s *Store) cacheValidSince(now time.Time) time.Time {
	if s.db.Dialect.SingleWriter {
		return time.Time{}
	}
	return now.Add(-maxSharedAge)
}

// personTexts are the queries that read a person, by the wanted parts. Their rows have
// the same columns: one row for the person, one for each cohort, one for each override.
// CROSS JOIN makes SQLite join the tables in the written order.
var personTexts = func() (texts [allParts + 1]string) {
	for want := range texts {
		texts[want] = personText(parts(want))
	}
	return texts
}()

// personText builds a query of personTexts. A person is a member of the cohorts of all
// its distinct ids; a distinct id without a person has only its own.
func personText(want parts) string {
	properties := `''`
	if want&withProperties != 0 {
		properties = "p.properties"
	}
	text := `SELECT p.uuid, p.created_at, ` + properties + `, 0, '', ''
		FROM distinct_ids d JOIN persons p ON p.project_id = d.project_id AND p.uuid = d.person_uuid
		WHERE d.project_id = $1 AND d.distinct_id = $2`
	if want&withCohorts != 0 {
		text += `
		UNION ALL SELECT NULL, 0, '', m.cohort_id, '', ''
		FROM cohort_members m WHERE m.project_id = $1 AND m.distinct_id = $2
		UNION ALL SELECT NULL, 0, '', m.cohort_id, '', ''
		FROM distinct_ids d CROSS JOIN distinct_ids o CROSS JOIN cohort_members m
		WHERE d.project_id = $1 AND d.distinct_id = $2
		AND o.project_id = $1 AND o.person_uuid = d.person_uuid AND o.distinct_id <> $2
		AND m.project_id = $1 AND m.distinct_id = o.distinct_id`
	}
	if want&withOverrides != 0 {
		text += `
		UNION ALL SELECT NULL, 0, '', 0, f.flag_key, f.hash_key
		FROM distinct_ids d JOIN flag_overrides f ON f.project_id = d.project_id AND f.person_uuid = d.person_uuid
		WHERE d.project_id = $1 AND d.distinct_id = $2`
	}
	return text
}

// readPerson reads the person of a distinct id. If the id belongs to no person, the
// result has a zero uuid.
func readPerson(ctx context.Context, db database.Querier, projectID int64, id string, want parts) (*cachedPerson, error) {
	rows, err := db.QueryContext(ctx, personTexts[want], projectID, id)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	k := &cachedPerson{parts: want, size: personSize + len(id)}
	if want&withCohorts != 0 {
		k.stored.Cohorts = []int64{}
	}
	if want&withOverrides != 0 {
		k.overrides = map[string]string{}
	}
	for rows.Next() {
		if err := k.scan(rows); err != nil {
			return nil, err
		}
	}
	slices.Sort(k.stored.Cohorts)
	k.stored.Cohorts = slices.Compact(k.stored.Cohorts)
	return k, rows.Err()
}

// scan adds a row of personTexts to k.
func (k *cachedPerson) scan(rows *sql.Rows) error {
	var uuid, properties sql.RawBytes
	var created, cohort int64
	var flagKey, hashKey string
	if err := rows.Scan(&uuid, &created, &properties, &cohort, &flagKey, &hashKey); err != nil {
		return err
	}
	switch {
	case len(uuid) == len(k.uuid):
		k.uuid = capture.UUID(uuid)
		if k.parts&withProperties == 0 {
			return nil
		}
		k.size += len(properties)
		k.stored.CreatedAt = database.FromMicros(created)
		var err error
		if k.stored.Person, err = ParseProperties(properties); err != nil {
			return fmt.Errorf("the stored properties of person %s: %w", k.uuid, err)
		}
	case flagKey != "":
		k.size += len(flagKey) + len(hashKey) + memberSize
		k.overrides[flagKey] = hashKey
	default:
		k.size += 8
		k.stored.Cohorts = append(k.stored.Cohorts, cohort)
	}
	return nil
}

// ParseProperties parses stored properties into the values that package flags would
// parse from a request with the same text (spec/flags.md §4.2): integers are int64 or
// uint64 if they fit, 5.0 and the like json.Number, all other numbers float64.
func ParseProperties(text []byte) (flags.Properties, error) {
	var out flags.Properties
	if err := wire.Decode(text, &out); err != nil {
		return nil, err
	}
	if out == nil {
		out = flags.Properties{}
	}
	for key, v := range out {
		out[key] = plainValue(v)
	}
	return out, nil
}

// plainValue converts the numbers in a decoded value.
func plainValue(v any) any {
	switch v := v.(type) {
	case json.Number:
		return plainNumber(string(v))
	case []any:
		for i := range v {
			v[i] = plainValue(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = plainValue(v[key])
		}
	}
	return v
}

// plainNumber converts a JSON number.
func plainNumber(text string) any {
	if i, err := strconv.ParseInt(text, 10, 64); err == nil && text != "-0" {
		return i
	}
	if u, err := strconv.ParseUint(text, 10, 64); err == nil {
		return u
	}
	f, _ := strconv.ParseFloat(text, 64)
	if math.IsInf(f, 0) {
		return json.Number(text) // out of range in requests; flags handle it as a special case
	}
	return wire.Decimal(f)
}

// groupsOf returns the properties of the stored groups among keys, by the name of their
// type.
func (s *Store) groupsOf(ctx context.Context, projectID int64, keys map[string]string) (map[string]flags.Properties, error) {
	now := s.now()
	since := s.cacheValidSince(now)
	types, err := s.groupTypes(ctx, projectID, now)
	if err != nil {
		return nil, err
	}
	out := make(map[string]flags.Properties, len(keys))
	var missing []capture.GroupID
	for name, key := range keys {
		index := slices.Index(types, database.CleanText(name))
		if index < 0 || name == "" {
			continue
		}
		id := capture.GroupID{Type: index, Key: database.CleanText(key)}
		if g := s.cache.getGroup(projectID, id, since); g == nil {
			missing = append(missing, id)
		} else if g.properties != nil {
			out[name] = g.properties
		}
	}
	if len(missing) == 0 {
		return out, nil
	}
	before := s.cache.clock.Load()
	var found []*cachedGroup
	err = s.db.LookUp(ctx, database.LookupTime, func(ctx context.Context) (err error) {
		found, err = readGroups(ctx, s.db.Quick, projectID, missing)
		return err
	})
	if err != nil {
		return nil, err
	}
	for i, id := range missing {
		found[i].readAt = now
		s.cache.putGroup(projectID, id, found[i], before)
	}
	for name, key := range keys {
		id := capture.GroupID{Type: slices.Index(types, database.CleanText(name)), Key: database.CleanText(key)}
		if i := slices.Index(missing, id); i >= 0 && found[i].properties != nil {
			out[name] = found[i].properties
		}
	}
	return out, nil
}

// readGroups reads groups in the order of ids. The properties of a group that is not
// stored are nil.
func readGroups(ctx context.Context, db database.Querier, projectID int64, ids []capture.GroupID) ([]*cachedGroup, error) {
	var text strings.Builder
	text.WriteString(`SELECT type_index, key, properties FROM stored_groups WHERE project_id = $1 AND (`)
	args := []any{projectID}
	for i, id := range ids {
		if i > 0 {
			text.WriteString(" OR ")
		}
		fmt.Fprintf(&text, "type_index = $%d AND key = $%d", len(args)+1, len(args)+2)
		args = append(args, id.Type, id.Key)
	}
	text.WriteString(")")
	out := make([]*cachedGroup, len(ids))
	for i, id := range ids {
		out[i] = &cachedGroup{size: groupSize + len(id.Key)}
	}
	err := database.Query(ctx, db, func(rows *sql.Rows) (err error) {
		var id capture.GroupID
		var properties sql.RawBytes
		if err := rows.Scan(&id.Type, &id.Key, &properties); err != nil {
			return err
		}
		if i := slices.Index(ids, id); i >= 0 {
			out[i].size += len(properties)
			out[i].properties, err = ParseProperties(properties)
		}
		return database.WrapError(fmt.Sprintf("the stored properties of group %q", id.Key), err)
	}, text.String(), args...)
	return out, err
}

// groupTypes returns the names of a project's group types by their index, from the
// cache or from the database.
func (s *Store) groupTypes(ctx context.Context, projectID int64, now time.Time) ([]string, error) {
	if names, ok := s.cache.getTypes(projectID, s.cacheValidSince(now)); ok {
		return names, nil
	}
	before := s.cache.clock.Load()
	var names []string
	err := s.db.LookUp(ctx, database.LookupTime, func(ctx context.Context) (err error) {
		names, err = ReadGroupTypes(ctx, s.db.Quick, projectID)
		return err
	})
	if err != nil {
		return nil, err
	}
	s.cache.putTypes(projectID, names, now, before)
	return names, nil
}

var _ serving.People = (*Store)(nil)

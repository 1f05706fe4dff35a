package events

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"math"
	"slices"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/people"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// Reader reads events. It implements port.Source, a part of queries.States, and the methods
// of capture.History for events.
type Reader struct {
	db     *database.DB
	log    *Log
	people *people.Store
	owners *ownersCache
	// Merged returns pairs of persons for the merges while the counter rewritten of a project changed from one value
	// to another, in their order: the person that was merged, and the remaining person. ok is false if there may be
	// other changes.
	Merged func(projectID, from, to int64) (pairs []capture.UUID, ok bool)
}

// NewReader returns a reader with a cache for owners of distinct ids, whose size is in bytes.
func NewReader(db *database.DB, log *Log, persons *people.Store, ownerBytes int64) *Reader {
	return &Reader{db: db, log: log, people: persons, owners: newOwnersCache(ownerBytes)}
}

// Queries use the same blocks and chunks as pages of events (page.go), each with its own
// statement, whose rows are read to the end immediately, so that no connection is in use
// while a batch of results is processed.

// Open implements port.Source.
//
// The snapshot of a reader ends at an id of the ledger. On PostgreSQL, writers of a
// project hold its lock while they take ids and until they commit. After sharing this
// lock for a moment, all events of the project up to the last id are committed.
func (s *Reader) Open(ctx context.Context, projectID int64) (port.Reader, error) {
	// The counter is read first: if it changes after that, the cached owners are
	// changed or replaced next time.
	r := &insightReader{store: s, project: projectID}
	rewritten, err := s.rewritten(ctx, projectID)
	if err == nil {
		err = s.readLastID(ctx, projectID, &r.last)
	}
	if err != nil {
		return nil, s.db.ReadError("the ledger's last id", err)
	}
	r.owners = s.owners.take(projectID, rewritten, s.Merged)
	r.table = r.owners.table
	return r, nil
}

// readLastID reads the id at which a snapshot ends.
func (s *Reader) readLastID(ctx context.Context, projectID int64, last *int64) (err error) {
	if s.db.Dialect.SingleWriter {
		*last, err = s.log.lastID(ctx, s.db.Read)
		return err
	}
	tx, err := s.db.Read.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // releases the lock
	if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock_shared($1)`, database.ProjectLocks+projectID); err != nil {
		return err
	}
	*last, err = s.log.lastID(ctx, tx)
	return err
}

// sampledBlocks is the approximate number of blocks that an estimate counts exactly.
const sampledBlocks = 8

// Count implements port.Reader. The result is an estimate: it counts the matching
// events of some blocks and extrapolates.
func (r *insightReader) Count(ctx context.Context, s port.Scan) (int64, error) {
	s.Columns, s.Pause = 0, func(context.Context) {}
	p := newInsightScan(r, s)
	blocks, err := p.blocks(ctx)
	if err != nil {
		return 0, r.store.db.ReadError("the number of events", err)
	}
	step := max(len(blocks)/sampledBlocks, 1)
	var n, sampled int64
	e := newColumnBuffer()
	for i := 0; i < len(blocks); i += step {
		u := &unitScan{insightScan: p, unit: blocks[i].unit, e: e}
		err := u.eachBlock(ctx, func(keep []int32) error {
			n += int64(len(keep))
			return nil
		})
		if err != nil {
			return 0, r.store.db.ReadError("the number of events", err)
		}
		sampled++
	}
	if sampled > 0 {
		n = n * int64(len(blocks)) / sampled
	}
	return n, nil
}

// Earliest implements port.Reader.
func (r *insightReader) Earliest(ctx context.Context, since int64) (int64, bool, error) {
	best, found, err := r.earliest(ctx, since)
	return best, found, r.store.db.ReadError("the first event", err)
}

// earliest implements Earliest: blocks in the order of their first events, until no further one can
// contain an earlier event.
func (r *insightReader) earliest(ctx context.Context, since int64) (best int64, found bool, err error) {
	best = math.MaxInt64
	p := newInsightScan(r, port.Scan{From: since, To: math.MaxInt64, Pause: func(context.Context) {}})
	blocks, err := p.blocks(ctx)
	if err != nil {
		return 0, false, err
	}
	slices.SortFunc(blocks, func(a, b storedBlock) int { return cmp.Compare(a.firstTime, b.firstTime) })
	e := newColumnBuffer()
	for _, b := range blocks {
		if b.firstTime >= best {
			break
		}
		u := &unitScan{insightScan: p, unit: b.unit, e: e}
		err := u.eachBlock(ctx, func(keep []int32) error {
			for _, i := range keep {
				best, found = min(best, e.block.Times[i]), true
			}
			return nil
		})
		if err != nil {
			return 0, false, err
		}
	}
	return best, found, nil
}

// Profiles implements port.Reader.
func (r *insightReader) Profiles(ctx context.Context, people []capture.UUID, yield func(*capture.StoredPerson) error) error {
	if people == nil {
		return r.allProfiles(ctx, yield)
	}
	for chunk := range slices.Chunk(people, profileStep) {
		// A query stops after database.PieceBytes of properties; it is repeated for the rest.
		for more := true; more && len(chunk) > 0; {
			var found []*capture.StoredPerson
			var err error
			if found, more, err = r.profiles(ctx, chunk); err != nil {
				return r.store.db.ReadError("persons", err)
			}
			if err := yieldAll(found, yield); err != nil {
				return err
			}
			chunk = without(chunk, found, func(p *capture.StoredPerson) capture.UUID { return p.UUID })
		}
	}
	return nil
}

// allProfiles calls yield for all persons of the project.
func (r *insightReader) allProfiles(ctx context.Context, yield func(*capture.StoredPerson) error) error {
	for below := int64(math.MaxInt64); ; {
		found, _, more, err := people.Below(ctx, r.store.db, r.project, below, profileStep)
		if err != nil {
			return r.store.db.ReadError("persons", err)
		}
		if err := yieldAll(found, yield); err != nil || !more {
			return err
		}
		below = found[len(found)-1].ID
	}
}

// yieldAll calls yield for each element, until it returns an error.
func yieldAll[T any](list []T, yield func(T) error) error {
	for _, x := range list {
		if err := yield(x); err != nil {
			return err
		}
	}
	return nil
}

// without returns the elements of list that are not the name of a found value.
func without[K comparable, T any](list []K, found []T, name func(T) K) (rest []K) {
	selected := make(map[K]bool, len(found))
	for _, x := range found {
		selected[name(x)] = true
	}
	for _, k := range list {
		if !selected[k] {
			rest = append(rest, k)
		}
	}
	return rest
}

// profiles returns the profiles of some of the persons, until they reach
// database.PieceBytes, and reports whether there may be more.
func (r *insightReader) profiles(ctx context.Context, ids []capture.UUID) (found []*capture.StoredPerson, more bool, err error) {
	args := []any{r.project}
	for i := range ids {
		args = append(args, ids[i][:])
	}
	var held database.ByteLimit
	err = database.Query(ctx, r.store.db.Read, func(rows *sql.Rows) error {
		p, size, err := people.ScanPerson(rows)
		if err != nil {
			return err
		}
		found = append(found, p)
		return held.Hold(size)
	}, `SELECT `+people.PersonColumns+` FROM persons p WHERE p.project_id = $1 AND p.uuid IN (`+database.Placeholders(2, len(ids))+`)`, args...)
	if more = errors.Is(err, database.ErrPageFull); err != nil && !more {
		return nil, false, err
	}
	return found, more, people.AddIDs(ctx, r.store.db, r.project, found)
}

// Groups implements port.Reader.
func (r *insightReader) Groups(ctx context.Context, groupType int, keys []string, yield func(*capture.Group) error) error {
	if keys == nil {
		return r.allGroups(ctx, groupType, yield)
	}
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = database.CleanText(key)
	}
	for chunk := range slices.Chunk(names, profileStep) {
		for more := true; more && len(chunk) > 0; {
			var found []capture.Group
			var err error
			if found, more, err = r.groupsOf(ctx, groupType, chunk); err != nil {
				return r.store.db.ReadError("groups", err)
			}
			if err := yieldEach(found, yield); err != nil {
				return err
			}
			chunk = without(chunk, found, func(g capture.Group) string { return g.Key })
		}
	}
	return nil
}

// allGroups calls yield for all groups of a type.
func (r *insightReader) allGroups(ctx context.Context, groupType int, yield func(*capture.Group) error) error {
	for after := ""; ; {
		page, next, err := r.store.people.Groups(ctx, r.project, groupType, after, "", profileStep)
		if err != nil {
			return err
		}
		if err := yieldEach(page, yield); err != nil || next == "" {
			return err
		}
		after = next
	}
}

// groupsOf returns some of the groups with the keys, until they reach
// database.PieceBytes, and reports whether there may be more.
func (r *insightReader) groupsOf(ctx context.Context, groupType int, keys []string) (found []capture.Group, more bool, err error) {
	args := []any{r.project, groupType}
	for _, key := range keys {
		args = append(args, key)
	}
	var held database.ByteLimit
	err = database.Query(ctx, r.store.db.Read, func(rows *sql.Rows) error {
		var key, properties string
		var created int64
		if err := rows.Scan(&key, &created, &properties); err != nil {
			return err
		}
		g, err := people.StoredGroup(capture.GroupID{Type: groupType, Key: key}, created, properties)
		if err != nil {
			return err
		}
		found = append(found, g)
		return held.Hold(len(properties))
	}, `SELECT key, created_at, properties FROM stored_groups WHERE project_id = $1 AND type_index = $2 AND key IN (`+database.Placeholders(3, len(keys))+`)`, args...)
	if more = errors.Is(err, database.ErrPageFull); more {
		err = nil
	}
	return found, more, err
}

// yieldEach calls yield for a pointer to each element, until it returns an error.
func yieldEach[T any](list []T, yield func(*T) error) error {
	for i := range list {
		if err := yield(&list[i]); err != nil {
			return err
		}
	}
	return nil
}

// Members implements port.Reader. It returns the persons to whom the distinct ids
// of a static cohort belong now.
func (r *insightReader) Members(ctx context.Context, cohort int64) (out []capture.UUID, err error) {
	out, err = database.List(ctx, r.store.db.Read, func(u *capture.UUID) []any { return []any{database.ScanUUID(u)} },
		`SELECT DISTINCT d.person_uuid FROM cohort_members m CROSS JOIN distinct_ids d
		WHERE m.project_id = $1 AND m.cohort_id = $2 AND d.project_id = $1 AND d.distinct_id = m.distinct_id AND d.person_uuid IS NOT NULL`, r.project, cohort)
	return out, r.store.db.ReadError("the members of a cohort", err)
}

var _ port.Source = (*Reader)(nil)

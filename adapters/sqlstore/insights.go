package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"slices"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights"
)

// Questions are answered out of the same rows and indexes as pages of events
// (historyevents.go): epoch by epoch, each with statements of its own that are read
// to their end at once, so that nothing is held while the answer is computed.
//
//	insights.go        what is seen, counts, who is asked for by name
//	insightscan.go     events as columns
//	insightahead.go    read by two goroutines where a processor is to spare
//	insightunit.go     an epoch of them
//	insightindex.go    which index to look in
//	insightblock.go    or in which block of columns: eventblock.go, eventblocks.go
//	insightcolumns.go  how columns are read
//	insightpeople.go   to whom events belong now
//	insightowners.go   which is remembered

// Open implements insights.Source.
//
// What is seen ends at an id of the ledger. On PostgreSQL commits of one project
// follow one another under its lock, and ids are taken under it: whoever shares it
// for a moment knows that no event of the project up to the last id is still being
// committed.
func (s *Store) Open(ctx context.Context, projectID int64) (insights.Reader, error) {
	r := &insightReader{store: s, project: projectID}
	rewritten, err := s.rewritten(ctx, projectID)
	if err == nil {
		err = s.readLastID(ctx, projectID, &r.last)
	}
	if err == nil {
		r.mark, err = s.lastIndexedID(ctx, s.read)
	}
	if err != nil {
		return nil, s.readError("the ledger's last id", err)
	}
	r.mark = min(r.mark, r.last)
	r.owners = s.owners.take(projectID, rewritten)
	r.numbers = r.owners.numbers
	return r, nil
}

func (s *Store) readLastID(ctx context.Context, projectID int64, last *int64) error {
	if s.dialect.singleWriter {
		return s.read.QueryRowContext(ctx, `SELECT id FROM places WHERE name = $1`, positionEventID).Scan(last)
	}
	tx, err := s.read.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // which gives the lock back
	if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock_shared($1)`, projectLocks+projectID); err != nil {
		return err
	}
	return tx.QueryRowContext(ctx, `SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM event_ids`).Scan(last)
}

// sampledEpochs is how many epochs are counted exactly for an estimate.
const sampledEpochs = 8

// Count implements insights.Reader: it counts some of the epochs.
func (r *insightReader) Count(ctx context.Context, s insights.Scan) (int64, error) {
	p := newInsightScan(r, s)
	epochs, err := p.epochs(ctx)
	if err != nil {
		return 0, r.store.readError("the number of events", err)
	}
	step := max(len(epochs)/sampledEpochs, 1)
	var n, sampled int64
	for i := 0; i < len(epochs); i += step {
		c := &conditions{args: []any{epochs[i], r.project}}
		table := p.index(c)
		var found int64
		if err := r.store.read.QueryRowContext(ctx, `SELECT COUNT(*) FROM `+table+` i WHERE i.epoch = $1 AND i.project_id = $2`+c.text.String(), c.args...).Scan(&found); err != nil {
			return 0, r.store.readError("the number of events", err)
		}
		n, sampled = n+found, sampled+1
	}
	if sampled > 0 {
		n = n * int64(len(epochs)) / sampled
	}
	return n + r.last - r.mark, nil
}

// Earliest implements insights.Reader. Epochs are asked in the order of their
// first times, which are too early where events were erased.
func (r *insightReader) Earliest(ctx context.Context, since int64) (int64, bool, error) {
	best, found, err := r.earliest(ctx, since)
	return best, found, r.store.readError("the first event", err)
}

func (r *insightReader) earliest(ctx context.Context, since int64) (best int64, found bool, err error) {
	best = math.MaxInt64
	consider := func(text string, args ...any) error {
		var t sql.NullInt64
		err := r.store.read.QueryRowContext(ctx, text, args...).Scan(&t)
		if t.Valid {
			best, found = min(best, t.Int64), true
		}
		return err
	}
	if r.mark < r.last {
		if err := consider(`SELECT MIN(timestamp) FROM events WHERE id > $1 AND id <= $2 AND project_id = $3 AND timestamp >= $4`, r.mark, r.last, r.project, since); err != nil {
			return 0, false, err
		}
	}
	epochs, err := list(ctx, r.store.read, func(e *eventEpoch) []any { return []any{&e.epoch, &e.last} },
		`SELECT epoch, first_time FROM event_epochs WHERE project_id = $1 AND epoch <= $2 AND last_time >= $3 ORDER BY first_time, epoch`, r.project, r.mark>>epochBits, since)
	for _, e := range epochs {
		if e.last >= best || err != nil {
			break
		}
		err = consider(`SELECT MIN(timestamp) FROM events_by_time WHERE epoch = $1 AND project_id = $2 AND id <= $3 AND timestamp >= $4`, e.epoch, r.project, r.mark, since)
	}
	return best, found, err
}

// Profiles implements insights.Reader.
func (r *insightReader) Profiles(ctx context.Context, people []capture.UUID, yield func(*capture.StoredPerson) error) error {
	if people == nil {
		return r.allProfiles(ctx, yield)
	}
	for chunk := range slices.Chunk(people, profileStep) {
		for more := true; more && len(chunk) > 0; {
			var found []*capture.StoredPerson
			var err error
			if found, more, err = r.profiles(ctx, chunk); err != nil {
				return r.store.readError("persons", err)
			}
			if err := yieldAll(found, yield); err != nil {
				return err
			}
			chunk = without(chunk, found, func(p *capture.StoredPerson) capture.UUID { return p.UUID })
		}
	}
	return nil
}

// allProfiles gives all persons, a piece at a time.
func (r *insightReader) allProfiles(ctx context.Context, yield func(*capture.StoredPerson) error) error {
	for below := int64(math.MaxInt64); ; {
		found, _, more, err := r.store.peopleBelow(ctx, r.project, below, profileStep)
		if err != nil {
			return r.store.readError("persons", err)
		}
		if err := yieldAll(found, yield); err != nil || !more {
			return err
		}
		below = found[len(found)-1].ID
	}
}

func yieldAll[T any](list []T, yield func(T) error) error {
	for _, x := range list {
		if err := yield(x); err != nil {
			return err
		}
	}
	return nil
}

// without are the names of a list that stand for none of what was found.
func without[K comparable, T any](list []K, found []T, name func(T) K) (rest []K) {
	known := make(map[K]bool, len(found))
	for _, x := range found {
		known[name(x)] = true
	}
	for _, k := range list {
		if !known[k] {
			rest = append(rest, k)
		}
	}
	return rest
}

// profiles are some of people, as many as a piece holds; more: there may be others.
func (r *insightReader) profiles(ctx context.Context, people []capture.UUID) (found []*capture.StoredPerson, more bool, err error) {
	args := []any{r.project}
	for i := range people {
		args = append(args, people[i][:])
	}
	var held piece
	err = query(ctx, r.store.read, func(rows *sql.Rows) error {
		p, size, err := scanPerson(rows)
		if err != nil {
			return err
		}
		found = append(found, p)
		return held.hold(size)
	}, `SELECT `+personColumns+` FROM persons p WHERE p.project_id = $1 AND p.uuid IN (`+placeholders(2, len(people))+`)`, args...)
	if more = errors.Is(err, errPageFull); err != nil && !more {
		return nil, false, err
	}
	return found, more, r.store.addIDs(ctx, r.project, found)
}

// Groups implements insights.Reader.
func (r *insightReader) Groups(ctx context.Context, groupType int, keys []string, yield func(*capture.Group) error) error {
	if keys == nil {
		return r.allGroups(ctx, groupType, yield)
	}
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = cleanText(key)
	}
	for chunk := range slices.Chunk(names, profileStep) {
		for more := true; more && len(chunk) > 0; {
			var found []capture.Group
			var err error
			if found, more, err = r.groupsOf(ctx, groupType, chunk); err != nil {
				return r.store.readError("groups", err)
			}
			if err := yieldEach(found, yield); err != nil {
				return err
			}
			chunk = without(chunk, found, func(g capture.Group) string { return g.Key })
		}
	}
	return nil
}

// allGroups gives all groups of a type, a page at a time.
func (r *insightReader) allGroups(ctx context.Context, groupType int, yield func(*capture.Group) error) error {
	for after := ""; ; {
		page, next, err := r.store.Groups(ctx, r.project, groupType, after, "", profileStep)
		if err != nil {
			return err
		}
		if err := yieldEach(page, yield); err != nil || next == "" {
			return err
		}
		after = next
	}
}

// groupsOf are some groups by their keys, as many as a piece holds; more: there may be
// others.
func (r *insightReader) groupsOf(ctx context.Context, groupType int, keys []string) (found []capture.Group, more bool, err error) {
	args := []any{r.project, groupType}
	for _, key := range keys {
		args = append(args, key)
	}
	var held piece
	err = query(ctx, r.store.read, func(rows *sql.Rows) error {
		var key, properties string
		var created int64
		if err := rows.Scan(&key, &created, &properties); err != nil {
			return err
		}
		g, err := storedGroup(capture.GroupID{Type: groupType, Key: key}, created, properties)
		if err != nil {
			return err
		}
		found = append(found, g)
		return held.hold(len(properties))
	}, `SELECT key, created_at, properties FROM stored_groups WHERE project_id = $1 AND type_index = $2 AND key IN (`+placeholders(3, len(keys))+`)`, args...)
	if more = errors.Is(err, errPageFull); more {
		err = nil
	}
	return found, more, err
}

func yieldEach[T any](list []T, yield func(*T) error) error {
	for i := range list {
		if err := yield(&list[i]); err != nil {
			return err
		}
	}
	return nil
}

// Members implements insights.Reader.
func (r *insightReader) Members(ctx context.Context, cohort int64) (out []capture.UUID, err error) {
	out, err = list(ctx, r.store.read, func(u *capture.UUID) []any { return []any{scanUUID(u)} },
		`SELECT DISTINCT d.person_uuid FROM cohort_members m CROSS JOIN distinct_ids d
		WHERE m.project_id = $1 AND m.cohort_id = $2 AND d.project_id = $1 AND d.distinct_id = m.distinct_id AND d.person_uuid IS NOT NULL`, r.project, cohort)
	return out, r.store.readError("the members of a cohort", err)
}

var _ insights.Source = (*Store)(nil)

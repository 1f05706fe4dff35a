package events

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/segment"
)

// removedFile is the file of a segment that was replaced or deleted. It is removed after a time.
type removedFile struct {
	name  string
	after time.Time
}

// keepMerged is the factor by which files that were merged remain longer than files with erased events,
// for readers that wait for others, such as exports.
const keepMerged = 15

// remove removes a file later. isMerged is true if all its events are in another file. Otherwise files
// that were merged before do not remain longer than this one, because they may have the same events.
func (l *Log) remove(name string, isMerged bool) {
	now := time.Now()
	f := removedFile{name, now.Add(l.seal.RemoveAfter)}
	l.removing.Lock()
	defer l.removing.Unlock()
	for i := range l.removed {
		if !isMerged && l.removed[i].after.After(f.after) {
			l.removed[i].after = f.after
		}
	}
	if isMerged && l.db.Dialect.SingleWriter { // another server may erase events that are also in this file
		f.after = now.Add(keepMerged * l.seal.RemoveAfter)
	}
	l.removed = append(l.removed, f)
}

// removeUnlisted removes a file later that a sweep has found, unless that was decided before.
func (l *Log) removeUnlisted(name string) {
	l.removing.Lock()
	isScheduled := slices.ContainsFunc(l.removed, func(f removedFile) bool { return f.name == name })
	l.removing.Unlock()
	if !isScheduled {
		l.remove(name, false)
	}
}

// maxOpenTime is the time after which an open file is closed: on the disk of a folder, a file that
// was removed occupies space until the last server closes it.
const maxOpenTime = 10 * time.Minute

// removeFiles removes files that were replaced long enough ago. Files that cannot be removed are
// removed by a sweep.
func (l *Log) removeFiles() {
	l.files.CloseUnused(maxOpenTime)
	l.removing.Lock()
	defer l.removing.Unlock()
	rest, failed := l.removed[:0], false
	for _, f := range l.removed {
		// After a failure the rest waits for the next call: a bucket may be slow to fail.
		if failed || time.Now().Before(f.after) {
			rest = append(rest, f)
			continue
		}
		if failed = l.files.Remove(f.name) != nil; failed {
			rest = append(rest, f)
		}
	}
	l.removed = rest
}

// lookupTime limits looking for the segment that has replaced another one.
const lookupTime = 10 * time.Second

// replacement returns the name of the file that has the events of another one, which was removed
// after it was listed: it has the same range of ids, or after a merge a greater range. It returns an empty name
// if the segment was deleted.
func (l *Log) replacement(name string) (string, error) {
	project, first, last, ok := segment.Parse(name)
	if !ok {
		return "", nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookupTime)
	defer cancel()
	names, err := database.Column[string](ctx, l.db.Read, `SELECT name FROM event_segments WHERE project_id = $1 AND first_id <= $2 AND last_id >= $3 AND name <> $4`, project, first, last, name)
	if err != nil || len(names) == 0 {
		return "", err
	}
	return names[0], nil
}

const (
	// SealLock is the key of the advisory lock for sealing. Unlike other locks it belongs to a session,
	// because writing a file may last longer than a transaction may be idle.
	SealLock int64 = 0x42554e50 << 32
	// sealTimeout limits waiting for the locks of blocks and of a project, as lockTimeout does.
	sealTimeout = `SET LOCAL lock_timeout = '10s'`
	lockBlocks  = `SELECT pg_advisory_xact_lock($1)`
	// sweepEvery is the time between two sweeps of a server that runs.
	sweepEvery = time.Hour
)

// ErrSealing is the error while another server seals events.
var ErrSealing = errors.New("another server is writing events into segments")

// startSealing acquires the lock for sealing. The error is ErrSealing if another server has it.
func (l *Log) startSealing(ctx context.Context) error {
	if l.session == nil {
		session, err := l.db.TrySession(ctx, SealLock)
		if err != nil {
			return err
		}
		if session == nil {
			return ErrSealing
		}
		l.session = session
		if !l.db.Dialect.SingleWriter { // another server may have sealed
			l.listed, l.isMerged = nil, false
		}
	}
	if l.db.Dialect.SingleWriter || !l.swept.IsZero() && time.Since(l.swept) < sweepEvery {
		return nil
	}
	if err := l.sweep(ctx, l.removeUnlisted); err != nil {
		l.endSealing()
		return err
	}
	l.swept = time.Now()
	return nil
}

// endSealing releases the lock for sealing.
func (l *Log) endSealing() {
	l.session.Close()
	l.session = nil
}

// StopSealing releases the lock for sealing if the last call of Seal has left more to do.
func (l *Log) StopSealing() {
	l.sealing.Lock()
	defer l.sealing.Unlock()
	if l.session != nil {
		l.endSealing()
	}
}

// inSealing runs work in a transaction that may change blocks, which proves by its commit that no
// other server was sealing. It waits while another server builds blocks.
func (l *Log) inSealing(ctx context.Context, work func(t *database.Tx) error) error {
	t := l.db.NewTx(ctx, nil)
	err := l.session.InWrite(ctx, func(tx *sql.Tx) error {
		t.SQL = tx
		if !l.db.Dialect.SingleWriter {
			if _, err := t.Exec(sealTimeout); err != nil {
				return err
			}
			if _, err := t.Exec(lockBlocks, blocksLock); err != nil {
				return err
			}
		}
		return work(&t)
	})
	return database.WrapError("blocks of events", err)
}

// checkOwner returns an error unless the folder is still that of the database: a folder that is not
// mounted any more is an empty one, in which other servers do not find a file.
func (l *Log) checkOwner(ctx context.Context) error {
	owner, err := l.files.Owner()
	if err != nil {
		return err
	}
	numbers, err := database.Column[int64](ctx, l.db.Read, `SELECT id FROM places WHERE name = $1`, database.PositionSegments)
	if err == nil && (len(numbers) == 0 || numbers[0] != owner) {
		err = fmt.Errorf("%s is not the folder of this database any more: look whether it is mounted", l.files)
	}
	return err
}

// sweep calls remove with the files that are not listed: files of a server that was killed or lost the
// lock for sealing before the transaction that lists its file, and files that were replaced. No file
// is written meanwhile, because this server has the lock, or is the only server.
func (l *Log) sweep(ctx context.Context, remove func(name string)) error {
	l.files.Sweep()
	names, err := l.files.Names()
	if err != nil {
		return err
	}
	list, err := listSegments(ctx, l.db.Write, `TRUE`)
	if err != nil {
		return err
	}
	listed := map[string]bool{}
	for i := range list {
		listed[list[i].name] = true
	}
	for _, name := range names {
		if !listed[name] {
			remove(name)
		}
	}
	return nil
}

// CheckFiles checks that the files of all segments exist. Without other servers it removes all other
// files; with several, the one that seals does so.
func (l *Log) CheckFiles(ctx context.Context) error {
	list, err := listSegments(ctx, l.db.Write, `TRUE`)
	if err != nil {
		return fmt.Errorf("reading the list of segments: %w", err)
	}
	if l.files == nil {
		if len(list) > 0 {
			return ErrNoFolder
		}
		return nil
	}
	sizes, err := l.files.Sizes()
	if err != nil {
		return err
	}
	for i := range list {
		if err := l.checkFile(ctx, &sizes, &list[i]); err != nil {
			return err
		}
	}
	if !l.db.Dialect.SingleWriter {
		return nil
	}
	var removeErr error
	err = l.sweep(ctx, func(name string) { removeErr = errors.Join(removeErr, l.files.Remove(name)) })
	return errors.Join(err, removeErr)
}

// checkFile compares the size of a file with what is listed, unless another server has replaced the
// file meanwhile.
func (l *Log) checkFile(ctx context.Context, sizes *segment.Sizes, s *storedSegment) error {
	fault := sizes.Check(s.name, s.bytes)
	if fault == nil {
		return nil
	}
	list, err := listSegments(ctx, l.db.Write, `s.project_id = $1 AND s.first_id = $2 AND s.name = $3`, s.project, s.first, s.name)
	if err != nil || len(list) == 0 {
		return err
	}
	return fault
}

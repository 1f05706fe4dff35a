package events

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/segment"
)

// Source is where stored events are read from: a database or a transaction, and the files of its
// segments.
type Source struct {
	database.Querier
	// Files is nil if there are no segments.
	Files *segment.Folder
	older *older // nil if all events are converted
}

// NewSource returns a source that is not a log's. files may be nil if there are no segments.
func NewSource(ctx context.Context, q database.Querier, files *segment.Folder) (Source, error) {
	p, err := readOlderPlaces(ctx, q, "")
	return Source{q, files, p.older()}, err
}

// ErrNoFolder is the error for a database with events in segments that was opened without their
// folder.
var ErrNoFolder = errors.New("this database has events in segment files; give their folder with --segments DIR")

// Source returns the source for reading outside of transactions.
func (l *Log) Source() Source { return Source{l.db.Read, l.files, l.older.Load()} }

// in returns the source for reading in a transaction.
func (l *Log) in(t *database.Tx) Source { return Source{t.SQL, l.files, l.older.Load()} }

// storedSegment is a segment: a file with the events of a project in a range of ids.
type storedSegment struct {
	project int64
	unit
	generation, events, bytes int64
	// lastArrived is the latest time of arrival of an event.
	lastArrived int64
	checksum    uint32
	name        string
	// erased are events of the file that were erased.
	erased map[int64]bool
}

// sealedEnd is an expression for the last id of the segments of the project $1, or 0: all events of
// the project up to it are in segments. Chunks up to it are to be deleted.
const sealedEnd = `COALESCE((SELECT last_id FROM event_segments WHERE project_id = $1 ORDER BY first_id DESC LIMIT 1), 0)`

// unsealedChunk is the condition that the events of a chunk c are in no segment.
const unsealedChunk = `c.first_id > COALESCE((SELECT s.last_id FROM event_segments s WHERE s.project_id = c.project_id ORDER BY s.first_id DESC LIMIT 1), 0)`

// fromSegment is the condition that a segment is not before the one that contains the id $2.
const fromSegment = `s.first_id >= COALESCE((SELECT MAX(first_id) FROM event_segments WHERE project_id = $1 AND first_id <= $2), 0)`

// listSegments returns the segments that a condition selects, in the order of projects and ids.
func listSegments(ctx context.Context, q database.Querier, condition string, args ...any) (list []storedSegment, err error) {
	err = database.Query(ctx, q, func(rows *sql.Rows) error {
		var s storedSegment
		var erased sql.NullInt64
		if err := rows.Scan(&s.project, &s.first, &s.last, &s.generation, &s.events, &s.bytes, &s.lastArrived, &s.checksum, &s.name, &erased); err != nil {
			return err
		}
		if n := len(list); n == 0 || list[n-1].name != s.name {
			list = append(list, s)
		}
		if last := &list[len(list)-1]; erased.Valid {
			if last.erased == nil {
				last.erased = map[int64]bool{}
			}
			last.erased[erased.Int64] = true
		}
		return nil
	}, `SELECT s.project_id, s.first_id, s.last_id, s.generation, s.events, s.bytes, s.last_arrived, s.checksum, s.name, e.id FROM event_segments s
		LEFT JOIN event_erased e ON e.project_id = s.project_id AND e.id >= s.first_id AND e.id <= s.last_id
		WHERE `+condition+` ORDER BY s.project_id, s.first_id`, args...)
	return list, err
}

// isListed reports whether the segment is listed.
func (s *storedSegment) isListed(ctx context.Context, q database.Querier) (bool, error) {
	var n int
	err := q.QueryRowContext(ctx, `SELECT COUNT(*) FROM event_segments WHERE project_id = $1 AND first_id = $2 AND name = $3`, s.project, s.first, s.name).Scan(&n)
	return n > 0, err
}

// segments returns the segments of a project that overlap a range of ids, in order.
func (q Source) segments(ctx context.Context, project int64, u unit) ([]storedSegment, error) {
	if q.Files == nil {
		return nil, nil
	}
	return listSegments(ctx, q, `s.project_id = $1 AND `+fromSegment+` AND s.last_id >= $2 AND s.first_id <= $3`, project, u.first, u.last)
}

// errNoRows is the error for events of a segment all of which were erased since it was listed.
var errNoRows = errors.New("all events of the chunk were erased")

// withFile calls read with the file of a segment, or with the one that has replaced it. It repeats
// this if the file was removed from a bucket after it was opened.
func withFile(files *segment.Folder, name string, read func(file *segment.File) error) error {
	try := func() error {
		file, err := files.Open(name)
		if err != nil {
			return err
		}
		defer file.Release()
		return read(file)
	}
	err := try()
	if errors.Is(err, fs.ErrNotExist) {
		files.Forget(name)
		err = try()
	}
	return err
}

// groupWith returns the index of the first group of a file that has ids of a range. The events of a
// block are in one group, also after segments were merged.
func groupWith(file *segment.File, u unit) (group int, ok bool) {
	group = slices.IndexFunc(file.Groups(), func(g segment.Group) bool { return g.LastID >= u.first && g.FirstID <= u.last })
	return group, group >= 0
}

// sealedBlock is where the columns of a block in a segment are.
type sealedBlock struct {
	unit
	files  *segment.Folder
	name   string // of the file
	parts  blockParts
	erased map[int64]bool
	// isReplaced is true if the file is not the one that was listed, but the one that has replaced it. Then
	// the numbers of rows differ: it lacks events that were erased meanwhile, and its group may have events
	// of other blocks.
	isReplaced bool
}

// decode decodes the columns of a block from its file, and reuses the memory of c. The id of an
// event that was erased, or that belongs to another block, is 0.
func (s *sealedBlock) decode(c *block.Columns) error {
	err := withFile(s.files, s.name, func(file *segment.File) error {
		group, err := s.groupIn(file)
		if err == nil {
			err = file.Names(group, c)
		}
		if err == nil && s.parts&withPeople != 0 {
			err = file.People(group, c)
		}
		if err == nil && s.parts&withOrigins != 0 {
			err = file.Origins(group, c)
		}
		return err
	})
	if errors.Is(err, errNoRows) {
		*c = block.Columns{}
		return nil
	}
	if err != nil || len(s.erased) == 0 && !s.isReplaced {
		return err
	}
	for i, id := range c.IDs {
		if s.erased[id] || id < s.first || id > s.last {
			c.IDs[i] = 0
		}
	}
	return nil
}

// groupIn returns the index of the group that has the events of the block, in the file that was listed
// or in the one that has replaced it.
func (s *sealedBlock) groupIn(file *segment.File) (group int, err error) {
	if file.Name() != s.name {
		s.name, s.isReplaced = file.Name(), true
	}
	group, ok := groupWith(file, s.unit)
	switch all := file.Groups(); {
	case ok && (s.isReplaced || all[group].FirstID >= s.first && all[group].LastID <= s.last):
		return group, nil
	case !ok && s.isReplaced:
		return 0, errNoRows
	}
	return 0, fmt.Errorf("the segment %s has no group with the events %d to %d: %w", s.name, s.first, s.last, block.ErrDamaged)
}

// errOtherRows is the error if the file that was listed was replaced, so that the new file has other
// numbers of rows. Events are then found by their ids.
var errOtherRows = errors.New("the file of the segment was replaced")

// rows calls read with the file and the group that has the events of the block, if it is the file that was
// listed. Otherwise, also after read has returned fs.ErrNotExist, the error is errOtherRows.
func (s *sealedBlock) rows(read func(file *segment.File, group int) error) error {
	if s.isReplaced {
		return errOtherRows
	}
	file, err := s.files.Open(s.name)
	if err == nil {
		defer file.Release()
		var group int
		if group, err = s.groupIn(file); !s.isReplaced && err == nil {
			err = read(file, group)
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		s.files.Forget(s.name)
	} else if !s.isReplaced {
		return err
	}
	return errOtherRows
}

package events

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
)

// Small segments of a project that follow one another are merged as long as the result has at most
// maxSealed events, which arrived within maxSpan: otherwise events would be retained for too long. The
// last segments of a project are merged when they are mergedSegments, others as soon as it is certain
// that no more can be merged with them. So of any two neighbors, except among the last ones, at least
// one is not small, or both together have more events or a longer time: in D days and with E events a
// project has at most 7 + 2D/30 + 4E/maxSealed segments.
const (
	// smallSegment is the number of events below which a segment is small.
	smallSegment = maxSealed / 2
	// maxSpan is the maximum time between the beginning of the first day of arrival and the last arrival.
	maxSpan = 31 * 24 * time.Hour
	// mergedSegments is the default of Sealing.MergeFrom, maxMerged the maximum number of segments that are
	// merged at a time.
	mergedSegments = 8
	maxMerged      = 64
)

// rewriteErased rewrites a segment that has erased events, and reports whether it has found any.
func (l *Log) rewriteErased(ctx context.Context) (bool, error) {
	list, err := listSegments(ctx, l.db.Read, `s.project_id = (SELECT MIN(project_id) FROM event_erased)
		AND s.first_id = (SELECT MAX(o.first_id) FROM event_segments o WHERE o.project_id = s.project_id AND o.first_id <= (SELECT MIN(d.id) FROM event_erased d WHERE d.project_id = s.project_id))`)
	if err != nil || len(list) == 0 {
		return false, err
	}
	return true, l.rewriteSegments(ctx, list)
}

// mergeSegments merges small segments of a project, and reports whether it has found any.
func (l *Log) mergeSegments(ctx context.Context) (bool, error) {
	if l.isMerged {
		return false, nil
	}
	list, err := l.findSmall(ctx)
	if err != nil {
		return false, err
	}
	if l.isMerged = len(list) == 0; l.isMerged {
		return false, nil
	}
	return true, l.rewriteSegments(ctx, list)
}

// findSmall returns the first segments to merge, if there are any.
func (l *Log) findSmall(ctx context.Context) ([]storedSegment, error) {
	var found smallSegments
	err := database.Query(ctx, l.db.Read, func(rows *sql.Rows) error {
		var s storedSegment
		if err := rows.Scan(&s.project, &s.first, &s.last, &s.generation, &s.events, &s.lastArrived, &s.name); err != nil {
			return err
		}
		if found.add(&s) {
			return nil
		}
		least := 2 // the list is complete
		if s.project != found.list[0].project {
			least = cmp.Or(l.seal.MergeFrom, mergedSegments)
		}
		if len(found.list) >= least {
			return database.ErrPageFull
		}
		found = smallSegments{}
		found.add(&s)
		return nil
	}, `SELECT project_id, first_id, last_id, generation, events, last_arrived, name FROM event_segments ORDER BY project_id, first_id`)
	switch {
	case errors.Is(err, database.ErrPageFull):
		return found.list, nil
	case err != nil || len(found.list) < cmp.Or(l.seal.MergeFrom, mergedSegments):
		return nil, err
	}
	return found.list, nil
}

// smallSegments are segments of a project that follow one another and can be merged.
type smallSegments struct {
	list   []storedSegment
	events int64
	// lastArrived is the latest time of arrival of an event.
	lastArrived int64
}

// add adds the next segment. It returns false if it cannot be merged with those of the list.
func (m *smallSegments) add(s *storedSegment) bool {
	isSmall := s.events < smallSegment
	if len(m.list) == 0 {
		if isSmall {
			*m = smallSegments{[]storedSegment{*s}, s.events, s.lastArrived}
		}
		return true
	}
	first := &m.list[0]
	lastArrived := max(m.lastArrived, s.lastArrived)
	if !isSmall || s.project != first.project || m.events+s.events > maxSealed || len(m.list) == maxMerged || lastArrived-first.firstDay() > maxSpan.Microseconds() {
		return false
	}
	m.list, m.events, m.lastArrived = append(m.list, *s), m.events+s.events, lastArrived
	return true
}

// firstDay returns the beginning of the day on which the first event arrived, which the name of the file
// has.
func (s *storedSegment) firstDay() int64 {
	_, day, _ := strings.Cut(s.name, "/received=")
	day, _, _ = strings.Cut(day, "/")
	t, err := time.Parse(time.DateOnly, day)
	if err != nil { // such a year has five digits
		return s.lastArrived
	}
	return t.UnixMicro()
}

// rewriteSegments replaces segments of a project that follow one another by one with the same events,
// except for erased ones.
func (l *Log) rewriteSegments(ctx context.Context, old []storedSegment) (err error) {
	w := segmentWriter{log: l, old: old, segment: storedSegment{project: old[0].project, unit: unit{old[0].first, old[len(old)-1].last}}}
	for i := range old {
		w.segment.generation = max(w.segment.generation, old[i].generation+1)
	}
	if w.blocks, err = w.currentBlocks(ctx, l.db.Read); err != nil {
		return err
	}
	if err := w.write(ctx); err != nil {
		return err
	}
	if err := w.commit(ctx, w.replace); err != nil {
		return err
	}
	for i := range old {
		l.remove(old[i].name, !w.hadErased)
	}
	return nil
}

// replace lists the segment instead of the old ones. All their erased events were left out, because
// the blocks have not changed.
func (w *segmentWriter) replace(t *database.Tx) error {
	s := &w.segment
	for i := range w.old {
		result, err := t.Exec(`DELETE FROM event_segments WHERE project_id = $1 AND first_id = $2 AND generation = $3`, s.project, w.old[i].first, w.old[i].generation)
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil || n != 1 {
			return errors.Join(err, errChanged)
		}
	}
	result, err := t.Exec(`DELETE FROM event_erased WHERE project_id = $1 AND id >= $2 AND id <= $3`, s.project, s.first, s.last)
	if err != nil {
		return err
	}
	erased, err := result.RowsAffected()
	if err != nil {
		return err
	}
	w.hadErased = erased > 0
	if err := w.deleteEmptyBlocks(t); err != nil || len(w.blocks) == 0 {
		return err
	}
	if err := w.putBlocks(t); err != nil {
		return err
	}
	return w.insert(t)
}

// deleteEmptyBlocks deletes the blocks of the segment of which all events were erased.
func (w *segmentWriter) deleteEmptyBlocks(t *database.Tx) error {
	s := &w.segment
	empty, err := listBlocks(t.Ctx, t.SQL, `SELECT `+blockFields+` FROM event_blocks WHERE project_id = $1 AND first_id >= $2 AND last_id <= $3 AND events = 0`, s.project, s.first, s.last)
	for i := range empty {
		if err == nil {
			err = deleteBlock(t, &empty[i])
		}
	}
	return err
}

package copies

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/events"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/segment"
)

// maxFaults is the maximum number of faults that an examination describes.
const maxFaults = 10

// examineSegments compares the segment files in the folder dir, which may be empty, with
// the catalogue: their sizes, and unless quick is true also their contents. It returns the
// folder, which is nil if it cannot be opened. The caller must close it.
func (e *Examination) examineSegments(ctx context.Context, q database.Querier, singleWriter bool, dir string, quick bool) (folder *segment.Folder, err error) {
	folder, fault := openSegments(dir, "")
	var names []string
	if folder != nil { // before the catalogue is read: a file that a server adds in between is listed
		if names, err = folder.Names(); err != nil {
			return folder, err
		}
	}
	list, err := listSegments(ctx, q, singleWriter)
	e.Segments, e.SegmentBytes = len(list), totalBytes(list)
	if err != nil || folder == nil {
		if len(list) > 0 {
			e.SegmentFaults = []string{cmp.Or(fault, events.ErrNoFolder).Error()}
		}
		return folder, err
	}
	isListed := map[string]bool{}
	for i := range list {
		s := &list[i]
		isListed[s.name] = true
		fault := s.examine(folder, quick)
		if fault == nil || len(e.SegmentFaults) == maxFaults {
			continue
		}
		// A server may have replaced the file in the meantime.
		var still bool
		err := q.QueryRowContext(ctx, `SELECT COUNT(*) > 0 FROM event_segments WHERE project_id = $1 AND first_id = $2 AND name = $3`, s.project, s.first, s.name).Scan(&still)
		if err != nil {
			return folder, err
		}
		if still {
			e.SegmentFaults = append(e.SegmentFaults, fault.Error())
		}
	}
	e.Unlisted = slices.DeleteFunc(names, func(name string) bool { return isListed[name] })
	return folder, nil
}

// examine compares one file with the catalogue. If quick is true, it compares the size
// only; otherwise also the checksum and the number of events. events.CheckBlocks decodes them.
func (s *listedSegment) examine(folder *segment.Folder, quick bool) error {
	if quick {
		return folder.CheckSize(s.name, s.bytes)
	}
	if err := folder.Check(s.name, s.bytes, s.checksum); err != nil {
		return err
	}
	file, err := folder.Open(s.name)
	if err != nil {
		return err
	}
	defer file.Release()
	n := int64(0)
	for _, g := range file.Groups() {
		if g.FirstID < s.first || g.LastID > s.last {
			return fmt.Errorf("the segment %s has events %d to %d, and the database lists %d to %d", s.name, g.FirstID, g.LastID, s.first, s.last)
		}
		n += int64(g.Events)
	}
	if n != s.events {
		return fmt.Errorf("the segment %s has %d events, and the database lists %d", s.name, n, s.events)
	}
	return nil
}

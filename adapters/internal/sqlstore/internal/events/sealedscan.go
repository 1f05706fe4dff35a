package events

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/segment"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// sealedUnit is a sealed block in the segment that had it at the beginning of a scan.
type sealedUnit struct {
	sealedBlock
	firstTime, lastTime int64
}

// locate finds the segments of the blocks of a scan if it reads a part of their short columns only, or columns of
// properties: then the statement of readBlocks for each block would be a good part of its time.
func (p *insightScan) locate(ctx context.Context, blocks []storedBlock) error {
	if p.sealed = nil; p.want&originColumns != 0 || p.want&anyLong != 0 && !p.wantsValues() {
		return nil
	}
	first := slices.IndexFunc(blocks, isSealed)
	if first < 0 {
		return nil
	}
	q := p.store.log.Source()
	segments, err := q.segments(ctx, p.project, unit{blocks[first].first, blocks[len(blocks)-1].last})
	if err != nil {
		return err
	}
	for _, b := range blocks[first:] {
		for len(segments) > 0 && segments[0].last < b.first {
			segments = segments[1:]
		}
		if isSealed(b) && len(segments) > 0 && segments[0].first <= b.first && segments[0].last >= b.last {
			p.sealed = append(p.sealed, sealedUnit{
				sealedBlock: sealedBlock{unit: b.unit, files: q.Files, name: segments[0].name, erased: segments[0].erased},
				firstTime:   b.firstTime, lastTime: b.lastTime,
			})
		}
	}
	return nil
}

func isSealed(b storedBlock) bool { return b.level == sealedLevel }

// runSealed implements run for a block that locate has found. done is false for another block, if the scan has only
// a part of its ids, or if its file cannot be read: it may have been replaced.
func (u *unitScan) runSealed(ctx context.Context) (done bool, err error) {
	at, ok := slices.BinarySearchFunc(u.sealed, u.unit, func(s sealedUnit, u unit) int { return cmp.Compare(s.first, u.first) })
	if !ok {
		return false, nil
	}
	s := &u.sealed[at]
	u.e.reset()
	err = s.rows(func(file *segment.File, group int) error { return u.decodeSealed(ctx, s, file, group) })
	switch {
	case err == nil:
		return true, u.flush()
	case errors.Is(err, errNoColumns), errors.Is(err, errOtherRows), errors.Is(err, block.ErrDamaged), errors.Is(err, fs.ErrNotExist):
		return false, nil // readBlocks finds the file, or the error
	}
	return false, err
}

// errNoColumns is the error if the properties of a scan have no columns in a group.
var errNoColumns = errors.New("the properties have no columns")

// decodeSealed decodes only the columns that the scan needs, and fills the buffer.
func (u *unitScan) decodeSealed(ctx context.Context, s *sealedUnit, file *segment.File, group int) error {
	e := u.e
	if u.want&anyLong != 0 && !u.readsColumns(file, group) {
		return errNoColumns
	}
	c, n := &e.decoder.block, file.Group(group).Events
	e.block = c
	rows := file.Rows(group)
	defer func() { _ = rows.Close() }()
	parts := segment.Parts(0)
	if u.want&port.Names != 0 || u.scan.Names != nil {
		parts |= segment.EventNames
	}
	if u.scan.DistinctIDs != nil {
		parts |= segment.DistinctIDs
	}
	if u.want&port.IDs != 0 || len(s.erased) > 0 {
		parts |= segment.IDs
	}
	if err := rows.Read(parts, 0, n, c); err != nil {
		return err
	}
	u.scan.Pause(ctx)
	m := newMatcher(c, u.scan.Names, u.scan.DistinctIDs)
	if !m.any {
		return nil
	}
	if e.keep = m.selectAll(e.keep[:0], n); len(e.keep) == 0 {
		return nil
	}
	if err := rows.Read(segment.Times, 0, n, c); err != nil {
		return err
	}
	if s.firstTime < u.from || s.lastTime > u.to {
		e.keep = within(e.keep, c.Times, u.from, u.to)
	}
	if len(s.erased) > 0 {
		e.keep = slices.DeleteFunc(e.keep, func(i int32) bool { return s.erased[c.IDs[i]] })
	}
	u.fillEvents(e.keep)
	if len(e.keep) == 0 {
		return nil
	}
	if u.want&peopleColumns != 0 {
		u.scan.Pause(ctx)
		if err := u.fillPeople(rows, n, groupKey{s.name, group}); err != nil {
			return err
		}
	}
	if u.want&anyLong != 0 {
		u.scan.Pause(ctx)
		return u.fillValues(ctx, file, group, e.keep)
	}
	return nil
}

// fillPeople fills the columns of people. Events belong to the persons with whom they were stored only if their
// distinct ids have no owner, so these persons are rarely needed.
func (u *unitScan) fillPeople(rows *segment.Rows, n int, key groupKey) error {
	e, onlyPeople := u.e, u.scan.Columns&peopleColumns == port.People && u.scan.DistinctIDs == nil && !u.created
	if onlyPeople && u.groupOwners(e, key) {
		return u.fillOwned(rows, n)
	}
	if u.scan.DistinctIDs == nil {
		if err := rows.Read(segment.DistinctIDs, 0, n, e.block); err != nil {
			return err
		}
	}
	if onlyPeople && minShare*len(e.keep) >= n {
		e.ids, e.group = append(e.ids, e.block.DistinctIDs...), key
		e.idOf = gather(e.idOf, e.block.DistinctIDOf, e.keep)
		u.lookUp(e)
	} else {
		u.fillDistinctIDs(e.keep)
	}
	if u.scan.Columns&port.PeopleAtEvent == 0 && (u.scan.Columns&port.People == 0 || !slices.ContainsFunc(e.owners, isUnowned)) {
		return nil
	}
	if err := rows.Read(segment.Persons, 0, n, e.block); err != nil {
		return err
	}
	u.fillPersons(e.keep)
	return nil
}

// minShare is the least share of the events of a group, as a divisor, from which a scan finds and caches the owners of all
// its distinct ids.
const minShare = 8

// fillOwned fills the indexes of the owners of a group, which the buffer has.
func (u *unitScan) fillOwned(rows *segment.Rows, n int) error {
	e := u.e
	if err := rows.Read(segment.DistinctIDIndexes, 0, n, e.block); err != nil {
		return err
	}
	if int(slices.Max(e.block.DistinctIDOf)) >= len(e.owners) {
		return block.ErrDamaged
	}
	e.idOf = gather(e.idOf, e.block.DistinctIDOf, e.keep)
	return nil
}

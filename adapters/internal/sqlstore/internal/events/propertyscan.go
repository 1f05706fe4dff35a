package events

import (
	"context"
	"errors"
	"slices"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/segment"
)

// readSealed delivers events of the decoded block, which is in a segment, with their long columns. If the
// file is replaced meanwhile, the events that are left are found by their ids.
func (u *unitScan) readSealed(ctx context.Context, keep []int32) error {
	left := keep
	err := u.current.sealed.rows(func(file *segment.File, group int) error { return u.readFile(ctx, file, group, &left) })
	if errors.Is(err, errOtherRows) {
		u.e.reset()
		return u.readLong(ctx, left)
	}
	return err
}

// readFile implements readSealed for a group of the file. left are the events that are not delivered yet.
func (u *unitScan) readFile(ctx context.Context, file *segment.File, group int, left *[]int32) error {
	if u.readsColumns(file, group) {
		return u.readValues(ctx, file, group, *left)
	}
	return u.readTexts(ctx, file, group, left)
}

// readValues implements readSealed for a scan that reads only properties that have a column. That
// needs a fraction of the time of decoding and searching all properties.
func (u *unitScan) readValues(ctx context.Context, file *segment.File, group int, keep []int32) error {
	e := u.e
	for range len(u.scan.EventProperties) - len(e.values) {
		e.values = append(e.values, nil)
	}
	for at, name := range u.scan.EventProperties {
		p := &e.property
		if err := file.Property(group, name, p); err != nil {
			return u.current.wrap(err)
		}
		e.values[at] = slices.Grow(e.values[at], len(keep))
		for _, i := range keep {
			e.values[at] = append(e.values[at], p.Values[p.Of[i]])
		}
		e.bytes += p.Bytes
		u.scan.Pause(ctx)
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	u.fill(keep)
	return u.flush()
}

// sealedTexts are the long columns of segments, in the order of longColumns.
var sealedTexts = [len(longColumns)]segment.Text{segment.Elements, segment.Properties, segment.PersonProperties}

// readTexts implements readSealed for other scans, in parts of about database.PieceBytes.
func (u *unitScan) readTexts(ctx context.Context, file *segment.File, group int, left *[]int32) error {
	keep := *left
	pages, err := file.Pages(group)
	if err != nil {
		return u.current.wrap(err)
	}
	rows := file.Rows(group)
	defer func() { _ = rows.Close() }()
	e, done := u.e, 0 // the rows before done are delivered
	detailed, _ := u.detailed(keep)
	for at, next := 0, 0; at < len(keep); at = next {
		page, _ := slices.BinarySearchFunc(pages, int(keep[at]), func(p segment.Page, row int) int { return p.End - 1 - row })
		next, _ = slices.BinarySearch(keep, int32(pages[page].End))
		for i, column := range longColumns {
			if u.want&column == 0 {
				continue
			}
			if err := u.pickTexts(rows, i, keep[at:next], detailed); err != nil {
				return u.current.wrap(err)
			}
		}
		u.scan.Pause(ctx)
		if err := ctx.Err(); err != nil {
			return err
		}
		if e.bytes > database.PieceBytes || next == len(keep) {
			u.fill(keep[done:next])
			if err := u.flush(); err != nil {
				return err
			}
			e.reset()
			done, *left = next, keep[next:]
		}
	}
	return nil
}

// pickTexts appends a long column of some rows of the segment to the buffer, and empty strings for events
// with names that are not detailed.
func (u *unitScan) pickTexts(rows *segment.Rows, column int, keep []int32, detailed []bool) error {
	e := u.e
	needed := keep
	if detailed != nil {
		needed = e.needed[:0]
		for _, row := range keep {
			if detailed[e.block.NameOf[row]] {
				needed = append(needed, row)
			}
		}
		e.needed = needed
	}
	var err error
	if e.picked, _, err = rows.Pick(sealedTexts[column], needed, e.picked[:0]); err != nil {
		return err
	}
	n, last := 0, span{}
	for _, row := range keep {
		if detailed != nil && !detailed[e.block.NameOf[row]] {
			e.long[column] = append(e.long[column], span{})
			continue
		}
		if n == 0 || e.picked[n] != e.picked[n-1] { // many events that follow one another have the same person properties
			last = e.addText(e.picked[n])
		}
		e.long[column] = append(e.long[column], last)
		n++
	}
	return nil
}

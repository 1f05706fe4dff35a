package events

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/segment"
	"github.com/bunting-flags/bunting/capture/insights/port"
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
	if err := u.fillValues(ctx, file, group, keep); err != nil {
		return u.current.wrap(err)
	}
	u.fill(keep)
	return u.flush()
}

// fillValues decodes the columns of properties of a group, and copies the indexes of the values of some events to the
// buffer.
func (u *unitScan) fillValues(ctx context.Context, file *segment.File, group int, keep []int32) error {
	e, n := u.e, len(u.scan.EventProperties)
	for len(e.properties) < n {
		e.properties, e.valueOf = append(e.properties, segment.Property{}), append(e.valueOf, nil)
	}
	e.properties, e.valueOf = e.properties[:n], e.valueOf[:n]
	for at, name := range u.scan.EventProperties {
		p := &e.properties[at]
		if err := file.Property(group, name, p); err != nil {
			return err
		}
		e.valueOf[at] = gather(e.valueOf[at][:0], p.Of, keep)
		e.bytes += p.Bytes
		u.scan.Pause(ctx)
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	e.dictionary = u.dictionaries.Add(1)
	return nil
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
	var mentions *segment.Mentions
	if u.scan.EventProperties != nil {
		mentions = segment.NewMentions(u.scan.EventProperties)
	}
	for at, next := 0, 0; at < len(keep); at = next {
		page, _ := slices.BinarySearchFunc(pages, int(keep[at]), func(p segment.Page, row int) int { return p.End - 1 - row })
		next, _ = slices.BinarySearch(keep, int32(pages[page].End))
		for i, column := range longColumns {
			if u.want&column == 0 {
				continue
			}
			if err := u.pickTexts(rows, i, keep[at:next], detailed, mentions); err != nil {
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

// noProperties is the text for events without any of the properties of port.Scan.EventProperties.
const noProperties = "{}"

// pickTexts appends a long column of some rows of the segment to the buffer. It is empty for events with names that
// are not detailed, and without members for events that have none of the properties that the scan reads.
func (u *unitScan) pickTexts(rows *segment.Rows, column int, keep []int32, detailed []bool, mentions *segment.Mentions) (err error) {
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
	none := span{}
	if mentions != nil && longColumns[column] == port.Properties {
		if needed, err = rows.Mentioning(sealedTexts[column], mentions, needed, e.mentioning[:0]); err != nil {
			return err
		}
		e.mentioning, none = needed, e.addText(noProperties)
	}
	at, last := 0, span{}
	skip := func(to int32) { // rows before to whose text is not needed
		for ; at < len(keep) && keep[at] < to; at++ {
			e.long[column] = append(e.long[column], none)
		}
	}
	n := 0
	err = rows.EachText(sealedTexts[column], needed, func(text []byte) {
		skip(needed[n])
		if n == 0 || string(e.text[last.from:last.to]) != string(text) { // many events that follow one another have the same person properties
			last = e.addBytes(text)
		}
		e.long[column] = append(e.long[column], last)
		at, n = at+1, n+1
	})
	skip(math.MaxInt32)
	return err
}

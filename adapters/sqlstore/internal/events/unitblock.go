package events

import (
	"bytes"
	"context"
	"database/sql/driver"
	"errors"
	"slices"

	"github.com/bunting-flags/bunting/adapters/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/adapters/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// peopleColumns are the columns in the string people of a block, blockColumns the
// columns of both strings.
const (
	peopleColumns = port.DistinctIDs | port.People | port.PeopleCreated | port.PeopleAtEvent
	blockColumns  = port.Names | port.IDs | peopleColumns
)

// readBlock reads the unit from its block if there is one and it has all requested
// columns, and reports whether it did. For a few distinct ids the index is faster. A
// block covers a whole epoch, so a unit that is only a part of one cannot be read from
// it.
func (u *unitScan) readBlock(ctx context.Context) (done bool, err error) {
	if !u.store.db.Dialect.IndexesLater || u.want&^blockColumns != 0 || u.scan.DistinctIDs != nil || u.last != (u.epoch()+1)<<EpochBits-1 {
		return false, nil
	}
	names, err := u.blockText(ctx, "events")
	if err != nil || len(names) == 0 {
		return false, err
	}
	if u.e.block == nil {
		u.e.block = &block.Columns{}
	}
	b := u.e.block
	if err := b.DecodeNames(names); err != nil {
		// If the block is damaged, the unit is read from rows and indexes, which have
		// the same contents.
		return false, nil //nolint:nilerr // rows and indexes have the same
	}
	u.scan.Pause(ctx)
	keep := u.selectEvents(b)
	if len(keep) == 0 {
		return true, nil
	}
	u.e.reset()
	u.e.bytes = len(names)
	if u.want&peopleColumns != 0 {
		people, err := u.blockText(ctx, "people")
		if err != nil {
			return false, err
		}
		if errors.Is(b.DecodePeople(people), block.ErrDamaged) { // the block was replaced between both reads
			return false, nil
		}
		u.e.bytes += len(people)
		u.scan.Pause(ctx)
	}
	u.fill(b, keep)
	return true, u.flush()
}

// blockText returns one string of the unit's block. It is empty if there is no block.
func (u *unitScan) blockText(ctx context.Context, column string) (text []byte, err error) {
	err = plainRows(ctx, u.store.db.Read, func(row []driver.Value) error {
		found, _ := row[0].([]byte)
		text = bytes.Clone(found)
		return nil
	}, `SELECT `+column+` FROM event_blocks WHERE epoch = $1 AND project_id = $2`, u.epoch(), u.project)
	return text, err
}

// selectEvents returns the indexes of the events that match the names and times of the
// scan. Names are compared once for each distinct name of the block.
func (u *unitScan) selectEvents(b *block.Columns) []int32 {
	names := map[string]bool{} // a map, because clients choose the names and there may be many
	for _, name := range u.scan.Names {
		names[database.CleanText(name)] = true
	}
	matching := make([]bool, len(b.Names))
	for i, name := range b.Names {
		matching[i] = u.scan.Names == nil || names[name]
	}
	keep := u.e.keep[:0]
	if slices.Contains(matching, true) {
		for i, t := range b.Times {
			if matching[b.NameOf[i]] && t >= u.from && t <= u.to {
				keep = append(keep, int32(i))
			}
		}
	}
	u.e.keep = keep
	return keep
}

// fill copies the requested columns of some events from a block to the buffer.
func (u *unitScan) fill(b *block.Columns, keep []int32) {
	e := u.e
	for _, i := range keep {
		e.id, e.time = append(e.id, b.IDs[i]), append(e.time, b.Times[i])
	}
	if u.want&port.Names != 0 {
		for _, i := range keep {
			e.names = append(e.names, b.Names[b.NameOf[i]])
		}
	}
	if u.want&peopleColumns != 0 {
		for _, i := range keep {
			e.ids, e.stored = append(e.ids, b.DistinctIDs[b.DistinctIDOf[i]]), append(e.stored, b.Persons[b.PersonOf[i]])
		}
	}
}

package sqlstore

import (
	"context"
	"database/sql/driver"
	"errors"
	"slices"

	"github.com/bunting-flags/bunting/capture/insights"
)

// ofPeople are the columns in the second text of a block, inBlock those of both.
const (
	ofPeople = insights.DistinctIDs | insights.People | insights.PeopleCreated | insights.PeopleThen
	inBlock  = insights.Names | insights.IDs | ofPeople
)

// block reads the unit out of its block, where it has one that holds all that is asked
// for: done. Few distinct ids are found sooner in the index.
func (u *unitScan) block(ctx context.Context) (done bool, err error) {
	if !u.store.dialect.indexBehind || u.want&^inBlock != 0 || u.scan.DistinctIDs != nil || u.last != (u.epoch()+1)<<epochBits-1 {
		return false, nil
	}
	events, err := u.blockText(ctx, "events")
	if err != nil || events == "" {
		return false, err
	}
	if u.e.block == nil {
		u.e.block = &blockEvents{}
	}
	b := u.e.block
	if err := b.readEvents(u.epoch(), events); err != nil {
		return false, nil //nolint:nilerr // rows and indexes have the same
	}
	u.scan.Rest(ctx)
	keep := u.chosen(b)
	if len(keep) == 0 {
		return true, nil
	}
	u.e.reset()
	u.e.bytes = len(events)
	if u.want&ofPeople != 0 {
		people, err := u.blockText(ctx, "people")
		if err != nil {
			return false, err
		}
		if errors.Is(b.readPeople(events, people), errBlock) { // it was made anew
			return false, nil
		}
		u.e.bytes += len(people)
		u.scan.Rest(ctx)
	}
	u.fill(b, keep)
	return true, u.hand()
}

// blockText is one text of the unit's block, empty where there is none.
func (u *unitScan) blockText(ctx context.Context, column string) (text string, err error) {
	err = plainRows(ctx, u.store.read, func(row []driver.Value) error {
		bytes, _ := row[0].([]byte)
		text = string(bytes)
		return nil
	}, `SELECT `+column+` FROM event_blocks WHERE epoch = $1 AND project_id = $2`, u.epoch(), u.project)
	return text, err
}

// chosen are the places of the events that are asked for.
func (u *unitScan) chosen(b *blockEvents) []int32 {
	wanted := map[string]bool{} // anybody may make up names: there may be many
	for _, name := range u.scan.Names {
		wanted[cleanText(name)] = true
	}
	asked := make([]bool, len(b.names))
	for i, name := range b.names {
		asked[i] = u.scan.Names == nil || wanted[name]
	}
	keep := u.e.keep[:0]
	if slices.Contains(asked, true) {
		for i, at := range b.times {
			if asked[b.nameOf[i]] && at >= u.from && at <= u.to {
				keep = append(keep, int32(i))
			}
		}
	}
	u.e.keep = keep
	return keep
}

// fill takes events out of a block.
func (u *unitScan) fill(b *blockEvents, keep []int32) {
	e := u.e
	for _, i := range keep {
		e.id, e.time = append(e.id, b.ids[i]), append(e.time, b.times[i])
	}
	if u.want&insights.Names != 0 {
		for _, i := range keep {
			e.names = append(e.names, b.names[b.nameOf[i]])
		}
	}
	if u.want&ofPeople != 0 {
		for _, i := range keep {
			e.ids, e.stored = append(e.ids, b.distinctIDs[b.idOf[i]]), append(e.stored, b.persons[b.personOf[i]])
		}
	}
}

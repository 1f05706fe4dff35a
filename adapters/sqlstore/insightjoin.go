package sqlstore

import (
	"context"
	"database/sql/driver"

	"github.com/bunting-flags/bunting/capture/insights"
)

// joining is memory for putting the columns of two indexes together.
type joining struct {
	named eventColumnsRead
	// at is the place in named of an event of the epoch, and one; 0: it is not there.
	at [1 << epochBits]uint16
}

// joined reads names out of one index and distinct ids out of the other, and puts them
// together by the ids of events: together that is half of reading the rows, six of which
// lie on a page. where and c are the conditions on the names.
func (u *unitScan) joined(ctx context.Context, where string, c *conditions) error {
	if u.e.joining == nil {
		u.e.joining = &joining{}
	}
	j := u.e.joining
	if err := u.readInto(ctx, &j.named, "i", insights.IDs|u.read&insights.Names, where, c.args); err != nil || len(j.named.id) == 0 {
		return err
	}
	if len(j.named.id) < fewRows {
		return u.few(ctx, where, c)
	}
	clear(j.at[:])
	for i, id := range j.named.id {
		j.at[id&(1<<epochBits-1)] = uint16(i) + 1
	}
	e := u.e
	e.reset()
	all := &conditions{args: []any{u.epoch(), u.project}}
	u.inTime(all, "i")
	where = u.within(all, inIDOrder)
	err := plainRows(ctx, u.store.read, func(row []driver.Value) error {
		id := row[0].(int64)
		at := int(j.at[id&(1<<epochBits-1)]) - 1
		if at < 0 {
			return nil
		}
		e.id, e.time, e.ids = append(e.id, id), append(e.time, j.named.time[at]), append(e.ids, row[1].(string))
		if len(j.named.names) > 0 {
			e.names = append(e.names, j.named.names[at])
		}
		return nil
	}, `SELECT i.id, i.distinct_id`+where, all.args...)
	if err != nil {
		return err
	}
	return u.hand()
}

package events

import (
	"context"
	"database/sql/driver"
	"errors"
	"strings"

	"github.com/bunting-flags/bunting/adapters/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// unitScan is the scan of one unit.
type unitScan struct {
	*insightScan
	unit
	// e is the buffer for the events, and give is called with it when it is filled.
	e    *columnBuffer
	give func(*columnBuffer) error
}

// run reads the unit from the source that is cheapest for the requested columns: a
// block, an index that contains all of them, or two indexes that contain them together,
// which are small. Otherwise it reads rows of events in the order of their ids: the
// whole range, which is the cheapest way to read many rows, unless the index shows that
// few of them match.
func (u *unitScan) run(ctx context.Context) error {
	if u.first > u.mark {
		return u.readRange(ctx, u.first, u.last)
	}
	if done, err := u.readBlock(ctx); done || err != nil {
		return err
	}
	c := &conditions{args: []any{u.epoch(), u.project}}
	table := u.index(c)
	where := u.indexClause(c, table)
	switch {
	case u.covers(table):
		if err := u.readInto(ctx, u.e, "i", u.want, where, c.args); err != nil {
			return err
		}
		return u.flush()
	case table == nameIndex && u.scan.DistinctIDs == nil && u.want&^(nameIndexColumns|distinctIDIndexColumns) == 0:
		return u.joinIndexes(ctx, where, c)
	case u.scan.Names != nil || u.scan.DistinctIDs != nil:
		var n int64
		if err := u.store.db.Read.QueryRowContext(ctx, `SELECT COUNT(*)`+where, c.args...).Scan(&n); err != nil || n == 0 {
			return err
		}
		if n < fewRows {
			return u.readFew(ctx, where, c)
		}
	}
	return u.readRanges(ctx)
}

// indexClause returns the part of a statement after its columns, for reading an index.
func (u *unitScan) indexClause(c *conditions, table string) string {
	// The last epoch may contain events that were indexed after the snapshot.
	if u.epoch() == u.mark>>EpochBits {
		c.text.WriteString(" AND i.id <= " + c.arg(u.mark))
	}
	return ` FROM ` + table + ` i WHERE i.epoch = $1 AND i.project_id = $2` + c.text.String()
}

// longColumns are the columns whose values may be long.
const longColumns = port.Properties | port.PersonProperties | port.Elements

// fewRows is the number of matching events of an epoch, of 16,384, below which rows are
// read one by one instead of all rows in a range.
const fewRows = 1 << EpochBits / 8

// readFew reads the rows that an index selects.
func (u *unitScan) readFew(ctx context.Context, where string, c *conditions) error {
	extra := &conditions{args: c.args}
	after := extra.arg(u.first)
	if u.scan.DistinctIDs != nil && u.scan.Names != nil {
		extra.addNames("e.event", u.scan.Names)
	}
	return u.rows(ctx, ` FROM (SELECT i.id`+where+` AND i.id >= `+after+`) i CROSS JOIN events e WHERE e.id = i.id`+extra.text.String()+` ORDER BY i.id`, extra.args, len(c.args))
}

// readRanges reads all rows of the unit that match. If all columns are short, it uses a
// single range, because larger sets of distinct ids are looked up more efficiently.
func (u *unitScan) readRanges(ctx context.Context) error {
	step := int64(scanBatch)
	if u.want&longColumns == 0 {
		step = 1 << EpochBits
	}
	for id := u.first; id <= u.last; id += step {
		if err := u.readRange(ctx, id, min(id+step-1, u.last)); err != nil {
			return err
		}
	}
	return nil
}

// readRange reads the matching rows of events with first <= id <= last.
func (u *unitScan) readRange(ctx context.Context, first, last int64) error {
	c := &conditions{args: []any{first, last, u.project}}
	u.addTimeRange(c, "e")
	if u.scan.Names != nil {
		c.addNames("e.event", u.scan.Names)
	}
	if u.scan.DistinctIDs != nil {
		c.addOneOf("e.distinct_id", u.scan.DistinctIDs)
	}
	return u.rows(ctx, ` FROM events e WHERE e.id >= $1 AND e.id <= $2 AND e.project_id = $3`+c.text.String()+` ORDER BY e.id`, c.args, 0)
}

// errFull stops reading rows until the buffer is flushed.
var errFull = errors.New("enough is read for now")

// rows reads the rows of a statement in the order of their ids and flushes the buffer
// when it contains database.PieceBytes. Then it repeats the statement from the next id: from is
// the index in args of the minimal id.
func (u *unitScan) rows(ctx context.Context, rest string, args []any, from int) error {
	for {
		err := u.readInto(ctx, u.e, "e", u.want|port.IDs, rest, args)
		full := errors.Is(err, errFull)
		if err != nil && !full {
			return err
		}
		// Continue after the last row that was read.
		if full {
			args[from] = u.e.id[len(u.e.id)-1] + 1
		}
		if err := u.flush(); err != nil || !full {
			return err
		}
	}
}

// restRows is the number of rows after which Pause is called.
const restRows = 256

// read runs a query and calls Pause regularly, which may sleep in favor of other work.
func (u *unitScan) read(ctx context.Context, visit func(row []driver.Value) error, text string, args ...any) error {
	n := 0
	return plainRows(ctx, u.store.db.Read, func(row []driver.Value) error {
		if n++; n%restRows == 0 {
			u.scan.Pause(ctx)
		}
		return visit(row)
	}, text, args...)
}

// readInto reads the given columns of the rows of one statement into a buffer. Only
// reading rows of events stops with errFull; rows of indexes are short.
func (u *unitScan) readInto(ctx context.Context, e *columnBuffer, table string, columns port.Columns, rest string, args []any) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	texts, fill := columnTexts(columns, table)
	e.reset()
	return u.read(ctx, func(row []driver.Value) error {
		for i, fill := range fill {
			if err := fill(e, row[i]); err != nil {
				return err
			}
		}
		if e.bytes > database.PieceBytes && table == "e" {
			return errFull
		}
		return nil
	}, `SELECT `+strings.Join(texts, ", ")+rest, args...)
}

// flush delivers the events in the buffer.
func (u *unitScan) flush() error {
	if len(u.e.time) == 0 {
		return nil
	}
	return u.give(u.e)
}

// joinIndexes reads names from one index and distinct ids from another and joins them
// by the ids of events. Both together take half the time of reading the rows, of which
// six fit on a page. where and c are the conditions on the index of names.
func (u *unitScan) joinIndexes(ctx context.Context, where string, c *conditions) error {
	if u.e.join == nil {
		u.e.join = &indexJoin{}
	}
	j := u.e.join
	if err := u.readInto(ctx, &j.byName, "i", port.IDs|u.want&port.Names, where, c.args); err != nil || len(j.byName.id) == 0 {
		return err
	}
	if len(j.byName.id) < fewRows {
		return u.readFew(ctx, where, c)
	}
	// The ids of an epoch are consecutive, so an array replaces a hash table.
	clear(j.positions[:])
	for i, id := range j.byName.id {
		j.positions[id&(1<<EpochBits-1)] = uint16(i) + 1
	}
	e := u.e
	e.reset()
	all := &conditions{args: []any{u.epoch(), u.project}}
	u.addTimeRange(all, "i")
	where = u.indexClause(all, distinctIDIndex)
	err := u.read(ctx, func(row []driver.Value) error {
		id := row[0].(int64)
		position := int(j.positions[id&(1<<EpochBits-1)]) - 1
		if position < 0 {
			return nil
		}
		e.id, e.time, e.ids = append(e.id, id), append(e.time, j.byName.time[position]), append(e.ids, row[1].(string))
		if len(j.byName.names) > 0 {
			e.names = append(e.names, j.byName.names[position])
		}
		return nil
	}, `SELECT i.id, i.distinct_id`+where, all.args...)
	if err != nil {
		return err
	}
	return u.flush()
}

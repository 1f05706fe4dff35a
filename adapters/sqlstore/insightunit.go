package sqlstore

import (
	"context"
	"database/sql/driver"
	"errors"
	"strings"

	"github.com/bunting-flags/bunting/capture/insights"
)

// unitScan reads a unit.
type unitScan struct {
	*insightScan
	unit
	e    *columnBuffer
	give func(*columnBuffer) error
}

// run reads out of a block, or out of an index where that has all columns, or out of two that have them
// together: they are small. Otherwise rows of events are read in the order of their
// ids: all of a stretch, which is the cheapest way to read many, unless the index shows
// that few are asked for.
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
		if err := u.store.read.QueryRowContext(ctx, `SELECT COUNT(*)`+where, c.args...).Scan(&n); err != nil || n == 0 {
			return err
		}
		if n < fewRows {
			return u.readFew(ctx, where, c)
		}
	}
	return u.readRanges(ctx)
}

// indexClause is what follows the columns of a statement over an index.
func (u *unitScan) indexClause(c *conditions, table string) string {
	if u.epoch() == u.mark>>epochBits {
		c.text.WriteString(" AND i.id <= " + c.arg(u.mark))
	}
	return ` FROM ` + table + ` i WHERE i.epoch = $1 AND i.project_id = $2` + c.text.String()
}

const longColumns = insights.Properties | insights.PersonProperties | insights.Elements

// fewRows is how many of the 16,384 events of an epoch are read one by one rather
// than by reading all of them.
const fewRows = 1 << epochBits / 8

// readFew reads the rows that an index shows.
func (u *unitScan) readFew(ctx context.Context, where string, c *conditions) error {
	extra := &conditions{args: c.args}
	after := extra.arg(u.first)
	if u.scan.DistinctIDs != nil && u.scan.Names != nil {
		extra.addNames("e.event", u.scan.Names)
	}
	return u.rows(ctx, ` FROM (SELECT i.id`+where+` AND i.id >= `+after+`) i CROSS JOIN events e WHERE e.id = i.id`+extra.text.String()+` ORDER BY i.id`, extra.args, len(c.args))
}

// readRanges reads all rows of the unit. Of short rows that is done at once: the more
// people are asked for together, the nearer they lie to each other.
func (u *unitScan) readRanges(ctx context.Context) error {
	step := int64(scanBatch)
	if u.want&longColumns == 0 {
		step = 1 << epochBits
	}
	for id := u.first; id <= u.last; id += step {
		if err := u.readRange(ctx, id, min(id+step-1, u.last)); err != nil {
			return err
		}
	}
	return nil
}

// readRange reads the rows of events with first <= id <= last.
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

// errFull ends the reading of rows for now.
var errFull = errors.New("enough is read for now")

// rows reads the rows of a statement in the order of their ids, the least of which is
// the argument from, and hands them over whenever there are many bytes of them.
func (u *unitScan) rows(ctx context.Context, rest string, args []any, from int) error {
	for {
		err := u.readInto(ctx, u.e, "e", u.want|insights.IDs, rest, args)
		full := errors.Is(err, errFull)
		if err != nil && !full {
			return err
		}
		if full {
			args[from] = u.e.id[len(u.e.id)-1] + 1
		}
		if err := u.flush(); err != nil || !full {
			return err
		}
	}
}

// restRows is after how many rows a reader may rest.
const restRows = 256

// read runs a statement, and rests between its rows.
func (u *unitScan) read(ctx context.Context, visit func(row []driver.Value) error, text string, args ...any) error {
	n := 0
	return plainRows(ctx, u.store.read, func(row []driver.Value) error {
		if n++; n%restRows == 0 {
			u.scan.Pause(ctx)
		}
		return visit(row)
	}, text, args...)
}

// readInto reads columns of the rows of one statement.
func (u *unitScan) readInto(ctx context.Context, e *columnBuffer, table string, columns insights.Columns, rest string, args []any) error {
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
		if e.bytes > pieceBytes && table == "e" {
			return errFull
		}
		return nil
	}, `SELECT `+strings.Join(texts, ", ")+rest, args...)
}

// flush gives what was read away.
func (u *unitScan) flush() error {
	if len(u.e.time) == 0 {
		return nil
	}
	return u.give(u.e)
}

// joinIndexes reads names out of one index and distinct ids out of the other, and puts them
// together by the ids of events: together that is half of reading the rows, six of which
// lie on a page. where and c are the conditions on the names.
func (u *unitScan) joinIndexes(ctx context.Context, where string, c *conditions) error {
	if u.e.join == nil {
		u.e.join = &indexJoin{}
	}
	j := u.e.join
	if err := u.readInto(ctx, &j.byName, "i", insights.IDs|u.want&insights.Names, where, c.args); err != nil || len(j.byName.id) == 0 {
		return err
	}
	if len(j.byName.id) < fewRows {
		return u.readFew(ctx, where, c)
	}
	clear(j.positions[:])
	for i, id := range j.byName.id {
		j.positions[id&(1<<epochBits-1)] = uint16(i) + 1
	}
	e := u.e
	e.reset()
	all := &conditions{args: []any{u.epoch(), u.project}}
	u.addTimeRange(all, "i")
	where = u.indexClause(all, distinctIDIndex)
	err := u.read(ctx, func(row []driver.Value) error {
		id := row[0].(int64)
		position := int(j.positions[id&(1<<epochBits-1)]) - 1
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

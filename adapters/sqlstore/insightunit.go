package sqlstore

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/bunting-flags/bunting/capture/insights"
)

// unitScan reads a unit.
type unitScan struct {
	*insightScan
	unit
	e    *eventColumnsRead
	give func(*eventColumnsRead) error
}

// run reads out of an index where that has all columns, or out of two that have them
// together: they are small. Otherwise rows of events are read in the order of their
// ids: all of a stretch, which is the cheapest way to read many, unless the index shows
// that few are asked for.
func (u *unitScan) run(ctx context.Context) error {
	if u.first > u.mark {
		return u.stretch(ctx, u.first, u.last)
	}
	c := &conditions{args: []any{u.epoch(), u.project}}
	table := u.index(c)
	where := u.within(c, table)
	switch {
	case u.covers(table):
		if err := u.readInto(ctx, u.e, "i", u.read, where, c.args); err != nil {
			return err
		}
		return u.hand()
	case table == inNameOrder && u.scan.DistinctIDs == nil && u.read&^(inNames|inIDs) == 0:
		return u.joined(ctx, where, c)
	case u.scan.Names != nil || u.scan.DistinctIDs != nil:
		var n int64
		if err := u.store.read.QueryRowContext(ctx, `SELECT COUNT(*)`+where, c.args...).Scan(&n); err != nil || n == 0 {
			return err
		}
		if n < fewRows {
			return u.few(ctx, where, c)
		}
	}
	return u.stretches(ctx)
}

// The indexes of events.
const (
	inTimeOrder = "events_by_time"
	inNameOrder = "events_by_name"
	inIDOrder   = "events_by_distinct_id"
)

// index is the index to look in; the conditions on it are written to c.
func (p *insightScan) index(c *conditions) (table string) {
	switch {
	case p.scan.DistinctIDs != nil:
		table = inIDOrder
		c.oneOf("i.distinct_id", p.scan.DistinctIDs)
	case p.scan.Names != nil:
		table = inNameOrder
		c.named("i.event", p.scan.Names)
	case p.read&insights.Names != 0:
		table = inNameOrder
	case p.read&inIDs&^insights.IDs != 0:
		table = inIDOrder
	default:
		table = inTimeOrder
	}
	p.inTime(c, "i")
	return table
}

// inTime asks for the scan's stretch of time.
func (p *insightScan) inTime(c *conditions, table string) {
	if p.from > math.MinInt64 || p.to < math.MaxInt64 {
		fmt.Fprintf(&c.text, " AND %s.timestamp >= %s AND %s.timestamp <= %s", table, c.arg(p.from), table, c.arg(p.to))
	}
}

// within is what follows the columns of a statement over an index.
func (u *unitScan) within(c *conditions, table string) string {
	if u.epoch() == u.mark>>epochBits {
		c.text.WriteString(" AND i.id <= " + c.arg(u.mark))
	}
	return ` FROM ` + table + ` i WHERE i.epoch = $1 AND i.project_id = $2` + c.text.String()
}

// named asks for names of events.
func (c *conditions) named(column string, names []string) {
	values := make([]string, len(names))
	for i, name := range names {
		values[i] = c.arg(cleanText(name))
	}
	c.text.WriteString(" AND " + column + " IN (" + strings.Join(values, ", ") + ")")
}

// covers says whether an index holds all that is asked for.
func (p *insightScan) covers(table string) bool {
	switch {
	case table == inNameOrder:
		return p.read&^inNames == 0
	case table == inIDOrder:
		return p.read&^inIDs == 0 && p.scan.Names == nil
	}
	return p.read&^insights.IDs == 0
}

const longColumns = insights.Properties | insights.PersonProperties | insights.Elements

// fewRows is how many of the 16,384 events of an epoch are read one by one rather
// than by reading all of them.
const fewRows = 1 << epochBits / 8

// few reads the rows that an index shows.
func (u *unitScan) few(ctx context.Context, where string, c *conditions) error {
	more := &conditions{args: c.args}
	after := more.arg(u.first)
	if u.scan.DistinctIDs != nil && u.scan.Names != nil {
		more.named("e.event", u.scan.Names)
	}
	return u.rows(ctx, ` FROM (SELECT i.id`+where+` AND i.id >= `+after+`) i CROSS JOIN events e WHERE e.id = i.id`+more.text.String()+` ORDER BY i.id`, more.args, len(c.args))
}

// stretches reads all rows of the unit. Of short rows that is done at once: the more
// people are asked for together, the nearer they lie to each other.
func (u *unitScan) stretches(ctx context.Context) error {
	step := int64(scanBatch)
	if u.read&longColumns == 0 {
		step = 1 << epochBits
	}
	for id := u.first; id <= u.last; id += step {
		if err := u.stretch(ctx, id, min(id+step-1, u.last)); err != nil {
			return err
		}
	}
	return nil
}

// stretch reads the rows of events with first <= id <= last.
func (u *unitScan) stretch(ctx context.Context, first, last int64) error {
	c := &conditions{args: []any{first, last, u.project}}
	u.inTime(c, "e")
	if u.scan.Names != nil {
		c.named("e.event", u.scan.Names)
	}
	if u.scan.DistinctIDs != nil {
		c.oneOf("e.distinct_id", u.scan.DistinctIDs)
	}
	return u.rows(ctx, ` FROM events e WHERE e.id >= $1 AND e.id <= $2 AND e.project_id = $3`+c.text.String()+` ORDER BY e.id`, c.args, 0)
}

// errFull ends the reading of rows for now.
var errFull = errors.New("enough is read for now")

// rows reads the rows of a statement in the order of their ids, the least of which is
// the argument from, and hands them over whenever there are many bytes of them.
func (u *unitScan) rows(ctx context.Context, rest string, args []any, from int) error {
	for {
		err := u.readInto(ctx, u.e, "e", u.read|insights.IDs, rest, args)
		full := errors.Is(err, errFull)
		if err != nil && !full {
			return err
		}
		if full {
			args[from] = u.e.id[len(u.e.id)-1] + 1
		}
		if err := u.hand(); err != nil || !full {
			return err
		}
	}
}

// readInto reads columns of the rows of one statement.
func (u *unitScan) readInto(ctx context.Context, e *eventColumnsRead, table string, columns insights.Columns, rest string, args []any) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	texts, fill := columnTexts(columns, table)
	e.reset()
	return plainRows(ctx, u.store.read, func(row []driver.Value) error {
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

// hand gives what was read away.
func (u *unitScan) hand() error {
	if len(u.e.time) == 0 {
		return nil
	}
	return u.give(u.e)
}

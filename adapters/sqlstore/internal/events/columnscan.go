package events

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/bunting-flags/bunting/adapters/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// insightScan is a scan in progress.
type insightScan struct {
	*insightReader
	scan port.Scan
	// from and to are the inclusive bounds of times, in microseconds.
	from, to int64
	// want are the columns to read from rows and indexes.
	want port.Columns
}

// newInsightScan returns a scan over all times if s has no bounds.
func newInsightScan(r *insightReader, s port.Scan) *insightScan {
	p := &insightScan{insightReader: r, scan: s, from: s.From, to: s.To, want: s.Columns}
	if s.From == 0 && s.To == 0 {
		p.from, p.to = math.MinInt64, math.MaxInt64
	}
	if len(s.Names) == 1 { // all events have the same name
		p.want &^= port.Names
	}
	if s.After > 0 {
		p.want |= port.IDs
	}
	return p
}

// The indexes of events, each a table clustered by epoch.
const (
	timeIndex       = "events_by_time"
	nameIndex       = "events_by_name"
	distinctIDIndex = "events_by_distinct_id"
)

// nameIndexColumns and distinctIDIndexColumns are the columns that an index contains,
// in addition to the time.
const (
	nameIndexColumns       = port.Names | port.IDs
	distinctIDIndexColumns = port.DistinctIDs | port.People | port.PeopleCreated | port.IDs
)

// epochs returns the indexed epochs whose times overlap the bounds of the scan.
func (p *insightScan) epochs(ctx context.Context) ([]int64, error) {
	return database.Column[int64](ctx, p.store.db.Read, `SELECT epoch FROM event_epochs
		WHERE project_id = $1 AND last_time >= $2 AND first_time <= $3 AND epoch >= $4 AND epoch <= $5 ORDER BY epoch`, p.project, p.from, p.to, p.scan.After>>EpochBits, p.mark>>EpochBits)
}

// Index selects the best index for the scan and adds the conditions on it to c: first
// by the conditions of the scan, then by its columns.
func (p *insightScan) index(c *conditions) (table string) {
	switch {
	case p.scan.DistinctIDs != nil:
		table = distinctIDIndex
		c.addOneOf("i.distinct_id", p.scan.DistinctIDs)
	case p.scan.Names != nil:
		table = nameIndex
		c.addNames("i.event", p.scan.Names)
	case p.want&port.Names != 0:
		table = nameIndex
	case p.want&distinctIDIndexColumns&^port.IDs != 0:
		table = distinctIDIndex
	default:
		table = timeIndex
	}
	p.addTimeRange(c, "i")
	return table
}

// addTimeRange adds the time bounds of the scan to c.
func (p *insightScan) addTimeRange(c *conditions, table string) {
	if p.from > math.MinInt64 || p.to < math.MaxInt64 {
		fmt.Fprintf(&c.text, " AND %s.timestamp >= %s AND %s.timestamp <= %s", table, c.arg(p.from), table, c.arg(p.to))
	}
}

// addNames adds the condition that a column is one of some event names.
func (c *conditions) addNames(column string, names []string) {
	values := make([]string, len(names))
	for i, name := range names {
		values[i] = c.arg(database.CleanText(name))
	}
	c.text.WriteString(" AND " + column + " IN (" + strings.Join(values, ", ") + ")")
}

// covers reports whether an index contains everything that the scan needs.
func (p *insightScan) covers(table string) bool {
	switch {
	case table == nameIndex:
		return p.want&^nameIndexColumns == 0
	case table == distinctIDIndex:
		return p.want&^distinctIDIndexColumns == 0 && p.scan.Names == nil
	}
	return p.want&^port.IDs == 0
}

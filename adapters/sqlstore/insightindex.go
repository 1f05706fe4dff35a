package sqlstore

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/bunting-flags/bunting/capture/insights"
)

// insightScan is a scan that is carried out.
type insightScan struct {
	*insightReader
	scan     insights.Scan
	from, to int64
	// want are the columns that rows and indexes are asked for.
	want insights.Columns
}

func newInsightScan(r *insightReader, s insights.Scan) *insightScan {
	p := &insightScan{insightReader: r, scan: s, from: s.From, to: s.To, want: s.Columns}
	if s.From == 0 && s.To == 0 {
		p.from, p.to = math.MinInt64, math.MaxInt64
	}
	if len(s.Names) == 1 { // it is known
		p.want &^= insights.Names
	}
	return p
}

// The indexes of events.
const (
	timeIndex       = "events_by_time"
	nameIndex       = "events_by_name"
	distinctIDIndex = "events_by_distinct_id"
)

// nameIndexColumns and distinctIDIndexColumns are the columns that the indexes of events hold.
const (
	nameIndexColumns       = insights.Names | insights.IDs
	distinctIDIndexColumns = insights.DistinctIDs | insights.People | insights.PeopleCreated | insights.IDs
)

// epochs are those that can hold what is asked for.
func (p *insightScan) epochs(ctx context.Context) ([]int64, error) {
	return column[int64](ctx, p.store.read, `SELECT epoch FROM event_epochs
		WHERE project_id = $1 AND last_time >= $2 AND first_time <= $3 AND epoch <= $4 ORDER BY epoch`, p.project, p.from, p.to, p.mark>>epochBits)
}

// index is the index to look in; the conditions on it are written to c.
func (p *insightScan) index(c *conditions) (table string) {
	switch {
	case p.scan.DistinctIDs != nil:
		table = distinctIDIndex
		c.addOneOf("i.distinct_id", p.scan.DistinctIDs)
	case p.scan.Names != nil:
		table = nameIndex
		c.addNames("i.event", p.scan.Names)
	case p.want&insights.Names != 0:
		table = nameIndex
	case p.want&distinctIDIndexColumns&^insights.IDs != 0:
		table = distinctIDIndex
	default:
		table = timeIndex
	}
	p.addTimeRange(c, "i")
	return table
}

// addTimeRange asks for the scan's stretch of time.
func (p *insightScan) addTimeRange(c *conditions, table string) {
	if p.from > math.MinInt64 || p.to < math.MaxInt64 {
		fmt.Fprintf(&c.text, " AND %s.timestamp >= %s AND %s.timestamp <= %s", table, c.arg(p.from), table, c.arg(p.to))
	}
}

// addNames asks for names of events.
func (c *conditions) addNames(column string, names []string) {
	values := make([]string, len(names))
	for i, name := range names {
		values[i] = c.arg(cleanText(name))
	}
	c.text.WriteString(" AND " + column + " IN (" + strings.Join(values, ", ") + ")")
}

// covers says whether an index holds all that is asked for.
func (p *insightScan) covers(table string) bool {
	switch {
	case table == nameIndex:
		return p.want&^nameIndexColumns == 0
	case table == distinctIDIndex:
		return p.want&^distinctIDIndexColumns == 0 && p.scan.Names == nil
	}
	return p.want&^insights.IDs == 0
}

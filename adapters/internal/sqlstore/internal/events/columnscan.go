package events

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// insightScan is a scan in progress.
type insightScan struct {
	*insightReader
	scan port.Scan
	// from and to are the inclusive bounds of times, in microseconds.
	from, to int64
	// want are the columns to read from rows and blocks.
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
	if s.Columns&port.People != 0 { // for events whose distinct id belongs to no person
		p.want |= port.PeopleAtEvent
	}
	return p
}

// blocks returns the blocks that may contain events of the scan.
func (p *insightScan) blocks(ctx context.Context) ([]storedBlock, error) {
	return p.store.log.findBlocks(ctx, p.store.db.Read, &blockSearch{
		project: p.project, after: p.scan.After, upTo: p.mark, from: p.from, to: p.to, names: p.scan.Names, distinctIDs: p.scan.DistinctIDs,
	})
}

// addTimeRange adds the time bounds of the scan to c.
func (p *insightScan) addTimeRange(c *conditions) {
	if p.from > math.MinInt64 || p.to < math.MaxInt64 {
		fmt.Fprintf(&c.text, " AND e.timestamp >= %s AND e.timestamp <= %s", c.arg(p.from), c.arg(p.to))
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

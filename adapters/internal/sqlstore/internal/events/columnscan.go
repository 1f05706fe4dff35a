package events

import (
	"context"
	"math"

	"github.com/bunting-flags/bunting/capture/insights/port"
)

// insightScan is a scan in progress.
type insightScan struct {
	*insightReader
	scan port.Scan
	// from and to are the inclusive bounds of times, in microseconds.
	from, to int64
	// want are the columns to read.
	want port.Columns
	// sealed are the sealed blocks that are read without a statement for each of them, in the order of ids.
	sealed []sealedUnit
	// sameName has the name of all events as often as a batch may have events, if there is only one.
	sameName []string
	// batch is the batch that is delivered.
	batch port.Batch
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

// blocks returns the blocks that may contain events of the scan. SQLite reads the filters of blocks to
// list them, so the last list of a reader serves all scans of a part of its range. Blocks that are
// merged meanwhile are found by their ids.
func (p *insightScan) blocks(ctx context.Context) ([]storedBlock, error) {
	s := &blockSearch{
		project: p.project, after: p.scan.After, upTo: p.last, from: p.from, to: p.to, names: p.scan.Names, distinctIDs: p.scan.DistinctIDs,
	}
	q := p.store.log.Source()
	if p.search == nil || !p.search.covers(s) {
		all, err := p.store.log.searchBlocks(ctx, q, s)
		if err != nil {
			return nil, err
		}
		p.search, p.listed = s, all
	}
	var blocks []storedBlock
	for i := range p.listed {
		if s.mayHave(&p.listed[i]) {
			blocks = append(blocks, p.listed[i])
		}
	}
	return p.store.log.narrow(ctx, q, blocks, s)
}

package events

import (
	"context"
	"slices"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

const (
	// yieldBatch is the maximum number of events in a batch; cancellation is checked between
	// batches, and the query may need 50 µs for each event, for example to match a regular
	// expression.
	yieldBatch = 512
	// scanNames is the maximum number of names or distinct ids in one statement.
	scanNames = 400
)

// Scan implements port.Reader.
func (r *insightReader) Scan(ctx context.Context, s port.Scan, yield func(*port.Batch) error) error {
	if s.Columns&port.PeopleCreated != 0 && !r.created { // look up distinct ids with creation times
		r.created, r.table = true, newOwnerTable()
	}
	if s.Reserve == nil {
		s.Reserve = func(int64) error { return nil }
	}
	if s.Pause == nil {
		s.Pause = func(context.Context) {}
	}
	var yieldErr error // an error of yield is returned unchanged
	yieldBatchOnce := func(b *port.Batch) error {
		yieldErr = yield(b)
		return yieldErr
	}
	// The conditions of a statement are limited in number, so longer lists are split.
	// Events match one combination of parts at most, so no event is delivered twice.
	for _, names := range splitNames(s.Names) {
		for _, ids := range splitNames(s.DistinctIDs) {
			s.Names, s.DistinctIDs = names, ids
			switch err := newInsightScan(r, s).run(ctx, yieldBatchOnce); {
			case yieldErr != nil:
				return yieldErr
			case err != nil:
				return r.store.db.ReadError("events", err)
			}
		}
	}
	return nil
}

// splitNames splits a list into parts that fit into a statement. nil, which means no
// condition, stays one nil part.
func splitNames(list []string) (out [][]string) {
	if list == nil {
		return [][]string{nil}
	}
	for len(list) > scanNames {
		out, list = append(out, list[:scanNames]), list[scanNames:]
	}
	if len(list) > 0 {
		out = append(out, list)
	}
	return out
}

// run scans all units that may contain matching events, blocks and then ranges of new chunks, with a
// readAhead.
func (p *insightScan) run(ctx context.Context, yield func(*port.Batch) error) (err error) {
	blocks, err := p.blocks(ctx)
	if err != nil {
		return err
	}
	units := make([]unit, len(blocks))
	for i := range blocks {
		units[i] = blocks[i].unit
	}
	if err := p.locate(ctx, blocks); err != nil {
		return err
	}
	requests := p.requestAhead(ctx, blocks)
	defer func() {
		if fault := requests.close(); err == nil {
			err = fault
		}
	}()
	ahead := &readAhead{units: units, claimed: requests.claimed, spare: p.scan.HasSpareCPU, buffers: max(aheadBuffers, int(p.scan.Ahead/database.PieceBytes)), spares: &p.spares}
	ahead.read = func(ctx context.Context, u unit, e *columnBuffer, give func(*columnBuffer) error) error {
		return (&unitScan{insightScan: p, unit: u, e: e, give: give}).run(ctx)
	}
	ahead.deliver = func(ctx context.Context, e *columnBuffer) error { return p.deliver(ctx, e, yield) }
	return ahead.run(ctx)
}

// deliver attributes events to persons if requested, and passes the events to yield in
// batches.
func (p *insightScan) deliver(ctx context.Context, e *columnBuffer, yield func(*port.Batch) error) error {
	reserved := int64(e.bytes)
	if err := p.scan.Reserve(reserved); err != nil {
		return err
	}
	defer func() { _ = p.scan.Reserve(-reserved) }() // also after an error, because another scan may follow
	if p.scan.Columns&port.People != 0 {
		if err := p.attribute(ctx, e, &p.scan); err != nil {
			return err
		}
	}
	if p.scan.Columns&port.Names != 0 && p.want&port.Names == 0 && p.sameName == nil {
		p.sameName = slices.Repeat([]string{database.CleanText(p.scan.Names[0])}, yieldBatch)
	}
	for from := 0; from < len(e.time); from += yieldBatch {
		e.batch(&p.batch, p.scan.Columns, from, min(from+yieldBatch, len(e.time)))
		if p.sameName != nil {
			p.batch.Name = p.sameName[:p.batch.Len():p.batch.Len()]
		}
		if err := yield(&p.batch); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

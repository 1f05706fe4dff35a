package events

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/segment"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// unitsAhead is the maximum number of units whose columns are requested before they are read.
const unitsAhead = 16

// bucketRequests requests columns of the segments in a bucket before a scan reads them, in a goroutine of its
// own. It is nil if they are not in a bucket.
type bucketRequests struct {
	scan   *insightScan
	blocks []storedBlock
	ahead  *segment.Ahead
	cancel context.CancelFunc
	tasks  sync.WaitGroup

	mu    sync.Mutex
	moved *sync.Cond // when next or ended have changed
	next  int        // the first block that no reader has claimed
	ended bool
	parts []int // the number of parts that were requested of each block and that no reader needs yet
	fault error // a panic of run
}

// requestAhead begins to request the columns of blocks that a scan reads in this order.
func (p *insightScan) requestAhead(ctx context.Context, blocks []storedBlock) *bucketRequests {
	files := p.store.log.files
	if !files.IsBucket() || !slices.ContainsFunc(blocks, func(b storedBlock) bool { return b.level == sealedLevel }) {
		return nil
	}
	r := &bucketRequests{scan: p, blocks: blocks, parts: make([]int, len(blocks))}
	r.moved = sync.NewCond(&r.mu)
	ctx, r.cancel = context.WithCancel(ctx)
	r.ahead = files.Ahead(ctx)
	r.tasks.Go(func() { r.run(ctx) })
	return r
}

// claimed is called when a reader begins with a block.
func (r *bucketRequests) claimed(i int) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.next = i + 1
	r.ahead.Done(r.parts[i])
	r.parts[i] = 0
	r.moved.Signal()
}

// close cancels the requests and waits for their end. The error is a panic of run.
func (r *bucketRequests) close() error {
	if r == nil {
		return nil
	}
	r.cancel()
	r.mu.Lock()
	r.ended = true
	r.moved.Signal()
	r.mu.Unlock()
	r.tasks.Wait()
	r.ahead.Close()
	return r.fault
}

// isLate reports whether readers are past a block: they are two, and read the last ones that were claimed.
func (r *bucketRequests) isLate(i int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended || i < r.next-2
}

// await waits until no more than unitsAhead blocks are between a block and those that are read, and
// reports whether the scan goes on.
func (r *bucketRequests) await(i int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for !r.ended && i >= r.next+unitsAhead {
		r.moved.Wait()
	}
	return !r.ended
}

// run requests the columns of all blocks. It ends early at an error, which the reader of the block gets, too.
func (r *bucketRequests) run(ctx context.Context) {
	defer func() { // a bug fails the query instead of the process
		if fault := recover(); fault != nil {
			r.fault = fmt.Errorf("requesting events panicked: %v\n%s", fault, debug.Stack())
		}
	}()
	q := r.scan.store.log.Source()
	segments, err := database.List(ctx, q, func(s *storedSegment) []any { return []any{&s.first, &s.last, &s.name} },
		`SELECT s.first_id, s.last_id, s.name FROM event_segments s WHERE s.project_id = $1 AND `+fromSegment+` AND s.last_id >= $2 AND s.first_id <= $3 ORDER BY s.first_id`,
		r.scan.project, r.blocks[0].first, r.blocks[len(r.blocks)-1].last)
	for i := 0; i < len(r.blocks) && err == nil && r.await(i); i++ {
		b := &r.blocks[i]
		at, ok := slices.BinarySearchFunc(segments, b.first, func(s storedSegment, id int64) int {
			switch {
			case s.last < id:
				return -1
			case s.first > id:
				return 1
			}
			return 0
		})
		if ok && b.level == sealedLevel && !r.isLate(i) {
			err = r.request(i, segments[at].name)
		}
	}
}

// request requests the columns of a block in a file.
func (r *bucketRequests) request(i int, name string) error {
	file, err := r.ahead.Open(name)
	if errors.Is(err, fs.ErrNotExist) { // it was replaced: the reader of the block finds the other file
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Release()
	group, ok := groupWith(file, r.blocks[i].unit)
	if !ok {
		return nil
	}
	w := r.scan.columnSet(file, group)
	parts, err := r.ahead.Request(file, group, &w, func() bool { return r.isLate(i) })
	r.mu.Lock()
	defer r.mu.Unlock()
	if i < r.next {
		r.ahead.Done(parts)
	} else {
		r.parts[i] = parts
	}
	return err
}

// columnSet returns the columns that the scan reads of a group. Of a scan with distinct ids, the events may be
// few, so the pages of their long columns are not known before.
func (p *insightScan) columnSet(file *segment.File, group int) segment.ColumnSet {
	w := segment.ColumnSet{People: p.want&peopleColumns != 0 || p.scan.DistinctIDs != nil, Origins: p.want&originColumns != 0}
	switch {
	case p.readsColumns(file, group):
		w.Properties = p.scan.EventProperties
	case p.scan.DistinctIDs == nil:
		for i, column := range longColumns {
			if p.want&column != 0 {
				w.Texts = append(w.Texts, sealedTexts[i])
			}
		}
	}
	return w
}

// wantsValues reports whether the scan can read columns of properties instead of long columns.
func (p *insightScan) wantsValues() bool {
	return p.scan.EventProperties != nil && p.want&anyLong == port.Properties
}

// readsColumns reports whether the scan reads the columns of properties in a group instead of long columns.
func (p *insightScan) readsColumns(file *segment.File, group int) bool {
	if !p.wantsValues() {
		return false
	}
	bytes, ok := file.PropertyBytes(group, p.scan.EventProperties)
	return ok && bytes <= database.PieceBytes
}

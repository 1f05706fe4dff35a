package events

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"sync"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/capture"
)

// compareNewest compares positions in the order of pages: newest first.
func compareNewest(a, b eventPosition) int {
	return cmp.Or(cmp.Compare(b.timestamp, a.timestamp), cmp.Compare(b.id, a.id))
}

// Events implements capture.History.
//
// Blocks are searched in the order of their last events, until no further one can contain
// an event that is newer than the events of a full page.
func (s *Reader) Events(ctx context.Context, projectID int64, q capture.EventQuery) ([]capture.Record, error) {
	if q.Limit <= 0 || q.DistinctIDs != nil && len(q.DistinctIDs) == 0 {
		return nil, nil
	}
	out, err := s.page(ctx, projectID, q, true)
	if ids := storedSet(q.DistinctIDs, capture.StoredDistinctID); err == nil && q.DistinctIDs != nil &&
		slices.ContainsFunc(out, func(r capture.Record) bool { return !ids[r.DistinctID] }) {
		// Another distinct id has the same hash as one of these, which is rare.
		out, err = s.page(ctx, projectID, q, false)
	}
	return out, s.db.ReadError("events", err)
}

// page implements Events. If byHash is true, a few events may have other distinct ids.
func (s *Reader) page(ctx context.Context, projectID int64, q capture.EventQuery, byHash bool) ([]capture.Record, error) {
	p := newEventPage(s, projectID, q)
	if err := p.find(ctx, byHash); err != nil {
		return nil, err
	}
	return s.readEvents(ctx, projectID, p.positions)
}

// eventPage is the state of finding the events of one page.
type eventPage struct {
	store   *Reader
	project int64
	query   capture.EventQuery
	// The bounds are from <= timestamp <= to, in microseconds. Events at the time of
	// the cursor must have smaller ids than the cursor.
	from, to int64
	cursor   eventPosition
	// positions are the newest events found so far, at most a page. mu is locked while blocks are searched.
	mu        sync.Mutex
	positions []eventPlace
}

// newEventPage returns an empty page with the bounds of the query.
func newEventPage(s *Reader, projectID int64, q capture.EventQuery) *eventPage {
	p := &eventPage{store: s, project: projectID, query: q, from: math.MinInt64, to: math.MaxInt64}
	if !q.From.IsZero() {
		p.from = database.Micros(q.From)
	}
	if !q.To.IsZero() {
		p.to = database.Micros(q.To) - 1
	}
	p.cursor = eventPosition{math.MaxInt64, math.MaxInt64}
	if q.After != nil {
		p.cursor = eventPosition{database.Micros(q.After.Timestamp), q.After.ID}
		p.to = min(p.to, p.cursor.timestamp)
	}
	return p
}

// find fills the positions. If byHash is true, it may find a few events of other distinct ids.
func (p *eventPage) find(ctx context.Context, byHash bool) (err error) {
	search := blockSearch{project: p.project, upTo: math.MaxInt64, from: p.from, to: p.to}
	blocks, err := p.store.log.findBlocks(ctx, p.store.log.Source(), &search)
	if err != nil {
		return err
	}
	// Blocks with newer events come first; a page that is full with newer events than the
	// rest ends the search.
	slices.SortFunc(blocks, func(a, b storedBlock) int {
		return compareNewest(eventPosition{a.lastTime, a.last}, eventPosition{b.lastTime, b.last})
	})
	if p.query.Name != "" {
		search.names = []string{p.query.Name}
	}
	search.distinctIDs, search.byHash = p.query.DistinctIDs, byHash
	located := 0 // the number of blocks that are located ahead
	for size := 1; len(blocks) > 0; size = min(2*size, filterGroup) {
		// Begin with a single block, since the newest one often fills the page.
		group, ahead := blocks[:min(size, len(blocks))], blocks[:min(filterGroup, len(blocks))]
		n := len(group)
		blocks = blocks[n:]
		if search.names != nil || search.distinctIDs != nil {
			if group, err = p.store.log.filterBlocks(ctx, p.store.log.Source(), group, &search); err != nil {
				return err
			}
		}
		if len(group) > 0 && located < n {
			located = len(ahead)
			if err := p.store.log.locate(ctx, p.store.log.Source(), &search, ahead); err != nil {
				return err
			}
		}
		located -= n
		if err := p.searchGroup(ctx, group, &search); errors.Is(err, database.ErrPageFull) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return nil
}

// searchGroup adds the events of some blocks to the page, in the order of blocks. The error is
// database.ErrPageFull if the page is full and all its events are newer than a block. Searches by hash, which
// mostly wait for reads, use several goroutines.
func (p *eventPage) searchGroup(ctx context.Context, group []storedBlock, s *blockSearch) error {
	searchers := 1
	if s.byHash && s.distinctIDs != nil {
		searchers = pageReaders
	}
	s.values() // before the copies
	own := make([]blockSearch, min(searchers, len(group)))
	for i := range own {
		own[i] = *s
		own[i].decoder, own[i].found = blockDecoder{}, nil
	}
	return inParallel(len(own), len(group), func(searcher, i int) error {
		p.mu.Lock()
		oldest, full := p.lowerBound()
		p.mu.Unlock()
		if full && group[i].lastTime < oldest {
			return database.ErrPageFull
		}
		return p.search(ctx, &group[i], &own[searcher], oldest)
	})
}

// lowerBound returns the time that an event must reach to get into the page, and
// whether the page is full.
func (p *eventPage) lowerBound() (int64, bool) {
	if len(p.positions) < p.query.Limit {
		return p.from, false
	}
	return p.positions[len(p.positions)-1].timestamp, true
}

// trim removes all positions except a page of the newest events. An event is found twice if the file of
// its segment is replaced during the search.
func (p *eventPage) trim(positions []eventPlace) []eventPlace {
	slices.SortFunc(positions, func(a, b eventPlace) int { return compareNewest(a.eventPosition, b.eventPosition) })
	positions = slices.CompactFunc(positions, func(a, b eventPlace) bool { return a.eventPosition == b.eventPosition })
	return positions[:min(len(positions), p.query.Limit)]
}

// untrimmed is the number of positions beyond a page from which they are trimmed.
const untrimmed = 1000

// search adds the events of a block from a time on to the page.
func (p *eventPage) search(ctx context.Context, b *storedBlock, s *blockSearch, oldest int64) error {
	var found []eventPlace
	visit := func(c *block.Columns, i int, sealed *sealedBlock, row int) {
		e := eventPlace{eventPosition{c.Times[i], c.IDs[i]}, sealed, row}
		if e.timestamp < oldest || e.timestamp > p.to || compareNewest(e.eventPosition, p.cursor) <= 0 {
			return
		}
		if found = append(found, e); len(found) >= p.query.Limit+untrimmed {
			found = p.trim(found)
			oldest = max(oldest, found[len(found)-1].timestamp)
		}
	}
	done, err := s.eachLocated(p.store.log.Source(), b, visit)
	if !done && err == nil {
		err = p.store.log.eachFound(ctx, p.store.log.Source(), s, b.unit, 0, visit)
	}
	if len(found) > 0 {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.positions = p.trim(append(p.positions, found...))
	}
	return err
}

// readEvents reads the events of the positions, in their order.
func (s *Reader) readEvents(ctx context.Context, projectID int64, positions []eventPlace) ([]capture.Record, error) {
	byID := make(map[int64]capture.Record, len(positions))
	sealed := slices.DeleteFunc(slices.Clone(positions), func(p eventPlace) bool { return p.sealed == nil })
	if err := readSealed(projectID, sealed, byID); err != nil {
		return nil, err
	}
	var ids []int64
	for _, p := range positions {
		if _, ok := byID[p.id]; !ok {
			ids = append(ids, p.id)
		}
	}
	slices.Sort(ids)
	if err := readRecords(ctx, s.log.Source(), projectID, ids, byID); err != nil {
		return nil, err
	}
	out := make([]capture.Record, 0, len(positions))
	for _, p := range positions {
		if r, ok := byID[p.id]; ok { // it may have been erased in the meantime
			out = append(out, r)
		}
	}
	return out, nil
}

// Event implements capture.History. Events with the same UUID differ in name or
// distinct id. The newest event is returned, or nil if there is none.
func (s *Reader) Event(ctx context.Context, projectID int64, id capture.UUID) (*capture.Record, error) {
	newest, err := s.event(ctx, projectID, id)
	return newest, s.db.ReadError("an event", err)
}

// checkedIDs is the maximum number of ids for which Event checks whether a chunk is missing.
const checkedIDs = 10

// event implements Event. It compares the short columns, because a client chooses how many events
// have the same UUID.
func (s *Reader) event(ctx context.Context, projectID int64, uuid capture.UUID) (*capture.Record, error) {
	ids, err := s.log.findUUID(ctx, projectID, uuid)
	if err != nil {
		return nil, err
	}
	parts, newest := withShort|withLong, eventPosition{math.MinInt64, 0}
	if len(ids) > 1 {
		parts = withShort
	}
	var c Chunks
	var missing []int64 // erased events, or events whose chunk is missing
	for _, id := range ids {
		e, ok, err := c.event(ctx, s.log.Source(), projectID, id, 0, parts)
		if err != nil {
			return nil, err
		}
		if !ok {
			missing = append(missing, id)
		} else if at := (eventPosition{e.Time, id}); e.UUID == uuid && compareNewest(at, newest) < 0 {
			newest = at
		}
	}
	if newest.id == 0 {
		for _, id := range missing[:min(len(missing), checkedIDs)] {
			if err := checkErased(ctx, s.log.Source(), projectID, id); err != nil {
				return nil, err
			}
		}
		return nil, nil
	}
	e, ok, err := c.Record(ctx, s.log.Source(), projectID, newest.id, 0)
	if err != nil || !ok {
		return nil, err
	}
	return &e, nil
}

// Ledger implements capture.History.
func (s *Reader) Ledger(ctx context.Context, projectID, after int64, limit int) (out []capture.Record, err error) {
	if limit <= 0 {
		return nil, nil
	}
	err = EachEvent(ctx, s.log.Source(), projectID, after, func(e *capture.Record) error {
		if out = append(out, *e); len(out) == limit {
			return database.ErrPageFull
		}
		return nil
	})
	if errors.Is(err, database.ErrPageFull) {
		err = nil
	}
	return out, s.db.ReadError("events", err)
}

// EachEvent calls visit for all events of a project with after < id, in their order. q may be a
// transaction.
func EachEvent(ctx context.Context, q Source, project, after int64, visit func(*capture.Record) error) error {
	var c Chunks
	return c.Each(ctx, q, project, after, math.MaxInt64, func(e *block.Event, long func() (LongColumns, error)) error {
		columns, err := long()
		if err != nil {
			return err
		}
		r := recordOf(project, e, &columns)
		return visit(&r)
	})
}

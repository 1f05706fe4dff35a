package events

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/capture"
)

// eventPosition is the sort key of an event in a page. The timestamp is in
// microseconds.
type eventPosition struct{ timestamp, id int64 }

// compareNewest compares positions in the order of pages: newest first.
func compareNewest(a, b eventPosition) int {
	return cmp.Or(cmp.Compare(b.timestamp, a.timestamp), cmp.Compare(b.id, a.id))
}

// Events implements capture.History.
//
// Blocks are searched in the order of their last events, until no further one can contain
// an event that is newer than the events of a full page. Events that have no block yet are
// scanned.
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
	mark     int64 // events with greater ids are in no block
	// positions are the newest events found so far, at most a page.
	positions []eventPosition
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

// find fills the positions: from the events that have no block, then from blocks. If byHash
// is true, it may find a few events of other distinct ids.
func (p *eventPage) find(ctx context.Context, byHash bool) (err error) {
	if p.mark, err = p.store.log.LastIndexedID(ctx, p.store.db.Read); err != nil {
		return err
	}
	if err := p.scan(ctx); err != nil {
		return err
	}
	search := blockSearch{project: p.project, upTo: p.mark, from: p.from, to: p.to}
	blocks, err := p.store.log.findBlocks(ctx, p.store.db.Read, &search)
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
	for size := 1; len(blocks) > 0; size = min(2*size, filterGroup) {
		// Begin with a single block, since the newest one often fills the page.
		group := blocks[:min(size, len(blocks))]
		blocks = blocks[len(group):]
		if search.names != nil || search.distinctIDs != nil {
			if group, err = p.store.log.filterBlocks(ctx, p.store.db.Read, group, &search); err != nil {
				return err
			}
		}
		for i := range group {
			if oldest, full := p.lowerBound(); full && group[i].lastTime < oldest {
				return nil
			}
			if err := p.search(ctx, &group[i], &search); err != nil {
				return err
			}
		}
	}
	return nil
}

// lowerBound returns the time that an event must reach to get into the page, and
// whether the page is full.
func (p *eventPage) lowerBound() (int64, bool) {
	if len(p.positions) < p.query.Limit {
		return p.from, false
	}
	return p.positions[len(p.positions)-1].timestamp, true
}

// trim removes all positions but those of the newest events, a page.
func (p *eventPage) trim() {
	slices.SortFunc(p.positions, compareNewest)
	p.positions = p.positions[:min(len(p.positions), p.query.Limit)]
}

// untrimmed is the number of positions beyond a page from which they are trimmed.
const untrimmed = 1000

// search adds the events of a block to the page.
func (p *eventPage) search(ctx context.Context, b *storedBlock, s *blockSearch) error {
	oldest, _ := p.lowerBound()
	err := p.store.log.eachMatch(ctx, p.store.db.Read, s, b.unit, 0, func(c *block.Columns, i int) {
		e := eventPosition{c.Times[i], c.IDs[i]}
		if e.timestamp < oldest || e.timestamp > p.to || compareNewest(e, p.cursor) <= 0 {
			return
		}
		if p.positions = append(p.positions, e); len(p.positions) >= p.query.Limit+untrimmed {
			p.trim()
			oldest, _ = p.lowerBound()
		}
	})
	p.trim()
	return err
}

// conditions are the additional conditions of a statement, with all arguments of the
// statement: the ones that precede the conditions, then their own.
type conditions struct {
	text strings.Builder
	args []any
}

// arg adds an argument and returns its placeholder.
func (c *conditions) arg(v any) string {
	c.args = append(c.args, v)
	return "$" + strconv.Itoa(len(c.args))
}

// addOneOf adds the condition that a column has one of some values.
func (c *conditions) addOneOf(column string, values []string) {
	c.text.WriteString(" AND " + column + " IN (")
	for i, v := range values {
		if i > 0 {
			c.text.WriteString(", ")
		}
		c.text.WriteString(c.arg(capture.StoredDistinctID(v)))
	}
	c.text.WriteString(")")
}

// scan finds events among those that have no block yet.
func (p *eventPage) scan(ctx context.Context) (err error) {
	c := &conditions{args: []any{p.project, p.mark, p.from, p.to}}
	if p.query.DistinctIDs != nil {
		c.addOneOf("distinct_id", p.query.DistinctIDs)
	}
	if name := database.CleanText(p.query.Name); name != "" {
		c.text.WriteString(" AND event = " + c.arg(name))
	}
	if p.query.After != nil {
		fmt.Fprintf(&c.text, " AND (timestamp < %s OR id < %s)", c.arg(p.cursor.timestamp), c.arg(p.cursor.id))
	}
	p.positions, err = database.List(ctx, p.store.db.Read, func(e *eventPosition) []any { return []any{&e.timestamp, &e.id} }, `SELECT timestamp, id FROM events
		WHERE project_id = $1 AND id > $2 AND timestamp >= $3 AND timestamp <= $4`+c.text.String()+`
		ORDER BY timestamp DESC, id DESC LIMIT `+strconv.Itoa(p.query.Limit), c.args...)
	return err
}

// readEvents reads the events of the positions, in their order.
func (s *Reader) readEvents(ctx context.Context, projectID int64, positions []eventPosition) ([]capture.Record, error) {
	byID := make(map[int64]capture.Record, len(positions))
	for chunk := range slices.Chunk(positions, 200) {
		found, err := readRecords(ctx, s.db.Read, `events e WHERE e.project_id = $1
			AND e.id IN (`+database.JoinNumbers(chunk, func(p eventPosition) int64 { return p.id })+`)`, projectID)
		if err != nil {
			return nil, err
		}
		for i := range found {
			byID[found[i].ID] = found[i]
		}
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
// distinct id, and their duplicate keys begin with the UUID. The newest event is
// returned, or nil if there is none.
func (s *Reader) Event(ctx context.Context, projectID int64, id capture.UUID) (*capture.Record, error) {
	low, high := keyBounds(id)
	found, err := readRecords(ctx, s.db.Read, `event_keys k JOIN events e ON e.id = k.id
		WHERE k.key >= $1 AND k.key <= $2 AND e.project_id = $3 AND e.uuid = $4
		ORDER BY e.timestamp DESC, e.id DESC LIMIT 1`, low, high, projectID, id[:])
	return database.FirstOrNil(found), s.db.ReadError("an event", err)
}

// Ledger implements capture.History. Ranges of ids without events of the project are
// skipped.
func (s *Reader) Ledger(ctx context.Context, projectID, after int64, limit int) ([]capture.Record, error) {
	if limit <= 0 {
		return nil, nil
	}
	out, err := s.ledgerAfter(ctx, projectID, after, limit)
	return out, s.db.ReadError("events", err)
}

// ledgerAfter implements Ledger: it reads block by block, then the events without a block.
func (s *Reader) ledgerAfter(ctx context.Context, projectID, after int64, limit int) (out []capture.Record, err error) {
	mark, err := s.log.LastIndexedID(ctx, s.db.Read)
	if err != nil {
		return nil, err
	}
	read := func(after, upTo int64) error {
		found, err := readRange(ctx, s.db.Read, projectID, after, upTo, limit-len(out))
		out = append(out, found...)
		return err
	}
	for after = max(after, 0); after < mark && len(out) < limit; {
		search := anyTime(projectID, after, mark)
		search.limit = 1
		next, err := s.log.findBlocks(ctx, s.db.Read, &search)
		if err != nil {
			return nil, err
		}
		if len(next) == 0 {
			break
		}
		if err := read(next[0].first-1, next[0].last); err != nil {
			return nil, err
		}
		after = next[0].last
	}
	if len(out) < limit {
		err = read(max(after, mark), math.MaxInt64)
	}
	return out, err
}

// readRange reads the first events of a project with after < id <= upTo, in their order.
func readRange(ctx context.Context, q database.Querier, project, after, upTo int64, limit int) ([]capture.Record, error) {
	return readRecords(ctx, q, `events e WHERE e.id > $1 AND e.id <= $2 AND e.project_id = $3 ORDER BY e.id LIMIT $4`, after, upTo, project, limit)
}

// EachEvent calls visit for all events of a project with after < id, in their order. q may be a
// transaction.
func EachEvent(ctx context.Context, q database.Querier, project, after int64, visit func(*capture.Record) error) error {
	const page = 100
	for {
		found, err := readRange(ctx, q, project, after, math.MaxInt64, page)
		if err != nil {
			return err
		}
		for i := range found {
			if err := visit(&found[i]); err != nil {
				return err
			}
		}
		if len(found) == 0 {
			return nil
		}
		after = found[len(found)-1].ID
	}
}

package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/capture"
)

const eventColumns = `e.id, e.project_id, e.uuid, e.event, e.distinct_id, e.properties, e.elements_chain, e.timestamp, e.created_at,
	e.person_uuid, e.person_created_at, COALESCE((SELECT s.properties FROM person_states s WHERE s.event_id = e.person_state), '{}'), e.person_mode, e.historical`

func eventFields(r *capture.Record) []any {
	return []any{
		&r.ID, &r.ProjectID, scanUUID(&r.UUID), &r.Name, &r.DistinctID, &r.Properties, &r.ElementsChain, scanTime(&r.Timestamp), scanTime(&r.CreatedAt),
		scanUUID(&r.PersonID), scanTime(&r.PersonCreatedAt), &r.PersonProperties, &r.PersonMode, &r.Historical,
	}
}

// eventPosition is an event's place in a page.
type eventPosition struct{ timestamp, id int64 }

// compareNewest orders places as pages are ordered, newest first.
func compareNewest(a, b eventPosition) int {
	return cmp.Or(cmp.Compare(b.timestamp, a.timestamp), cmp.Compare(b.id, a.id))
}

// Events implements capture.History.
//
// The indexes of events are clustered by epoch, and event_epochs says from when
// to when each one's events are. Epochs are asked newest first, in groups that
// grow, until no other can hold anything newer than the page has. Events that are
// not indexed yet are scanned.
func (s *Store) Events(ctx context.Context, projectID int64, q capture.EventQuery) ([]capture.Record, error) {
	if q.Limit <= 0 || q.DistinctIDs != nil && len(q.DistinctIDs) == 0 {
		return nil, nil
	}
	p := newEventPage(s, projectID, q)
	if err := p.find(ctx); err != nil {
		return nil, s.readError("events", err)
	}
	out, err := s.readEvents(ctx, projectID, p.positions)
	return out, s.readError("events", err)
}

// eventPage is a page that is being found.
type eventPage struct {
	store   *Store
	project int64
	query   capture.EventQuery
	// from <= timestamp <= to; of those at the time of the cursor, id < after.
	from, to  int64
	cursor    eventPosition
	mark      int64 // events above it are not indexed
	positions []eventPosition
}

func newEventPage(s *Store, projectID int64, q capture.EventQuery) *eventPage {
	p := &eventPage{store: s, project: projectID, query: q, from: math.MinInt64, to: math.MaxInt64}
	if !q.From.IsZero() {
		p.from = micros(q.From)
	}
	if !q.To.IsZero() {
		p.to = micros(q.To) - 1
	}
	p.cursor = eventPosition{math.MaxInt64, math.MaxInt64}
	if q.After != nil {
		p.cursor = eventPosition{micros(q.After.Timestamp), q.After.ID}
		p.to = min(p.to, p.cursor.timestamp)
	}
	return p
}

// epochGroup is the most epochs that one statement looks at.
const epochGroup = 128

func (p *eventPage) find(ctx context.Context) (err error) {
	if p.mark, err = p.store.lastIndexedID(ctx, p.store.read); err != nil {
		return err
	}
	if p.mark < math.MaxInt64 {
		if err := p.scan(ctx); err != nil {
			return err
		}
	}
	epochs, err := p.epochs(ctx)
	if err != nil {
		return err
	}
	for size := 1; len(epochs) > 0; size = min(2*size, epochGroup) {
		if oldest, full := p.lowerBound(); full && epochs[0].last < oldest {
			return nil
		}
		group := epochs[:min(size, len(epochs))]
		epochs = epochs[len(group):]
		if err := p.search(ctx, group); err != nil {
			return err
		}
	}
	return nil
}

// lowerBound is the time below which nothing can come into the page any more; false
// while it is not full.
func (p *eventPage) lowerBound() (int64, bool) {
	if len(p.positions) < p.query.Limit {
		return p.from, false
	}
	return p.positions[len(p.positions)-1].timestamp, true
}

// read lays what a statement finds into the page.
func (p *eventPage) read(ctx context.Context, text string, args []any) error {
	found, err := list(ctx, p.store.read, func(e *eventPosition) []any { return []any{&e.timestamp, &e.id} }, text, args...)
	p.positions = append(p.positions, found...)
	slices.SortFunc(p.positions, compareNewest)
	p.positions = p.positions[:min(len(p.positions), p.query.Limit)]
	return err
}

type eventEpoch struct{ epoch, last int64 }

// epochs are those that can hold what is asked for, newest first.
func (p *eventPage) epochs(ctx context.Context) ([]eventEpoch, error) {
	return list(ctx, p.store.read, func(e *eventEpoch) []any { return []any{&e.epoch, &e.last} },
		`SELECT epoch, last_time FROM event_epochs WHERE project_id = $1 AND last_time >= $2 AND first_time <= $3
		ORDER BY last_time DESC, epoch DESC`, p.project, p.from, p.to)
}

// conditions are those on an index and on the row of an event, and their
// arguments after those that come before.
type conditions struct {
	text strings.Builder
	args []any
}

func (c *conditions) arg(v any) string {
	c.args = append(c.args, v)
	return "$" + strconv.Itoa(len(c.args))
}

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

// index is the table to look in, how its rows are narrowed down, and whether the
// event's own row is needed too. i and e are put in for the two.
func (p *eventPage) index(c *conditions, times func()) (table string, withRow bool) {
	name := cleanText(p.query.Name)
	switch {
	case p.query.DistinctIDs != nil:
		table, withRow = "events_by_distinct_id", name != ""
		c.addOneOf("i.distinct_id", p.query.DistinctIDs)
		if withRow {
			c.text.WriteString(" AND e.event = " + c.arg(name))
		}
	case name != "":
		table = "events_by_name"
		c.text.WriteString(" AND i.event = " + c.arg(name))
	default:
		table = "events_by_time"
	}
	times()
	return table, withRow
}

// search looks for events in the indexes of some epochs. The first part of the
// statement finds for each epoch the time of the last event that could come into
// the page, so that the second part reads no more than a page of each.
func (p *eventPage) search(ctx context.Context, epochs []eventEpoch) error {
	c := &conditions{args: []any{p.project}}
	oldest, _ := p.lowerBound()
	lower := c.arg(oldest)
	table, withRow := p.index(c, func() {
		fmt.Fprintf(&c.text, " AND i.timestamp <= %s", c.arg(p.to))
		if p.query.After != nil {
			fmt.Fprintf(&c.text, " AND (i.timestamp < %s OR i.id < %s)", c.arg(p.cursor.timestamp), c.arg(p.cursor.id))
		}
		if p.mark < math.MaxInt64 {
			fmt.Fprintf(&c.text, " AND i.id <= %s", c.arg(p.mark))
		}
	})
	join := ""
	if withRow {
		join = " JOIN events e ON e.id = i.id"
	}
	limit := strconv.Itoa(p.query.Limit)
	text := `WITH spans AS MATERIALIZED (SELECT x.epoch AS epoch, COALESCE((
			SELECT i.timestamp FROM ` + table + ` i` + join + `
			WHERE i.epoch = x.epoch AND i.project_id = $1 AND i.timestamp >= ` + lower + c.text.String() + `
			ORDER BY i.timestamp DESC, i.id DESC LIMIT 1 OFFSET ` + strconv.Itoa(p.query.Limit-1) + `), ` + lower + `) AS oldest
		FROM event_epochs x WHERE x.project_id = $1 AND x.epoch IN (` + joinNumbers(epochs, func(e eventEpoch) int64 { return e.epoch }) + `))
		SELECT i.timestamp, i.id FROM spans CROSS JOIN ` + table + ` i` + join + `
		WHERE i.epoch = spans.epoch AND i.project_id = $1 AND i.timestamp >= spans.oldest` + c.text.String() + `
		ORDER BY i.timestamp DESC, i.id DESC LIMIT ` + limit
	return p.read(ctx, text, c.args)
}

// scan looks through the events that are not indexed yet.
func (p *eventPage) scan(ctx context.Context) error {
	c := &conditions{args: []any{p.project, p.mark, p.from, p.to}}
	if p.query.DistinctIDs != nil {
		c.addOneOf("distinct_id", p.query.DistinctIDs)
	}
	if name := cleanText(p.query.Name); name != "" {
		c.text.WriteString(" AND event = " + c.arg(name))
	}
	if p.query.After != nil {
		fmt.Fprintf(&c.text, " AND (timestamp < %s OR id < %s)", c.arg(p.cursor.timestamp), c.arg(p.cursor.id))
	}
	return p.read(ctx, `SELECT timestamp, id FROM events WHERE project_id = $1 AND id > $2
		AND timestamp >= $3 AND timestamp <= $4`+c.text.String()+`
		ORDER BY timestamp DESC, id DESC LIMIT `+strconv.Itoa(p.query.Limit), c.args)
}

// readEvents reads the events of a page in its order.
func (s *Store) readEvents(ctx context.Context, projectID int64, positions []eventPosition) ([]capture.Record, error) {
	byID := make(map[int64]capture.Record, len(positions))
	for chunk := range slices.Chunk(positions, 200) {
		found, err := list(ctx, s.read, eventFields, `SELECT `+eventColumns+` FROM events e WHERE e.project_id = $1
			AND e.id IN (`+joinNumbers(chunk, func(p eventPosition) int64 { return p.id })+`)`, projectID)
		if err != nil {
			return nil, err
		}
		for i := range found {
			byID[found[i].ID] = found[i]
		}
	}
	out := make([]capture.Record, 0, len(positions))
	for _, p := range positions {
		if r, ok := byID[p.id]; ok { // it may have been erased meanwhile
			out = append(out, r)
		}
	}
	return out, nil
}

// Event implements capture.History: events with the same uuid differ in name or
// distinct id, and their keys begin with it.
func (s *Store) Event(ctx context.Context, projectID int64, id capture.UUID) (*capture.Record, error) {
	low, high := keyBounds(id)
	found, err := list(ctx, s.read, eventFields, `SELECT `+eventColumns+` FROM event_keys k JOIN events e ON e.id = k.id
		WHERE k.key >= $1 AND k.key <= $2 AND e.project_id = $3 AND e.uuid = $4
		ORDER BY e.timestamp DESC, e.id DESC LIMIT 1`, low, high, projectID, id[:])
	return firstOrNil(found), s.readError("an event", err)
}

// keyBounds are the bounds of the duplicate keys of a uuid's events.
func keyBounds(id capture.UUID) (low, high []byte) {
	low = append(low, id[:]...)
	high = append(high, id[:]...)
	for len(high) < keySize {
		high = append(high, 0xff)
	}
	return low, high
}

// Ledger implements capture.History. Epochs in which the project has no events
// are passed over.
func (s *Store) Ledger(ctx context.Context, projectID, after int64, limit int) ([]capture.Record, error) {
	if limit <= 0 {
		return nil, nil
	}
	out, err := s.ledgerAfter(ctx, projectID, after, limit)
	return out, s.readError("events", err)
}

func (s *Store) ledgerAfter(ctx context.Context, projectID, after int64, limit int) (out []capture.Record, err error) {
	mark, err := s.lastIndexedID(ctx, s.read)
	if err != nil {
		return nil, err
	}
	read := func(above, upTo int64) error {
		found, err := list(ctx, s.read, eventFields, `SELECT `+eventColumns+` FROM events e WHERE e.id > $1 AND e.id <= $2 AND e.project_id = $3 ORDER BY e.id LIMIT $4`,
			above, upTo, projectID, limit-len(out))
		out = append(out, found...)
		return err
	}
	for epoch := max(after, 0) >> epochBits; len(out) < limit; epoch++ {
		next, err := s.nextEpoch(ctx, projectID, epoch)
		if err != nil {
			return nil, err
		}
		if !next.Valid {
			break
		}
		epoch = next.Int64
		if err := read(max(after, epoch<<epochBits-1), min((epoch+1)<<epochBits-1, mark)); err != nil {
			return nil, err
		}
	}
	if len(out) < limit && mark < math.MaxInt64 {
		err = read(max(after, mark), math.MaxInt64)
	}
	return out, err
}

// nextEpoch is the first epoch from one on in which a project has events, null for none.
func (s *Store) nextEpoch(ctx context.Context, projectID, from int64) (next sql.NullInt64, err error) {
	err = s.read.QueryRowContext(ctx, `SELECT MIN(epoch) FROM event_epochs WHERE project_id = $1 AND epoch >= $2`, projectID, from).Scan(&next)
	return next, err
}

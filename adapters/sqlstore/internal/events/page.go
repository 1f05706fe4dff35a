package events

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/adapters/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/capture"
)

// eventColumns are the columns for eventFields. The person's properties are stored with
// the first event that has them (see states.go in sqlstore).
const eventColumns = `e.id, e.project_id, e.uuid, e.event, e.distinct_id, e.properties, e.elements_chain, e.timestamp, e.created_at,
	e.person_uuid, e.person_created_at, COALESCE((SELECT s.properties FROM person_states s WHERE s.event_id = e.person_state), '{}'), e.person_mode, e.historical`

// eventFields returns the destinations of eventColumns.
func eventFields(r *capture.Record) []any {
	return []any{
		&r.ID, &r.ProjectID, database.ScanUUID(&r.UUID), &r.Name, &r.DistinctID, &r.Properties, &r.ElementsChain, database.ScanTime(&r.Timestamp), database.ScanTime(&r.CreatedAt),
		database.ScanUUID(&r.PersonID), database.ScanTime(&r.PersonCreatedAt), &r.PersonProperties, &r.PersonMode, &r.Historical,
	}
}

// eventPosition is the sort key of an event in a page. The timestamp is in
// microseconds.
type eventPosition struct{ timestamp, id int64 }

// compareNewest compares positions in the order of pages: newest first.
func compareNewest(a, b eventPosition) int {
	return cmp.Or(cmp.Compare(b.timestamp, a.timestamp), cmp.Compare(b.id, a.id))
}

// Events implements capture.History.
//
// The indexes of events are clustered by epoch, and event_epochs contains the times of
// the first and the last event of each epoch. Epochs are searched from the newest to
// the oldest, in groups of growing size, until no further epoch can contain an event
// that is newer than the events of a full page. Events that are not indexed yet are
// scanned.
func (s *Reader) Events(ctx context.Context, projectID int64, q capture.EventQuery) ([]capture.Record, error) {
	if q.Limit <= 0 || q.DistinctIDs != nil && len(q.DistinctIDs) == 0 {
		return nil, nil
	}
	p := newEventPage(s, projectID, q)
	if err := p.find(ctx); err != nil {
		return nil, s.db.ReadError("events", err)
	}
	out, err := s.readEvents(ctx, projectID, p.positions)
	return out, s.db.ReadError("events", err)
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
	mark     int64 // events with greater ids are not indexed
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

// epochGroup is the maximum number of epochs in one statement.
const epochGroup = 128

// find fills the positions: from the events that are not indexed, then from groups of
// epochs.
func (p *eventPage) find(ctx context.Context) (err error) {
	if p.mark, err = p.store.log.LastIndexedID(ctx, p.store.db.Read); err != nil {
		return err
	}
	if p.mark < math.MaxInt64 {
		if err := p.scan(ctx); err != nil {
			return err
		}
	}
	// Epochs with newer events come first; a page that is full with newer events than
	// the rest ends the search.
	epochs, err := p.epochs(ctx)
	if err != nil {
		return err
	}
	for size := 1; len(epochs) > 0; size = min(2*size, epochGroup) {
		// Begin with a single epoch, since the newest one often fills the page.
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

// lowerBound returns the time that an event must reach to get into the page, and
// whether the page is full.
func (p *eventPage) lowerBound() (int64, bool) {
	if len(p.positions) < p.query.Limit {
		return p.from, false
	}
	return p.positions[len(p.positions)-1].timestamp, true
}

// read merges the results of a statement into the page.
func (p *eventPage) read(ctx context.Context, text string, args []any) error {
	found, err := database.List(ctx, p.store.db.Read, func(e *eventPosition) []any { return []any{&e.timestamp, &e.id} }, text, args...)
	p.positions = append(p.positions, found...)
	slices.SortFunc(p.positions, compareNewest)
	p.positions = p.positions[:min(len(p.positions), p.query.Limit)]
	return err
}

// eventEpoch is an epoch with the time of the project's last event in it.
type eventEpoch struct{ epoch, last int64 }

// epochs returns the epochs whose times overlap the bounds, newest first.
func (p *eventPage) epochs(ctx context.Context) ([]eventEpoch, error) {
	return database.List(ctx, p.store.db.Read, func(e *eventEpoch) []any { return []any{&e.epoch, &e.last} },
		`SELECT epoch, last_time FROM event_epochs WHERE project_id = $1 AND last_time >= $2 AND first_time <= $3
		ORDER BY last_time DESC, epoch DESC`, p.project, p.from, p.to)
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

// Index returns the index table for the query and whether the statement also needs the
// row of the event, and adds the query's conditions to c. In their text, i is the alias
// of the index and e the alias of the event. times adds the conditions on times and
// ids, which come last.
func (p *eventPage) index(c *conditions, times func()) (table string, withRow bool) {
	name := database.CleanText(p.query.Name)
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

// search finds events in the indexes of some epochs. The first part of the statement
// computes for each epoch the time of the last event that could get into the page, so
// that the second part reads at most one page of each epoch.
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
		FROM event_epochs x WHERE x.project_id = $1 AND x.epoch IN (` + database.JoinNumbers(epochs, func(e eventEpoch) int64 { return e.epoch }) + `))
		SELECT i.timestamp, i.id FROM spans CROSS JOIN ` + table + ` i` + join + `
		WHERE i.epoch = spans.epoch AND i.project_id = $1 AND i.timestamp >= spans.oldest` + c.text.String() + `
		ORDER BY i.timestamp DESC, i.id DESC LIMIT ` + limit
	return p.read(ctx, text, c.args)
}

// scan finds events among those that are not indexed yet.
func (p *eventPage) scan(ctx context.Context) error {
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
	return p.read(ctx, `SELECT timestamp, id FROM events WHERE project_id = $1 AND id > $2
		AND timestamp >= $3 AND timestamp <= $4`+c.text.String()+`
		ORDER BY timestamp DESC, id DESC LIMIT `+strconv.Itoa(p.query.Limit), c.args)
}

// readEvents reads the rows of the positions, in their order.
func (s *Reader) readEvents(ctx context.Context, projectID int64, positions []eventPosition) ([]capture.Record, error) {
	byID := make(map[int64]capture.Record, len(positions))
	for chunk := range slices.Chunk(positions, 200) {
		found, err := database.List(ctx, s.db.Read, eventFields, `SELECT `+eventColumns+` FROM events e WHERE e.project_id = $1
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
	found, err := database.List(ctx, s.db.Read, eventFields, `SELECT `+eventColumns+` FROM event_keys k JOIN events e ON e.id = k.id
		WHERE k.key >= $1 AND k.key <= $2 AND e.project_id = $3 AND e.uuid = $4
		ORDER BY e.timestamp DESC, e.id DESC LIMIT 1`, low, high, projectID, id[:])
	return database.FirstOrNil(found), s.db.ReadError("an event", err)
}

// Ledger implements capture.History. Epochs without events of the project are skipped.
func (s *Reader) Ledger(ctx context.Context, projectID, after int64, limit int) ([]capture.Record, error) {
	if limit <= 0 {
		return nil, nil
	}
	out, err := s.ledgerAfter(ctx, projectID, after, limit)
	return out, s.db.ReadError("events", err)
}

// ledgerAfter implements Ledger: it reads epoch by epoch, then the events that are not
// indexed yet and may have no row in event_epochs.
func (s *Reader) ledgerAfter(ctx context.Context, projectID, after int64, limit int) (out []capture.Record, err error) {
	mark, err := s.log.LastIndexedID(ctx, s.db.Read)
	if err != nil {
		return nil, err
	}
	read := func(above, upTo int64) error {
		found, err := database.List(ctx, s.db.Read, eventFields, `SELECT `+eventColumns+` FROM events e WHERE e.id > $1 AND e.id <= $2 AND e.project_id = $3 ORDER BY e.id LIMIT $4`,
			above, upTo, projectID, limit-len(out))
		out = append(out, found...)
		return err
	}
	for epoch := max(after, 0) >> EpochBits; len(out) < limit; epoch++ {
		next, err := s.log.NextEpoch(ctx, projectID, epoch)
		if err != nil {
			return nil, err
		}
		if !next.Valid {
			break
		}
		epoch = next.Int64
		if err := read(max(after, epoch<<EpochBits-1), min((epoch+1)<<EpochBits-1, mark)); err != nil {
			return nil, err
		}
	}
	if len(out) < limit && mark < math.MaxInt64 {
		err = read(max(after, mark), math.MaxInt64)
	}
	return out, err
}

package sqlstore

import (
	"context"
	"database/sql/driver"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights"
)

const (
	// scanBatch is how many ids of long rows are read at a time, givenBatch the most
	// events of a batch: between them somebody looks whether the query was cancelled, and
	// a regular expression may take 50 µs for each.
	scanBatch, givenBatch = 4096, 512
	// scanNames is how many names or distinct ids one statement asks for.
	scanNames = 400
)

// inTime, inNames and inIDs are the columns that the indexes of events hold.
const (
	inNames = insights.Names
	inIDs   = insights.DistinctIDs | insights.People | insights.PeopleCreated
)

// Scan implements insights.Reader.
func (r *insightReader) Scan(ctx context.Context, s insights.Scan, yield func(*insights.Batch) error) error {
	if s.Columns&insights.PeopleCreated != 0 && !r.created { // ids are asked for anew
		r.created, r.numbers = true, map[string]uint32{}
	}
	var seen error // what yield says is not the store's
	give := func(b *insights.Batch) error {
		seen = yield(b)
		return seen
	}
	for _, names := range chunked(s.Names) {
		for _, ids := range chunked(s.DistinctIDs) {
			s.Names, s.DistinctIDs = names, ids
			switch err := newInsightScan(r, s).run(ctx, give); {
			case seen != nil:
				return seen
			case err != nil:
				return r.store.reading("events", err)
			}
		}
	}
	return nil
}

// chunked cuts a list into pieces that fit into a statement; no list stays none.
func chunked(list []string) (out [][]string) {
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

// insightScan is a scan that is carried out.
type insightScan struct {
	*insightReader
	scan     insights.Scan
	from, to int64
	read     eventColumnsRead
	fill     []func(*eventColumnsRead, driver.Value) error // by column of the statement
}

func newInsightScan(r *insightReader, s insights.Scan) *insightScan {
	p := &insightScan{insightReader: r, scan: s, from: s.From, to: s.To}
	if s.From == 0 && s.To == 0 {
		p.from, p.to = math.MinInt64, math.MaxInt64
	}
	return p
}

func (p *insightScan) run(ctx context.Context, yield func(*insights.Batch) error) error {
	epochs, err := p.epochs(ctx)
	if err != nil {
		return err
	}
	for _, epoch := range epochs {
		if err := p.epoch(ctx, epoch, yield); err != nil {
			return err
		}
	}
	for id := p.mark; id < p.last; id += scanBatch {
		if err := p.stretch(ctx, id+1, min(id+scanBatch, p.last), yield); err != nil {
			return err
		}
	}
	return nil
}

// epochs are those that can hold what is asked for.
func (p *insightScan) epochs(ctx context.Context) ([]int64, error) {
	return column[int64](ctx, p.store.read, `SELECT epoch FROM event_epochs
		WHERE project_id = $1 AND last_time >= $2 AND first_time <= $3 AND epoch <= $4 ORDER BY epoch`, p.project, p.from, p.to, p.mark>>epochBits)
}

// index is the index to look in; the conditions on it are written to c.
func (p *insightScan) index(c *conditions) (table string) {
	switch {
	case p.scan.DistinctIDs != nil:
		table = "events_by_distinct_id"
		c.oneOf("i.distinct_id", p.scan.DistinctIDs)
	case p.scan.Names != nil:
		table = "events_by_name"
		c.named("i.event", p.scan.Names)
	case p.scan.Columns&inIDs != 0:
		table = "events_by_distinct_id"
	default:
		table = "events_by_time"
	}
	if p.from > math.MinInt64 || p.to < math.MaxInt64 {
		fmt.Fprintf(&c.text, " AND i.timestamp >= %s AND i.timestamp <= %s", c.arg(p.from), c.arg(p.to))
	}
	return table
}

// named asks for names of events.
func (c *conditions) named(column string, names []string) {
	values := make([]string, len(names))
	for i, name := range names {
		values[i] = c.arg(cleanText(name))
	}
	c.text.WriteString(" AND " + column + " IN (" + strings.Join(values, ", ") + ")")
}

// covers says whether an index holds all that is asked for.
func (p *insightScan) covers(table string) bool {
	has := insights.Columns(0)
	switch table {
	case "events_by_name":
		has = inNames
	case "events_by_distinct_id":
		has = inIDs
		if p.scan.Names != nil {
			return false
		}
	}
	return p.scan.Columns&^has == 0
}

// epoch reads the events of an epoch out of an index where that has all columns. It
// is small then, and read at once. Otherwise rows of events are read, a stretch of ids
// at a time: all of them in their order, which is the cheapest way to read many, unless
// the index shows that few are asked for.
func (p *insightScan) epoch(ctx context.Context, epoch int64, yield func(*insights.Batch) error) error {
	c := &conditions{args: []any{epoch, p.project}}
	table := p.index(c)
	if epoch == p.mark>>epochBits {
		c.text.WriteString(" AND i.id <= " + c.arg(p.mark))
	}
	where := ` FROM ` + table + ` i WHERE i.epoch = $1 AND i.project_id = $2` + c.text.String()
	if p.covers(table) {
		return p.rows(ctx, yield, "i", where, c.args)
	}
	first := epoch << epochBits
	last := min(first+1<<epochBits-1, p.mark)
	if p.scan.Names != nil || p.scan.DistinctIDs != nil {
		var n int64
		if err := p.store.read.QueryRowContext(ctx, `SELECT COUNT(*)`+where, c.args...).Scan(&n); err != nil || n == 0 {
			return err
		}
		if n < fewRows {
			join := ` FROM ` + table + ` i CROSS JOIN events e WHERE i.epoch = $1 AND i.project_id = $2` + c.text.String() + ` AND e.id = i.id`
			if p.scan.DistinctIDs != nil && p.scan.Names != nil {
				more := &conditions{args: c.args}
				more.named("e.event", p.scan.Names)
				join, c.args = join+more.text.String(), more.args
			}
			return p.rows(ctx, yield, "e", join, c.args)
		}
	}
	// Of short rows an epoch is read at once: the more people are asked for together,
	// the nearer they lie to each other.
	step := int64(scanBatch)
	if p.scan.Columns&longColumns == 0 {
		step = 1 << epochBits
	}
	for id := first; id <= last; id += step {
		if err := p.stretch(ctx, id, min(id+step-1, last), yield); err != nil {
			return err
		}
	}
	return nil
}

const longColumns = insights.Properties | insights.PersonProperties | insights.Elements

// fewRows is how many of the 16,384 events of an epoch are read one by one rather
// than by reading all of them.
const fewRows = 1 << epochBits / 8

// stretch reads the rows of events with first <= id <= last.
func (p *insightScan) stretch(ctx context.Context, first, last int64, yield func(*insights.Batch) error) error {
	c := &conditions{args: []any{first, last, p.project}}
	if p.from > math.MinInt64 || p.to < math.MaxInt64 {
		fmt.Fprintf(&c.text, " AND e.timestamp >= %s AND e.timestamp <= %s", c.arg(p.from), c.arg(p.to))
	}
	if p.scan.Names != nil {
		c.named("e.event", p.scan.Names)
	}
	if p.scan.DistinctIDs != nil {
		c.oneOf("e.distinct_id", p.scan.DistinctIDs)
	}
	return p.rows(ctx, yield, "e", ` FROM events e WHERE e.id >= $1 AND e.id <= $2 AND e.project_id = $3`+c.text.String(), c.args)
}

// scanColumn is a column of events: what has to be asked for, its expression, and
// where it goes.
type scanColumn struct {
	column insights.Columns
	text   string
	fill   func(*eventColumnsRead, driver.Value) error
}

func textColumn(to func(*eventColumnsRead) *[]string) func(*eventColumnsRead, driver.Value) error {
	return func(e *eventColumnsRead, v driver.Value) error {
		list := to(e)
		*list = append(*list, v.(string))
		return nil
	}
}

func numberColumn(to func(*eventColumnsRead) *[]int64) func(*eventColumnsRead, driver.Value) error {
	return func(e *eventColumnsRead, v driver.Value) error {
		list := to(e)
		*list = append(*list, v.(int64))
		return nil
	}
}

func uuidsColumn(to func(*eventColumnsRead) *[]capture.UUID) func(*eventColumnsRead, driver.Value) error {
	return func(e *eventColumnsRead, v driver.Value) error {
		list := to(e)
		uuid, err := uuidOf(v.([]byte))
		*list = append(*list, uuid)
		return err
	}
}

// scanColumns are all columns, of an index too where the table is i.
var scanColumns = []scanColumn{
	{0, "%s.id", numberColumn(func(e *eventColumnsRead) *[]int64 { return &e.id })},
	{0, "%s.timestamp", numberColumn(func(e *eventColumnsRead) *[]int64 { return &e.time })},
	{insights.Names, "%s.event", textColumn(func(e *eventColumnsRead) *[]string { return &e.names })},
	{insights.DistinctIDs | insights.People, "%s.distinct_id", textColumn(func(e *eventColumnsRead) *[]string { return &e.ids })},
	{insights.UUIDs, "%s.uuid", uuidsColumn(func(e *eventColumnsRead) *[]capture.UUID { return &e.uuid })},
	{insights.CreatedAt, "%s.created_at", numberColumn(func(e *eventColumnsRead) *[]int64 { return &e.created })},
	{insights.PeopleThen, "%s.person_uuid", uuidsColumn(func(e *eventColumnsRead) *[]capture.UUID { return &e.stored })},
	{insights.Modes, "%s.person_mode", func(e *eventColumnsRead, v driver.Value) error {
		e.mode = append(e.mode, capture.PersonMode(v.(int64)))
		return nil
	}},
	{insights.Elements, "%s.elements_chain", textColumn(func(e *eventColumnsRead) *[]string { return &e.elements })},
	{insights.Properties, "%s.properties", textColumn(func(e *eventColumnsRead) *[]string { return &e.properties })},
	{insights.PersonProperties, `COALESCE((SELECT s.properties FROM person_states s WHERE s.event_id = %s.person_state), '{}')`,
		textColumn(func(e *eventColumnsRead) *[]string { return &e.personProperty })},
}

// rows reads the events of a statement without its columns, and gives them away.
func (p *insightScan) rows(ctx context.Context, yield func(*insights.Batch) error, table, rest string, args []any) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var texts []string
	p.fill = p.fill[:0]
	sameName := len(p.scan.Names) == 1
	for i := range scanColumns {
		if c := &scanColumns[i]; c.column == 0 || p.scan.Columns&c.column != 0 && !(sameName && c.column == insights.Names) {
			texts, p.fill = append(texts, fmt.Sprintf(c.text, table)), append(p.fill, c.fill)
		}
	}
	e := &p.read
	e.reset()
	err := plainRows(ctx, p.store.read, func(row []driver.Value) error {
		for i, fill := range p.fill {
			if err := fill(e, row[i]); err != nil {
				return err
			}
		}
		return nil
	}, `SELECT `+strings.Join(texts, ", ")+rest, args...)
	if sameName && p.scan.Columns&insights.Names != 0 {
		e.names = append(e.names, slices.Repeat([]string{cleanText(p.scan.Names[0])}, len(e.id))...)
	}
	if err == nil && p.scan.Columns&insights.People != 0 {
		err = p.attribute(ctx, e, p.scan.Reserve)
	}
	if err != nil {
		return err
	}
	for from := 0; from < len(e.id); from += givenBatch {
		b := e.batch(p.scan.Columns, from, min(from+givenBatch, len(e.id)))
		if err := yield(&b); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// batch is some of the events.
func (e *eventColumnsRead) batch(asked insights.Columns, from, to int) insights.Batch {
	b := insights.Batch{
		ID: e.id[from:to], Time: e.time[from:to], Name: part(e.names, from, to), UUID: part(e.uuid, from, to), CreatedAt: part(e.created, from, to),
		Person: part(e.person, from, to), PersonThen: part(e.stored, from, to), Mode: part(e.mode, from, to),
		Elements: part(e.elements, from, to), Properties: part(e.properties, from, to), PersonProperties: part(e.personProperty, from, to),
	}
	if asked&insights.DistinctIDs != 0 {
		b.DistinctID = part(e.ids, from, to)
	}
	return b
}

// part is a part of a column, nil of one that was not asked for.
func part[T any](column []T, from, to int) []T {
	if len(column) == 0 {
		return nil
	}
	return column[from:to:to]
}

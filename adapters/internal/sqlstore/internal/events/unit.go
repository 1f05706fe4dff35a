package events

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// unitScan is the scan of one unit.
type unitScan struct {
	*insightScan
	unit
	// e is the buffer for the events, and give is called with it when it is filled.
	e    *columnBuffer
	give func(*columnBuffer) error
}

const (
	// longColumns are the columns that only chunks have.
	longColumns = port.Properties | port.PersonProperties | port.Elements
	// peopleColumns and originColumns are the columns in the strings people and origins of
	// a block.
	peopleColumns = port.DistinctIDs | port.People | port.PeopleCreated | port.PeopleAtEvent
	originColumns = port.UUIDs | port.CreatedAt | port.Modes
)

// run reads the unit from its block, or from rows if it has no block. Long columns are in chunks.
func (u *unitScan) run(ctx context.Context) error {
	if u.first > u.mark {
		return u.readRows(ctx)
	}
	return u.eachBlock(ctx, func(keep []int32) error {
		if u.want&longColumns != 0 {
			return u.readLong(ctx, keep)
		}
		u.fill(keep)
		return u.flush()
	})
}

// eachBlock decodes the unit's block, usually one, and calls visit with the indexes of
// the events that match the scan, unless there are none.
func (u *unitScan) eachBlock(ctx context.Context, visit func(keep []int32) error) error {
	var parts blockParts
	if u.want&peopleColumns != 0 || u.scan.DistinctIDs != nil {
		parts |= withPeople
	}
	if u.want&originColumns != 0 {
		parts |= withOrigins
	}
	blocks, err := u.store.log.readBlocks(ctx, u.store.db.Read, u.project, u.unit, parts)
	if err != nil {
		return err
	}
	for i := range blocks {
		u.scan.Pause(ctx)
		b := &blocks[i]
		if err := b.decode(&u.e.block); err != nil {
			return err
		}
		u.e.reset()
		u.e.bytes = len(b.names) + len(b.people) + len(b.origins)
		u.scan.Pause(ctx)
		keep := u.selectEvents(&u.e.block)
		if len(keep) == 0 {
			continue
		}
		if err := visit(keep); err != nil {
			return err
		}
	}
	return nil
}

// selectEvents returns the indexes of the events of a block that match the scan.
func (u *unitScan) selectEvents(c *block.Columns) []int32 {
	m := newMatcher(c, u.scan.Names, u.scan.DistinctIDs)
	keep := u.e.keep[:0]
	if m.any {
		for i, t := range c.Times {
			if t >= u.from && t <= u.to && c.IDs[i] >= u.first && c.IDs[i] <= u.last && m.matches(i) {
				keep = append(keep, int32(i))
			}
		}
	}
	u.e.keep = keep
	return keep
}

// matcher selects events of a block by name and distinct id, each of which is compared a
// single time.
type matcher struct {
	c *block.Columns
	// names and distinctIDs have an element for each name and distinct id of the block; nil
	// means that all match.
	names, distinctIDs []bool
	any                bool // false if no event can match
}

// newMatcher returns a matcher for lists of names and distinct ids, of which nil means all.
func newMatcher(c *block.Columns, names, distinctIDs []string) matcher {
	m := matcher{c: c, any: true}
	m.names = m.mark(c.Names, names, database.CleanText)
	m.distinctIDs = m.mark(c.DistinctIDs, distinctIDs, capture.StoredDistinctID)
	return m
}

// mark reports which texts of a block are in a list, in their stored form.
func (m *matcher) mark(texts, wanted []string, stored func(string) string) (out []bool) {
	if wanted == nil {
		return nil
	}
	set := storedSet(wanted, stored)
	out = make([]bool, len(texts))
	for i, text := range texts {
		out[i] = set[text]
	}
	m.any = m.any && slices.Contains(out, true)
	return out
}

// storedSet returns the stored forms of texts: a map, because clients choose the texts and
// there may be many.
func storedSet(texts []string, stored func(string) string) map[string]bool {
	set := make(map[string]bool, len(texts))
	for _, text := range texts {
		set[stored(text)] = true
	}
	return set
}

// matches reports whether an event matches.
func (m *matcher) matches(i int) bool {
	return (m.names == nil || m.names[m.c.NameOf[i]]) && (m.distinctIDs == nil || m.distinctIDs[m.c.DistinctIDOf[i]])
}

// fill copies the requested columns of some events from the block to the buffer.
func (u *unitScan) fill(keep []int32) {
	e, c := u.e, &u.e.block
	for _, i := range keep {
		e.id, e.time = append(e.id, c.IDs[i]), append(e.time, c.Times[i])
	}
	if u.want&port.Names != 0 {
		for _, i := range keep {
			e.names = append(e.names, c.Names[c.NameOf[i]])
		}
	}
	if u.want&peopleColumns != 0 {
		for _, i := range keep {
			e.ids, e.stored = append(e.ids, c.DistinctIDs[c.DistinctIDOf[i]]), append(e.stored, c.Persons[c.PersonOf[i]])
		}
	}
	if u.want&originColumns != 0 {
		u.fillOrigins(keep)
	}
}

// fillOrigins copies the requested columns of originColumns.
func (u *unitScan) fillOrigins(keep []int32) {
	e, c := u.e, &u.e.block
	for _, i := range keep {
		if u.want&port.UUIDs != 0 {
			e.uuid = append(e.uuid, c.UUIDs[i])
		}
		if u.want&port.CreatedAt != 0 {
			e.created = append(e.created, c.Arrived[i])
		}
		if u.want&port.Modes != 0 {
			mode, _ := c.Mode(int(i))
			e.mode = append(e.mode, mode)
		}
	}
}

// readLong delivers events of the decoded block with their long columns, in parts of about
// database.PieceBytes. Events that are erased meanwhile are left out.
func (u *unitScan) readLong(ctx context.Context, keep []int32) error {
	e, ids := u.e, u.e.block.IDs
	last := ids[keep[len(keep)-1]]
	if last-ids[keep[0]] > fewEvents*int64(len(keep)) {
		last = 0
	}
	n := 0 // the number of events in the buffer, which are the first of keep
	for _, at := range keep {
		ok, err := u.addLong(ctx, ids[at], last)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		keep[n] = at
		if n++; e.bytes > database.PieceBytes {
			u.fill(keep[:n])
			if err := u.flush(); err != nil {
				return err
			}
			e.reset()
			n = 0
		}
	}
	u.fill(keep[:n])
	return u.flush()
}

// addLong adds the requested long columns of an event to the buffer. upTo is that of
// LongReader.Read. ok is false if the event is not stored any more.
func (u *unitScan) addLong(ctx context.Context, id, upTo int64) (ok bool, err error) {
	e := u.e
	before := e.long.bytes
	c, ok, err := e.long.Read(ctx, u.store.db.Read, u.project, id, upTo)
	if err != nil || !ok {
		return false, err
	}
	if decoded := e.long.bytes - before; decoded > 0 { // the strings share the memory of the whole chunk
		e.bytes += decoded
		u.scan.Pause(ctx)
	}
	if u.want&port.Elements != 0 {
		e.elements = append(e.elements, c.Elements)
	}
	if u.want&port.Properties != 0 {
		e.properties = append(e.properties, c.Properties)
	}
	if u.want&port.PersonProperties != 0 {
		e.personProperty = append(e.personProperty, c.Person)
	}
	return true, nil
}

// readRows reads the matching rows of the unit, whose events are in no block. It flushes the buffer
// when it contains database.PieceBytes, or the events of as many chunks, and continues after them.
func (u *unitScan) readRows(ctx context.Context) error {
	c := &conditions{args: []any{u.first, u.last, u.project}}
	u.addTimeRange(c)
	if u.scan.Names != nil {
		c.addNames("e.event", u.scan.Names)
	}
	if u.scan.DistinctIDs != nil {
		c.addOneOf("e.distinct_id", u.scan.DistinctIDs)
	}
	for first := u.first; first <= u.last; {
		last := u.last
		if u.want&longColumns != 0 {
			// The chunks first: an event that is erased meanwhile has no row then.
			if err := u.e.long.load(ctx, u.store.db.Read, u.project, first, last, chunksAhead); err != nil {
				return err
			}
			if end := u.e.long.last(); end >= first {
				last = min(last, end)
			}
		}
		c.args[0], c.args[1] = first, last
		full, err := u.readInto(ctx, ` FROM events e WHERE e.id >= $1 AND e.id <= $2 AND e.project_id = $3`+c.text.String()+` ORDER BY e.id`, c.args)
		if err != nil {
			return err
		}
		if first = last + 1; full {
			first = u.e.id[len(u.e.id)-1] + 1
		}
		if err := u.fillRows(ctx); err != nil {
			return err
		}
		if err := u.flush(); err != nil {
			return err
		}
	}
	return nil
}

// fillRows adds the requested long columns of the events in the buffer.
func (u *unitScan) fillRows(ctx context.Context) error {
	if u.want&longColumns == 0 {
		return nil
	}
	for _, id := range u.e.id {
		if ok, err := u.addLong(ctx, id, 0); err != nil || !ok {
			return cmp.Or(err, fmt.Errorf("event %d of project %d was erased meanwhile", id, u.project))
		}
	}
	return nil
}

// errFull stops reading rows until the buffer is flushed.
var errFull = errors.New("enough is read for now")

// restRows is the number of rows after which Pause is called, which may sleep in favor of
// other work.
const restRows = 256

// readInto reads the requested columns of the rows of one statement into the buffer. It
// stops when the buffer is full.
func (u *unitScan) readInto(ctx context.Context, rest string, args []any) (full bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	texts, fill := columnTexts(u.want | port.IDs)
	u.e.reset()
	n := 0
	err = plainRows(ctx, u.store.db.Read, func(row []driver.Value) error {
		if n++; n%restRows == 0 {
			u.scan.Pause(ctx)
		}
		for i, fill := range fill {
			if err := fill(u.e, row[i]); err != nil {
				return err
			}
		}
		if u.e.bytes > database.PieceBytes {
			return errFull
		}
		return nil
	}, `SELECT `+strings.Join(texts, ", ")+rest, args...)
	if errors.Is(err, errFull) {
		return true, nil
	}
	return false, err
}

// flush delivers the events in the buffer.
func (u *unitScan) flush() error {
	if len(u.e.time) == 0 {
		return nil
	}
	return u.give(u.e)
}

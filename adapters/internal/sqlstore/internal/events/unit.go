package events

import (
	"context"
	"slices"

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
	// current is the block that is decoded.
	current *encodedBlock
}

const (
	// peopleColumns and originColumns are the columns in the strings people and origins of
	// a block.
	peopleColumns = port.DistinctIDs | port.People | port.PeopleCreated | port.PeopleAtEvent
	originColumns = port.UUIDs | port.CreatedAt | port.Modes
)

// run reads the unit from its block or its new chunks. Long columns are in chunks.
func (u *unitScan) run(ctx context.Context) error {
	if done, err := u.runSealed(ctx); done || err != nil {
		return err
	}
	return u.eachBlock(ctx, func(keep []int32) error {
		if u.want&anyLong != 0 {
			if u.current.sealed != nil {
				return u.readSealed(ctx, keep)
			}
			return u.readLong(ctx, keep)
		}
		u.fill(keep)
		return u.flush()
	})
}

// eachBlock decodes the unit's block, usually one, or its new chunks, and calls visit with the
// indexes of the events that match the scan, unless there are none.
func (u *unitScan) eachBlock(ctx context.Context, visit func(keep []int32) error) error {
	var parts blockParts
	if u.want&peopleColumns != 0 || u.scan.DistinctIDs != nil {
		parts |= withPeople
	}
	if u.want&originColumns != 0 {
		parts |= withOrigins
	}
	blocks, err := readBlocks(ctx, u.store.log.Source(), u.project, u.unit, parts)
	if err != nil {
		return err
	}
	u.scan.Pause(ctx)
	return u.e.decoder.each(blocks, func(b *encodedBlock, c *block.Columns, bytes int) error {
		u.current, u.e.block = b, c
		u.e.reset()
		u.e.bytes = bytes
		u.scan.Pause(ctx)
		if keep := u.selectEvents(c); len(keep) > 0 {
			return visit(keep)
		}
		return nil
	})
}

// selectEvents returns the indexes of the events of a block that match the scan.
func (u *unitScan) selectEvents(c *block.Columns) []int32 {
	m := newMatcher(c, u.scan.Names, u.scan.DistinctIDs)
	keep := u.e.keep[:0]
	if m.any {
		keep = m.selectAll(keep, len(c.Times))
		keep = within(keep, c.Times, u.from, u.to)
		keep = within(keep, c.IDs, u.first, u.last)
	}
	u.e.keep = keep
	return keep
}

// within removes the indexes of numbers that are not between bounds.
func within(keep []int32, numbers []int64, least, most int64) []int32 {
	n := 0
	for _, i := range keep {
		if keep[n] = i; numbers[i] >= least && numbers[i] <= most {
			n++
		}
	}
	return keep[:n]
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

// selectAll appends the indexes of those of the first n events of the block that match.
func (m *matcher) selectAll(keep []int32, n int) []int32 {
	from := len(keep)
	keep = slices.Grow(keep, n)[:from+n]
	at := from
	switch {
	case m.names == nil && m.distinctIDs == nil:
		for i := range n {
			keep[from+i] = int32(i)
		}
		at = from + n
	case m.distinctIDs == nil:
		for i, name := range m.c.NameOf[:n] {
			if keep[at] = int32(i); m.names[name] {
				at++
			}
		}
	default:
		for i := range n {
			if keep[at] = int32(i); m.matches(i) {
				at++
			}
		}
	}
	return keep[:at]
}

// matches reports whether an event matches.
func (m *matcher) matches(i int) bool {
	return (m.names == nil || m.names[m.c.NameOf[i]]) && (m.distinctIDs == nil || m.distinctIDs[m.c.DistinctIDOf[i]])
}

// fill copies the requested columns of some events from the block to the buffer.
func (u *unitScan) fill(keep []int32) {
	u.fillEvents(keep)
	if u.want&peopleColumns != 0 {
		u.fillDistinctIDs(keep)
		u.fillPersons(keep)
	}
	if u.want&originColumns != 0 {
		u.fillOrigins(keep)
	}
}

// fillEvents copies ids, times and names, as far as they are requested.
func (u *unitScan) fillEvents(keep []int32) {
	e, c := u.e, u.e.block
	e.time = gather(e.time, c.Times, keep)
	if u.want&port.IDs != 0 {
		e.id = gather(e.id, c.IDs, keep)
	}
	if u.want&port.Names != 0 {
		e.names = slices.Grow(e.names, len(keep))
		for _, i := range keep {
			e.names = append(e.names, c.Names[c.NameOf[i]])
		}
	}
}

// fillDistinctIDs copies distinct ids, and looks up their owners if persons are requested: also the goroutine that
// reads ahead does so.
func (u *unitScan) fillDistinctIDs(keep []int32) {
	e, c := u.e, u.e.block
	e.ids, e.idOf = pick(e.ids, e.idOf, c.DistinctIDs, c.DistinctIDOf, keep, &e.numbers)
	if u.scan.Columns&port.People != 0 {
		u.lookUp(e)
	}
}

// fillPersons copies the persons with which events were stored.
func (u *unitScan) fillPersons(keep []int32) {
	e, c := u.e, u.e.block
	e.stored, e.storedOf = pick(e.stored, e.storedOf, c.Persons, c.PersonOf, keep, &e.numbers)
}

// fillOrigins copies the requested columns of originColumns.
func (u *unitScan) fillOrigins(keep []int32) {
	e, c := u.e, u.e.block
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
	e := u.e
	detailed, last := u.detailed(keep)
	n := 0 // the number of events in the buffer, which are the first of keep
	for _, at := range keep {
		ok := true
		if detailed != nil && !detailed[e.block.NameOf[at]] {
			for i, column := range longColumns {
				if u.want&column != 0 {
					e.long[i] = append(e.long[i], span{})
				}
			}
		} else {
			var err error
			if ok, err = u.addLong(ctx, e.block.IDs[at], last); err != nil {
				return err
			}
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

// detailed reports which names of the block have events whose long columns are needed, nil for all.
// last is the id of the last such event of a list, or 0 if there are few of them.
func (u *unitScan) detailed(keep []int32) (names []bool, last int64) {
	c := u.e.block
	if u.scan.Detailed != nil {
		m := matcher{c: c, any: true}
		names = m.mark(c.Names, u.scan.Detailed, database.CleanText)
	}
	first, count := int64(0), int64(0)
	for _, at := range keep {
		if names == nil || names[c.NameOf[at]] {
			if last = c.IDs[at]; count == 0 {
				first = last
			}
			count++
		}
	}
	if last-first > fewEvents*count {
		last = 0
	}
	return names, last
}

// addLong adds the requested long columns of an event to the buffer. upTo is that of
// Chunks.Long. ok is false if the event is not stored any more.
func (u *unitScan) addLong(ctx context.Context, id, upTo int64) (ok bool, err error) {
	e := u.e
	before := e.chunks.bytes
	i, err := e.chunks.findLong(ctx, u.store.log.Source(), u.project, id, upTo)
	if i < 0 || err != nil {
		return false, err
	}
	if e.chunks.bytes > before {
		e.states = e.states[:0]
		u.scan.Pause(ctx)
	}
	c := &e.chunks.long
	if u.want&port.Elements != 0 {
		e.long[0] = append(e.long[0], e.addText(c.Elements[i]))
	}
	if u.want&port.Properties != 0 {
		e.long[1] = append(e.long[1], e.addText(c.Properties[i]))
	}
	if u.want&port.PersonProperties != 0 { // many events have the same
		if len(e.states) == 0 {
			e.states = append(e.states, make([]span, len(c.States))...)
		}
		state := &e.states[c.StateOf[i]]
		if state.to == 0 {
			*state = e.addText(c.States[c.StateOf[i]])
		}
		e.long[2] = append(e.long[2], *state)
	}
	return true, nil
}

// flush delivers the events in the buffer.
func (u *unitScan) flush() error {
	if len(u.e.time) == 0 {
		return nil
	}
	return u.give(u.e)
}

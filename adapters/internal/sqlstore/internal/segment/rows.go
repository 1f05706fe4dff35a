package segment

import (
	"errors"
	"fmt"
	"slices"
	"sort"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
)

// Rows reads ranges of events of a group. It keeps the last page of each column and the
// dictionaries, so ranges that follow one another do not decode a page twice. It must not be used
// concurrently, nor after Release of the file.
type Rows struct {
	r   *reader
	err error
}

// Rows returns a reader for the events of a group. It must be closed.
func (f *File) Rows(group int) *Rows {
	rows := &Rows{r: readers.Get().(*reader)}
	rows.err = rows.r.open(f, group)
	return rows
}

// Close releases the memory.
func (r *Rows) Close() error {
	if r.r != nil {
		_ = r.r.open(nil, 0)
		readers.Put(r.r)
	}
	*r = Rows{err: errors.New("the rows are closed")}
	return nil
}

// check returns an error unless the group has a range of events.
func (r *Rows) check(first, n int) error {
	if r.err != nil {
		return r.err
	}
	if first < 0 || n < 0 || first > r.r.group.Events-n {
		return fmt.Errorf("the segment %s, group %d: no %d events from %d, it has %d", r.r.file.name, r.r.group.Index, n, first, r.r.group.Events)
	}
	return nil
}

// Find returns the row of the event with an id. ok is false if the group has no such event.
func (r *Rows) Find(id int64) (row int, ok bool, err error) {
	if r.err != nil {
		return 0, false, r.err
	}
	starts := r.r.group.firstIDs
	at := sort.Search(len(starts), func(i int) bool { return starts[i] > id }) - 1
	if at < 0 {
		return 0, false, nil
	}
	p, err := r.r.page(idColumn, int(r.r.group.chunks[idColumn].page(at).first))
	if err != nil {
		return 0, false, err
	}
	i, ok := slices.BinarySearch(p.numbers, id)
	return int(p.first) + i, ok, nil
}

// Read decodes some columns of n events from the row first on, and reuses the memory of c. The other columns of c
// are invalid.
func (r *Rows) Read(parts Parts, first, n int, c *block.Columns) error {
	if err := r.check(first, n); err != nil {
		return err
	}
	return r.r.parts(parts, first, n, c)
}

// Short decodes all short columns of n events from the row first on, and reuses the memory of c.
func (r *Rows) Short(first, n int, c *block.Columns) error {
	if err := r.check(first, n); err != nil {
		return err
	}
	r.r.first = -1
	if err := r.r.parts(IDs|Times|EventNames|DistinctIDs|Persons, first, n, c); err != nil {
		return err
	}
	r.r.ids, r.r.first = append(r.r.ids[:0], c.IDs...), first
	return r.r.origins(first, n, c)
}

// Long decodes the ids and the long columns of n events from the row first on, and reuses the memory
// of c.
func (r *Rows) Long(first, n int, c *block.Chunk) (err error) {
	if err := r.check(first, n); err != nil {
		return err
	}
	if r.r.first == first && len(r.r.ids) == n { // the range of the last call of Short
		c.IDs = append(c.IDs[:0], r.r.ids...)
	} else if c.IDs, err = r.r.numbersOf(idColumn, first, n, c.IDs[:0]); err != nil {
		return err
	}
	if c.Elements, err = r.r.stringsOf(elementsColumn, first, n, c.Elements[:0]); err != nil {
		return err
	}
	if c.Properties, err = r.r.stringsOf(propertiesColumn, first, n, c.Properties[:0]); err != nil {
		return err
	}
	if r.r.strings, err = r.r.stringsOf(stateColumn, first, n, r.r.strings[:0]); err != nil {
		return err
	}
	c.States, c.StateOf = c.States[:0], c.StateOf[:0]
	numbers := map[string]uint16{}
	for _, text := range r.r.strings {
		number, ok := numbers[text]
		if !ok {
			number = uint16(len(c.States))
			numbers[text] = number
			c.States = append(c.States, text)
		}
		c.StateOf = append(c.StateOf, number)
	}
	clear(r.r.strings)
	return nil
}

// Text is a column of long strings.
type Text int

// The columns of long strings.
const (
	Elements         Text = elementsColumn
	Properties       Text = propertiesColumn
	PersonProperties Text = stateColumn
)

// EachText calls visit with the string of each of some rows, which ascend. It is valid until visit returns.
func (r *Rows) EachText(column Text, rows []int32, visit func(text []byte)) error {
	for len(rows) > 0 {
		if err := r.check(int(rows[0]), 1); err != nil {
			return err
		}
		p, err := r.r.page(int(column), int(rows[0]))
		if err != nil {
			return err
		}
		for len(rows) > 0 && rows[0] < p.first+p.rows {
			at := rows[0] - p.first
			visit(p.bytes[p.offsets[at]:p.offsets[at+1]])
			rows = rows[1:]
		}
	}
	return nil
}

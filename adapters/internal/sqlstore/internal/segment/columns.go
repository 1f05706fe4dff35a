package segment

import (
	"slices"
	"sync"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/capture"
)

// readers keeps the memory of readers.
var readers = sync.Pool{New: func() any { return &reader{} }}

// with calls read with a reader of a group.
func (f *File) with(group int, read func(r *reader, events int) error) error {
	r := readers.Get().(*reader)
	defer func() {
		_ = r.open(nil, 0)
		readers.Put(r)
	}()
	if err := r.open(f, group); err != nil {
		return err
	}
	return read(r, r.group.Events)
}

// Names decodes ids, times and names of a group, like block.Columns.DecodeNames, and reuses the
// memory of c. The other columns of c are invalid until they are decoded.
func (f *File) Names(group int, c *block.Columns) error {
	return f.with(group, func(r *reader, events int) error { return r.parts(IDs|Times|EventNames, 0, events, c) })
}

// People decodes distinct ids and persons of a group, like block.Columns.DecodePeople, and reuses
// the memory of c.
func (f *File) People(group int, c *block.Columns) error {
	return f.with(group, func(r *reader, events int) error { return r.parts(DistinctIDs|Persons, 0, events, c) })
}

// Origins decodes UUIDs, times of arrival and modes of a group, like block.Columns.DecodeOrigins,
// and reuses the memory of c.
func (f *File) Origins(group int, c *block.Columns) error {
	return f.with(group, func(r *reader, events int) error { return r.origins(0, events, c) })
}

// Parts are short columns of a group.
type Parts uint8

// The parts, in the order in which Rows.Read decodes them. Persons are also their times of creation.
// DistinctIDIndexes is the column DistinctIDOf alone, of all events only.
const (
	IDs Parts = 1 << iota
	Times
	EventNames
	DistinctIDs
	DistinctIDIndexes
	Persons
)

// parts reads some columns of a range of rows.
func (r *reader) parts(parts Parts, first, n int, c *block.Columns) (err error) {
	if parts&IDs != 0 {
		c.IDs, err = r.numbersOf(idColumn, first, n, c.IDs[:0])
	}
	if parts&Times != 0 && err == nil {
		c.Times, err = r.numbersOf(timeColumn, first, n, c.Times[:0])
	}
	if parts&EventNames != 0 && err == nil {
		c.Names, c.NameOf, err = r.entryStrings(nameColumn, first, n, c.Names[:0], c.NameOf[:0])
	}
	if parts&DistinctIDs != 0 && err == nil {
		c.DistinctIDs, c.DistinctIDOf, err = r.entryStrings(distinctColumn, first, n, c.DistinctIDs[:0], c.DistinctIDOf[:0])
	}
	if parts&DistinctIDIndexes != 0 && err == nil {
		c.DistinctIDOf, err = r.entryIndexes(distinctColumn, n, c.DistinctIDOf[:0])
	}
	if parts&Persons != 0 && err == nil {
		err = r.people(first, n, c)
	}
	return err
}

// people reads persons of a range of rows.
func (r *reader) people(first, n int, c *block.Columns) (err error) {
	if err := r.persons.read(r, personColumn, first, n); err != nil {
		return err
	}
	if err := r.dates.read(r, createdColumn, first, n); err != nil {
		return err
	}
	r.pair(&r.persons, &r.dates, c)
	return nil
}

// pair sets the list of persons of a range of rows, with their creation times, which are in a
// column of their own. A person with several creation times has an entry for each.
func (r *reader) pair(people, dates *valueList, c *block.Columns) {
	c.Persons, c.PersonCreated, c.PersonOf = c.Persons[:0], c.PersonCreated[:0], slices.Grow(c.PersonOf[:0], len(people.of))
	r.numbers = append(r.numbers[:0], make([]uint16, people.count)...) // the indexes in the list, plus 1
	r.second = slices.Grow(r.second[:0], people.count)[:people.count]  // the dates of the entries with these numbers
	var more map[[2]uint16]uint16                                      // further entries, by person and creation time
	for i, person := range people.of {
		created, number := dates.of[i], r.numbers[person]
		if number != 0 && r.second[person] != created {
			number = more[[2]uint16{person, created}]
		}
		if number == 0 {
			c.Persons, c.PersonCreated = append(c.Persons, people.uuid(person)), append(c.PersonCreated, dates.number(created))
			number = uint16(len(c.Persons))
			if r.numbers[person] == 0 {
				r.numbers[person], r.second[person] = number, created
			} else {
				if more == nil {
					more = map[[2]uint16]uint16{}
				}
				more[[2]uint16{person, created}] = number
			}
		}
		c.PersonOf = append(c.PersonOf, number-1)
	}
}

// origins reads UUIDs, times of arrival and modes of a range of rows.
func (r *reader) origins(first, n int, c *block.Columns) (err error) {
	if c.Arrived, err = r.numbersOf(arrivedColumn, first, n, c.Arrived[:0]); err != nil {
		return err
	}
	if c.UUIDs, err = r.uuidsOf(uuidColumn, first, n, c.UUIDs[:0]); err != nil {
		return err
	}
	names, of, err := r.entryStrings(modeColumn, first, n, nil, r.modes[:0])
	if err != nil {
		return err
	}
	r.modes = of
	list, err := r.parseModes(names)
	if err != nil {
		return err
	}
	c.ClearModes()
	at := 0
	return r.rows(historicalColumn, first, n, func(p *page, from, to int) {
		for _, historical := range p.bits[from:to] {
			c.AddMode(list[of[at]], historical)
			at++
		}
	})
}

// parseModes returns the modes with the names.
func (r *reader) parseModes(names []string) ([]capture.PersonMode, error) {
	list := make([]capture.PersonMode, len(names))
	for i, name := range names {
		at := slices.IndexFunc(modes[:], func(m capture.PersonMode) bool { return m.String() == name })
		if at < 0 {
			return nil, r.wrap(modeColumn, place{}, damagedf("the mode %q", name))
		}
		list[i] = modes[at]
	}
	return list, nil
}

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
	return f.with(group, func(r *reader, events int) error {
		if err := r.nameList(c); err != nil {
			return err
		}
		return r.names(0, events, c)
	})
}

// People decodes distinct ids and persons of a group, like block.Columns.DecodePeople, and reuses
// the memory of c.
func (f *File) People(group int, c *block.Columns) error {
	return f.with(group, func(r *reader, events int) error {
		if err := r.peopleLists(c); err != nil {
			return err
		}
		return r.people(0, events, c)
	})
}

// Origins decodes UUIDs, times of arrival and modes of a group, like block.Columns.DecodeOrigins,
// and reuses the memory of c.
func (f *File) Origins(group int, c *block.Columns) error {
	return f.with(group, func(r *reader, events int) error { return r.origins(0, events, c) })
}

// nameList reads the list of the names of the group.
func (r *reader) nameList(c *block.Columns) (err error) {
	c.Names, err = r.dictionaryTexts(nameColumn, c.Names[:0])
	return err
}

// peopleLists reads the lists of the distinct ids and of the persons of the group.
func (r *reader) peopleLists(c *block.Columns) (err error) {
	if c.DistinctIDs, err = r.dictionaryTexts(distinctColumn, c.DistinctIDs[:0]); err != nil {
		return err
	}
	if c.Persons, err = r.dictionaryUUIDs(personColumn, c.Persons[:0]); err != nil {
		return err
	}
	r.persons = len(c.Persons)
	r.dates, err = r.dictionaryNumbers(createdColumn, r.dates[:0])
	return err
}

// names reads ids, times and names of a range of rows, after nameList.
func (r *reader) names(first, n int, c *block.Columns) (err error) {
	if c.IDs, err = r.numbersOf(idColumn, first, n, c.IDs[:0]); err != nil {
		return err
	}
	if c.Times, err = r.numbersOf(timeColumn, first, n, c.Times[:0]); err != nil {
		return err
	}
	c.NameOf, err = r.entriesOf(nameColumn, first, n, len(c.Names), c.NameOf[:0])
	return err
}

// people reads distinct ids and persons of a range of rows, after peopleLists.
func (r *reader) people(first, n int, c *block.Columns) (err error) {
	if c.DistinctIDOf, err = r.entriesOf(distinctColumn, first, n, len(c.DistinctIDs), c.DistinctIDOf[:0]); err != nil {
		return err
	}
	c.Persons = c.Persons[:r.persons]
	if c.PersonOf, err = r.entriesOf(personColumn, first, n, len(c.Persons), c.PersonOf[:0]); err != nil {
		return err
	}
	if r.created, err = r.entriesOf(createdColumn, first, n, len(r.dates), r.created[:0]); err != nil {
		return err
	}
	r.pair(c)
	return nil
}

// pair sets the creation times of persons, which are in a column of their own: by event, as indexes
// in dates. A person with several gets an entry in the list for each.
func (r *reader) pair(c *block.Columns) {
	const none = -1
	r.createdOf = slices.Grow(r.createdOf[:0], len(c.Persons))[:len(c.Persons)] // by person
	for i := range r.createdOf {
		r.createdOf[i] = none
	}
	c.PersonCreated = append(c.PersonCreated[:0], make([]int64, len(c.Persons))...)
	var more map[[2]uint16]uint16 // further entries, by person and creation time
	for i, person := range c.PersonOf {
		created := r.created[i]
		switch r.createdOf[person] {
		case int32(created):
			continue
		case none:
			r.createdOf[person] = int32(created)
			c.PersonCreated[person] = r.dates[created]
			continue
		}
		key := [2]uint16{person, created}
		at, ok := more[key]
		if !ok {
			if more == nil {
				more = map[[2]uint16]uint16{}
			}
			at = uint16(len(c.Persons))
			more[key] = at
			c.Persons, c.PersonCreated = append(c.Persons, c.Persons[person]), append(c.PersonCreated, r.dates[created])
		}
		c.PersonOf[i] = at
	}
}

// origins reads UUIDs, times of arrival and modes of a range of rows.
func (r *reader) origins(first, n int, c *block.Columns) (err error) {
	if c.Arrived, err = r.numbersOf(arrivedColumn, first, n, c.Arrived[:0]); err != nil {
		return err
	}
	c.UUIDs = slices.Grow(c.UUIDs[:0], n)
	err = r.rows(uuidColumn, first, n, func(p *page, from, to int) { c.UUIDs = append(c.UUIDs, p.uuids[from:to]...) })
	if err != nil {
		return err
	}
	names, err := r.dictionaryTexts(modeColumn, nil)
	if err != nil {
		return err
	}
	if r.modes, err = r.entriesOf(modeColumn, first, n, len(names), r.modes[:0]); err != nil {
		return err
	}
	list, err := r.parseModes(names)
	if err != nil {
		return err
	}
	c.ClearModes()
	at := 0
	return r.rows(historicalColumn, first, n, func(p *page, from, to int) {
		for _, historical := range p.bits[from:to] {
			c.AddMode(list[r.modes[at]], historical)
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

package segment

import (
	"encoding/binary"

	"github.com/parquet-go/parquet-go/format"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/capture"
)

// Texts are the values of the columns of long strings of an event.
type Texts struct{ Elements, Properties, PersonProperties string }

// event reads an event except for its id and its time. It decodes only what it needs of each page and keeps no page, so
// that it needs less time than Short and Long if no other event of the same pages is read.
func (r *Rows) event(row int, e *block.Event, t *Texts) (err error) {
	if err := r.check(row, 1); err != nil {
		return err
	}
	for _, column := range [...]struct {
		at int
		to *string
	}{{nameColumn, &e.Name}, {distinctColumn, &e.DistinctID}, {elementsColumn, &t.Elements}, {propertiesColumn, &t.Properties}, {stateColumn, &t.PersonProperties}} {
		if *column.to, err = r.r.textAt(column.at, row); err != nil {
			return err
		}
	}
	if e.UUID, err = r.r.uuidAt(uuidColumn, row); err != nil {
		return err
	}
	if e.Person, err = r.r.uuidAt(personColumn, row); err != nil {
		return err
	}
	if e.PersonCreated, err = r.r.numberAt(createdColumn, row); err != nil {
		return err
	}
	if e.Arrived, err = r.r.numberAt(arrivedColumn, row); err != nil {
		return err
	}
	if e.Historical, err = r.r.bitAt(historicalColumn, row); err != nil {
		return err
	}
	mode, err := r.r.textAt(modeColumn, row)
	if err != nil {
		return err
	}
	list, err := r.r.parseModes([]string{mode})
	if err == nil {
		e.Mode = list[0]
	}
	return err
}

// valuesAt reads the page of a column that has a row, and returns its values, which are valid until the next
// call, and the index of the row in the page.
func (r *reader) valuesAt(at, row int) (values []byte, from place, i int, err error) {
	c := &r.group.chunks[at]
	from = c.page(c.pageOf(row))
	encoding := columns[at].encoding
	if encoding == format.RLEDictionary && !c.hasDictionary() {
		encoding = columns[at].plain()
	}
	p := &r.pages[at]
	p.place = place{} // its memory is reused
	levels, values, d, err := r.dataPage(p, from, encoding)
	if err == nil && (len(levels) != 0 || d.NumNulls != 0) {
		err = damagedf("%d of %d rows without a value", d.NumNulls, from.rows)
	}
	if encoding == format.DeltaLengthByteArray {
		values = p.bytes
	}
	return values, from, row - int(from.first), err
}

// entryAt returns the index in the dictionary of the value of a row.
func (r *reader) entryAt(at, row int) (n int, err error) {
	values, from, i, err := r.valuesAt(at, row)
	if err != nil {
		return 0, r.wrap(at, from, err)
	}
	defer func() {
		if err != nil {
			err = r.wrap(at, from, err)
		}
	}()
	defer recovered(&err)
	rows := int(from.rows)
	if n := runCount(values); n < rows || n >= rows+8 { // a run of eight may end with padding
		return 0, sameRows(n, rows)
	}
	if r.entries, err = rleIndexes.DecodeInt32(r.entries[:0], values); err != nil {
		return 0, damaged(err)
	}
	if len(r.entries) < rows || r.entries[i] < 0 || r.entries[i] >= block.MaxEvents {
		return 0, damagedf("%d entries for %d rows", len(r.entries), rows)
	}
	return int(r.entries[i]), nil
}

// textAt returns the string of a row.
func (r *reader) textAt(at, row int) (text string, err error) {
	if r.group.chunks[at].hasDictionary() {
		n, err := r.entryAt(at, row)
		if err != nil {
			return "", err
		}
		return r.entryText(at, n)
	}
	values, from, i, err := r.valuesAt(at, row)
	if err == nil {
		text, err = r.stringAt(values, int(from.rows), i)
	}
	if err != nil {
		err = r.wrap(at, from, err)
	}
	return text, err
}

// stringAt returns a string of a page, which begins with the lengths of all.
func (r *reader) stringAt(values []byte, rows, i int) (text string, err error) {
	defer recovered(&err)
	if err := sameRows(deltaCount(values), rows); err != nil { // before memory is allocated
		return "", err
	}
	if r.entries, err = deltaNumbers.DecodeInt32(r.entries[:0], values); err != nil {
		return "", damaged(err)
	}
	if err := sameRows(len(r.entries), rows); err != nil {
		return "", err
	}
	before, total := 0, 0
	for k, length := range r.entries {
		if k == i {
			before = total
		}
		if total += int(length); length < 0 || total > len(values) {
			return "", damagedf("strings of %d bytes in %d", total, len(values))
		}
	}
	from := len(values) - total + before
	return string(values[from : from+int(r.entries[i])]), nil
}

// entryText returns a string of a dictionary, which is kept if further events are read.
func (r *reader) entryText(at, entry int) (text string, err error) {
	if !r.isSingle {
		d, err := r.dictionary(at)
		if err == nil && entry >= d.count {
			err = r.wrap(at, place{}, damagedf("entry %d of a dictionary of %d", entry, d.count))
		}
		if err != nil {
			return "", err
		}
		from, to := d.text(uint16(entry))
		return string(d.values[from:to]), nil
	}
	from, d := r.group.chunks[at].dictionaryPage(), &r.dictionaries[at]
	d.count = 0 // its memory is reused
	_, values, h, err := r.read(from, d.values[:0], format.DictionaryPage)
	if err != nil {
		return "", r.wrap(at, from, err)
	}
	d.values = values
	if head := &h.DictionaryPageHeader.V; head.Encoding != format.Plain || entry >= int(head.NumValues) {
		return "", r.wrap(at, from, damagedf("entry %d of a dictionary of %d", entry, head.NumValues))
	}
	for ; len(values) >= lengthSize; entry-- { // only the lengths of the strings before it are read
		length := uint64(binary.LittleEndian.Uint32(values))
		if values = values[lengthSize:]; length > uint64(len(values)) {
			break
		}
		if entry == 0 {
			return string(values[:length]), nil
		}
		values = values[length:]
	}
	return "", r.wrap(at, from, damagedf("a string is not in the dictionary"))
}

// fixedAt returns the value of a row in a column of values of a size, which is valid until the next call.
func (r *reader) fixedAt(at, row, size int) ([]byte, error) {
	if r.group.chunks[at].hasDictionary() {
		n, err := r.entryAt(at, row)
		if err != nil {
			return nil, err
		}
		d, err := r.dictionary(at)
		if err == nil && n >= d.count {
			err = r.wrap(at, place{}, damagedf("entry %d of a dictionary of %d", n, d.count))
		}
		if err != nil {
			return nil, err
		}
		return d.values[n*size : (n+1)*size], nil
	}
	values, from, i, err := r.valuesAt(at, row)
	if err == nil && len(values) != size*int(from.rows) {
		err = sameRows(len(values)/size, int(from.rows))
	}
	if err != nil {
		return nil, r.wrap(at, from, err)
	}
	return values[i*size : (i+1)*size], nil
}

func (r *reader) uuidAt(at, row int) (capture.UUID, error) {
	value, err := r.fixedAt(at, row, uuidSize)
	if err != nil {
		return capture.UUID{}, err
	}
	return capture.UUID(value), nil
}

func (r *reader) numberAt(at, row int) (int64, error) {
	if r.group.chunks[at].hasDictionary() {
		value, err := r.fixedAt(at, row, 8)
		if err != nil {
			return 0, err
		}
		return int64(binary.LittleEndian.Uint64(value)), nil
	}
	p, err := r.page(at, row)
	if err != nil {
		return 0, err
	}
	return p.numbers[row-int(p.first)], nil
}

func (r *reader) bitAt(at, row int) (bool, error) {
	values, from, i, err := r.valuesAt(at, row)
	if err == nil && len(values) != (int(from.rows)+7)/8 {
		err = sameRows(8*len(values), int(from.rows))
	}
	if err != nil {
		return false, r.wrap(at, from, err)
	}
	return values[i/8]>>(i%8)&1 != 0, nil
}

// fewInPages is the number of rows of a group up to which event reads each of them.
const fewInPages = 4

// Events reads some events of a group, whose rows ascend, except for their ids and times, and calls visit with
// the index of each in rows.
func (r *Rows) Events(rows []int, visit func(i int, e *block.Event, t *Texts)) error {
	var e block.Event
	var t Texts
	if r.r != nil {
		r.r.isSingle = len(rows) == 1
	}
	if len(rows) <= fewInPages {
		for i, row := range rows {
			if err := r.event(row, &e, &t); err != nil {
				return err
			}
			visit(i, &e, &t)
		}
		return nil
	}
	var short block.Columns
	var long block.Chunk
	for i, row := range rows {
		if err := r.Short(row, 1, &short); err != nil {
			return err
		}
		if err := r.Long(row, 1, &long); err != nil {
			return err
		}
		e = short.Event(0)
		t = Texts{long.Elements[0], long.Properties[0], long.States[long.StateOf[0]]}
		visit(i, &e, &t)
	}
	return nil
}

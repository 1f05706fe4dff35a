package segment

import (
	"encoding/binary"
	"slices"

	"github.com/parquet-go/parquet-go/format"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/capture"
)

// dictionary is the dictionary of a column in a group.
type dictionary struct {
	count  int // 0 if it was not read
	values []byte
	// offsets has the beginnings of strings in values, and the beginning of another one. Before each
	// string is its length.
	offsets []uint32
}

// lengthSize is the number of bytes of the length of a string.
const lengthSize = 4

// text returns the place of a text in the values.
func (d *dictionary) text(i uint16) (from, to uint32) {
	return d.offsets[i], d.offsets[i+1] - lengthSize
}

func (d *dictionary) uuid(i uint16) capture.UUID { return capture.UUID(d.values[uuidSize*int(i):]) }

func (d *dictionary) number(i uint16) int64 {
	return int64(binary.LittleEndian.Uint64(d.values[8*int(i):]))
}

// findStrings sets the offsets and returns the number of strings.
func (d *dictionary) findStrings() (count int, ok bool) {
	d.offsets = append(d.offsets[:0], lengthSize)
	for rest := d.values; len(rest) > 0; count++ {
		if len(rest) < lengthSize {
			return count, false
		}
		length := binary.LittleEndian.Uint32(rest)
		if rest = rest[lengthSize:]; uint64(length) > uint64(len(rest)) {
			return count, false
		}
		rest = rest[length:]
		d.offsets = append(d.offsets, d.offsets[count]+length+lengthSize)
	}
	return count, true
}

// dictionary returns the dictionary of a column and reads it at the first call.
func (r *reader) dictionary(at int) (*dictionary, error) {
	d := &r.dictionaries[at]
	if d.count > 0 {
		return d, nil
	}
	p := r.group.chunks[at].dictionaryPage()
	err := r.readDictionary(d, p, columns[at].physical)
	if err == nil && d.count == 0 {
		err = damagedf("a dictionary without values")
	}
	if err != nil {
		return nil, r.wrap(at, p, err)
	}
	return d, nil
}

// readDictionary reads a dictionary of values of a type, and reuses the memory of d.
func (r *reader) readDictionary(d *dictionary, p place, physical format.Type) error {
	d.count = 0
	_, values, h, err := r.read(p, d.values[:0], format.DictionaryPage)
	if err != nil {
		return err
	}
	d.values = values
	count, ok := 0, true
	switch physical {
	case format.ByteArray:
		count, ok = d.findStrings()
	case format.Int64:
		count, ok = len(values)/8, len(values)%8 == 0
	default:
		count, ok = len(values)/uuidSize, len(values)%uuidSize == 0
	}
	if head := &h.DictionaryPageHeader.V; !ok || count > r.group.Events || count != int(head.NumValues) || head.Encoding != format.Plain {
		return damagedf("a dictionary of %d values and %d bytes", head.NumValues, len(values))
	}
	d.count = count
	return nil
}

// indexesOf appends the indexes in the dictionary of a range of rows to dst. The dictionary has
// count entries.
func (r *reader) indexesOf(at, first, n, count int, dst []uint16) ([]uint16, error) {
	dst = slices.Grow(dst, n)
	err := r.rows(at, first, n, func(p *page, from, to int) { dst = append(dst, p.entries[from:to]...) })
	if err == nil && len(dst) > 0 && int(slices.Max(dst)) >= count {
		err = r.wrap(at, place{first: int32(first)}, damagedf("entry %d of a dictionary of %d", slices.Max(dst), count))
	}
	return dst, err
}

// entryStrings sets list to the values of a column with a dictionary, in the order of their first use in
// a range of rows, and of to the index in list of each row. For all rows, these are the dictionary and the
// indexes in it. Without a dictionary, each row has an entry of its own.
func (r *reader) entryStrings(at, first, n int, list []string, of []uint16) ([]string, []uint16, error) {
	if !r.group.chunks[at].hasDictionary() {
		list, err := r.stringsOf(at, first, n, list)
		return list, ownEntries(of, n), err
	}
	d, err := r.dictionary(at)
	if err == nil && n == r.group.Events {
		of, err = r.indexesOf(at, first, n, d.count, of)
		return d.strings(list), of, err
	}
	if err == nil {
		r.indexes, err = r.indexesOf(at, first, n, d.count, r.indexes[:0])
	}
	if err != nil {
		return list, of, err
	}
	all := "" // for many strings, one copy of all is cheaper than a copy of each
	if 4*n >= d.count {
		all = string(d.values)
	}
	of = slices.Grow(of, n)
	r.numbers = append(r.numbers[:0], make([]uint16, d.count)...) // the indexes in list, plus 1
	for _, i := range r.indexes {
		if r.numbers[i] == 0 {
			from, to := d.text(i)
			if all != "" {
				list = append(list, all[from:to])
			} else {
				list = append(list, string(d.values[from:to]))
			}
			r.numbers[i] = uint16(len(list))
		}
		of = append(of, r.numbers[i]-1)
	}
	return list, of, nil
}

// entryIndexes appends the indexes that entryStrings returns for all n rows of a group, without the strings.
func (r *reader) entryIndexes(at, n int, of []uint16) ([]uint16, error) {
	if !r.group.chunks[at].hasDictionary() {
		return ownEntries(of, n), nil
	}
	return r.indexesOf(at, 0, n, block.MaxEvents, of)
}

// strings appends all strings to list.
func (d *dictionary) strings(list []string) []string {
	all := string(d.values)
	list = slices.Grow(list, d.count)
	for i := range d.count {
		from, to := d.text(uint16(i))
		list = append(list, all[from:to])
	}
	return list
}

// valueList is a list of UUIDs or numbers, with the index of an entry for each row of a range.
type valueList struct {
	of    []uint16
	count int // of entries
	// dictionary has the entries. If it is nil, they are in uuids or numbers, one for each row.
	dictionary *dictionary
	uuids      []capture.UUID
	numbers    []int64
}

// read reads a column of a range of rows.
func (v *valueList) read(r *reader, at, first, n int) (err error) {
	if r.group.chunks[at].hasDictionary() {
		if v.dictionary, err = r.dictionary(at); err == nil {
			v.count = v.dictionary.count
			v.of, err = r.indexesOf(at, first, n, v.count, v.of[:0])
		}
		return err
	}
	v.dictionary, v.count, v.of = nil, n, ownEntries(v.of[:0], n)
	if columns[at].physical == format.Int64 {
		v.numbers, err = r.numbersOf(at, first, n, v.numbers[:0])
	} else {
		v.uuids, err = r.uuidsOf(at, first, n, v.uuids[:0])
	}
	return err
}

// ownEntries appends the indexes of n rows that have an entry each to dst.
func ownEntries(dst []uint16, n int) []uint16 {
	dst = slices.Grow(dst, n)
	for i := range n {
		dst = append(dst, uint16(i))
	}
	return dst
}

func (v *valueList) uuid(i uint16) capture.UUID {
	if v.dictionary == nil {
		return v.uuids[i]
	}
	return v.dictionary.uuid(i)
}

func (v *valueList) number(i uint16) int64 {
	if v.dictionary == nil {
		return v.numbers[i]
	}
	return v.dictionary.number(i)
}

package segment

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/parquet-go/parquet-go/format"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/capture"
)

// reader decodes the pages of a group. It keeps the last page of each column and the dictionaries.
type reader struct {
	file         *File
	group        *group
	pages        [columnCount]page
	dictionaries [columnCount]dictionary
	// ids are the ids of the last range that Rows.Short has read, which begins with the row first.
	ids   []int64
	first int

	// Reusable memory.
	data, values    []byte
	entries         []int32
	persons, dates  valueList
	indexes, modes  []uint16 // of a range, in a dictionary
	numbers, second []uint16 // by entry of a dictionary
	strings         []string
	property        page // the last one of File.Properties
	levels          []uint8
	listed          dictionary // of the last property
	index           page       // the last one of Rows.WithDistinctIDs

	// isSingle is true while Rows.Events reads a single event.
	isSingle bool
}

// page is a decoded page.
type page struct {
	place // no rows if there is no page
	// The values of the column are in one of these. Offsets has the beginnings of strings in bytes,
	// and the end of the last one.
	numbers []int64 // dates and ids
	entries []uint16
	uuids   []capture.UUID
	bits    []bool
	bytes   []byte
	offsets []uint32
}

// open prepares for a group and keeps the memory, except for that of large events.
func (r *reader) open(f *File, g int) error {
	r.file, r.group, r.first = f, nil, -1
	for i := range r.pages {
		p, d := &r.pages[i], &r.dictionaries[i]
		p.place, d.count = place{}, 0
		if cap(p.bytes) > largeMemory {
			p.bytes = nil
		}
		if cap(d.values) > largeMemory {
			d.values = nil
		}
	}
	for _, memory := range []*[]byte{&r.data, &r.property.bytes, &r.listed.values} {
		if cap(*memory) > largeMemory {
			*memory = nil
		}
	}
	if f == nil {
		return nil
	}
	if g < 0 || g >= len(f.groups) {
		return fmt.Errorf("the segment %s has %d groups, not a group %d", f.name, len(f.groups), g)
	}
	r.group = &f.groups[g]
	return nil
}

// wrap adds the place of a page to an error.
func (r *reader) wrap(at int, p place, err error) error { return r.wrapIn(columns[at].name, p, err) }

// wrapIn is wrap for a column with a name.
func (r *reader) wrapIn(column string, p place, err error) error {
	return fmt.Errorf("the segment %s, group %d, column %s, row %d: %w", r.file.name, r.group.Index, column, p.first, err)
}

// read reads a page and returns its levels and values, which share the memory of r, or the values
// replace the content of buffer.
func (r *reader) read(p place, buffer []byte, kind format.PageType) (levels, values []byte, h format.PageHeader, err error) {
	r.data = slices.Grow(r.data[:0], int(p.size))[:p.size]
	if err := r.file.read(r.data, p.offset); err != nil {
		return nil, nil, h, err
	}
	h, levels, values, err = openPage(r.data, buffer)
	if err == nil && h.Type != kind {
		err = damagedf("a page of the type %s", h.Type)
	}
	if err != nil && r.file.contents != nil {
		r.file.contents.forget(p.offset, int64(p.size))
	}
	return levels, values, h, err
}

// page returns the page of a column that has a row.
func (r *reader) page(at, row int) (*page, error) {
	p := &r.pages[at]
	if row >= int(p.first) && row < int(p.first+p.rows) {
		return p, nil
	}
	c := &r.group.chunks[at]
	found := c.page(c.pageOf(row))
	p.place = place{}
	if err := r.decode(at, p, found); err != nil {
		return nil, r.wrap(at, found, err)
	}
	p.place = found
	return p, nil
}

// decode decodes a page.
func (r *reader) decode(at int, p *page, from place) (err error) {
	c, rows := &columns[at], int(from.rows)
	encoding, decode := c.encoding, decoders[at]
	if encoding == format.RLEDictionary && !r.group.chunks[at].hasDictionary() {
		encoding, decode = c.plain(), plainDecoders[at]
	}
	levels, values, d, err := r.dataPage(p, from, encoding)
	if err != nil {
		return err
	}
	if len(levels) != 0 || d.NumNulls != 0 || decode == nil {
		return damagedf("%d of %d rows without a value, %s", d.NumNulls, rows, encoding)
	}
	defer recovered(&err)
	return decode(r, p, values, rows)
}

// dataPage reads a page and returns its levels and values. Strings are in the memory of p.
func (r *reader) dataPage(p *page, from place, encoding format.Encoding) (levels, values []byte, d format.DataPageHeaderV2, err error) {
	buffer, isText := &r.values, encoding == format.DeltaLengthByteArray
	if isText {
		buffer = &p.bytes
	}
	levels, values, h, err := r.read(from, (*buffer)[:0], format.DataPageV2)
	if err != nil {
		return nil, nil, d, err
	}
	d = h.DataPageHeaderV2.V
	if d.IsCompressed.V {
		*buffer = values
	} else if isText {
		*buffer = append((*buffer)[:0], values...)
	}
	if d.NumRows != from.rows || d.NumValues != from.rows || d.Encoding != encoding || d.RepetitionLevelsByteLength != 0 {
		return nil, nil, d, damagedf("%d rows, %d values, %s", d.NumRows, d.NumValues, d.Encoding)
	}
	return levels, values, d, nil
}

// decodeFunc decodes the values of a page.
type decodeFunc func(r *reader, p *page, values []byte, rows int) error

// decoders decode the values of the columns.
var decoders = [columnCount]decodeFunc{
	idColumn: decodeNumbers, timeColumn: decodeNumbers, arrivedColumn: decodeNumbers,
	nameColumn: decodeEntries, distinctColumn: decodeEntries, personColumn: decodeEntries, createdColumn: decodeEntries, modeColumn: decodeEntries,
	uuidColumn: decodeUUIDs, historicalColumn: decodeBits,
	elementsColumn: decodeStrings, propertiesColumn: decodeStrings, stateColumn: decodeStrings,
}

// plainDecoders decode the values of columns with a dictionary in groups without one.
var plainDecoders = [columnCount]decodeFunc{distinctColumn: decodeStrings, personColumn: decodeUUIDs, createdColumn: decodeNumbers}

func decodeNumbers(_ *reader, p *page, values []byte, rows int) (err error) {
	if err := sameRows(deltaCount(values), rows); err != nil { // before memory is allocated
		return err
	}
	if p.numbers, err = deltaNumbers.DecodeInt64(p.numbers[:0], values); err != nil {
		return damaged(err)
	}
	return sameRows(len(p.numbers), rows)
}

// deltaCount returns the number of values in the encoding DELTA_BINARY_PACKED: the third number of
// its header. It returns -1 without a header.
func deltaCount(values []byte) int {
	count := uint64(0)
	for range 3 {
		v, n := binary.Uvarint(values)
		if n <= 0 || v > math.MaxInt32 {
			return -1
		}
		count, values = v, values[n:]
	}
	return int(count)
}

// sameRows checks the number of decoded values.
func sameRows(got, want int) error {
	if got != want {
		return damagedf("%d values for %d rows", got, want)
	}
	return nil
}

func decodeEntries(r *reader, p *page, values []byte, rows int) (err error) {
	if n := runCount(values); n < rows || n >= rows+8 { // a run of eight may end with padding
		return sameRows(n, rows)
	}
	if r.entries, err = rleIndexes.DecodeInt32(r.entries[:0], values); err != nil {
		return damaged(err)
	}
	if len(r.entries) < rows {
		return sameRows(len(r.entries), rows)
	}
	p.entries = slices.Grow(p.entries[:0], rows)[:rows]
	for i, n := range r.entries[:rows] {
		if uint32(n) >= block.MaxEvents {
			return damagedf("entry %d of a dictionary", n)
		}
		p.entries[i] = uint16(n)
	}
	return nil
}

// runCount returns the number of values in the encoding RLE_DICTIONARY, or -1 if they are incomplete.
func runCount(values []byte) (count int) {
	if len(values) == 0 {
		return -1
	}
	width := uint64(values[0])
	for values = values[1:]; len(values) > 0; {
		header, n := binary.Uvarint(values)
		length, size := header>>1, (width+7)/8 // a run of an equal value
		if header&1 != 0 {                     // a run of groups of eight
			length, size = 8*length, length*width
		}
		if n <= 0 || header > math.MaxInt32 || length > block.MaxEvents+7 || size > uint64(len(values)-n) {
			return -1
		}
		values = values[n+int(size):]
		if count += int(length); count > block.MaxEvents+7 {
			return -1
		}
	}
	return count
}

func decodeUUIDs(_ *reader, p *page, values []byte, rows int) error {
	if len(values) != uuidSize*rows {
		return sameRows(len(values)/uuidSize, rows)
	}
	p.uuids = slices.Grow(p.uuids[:0], rows)[:rows]
	for i := range p.uuids {
		p.uuids[i] = capture.UUID(values[uuidSize*i:])
	}
	return nil
}

func decodeBits(_ *reader, p *page, values []byte, rows int) error {
	if len(values) != (rows+7)/8 {
		return sameRows(8*len(values), rows)
	}
	p.bits = slices.Grow(p.bits[:0], rows)[:rows]
	for i := range p.bits {
		p.bits[i] = values[i/8]>>(i%8)&1 != 0
	}
	return nil
}

// decodeStrings decodes p.bytes: the lengths of all strings, then the strings.
func decodeStrings(r *reader, p *page, _ []byte, rows int) (err error) {
	if err := sameRows(deltaCount(p.bytes), rows); err != nil {
		return err
	}
	if r.entries, err = deltaNumbers.DecodeInt32(r.entries[:0], p.bytes); err != nil {
		return damaged(err)
	}
	if err := sameRows(len(r.entries), rows); err != nil {
		return err
	}
	total := 0
	for _, length := range r.entries {
		if total += int(length); length < 0 || total > len(p.bytes) {
			return damagedf("strings of %d bytes in %d", total, len(p.bytes))
		}
	}
	at := uint32(len(p.bytes) - total)
	p.offsets = append(p.offsets[:0], at)
	for _, length := range r.entries {
		at += uint32(length)
		p.offsets = append(p.offsets, at)
	}
	return nil
}

// rows calls add for the pages of a column that have rows of a range, with the part of the page
// that is in the range.
func (r *reader) rows(at, first, n int, add func(p *page, from, to int)) error {
	for n > 0 {
		p, err := r.page(at, first)
		if err != nil {
			return err
		}
		from := first - int(p.first)
		to := min(from+n, int(p.rows))
		add(p, from, to)
		first, n = first+to-from, n-(to-from)
	}
	return nil
}

// numbersOf appends the numbers of a range of rows to dst.
func (r *reader) numbersOf(at, first, n int, dst []int64) ([]int64, error) {
	dst = slices.Grow(dst, n)
	err := r.rows(at, first, n, func(p *page, from, to int) { dst = append(dst, p.numbers[from:to]...) })
	return dst, err
}

// uuidsOf appends the UUIDs of a range of rows to dst.
func (r *reader) uuidsOf(at, first, n int, dst []capture.UUID) ([]capture.UUID, error) {
	dst = slices.Grow(dst, n)
	err := r.rows(at, first, n, func(p *page, from, to int) { dst = append(dst, p.uuids[from:to]...) })
	return dst, err
}

// stringsOf appends the strings of a range of rows to dst. They share the memory of some values of
// the range.
func (r *reader) stringsOf(at, first, n int, dst []string) ([]string, error) {
	dst = slices.Grow(dst, n)
	err := r.rows(at, first, n, func(p *page, from, to int) {
		start := p.offsets[from]
		all := string(p.bytes[start:p.offsets[to]])
		for i := from; i < to; i++ {
			dst = append(dst, all[p.offsets[i]-start:p.offsets[i+1]-start])
		}
	})
	return dst, err
}

package segment

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sort"
	"unsafe"

	"github.com/parquet-go/parquet-go/format"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/capture"
)

// reader decodes the pages of a group. It keeps the last page of each column.
type reader struct {
	file         *File
	group        *group
	pages        [columnCount]page
	dictionaries [columnCount][]byte // the values, once they were read

	// persons is the number of UUIDs of persons, dates has the creation times of persons.
	persons int
	dates   []int64

	// Reusable memory.
	data, values   []byte
	entries        []int32
	offsets        []uint32
	created, modes []uint16
	createdOf      []int32
	// numbers has the index in the list of a range, plus 1, of each entry of a list of all.
	numbers []uint16
	// all are columns for Rows: their lists have all entries of the group, if hasLists is true, and
	// their events begin with the row first.
	all      block.Columns
	hasLists bool
	first    int
}

// page is a decoded page. One of the slices has the values of the column.
type page struct {
	place           // no rows if there is no page
	numbers []int64 // dates and ids
	entries []uint16
	uuids   []capture.UUID
	bits    []bool
	texts   []string
}

// open prepares for a group and releases what was read before, except for reusable memory.
func (r *reader) open(f *File, g int) error {
	r.file, r.group = f, nil
	for i := range r.pages {
		p := &r.pages[i]
		clear(p.texts[:cap(p.texts)])
		p.place, p.texts = place{}, p.texts[:0]
		r.dictionaries[i] = nil
	}
	r.hasLists = false
	clear(r.all.Names)
	clear(r.all.DistinctIDs)
	if cap(r.data) > 8*longBytes || cap(r.values) > 8*longBytes { // release the memory of large events
		r.data, r.values = nil, nil
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
func (r *reader) wrap(at int, p place, err error) error {
	return fmt.Errorf("the segment %s, group %d, column %s, row %d: %w", r.file.name, r.group.Index, columns[at].name, p.first, err)
}

// read reads a page and returns its values, which share the memory of r or replace the content of
// buffer.
func (r *reader) read(p place, buffer []byte, kind format.PageType) (values []byte, h format.PageHeader, err error) {
	r.data = slices.Grow(r.data[:0], int(p.size))[:p.size]
	if err := r.file.read(r.data, p.offset); err != nil {
		return nil, h, err
	}
	h, values, err = openPage(r.data, buffer)
	if err == nil && h.Type != kind {
		err = damagedf("a page of the type %s", h.Type)
	}
	return values, h, err
}

// page returns the page of a column that has a row.
func (r *reader) page(at, row int) (*page, error) {
	p := &r.pages[at]
	if row >= int(p.first) && row < int(p.first+p.rows) {
		return p, nil
	}
	all := r.group.chunks[at].pages
	found := all[sort.Search(len(all), func(i int) bool { return int(all[i].first) > row })-1]
	p.place = place{}
	if err := r.decode(at, p, found); err != nil {
		return nil, r.wrap(at, found, err)
	}
	p.place = found
	return p, nil
}

// decode decodes a page.
func (r *reader) decode(at int, p *page, from place) (err error) {
	values, h, err := r.read(from, r.values[:0], format.DataPageV2)
	if err != nil {
		return err
	}
	if h.DataPageHeaderV2.V.IsCompressed.V { // the values have replaced the content of the buffer
		r.values = values
	}
	d, rows := &h.DataPageHeaderV2.V, int(from.rows)
	if int(d.NumRows) != rows || int(d.NumValues) != rows || d.NumNulls != 0 || d.Encoding != columns[at].encoding ||
		d.DefinitionLevelsByteLength != 0 || d.RepetitionLevelsByteLength != 0 {
		return damagedf("%d rows, %d values, %s", d.NumRows, d.NumValues, d.Encoding)
	}
	defer recovered(&err)
	return decoders[at](r, p, values, rows)
}

// decoders decode the values of the columns.
var decoders = [columnCount]func(r *reader, p *page, values []byte, rows int) error{
	idColumn: decodeNumbers, timeColumn: decodeNumbers, arrivedColumn: decodeNumbers,
	nameColumn: decodeEntries, distinctColumn: decodeEntries, personColumn: decodeEntries, createdColumn: decodeEntries, modeColumn: decodeEntries,
	uuidColumn: decodeUUIDs, historicalColumn: decodeBits,
	elementsColumn: decodeTexts, propertiesColumn: decodeTexts, stateColumn: decodeTexts,
}

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
// its header. It returns -1 if there is none.
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

func decodeTexts(r *reader, p *page, values []byte, rows int) (err error) {
	if err := sameRows(deltaCount(values), rows); err != nil {
		return err
	}
	var all []byte // not reused: the texts share its memory
	if all, r.offsets, err = deltaTexts.DecodeByteArray(nil, values, r.offsets[:0]); err != nil {
		return damaged(err)
	}
	if err := sameRows(len(r.offsets)-1, rows); err != nil {
		return err
	}
	text := unsafe.String(unsafe.SliceData(all), len(all))
	p.texts = p.texts[:0]
	for i := range rows {
		p.texts = append(p.texts, text[r.offsets[i]:r.offsets[i+1]])
	}
	return nil
}

// dictionary returns the values of the dictionary of a column. Its memory is not reused.
func (r *reader) dictionary(at int) ([]byte, error) {
	if d := r.dictionaries[at]; d != nil {
		return d, nil
	}
	p := r.group.chunks[at].dictionary
	values, h, err := r.read(p, nil, format.DictionaryPage)
	if err == nil && h.DictionaryPageHeader.V.Encoding != format.Plain {
		err = damagedf("a dictionary in the encoding %s", h.DictionaryPageHeader.V.Encoding)
	}
	if err != nil {
		return nil, r.wrap(at, p, err)
	}
	r.dictionaries[at] = values
	return values, nil
}

// dictionaryTexts appends the texts of the dictionary of a column to dst.
func (r *reader) dictionaryTexts(at int, dst []string) ([]string, error) {
	values, err := r.dictionary(at)
	if err != nil {
		return nil, err
	}
	for text := unsafe.String(unsafe.SliceData(values), len(values)); text != ""; {
		n := 0
		if len(text) >= 4 {
			n = 4 + int(binary.LittleEndian.Uint32([]byte(text[:4])))
		}
		if n < 4 || n > len(text) || len(dst) == r.group.Events {
			return nil, r.wrap(at, place{}, damagedf("entry %d of the dictionary", len(dst)))
		}
		dst = append(dst, text[4:n])
		text = text[n:]
	}
	return dst, nil
}

// dictionaryUUIDs appends the UUIDs of the dictionary of a column to dst.
func (r *reader) dictionaryUUIDs(at int, dst []capture.UUID) ([]capture.UUID, error) {
	values, err := r.dictionary(at)
	if err == nil && (len(values)%uuidSize != 0 || len(values)/uuidSize > r.group.Events) {
		err = r.wrap(at, place{}, damagedf("a dictionary of %d bytes", len(values)))
	}
	if err != nil {
		return nil, err
	}
	for ; len(values) > 0; values = values[uuidSize:] {
		dst = append(dst, capture.UUID(values))
	}
	return dst, nil
}

// dictionaryNumbers appends the numbers of the dictionary of a column to dst.
func (r *reader) dictionaryNumbers(at int, dst []int64) ([]int64, error) {
	values, err := r.dictionary(at)
	if err == nil && (len(values)%8 != 0 || len(values)/8 > r.group.Events) {
		err = r.wrap(at, place{}, damagedf("a dictionary of %d bytes", len(values)))
	}
	if err != nil {
		return nil, err
	}
	for ; len(values) > 0; values = values[8:] {
		dst = append(dst, int64(binary.LittleEndian.Uint64(values)))
	}
	return dst, nil
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

// entriesOf appends the indexes in the dictionary of a range of rows to dst. The dictionary has
// count entries.
func (r *reader) entriesOf(at, first, n, count int, dst []uint16) ([]uint16, error) {
	dst = slices.Grow(dst, n)
	err := r.rows(at, first, n, func(p *page, from, to int) { dst = append(dst, p.entries[from:to]...) })
	for _, i := range dst {
		if int(i) >= count && err == nil {
			err = r.wrap(at, place{first: int32(first)}, damagedf("entry %d of a dictionary of %d", i, count))
		}
	}
	return dst, err
}

// textsOf appends the texts of a range of rows to dst.
func (r *reader) textsOf(at, first, n int, dst []string) ([]string, error) {
	dst = slices.Grow(dst, n)
	err := r.rows(at, first, n, func(p *page, from, to int) { dst = append(dst, p.texts[from:to]...) })
	return dst, err
}

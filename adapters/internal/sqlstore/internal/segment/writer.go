package segment

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"slices"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/capture"
)

// Writer writes a segment. It has the compressed pages of one group in memory, as long as they are
// not longer than maxMemory.
type Writer struct {
	out    *bufio.Writer
	offset int64
	// temporary creates a file for pages that exceed maxMemory; it may be nil.
	temporary func() (*os.File, error)
	maxMemory int // the constant, unless a test sets another
	meta      format.FileMetaData
	indexes   [][columnCount]chunkIndex
	err       error // of the first call that failed

	// The current group.
	encoder pageEncoder
	chunks  [columnCount]chunkWriter
	memory  int // bytes of its pages in memory
	keep    []int32

	// Reusable memory.
	values, dictionary []byte
	numbers            []int64
	entries            []int32
	modes              []uint16
}

// maxMemory is the maximum size of the compressed pages of a group in memory. Pages beyond it are in
// temporary files until the group is complete.
const maxMemory = 32 << 20

// NewWriter returns a writer of a segment. If w is that of Folder.Create, large groups are written
// to temporary files next to it; otherwise they are in memory.
func NewWriter(w io.Writer) *Writer {
	out := &Writer{out: bufio.NewWriterSize(w, 64<<10), maxMemory: maxMemory}
	if t, ok := w.(interface{ Temporary() (*os.File, error) }); ok {
		out.temporary = t.Temporary
	}
	out.meta = format.FileMetaData{
		Version: 2, Schema: schema(), CreatedBy: "bunting",
		ColumnOrders: slices.Repeat([]format.ColumnOrder{{Value: &format.TypeDefinedOrder{}}}, columnCount),
	}
	for i := range out.chunks {
		out.chunks[i].column = &columns[i]
	}
	out.reset()
	out.err = out.write([]byte(magic))
	return out
}

func (w *Writer) write(data []byte) error {
	n, err := w.out.Write(data)
	w.offset += int64(n)
	return err
}

// Add adds a group with the events of c, of which all short columns are decoded, except for the
// events with ids in skip. Without events, no group is added. long returns the long columns of an event
// of c; it is called in the order of the events. There must be at most block.MaxEvents.
func (w *Writer) Add(c *block.Columns, skip map[int64]bool, long func(i int) (elements, properties, person string, err error)) error {
	if w.err == nil {
		w.err = w.add(c, skip, long)
	}
	return w.err
}

func (w *Writer) add(c *block.Columns, skip map[int64]bool, long func(i int) (elements, properties, person string, err error)) error {
	w.keep = w.keep[:0]
	for i, id := range c.IDs {
		if !skip[id] {
			w.keep = append(w.keep, int32(i))
		}
	}
	if len(w.keep) == 0 {
		return nil
	}
	if len(w.keep) > block.MaxEvents || len(w.meta.RowGroups) == maxGroups {
		return fmt.Errorf("a segment of %d groups cannot get one of %d events: at most %d and %d", len(w.meta.RowGroups), len(w.keep), maxGroups, block.MaxEvents)
	}
	defer w.reset()
	err := errors.Join(w.addShort(c), w.addOrigins(c))
	for _, i := range w.keep {
		if err != nil {
			return err
		}
		err = w.addLong(long, int(i))
	}
	for i := elementsColumn; i <= stateColumn; i++ {
		err = errors.Join(err, w.endStrings(&w.chunks[i]))
	}
	if err != nil {
		return err
	}
	return w.endGroup()
}

// addShort writes ids, times, names, distinct ids and persons.
func (w *Writer) addShort(c *block.Columns) error {
	created, numbers := map[int64]int32{}, map[capture.UUID]int32{}
	return errors.Join(
		w.addNumbers(idColumn, c.IDs),
		w.addNumbers(timeColumn, c.Times),
		w.addEntries(nameColumn, c.NameOf, len(c.Names), w.addString(c.Names), func(i int) []byte { return []byte(c.Names[i]) }),
		w.addEntries(distinctColumn, c.DistinctIDOf, len(c.DistinctIDs), w.addString(c.DistinctIDs), nil),
		w.addEntries(personColumn, c.PersonOf, len(c.Persons), func(i, next int) int {
			return addOnce(numbers, c.Persons[i], next, func() { w.dictionary = append(w.dictionary, c.Persons[i][:]...) })
		}, nil),
		w.addEntries(createdColumn, c.PersonOf, len(c.Persons), func(i, next int) int {
			return addOnce(created, c.PersonCreated[i], next, func() { w.dictionary = binary.LittleEndian.AppendUint64(w.dictionary, uint64(c.PersonCreated[i])) })
		}, nil),
	)
}

// addOrigins writes times of arrival, UUIDs and modes.
func (w *Writer) addOrigins(c *block.Columns) error {
	w.modes = w.modes[:0]
	for i := range c.IDs {
		mode, _ := c.Mode(i)
		w.modes = append(w.modes, uint16(mode))
	}
	names := make([]string, len(modes))
	for i, mode := range modes {
		names[i] = mode.String()
	}
	err := errors.Join(w.addNumbers(arrivedColumn, c.Arrived), w.addEntries(modeColumn, w.modes, len(names), w.addString(names), nil))
	for part := range slices.Chunk(w.keep, shortRows) {
		w.values = w.values[:0]
		for _, i := range part {
			w.values = append(w.values, c.UUIDs[i][:]...)
		}
		err = errors.Join(err, w.addPage(&w.chunks[uuidColumn], len(part), w.values))
		w.values = append(w.values[:0], make([]byte, (len(part)+7)/8)...)
		for at, i := range part {
			if _, historical := c.Mode(int(i)); historical {
				w.values[at/8] |= 1 << (at % 8)
			}
		}
		err = errors.Join(err, w.addPage(&w.chunks[historicalColumn], len(part), w.values))
	}
	return err
}

// addNumbers writes a column of numbers.
func (w *Writer) addNumbers(at int, all []int64) (err error) {
	for part := range slices.Chunk(w.keep, shortRows) {
		w.numbers = w.numbers[:0]
		least, greatest := int64(math.MaxInt64), int64(math.MinInt64)
		for _, i := range part {
			n := all[i]
			w.numbers = append(w.numbers, n)
			least, greatest = min(least, n), max(greatest, n)
		}
		if w.values, err = deltaNumbers.EncodeInt64(w.values[:0], w.numbers); err != nil {
			return err
		}
		c := &w.chunks[at]
		c.addBounds(numberBytes(least), numberBytes(greatest))
		if err := w.addPage(c, len(part), w.values); err != nil {
			return err
		}
	}
	return nil
}

// addString returns a function for addEntries that adds strings of a list to the dictionary.
func (w *Writer) addString(list []string) func(i, next int) int {
	return func(i, next int) int {
		w.dictionary = append(binary.LittleEndian.AppendUint32(w.dictionary, uint32(len(list[i]))), list[i]...)
		return next
	}
}

// addOnce returns the number of a key that is in a dictionary; a new one gets the next number and
// is added by add.
func addOnce[K comparable](numbers map[K]int32, key K, next int, add func()) int {
	n, ok := numbers[key]
	if !ok {
		n = int32(next)
		numbers[key] = n
		add()
	}
	return int(n)
}

// addEntries writes a column with a dictionary. of has the index in a list of count entries of each
// event; add is called with each entry that is used, returns its index in the dictionary and
// adds it there if that is the next one. text returns an entry for the bounds, if the column has them.
func (w *Writer) addEntries(at int, of []uint16, count int, add func(i, next int) int, text func(i int) []byte) (err error) {
	c, numbers, used := &w.chunks[at], make([]int32, count), 0 // numbers are the indexes in the dictionary, plus 1
	w.dictionary = w.dictionary[:0]
	for part := range slices.Chunk(w.keep, shortRows) {
		w.entries = w.entries[:0]
		for _, i := range part {
			if numbers[of[i]] == 0 {
				n := add(int(of[i]), used)
				numbers[of[i]] = int32(n) + 1
				used = max(used, n+1)
			}
			w.entries = append(w.entries, numbers[of[i]]-1)
		}
		if text != nil {
			c.addStringBounds(part, of, count, text)
		}
		if w.values, err = rleIndexes.EncodeInt32(w.values[:0], w.entries); err != nil {
			return err
		}
		if err := w.addPage(c, len(part), w.values); err != nil {
			return err
		}
	}
	header, body, err := w.encoder.dictionary(used, w.dictionary)
	if err != nil {
		return err
	}
	c.dictionary = slices.Concat(header, body)
	c.size += int64(len(header) + len(w.dictionary))
	return nil
}

// addLong writes the long columns of an event.
func (w *Writer) addLong(long func(i int) (elements, properties, person string, err error), i int) error {
	elements, properties, person, err := long(i)
	if err != nil {
		return err
	}
	for i, text := range [...]string{elements, properties, person} {
		at := elementsColumn + i
		c := &w.chunks[at]
		if rows := len(c.offsets) - 1; rows == shortRows || rows > 0 && len(c.strings)+len(text) > longBytes[at] {
			if err := w.endStrings(c); err != nil {
				return err
			}
		}
		c.strings = append(c.strings, text...)
		c.offsets = append(c.offsets, uint32(len(c.strings)))
	}
	return nil
}

// endStrings writes a page of a long column.
func (w *Writer) endStrings(c *chunkWriter) (err error) {
	rows := len(c.offsets) - 1
	if rows == 0 {
		return nil
	}
	if w.values, err = deltaStrings.EncodeByteArray(w.values[:0], c.strings, c.offsets); err != nil {
		return err
	}
	c.strings, c.offsets = c.strings[:0], c.offsets[:1]
	return w.addPage(c, rows, w.values)
}

// addPage adds a page to a column.
func (w *Writer) addPage(c *chunkWriter, rows int, values []byte) error {
	header, body, err := w.encoder.data(c.column, rows, values)
	if err != nil {
		return err
	}
	size := len(header) + len(body)
	c.locations = append(c.locations, format.PageLocation{Offset: c.pages.size, CompressedPageSize: int32(size), FirstRowIndex: int64(c.rows)})
	c.rows += rows
	c.size += int64(len(header) + len(values))
	c.pages.add(header, body)
	if w.memory += size; w.memory <= w.maxMemory || w.temporary == nil {
		return nil
	}
	w.memory = 0
	for i := range w.chunks {
		if err := w.chunks[i].pages.spill(w.temporary); err != nil {
			return err
		}
	}
	return nil
}

// endGroup writes the columns of the group.
func (w *Writer) endGroup() error {
	g := format.RowGroup{
		NumRows: int64(len(w.keep)), FileOffset: w.offset, Ordinal: int16(len(w.meta.RowGroups)),
		SortingColumns: []format.SortingColumn{{ColumnIdx: idColumn}},
	}
	var indexes [columnCount]chunkIndex
	for i := range w.chunks {
		c := &w.chunks[i]
		meta, err := w.endChunk(c)
		if err != nil {
			return err
		}
		g.Columns = append(g.Columns, format.ColumnChunk{MetaData: meta})
		g.TotalByteSize += meta.TotalUncompressedSize
		g.TotalCompressedSize += meta.TotalCompressedSize
		indexes[i] = chunkIndex{format.OffsetIndex{PageLocations: slices.Clone(c.locations)}, c.bounds}
	}
	w.meta.RowGroups = append(w.meta.RowGroups, g)
	w.indexes = append(w.indexes, indexes)
	w.meta.NumRows += g.NumRows
	return nil
}

// endChunk writes the pages of a column and returns its metadata.
func (w *Writer) endChunk(c *chunkWriter) (format.ColumnMetaData, error) {
	start := w.offset
	meta := c.meta(start)
	if err := w.write(c.dictionary); err != nil {
		return meta, err
	}
	for i := range c.locations {
		c.locations[i].Offset += w.offset
	}
	n, err := c.pages.copyTo(w.out)
	w.offset += n
	meta.TotalCompressedSize = w.offset - start
	return meta, err
}

// reset ends the current group.
func (w *Writer) reset() {
	w.memory = 0
	for i := range w.chunks {
		w.chunks[i].reset()
	}
}

// Close writes the page index and the footer.
func (w *Writer) Close() error {
	w.reset()
	if w.err == nil {
		w.err = w.end()
	}
	err := w.err
	w.err = errors.Join(w.err, errors.New("the segment is closed"))
	return err
}

// end implements Close.
func (w *Writer) end() error {
	start, protocol := w.offset, &thrift.CompactProtocol{}
	var tail []byte
	add := func(index any, offset *int64, length *int32) error {
		data, err := thrift.Marshal(protocol, index)
		*offset, *length = start+int64(len(tail)), int32(len(data))
		tail = append(tail, data...)
		return err
	}
	var errs []error
	for g := range w.indexes {
		for i := range w.indexes[g] {
			if c := &w.meta.RowGroups[g].Columns[i]; columns[i].hasBounds {
				errs = append(errs, add(&w.indexes[g][i].bounds, &c.ColumnIndexOffset, &c.ColumnIndexLength))
			}
		}
	}
	for g := range w.indexes {
		for i := range w.indexes[g] {
			c := &w.meta.RowGroups[g].Columns[i]
			errs = append(errs, add(&w.indexes[g][i].offsets, &c.OffsetIndexOffset, &c.OffsetIndexLength))
		}
	}
	w.meta.KeyValueMetadata = []format.KeyValue{
		{Key: versionKey, Value: fmt.Sprint(formatVersion)},
		{Key: checksumKey, Value: fmt.Sprintf(checksumForm, 0, start)},
	}
	footer, err := thrift.Marshal(protocol, &w.meta)
	if err = errors.Join(append(errs, err)...); err != nil {
		return err
	}
	tail = append(tail, footer...)
	if len(tail) > maxTail {
		return fmt.Errorf("page index and footer of a segment have %d bytes, more than %d", len(tail), maxTail)
	}
	at := checksumAt(tail)
	copy(tail[at:], fmt.Sprintf("%08x", crc32.Checksum(tail, castagnoli)))
	tail = append(binary.LittleEndian.AppendUint32(tail, uint32(len(footer))), magic...)
	return errors.Join(w.write(tail), w.out.Flush())
}

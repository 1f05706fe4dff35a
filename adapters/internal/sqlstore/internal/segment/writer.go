package segment

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
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
	indexes   [][]chunkIndex
	err       error // of the first call that failed

	// The current group.
	encoder    pageEncoder
	chunks     [columnCount]chunkWriter
	properties propertyWriter
	index      indexWriter
	memory     int // bytes of its pages in memory
	keep       []int32

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
	out.meta = format.FileMetaData{Version: 2, CreatedBy: "bunting"}
	out.properties = newPropertyWriter(out)
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
	err := errors.Join(w.index.add(&w.encoder, c, w.keep), w.addShort(c), w.addOrigins(c))
	for _, i := range w.keep {
		if err != nil {
			return err
		}
		err = w.addLong(long, int(i))
	}
	for i := elementsColumn; i <= stateColumn; i++ {
		err = errors.Join(err, w.endStrings(&w.chunks[i]))
	}
	if err = errors.Join(err, w.properties.end()); err != nil {
		return err
	}
	return w.endGroup()
}

// addShort writes ids, times, names, distinct ids and persons.
func (w *Writer) addShort(c *block.Columns) error {
	created, numbers := map[int64]int32{}, map[capture.UUID]int32{}
	return errors.Join(
		w.addNumbers(idColumn, func(i int32) int64 { return c.IDs[i] }),
		w.addNumbers(timeColumn, func(i int32) int64 { return c.Times[i] }),
		w.addEntries(&entryColumn{
			at: nameColumn, of: c.NameOf, count: len(c.Names), add: w.addString(c.Names), text: func(i int) []byte { return []byte(c.Names[i]) },
		}),
		w.addEntries(&entryColumn{
			at: distinctColumn, of: c.DistinctIDOf, count: len(c.DistinctIDs), add: w.addString(c.DistinctIDs),
			plain: func() error {
				return w.addStrings(distinctColumn, func(i int32) string { return c.DistinctIDs[c.DistinctIDOf[i]] })
			},
		}),
		w.addEntries(&entryColumn{
			at: personColumn, of: c.PersonOf, count: len(c.Persons), add: func(i, next int) int {
				return addOnce(numbers, c.Persons[i], next, func() { w.dictionary = append(w.dictionary, c.Persons[i][:]...) })
			},
			plain: func() error {
				return w.addUUIDs(personColumn, func(i int32) *capture.UUID { return &c.Persons[c.PersonOf[i]] })
			},
		}),
		w.addEntries(&entryColumn{
			at: createdColumn, of: c.PersonOf, count: len(c.Persons), add: func(i, next int) int {
				return addOnce(created, c.PersonCreated[i], next, func() { w.dictionary = binary.LittleEndian.AppendUint64(w.dictionary, uint64(c.PersonCreated[i])) })
			},
			plain: func() error {
				return w.addNumbers(createdColumn, func(i int32) int64 { return c.PersonCreated[c.PersonOf[i]] })
			},
		}),
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
	err := errors.Join(
		w.addNumbers(arrivedColumn, func(i int32) int64 { return c.Arrived[i] }),
		w.addUUIDs(uuidColumn, func(i int32) *capture.UUID { return &c.UUIDs[i] }),
		w.addEntries(&entryColumn{at: modeColumn, of: w.modes, count: len(names), add: w.addString(names)}),
	)
	for part := range slices.Chunk(w.keep, shortRows) {
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

// addLong writes the long columns of an event.
func (w *Writer) addLong(long func(i int) (elements, properties, person string, err error), i int) error {
	elements, properties, person, err := long(i)
	if err != nil {
		return err
	}
	for i, text := range [...]string{elements, properties, person} {
		if err := w.appendString(elementsColumn+i, text); err != nil {
			return err
		}
	}
	return w.properties.add(properties)
}

// allChunks returns the columns of the current group.
func (w *Writer) allChunks() []*chunkWriter {
	list := make([]*chunkWriter, 0, columnCount+len(w.properties.list))
	for i := range w.chunks {
		list = append(list, &w.chunks[i])
	}
	for _, c := range w.properties.list {
		if c != nil {
			list = append(list, &c.chunkWriter)
		}
	}
	return list
}

// addPage adds a page to a column that all events have.
func (w *Writer) addPage(c *chunkWriter, rows int, values []byte) error {
	return w.addLevels(c, rows, nil, 0, values)
}

// addLevels adds a page to a column. levels tell which rows have a value, if not all events have one,
// and nulls is the number of those that have none.
func (w *Writer) addLevels(c *chunkWriter, rows int, levels []byte, nulls int, values []byte) error {
	header, body, err := w.encoder.data(c.pageEncoding, rows, levels, nulls, values)
	if err != nil {
		return err
	}
	size := len(header) + len(body)
	c.locations = append(c.locations, format.PageLocation{Offset: c.pages.size, CompressedPageSize: int32(size), FirstRowIndex: int64(c.rows)})
	c.rows, c.nulls = c.rows+rows, c.nulls+nulls
	c.size += int64(len(header) + len(levels) + len(values))
	c.pages.add(header, body)
	if w.memory += size; w.memory <= w.maxMemory || w.temporary == nil {
		return nil
	}
	w.memory = 0
	for _, c := range w.allChunks() {
		if err := c.pages.spill(w.temporary); err != nil {
			return err
		}
	}
	return nil
}

// endGroup writes the index and the columns of the group.
func (w *Writer) endGroup() error {
	if err := w.write(w.index.end(w.offset)); err != nil {
		return err
	}
	g := format.RowGroup{
		NumRows: int64(len(w.keep)), FileOffset: w.offset, Ordinal: int16(len(w.meta.RowGroups)),
		SortingColumns: []format.SortingColumn{{ColumnIdx: idColumn}},
	}
	var indexes []chunkIndex
	for _, c := range w.allChunks() {
		meta, err := w.endChunk(c)
		if err != nil {
			return err
		}
		g.Columns = append(g.Columns, format.ColumnChunk{MetaData: meta})
		g.TotalByteSize += meta.TotalUncompressedSize
		g.TotalCompressedSize += meta.TotalCompressedSize
		indexes = append(indexes, chunkIndex{format.OffsetIndex{PageLocations: slices.Clone(c.locations)}, c.bounds})
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
	for _, c := range w.allChunks() {
		c.reset()
	}
	w.properties.reset()
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
			if c := &w.meta.RowGroups[g].Columns[i]; len(w.indexes[g][i].bounds.MinValues) > 0 {
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
	all := w.properties.columns()
	w.meta.Schema, w.meta.ColumnOrders = schema(all), slices.Repeat([]format.ColumnOrder{{Value: &format.TypeDefinedOrder{}}}, len(all))
	w.meta.KeyValueMetadata = []format.KeyValue{{Key: versionKey, Value: fmt.Sprint(formatVersion)}}
	if others := w.properties.others; others != nil {
		names, err := json.Marshal(slices.Sorted(maps.Keys(others)))
		if err != nil {
			return err
		}
		w.meta.KeyValueMetadata = append(w.meta.KeyValueMetadata, format.KeyValue{Key: othersKey, Value: string(names)})
	}
	places, err := w.index.metadata()
	if err != nil {
		return err
	}
	w.meta.KeyValueMetadata = append(w.meta.KeyValueMetadata, places)
	// The checksum is the last entry, see checksumAt.
	w.meta.KeyValueMetadata = append(w.meta.KeyValueMetadata, format.KeyValue{Key: checksumKey, Value: fmt.Sprintf(checksumForm, 0, start)})
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

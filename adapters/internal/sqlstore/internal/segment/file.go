package segment

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
)

// File is an open segment. It can be used concurrently until Release.
type File struct {
	name   string
	data   io.ReaderAt
	size   int64
	groups []group
	// properties has the index of the column of a property, after the columns that all files have.
	properties map[string]int
	// others are the properties that occur in the file, but have no column; nil if that is unknown.
	others map[string]bool

	folder   *Folder
	contents contents
	// opened, users and hasDescriptor belong to openFiles, which locks them.
	opened        time.Time
	users         int
	hasDescriptor bool
}

// Group is a group of a file: the events of a block, in the order of their ids.
type Group struct {
	// Index is the place of the group in the file.
	Index           int
	FirstID, LastID int64
	Events          int
}

// group is a group with the places of its pages.
type group struct {
	Group
	chunks [columnCount]chunk
	// properties are the columns of properties.
	properties []chunk
	// firstIDs has the first id of each page of the ids.
	firstIDs []int64
	// index has the places of the pages of the index of distinct ids; none if the file has no indexes.
	index []indexPlace
}

// Name returns the name of the segment.
func (f *File) Name() string { return f.name }

// newFile reads the footer and the page index of a file. name is for errors.
func newFile(name string, data io.ReaderAt, size int64) (*File, error) {
	f := &File{name: name, data: data, size: size}
	if err := f.open(); err != nil {
		return nil, f.wrap(err)
	}
	return f, nil
}

// wrap adds the name of the file to an error.
func (f *File) wrap(err error) error { return fmt.Errorf("the segment %s: %w", f.name, err) }

// read reads a range of the file, which must be in the file.
func (f *File) read(dst []byte, offset int64) error {
	if offset < 0 || offset > f.size-int64(len(dst)) {
		return damagedf("no %d bytes at %d in %d", len(dst), offset, f.size)
	}
	_, err := f.data.ReadAt(dst, offset)
	if errors.Is(err, io.EOF) { // the file was truncated after it was opened
		return damaged(err)
	}
	return err
}

// open reads footer and page index.
func (f *File) open() error {
	tail, start, meta, err := f.footer()
	if err != nil {
		return err
	}
	if f.properties, err = propertiesOf(meta.Schema); err != nil {
		return err
	}
	if f.others, err = othersOf(meta.KeyValueMetadata); err != nil {
		return err
	}
	for i := range meta.RowGroups {
		g := group{Group: Group{Index: i}, properties: make([]chunk, len(f.properties))}
		if err := g.open(&meta.RowGroups[i], tail, start); err != nil {
			return fmt.Errorf("group %d: %w", i, err)
		}
		if n := len(f.groups); n > 0 && f.groups[n-1].LastID >= g.FirstID {
			return damagedf("group %d begins with id %d, after id %d", i, g.FirstID, f.groups[n-1].LastID)
		}
		f.groups = append(f.groups, g)
	}
	indexes, err := indexesOf(meta.KeyValueMetadata, len(f.groups), start)
	for i := range indexes {
		f.groups[i].index = indexes[i]
	}
	return err
}

// footer returns the metadata, and the bytes of page index and footer with the place where they
// begin.
func (f *File) footer() (tail []byte, start int64, meta *format.FileMetaData, err error) {
	const endSize = int64(4 + len(magic))
	var end [endSize]byte
	if f.size < int64(len(magic))+endSize {
		return nil, 0, nil, damagedf("it has only %d bytes", f.size)
	}
	if err := f.read(end[:], f.size-endSize); err != nil {
		return nil, 0, nil, err
	}
	if string(end[4:]) != magic {
		return nil, 0, nil, damagedf("it does not end as a Parquet file")
	}
	footerSize := int64(binary.LittleEndian.Uint32(end[:]))
	if footerSize > min(maxTail, f.size-endSize) {
		return nil, 0, nil, damagedf("a footer of %d bytes", footerSize)
	}
	footer := make([]byte, footerSize)
	footerAt := f.size - endSize - footerSize
	if err := f.read(footer, footerAt); err != nil {
		return nil, 0, nil, err
	}
	want, start, err := checksumOf(footer)
	if err != nil {
		return nil, 0, nil, err
	}
	if start < 0 || start > footerAt || footerAt-start+footerSize > maxTail {
		return nil, 0, nil, damagedf("a page index at %d", start)
	}
	tail = make([]byte, footerAt-start, footerAt-start+footerSize)
	if err := f.read(tail, start); err != nil {
		return nil, 0, nil, err
	}
	tail = append(tail, footer...)
	copy(tail[checksumAt(tail):], "00000000")
	if sum := crc32.Checksum(tail, castagnoli); sum != want {
		return nil, 0, nil, damagedf("the footer has the checksum %08x, not %08x", sum, want)
	}
	meta, err = parseFooter(footer)
	return tail, start, meta, err
}

// propertiesOf returns the indexes of the columns of properties. It fails unless the columns before
// them are those that all files have.
func propertiesOf(elements []format.SchemaElement) (map[string]int, error) {
	list, properties := fixedColumns(), map[string]int{}
	for i := 1 + len(list); i < len(elements); i++ {
		name := strings.Clone(strings.TrimPrefix(elements[i].Name, propertyPrefix)) // it shares the memory of the footer
		list = append(list, propertyColumn(name))
		properties[name] = len(properties)
	}
	same := slices.EqualFunc(elements, schema(list), func(a, b format.SchemaElement) bool {
		return a.Name == b.Name && a.Type == b.Type && a.TypeLength == b.TypeLength && a.NumChildren == b.NumChildren && a.RepetitionType.V == b.RepetitionType.V
	})
	if !same || len(properties) != len(list)-columnCount {
		return nil, damagedf("other columns than those of version %d", formatVersion)
	}
	return properties, nil
}

// othersOf returns the names of properties without a column in the metadata of a file, or nil without them.
func othersOf(metadata []format.KeyValue) (map[string]bool, error) {
	at := slices.IndexFunc(metadata, func(e format.KeyValue) bool { return e.Key == othersKey })
	if at < 0 {
		return nil, nil
	}
	var names []string
	if err := json.Unmarshal([]byte(metadata[at].Value), &names); err != nil {
		return nil, damaged(err)
	}
	others := make(map[string]bool, len(names))
	for _, name := range names {
		others[name] = true
	}
	return others, nil
}

// open fills a group from its metadata. tail are the bytes from start on: page index and footer.
func (g *group) open(meta *format.RowGroup, tail []byte, start int64) (err error) {
	defer recovered(&err)
	if len(meta.Columns) != columnCount+len(g.properties) || meta.NumRows < 1 || meta.NumRows > block.MaxEvents {
		return damagedf("%d columns and %d rows", len(meta.Columns), meta.NumRows)
	}
	g.Events = int(meta.NumRows)
	ids := &meta.Columns[idColumn]
	g.FirstID, g.LastID = number(ids.MetaData.Statistics.MinValue), number(ids.MetaData.Statistics.MaxValue)
	if g.FirstID < 1 || g.LastID-g.FirstID < int64(g.Events)-1 {
		return damagedf("%d events from %d to %d", g.Events, g.FirstID, g.LastID)
	}
	for i := range meta.Columns {
		var index format.OffsetIndex
		c := &meta.Columns[i]
		if err := indexPart(tail, c.OffsetIndexOffset-start, c.OffsetIndexLength, &index); err != nil {
			return err
		}
		var to *chunk
		if i < columnCount {
			to = &g.chunks[i]
		} else {
			to = &g.properties[i-columnCount]
		}
		if err := to.open(&c.MetaData, index.PageLocations, g.Events, start); err != nil {
			return fmt.Errorf("column %s: %w", strings.Join(c.MetaData.PathInSchema, "."), err)
		}
	}
	var bounds format.ColumnIndex
	if err := indexPart(tail, ids.ColumnIndexOffset-start, ids.ColumnIndexLength, &bounds); err != nil {
		return err
	}
	for _, first := range bounds.MinValues {
		g.firstIDs = append(g.firstIDs, number(first))
	}
	if len(g.firstIDs) != g.chunks[idColumn].count() || !slices.IsSorted(g.firstIDs) {
		return damagedf("%d first ids of pages", len(g.firstIDs))
	}
	return nil
}

// indexPart decodes a part of the page index.
func indexPart(tail []byte, from int64, length int32, to any) error {
	if from < 0 || length < 0 || from+int64(length) > int64(len(tail)) {
		return damagedf("no %d bytes at %d in the page index", length, from)
	}
	if err := thrift.Unmarshal(&thrift.CompactProtocol{}, tail[from:from+int64(length)], to); err != nil {
		return damaged(err)
	}
	return nil
}

// Groups returns the groups of the file, in the order of their ids.
func (f *File) Groups() []Group {
	list := make([]Group, len(f.groups))
	for i := range f.groups {
		list[i] = f.groups[i].Group
	}
	return list
}

// Group returns a group of the file.
func (f *File) Group(group int) Group { return f.groups[group].Group }

// memory is about the size of the metadata in bytes.
func (f *File) memory() int {
	const (
		fileBytes = 2 << 10 // of the file, its contents and the entries of openFiles
		nameBytes = 64      // of an entry of a map
	)
	bytes := fileBytes + len(f.groups)*int(unsafe.Sizeof(group{}))
	for i := range f.groups {
		g := &f.groups[i]
		bytes += len(g.properties)*int(unsafe.Sizeof(chunk{})) + len(g.firstIDs)*8 + len(g.index)*int(unsafe.Sizeof(indexPlace{}))
		for _, list := range [][]chunk{g.chunks[:], g.properties} {
			for j := range list {
				bytes += len(list[j].pages) * int(unsafe.Sizeof(pageStart{}))
				if large := list[j].large; large != nil {
					bytes += len(*large)*4 + int(unsafe.Sizeof(*large))
				}
			}
		}
	}
	for name := range f.properties {
		bytes += nameBytes + len(name)
	}
	for name := range f.others {
		bytes += nameBytes + len(name)
	}
	return bytes
}

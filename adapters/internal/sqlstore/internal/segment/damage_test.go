package segment

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
)

// small returns groups of few events.
func small(seed uint64) [][]event {
	m := newMaker(seed)
	groups := [][]event{m.events(40), m.events(9)}
	for _, g := range groups {
		for i := range g {
			g[i].properties = fmt.Sprintf(`{"order":%d,"plan":"pro"}`, m.IntN(1e6))
		}
	}
	return groups
}

// readAll reads all groups of a segment.
func readAll(data []byte) (groups [][]event, err error) {
	f, err := openBytes(data)
	if err != nil {
		return nil, err
	}
	for i := range f.Groups() {
		events, err := readGroup(f, i, &block.Columns{})
		if err != nil {
			return groups, err
		}
		groups = append(groups, events)
	}
	return groups, nil
}

// A file with a changed byte either has the right values or is damaged, and the error names the
// file.
func TestFile_ChangedByte(t *testing.T) {
	groups := small(1)
	data := segmentOf(t, groups...)
	found := 0
	for i := range data {
		changed := slices.Clone(data)
		changed[i] ^= 1 << (i % 8)
		got, err := readAll(changed)
		switch {
		case err == nil && !slices.EqualFunc(got, groups, slices.Equal[[]event]):
			t.Fatalf("another byte %d of %d changes what is read", i, len(data))
		case err != nil && (!errors.Is(err, block.ErrDamaged) || !strings.Contains(err.Error(), "test.parquet")):
			t.Fatalf("byte %d: %v", i, err)
		case err != nil:
			found++
		}
	}
	// Only bytes that this package does not read may change: the beginning of the file, and
	// some bits of the headers of pages.
	if found < len(data)*9/10 {
		t.Errorf("%d of %d changes were found", found, len(data))
	}
}

// A file that is cut off at any place is damaged, and so is one with another file's end.
func TestFile_CutOff(t *testing.T) {
	data, other := segmentOf(t, small(1)...), segmentOf(t, small(2)...)
	for n := range data {
		if _, err := openBytes(data[:n]); !errors.Is(err, block.ErrDamaged) {
			t.Fatalf("%d bytes of %d: %v", n, len(data), err)
		}
	}
	mixed := append(slices.Clone(data[:len(data)/2]), other[len(other)/2:]...)
	if _, err := readAll(mixed); !errors.Is(err, block.ErrDamaged) {
		t.Errorf("halves of two files: %v", err)
	}
	if f, err := openBytes(data); err != nil {
		t.Error(err)
	} else {
		f.data = bytes.NewReader(data[:100]) // truncated after it was opened
		if err := f.Names(0, &block.Columns{}); !errors.Is(err, block.ErrDamaged) {
			t.Errorf("a file that was truncated while it was open: %v", err)
		}
	}
}

// withFooter returns a segment with another footer and its checksum.
func withFooter(t *testing.T, data []byte, change func(m *format.FileMetaData)) []byte {
	t.Helper()
	f := &File{data: bytes.NewReader(data), size: int64(len(data))}
	tail, start, meta, err := f.footer()
	if err != nil {
		t.Fatal(err)
	}
	size := int(binary.LittleEndian.Uint32(data[len(data)-8:]))
	change(meta)
	footer, err := thrift.Marshal(&thrift.CompactProtocol{}, meta)
	if err != nil {
		t.Fatal(err)
	}
	tail = append(tail[:len(tail)-size], footer...)
	if at := checksumAt(tail); at >= 0 {
		copy(tail[at:], "00000000")
		copy(tail[at:], fmt.Sprintf("%08x", crc32.Checksum(tail, castagnoli)))
	}
	out := append(slices.Clone(data[:start]), tail...)
	return append(binary.LittleEndian.AppendUint32(out, uint32(len(footer))), magic...)
}

// A footer that does not describe a segment of this version is an error, even if its checksum is
// right. Files of a later version are refused with a message about that.
func TestFile_Footer(t *testing.T) {
	data := segmentOf(t, small(1)...)
	if _, err := readAll(withFooter(t, data, func(*format.FileMetaData) {})); err != nil {
		t.Fatal(err)
	}
	chunk := func(m *format.FileMetaData, at int) *format.ColumnChunk { return &m.RowGroups[1].Columns[at] }
	for name, tt := range map[string]struct {
		change func(m *format.FileMetaData)
		want   string
	}{
		"later version":       {func(m *format.FileMetaData) { m.KeyValueMetadata[0].Value = "3" }, "its format has the version 3, and this program reads up to 2: a newer version of bunting has written it; use that version or a later one"},
		"no version":          {func(m *format.FileMetaData) { m.KeyValueMetadata[0].Key = "x" }, "no bunting.version"},
		"version zero":        {func(m *format.FileMetaData) { m.KeyValueMetadata[0].Value = "0" }, `version "0"`},
		"no checksum":         {func(m *format.FileMetaData) { m.KeyValueMetadata = m.KeyValueMetadata[:1] }, "no checksum"},
		"checksum not a hex":  {func(m *format.FileMetaData) { m.KeyValueMetadata[3].Value = checksumMark + "00000000:zzzzzzzzzzzzzzzz" }, "invalid syntax"},
		"place beyond end":    {func(m *format.FileMetaData) { m.KeyValueMetadata[3].Value = fmt.Sprintf(checksumForm, 0, 1<<40) }, "a page index at"},
		"index not a list":    {func(m *format.FileMetaData) { m.KeyValueMetadata[2].Value = "{}" }, "cannot unmarshal"},
		"index of one group":  {func(m *format.FileMetaData) { m.KeyValueMetadata[2].Value = "[[4,1]]" }, "indexes of 1 groups"},
		"index of no pages":   {func(m *format.FileMetaData) { m.KeyValueMetadata[2].Value = "[[4,1],[4]]" }, "an index of 0 pages"},
		"index of 3 pages":    {func(m *format.FileMetaData) { m.KeyValueMetadata[2].Value = "[[4,1],[4,1,1,1]]" }, "an index of 3 pages"},
		"index before start":  {func(m *format.FileMetaData) { m.KeyValueMetadata[2].Value = "[[4,1],[-4,1]]" }, "1 bytes at -4"},
		"index behind end":    {func(m *format.FileMetaData) { m.KeyValueMetadata[2].Value = "[[4,1],[4,1099511627776]]" }, "1099511627776 bytes at 4"},
		"names not a list":    {func(m *format.FileMetaData) { m.KeyValueMetadata[1].Value = "plan" }, "invalid character"},
		"another column":      {func(m *format.FileMetaData) { m.Schema[3].Name = "time" }, "other columns"},
		"another type":        {func(m *format.FileMetaData) { m.Schema[3].Type.V = format.Int32 }, "other columns"},
		"a column less":       {func(m *format.FileMetaData) { m.RowGroups[1].Columns = m.RowGroups[1].Columns[:12] }, "12 columns"},
		"a property twice":    {func(m *format.FileMetaData) { m.Schema[15].Name = m.Schema[14].Name }, "other columns"},
		"a required property": {func(m *format.FileMetaData) { m.Schema[15].RepetitionType.V = format.Required }, "other columns"},
		"a property too many": {func(m *format.FileMetaData) { m.Schema, m.Schema[0].NumChildren.V = append(m.Schema, m.Schema[15]), 16 }, "other columns"},
		"no rows":             {func(m *format.FileMetaData) { m.RowGroups[1].NumRows = 0 }, "0 rows"},
		"too many rows":       {func(m *format.FileMetaData) { m.RowGroups[1].NumRows = block.MaxEvents + 1 }, "16385 rows"},
		"other rows":          {func(m *format.FileMetaData) { m.RowGroups[0].NumRows = 39 }, "40 rows"},
		"no ids":              {func(m *format.FileMetaData) { chunk(m, 0).MetaData.Statistics.MinValue = nil }, "from 0 to"},
		"groups out of order": {func(m *format.FileMetaData) { slices.Reverse(m.RowGroups) }, "begins with id"},
		"no page index":       {func(m *format.FileMetaData) { chunk(m, 5).OffsetIndexOffset = 0 }, "in the page index"},
		"index beyond end":    {func(m *format.FileMetaData) { chunk(m, 5).OffsetIndexLength = 1 << 30 }, "in the page index"},
		"index of another":    {func(m *format.FileMetaData) { chunk(m, 5).OffsetIndexOffset = chunk(m, 6).OffsetIndexOffset }, ""},
		"no first ids":        {func(m *format.FileMetaData) { chunk(m, 0).ColumnIndexLength = 0 }, ""},
		"dictionary at 1 TB":  {func(m *format.FileMetaData) { chunk(m, 5).MetaData.DictionaryPageOffset = 1 << 40 }, "a dictionary at"},
		"dictionary moved":    {func(m *format.FileMetaData) { chunk(m, 5).MetaData.DictionaryPageOffset-- }, "column distinct_id"},
	} {
		_, err := readAll(withFooter(t, data, tt.change))
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "test.parquet") {
			t.Errorf("%s: %v", name, err)
		}
		if errors.Is(err, block.ErrDamaged) == (name == "later version") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// valueIn returns the value of a row of a decoded page without a dictionary.
func valueIn(p *page, row int) any {
	switch {
	case len(p.numbers) > 0:
		return p.numbers[row]
	case len(p.uuids) > 0:
		return p.uuids[row]
	case len(p.bits) > 0:
		return p.bits[row]
	}
	return string(p.bytes[p.offsets[row]:p.offsets[row+1]])
}

// valueAt reads the value of a row of a column, like Rows.event.
func valueAt(r *reader, at, row int) (value any, err error) {
	switch at {
	case idColumn, timeColumn, arrivedColumn, createdColumn:
		return r.numberAt(at, row)
	case uuidColumn, personColumn:
		return r.uuidAt(at, row)
	case historicalColumn:
		return r.bitAt(at, row)
	}
	return r.textAt(at, row)
}

// Decoding a page with any bytes, and a checksum that is right, does not panic, and returns as many
// values as there are rows, with indexes in range. Of a page that can be decoded, the last value can be read without the others.
func FuzzPage(f *testing.F) {
	data := segmentOf(f, small(1)...)
	file, err := openBytes(data)
	if err != nil {
		f.Fatal(err)
	}
	for at := range columns {
		c := &file.groups[0].chunks[at]
		for i, p := range []place{c.page(0), c.dictionaryPage()} {
			if p.size == 0 {
				continue
			}
			_, _, values, err := openPage(data[p.offset:p.offset+int64(p.size)], nil)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(values, byte(at), i == 1, c.hasDictionary(), uint16(p.rows))
		}
	}
	f.Add([]byte("\xff\xff\xff\xff\x7f"), byte(distinctColumn), true, true, uint16(1))
	f.Fuzz(func(t *testing.T, values []byte, at byte, isDictionary, hasDictionary bool, rows uint16) {
		at, rows = at%columnCount, rows%block.MaxEvents+1
		var e pageEncoder
		encoding := columns[at].encoding
		if !hasDictionary {
			encoding = columns[at].plain()
		}
		header, body, err := e.data(encoding, int(rows), nil, 0, values)
		if isDictionary {
			header, body, err = e.dictionary(int(rows), values)
		}
		if err != nil {
			t.Fatal(err)
		}
		page := slices.Concat(header, body)
		g := group{Group: Group{Events: int(rows)}}
		g.chunks[at] = chunk{pages: []pageStart{{}, {first: rows}}, large: &[]int32{int32(len(page))}}
		if isDictionary || hasDictionary { // the page of values is at 0, too
			g.chunks[at].offset, g.chunks[at].dictionary = -int64(len(page)), int32(len(page))
		}
		if isDictionary {
			g.chunks[at].offset = 0
		}
		r := &reader{file: &File{name: "fuzz", data: bytes.NewReader(page), size: int64(len(page))}, group: &g}
		if isDictionary {
			if d, err := r.dictionary(int(at)); err == nil && (d.count < 1 || d.count > int(rows)) {
				t.Fatalf("%d entries for %d rows", d.count, rows)
			}
			return
		}
		r.isSingle = rows%2 == 0
		last, lastErr := valueAt(r, int(at), int(rows)-1)
		if lastErr != nil && !errors.Is(lastErr, block.ErrDamaged) {
			t.Fatal(lastErr)
		}
		p, err := r.page(int(at), int(rows)-1)
		if err == nil && !hasDictionary && (lastErr != nil || last != valueIn(p, int(rows)-1)) {
			t.Fatalf("the last value is %v, %v", last, lastErr)
		}
		if err != nil {
			if !errors.Is(err, block.ErrDamaged) {
				t.Fatal(err)
			}
			return
		}
		if n := len(p.numbers) + len(p.entries) + len(p.uuids) + len(p.bits) + max(len(p.offsets)-1, 0); n != int(rows) {
			t.Fatalf("%d values for %d rows", n, rows)
		}
	})
}

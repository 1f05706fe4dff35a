package segment

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

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

// checksumAt returns the place of the digits of the checksum in a footer, or -1 if there are none.
// The bytes that follow the last mark have the place of the page index.
func checksumAt(footer []byte) int {
	at := bytes.LastIndex(footer, []byte(checksumMark))
	if at < 0 || len(footer)-at < len(checksumMark)+8+1+16 {
		return -1
	}
	return at + len(checksumMark)
}

// checksumOf returns the checksum in a footer, and the place where the page index begins.
func checksumOf(footer []byte) (sum uint32, start int64, err error) {
	at := checksumAt(footer)
	if at < 0 {
		return 0, 0, damagedf("no checksum in the footer")
	}
	sum64, err := strconv.ParseUint(string(footer[at:at+8]), 16, 32)
	if err == nil {
		start, err = strconv.ParseInt(string(footer[at+9:at+25]), 16, 64)
	}
	if err != nil {
		return 0, 0, damaged(err)
	}
	return uint32(sum64), start, nil
}

// errNewer is the error for files of a later version.
var errNewer = errors.New("a newer version of bunting has written it; use that version or a later one")

// parseFooter decodes a footer whose checksum is right, and checks the version.
func parseFooter(footer []byte) (meta *format.FileMetaData, err error) {
	defer recovered(&err)
	meta = &format.FileMetaData{}
	if err := thrift.Unmarshal(&thrift.CompactProtocol{}, footer, meta); err != nil {
		return nil, damaged(err)
	}
	for _, entry := range meta.KeyValueMetadata {
		if entry.Key != versionKey {
			continue
		}
		switch version, err := strconv.Atoi(entry.Value); {
		case err != nil || version < 1:
			return nil, damagedf("version %q", entry.Value)
		case version > formatVersion:
			return nil, fmt.Errorf("its format has the version %d, and this program reads up to %d: %w", version, formatVersion, errNewer)
		}
		return meta, nil
	}
	return nil, damagedf("no %s in the footer", versionKey)
}

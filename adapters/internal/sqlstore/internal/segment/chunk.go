package segment

import (
	"bytes"
	"errors"
	"io"
	"os"

	"github.com/parquet-go/parquet-go/format"
)

// chunkIndex is the page index of a column in a group.
type chunkIndex struct {
	offsets format.OffsetIndex
	bounds  format.ColumnIndex
}

// chunkWriter has the pages of a column in the current group.
type chunkWriter struct {
	*column
	pageEncoding format.Encoding // of the data pages
	dictionary   []byte          // the page of the dictionary, empty if there is no dictionary
	pages        spool
	locations    []format.PageLocation
	rows, nulls  int
	size         int64 // of all pages before compression, with their headers
	bounds       format.ColumnIndex
	// strings and offsets are the values of the next page of strings without a dictionary.
	strings []byte
	offsets []uint32
}

// addBounds adds the least and the greatest value of a page.
func (c *chunkWriter) addBounds(least, greatest []byte) {
	if !c.hasBounds {
		return
	}
	b := &c.bounds
	b.MinValues, b.MaxValues = append(b.MinValues, least), append(b.MaxValues, greatest)
	b.NullPages, b.NullCounts = append(b.NullPages, false), append(b.NullCounts, 0)
}

// addStringBounds adds the least and the greatest string of a page with some events. of has the
// index in a list of count strings of each event.
func (c *chunkWriter) addStringBounds(page []int32, of []uint16, count int, text func(i int) []byte) {
	var least, greatest []byte
	seen := make([]bool, count)
	for _, i := range page {
		if seen[of[i]] {
			continue
		}
		seen[of[i]] = true
		t := text(int(of[i]))
		if least == nil || bytes.Compare(t, least) < 0 {
			least = t
		}
		if greatest == nil || bytes.Compare(t, greatest) > 0 {
			greatest = t
		}
	}
	c.addBounds(least, greatest)
}

// meta returns the metadata of the column. Its pages begin at an offset. TotalCompressedSize is
// unknown.
func (c *chunkWriter) meta(offset int64) format.ColumnMetaData {
	meta := format.ColumnMetaData{
		Type: c.physical, Encoding: []format.Encoding{c.pageEncoding}, PathInSchema: []string{c.name}, Codec: format.Zstd,
		NumValues: int64(c.rows), TotalUncompressedSize: c.size, DataPageOffset: offset + int64(len(c.dictionary)),
	}
	if len(c.dictionary) > 0 {
		meta.DictionaryPageOffset = offset
		meta.Encoding = []format.Encoding{format.Plain, c.pageEncoding}
		meta.EncodingStats = append(meta.EncodingStats, format.PageEncodingStats{PageType: format.DictionaryPage, Encoding: format.Plain, Count: 1})
	}
	meta.EncodingStats = append(meta.EncodingStats, format.PageEncodingStats{PageType: format.DataPageV2, Encoding: c.pageEncoding, Count: int32(len(c.locations))})
	s := &meta.Statistics
	s.NullCount = int64(c.nulls)
	for i := range c.bounds.MinValues {
		if least := c.bounds.MinValues[i]; s.MinValue == nil || c.less(least, s.MinValue) {
			s.MinValue = least
		}
		if greatest := c.bounds.MaxValues[i]; s.MaxValue == nil || c.less(s.MaxValue, greatest) {
			s.MaxValue = greatest
		}
	}
	return meta
}

// less compares values of statistics.
func (c *column) less(a, b []byte) bool {
	if c.physical == format.Int64 {
		return number(a) < number(b)
	}
	return bytes.Compare(a, b) < 0
}

// reset prepares for the next group.
func (c *chunkWriter) reset() {
	c.pages.close()
	if cap(c.strings) > largeMemory { // release the memory of large events
		c.strings = nil
	}
	*c = chunkWriter{column: c.column, pageEncoding: c.encoding, locations: c.locations[:0], pages: spool{memory: c.pages.memory}, strings: c.strings[:0], offsets: append(c.offsets[:0], 0)}
	c.bounds.BoundaryOrder = format.Unordered
	if c.column == &columns[idColumn] {
		c.bounds.BoundaryOrder = format.Ascending
	}
}

// spool is a sequence of bytes of which the beginning may be in a file.
type spool struct {
	memory bytes.Buffer
	file   *os.File
	size   int64
}

func (s *spool) add(header, body []byte) {
	s.memory.Write(header)
	s.memory.Write(body)
	s.size += int64(len(header) + len(body))
}

// spill moves the memory to the file.
func (s *spool) spill(temporary func() (*os.File, error)) (err error) {
	if s.memory.Len() == 0 {
		return nil
	}
	if s.file == nil {
		if s.file, err = temporary(); err != nil {
			return err
		}
	}
	_, err = s.memory.WriteTo(s.file)
	s.memory = bytes.Buffer{}
	return err
}

// copyTo writes everything to w.
func (s *spool) copyTo(w io.Writer) (n int64, err error) {
	if s.file != nil {
		if _, err = s.file.Seek(0, io.SeekStart); err == nil {
			n, err = io.Copy(w, s.file)
		}
	}
	if err == nil {
		var more int64
		more, err = s.memory.WriteTo(w)
		n += more
	}
	if err == nil && n != s.size {
		err = io.ErrShortWrite
	}
	return n, err
}

// close releases the file and keeps the memory.
func (s *spool) close() {
	s.memory.Reset()
	if s.file != nil {
		_ = errors.Join(s.file.Close(), os.Remove(s.file.Name())) // it has no name any more where open files can be removed
		s.file = nil
	}
}

package client

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
)

// maxRecord is the longest record that is kept in memory, in bytes; of a longer
// one only that it is there is told.
const maxRecord = 4 << 20

// records reads JSON records from a file: one a line, or the elements of one
// list. gzip is undone.
type records struct {
	from *bufio.Reader
	list bool
	// offset is how many bytes (unpacked) have been read, number how many records,
	// or lines, blank ones included.
	offset int64
	number int
	buf    []byte
}

// record is one of them.
type record struct {
	text    []byte // valid until the next one is read; nil when it is too long
	number  int    // its line, or its place in the list, from 1
	tooLong bool
}

// newRecords looks at the first bytes and says what it is.
func newRecords(r io.Reader) (*records, error) {
	b := bufio.NewReaderSize(r, 64<<10)
	if magic, _ := b.Peek(3); bytes.Equal(magic, []byte("\x1f\x8b\x08")) {
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, err
		}
		b = bufio.NewReaderSize(z, 64<<10)
	}
	rs := &records{from: b}
	if mark, _ := b.Peek(3); string(mark) == "\xef\xbb\xbf" {
		rs.skip(3)
	}
	for {
		c, err := b.Peek(1)
		if errors.Is(err, io.EOF) {
			return rs, nil
		}
		if err != nil {
			return nil, err
		}
		switch c[0] {
		case '[':
			rs.list = true
			rs.skip(1)
			return rs, nil
		case '\n':
			rs.number++
		case ' ', '\t', '\r':
		default:
			return rs, nil
		}
		rs.skip(1)
	}
}

// skip steps over bytes that have been looked at.
func (rs *records) skip(n int) {
	d, _ := rs.from.Discard(n)
	rs.offset += int64(d)
}

// next returns the next record, io.EOF after the last one.
func (rs *records) next() (record, error) {
	if rs.list {
		return rs.element()
	}
	for {
		rs.buf = rs.buf[:0]
		tooLong, read := false, int64(0)
		for {
			piece, err := rs.from.ReadSlice('\n')
			read += int64(len(piece))
			if tooLong = tooLong || len(rs.buf)+len(piece) > maxRecord; !tooLong {
				rs.buf = append(rs.buf, piece...)
			}
			if errors.Is(err, bufio.ErrBufferFull) {
				continue
			}
			if err != nil && (read == 0 || !errors.Is(err, io.EOF)) {
				return record{}, err
			}
			break
		}
		rs.offset += read
		rs.number++
		if tooLong {
			return record{number: rs.number, tooLong: true}, nil
		}
		if text := bytes.TrimSpace(rs.buf); len(text) > 0 {
			return record{text: text, number: rs.number}, nil
		}
	}
}

// element returns the next element of a list. It finds only where it ends: what
// is wrong inside is found later.
func (rs *records) element() (record, error) {
	rs.buf = rs.buf[:0]
	depth, inString, escaped, tooLong := 0, false, false, false
	for {
		c, err := rs.from.ReadByte()
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF // the list has no end
		}
		if err != nil {
			return record{}, err
		}
		rs.offset++
		switch {
		case inString:
			inString, escaped = escaped || c != '"', !escaped && c == '\\'
		case c == '"':
			inString = true
		case c == '{' || c == '[':
			depth++
		case depth > 0 && (c == '}' || c == ']'):
			depth--
		case depth == 0 && (c == ',' || c == ']'):
			return rs.whole(c, tooLong)
		}
		if tooLong = tooLong || len(rs.buf) == maxRecord; !tooLong {
			rs.buf = append(rs.buf, c)
		}
	}
}

// whole is the element that is read, before a comma or the end of the list.
func (rs *records) whole(before byte, tooLong bool) (record, error) {
	text := bytes.TrimSpace(rs.buf)
	if before == ']' {
		if len(text) == 0 && !tooLong {
			return record{}, io.EOF
		}
		rs.end()
	}
	if tooLong {
		text = nil
	}
	rs.number++
	return record{text: text, number: rs.number, tooLong: tooLong}, nil
}

// end makes next answer io.EOF: the list is over. What follows it is not looked
// at.
func (rs *records) end() {
	rs.from, rs.list = bufio.NewReader(bytes.NewReader(nil)), false
}

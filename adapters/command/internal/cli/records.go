package cli

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

// Records reads JSON records from a file that has one record a line or one JSON list. Files with
// gzip are decompressed.
type Records struct {
	from       *bufio.Reader
	maxSize    int
	buf        []byte
	lineEnds   int // number of line ends read
	isAfterEnd bool

	// List reports whether the records are the elements of a list.
	List bool
	// Offset is the number of (decompressed) bytes that were read.
	Offset int64
	// Line is the line of the last record's beginning, from 1, or of the position where reading
	// stopped. Number is the record's number in a list, else its line.
	Line, Number int
	// Comma reports whether a comma precedes the end of the list without an element between.
	Comma bool
}

var (
	// ErrTooLong is returned for a record that exceeds the maximum size. The next record can be
	// read.
	ErrTooLong = errors.New("the record is too long")
	errNoEnd   = fmt.Errorf("the list is not closed: %w", io.ErrUnexpectedEOF)
)

// NewRecords detects the format of r by its first bytes. maxSize is the maximum size of a record in
// bytes.
func NewRecords(r io.Reader, maxSize int) (*Records, error) {
	rs := &Records{from: bufio.NewReaderSize(r, 64<<10), maxSize: maxSize}
	if magic, _ := rs.from.Peek(3); bytes.Equal(magic, []byte("\x1f\x8b\x08")) {
		z, err := gzip.NewReader(rs.from)
		if err != nil {
			return nil, err
		}
		rs.from = bufio.NewReaderSize(z, 64<<10)
	}
	if mark, _ := rs.from.Peek(3); string(mark) == "\ufeff" {
		n, _ := rs.from.Discard(3)
		rs.Offset += int64(n)
	}
	first, err := rs.text()
	switch {
	case errors.Is(err, io.EOF):
		return rs, nil
	case err != nil:
		return nil, err
	case first == '[':
		rs.List = true
		return rs, nil
	}
	rs.Offset--
	return rs, rs.from.UnreadByte()
}

// next returns the next byte.
func (rs *Records) next() (byte, error) {
	c, err := rs.from.ReadByte()
	if err == nil {
		rs.Offset++
	}
	if c == '\n' {
		rs.lineEnds++
	}
	return c, err
}

// text returns the next byte that is not white space, and sets Line to its line.
func (rs *Records) text() (c byte, err error) {
	for c = ' '; err == nil && (c == ' ' || c == '\t' || c == '\r' || c == '\n'); {
		c, err = rs.next()
	}
	rs.Line = rs.lineEnds + 1
	return c, err
}

// Next returns the next record without surrounding white space, or io.EOF after the last one. The
// record is valid until the next call.
func (rs *Records) Next() ([]byte, error) {
	switch {
	case rs.isAfterEnd:
		return nil, io.EOF
	case rs.List:
		return rs.element()
	}
	for {
		rs.Line = rs.lineEnds + 1
		text, err := rs.line()
		if len(text) > 0 || err != nil {
			rs.Number = rs.Line
			return text, err
		}
	}
}

// line returns the next line. A line that is too long is skipped to its end.
func (rs *Records) line() ([]byte, error) {
	rs.buf = rs.buf[:0]
	tooLong, read := false, false
	for {
		piece, err := rs.from.ReadSlice('\n')
		rs.Offset += int64(len(piece))
		read = read || len(piece) > 0
		if tooLong = tooLong || len(rs.buf)+len(piece) > rs.maxSize; !tooLong {
			rs.buf = append(rs.buf, piece...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && (!read || !errors.Is(err, io.EOF)):
			return nil, err
		case err == nil:
			rs.lineEnds++
		}
		if tooLong {
			return nil, ErrTooLong
		}
		return bytes.TrimSpace(rs.buf), nil
	}
}

// element returns the next element of a list. It only finds the element's end; syntax errors inside
// the element are found later.
func (rs *Records) element() ([]byte, error) {
	rs.buf = rs.buf[:0]
	depth, quoted, escaped, tooLong := 0, false, false, false
	for c, err := rs.text(); ; c, err = rs.next() {
		if errors.Is(err, io.EOF) {
			err = errNoEnd
		}
		if err != nil {
			return nil, err
		}
		switch {
		case quoted:
			quoted, escaped = escaped || c != '"', !escaped && c == '\\'
		case c == '"':
			quoted = true
		case c == '{' || c == '[':
			depth++
		case depth > 0 && (c == '}' || c == ']'):
			depth--
		case depth == 0 && (c == ',' || c == ']'):
			return rs.finishElement(c == ']', tooLong)
		}
		if tooLong = tooLong || len(rs.buf) == rs.maxSize; !tooLong {
			rs.buf = append(rs.buf, c)
		}
	}
}

// finishElement returns the element that was read, before a comma or the end of the list.
func (rs *Records) finishElement(last, tooLong bool) ([]byte, error) {
	rs.isAfterEnd = last
	if last && len(rs.buf) == 0 {
		rs.Comma = rs.Number > 0
		return nil, io.EOF
	}
	rs.Number++
	if tooLong {
		return nil, ErrTooLong
	}
	return bytes.TrimSpace(rs.buf), nil
}

// End reports whether the last record is followed by white space only, which Next does not check.
// If it returns false, Line is the line of the other text.
func (rs *Records) End() bool {
	_, err := rs.text()
	return errors.Is(err, io.EOF)
}

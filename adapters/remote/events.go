package remote

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"time"
)

// This file reads server-sent events (WHATWG HTML §9.2). It is our own because a
// line here may have 64 MiB and must have a bound, keep-alives must be seen, and
// the wait that a server asks for must reach the back-off. Lines end with LF or
// CRLF; a CR alone is no end, no server that is read here writes it.

// event is what one read of a stream gives.
type event struct {
	// comment: it is a comment, and nothing else is set.
	comment bool
	name    string
	data    []byte
	id      string // of this or the last event that had one
}

// eventReader reads a stream of events.
type eventReader struct {
	r     *bufio.Reader
	limit int // bytes of a line, and of an event's data
	line  []byte
	id    string
	// retry is the wait that was asked for last, where hasRetry.
	retry    time.Duration
	hasRetry bool
	begun    bool
}

var errLongEvent = errors.New("an event is too long")

// maxRetry bounds the wait before another stream that a server may ask for.
const maxRetry = 5 * time.Minute

// maxField bounds what is kept of an event's name and id, in bytes; longer ones
// are ignored.
const maxField = 200

func newEventReader(r io.Reader, limit int) *eventReader {
	return &eventReader{r: bufio.NewReaderSize(r, 32<<10), limit: limit}
}

// next is the next comment or event with data. The data is the caller's.
func (r *eventReader) next() (event, error) {
	var e event
	some := false // there was a data field
	for {
		line, err := r.readLine()
		if err != nil {
			return event{}, err // an event that was not ended does not count
		}
		if len(line) == 0 {
			if !some {
				e = event{}
				continue
			}
			e.id = r.id
			return e, nil
		}
		field, value, _ := bytes.Cut(line, []byte{':'})
		value = bytes.TrimPrefix(value, []byte{' '})
		switch string(field) {
		case "":
			if !some && e.name == "" { // between events; inside of one it only keeps alive
				return event{comment: true}, nil
			}
		case "event":
			e.name = ""
			if len(value) <= maxField {
				e.name = string(value)
			}
		case "data":
			if len(e.data)+1+len(value) > r.limit {
				return event{}, errLongEvent
			}
			if some {
				e.data = append(e.data, '\n')
			}
			e.data, some = append(e.data, value...), true
		default:
			r.setting(string(field), value)
		}
	}
}

// setting takes a field that counts beyond its event.
func (r *eventReader) setting(field string, value []byte) {
	switch field {
	case "id":
		if len(value) <= maxField && bytes.IndexByte(value, 0) < 0 {
			r.id = string(value)
		}
	case "retry":
		if ms, err := strconv.ParseUint(string(value), 10, 32); err == nil {
			r.retry, r.hasRetry = min(time.Duration(ms)*time.Millisecond, maxRetry), true
		}
	}
}

// readLine returns a line without its end, valid until the next call.
func (r *eventReader) readLine() ([]byte, error) {
	r.line = r.line[:0]
	for {
		part, err := r.r.ReadSlice('\n')
		if len(r.line)+len(part) > r.limit {
			return nil, errLongEvent
		}
		r.line = append(r.line, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil {
			return nil, err
		}
		line := bytes.TrimSuffix(bytes.TrimSuffix(r.line, []byte{'\n'}), []byte{'\r'})
		if !r.begun {
			r.begun = true
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		return line, nil
	}
}

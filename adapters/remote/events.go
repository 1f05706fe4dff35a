package remote

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"time"
)

// This file reads server-sent events (WHATWG HTML §9.2). The package has its own parser because a
// line may have up to 64 MiB and must be bounded, keep-alives must be visible to the caller, and
// the reconnection time that a server sends must reach the back-off. Lines end with LF or CRLF. A
// CR on its own does not end a line, because no supported server writes it.

// event is the result of one read of a stream.
type event struct {
	// comment is set for a comment; all other fields are then empty.
	comment bool
	name    string
	data    []byte
	id      string // of this event or the last one that had an id
}

// eventReader parses a stream of events.
type eventReader struct {
	r     *bufio.Reader
	limit int // maximum bytes of a line, and of an event's data
	line  []byte
	id    string
	// retry is the last reconnection time that the server sent. It is set if hasRetry is true.
	retry    time.Duration
	hasRetry bool
	begun    bool
}

var errLongEvent = errors.New("an event is too long")

// maxRetry limits the reconnection time that a server may request.
const maxRetry = 5 * time.Minute

// maxField is the maximum length of an event's name and id, in bytes; longer values are ignored.
const maxField = 200

func newEventReader(r io.Reader, limit int) *eventReader {
	return &eventReader{r: bufio.NewReaderSize(r, 32<<10), limit: limit}
}

// next returns the next comment or event with data. The caller owns the data.
func (r *eventReader) next() (event, error) {
	var e event
	some := false // the event has a data field
	for {
		line, err := r.readLine()
		if err != nil {
			return event{}, err // an event without a final empty line is discarded
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
			if !some && e.name == "" { // a comment inside of an event is ignored
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

// setting applies a field that has an effect beyond its event.
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

// readLine returns a line without its line ending. The line is valid until the next call.
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

package local

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/cmd/bunting/internal/cli"
)

// maxUserLine bounds the text of one user among many, in bytes.
const maxUserLine = 1 << 20

// userReader reads users one by one: a line each, as JSON object, JSON string or
// plain distinct id, or all in a JSON list.
type userReader struct {
	name  string
	from  *bufio.Reader
	taken *cli.Counter
	line  int // of the last user's beginning, from 1
	list  bool
	item  []byte // of a list
	more  int    // newlines behind the beginning of the last item
	begun bool
	some  bool // an item was read
	ended bool
}

// manyMembers is the table of what a user among many may say: there is nothing
// to locate an address with, and "properties" is what events call them.
var manyMembers = append([]reader{
	{"properties", func(u *user, at string, v any) (err error) { u.subject.Person, err = propertiesOf(at, v); return err }},
}, slices.DeleteFunc(slices.Clone(userMembers), func(r reader) bool { return r.name == "ip" })...)

func newUserReader(name string, from io.Reader) *userReader {
	taken := &cli.Counter{Reader: from}
	return &userReader{name: name, from: bufio.NewReaderSize(taken, maxUserLine), taken: taken}
}

// read is how many bytes were read so far.
func (r *userReader) read() int64 { return r.taken.N }

// next returns the next user, nil at the end. The error names the place.
func (r *userReader) next() (*user, error) {
	if !r.begun {
		r.begun = true
		if err := r.begin(); err != nil {
			return nil, err
		}
	}
	if r.list {
		return r.nextItem()
	}
	for {
		text, err := r.from.ReadSlice('\n')
		r.line++
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return nil, r.wrong("a line is longer than %d KiB", maxUserLine>>10)
		case err != nil && !errors.Is(err, io.EOF):
			return nil, fmt.Errorf("%s: %w", r.name, err)
		}
		if text = bytes.TrimSpace(text); len(text) > 0 {
			return r.user(text)
		}
		if err != nil {
			return nil, nil
		}
	}
}

// begin looks whether it is a list.
func (r *userReader) begin() error {
	if mark, _ := r.from.Peek(3); bytes.Equal(mark, []byte("\ufeff")) {
		_, _ = r.from.Discard(3)
	}
	for {
		c, err := r.from.ReadByte()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		switch c {
		case '\n':
			r.line++
		case ' ', '\t', '\r':
		case '[':
			r.line++
			r.list = true
			return nil
		default:
			return r.from.UnreadByte()
		}
	}
}

func (r *userReader) wrong(format string, args ...any) error {
	return fmt.Errorf("%s: line %d: %s", r.name, r.line, fmt.Sprintf(format, args...))
}

// nextItem reads the next item of the list: up to a comma or the end that is in
// no string and in no bracket.
func (r *userReader) nextItem() (*user, error) {
	if r.ended {
		return nil, r.rest()
	}
	r.item = r.item[:0]
	r.line, r.more = r.line+r.more, 0
	depth, quoted, escaped := 0, false, false
	for {
		c, err := r.from.ReadByte()
		switch {
		case errors.Is(err, io.EOF):
			return nil, r.wrong("the list has no end")
		case err != nil:
			return nil, fmt.Errorf("%s: %w", r.name, err)
		case len(r.item) >= maxUserLine:
			return nil, r.wrong("a user is longer than %d KiB", maxUserLine>>10)
		case c == '\n' && len(r.item) == 0:
			r.line++
		case c == '\n':
			r.more++
		}
		switch {
		case len(r.item) == 0 && bytes.IndexByte([]byte(" \t\r\n"), c) >= 0:
			continue
		case escaped:
			escaped = false
		case quoted:
			escaped, quoted = c == '\\', c != '"'
		case c == '"':
			quoted = true
		case depth == 0 && (c == ',' || c == ']'):
			r.ended = c == ']'
			if r.ended && len(r.item) == 0 && !r.some {
				return nil, r.rest()
			}
			r.some = true
			return r.json(bytes.TrimSpace(r.item))
		case c == '{' || c == '[':
			depth++
		case c == '}' && depth == 0:
			return nil, r.wrong("a } without a { before it")
		case c == '}' || c == ']':
			depth--
		}
		r.item = append(r.item, c)
	}
}

// rest makes sure that nothing follows the list.
func (r *userReader) rest() error {
	for {
		c, err := r.from.ReadByte()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("%s: %w", r.name, err)
		case bytes.IndexByte([]byte(" \t\r\n"), c) < 0:
			r.line, r.more = r.line+r.more, 0
			return r.wrong("text after the list")
		case c == '\n':
			r.more++
		}
	}
}

// user reads one line.
func (r *userReader) user(text []byte) (*user, error) {
	if text[0] == '{' || text[0] == '"' {
		return r.json(text)
	}
	u := &user{named: true}
	u.subject.DistinctID = string(text)
	return u, nil
}

func (r *userReader) json(text []byte) (*user, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	err := dec.Decode(&v)
	switch {
	case errors.Is(err, io.EOF):
		return nil, r.wrong("there is no user between the commas")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, r.wrong("the JSON ends in the middle: a user stands on one line, or all in a list")
	case err != nil:
		return nil, r.wrong("%s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, r.wrong("text after the user")
	}
	return r.made(v)
}

func (r *userReader) made(v any) (*user, error) {
	u := &user{}
	if id, ok := v.(string); ok {
		u.subject.DistinctID = id
		return u, nil
	}
	if err := readMembers(u, "", v, manyMembers); err != nil {
		return nil, r.wrong("%v", err)
	}
	if !u.named {
		return nil, r.wrong(`the user has no "distinct_id"`)
	}
	return u, nil
}

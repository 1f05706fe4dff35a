package local

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/cmd/bunting/internal/cli"
	"github.com/bunting-flags/bunting/flags"
)

// maxUserLine bounds the text of one user among many, in bytes.
const maxUserLine = 1 << 20

// userReader reads users one by one: a line each, as JSON object, JSON string or
// plain distinct id, or all in a JSON list.
type userReader struct {
	name  string
	taken *cli.Counter
	from  *cli.Records
	begun error
}

// manyMembers is the table of what a user among many may say: there is nothing
// to locate an address with, and "properties" is what events call them.
var manyMembers = append([]reader{
	{"properties", into(propertiesOf, func(u *user) *flags.Properties { return &u.subject.Person })},
}, slices.DeleteFunc(slices.Clone(userMembers), func(r reader) bool { return r.name == "ip" })...)

func newUserReader(name string, from io.Reader) *userReader {
	r := &userReader{name: name, taken: &cli.Counter{Reader: from}}
	if r.from, r.begun = cli.NewRecords(r.taken, maxUserLine); r.begun != nil {
		r.from = &cli.Records{Line: 1}
	}
	return r
}

// read is how many bytes were read so far.
func (r *userReader) read() int64 { return r.taken.N }

func (r *userReader) wrong(format string, args ...any) error {
	return fmt.Errorf("%s: line %d: %s", r.name, r.from.Line, fmt.Sprintf(format, args...))
}

// next returns the next user, nil at the end. The error names the place.
func (r *userReader) next() (*user, error) {
	if r.begun != nil {
		return nil, r.wrong("%v", r.begun)
	}
	text, err := r.from.Next()
	switch {
	case errors.Is(err, io.EOF) && r.from.Comma:
		return nil, r.wrong("there is no user between the commas")
	case errors.Is(err, io.EOF):
		if !r.from.End() {
			return nil, r.wrong("text after the list")
		}
		return nil, nil
	case errors.Is(err, cli.ErrTooLong) && r.from.List:
		return nil, r.wrong("a user is longer than %d KiB", maxUserLine>>10)
	case errors.Is(err, cli.ErrTooLong):
		return nil, r.wrong("a line is longer than %d KiB", maxUserLine>>10)
	case err != nil:
		return nil, r.wrong("%v", err)
	case r.from.List || text[0] == '{' || text[0] == '"':
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
	case bytes.HasPrefix(text, []byte("}")):
		return nil, r.wrong("a } without a { before it")
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

package local

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
	"github.com/bunting-flags/bunting/flags"
)

// maxUserLine is the maximum size of one user in a list of users, in bytes.
const maxUserLine = 1 << 20

// userReader reads users one at a time: one a line, as JSON object, JSON string or plain distinct
// id, or as a JSON list.
type userReader struct {
	name     string
	counter  *cli.Counter
	from     *cli.Records
	beginErr error
}

// manyMembers are the members of a user in a list of users. They are those of a single user except
// ip, since addresses are not located, and also "properties", as in events.
var manyMembers = append([]reader{
	{"properties", readInto(propertiesOf, func(u *user) *flags.Properties { return &u.subject.Person })},
}, slices.DeleteFunc(slices.Clone(userMembers), func(r reader) bool { return r.name == "ip" })...)

func newUserReader(name string, from io.Reader) *userReader {
	r := &userReader{name: name, counter: &cli.Counter{Reader: from}}
	if r.from, r.beginErr = cli.NewRecords(r.counter, maxUserLine); r.beginErr != nil {
		r.from = &cli.Records{Line: 1}
	}
	return r
}

// read returns the number of bytes that were read.
func (r *userReader) read() int64 { return r.counter.N }

func (r *userReader) newError(format string, args ...any) error {
	return fmt.Errorf("%s: line %d: %s", r.name, r.from.Line, fmt.Sprintf(format, args...))
}

// next returns the next user, or nil at the end. Its error contains the position.
func (r *userReader) next() (*user, error) {
	if r.beginErr != nil {
		return nil, r.newError("%v", r.beginErr)
	}
	text, err := r.from.Next()
	switch {
	case errors.Is(err, io.EOF) && r.from.Comma:
		return nil, r.newError("there is no user between the commas")
	case errors.Is(err, io.EOF):
		if !r.from.End() {
			return nil, r.newError("text after the list")
		}
		return nil, nil
	case errors.Is(err, cli.ErrTooLong) && r.from.List:
		return nil, r.newError("a user is longer than %d KiB", maxUserLine>>10)
	case errors.Is(err, cli.ErrTooLong):
		return nil, r.newError("a line is longer than %d KiB", maxUserLine>>10)
	case err != nil:
		return nil, r.newError("%v", err)
	case r.from.List || text[0] == '{' || text[0] == '"':
		return r.json(text)
	}
	u := &user{hasDistinctID: true}
	u.subject.DistinctID = string(text)
	return u, nil
}

// json parses a user, who may be an object or only a distinct id.
func (r *userReader) json(text []byte) (*user, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	err := dec.Decode(&v)
	switch {
	case bytes.HasPrefix(text, []byte("}")):
		return nil, r.newError("a } without a { before it")
	case errors.Is(err, io.EOF):
		return nil, r.newError("there is no user between the commas")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, r.newError("the JSON is incomplete: write each user on one line, or all in a list")
	case err != nil:
		return nil, r.newError("%s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, r.newError("text after the user")
	}
	u := &user{}
	if id, ok := v.(string); ok {
		u.subject.DistinctID = id
		return u, nil
	}
	if err := readMembers(u, "", v, manyMembers); err != nil {
		return nil, r.newError("%v", err)
	}
	if !u.hasDistinctID {
		return nil, r.newError(`the user has no "distinct_id"`)
	}
	return u, nil
}

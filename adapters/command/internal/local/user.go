package local

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
	"github.com/bunting-flags/bunting/flags"
)

// maxUser is the maximum size of a user, in bytes.
const maxUser = 16 << 20

// user is the subject of an evaluation.
type user struct {
	subject       flags.Subject
	hasDistinctID bool // a distinct id is set
	ip            netip.Addr
}

// memberError is an error with the position of a value in the user's JSON.
type memberError struct{ place, problem string }

func (e *memberError) Error() string { return e.place + ": " + e.problem }

func memberWrong(pointer, want string) error { return &memberError{pointer, "must be " + want} }

// reader reads one member into a user.
type reader struct {
	name string
	read func(u *user, place string, v any) error
}

// userMembers are the members that a user may have; storedMembers are those of the stored data
// about a user.
var userMembers = []reader{
	{"distinct_id", func(u *user, at string, v any) (err error) {
		u.subject.DistinctID, err = textOf(at, v)
		u.hasDistinctID = err == nil
		return err
	}},
	{"person_properties", readInto(propertiesOf, func(u *user) *flags.Properties { return &u.subject.Person })},
	{"groups", readInto(textsOf, func(u *user) *map[string]string { return &u.subject.Groups })},
	{"group_properties", readInto(byGroup, func(u *user) *map[string]flags.Properties { return &u.subject.GroupProperties })},
	{"$anon_distinct_id", readInto(textOf, func(u *user) *string { return &u.subject.AnonymousID })},
	{"$device_id", readInto(textOf, func(u *user) *string { return &u.subject.DeviceID })},
	{"ip", readInto(addressOf, func(u *user) *netip.Addr { return &u.ip })},
	{"stored", func(u *user, at string, v any) error {
		u.subject.Stored = &flags.Stored{}
		return readMembers(u, at, v, storedMembers)
	}},
}

var storedMembers = []reader{
	{"person_properties", readInto(propertiesOf, func(u *user) *flags.Properties { return &u.subject.Stored.Person })},
	{"groups", readInto(byGroup, func(u *user) *map[string]flags.Properties { return &u.subject.Stored.Groups })},
	{"cohorts", readInto(cohortsOf, func(u *user) *[]int64 { return &u.subject.Stored.Cohorts })},
	{"created_at", readInto(timeOf, func(u *user) *time.Time { return &u.subject.Stored.CreatedAt })},
	{"overrides", readInto(textsOf, func(u *user) *map[string]string { return &u.subject.Stored.Overrides })},
}

// readInto returns a function that reads a member into a field.
func readInto[T any](read func(pointer string, v any) (T, error), field func(*user) *T) func(*user, string, any) error {
	return func(u *user, pointer string, v any) (err error) {
		*field(u), err = read(pointer, v)
		return err
	}
}

// readUser reads the JSON of a user. Numbers are read as their text, since 5 and 5.0 are different
// strings (§4.2). Errors contain the position.
func readUser(name string, from io.Reader) (*user, error) {
	data, err := io.ReadAll(io.LimitReader(from, maxUser+1))
	if err == nil && len(data) > maxUser {
		err = fmt.Errorf("is larger than %d MiB", maxUser>>20)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, cli.JSONError(name, data, err)
	}
	offset := cli.NextText(data, dec.InputOffset())
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %s: text after the end of the JSON document", name, cli.Position(data, offset))
	}
	u := &user{}
	if err := readMembers(u, "", v, userMembers); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return u, nil
}

// readMembers reads an object by a table, in the order of the table. Null equals absent.
func readMembers(u *user, pointer string, v any, table []reader) error {
	members, ok := v.(map[string]any)
	if !ok {
		return memberWrong(cmp.Or(pointer, "the user"), "a JSON object")
	}
	for name := range members {
		if !slices.ContainsFunc(table, func(r reader) bool { return r.name == name }) {
			return &memberError{joinPointer(pointer, name), "is unknown; the members are " + strings.Join(cli.Names(table, func(r reader) string { return r.name }), ", ")}
		}
	}
	for _, r := range table {
		if value := members[r.name]; value != nil {
			if err := r.read(u, joinPointer(pointer, r.name), value); err != nil {
				return err
			}
		}
	}
	return nil
}

func joinPointer(pointer, name string) string {
	if pointer == "" {
		return name
	}
	return pointer + "." + name
}

// textOf returns a string, or a number as its text (§9.4).
func textOf(pointer string, v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case json.Number:
		return v.String(), nil
	}
	return "", memberWrong(pointer, "text or a number")
}

func addressOf(pointer string, v any) (netip.Addr, error) {
	text, _ := v.(string)
	ip, err := netip.ParseAddr(text)
	if err != nil {
		return ip, memberWrong(pointer, "an address such as 192.0.2.1")
	}
	return ip, nil
}

func timeOf(pointer string, v any) (time.Time, error) {
	text, _ := v.(string)
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return t, memberWrong(pointer, "a time such as 2026-01-31T12:00:00Z")
	}
	return t, nil
}

func cohortsOf(pointer string, v any) (ids []int64, err error) {
	list, ok := v.([]any)
	if !ok {
		return nil, memberWrong(pointer, "an array of cohort ids")
	}
	for i, v := range list {
		id, _ := v.(json.Number)
		n, err := id.Int64()
		if err != nil {
			return nil, memberWrong(fmt.Sprintf("%s[%d]", pointer, i), "the id of a cohort as a whole number")
		}
		ids = append(ids, n)
	}
	return ids, nil
}

func propertiesOf(pointer string, v any) (flags.Properties, error) {
	properties, ok := v.(map[string]any)
	if !ok {
		return nil, memberWrong(pointer, "a JSON object")
	}
	return properties, nil
}

func textsOf(pointer string, v any) (map[string]string, error) { return membersOf(pointer, v, textOf) }

func byGroup(pointer string, v any) (map[string]flags.Properties, error) {
	return membersOf(pointer, v, propertiesOf)
}

// membersOf reads each member of an object.
func membersOf[T any](pointer string, v any, read func(pointer string, v any) (T, error)) (map[string]T, error) {
	members, err := propertiesOf(pointer, v)
	if err != nil {
		return nil, err
	}
	out := make(map[string]T, len(members))
	for name, v := range members {
		if out[name], err = read(joinPointer(pointer, name), v); err != nil {
			return nil, err
		}
	}
	return out, nil
}

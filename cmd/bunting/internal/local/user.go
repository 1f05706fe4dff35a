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

	"github.com/bunting-flags/bunting/cmd/bunting/internal/cli"
	"github.com/bunting-flags/bunting/flags"
)

// maxUser bounds the text of a user, in bytes.
const maxUser = 16 << 20

// user is whom eval decides for.
type user struct {
	subject flags.Subject
	named   bool // there is a distinct id
	ip      netip.Addr
}

// place of a value in the user's JSON, and what is wrong with it.
type memberError struct{ place, problem string }

func (e *memberError) Error() string { return e.place + ": " + e.problem }

func wrong(place, want string) error { return &memberError{place, "must be " + want} }

// reader reads one member into a user.
type reader struct {
	name string
	read func(u *user, place string, v any) error
}

// userMembers is the table of what a user may say; storedMembers of what may
// be stored about one.
var userMembers = []reader{
	{"distinct_id", func(u *user, at string, v any) (err error) {
		u.subject.DistinctID, err = textOf(at, v)
		u.named = err == nil
		return err
	}},
	{"person_properties", into(propertiesOf, func(u *user) *flags.Properties { return &u.subject.Person })},
	{"groups", into(textsOf, func(u *user) *map[string]string { return &u.subject.Groups })},
	{"group_properties", into(byGroup, func(u *user) *map[string]flags.Properties { return &u.subject.GroupProperties })},
	{"$anon_distinct_id", into(textOf, func(u *user) *string { return &u.subject.AnonymousID })},
	{"$device_id", into(textOf, func(u *user) *string { return &u.subject.DeviceID })},
	{"ip", into(addressOf, func(u *user) *netip.Addr { return &u.ip })},
	{"stored", func(u *user, at string, v any) error {
		u.subject.Stored = &flags.Stored{}
		return readMembers(u, at, v, storedMembers)
	}},
}

var storedMembers = []reader{
	{"person_properties", into(propertiesOf, func(u *user) *flags.Properties { return &u.subject.Stored.Person })},
	{"groups", into(byGroup, func(u *user) *map[string]flags.Properties { return &u.subject.Stored.Groups })},
	{"cohorts", into(cohortsOf, func(u *user) *[]int64 { return &u.subject.Stored.Cohorts })},
	{"created_at", into(timeOf, func(u *user) *time.Time { return &u.subject.Stored.CreatedAt })},
	{"overrides", into(textsOf, func(u *user) *map[string]string { return &u.subject.Stored.Overrides })},
}

// into reads a member into a field.
func into[T any](read func(at string, v any) (T, error), field func(*user) *T) func(*user, string, any) error {
	return func(u *user, at string, v any) (err error) {
		*field(u), err = read(at, v)
		return err
	}
}

// readUser reads the JSON of a user. Numbers keep their form: 5 and 5.0 are
// different texts (§4.2). The error names the place.
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
	at := cli.NextText(data, dec.InputOffset())
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %s: text after the end of the JSON document", name, cli.Place(data, at))
	}
	u := &user{}
	if err := readMembers(u, "", v, userMembers); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return u, nil
}

// readMembers reads an object by a table, in the order of the table. Null is
// the same as absent.
func readMembers(u *user, at string, v any, table []reader) error {
	members, ok := v.(map[string]any)
	if !ok {
		return wrong(cmp.Or(at, "the user"), "a JSON object")
	}
	for name := range members {
		if !slices.ContainsFunc(table, func(r reader) bool { return r.name == name }) {
			return &memberError{joinPlace(at, name), "is not known here; there are " + strings.Join(cli.Names(table, func(r reader) string { return r.name }), ", ")}
		}
	}
	for _, r := range table {
		if value := members[r.name]; value != nil {
			if err := r.read(u, joinPlace(at, r.name), value); err != nil {
				return err
			}
		}
	}
	return nil
}

func joinPlace(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}

// textOf takes text, or a number as its text (§9.4).
func textOf(at string, v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case json.Number:
		return v.String(), nil
	}
	return "", wrong(at, "text or a number")
}

func addressOf(at string, v any) (netip.Addr, error) {
	text, _ := v.(string)
	ip, err := netip.ParseAddr(text)
	if err != nil {
		return ip, wrong(at, "an address such as 192.0.2.1")
	}
	return ip, nil
}

func timeOf(at string, v any) (time.Time, error) {
	text, _ := v.(string)
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return t, wrong(at, "a time such as 2026-01-31T12:00:00Z")
	}
	return t, nil
}

func cohortsOf(at string, v any) (ids []int64, err error) {
	list, ok := v.([]any)
	if !ok {
		return nil, wrong(at, "an array of cohort ids")
	}
	for i, v := range list {
		id, _ := v.(json.Number)
		n, err := id.Int64()
		if err != nil {
			return nil, wrong(fmt.Sprintf("%s[%d]", at, i), "the id of a cohort as a whole number")
		}
		ids = append(ids, n)
	}
	return ids, nil
}

func propertiesOf(at string, v any) (flags.Properties, error) {
	properties, ok := v.(map[string]any)
	if !ok {
		return nil, wrong(at, "a JSON object")
	}
	return properties, nil
}

func textsOf(at string, v any) (map[string]string, error) { return membersOf(at, v, textOf) }

func byGroup(at string, v any) (map[string]flags.Properties, error) {
	return membersOf(at, v, propertiesOf)
}

// membersOf reads each member of an object.
func membersOf[T any](at string, v any, read func(at string, v any) (T, error)) (map[string]T, error) {
	members, err := propertiesOf(at, v)
	if err != nil {
		return nil, err
	}
	out := make(map[string]T, len(members))
	for name, v := range members {
		if out[name], err = read(joinPlace(at, name), v); err != nil {
			return nil, err
		}
	}
	return out, nil
}

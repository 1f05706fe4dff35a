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
	{"person_properties", func(u *user, at string, v any) (err error) { u.subject.Person, err = propertiesOf(at, v); return err }},
	{"groups", func(u *user, at string, v any) error {
		groups, err := propertiesOf(at, v)
		if err != nil {
			return err
		}
		u.subject.Groups, err = textsOf(at, groups)
		return err
	}},
	{"group_properties", func(u *user, at string, v any) (err error) {
		u.subject.GroupProperties, err = byGroup(at, v)
		return err
	}},
	{"$anon_distinct_id", func(u *user, at string, v any) (err error) { u.subject.AnonymousID, err = textOf(at, v); return err }},
	{"$device_id", func(u *user, at string, v any) (err error) { u.subject.DeviceID, err = textOf(at, v); return err }},
	{"ip", func(u *user, at string, v any) error {
		text, _ := v.(string)
		ip, err := netip.ParseAddr(text)
		if err != nil {
			return wrong(at, "an address such as 192.0.2.1")
		}
		u.ip = ip
		return nil
	}},
	{"stored", func(u *user, at string, v any) error {
		u.subject.Stored = &flags.Stored{}
		return readMembers(u, at, v, storedMembers)
	}},
}

var storedMembers = []reader{
	{"person_properties", func(u *user, at string, v any) (err error) {
		u.subject.Stored.Person, err = propertiesOf(at, v)
		return err
	}},
	{"groups", func(u *user, at string, v any) (err error) { u.subject.Stored.Groups, err = byGroup(at, v); return err }},
	{"cohorts", func(u *user, at string, v any) error {
		ids, ok := v.([]any)
		if !ok {
			return wrong(at, "an array of cohort ids")
		}
		for i, v := range ids {
			id, ok := v.(json.Number)
			n, err := id.Int64()
			if !ok || err != nil {
				return wrong(fmt.Sprintf("%s[%d]", at, i), "the id of a cohort as a whole number")
			}
			u.subject.Stored.Cohorts = append(u.subject.Stored.Cohorts, n)
		}
		return nil
	}},
	{"created_at", func(u *user, at string, v any) error {
		text, _ := v.(string)
		created, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return wrong(at, "a time such as 2026-01-31T12:00:00Z")
		}
		u.subject.Stored.CreatedAt = created
		return nil
	}},
	{"overrides", func(u *user, at string, v any) error {
		ids, err := propertiesOf(at, v)
		if err != nil {
			return err
		}
		u.subject.Stored.Overrides, err = textsOf(at, ids)
		return err
	}},
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
			return &memberError{joinPlace(at, name), "is not known here; there are " + strings.Join(memberList(table), ", ")}
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

func memberList(table []reader) []string {
	names := make([]string, len(table))
	for i := range table {
		names[i] = table[i].name
	}
	return names
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

func textsOf(at string, members map[string]any) (map[string]string, error) {
	out := make(map[string]string, len(members))
	for name, v := range members {
		text, err := textOf(joinPlace(at, name), v)
		if err != nil {
			return nil, err
		}
		out[name] = text
	}
	return out, nil
}

func propertiesOf(at string, v any) (map[string]any, error) {
	properties, ok := v.(map[string]any)
	if !ok {
		return nil, wrong(at, "a JSON object")
	}
	return properties, nil
}

func byGroup(at string, v any) (map[string]flags.Properties, error) {
	groups, err := propertiesOf(at, v)
	if err != nil {
		return nil, err
	}
	out := make(map[string]flags.Properties, len(groups))
	for name, v := range groups {
		if out[name], err = propertiesOf(joinPlace(at, name), v); err != nil {
			return nil, err
		}
	}
	return out, nil
}

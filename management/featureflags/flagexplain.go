package featureflags

import (
	"context"
	"encoding/json"
	"net/netip"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management"
)

// ExplainFields are those of the body that asks why somebody has a flag's value:
// who it is, and what is laid over what is stored.
var ExplainFields = management.Fields{
	{Name: "distinct_id", Type: management.Any, Help: "a distinct id of the person; nobody need have it"},
	{Name: "person_id", Type: management.UUID, Null: true, Help: "the person, instead of a distinct id"},
	{Name: "person_properties", Type: management.Object, Null: true, Help: "laid over the stored ones, as in a flag request"},
	{Name: "groups", Type: management.Object, Null: true, Help: "group keys by group type"},
	{Name: "group_properties", Type: management.Object, Null: true, Help: "properties by group type, laid over the stored ones"},
	{Name: "timestamp", Type: management.Time, Null: true, Help: "a time to decide for, with what is stored now"},
	{Name: "ip", Type: management.Text, Null: true, Help: "an address to locate; that of the request is not"},
}

// Question asks why somebody has a flag's value.
type Question struct {
	Flag ExplainedFlag
	// PersonID is the UUID of the person, empty where Subject has the distinct id.
	PersonID string
	Subject  flags.Subject
	IP       netip.Addr // the zero value for none
	At       time.Time  // zero: now
}

// ExplainedFlag is the flag that a question is about.
type ExplainedFlag struct {
	ID      int64  `json:"id"`
	Key     string `json:"key"`
	Version int64  `json:"version"`
	Active  bool   `json:"active"`
}

// Question reads such a question. The flag is named by its key, or by its id where
// no flag has that key.
func (s Flags) Question(ctx context.Context, st *management.Standing, named string, b management.Body) (*Question, error) {
	v, err := ExplainFields.Create(b)
	if err != nil {
		return nil, err
	}
	q := &Question{}
	if err := q.readSubject(v); err != nil {
		return nil, err
	}
	return q, s.Desk.Store.Read(ctx, func(tx Tx) error {
		d, err := flagNamed(tx, st, named)
		if id, bad := strconv.ParseInt(named, 10, 64); err == nil && d == nil && bad == nil && id > 0 {
			d, err = tx.Definition(FlagDefinition, st.Project.ID, id)
		}
		switch {
		case err != nil:
			return err
		case d == nil || d.Deleted:
			return management.Missing("There is no feature flag %q.", named)
		}
		f, err := decodeFlag(st.Project.ID, d)
		if err != nil {
			return err
		}
		q.Flag = ExplainedFlag{f.ID, f.Key, f.Version, f.Active}
		return st.Needs(management.Viewer, f.thing())
	})
}

func (q *Question) readSubject(v management.Values) error {
	q.PersonID, q.At = v.Text("person_id"), v.Time("timestamp")
	hasID := v.Has("distinct_id") && !v.Null("distinct_id")
	switch {
	case hasID && q.PersonID != "":
		return management.Fault("person_id", "Give distinct_id or person_id, not both.")
	case !hasID && q.PersonID == "":
		return management.Coded(management.CodeRequired, "distinct_id", "Give distinct_id or person_id.")
	}
	var err error
	if hasID {
		if q.Subject.DistinctID, err = subjectText("distinct_id", wire.Value(v.Raw("distinct_id"))); err != nil {
			return err
		}
	}
	q.Subject.Person = anyObject(wire.Value(v.Raw("person_properties")))
	for kind, key := range anyObject(wire.Value(v.Raw("groups"))) {
		if q.Subject.Groups == nil {
			q.Subject.Groups = map[string]string{}
		}
		if q.Subject.Groups[kind], err = subjectText("groups__"+kind, key); err != nil {
			return err
		}
	}
	for kind, properties := range anyObject(wire.Value(v.Raw("group_properties"))) {
		object, ok := properties.(map[string]any)
		if !ok {
			return management.Coded(management.CodeNotADict, "group_properties__"+kind, "Expected a dictionary of items.")
		}
		if q.Subject.GroupProperties == nil {
			q.Subject.GroupProperties = map[string]flags.Properties{}
		}
		q.Subject.GroupProperties[kind] = object
	}
	if text := v.Text("ip"); text != "" {
		if q.IP, err = netip.ParseAddr(text); err != nil {
			return management.Fault("ip", "Enter a valid IPv4 or IPv6 address.")
		}
	}
	return nil
}

// subjectText takes text as it stands, spaces included, or a number as its text, as
// a flag request does.
func subjectText(field string, v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case json.Number:
		return v.String(), nil
	}
	return "", management.Fault(field, "Not a valid string.")
}

// IDOf is the id of the flag of a key, 0 for none.
func (s Flags) IDOf(ctx context.Context, st *management.Standing, key string) (int64, error) {
	return management.Read(ctx, &s.Desk, func(tx Tx) (int64, error) {
		d, err := flagNamed(tx, st, key)
		if err != nil || d == nil {
			return 0, err
		}
		return d.ID, nil
	})
}

// flagNamed finds a flag by what stands in a path. What no store can keep is no
// key.
func flagNamed(tx Tx, st *management.Standing, key string) (*Definition, error) {
	if !utf8.ValidString(key) || strings.ContainsRune(key, 0) {
		return nil, nil
	}
	return tx.DefinitionByKey(FlagDefinition, st.Project.ID, key)
}

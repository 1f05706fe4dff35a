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
	"github.com/bunting-flags/bunting/management/internal/definitions"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// explainFields are the fields of a request that explains a flag's value for a person: the person
// or distinct id, and values that override stored ones.
var explainFields = management.Fields{
	{Name: "distinct_id", Type: management.Any, Help: "a distinct id; it need not belong to a person"},
	{Name: "person_id", Type: management.UUID, Null: true, Help: "uuid of the person, instead of a distinct id"},
	{Name: "person_properties", Type: management.Object, Null: true, Help: "properties of the person, which override stored properties as in a flag request"},
	{Name: "groups", Type: management.Object, Null: true, Help: "group keys by group type"},
	{Name: "group_properties", Type: management.Object, Null: true, Help: "group properties by group type, which override stored properties"},
	{Name: "at", Type: management.Time, Null: true, Help: "evaluate the flag as of this time, with currently stored data"},
	{Name: "timestamp", Type: management.Time, Null: true, Help: "the same as at"},
	{Name: "filters", Type: management.Object, Null: true, Help: "filters that are not saved, instead of the flag's own"},
	{Name: "version", Type: management.Int, Null: true, Help: "number of an earlier version of the flag, instead of filters"},
	{Name: "ip", Type: management.Text, Null: true, Help: "IP address for location properties; the address of the request is not used"},
}

// Question is a request to explain a flag's value.
type Question struct {
	Flag ExplainedFlag
	// PersonID is the UUID of the person. It is empty if Subject has the distinct id instead.
	PersonID string
	Subject  flags.Subject
	IP       netip.Addr // the zero value if there is no address
	At       time.Time  // the zero value means now
	// Set contains the flag with rules other than those in force. If nil, the rules in force
	// apply.
	Set *flags.Set
	// Supplied is true if the request contains properties, BringsRules if it contains filters.
	Supplied, BringsRules bool
	// Pinned is true if the value is pinned for the person.
	Pinned bool
}

// ExplainedFlag is the flag that a Question is about.
type ExplainedFlag struct {
	ID      int64  `json:"id"`
	Key     string `json:"key"`
	Version int64  `json:"version"`
	Active  bool   `json:"active"`
}

// Question reads a request to explain a flag. idOrKey is the key of the flag, or its id if no
// flag has that key. If assumeActive is true, a flag that is off is evaluated as if it were on.
// It returns a NotFound error if there is no such flag.
func (s Flags) Question(ctx context.Context, scope *management.Scope, idOrKey string, b management.Body, assumeActive bool) (*Question, error) {
	v, err := explainFields.Create(b)
	if err != nil {
		return nil, err
	}
	q := &Question{}
	if err := q.readSubject(v); err != nil {
		return nil, err
	}
	return q, s.Env.Store.Read(ctx, func(tx storeTx) error {
		d, err := findByKey(tx, scope, idOrKey)
		// A key takes precedence over an id: keys may consist of digits.
		if id, bad := strconv.ParseInt(idOrKey, 10, 64); err == nil && d == nil && bad == nil && id > 0 {
			d, err = tx.Definition(management.FlagDefinition, scope.Project.ID, id)
		}
		switch {
		case err != nil:
			return err
		case d == nil || d.Deleted:
			return management.Missing("There is no feature flag %q.", idOrKey)
		}
		f, err := storedflags.Decode(scope.Project.ID, d)
		if err != nil {
			return err
		}
		if err := scope.RequireAccess(management.Viewer, f.AccessObject()); err != nil {
			return err
		}
		// target is f, unless the request has filters or a version.
		target, err := withOverrides(tx, f, v)
		if err != nil {
			return err
		}
		q.Flag = ExplainedFlag{f.ID, target.Key, target.Version, f.Active}
		if target != f || assumeActive && !f.Active {
			q.Set, err = s.stored.Compile(tx, scope, target)
		}
		return err
	})
}

// withOverrides returns a copy of the flag with the filters in the request, or at the version in
// the request. It returns f itself if the request has neither.
func withOverrides(tx storeTx, f *storedflags.Flag, v management.Values) (*storedflags.Flag, error) {
	filters, number := v.Raw("filters"), v.Int("version")
	hasVersion := v.Has("version") && !v.IsNull("version")
	// A version and filters exclude each other: both replace the rules of the flag.
	switch {
	case !management.EmptyJSON(filters) && hasVersion:
		return nil, management.Fault("version", "Give filters or version, not both.")
	case !management.EmptyJSON(filters):
		out := *f
		out.Filters = filters
		// The filters are not stored, but have to be valid.
		return &out, out.CheckFilters()
	case !hasVersion || number == f.Version:
		return f, nil
	}
	record, err := tx.Get(storedflags.KindVersion, storedflags.VersionsParent(f), strconv.FormatInt(number, 10))
	if err == nil && record == nil {
		err = management.CodedFault(management.CodeDoesNotExist, "version", "The feature flag has no version %d.", number)
	}
	if err != nil {
		return nil, err
	}
	stored, err := management.Decode[storedflags.Version](record)
	if err != nil {
		return nil, err
	}
	out, err := stored.FlagAt(f)
	if err == nil {
		out.Version = number
	}
	return out, err
}

// readSubject reads the person, groups, properties, time and address of the request. Exactly one
// of distinct_id and person_id is required.
func (q *Question) readSubject(v management.Values) error {
	q.PersonID, q.At = v.Text("person_id"), v.Time("at")
	if q.At.IsZero() {
		q.At = v.Time("timestamp")
	}
	hasID := v.Has("distinct_id") && !v.IsNull("distinct_id")
	switch {
	case hasID && q.PersonID != "":
		return management.Fault("person_id", "Give distinct_id or person_id, not both.")
	case !hasID && q.PersonID == "":
		return management.CodedFault(management.CodeRequired, "distinct_id", "Give distinct_id or person_id.")
	}
	var err error
	if hasID {
		// Like in a flag request, a distinct id may be a number.
		if q.Subject.DistinctID, err = subjectText("distinct_id", wire.Value(v.Raw("distinct_id"))); err != nil {
			return err
		}
	}
	q.Subject.Person = definitions.Object(wire.Value(v.Raw("person_properties")))
	for kind, key := range definitions.Object(wire.Value(v.Raw("groups"))) {
		if q.Subject.Groups == nil {
			q.Subject.Groups = map[string]string{}
		}
		if q.Subject.Groups[kind], err = subjectText("groups__"+kind, key); err != nil {
			return err
		}
	}
	for kind, properties := range definitions.Object(wire.Value(v.Raw("group_properties"))) {
		// Each group type has an object with properties.
		object, ok := properties.(map[string]any)
		if !ok {
			return management.CodedFault(management.CodeNotADict, "group_properties__"+kind, "Expected a dictionary of items.")
		}
		if q.Subject.GroupProperties == nil {
			q.Subject.GroupProperties = map[string]flags.Properties{}
		}
		q.Subject.GroupProperties[kind] = object
	}
	// DifferenceReason needs to know whether the request changed the person or the rules.
	q.Supplied = len(q.Subject.Person)+len(q.Subject.GroupProperties) > 0
	q.BringsRules = !management.EmptyJSON(v.Raw("filters"))
	if text := v.Text("ip"); text != "" {
		if q.IP, err = netip.ParseAddr(text); err != nil {
			return management.Fault("ip", "Enter a valid IPv4 or IPv6 address.")
		}
	}
	return nil
}

// subjectText converts a string or a number into a string, like a flag request does. Spaces are
// preserved.
func subjectText(field string, v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case json.Number:
		return v.String(), nil
	}
	return "", management.Fault(field, "Not a valid string.")
}

// IDByKey returns the id of the flag with the given key, or 0 if there is none.
func (s Flags) IDByKey(ctx context.Context, scope *management.Scope, key string) (int64, error) {
	return management.Read(ctx, &s.Env, func(tx storeTx) (int64, error) {
		d, err := findByKey(tx, scope, key)
		if err != nil || d == nil {
			return 0, err
		}
		return d.ID, nil
	})
}

// findByKey returns the flag whose key is part of a URL path, or nil if there is none. Strings
// that are not UTF-8 or contain a zero byte are not looked up, because some stores reject them.
func findByKey(tx storeTx, scope *management.Scope, key string) (*management.Definition, error) {
	if !utf8.ValidString(key) || strings.ContainsRune(key, 0) {
		return nil, nil
	}
	return tx.DefinitionByKey(management.FlagDefinition, scope.Project.ID, key)
}

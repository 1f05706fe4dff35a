package filter

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights/internal/hogql"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/flags/wire"
)

// CellOf returns the value of a field for an event.
type CellOf func(*scan.Row) hogql.Value

// Field is a field of events in HogQL (§2.9.6). It is found by the first name of its path;
// rest are the other names.
type Field struct {
	// typ returns the type of the field, and false if the path does not exist.
	typ func(rest []string) (hogql.Type, bool)
	// bind returns the function that reads the field.
	bind func(b *scan.Binder, rest []string) CellOf
}

// NewField returns a field that has no fields below it.
func NewField(t hogql.Type, bind func(b *scan.Binder) CellOf) Field {
	return Field{
		typ:  func(rest []string) (hogql.Type, bool) { return t, len(rest) == 0 },
		bind: func(b *scan.Binder, _ []string) CellOf { return bind(b) },
	}
}

// columnField returns a field that is a column of a batch.
func columnField(t hogql.Type, c port.Columns, value CellOf) Field {
	return NewField(t, func(b *scan.Binder) CellOf {
		b.Needs.Columns |= c
		return value
	})
}

// propertyField returns a field that is a property of the event.
func propertyField(value func(b *scan.Binder) scan.Getter) Field {
	return NewField(hogql.PropertyType, func(b *scan.Binder) CellOf {
		raw := value(b)
		return func(r *scan.Row) hogql.Value { return hogql.Property(raw(r)) }
	})
}

// nestedProperty returns the value of a property (rest has one name) or of a member below it. raw
// is the property.
func nestedProperty(raw scan.Getter, rest []string) CellOf {
	if len(rest) == 1 {
		return func(r *scan.Row) hogql.Value { return hogql.Property(raw(r)) }
	}
	return func(r *scan.Row) hogql.Value { return hogql.PropertyAt(raw(r), rest[1:]) }
}

// hogqlFields are the fields of events by the first name. Add new fields here.
var hogqlFields map[string]Field

// hogqlStar are the fields that * selects.
var hogqlStar = []string{"uuid", "event", "properties", "timestamp", "distinct_id", "elements_chain", "created_at", "person_id", "person_mode"}

func init() {
	hogqlFields = map[string]Field{
		"uuid":           columnField(hogql.UUIDType, port.UUIDs, func(r *scan.Row) hogql.Value { return hogql.UUIDOf(r.Batch.UUID[r.Index].String()) }),
		"event":          columnField(hogql.TextType, port.Names, func(r *scan.Row) hogql.Value { return hogql.TextOf(r.Batch.Name[r.Index]) }),
		"timestamp":      columnField(hogql.TimeType, 0, func(r *scan.Row) hogql.Value { return hogql.TimeOf(r.Batch.Time[r.Index]) }),
		"created_at":     columnField(hogql.TimeType, port.CreatedAt, func(r *scan.Row) hogql.Value { return hogql.TimeOf(r.Batch.CreatedAt[r.Index]) }),
		"distinct_id":    columnField(hogql.TextType, port.DistinctIDs, func(r *scan.Row) hogql.Value { return hogql.TextOf(r.Batch.DistinctID[r.Index]) }),
		"elements_chain": columnField(hogql.TextType, port.Elements, func(r *scan.Row) hogql.Value { return hogql.TextOf(r.Batch.Elements[r.Index]) }),
		"person_mode":    columnField(hogql.TextType, port.Modes, func(r *scan.Row) hogql.Value { return hogql.TextOf(r.Batch.Mode[r.Index].String()) }),
		"person_id":      NewField(hogql.UUIDType, PersonText),
		"team_id": NewField(hogql.IntType, func(b *scan.Binder) CellOf {
			return func(*scan.Row) hogql.Value { return hogql.IntOf(b.Project.ID) }
		}),
		"properties": {typ: propertiesType, bind: func(b *scan.Binder, rest []string) CellOf {
			if len(rest) == 0 {
				b.AllProperties()
				return func(r *scan.Row) hogql.Value { return hogql.TextOf(r.Batch.Properties[r.Index]) }
			}
			return nestedProperty(b.EventProperty(rest[0]), rest)
		}},
		"person":  {typ: personField, bind: bindPersonField},
		"session": {typ: sessionField, bind: bindSessionField},
	}
	// Properties that are fields of their own.
	for _, name := range []string{"$session_id", "$window_id"} {
		hogqlFields[name] = propertyField(func(b *scan.Binder) scan.Getter { return b.EventProperty(name) })
	}
	for i := range scan.MaxGroupTypes {
		hogqlFields["$group_"+strconv.Itoa(i)] = propertyField(func(b *scan.Binder) scan.Getter { return b.GroupKey(i) })
		hogqlFields["group_"+strconv.Itoa(i)] = Field{typ: groupField, bind: func(b *scan.Binder, rest []string) CellOf { return bindGroupField(b, i, rest) }}
	}
}

// PersonText returns the UUID of the event's person. The string of each person is created only on
// first use.
func PersonText(b *scan.Binder) CellOf {
	b.Volatile = true // a merge may change it
	person := b.People()
	var texts []string
	return func(r *scan.Row) hogql.Value {
		n := person(r)
		for int(n) >= len(texts) {
			texts = append(texts, make([]string, len(texts)+1024)...)
			b.SetErr(b.Reserve(int64(len(texts)/2) * 52))
		}
		if texts[n] == "" {
			texts[n] = b.PersonID(n).String()
		}
		return hogql.UUIDOf(texts[n])
	}
}

// personField returns the type of a field below person.
func personField(rest []string) (hogql.Type, bool) {
	if len(rest) == 0 {
		return hogql.Type{}, false
	}
	switch {
	case rest[0] == "properties":
		return propertiesType(rest[1:])
	case len(rest) > 1:
		return hogql.Type{}, false
	}
	t, ok := map[string]hogql.Type{"id": hogql.UUIDType, "created_at": hogql.TimeType.Nullable(), "distinct_id": hogql.TextType}[rest[0]]
	return t, ok
}

// bindPersonField returns the function that reads a field below person.
func bindPersonField(b *scan.Binder, rest []string) CellOf {
	switch {
	case rest[0] == "id":
		return PersonText(b)
	case rest[0] == "distinct_id":
		return hogqlFields["distinct_id"].bind(b, nil)
	case rest[0] == "created_at":
		return personCreated(b)
	case len(rest) > 1:
		return nestedProperty(b.PersonProperty(rest[1]), rest[1:])
	case b.Mode == scan.ModeOverrideJoined || b.Mode == scan.ModeDisabled:
		return profileText(b)
	}
	b.Needs.Columns |= port.PersonProperties
	return func(r *scan.Row) hogql.Value { return hogql.TextOf(r.Batch.PersonProperties[r.Index]) }
}

// profileText returns the properties of the event's person as JSON, with their current values.
func profileText(b *scan.Binder) CellOf {
	texts := map[capture.UUID]string{}
	b.ReadProfiles(func(p *capture.StoredPerson) error {
		text := p.Properties.String()
		if err := b.Reserve(int64(len(text)) + 96); err != nil {
			return err
		}
		texts[p.UUID] = text
		return nil
	})
	person := b.People()
	return func(r *scan.Row) hogql.Value {
		if text, ok := texts[b.PersonID(person(r))]; ok {
			return hogql.TextOf(text)
		}
		return hogql.TextOf("{}")
	}
}

// personCreated returns when the event's person was created; null if the person no longer exists.
func personCreated(b *scan.Binder) CellOf {
	b.Volatile = true
	person := b.People()
	if b.Mode != scan.ModeNoOverride {
		// The reader returns this time together with the persons.
		b.Needs.Columns |= port.PeopleCreated
		return func(r *scan.Row) hogql.Value {
			if p := b.Reader.Person(person(r)); p.Exists {
				return hogql.TimeOf(p.CreatedAt)
			}
			return hogql.Value{}
		}
	}
	// In this mode persons are those of the time of the event, which the reader cannot look up by
	// number.
	created := map[capture.UUID]int64{}
	b.ReadProfiles(func(p *capture.StoredPerson) error {
		created[p.UUID] = p.CreatedAt.UnixMicro()
		return b.Reserve(64)
	})
	return func(r *scan.Row) hogql.Value {
		if at, ok := created[b.PersonID(person(r))]; ok {
			return hogql.TimeOf(at)
		}
		return hogql.Value{}
	}
}

// groupField returns the type of a field below group_0 and so on.
func groupField(rest []string) (hogql.Type, bool) {
	if len(rest) > 0 && rest[0] == "properties" {
		return propertiesType(rest[1:])
	}
	if len(rest) != 1 {
		return hogql.Type{}, false
	}
	t, ok := map[string]hogql.Type{"key": hogql.TextType.Nullable(), "index": hogql.IntType.Nullable(), "created_at": hogql.TimeType.Nullable()}[rest[0]]
	return t, ok
}

// bindGroupField returns the function that reads a field of the event's group of a type; null if there
// is no such group.
func bindGroupField(b *scan.Binder, groupType int, rest []string) CellOf {
	key := b.GroupKey(groupType)
	// A single property does not need the other data of the groups.
	if rest[0] == "properties" && len(rest) > 1 {
		return nestedProperty(b.GroupProperty(groupType, rest[1]), rest[1:])
	}
	values := map[string]hogql.Value{}
	b.SetErr(b.Reader.Groups(b.Context, groupType, nil, func(g *capture.Group) error {
		v := GroupTableFields[rest[0]].value(g, nil)
		if err := b.Reserve(int64(len(g.Key)+len(v.Text())) + 120); err != nil {
			return err
		}
		values[g.Key] = v
		return nil
	}))
	return func(r *scan.Row) hogql.Value {
		k, _ := scan.Text(key(r))
		return values[k]
	}
}

// sessionField returns the type of a field below session.
func sessionField(rest []string) (hogql.Type, bool) {
	if len(rest) != 1 {
		return hogql.Type{}, false
	}
	if rest[0] == "$start_timestamp" || rest[0] == "$end_timestamp" {
		return hogql.TimeType.Nullable(), true
	}
	_, ok := scan.SessionValues[rest[0]]
	return hogql.PropertyType, ok || rest[0] == "id"
}

// bindSessionField returns the function that reads a field of the event's session; null if the event
// has no session.
func bindSessionField(b *scan.Binder, rest []string) CellOf {
	id := b.EventProperty("$session_id")
	if rest[0] == "id" {
		return func(r *scan.Row) hogql.Value { return hogql.Property(id(r)) }
	}
	// Sessions are read when the field is bound.
	sessions := b.Sessions()
	return func(r *scan.Row) hogql.Value {
		s := sessions[id(r)]
		switch {
		case s == nil:
			return hogql.Value{}
		case rest[0] == "$start_timestamp":
			return hogql.TimeOf(s.Start)
		case rest[0] == "$end_timestamp":
			return hogql.TimeOf(s.End)
		}
		return hogql.Property(scan.SessionValues[rest[0]](s))
	}
}

// EventScope returns the scope in which expressions over events are compiled. extra are fields that
// only one kind of query has.
func EventScope(p *port.Project, extra map[string]Field) *hogql.Scope {
	return &hogql.Scope{
		Time: "timestamp", Name: "event", Star: hogqlStar, Filters: true,
		Resolve: func(path []string) (hogql.Type, bool) {
			// Fields of the kind of query take precedence.
			if f, ok := extra[path[0]]; ok && len(path) == 1 {
				return f.typ(nil)
			}
			f, ok := hogqlFields[path[0]]
			if !ok {
				return hogql.Type{}, false
			}
			return f.typ(path[1:])
		},
		Cohort: CohortResolver(p, "person_id", "person.id"),
	}
}

// CohortResolver returns the function that validates IN COHORT: the field must be one of people, which
// are paths to the person's id, and the cohort must exist and be supported.
func CohortResolver(p *port.Project, people ...string) func(path []string, cohort string) error {
	return func(path []string, cohort string) error {
		if !slices.Contains(people, strings.Join(path, ".")) {
			return errors.New("IN COHORT asks for " + people[0])
		}
		id, err := strconv.ParseInt(cohort, 10, 64)
		if err != nil || !hasCohort(p, id) {
			return errors.New("Cohort " + wire.Quote(cohort) + " does not exist")
		}
		// A cohort with a condition about events is not supported.
		if reason := unsupportedReason(p, id, map[int64]bool{}); reason != "" {
			return hogql.Unsupported(strings.TrimSuffix(reason, "."))
		}
		return nil
	}
}

// EventRow returns a function that converts an event to a row for compiled expressions. filters is
// the value of {filters}; it may be nil if no expression uses it.
func EventRow(b *scan.Binder, scope *hogql.Scope, extra map[string]Field, filters func(*scan.Row) bool) func(*scan.Row) *hogql.Row {
	var cells []CellOf
	for _, f := range scope.Fields() {
		switch {
		case f.Filters:
			cells = append(cells, boolCell(filters))
		case f.Cohort != "":
			id, _ := strconv.ParseInt(f.Cohort, 10, 64)
			cells = append(cells, boolCell(b.PersonSet(false, InCohort(b, id))))
		case extra[f.Path[0]].bind != nil && len(f.Path) == 1:
			cells = append(cells, extra[f.Path[0]].bind(b, nil))
		default:
			cells = append(cells, hogqlFields[f.Path[0]].bind(b, f.Path[1:]))
		}
	}
	// The id orders rows with the same time.
	b.Needs.Columns |= port.IDs
	// The row is reused: it reads fields from the current event when an expression fetches them.
	var event *scan.Row
	out := &hogql.Row{Fetch: func(slot int) hogql.Value { return cells[slot](event) }}
	return func(r *scan.Row) *hogql.Row {
		event = r
		out.Time, out.ID = r.Batch.Time[r.Index], r.Batch.ID[r.Index]
		return out
	}
}

// boolCell returns a condition as a field.
func boolCell(holds func(*scan.Row) bool) CellOf {
	return func(r *scan.Row) hogql.Value { return hogql.BoolOf(holds(r)) }
}

package filter

import (
	"slices"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights/internal/hogql"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/flags/wire"
)

// ActorRow is one row of an ActorsQuery: a person or a group, from which the columns are computed.
type ActorRow struct {
	*scan.Member
	// GroupType is scan.AnyPeople for persons.
	GroupType int
	Stored    *capture.StoredPerson // nil for groups and for persons that no longer exist
	Group     *capture.Group
	// Display are the project's display properties of persons, zone is its time zone.
	Display []string
	Zone    *time.Location
}

// DisplayName is the column that holds a person's display name; orderBy uses it to sort persons.
const DisplayName = "person_display_name"

// ActorColumn is a column of actors: its type and the function that computes it.
type ActorColumn struct {
	typ   hogql.Type
	value func(a *ActorRow) hogql.Value
}

// actorColumns are the columns of actors by name. Add new columns here.
var actorColumns = map[string]ActorColumn{
	"person":             {hogql.ObjectType, (*ActorRow).object},
	"actor":              {hogql.ObjectType, (*ActorRow).object},
	"group":              {hogql.ObjectType, (*ActorRow).object},
	"id":                 {hogql.TextType, func(a *ActorRow) hogql.Value { return hogql.TextOf(a.id()) }},
	"created_at":         {hogql.TimeType.Nullable(), (*ActorRow).createdAt},
	"is_identified":      {hogql.BoolType, func(a *ActorRow) hogql.Value { return hogql.BoolOf(a.Stored != nil && a.Stored.Identified) }},
	"distinct_ids":       {hogql.TextType.ListOf(), func(a *ActorRow) hogql.Value { return textList(a.ids()) }},
	"properties":         {hogql.ObjectType, func(a *ActorRow) hogql.Value { return hogql.ObjectOf(a.properties().String()) }},
	"event_count":        {hogql.IntType, func(a *ActorRow) hogql.Value { return hogql.IntOf(a.Events) }},
	"event_distinct_ids": {hogql.TextType.ListOf(), func(a *ActorRow) hogql.Value { return textList(a.DistinctIDs) }},
	"appearances":        {hogql.IntType.ListOf(), (*ActorRow).appearanceList},
	"matched_recordings": {hogql.TextType.ListOf(), func(*ActorRow) hogql.Value { return textList(nil) }},
	"$delete":            {hogql.IntType, func(*ActorRow) hogql.Value { return hogql.IntOf(1) }},
	DisplayName:          {hogql.TextType, func(a *ActorRow) hogql.Value { return hogql.TextOf(a.name()) }},
}

// actorPath returns the column or property that a path names. The path may begin with person, actor
// or group, which is skipped.
func actorPath(path []string) (ActorColumn, bool) {
	if len(path) > 1 && (path[0] == "person" || path[0] == "actor" || path[0] == "group") {
		path = path[1:]
	}
	if path[0] == "properties" && len(path) > 1 {
		return ActorColumn{hogql.PropertyType, func(a *ActorRow) hogql.Value { return hogql.Property(a.property(path[1:])) }}, true
	}
	c, ok := actorColumns[path[0]]
	return c, ok && len(path) == 1
}

// ActorScope returns the scope in which expressions about actors are compiled.
func ActorScope() *hogql.Scope {
	return &hogql.Scope{Resolve: func(path []string) (hogql.Type, bool) {
		c, ok := actorPath(path)
		return c.typ, ok
	}}
}

// ColumnsOf returns the columns that compiled expressions use, in the order of the fields of a row.
func ColumnsOf(scope *hogql.Scope) []ActorColumn {
	out := make([]ActorColumn, len(scope.Fields()))
	for i, field := range scope.Fields() {
		out[i], _ = actorPath(field.Path)
	}
	return out
}

// Fill computes the columns of the actor into the fields of a row.
func (a *ActorRow) Fill(columns []ActorColumn, fields []hogql.Value) {
	for i, c := range columns {
		fields[i] = c.value(a)
	}
}

// bindPerson returns the expression as a condition of stored persons, without regard to events.
func (c *hogqlCondition) bindPerson(b *scan.Binder) func(*capture.StoredPerson) bool {
	scope := ActorScope()
	program, err := c.Compile(scope, ExpressionContext(b.Run))
	if err != nil {
		b.SetErr(AtPlace(err, c.Attr))
		return func(*capture.StoredPerson) bool { return false }
	}
	columns := ColumnsOf(scope)
	row := &hogql.Row{Fields: make([]hogql.Value, len(columns))}
	return func(p *capture.StoredPerson) bool {
		a := &ActorRow{Member: &scan.Member{Person: p.UUID}, GroupType: scan.AnyPeople, Stored: p, Zone: b.Zone}
		a.Fill(columns, row.Fields)
		v, err := program.Eval(row)
		setEvalErr(b, err, c.Expression)
		return v.IsTrue()
	}
}

// textList returns a HogQL list of strings.
func textList(texts []string) hogql.Value {
	list := make([]hogql.Value, len(texts))
	for i, text := range texts {
		list[i] = hogql.TextOf(text)
	}
	return hogql.ListOf(list)
}

// appearanceList returns the retention columns in which the actor appears, as a HogQL list.
func (a *ActorRow) appearanceList() hogql.Value {
	list := make([]hogql.Value, len(a.Appearances))
	for i, n := range a.Appearances {
		list[i] = hogql.IntOf(int64(n))
	}
	return hogql.ListOf(list)
}

// isGroup reports whether the actor is a group.
func (a *ActorRow) isGroup() bool { return a.GroupType >= 0 }

// id returns the key of a group, or the UUID of a person.
func (a *ActorRow) id() string {
	if a.isGroup() {
		return a.Member.Group
	}
	return a.Person.String()
}

// ids returns the distinct ids of the person; nil for groups and for persons that no longer exist.
func (a *ActorRow) ids() []string {
	if a.Stored == nil {
		return nil
	}
	return a.Stored.DistinctIDs
}

// properties returns the properties of the person or group, nil if it no longer exists.
func (a *ActorRow) properties() capture.Object {
	switch {
	case a.Stored != nil:
		return a.Stored.Properties
	case a.Group != nil:
		return a.Group.Properties
	}
	return nil
}

// property returns a property as JSON text, "" if it is absent. A path of more than one name leads
// to members of nested objects.
func (a *ActorRow) property(path []string) string {
	value, _ := a.properties().Get(path[0])
	found := make([]string, 1)
	for _, name := range path[1:] {
		(&scan.Keys{Names: []string{name}}).Extract(value, found)
		value = found[0]
	}
	return value
}

// created returns when the person or group was created, and false if it no longer exists.
func (a *ActorRow) created() (time.Time, bool) {
	switch {
	case a.Stored != nil:
		return a.Stored.CreatedAt, true
	case a.Group != nil:
		return a.Group.CreatedAt, true
	}
	return time.Time{}, false
}

// createdAt is the column created_at; it is null if the actor no longer exists.
func (a *ActorRow) createdAt() hogql.Value {
	if at, ok := a.created(); ok {
		return hogql.TimeOf(at.UnixMicro())
	}
	return hogql.Value{}
}

// object returns the actor as an object of the response. For an actor that no longer exists the
// object has only the id.
func (a *ActorRow) object() hogql.Value {
	at, ok := a.created()
	if !ok {
		return hogql.ObjectOf(string(wire.MustEncode(map[string]string{"id": a.id()})))
	}
	created := at.In(a.Zone).Format("2006-01-02T15:04:05.999999Z07:00")
	if a.isGroup() {
		return hogql.ObjectOf(string(wire.MustEncode(map[string]any{
			"id": a.id(), "type": "group", "group_key": a.id(), "group_type_index": a.GroupType, "created_at": created,
			"group_properties": a.Group.Properties, "properties": a.Group.Properties,
		})))
	}
	return hogql.ObjectOf(string(wire.MustEncode(map[string]any{
		"id": a.id(), "uuid": a.id(), "distinct_ids": a.Stored.DistinctIDs, "properties": a.Stored.Properties,
		"created_at": created, "is_identified": a.Stored.Identified,
	})))
}

// defaultNames are the properties that are used as display name, the preferred first, if the
// project does not configure any.
var defaultNames = []string{"email", "Email", "name", "Name", "username", "Username", "UserName"}

// name returns the display name: for a person the first display property, then a distinct id, then
// the UUID; for a group its property "name", then its key.
func (a *ActorRow) name() string {
	if a.isGroup() {
		if name, ok := a.properties().Text("name"); ok && name != "" {
			return name
		}
		return a.id()
	}
	if name := a.DisplayProperty(); name != "" {
		return name
	}
	if ids := a.ids(); len(ids) > 0 {
		return ids[0]
	}
	return a.id()
}

// DisplayProperty returns the first display property of the person that is not empty, "" if there
// is no such property.
func (a *ActorRow) DisplayProperty() string {
	for _, property := range a.Display {
		value, _ := a.properties().Get(property)
		if text, _ := scan.Text(value); text != "" {
			return text
		}
	}
	return ""
}

// DisplayNames returns the properties used as display name of persons, the preferred first.
func DisplayNames(p *port.Project) []string {
	if len(p.PersonDisplay) == 0 {
		return defaultNames
	}
	return p.PersonDisplay
}

// MatchesSearch reports whether the lower-case string search is part of the id, a distinct id, the
// name, or the e-mail address of the actor.
func (a *ActorRow) MatchesSearch(search string) bool {
	texts := append([]string{a.id()}, a.ids()...)
	for _, property := range []string{"email", "name"} {
		if text, ok := a.properties().Text(property); ok && (property == "name" || !a.isGroup()) {
			texts = append(texts, text)
		}
	}
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(strings.ToLower(text), search) })
}

package filter

import (
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights/internal/hogql"
)

// tableField is a field of the table persons or groups.
type tableField[T any] struct {
	// typ returns the type of the field, and false if the path does not exist.
	typ func(rest []string) (hogql.Type, bool)
	// value returns the value of the field for an item.
	value func(of T, rest []string) hogql.Value
}

// simpleTableField returns a field that has no fields below it.
func simpleTableField[T any](t hogql.Type, value func(item T) hogql.Value) tableField[T] {
	return tableField[T]{
		typ:   func(rest []string) (hogql.Type, bool) { return t, len(rest) == 0 },
		value: func(item T, _ []string) hogql.Value { return value(item) },
	}
}

// objectValue returns a JSON object (rest is empty) or the value of a member below it.
func objectValue(o capture.Object, rest []string) hogql.Value {
	if len(rest) == 0 {
		return hogql.TextOf(o.String())
	}
	raw, _ := o.Get(rest[0])
	return hogql.PropertyAt(raw, rest[1:])
}

// PersonTableFields are the fields of the table persons.
var PersonTableFields = map[string]tableField[*capture.StoredPerson]{
	"id":            simpleTableField(hogql.UUIDType, func(p *capture.StoredPerson) hogql.Value { return hogql.UUIDOf(p.UUID.String()) }),
	"created_at":    simpleTableField(hogql.TimeType, func(p *capture.StoredPerson) hogql.Value { return hogql.TimeOf(p.CreatedAt.UnixMicro()) }),
	"is_identified": simpleTableField(hogql.BoolType, func(p *capture.StoredPerson) hogql.Value { return hogql.BoolOf(p.Identified) }),
	"distinct_ids": simpleTableField(hogql.TextType.ListOf(), func(p *capture.StoredPerson) hogql.Value {
		ids := make([]hogql.Value, len(p.DistinctIDs))
		for i, id := range p.DistinctIDs {
			ids[i] = hogql.TextOf(id)
		}
		return hogql.ListOf(ids)
	}),
	"properties": {typ: propertiesType, value: func(p *capture.StoredPerson, rest []string) hogql.Value { return objectValue(p.Properties, rest) }},
}

// GroupTableFields are the fields of the table groups.
var GroupTableFields = map[string]tableField[*capture.Group]{
	"index":      simpleTableField(hogql.IntType, func(g *capture.Group) hogql.Value { return hogql.IntOf(int64(g.Type)) }),
	"key":        simpleTableField(hogql.TextType, func(g *capture.Group) hogql.Value { return hogql.TextOf(g.Key) }),
	"created_at": simpleTableField(hogql.TimeType, func(g *capture.Group) hogql.Value { return hogql.TimeOf(g.CreatedAt.UnixMicro()) }),
	"properties": {typ: propertiesType, value: func(g *capture.Group, rest []string) hogql.Value { return objectValue(g.Properties, rest) }},
}

// TableScope returns the scope of a table. star are the fields that * selects.
func TableScope[T any](fields map[string]tableField[T], star ...string) *hogql.Scope {
	return &hogql.Scope{Star: star, Filters: true, Resolve: func(path []string) (hogql.Type, bool) {
		f, ok := fields[path[0]]
		if !ok {
			return hogql.Type{}, false
		}
		return f.typ(path[1:])
	}}
}

// TableRow returns a function that converts an item of a table to a row for compiled expressions.
// other computes the values that are not fields: {filters} and membership in cohorts. The row is
// reused.
func TableRow[T any](scope *hogql.Scope, fields map[string]tableField[T], other func(f hogql.Field, item T) bool) func(item T) *hogql.Row {
	// current is the item of the present row.
	var current T
	slots := scope.Fields()
	out := &hogql.Row{Fetch: func(slot int) hogql.Value {
		f := slots[slot]
		if f.Filters || f.Cohort != "" {
			return hogql.BoolOf(other(f, current))
		}
		return fields[f.Path[0]].value(current, f.Path[1:])
	}}
	return func(item T) *hogql.Row {
		current = item
		return out
	}
}

// propertiesType returns the type of a JSON object (rest is empty) or of a member below it.
func propertiesType(rest []string) (hogql.Type, bool) {
	if len(rest) == 0 {
		return hogql.TextType, true
	}
	return hogql.PropertyType, true
}

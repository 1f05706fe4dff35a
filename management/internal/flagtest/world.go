package flagtest

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/rooms"
)

// The source of the expected values in the tables is the section of spec/management.md in the row;
// if it is another specification, its name precedes the section.

// People are the persons of Project, newest first, and the groups of its type 0.
type People struct {
	All    []management.Person
	groups map[string]map[string]any
}

// Persons implements management.People.
func (p *People) Persons(_ context.Context, project int64, visit func(*management.Person) bool) error {
	for i := range p.personsIn(project) {
		if !visit(&p.All[i]) {
			break
		}
	}
	return nil
}

func (p *People) personsIn(project int64) []management.Person {
	if project != ruletest.Project {
		return nil
	}
	return p.All
}

// PersonByUUID implements management.People.
func (p *People) PersonByUUID(_ context.Context, project int64, uuid string) (*management.Person, error) {
	for i, person := range p.personsIn(project) {
		if person.UUID == uuid {
			return &p.All[i], nil
		}
	}
	return nil, nil
}

// PersonByDistinctID implements management.People.
func (p *People) PersonByDistinctID(_ context.Context, project int64, id string) (*management.Person, error) {
	for i, person := range p.personsIn(project) {
		for _, own := range person.DistinctIDs {
			if own == id {
				return &p.All[i], nil
			}
		}
	}
	return nil, nil
}

// CountPersons implements management.People.
func (p *People) CountPersons(_ context.Context, project int64) (int, error) {
	return len(p.personsIn(project)), nil
}

// Groups implements management.People.
func (p *People) Groups(_ context.Context, project int64, index int, visit func(string, map[string]any) bool) error {
	if project != ruletest.Project || index != 0 {
		return nil
	}
	for key, properties := range p.groups {
		if !visit(key, properties) {
			break
		}
	}
	return nil
}

// The UUIDs of the persons: una and vic have the plan pro, vic has two distinct ids, wes has no
// plan, xia has no properties.
const (
	Una = "0191f0a2-5b1c-7d3e-8f40-0000000000a1"
	Vic = "0191f0a2-5b1c-7d3e-8f40-0000000000a2"
	Wes = "0191f0a2-5b1c-7d3e-8f40-0000000000a3"
	Xia = "0191f0a2-5b1c-7d3e-8f40-0000000000a4"
)

// SomePeople returns four persons and two groups.
func SomePeople() *People {
	return &People{
		All: []management.Person{
			{UUID: Una, DistinctIDs: []string{"una"}, Properties: map[string]any{"email": "una@example.com", "plan": "pro", "age": json.Number("40")}},
			{UUID: Vic, DistinctIDs: []string{"vic", "vic2"}, Properties: map[string]any{"email": "vic@example.com", "plan": "pro", "age": json.Number("20")}},
			{UUID: Wes, DistinctIDs: []string{"wes"}, Properties: map[string]any{"email": "wes@example.org", "age": json.Number("30")}},
			{UUID: Xia, DistinctIDs: []string{"xia"}},
		},
		groups: map[string]map[string]any{"acme": {"size": json.Number("100")}, "ant": {"size": json.Number("1")}},
	}
}

// New returns a World whose Project has group types, persons and dashboard 1.
func New(t *testing.T) *ruletest.World { return open(t, newStore()) }

// newStore returns a store with the group types and the persons of Project.
func newStore() rooms.Store {
	persons := SomePeople()
	ids := make([][]string, len(persons.All))
	for i, p := range persons.All {
		ids[i] = p.DistinctIDs
	}
	return memstore.New(memstore.ExternalData{
		GroupTypes: map[int64]map[int]string{ruletest.Project: {0: "company", 1: "team"}},
		Persons:    map[int64][][]string{ruletest.Project: ids},
	})
}

// open opens a World on a store and creates dashboard 1.
func open(t *testing.T, store rooms.Store) *ruletest.World {
	w := ruletest.New(t, store, func(c *rooms.Config) { c.People = SomePeople() })
	if _, err := w.Dashboards.Create(t.Context(), w.Scope(t, "bob"), ruletest.Body(t, `{}`)); err != nil {
		t.Fatal(err)
	}
	return w
}

// Ask runs the rows of each table in a World of its own.
func Ask(t *testing.T, tables map[string][]ruletest.Row) {
	t.Helper()
	for name, rows := range tables {
		t.Run(name, func(t *testing.T) {
			w := New(t)
			w.Run(t, RoomCalls(t, w), rows)
		})
	}
}

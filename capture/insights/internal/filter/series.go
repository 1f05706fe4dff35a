package filter

import (
	"slices"
	"strconv"

	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/flags/wire"
)

// MaxSeries is the maximum number of series of a query (§5.4).
const MaxSeries = 26

// Entity is an EventsNode or ActionsNode (§2.2): it defines which events belong to a series.
type Entity struct {
	Node document.Node
	// Event is the event name; nil matches every event. It is nil for actions. Events with a name
	// in MoreEvents belong to the series too.
	Event      *string
	MoreEvents []string
	// Action is the id of an action; 0: not an action.
	Action int64
	// name and CustomName are the members of the query, which results contain.
	name, CustomName *string
	// Conditions are the filters of the node.
	Conditions AllOf
	Project    *port.Project
}

// ReadEntities parses the nodes of a series, of which there must be at least one.
func ReadEntities(n document.Node, p *port.Project, limit int) []Entity {
	list := n.List(limit)
	if len(list) == 0 {
		n.Fail(document.Required, "A query needs at least one series.")
	}
	out := make([]Entity, len(list))
	for i, m := range list {
		out[i] = ReadEntity(m.Object(), p)
	}
	return out
}

// ReadEntity parses one node.
func ReadEntity(n document.Node, p *port.Project) Entity {
	e := Entity{Node: n, Project: p, name: n.Get("name").OptionalText(), CustomName: n.Get("custom_name").OptionalText()}
	switch kind := n.Get("kind").Text(""); kind {
	case "EventsNode":
		e.Event = n.Get("event").OptionalText()
	case "ActionsNode":
		e.Action = n.Get("id").IntInRange(1, 1<<53, 0)
		if n.Get("id").IsAbsent() {
			n.Get("id").Fail(document.Required, "An ActionsNode needs the id of an action.")
		}
	case "":
		n.Fail(document.InvalidInput, `A series needs a "kind": EventsNode or ActionsNode.`)
	default:
		n.Get("kind").Fail(document.NotSupported, "Series of kind %q are not supported: use EventsNode or ActionsNode.", wire.Shorten(kind, 100))
	}
	if n.Get("optionalInFunnel").Boolean() {
		n.Get("optionalInFunnel").Fail(document.NotSupported, "Optional steps are not supported.")
	}
	n.RejectMembers("math_property_revenue_currency")
	e.Conditions = slices.Concat(Read(n.Get("properties"), p), Read(n.Get("fixedProperties"), p))
	return e
}

// ID returns the name of the event or the id of the action in the form of results, nil for every
// event.
func (e *Entity) ID() any {
	switch {
	case e.Action != 0:
		return strconv.FormatInt(e.Action, 10)
	case e.Event == nil:
		return nil
	}
	return *e.Event
}

// Kind returns the type of the entity in results.
func (e *Entity) Kind() string {
	if e.Action != 0 {
		return "actions"
	}
	return "events"
}

// Label returns the name of the event or the action.
func (e *Entity) Label(r *scan.Run) string {
	switch {
	case e.Action != 0:
		if a, ok := r.Project.Actions[e.Action]; ok {
			return a.Name
		}
		return strconv.FormatInt(e.Action, 10)
	case e.Event == nil:
		return "All events"
	}
	return *e.Event
}

// Matcher reports whether an event belongs to an entity.
type Matcher struct {
	// Names are the permitted event names; nil permits any.
	Names []string
	// Holds are the other conditions; nil is always true.
	Holds func(*scan.Row) bool
	// tests are the other conditions if all of them are about properties of events.
	tests []*scan.PropertyTest
}

// CanSelect reports whether Select may be called.
func (m *Matcher) CanSelect() bool { return m.Holds == nil || m.tests != nil }

// HasConditions reports whether there are other conditions than names.
func (m *Matcher) HasConditions() bool { return m.Holds != nil }

// Select removes the events that do not satisfy the other conditions from rows, which are indexes of events of
// a batch with EventProperties.
func (m *Matcher) Select(b *port.Batch, rows []int32) []int32 {
	for _, t := range m.tests {
		rows = t.Select(b, rows)
	}
	return rows
}

// passesAll reports whether an event passes all tests.
func (m *Matcher) passesAll(r *scan.Row) bool {
	for _, t := range m.tests {
		if !t.Holds(r) {
			return false
		}
	}
	return true
}

// MatchesConditions reports whether an event with one of the names satisfies the other conditions.
func (m *Matcher) MatchesConditions(r *scan.Row) bool { return m.Holds == nil || m.Holds(r) }

// MatchesName reports whether an event has one of the names.
func (m *Matcher) MatchesName(b *port.Batch, i int) bool {
	return m.Names == nil || slices.Contains(m.Names, b.Name[i])
}

// Matches reports whether the event of a row belongs to the entity.
func (m *Matcher) Matches(r *scan.Row) bool {
	return m.MatchesName(r.Batch, r.Index) && m.MatchesConditions(r)
}

// Bind binds the entity with its own filters. Conditions of the whole query are bound separately,
// once for all series.
func (e *Entity) Bind(b *scan.Binder) *Matcher { return e.bindWith(b, e.Conditions) }

// BindName binds the entity without its filters. First-time maths use it to find the first event.
func (e *Entity) BindName(b *scan.Binder) *Matcher { return e.bindWith(b, nil) }

// bindWith binds the event or action of the entity with other filters.
func (e *Entity) bindWith(b *scan.Binder, conditions AllOf) *Matcher {
	var names []string
	if e.Event != nil {
		names = append([]string{*e.Event}, e.MoreEvents...)
	}
	if e.Action != 0 {
		var steps Condition
		steps, names = bindAction(b, e.Action, e.Node)
		conditions = AllOf{steps, conditions}
	}
	m := conditions.BindMatcher(b)
	if m.Names = names; m.Names != nil {
		b.Needs.Columns |= port.Names
	}
	return m
}

// EventNames returns the names of all events that some matchers can match, to restrict a scan; nil
// if one of them can match any name.
func EventNames(ms ...*Matcher) []string {
	out := []string{}
	for _, m := range ms {
		if m.Names == nil {
			return nil
		}
		out = append(out, m.Names...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// bindAction returns the steps of an action as a condition, and the names of the events that they can
// match; nil means any name.
func bindAction(b *scan.Binder, id int64, n document.Node) (Condition, []string) {
	a, ok := b.Project.Actions[id]
	if !ok {
		b.Err = document.NewFault(document.InvalidInput, n.Attr+"__id", "Action %d does not exist.", id)
		return AllOf{}, nil
	}
	return readSteps(a.Steps, b.Project)
}

// EntityView describes the series of a row in the result.
type EntityView struct {
	ID             any            `json:"id"`
	Type           string         `json:"type"`
	Order          int            `json:"order"`
	Name           string         `json:"name"`
	CustomName     *string        `json:"custom_name"`
	Math           *string        `json:"math"`
	MathProperty   *string        `json:"math_property"`
	MathHogQL      *string        `json:"math_hogql"`
	MathGroupIndex *int64         `json:"math_group_type_index"`
	Properties     map[string]any `json:"properties"`
	Days           []string       `json:"days,omitempty"`
}

// Describe returns the action of a series. order is its index in the query.
func (e *Entity) Describe(r *scan.Run, order int, days []string) *EntityView {
	a := &EntityView{ID: e.ID(), Type: e.Kind(), Order: order, Name: e.Label(r), CustomName: e.CustomName, Properties: map[string]any{}, Days: days}
	// The name in the query takes precedence.
	if e.name != nil {
		a.Name = *e.name
	}
	a.Math, a.MathProperty, a.MathHogQL = e.Node.Get("math").OptionalText(), e.Node.Get("math_property").OptionalText(), e.Node.Get("math_hogql").OptionalText()
	if index := e.Node.Get("math_group_type_index"); !index.IsAbsent() {
		i := index.IntInRange(0, scan.MaxGroupTypes-1, 0)
		a.MathGroupIndex = &i
	}
	return a
}

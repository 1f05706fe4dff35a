package insights

import (
	"slices"
	"strconv"

	"github.com/bunting-flags/bunting/flags/wire"
)

// maxSeries is the maximum number of series of a query (§5.4).
const maxSeries = 26

// entity is an EventsNode or ActionsNode (§2.2): it defines which events belong to a series.
type entity struct {
	node node
	// event is the event name; nil matches every event. It is nil for actions. Events with a name
	// in moreEvents belong to the series too.
	event      *string
	moreEvents []string
	// action is the id of an action; 0: not an action.
	action int64
	// name and customName are the members of the query, which results contain.
	name, customName *string
	// conditions are the filters of the node.
	conditions allOf
	project    *Project
}

// readEntities parses the nodes of a series, of which there must be at least one.
func readEntities(n node, p *Project, limit int) []entity {
	list := n.list(limit)
	if len(list) == 0 {
		n.fail(required, "A query needs at least one series.")
	}
	out := make([]entity, len(list))
	for i, m := range list {
		out[i] = readEntity(m.object(), p)
	}
	return out
}

// readEntity parses one node.
func readEntity(n node, p *Project) entity {
	e := entity{node: n, project: p, name: n.get("name").optionalText(), customName: n.get("custom_name").optionalText()}
	switch kind := n.get("kind").text(""); kind {
	case "EventsNode":
		e.event = n.get("event").optionalText()
	case "ActionsNode":
		e.action = n.get("id").intInRange(1, 1<<53, 0)
		if n.get("id").isAbsent() {
			n.get("id").fail(required, "An ActionsNode needs the id of an action.")
		}
	case "":
		n.fail(invalidInput, `A series needs a "kind": EventsNode or ActionsNode.`)
	default:
		n.get("kind").fail(notSupported, "Series of kind %q are not supported: use EventsNode or ActionsNode.", wire.Shorten(kind, 100))
	}
	if n.get("optionalInFunnel").boolean() {
		n.get("optionalInFunnel").fail(notSupported, "Optional steps are not supported.")
	}
	n.rejectMembers("math_property_revenue_currency")
	e.conditions = slices.Concat(readFilters(n.get("properties"), p), readFilters(n.get("fixedProperties"), p))
	return e
}

// id returns the name of the event or the id of the action in the form of results, nil for every
// event.
func (e *entity) id() any {
	switch {
	case e.action != 0:
		return strconv.FormatInt(e.action, 10)
	case e.event == nil:
		return nil
	}
	return *e.event
}

// kind returns the type of the entity in results.
func (e *entity) kind() string {
	if e.action != 0 {
		return "actions"
	}
	return "events"
}

// label returns the name of the event or the action.
func (e *entity) label(r *run) string {
	switch {
	case e.action != 0:
		if a, ok := r.project.Actions[e.action]; ok {
			return a.Name
		}
		return strconv.FormatInt(e.action, 10)
	case e.event == nil:
		return "All events"
	}
	return *e.event
}

// matcher reports whether an event belongs to an entity.
type matcher struct {
	// names are the permitted event names; nil permits any.
	names []string
	// holds are the other conditions; nil is always true.
	holds func(*row) bool
}

// matchesConditions reports whether an event with one of the names satisfies the other conditions.
func (m *matcher) matchesConditions(r *row) bool { return m.holds == nil || m.holds(r) }

// matchesName reports whether an event has one of the names.
func (m *matcher) matchesName(b *Batch, i int) bool {
	return m.names == nil || slices.Contains(m.names, b.Name[i])
}

// matches reports whether the event of a row belongs to the entity.
func (m *matcher) matches(r *row) bool { return m.matchesName(r.b, r.i) && m.matchesConditions(r) }

// bind binds the entity with its own filters. Conditions of the whole query are bound separately,
// once for all series.
func (e *entity) bind(b *binder) *matcher { return e.bindWith(b, e.conditions) }

// bindName binds the entity without its filters. First-time maths use it to find the first event.
func (e *entity) bindName(b *binder) *matcher { return e.bindWith(b, nil) }

// bindWith binds the event or action of the entity with other filters.
func (e *entity) bindWith(b *binder, conditions allOf) *matcher {
	m := &matcher{}
	if e.event != nil {
		m.names = append([]string{*e.event}, e.moreEvents...)
	}
	if e.action == 0 {
		m.holds = conditions.bindOrNil(b)
	} else {
		steps, names := bindAction(b, e.action, e.node)
		m.names = names
		m.holds = allOf{steps, conditions}.bindOrNil(b)
	}
	if m.names != nil {
		b.needs.columns |= Names
	}
	return m
}

// eventNames returns the names of all events that some matchers can match, to restrict a scan; nil
// if one of them can match any name.
func eventNames(ms ...*matcher) []string {
	out := []string{}
	for _, m := range ms {
		if m.names == nil {
			return nil
		}
		out = append(out, m.names...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// bindAction returns the steps of an action as a condition, and the names of the events that they can
// match; nil means any name.
func bindAction(b *binder, id int64, n node) (condition, []string) {
	a, ok := b.project.Actions[id]
	if !ok {
		b.err = newError(invalidInput, n.attr+"__id", "Action %d does not exist.", id)
		return allOf{}, nil
	}
	return readSteps(a.Steps, b.project)
}

// action describes the series of a row in the result.
type action struct {
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

// describe returns the action of a series. order is its index in the query.
func (e *entity) describe(r *run, order int, days []string) *action {
	a := &action{ID: e.id(), Type: e.kind(), Order: order, Name: e.label(r), CustomName: e.customName, Properties: map[string]any{}, Days: days}
	// The name in the query takes precedence.
	if e.name != nil {
		a.Name = *e.name
	}
	a.Math, a.MathProperty, a.MathHogQL = e.node.get("math").optionalText(), e.node.get("math_property").optionalText(), e.node.get("math_hogql").optionalText()
	if index := e.node.get("math_group_type_index"); !index.isAbsent() {
		i := index.intInRange(0, maxGroupTypes-1, 0)
		a.MathGroupIndex = &i
	}
	return a
}

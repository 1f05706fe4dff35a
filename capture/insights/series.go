package insights

import (
	"slices"
	"strconv"

	"github.com/bunting-flags/bunting/flags/wire"
)

// maxSeries bounds the series of a query (§5.4).
const maxSeries = 26

// entity is an EventsNode or ActionsNode (§2.2): which events a series has.
type entity struct {
	node node
	// event is the name of events, nil for every event; of an action nil. Events of the
	// names of also are meant too.
	event      *string
	moreEvents []string
	action     int64 // 0: none
	// name and customName are as given.
	name, customName *string
	conditions       allOf
	project          *Project
}

// entities reads the nodes of a series.
func (n node) entities(p *Project, limit int) []entity {
	list := n.list(limit)
	if len(list) == 0 {
		n.fail(required, "A query needs at least one series.")
	}
	out := make([]entity, len(list))
	for i, m := range list {
		out[i] = m.object().entity(p)
	}
	return out
}

func (n node) entity(p *Project) entity {
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
		n.get("kind").fail(notSupported, "Series of kind %q are not supported: want EventsNode or ActionsNode.", wire.Shorten(kind, 100))
	}
	if n.get("optionalInFunnel").boolean() {
		n.get("optionalInFunnel").fail(notSupported, "Optional steps are not supported.")
	}
	n.rejectMembers("math_property_revenue_currency")
	e.conditions = slices.Concat(n.get("properties").filters(p), n.get("fixedProperties").filters(p))
	return e
}

// optionalText is a text, or nil.
func (n node) optionalText() *string {
	if n.isAbsent() {
		return nil
	}
	text := n.text("")
	return &text
}

// id, kind and label are how results name the entity.
func (e *entity) id() any {
	switch {
	case e.action != 0:
		return strconv.FormatInt(e.action, 10)
	case e.event == nil:
		return nil
	}
	return *e.event
}

func (e *entity) kind() string {
	if e.action != 0 {
		return "actions"
	}
	return "events"
}

// label is the event's or the action's name.
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

// matcher says whether an event belongs to an entity.
type matcher struct {
	// names are what the event may be called, nil for anything.
	names []string
	// holds are the other conditions, nil for none.
	holds func(*row) bool
}

// matchesConditions says whether an event of one of the names meets the other conditions.
func (m *matcher) matchesConditions(r *row) bool { return m.holds == nil || m.holds(r) }

// matchesName says whether an event has one of the names.
func (m *matcher) matchesName(b *Batch, i int) bool {
	return m.names == nil || slices.Contains(m.names, b.Name[i])
}

// matches says whether the event of a row is meant.
func (m *matcher) matches(r *row) bool { return m.matchesName(r.b, r.i) && m.matchesConditions(r) }

// bind makes the entity's own conditions ready; common ones are bound once for all.
func (e *entity) bind(b *binder) *matcher { return e.bindWith(b, e.conditions) }

// bindName is the entity without its filters: what first-time maths call its name.
func (e *entity) bindName(b *binder) *matcher { return e.bindWith(b, nil) }

func (e *entity) bindWith(b *binder, conditions allOf) *matcher {
	m := &matcher{}
	if e.event != nil {
		m.names = append([]string{*e.event}, e.moreEvents...)
	}
	if e.action == 0 {
		m.holds = conditions.bindOrNil(b)
	} else {
		steps, names := b.action(e.action, e.node)
		m.names = names
		m.holds = allOf{steps, conditions}.bindOrNil(b)
	}
	if m.names != nil {
		b.needs.columns |= Names
	}
	return m
}

// eventNames are those that a scan for some matchers may leave others out for; nil: none.
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

// action gives the steps of an action as a condition, and the names that its events
// may have, nil for any.
func (b *binder) action(id int64, n node) (condition, []string) {
	a, ok := b.project.Actions[id]
	if !ok {
		b.err = newError(invalidInput, n.attr+"__id", "Action %d does not exist.", id)
		return allOf{}, nil
	}
	return readSteps(a.Steps, b.project)
}
